"""What becomes of memory: the garbage collector is kept away from bulk work, and large blocks are kept."""

import gc

# What `threading` has its own locks from; a look at one file needs not the rest of it.
from _thread import allocate_lock
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Just below the most that glibc takes for its threshold.
_LARGEST_KEPT: Final = 31 << 20
_lock = allocate_lock()
_pauses = 0
_was_enabled = False


@contextmanager
def collector_paused() -> Iterator[None]:
    """Within it no garbage is collected, in no thread.

    What outlines and plans are made of has no cycles and lives on, so that collections in between look at
    many thousands of objects and find nothing: for a document of 10 MB they took a third of the time.
    """
    global _pauses, _was_enabled  # noqa: PLW0603 - The collector is one for the whole process, too.
    with _lock:
        if not _pauses:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if not _pauses and _was_enabled:
                gc.enable()


def keep_large_blocks() -> None:
    """Have the C library keep the memory of large texts for those that come after them.

    glibc maps a block beyond a threshold by itself, and gives it back when it is freed; the first touch of
    each page of the next one then takes longer than what is done with its text. The threshold becomes the
    size of a block that is given back. One that nothing is written to costs nothing, also elsewhere.
    """
    bytes(_LARGEST_KEPT)
