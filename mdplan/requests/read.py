"""The request of `read`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from mdplan.field_names import camel_case
from mdplan.requests.queries import CURSOR, ENCODING, FORMAT, Query, asked, described, literal_or_regex
from mdplan.text.pattern import MatchType
from mdplan.words import Arguments, say

# The hint for fields that do not go together.
ONE_PLACE: Final = "name one place, with only the fields that belong to it"
MOST_TARGETS: Final = 100
_DEFAULT_CHARACTERS: Final = 20_000
_MOST_CHARACTERS: Final = 1_000_000
_DEFAULT_CONTEXT: Final = 10
_MOST_CONTEXT: Final = 1_000
_SECTION: Final = ("section_id", "heading_path", "heading", "anchor")
# Places that may be named in a section.
_IN_SECTION: Final = ("code_block", "table", "list")
_PLACES: Final = (
    *_SECTION,
    "lines",
    *_IN_SECTION,
    "region",
    "front_matter",
    "key",
    "match",
    "start_line",
    "last_lines",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinesToRead(Query):
    """Whole lines `start` to `end`, 1-based and inclusive."""

    start: int = field(metadata={"strict": True, "ge": 1})
    end: int = field(metadata={"strict": True, "ge": 1})

    def __post_init__(self) -> None:
        """Raise ValueError for a range that runs backwards."""
        if self.end < self.start:
            raise ValueError("end is before start")


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlockName(Query):
    """A fenced code block, by 0-based index, by language, or by index within a language."""

    index: int | None = field(default=None, metadata={"strict": True, "ge": 0})
    language: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if both fields are missing."""
        if self.index is None and self.language is None:
            raise ValueError("give index, language or both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed(Query):
    """A table or list, by its 0-based index; a table also by header cells: one, or a list of them."""

    index: int | None = field(default=None, metadata={"strict": True, "ge": 0})
    header: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless exactly one field is given."""
        if (self.index is None) == (self.header is None):
            raise ValueError("give index, or header of a table")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTarget(Query):
    """One place of one file; the whole file where no place is named."""

    file: str = field(metadata=described("Path inside the root.", option=None, min_length=1))
    encoding: str | None = field(default=None, metadata=ENCODING)
    format: str | None = field(default=None, metadata=FORMAT)
    section_id: str | None = asked("Section ID, or 8 of its hex digits.", option=None)
    heading_path: tuple[str, ...] | None = asked("Headings from outer to inner.", option=None)
    heading: str | None = asked(
        'One heading: "Install" or "## Install".', option={"flags": ("--section",), "form": "section"}
    )
    anchor: str | None = asked("Anchor without #, of a heading or of HTML.")
    occurrence: int | None = asked("Which of several equal headings; 1-based.", "1-based.", strict=True, ge=1)
    subsections: bool = asked(
        "false: only the section's own body.",
        "false: own body only.",
        {
            "flags": ("--own-body",),
            "value": False,
            "help": "Of the section, only the text before its subsections.",
        },
        default=True,
    )
    lines: LinesToRead | None = asked(
        "Whole lines: {start, end}, inclusive.",
        {"description": "{start, end}, inclusive."},
        {"form": "lines", "metavar": "FIRST[-LAST]", "help": "Whole lines, counted from 1."},
    )
    code_block: CodeBlockName | None = asked(
        "Code between the fences: {index} (0-based), {language} or both.",
        {"type": "object", "description": "{language}, {index} or both, from 0."},
        {
            "form": "language",
            "metavar": "INDEX|LANGUAGE",
            "help": "Code in a fence: its index (from 0) or language.",
        },
    )
    table: Indexed | None = asked(
        "A table: {index} (0-based), of the section if one is named.",
        {"type": "object", "description": "{index}, or {header}: a cell or list."},
        None,
    )
    list: Indexed | None = asked(
        "A list: {index} (0-based), of the section if one is named.",
        {"type": "object", "description": "{index}."},
        None,
    )
    region: str | None = asked(
        "Text between <!-- NAME:start --> and <!-- NAME:end -->.", option={"metavar": "NAME"}
    )
    front_matter: Literal[True] | None = asked(
        "true: the front matter block.", option={"help": "The front matter block."}
    )
    key: str | None = asked(
        "Lines of a key or item of YAML, JSON, TOML, INI or front matter: nav[0].Home.", min_length=1
    )
    match: str | None = asked(
        "Lines around the first match of this text.", option={"metavar": "TEXT"}, min_length=1
    )
    match_type: MatchType = field(default=MatchType.LITERAL, metadata=literal_or_regex("TEXT"))
    case_sensitive: bool = asked("Whether case matters in match.", option=None, default=True)
    context: int = asked(
        f"Lines on both sides of a match; {_DEFAULT_CONTEXT} by default.",
        strict=True,
        ge=0,
        le=_MOST_CONTEXT,
        default=_DEFAULT_CONTEXT,
    )
    start_line: int | None = asked(
        "First line; the text goes on to `until`, or the end.",
        option={"help": "From this line to the end, or to --until."},
        strict=True,
        ge=1,
    )
    last_lines: int | None = asked("As many lines at the end of the file.", option=None, strict=True, ge=0)
    until: str | None = asked(
        "Regex: the text ends before the first later line that begins with a match.",
        "Regex of the line after.",
        {"metavar": "REGEX"},
        min_length=1,
    )

    @property
    def names_section(self) -> bool:
        """True if the place is a section."""
        return any(getattr(self, name) is not None for name in _SECTION)

    @property
    def names_block(self) -> bool:
        """True if the place is a code block, a table or a list."""
        return any(getattr(self, name) is not None for name in _IN_SECTION)

    def conflicts(self) -> Iterator[str]:
        """Return the names of fields that exclude each other."""
        given = [camel_case(name) for name in _PLACES if getattr(self, name) is not None]
        if self.names_section and self.names_block:
            given = [name for name in given if name not in map(camel_case, _SECTION)]
        if len(given) > 1:
            yield say("give one target, not {}", Arguments(*given, joint="and"))
        if self.until is not None and self.start_line is None:
            yield say("{until} requires {startLine}")
        if not self.subsections and not self.names_section:
            yield say("{subsections} requires a section")
        if self.occurrence is not None and self.heading is None and self.heading_path is None:
            yield say("{occurrence} requires {heading or headingPath}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest(Query):
    """Places to read, in result order, and limits of length."""

    targets: tuple[ReadTarget, ...] = field(
        metadata=described(
            "Several places.",
            {"type": "array", "items": {"type": "object"}},
            None,
            min_length=1,
            max_length=MOST_TARGETS,
        )
    )
    max_characters: int = asked(
        f"Maximum number of characters of content; {_DEFAULT_CHARACTERS:,} by default.",
        strict=True,
        ge=1,
        le=_MOST_CHARACTERS,
        default=_DEFAULT_CHARACTERS,
    )
    cursor: str | None = field(default=None, metadata=CURSOR)
    addresses: bool = asked(
        "Begin lines with addresses, 12:a3f, which edits take.",
        "Lines begin with 12:a3f.",
        None,
        strict=True,
        default=False,
    )
