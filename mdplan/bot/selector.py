"""Select the files of a manifest and their edits: test conditions, expand loops and placeholders."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from pydantic.alias_generators import to_camel

from mdplan.bot import expansion
from mdplan.bot.conditions import BytePrefilter, FileFacts, may_be_met, unmet
from mdplan.bot.job import GIT_FACTS, PAGES, CandidateFile, Tree
from mdplan.bot.manifest import LoadedManifest, Rule
from mdplan.data.content import as_json
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.documents.documents import Documents, files_of
from mdplan.documents.workspace import Workspace
from mdplan.markdown.outline import Outline
from mdplan.operations.base import FileState
from mdplan.requests.batch import Batch, read_batch
from mdplan.requests.spellings import op_of, operation_named
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import StorageRefused
from mdplan.text.source import DocumentFormat, Source
from mdplan.values import Struct, field, replace


class SelectedEdits(Struct):
    """The edits of a file as a batch, and the path of each edit in the manifest.

    Edits with `conditional` paths apply only if another edit changes the file.
    """

    batch: Batch
    paths: tuple[expansion.Path, ...]
    conditional: frozenset[expansion.Path] = frozenset()

    def only(self, kept: Sequence[int]) -> "SelectedEdits | None":
        """Return the edits with the indexes `kept`, or None if empty."""
        if not kept:
            return None
        file = self.batch.files[0]
        left = file.model_copy(update={"edits": tuple(file.edits[index] for index in kept)})
        batch = self.batch.model_copy(update={"files": (left,)})
        return replace(self, batch=batch, paths=tuple(self.paths[index] for index in kept))


class InspectedFile(Struct, dict=True):
    """The current file; `data` is None if it does not exist."""

    documents: Documents
    name: FileName
    data: bytes | None
    encoding: str | None
    given_format: str | None
    fixed: expansion.Values
    history: Mapping[str, Any] | None

    @cached_property
    def outline(self) -> Outline | Diagnostic:
        """The parsed file, empty if it does not exist; or why it cannot be read."""
        if self.data is None:
            return Outline(Source.from_text(""), DocumentFormat.MARKDOWN)
        return self.documents.open(self.name, self.encoding, self.given_format)

    def values(self, outline: Outline, asked: frozenset[str]) -> expansion.Values:
        """Return the placeholder values for this file; expensive ones only if `asked`."""
        values = self.fixed.having(**page_values(self.name.path, outline, asked.intersection(_OF_PAGES)))
        if GIT_FACTS in asked and self.history is not None:
            values = values.having(**{GIT_FACTS: self.history})
        return values.having(**{_SECTIONS: _sections(outline)}) if _SECTIONS in asked else values


class Selector(Struct, dict=True):
    """Select the edits of the manifest `loaded` for files of `documents`.

    `history` has git's facts about the files, `repairs` the edits that repair their links.
    """

    loaded: LoadedManifest
    documents: Documents
    history: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    repairs: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def select(self, candidate: CandidateFile) -> SelectedEdits | Problems | None:
        """Return the edits for `candidate`; None if no rule applies or the file already matches.

        Errors: as reading, conditions, placeholders and the request reader.
        """
        inspected = self.inspect(candidate)
        if not isinstance(inspected, InspectedFile):
            return inspected
        edits: list[expansion.FilledEdit] = []
        problems: list[Diagnostic] = []
        for number in self._possible(candidate.rules, inspected):
            try:
                for found in self._expanded(number, inspected, candidate.path):
                    if isinstance(found, Diagnostic):
                        problems.append(found)
                    else:
                        edits.append(found)
            except expansion.ManifestProblem as misplaced:
                problems.append(self._of_manifest(misplaced, candidate.path))
        # A loop repeats the same problem for every entry.
        return tuple(dict.fromkeys(problems)) or self._as_batch(
            candidate.path, inspected, self._open_edits(edits, inspected)
        )

    def inspect(self, candidate: CandidateFile) -> "InspectedFile | Problems":
        """Read the file of `candidate`, which may be missing. Errors: as reading it."""
        name = self.documents.workspace.locate(candidate.path)
        if isinstance(name, Diagnostic):
            return (name,)
        read = self.documents.workspace.read(name, self.documents.max_file_bytes)
        if isinstance(read, Diagnostic) and read.code is not Code.FILE_NOT_FOUND:
            return (read,)
        try:
            shape = self._shape(candidate)
        except expansion.ManifestProblem as misplaced:
            return (self._of_manifest(misplaced, candidate.path),)
        data = None if isinstance(read, Diagnostic) else read.data
        return InspectedFile(
            self.documents,
            name,
            data,
            shape.get("encoding"),
            shape.get("format"),
            self.loaded.values,
            self.history.get(name.path),
        )

    def values_of(self, number: int, inspected: "InspectedFile", outline: Outline) -> expansion.Values:
        """Return the values of placeholders in rule `number`. Raise `ManifestProblem`."""
        asked = self._needed_values[number]
        values = inspected.values(outline, asked)
        return values.having(**{PAGES: self._pages}) if PAGES in asked else values

    def _shape(self, candidate: CandidateFile) -> dict[str, str]:
        """Return encoding and format of a file from its rules. Raise `ManifestProblem`."""
        shape: dict[str, str] = {}
        for number in candidate.rules:
            rule = self.loaded.manifest.files[number]
            for name, value in (("encoding", rule.encoding), ("format", rule.format)):
                if value is not None and shape.setdefault(name, value) != value:
                    message = f"`{candidate.path}` has another {name} in another rule"
                    raise expansion.ManifestProblem.of(message, "give it once", ("files", number, name))
        return shape

    def of_manifest(self, problem: Diagnostic, path: expansion.Path) -> Diagnostic:
        """Return `problem` of a file with the position of its edit in the manifest."""
        place = self.loaded.located.place(path)
        where = f"{self.loaded.name}:{place.line}:{place.col}"
        return replace(problem, message=f"{problem.message} (asked for at {where})", edit_index=None)

    def _expanded(
        self, number: int, inspected: InspectedFile, path: str
    ) -> Iterator[expansion.FilledEdit | Diagnostic]:
        """Yield the edits of rule `number` for the file at `path`. Raise `ManifestProblem`."""
        outline, rule, place = inspected.outline, self.loaded.manifest.files[number], ("files", number)
        if isinstance(outline, Diagnostic):
            yield outline.at(file=path)
            return
        values = self.values_of(number, inspected, outline)
        if rule.when is not None and unmet(rule.when, FileFacts(outline, values), (*place, "when")):
            return
        for repair in self.repairs.get(path, ()) if rule.links else ():
            yield expansion.FilledEdit(repair, (*place, "links"))
        for each in expansion.expand_edits(rule.edits, values, (*place, "edits")):
            if isinstance(each, expansion.ManifestProblem):
                yield self._of_manifest(each, path)
            else:
                edit = _addressed(each, outline)
                yield edit.at(file=path) if isinstance(edit, Diagnostic) else edit

    @cached_property
    def _pages(self) -> dict[str, Any]:
        """The pages that the manifest names, as they are before the run. Raise `ManifestProblem`."""
        workspace, pages = self.documents.workspace, dict[str, Any]()
        for name, glob in self.loaded.manifest.pages.items():
            with expansion.placed((PAGES, name)):
                files = files_of(workspace, glob)
                if isinstance(files, Diagnostic):
                    raise expansion.ManifestProblem(files)
                listed = [self._page(file) for file in files]
                pages[name] = listed if workspace.is_several(glob) else listed[0]
        return pages

    def _page(self, file: FileName) -> dict[str, Any]:
        outline = self.documents.open(file, None, None)
        if isinstance(outline, Diagnostic):
            raise expansion.ManifestProblem(outline)
        return page_values(file.path, outline, frozenset(_OF_PAGES))

    @cached_property
    def _needed_values(self) -> list[frozenset[str]]:
        """The values that each rule may use; computing the others would cost the most."""
        return [
            frozenset(name for name in _ON_DEMAND if self.loaded.uses(rule, name))
            for rule in self.loaded.manifest.files
        ]

    def _possible(self, rules: Sequence[int], inspected: InspectedFile) -> Sequence[int]:
        """Return the `rules` that may change a file with these bytes."""
        if inspected.data is None:
            return rules
        raw = BytePrefilter(inspected.data, inspected.encoding)
        conditions = ((number, self.loaded.manifest.files[number].when) for number in rules)
        met = [
            number for number, when in conditions if when is None or may_be_met(when, raw, self.loaded.values)
        ]
        first = {
            number
            for number in met
            if (texts := self._required[number]) is None or any(map(raw.may_have, texts))
        }
        # A conditional edit applies if any other rule changes the file.
        return [number for number in met if first and (number in first or self._has_conditional[number])]

    @cached_property
    def _required(self) -> list[tuple[str, ...] | None]:
        """Per rule, texts of which a file must contain one to be changed; None if unknown."""
        required: list[tuple[str, ...] | None] = []
        for rule in self.loaded.manifest.files:
            edits = (edit for edit in rule.edits if not edit.get(expansion.ONLY_IF_CHANGED))
            texts = [_required_texts(edit, self.loaded.values) for edit in edits]
            known = [text for each in texts if each is not None for text in each]
            required.append(tuple(known) if None not in texts and not rule.links else None)
        return required

    @cached_property
    def _has_conditional(self) -> list[bool]:
        """Per rule, True if it has a conditional edit."""
        return [
            any(edit.get(expansion.ONLY_IF_CHANGED) for edit in rule.edits)
            for rule in self.loaded.manifest.files
        ]

    def _open_edits(
        self, edits: list[expansion.FilledEdit], inspected: InspectedFile
    ) -> list[expansion.FilledEdit]:
        """Return `edits` without finished whole-file operations."""

        def is_there(path: str) -> bool:
            name = self.documents.workspace.locate(path)
            return isinstance(name, FileName) and not isinstance(
                self.documents.workspace.status_of(name), Diagnostic
            )

        file = FileState(inspected.data, inspected.encoding, is_there)
        left = [
            each
            for each in edits
            if (model := operation_named(op_of(each.edit))) is None
            or not model.file_already_satisfied(each.edit, file)
        ]
        # A file with its new name had its edits under the old one.
        return left if inspected.data is not None or len(left) == len(edits) else []

    def _as_batch(
        self, path: str, inspected: "InspectedFile", edits: list[expansion.FilledEdit]
    ) -> SelectedEdits | Problems | None:
        if not edits:
            return None
        given = {"encoding": inspected.encoding, "format": inspected.given_format}
        shape = {name: value for name, value in given.items() if value is not None}
        file: dict[str, Any] = {"file": path, **shape, "edits": [each.edit for each in edits]}
        batch = read_batch({"files": [file], **self.loaded.manifest.options})
        if isinstance(batch, Batch):
            conditional = frozenset(each.path for each in edits if each.only_if_changed)
            return SelectedEdits(batch, tuple(each.path for each in edits), conditional)
        placed = (
            self._of_manifest(
                expansion.ManifestProblem(
                    problem, edits[problem.edit_index].path if problem.edit_index is not None else ()
                ),
                path,
            )
            for problem in batch
        )
        return tuple(dict.fromkeys(placed))

    def _of_manifest(self, misplaced: expansion.ManifestProblem, path: str) -> Diagnostic:
        """Return a problem of the manifest that appeared when expanding it for the file `path`."""
        return replace(
            misplaced.problem,
            message=f"for `{path}`: {misplaced.problem.message}",
            file=self.loaded.name,
            edit_index=None,
            place=self.loaded.located.place(misplaced.path),
        )


def _required_texts(edit: Mapping[str, Any], values: expansion.Values) -> tuple[str, ...] | None:
    """Return texts of which a file must contain one if `edit` changes it; None if unknown."""
    model = operation_named(op_of(edit))
    known = {name: _known(value, values) for name, value in edit.items() if name != expansion.ONLY_IF_CHANGED}
    return None if model is None else model.required_texts(known)


def _known(value: object, values: expansion.Values) -> Any:  # noqa: ANN401 (any JSON)
    """Return `value` of an edit if it is the same for all files, else None."""
    try:
        return expansion.filled(value, values) if isinstance(value, str) else value
    except expansion.ManifestProblem:
        return None


def _addressed(edit: expansion.FilledEdit, outline: Outline) -> expansion.FilledEdit | Diagnostic:
    """Return `edit` with the address of its named place."""
    if edit.at is None:
        return edit
    address = expansion.address_of(expansion.PagePlace(edit.at), outline)
    return address if isinstance(address, Diagnostic) else replace(edit, edit={**edit.edit, **address})


def page_values(path: str, outline: Outline, asked: Collection[str]) -> dict[str, Any]:
    """Return the values of a page: parts of its path, and title and front matter if `asked`.

    The title is that of its front matter, else its first heading, else its name without suffix.
    """
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0] or name
    values: dict[str, Any] = {"path": path, "name": name, "stem": stem, "folder": folder}
    if not asked:
        return values
    written = FileFacts(outline, expansion.Values({})).written_front_matter
    heading = next((section.title for section in outline.sections if section.heading is not None), stem)
    return {**values, "frontMatter": as_json(written), "title": str(written.get("title") or heading)}


def _sections(outline: Outline) -> list[dict[str, Any]]:
    """Return title, level and anchor of each section with a heading, in order."""
    return [
        {"title": section.title, "level": section.level, "anchor": section.anchor}
        for section in outline.sections
        if section.heading is not None
    ]


_SECTIONS: Final = "sections"
_OF_PAGES: Final = ("frontMatter", "title")
_ON_DEMAND: Final = (GIT_FACTS, PAGES, _SECTIONS, *_OF_PAGES)


# --- Selecting the files of a manifest, without reading them

_ONE_ROOT: Final = "write one manifest for each root"


def find_candidates(
    loaded: LoadedManifest, workspace: Workspace, tree: Tree
) -> list[CandidateFile] | Problems:
    """Return the files of `workspace` that the manifest's rules select, sorted and deduplicated.

    `tree` says which files have changed. Errors: INVALID_ARGUMENT for an invalid glob or unknown commit; as
    `Workspace.iter_files` and `locate`.
    """
    rules: dict[FileName, list[int]] = {}
    problems: list[Diagnostic] = []
    for number, rule in enumerate(loaded.manifest.files):
        try:
            changed = _changed(rule, ("files", number), loaded, tree)
            for found in _files_of(rule, ("files", number), loaded, workspace):
                if isinstance(found, expansion.ManifestProblem):
                    problems.append(loaded.problem(found))
                elif (changed is None or found.path in changed) and number not in rules.setdefault(found, []):
                    rules[found].append(number)
        except expansion.ManifestProblem as misplaced:
            problems.append(loaded.problem(misplaced))
    if len({name.root for name in rules}) > 1:
        message = "the manifest names files of several roots, and a commit lives in one"
        problems.append(loaded.problem(expansion.ManifestProblem.of(message, _ONE_ROOT, ("files",))))
    return tuple(problems) or [CandidateFile(str(name), tuple(rules[name])) for name in sorted(rules)]


def _changed(rule: Rule, path: expansion.Path, loaded: LoadedManifest, tree: Tree) -> frozenset[str] | None:
    """Return the files to which `changedSince` limits `rule`, or None. Raise `ManifestProblem`."""
    if rule.changed_since is None:
        return None
    with expansion.placed((*path, "changedSince")):
        try:
            return tree.changed_since(
                expansion.filled_text(rule.changed_since, loaded.values, "name", "write a text")
            )
        except StorageRefused as refused:
            raise expansion.ManifestProblem(refused.problems[0]) from None


def why_not_selected(number: int, file: str, loaded: LoadedManifest, tree: Tree) -> str:
    """Return which field of rule `number` leaves out `file`, a path from the root.

    Raise `ManifestProblem` or `StorageRefused`, as listing its files.
    """
    rule, path = loaded.manifest.files[number], ("files", number)
    with tree.open() as workspace:
        relaxed = {"exclude": (), "changed_since": None, "git_ignored": True}
        for name, value in relaxed.items():
            wider = rule.model_copy(update={name: value})
            changed = _changed(wider, path, loaded, tree)
            files = {str(each) for each in _files_of(wider, path, loaded, workspace)}
            if file in files and (changed is None or file in changed):
                said = {"exclude": "leaves it out", "changed_since": "finds no change in it"}
                return f"`{to_camel(name)}` {said.get(name, 'is not set, and git ignores it')}"
    return f"`{'file' if rule.file else 'glob'}` names other files"


def _files_of(
    rule: Rule, path: expansion.Path, loaded: LoadedManifest, workspace: Workspace
) -> Iterator[FileName | expansion.ManifestProblem]:
    """Yield the files of `rule` and its problems. Raise `ManifestProblem`."""
    texts: dict[str, list[str]] = {}
    for name in ("file", "glob", "exclude"):
        texts[name] = []
        for index, template in enumerate(getattr(rule, name)):
            with expansion.placed((*path, name, index)):
                texts[name].append(expansion.filled_text(template, loaded.values, "path", "write a text"))
    for index, file in enumerate(texts["file"]):
        located = workspace.locate(file)
        if isinstance(located, Diagnostic):
            yield expansion.ManifestProblem(located, (*path, "file", index))
        else:
            yield located
    for index, glob in enumerate(texts["glob"]):
        names = files_of(workspace, glob, exclude=texts["exclude"], git_ignored=rule.git_ignored)
        if isinstance(names, Diagnostic):
            yield expansion.ManifestProblem(names, (*path, "glob", index))
        else:
            yield from names
