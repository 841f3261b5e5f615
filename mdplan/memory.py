"""A document in memory: text in, edits, text out."""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, Self

from mdplan import edits
from mdplan.data.content import as_json
from mdplan.diagnostics import Diagnostic, Problems, Refused, or_problem
from mdplan.edits import Edit
from mdplan.markdown.addresses import find_by_anchor, find_by_id, find_by_path
from mdplan.markdown.destinations import TargetKind
from mdplan.markdown.format_detection import decode_document, document_format, has_mdx_name
from mdplan.markdown.front_matter import Unreadable
from mdplan.markdown.front_matter_edits import unreadable
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import NO_RULES
from mdplan.markdown.sections import Section
from mdplan.planning.batch import build_files, check_losses, plan_batch
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile
from mdplan.planning.links import derive_link_edits
from mdplan.planning.replay import PlannedBatch
from mdplan.reading.read import read_target
from mdplan.reading.search import search_document
from mdplan.reading.stat import stat_report
from mdplan.reports.base import refusal
from mdplan.reports.plan import PlanReport
from mdplan.reports.read import ReadReport, ReadResult, SearchReport
from mdplan.reports.stat import StatReport
from mdplan.requests.batch import Batch, read_batch
from mdplan.requests.query_reader import read_read_request, read_search_request, read_stat_request
from mdplan.text.source import Source
from mdplan.values import Struct, replace
from mdplan.words import PythonWords

Format = Literal["markdown", "ini", "yaml", "json", "toml", "text"]
AnyEdit = Edit | Mapping[str, Any]
_NAMES: Final = {"markdown": "document.md", "ini": "document.ini", "text": "document.txt"}
_NO_LINE_LIMIT: Final = 1 << 62


@dataclass(frozen=True)
class DocumentSection:
    r"""A section of a document; its methods collect edits.

    All edits refer to the section in the unchanged document, even after a rename. Lines are 1-based and
    inclusive.

    >>> section = Document.from_text("# Guide\n\n## Install\n\nRun it.\n").section("Install")
    >>> section.path, section.level, section.start_line, section.end_line
    (('Guide', 'Install'), 2, 3, 5)
    >>> section.text
    '## Install\n\nRun it.\n'
    """

    outline: Outline = field(repr=False)
    found: Section = field(repr=False)
    collected: list[Edit] = field(repr=False, compare=False)

    @property
    def title(self) -> str:
        """Its rendered heading."""
        return self.found.title

    @property
    def path(self) -> tuple[str, ...]:
        """Its heading path, outermost first."""
        return self.found.path

    @property
    def level(self) -> int:
        """The level of its heading, 1 to 6."""
        return self.found.level

    @property
    def id(self) -> str:
        """Its section ID."""
        return self.found.section_id

    @property
    def anchor(self) -> str | None:
        """GitHub's anchor of its heading, without ``#``."""
        return self.found.anchor

    @property
    def start_line(self) -> int:
        """The line of its heading."""
        return self.found.first_line

    @property
    def end_line(self) -> int:
        """Its last line, including subsections."""
        return self.found.last_line

    @property
    def text(self) -> str:
        """Its whole text: heading, body and subsections."""
        return self.outline.text_of(self.found.span)

    @property
    def body(self) -> str:
        """The text between its heading and its first subsection."""
        return self.outline.text_of(self.found.body)

    @property
    def sha256(self) -> str:
        """The hash that guards an edit of it: `sectionSha256`."""
        return self.outline.section_sha256(self.found)

    @property
    def children(self) -> tuple["DocumentSection", ...]:
        """Its direct subsections."""
        children = self.outline.children(self.found)
        return tuple(DocumentSection(self.outline, child, self.collected) for child in children)

    def append(self, markdown: str) -> Self:
        """Append Markdown, as `append_to_section`."""
        return self._with(edits.AppendToSection(section=self.address, markdown=markdown))

    def prepend(self, markdown: str) -> Self:
        """Add Markdown below its heading, as `prepend_to_section`."""
        return self._with(edits.PrependToSection(section=self.address, markdown=markdown))

    def replace(self, markdown: str) -> Self:
        """Replace it, as `replace_section`."""
        return self._with(edits.ReplaceSection(section=self.address, markdown=markdown))

    def rename(self, title: str) -> Self:
        """Change its heading text, as `rename_heading`."""
        return self._with(edits.RenameHeading(section=self.address, new_title=title))

    def insert_before(self, markdown: str) -> Self:
        """Insert a section before it, as `insert_section`."""
        return self._with(edits.InsertSection(section=self.address, position="before", markdown=markdown))

    def insert_after(self, markdown: str) -> Self:
        """Insert a section after it and its subsections, as `insert_section`."""
        return self._with(edits.InsertSection(section=self.address, position="after", markdown=markdown))

    def delete(self) -> Self:
        """Delete it with its subsections, as `delete_section`."""
        return self._with(edits.DeleteSection(section=self.address))

    @property
    def address(self) -> edits.Section:
        """Its address in an edit: its headings, or its ID if these are not unique."""
        by_path = or_problem(find_by_path, self.outline, self.path)
        return edits.Section(*self.path) if by_path is self.found else edits.Section(id=self.id)

    def __repr__(self) -> str:
        return f"<DocumentSection: {' > '.join(self.path)}, lines {self.start_line}-{self.end_line}>"

    def _with(self, edit: Edit) -> Self:
        self.collected.append(edit)
        return self


class DocumentFrontMatter(MutableMapping[str, Any]):
    r"""The front matter as a mapping; dates are strings. Setting a value collects an edit.

    Lists and maps may be changed in place: `Document.edits` includes the changes.

    >>> document = Document.from_text("---\\nstatus: draft\\n---\\n# A\\n")
    >>> document.front_matter["status"]
    'draft'
    >>> document.front_matter["status"] = "final"
    >>> document.front_matter["status"], document.edits
    ('final', (SetValue(key=['status'], value='final', create_if_missing=True),))
    """

    def __init__(self, outline: Outline, collected: list[Edit], name: str) -> None:
        """Read the front matter of `outline`, called `name`; append edits to `collected`.

        Raise `Refused`: FRONT_MATTER_INVALID.
        """
        content = outline.front_matter_content
        if isinstance(content, Unreadable):
            raise Refused(unreadable(outline, content).at(file=name))
        values: Any = {} if content is None else as_json(content.values)
        self._base: dict[str, Any] = values
        self._values = deepcopy(values)
        # The values as edited so far; callers may change lists and maps in `_values`.
        self._seen = deepcopy(values)
        self._collected = collected
        self._by_key: dict[str, Edit] = {}

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 (any JSON)
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401
        if not isinstance(key, str):
            raise TypeError(f"keys of front matter are strings, and {key!r} is none")
        edit = edits.SetValue(key=[key], value=value, create_if_missing=True)
        self._drop(key)
        self._collected.append(edit)
        self._by_key[key] = edit
        self._values[key] = value
        self._seen[key] = deepcopy(value)

    def __delitem__(self, key: str) -> None:
        del self._values[key]
        self._drop(key)
        if key in self._base:
            self._by_key[key] = edits.DeleteValue(key=[key])
            self._collected.append(self._by_key[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"DocumentFrontMatter({self._values!r})"

    def collect_changes(self) -> None:
        """Collect edits for lists and maps changed in place."""
        for key, value in self._values.items():
            # `repr` distinguishes 1 and True, which are equal.
            if repr(value) != repr(self._seen[key]):
                self[key] = value

    def _drop(self, key: str) -> None:
        """Discard the edit collected for `key`: two edits of one key would conflict."""
        earlier = self._by_key.pop(key, None)
        self._collected[:] = [edit for edit in self._collected if edit is not earlier]


class Document:
    r"""A document in memory, without files.

    The document itself never changes. Pass edits to `plan` and `apply`, or collect them with `section` and
    `front_matter`; `apply` returns a report with the new text or the problems. Threads may share a document,
    including its list of collected edits.

    >>> from mdplan import Document, edits
    >>> document = Document.from_text("# Guide\n\n## Install\n\nRun it.\n")
    >>> [section.title for section in document.outline]
    ['Guide', 'Install']
    >>> print(document.apply([edits.RenameHeading(heading="Install", new_title="Setup")]).text)
    # Guide
    <BLANKLINE>
    ## Setup
    <BLANKLINE>
    Run it.
    <BLANKLINE>
    >>> install = document.section("Install").append("Then stop it.").rename("Installation")
    >>> document.front_matter["status"] = "final"
    >>> print(document.apply().text)
    ---
    status: final
    ---
    <BLANKLINE>
    # Guide
    <BLANKLINE>
    ## Installation
    <BLANKLINE>
    Run it.
    <BLANKLINE>
    Then stop it.
    <BLANKLINE>
    """

    def __init__(self, source: Source, name: str, format: Format | None, encoding: str | None) -> None:  # noqa: A002
        """Use `from_text` or `from_bytes` instead."""
        found = document_format(name, source.text, format)
        self._outline = Outline(source, found, is_mdx=has_mdx_name(name))
        given = {"file": name, "format": format, "encoding": encoding}
        self._requested = {field: value for field, value in given.items() if value is not None}
        self._collected: list[Edit] = []

    @classmethod
    def from_text(cls, text: str, format: Format | None = None, *, name: str | None = None) -> "Document":  # noqa: A002
        """Return a document with `text`; `format` defaults to the suffix of `name`, else Markdown.

        `name` is used in diffs and diagnostics. Raise `Refused` (NOT_A_TEXT_FILE) for NUL or lone surrogates.
        """
        if not isinstance(text, str):
            raise TypeError(f"from_text() takes str, and got {type(text).__name__}: bytes go to from_bytes()")
        try:
            data = text.encode()
        except UnicodeEncodeError as error:
            hint = "replace it, for example with text.encode(errors='replace').decode()"
            problem = Diagnostic.invalid(f"the text has a lone surrogate at index {error.start}", hint)
            raise Refused(problem) from None
        return cls.from_bytes(data, format, name=name)

    @classmethod
    def from_bytes(
        cls,
        data: bytes,
        format: Format | None = None,  # noqa: A002
        *,
        encoding: str | None = None,
        name: str | None = None,
    ) -> "Document":
        """Return a document with the bytes of a file: by BOM, as `encoding`, or UTF-8.

        Raise `Refused`: NOT_A_TEXT_FILE, INVALID_ARGUMENT (unknown encoding), ENCODING_UNKNOWN.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(
                f"from_bytes() takes bytes, and got {type(data).__name__}: str goes to from_text()"
            )
        if format is not None and format not in _NAMES:
            raise ValueError(f"format is one of {', '.join(_NAMES)}, and not {format!r}")
        data = bytes(data)
        called = name or _NAMES[format or "markdown"]
        source = decode_document(called, data, encoding, _NO_LINE_LIMIT)
        if isinstance(source, Diagnostic):
            raise Refused(*_for_caller(source))
        return cls(source, called, format, encoding)

    @property
    def name(self) -> str:
        """Its name in diffs and diagnostics."""
        return self._requested["file"]

    @property
    def text(self) -> str:
        """Its text without BOM, with original newlines."""
        return self._outline.source.text

    @property
    def data(self) -> bytes:
        """Its bytes."""
        return self._outline.source.data

    @property
    def sha256(self) -> str:
        """The SHA-256 of its bytes, in hex."""
        return self._outline.source.sha256

    @cached_property
    def outline(self) -> tuple[DocumentSection, ...]:
        """Its sections in document order, without the text before the first heading."""
        return tuple(map(self._section, self._outline.headings))

    def section(
        self,
        *headings: str,
        id: str | None = None,  # noqa: A002
        anchor: str | None = None,
        occurrence: int | None = None,
    ) -> DocumentSection:
        """Return a section by its headings, outermost first, or by ID or anchor.

        `occurrence` (1-based) selects among equal headings. Raise `Refused`: SECTION_NOT_FOUND,
        AMBIGUOUS_HEADING, ANCHOR_NOT_FOUND.
        """
        if sum(map(bool, (headings, id, anchor))) != 1:
            raise TypeError("section() takes headings, id or anchor, and one of them alone")
        try:
            if id:
                section = find_by_id(self._outline, id)
            elif anchor:
                section = find_by_anchor(self._outline, anchor)
            else:
                section = find_by_path(self._outline, headings, occurrence)
        except Refused as refused:
            problems = (problem.at(file=self.name) for problem in refused.diagnostics)
            raise Refused(*_for_caller(*problems)) from None
        return self._section(section)

    @cached_property
    def front_matter(self) -> DocumentFrontMatter:
        """Its front matter as a mapping; setting or deleting a key collects an edit."""
        return DocumentFrontMatter(self._outline, self._collected, self.name)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits collected so far by `section` and `front_matter`."""
        # Without access, the front matter is unchanged, and it may be unreadable.
        if "front_matter" in self.__dict__:
            self.front_matter.collect_changes()
        return tuple(self._collected)

    def stat(self, **request: Any) -> StatReport:  # noqa: ANN401 (fields of a request)
        """Return the structure, as `Engine.stat`; arguments are its request fields without `file`."""
        asked = read_stat_request({"file": self.name, **request})
        if isinstance(asked, tuple):
            return refusal(StatReport, _for_caller(*asked))
        return stat_report(self.name, self._outline, asked)

    def read(self, **request: Any) -> ReadReport:  # noqa: ANN401
        """Return the content of one place, as `Engine.read`; arguments are its request fields."""
        asked = read_read_request({"file": self.name, **request})
        if isinstance(asked, tuple):
            return refusal(ReadReport, _for_caller(*asked))
        results: list[ReadResult] = []
        problems: list[Diagnostic] = []
        for target in asked.targets:
            found = read_target(self.name, self._outline, target, asked.max_characters, asked.cursor)
            if isinstance(found, Diagnostic):
                problems.append(found.at(file=self.name))
            else:
                results.append(found)
        if problems:
            return refusal(ReadReport, _for_caller(*problems))
        return ReadReport(ok=True, results=tuple(results))

    def search(self, pattern: str, **request: Any) -> SearchReport:  # noqa: ANN401
        """Return matches of `pattern`, as `Engine.search`; arguments are its request fields."""
        asked = read_search_request({"file": self.name, "pattern": pattern, **request})
        if isinstance(asked, tuple):
            return refusal(SearchReport, _for_caller(*asked))
        matches = search_document(self.name, self._outline, asked.to_pattern(), asked, range(asked.limit))
        if isinstance(matches, Diagnostic):
            return refusal(SearchReport, _for_caller(matches))
        listed = sum(len(group.hits) for group in matches.groups)
        return SearchReport(
            ok=True,
            pattern=asked.pattern,
            total_matches=matches.matches,
            total_files=1 if matches.matches else 0,
            searched_files=1,
            files=(matches,) if matches.groups else (),
            truncated=True if listed < matches.matches else None,
        )

    def plan(self, edits: AnyEdit | Sequence[AnyEdit] = (), **options: Any) -> "DocumentReport":  # noqa: ANN401
        """Plan the collected edits and `edits`, one or several, without changing the document.

        `options` are those of a batch: `sequential`, `update_references`, `allow_outline_change`,
        `allow_duplicate_headings`, `accept`. Errors: as `Engine.plan`; INVALID_ARGUMENT for file operations.
        """
        planned = self._plan(edits, options)
        if not isinstance(planned, PlannedBatch):
            return refusal(DocumentReport, planned)
        return DocumentReport(ok=True, **planned.report_fields())

    def apply(self, edits: AnyEdit | Sequence[AnyEdit] = (), **options: Any) -> "DocumentReport":  # noqa: ANN401
        """Apply the collected edits and `edits`: `report.text` is the result, `report.document` a document.

        Without edits, the result is this document.
        """
        if not edits and not options and not self.edits:
            return DocumentReport(ok=True, applied=True, result=self)
        return self._applied(self._plan(edits, options))

    def diff(self) -> str:
        """Return the unified diff of the collected edits, or an empty string. Raise `Refused`."""
        return self.plan().unwrap().diff or "" if self.edits else ""

    def __repr__(self) -> str:
        count = len(self._outline.headings)
        return f"<Document: {self.name}, {len(self.data)} bytes, {count} section{'s' if count != 1 else ''}>"

    def _plan(
        self, edits: AnyEdit | Sequence[AnyEdit], options: Mapping[str, Any], *, skips: bool = False
    ) -> PlannedBatch | Problems:
        """Plan the collected edits and `edits`; `skips` leaves out edits that hold already, or returns ()."""
        # Without hash: the caller has seen the document, and a hash would wrongly refuse `CreateFile`.
        request = {
            **self._requested,
            "edits": [*self.edits, *([edits] if isinstance(edits, Mapping) else edits)],
            **options,
        }
        batch = read_batch(request)
        planned = batch if isinstance(batch, tuple) else plan_in_memory(batch, self._outline)
        if skips and isinstance(planned, tuple) and isinstance(batch, Batch):
            planned = self._plan_open(batch, planned)
        return _for_caller(*planned) if isinstance(planned, tuple) else planned

    def _plan_open(self, batch: Batch, problems: Problems) -> PlannedBatch | Problems:
        """Plan the edits of `batch` that `problems` do not show to hold; nothing if all of them hold."""
        (file,) = batch.files
        holds = {
            problem.edit_index
            for problem in problems
            if problem.edit_index is not None
            and file.edits[problem.edit_index].already_satisfied(problem, self._outline)
        }
        left = [index for index in range(len(file.edits)) if index not in holds]
        if not left or not holds:
            return problems if left else ()
        file = file.model_copy(update={"edits": tuple(file.edits[index] for index in left)})
        planned = plan_in_memory(batch.model_copy(update={"files": (file,)}), self._outline)
        if isinstance(planned, PlannedBatch):
            return planned
        return tuple(
            problem if problem.edit_index is None else replace(problem, edit_index=left[problem.edit_index])
            for problem in planned
        )

    def _applied(self, planned: PlannedBatch | Problems) -> "DocumentReport":
        if isinstance(planned, tuple):
            return refusal(DocumentReport, planned)
        result = Document.__new__(Document)
        result._outline = planned.files[0].result  # noqa: SLF001 (its own class)
        result._requested, result._collected = self._requested, []  # noqa: SLF001
        return DocumentReport(ok=True, applied=True, result=result, **planned.report_fields())

    def _section(self, section: Any) -> DocumentSection:  # noqa: ANN401
        return DocumentSection(self._outline, section, self._collected)

    def __iter__(self) -> Iterator[DocumentSection]:
        return iter(self.outline)


class DocumentReport(PlanReport, kw_only=True):
    """The report of `Document.plan` and `Document.apply`; `document` is the result of `apply`.

    >>> document = Document.from_text("# A")
    >>> document.apply([edits.RenameHeading(heading="A", new_title="B")]).text
    '# B'
    >>> document.apply([{"op": "delete_section", "heading": "C"}]).ok
    False
    """

    result: Document | None = None

    _off_wire: ClassVar = frozenset({"result"})

    @property
    def document(self) -> Document:
        """The document after the edits. Raise `Refused` if refused, `ValueError` for a plan."""
        if self.unwrap().result is None:
            raise ValueError("a plan has no result yet: call `apply`")
        assert self.result is not None
        return self.result

    @property
    def text(self) -> str:
        """The text after the edits; raises as `document`."""
        return self.document.text

    @property
    def data(self) -> bytes:
        """The bytes after the edits; raises as `document`."""
        return self.document.data


def plan_text(
    text: str,
    edits: AnyEdit | Sequence[AnyEdit],
    *,
    name: str | None = None,
    **options: Any,  # noqa: ANN401
) -> DocumentReport:
    r"""Return what `edits` make of `text`, as a pure function for the rows of a corpus.

    It skips edits that hold already, as a manifest does. It opens no file and raises nothing: the report has
    the errors of a row. Text, edits and report can be pickled. `name` and `options` are as for `Document`.

    >>> rows = ["# A\n\nnightly\n", "# B\n"]
    >>> stable = {"op": "replace_match", "pattern": "nightly", "replacement": "stable"}
    >>> [plan_text(row, stable).text for row in rows]
    ['# A\n\nstable\n', '# B\n']
    """
    try:
        document = Document.from_text(text, name=name)
    except Refused as refused:
        return refusal(DocumentReport, refused.diagnostics)
    planned = document._plan(edits, options, skips=True)  # noqa: SLF001
    if planned == ():
        return DocumentReport(ok=True, applied=True, no_op=True, result=document)
    return document._applied(planned)  # noqa: SLF001


def reconcile(original: str, edited: str, serialized: str | None = None) -> str:
    r"""Return `original` with the changes of `edited`, which an editor or a model wrote in its own style.

    `serialized` is `original` as the same editor writes it. With it, only what differs between `serialized`
    and `edited` counts as a change. Raise `Refused`: REWRITE_UNPROVEN, REWRITE_LOSES.

    >>> reconcile("* one\n* *two*\n", "- one\n- _two_ cups\n")
    '* one\n* *two* cups\n'
    """
    edit = edits.SaveFile(markdown=edited, serialized=serialized)
    return Document.from_text(original).apply(edit).text


def _for_caller(*problems: Diagnostic) -> Problems:
    told: Problems = PythonWords(of_document=True).tell_all(problems)
    return told


# --- Plans of batches on an in-memory document


def plan_in_memory(batch: Batch, outline: Outline) -> PlannedBatch | Problems:
    """Plan `batch`, whose only file is the document `outline`.

    Errors: as planning; INVALID_ARGUMENT for edits that need files.
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
    (requested,) = batch.files
    file = SnapshotFile(
        path=requested.file, relative=requested.file, requested=requested, outline=outline, first_edit=0
    )
    no_others = _NoOtherFiles(requested.file)
    outcomes = list(build_files([file], batch, no_others))
    problems = tuple(each for found in outcomes if not isinstance(found, BuiltFile) for each in found)
    checked = problems or check_losses([each for each in outcomes if isinstance(each, BuiltFile)], batch)
    if isinstance(checked, tuple):
        return checked
    return derive_link_edits(checked, batch.update_references, no_others)


class _NoOtherFiles(Struct):
    """A stand-in for the files that links of the document `name` lead to, which are unknown."""

    name: str
    rules = NO_RULES
    rules_problem = None
    labels: ClassVar[Mapping[str, frozenset[str]]] = {}

    def at(self, path: str) -> TargetKind:
        return TargetKind.FILE if path == self.name else TargetKind.OTHER

    def pages(self, _key: str) -> Sequence[str]:
        return ()

    def spelled(self, _path: str) -> str | None:
        return None

    def anchors(self, _path: str) -> None: ...

    def linking_to(self, _names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        return iter(())

    navigation = linking_to

    def refusal(self, _file: SnapshotFile) -> None: ...
