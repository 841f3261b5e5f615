"""Anchors of a document: places that links name."""

from dataclasses import dataclass
from typing import Final

# What GitHub puts before all anchors, and takes off what links to them.
GITHUB_PREFIX: Final = "user-content-"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place that ``#id`` links to. `line` is 1-based; `explicit` when HTML names it."""

    id: str
    line: int
    explicit: bool
