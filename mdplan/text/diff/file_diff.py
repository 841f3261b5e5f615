"""Unified diffs, built from the known edits and never by comparing whole texts.

Diffs are bytes, because the files are. Lines end at LF alone here, as git, GNU patch and dulwich have it:
a CR, U+2028 or form feed belongs to its line.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

from mdplan.text.diff.line_changes import LineChange, line_changes, split_lines
from mdplan.text.source import ByteEdit

_NO_NEWLINE: Final = b"\n\\ No newline at end of file\n"
_NOWHERE: Final = b"/dev/null"

_SPECIAL: Final = re.compile(rb'[\x00-\x1f"\\\x7f]')
_SPECIAL_OR_BLANK: Final = re.compile(rb'[\x00-\x20"\\\x7f]')
_ESCAPES: Final = dict(zip(b'\a\b\t\n\v\f\r"\\', b'abtnvfr"\\', strict=True))


@dataclass(frozen=True, slots=True)
class Hunk:
    """Changed lines with the unchanged ones around them.

    Starts are 1-based line numbers in base and result; with a count of 0 the number of the line before.
    Each of `lines` begins with a blank, ``-`` or ``+`` and ends with LF; one that has no LF in its file
    carries the marker for that after it.
    """

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[bytes, ...]

    def __bytes__(self) -> bytes:
        """The hunk under its header, which always gives the counts."""
        header = b"@@ -%d,%d +%d,%d @@\n" % (self.old_start, self.old_count, self.new_start, self.new_count)
        return header + b"".join(self.lines)


@dataclass(frozen=True, slots=True)
class DiffStat:
    """Number of lines that a diff adds and removes; a changed line counts for both."""

    added: int
    removed: int

    @classmethod
    def of(cls, hunks: Iterable[Hunk]) -> Self:
        """Count the lines of `hunks`."""
        added = removed = 0
        for hunk in hunks:
            added += len(hunk.lines) - hunk.old_count
            removed += len(hunk.lines) - hunk.new_count
        return cls(added, removed)


@dataclass(frozen=True, slots=True)
class DiffText:
    """A diff as valid Unicode; `exact` when it encodes back to the same bytes, as UTF-8."""

    text: str
    exact: bool

    @classmethod
    def of(cls, diff: bytes) -> Self:
        r"""Decode `diff`; bytes that are not UTF-8 show as ``\xNN``, and the text is then not exact."""
        try:
            return cls(diff.decode("utf-8"), exact=True)
        except UnicodeDecodeError:
            return cls(diff.decode("utf-8", "backslashreplace"), exact=False)


def file_diff(path: str | None, new_path: str | None, hunks: Sequence[Hunk]) -> bytes:
    """`hunks` under the headers of a file that is `path` before and `new_path` after.

    None for a file that is not there: it is created, or deleted. Two paths that differ are a renaming.
    A file that keeps its path and has no hunks gives no bytes.
    """
    if path == new_path and not hunks:
        return b""
    # Without hunks, names are in the header alone, where a blank would end them.
    special = _SPECIAL if hunks else _SPECIAL_OR_BLANK
    old = _git_name("a/", path or new_path or "", special)
    new = _git_name("b/", new_path or path or "", special)
    header = b"diff --git %b %b\n" % (old, new)
    if path is None:
        return header + b"new file mode 100644\n" + _body(_NOWHERE, new, hunks)
    if new_path is None:
        return header + b"deleted file mode 100644\n" + _body(old, _NOWHERE, hunks)
    if path != new_path:
        names = _git_name("", path, _SPECIAL), _git_name("", new_path, _SPECIAL)
        header += b"rename from %b\nrename to %b\n" % names
    return header + _body(old, new, hunks)


def find_hunks(base: bytes, edits: Sequence[ByteEdit], *, context: int = 3) -> tuple[Hunk, ...]:
    """Hunks from `base` to the result of sorted, disjoint `edits`, with up to `context` lines around each."""
    hunks: list[Hunk] = []
    line, counted_to, shift = 1, 0, 0
    for changes in _near(base, line_changes(base, edits), 2 * context):
        start = _back(base, changes[0].start, context)
        end = _forward(base, changes[-1].end, len(base), context)
        lines = _hunk_lines(base, start, end, changes)
        removed = sum(len(change.old) for change in changes)
        added = sum(len(change.new) for change in changes)
        line += base.count(b"\n", counted_to, start)
        counted_to = start
        old_count, new_count = len(lines) - added, len(lines) - removed
        hunks.append(
            Hunk(
                old_start=line - (old_count == 0),
                old_count=old_count,
                new_start=line + shift - (new_count == 0),
                new_count=new_count,
                lines=lines,
            )
        )
        shift += added - removed
    return tuple(hunks)


def _near(base: bytes, changes: Iterable[LineChange], distance: int) -> Iterator[list[LineChange]]:
    """Runs of changes with at most `distance` unchanged lines between neighbours."""
    run: list[LineChange] = []
    for change in changes:
        if run and _forward(base, run[-1].end, change.start, distance) < change.start:
            yield run
            run = []
        run.append(change)
    if run:
        yield run


def _hunk_lines(base: bytes, start: int, end: int, changes: list[LineChange]) -> tuple[bytes, ...]:
    """Lines of the base's bytes ``[start, end)`` with `changes` in them, removals before additions."""
    lines: list[bytes] = []
    added: list[bytes] = []
    at = start
    for change in changes:
        if at < change.start:
            lines += added + _marked(b" ", split_lines(base[at : change.start]))
            added = []
        lines += _marked(b"-", change.old)
        added += _marked(b"+", change.new)
        at = change.end
    return (*lines, *added, *_marked(b" ", split_lines(base[at:end])))


def _marked(sign: bytes, lines: Iterable[bytes]) -> list[bytes]:
    """Lines of a hunk."""
    return [sign + line if line.endswith(b"\n") else sign + line + _NO_NEWLINE for line in lines]


def _back(base: bytes, at: int, count: int) -> int:
    """Where the line `count` lines before the line start `at` begins, or 0."""
    for _ in range(count):
        if at == 0:
            break
        at = base.rfind(b"\n", 0, at - 1) + 1
    return at


def _forward(base: bytes, at: int, stop: int, count: int) -> int:
    """Where the line `count` lines after the line start `at` begins, or `stop`."""
    for _ in range(count):
        if at == stop:
            break
        at = base.find(b"\n", at, stop) + 1 or stop
    return at


def _body(old_name: bytes, new_name: bytes, hunks: Sequence[Hunk]) -> bytes:
    """Hunks under the lines that name the two sides; nothing without hunks."""
    if not hunks:
        return b""
    header = b"--- %b\n+++ %b\n" % (_ended(old_name), _ended(new_name))
    return header + b"".join(bytes(hunk) for hunk in hunks)


def _git_name(side: str, path: str, special: re.Pattern[bytes]) -> bytes:
    """Name of one side as git writes it: non-ASCII as it is, what is `special` in C quotes."""
    name = path.encode("utf-8")
    # unidiff splits the header at its last " b/", and GNU patch drops blanks at the end of a name.
    if b" b/" in name or name.endswith(b" "):
        special = _SPECIAL_OR_BLANK
    return _quoted(side.encode() + name, special)


def _quoted(name: bytes, special: re.Pattern[bytes]) -> bytes:
    return b'"%b"' % special.sub(_escape, name) if special.search(name) else name


def _escape(match: re.Match[bytes]) -> bytes:
    code = match[0][0]
    return b"\\%c" % _ESCAPES[code] if code in _ESCAPES else b"\\%03o" % code


def _ended(name: bytes) -> bytes:
    """`name` with the TAB without which GNU patch would end it at its first blank."""
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name
