"""preview_match: list what a pattern finds."""

from typing import ClassVar, Literal

from mdplan.diagnostics import Problems
from mdplan.markdown.outline import Outline
from mdplan.operations.base.match import MatchOperation, MatchSelection
from mdplan.operations.base.operation import Resolution


class PreviewMatch(MatchOperation):
    """List the matches of a pattern and change nothing.

    It takes the options of `replace_match` and reports what that would replace. Any number of matches will
    do, unless a count is given.
    """

    example: ClassVar[dict[str, object]] = {"op": "preview_match", "pattern": "nightly"}
    needs_one_match: ClassVar = False

    op: Literal["preview_match"]

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """No edit. Errors: those of `replace_match` but for its replacement."""
        selection = self.find(outline)
        if not isinstance(selection, MatchSelection):
            return selection
        return Resolution(
            claims=(),
            section=selection.section,
            matches=selection.report(replaced=0),
            warnings=selection.warnings,
            is_evidence=True,
        )
