"""Edits that are made last, of the result of all others: a table of contents."""

from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.operation import Resolution
from mdplan.planning.build import BuiltFile
from mdplan.planning.later_edits import with_later_edits
from mdplan.text.edit import EditList, Overlap, TextEdit

# What is replaced may hold headings, so that the anchors of others change; then what was made of them does.
_MOST_ROUNDS: Final = 3


def with_late_edits(built: BuiltFile) -> BuiltFile | Problems:
    """`built` with what its late edits make of the result, until they find nothing to do.

    Errors: those of `Operation.resolve_late`, UNENCODABLE_TEXT.
    """
    late = [item for item in built.resolved if item.operation.is_late]
    for _ in range(_MOST_ROUNDS if late else 0):
        edits: list[tuple[TextEdit, int]] = []
        problems: list[Diagnostic] = []
        for item in late:
            outcome = item.operation.resolve_late(built.result)
            if isinstance(outcome, Resolution):
                edits += ((edit, item.index) for edit in outcome.edits)
            else:
                problems += (each.at(file=built.file.path, edit_index=item.index) for each in outcome)
        if problems:
            return tuple(problems)
        if not edits:
            break
        edits.sort(key=lambda found: found[0].span)
        ordered = EditList.of(edit for edit, _ in edits)
        assert not isinstance(ordered, Overlap), "regions that share text are in conflict"
        made = with_later_edits(built, ordered, dict(enumerate(index for _, index in edits)))
        if made is None:
            return (_unencodable(built, edits[0][1]),)
        built = made
    return built


def _unencodable(built: BuiltFile, index: int) -> Diagnostic:
    return Diagnostic(
        code=Code.UNENCODABLE_TEXT,
        message=f"an anchor has a character that does not exist in {built.result.source.encoding}",
        hint="leave the edit out, or save the file as UTF-8 first",
        file=built.file.path,
        edit_index=index,
    )
