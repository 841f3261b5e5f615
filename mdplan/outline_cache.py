"""Outlines of documents that were looked at lately, so that unchanged content is parsed once."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Final

from mdplan.markdown.outline import Outline

# An outline with what was derived from it takes about ten times the bytes of its document.
MAX_BYTES: Final = 8 << 20


class OutlineCache:
    """The outlines that were asked for last, with at most `max_bytes` of documents together.

    An outline never changes, and a key tells everything that it is made from: threads may share both.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._outlines: OrderedDict[Hashable, Outline] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> Outline | None:
        """The outline that was kept under `key`, if it still is."""
        with self._lock:
            outline = self._outlines.get(key)
            if outline is not None:
                self._outlines.move_to_end(key)
            return outline

    def keep(self, key: Hashable, outline: Outline) -> None:
        """Keep `outline`, unless it is too big; those that were asked for longest ago make room for it."""
        size = len(outline.source.data)
        with self._lock:
            if size > self._max_bytes or key in self._outlines:
                return
            self._outlines[key] = outline
            self._bytes += size
            while self._bytes > self._max_bytes:
                _, old = self._outlines.popitem(last=False)
                self._bytes -= len(old.source.data)
