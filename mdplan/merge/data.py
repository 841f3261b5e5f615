"""Merge data files by lines, and by keys if lines conflict or change other values."""

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from mdplan.data import tree
from mdplan.data.address import shown
from mdplan.data.content import DataContent, data_edits, read_data, verify_edits
from mdplan.field_names import unique_names
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
    lost_or_doubled,
    merge_lines,
    origin_of,
    rendered,
    split_conflict,
)
from mdplan.merge.siblings import (
    CHANGED,
    MOVED,
    WITH_DELETED,
    FirstPlace,
    Pairs,
    merged_order,
    named_siblings,
    same_siblings,
)
from mdplan.text.edit import EditList, Overlap
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, replace

BY_KEYS: Final = "keys of both sides were merged"
_UNREADABLE: Final = "lines were merged: {} cannot be read as {}"
_TOO_LARGE: Final = "lines were merged: the file is too large to be merged by key"

# Limits in characters for a merge in bounded time, and for conflicts that name key paths.
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
    """Merge the texts `ours` and `theirs` in `language`, both derived from `base`.

    All have LF newlines. Lines are merged; if they conflict, or the result lacks values of either side, keys
    are. `is_strict` allows no merged lines that neither side has.
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
    wanted = merge_values(*values)
    by_lines = _by_lines(texts, pieces, sides, style)
    if by_lines.is_clean and _is_good(language, texts, by_lines.text, wanted, values):
        return by_lines
    if not wanted.conflicts and not is_strict:
        merged = _by_keys(language, sides, wanted)
        if merged is None:
            # The merge is symmetric: a clean result with swapped sides counts.
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
    if not wanted.conflicts or longest > _MOST_NAMED:
        return by_lines
    contents = [read_data(language, text) for text in sides]
    return Merge(by_lines.text, tuple(_named(each, contents) for each in wanted.conflicts))


def _values(language: tree.Language, text: str) -> Any:  # noqa: ANN401 (any value)
    """Return the values in `text`. Raise `DataError`."""
    if language is tree.Language.JSON:
        # The position-tracking parser is a hundred times slower.
        with suppress(ValueError, RecursionError):
            return json.loads(text, object_pairs_hook=unique_names)
    return read_data(language, text).values


def merged_front_matter(base: str, ours: str, theirs: str) -> Merge | None:
    """Merge front matter with its fences, which the base may lack; None if it cannot be parsed."""
    sides = base, ours, theirs
    blocks = [find_front_matter(text) for text in sides]
    formats = {block.format for block in blocks if block}
    own = blocks[1]
    if len(formats) > 1 or own is None or blocks[2] is None:
        return None
    inner = [
        text[block.content.start : block.content.end] if block else ""
        for text, block in zip(sides, blocks, strict=True)
    ]
    merge = merge_data(tree.Language(own.format), inner[0], inner[1], inner[2], MarkerStyle())
    text = ours[: own.content.start] + merge.text + ours[own.content.end :]
    return None if merge.note else replace(merge, text=text)


def with_values_of(language: tree.Language, ours: str, base: str, theirs: str) -> str | None:
    """Return `ours` with the values that `theirs` changed in `base`; all that is written of others stays.

    None where the changes cannot be made. Raises `DataError` for what cannot be read.
    """
    values = [_values(language, text) for text in (base, ours, theirs)]
    found = merge_values(*values, goes_deep=True)
    if found.conflicts:
        return None
    return _by_keys(language, (ours, ours, ours), found) if found.changes else ours


def merge_text_lines(base: str, ours: str, theirs: str, style: MarkerStyle) -> Merge:
    """Merge unstructured texts by lines."""
    texts = Texts(*(lines_of(text) for text in (base, ours, theirs)))
    pieces = merge_lines(texts, *(range(len(lines)) for lines in texts))
    return _by_lines(texts, pieces, (base, ours, theirs), style)


def _by_lines(
    texts: Texts, pieces: Sequence[Piece], sides: tuple[str, str, str], style: MarkerStyle, note: str = ""
) -> Merge:
    split = [part for piece in pieces for part in split_conflict(texts, piece)]
    merge = rendered(texts, split, lambda _: (), style, has_final_end=final_end(*sides))
    return Merge(merge.text, merge.conflicts, note)


class ValueConflict(Struct):
    """A key that needs a decision: its path in base, ours and theirs (None if absent), and the `reason`."""

    base: tree.Path | None
    ours: tree.Path | None
    theirs: tree.Path | None
    reason: str


@dataclass(slots=True)
class ValueMerge:
    """The merged `value`, the `changes` from ours to it, and `conflicts`, where it keeps ours.

    Where it `goes_deep`, a map that theirs alone changed is changed by key, and a list by item.
    """

    value: Any = None
    changes: list[tree.Change] = field(default_factory=list)
    conflicts: list[ValueConflict] = field(default_factory=list)
    goes_deep: bool = False


def _is_good(
    language: tree.Language, texts: Texts, text: str, wanted: ValueMerge, sides: Sequence[Any]
) -> bool:
    """Return True if `text`, merged by lines, has the values of both sides."""
    try:
        values = _values(language, text)
    except tree.DataError:
        return False
    # A line merge misses values that one side deleted and the other moved and changed.
    if any(each.reason == WITH_DELETED for each in wanted.conflicts):
        return False
    if wanted.conflicts:
        # For example, items of a list without names, which only lines can place.
        is_whole = next(lost_or_doubled(texts, lines_of(text)), None) is None
        return is_whole and _doubled(values) <= max(map(_doubled, sides))
    return _unordered(values) == _unordered(wanted.value)


def _doubled(values: Any) -> int:  # noqa: ANN401 (any value)
    """Count duplicate keys, and list items equal to another."""
    if isinstance(values, dict):
        return sum((not isinstance(name, str)) + _doubled(each) for name, each in values.items())
    if not isinstance(values, list):
        return 0
    return len(values) - len(set(map(_text, values))) + sum(map(_doubled, values))


def _unordered(values: Any) -> object:  # noqa: ANN401 (any value)
    """Return `values` with keys and items in canonical order."""
    if isinstance(values, dict):
        return ("map", sorted((repr(name), repr(_unordered(each))) for name, each in values.items()))
    if isinstance(values, list):
        return ("list", sorted(repr(_unordered(each)) for each in values))
    return (type(values).__name__, repr(values))


def _by_keys(language: tree.Language, sides: tuple[str, str, str], found: ValueMerge) -> str | None:
    """Apply the changes of theirs to ours, the second of `sides`.

    Return None if that is impossible or would lose a comment.
    """
    ours = read_data(language, sides[1])
    for changes in (found.changes, list(_at_the_end(found.changes))):
        try:
            edits = EditList.of(splice.edit for splice in data_edits(ours, changes))
            if isinstance(edits, Overlap):
                continue
            text = edits.apply(ours.text)
            # For JSON, equal values are sufficient proof.
            is_json = language is tree.Language.JSON
            if not is_json or not tree.values_equal(_values(language, text), found.value):
                verify_edits(ours, edits, changes)
        except (tree.DataError, RecursionError):
            continue
        return text if _keeps_comments(language, sides, text) else None
    return None


def _at_the_end(changes: Sequence[tree.Change]) -> Iterator[tree.Change]:
    """Yield `changes` with new keys at the end of their maps, the only place in some languages."""
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


# --- Merging values: changes of theirs as changes of ours, and conflicts

_BOTH_ADDED: Final = "both sides added it, and not the same"
_DEEP: Final = 100


class _Spot(Struct):
    """A key in the three texts: its values (`REMOVED` if absent) and paths."""

    values: tuple[Any, Any, Any]
    paths: tuple[tree.Path, tree.Path, tree.Path]

    def inner(self, values: Sequence[Any], names: Sequence[tree.Element | None]) -> "_Spot":
        """Return an entry of it by its `names` in the three texts."""
        base, ours, theirs = (
            path if name is None else (*path, name) for path, name in zip(self.paths, names, strict=True)
        )
        old, own, other = values
        return _Spot((old, own, other), (base, ours, theirs))


def merge_values(base: Any, ours: Any, theirs: Any, *, goes_deep: bool = False) -> ValueMerge:  # noqa: ANN401 (any value)
    """Merge three values: maps by key, lists by item."""
    found = ValueMerge(goes_deep=goes_deep)
    found.value = _merged(_Spot((base, ours, theirs), ((), (), ())), found)
    return found


def _merged(spot: _Spot, found: ValueMerge) -> Any:  # noqa: ANN401 (any value)
    """Return the merged value at `spot`, or `REMOVED`; append changes and conflicts to `found`."""
    base, ours, theirs = spot.values
    origin = origin_of(base, ours, theirs, same=_equal)
    if found.goes_deep and origin is Origin.THEIRS and {type(ours), type(theirs)} in ({dict}, {list}):
        return _map(spot, found) if isinstance(ours, dict) else _list(spot, found)
    if origin is Origin.THEIRS and ours is not tree.REMOVED:
        # The caller adds new entries: it knows their position.
        found.changes.append(tree.KeyChange(spot.paths[1], theirs))
    if origin is not Origin.CONFLICT:
        return theirs if origin is Origin.THEIRS else ours
    # If both sides create it, merge into an empty map or list.
    kinds = {type(ours), type(theirs), type(ours if base is tree.REMOVED or base is None else base)}
    if kinds == {dict}:
        return _map(spot, found)
    if kinds == {list}:
        return _list(spot, found)
    was_deleted = tree.REMOVED in (ours, theirs)
    return _conflict(
        spot, found, _BOTH_ADDED if base is tree.REMOVED else WITH_DELETED if was_deleted else CHANGED
    )


def _conflict(spot: _Spot, found: ValueMerge, reason: str) -> Any:  # noqa: ANN401 (any value)
    base, ours, theirs = (
        None if value is tree.REMOVED else path for value, path in zip(spot.values, spot.paths, strict=True)
    )
    found.conflicts.append(ValueConflict(base, ours, theirs, reason))
    return spot.values[1]


def _map(spot: _Spot, found: ValueMerge) -> Any:  # noqa: ANN401 (any value)
    keys = [{name: name for name in value} if isinstance(value, dict) else {} for value in spot.values]
    if any(isinstance(name, tree.Unnamed) for each in keys for name in each) or len(spot.paths[0]) > _DEEP:
        return _conflict(spot, found, CHANGED)
    result = _entries(spot, keys, found)
    if result is None:
        return _conflict(spot, found, MOVED)
    for name, place in _new(result, keys[1]):
        found.changes.append(tree.NewEntry(spot.paths[1], place, result[name], name))
    return result


def _list(spot: _Spot, found: ValueMerge) -> Any:  # noqa: ANN401 (any value)
    items = _items([value if isinstance(value, list) else [] for value in spot.values])
    result = _entries(spot, items, found) if items else None
    if items is None or result is None:
        return _conflict(spot, found, MOVED if items else CHANGED)
    kept = [items[1][name] for name in result if name in items[1]]
    if kept != sorted(kept):
        # Theirs moved items: replace changes inside the list by one change of the list.
        depth = len(spot.paths[1])
        found.changes = [each for each in found.changes if each.key[:depth] != spot.paths[1]]
        found.changes.append(tree.KeyChange(spot.paths[1], list(result.values())))
    else:
        for name, place in _new(result, items[1]):
            found.changes.append(tree.NewEntry(spot.paths[1], place, result[name]))
    return list(result.values())


def _entries(
    spot: _Spot, entries: Sequence[Mapping[Any, tree.Element]], found: ValueMerge
) -> dict[Any, Any] | None:
    """Return the merged entries of the map or list at `spot`, in order; None if both sides moved them.

    `entries` maps, for each text, shared entry names to keys or indexes.
    """
    order = merged_order(*(list(each) for each in entries))
    result: dict[Any, Any] = {}
    for place in order or ():
        known = () if place.known is None else (place.known,)
        for name in (*known, *(() if place.gone else (*place.theirs, *place.ours))):
            at = [each.get(name) for each in entries]
            values = [
                tree.REMOVED if element is None else value[element]
                for element, value in zip(at, spot.values, strict=True)
            ]
            merged = _merged(spot.inner(values, at), found)
            if merged is not tree.REMOVED:
                result[name] = merged
        if place.gone:
            first = [
                None if not names else (*path, each[names[0]])
                for names, path, each in zip(
                    (place.gone, place.ours, place.theirs), spot.paths, entries, strict=True
                )
            ]
            found.conflicts.append(ValueConflict(first[0], first[1], first[2], place.reason))
            result |= {name: spot.values[1][entries[1][name]] for name in place.ours}
    return None if order is None else result


def _new(result: Iterable[Any], ours: Mapping[Any, tree.Element]) -> Iterator[tuple[Any, int | None]]:
    """Yield names in `result` missing in ours, each with the position of the next name in ours."""
    places = {name: place for place, name in enumerate(ours)}
    following: int | None = None
    additions: list[tuple[Any, int | None]] = []
    for name in reversed([*result]):
        if name in places:
            following = places[name]
        else:
            additions.append((name, following))
    yield from reversed(additions)


def _equal(left: object, right: object) -> bool:
    if left is tree.REMOVED or right is tree.REMOVED:
        return left is right
    return left == right if isinstance(left, tree.Opaque) else tree.values_equal(left, right)


# --- Matching list items: by a naming key, or by content


class _Item(NamedTuple):
    """A list item, its `name`, and `has_key` if it has a naming key."""

    name: str
    value: Any
    has_key: bool


def _items(lists: Sequence[Sequence[Any]]) -> list[dict[FirstPlace, int]] | None:
    """Return the indexes of items by names shared across `lists`.

    Return None if a list has duplicate items.
    """
    key = _naming_key(lists)
    has_key = key is not None
    named = [
        [_Item(_text(each[key] if has_key else each), each, has_key) for each in items] for items in lists
    ]
    if any(len({item.name for item in items}) < len(items) for items in named):
        return None
    siblings = named_siblings(named, _same_items, _same_new_items)
    return [{name: index for index, name in enumerate(items)} for items in siblings]


def _naming_key(lists: Sequence[Sequence[Any]]) -> object:
    """Return the first key that all items have, with unique texts or numbers; else None."""
    items = [item for values in lists for item in values]
    if not all(isinstance(item, dict) for item in items):
        return None
    for key in items[0] if items else ():
        named = [[item.get(key) for item in values] for values in lists]
        is_name = all(
            isinstance(name, str | int) and not isinstance(name, bool) for each in named for name in each
        )
        if is_name and all(len(set(each)) == len(each) for each in named):
            return key
    return None


def _same_items(old: Sequence[_Item], new: Sequence[_Item]) -> dict[int, int]:
    return same_siblings(
        [item.name for item in old], [item.name for item in new], partial(_alike_items, old, new)
    )


def _same_new_items(ours: Sequence[_Item], theirs: Sequence[_Item]) -> dict[int, int]:
    """Match new items by name, or multi-key maps by their first value."""
    places = {name: index for index, item in enumerate(theirs) for name in _names_of(item)}
    pairs: dict[int, int] = {}
    for index, item in enumerate(ours):
        at = next((places[name] for name in _names_of(item) if name in places), None)
        if at is not None and at not in pairs.values():
            pairs[index] = at
    return pairs


def _names_of(item: _Item) -> Iterator[Hashable]:
    yield item.name
    if not item.has_key and isinstance(item.value, dict) and len(item.value) > 1:
        yield from islice(_leaves(item.value), 1)


def _alike_items(old: Sequence[_Item], new: Sequence[_Item], where: range, new_where: range) -> Pairs:
    """Yield pairs of changed items in a gap that are each other's unique best match."""
    if old[where.start].has_key:
        return
    after = [Counter(_leaves(new[at].value)) for at in new_where]
    scores = [[_likeness(Counter(_leaves(old[at].value)), each) for each in after] for at in where]
    columns = [*zip(*scores, strict=True)]
    first = 0
    for index, row in zip(where, scores, strict=True):
        best = max(row)
        at = row.index(best)
        is_only = row.count(best) == columns[at].count(best) == 1
        if best and is_only and best == max(columns[at]) and at >= first:
            yield index, new_where[at]
            first = at + 1


def _likeness(old: Counter[Hashable], new: Counter[Hashable]) -> int:
    """Return how many scalars two items share; 0 below half of the smaller if the first differs."""
    shared = (old & new).total()
    is_alike = shared and next(iter(old)) == next(iter(new))
    return shared if is_alike or 2 * shared >= min(old.total(), new.total()) else 0


def _leaves(value: Any, path: tuple[object, ...] = ()) -> Iterator[Hashable]:  # noqa: ANN401 (any value)
    """Yield the scalars in a map or list, each with its keys."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, (*path, None))
    elif path:
        yield (*path, _text(value))


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=repr)
