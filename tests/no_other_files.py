"""A root in which nothing is but the files of the batch."""

from collections.abc import Iterator, Sequence

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.destinations import TargetKind
from mdplan.markdown.paths import NO_RULES
from mdplan.planning.build import SnapshotFile


class NoOtherFiles:
    """Links that lead to other files lead to nothing."""

    def at(self, path: str) -> TargetKind:
        """Nothing is at any `path`."""
        del path
        return TargetKind.NOTHING

    def pages(self, key: str) -> Sequence[str]:
        """There is no page for any `key`."""
        del key
        return ()

    rules = NO_RULES
    rules_problem = None

    def spelled(self, path: str) -> str | None:
        """No file has a name like `path`."""
        del path
        return None

    def linking_to(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        """No file links to any of `names`."""
        del names
        return iter(())

    def navigation(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        del names
        return iter(())

    def refusal(self, file: SnapshotFile) -> Diagnostic | None:
        """Any `file` could be replaced."""
        del file
        return None
