"""Changes of a diff as whole lines to replace, for suggestions and SARIF fixes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from mdplan.text.unified_diff import DiffHunk, DiffLine, FileDiff, NotADiff, read_diff


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """The lines `first` to `last` of the file `file`, 1-based, get the text `new` in place of `old`.

    Both texts have their line ends; lines end at LF alone. Lines that are inserted come with the line before
    them, or the one after at the start of a file.
    """

    file: str
    first: int
    last: int
    old: str
    new: str


def fixes_of(diff: str) -> Iterator[Fix]:
    """The changes of lines that `diff` makes to files that exist before and after it, in its order."""
    files = read_diff(diff) if diff else ()
    if isinstance(files, NotADiff):
        return
    for file in files:
        if file.new_name is not None and not file.creates:
            for hunk in file.hunks:
                yield from _of_hunk(file, hunk)


def _of_hunk(file: FileDiff, hunk: DiffHunk) -> Iterator[Fix]:
    line = hunk.old_start
    runs = [(stays, list(run)) for stays, run in groupby(hunk.lines, lambda each: each.sign == " ")]
    for index, (stays, run) in enumerate(runs):
        count = sum(each.sign != "+" for each in run)
        if not stays:
            old, new = _side(run, "-"), _side(run, "+")
            first, last = line, line + count - 1
            if not count:
                beside = runs[index - 1][1][-1] if index else runs[index + 1][1][0] if runs[1:] else None
                if beside is None:
                    return  # The file is empty.
                first, last = (line - 1, line - 1) if index else (line, line)
                old, new = beside.text, beside.text + new if index else new + beside.text
            yield Fix(file=file.old_name or "", first=first, last=last, old=old, new=new)
        line += count


def _side(run: list[DiffLine], sign: str) -> str:
    return "".join(each.text for each in run if each.sign == sign)
