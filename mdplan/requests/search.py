"""The request of `search`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mdplan.markdown.tables import NodeKind
from mdplan.requests.queries import CURSOR, ENCODING, FORMAT, WORDS, Query, asked, described, literal_or_regex
from mdplan.text.lines import lf_pattern
from mdplan.text.pattern import MatchType, Pattern, has_words, needed_text
from mdplan.words import Argument, say

_DEFAULT_LIMIT: Final = 50
MOST_MATCHES: Final = 10_000
_MOST_CONTEXT: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest(Query):
    """A pattern and where to look for it."""

    pattern: str = asked(
        "Text or regular expression to find; may be absent with where, has, min.", option=None, default=""
    )
    file: str = asked(
        "File, folder or glob; else the whole root.",
        "File, folder or glob; else all.",
        None,
        min_length=1,
        default=".",
    )
    match_type: MatchType = field(default=MatchType.LITERAL, metadata=literal_or_regex("PATTERN"))
    case_sensitive: bool = asked(
        "Whether case matters.",
        option={"flags": ("--ignore-case", "-i"), "value": False, "help": "Ignore case."},
        default=True,
    )
    multiline: bool = asked("Regex: ^ and $ match at line ends.", option=None, default=True)
    dot_all: bool = asked("Regex: . matches line ends.", option=None, default=False)
    exclude: tuple[NodeKind, ...] = asked(
        "Kinds of nodes to skip.",
        WORDS,
        {
            "metavar": "KIND",
            "help": "Skip matches in codeBlocks, linkDestinations, html and other kinds; repeatable.",
        },
        default=(),
    )
    context: int = asked(
        "Lines to show on both sides of a match.",
        option={"flags": ("-C", "--context")},
        strict=True,
        ge=0,
        le=_MOST_CONTEXT,
        default=0,
    )
    limit: int = asked(
        f"Maximum number of matches to list ({_DEFAULT_LIMIT} by default); the totals are always exact.",
        strict=True,
        ge=1,
        le=MOST_MATCHES,
        default=_DEFAULT_LIMIT,
    )
    where: Mapping[str, Any] = field(
        default_factory=dict,
        metadata=described(
            'Only files whose front matter, or keys, say so: {"status": "draft"}, or one of '
            '["draft", "idea"]; keys may be dotted.',
            'Front matter: {"status": "A"}, ["A", "B"].',
            None,
        ),
    )
    has: tuple[str, ...] = asked(
        "Only files whose front matter has these keys.", "Its keys.", None, default=()
    )
    min: Mapping[str, int] = field(
        default_factory=dict,
        metadata=described(
            'Only files with at least so many items there: {"aliases": 2}.',
            'Least list items: {"aliases": 2}.',
            None,
        ),
    )
    files_only: bool = asked(
        "Name the files and count, without the matches.", option=None, strict=True, default=False
    )
    addresses: bool = asked(
        "Give lines as 12:a3f, which edits take.", option=None, strict=True, default=False
    )
    respect_gitignore: bool = asked(
        "Skip files that .gitignore names.", option={"flags": ("--gitignore",)}, default=False
    )
    section_patterns: tuple[str, ...] = asked(
        "Regexes of lines that begin a section: each match says where the next one is.",
        # Sections of documents say where they end; logs are for the toolset `files`.
        brief={},
        option=None,
        max_length=20,
        default=(),
    )
    cursor: str | None = field(default=None, metadata=CURSOR)
    encoding: str | None = field(default=None, metadata=ENCODING)
    format: str | None = field(default=None, metadata=FORMAT)

    def __post_init__(self) -> None:
        """Raise ValueError for an empty search."""
        if not self.pattern and not self.asks_front_matter:
            raise ValueError(say("give {pattern}, or {where, has or min}"))
        if any(type(least) is not int for least in self.min.values()):
            raise ValueError(say("{min} gives numbers of items, as in {}", Argument("min", {"aliases": 2})))

    @property
    def asks_front_matter(self) -> bool:
        """True if front matter selects the files."""
        return bool(self.where or self.has or self.min)

    def to_pattern(self) -> Pattern:
        """Return the pattern for `find_matches`."""
        return Pattern(
            text=lf_pattern(self.pattern, is_regex=self.match_type is MatchType.REGEX),
            match_type=self.match_type,
            case_sensitive=self.case_sensitive,
            multiline=self.multiline,
            dot_all=self.dot_all,
        )

    @property
    def joins_lines(self) -> bool:
        """True if a space in the pattern also matches a line end within a paragraph."""
        return has_words(self.pattern, is_regex=self.match_type is MatchType.REGEX)

    @property
    def needed_bytes(self) -> bytes | None:
        """Bytes that every UTF-8 file with a match contains; None if unknown."""
        if not self.pattern or self.match_type is not MatchType.LITERAL or not self.case_sensitive:
            return None
        return needed_text(self.pattern, joins_lines=self.joins_lines).encode("utf-8")
