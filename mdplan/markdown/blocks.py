"""Blocks of a document as values, and the time limit of all parsers."""

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


# Kinds whose text is in other blocks.
CONTAINERS: Final = frozenset({BlockKind.LIST, BlockKind.LIST_ITEM, BlockKind.QUOTE, BlockKind.FOOTNOTE})

# Kinds whose text is inline Markdown.
INLINE_KINDS: Final = frozenset({BlockKind.HEADING, BlockKind.PARAGRAPH, BlockKind.TABLE})

# The box of a task (GFM, section 5.3). Editors of notes have other signs in it than a blank and an ``x``.
BOX: Final = r"\[(?:[^\[\]\s]| )\]"
_TASK_BOX: Final = lazy_pattern(rf"{BOX}[ \t\n]")
_DONE: Final = frozenset("xX")


class Block(Struct, kw_only=True):
    """One block. Lines are 1-based and inclusive; `span` holds those lines with their line ends.

    `depth` counts the containers around it (quotes, lists, list items, footnotes): 0 is the root. `level` is
    that of a heading, else 0. `markup` is the run of ``#``, or ``=`` or ``-``, for headings, the fence, the
    end of the list marker. `content` is the raw inline text of headings and paragraphs, the info string of
    fences. `cells` are the header cells of a table, as inline text: without the backslash of an escaped pipe.
    `code` is the text in a fence, in LF, without the indentation and the marks of the containers around it.
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
        """Return the same block, so many characters and lines further on."""
        if not characters and not lines:
            return self
        # `replace` takes five times as long, and an edit moves all headings after it.
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
    """Return True if the task with `mark` in its box is done: others are begun, or put off."""
    return mark in _DONE


def task_mark(first: Block, text: str) -> str | None:
    """Return what is in the box that an item with the block `first` begins with; None if it has no box.

    What `text` defines as the label of a link is none.
    """
    if first.kind is not BlockKind.PARAGRAPH or not _TASK_BOX.match(first.content):
        return None
    mark = first.content[1]
    return None if mark not in " xX" and f"[{mark}]:" in text else mark


# --- The time limit of all parsers
#
# Every parser is linear in the length of its text, but some texts cost it seconds for each megabyte. So the
# parsers call `check_deadline` for each line and token. The limit is a context variable because some content,
# such as inline nodes, is parsed later, far from the code that set the limit.

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# Asking the clock costs as much as taking a token does.
_EVERY: Final = 64
_asked: Final = count(1)


class ParseTimeout(Exception):  # noqa: N818 - The name of its code.
    """Parsing took longer than it may."""


class _Deadline:
    """Of `seconds` on `clock`, `spent` are gone but for those since the parser `started` that runs now."""

    def __init__(self, clock: Callable[[], float], seconds: float) -> None:
        self.clock, self.seconds = clock, seconds
        self.spent = 0.0
        self.started: float | None = None


_limit: Final[ContextVar[_Deadline | None]] = ContextVar("parse_time", default=None)


@contextmanager
def parse_time(seconds: float, clock: Callable[[], float]) -> Iterator[None]:
    """Within it, parsing takes no more than so many seconds on `clock`, or raises `ParseTimeout`.

    Inside another limit that one holds. Time that passes elsewhere does not count.
    """
    if _limit.get() is not None:
        yield
        return
    token = _limit.set(_Deadline(clock, seconds))
    try:
        yield
    finally:
        _limit.reset(token)


def with_deadline(parser: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return `parser`, the time of which counts."""

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
    """Restart the time limit: it applies to each document separately."""
    limit = _limit.get()
    if limit is not None:
        limit.spent = 0.0


def check_deadline() -> None:
    """Raise `ParseTimeout` when the time is over; to be called again and again by whatever parses."""
    if not next(_asked) % _EVERY:
        check_deadline_often()


def check_deadline_often() -> None:
    """Raise `ParseTimeout` when the time is over; reads the clock on every call."""
    limit = _limit.get()
    if limit is None or limit.started is None:
        return
    if limit.spent + limit.clock() - limit.started > limit.seconds:
        raise ParseTimeout
