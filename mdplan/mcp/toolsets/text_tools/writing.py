"""Shared parts of the writing tools of the toolset `text`: the guard, the commit, and its report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.engine.engine import Engine
from mdplan.mcp.tool import ToolResult
from mdplan.mcp.toolsets.text_tools.text_requests import ReplaceRequest, TextPatchRequest
from mdplan.mcp.toolsets.text_tools.text_results import (
    HASH_DIGITS,
    LineChangePreview,
    failure,
    refusal_result,
    write_result,
)
from mdplan.reports.plan import ApplyReport
from mdplan.text.source import Source

EditRequest: TypeAlias = TextPatchRequest | ReplaceRequest

_OUTLINE: Final = frozenset({Code.OUTLINE_CHANGED, Code.DUPLICATE_HEADING})
_ANY_OUTLINE: Final = {"allowOutlineChange": True, "allowDuplicateHeadings": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOutcome:
    """One edit of a file that was committed: the file as it was and as it is, and what is to be warned of."""

    before: Source
    after: Source
    report: ApplyReport
    warnings: tuple[str, ...]

    def to_json(self, change: LineChangePreview) -> dict[str, Any]:
        """The fields that every answer about an edit has; `change` is where it was."""
        facts = write_result(self.before, self.after, change)
        if not self.report.applied:
            facts |= {"linesChanged": 0, "note": "Nothing changed: the text is there already"}
        return {**facts, **({"warnings": list(self.warnings)} if self.warnings else {})}


def expected_source(engine: Engine, request: EditRequest) -> Source | ToolResult:
    """The file of `request`, if it is still the one of its `expected_hash`."""
    expected_hash = request.expected_hash
    source = engine.source(request.file_path, request.encoding)
    if isinstance(source, Diagnostic):
        return refusal_result((source,))
    if expected_hash is not None and not source.sha256.startswith(expected_hash.lower()):
        return failure(
            f"The file has changed: its hash is now {source.sha256[:HASH_DIGITS]}, not {expected_hash}",
            "Use TextInspect or TextRead to see it again, then edit with the new fileHash",
        )
    return source


def write(
    engine: Engine,
    request: EditRequest,
    before: Source,
    edits: Sequence[Mapping[str, Any]],
    target: str = "",
    *,
    keeps_outline: bool = False,
) -> WriteOutcome | ToolResult:
    """Commit `edits` of the file of `request` as it was read; the caller named their place as `target`.

    With `keeps_outline` an edit that changes headings outside its text is refused; without, it is made
    and warned of: it says which text it means, not which section.
    """
    encoding = {} if request.encoding is None else {"encoding": request.encoding}
    pin = {"file": request.file_path, "baseSha256": before.sha256, **encoding}
    batch = {**pin, "sequential": True, "backup": request.backup, "edits": list(edits)}
    report = engine.write(batch)
    errors = [problem for problem in report.diagnostics if problem.severity is Severity.ERROR]
    if not report.ok and not keeps_outline and {problem.code for problem in errors} <= _OUTLINE:
        report = engine.write({**batch, **_ANY_OUTLINE})
    else:
        errors = []
    if not report.ok:
        return refusal_result(report.diagnostics, before, target)
    after = engine.source(request.file_path, request.encoding)
    if isinstance(after, Diagnostic):
        return failure("The edit was written, but the file cannot be read any more", after.message)
    warnings = (f"{problem.code}: {problem.message}" for problem in (*report.warnings, *errors))
    return WriteOutcome(before=before, after=after, report=report, warnings=tuple(dict.fromkeys(warnings)))
