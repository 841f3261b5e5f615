"""Summaries of what an edit does to the lines of a file, counted in the diff."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mdplan.review.plan_review import ReviewedHunk

_RANGES_NAMED: Final = 6


@dataclass(frozen=True, slots=True)
class EditLines:
    """The lines of the base that an edit removes, those of the result that it adds, and those that moved.

    `moved` has the number on the other side for each removed line that only goes to another place. `blank`
    are the signs and numbers of lines without text.
    """

    removed: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    moved: dict[int, int] = field(default_factory=dict)
    blank: set[tuple[str, int]] = field(default_factory=set)

    @property
    def first(self) -> tuple[str, int] | None:
        """The side, ``old`` or ``new``, and number of the first line; None without lines."""
        if self.added:
            return "new", self.added[0]
        return ("old", self.removed[0]) if self.removed else None


def lines_by_edit(hunks: Iterable[ReviewedHunk]) -> Mapping[int, EditLines]:
    """The lines of each edit that has some in `hunks`."""
    found: dict[int, EditLines] = {}
    for hunk in hunks:
        for line in hunk.lines:
            for edit in line.edits:
                lines = found.setdefault(edit, EditLines())
                if not line.text.strip():
                    lines.blank.add((line.sign, line.old_line or line.new_line or 0))
                if line.old_line is not None:
                    lines.removed.append(line.old_line)
                    if line.moved is not None:
                        lines.moved[line.old_line] = line.moved
                elif line.new_line is not None:
                    lines.added.append(line.new_line)
    return found


def line_facts(lines: EditLines) -> Iterator[str]:
    """What becomes of the lines, as in ``removes lines 3 to 7``."""
    arrived = set(lines.moved.values())
    removed = [line for line in lines.removed if line not in lines.moved]
    added = [line for line in lines.added if line not in arrived]
    if lines.moved:
        yield f"moves {_ranges(sorted(lines.moved))} to {_ranges(sorted(arrived))}"
    has_gone = any(("-", line) not in lines.blank for line in removed)
    has_come = any(("+", line) not in lines.blank for line in added)
    # A blank line that comes with what is removed, or goes with what is added or moved, is no news.
    if (lines.moved and not (has_gone or has_come)) or not (removed or added):
        return
    if has_gone == has_come and removed and added:
        is_same_many = len(removed) == len(added)
        many = "a line" if len(removed) == 1 else f"{len(removed):,} lines"
        yield f"changes {_ranges(added)}" if is_same_many else f"replaces {many} by {_ranges(added)}"
    elif removed and (has_gone or not added):
        yield f"removes {_ranges(removed)}"
    else:
        yield f"adds {_ranges(added)}"


def _ranges(numbers: Sequence[int]) -> str:
    """``line 3``, ``lines 3 to 7``, or ``lines 3, 5 to 7 and 9 more places``."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    named = [str(start) if start == end else f"{start} to {end}" for start, end in runs[:_RANGES_NAMED]]
    more = len(runs) - len(named)
    noun = "line" if len(numbers) == 1 else "lines"
    return f"{noun} {', '.join(named)}{f' and {more} more places' if more else ''}"
