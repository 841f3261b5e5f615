"""Candidates that name keys of front matter, or of a file of keys and values."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from mdplan.data.address import shown
from mdplan.data.content import DataContent
from mdplan.data.json_values import as_json
from mdplan.data.node import Element
from mdplan.derive.candidate import CandidateEdits, Edit
from mdplan.derive.section_candidates import Group
from mdplan.derive.version_change import Change, ChangedRun
from mdplan.markdown.outline.data_content import data_content
from mdplan.markdown.outline.outline import Outline
from mdplan.text.document_format import DocumentFormat

_Path = tuple[Element, ...]
_Placed = tuple[_Path, Edit]
# A name that needs no escape in a dotted path, and is shown whole.
_PLAIN: Final = re.compile(r"[\w-]{1,20}")
_DOTTED: Final = re.compile(r"[\w-]+(\.[\w-]+)+")


def changed_keys(change: Change, hunks: Sequence[ChangedRun]) -> Iterator[Group]:
    """All edits of keys and lists that make one version of the data the other.

    A key that comes has no guard of its own.
    """
    old, new = data_content(change.old), data_content(change.new)
    if not (isinstance(old, DataContent) and isinstance(new, DataContent)):
        return
    covered = tuple(hunk for hunk in hunks if hunk.old_end <= _lines_of_data(change))
    edits = tuple(_edits(as_json(old.values), as_json(new.values), ()))
    if not covered or not edits:
        return
    yield covered, _candidate(edit for _, edit in edits)
    # Some of them may not be written as the author wrote them.
    for hunk in covered if len(covered) > 1 else ():
        inside = [edit for path, edit in edits if _is_in(change, old, new, path, hunk)]
        if inside:
            yield (hunk,), _candidate(inside)


def _candidate(edits: Iterable[Edit]) -> CandidateEdits:
    """A candidate of `edits`, weak where one has no guard of its own."""
    given = tuple(edits)
    return CandidateEdits(given, is_weak=any("expectedValue" not in edit for edit in given))


def _is_in(change: Change, old: DataContent, new: DataContent, path: _Path, hunk: ChangedRun) -> bool:
    """Whether the entry `path` of the old version, else of the new one, starts in `hunk`."""
    if path in old.places:
        return hunk.old_start < _line(change.old, old, path) <= hunk.old_end
    return path in new.places and hunk.new_start < _line(change.new, new, path) <= hunk.new_end


def _line(outline: Outline, content: DataContent, path: _Path) -> int:
    """The line of `path`, 1-based."""
    before = outline.source.text.find(content.text)
    return outline.source.lines.line_at(before + content.places[path].start)


def _lines_of_data(change: Change) -> int:
    """How many lines the front matter has, with its fences; those of the file, where all of it is data."""
    if change.old.format is not DocumentFormat.MARKDOWN:
        return len(change.old_lines)
    body = change.old.sections[0].body.start
    return change.old.source.lines.line_at(body - 1) if body else 0


def _edits(old: Any, new: Any, path: _Path) -> Iterator[_Placed]:  # noqa: ANN401 (values of data)
    """Edits below `path` that make the value `old` the value `new`."""
    if old == new and type(old) is type(new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key in new:
                yield from _edits(value, new[key], (*path, key))
            else:
                yield _edit("delete_value", (*path, key), expectedValue=value)
        yield from _new_keys(old, new, path)
    elif isinstance(old, list) and isinstance(new, list) and path:
        yield from _edits_of_list(old, new, path)
    elif path:
        yield _edit("set_value", path, value=new, expectedValue=old)


def _new_keys(old: dict[str, Any], new: dict[str, Any], path: _Path) -> Iterator[_Placed]:
    """Keys of `new` alone, each after the one before it that stays, unless it comes last."""
    names = list(new)
    last = max((index for index, name in enumerate(names) if name in old), default=-1)
    for index, name in enumerate(names):
        if name not in old:
            stays = [each for each in names[:index] if each in old]
            place = {"after": stays[-1]} if stays and index < last else {}
            place = {"before": names[last]} if not stays and index < last else place
            yield _edit("set_value", (*path, name), value=new[name], **place)


def _edits_of_list(old: list[Any], new: list[Any], path: _Path) -> Iterator[_Placed]:
    come = [each for each in new if each not in old]
    gone = [each for each in old if each not in new]
    if come and new == old + come:
        yield _edit("add_to_list", path, value=come[0] if len(come) == 1 else come, expectedValue=old)
    elif gone and new == [each for each in old if each not in gone]:
        yield _edit("remove_from_list", path, value=gone[0] if len(gone) == 1 else gone, expectedValue=old)
    elif len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _edits(before, after, (*path, index))
    else:
        yield _edit("set_value", path, value=new, expectedValue=old)


def _edit(op: str, path: _Path, **fields: object) -> _Placed:
    is_plain = all(isinstance(each, int) or _PLAIN.fullmatch(each) for each in path)
    # Of a name with dots what is there decides.
    is_dotted = len(path) == 1 and _DOTTED.fullmatch(str(path[0])) is not None
    key = str(path[0]) if is_dotted else shown(path) if is_plain else list(path)
    return path, {"op": op, "key": key, **fields}
