"""The animation of the README: a session in a real terminal, as a self-playing SVG.

    python -m pytest tests/docs/test_recording.py --update-cases

types its commands again and writes the file.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

from tests.docs.pages import DOCS
from tests.support.tmux import BASH, Terminal, terminal

PICTURE: Final = DOCS / "images" / "first-edit.svg"
SAMPLE: Final = DOCS / "samples" / "guide.md"
# What somebody types, and the answer to the question that follows.
STEPS: Final = (
    ("mdplan outline guide.md", ""),
    ("mdplan replace nightly stable guide.md", "y"),
    ("mdplan undo -y", ""),
)
_COLUMNS: Final = 76
_ROWS: Final = 21
_TYPING_SECONDS: Final = 0.35
_READING_SECONDS: Final = 2.6
_WIDTH, _HEIGHT, _MARGIN = 8.43, 18, 16
_COLOUR: Final = re.compile(r"\x1b\[([0-9;]*)m")
# Codes of a terminal, and the class of a text that has them. The others give no colour.
_CLASSES: Final = {"1": "b", "2": "d", "31": "r", "32": "g", "33": "y", "36": "c"}
_STYLE: Final = """\
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d6deeb;white-space:pre}
.b{font-weight:600}.d{opacity:.65}.r{fill:#ff8b8b}.g{fill:#8ddb8c}.y{fill:#f0c674}.c{fill:#7fdbca}
g{visibility:hidden}"""


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows of a screen, with the codes of colours, and how many seconds it is shown."""

    rows: tuple[str, ...]
    seconds: float

    @property
    def text(self) -> str:
        """What is on the screen, without colours."""
        return "\n".join(_COLOUR.sub("", row).rstrip() for row in self.rows)


def recorded_frames(folder: Path) -> tuple[Frame, ...]:
    """The screens of the session, typed in `folder`, which has a copy of the sample then."""
    shutil.copy(SAMPLE, folder / SAMPLE.name)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"MDPLAN_STATE_DIR": str(folder / ".state"), "PATH": path}
    with terminal(BASH, folder, environment, columns=_COLUMNS) as session:
        session.wait_for_prompt()
        return tuple(_frames(session))


def _frames(session: Terminal) -> Iterator[Frame]:
    for command, answer in STEPS:
        session.press("C-l")
        session.settle()
        half = len(command) // 2
        for part in (command[:half], command[half:]):
            session.type(part)
            session.settle()
            yield _frame(session, _TYPING_SECONDS)
        session.press("Enter")
        if answer:
            session.expect("[y/")
            yield _frame(session, _READING_SECONDS)
            session.type(answer)
            session.press("Enter")
        session.wait_for_prompt()
        yield _frame(session, _READING_SECONDS)


def _frame(session: Terminal, seconds: float) -> Frame:
    rows = session.screen(colours=True).rstrip("\n").split("\n")
    return Frame(tuple(rows[:_ROWS]), seconds)


def drawn(frames: tuple[Frame, ...]) -> str:
    """Return the frames as one looping SVG; for readers who prefer reduced motion it shows the second to
    last.
    """
    total = sum(frame.seconds for frame in frames)
    starts = [0.0]
    for frame in frames:
        starts.append(starts[-1] + frame.seconds)
    width, height = _COLUMNS * _WIDTH + 2 * _MARGIN, _ROWS * _HEIGHT + 2 * _MARGIN
    motion = "\n".join(
        f"@keyframes f{number}{{0%,{_percent(start / total)}{{visibility:hidden}}"
        f"{_percent(start / total, 0.001)},{_percent(end / total)}{{visibility:visible}}"
        f"{_percent(end / total, 0.001)},100%{{visibility:hidden}}}}"
        f"#f{number}{{animation:f{number} {total:g}s step-end infinite}}"
        for number, (start, end) in enumerate(pairwise(starts))
    )
    groups = "\n".join(_group(number, frame) for number, frame in enumerate(frames))
    still = len(frames) - 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img" '
        'aria-label="A session in a terminal: mdplan shows the sections of a file, replaces a word '
        'after it has shown the diff and asked, and undoes the edit">\n'
        f"<style>{_STYLE}\n@media (prefers-reduced-motion:no-preference){{\n{motion}\n}}\n"
        f"@media (prefers-reduced-motion:reduce){{#f{still}{{visibility:visible}}}}</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#0f1720"/>\n{groups}\n</svg>\n'
    )


def _percent(share: float, more: float = 0) -> str:
    return f"{min(100 * share + more, 100):.3f}%"


def _group(number: int, frame: Frame) -> str:
    rows = [
        f'<text x="{_MARGIN}" y="{_MARGIN + row * _HEIGHT - 5}" xml:space="preserve">{_coloured(text)}</text>'
        for row, text in enumerate(frame.rows, 1)
        if _COLOUR.sub("", text).strip()
    ]
    return f'<g id="f{number}">\n' + "\n".join(rows) + "\n</g>"


def _coloured(row: str) -> str:
    """A row as parts of text, each with its classes."""
    made, classes = [], set[str]()
    texts = _COLOUR.split(row.rstrip())
    for index, part in enumerate(texts):
        if index % 2:
            for code in part.split(";") or ["0"]:
                if code in ("", "0"):
                    classes.clear()
                elif code == "39":
                    classes &= {"b", "d"}
                elif code in _CLASSES:
                    classes.add(_CLASSES[code])
        elif part:
            text = escape(part, quote=False)
            made.append(f'<tspan class="{" ".join(sorted(classes))}">{text}</tspan>' if classes else text)
    return "".join(made)


def shown_text(picture: str) -> list[str]:
    """The text of each frame of a picture that `drawn` made: rows that are not blank."""
    groups = re.findall(r'<g id="f\d+">\n(.*?)\n</g>', picture, re.DOTALL)
    return ["\n".join(re.sub(r"<[^>]*>", "", row) for row in group.split("\n")) for group in groups]
