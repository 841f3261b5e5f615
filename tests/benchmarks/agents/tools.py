"""The tools of the rivals, and the shortest calls that make a known change with them.

The stand-in for built-in tools of coding agents follows their descriptions. Read returns numbered lines: a
file of up to 2,000 lines as a whole, unless the call names a range. Edit requires an earlier Read, and
replaces text that is unique, or all occurrences. Grep returns lines by file and number. The amount that an
agent reads before an edit is not prescribed, so it is a parameter, `Reading`.

All other choices favour the rivals: they know where to look, read each line once per task, send the shortest
unique text, and Edit answers in one line. The real server-filesystem cannot search content, and reads a file
from its start.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.agents.tasks import Task

Tree = Mapping[str, str]
# Read returns at most this many lines per call.
MOST_LINES: Final = 2_000
# What `head` of server-filesystem gives behind the last change.
BEHIND: Final = 10


@dataclass(frozen=True)
class Reading:
    """The part of a file that an agent reads before an edit: everything, or some lines `around` each change.

    `is_seen`: the description of Read requires it, or a call returns about as much as observed agents
    received (909 characters).
    """

    name: str
    around: int
    whole_files: bool = False
    is_seen: bool = False


READINGS: Final = (
    Reading("whole files, as Read does by default", around=10, whole_files=True, is_seen=True),
    Reading("25 lines around each change", around=25, is_seen=True),
    Reading("10 lines around each change", around=10),
    Reading("3 lines around each change", around=3),
)


@dataclass
class Cost:
    """Calls, and the characters that an agent sends and receives; the tool list is received once."""

    calls: int = 0
    sent: int = 0
    received: int = 0
    by_task: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def count(self, name: str, arguments: Mapping[str, Any], answer: str) -> None:
        """One call and its answer."""
        self.calls += 1
        self.sent += len(name) + len(json.dumps(arguments, ensure_ascii=False, separators=(",", ":")))
        self.received += len(answer)

    def close(self, task: str, before: "tuple[int, int, int]") -> None:
        """Note what one task took, since the sums were `before`."""
        self.by_task[task] = tuple(now - then for now, then in zip(self.sums, before, strict=True))  # type: ignore[assignment]

    @property
    def sums(self) -> tuple[int, int, int]:
        """Calls, characters sent, characters received."""
        return self.calls, self.sent, self.received


@dataclass(frozen=True)
class Edit:
    """A replacement of text that is unique, or of `every` occurrence; `lines` are lines of the base."""

    old: str
    new: str
    lines: tuple[int, int]
    every: bool = False


def edits_of(before: str, after: str) -> list[Edit]:
    """The shortest edits that make `after` of `before`, by lines, from the last to the first."""
    every = _one_for_all(before, after)
    if every is not None:
        return [every]
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    blocks = difflib.SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes()
    changes = [block for block in blocks if block[0] != "equal"]
    edits: list[Edit] = []
    text = before
    for _, start, end, new_start, new_end in reversed(changes):
        edit = _unique(text, old, (start, end), "".join(new[new_start:new_end]))
        edits.append(edit)
        text = text.replace(edit.old, edit.new, 1)
    assert text == after, "the edits make the same bytes"
    return edits


def _one_for_all(before: str, after: str) -> Edit | None:
    """Return the word or phrase whose replacement everywhere is the whole change, if there is one."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) != len(new):
        return None
    changed = [
        number for number, pair in enumerate(zip(old, new, strict=True), start=1) if pair[0] != pair[1]
    ]
    if len(changed) < 2:
        return None
    first = changed[0] - 1
    for old_part, new_part in _fragments(old[first], new[first]):
        if before.replace(old_part, new_part) == after:
            return Edit(old_part, new_part, (changed[0], changed[-1]), every=True)
    return None


def _fragments(old: str, new: str) -> Iterator[tuple[str, str]]:
    """What changes in a line, alone and with more and more words around it."""
    start = len(_common(old, new))
    end = len(_common(old[start:][::-1], new[start:][::-1]))
    places = [0, *(found.end() for found in re.finditer(r"\s+", old)), len(old)]
    lefts = [place for place in reversed(places) if place <= start]
    rights = [place for place in places if place >= len(old) - end]
    for step in range(max(len(lefts), len(rights))):
        left, right = lefts[min(step, len(lefts) - 1)], rights[min(step, len(rights) - 1)]
        yield old[left:right], new[left : len(new) - (len(old) - right)]


def _common(one: str, other: str) -> str:
    length = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    return one[: min(len(one), len(other)) if length is None else length]


def _unique(text: str, lines: Sequence[str], place: tuple[int, int], new: str) -> Edit:
    start, end = place
    numbers = (start + 1, max(end, start + 1))
    if end - start == 1 and new.count("\n") == 1:
        for old_part, new_part in _fragments(lines[start], new):
            if old_part and text.count(old_part) == 1:
                return Edit(old_part, new_part, numbers)
    first, last = start, end
    while True:
        old = "".join(lines[first:last])
        if old and text.count(old) == 1:
            kept, kept_behind = "".join(lines[first:start]), "".join(lines[end:last])
            return Edit(old, kept + new + kept_behind, numbers)
        first, last = (first - 1, last) if first and (start - first <= last - end) else (first, last + 1)


class BuiltIn:
    """The stand-in, with a tool list as long as that of real tools: Read, Edit, MultiEdit, Grep, Glob."""

    LIST: Final = 8_042

    def __init__(self, root: Path, reading: Reading) -> None:
        """Work in `root`, and read before each edit as `reading` says."""
        self._root = root
        self._reading = reading
        self._known: dict[str, str] = {}
        self.cost = Cost(received=self.LIST)

    def run(self, task: Task, before: Tree, after: Tree) -> None:
        """Turn the files `before` into `after`."""
        start = self.cost.sums
        for look in task.looks:
            self._grep(look.pattern, look.path, names_only=look.names_only)
        for old, new in task.renames.items():
            (self._root / new).write_text((self._root / old).read_text())
            (self._root / old).unlink()
            self.cost.count("Bash", {"command": f"git mv {old} {new}"}, "")
        for file in _changed(task, before, after):
            text = before[_old_name(task, file)]
            edits = edits_of(text, after[file])
            headings = [title for path, title in task.reads if path == file]
            self._look_into(file, text, edits, headings)
            for edit in edits:
                self._edit(file, edit)
        self.cost.close(task.name, start)

    def _grep(self, pattern: str, path: str, *, names_only: bool) -> None:
        """Lines of files that match, as ripgrep prints them; of one file without its name."""
        target = self._root / path
        files = [target] if target.is_file() else sorted(target.rglob("*.md"))
        found: list[str] = []
        for file in files:
            name = "" if file == target else f"{file.relative_to(self._root)}:"
            hits = [
                f"{name}{number}:{line}"
                for number, line in enumerate(file.read_text().split("\n"), start=1)
                if re.search(pattern if _is_regex(pattern) else re.escape(pattern), line)
            ]
            found += [name.rstrip(":")] if names_only and hits else hits
        mode = "files_with_matches" if names_only else "content"
        arguments = {"pattern": pattern, "path": path, "output_mode": mode, "-n": True}
        self.cost.count("Grep", arguments, "\n".join(found))

    def _look_into(self, file: str, text: str, edits: Sequence["Edit"], headings: Sequence[str]) -> None:
        """Read of `file` what has to be read; a whole file is read once, and then its edits are known."""
        if self._reading.whole_files and text.count("\n") <= MOST_LINES:
            if self._known.get(file) != text:
                self._read(file, 1, MOST_LINES, {"file_path": file})
                self._known[file] = text
            return
        for first, last in _windows(edits, text, headings, self._reading.around):
            window = {"file_path": file, "offset": first, "limit": last - first + 1}
            self._read(file, first, last, window)

    def _read(self, file: str, first: int, last: int, arguments: Mapping[str, Any]) -> None:
        lines = (self._root / file).read_text().split("\n")
        shown = (f"{number:6}\t{lines[number - 1]}" for number in range(first, min(last, len(lines)) + 1))
        self.cost.count("Read", arguments, "\n".join(shown))

    def _edit(self, file: str, edit: Edit) -> None:
        path = self._root / file
        text = path.read_text()
        assert edit.every or text.count(edit.old) == 1
        path.write_text(text.replace(edit.old, edit.new))
        if file in self._known:
            self._known[file] = path.read_text()
        arguments: dict[str, Any] = {"file_path": file, "old_string": edit.old, "new_string": edit.new}
        arguments |= {"replace_all": True} if edit.every else {}
        self.cost.count("Edit", arguments, f"The file {file} has been updated successfully.")


class ServerFilesystem:
    """The real server, through `call`, which gives the text of an answer."""

    def __init__(self, root: Path, call: Callable[[str, dict[str, Any]], str], tool_list: int) -> None:
        """Work in `root`, with a tool list of this many characters."""
        self._root = root
        self._call = call
        self.cost = Cost(received=tool_list)

    def run(self, task: Task, before: Tree, after: Tree) -> None:
        """Turn the files `before` into `after`."""
        start = self.cost.sums
        folders = [look.path for look in task.looks if (self._root / look.path).is_dir()]
        for folder in folders:
            self._use("list_directory", {"path": folder})
            paths = sorted(str(path.relative_to(self._root)) for path in (self._root / folder).glob("*.md"))
            # All at once is the fewest calls; nothing is read twice.
            self._use("read_multiple_files", {"paths": paths})
        for old, new in task.renames.items():
            self._use("move_file", {"source": old, "destination": new})
        for file in _changed(task, before, after):
            text = before[_old_name(task, file)]
            edits = edits_of(text, after[file])
            if not folders:
                last = max(edit.lines[1] for edit in edits) + BEHIND
                self._use("read_text_file", {"path": file, "head": last})
            self._edit(file, after[file], edits)
        self.cost.close(task.name, start)

    def _edit(self, file: str, wanted: str, edits: Sequence[Edit]) -> None:
        if any(edit.every for edit in edits):
            edits = _one_by_one((self._root / file).read_text(), wanted)
        pairs = [{"oldText": edit.old, "newText": edit.new} for edit in edits]
        self._use("edit_file", {"path": file, "edits": pairs})
        if (self._root / file).read_text() != wanted:
            # The tool keeps the old indentation, so send the whole file.
            self._use("write_file", {"path": file, "content": wanted})

    def _use(self, name: str, arguments: dict[str, Any]) -> None:
        self.cost.count(name, arguments, self._call(name, arguments))


def _one_by_one(before: str, after: str) -> list[Edit]:
    """Return one edit per place, for a tool that replaces only the first match."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    edits: list[Edit] = []
    text = before
    for number, (left, right) in enumerate(zip(old, new, strict=True)):
        if left != right:
            edits.append(_unique(text, text.splitlines(keepends=True), (number, number + 1), right))
            text = text.replace(edits[-1].old, edits[-1].new, 1)
    return edits


def _changed(task: Task, before: Tree, after: Tree) -> list[str]:
    return [file for file, text in after.items() if before.get(_old_name(task, file)) != text]


def _old_name(task: Task, file: str) -> str:
    return next((old for old, new in task.renames.items() if new == file), file)


def _is_regex(pattern: str) -> bool:
    return pattern.startswith("^") or "|" in pattern or "\\" in pattern


def _windows(edits: Sequence[Edit], text: str, headings: Sequence[str], around: int) -> list[tuple[int, int]]:
    """The lines that have to be read: those around the changes, and the sections that the task names."""
    lines = text.split("\n")
    places = [(max(edit.lines[0] - around, 1), edit.lines[1] + around) for edit in edits if not edit.every]
    places += [(edit.lines[0], edit.lines[0]) for edit in edits if edit.every]
    for heading in headings:
        number = next(
            at for at, line in enumerate(lines, start=1) if re.fullmatch(rf"#+ {re.escape(heading)}", line)
        )
        level = len(lines[number - 1]) - len(lines[number - 1].lstrip("#"))
        behind = (
            at - 1 for at in range(number + 1, len(lines) + 1) if re.match(rf"#{{1,{level}}} ", lines[at - 1])
        )
        places.append((number, next(behind, len(lines))))
    merged: list[tuple[int, int]] = []
    for first, last in sorted(places):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged
