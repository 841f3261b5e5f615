"""Base classes of all operations: targets, guards and resolutions."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from pydantic import Field, PrivateAttr, model_validator
from pydantic.alias_generators import to_camel

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.addresses import find_by_anchor, find_by_id, find_by_path
from mdplan.markdown.format_detection import FrontMatterFormat
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload
from mdplan.markdown.sections import Section
from mdplan.operations.base.fields import (
    Ordinal,
    SectionHash,
    WireModel,
)
from mdplan.operations.base.file_state import FileState
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span

if TYPE_CHECKING:
    from mdplan.data.tree import Change


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """One match of a pattern in the base text. `span` is half-open, in code points."""

    span: Span
    selected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchReport:
    """What a pattern matched. `excluded` counts matches by the node kind that kept them out."""

    found: int
    replaced: int
    matches: tuple[Match, ...]
    excluded: Mapping[str, int]
    line_ends_normalized: bool


class InsertRank(IntEnum):
    """Where an insertion goes, in the order in which those of one section are."""

    BODY_START = 0
    BODY_END = 1
    FIRST_CHILD = 2
    AFTER = 3
    LAST_CHILD = 4
    BEFORE = 5


@dataclass(frozen=True, slots=True, order=True)
class InsertOrder:
    """Order of insertions at one place, by structure; batch order decides between equals.

    Into a body first; then what becomes a child of the deepest section, outward to the shallowest.
    """

    is_child: bool
    minus_depth: int
    rank: InsertRank

    @classmethod
    def into(cls, parent: Section, rank: InsertRank) -> "InsertOrder":
        """Order of what becomes part of `parent`: of its body, or as a child of it."""
        return cls(rank > InsertRank.BODY_END, -len(parent.path), rank)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockInsertion:
    """Whole blocks to be inserted at the line start or text end `offset`; the planner owns the spacing."""

    offset: int
    payload: Payload
    order: InsertOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim of an edit, beyond the bytes that it changes: its declared `span`.

    `owner` is the index of the section that the text belongs to; None for the text of a heading, which goes
    along wherever its section goes. `takes` are the indexes of sections that are deleted, replaced, moved
    or re-levelled, and `verb` says which: no other edit may own text in them.
    `part` names what the edit writes or makes, from the outside in, by indexes and by names of what is not
    there yet: no other edit may want the same, something in it, or what it is in. Empty where the span says
    it all.
    """

    span: Span
    owner: int | None
    takes: range = range(0)
    verb: str = "writes into"
    part: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DataChanges:
    """Changes of keys of the file, or of its front matter. The planner makes those of all edits in one go.

    `creates` is the format of the front matter that they are to create; `removes` says that all of it goes.
    """

    changes: "tuple[Change, ...]" = ()
    creates: FrontMatterFormat | None = None
    removes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Text edits of one operation against one outline.

    `deletions` are whole lines that go, and `insertions` blocks that come: the planner owns the blank lines
    between what is left, also where several edits meet. `section` is the section that the edit addressed,
    `destination` the one that it moves it to. `hunk_offsets` are the lines by which hunks of a diff were
    moved from where their headers say.
    `is_evidence` says that the edit's own guards, but for `sectionSha256`, fix every byte that it removes
    and the owner of what it inserts, so that it needs no file hash.
    `may_change_outline` says that headings around the edit may change level or parent: it was asked to.
    `data` says which keys `edits` change; made together with those of other edits they may differ.
    `exported` are blocks that go to the file that the operation names besides its own.
    `comes_last` says that what it inserts is after what other edits insert at the same place.
    """

    claims: tuple[Claim, ...]
    edits: tuple[TextEdit, ...] = ()
    deletions: tuple[Span, ...] = ()
    insertions: tuple[BlockInsertion, ...] = ()
    section: Section | None = None
    destination: Section | None = None
    matches: MatchReport | None = None
    hunk_offsets: tuple[int, ...] = ()
    data: DataChanges | None = None
    exported: Payload | None = None
    warnings: Problems = ()
    is_evidence: bool = False
    may_change_outline: bool = False
    comes_last: bool = False


# What the claims of all edits of keys are parts of.
KEYS: Final = "keys"
FileEffect = Literal["edit", "create", "delete", "rename"]


class Operation(WireModel, ABC):
    """One edit as the caller wrote it. A subclass has a literal `op`, and one `resolve`.

    Class docstring: what it does, then a blank line, then the details. `example` is a valid edit; the
    reference page shows it and the tests run it on the sample document.
    """

    example: ClassVar[dict[str, object]]
    # The file of the example, where no other property of the operation says it.
    example_file: ClassVar[str | None] = None
    needs_markdown: ClassVar[bool] = True
    # Whether it edits keys of YAML, JSON, TOML, INI and front matter.
    needs_keys: ClassVar[bool] = False
    file_effect: ClassVar[FileEffect] = "edit"
    has_second_pass: ClassVar[bool] = False
    # Problems of `resolve` that mean: what the edit removes is not there.
    satisfied_by: ClassVar[frozenset[Code]] = frozenset()
    # Whether its text is the source of lines: what it does to the headings around it is meant.
    edits_source: ClassVar[bool] = False
    # Whether it makes a page of which `other_file`, which lists the pages, gets an entry.
    is_listed_page: ClassVar[bool] = False
    # Made again, the edit changes the file again: a manifest needs a condition for it.
    repeats: ClassVar[bool] = False
    # The condition of a manifest with which such an edit is made once.
    once_condition: ClassVar[str] = "hasText: TEXT"
    # Whether people try it on a file that they want to begin.
    may_begin_file: ClassVar[bool] = False
    # Whether the text that it takes away comes back in another place.
    moves_text: ClassVar[bool] = False
    # Whether it finds its place by text or lines, whatever these mean in the document.
    finds_text: ClassVar[bool] = False

    op: str

    # The edit as its caller wrote it, where that is another spelling of it.
    _written: Mapping[str, Any] | None = PrivateAttr(default=None)

    def written_as(self, edit: Mapping[str, Any]) -> "Operation":
        """Return this operation by the name that it has in `edit`, which is another spelling of it."""
        named = self.model_copy(update={"op": edit["op"]})
        # The attribute of another object, and of the same class.
        named._written = {name: value for name, value in edit.items() if value is not None}  # noqa: SLF001
        return named

    @property
    def wire_form(self) -> dict[str, Any]:
        """The edit as its caller wrote it, with wire names and without defaults."""
        if self._written is not None:
            return dict(self._written)
        return {"op": self.op, **self.model_dump(mode="json", by_alias=True, exclude_defaults=True)}

    @property
    def needs_ini(self) -> bool:
        """Whether it is for INI files alone."""
        return False

    @property
    def new_path(self) -> str | None:
        """The path that the file gets; None where it keeps its own."""
        return None

    @property
    def other_file(self) -> str | None:
        """Another file that the edit writes into; None for most."""
        return None

    @property
    def makes_other_file(self) -> bool:
        """Whether that file is made where it is missing."""
        return False

    @property
    def other_base_sha256(self) -> str | None:
        """SHA-256 of that file as the caller saw it, or the first digits of it."""
        return None

    @property
    def why_unguarded(self) -> str:
        """What of the operation its caller may take for a guard, and why it is none; else empty."""
        return ""

    def problem_with_path(self, path: str) -> Diagnostic | None:
        """What is wrong with the edit in the file `path` before that is read; None for most."""
        del path
        return None

    def located(self, outline: Outline) -> "Operation | Diagnostic":
        """The same edit with line numbers instead of hashes of lines. Errors: TEXT_MISMATCH."""
        del outline
        return self

    @classmethod
    def file_already_satisfied(cls, edit: Mapping[str, Any], file: FileState) -> bool:
        """Whether `file` is already as `edit`, decoded JSON of this operation, asks; False by default.

        The bot calls it before it reads the batch, so that no value of `edit` is checked yet.
        """
        del edit, file
        return False

    @classmethod
    def required_texts(cls, edit: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Texts of which a file must have one if `edit`, decoded JSON of this operation, changes it.

        None if unknown. A field of `edit` whose value is not known yet is None.
        """
        del edit
        return None

    def already_satisfied(self, problem: Diagnostic, outline: Outline) -> bool:
        """Whether `problem`, which `resolve` found in `outline`, means that nothing is left to do.

        With it a manifest can be applied twice.
        """
        del outline
        return problem.code in self.satisfied_by

    def rebased_guards(self, base: Outline, current: Outline) -> dict[str, Any]:
        """Fields of guards that are true in `base`, with the values that they have in `current`.

        In a sequential batch guards mean the base, and `current` is the document after earlier edits.
        """
        del base, current
        return {}

    @abstractmethod
    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Text edits against the base `outline`, or all that is wrong with this edit."""

    def resolve_second_pass(self, outline: Outline) -> Resolution | Problems:
        """Text edits against `outline`, the result of all other edits; for those that are made last.

        Two with the same claims make the same text.
        """
        raise NotImplementedError

    def resolve_in_target(self, outline: Outline, exported: Payload) -> Resolution | Problems:
        """Text edits against the base `outline` of `other_file`, to which the blocks `exported` go."""
        raise NotImplementedError


_SECTION_TARGETS = ("section_id", "heading_path", "heading", "anchor")


class SectionTargeted(Operation):
    """An operation whose target is one section."""

    target_is_required: ClassVar[bool] = True
    accepts_root: ClassVar[bool] = False
    accepts_nested: ClassVar[bool] = False

    section_id: str | None = Field(
        default=None, description="Section ID from md_stat, or at least 8 of its hex digits."
    )
    heading_path: tuple[str, ...] | None = Field(
        default=None, description='Headings from outer to inner, or the last of them: ["Guide", "Install"].'
    )
    heading: str | None = Field(default=None, description='One heading: "Install" or "## Install".')
    anchor: str | None = Field(default=None, description="GitHub anchor of the heading, without #.")
    occurrence: Ordinal | None = Field(
        default=None, description="Which of several equal headings; 1-based. With heading or headingPath."
    )
    section_sha256: SectionHash | None = Field(
        default=None, description="sectionSha256 from md_stat: refuse if the section has changed."
    )

    @model_validator(mode="after")
    def _check_target(self) -> "SectionTargeted":
        given = self._given_targets()
        if len(given) > 1:
            msg = f"give exactly one target, not {' and '.join(to_camel(name) for name in given)}"
            raise ValueError(msg)
        if not given and self.target_is_required:
            msg = "give a target: one of sectionId, headingPath, heading, anchor"
            raise ValueError(msg)
        if self.occurrence is not None and self.heading is None and self.heading_path is None:
            msg = "occurrence requires heading or headingPath"
            raise ValueError(msg)
        if self.section_sha256 is not None and not given:
            msg = "sectionSha256 requires a section: sectionId, headingPath, heading or anchor"
            raise ValueError(msg)
        return self

    def _given_targets(self) -> list[str]:
        return [name for name in _SECTION_TARGETS if getattr(self, name) is not None]

    def find_section(self, outline: Outline) -> Section | Diagnostic:
        """The target section, after the guards on it.

        Errors: those of `find_by_path`, `find_by_id` and `find_by_anchor`; INVALID_ARGUMENT for a preamble
        or nested heading that the operation does not accept; SECTION_CHANGED.
        """
        section = self._find(outline)
        if isinstance(section, Diagnostic):
            return section
        if section.is_root and not self.accepts_root:
            return Diagnostic.invalid(
                f"{self.op} needs a heading, and the preamble has none", "name a section that has a heading"
            )
        if section.nested and not self.accepts_nested:
            return Diagnostic.invalid(
                f"the heading at line {section.heading_line} is in a quote or list: it has no section",
                "nested headings can be renamed; for other text use replace_match or replace_range",
            )
        if self.section_sha256 and outline.hashed_part(section, self.section_sha256) is None:
            return Diagnostic(
                code=Code.SECTION_CHANGED,
                message=f"the section at lines {section.first_line}-{section.last_line} has changed",
                hint=f"read it again; its sectionSha256 is now {outline.section_sha256(section)}",
            )
        return section

    def _find(self, outline: Outline) -> Section | Diagnostic:
        if self.section_id is not None:
            return find_by_id(outline, self.section_id)
        if self.anchor is not None:
            return find_by_anchor(outline, self.anchor)
        path = self.heading_path if self.heading_path is not None else (self.heading or "",)
        return find_by_path(outline, path, self.occurrence)

    def needs_precondition(self, resolution: Resolution) -> bool:
        """Whether the address counts equal headings, so that an edit elsewhere could shift it.

        DESIGN section 5: an edit through such an ID needs `baseSha256` or `sectionSha256`.
        """
        is_one_of_several = resolution.section is not None and resolution.section.repeats > 1
        return is_one_of_several and self.section_id is not None and self.section_sha256 is None
