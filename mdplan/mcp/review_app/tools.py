"""The tools behind the App. Hosts offer them to the App alone; where one does not, they are of no use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mdplan.diagnostics import Problems
from mdplan.engine.reviews import OpenPlan
from mdplan.mcp.answers.report_text import refusal_text
from mdplan.mcp.arguments import catch_errors
from mdplan.mcp.flat_schema import object_schema
from mdplan.mcp.review_app.app_links import APP_MIME_TYPE, APP_URI, ONLY_FOR_APP
from mdplan.mcp.review_app.app_requests import DecideRequest, ShowRequest
from mdplan.mcp.review_app.chat_review import NOT_THE_APP, ChatReview, Decided
from mdplan.mcp.strict_requests import read_arguments, request_schema
from mdplan.mcp.tool import ResourceDefinition, ToolDefinition, ToolResult
from mdplan.reports.base import Report, refusal, to_wire
from mdplan.reports.next_steps import Caller, with_hints_for
from mdplan.storage.decisions import Decision
from mdplan.web.labels import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class AppReport(Report):
    """The answer to the App: HTML to show, or the outcome of a decision; `message` is one sentence."""

    plan_id: str | None = None
    state: str | None = None
    html: str | None = None
    message: str | None = None
    approved_plan_id: str | None = None
    applied: bool | None = None


def app_tools(review: ChatReview, *, read_only: bool) -> tuple[ToolDefinition, ...]:
    """The tools of the App over `review`; with `read_only` it only shows."""
    show = _tool(
        "md_review",
        "Show a plan to the user",
        "For the review App only: the plan, or a file of it, as HTML.",
        ShowRequest,
        partial(_show, review),
        writes=False,
    )
    decide = _tool(
        "md_decide",
        "Record the decision of the user",
        "For the review App only: refused without the nonce that the App receives.",
        DecideRequest,
        partial(_decide, review),
        writes=True,
    )
    return (show,) if read_only else (show, decide)


def app_resource() -> ResourceDefinition:
    """The App: one HTML file that needs nothing else."""
    return ResourceDefinition(
        uri=APP_URI,
        name="review",
        title="Review of a plan",
        description="Shows the plan of md_validate to the user, who comments and decides.",
        mime_type=APP_MIME_TYPE,
        read=_app_html,
        meta={"ui": {"prefersBorder": True}},
    )


def _tool(
    name: str,
    title: str,
    description: str,
    model: type[Any],
    call: Callable[[Any], ToolResult],
    *,
    writes: bool,
) -> ToolDefinition:
    def read_and_call(arguments: Mapping[str, Any]) -> ToolResult:
        request = read_arguments(model, arguments)
        return _refused(request) if isinstance(request, tuple) else call(request)

    return ToolDefinition(
        name=name,
        title=title,
        description=description,
        input_schema=request_schema(model),
        output_schema=object_schema({"ok": {"type": "boolean"}}, ["ok"]),
        writes=writes,
        may_be_repeated=not writes,
        meta=ONLY_FOR_APP,
        call=catch_errors(AppReport, read_and_call),
    )


# What makes HTML is loaded when a host shows the App.
def _app_html() -> str:
    from mdplan.web.chat_view import chat_app_html

    return chat_app_html()


def _show(review: ChatReview, request: ShowRequest) -> ToolResult:
    from mdplan.web.chat_view import chat_file_html, chat_plan_html

    opened = review.reviewing.open(request.plan_id)
    if not isinstance(opened, OpenPlan):
        return _refused(opened)
    if request.file is None:
        html = chat_plan_html(opened, review.reviewing.earlier(opened))
    elif request.file < len(opened.review.files):
        html = chat_file_html(opened, request.file, request.first)
    else:
        html = ""
    report = AppReport(ok=True, plan_id=opened.plan.plan_id, state=opened.state, html=html)
    return _answer(report, f"The plan is {opened.state}.")


def _decide(review: ChatReview, request: DecideRequest) -> ToolResult:
    decided = review.decide_in_app(request)
    if not isinstance(decided, Decided):
        # The nonce was used up, if it was one.
        is_app = decided != NOT_THE_APP
        return _refused(decided, review.meta_of(request.plan_id) if is_app else None)
    decision, applied = decided.decision, decided.applied
    message = _outcome(decision)
    if applied is not None:
        n_files = sum(file.changed for file in applied.files)
        message += (
            f" Applied: {counted(n_files, 'file')} written."
            if applied.ok
            else f" It was not applied: {refusal_text(applied)}"
        )
    report = AppReport(
        ok=True,
        plan_id=decision.plan_id,
        message=message,
        approved_plan_id=decision.approved_plan_id,
        applied=applied is not None and applied.ok,
    )
    return _answer(report, message, review.meta_of(decision.plan_id))


def _outcome(decision: Decision) -> str:
    """What was decided, in words for the agent and the person."""
    by = decision.decided_by
    if decision.approved_plan_id is None:
        what = "requested changes to" if decision.requests_changes else "rejected"
        return f"{by} {what} the plan {decision.plan_id}."
    if not decision.rejected:
        return f"{by} approved the plan {decision.plan_id}."
    without = counted(len(decision.rejected), "edit")
    return (
        f"{by} approved the plan {decision.plan_id} without {without}, as plan {decision.approved_plan_id}."
    )


def _answer(report: AppReport, text: str, meta: Mapping[str, Any] | None = None) -> ToolResult:
    return ToolResult(text=text, structured=to_wire(report), is_refusal=False, meta=meta or {})


def _refused(problems: Problems, meta: Mapping[str, Any] | None = None) -> ToolResult:
    report = with_hints_for(Caller.AGENT, refusal(AppReport, problems))
    return ToolResult(text=refusal_text(report), structured=to_wire(report), is_refusal=True, meta=meta or {})
