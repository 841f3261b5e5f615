"""What a caller sends beside a plan ID, or with a plan document."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from pydantic.alias_generators import to_camel

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.field_names import fold_names, unknown_fields
from mdplan.reports.plan import ApplyReport

_NAMES: Final = ("planId", "baseSha256", "dryRun", "accept", "onStale")
_HINT: Final = f"beside a plan stand {', '.join(_NAMES)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A plan to be applied. `accept` are indexes of its edits, None for all; `rebases` obeys `onStale`."""

    plan_id: str | None
    base_sha256: str | None
    dry_run: bool
    accept: tuple[int, ...] | None
    rebases: bool


def read_plan_request(data: Mapping[str, Any], *, is_document: bool) -> PlanRequest | Problems:
    """The request in decoded JSON: ``{planId}``, or a plan document and its options.

    A report may be handed back as it is: its fields are ignored. Errors: UNKNOWN_FIELD; INVALID_ARGUMENT,
    also for edits, because a plan has its own.
    """
    request = {name: value for name, value in fold_names(data, {}).items() if value is not None}
    problems = (*_values(request), *(() if is_document else _strangers(request)))
    if problems:
        return problems
    return PlanRequest(
        plan_id=request.get("planId"),
        base_sha256=None if is_document else request.get("baseSha256"),
        dry_run=request.get("dryRun", False),
        accept=tuple(request["accept"]) if "accept" in request else None,
        rebases=request.get("onStale") == "rebase",
    )


def _values(request: Mapping[str, Any]) -> Iterator[Diagnostic]:
    checks = (
        ("planId", lambda value: isinstance(value, str), "is not a string"),
        ("baseSha256", lambda value: isinstance(value, str), "is not a string"),
        ("dryRun", lambda value: isinstance(value, bool), "is neither true nor false"),
        ("onStale", lambda value: value in ("refuse", "rebase"), 'is neither "refuse" nor "rebase"'),
        ("accept", _are_indexes, "is not a list of edit indexes"),
    )
    for name, is_right, what in checks:
        if name in request and not is_right(request[name]):
            yield Diagnostic.invalid(f"{name} {what}", f"beside a plan stand {', '.join(_NAMES)}")


def _strangers(request: Mapping[str, Any]) -> Iterator[Diagnostic]:
    """What may not stand beside a plan ID: edits, which would be ignored, and unknown names."""
    files = request.get("files")
    entries = files if isinstance(files, list) else []
    if "edits" in request or any(isinstance(entry, Mapping) and "edits" in entry for entry in entries):
        yield Diagnostic.invalid(
            "edits stand beside planId, and the plan holds its own edits",
            "send planId to apply the preview, or edits to plan anew",
        )
        return
    of_reports = {to_camel(field.name) for field in fields(ApplyReport)}
    unknown = {name: value for name, value in request.items() if name not in of_reports}
    yield from unknown_fields(unknown, _NAMES, "a request with planId")


def _are_indexes(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
