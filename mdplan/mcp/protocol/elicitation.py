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
from contextlib import suppress
from typing import Any, Final

import anyio
import anyio.from_thread
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import is_version_at_least

from mdplan.mcp.calls.current_call import PendingPlan
from mdplan.mcp.protocol.tasks import has_task
from mdplan.mcp.tool import ChatDecisions

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


def _shows_forms(context: Context[Any, Any]) -> bool:
    capabilities = context.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    # A client that names no mode shows forms.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def _opens_addresses(context: Context[Any, Any]) -> bool:
    capabilities = context.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
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
