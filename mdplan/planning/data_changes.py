"""The changes of keys of all edits, made in one go and proven to be the only ones."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.edit_numbers import EditNumbers
from mdplan.markdown.format_detection import FrontMatterFormat
from mdplan.markdown.outline import Outline
from mdplan.planning.attributed_edits import AttributedEdit
from mdplan.planning.resolve import ResolvedEdit
from mdplan.text.edit import EditList
from mdplan.text.lines import Span

# Few batches change keys: what reads and writes data is loaded for these.
if TYPE_CHECKING:
    from mdplan.data.tree import Change, Splice


def data_parts(outline: Outline, resolved: Sequence[ResolvedEdit]) -> list[AttributedEdit] | Problems:
    """Text edits of all `resolved` that change keys of the file of `outline`, or of its front matter.

    Several keys in one map, or in a block that is yet to be created, are one matter: braces and fences are
    written once, and a map that loses all its keys is seen to be empty.
    Errors: DATA_INVALID, FRONT_MATTER_INVALID.
    """
    data_edits = [item for item in resolved if _changes_of(item)]
    if not data_edits:
        return []
    from mdplan.data.tree import DataError

    try:
        return _parts(outline, data_edits)
    except DataError as error:
        from mdplan.markdown.front_matter_edits import cannot_change

        # Which edit it was is looked for only now, so that a sound batch is read again once.
        sound = bisect_left(
            range(1, len(data_edits)), 1, key=lambda count: _fails(outline, data_edits[:count])
        )
        return (cannot_change(outline, error).at(edit_index=data_edits[sound].index),)


def created_twice(resolved: Sequence[ResolvedEdit], numbers: EditNumbers) -> Problems:
    """CONFLICTING_EDITS for an edit that would create front matter in another format than the one before."""
    first: tuple[int, FrontMatterFormat] | None = None
    for item in resolved:
        creates = item.resolution.data.creates if item.resolution.data else None
        if creates is None:
            continue
        if first is not None and creates is not first[1]:
            return (
                Diagnostic(
                    code=Code.CONFLICTING_EDITS,
                    message=f"{numbers.listed((first[0], item.index))} create front matter in two formats",
                    hint="give both the same frontMatterFormat",
                    edit_index=item.index,
                ),
            )
        first = first or (item.index, creates)
    return ()


def _changes_of(item: ResolvedEdit) -> "tuple[Change, ...]":
    return item.resolution.data.changes if item.resolution.data else ()


def _fails(outline: Outline, data_edits: Sequence[ResolvedEdit]) -> int:
    """1 where the changes of `asked` cannot be made together, else 0."""
    from mdplan.data.tree import DataError

    try:
        _parts(outline, data_edits)
    except DataError:
        return 1
    return 0


def _parts(outline: Outline, data_edits: Sequence[ResolvedEdit]) -> list[AttributedEdit]:
    """Raises `DataError` where the changes cannot be made, or not be proven."""
    from mdplan.data.tree import DataError
    from mdplan.markdown.front_matter_edits import data_splices, verify_splices

    changes = [change for item in data_edits for change in _changes_of(item)]
    owners = [item.index for item in data_edits for _ in _changes_of(item)]
    formats = (item.resolution.data.creates for item in data_edits if item.resolution.data is not None)
    creates = next((each for each in formats if each is not None), None)
    splices = data_splices(outline, changes, creates)
    edits = EditList.of(splice.edit for splice in splices)
    if not isinstance(edits, EditList):
        raise DataError("two of the changes want the same text")
    verify_splices(outline, edits, changes, creates)
    return [_part(splice, owners) for splice in splices]


def _part(splice: "Splice", owners: Sequence[int]) -> AttributedEdit:
    indexes = sorted({owners[change] for change in splice.changes})
    return AttributedEdit(
        splice.edit, tuple((index, Span(0, len(splice.edit.new_text))) for index in indexes)
    )
