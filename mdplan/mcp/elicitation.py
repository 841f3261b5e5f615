"""Sends the user of a client to the page of a plan that needs an approval, in both protocol generations.

Since 2026-07-28 the call answers that it needs input and is sent again; before, the server asks while the
call runs. The client receives the address, so the address opens a page without the power to decide. A person
decides in a review that they opened from their own terminal, and the call goes on once that is stored.
"""

import secrets
from contextlib import suppress
from typing import Any, Final

import anyio
import anyio.from_thread
from mcp import MCPError
from mcp.server.mcpserver import Context
from mcp.types import ElicitRequest, ElicitRequestURLParams, InputRequiredResult
from mcp_types.version import is_version_at_least

from mdplan.mcp.pending_plans import PendingPlan

_KEY: Final = "review"
_INPUT_IN_RESULTS: Final = "2026-07-28"
# Clients give up on a call after a minute or so, unless they are told otherwise.
DECISION_SECONDS: Final = 45.0
_POLL_SECONDS: Final = 0.25


def ask_for_review(plan: PendingPlan, context: Context[Any, Any]) -> InputRequiredResult | bool:
    """Send the user of the client to the page of `plan`; called in the thread of the call.

    What the call has to answer so that the client asks; or whether there is a decision now, after waiting for
    one as long as DECISION_SECONDS.
    """
    if plan.address is None or not _opens_addresses(context):
        return False
    message = (
        f"An edit needs your approval: plan {plan.plan_id[:23]}. The link shows it. "
        f"To decide, run this in your own terminal: mdplan review {plan.plan_id[:23]}"
    )
    if is_version_at_least(context.protocol_version or "", _INPUT_IN_RESULTS):
        if not context.input_responses:
            params = ElicitRequestURLParams(message=message, url=plan.address)
            return InputRequiredResult(
                request_state=plan.plan_id, input_requests={_KEY: ElicitRequest(params=params)}
            )
        answer = context.input_responses.get(_KEY)
        is_open = getattr(answer, "action", None) == "accept"
        return is_open and anyio.from_thread.run(_decided, plan, context)
    return anyio.from_thread.run(_asked_at_once, plan, message, context)


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
    """Whether there is a decision on `plan` in time. A client that listens is told that the call lives."""
    with anyio.move_on_after(DECISION_SECONDS):
        seconds = 0.0
        while not plan.is_decided:
            await anyio.sleep(_POLL_SECONDS)
            seconds += _POLL_SECONDS
            if seconds.is_integer():
                await context.report_progress(seconds, None, "waiting for a decision")
        return True
    return plan.is_decided
