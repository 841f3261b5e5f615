"""A call that waits for a decision becomes a task, where the client has `io.modelcontextprotocol/tasks`.

The client asks for the task until a person has decided; then the call is made again, and its result is that
of the task. Nothing runs between two questions. Other clients get the refusal, which says how to ask again.
"""

import secrets
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import anyio.to_thread
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.extension import Extension, MethodBinding
from mcp.types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, RequestParams
from mcp_types.version import is_version_at_least
from pydantic import Field

from mdplan.mcp.calls.current_call import PendingPlan

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


_OUTCOME: Final[ContextVar[CallOutcome | None]] = ContextVar("outcome", default=None)


def note_waiting(plan: PendingPlan) -> None:
    """Note that the current call waits for a decision about `plan`, if its client has tasks."""
    outcome = _OUTCOME.get()
    if outcome is not None:
        outcome.pending = plan


def may_ask() -> bool:
    """Whether the current call may ask the user of the client; the answer to `tasks/get` may not."""
    outcome = _OUTCOME.get()
    return outcome is None or outcome.may_ask


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
