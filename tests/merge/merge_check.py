"""An independent check of a merge: it shares no code with mdplan, and reads lines only."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher

_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s|$)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_DEFINITION = re.compile(r"\s*\[[^\]]+\]:")
_NUMBER = re.compile(r"(\s*)\d+([.)]\s)")


def unaccounted(base: str, ours: str, theirs: str, result: str, decided: Collection[str] = ()) -> list[str]:
    """Return lines that occur in the result more or less often than the changes of both sides imply.

    The lines `decided` and the lines they replace do not count: each pays for itself and one line of each
    text.
    """
    old, own, other, new = (Counter(map(_plain, _written(text))) for text in (base, ours, theirs, result))
    wrong: list[str] = []
    for line in {*old, *own, *other, *new}:
        changes = own[line] - old[line], other[line] - old[line]
        together = old[line] + sum(changes)
        apart = old[line] + (max(changes) if min(changes) > 0 else min(changes))
        allowed = {together, apart} if changes[0] * changes[1] > 0 else {together}
        if not min(allowed) <= new[line] <= max(allowed):
            wrong.append(line)
    known = {_plain(line) for line in decided}
    rest = [line for line in wrong if line not in known]
    # A decided line replaces a similar line of the base, of ours and of theirs.
    return [line for line in rest if not any(_is_like(line, each) for each in known)]


def misplaced(base: str, ours: str, theirs: str, result: str) -> list[str]:
    """Lines that one side added and that the result has under another heading than that side.

    Definitions belong to the whole document. A heading that only the other side has may be a new name.
    """
    old = set(_written(base))
    headings_of_result = _headings(result)
    wrong: list[str] = []
    for side, other in ((ours, theirs), (theirs, ours)):
        own, others = _headings(side), _headings(other)
        names = {heading for heading, _ in headings_of_result.values()}
        for line, (heading, count) in own.items():
            if line in old or line in others or line not in headings_of_result or _DEFINITION.match(line):
                continue
            found, found_count = headings_of_result[line]
            is_renamed = heading not in names and found not in {each for each, _ in own.values()}
            if count == found_count == 1 and found != heading and not is_renamed:
                wrong.append(line)
    return wrong


def _headings(text: str) -> dict[str, tuple[str, int]]:
    """Return, by line, the heading above it and the number of occurrences; fenced lines are not headings."""
    found: dict[str, tuple[str, int]] = {}
    heading, fence = "", ""
    for line in _lines(text):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence:
            fence = "" if line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence
        elif _HEADING.match(line):
            heading = line.strip()
            continue
        if line.strip():
            found[line] = (heading, found.get(line, ("", 0))[1] + 1)
    return found


def _is_like(line: str, other: str) -> bool:
    return SequenceMatcher(None, line, other).ratio() > 0.5


def _plain(line: str) -> str:
    """`line` without the padding of a row and without the number of an item."""
    if line.lstrip().startswith("|"):
        return "|".join(re.sub("-+", "-", cell.strip()) for cell in line.split("|"))
    return _NUMBER.sub(r"\1#\2", line)


def _lines(text: str) -> Sequence[str]:
    return text.split("\n")


def _written(text: str) -> Iterator[str]:
    return (line for line in _lines(text) if line.strip())
