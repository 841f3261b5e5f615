"""Shortens a long diff for an answer: changed lines only, long ones cut around the change.

It is for reading, not for `git apply`; the exact diff is a resource, and in answers with verbosity full.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NAME: Final = re.compile(r"(?:---|\+\+\+) (?:\"?[ab]/)?(.*?)\"?\t?$")
# A changed line that is longer is cut to the change with so much around it.
_MOST_OF_A_LINE: Final = 120
_AROUND: Final = 24
_MOST_OF_A_CHANGE: Final = 160
# Of more lines in a row the first and the last are shown.
_MOST_IN_A_ROW: Final = 12
_FIRST, _LAST = 4, 2
# Files of one entry that its first line names.
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class _FileDiff:
    """One file of a diff: what it is called, remarks of its header, and its changes by their first line."""

    name: str
    remarks: tuple[str, ...]
    changes: tuple[tuple[str, tuple[str, ...]], ...]


def shown_diff(diff: str, *, whole_runs: bool) -> str:
    """`diff` for reading: ``@@ LINE @@`` before the changed lines of each place, by lines of the result.

    Where lines only go it is ``@@ -LINE @@``, by lines of the base. Files with the same changes share one
    entry, which names the first: ``a.md:12 b.md:7``. Without `whole_runs` the middle of many changed lines in
    a row is omitted, and counted.
    """
    groups: dict[tuple[object, ...], list[_FileDiff]] = {}
    for file in _files(diff):
        groups.setdefault((file.remarks, *(lines for _, lines in file.changes)), []).append(file)
    return "".join(f"{line}\n" for files in groups.values() for line in _group(files, whole_runs=whole_runs))


def _group(files: Sequence[_FileDiff], *, whole_runs: bool) -> Iterator[str]:
    first = files[0]
    if len(files) == 1:
        yield f"--- {first.name}"
    else:
        named = " ".join(f"{file.name}:{','.join(at for at, _ in file.changes)}" for file in files[:_NAMED])
        yield f"--- {named}" + (f" and {len(files) - _NAMED} more files" if len(files) > _NAMED else "")
    yield from first.remarks
    for at, lines in first.changes:
        if len(files) == 1:
            yield f"@@ {at} @@"
        elif at != first.changes[0][0]:
            yield "@@"
        yield from _short(lines, whole_runs=whole_runs)


def _short(lines: Sequence[str], *, whole_runs: bool) -> Iterator[str]:
    """The lines of one change, each old one that a new one replaces cut like that."""
    old = [line[1:] for line in lines if line[0] == "-"]
    new = [line[1:] for line in lines if line[0] == "+"]
    paired = min(len(old), len(new)) if len(old) == len(new) or min(len(old), len(new)) == 1 else 0
    cut = [_cut_pair(before, after) for before, after in zip(old[:paired], new[:paired], strict=True)]
    shown_old = [f"-{before}" for before, _ in cut] + [f"-{_cut_line(line)}" for line in old[paired:]]
    shown_new = [f"+{after}" for _, after in cut] + [f"+{_cut_line(line)}" for line in new[paired:]]
    for shown in (shown_old, shown_new):
        if whole_runs or len(shown) <= _MOST_IN_A_ROW:
            yield from shown
        else:
            yield from shown[:_FIRST]
            yield f"{shown[0][0]}… {len(shown) - _FIRST - _LAST} more lines …"
            yield from shown[-_LAST:]
    yield from (line for line in lines if line[0] == "\\")


def _cut_pair(old: str, new: str) -> tuple[str, str]:
    """Both lines, without the parts that they share beyond a few words, where one of them is long."""
    if max(len(old), len(new)) <= _MOST_OF_A_LINE:
        return old, new
    least = min(len(old), len(new))
    start = next((at for at in range(least) if old[at] != new[at]), least)
    end = next((at for at in range(least - start) if old[-1 - at] != new[-1 - at]), least - start)
    return _around(old, start, len(old) - end), _around(new, start, len(new) - end)


def _around(line: str, start: int, end: int) -> str:
    first, last = max(start - _AROUND, 0), min(end + _AROUND, len(line))
    change = line[start:end]
    if len(change) > _MOST_OF_A_CHANGE:
        change = f"{change[:100]}… {len(change) - 140} characters …{change[-40:]}"
    return (
        f"{'…' if first else ''}{line[first:start]}{change}{line[end:last]}{'…' if last < len(line) else ''}"
    )


def _cut_line(line: str) -> str:
    if len(line) <= _MOST_OF_A_CHANGE:
        return line
    return f"{line[:_MOST_OF_A_LINE]}… {len(line) - _MOST_OF_A_LINE} more characters"


def _files(diff: str) -> Iterator[_FileDiff]:
    """The files of a diff as mdplan writes it."""
    lines = diff.split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith("diff --git ")]
    # Lines of a hunk begin with a sign, so that none of them looks like a header.
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield _file(lines[start:end])


def _file(lines: Sequence[str]) -> _FileDiff:
    first_hunk = next((number for number, line in enumerate(lines) if _HUNK.match(line)), len(lines))
    name = lines[0].removeprefix("diff --git ")
    remarks: list[str] = []
    for line in lines[1:first_hunk]:
        named = _NAME.match(line)
        if named is None and line:
            remarks.append(line)
        elif named is not None and not line.endswith("/dev/null"):
            name = named[1]
    return _FileDiff(name, tuple(remarks), tuple(_changes(lines[first_hunk:])))


def _changes(lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The changed lines of each place in some hunks, with the line that they begin at, as it is shown."""
    block: list[str] = []
    first = gone = at = was = 0
    for line in (*lines, " "):
        found = _HUNK.match(line)
        is_changed = found is None and line[:1] in {"-", "+", "\\"}
        if is_changed:
            first, gone = (first, gone) if block else (at, was)
            block.append(line)
        elif block:
            is_gone = not any(each[0] == "+" for each in block)
            yield f"-{gone}" if is_gone else str(first), tuple(block)
            block = []
        at = int(found[3]) if found else at + (line[:1] in {" ", "+"})
        was = int(found[1]) if found else was + (line[:1] in {" ", "-"})
