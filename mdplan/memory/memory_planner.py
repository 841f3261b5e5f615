"""Plans of batches on one document in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.destinations import TargetKind
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import NO_RULES, SiteRules
from mdplan.planning.batch import build_files, plan_batch
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile
from mdplan.planning.links import derive_link_edits
from mdplan.planning.replay import PlannedBatch
from mdplan.requests.batch import Batch


@dataclass(frozen=True)
class RequestedFile:
    """The document fields of a batch: its name, format and encoding, if given."""

    name: str
    format: str | None
    encoding: str | None

    def fields(self) -> dict[str, Any]:
        """Name, format and encoding as fields of a batch."""
        given = {"file": self.name, "format": self.format, "encoding": self.encoding}
        return {name: value for name, value in given.items() if value is not None}


def plan_in_memory(batch: Batch, outline: Outline) -> PlannedBatch | Problems:
    """The plan of `batch`, whose one file is the document `outline`.

    Errors: those of planning; INVALID_ARGUMENT for edits that need files.
    """
    needs_files = tuple(
        Diagnostic.invalid(
            f"{edit.op} needs files, and a document in memory is none", "use an Engine", edit_index=index
        )
        for index, edit in enumerate(batch.files[0].edits)
        if edit.file_effect != "edit" or edit.other_file is not None
    )
    return needs_files or plan_batch(batch, lambda part: _build(part, outline))


def _build(batch: Batch, outline: Outline) -> BuildResult | Problems:
    requested = batch.files[0]
    file = SnapshotFile(
        path=requested.file, relative=requested.file, requested=requested, outline=outline, first_edit=0
    )
    no_others = _NoOtherFiles(requested.file)
    built: list[BuiltFile] = []
    problems: list[Diagnostic] = []
    for each in build_files([file], batch, no_others):
        if isinstance(each, BuiltFile):
            built.append(each)
        else:
            problems += each
    return tuple(problems) or derive_link_edits(built, batch.update_references, no_others)


@dataclass(frozen=True)
class _NoOtherFiles:
    """The files that links of the document `name` lead to: nothing is known of them."""

    name: str

    def at(self, path: str) -> TargetKind:
        return TargetKind.FILE if path == self.name else TargetKind.OTHER

    def pages(self, key: str) -> Sequence[str]:
        del key
        return ()

    def spelled(self, path: str) -> str | None:
        del path
        return None

    @property
    def rules(self) -> SiteRules:
        return NO_RULES

    @property
    def rules_problem(self) -> None:
        return None

    def linking_to(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        del names
        return iter(())

    def navigation(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        del names
        return iter(())

    def refusal(self, file: SnapshotFile) -> None:
        del file
