"""Merge of files of keys and values: by lines, and by keys where lines conflict or give other values."""

import json
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from mdplan.data import tree
from mdplan.data.address import shown
from mdplan.data.content import DataContent, data_edits, read_data, verify_edits
from mdplan.markdown.format_detection import find_front_matter
from mdplan.merge.lines import (
    Conflict,
    MarkerStyle,
    Merge,
    MergedText,
    Origin,
    Piece,
    Texts,
    conflict,
    final_end,
    lines_of,
    merge_lines,
    rendered,
    split_conflict,
)
from mdplan.text.edit import EditList, Overlap
from mdplan.text.lazy_pattern import lazy_pattern

BY_KEYS: Final = "keys of both sides were merged"
_UNREADABLE: Final = "lines were merged: {} cannot be read as {}"
_TOO_LARGE: Final = "lines were merged: the file is too large to be merged by key"

# How long each text may be for a merge in bounded time, and for conflicts with the paths of their keys.
_MOST_CHARACTERS: Final = {
    tree.Language.YAML: 100_000,
    tree.Language.JSON: 500_000,
    tree.Language.TOML: 300_000,
    tree.Language.INI: 60_000,
}

_MOST_NAMED: Final = 300_000
_WRONG: Final = "merged by lines, the keys would not have the values of both sides"

_COMMENT: Final = {
    tree.Language.JSON: lazy_pattern(r"(?:^|\s)(//.*|/\*.*)"),
    tree.Language.INI: lazy_pattern(r"(?:^|\s)([#;].*)"),
}

_HASH: Final = lazy_pattern(r"(?:^|\s)(#.*)")


def merge_data(
    language: tree.Language, base: str, ours: str, theirs: str, style: MarkerStyle, *, is_strict: bool = False
) -> Merge:
    """Merge the texts `ours` and `theirs` in `language`, which both come from `base`.

    All three have LF line ends. Lines are merged; where they conflict, or where the result would not have the
    values of both sides, keys are. Where it `is_strict`, keys are not merged into lines that no side has.
    """
    texts = Texts(*(lines_of(text) for text in (base, ours, theirs)))
    pieces = merge_lines(texts, *(range(len(lines)) for lines in texts))
    sides = base, ours, theirs
    longest = max(map(len, sides))
    if longest > _MOST_CHARACTERS[language]:
        return _by_lines(texts, pieces, sides, style, _TOO_LARGE)
    values: list[Any] = []
    for name, text in zip(("the base", "ours", "theirs"), sides, strict=True):
        try:
            values.append(_values(language, text))
        except tree.DataError:
            return _by_lines(texts, pieces, sides, style, _UNREADABLE.format(name, language))
    found = merge_values(*values)
    by_lines = _by_lines(texts, pieces, sides, style)
    if by_lines.is_clean and _is_good(language, by_lines.text, found, values):
        return by_lines
    if not found.conflicts and not is_strict:
        merged = _by_keys(language, sides, found)
        if merged is None:
            # What is clean with the sides swapped is clean: the changes of ours, made in theirs.
            base_value, own, other = values
            swapped = merge_values(base_value, other, own)
            merged = None if swapped.conflicts else _by_keys(language, (base, theirs, ours), swapped)
        if merged is not None:
            known = {*texts.ours, *texts.theirs}
            new_lines = "".join(line for line in lines_of(merged) if line not in known)
            return Merge(merged, (), decisions=(MergedText((), BY_KEYS, new_lines),))
    if by_lines.is_clean:
        pieces = [each if each.origin is Origin.BOTH else conflict(each, _WRONG) for each in pieces]
        by_lines = _by_lines(texts, pieces, sides, style)
    if not found.conflicts or longest > _MOST_NAMED:
        return by_lines
    contents = [read_data(language, text) for text in sides]
    return Merge(by_lines.text, tuple(_named(each, contents) for each in found.conflicts))


def _values(language: tree.Language, text: str) -> Any:  # noqa: ANN401 (any value)
    """What `text` says. Raises `DataError`."""
    if language is tree.Language.JSON:
        # The reader that knows places takes a hundred times as long.
        with suppress(ValueError, RecursionError):
            return json.loads(text, object_pairs_hook=_unique)
    return read_data(language, text).values


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def merged_front_matter(base: str, ours: str, theirs: str) -> str | None:
    """Front matter, with its fences, that has the keys of both sides; None where that takes a person."""
    blocks = [find_front_matter(text) for text in (base, ours, theirs)]
    if len({each.format for each in blocks if each}) != 1 or not all(blocks):
        return None
    inner = [
        text[each.content.start : each.content.end]
        for text, each in zip((base, ours, theirs), blocks, strict=True)
        if each
    ]
    language = next(tree.Language(each.format) for each in blocks if each)
    found = merge_data(language, inner[0], inner[1], inner[2], MarkerStyle())
    where = next(each.content for each in blocks[1:] if each)
    return None if found.note or not found.is_clean else ours[: where.start] + found.text + ours[where.end :]


def merge_text_lines(base: str, ours: str, theirs: str, style: MarkerStyle) -> Merge:
    """Merge texts without a structure, by lines."""
    texts = Texts(*(lines_of(text) for text in (base, ours, theirs)))
    pieces = merge_lines(texts, *(range(len(lines)) for lines in texts))
    return _by_lines(texts, pieces, (base, ours, theirs), style)


def _by_lines(
    texts: Texts, pieces: Sequence[Piece], sides: tuple[str, str, str], style: MarkerStyle, note: str = ""
) -> Merge:
    split = [part for piece in pieces for part in split_conflict(texts, piece)]
    found = rendered(texts, split, lambda _: (), style, has_final_end=final_end(*sides))
    return Merge(found.text, found.conflicts, note)


@dataclass(frozen=True, slots=True)
class ValueConflict:
    """A key that needs a person, and why: its path in base, ours and theirs, None in a text without it."""

    base: tree.Path | None
    ours: tree.Path | None
    theirs: tree.Path | None
    reason: str


@dataclass(slots=True)
class ValueMerge:
    """The merged `value`, the `changes` that make it of ours, and the `conflicts`, in which it is ours."""

    value: Any = None
    changes: list[tree.Change] = field(default_factory=list)
    conflicts: list[ValueConflict] = field(default_factory=list)


def _is_good(language: tree.Language, text: str, wanted: ValueMerge, sides: Sequence[Any]) -> bool:
    """Whether `text`, merged by lines, has the values of both sides."""
    try:
        values = _values(language, text)
    except tree.DataError:
        return False
    if wanted.conflicts:
        # Items of a list without names, for example, which only lines can place.
        return _doubled(values) <= max(map(_doubled, sides))
    return _unordered(values) == _unordered(wanted.value)


def _doubled(values: Any) -> int:  # noqa: ANN401 (any value)
    """How many keys occur twice."""
    if isinstance(values, dict):
        return sum((not isinstance(name, str)) + _doubled(each) for name, each in values.items())
    return sum(map(_doubled, values)) if isinstance(values, list) else 0


def _unordered(values: Any) -> object:  # noqa: ANN401 (any value)
    """`values` without the order of keys and items."""
    if isinstance(values, dict):
        return ("map", sorted((repr(name), repr(_unordered(each))) for name, each in values.items()))
    if isinstance(values, list):
        return ("list", sorted(repr(_unordered(each)) for each in values))
    return (type(values).__name__, repr(values))


def _by_keys(language: tree.Language, sides: tuple[str, str, str], found: ValueMerge) -> str | None:
    """The second of `sides` with the changes of the third.

    None where they cannot be made, or a comment would be lost.
    """
    ours = read_data(language, sides[1])
    for changes in (found.changes, list(_at_the_end(found.changes))):
        try:
            edits = EditList.of(splice.edit for splice in data_edits(ours, changes))
            if isinstance(edits, Overlap):
                continue
            text = edits.apply(ours.text)
            # JSON that says the value to any reader needs no other proof.
            is_json = language is tree.Language.JSON
            if not is_json or not tree.values_equal(_values(language, text), found.value):
                verify_edits(ours, edits, changes)
        except (tree.DataError, RecursionError):
            continue
        return text if _keeps_comments(language, sides, text) else None
    return None


def _at_the_end(changes: Sequence[tree.Change]) -> Iterator[tree.Change]:
    """`changes` with new keys at the end of their maps, for where a language takes no other place."""
    for each in changes:
        if isinstance(each, tree.NewEntry) and each.name is not None:
            yield tree.KeyChange((*each.key, each.name), each.value)
        else:
            yield each


def _keeps_comments(language: tree.Language, sides: Sequence[str], text: str) -> bool:
    pattern = _COMMENT.get(language, _HASH)
    base, ours, theirs, result = (
        Counter(match[1] for line in each.splitlines() if (match := pattern.search(line)))
        for each in (*sides, text)
    )
    return all(
        result[each] in {base[each] + own + other, base[each] + max(own, other, key=abs)}
        for each in {*base, *ours, *theirs, *result}
        for own, other in [(ours[each] - base[each], theirs[each] - base[each])]
    )


def _named(found: ValueConflict, contents: Sequence[DataContent]) -> Conflict:
    base, ours, theirs = (
        _text_at(content, path)
        for content, path in zip(contents, (found.base, found.ours, found.theirs), strict=True)
    )
    path = found.ours or found.theirs or found.base or ()
    place = contents[1].places.get(found.ours or ())
    line = contents[1].lines.line_at(place.start) if place else 1
    return Conflict((shown(path),) if path else (), found.reason, line, base, ours, theirs)


def _text_at(content: DataContent, path: tree.Path | None) -> str:
    if path is None:
        return ""
    place = content.places.get(path)
    return content.text if place is None else content.text[place.start : place.end]


# --- The merge of values: what theirs changed, as changes of ours, and what both changed

_BOTH: Final = "both sides changed it"
_BOTH_ADDED: Final = "both sides added it, and not the same"
_WITH_DELETED: Final = "deleted and changed"
_MOVED: Final = "both sides moved its entries"
_DEEP: Final = 100


@dataclass(frozen=True, slots=True)
class _Spot:
    """One key in the three texts: its value in each, `REMOVED` for none, and its path there."""

    values: tuple[Any, Any, Any]
    paths: tuple[tree.Path, tree.Path, tree.Path]

    def inner(self, values: Sequence[Any], names: Sequence[tree.Element | None]) -> "_Spot":
        """An entry of it, by its `names` in the three texts."""
        base, ours, theirs = (
            path if name is None else (*path, name) for path, name in zip(self.paths, names, strict=True)
        )
        old, own, other = values
        return _Spot((old, own, other), (base, ours, theirs))


def merge_values(base: Any, ours: Any, theirs: Any) -> ValueMerge:  # noqa: ANN401 (any value)
    """The merge of three values of a file: of maps key by key, of lists item by item."""
    found = ValueMerge()
    found.value = _merged(_Spot((base, ours, theirs), ((), (), ())), found)
    return found


def _merged(spot: _Spot, found: ValueMerge) -> Any:  # noqa: ANN401 (any value)
    """The value at `spot`, or `REMOVED`; what makes it of ours goes to `found`."""
    base, ours, theirs = spot.values
    if _equal(theirs, base) or _equal(theirs, ours):
        return ours
    if _equal(ours, base):
        # The caller adds what ours does not have: it knows the place.
        if ours is not tree.REMOVED:
            found.changes.append(tree.KeyChange(spot.paths[1], theirs))
        return theirs
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _map(spot, found)
    if isinstance(ours, list) and isinstance(theirs, list) and isinstance(base, list):
        return _list(spot, found)
    reason = (
        _BOTH_ADDED if base is tree.REMOVED else _WITH_DELETED if tree.REMOVED in (ours, theirs) else _BOTH
    )
    return _conflict(spot, found, reason)


def _conflict(spot: _Spot, found: ValueMerge, reason: str) -> Any:  # noqa: ANN401 (any value)
    base, ours, theirs = (
        None if value is tree.REMOVED else path for value, path in zip(spot.values, spot.paths, strict=True)
    )
    found.conflicts.append(ValueConflict(base, ours, theirs, reason))
    return spot.values[1]


def _map(spot: _Spot, found: ValueMerge) -> Any:  # noqa: ANN401 (any value)
    base, ours, theirs = (value if isinstance(value, dict) else {} for value in spot.values)
    if any(isinstance(name, tree.Unnamed) for name in (*base, *ours, *theirs)) or len(spot.paths[0]) > _DEEP:
        return _conflict(spot, found, _BOTH)
    order = merged_order(list(base), list(ours), list(theirs))
    if order is None:
        return _conflict(spot, found, _MOVED)
    result: dict[Any, Any] = {}
    for name in _names(order):
        values = [each.get(name, tree.REMOVED) for each in (base, ours, theirs)]
        merged = _merged(spot.inner(values, (name, name, name)), found)
        if merged is not tree.REMOVED:
            result[name] = merged
    places = {name: place for place, name in enumerate(ours)}
    for name, place in _new(list(result), places):
        found.changes.append(tree.NewEntry(spot.paths[1], place, result[name], name))
    return result


def _list(spot: _Spot, found: ValueMerge) -> Any:  # noqa: ANN401 (any value)
    names = _items(*spot.values)
    order = merged_order(*(list(each) for each in names)) if names else None
    if names is None or order is None:
        return _conflict(spot, found, _MOVED if names else _BOTH)
    ours = list(names[1])
    result: list[tuple[Hashable, Any]] = []
    for name in _names(order):
        at = [each.get(name) for each in names]
        values = [
            tree.REMOVED if index is None else value[index]
            for index, value in zip(at, spot.values, strict=True)
        ]
        merged = _merged(spot.inner(values, at), found)
        if merged is not tree.REMOVED:
            result.append((name, merged))
    kept = [name for name, _ in result if name in names[1]]
    if kept != [name for name in ours if name in set(kept)]:
        # Theirs moved items: one change of the whole list in place of those inside it.
        depth = len(spot.paths[1])
        found.changes = [each for each in found.changes if each.key[:depth] != spot.paths[1]]
        found.changes.append(tree.KeyChange(spot.paths[1], [value for _, value in result]))
        return [value for _, value in result]
    by_name = dict(result)
    for name, place in _new([name for name, _ in result], names[1]):
        found.changes.append(tree.NewEntry(spot.paths[1], place, by_name[name]))
    return [value for _, value in result]


# --- The order of siblings that three versions have: what one side moved, and where each side adds.

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SiblingPlace(Generic[Name]):
    """One known sibling, None for the place before the first, and what each side adds after it."""

    known: Name | None
    ours: tuple[Name, ...]
    theirs: tuple[Name, ...]


def _names(order: Sequence[SiblingPlace[Any]]) -> Iterator[Any]:
    for place in order:
        yield from (() if place.known is None else (place.known,))
        yield from place.theirs
        yield from place.ours


def _new(result: Sequence[Any], ours: Mapping[Any, int]) -> Iterator[tuple[Any, int | None]]:
    """Names of `result` that ours does not have, each with the place of the next one that it has."""
    following: int | None = None
    found: list[tuple[Any, int | None]] = []
    for name in reversed(result):
        if name in ours:
            following = ours[name]
        else:
            found.append((name, following))
    yield from reversed(found)


def _items(*lists: Sequence[Any]) -> tuple[dict[Hashable, int], ...] | None:
    """The items of each of `lists` by what they are in all: by a key that names them, or else by their value.

    None where two items of one list are the same.
    """
    items = [each for values in lists for each in values]
    if items and all(isinstance(each, dict) for each in items):
        for key in items[0]:
            named = [_by(values, key) for values in lists]
            if all(each is not None for each in named):
                return tuple(each for each in named if each is not None)
    texts = [[_text(each) for each in values] for values in lists]
    if any(len(set(each)) < len(each) for each in texts):
        return None
    return tuple({text: index for index, text in enumerate(each)} for each in texts)


def _by(values: Sequence[Mapping[Any, Any]], key: object) -> dict[Hashable, int] | None:
    """The indexes of `values`, maps, by what each has under `key`; None where that does not name them."""
    found: dict[Hashable, int] = {}
    for index, each in enumerate(values):
        name = each.get(key)
        if not isinstance(name, str | int) or isinstance(name, bool) or name in found:
            return None
        found[name] = index
    return found


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _equal(left: object, right: object) -> bool:
    if left is tree.REMOVED or right is tree.REMOVED:
        return left is right
    return left == right if isinstance(left, tree.Opaque) else tree.values_equal(left, right)


def merged_order(
    base: Sequence[Name], ours: Sequence[Name], theirs: Sequence[Name]
) -> list[SiblingPlace[Name]] | None:
    """The places of the result, in order; None where both sides moved the same names to different places.

    Every name of the base is known, also what a side deleted. What both sides add is known if they add it at
    one place in one order; otherwise it is where ours has it.
    """
    of_base = set(base)
    shared = _shared(_added(ours, of_base), _added(theirs, of_base))
    known = [name for anchor in (None, *base) for name in ((anchor, *shared.get(anchor, ())))]
    of_base.update(name for names in shared.values() for name in names)
    everywhere = set(ours) - of_base
    theirs = [name for name in theirs if name not in everywhere]
    order = _known_order([name for name in known if name is not None], ours, theirs)
    if order is None:
        return None
    own_added, other_added = _added(ours, of_base), _added(theirs, of_base)
    return [
        SiblingPlace(name, tuple(own_added.get(name, ())), tuple(other_added.get(name, ())))
        for name in (None, *order)
    ]


def _shared(
    ours: dict[Name | None, list[Name]], theirs: dict[Name | None, list[Name]]
) -> dict[Name | None, list[Name]]:
    """What both sides add at one place in one order, by the known name before it."""
    found: dict[Name | None, list[Name]] = {}
    for anchor, own in ours.items():
        other = theirs.get(anchor, [])
        both = _kept(other, own)
        if both and both == _kept(own, other):
            found[anchor] = both
    return found


def _added(side: Sequence[Name], known: set[Name]) -> dict[Name | None, list[Name]]:
    """What `side` adds, by the known name before it."""
    added: dict[Name | None, list[Name]] = {}
    last: Name | None = None
    for name in side:
        if name in known:
            last = name
        else:
            added.setdefault(last, []).append(name)
    return added


def _known_order(base: Sequence[Name], ours: Sequence[Name], theirs: Sequence[Name]) -> list[Name] | None:
    own, other = _kept(base, ours), _kept(base, theirs)
    has_moved = own != _kept(ours, base)
    other_has_moved = other != _kept(theirs, base)
    if has_moved and other_has_moved and _kept(theirs, own) != _kept(ours, other):
        return None
    order = other if other_has_moved and not has_moved else own
    # What that side deleted goes back after what was before it.
    behind = _added(base, set(order))
    return [
        name for anchor in (None, *order) for name in (anchor, *behind.get(anchor, ())) if name is not None
    ]


def _kept(names: Sequence[Name], of: Sequence[Name]) -> list[Name]:
    """Those `of` the names that are in `names`, in their order."""
    wanted = set(names)
    return [name for name in of if name in wanted]
