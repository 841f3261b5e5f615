"""Limits of documents and batches, and the command options that set limits."""

from enum import StrEnum
from typing import Final

from mdplan.values import Struct

FRONT_MATTER_CHARACTERS: Final = 64 * 1024
PATTERN_SECONDS: Final = 1.0
RESULT_CHARACTERS: Final = 16 * 1024 * 1024
RESULT_LINES: Final = 400_000
PARSE_SECONDS: Final = 5.0


class DocumentLimits(Struct, kw_only=True):
    """Limits of reading, searching and writing a document.

    `pattern_seconds` applies to one regex search. `result_characters` and `result_lines` limit the result,
    checked before it is built and parsed. `parse_seconds` is the total parse time per call.
    """

    front_matter_characters: int = FRONT_MATTER_CHARACTERS
    pattern_seconds: float = PATTERN_SECONDS
    result_characters: int = RESULT_CHARACTERS
    result_lines: int = RESULT_LINES
    parse_seconds: float = PARSE_SECONDS


DEFAULT_DOCUMENT_LIMITS: Final = DocumentLimits()


class Limits(Struct, kw_only=True):
    """How much one batch may contain, and what it must `keep`; `glob_files` is for one glob of it.

    >>> Engine.open(["."], settings=Settings(batch=Limits(glob_files=1_000))).settings.batch.glob_files
    1000
    """

    files: int = 10_000
    glob_files: int = 100
    edits: int = 100_000
    payload_characters: int = 64 * 1024 * 1024
    keep: tuple[str, ...] = ()


DEFAULT_LIMITS: Final = Limits()


class Kept(StrEnum):
    """What an edit, a batch or a server can promise to keep of text that is replaced."""

    ALL = "all"
    HEADINGS = "headings"
    SENTENCES = "sentences"
    ITEMS = "items"
    ROWS = "rows"
    CODE = "code"
    LINES = "lines"
    LINKS = "links"
    IMAGES = "images"
    FOOTNOTES = "footnotes"
    NUMBERS = "numbers"


# Options left out keep the values of `Settings`. This module imports nothing of the engine, so that commands
# start fast.


class LimitOption(Struct):
    """A limit: `--max-lines NUMBER`, or MDPLAN_MAX_LINES.

    `setting` is a field of `Settings`, dotted if nested. `default` is its default, `least` the minimum. Times
    may be fractions.
    """

    name: str
    setting: str
    default: float
    metavar: str
    summary: str
    least: int = 1

    @property
    def parameter(self) -> str:
        """The parameter name in a command."""
        return self.name.replace("-", "_")

    @property
    def variable(self) -> str:
        """The environment variable."""
        return f"MDPLAN_{self.parameter.upper()}"

    @property
    def is_duration(self) -> bool:
        """True if it is a time, which may be a fraction."""
        return self.metavar in _DURATIONS


_MIB: Final = 1024 * 1024
_DURATIONS: Final = frozenset({"SECONDS", "DAYS"})

FILES: Final = (
    LimitOption("max-file-bytes", "max_file_bytes", 16 * _MIB, "BYTES", "Size of a file, before and after."),
    LimitOption("max-lines", "max_lines", 400_000, "NUMBER", "Lines of a file."),
    LimitOption(
        "max-front-matter", "front_matter_characters", 65_536, "NUMBER", "Characters of front matter."
    ),
    LimitOption("max-parse-seconds", "parse_seconds", 5.0, "SECONDS", "Time to parse a document."),
)

PATTERNS: Final = (
    LimitOption("max-regex-seconds", "pattern_seconds", 1.0, "SECONDS", "Time of a regular expression."),
)

BATCHES: Final = (
    LimitOption("max-files", "batch.files", 10_000, "NUMBER", "Files of a batch."),
    LimitOption("max-edits", "batch.edits", 100_000, "NUMBER", "Edits of a batch."),
    LimitOption(
        "max-payload", "batch.payload_characters", 64 * _MIB, "NUMBER", "Characters of text in a batch."
    ),
    LimitOption("keep-plans", "plans_kept_days", 30.0, "DAYS", "How long saved plans are kept."),
)

# For agents; a person sees how many files a glob matches before anything changes.
GLOBS: Final = (
    LimitOption("max-glob-files", "batch.glob_files", 100, "NUMBER", "Files that a glob of a batch names."),
)

COMMITS: Final = (
    LimitOption("lock-timeout", "lock_timeout", 10.0, "SECONDS", "How long to wait for other commits."),
)

HISTORY: Final = (
    LimitOption(
        "history-transactions",
        "history_transactions",
        200,
        "NUMBER",
        "Transactions that the history keeps.",
        least=0,
    ),
    LimitOption(
        "history-bytes", "history_bytes", 256 * _MIB, "BYTES", "Bytes of old content that it keeps.", least=0
    ),
    LimitOption("history-days", "history_days", 365.0, "DAYS", "Days that it goes back."),
)

REPORTS: Final = (
    LimitOption(
        "max-report",
        "report_characters",
        50_000,
        "NUMBER",
        "Characters of an answer to an agent.",
        least=5_000,
    ),
)

ALL_LIMITS: Final = (*FILES, *PATTERNS, *BATCHES, *GLOBS, *COMMITS, *HISTORY, *REPORTS)


def in_words(number: float) -> str:
    """Return a limit as in help texts: ``16 MiB``, ``400000``, ``1``."""
    return f"{number / _MIB:g} MiB" if number >= _MIB else f"{number:.12g}"
