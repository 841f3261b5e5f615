"""Diagnostics as SARIF 2.1.0 (OASIS), which code scanning shows next to the lines of a pull request.

Code scanning rejects a log with a result that has no place, so a problem of no file has that of the batch or
manifest, its first line.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final
from urllib.parse import quote

from mdplan import __version__
from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.text.source import visible

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning"}
# What paths are relative to: whoever uploads the log says where that is.
_ROOT: Final = "ROOT"


def sarif_log(problems: Iterable[Diagnostic], source: str) -> dict[str, Any]:
    """`problems`, errors and warnings, as a SARIF log of one run; decoded JSON, all of it valid Unicode.

    `source` is the path of the batch or manifest, for problems of no other file.
    """
    listed = list(dict.fromkeys(problems))
    codes = sorted({problem.code for problem in listed})
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "mdplan",
                        "version": __version__,
                        "rules": [{"id": str(code), "name": _pascal(code)} for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the plan."}}},
                "results": [_result(problem, codes, source) for problem in listed],
            }
        ],
    }


def _result(problem: Diagnostic, codes: Sequence[Code], source: str) -> dict[str, Any]:
    text = f"{problem.message}. {problem.hint}" if problem.hint else problem.message
    result: dict[str, Any] = {
        "ruleId": str(problem.code),
        "ruleIndex": codes.index(problem.code),
        "level": _LEVELS[problem.severity],
        "message": {"text": visible(text)},
        "locations": [{"physicalLocation": _location(problem, problem.file or source)}],
    }
    if problem.edit_index is not None:
        result["properties"] = {"editIndex": problem.edit_index}
    return result


def _location(problem: Diagnostic, file: str) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": quote(visible(file)), "uriBaseId": _ROOT}}
    if problem.place is not None:
        location["region"] = {"startLine": problem.place.line, "startColumn": problem.place.col}
    elif problem.file is None:
        location["region"] = {"startLine": 1}
    return location


def _pascal(code: Code) -> str:
    return "".join(part.capitalize() for part in code.split("_"))
