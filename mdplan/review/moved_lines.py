"""Lines of a file that only go to another place of it: removed here, added there, with the same text."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mdplan.review.plan_review import ReviewedHunk, ReviewedLine

# As `git diff --color-moved=blocks`: less text than this is equal by chance.
_LEAST_LETTERS: Final = 20
# Places that are tried for a line that the file has often.
_MOST_PLACES: Final = 16


@dataclass(frozen=True, slots=True)
class MovedLines:
    """By the line number on one side, the number on the other: `to` of removed lines, `origin` of added."""

    to: Mapping[int, int]
    origin: Mapping[int, int]


def with_moves(hunks: Sequence[ReviewedHunk], movers: frozenset[int]) -> tuple[ReviewedHunk, ...]:
    """`hunks` of a file, in which the lines that moved name where they were, or where they go.

    `movers` are the edits that move text by what they are: of theirs, short blocks count too.
    """
    moved = _moved(hunks, movers)
    if not moved.to:
        return tuple(hunks)
    return tuple(
        replace(hunk, lines=tuple(replace(line, moved=_place(line, moved)) for line in hunk.lines))
        for hunk in hunks
    )


def _place(line: ReviewedLine, moved: MovedLines) -> int | None:
    if line.sign == "-":
        return moved.to.get(line.old_line or 0)
    return moved.origin.get(line.new_line or 0) if line.sign == "+" else None


def _moved(hunks: Sequence[ReviewedHunk], movers: frozenset[int]) -> MovedLines:
    lines = [line for hunk in hunks for line in hunk.lines]
    removed = {line.old_line: line for line in lines if line.sign == "-" and line.old_line}
    added = {line.new_line: line for line in lines if line.sign == "+" and line.new_line}
    places: dict[str, list[int]] = {}
    for number, line in added.items():
        places.setdefault(line.text, []).append(number)
    to: dict[int, int] = {}
    origin: dict[int, int] = {}
    for old, first in removed.items():
        # Lines without a letter, such as rules of a table, are many and equal by chance.
        if old in to or not any(map(str.isalnum, first.text)):
            continue
        starts = [new for new in places.get(first.text, ())[:_MOST_PLACES] if new not in origin]
        runs = [tuple(_run(removed, added, (old, new), origin)) for new in starts]
        best = max(runs, key=len, default=())
        if best and _is_moved([removed[number] for number, _ in best], movers):
            to.update(best)
            origin.update((new, old) for old, new in best)
    return MovedLines(to, origin)


def _run(
    removed: Mapping[int, ReviewedLine],
    added: Mapping[int, ReviewedLine],
    start: tuple[int, int],
    taken: Collection[int],
) -> Iterator[tuple[int, int]]:
    """Pairs of numbers from `start` on, while both sides have the same text."""
    old, new = start
    while old in removed and new in added and new not in taken and removed[old].text == added[new].text:
        yield old, new
        old, new = old + 1, new + 1


def _is_moved(lines: Sequence[ReviewedLine], movers: frozenset[int]) -> bool:
    if any(not movers.isdisjoint(line.edits) for line in lines):
        return True
    return len(lines) > 1 and sum(map(str.isalnum, "".join(line.text for line in lines))) >= _LEAST_LETTERS
