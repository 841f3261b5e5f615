"""The part of the line that plans: decode, parse, resolve, check, build, verify, derive."""

from collections.abc import Callable, Sequence

from mdplan.diagnostics import Diagnostic, Problems, Severity
from mdplan.documents.documents import Documents
from mdplan.documents.link_index import LinkIndex
from mdplan.documents.schema import schema_problems
from mdplan.limits import Limits
from mdplan.planning.batch import build_files, plan_batch
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile
from mdplan.planning.links import derive_link_edits
from mdplan.planning.replay import PlannedBatch
from mdplan.progress import ProgressCallback, no_progress
from mdplan.requests.batch import Batch


class Planner:
    """Plans of batches on the files of `documents`."""

    def __init__(
        self,
        documents: Documents,
        limits: Limits,
        link_index: Callable[[SnapshotFile], LinkIndex] | None = None,
    ) -> None:
        """Read files through `documents`; a plan has no more files than `limits` allow a batch.

        `link_index` gives the files around one of a batch, for callers who plan many batches on files
        that no one changes concurrently; without it they are examined again for each batch.
        """
        self._documents = documents
        self._limits = limits
        self._link_index = link_index or (lambda file: LinkIndex.for_file(file, documents))

    def plan(self, batch: Batch, tick: ProgressCallback = no_progress) -> PlannedBatch | Problems:
        """The plan of `batch`, or of the edits of it that are accepted; or all problems.

        `tick` is called for each file that was read, and then of each that was planned.
        """
        file, count = batch.files[0].file, len(batch.files)
        planned = self._documents.with_timeout(
            file,
            lambda: plan_batch(batch, lambda part: self._build(part, tick if part is batch else no_progress)),
            count,
        )
        return (planned,) if isinstance(planned, Diagnostic) else planned

    def _build(self, batch: Batch, tick: ProgressCallback = no_progress) -> BuildResult | Problems:
        """Every file of `batch` decoded, parsed, resolved, checked, built and verified, and links derived."""
        total = 2 * len(batch.files)
        snapshot, problems = self._documents.snapshot(batch, lambda done, _: tick(done, total))
        if not snapshot:
            return tuple(problems)
        linked = self._link_index(snapshot[0])
        built_files: list[BuiltFile] = []
        for built in build_files(snapshot, batch, linked):
            tick(len(batch.files) + len(built_files), total)
            if isinstance(built, BuiltFile):
                refused = self._documents.write_refusal(built)
                problems += () if refused is None else (refused,)
                built_files.append(built)
            else:
                problems += built
        if problems:
            return tuple(problems)
        made = derive_link_edits(built_files, batch.update_references, linked)
        made = self._documents.within_limits(made, self._limits) if isinstance(made, BuildResult) else made
        if not isinstance(made, BuildResult):
            return made
        found = tuple(schema_problems(self._documents, made.files, batch.json_schema))
        errors = tuple(each for each in found if each.severity is Severity.ERROR)
        if errors:
            return errors
        self._prime_cache(made.files)
        return BuildResult(made.files, (*made.warnings, *found)) if found else made

    def _prime_cache(self, files: Sequence[BuiltFile]) -> None:
        """Keep the outlines of results, which the next call will ask for if these are committed."""
        for built in files:
            asked = built.file.requested
            if built.edits and not built.file.is_deleted and built.file.new_path is None:
                self._documents.prime_cache(built.file.path, built.result, asked.encoding, asked.format)
