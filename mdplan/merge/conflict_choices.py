"""Conflicts of a merged text, and the text that has what a person chose for each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import Final

from mdplan.merge.conflict_markers import Conflict, MarkerStyle, Merge

# Characters that end a line to Python alone are text.
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+\Z")
_RUN: Final = re.compile(r"^(?:<+|=+|>+)", re.MULTILINE)


class Choice(StrEnum):
    """The resolution of a conflict: the text of one side, or that of ours and then that of theirs."""

    OURS = "ours"
    THEIRS = "theirs"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class ConflictPlace:
    """The lines of both sides at a conflict, and what the merge says of it; None where that is not known."""

    ours: str
    theirs: str
    known: Conflict | None = None

    def chosen(self, choice: Choice) -> str:
        """The text that `choice` asks for."""
        match choice:
            case Choice.OURS:
                return self.ours
            case Choice.THEIRS:
                return self.theirs
            case Choice.BOTH:
                return self.ours + self.theirs


def marker_style(texts: Sequence[str]) -> MarkerStyle:
    """Markers that no line of `texts` looks like."""
    longest = max((len(run) for text in texts for run in _RUN.findall(text)), default=0)
    return MarkerStyle(max(longest + 1, MarkerStyle().size))


def places(found: Merge, style: MarkerStyle) -> tuple[ConflictPlace, ...]:
    """The conflicts that `found` marks in its text, in order."""
    marked = [each for each in _parts(found.text, style) if isinstance(each, ConflictPlace)]
    # Of a file of keys the conflicts are told by key, and marked by line.
    known = found.conflicts if len(marked) == len(found.conflicts) else ()
    return tuple(
        ConflictPlace(each.ours, each.theirs, conflict)
        for each, conflict in zip_longest(marked, known)
        if each
    )


def resolved(found: Merge, style: MarkerStyle, choices: Sequence[Choice]) -> str:
    """The text of `found` with what `choices`, one for each of its places, ask for."""
    waiting = iter(choices)
    return "".join(
        each.chosen(next(waiting)) if isinstance(each, ConflictPlace) else each
        for each in _parts(found.text, style)
    )


def _parts(text: str, style: MarkerStyle) -> Iterator[str | ConflictPlace]:
    """The lines of `text`, and the conflicts between them."""
    start, middle, end = (sign * style.size for sign in "<=>")
    sides: list[list[str]] | None = None
    for line in _LINE.findall(text):
        if line.startswith(f"{start} "):
            sides = [[]]
        elif sides is None:
            yield line
        elif line.rstrip("\r\n") == middle:
            sides.append([])
        elif line.startswith(f"{end} "):
            yield ConflictPlace("".join(sides[0]), "".join(sides[1]))
            sides = None
        else:
            sides[-1].append(line)
