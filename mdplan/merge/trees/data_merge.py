"""Merge of files of keys and values: by lines, and by keys where lines conflict or give other values."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from mdplan.data.address import shown
from mdplan.data.content import DataContent, data_edits, read_data, verify_edits
from mdplan.data.tree import Change, DataError, KeyChange, Language, NewEntry, Path, values_equal
from mdplan.markdown.format_detection import find_front_matter
from mdplan.merge.conflict_markers import (
    Conflict,
    MarkerStyle,
    Merge,
    MergedText,
    final_end,
    lines_of,
    rendered,
)
from mdplan.merge.line_merge import merge_lines, split_conflict
from mdplan.merge.pieces import Origin, Piece, Texts, conflict
from mdplan.merge.trees.value_merge import ValueConflict, ValueMerge, merge_values
from mdplan.text.edit import EditList, Overlap

BY_KEYS: Final = "keys of both sides were merged"
_UNREADABLE: Final = "lines were merged: {} cannot be read as {}"
_TOO_LARGE: Final = "lines were merged: the file is too large to be merged by key"
# How long each text may be for a merge in bounded time, and for conflicts with the paths of their keys.
_MOST_CHARACTERS: Final = {
    Language.YAML: 100_000,
    Language.JSON: 500_000,
    Language.TOML: 300_000,
    Language.INI: 60_000,
}
_MOST_NAMED: Final = 300_000
_WRONG: Final = "merged by lines, the keys would not have the values of both sides"
_COMMENT: Final = {
    Language.JSON: re.compile(r"(?:^|\s)(//.*|/\*.*)"),
    Language.INI: re.compile(r"(?:^|\s)([#;].*)"),
}
_HASH: Final = re.compile(r"(?:^|\s)(#.*)")


def merge_data(
    language: Language, base: str, ours: str, theirs: str, style: MarkerStyle, *, is_strict: bool = False
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
        except DataError:
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
            return Merge(merged, (), decisions=(MergedText((), BY_KEYS, _new_lines(texts, merged)),))
    if by_lines.is_clean:
        pieces = [each if each.origin is Origin.BOTH else conflict(each, _WRONG) for each in pieces]
        by_lines = _by_lines(texts, pieces, sides, style)
    if not found.conflicts or longest > _MOST_NAMED:
        return by_lines
    contents = [read_data(language, text) for text in sides]
    return Merge(by_lines.text, tuple(_named(each, contents) for each in found.conflicts))


def _values(language: Language, text: str) -> Any:  # noqa: ANN401 (any value)
    """What `text` says. Raises `DataError`."""
    if language is Language.JSON:
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
    language = next(Language(each.format) for each in blocks if each)
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


def _is_good(language: Language, text: str, wanted: ValueMerge, sides: Sequence[Any]) -> bool:
    """Whether `text`, merged by lines, has the values of both sides."""
    try:
        values = _values(language, text)
    except DataError:
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


def _by_keys(language: Language, sides: tuple[str, str, str], found: ValueMerge) -> str | None:
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
            if not _is_json_of(language, text, found.value):
                verify_edits(ours, edits, changes)
        except (DataError, RecursionError):
            continue
        return text if _keeps_comments(language, sides, text) else None
    return None


def _is_json_of(language: Language, text: str, value: object) -> bool:
    """Whether `text` is JSON that says `value` to any reader, which needs no other proof."""
    return language is Language.JSON and values_equal(_values(language, text), value)


def _at_the_end(changes: Sequence[Change]) -> Iterator[Change]:
    """`changes` with new keys at the end of their maps, for where a language takes no other place."""
    for each in changes:
        if isinstance(each, NewEntry) and each.name is not None:
            yield KeyChange((*each.key, each.name), each.value)
        else:
            yield each


def _keeps_comments(language: Language, sides: Sequence[str], text: str) -> bool:
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


def _new_lines(texts: Texts, text: str) -> str:
    known = {*texts.ours, *texts.theirs}
    return "".join(line for line in lines_of(text) if line not in known)


def _named(found: ValueConflict, contents: Sequence[DataContent]) -> Conflict:
    base, ours, theirs = (
        _text_at(content, path)
        for content, path in zip(contents, (found.base, found.ours, found.theirs), strict=True)
    )
    path = found.ours or found.theirs or found.base or ()
    place = contents[1].places.get(found.ours or ())
    line = contents[1].lines.line_at(place.start) if place else 1
    return Conflict((shown(path),) if path else (), found.reason, line, base, ours, theirs)


def _text_at(content: DataContent, path: Path | None) -> str:
    if path is None:
        return ""
    place = content.places.get(path)
    return content.text if place is None else content.text[place.start : place.end]
