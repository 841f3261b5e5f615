r"""Find the key or item that an address names: a JSON Pointer, a dotted path, or an array.

`/nav/0/Home` is a pointer. In the dotted form `nav[0].Home`, `[0]` is an index, `[-1]` counts from the end,
`[=text]` selects an item by value and `[name=Build]` by a key in it; `\.` is a literal dot. A name after a
list selects the item that has this key. Dots separate maps, but some names contain dots, such as `ms.date`:
the values of the file decide.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mdplan.data.tree import Element, Path, Unnamed, value_at
from mdplan.diagnostics import Code, Diagnostic, Refused
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.source import visible
from mdplan.text.visible import nearest_names, shortened
from mdplan.values import Struct
from mdplan.words import say

_LISTED: Final = 8
_LONGEST: Final = 60
_TOKEN: Final = lazy_pattern(r"(?:[^.\[\\]|\\.)+|\.|\[(?:[^\]\\]|\\.)*\]", re.DOTALL)
_INDEX: Final = lazy_pattern(r"-?\d+")
_ESCAPED: Final = lazy_pattern(r"\\(.)", re.DOTALL)
GivenKey = str | Sequence[str | int | Mapping[str, Any]]


class Item(Struct):
    """A list item selector: by index, by `value`, or by the value of a `key` in it."""

    number: int | None = None
    key: str | None = None
    value: object = None


Step = str | Item


class Found(Struct):
    """The `path` of an existing value, and the `missing` names after it."""

    path: Path
    missing: tuple[str, ...] = ()

    @property
    def whole(self) -> Path:
        """The path including the missing names."""
        return (*self.path, *self.missing)


def steps_of(given: GivenKey) -> tuple[Step, ...]:
    """Parse the address `given` into steps. Raise `ValueError`."""
    if not isinstance(given, str):
        return tuple(map(_array_step, given))
    if given.startswith("/"):
        return tuple(part.replace("~1", "/").replace("~0", "~") for part in given[1:].split("/"))
    return tuple(_dotted(given)) if given else ()


def find(values: Any, given: GivenKey, *, is_new: bool = False) -> Found:  # noqa: ANN401
    """Find as much of `given` in `values` as exists.

    Raise INVALID_ARGUMENT if it is ambiguous, or if a name that `is_new` could be read in several ways;
    KEY_NOT_FOUND for a missing item.
    """
    steps = steps_of(given)
    joins = isinstance(given, str) and not given.startswith("/")
    paths = list(_readings(values, steps, (), joins=joins))
    if len(paths) > 1:
        raise Refused(_ambiguous(paths))
    found = Found(paths[0]) if paths else _as_far_as(values, steps)
    if is_new and joins and len(found.missing) > 1:
        around, first = value_at(values, found.path), found.missing[0]
        # Other names here contain a dot, so the new one may be meant to, too.
        if isinstance(around, dict) and any(str(name).startswith(f"{first}.") for name in around):
            raise Refused(_ambiguous([(*found.path, ".".join(found.missing)), found.whole]))
    return found


def counted_paths(values: Any, given: GivenKey) -> Sequence[Path]:  # noqa: ANN401 (any value)
    """Return all paths that match `given` with its list indexes replaced by any index.

    Return nothing if it has no index. A missing name may follow.
    """
    try:
        found = find(values, given, is_new=True)
    except Refused:
        return ()
    steps = steps_of(given)
    steps = steps[: len(steps) - len(found.missing)]
    joins = isinstance(given, str) and not given.startswith("/")
    if any(_readings(values, steps, (), joins=joins, numbers=lambda _: ())) or not steps:
        return ()
    paths = _readings(values, steps, (), joins=joins, numbers=range)
    return [(*path, *found.missing) for path in paths]


def _ambiguous(paths: Sequence[Path]) -> Diagnostic:
    names = " or ".join(f"`{shown(path)}`" for path in paths[:_LISTED])
    pointers = " or ".join(f"`{pointer(path)}`" for path in paths[:2])
    return Diagnostic.invalid(f"the key could mean {names}", f"write {pointers}")


def pointer(path: Sequence[Element]) -> str:
    """Return `path` as a JSON Pointer."""
    return "".join("/" + str(each).replace("~", "~0").replace("/", "~1") for each in path)


def key_missing(values: Any, found: Found) -> Diagnostic:  # noqa: ANN401 (any value)
    """Return KEY_NOT_FOUND with similar keys, or the first keys; INVALID_ARGUMENT for a duplicate key."""
    parent = value_at(values, found.path)
    names = [name for name in parent if isinstance(name, str)] if isinstance(parent, dict) else []
    twice = [name for name in parent if isinstance(name, Unnamed)] if isinstance(parent, dict) else []
    if found.missing and any(name.text == found.missing[0] for name in twice):
        return Diagnostic.invalid(
            f"the key `{shown((*found.path, found.missing[0]))}` is there more than once",
            say("delete all but one of them with {delete_lines}"),
        )
    near = nearest_names(found.missing[0], names) if found.missing else ()
    where = f" in `{shown(found.path)}`" if found.path else ""
    if near:
        hint = f"did you mean {' or '.join(f'`{shown((*found.path, name))}`' for name in near)}?"
    elif names:
        listed = ", ".join(f"`{_short(name)}`" for name in names[:_LISTED])
        hint = f"the keys{where} are {listed}{', …' if len(names) > _LISTED else ''}"
    elif isinstance(parent, list):
        hint = f"`{shown(found.path)}` is a list of {len(parent)} items: name one by its number, as in `[0]`"
    else:
        hint = "there are no keys" + where
    name = f"`{shown(found.missing)}`" if found.missing else "such a key"
    return Code.KEY_NOT_FOUND.problem(f"there is no key {name}{where}", hint)


def shown(path: Sequence[Element], *, whole: bool = False) -> str:
    """Return `path` in dotted form, truncated unless `whole`."""
    text = ""
    for element in path:
        if isinstance(element, int):
            text += f"[{element}]"
        else:
            name = re.sub(r"[.\[\\]", lambda match: f"\\{match[0]}", str(element))
            text += f".{name}" if text else name
    return text if whole else _short(text)


def _short(text: str) -> str:
    return visible(shortened(text, _LONGEST))


def _array_step(given: str | int | Mapping[str, Any]) -> Step:
    if isinstance(given, str):
        return given
    if isinstance(given, int):
        return Item(number=given)
    ((key, value),) = given.items()
    return Item(key=key, value=value)


def _dotted(text: str) -> Iterator[Step]:
    at, expects_name = 0, True
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"a key cannot be read from `{_short(text[at:])}` on: write `\\[` for a bracket")
        at = token.end()
        part = token[0]
        if part[0] == "[":
            yield _selector(part[1:-1])
            expects_name = False
        elif part == ".":
            if expects_name:
                break
            expects_name = True
        else:
            yield _ESCAPED.sub(r"\1", part)
            expects_name = False
    if expects_name:
        raise ValueError(
            "a key between the dots is empty; a key that has such dots itself goes into an array"
        )


def _selector(text: str) -> Item:
    if _INDEX.fullmatch(text):
        return Item(number=int(text))
    key, sign, value = text.partition("=")
    if not sign:
        raise ValueError(f"`[{_short(text)}]` is not an item: write [0], [=value] or [key=value]")
    value = _ESCAPED.sub(r"\1", value)
    return Item(key=key, value=value) if key else Item(value=value)


def _readings(
    values: Any,  # noqa: ANN401
    steps: Sequence[Step],
    path: Path,
    *,
    joins: bool,
    numbers: Callable[[int], Iterable[int]] | None = None,
) -> Iterator[Path]:
    """Yield all paths in `values` that `steps` can mean.

    `numbers` lists the indexes that a number stands for, given the length of the list.
    """
    if not steps:
        yield path
        return
    step = steps[0]
    if isinstance(values, list):
        is_counted = numbers is not None and _number_of(step) is not None
        for index in numbers(len(values)) if numbers is not None and is_counted else _items(values, step):
            # A name selects an item by key, so the step remains.
            rest = steps if isinstance(step, str) and _number_of(step) is None else steps[1:]
            yield from _readings(values[index], rest, (*path, index), joins=joins, numbers=numbers)
    elif isinstance(values, dict) and isinstance(step, str):
        names = [step]
        for following in steps[1:] if joins else ():
            if not isinstance(following, str):
                break
            names.append(following)
        for length in range(1, len(names) + 1):
            name = ".".join(names[:length])
            if name in values:
                yield from _readings(
                    values[name], steps[length:], (*path, name), joins=joins, numbers=numbers
                )


def _items(values: Sequence[Any], step: Step) -> Iterator[int]:
    """Yield the indexes of the items that `step` selects."""
    number = _number_of(step)
    if number is not None:
        index = number if number >= 0 else len(values) + number
        if 0 <= index < len(values):
            yield index
    elif isinstance(step, str):
        yield from (index for index, each in enumerate(values) if isinstance(each, dict) and step in each)
    elif step.key is not None:
        for index, each in enumerate(values):
            if isinstance(each, dict) and step.key in each and _is_same(each[step.key], step.value):
                yield index
    else:
        yield from (index for index, each in enumerate(values) if _is_same(each, step.value))


def _number_of(step: Step) -> int | None:
    """Return the index in `step`, which may be a name of digits, or None."""
    if isinstance(step, str):
        return int(step) if _INDEX.fullmatch(step) else None
    return step.number


def _is_same(value: object, wanted: object) -> bool:
    """Return True if `value` equals `wanted` or its text does."""
    if isinstance(value, bool) or value is None:
        return value is wanted or (isinstance(wanted, str) and json.dumps(value) == wanted)
    return value == wanted or (not isinstance(value, dict | list) and str(value) == wanted)


def _as_far_as(values: Any, steps: Sequence[Step]) -> Found:  # noqa: ANN401 (any value)
    """Follow `steps` as far as values exist; the rest must be names."""
    path: Path = ()
    rest = steps
    for count in range(1, len(steps)):
        paths = list(_readings(values, steps[:count], (), joins=False))
        if len(paths) != 1:
            break
        path, rest = paths[0], steps[count:]
    names = tuple(each for each in rest if isinstance(each, str))
    if len(names) < len(rest):
        raise Refused(_item_missing(value_at(values, path), path))
    return Found(path, names)


def _item_missing(values: object, path: Path) -> Diagnostic:
    where = f"`{shown(path)}`" if path else "the outermost value"
    if not isinstance(values, list):
        return Diagnostic.invalid(f"{where} is not a list", "name a key of a map by its name")
    return Code.KEY_NOT_FOUND.problem(
        f"{where}, a list of {len(values)} items, has no such item, or several",
        "name an item by its number, as in `[0]` or `[-1]`",
    )
