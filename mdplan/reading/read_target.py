"""What `read` is asked for, as values, whoever asks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mdplan.field_names import camel_case
from mdplan.text.search.pattern import MatchType
from mdplan.text.span import Lines

# The hint for what does not go together.
ONE_PLACE: Final = "name one place, and beside it only what belongs to it"
DEFAULT_CHARACTERS: Final = 20_000
MOST_CHARACTERS: Final = 1_000_000
DEFAULT_CONTEXT: Final = 10
MOST_CONTEXT: Final = 1_000
_SECTION: Final = ("section_id", "heading_path", "heading", "anchor")
TARGET_NAMES: Final = (
    *_SECTION,
    "lines",
    "code_block",
    "region",
    "front_matter",
    "match",
    "start_line",
    "last_lines",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlockName:
    """A fenced code block, by its 0-based index or by its language."""

    index: int | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadTarget:
    """One place of one file; the whole file where no place is named. See `ReadTargetFields`."""

    file: str
    encoding: str | None = None
    format: str | None = None
    section_id: str | None = None
    heading_path: tuple[str, ...] | None = None
    heading: str | None = None
    anchor: str | None = None
    occurrence: int | None = None
    subsections: bool = True
    lines: Lines | None = None
    code_block: CodeBlockName | None = None
    region: str | None = None
    front_matter: bool | None = None
    match: str | None = None
    match_type: MatchType = MatchType.LITERAL
    case_sensitive: bool = True
    context: int = DEFAULT_CONTEXT
    start_line: int | None = None
    last_lines: int | None = None
    until: str | None = None

    @property
    def names_section(self) -> bool:
        """Whether the place is a section."""
        return any(getattr(self, name) is not None for name in _SECTION)

    def faults(self) -> Iterator[str]:
        """What of it does not go together."""
        given = [camel_case(name) for name in TARGET_NAMES if getattr(self, name) is not None]
        if len(given) > 1:
            yield f"give one target, not {' and '.join(given)}"
        if self.until is not None and self.start_line is None:
            yield "until goes with startLine"
        if not self.subsections and not self.names_section:
            yield "subsections goes with a section"
        if self.occurrence is not None and self.heading is None and self.heading_path is None:
            yield "occurrence goes with heading or headingPath"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """Places to read, in the order in which they come back, and how much of them."""

    targets: tuple[ReadTarget, ...]
    max_characters: int = DEFAULT_CHARACTERS
    cursor: str | None = None
