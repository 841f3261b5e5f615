"""Asks the user of a client about a plan that needs an approval, in both protocol generations.

Clients that open addresses send the user to the page of the plan; others show a form, whose answer is a
decision of its own.

Since 2026-07-28 the call answers that it needs input and is sent again; before, the server asks while the
call runs. The client receives the address, so the address opens a page without the power to decide. A person
decides in a review that they opened from their own terminal, and the call goes on once that is stored.

The answer to a form passes through the client, so an approval in it trusts the client: forms offer one only
where the operator started the server with `--approve-in-chat`.
"""

import secrets
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp import MCPError
from mcp.server.apps import client_supports_apps
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    RequestParams,
)
from mcp_types.version import is_version_at_least
from pydantic import Field

from mdplan.mcp.tool import ChatDecisions, PendingPlan

_KEY: Final = "review"
_APPROVE: Final = "approve"

# What a person reads in a form, and what it is called elsewhere.
_VERBS: Final = {_APPROVE: "approve", "request changes": "request_changes", "reject": "reject"}
_MOST_COMMENT: Final = 2_000
_MAY: Final = "To decide edit by edit, cancel, and run this in your own terminal"
_TOO_LONG: Final = "To approve, run this in your own terminal"
_MAY_NOT: Final = "This server takes no approvals from the chat. To approve, run this in your own terminal"
_INPUT_IN_RESULTS: Final = "2026-07-28"

# Clients give up on a call after a minute or so, unless they are told otherwise.
DECISION_SECONDS: Final = 45.0
_POLL_SECONDS: Final = 0.25


def ask_for_review(
    plan: PendingPlan, context: Context[Any, Any], decisions: ChatDecisions | None
) -> InputRequiredResult | bool:
    """Ask the user of the client about `plan`; called in the thread of the call.

    What the call has to answer so that the client asks; or whether there is a decision now, after waiting for
    one as long as DECISION_SECONDS. Forms are shown where there are `decisions` that they can become.
    """
    if plan.address is not None and _opens_addresses(context):
        return _send_to_page(plan, plan.address, context)
    if decisions is not None and _shows_forms(context):
        return _show_form(plan, context, decisions)
    return False


def _send_to_page(plan: PendingPlan, address: str, context: Context[Any, Any]) -> InputRequiredResult | bool:
    message = (
        f"An edit needs your approval: plan {plan.plan_id[:23]}. The link shows it. "
        f"To decide, run this in your own terminal: mdplan review {plan.plan_id[:23]}"
    )
    if not _gives_input_in_results(context):
        return anyio.from_thread.run(_asked_at_once, plan, message, context)
    if not context.input_responses:
        params = ElicitRequestURLParams(message=message, url=address)
        return InputRequiredResult(
            request_state=plan.plan_id, input_requests={_KEY: ElicitRequest(params=params)}
        )
    answer = context.input_responses.get(_KEY)
    is_open = getattr(answer, "action", None) == "accept"
    return is_open and anyio.from_thread.run(_decided, plan, context)


def _show_form(
    plan: PendingPlan, context: Context[Any, Any], decisions: ChatDecisions
) -> InputRequiredResult | bool:
    """Ask in a form. The answer counts for the plan and the version of its decisions that the form was on."""
    seen = f"{plan.plan_id} {plan.version}"
    if _gives_input_in_results(context):
        if not context.input_responses:
            form = _form(plan, decisions)
            if form is None:
                return False
            return InputRequiredResult(request_state=seen, input_requests={_KEY: ElicitRequest(params=form)})
        if context.request_state != seen:
            return False
        answer = context.input_responses.get(_KEY)
    else:
        form = _form(plan, decisions)
        answer = anyio.from_thread.run(_form_answer, form, context) if form is not None else None
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return False
    given = answer.content or {}
    verb = _VERBS.get(str(given.get("decision")))
    if verb == _VERBS[_APPROVE] and not _is_whole(plan, decisions):
        return False
    return verb is not None and decisions.decide_in_form(
        plan.plan_id, plan.version, verb, str(given.get("comment") or "")
    )


def _form(plan: PendingPlan, decisions: ChatDecisions) -> ElicitRequestFormParams | None:
    question = decisions.question(plan.plan_id)
    if question is None:
        return None
    # Nobody approves what they were not shown.
    may_approve = decisions.may_approve and question.is_whole
    verbs = [verb for verb in _VERBS if may_approve or verb != _APPROVE]
    elsewhere = f"mdplan review {plan.plan_id[:23]}"
    where = _MAY if may_approve else _TOO_LONG if decisions.may_approve else _MAY_NOT
    return ElicitRequestFormParams(
        message=f"{question.text}\n\n{where}: {elsewhere}",
        requested_schema={
            "type": "object",
            "properties": {
                "decision": {"type": "string", "title": "Decision", "enum": verbs},
                "comment": {"type": "string", "title": "Comment for the agent", "maxLength": _MOST_COMMENT},
            },
            "required": ["decision"],
        },
    )


def _is_whole(plan: PendingPlan, decisions: ChatDecisions) -> bool:
    question = decisions.question(plan.plan_id)
    return question is not None and question.is_whole


async def _form_answer(form: ElicitRequestFormParams, context: Context[Any, Any]) -> ElicitResult | None:
    try:
        answer: ElicitResult = await context.session.elicit_form(
            form.message, form.requested_schema, context.request_id
        )
    except MCPError:
        return None
    return answer


def _gives_input_in_results(context: Context[Any, Any]) -> bool:
    return is_version_at_least(context.protocol_version or "", _INPUT_IN_RESULTS)


def _elicitation(context: Context[Any, Any]) -> ElicitationCapability | None:
    capabilities = context.client_capabilities
    return capabilities.elicitation if capabilities is not None else None


def _shows_forms(context: Context[Any, Any]) -> bool:
    elicitation = _elicitation(context)
    # A client that names no mode shows forms.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _opens_addresses(context: Context[Any, Any]) -> bool:
    elicitation = _elicitation(context)
    return elicitation is not None and elicitation.url is not None


async def _asked_at_once(plan: PendingPlan, message: str, context: Context[Any, Any]) -> bool:
    assert plan.address is not None
    asked = secrets.token_hex(16)
    try:
        answer = await context.elicit_url(message, plan.address, asked)
    except MCPError:
        # The client can show no address after all: the agent is told how to ask.
        return False
    if answer.action != "accept":
        return False
    is_decided = await _decided(plan, context)
    if is_decided:
        # That the client was told is a courtesy.
        with suppress(Exception):
            await context.session.send_elicit_complete(asked)
    return is_decided


async def _decided(plan: PendingPlan, context: Context[Any, Any]) -> bool:
    """Whether `plan` is decided in time. Meanwhile a client that listens receives progress."""
    with anyio.move_on_after(0 if has_task() else DECISION_SECONDS):
        seconds = 0.0
        while not plan.is_decided:
            await anyio.sleep(_POLL_SECONDS)
            seconds += _POLL_SECONDS
            if seconds.is_integer():
                await context.report_progress(seconds, None, "waiting for a decision")
        return True
    return plan.is_decided


# --- Tasks: calls that wait for a decision, for clients with `io.modelcontextprotocol/tasks`
#
# The client asks for the task until a person has decided; then the call is made again, and its result is that
# of the task. Nothing runs between two questions. Other clients receive the refusal, which says how to ask
# again.

TASKS_ID: Final = "io.modelcontextprotocol/tasks"
_SINCE: Final = "2026-07-28"
_MISSING_CAPABILITY: Final = -32021

# As long as a person may take; the plan is kept longer.
_TTL_SECONDS: Final = 24 * 3600
_POLL_MS: Final = 5_000
_MOST_TASKS: Final = 100


@dataclass(slots=True)
class CallOutcome:
    """What the current call waits for. With `may_ask` the call asks the user of the client itself."""

    may_ask: bool = True
    pending: PendingPlan | None = None


def may_ask() -> bool:
    """Whether the current call may ask the user of the client; the answer to `tasks/get` may not."""
    outcome = _OUTCOME.get()
    return outcome is None or outcome.may_ask


_OUTCOME: Final[ContextVar[CallOutcome | None]] = ContextVar("outcome", default=None)


def record_waiting(plan: PendingPlan) -> None:
    """Record that the current call waits for a decision about `plan`, if its client has tasks."""
    outcome = _OUTCOME.get()
    if outcome is not None:
        outcome.pending = plan


def has_task() -> bool:
    """Whether the current call becomes a task where it waits, and so has not to wait itself."""
    return _OUTCOME.get() is not None


@contextmanager
def _outcome_of(*, may_ask: bool) -> Iterator[CallOutcome]:
    outcome = CallOutcome(may_ask)
    token = _OUTCOME.set(outcome)
    try:
        yield outcome
    finally:
        _OUTCOME.reset(token)


@dataclass(slots=True)
class _Task:
    """A call that waits for a decision about `plan`, and what makes it again."""

    plan: PendingPlan
    again: CallNext
    result: dict[str, Any] | None = None
    is_cancelled: bool = False
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated: datetime = field(default_factory=lambda: datetime.now(UTC))
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def is_expired(self) -> bool:
        return (datetime.now(UTC) - self.created).total_seconds() > _TTL_SECONDS

    def wire(self, task_id: str) -> dict[str, Any]:
        """The task as its client reads it."""
        status = "cancelled" if self.is_cancelled else "working" if self.result is None else "completed"
        short = self.plan.plan_id[:23]
        waits = f"A person has to decide: ask the user to run `mdplan review {short}` in a terminal."
        return {
            "taskId": task_id,
            "status": status,
            **({"statusMessage": waits} if status == "working" else {}),
            "createdAt": self.created.isoformat(),
            "lastUpdatedAt": self.updated.isoformat(),
            "ttlMs": _TTL_SECONDS * 1_000,
            "pollIntervalMs": _POLL_MS,
            **({"result": self.result} if status == "completed" else {}),
        }


class TaskParams(RequestParams):
    """Names a task."""

    task_id: str = Field(alias="taskId")


class Tasks(Extension):
    """Tasks of one server, in its memory: they end with it, and the plans stay."""

    identifier = TASKS_ID

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, _Task] = OrderedDict()

    def methods(self) -> Sequence[MethodBinding]:
        """What a client does with a task."""
        versions = frozenset({_SINCE})
        return (
            MethodBinding("tasks/get", TaskParams, self._get, versions),
            MethodBinding("tasks/update", TaskParams, self._update, versions),
            MethodBinding("tasks/cancel", TaskParams, self._cancel, versions),
        )

    async def intercept_tool_call(
        self, params: CallToolRequestParams, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """The result of the call, or a task where the call waits for a decision."""
        del params
        if not _has_tasks(ctx):
            return await call_next(ctx)
        with _outcome_of(may_ask=True) as outcome:
            result = await call_next(ctx)
        if outcome.pending is None or not isinstance(result, CallToolResult):
            return result
        task_id = secrets.token_urlsafe(24)
        task = self._tasks[task_id] = _Task(outcome.pending, call_next)
        while len(self._tasks) > _MOST_TASKS:
            self._tasks.popitem(last=False)
        return {"resultType": "task", **task.wire(task_id)}

    async def _get(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> HandlerResult:
        task = self._named(ctx, params)
        async with task.lock:
            is_open = task.result is None and not task.is_cancelled
            if is_open and await anyio.to_thread.run_sync(lambda: task.plan.is_decided):
                await self._call_again(task, ctx)
        return task.wire(params.task_id)

    async def _call_again(self, task: _Task, ctx: ServerRequestContext[Any, Any]) -> None:
        """Make the call again. Where it waits once more, as after a revoked approval, so does the task."""
        with _outcome_of(may_ask=False) as outcome:
            result = await task.again(ctx)
        task.updated = datetime.now(UTC)
        if outcome.pending is not None:
            task.plan = outcome.pending
        elif isinstance(result, CallToolResult):
            task.result = result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def _update(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> HandlerResult:
        self._named(ctx, params)
        return {}

    async def _cancel(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> HandlerResult:
        task = self._named(ctx, params)
        async with task.lock:
            if task.result is None:
                task.is_cancelled = True
        return {}

    def _named(self, ctx: ServerRequestContext[Any, Any], params: TaskParams) -> _Task:
        """The task; raises `MCPError` for none, and for a client that has no tasks."""
        if not _has_tasks(ctx):
            needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS_ID: {}}}}
            raise MCPError(_MISSING_CAPABILITY, "Missing required client capability", needed)
        task = self._tasks.get(params.task_id)
        if task is None or task.is_expired:
            raise MCPError(INVALID_PARAMS, "there is no such task: call the tool again with the planId")
        return task


def _has_tasks(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client of the request declares tasks."""
    capabilities = ctx.session.client_capabilities
    extensions = capabilities.extensions if capabilities is not None else None
    is_new = is_version_at_least(ctx.protocol_version or "", _SINCE)
    return is_new and extensions is not None and TASKS_ID in extensions


# --- MCP Apps: clients without them see no App, no tool of one, and no link to one

_UI: Final = "ui"
_SCHEME: Final = "ui://"


def hide_apps(server: MCPServer[Any]) -> None:
    """Let `server` show Apps only to clients that declare the capability."""
    server.middleware.append(_hide)


async def _hide(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    if ctx.method == "tools/list":
        return _with_tools_for(await call_next(ctx), has_apps=client_supports_apps(ctx))
    if ctx.method == "resources/list" and not client_supports_apps(ctx):
        result = await call_next(ctx)
        if isinstance(result, dict):
            result["resources"] = [each for each in result["resources"] if not _is_app(each)]
        return result
    if ctx.method == "resources/read" and _is_app(ctx.params or {}) and not client_supports_apps(ctx):
        raise MCPError(INVALID_PARAMS, "this server shows Apps only to clients that declare MCP Apps")
    return await call_next(ctx)


def _with_tools_for(result: HandlerResult, *, has_apps: bool) -> HandlerResult:
    if has_apps or not isinstance(result, dict):
        return result
    tools = []
    for tool in result["tools"]:
        meta = dict(tool.get("_meta") or {})
        link = meta.pop(_UI, None)
        if link is None or link.get("visibility") != ["app"]:
            tools.append({**tool, "_meta": meta} if link is not None else tool)
    return {**result, "tools": tools}


def _is_app(named: Any) -> bool:  # noqa: ANN401 (a part of a message)
    return str(named.get("uri", "")).startswith(_SCHEME)
