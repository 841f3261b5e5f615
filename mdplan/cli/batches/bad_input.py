"""A batch that cannot be read: what is wrong, and the line where it is, with a mark under the place."""

from dataclasses import dataclass
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.text.lines import Position
from mdplan.text.visible import escaped

_WIDTH: Final = 76
_BEFORE: Final = 50


@dataclass(frozen=True, slots=True)
class BadInput:
    """`problem`, and the `excerpt` of the text that it is about: lines for people, empty without a place."""

    problem: Diagnostic
    excerpt: str = ""

    @classmethod
    def at(cls, text: str, place: Position | None, message: str, hint: str) -> "BadInput":
        """INVALID_ARGUMENT at `place` in `text`."""
        problem = Diagnostic.invalid(message, hint, place=place)
        return cls(problem, marked(text, place) if place is not None else "")


def marked(text: str, place: Position) -> str:
    """The line of `place` in `text`, with its number, and a caret below the column; long lines are cut."""
    lines = text.split("\n")
    line = lines[place.line - 1].replace("\t", " ") if place.line <= len(lines) else ""
    first = max(place.col - 1 - _BEFORE, 0) if len(line) > _WIDTH else 0
    shown = escaped(line[first : first + _WIDTH].rstrip("\r"))
    number = str(place.line)
    dots = "..." if first else ""
    caret = " " * (len(dots) + len(escaped(line[first : place.col - 1]))) + "^"
    return f"  {number} | {dots}{shown}\n  {' ' * len(number)} | {caret}"
