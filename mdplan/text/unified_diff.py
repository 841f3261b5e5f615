"""Parse callers' diffs and patches, and locate their hunks in a text.

Refuse diffs that unidiff would misread: it accepts hunks whose header counts too few lines and drops the
rest, does not support C-quoted names, and knows the no-newline marker only in English. Lines of a diff end
only at LF.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineEndView, LineIndex, Span, to_lf
from mdplan.values import Struct, replace

if TYPE_CHECKING:
    from unidiff.patch import Hunk, PatchedFile


_HEADER: Final = lazy_pattern(
    r"@@ -(?P<old>\d+)(?:,(?P<old_count>\d+))? \+(?P<new>\d+)(?:,(?P<new_count>\d+))? @@"
)

UNKNOWN: Final = -1
_HUNK: Final = "\n@@ "
_BEGIN: Final = "*** Begin Patch"
_BARE_HEADER: Final = lazy_pattern(r"^@@(?!@| ?-\d)", re.MULTILINE)
_NO_NEWLINE: Final = "\\ No newline at end of file\n"
_ANY_NO_NEWLINE: Final = lazy_pattern(r"^\\ .*\n", re.MULTILINE)
_SIGNATURE: Final = lazy_pattern(r"-- ?\n")
_NOWHERE: Final = "/dev/null"
_PREFIXED: Final = lazy_pattern(r"[abciow12]/")
_ESCAPE: Final = lazy_pattern(rb'\\([abtnvfr"\\]|[0-7]{3})')
_ESCAPED: Final = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


class NotADiff(Struct):
    """Why a text is not a unified diff, and how to fix it."""

    reason: str
    hint: str


class DiffLine(Struct):
    """A line of a hunk: `sign` is a space, ``-`` or ``+``; `text` includes the newline, if any."""

    sign: str
    text: str


class DiffHunk(Struct, kw_only=True, dict=True):
    """A hunk; `number` is 1-based within its file.

    `old_start` and `new_start` are from its header: 1-based numbers of lines that end at LF; for a side
    without lines, the line before. Both are `UNKNOWN` where the header has no numbers; such a hunk follows
    the lines `behind`. With `ends_file` the hunk ends the file.
    """

    number: int
    old_start: int
    new_start: int
    lines: tuple[DiffLine, ...]
    behind: tuple[str, ...] = ()
    ends_file: bool = False

    @cached_property
    def old(self) -> str:
        """The base text that the hunk shows."""
        return "".join(line.text for line in self.lines if line.sign != "+")

    @cached_property
    def new(self) -> str:
        """The text that replaces `old`."""
        return "".join(line.text for line in self.lines if line.sign != "-")

    @property
    def has_context_before(self) -> bool:
        """True if its first line is context."""
        return self.lines[0].sign == " "

    @property
    def has_context_behind(self) -> bool:
        """True if its last line is context."""
        return self.lines[-1].sign == " "


class FileDiff(Struct, kw_only=True):
    """The part of a diff about one file. Names have no prefix; None is an absent side.

    Both names are None if the diff has only hunks. Different names are not always a rename: `diff -u`
    compares two files. `obstacle` describes an unsupported change, if any. `source` is this part of the diff.
    """

    old_name: str | None
    new_name: str | None
    renames: bool
    hunks: tuple[DiffHunk, ...]
    obstacle: str | None
    source: str

    @property
    def changes(self) -> str:
        """Return the part of `source` that changes text, as a diff by itself."""
        is_patch = self.source.startswith(_BEGIN)
        return self.source if is_patch else f"@@ {self.source.partition(_HUNK)[2]}"

    @property
    def creates(self) -> bool:
        """True if it creates the file."""
        return self.old_name is None and self.new_name is not None

    @property
    def deletes(self) -> bool:
        """True if it deletes the file."""
        return self.old_name is not None and self.new_name is None


def read_diff(text: str) -> tuple[FileDiff, ...] | NotADiff:
    """Parse the unified diff `text` into files; hunks without header form one unnamed file."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    if text.lstrip().startswith(_BEGIN) or _BARE_HEADER.search(text):
        return _read_patch(text)
    lines = [f"{line}\n" for line in _normalized(text).split("\n")[:-1]]
    lines, added = _with_header(lines)
    try:
        patch = PatchSet(lines)
    except UnidiffParseError as error:
        return _miscounted(lines, added) or NotADiff(
            f"it cannot be read: {str(error)[:80].strip()}", _NEW_DIFF
        )
    if any(_is_cut(lines, hunk) for file in patch for hunk in file):
        return _miscounted(lines, added) or NotADiff("lines follow the end of a hunk", _NEW_DIFF)
    if any(_has_stray_mark(hunk) for file in patch for hunk in file):
        return NotADiff("a backslash begins a line of a hunk, and marks no last line before it", _SIGNED)
    starts = [_start_of(lines, file) for file in patch]
    files = tuple(
        _file(file, lines[start:end])
        for file, start, end in zip(patch, starts, [*starts, len(lines)][1:], strict=True)
    )
    if not any(file.hunks or file.obstacle or file.renames or file.creates or file.deletes for file in files):
        return NotADiff("it has no hunks", "a hunk starts with a line such as `@@ -3,4 +3,5 @@`")
    return files


_NEW_DIFF: Final = "make a new diff, as `git diff` or `diff -u` would"
_SIDES: Final = {" ": {"old", "new"}, "-": {"old"}, "+": {"new"}}
_SIGNED: Final = "begin a line that stays with a blank, one that goes with `-`, and one that comes with `+`"


def _normalized(text: str) -> str:
    """Normalize `text`: a final newline, LF if a transport changed all to CRLF, one no-newline marker."""
    header = next((line for line in text.split("\n") if _HEADER.match(line)), "")
    text = text.replace("\r\n", "\n") if header.endswith("\r") else text
    text = text if text.endswith("\n") else text + "\n"
    return _ANY_NO_NEWLINE.sub(lambda _: _NO_NEWLINE, text)


def _with_header(lines: list[str]) -> tuple[list[str], int]:
    """Add a file header if there is none before the first hunk; return the number of added lines too."""
    before = list(takewhile(lambda line: not _HEADER.match(line), lines))
    if len(before) == len(lines) or any(line.startswith(("+++ ", "diff ")) for line in before):
        return lines, 0
    return ["--- \n", "+++ \n", *lines[len(before) :]], 2 - len(before)


def _is_cut(lines: Sequence[str], hunk: "Hunk") -> bool:
    """Return True if body lines follow the end of `hunk` as its header counts it."""
    at = max(line.diff_line_no or 0 for line in hunk)
    while at < len(lines) and (lines[at] == "\n" or lines[at] == _NO_NEWLINE):
        at += 1
    return at < len(lines) and lines[at][0] in " +-" and not _ends_hunk(lines, at)


def _has_stray_mark(hunk: "Hunk") -> bool:
    """Return True if a line that unidiff reads as no-newline marker is not one, or is misplaced."""
    before = ""
    ended: set[str] = set()
    for line in hunk:
        if line.line_type == "\\":
            if not before or not line.value.startswith(" "):
                return True
            ended |= _SIDES[before]
            before = ""
        elif line.line_type:
            before = line.line_type
            if ended & _SIDES[before]:
                return True
    return False


def _ends_hunk(lines: Sequence[str], at: int) -> bool:
    """Return True if a file header or mail signature is at index `at`."""
    is_header = lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
    return is_header or _SIGNATURE.fullmatch(lines[at]) is not None


def _miscounted(lines: Sequence[str], added: int) -> NotADiff | None:
    """Describe the first hunk with wrong line counts in its header."""
    for at, line in enumerate(lines):
        header = _HEADER.match(line)
        if header is None:
            continue
        signs = _signs(lines, at + 1)
        old, new = len(signs) - signs.count("+"), len(signs) - signs.count("-")
        counts = int(header["old_count"] or 1), int(header["new_count"] or 1)
        if counts != (old, new):
            return NotADiff(
                f"the hunk at line {at + 1 - added} of the diff has {old} old and {new} new lines, and its "
                f"header says {counts[0]} and {counts[1]}",
                f"if no line is missing, the header is `@@ -{header['old']},{old} +{header['new']},{new} @@`",
            )
    return None


def _signs(lines: Sequence[str], start: int) -> str:
    """Return the signs of the body from index `start`, without trailing blank lines."""
    body = takewhile(
        lambda at: lines[at][0] in "\n\\ +-" and not _ends_hunk(lines, at), range(start, len(lines))
    )
    signs = "".join(lines[at][0] for at in body).replace("\\", "")
    return signs.rstrip("\n").replace("\n", " ")


def _start_of(lines: Sequence[str], file: "PatchedFile") -> int:
    """Return the index of the first header line of `file`; unidiff returns the second outside git diffs."""
    at = (file.diff_line_no or 1) - 1
    return at - 1 if lines[at].startswith("+++ ") and at else at


def _file(file: "PatchedFile", lines: Sequence[str]) -> FileDiff:
    old, new = file.source_file, file.target_file
    for line in takewhile(lambda line: not _HEADER.match(line), lines):
        # git's header names the file on both sides, even if this line says that one is absent.
        if line.startswith("--- "):
            old = line[4:].rstrip("\n").split("\t")[0]
    old_name, new_name = _names(_unquoted(old), _unquoted(new))
    return FileDiff(
        old_name=old_name,
        new_name=new_name,
        renames=any(line.startswith("rename from ") for line in file.patch_info or ()),
        hunks=tuple(_hunk(hunk, number) for number, hunk in enumerate(file, start=1)),
        obstacle=_obstacle(file),
        source="".join(lines),
    )


def _obstacle(file: "PatchedFile") -> str | None:
    """Describe changes of `file` beyond text and name."""
    if file.is_binary_file:
        return "changes binary data"
    if any(line.startswith("copy from ") for line in file.patch_info or ()):
        return "copies a file"
    modes = {file.source_mode, file.target_mode} - {None}
    if file.is_removed_file:
        modes -= {"100755"}
    is_same = len(modes) == 1 and None not in (file.source_mode, file.target_mode)
    return None if is_same or modes <= {"100644"} else "sets a file mode"


def _names(old: str, new: str) -> tuple[str | None, str | None]:
    """Return the names of both sides without prefixes such as ``a/`` and ``b/``."""
    if _NOWHERE in (old, new):
        (name,) = {old, new} - {_NOWHERE} or {""}
        name = name[2:] if _PREFIXED.match(name) else name
        return (None, name or None) if old == _NOWHERE else (name or None, None)
    if _PREFIXED.match(old) and _PREFIXED.match(new) and old[0] != new[0]:
        old, new = old[2:], new[2:]
    return old or None, new or None


def _unquoted(name: str) -> str:
    """Return `name` without git's C quoting."""
    if len(name) < len('""') or not name.startswith('"') or not name.endswith('"'):
        return name
    raw = _ESCAPE.sub(_unescaped, name[1:-1].encode("utf-8", "surrogatepass"))
    return raw.decode("utf-8", "replace")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([_ESCAPED[code[0]] if len(code) == 1 else int(code, 8) & 0xFF])


def _hunk(hunk: "Hunk", number: int) -> DiffHunk:
    lines: list[DiffLine] = []
    for line in hunk:
        if line.line_type == "\\":
            lines[-1] = DiffLine(lines[-1].sign, lines[-1].text.removesuffix("\n"))
        elif line.diff_line_no is not None:
            lines.append(DiffLine(line.line_type, line.value))
    return DiffHunk(
        number=number, old_start=hunk.source_start, new_start=hunk.target_start, lines=tuple(lines)
    )


# --- Locating hunks in a text
#
# Without fuzz: all base lines of a hunk must occur, in order. Only the line number may differ, if the match
# is unique, and the newlines.

_MOST_PLACES: Final = 5
_LF: Final = lazy_pattern("\n")


class PlacedHunk(Struct, kw_only=True):
    """A hunk located at `span` of the view, `moved_by` lines from its header.

    `lacks_newline`: the base ends with the hunk's last line but without its newline; the file keeps its
    ending.
    """

    hunk: DiffHunk
    span: Span
    moved_by: int
    lacks_newline: bool


class MisplacedHunk(Struct, kw_only=True):
    """A hunk that is not where its header says, at offset `stated` of the view (None: no such line).

    `places` are its actual matches: several, or one before the previous hunk. `applied_at` is the offset of
    its result, if the text already has it.
    """

    hunk: DiffHunk
    stated: int | None
    places: tuple[int, ...] = ()
    applied_at: int | None = None


class HunkPlaces:
    """The text in which hunks are located; offsets are of its LF `view`."""

    def __init__(self, text: str, lines: LineIndex, view: LineEndView) -> None:
        """Search in `text` with line table `lines` and view `view`."""
        self._raw = text
        self._lines = lines
        self._view = view
        self._length = len(view.text)
        self._has_newline = view.text.endswith("\n") or not view.text
        # Lines of a diff end with a newline, so the last line gets one too.
        self._text = view.text if self._has_newline else view.text + "\n"

    def place(self, hunks: Sequence[DiffHunk]) -> list[PlacedHunk | MisplacedHunk]:
        """Locate each of `hunks`, in order of their lines."""
        outcomes: list[PlacedHunk | MisplacedHunk] = []
        behind = shift = 0
        for hunk in hunks:
            outcome = self._place(hunk, behind, shift)
            outcomes.append(outcome)
            if isinstance(outcome, PlacedHunk):
                behind, shift = outcome.span.end, outcome.moved_by
        return outcomes

    def _place(self, hunk: DiffHunk, behind: int, shift: int) -> PlacedHunk | MisplacedHunk:
        old, stated = to_lf(hunk.old), self._offset(hunk.old_start + (not hunk.old))
        if not old:
            return self._place_alone(hunk, stated, behind)
        has_number = hunk.old_start != UNKNOWN
        for moved_by in dict.fromkeys((shift, 0)) if has_number else ():
            start = self._offset(hunk.old_start + moved_by)
            if start is not None and start >= behind and self._fits(old, start):
                is_anchored = self._is_anchored(hunk, old, start)
                applied_at = None if is_anchored else self._applied_near(hunk, old, start)
                if applied_at is not None:
                    return MisplacedHunk(hunk=hunk, stated=stated, applied_at=applied_at)
                return self._placed(hunk, start, old, moved_by)
        at = self._behind(hunk, behind)
        ending = (
            place for place in self._places(old, at) if not hunk.ends_file or place + len(old) >= self._length
        )
        places = tuple(islice(ending, 1 if hunk.behind else _MOST_PLACES))
        if len(places) != 1:
            applied_at = None if places else self._applied_elsewhere(hunk)
            places = places or tuple(islice(self._places(old, 0), not hunk.behind))
            return MisplacedHunk(hunk=hunk, stated=stated, places=places, applied_at=applied_at)
        applied_at = self._applied_near(hunk, old, places[0])
        if applied_at is not None:
            return MisplacedHunk(hunk=hunk, stated=stated, applied_at=applied_at)
        moved_by = bisect_right(self._starts, places[0]) - hunk.old_start if has_number else 0
        return self._placed(hunk, places[0], old, moved_by)

    def _behind(self, hunk: DiffHunk, at: int) -> int:
        """Return where the text after the lines `behind` of `hunk` begins, from `at` on.

        The first of them must be there once; if it is not, or another one is missing, no text is behind.
        """
        for number, line in enumerate(hunk.behind):
            ends = [match.end() for match in re.finditer(rf"(?m)^[ \t]*{re.escape(line)}[ \t]*$", self._text)]
            ends = [end for end in ends if end > at]
            if not ends or (not number and len(ends) > 1):
                return self._length + 1
            at = ends[0]
        return at

    def _place_alone(self, hunk: DiffHunk, stated: int | None, behind: int) -> PlacedHunk | MisplacedHunk:
        """Locate a hunk without base lines, which can only be where its header says."""
        if stated is None or stated < behind:
            return MisplacedHunk(hunk=hunk, stated=stated)
        if self._text.startswith(to_lf(hunk.new), stated):
            return MisplacedHunk(hunk=hunk, stated=stated, applied_at=stated)
        return self._placed(hunk, stated, "", 0)

    def _placed(self, hunk: DiffHunk, start: int, old: str, moved_by: int) -> PlacedHunk:
        end = start + len(old)
        return PlacedHunk(
            hunk=hunk,
            span=Span(min(start, self._length), min(end, self._length)),
            moved_by=moved_by,
            lacks_newline=end > self._length,
        )

    def _applied_elsewhere(self, hunk: DiffHunk) -> int | None:
        """Return the offset of the result of `hunk`: its stated line or the only match of its context."""
        new = to_lf(hunk.new)
        start = self._offset(hunk.new_start)
        if not new.strip() or all(line.sign != "+" for line in hunk.lines):
            return None
        if start is not None and self._fits(new, start):
            return start
        if not (hunk.has_context_before and hunk.has_context_behind):
            return None
        places = tuple(islice(self._places(new, 0), 2))
        return places[0] if len(places) == 1 else None

    def _applied_near(self, hunk: DiffHunk, old: str, start: int) -> int | None:
        """Return the offset of the result of `hunk` around `start`, if it is already applied there.

        A hunk without context after its additions would match again and be applied repeatedly.
        """
        new = to_lf(hunk.new)
        if len(new) <= len(old):
            return None
        # A hunk whose base has no final newline does not match where there is one.
        stop = start + len(new) if old.endswith("\n") else self._length
        at = self._text.find(new, max(start + len(old) - len(new), 0), stop)
        while at >= 0 and not self._starts_line(at):
            at = self._text.find(new, at + 1, stop)
        return at if at >= 0 else None

    def _is_anchored(self, hunk: DiffHunk, old: str, start: int) -> bool:
        """Return True if `hunk` has context, or an end of the file, on both sides of its changes."""
        begins = hunk.has_context_before or start == 0
        return begins and (hunk.has_context_behind or start + len(old) >= self._length)

    def _fits(self, old: str, start: int) -> bool:
        """Return True if the lines `old` are at `start`; without final newline they must end the text."""
        if not (self._starts_line(start) and self._text.startswith(old, start)):
            return False
        return old.endswith("\n") or (start + len(old) == self._length and not self._has_newline)

    def _places(self, old: str, behind: int) -> Iterator[int]:
        """Yield the offsets from `behind` where `old` matches."""
        at = self._text.find(old, behind)
        while at >= 0:
            if self._fits(old, at):
                yield at
            at = self._text.find(old, at + 1)

    def _starts_line(self, offset: int) -> bool:
        return offset == 0 or self._text[offset - 1] == "\n"

    def _offset(self, line: int) -> int | None:
        """Return the start of the 1-based LF-terminated `line`; after the last line, the end of the text."""
        if line == len(self._starts) + 1:
            return len(self._text)
        return self._starts[line - 1] if 1 <= line <= len(self._starts) else None

    @cached_property
    def _starts(self) -> list[int]:
        """Starts of LF-terminated lines; a lone CR ends only lines of the view."""
        if "\r" not in self._raw:
            return self._lines.starts
        ends = (match.end() for match in _LF.finditer(self._raw))
        starts = [0, *(self._view.span_in_view(Span(end, end)).start for end in ends)]
        return starts[:-1] if self._raw.endswith("\n") else starts


# --- Patches without numbers of lines: as Codex writes them, and unified diffs with hunks of a bare ``@@``.

_PART: Final = lazy_pattern(
    r"^(?:\*\*\* (?P<what>Add|Delete|Update) File: (?P<name>.+)"
    r"|--- (?P<old>[^\t\n]+).*\n\+\+\+ (?P<new>[^\t\n]+).*(?=\n@@))$",
    re.MULTILINE,
)
_MOVE: Final = "*** Move to: "
_END: Final = "*** End Patch"
_END_OF_FILE: Final = "*** End of File"
_CHUNK: Final = lazy_pattern(r"^(?=@@)", re.MULTILINE)
_NO_CONTEXT: Final = lazy_pattern(r"-\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*|\.\.\.|@@$")


def _read_patch(text: str) -> tuple[FileDiff, ...] | NotADiff:
    text = text.strip("\r\n").replace("\r\n", "\n")
    if text.startswith(_BEGIN):
        text, end, _ = text.removeprefix(_BEGIN).rpartition(f"\n{_END}")
        if not end:
            return NotADiff(f"it does not end with `{_END}`", "send the whole patch")
    parts = list(_PART.finditer(text))
    ends = [*(part.start() for part in parts[1:]), len(text)]
    read = [
        _part_of_patch(part, text[part.end() : end].strip("\n"))
        for part, end in zip(parts, ends, strict=False)
    ]
    files: list[FileDiff] = []
    for file in read or [_updated(None, None, text)]:
        if isinstance(file, NotADiff):
            return file
        files.append(file)
    return tuple(files)


def _part_of_patch(part: re.Match[str], body: str) -> FileDiff | NotADiff:
    """Read the `body` below the line `part`, which names a file."""
    if part["old"]:
        return _updated(*_names(_unquoted(part["old"]), _unquoted(part["new"])), body)
    name, what = part["name"].strip(), part["what"]
    if what == "Update":
        first, _, rest = body.partition("\n")
        is_move = first.startswith(_MOVE)
        return _updated(
            name, first.removeprefix(_MOVE).strip() if is_move else name, rest if is_move else body
        )
    lines = tuple(DiffLine("+", f"{row[1:]}\n") for row in body.split("\n") if row)
    if any(row and row[0] != "+" for row in body.split("\n")) or (lines and what == "Delete"):
        return NotADiff(f"lines below `{part[0]}` are not those of a new file", "begin each with `+`")
    return FileDiff(
        old_name=name if what == "Delete" else None,
        new_name=name if what == "Add" else None,
        renames=False,
        hunks=(DiffHunk(number=1, old_start=0, new_start=1, lines=lines),) if lines else (),
        obstacle=None,
        source=body,
    )


def _updated(old: str | None, new: str | None, body: str) -> FileDiff | NotADiff:
    """Read the hunks of `body`, each with the lines that it is behind."""
    hunks: list[DiffHunk] = []
    behind: tuple[str, ...] = ()
    for chunk in _CHUNK.split(body.partition("\ndiff --git ")[0]):
        head, _, rows = chunk.partition("\n") if chunk.startswith("@@") else ("@@", "", chunk)
        context = _NO_CONTEXT.sub("", head[2:].strip()).strip()
        behind += (context,) if context else ()
        shown, end, _ = rows.rstrip("\n").partition(f"\n{_END_OF_FILE}")
        lines = _signed_lines(shown)
        if isinstance(lines, NotADiff):
            return lines
        if lines:
            number = len(hunks) + 1
            hunk = DiffHunk(number=number, old_start=UNKNOWN, new_start=UNKNOWN, lines=lines, behind=behind)
            hunks.append(replace(hunk, ends_file=bool(end)))
            behind = ()
    if not hunks and old == new:
        return NotADiff("it has no hunks", "a hunk begins with `@@`, and shows lines with their signs")
    return FileDiff(
        old_name=old,
        new_name=new,
        renames=None not in (old, new) and old != new,
        hunks=tuple(hunks),
        obstacle=None,
        source="\n".join([_BEGIN, f"*** Update File: {old}", body, _END, ""]) if old else f"{body}\n",
    )


def _signed_lines(rows: str) -> tuple[DiffLine, ...] | NotADiff:
    lines: list[DiffLine] = []
    for row in rows.split("\n") if rows else ():
        if row.startswith("\\ ") and lines:
            lines[-1] = DiffLine(lines[-1].sign, lines[-1].text.removesuffix("\n"))
        elif row and row[0] not in " +-":
            return NotADiff("a line of a hunk has no sign", _SIGNED)
        else:
            # Editors take the blank from an empty line that stays.
            lines.append(DiffLine(row[:1] or " ", f"{row[1:]}\n"))
    return tuple(lines)
