"""Ask the user of a client about a plan that needs approval, in both protocol generations.

Clients that open addresses send the user to the page of the plan; others show a form, whose answer is a
decision.

Since 2026-07-28 the call returns that it needs input and is sent again; before, the server asks while the
call runs. The client receives the address, so the address opens a page without the power to decide. A person
decides in a review opened from their own terminal, and the call continues once the decision is stored.

The answer to a form passes through the client, so an approval in it trusts the client: forms offer approval
only if the operator started the server with `--approve-in-chat`.
"""

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp import MCPError, types
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types.version import is_version_at_least
from pydantic import Field, ValidationError

from mdplan.mcp.tool import PendingPlan

if TYPE_CHECKING:
    from mdplan.mcp.review_app import ChatReview

_KEY: Final = "review"
_APPROVE: Final = "approve"

# Labels of a form, and the internal names.
_VERBS: Final = {_APPROVE: "approve", "request changes": "request_changes", "reject": "reject"}
_MOST_COMMENT: Final = 2_000
_MAY: Final = "To decide edit by edit, cancel, and run this in your own terminal"
_TOO_LONG: Final = "To approve, run this in your own terminal"
_MAY_NOT: Final = "This server takes no approvals from the chat. To approve, run this in your own terminal"

# Since then calls answer that they need input, and clients have tasks.
_SINCE: Final = "2026-07-28"

# By default clients give up on a call after about a minute.
DECISION_SECONDS: Final = 45.0
_POLL_SECONDS: Final = 0.25


Context: TypeAlias = ServerRequestContext[Any, Any]


@dataclass(slots=True)
class ToolCall:
    """A call of a tool as the SDK passes it on; it waits for a decision about the plan that is `pending`.

    With `may_ask` it asks the user of the client itself. One that `becomes_task` need not wait.
    """

    ctx: Context
    params: types.CallToolRequestParams
    may_ask: bool = True
    becomes_task: bool = False
    pending: PendingPlan | None = None

    @property
    def has_input_in_results(self) -> bool:
        """True if a call returns the input it needs, and is sent again."""
        return is_version_at_least(self.ctx.protocol_version, _SINCE)

    @property
    def elicitation(self) -> types.ElicitationCapability | None:
        """How the client asks its user, if it does."""
        capabilities = self.ctx.session.client_capabilities
        return capabilities.elicitation if capabilities is not None else None


CallTool: TypeAlias = Callable[[ToolCall], Awaitable[HandlerResult]]


def ask_for_review(
    plan: PendingPlan, call: ToolCall, decisions: "ChatReview | None"
) -> types.InputRequiredResult | bool:
    """Ask the user of the client about `plan`; called in the thread of the call.

    Return the result that makes the client ask, or True if a decision exists now, after at most
    DECISION_SECONDS. Forms appear if there are `decisions` for their answers.
    """
    elicitation = call.elicitation
    if elicitation is None:
        return False
    if plan.address is not None and elicitation.url is not None:
        return _send_to_page(plan, plan.address, call)
    # A client that names no mode shows forms.
    if decisions is not None and (elicitation.form is not None or elicitation.url is None):
        return _show_form(plan, call, decisions)
    return False


def _send_to_page(plan: PendingPlan, address: str, call: ToolCall) -> types.InputRequiredResult | bool:
    message = (
        f"An edit needs your approval: plan {plan.plan_id[:23]}. The link shows it. "
        f"To decide, run this in your own terminal: mdplan review {plan.plan_id[:23]}"
    )
    if not call.has_input_in_results:
        return anyio.from_thread.run(_asked_at_once, plan, message, call)
    if not call.params.input_responses:
        params = types.ElicitRequestURLParams(message=message, url=address)
        return types.InputRequiredResult(
            request_state=plan.plan_id, input_requests={_KEY: types.ElicitRequest(params=params)}
        )
    answer = call.params.input_responses.get(_KEY)
    is_open = getattr(answer, "action", None) == "accept"
    return is_open and anyio.from_thread.run(_decided, plan, call)


def _show_form(
    plan: PendingPlan, call: ToolCall, decisions: "ChatReview"
) -> types.InputRequiredResult | bool:
    """Ask in a form. The answer counts for the plan and the version of its decisions that the form was on."""
    seen = f"{plan.plan_id} {plan.version}"
    if call.has_input_in_results:
        if not call.params.input_responses:
            form = _form(plan, decisions)
            if form is None:
                return False
            return types.InputRequiredResult(
                request_state=seen, input_requests={_KEY: types.ElicitRequest(params=form)}
            )
        if call.params.request_state != seen:
            return False
        answer = call.params.input_responses.get(_KEY)
    else:
        form = _form(plan, decisions)
        answer = anyio.from_thread.run(_form_answer, form, call) if form is not None else None
    if not isinstance(answer, types.ElicitResult) or answer.action != "accept":
        return False
    given = answer.content or {}
    verb = _VERBS.get(str(given.get("decision")))
    question = decisions.question(plan.plan_id) if verb == _VERBS[_APPROVE] else None
    if verb == _VERBS[_APPROVE] and (question is None or not question.is_whole):
        return False
    return verb is not None and decisions.decide_in_form(
        plan.plan_id, plan.version, verb, str(given.get("comment") or "")
    )


def _form(plan: PendingPlan, decisions: "ChatReview") -> types.ElicitRequestFormParams | None:
    question = decisions.question(plan.plan_id)
    if question is None:
        return None
    # Nobody approves what they were not shown.
    may_approve = decisions.may_approve and question.is_whole
    verbs = [verb for verb in _VERBS if may_approve or verb != _APPROVE]
    elsewhere = f"mdplan review {plan.plan_id[:23]}"
    where = _MAY if may_approve else _TOO_LONG if decisions.may_approve else _MAY_NOT
    return types.ElicitRequestFormParams(
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


async def _form_answer(form: types.ElicitRequestFormParams, call: ToolCall) -> types.ElicitResult | None:
    try:
        answer: types.ElicitResult = await call.ctx.session.elicit_form(
            form.message, form.requested_schema, call.ctx.request_id
        )
    except (MCPError, ValidationError):
        return None
    return answer


async def _asked_at_once(plan: PendingPlan, message: str, call: ToolCall) -> bool:
    assert plan.address is not None
    asked = secrets.token_hex(16)
    try:
        answer = await call.ctx.session.elicit_url(message, plan.address, asked, call.ctx.request_id)
    except (MCPError, ValidationError):
        # The client cannot show addresses: tell the agent how to ask.
        return False
    if answer.action != "accept":
        return False
    is_decided = await _decided(plan, call)
    if is_decided:
        # Telling the client is optional.
        with suppress(Exception):
            await call.ctx.session.send_elicit_complete(asked)
    return is_decided


async def _decided(plan: PendingPlan, call: ToolCall) -> bool:
    """Return True if `plan` is decided in time. Meanwhile a listening client receives progress."""
    with anyio.move_on_after(0 if call.becomes_task else DECISION_SECONDS):
        seconds = 0.0
        while not plan.is_decided:
            await anyio.sleep(_POLL_SECONDS)
            seconds += _POLL_SECONDS
            if seconds.is_integer():
                await call.ctx.session.report_progress(seconds, None, "waiting for a decision")
        return True
    return plan.is_decided


# --- Tasks: calls that wait for a decision, for clients with `io.modelcontextprotocol/tasks`
#
# The client polls the task until a person has decided; then the call is repeated, and its result is that of
# the task. Nothing runs between two polls. Other clients receive the refusal, which says how to call again.

TASKS_ID: Final = "io.modelcontextprotocol/tasks"
_MISSING_CAPABILITY: Final = -32021

# As long as a person may take; the plan is kept longer.
_TTL_SECONDS: Final = 24 * 3600
_POLL_MS: Final = 5_000
_MOST_TASKS: Final = 100


@dataclass(slots=True)
class _Task:
    """A call that waits for a decision about `plan`, and its `params`."""

    plan: PendingPlan
    params: types.CallToolRequestParams
    result: dict[str, Any] | None = None
    is_cancelled: bool = False
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated: datetime = field(default_factory=lambda: datetime.now(UTC))
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def is_expired(self) -> bool:
        return (datetime.now(UTC) - self.created).total_seconds() > _TTL_SECONDS

    def wire(self, task_id: str) -> dict[str, Any]:
        """Return the task in wire form."""
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


class TaskParams(types.RequestParams):
    """Names a task."""

    task_id: str = Field(alias="taskId")


class Tasks:
    """Tasks of one server, in its memory: they end with it, and the plans stay. `call` calls a tool."""

    identifier: Final = TASKS_ID

    def __init__(self, call: CallTool) -> None:
        self._call = call
        self._tasks: OrderedDict[str, _Task] = OrderedDict()

    def add_to(self, server: Server[Any]) -> None:
        """Let `server` answer calls of tools, and what a client does with a task."""
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_or_wait)
        server.add_request_handler("tasks/get", TaskParams, self._get)
        server.add_request_handler("tasks/update", TaskParams, self._update)
        server.add_request_handler("tasks/cancel", TaskParams, self._cancel)

    async def _call_or_wait(self, ctx: Context, params: types.CallToolRequestParams) -> HandlerResult:
        """Return the result of the call, or a task if the call waits for a decision."""
        call = ToolCall(ctx, params, becomes_task=_has_tasks(ctx))
        result = await self._call(call)
        if not call.becomes_task or call.pending is None or not isinstance(result, types.CallToolResult):
            return result
        task_id = secrets.token_urlsafe(24)
        task = self._tasks[task_id] = _Task(call.pending, params)
        while len(self._tasks) > _MOST_TASKS:
            self._tasks.popitem(last=False)
        return {"resultType": "task", **task.wire(task_id)}

    async def _get(self, ctx: Context, params: TaskParams) -> HandlerResult:
        task = self._named(ctx, params)
        async with task.lock:
            is_open = task.result is None and not task.is_cancelled
            if is_open and await anyio.to_thread.run_sync(lambda: task.plan.is_decided):
                await self._call_again(task, ctx)
        return task.wire(params.task_id)

    async def _call_again(self, task: _Task, ctx: Context) -> None:
        """Repeat the call. If it waits again, as after a revoked approval, so does the task."""
        call = ToolCall(ctx, task.params, may_ask=False, becomes_task=True)
        result = await self._call(call)
        task.updated = datetime.now(UTC)
        if call.pending is not None:
            task.plan = call.pending
        elif isinstance(result, types.CallToolResult):
            task.result = result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def _update(self, ctx: Context, params: TaskParams) -> HandlerResult:
        self._named(ctx, params)
        return {}

    async def _cancel(self, ctx: Context, params: TaskParams) -> HandlerResult:
        task = self._named(ctx, params)
        async with task.lock:
            if task.result is None:
                task.is_cancelled = True
        return {}

    def _named(self, ctx: Context, params: TaskParams) -> _Task:
        """Return the task. Raises `MCPError` if it is missing, or if the client has no tasks."""
        if not is_version_at_least(ctx.protocol_version, _SINCE):
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method)
        if not _has_tasks(ctx):
            needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS_ID: {}}}}
            raise MCPError(_MISSING_CAPABILITY, "Missing required client capability", needed)
        task = self._tasks.get(params.task_id)
        if task is None or task.is_expired:
            raise MCPError(types.INVALID_PARAMS, "there is no such task: call the tool again with the planId")
        return task


def _has_tasks(ctx: Context) -> bool:
    """Return True if the client of the request declares tasks."""
    capabilities = ctx.session.client_capabilities
    extensions = capabilities.extensions if capabilities is not None else None
    is_new = is_version_at_least(ctx.protocol_version, _SINCE)
    return is_new and extensions is not None and TASKS_ID in extensions
