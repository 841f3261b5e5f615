"""Outlines of documents that were looked at lately, so that unchanged content is parsed once."""

# What `threading` has its own locks from; reading one file does not need the rest of it.
from _thread import allocate_lock
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

from mdplan.markdown.outline.outline import Outline

# An outline with what was derived from it takes about ten times the bytes of its document.
MAX_BYTES: Final = 8 << 20


class OutlineCache:
    """The outlines that were asked for last, with at most `max_bytes` of documents together.

    An outline never changes. A key shows everything that it is made from besides the bytes of its document:
    threads may share both. Of documents of one key and of equal length the last one is kept, so that bytes
    are compared with those of one document, which costs less than a hash of them.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._outlines: OrderedDict[tuple[Hashable, int], Outline] = OrderedDict()
        self._lock = allocate_lock()

    def get(self, key: Hashable, data: bytes) -> Outline | None:
        """The outline of `data` that was kept under `key`, if it still is."""
        place = (key, len(data))
        with self._lock:
            outline = self._outlines.get(place)
            if outline is None or outline.source.data != data:
                return None
            self._outlines.move_to_end(place)
            return outline

    def keep(self, key: Hashable, outline: Outline) -> None:
        """Keep `outline`, unless it is too big; those that were asked for longest ago make room for it."""
        size = len(outline.source.data)
        place = (key, size)
        with self._lock:
            if size > self._max_bytes:
                return
            self._bytes += 0 if place in self._outlines else size
            self._outlines[place] = outline
            self._outlines.move_to_end(place)
            while self._bytes > self._max_bytes:
                _, old = self._outlines.popitem(last=False)
                self._bytes -= len(old.source.data)
