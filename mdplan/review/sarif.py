"""Write diagnostics and changes as SARIF 2.1.0 (OASIS), for code scanning in pull requests.

Code scanning rejects results without location, so problems without file point to the first line of the batch
or manifest.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, Final
from urllib.parse import quote

from mdplan import __version__
from mdplan.diagnostics import Diagnostic, Severity
from mdplan.text.source import visible
from mdplan.text.unified_diff import DiffHunk, DiffLine, FileDiff, NotADiff, read_diff
from mdplan.values import Struct
from mdplan.words import ShellWords

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}

# The base of relative paths, which the uploader defines.
_ROOT: Final = "ROOT"

# The rule for lines that a plan would change.
WOULD_CHANGE: Final = "WOULD_CHANGE"

# Code scanning rejects runs with more than 25,000 results, and shows 5,000.
MOST_FIXES: Final = 5000


class Fix(Struct, kw_only=True):
    """A replacement of the 1-based lines `first` to `last` of `file`, from `old` to `new`.

    Both texts include newlines; lines end only at LF. Insertions include the line before, or the one after at
    the start of a file.
    """

    file: str
    first: int
    last: int
    old: str
    new: str


def sarif_log(problems: Iterable[Diagnostic], source: str, fixes: Iterable[Fix] = ()) -> dict[str, Any]:
    """Return `problems` as the SARIF log of one run.

    `source` is the path of the batch or manifest, for problems without file. `fixes`, at most 5,000, become
    notes with the replacement lines.
    """
    listed, changes = list(dict.fromkeys(map(ShellWords().tell, problems))), list(islice(fixes, MOST_FIXES))
    codes = sorted({str(problem.code) for problem in listed} | ({WOULD_CHANGE} if changes else set()))
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "mdplan",
                        "version": __version__,
                        "rules": [{"id": code, "name": code.title().replace("_", "")} for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the plan."}}},
                "results": [
                    *(_result(problem, codes, source) for problem in listed),
                    *(_change(fix, codes) for fix in changes),
                ],
            }
        ],
    }


def _result(problem: Diagnostic, codes: Sequence[str], source: str) -> dict[str, Any]:
    text = f"{problem.message}. {problem.hint}" if problem.hint else problem.message
    result: dict[str, Any] = {
        "ruleId": str(problem.code),
        "ruleIndex": codes.index(str(problem.code)),
        "level": _LEVELS[problem.severity],
        "message": {"text": visible(text)},
        "locations": [{"physicalLocation": _location(problem, problem.file or source)}],
    }
    if problem.edit_index is not None:
        result["properties"] = {"editIndex": problem.edit_index}
    return result


def _location(problem: Diagnostic, file: str) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _artifact(file)}
    if problem.place is not None:
        location["region"] = {"startLine": problem.place.line, "startColumn": problem.place.col}
    elif problem.file is None:
        location["region"] = {"startLine": 1}
    return location


def _change(fix: Fix, codes: Sequence[str]) -> dict[str, Any]:
    """Return a result with the fix for some lines."""
    text = "The plan removes these lines." if not fix.new else "The plan changes these lines."
    region = {"startLine": fix.first, "endLine": fix.last}
    result: dict[str, Any] = {
        "ruleId": WOULD_CHANGE,
        "ruleIndex": codes.index(WOULD_CHANGE),
        "level": "note",
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(fix.file), "region": region}}],
    }
    if visible(fix.new) == fix.new:
        inserted = {"deletedRegion": _deleted(fix), "insertedContent": {"text": fix.new}}
        changes = [{"artifactLocation": _artifact(fix.file), "replacements": [inserted]}]
        result["fixes"] = [{"description": {"text": text}, "artifactChanges": changes}]
    return result


def _deleted(fix: Fix) -> dict[str, int]:
    """Return the region of the old text; an unterminated last line ends after its last character."""
    first = {"startLine": fix.first, "startColumn": 1}
    if fix.old.endswith("\n"):
        return {**first, "endLine": fix.last + 1, "endColumn": 1}
    return {**first, "endLine": fix.last, "endColumn": len(fix.old.rpartition("\n")[2]) + 1}


def _artifact(file: str) -> dict[str, str]:
    return {"uri": quote(visible(file)), "uriBaseId": _ROOT}


def fixes_of(diff: str) -> Iterator[Fix]:
    """Yield the line changes of `diff` in files that exist before and after it, in order."""
    files = read_diff(diff) if diff else ()
    if isinstance(files, NotADiff):
        return
    for file in files:
        if file.new_name is not None and not file.creates:
            for hunk in file.hunks:
                yield from _of_hunk(file, hunk)


def _of_hunk(file: FileDiff, hunk: DiffHunk) -> Iterator[Fix]:
    line = hunk.old_start
    runs = [(stays, list(run)) for stays, run in groupby(hunk.lines, lambda item: item.sign == " ")]
    for index, (stays, run) in enumerate(runs):
        count = sum(item.sign != "+" for item in run)
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
    return "".join(line.text for line in run if line.sign == sign)
