"""Anchors of a document: generated from headings as GitHub does, or explicit in HTML."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# What GitHub puts before all anchors, and takes off what links to them.
GITHUB_PREFIX: Final = "user-content-"
# GitHub keeps letters, marks, decimal digits, connector punctuation, hyphens and spaces.
_DROPPED_ASCII: Final = re.compile(r"[^A-Za-z0-9_\- ]")
_DROPPED: Final = r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\- ]"


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place that ``#id`` links to. `line` is 1-based; `explicit` when HTML names it."""

    id: str
    line: int
    explicit: bool


def heading_anchors(titles: Iterable[str], ids: Iterable[str]) -> Iterator[str]:
    """Anchor of each heading: its own one of `ids` where that is not empty, else that of GitHub.

    `titles` are all rendered titles of a document in order. A slug that was given before gets the suffix
    ``-1``, ``-2`` and so on, the first that is free; `ids` take none from it.
    """
    taken: set[str] = set()
    repeats: dict[str, int] = {}
    for title, own_id in zip(titles, ids, strict=True):
        if own_id:
            yield own_id
            continue
        slug = heading_slug(title)
        anchor = slug
        while anchor in taken:
            repeats[slug] = repeats.get(slug, 0) + 1
            anchor = f"{slug}-{repeats[slug]}"
        taken.add(anchor)
        yield anchor


@lru_cache(maxsize=4096)
def heading_slug(title: str) -> str:
    """GitHub's slug of one rendered heading, without the suffix of a repeated one."""
    lowered = title.lower()
    if lowered.isascii():
        return _DROPPED_ASCII.sub("", lowered).replace(" ", "-")
    # Python's own patterns cannot name these classes of characters: `\w` has no marks, and has `²`.
    import regex

    return regex.sub(_DROPPED, "", lowered).replace(" ", "-")
