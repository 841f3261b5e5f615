"""The documents of a workspace, read and parsed: what planning and stat work on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mdplan.batch import Batch, FileEdits
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.document_format import document_format
from mdplan.markdown.outline import Outline
from mdplan.plan import Plan
from mdplan.planning.build import BuiltFile
from mdplan.planning.snapshot import SnapshotFile
from mdplan.planning.stale import stale_base
from mdplan.reading.open_document import decode_document
from mdplan.storage.file_name import FileName
from mdplan.storage.root import Root
from mdplan.storage.workspace import Workspace
from mdplan.text.source import Source


@dataclass(frozen=True, slots=True)
class Documents:
    """Files of `workspace` as text, up to `max_file_bytes` and `max_lines` each."""

    workspace: Workspace
    max_file_bytes: int
    max_lines: int

    def read(self, name: FileName, encoding: str | None) -> Source | Diagnostic:
        """A file, decoded. Errors: those of `Workspace.read` and `decode_document`."""
        found = self.workspace.read(name, self.max_file_bytes)
        if isinstance(found, Diagnostic):
            return found
        return decode_document(str(name), found.data, encoding, self.max_lines)

    def open(self, name: FileName, encoding: str | None, given_format: str | None) -> Outline | Diagnostic:
        """A file, parsed; `given_format` is what the caller says it is, None to go by its name."""
        source = self.read(name, encoding)
        if isinstance(source, Diagnostic):
            return source
        return Outline(source, document_format(str(name), source.text, given_format))

    def snapshot(self, batch: Batch) -> tuple[list[SnapshotFile], list[Diagnostic]]:
        """Every file of `batch`, parsed, and what is wrong with the others.

        Errors: those of opening; INVALID_ARGUMENT for a file that is named twice, and for several roots;
        STALE_BASE; those of `Workspace.write_refusal`.
        """
        files: list[SnapshotFile] = []
        problems: list[Diagnostic] = []
        names: set[FileName] = set()
        first_edit = 0
        for requested in batch.files:
            name = self.workspace.locate(requested.file)
            file = name if isinstance(name, Diagnostic) else self._snapshot_file(name, requested, first_edit)
            if isinstance(name, FileName) and name in names:
                file = _named_twice(name)
            if isinstance(file, Diagnostic):
                problems.append(file.at(file=requested.file))
            else:
                files.append(file)
            if isinstance(name, FileName):
                names.add(name)
            first_edit += len(requested.edits)
        if len({name.root for name in names}) > 1:
            problems.append(_SEVERAL_ROOTS)
        return files, problems

    def within_limits(self, built: BuiltFile) -> BuiltFile | Problems:
        """`built`, unless nobody could read its result again. Errors: FILE_TOO_LARGE."""
        result, path = built.result.source, built.file.path
        if result.lines.count > self.max_lines:
            size = f"{result.lines.count} lines, and the limit is {self.max_lines}"
        elif len(result.data) > self.max_file_bytes:
            size = f"{len(result.data)} bytes, and the limit is {self.max_file_bytes}"
        else:
            return built
        return (
            Diagnostic(
                code=Code.FILE_TOO_LARGE,
                message=f"the result of `{path}` would have {size}",
                hint="write less, or raise the limit",
                file=path,
            ),
        )

    def sources_of(self, plan: Plan) -> list[Source] | Problems:
        """The files of `plan` as they are now, in its order. Errors: those of reading."""
        found = [self._read_path(change.path, change.encoding) for change in plan.files]
        problems = tuple(source for source in found if isinstance(source, Diagnostic))
        return problems or [source for source in found if isinstance(source, Source)]

    def state_of(self, batch: Batch) -> list[tuple[str, str]] | None:
        """Path and SHA-256 of every file of `batch` as it is now, in its order.

        None where one cannot be read, or is the very base that the batch names for it.
        """
        state: list[tuple[str, str]] = []
        for file in batch.files:
            name = self.workspace.locate(file.file)
            source = name if isinstance(name, Diagnostic) else self.read(name, file.encoding)
            if isinstance(source, Diagnostic):
                return None
            if file.base_sha256 is not None and source.sha256.startswith(file.base_sha256.lower()):
                return None
            state.append((str(name), source.sha256))
        return state

    def relative_paths(self, plan: Plan) -> list[str]:
        """Paths of the files of `plan` without the name of their root."""
        return [name.path for name in self._names(plan)]

    def root_of(self, plan: Plan) -> Root | Diagnostic:
        """The root that the files of `plan` lie in. Errors: those of `Workspace.locate`."""
        name = self.workspace.locate(plan.files[0].path)
        return name if isinstance(name, Diagnostic) else self.workspace.root_of(name)

    def _snapshot_file(
        self, name: FileName, requested: FileEdits, first_edit: int
    ) -> SnapshotFile | Diagnostic:
        outline = self.open(name, requested.encoding, requested.format)
        if isinstance(outline, Diagnostic):
            return outline
        expected = requested.base_sha256
        if expected is not None and not outline.source.sha256.startswith(expected.lower()):
            return stale_base(str(name), expected, outline)
        refused = self.workspace.write_refusal(name)
        return refused or SnapshotFile(
            path=str(name), relative=name.path, requested=requested, outline=outline, first_edit=first_edit
        )

    def _read_path(self, path: str, encoding: str | None) -> Source | Diagnostic:
        name = self.workspace.locate(path)
        return name if isinstance(name, Diagnostic) else self.read(name, encoding)

    def _names(self, plan: Plan) -> Iterator[FileName]:
        for change in plan.files:
            name = self.workspace.locate(change.path)
            if isinstance(name, FileName):
                yield name


def _named_twice(name: FileName) -> Diagnostic:
    return Diagnostic(
        code=Code.INVALID_ARGUMENT,
        message=f"`{name}` stands in the batch twice",
        hint="put all edits of one file into one list",
        file=str(name),
    )


_SEVERAL_ROOTS: Final = Diagnostic(
    code=Code.INVALID_ARGUMENT,
    message="the batch has files of several roots, and a commit lives in one",
    hint="send one batch for each root",
)
