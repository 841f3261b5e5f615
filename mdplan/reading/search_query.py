"""What `search` is asked for, as a value, whoever asks."""

from dataclasses import dataclass
from typing import Final

from mdplan.markdown.elements.node_kind import NodeKind
from mdplan.text.search.pattern import MatchType, Pattern

DEFAULT_LIMIT: Final = 50
MOST_MATCHES: Final = 10_000
MOST_CONTEXT: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A pattern and where to look for it. See `SearchFields`."""

    pattern: str
    file: str = "."
    match_type: MatchType = MatchType.LITERAL
    case_sensitive: bool = True
    multiline: bool = True
    dot_all: bool = False
    exclude: tuple[NodeKind, ...] = ()
    context: int = 0
    limit: int = DEFAULT_LIMIT
    respect_gitignore: bool = False
    section_patterns: tuple[str, ...] = ()
    cursor: str | None = None
    encoding: str | None = None
    format: str | None = None

    def to_pattern(self) -> Pattern:
        """The pattern as a value of the core."""
        return Pattern(
            text=self.pattern,
            match_type=self.match_type,
            case_sensitive=self.case_sensitive,
            multiline=self.multiline,
            dot_all=self.dot_all,
        )

    @property
    def needed_bytes(self) -> bytes | None:
        """Bytes without which no UTF-8 file has a match; None where the pattern does not say.

        A line end in a literal pattern stands for any kind of line end, so only the longest of its lines
        counts.
        """
        if self.match_type is not MatchType.LITERAL or not self.case_sensitive:
            return None
        return max(self.pattern.replace("\r", "\n").split("\n"), key=len).encode("utf-8")
