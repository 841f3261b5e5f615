"""A call that waits for a decision is a task, for clients that have tasks."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim, advertise
from mcp.types import CallToolResult, Request, RequestParams, Result
from pydantic import ConfigDict, Field

from mdplan.decisions import Remarks, Verdict
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import DecisionTerms, ReviewService
from mdplan.mcp.approval import TASKS_ID
from tests.surfaces.mcp_calls import Calls, calls_to, process

EDIT = {"op": "replace_match", "pattern": "old", "replacement": "new"}


class CreatedTask(Result):
    """The handle of a task, as the specification of the extension has it."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    result_type: Literal["task"] = Field(alias="resultType")
    task_id: str = Field(alias="taskId")
    status: str
    status_message: str = Field(default="", alias="statusMessage")
    poll_interval_ms: int = Field(alias="pollIntervalMs")


class DetailedTask(Result):
    """What `tasks/get` gives."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    result_type: str = Field(default="", alias="resultType")
    task_id: str = Field(default="", alias="taskId")
    status: str = ""
    result: dict[str, Any] | None = None


async def _no_resolve(claimed: CreatedTask, context: ClaimContext) -> CallToolResult:
    raise AssertionError("tests ask by themselves")


class TasksOfClient(ClientExtension):
    """A client that knows tasks."""

    identifier = TASKS_ID

    def claims(self) -> Any:
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=_no_resolve)]


FILES = {"a.md": "# A\n\nold\n"}


@pytest.fixture
def reviewing(root: Path) -> ReviewService:
    return ReviewService(Engine.open([root]))


@contextmanager
def agent(root: Path, mode: str = "auto", **options: Any) -> Iterator[Calls]:
    with calls_to(process("--root", str(root), "--require-approval"), mode, **options) as calls:
        yield calls


def started(calls: Calls) -> CreatedTask:
    """The task of an apply that waits."""
    call = partial(
        calls.client.session.call_tool,
        "md_apply",
        {"file": "a.md", "edits": [EDIT | {"expectedMatchCount": 1}]},
        allow_claimed=True,
    )
    task = calls.portal.call(call)
    assert isinstance(task, CreatedTask), task
    return task


def asked(calls: Calls, method: str, task_id: str) -> DetailedTask:
    request: Request[Any, Any] = Request(method=method, params=_Params(taskId=task_id))
    return calls.portal.call(calls.client.session.send_request, request, DetailedTask)


class _Params(RequestParams):
    model_config = ConfigDict(populate_by_name=True)

    task_id: str = Field(alias="taskId", serialization_alias="taskId")


def pending(reviewing: ReviewService) -> str:
    (entry,) = reviewing.entries()
    return entry.review.plan_id


def test_task_completes_with_the_commit_once_a_person_approved(root: Path, reviewing: ReviewService) -> None:
    with agent(root, extensions=[TasksOfClient()]) as calls:
        task = started(calls)
        assert task.status == "working"
        assert "mdplan review sha256-" in task.status_message
        assert asked(calls, "tasks/get", task.task_id).status == "working"
        assert (root / "a.md").read_text() == "# A\n\nold\n"

        reviewing.decide(pending(reviewing), "ann", Verdict.APPROVED, Remarks(comment="go on"))
        done = asked(calls, "tasks/get", task.task_id)
        again = asked(calls, "tasks/get", task.task_id)

    assert (done.result_type, done.status) == ("complete", "completed")
    assert done.result["structuredContent"]["applied"] is True
    assert done.result["structuredContent"]["approved"]["decidedBy"] == "ann"
    # The result of a task stays what it was.
    assert again.result == done.result
    assert (root / "a.md").read_text() == "# A\n\nnew\n"


def test_task_completes_with_the_refusal_when_changes_are_requested(
    root: Path, reviewing: ReviewService
) -> None:
    with agent(root, extensions=[TasksOfClient()]) as calls:
        task = started(calls)
        reviewing.decide(
            pending(reviewing), "ann", Verdict.CHANGES_REQUESTED, Remarks(comment="not this word")
        )
        done = asked(calls, "tasks/get", task.task_id)

    assert done.status == "completed"
    assert done.result["isError"] is True
    assert done.result["structuredContent"]["error"]["code"] == "CHANGES_REQUESTED"
    assert "not this word" in done.result["content"][0]["text"]


def test_cancelled_task_commits_nothing(root: Path, reviewing: ReviewService) -> None:
    with agent(root, extensions=[TasksOfClient()]) as calls:
        task = started(calls)
        asked(calls, "tasks/cancel", task.task_id)
        reviewing.decide(pending(reviewing), "ann", Verdict.APPROVED)

        assert asked(calls, "tasks/get", task.task_id).status == "cancelled"
    assert (root / "a.md").read_text() == "# A\n\nold\n"


def test_task_ends_with_the_refusal_when_the_approval_is_revoked(
    root: Path, reviewing: ReviewService
) -> None:
    with agent(root, extensions=[TasksOfClient()]) as calls:
        task = started(calls)
        plan_id = pending(reviewing)
        reviewing.decide(plan_id, "ann", Verdict.APPROVED)
        saw = reviewing.open(plan_id).decisions.version
        reviewing.decide(
            plan_id, "ann", Verdict.REJECTED, Remarks(comment="no"), terms=DecisionTerms(saw=saw)
        )
        done = asked(calls, "tasks/get", task.task_id)

    assert done.result["structuredContent"]["error"]["code"] == "PLAN_REJECTED"
    assert (root / "a.md").read_text() == "# A\n\nold\n"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_client_without_tasks_gets_the_retry_hint_at_once(root: Path, mode: str) -> None:
    with agent(root, mode) as calls:
        refused = calls.call("md_apply", {"file": "a.md", "edits": [EDIT | {"expectedMatchCount": 1}]})

    assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"
    assert refused.data["planId"] in refused.text
    assert "then apply it again" in refused.data["error"]["hint"]


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_unknown_task_and_client_without_tasks_are_errors(root: Path, method: str) -> None:
    with agent(root, extensions=[TasksOfClient()]) as calls:
        with pytest.raises(MCPError) as unknown:
            asked(calls, method, "none")
        task = started(calls)
        with agent(root) as other, pytest.raises(MCPError) as missing:
            asked(other, method, task.task_id)

    assert unknown.value.error.code == -32602
    assert missing.value.error.code == -32021


def test_task_of_one_server_is_unknown_to_another(root: Path) -> None:
    with (
        agent(root, extensions=[TasksOfClient()]) as calls,
        agent(root, extensions=[TasksOfClient()]) as other,
    ):
        task = started(calls)
        with pytest.raises(MCPError):
            asked(other, "tasks/get", task.task_id)


def test_only_apply_calls_become_tasks(root: Path) -> None:
    with agent(root, extensions=[TasksOfClient()]) as calls:
        planned = calls.call("md_validate", {"file": "a.md", "edits": [EDIT]})
        read = calls.call("md_read", {"file": "a.md"})

    assert planned.data["planId"]
    assert not read.is_error


def test_server_declares_tasks(root: Path) -> None:
    with agent(root, extensions=[advertise("com.example/none", {})]) as calls:
        capabilities = calls.client.server_capabilities

    assert TASKS_ID in capabilities.extensions
