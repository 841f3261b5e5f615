"""From a candidate to the edits of one file: conditions are asked, loops and placeholders filled in."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from mdplan.bot.byte_prefilter import BytePrefilter
from mdplan.bot.job import CandidateFile
from mdplan.bot.manifest.conditions import FileFacts, is_met, may_be_met
from mdplan.bot.manifest.expansion import FilledEdit, ManifestProblem, expand_edits
from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.manifest.model import Rule
from mdplan.bot.manifest.placeholders import Values, has_placeholder, misuse
from mdplan.bot.manifest.source_map import Path
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.snapshot import Documents
from mdplan.markdown.front_matter.values import as_json
from mdplan.markdown.outline.outline import Outline
from mdplan.operations import OPERATIONS
from mdplan.operations.base.file_state import FileState
from mdplan.operations.base.operation import Operation
from mdplan.requests.batch import Batch
from mdplan.requests.batch_reader import read_batch
from mdplan.storage.fs.file_name import FileName
from mdplan.text.document_format import DocumentFormat
from mdplan.text.source import Source


@dataclass(frozen=True, slots=True)
class SelectedEdits:
    """What is asked of one file: a batch of that file alone, and where in the manifest its edits stand."""

    batch: Batch
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class _InspectedFile:
    """A file as it is; `data` is None where there is none."""

    documents: Documents
    name: FileName
    data: bytes | None
    encoding: str | None
    given_format: str | None
    fixed: Values

    @cached_property
    def outline(self) -> Outline | Diagnostic:
        if self.data is None:
            return Outline(Source.from_text(""), DocumentFormat.MARKDOWN)
        return self.documents.open(self.name, self.encoding, self.given_format)

    def values(self, outline: Outline, *, with_front_matter: bool) -> Values:
        """What placeholders stand for in this file."""
        folder, _, name = self.name.path.rpartition("/")
        values = self.fixed.having(
            path=self.name.path, name=name, stem=name.rpartition(".")[0] or name, folder=folder
        )
        if not with_front_matter:
            return values
        return values.having(frontMatter=as_json(FileFacts(outline, values).front_matter[1]))


@dataclass(frozen=True)
class Selector:
    """Selects what the manifest `loaded` asks of files of `documents`."""

    loaded: LoadedManifest
    documents: Documents

    def select(self, candidate: CandidateFile) -> SelectedEdits | Problems | None:
        """What is asked of `candidate`; None where nothing is, or all of it holds.

        Errors: those of reading, of conditions and placeholders, and of the request reader.
        """
        name = self.documents.workspace.locate(candidate.path)
        if isinstance(name, Diagnostic):
            return (name,)
        read = self.documents.workspace.read(name, self.documents.max_file_bytes)
        if isinstance(read, Diagnostic) and read.code is not Code.FILE_NOT_FOUND:
            return (read,)
        shape = self._shape(candidate)
        if isinstance(shape, Diagnostic):
            return (shape,)
        data = None if isinstance(read, Diagnostic) else read.data
        looked = _InspectedFile(
            self.documents, name, data, shape.get("encoding"), shape.get("format"), self.loaded.values
        )
        edits: list[FilledEdit] = []
        problems: list[Diagnostic] = []
        for number in candidate.rules:
            for found in self._asked(self.loaded.manifest.files[number], ("files", number), looked):
                match found:
                    case FilledEdit():
                        edits.append(found)
                    case ManifestProblem():
                        problems.append(self._of_manifest(found, candidate.path))
                    case Diagnostic():
                        problems.append(found.at(file=candidate.path))
        # A loop meets the same problem with every entry.
        return tuple(dict.fromkeys(problems)) or self._as_batch(
            candidate.path, shape, self._open_edits(edits, looked)
        )

    def _shape(self, candidate: CandidateFile) -> dict[str, str] | Diagnostic:
        """Encoding and format of a file, as its rules give them."""
        shape: dict[str, str] = {}
        for number in candidate.rules:
            rule = self.loaded.manifest.files[number]
            for field, value in (("encoding", rule.encoding), ("format", rule.format)):
                if value is not None and shape.setdefault(field, value) != value:
                    other = misuse(f"`{candidate.path}` has another {field} in another rule", "give it once")
                    return self._of_manifest(ManifestProblem(other, ("files", number, field)), candidate.path)
        return shape

    def of_manifest(self, problem: Diagnostic, path: Path) -> Diagnostic:
        """`problem` of a file, which says where in the manifest the edit stands that met it."""
        place = self.loaded.located.place(path)
        where = f"{self.loaded.name}:{place.line}:{place.col}"
        return replace(problem, message=f"{problem.message} (asked for at {where})", edit_index=None)

    def _asked(
        self, rule: Rule, path: Path, looked: _InspectedFile
    ) -> Iterator[FilledEdit | ManifestProblem | Diagnostic]:
        if looked.data is not None and not self._may_apply(rule, BytePrefilter(looked.data, looked.encoding)):
            return
        outline = looked.outline
        if isinstance(outline, Diagnostic):
            yield outline
            return
        values = looked.values(outline, with_front_matter=path[1] in self._asking_front_matter)
        if rule.when is not None:
            answer = is_met(rule.when, FileFacts(outline, values), (*path, "when"))
            if answer is not True:
                if isinstance(answer, ManifestProblem):
                    yield answer
                return
        yield from expand_edits(rule.edits, values, (*path, "edits"))

    @cached_property
    def _asking_front_matter(self) -> frozenset[int]:
        """Numbers of the rules that may use its values; to read them for all others would cost the most."""
        return frozenset(
            number for number, rule in enumerate(self.loaded.manifest.files) if _FRONT_MATTER in str(rule)
        )

    def _may_apply(self, rule: Rule, raw: BytePrefilter) -> bool:
        """Whether `rule` can have anything to do in a file of these bytes."""
        if rule.when is not None and not may_be_met(rule.when, raw, self.loaded.values):
            return False
        return any(_may_match(edit, raw) for edit in rule.edits)

    def _open_edits(self, edits: list[FilledEdit], looked: _InspectedFile) -> list[FilledEdit]:
        """`edits` without those of the file as a whole that hold already."""

        def is_there(path: str) -> bool:
            name = self.documents.workspace.locate(path)
            return isinstance(name, FileName) and not isinstance(
                self.documents.workspace.look_at(name), Diagnostic
            )

        file = FileState(looked.data, looked.encoding, is_there)
        left = [
            each
            for each in edits
            if (model := _operation(each.edit)) is None or not model.file_already_satisfied(each.edit, file)
        ]
        # Edits of a file that has its new name were made under the old one.
        return left if looked.data is not None or len(left) == len(edits) else []

    def _as_batch(
        self, path: str, shape: Mapping[str, str], edits: list[FilledEdit]
    ) -> SelectedEdits | Problems | None:
        if not edits:
            return None
        file: dict[str, Any] = {"file": path, **shape, "edits": [each.edit for each in edits]}
        batch = read_batch({"files": [file], **self.loaded.manifest.options})
        if isinstance(batch, Batch):
            return SelectedEdits(batch, tuple(each.path for each in edits))
        placed = (
            self._of_manifest(
                ManifestProblem(
                    problem, edits[problem.edit_index].path if problem.edit_index is not None else ()
                ),
                path,
            )
            for problem in batch
        )
        return tuple(dict.fromkeys(placed))

    def _of_manifest(self, misplaced: ManifestProblem, path: str) -> Diagnostic:
        """What is wrong with the manifest, found when it was filled in for the file `path`."""
        return replace(
            misplaced.problem,
            message=f"for `{path}`: {misplaced.problem.message}",
            file=self.loaded.name,
            edit_index=None,
            place=self.loaded.located.place(misplaced.path),
        )


def _may_match(edit: Mapping[str, Any], raw: BytePrefilter) -> bool:
    """Whether `edit` may find what it looks for; the bytes alone can tell that it does not."""
    model = _operation(edit)
    text = model.required_text(edit) if model is not None else None
    return text is None or has_placeholder(text) or raw.may_have(text)


def _operation(edit: Mapping[str, Any]) -> type[Operation] | None:
    """The class of an `edit` of a manifest; None for an operation that does not exist."""
    op = edit.get("op")
    return OPERATIONS.get(op) if isinstance(op, str) else None


_FRONT_MATTER: Final = "frontMatter"
