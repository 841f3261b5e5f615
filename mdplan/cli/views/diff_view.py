"""A unified diff for people: escaped, coloured, and silent about line ends that do not change."""

import re
from collections.abc import Iterator
from typing import Final

from mdplan.cli.terminal.console import Style
from mdplan.text.visible import escaped

_HUNK: Final = re.compile(rb"@@ -\d+,(\d+) \+\d+,(\d+) @@")
_FILE: Final = b"diff --git "
_COLOURS: Final = {"-": "red", "+": "green", "\\": "bright_black"}


def diff_for_people(diff: bytes, style: Style) -> str:
    r"""`diff` as text for a terminal.

    Bytes that are not UTF-8 show as ``\xNN``. Where all lines of a file's hunks end in CRLF, the CR is left
    out; where they differ, each CR shows as ``\r``.
    """
    shown: list[str] = []
    for file in _files(diff.split(b"\n")[:-1]):
        rows = list(_rows(file))
        bodies = [line for line, in_hunk in rows if in_hunk and line[:1] in b"-+ "]
        hide_cr = bool(bodies) and all(line.endswith(b"\r") for line in bodies)
        shown += [_line(line, style, in_hunk=in_hunk, hide_cr=hide_cr) for line, in_hunk in rows]
    return "".join(line + "\n" for line in shown)


def _files(lines: list[bytes]) -> Iterator[list[bytes]]:
    """Lines of the diff, file by file. No line of a hunk begins with ``diff``, so the headers are certain."""
    file: list[bytes] = []
    for line in lines:
        if line.startswith(_FILE) and file:
            yield file
            file = []
        file.append(line)
    if file:
        yield file


def _rows(file: list[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Each line, and whether it is in a hunk: the counts tell, since a removed ``-- x`` is ``--- x``."""
    old = new = 0
    for line in file:
        header = _HUNK.match(line) if not (old or new) else None
        if header:
            old, new = int(header[1]), int(header[2])
            yield line, False
        elif old or new:
            old -= line[:1] in b"- "
            new -= line[:1] in b"+ "
            yield line, True
        else:
            yield line, line.startswith(b"\\")


def _line(line: bytes, style: Style, *, in_hunk: bool, hide_cr: bool) -> str:
    if in_hunk and hide_cr:
        line = line.removesuffix(b"\r")
    text = escaped(line.decode("utf-8", "backslashreplace"))
    if in_hunk:
        return style.paint(text, _COLOURS[text[0]]) if text[:1] in _COLOURS else text
    return style.paint(text, "cyan") if text.startswith("@@") else style.bold(text)
