"""Blocks as values, and the time limit of all parsers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from functools import wraps
from itertools import count
from typing import Final, ParamSpec, TypeVar

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.values import Struct


class BlockKind(StrEnum):
    """Kinds of blocks (CommonMark 0.31.2, sections 4 and 5; GFM tables; footnotes as on GitHub)."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    FENCE = "fence"
    INDENTED_CODE = "indented code"
    HTML = "html"
    TABLE = "table"
    LIST = "list"
    LIST_ITEM = "list item"
    QUOTE = "quote"
    RULE = "thematic break"
    DEFINITION = "definition"
    FOOTNOTE = "footnote definition"


# Kinds whose text is in child blocks.
CONTAINERS: Final = frozenset({BlockKind.LIST, BlockKind.LIST_ITEM, BlockKind.QUOTE, BlockKind.FOOTNOTE})

# Kinds whose text is inline Markdown.
INLINE_KINDS: Final = frozenset({BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.TABLE})

# A task box (GFM, section 5.3). Note editors allow more characters in it than space and ``x``.
BOX: Final = r"\[(?:[^\[\]\s]| )\]"
_TASK_BOX: Final = lazy_pattern(rf"{BOX}[ \t\n]")
_DONE: Final = frozenset("xX")


class Block(Struct, kw_only=True):
    """A block. Lines are 1-based and inclusive; `span` covers those lines with their newlines.

    - `depth`: the number of containers around it (quotes, lists, list items, footnotes); 0 is the root.
    - `level`: 1 to 6 for headings, else 0.
    - `markup`: the run of ``#``, ``=`` or ``-`` of a heading, the fence, the end of the list marker.
    - `content`: raw inline text of headings and paragraphs, the info string of fences.
    - `cells`: header cells of a table as inline text, pipes unescaped.
    - `code`: the text in a fence with LF newlines, without indentation and container prefixes.
    """

    kind: BlockKind
    first_line: int
    last_line: int
    span: Span
    depth: int
    level: int = 0
    markup: str = ""
    content: str = ""
    cells: tuple[str, ...] = ()
    code: str = ""

    def moved(self, characters: int, lines: int) -> "Block":
        """Return the block shifted by `characters` and `lines`."""
        if not characters and not lines:
            return self
        # `replace` takes five times as long, and an edit shifts all headings after it.
        return Block(
            kind=self.kind,
            first_line=self.first_line + lines,
            last_line=self.last_line + lines,
            span=Span(self.span.start + characters, self.span.end + characters),
            depth=self.depth,
            level=self.level,
            markup=self.markup,
            content=self.content,
            cells=self.cells,
            code=self.code,
        )


def is_done(mark: str | None) -> bool:
    """Return True if `mark` in a task box means done; others mean begun or postponed."""
    return mark in _DONE


def task_mark(first: Block, text: str) -> str | None:
    """Return the character in the task box at the start of `first`, or None without a box.

    A label that `text` defines as a link is not a box.
    """
    if first.kind is not BlockKind.PARAGRAPH or not _TASK_BOX.match(first.content):
        return None
    mark = first.content[1]
    return None if mark not in " xX" and f"[{mark}]:" in text else mark


# --- The time limit of all parsers
#
# Every parser is linear in the length of its text, but some texts take seconds per megabyte, so the parsers
# call `check_deadline` for each line and token. The limit is a context variable because some content, such as
# inline nodes, is parsed later, far from the code that set the limit.

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# Reading the clock is as slow as handling a token.
_EVERY: Final = 64
_asked: Final = count(1)


class ParseTimeout(Exception):  # noqa: N818 - The name of its code.
    """Parsing exceeded its time limit."""


class _Deadline:
    """A budget of `seconds`: `spent` so far, plus the time since the running parser `started`."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self.clock, self.seconds = clock, seconds
        self.spent = 0.0
        self.started: float | None = None


_limit: Final[ContextVar[_Deadline | None]] = ContextVar("parse_time", default=None)


@contextmanager
def parse_time(seconds: float, clock: Callable[[], float]) -> Iterator[None]:
    """Limit the parsing time in this context to `seconds` on `clock`; raise `ParseTimeout` beyond it.

    An outer limit takes precedence. Only time inside parsers counts.
    """
    if _limit.get() is not None:
        yield
        return
    token = _limit.set(_Deadline(clock, seconds))
    try:
        yield
    finally:
        _limit.reset(token)


def extend_parse_time(seconds: float) -> None:
    """Add `seconds` to the limit of this context, for one more document."""
    limit = _limit.get()
    if limit is not None:
        limit.seconds += seconds


def with_deadline(parser: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return `parser` with its running time charged to the limit."""

    @wraps(parser)
    def counted(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Result:
        limit = _limit.get()
        if limit is None or limit.started is not None:
            return parser(*arguments, **named)
        limit.started = limit.clock()
        try:
            return parser(*arguments, **named)
        finally:
            limit.spent += limit.clock() - limit.started
            limit.started = None

    return counted


def new_document() -> None:
    """Restart the time limit, which applies per document."""
    limit = _limit.get()
    if limit is not None:
        limit.spent = 0.0


def check_deadline() -> None:
    """Raise `ParseTimeout` if the time is up. Parsers call this in every loop."""
    if not next(_asked) % _EVERY:
        check_deadline_often()


def check_deadline_often() -> None:
    """Raise `ParseTimeout` if the time is up; read the clock on every call."""
    limit = _limit.get()
    if limit is None or limit.started is None:
        return
    if limit.spent + limit.clock() - limit.started > limit.seconds:
        raise ParseTimeout
