"""Edits that are made last, of the result of all others: a table of contents."""

from collections.abc import Sequence
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.operations.base import Claim, Resolution
from mdplan.planning.build import BuiltFile
from mdplan.planning.sequence.post_edits import with_post_edits
from mdplan.text.edit import EditList, Overlap, TextEdit

# What is replaced may hold headings, so that the anchors of others change; then what was made of them does.
_MOST_ROUNDS: Final = 3


def with_second_pass(built: BuiltFile) -> BuiltFile | Problems:
    """`built` with what its late edits make of the result, until they find nothing to do.

    Errors: those of `Operation.resolve_second_pass`, CONFLICTING_EDITS, UNENCODABLE_TEXT.
    """
    late = [item for item in built.resolved if item.operation.has_second_pass]
    for _ in range(_MOST_ROUNDS if late else 0):
        # Of the edits of a sequential batch that make the same text the last one counts.
        found: dict[tuple[Claim, ...], tuple[Sequence[TextEdit], int]] = {}
        problems: list[Diagnostic] = []
        for item in late:
            outcome = item.operation.resolve_second_pass(built.result)
            if isinstance(outcome, Resolution):
                found[outcome.claims] = outcome.edits, item.index
            else:
                problems += (each.at(file=built.file.path, edit_index=item.index) for each in outcome)
        if problems:
            return tuple(problems)
        edits = [(edit, index) for made, index in found.values() for edit in made]
        if not edits:
            break
        edits.sort(key=lambda made: made[0].span)
        ordered = EditList.of(edit for edit, _ in edits)
        if isinstance(ordered, Overlap):
            return (_within_another(built, edits[ordered.second][1]),)
        made = with_post_edits(built, ordered, dict(enumerate(index for _, index in edits)))
        if made is None:
            return (_unencodable(built, edits[0][1]),)
        built = made
    return built


def _within_another(built: BuiltFile, index: int) -> Diagnostic:
    return Diagnostic(
        code=Code.CONFLICTING_EDITS,
        message="the edit makes text that another one replaces",
        hint="name one of two regions that lie in each other",
        file=built.file.path,
        edit_index=index,
    )


def _unencodable(built: BuiltFile, index: int) -> Diagnostic:
    return Diagnostic(
        code=Code.UNENCODABLE_TEXT,
        message=f"an anchor has a character that does not exist in {built.result.source.encoding}",
        hint="leave the edit out, or save the file as UTF-8 first",
        file=built.file.path,
        edit_index=index,
    )
