"""Reports as decoded JSON that says each thing once: short hashes, nothing empty, no defaults."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mdplan.diagnostics import Diagnostic
from mdplan.mcp.answers.report_text import candidate_row, listed_problems
from mdplan.reports.base import Report, to_wire

_HASH: Final = re.compile(r"(sha256-)?[0-9a-f]{64}")
_DIGITS: Final = 16
# Values that a reader may take for granted.
_DEFAULTS: Final[Mapping[str, object]] = {
    "stored": True,
    "noOp": False,
    "diffExact": True,
    "diffTruncated": False,
    "contentExact": True,
    "undoable": True,
    "durable": True,
    "durability": "full",
    "changed": True,
    "state": "committed",
}


def short(text: str) -> str:
    """`text`, or where it is a SHA-256, also one of a plan, its first 16 digits."""
    found = _HASH.fullmatch(text)
    return text[: len(found[1] or "") + _DIGITS] if found else text


def pruned(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Decoded JSON without what is empty or a default, and with short hashes."""
    if isinstance(value, str):
        return short(value)
    if isinstance(value, Mapping):
        kept = {name: pruned(item) for name, item in value.items() if not _is_default(name, item)}
        return {name: item for name, item in kept.items() if item not in ([], {}, "")}
    if isinstance(value, Sequence):
        return [pruned(item) for item in value]
    return value


def _is_default(name: str, item: object) -> bool:
    return name in _DEFAULTS and _DEFAULTS[name] == item


def compact_wire(report: Report) -> dict[str, Any]:
    """`report` as decoded JSON: `error` is the first problem, and `diagnostics` are those after it."""
    problems = listed_problems(report)[1:] if not report.ok else ()
    wire: dict[str, Any] = pruned(to_wire(replace(report, error=None, diagnostics=())))
    if report.error is not None:
        wire["error"] = problem_wire(report.error)
    if problems:
        wire["diagnostics"] = [problem_wire(problem) for problem in problems]
    return wire


def problem_wire(problem: Diagnostic) -> dict[str, Any]:
    """A problem, its candidates as lines of text; where text nearly is, the hint says."""
    wire: dict[str, Any] = pruned(to_wire(replace(problem, candidates=(), near=None)))
    wire.pop("severity", None)  # The name of the list says it.
    if problem.candidates:
        wire["candidates"] = [candidate_row(each) for each in problem.candidates]
    return wire
