"""How long documents may be parsed: whoever asks sets the limit, and all parsers keep it.

Every parser is linear in the length of its text, but some texts cost it seconds for each megabyte. So the
parsers call `check_deadline` for each line and token. The limit is a context variable because some content,
such as inline nodes, is parsed later, far from the code that set the limit.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from itertools import count
from typing import Final, ParamSpec, TypeVar

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
    """`parser`, the time of which counts."""

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
