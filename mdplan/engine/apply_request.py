"""Requests to apply: a stored plan, a plan document, or a batch. They are recognized only here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, TypeAlias, TypeVar

from mdplan.diagnostics import Diagnostic, Problems
from mdplan.field_names import camel_case, fold_names, unknown_fields
from mdplan.limits import Limits
from mdplan.operations.base import Count
from mdplan.planning.plan_document import is_document
from mdplan.reports.plan import ApplyReport
from mdplan.requests.batch import Batch, OnStale, read_batch, validated, wire_names, with_decoded_fields
from mdplan.requests.queries import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class _NamedPlan(Query):
    """How a plan is applied. `accept` are indexes of its edits, None for all."""

    dry_run: bool = field(default=False, metadata={"strict": True})
    accept: tuple[Count, ...] | None = None
    on_stale: OnStale = "refuse"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRef(_NamedPlan):
    """A stored plan. With `base_sha256` its one file must be what the caller saw."""

    plan_id: str
    base_sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDocument(_NamedPlan):
    """A plan as decoded JSON, of which nothing is checked yet."""

    body: Mapping[str, Any]


ApplyRequest: TypeAlias = PlanRef | PlanDocument | Batch


def read_apply_request(data: object, limits: Limits) -> ApplyRequest | Problems:
    """The request in decoded JSON: ``{planId}`` or a plan document, each with its options, or a batch.

    A report may be handed back as it is: next to `planId` the fields of one are ignored. Errors:
    INVALID_ARGUMENT, also for edits next to a plan, which has its own; UNKNOWN_FIELD; those of `read_batch`.
    """
    if not isinstance(data, Mapping):
        return read_batch(data, limits)
    if is_document(data):
        options = {name: value for name, value in _given(data).items() if name in wire_names(_NamedPlan)}
        return _read(PlanDocument, {**options, "body": data})
    if not any(camel_case(str(name)) == "planId" for name in data):
        return read_batch(data, limits)
    given = _given(data)
    known = wire_names(PlanRef)
    problems = tuple(_strangers(given, known))
    return problems or _read(PlanRef, {name: value for name, value in given.items() if name in known})


AnyApplyRequest = TypeVar("AnyApplyRequest", bound=PlanRef | PlanDocument | Batch)


def with_options(request: AnyApplyRequest, options: Mapping[str, Any]) -> AnyApplyRequest:
    """`request` with those of `options`, values of its fields by name, that are not empty."""
    given = {name: value for name, value in options.items() if value}
    changed: Any = (
        request.model_copy(update=given) if isinstance(request, Batch) else replace(request, **given)
    )
    return changed  # type: ignore[no-any-return]


def _given(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fold_names(data, {}).items() if value is not None}


def _read(model: type[PlanRef | PlanDocument], given: Mapping[str, Any]) -> PlanRef | PlanDocument | Problems:
    request: PlanRef | PlanDocument | Problems = validated(
        model, with_decoded_fields(model, given), "", _HINT
    )
    return request


def _strangers(given: Mapping[str, Any], known: tuple[str, ...]) -> Iterator[Diagnostic]:
    """What may not go with a plan ID: edits, which would be ignored, and unknown names."""
    files = given.get("files")
    entries = files if isinstance(files, list) else []
    if "edits" in given or any(isinstance(entry, Mapping) and "edits" in entry for entry in entries):
        yield Diagnostic.invalid(
            "edits are given with planId, and the plan has its own edits",
            "send planId to apply the preview, or edits to plan again",
        )
        return
    of_reports = {camel_case(each.name) for each in fields(ApplyReport)}
    unknown = {name: None for name in given if name not in of_reports}
    yield from unknown_fields(unknown, known, "a request with planId")


_HINT: Final = "with a plan go planId, baseSha256, dryRun, accept, onStale"
