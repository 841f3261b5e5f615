"""Which kind of Markdown a change is about."""

import re
from collections.abc import Iterator

from tests.benchmarks.replay.formats import differing

_FENCE = re.compile(r" {0,3}(```|~~~)")
_KINDS = (
    ("heading", re.compile(r" {0,3}#{1,6}( |$)")),
    ("list", re.compile(r"\s*([-*+]|\d+[.)]) ")),
    ("table", re.compile(r"\s*\|")),
    ("definition", re.compile(r" {0,3}\[[^\]]+\]:")),
    ("html", re.compile(r"\s*<")),
)


def kind_of(old: str, new: str) -> str:
    """The one kind of all lines that come or go, blank ones apart; ``mixed`` for several."""
    before, after = old.split("\n"), new.split("\n")
    old_kinds, new_kinds = list(_kinds(before)), list(_kinds(after))
    found = set()
    for start, end, first, last in differing(before, after):
        found |= {kind for kind in (*old_kinds[start:end], *new_kinds[first:last]) if kind}
    return found.pop() if len(found) == 1 else "mixed" if found else "blank lines"


def _kinds(lines: list[str]) -> Iterator[str]:
    """The kind of each line, empty for a blank one."""
    fence, in_front_matter = "", lines[:1] == ["---"] and "---" in lines[1:]
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if in_front_matter:
            in_front_matter = number == 0 or line != "---"
            yield "front matter"
        elif fence or mark:
            if mark and not fence:
                fence = mark[1]
            elif mark and mark[1] == fence:
                fence = ""
            yield "code"
        elif not line.strip():
            yield ""
        else:
            yield next((kind for kind, form in _KINDS if form.match(line)), "prose")
