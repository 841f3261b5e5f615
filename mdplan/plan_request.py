"""What a caller sends beside a plan ID, or with a plan document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic

_SYNONYMS: Final = {
    "plan_id": "planId",
    "base_sha256": "baseSha256",
    "dry_run": "dryRun",
    "on_stale": "onStale",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A plan to be applied. `accept` are indexes of its edits, None for all; `rebases` obeys `onStale`."""

    plan_id: str | None
    base_sha256: str | None
    dry_run: bool
    accept: tuple[int, ...] | None
    rebases: bool


def read_plan_request(data: Mapping[str, Any]) -> PlanRequest | Diagnostic:
    """The request in decoded JSON; fields of a report that come back beside the plan ID are ignored.

    Errors: INVALID_ARGUMENT.
    """
    fields = {_SYNONYMS.get(name, name): value for name, value in data.items()}
    plan_id, base, accept = fields.get("planId"), fields.get("baseSha256"), fields.get("accept")
    dry_run, on_stale = fields.get("dryRun", False), fields.get("onStale", "refuse")
    problems = (
        (plan_id is not None and not isinstance(plan_id, str), "planId is not a string"),
        (base is not None and not isinstance(base, str), "baseSha256 is not a string"),
        (not isinstance(dry_run, bool), "dryRun is neither true nor false"),
        (on_stale not in {"refuse", "rebase"}, 'onStale is neither "refuse" nor "rebase"'),
        (not _are_indexes(accept), "accept is not a list of edit indexes"),
    )
    for is_wrong, message in problems:
        if is_wrong:
            return Diagnostic(
                code=Code.INVALID_ARGUMENT, message=message, hint="see md_apply for what it takes"
            )
    return PlanRequest(
        plan_id=plan_id,
        base_sha256=base,
        dry_run=dry_run,
        accept=None if accept is None else tuple(accept),
        rebases=on_stale == "rebase",
    )


def _are_indexes(value: object) -> bool:
    if value is None:
        return True
    return isinstance(value, list) and all(isinstance(item, int) and item >= 0 for item in value)
