"""Links that a plan breaks."""

from mdplan.diagnostics import Problems
from mdplan.planning.build import BuiltFile


def broken_links(built: BuiltFile) -> Problems:
    """BROKEN_LINK warnings."""
    return ()
