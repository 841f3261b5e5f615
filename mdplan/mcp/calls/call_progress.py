"""How far the call is that this thread answers: tools say it here, and the adapter listens."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from mdplan.progress import ProgressCallback, no_progress

_LISTENER: Final[ContextVar[ProgressCallback]] = ContextVar("listener", default=no_progress)


def report_progress(done: int, total: int | None) -> None:
    """Say that `done` of `total` parts are done; None where it is not known how many there are."""
    _LISTENER.get()(done, total)


@contextmanager
def progress_listener(listener: ProgressCallback) -> Iterator[None]:
    """Within the block, what this thread says is told to `listener`."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
