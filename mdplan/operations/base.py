"""Base classes of all operations: targets, guards and resolutions."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, IntEnum
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    model_validator,
)
from pydantic.alias_generators import to_camel

from mdplan.diagnostics import Code, Diagnostic, Problems, Refused, or_problem, or_problems
from mdplan.limits import Kept
from mdplan.markdown.addresses import find_by_anchor, find_by_id, find_by_path
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import Payload
from mdplan.markdown.sections import Section
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Position, Span
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct, replace
from mdplan.words import Argument, Arguments, either, say

if TYPE_CHECKING:
    from mdplan.data.tree import Change


class Match(Struct, kw_only=True):
    """One match of a pattern in the base text. `span` is half-open, in code points."""

    span: Span
    selected: bool


class MatchReport(Struct, kw_only=True):
    """What a pattern matched. `excluded` counts matches by the node kind that kept them out."""

    found: int
    replaced: int
    matches: tuple[Match, ...]
    excluded: Mapping[str, int]
    line_ends_normalized: bool


class InsertRank(IntEnum):
    """The position of an insertion among the others in the same section, in document order."""

    BODY_START = 0
    BODY_END = 1
    FIRST_CHILD = 2
    AFTER = 3
    LAST_CHILD = 4
    BEFORE = 5


class InsertOrder(Struct, order=True):
    """Order of insertions at one place, by structure; batch order decides between equals.

    Into a body first; then what becomes a child of the deepest section, outward to the shallowest.
    """

    is_child: bool
    minus_depth: int
    rank: InsertRank

    @classmethod
    def into(cls, parent: Section, rank: InsertRank) -> "InsertOrder":
        """Return the order of an insertion into the body of `parent`, or as a child of it."""
        return cls(rank > InsertRank.BODY_END, -len(parent.path), rank)


class BlockInsertion(Struct, kw_only=True):
    """Whole blocks to be inserted at the line start or text end `offset`; the planner owns the spacing."""

    offset: int
    payload: Payload
    order: InsertOrder


class Claim(Struct, kw_only=True):
    """What an edit claims, beyond the bytes that it changes: its declared `span`.

    `owner` is the index of the section around the text; None for the text of a heading, which moves with its
    section. `takes` are the indexes of sections that the edit deletes, replaces, moves or re-levels, as
    `verb` says: no other edit may own text in them. `part` names what the edit writes or creates, outermost
    first, by index or, if it is new, by name: no other edit may claim the same part, a part inside it or a
    part around it. It is empty if the span is sufficient.
    """

    span: Span
    owner: int | None
    takes: range = range(0)
    verb: str = "writes into"
    part: tuple[int | str, ...] = ()


class DataChanges(Struct, kw_only=True):
    """Key changes in the file or its front matter. The planner applies the changes of all edits together.

    `creates` is the format of front matter to create; `removes` deletes all of it.
    """

    changes: "tuple[Change, ...]" = ()
    creates: DocumentFormat | None = None
    removes: bool = False


class Export(Struct):
    """Blocks that leave the file, and what inserts them into the other file as they are to be there."""

    payload: Payload
    insert: "Callable[[Outline, Payload], Resolution]"


class OtherFile(Struct):
    """Another file that an edit writes into, and its hash, or the first digits, as the caller saw it.

    `is_made` says that it is made where it is missing.
    """

    path: str
    base_sha256: str | None
    is_made: bool = False


class Resolution(Struct, kw_only=True):
    """The text edits of one operation against one outline.

    `deletions` are whole lines, and `insertions` are blocks: the planner sets the blank lines around both,
    even if several edits meet. `section` is the addressed section, `destination` the section to move it to,
    and `hunk_offsets` are the lines by which hunks of a diff moved from their headers. `data` are the keys
    that `edits` change, `export` goes to the other file that the operation names, and `order` are the pieces
    of the document that `edits` reorder, in their new order.

    `is_evidence` says that the guards of the edit, apart from `sectionSha256`, prove every byte that it
    removes and the owner of its insertions, so that it needs no file hash; `why_unguarded` explains why an
    apparent guard is not one. With `may_change_outline` adjacent headings may change level or parent.
    `second_pass` returns edits of the result of all other edits; two with equal claims make the same text.
    With `comes_last` its insertions follow other insertions at the same offset.
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
    export: Export | None = None
    second_pass: "Callable[[Outline], Resolution] | None" = None
    warnings: Problems = ()
    why_unguarded: str = ""
    is_evidence: bool = False
    may_change_outline: bool = False
    comes_last: bool = False
    order: tuple[Span, ...] = ()

    @classmethod
    def at(
        cls,
        outline: Outline,
        span: Span,
        edits: tuple[TextEdit, ...],
        *,
        owner: Section | None = None,
        section: Section | None = None,
        is_evidence: bool = False,
    ) -> "Resolution":
        """Make `edits` in `span`, which belongs to its `owner`: by default the section at its start."""
        owner = owner or outline.section_at(span.start)
        claim = Claim(span=span, owner=owner.index)
        return cls(claims=(claim,), edits=edits, section=section or owner, is_evidence=is_evidence)


# The first part in the claims of all key edits.
KEYS: Final = "keys"
# The `once_condition` of edits that write or remove text unconditionally.
ONCE_BY_TEXT: Final = "hasText: TEXT"
FileEffect = Literal["edit", "create", "delete", "rename"]


# --- Types of fields that several operations have, as callers write them.


class WireModel(BaseModel):
    """Strict, frozen model of a caller's input; names are camelCase on the wire."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        defer_build=True,
    )


# --- The file that an operation of the bot is about, before anything parses it.


class FileState(Struct):
    """The bytes of a file, or None if it does not exist, and the encoding that the caller gave.

    `exists` returns True if another path, relative to the root, is a file.
    """

    data: bytes | None
    encoding: str | None
    exists: Callable[[str], bool]


def _split(given: object) -> object:
    return [name.strip() for name in given.split(",") if name.strip()] if isinstance(given, str) else given


def also_kept(given: object, names: Sequence[str]) -> object:
    """Return the value `given` for `keep`, of whatever type it is, with these `names` too."""
    split = _split(given or [])
    return [*split, *names] if isinstance(split, list) else split


def _listed(given: object) -> object:
    return [given] if isinstance(given, str) else given


Keep = Annotated[tuple[Kept, ...], BeforeValidator(_split, json_schema_input_type=list[Kept])]


def _known(code: str) -> str:
    if code not in Code.__members__:
        raise ValueError(f"`{code}` is no code, as BROKEN_LINK is")
    return code


Codes = Annotated[
    tuple[Annotated[str, AfterValidator(_known)], ...],
    BeforeValidator(_split, json_schema_input_type=list[str]),
]
Drop = Annotated[tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=list[str])]


class Operation(WireModel, ABC):
    """One edit as the caller wrote it. A subclass has a literal `op`, and one `resolve`.

    Class docstring: what it does, then a blank line, then the details. `example` is a valid edit
    without its `op`; the reference page shows it and the tests run it on the sample document.
    """

    example: ClassVar[dict[str, object]]
    example_file: ClassVar[str] = "guide.md"
    needs_markdown: ClassVar[bool] = True
    file_effect: ClassVar[FileEffect] = "edit"
    # Problems of `resolve` that mean that the text to remove does not exist.
    satisfied_by: ClassVar[frozenset[Code]] = frozenset()
    # True if its text is source lines, so that it may change adjacent headings.
    edits_source: ClassVar[bool] = False
    # The condition of a manifest that makes an edit once which would change the file again; else empty.
    once_condition: ClassVar[str] = ""
    # True if people try it on a file that does not exist yet.
    may_begin_file: ClassVar[bool] = False
    # True if the text that it removes reappears elsewhere.
    moves_text: ClassVar[bool] = False
    # True if it replaces text, so that lost text was not deleted on purpose.
    replaces_text: ClassVar[bool] = False
    # True if the caller quotes the text that it replaces.
    quotes_text: ClassVar[bool] = False

    op: str

    def __init_subclass__(cls, **options: Any) -> None:  # noqa: ANN401 (as the base class)
        """Complete the example by the name of the operation."""
        super().__init_subclass__(**options)
        if "example" in vars(cls):
            name = re.sub(r"\B([A-Z])", r"_\1", cls.__name__).lower()
            cls.example = {"op": name, **cls.example}

    # The edit as its caller wrote it, if that differs from its canonical spelling.
    _written: Mapping[str, Any] | None = PrivateAttr(default=None)

    # True if line hashes locate it, and match in one place only.
    _is_located: bool = PrivateAttr(default=False)

    @property
    def is_located(self) -> bool:
        """True if line hashes locate it, and match no other lines."""
        return self._is_located

    def located_at(self, place: dict[str, Any], *, is_unique: bool) -> Self:
        """Return the same edit at `place`, the fields that line hashes determined."""
        located = self.model_copy(update=place)
        # The attribute of another object, and of the same class.
        located._is_located = is_unique  # noqa: SLF001
        return located

    def written_as(self, edit: Mapping[str, Any]) -> "Operation":
        """Return this operation by the name that it has in `edit`, which is another spelling of it."""
        named = self.model_copy(update={"op": edit["op"]})
        # The attribute of another object, and of the same class.
        named._written = {  # noqa: SLF001
            name: value for name, value in edit.items() if value is not None or name == "expectedValue"
        }
        return named

    @property
    def wire_form(self) -> dict[str, Any]:
        """The edit as its caller wrote it, with wire names and without defaults."""
        if self._written is not None:
            return dict(self._written)
        return {"op": self.op, **self.model_dump(mode="json", by_alias=True, exclude_defaults=True)}

    @property
    def needs_ini(self) -> bool:
        """True if it only works on INI files."""
        return False

    @property
    def new_path(self) -> str | None:
        """The new path of the file, or None if it keeps its path."""
        return None

    @property
    def other_file(self) -> OtherFile | None:
        """Another file that the edit writes into; None for most."""
        return None

    def problem_with_path(self, path: str) -> Diagnostic | None:
        """Return what is wrong with the edit in the file `path` before that is read; None for most."""
        del path
        return None

    def located(self, outline: Outline) -> Self:
        """Return the same edit with line numbers instead of hashes of lines. Errors: TEXT_MISMATCH."""
        del outline
        return self

    @classmethod
    def file_already_satisfied(cls, edit: Mapping[str, Any], file: FileState) -> bool:
        """Return True if `file` is already as `edit`, decoded JSON of this operation, asks; False by default.

        The bot calls it before it reads the batch, so that no value of `edit` is checked yet.
        """
        del edit, file
        return False

    @classmethod
    def required_texts(cls, edit: Mapping[str, Any]) -> tuple[str, ...] | None:
        """Return texts of which a file must have one if `edit`, decoded JSON of this operation, changes it.

        None if unknown. A field of `edit` whose value is not known yet is None.
        """
        del edit
        return None

    @property
    def needed_texts(self) -> tuple[str, ...] | None:
        """Texts of which a file must have one if the edit finds something in it; None if unknown."""
        return None

    def already_satisfied(self, problem: Diagnostic, outline: Outline) -> bool:
        """Return True if `problem`, found by `resolve` in `outline`, means that nothing is left to do.

        This makes manifests repeatable.
        """
        del outline
        # The problem of several matches has a place.
        is_ambiguous = problem.code is Code.MATCH_COUNT_MISMATCH and problem.place is not None
        return problem.code in self.satisfied_by and not is_ambiguous

    def counted_fields(self, outline: Outline) -> tuple[str, ...]:
        """Return the wire names of fields whose numbers may mean something else in a later version.

        Lines with unique hashes are found again, so they do not count.
        """
        located = or_problem(self.located, outline)
        is_found = not isinstance(located, Diagnostic) and located.is_located
        return tuple(
            str(field.alias)
            for name, field in type(self).model_fields.items()
            if _counts(name, getattr(self, name)) and not (is_found and name in _LINES_FIELDS)
        )

    def rebased_guards(self, base: Outline, current: Outline) -> dict[str, Any]:
        """Return the guard fields that hold in `base`, with their values in `current`.

        In a sequential batch guards refer to the base, and `current` is the document after earlier edits.
        """
        del base, current
        return {}

    def resolved(self, outline: Outline) -> Resolution | Problems:
        """Resolve the edit after locating its lines by their hashes; return all its problems."""
        return or_problems(lambda: self.located(outline).resolve(outline))

    @abstractmethod
    def resolve(self, outline: Outline) -> Resolution:
        """Text edits against the base `outline`. Raises `Refused` with all that is wrong with this edit."""


AnyOperation = TypeVar("AnyOperation", bound=Operation)


def one_neighbour(operation: AnyOperation) -> AnyOperation:
    """Return `operation` unless it names two neighbours: a validator. Raise ValueError."""
    if None not in (getattr(operation, "before", None), getattr(operation, "after", None)):
        raise ValueError(say("give one of {before and after}"))
    return operation


# Fields that name a place by numbers.
_LINES_FIELDS: Final = frozenset({"line", "lines", "range"})
_COUNTED: Final = _LINES_FIELDS | {"occurrence", "item_occurrence"}


def _counts(name: str, value: object) -> bool:
    if name == "match_selection":
        return value not in (None, "all")
    is_index = isinstance(value, WireModel) and getattr(value, "index", None) is not None
    return is_index or (name in _COUNTED and value is not None)


def with_way_to_create(problem: Diagnostic, made: str = "it") -> Diagnostic:
    """Return `problem` of something missing, with a hint to the field that creates it."""
    hint = either(say("{createIfMissing=true} would make {}", made), problem.hint, joint="; ")
    return replace(problem, hint=hint)


def occurs_once(text: str, wanted: str) -> bool:
    """Return True if `wanted` is in `text`, and in one place of it."""
    first = text.find(wanted)
    return first >= 0 and text.find(wanted, first + 1) < 0


_SECTION_TARGETS = ("section_id", "heading_path", "heading", "anchor")
Ordinal = Annotated[int, Field(strict=True, ge=1)]
SectionHash = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{16,64}$")]


class ReplacingOperation(Operation):
    """An operation that puts other text in the place of text."""

    replaces_text: ClassVar[bool] = True

    keep: Keep = Field(default=(), description="Refuse to lose these: links, footnotes, code, …; all.")
    drop: Drop = Field(default=(), description="What may be lost in spite of keep: texts, or names of kinds.")


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
            raise ValueError(
                say("give exactly one target, not {}", Arguments(*map(to_camel, given), joint="and"))
            )
        if not given and self.target_is_required:
            raise ValueError(say("give a target: {sectionId, headingPath, heading or anchor}"))
        if self.occurrence is not None and self.heading is None and self.heading_path is None:
            raise ValueError(say("{occurrence} requires {heading or headingPath}"))
        if self.section_sha256 is not None and not given:
            raise ValueError(
                say("{sectionSha256} requires a section: {sectionId, headingPath, heading or anchor}")
            )
        return self

    def _given_targets(self) -> list[str]:
        return [name for name in _SECTION_TARGETS if getattr(self, name) is not None]

    def named_section(self, outline: Outline) -> Section | None:
        """Return the section that the edit names, or None if it names none. Errors: as `find_section`."""
        return self.find_section(outline) if self._given_targets() else None

    def find_section(self, outline: Outline) -> Section:
        """Return the target section, after the guards on it.

        Errors: as `find_by_path`, `find_by_id` and `find_by_anchor`; INVALID_ARGUMENT for a preamble
        or nested heading that the operation does not accept; SECTION_CHANGED.
        """
        section = self._find(outline)
        if section.is_root and not self.accepts_root:
            raise Code.INVALID_ARGUMENT.refused(
                f"{self.op} needs a heading, and the preamble has none", "name a section that has a heading"
            )
        if section.nested and not self.accepts_nested:
            raise Code.INVALID_ARGUMENT.refused(
                f"the heading at line {section.heading_line} is in a quote or list: it has no section",
                say("nested headings can be renamed; for other text use {replace_match} or {replace_range}"),
            )
        if self.section_sha256 and outline.hashed_part(section, self.section_sha256) is None:
            now = outline.section_sha256(section)
            raise Refused(Code.SECTION_CHANGED.of(first=section.first_line, last=section.last_line, now=now))
        return section

    def _find(self, outline: Outline) -> Section:
        if self.section_id is not None:
            return find_by_id(outline, self.section_id)
        if self.anchor is not None:
            return find_by_anchor(outline, self.anchor)
        path = self.heading_path if self.heading_path is not None else (self.heading or "",)
        return find_by_path(outline, path, self.occurrence)

    def counted_fields(self, outline: Outline) -> tuple[str, ...]:
        """Return the fields of the base class; an expected hash of only one section replaces `occurrence`."""
        counted = super().counted_fields(outline)
        is_sole = "occurrence" in counted and self.has_sole_hash(outline)
        return tuple(name for name in counted if not (is_sole and name == "occurrence"))

    def has_sole_hash(self, outline: Outline) -> bool:
        """Return True if exactly one section of `outline` has the expected hash."""
        expected = self.section_sha256 or ""
        parts = (outline.hashed_part(section, expected) for section in outline.in_order if expected)
        return sum(part is not None for part in parts) == 1

    def needs_precondition(self, resolution: Resolution) -> bool:
        """Return True if the address counts equal headings, so that an edit elsewhere could shift it.

        An edit through such an ID needs `baseSha256` or `sectionSha256`.
        """
        is_one_of_several = resolution.section is not None and resolution.section.repeats > 1
        return is_one_of_several and self.section_id is not None and self.section_sha256 is None


Count = Annotated[int, Field(strict=True, ge=0)]
LineHash = Annotated[str, Field(pattern=r"^[0-9a-f]{3,64}$")]

# The hash of a line, or the hashes of each line of a range.
LineHashes = Annotated[str, Field(pattern=r"^[0-9a-f]{3,64}(,[0-9a-f]{3,64})*$")]

# The same, or the hash of the first or last line of the file.
PlaceHashes = Annotated[
    str, Field(pattern=r"^([0-9a-f]{3,64}((,[0-9a-f]{3,64})*|,end)|start,[0-9a-f]{3,64})$")
]


class PositionField(WireModel):
    """A place in a file: 1-based line, or ``"12:a3f"``, and column, in code points."""

    line: Ordinal
    col: Ordinal
    line_hash: LineHash | None = Field(default=None, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _split_line(cls, given: object) -> object:
        return with_line_hash(given)

    def to_position(self) -> Position:
        """Return the place as a `Position`."""
        return Position(self.line, self.col)


class RangeField(WireModel):
    """Half-open range: `end` is the place after the last character."""

    start: PositionField
    end: PositionField


def header_text(given: object) -> object:
    """Return the cells of a header with pipes between them, where `given` is a list of them; else `given`."""
    if isinstance(given, list | tuple) and given and all(isinstance(cell, str) for cell in given):
        return " | ".join(cell.replace("|", "\\|") for cell in given)
    return given


# One header cell of a table, or several: as a list, or with pipes between them.
TableHeader = Annotated[str, BeforeValidator(header_text, json_schema_input_type=str | list[str])]


class CodeBlockField(WireModel):
    """A fenced code block, by 0-based index, by language, or by its index among the blocks of a language."""

    index: Count | None = None
    language: str | None = None

    @model_validator(mode="after")
    def _check_one(self) -> "CodeBlockField":
        if self.index is None and self.language is None:
            raise ValueError(say("give {index}, {language} or both"))
        return self


class LinesField(WireModel):
    """Whole lines `start` to `end`, 1-based and inclusive; as text ``"12-14"`` or ``"12:a3f-14:b07"``.

    ``"12:a3f,c41,b07"`` are the same lines with a hash of each, which also proves those between the ends; an
    empty line needs none: ``"12:a3f,,b07"``.
    """

    start: Ordinal
    end: Ordinal
    start_hash: LineHashes | None = Field(default=None, repr=False)
    end_hash: LineHash | None = Field(default=None, repr=False)

    @model_validator(mode="before")
    @classmethod
    def _read_text(cls, given: object) -> object:
        return lines_of_text(given) if isinstance(given, str) else given

    @model_validator(mode="after")
    def _check_order(self) -> "LinesField":
        if self.end < self.start:
            raise ValueError("end is before start")
        hashes = (self.start_hash or "").count(",") + 1
        if hashes > 1 and hashes != self.end - self.start + 1:
            lines = self.end - self.start + 1
            msg = (
                f"there are {hashes} hashes for {lines} lines: give one for each line, or those of both ends"
            )
            raise ValueError(msg)
        return self

    def outside(self, count: int) -> Diagnostic:
        """Return RANGE_OUT_OF_BOUNDS for lines that a file of `count` lines does not have."""
        return Code.RANGE_OUT_OF_BOUNDS.problem(
            f"lines {self.start}-{self.end} are not in the file", f"the file has {count} lines"
        )


_MOST_LISTED: Final = 5


class Proof(Enum):
    """What line hashes prove: nothing, a unique position, or also the whole text there."""

    NONE = 0
    PLACE = 1
    ALL = 2


def located_lines(outline: Outline, lines: LinesField) -> tuple[LinesField, Proof]:
    """Return `lines` at the position that their hashes match, without hashes, and what these prove.

    Moved lines are found if no other lines match. Hashes prove the text only if each line has one:
    `12:a3f-20:b07` says nothing about the lines between. Errors: TEXT_MISMATCH.
    """
    start, end = lines.start_hash or "", lines.end_hash or ""
    places = outline.line_hashes.places(start, end, lines.end - lines.start)
    is_unique = bool(start and end) and len(places) == 1
    is_listed = lines.start == lines.end or "," in start
    is_whole = is_listed or lines.end - lines.start == 1
    proof = Proof.NONE if not is_unique else Proof.ALL if is_whole else Proof.PLACE
    if lines.start in places:
        return LinesField(start=lines.start, end=lines.end), proof
    if is_unique:
        return LinesField(start=places[0], end=places[0] + lines.end - lines.start), proof
    named = f"{lines.start}:{start}" if is_listed else f"{lines.start}:{start}-{lines.end}:{end}"
    listed = ", ".join(map(str, places[:_MOST_LISTED]))
    raise Code.TEXT_MISMATCH.refused(
        f"`{named}` is another text now"
        if not places
        else f"`{named}` is another text now, and {len(places)} places have those hashes (lines {listed})",
        "read the lines again",
        place=Position(line=min(lines.start, max(outline.source.lines.count, 1)), col=1),
    )


# --- Lines as callers write them in one text: ``12:a3f-14:b07``, numbers and the beginnings of hashes.
#
# ``12:a3f,c41,b07`` gives the first number and a hash of each line; in such a list nothing stands for an
# empty line, as in ``12:a3f,,b07``.

_HASH: Final = "[0-9a-fA-F]{3,64}"

_LINES: Final = lazy_pattern(
    rf"(?P<start>[1-9][0-9]{{0,8}})(?::(?P<startHash>{_HASH}|(?:{_HASH})?(?:,(?:{_HASH})?)+))?"
    rf"(?:-(?P<end>[1-9][0-9]{{0,8}})(?::(?P<endHash>{_HASH}))?)?"
)

_EMPTY: Final = sha256(b"").hexdigest()[:8]

# Before a hash: that line is the first one; after it: the last one.
START: Final = "start,"
END: Final = ",end"


def lines_of_text(given: str) -> dict[str, Any]:
    """Return ``12:a3f-14:b07`` as the fields of `LinesField`. Raises ValueError for anything else."""
    found = _LINES.fullmatch(given.strip())
    if found is None:
        raise ValueError('lines are {"start": 12, "end": 14}, "12-14", "12:a3f" or "12:a3f-14:b07"')
    start = int(found["start"])
    listed = [digits.lower() or _EMPTY for digits in (found["startHash"] or "").split(",")]
    is_hashed = found["startHash"] is not None
    end_hash = listed[-1] if is_hashed and found["end"] is None else (found["endHash"] or "").lower()
    fields = {"start": start, "end": int(found["end"] or start + len(listed) - 1)}
    hashes = {"startHash": ",".join(listed) if is_hashed else "", "endHash": end_hash}
    return {**fields, **{name: digits for name, digits in hashes.items() if digits}}


def with_line_hash(given: object) -> object:
    """Return `given` with the number and hash of a `line` such as ``"12:a3f"`` as separate fields.

    ``"12:a3f,b07"`` means between lines 12 and 13, ``"12:a3f,end"`` after line 12, the last line, and
    ``"1:start,a3f"`` before line 1, all without `position`. Further hashes prove more text. Raises
    ValueError.
    """
    if not isinstance(given, Mapping) or not isinstance(given.get("line"), str):
        return given
    text = given["line"].strip()
    number, _, digits = text.partition(":")
    start = START if digits.startswith(START) else ""
    end = END if digits.endswith(END) else ""
    found = lines_of_text(f"{number}:{digits.removeprefix(start).removesuffix(end)}" if digits else text)
    lines = found["end"] - found["start"] + 1
    edge = start + end
    if "-" in text or (edge and lines > 1) or (start and (end or found["start"] != 1)):
        raise ValueError(
            'a line is 12, "12:a3f", "12:a3f,b07" for the place between two lines, '
            '"1:start,a3f" for that before the first, or "12:a3f,end" for that after the last'
        )
    implied = "before" if start else "after"
    if edge and given.get("position", implied) != implied:
        raise ValueError(
            "`start` and `end` are places before the first and after the last line: remove position"
        )
    between = {"position": given.get("position", implied)} if lines > 1 or edge else {}
    hashes = {"lineHash": start + found["startHash"] + end} if "startHash" in found else {}
    return {**given, **between, "line": found["start"], **hashes}


# --- The richer forms of match options, folded into the flat ones

_FLAGS: Final = {"i": ("caseSensitive", False), "m": ("multiline", True), "s": ("dotAll", True)}
_SCOPE_FIELDS: Final = frozenset({"sectionId", "headingPath", "heading", "anchor", "occurrence", "lines"})
_WHOLE: Final = frozenset({"document", "whole_document", "wholeDocument", "file"})


def _contradiction(what: str) -> Refused:
    return Refused(Diagnostic.invalid(what, "give each option once, in its flat form"))


def fold_match_options(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `fields` of a match operation in their flat form.

    Folded: `expectedMatches`; `expectedMatchCount: {min, max}`; `matchSelection` as a number,
    ``{index}`` or ``{range: {start, end}}``; `literal`; `flags`; `nodeExclusions`; `scope`. A contradiction
    between two forms is INVALID_ARGUMENT, and so is `occurrence` without a heading.
    """
    folded = dict(fields)
    for name, value, form in chain(_flat_counts(folded), _flat_options(folded)):
        if folded.get(name) is not None and folded[name] != value:
            raise _contradiction(f"{form} and {name} contradict each other")
        folded[name] = value
    _fold_exclusions(folded)
    if folded.get("occurrence") is not None and not {"heading", "headingPath"} & folded.keys():
        raise Code.INVALID_ARGUMENT.refused(
            say("{occurrence} picks one of several equal headings, not a match"),
            say("use {} for the match", Argument("matchSelection", str(folded["occurrence"]))),
        )
    return folded


def _flat_counts(fields: dict[str, Any]) -> Iterator[tuple[str, object, str]]:
    """Take the richer forms of counts out of `fields`; yield flat options with their values and the form."""
    if "expectedMatches" in fields:
        yield "expectedMatchCount", fields.pop("expectedMatches"), "expectedMatches"
    count = fields.get("expectedMatchCount")
    if isinstance(count, dict) and count.keys() <= {"min", "max"} and count:
        del fields["expectedMatchCount"]
        for bound, value in count.items():
            yield f"{bound}Matches", value, "expectedMatchCount"
    match fields.get("matchSelection"):
        case bool():
            pass
        case int(index):
            fields["matchSelection"] = str(index)
        case {"index": int(index), **rest} if not rest:
            fields["matchSelection"] = str(index)
        case {"range": {"start": int(start), "end": int(end), **more}, **rest} if not rest and not more:
            fields["matchSelection"] = f"{start}-{end}"
        case _:
            pass


def _flat_options(fields: dict[str, Any]) -> Iterator[tuple[str, object, str]]:
    """Take the other forms out of `fields`; yield flat options with their values and the form."""
    literal, flags = fields.pop("literal", None), fields.pop("flags", None)
    if literal is not None:
        if not isinstance(literal, bool):
            raise _contradiction("literal is neither true nor false")
        yield "matchType", "literal" if literal else "regex", "literal"
    for flag in () if flags is None else flags if isinstance(flags, str | list) else ("?",):
        if not isinstance(flag, str) or flag not in _FLAGS:
            raise _contradiction("flags contains something other than i, m and s")
        yield *_FLAGS[flag], "flags"
    scope = fields.get("scope")
    if scope is None or (isinstance(scope, str) and scope in _WHOLE):
        fields.pop("scope", None)
    elif isinstance(scope, dict) and {to_camel(name) for name in scope} <= _SCOPE_FIELDS:
        del fields["scope"]
        yield from ((to_camel(name), value, "scope") for name, value in scope.items())
    else:
        raise _contradiction("scope is neither a section, lines, nor the document")


def _fold_exclusions(fields: dict[str, Any]) -> None:
    exclusions = fields.pop("nodeExclusions", None)
    if exclusions is None:
        return
    if not isinstance(exclusions, dict) or any(
        choice not in ("include", "exclude") for choice in exclusions.values()
    ):
        raise _contradiction("nodeExclusions is not an object of include and exclude")
    lists = {choice: _list_in(fields, choice) for choice in ("include", "exclude")}
    for name, choice in exclusions.items():
        kind = to_camel(name)
        other = "exclude" if choice == "include" else "include"
        if kind in lists[other]:
            raise _contradiction(f"nodeExclusions and {other} contradict each other")
        if kind not in lists[choice]:
            lists[choice].append(kind)
    fields |= lists


def _list_in(fields: Mapping[str, Any], name: str) -> list[Any]:
    value = fields.get(name, [])
    if not isinstance(value, list):
        raise _contradiction(f"{name} is not a list")
    return list(value)
