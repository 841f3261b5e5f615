"""An agent and a person agree on a plan: the whole dialogue, over a server in a process of its own.

The agent is the SDK's client over stdio. The person answers in the App of the chat, whose calls go through
the same client, or at a terminal with `mdplan review` in another process.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import Implementation

from mdplan.engine.engine import Engine
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService
from mdplan.storage.decisions import Channel, Decision, LineComment, Side
from tests.surfaces.mcp_calls import GENERATIONS, Calls, Result, calls_to, process
from tests.three_edits import GUIDE, change

APPS: Final = advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})
AGENT: Final = Implementation(name="robo", version="4.2")
WORDS: Final = {"title": "Write numbers as digits", "description": "The style guide wants it."}
COMMENTS: Final = ((3, "Spell it out."), (11, "Say what three there are."))

# Answers for the person: the plan, whether to approve it, and comments on lines after it.
Answer = Callable[[str, bool, tuple[tuple[int, str], ...]], None]


FILES = {"a.md": GUIDE}


@dataclass
class Dialogue:
    """The agent, with what the host of its chat received for the App."""

    calls: Calls
    facts: dict[str, Any]

    def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        result = self.calls.portal.call(self.calls.client.call_tool, tool, arguments)
        meta = result.meta or {}
        self.facts = meta.get("mdplan/review", self.facts)
        text = "".join(getattr(block, "text", "") for block in result.content)
        return Result(text, result.structured_content, bool(result.is_error))

    def in_the_app(self, plan_id: str, approves: bool, comments: tuple[tuple[int, str], ...]) -> None:
        """The person decides in the App on the plan that the chat shows."""
        assert self.facts["planId"].startswith(plan_id)
        lines = [
            {"file": "a.md", "side": "after", "start": line, "end": line, "text": text}
            for line, text in comments
        ]
        decided = self.call(
            "md_decide",
            {
                **{name: self.facts[name] for name in ("planId", "version", "nonce")},
                "verb": "approve" if approves else "request_changes",
                "lineComments": lines,
            },
        )
        assert not decided.is_error, decided.text


def beside_the_chat(root: Path, channel: Channel) -> Answer:
    """The person decides in another process than the server."""

    def decide(plan_id: str, approves: bool, comments: tuple[tuple[int, str], ...]) -> None:
        reviewing = ReviewService(Engine.open([root]))
        opened = reviewing.open(plan_id)
        assert isinstance(opened, OpenPlan)
        terms = DecisionTerms(saw=opened.decisions.version, channel=channel)
        lines = [
            LineComment(file="a.md", side=Side.AFTER, start=line, end=line, text=text)
            for line, text in comments
        ]
        verb = reviewing.approve if approves else reviewing.request_changes
        assert isinstance(verb(plan_id, "ann", line_comments=lines, terms=terms), Decision)

    return decide


@pytest.mark.parametrize("mode", GENERATIONS)
@pytest.mark.parametrize("way", ["chat app", "terminal"])
def test_agent_and_person_agree_on_a_plan(root: Path, mode: str, way: str) -> None:
    server = process("--root", str(root), "--require-approval", "--approve-in-chat")
    options = {"extensions": [APPS], "client_info": AGENT}
    with calls_to(server, mode, **options) as calls:
        agent = Dialogue(calls, {})
        answer: Answer = agent.in_the_app if way == "chat app" else beside_the_chat(root, Channel(way))

        # The agent plans, and may not commit.
        edits = [change("one", "1"), change("two", "2"), change("three", "3")]
        first = agent.call("md_validate", {"file": "a.md", "edits": edits, **WORDS})
        plan_id = first.data["planId"]
        assert "review" not in first.data
        refused = agent.call("md_apply", {"planId": plan_id})
        assert refused.data["error"]["code"] == "APPROVAL_REQUIRED"

        # The person comments on two lines, and requests changes.
        answer(plan_id, False, COMMENTS)
        refused = agent.call("md_apply", {"planId": plan_id})
        assert refused.data["error"]["code"] == "CHANGES_REQUESTED"
        assert f'`"revises": "{plan_id}"`: md_validate' in refused.data["error"]["hint"]

        # The agent reads the comments, by edit and line.
        (review,) = agent.call("md_history", {"planId": plan_id}).data["reviews"]
        assert (review["verdict"], review["channel"]) == ("changes requested", way)
        assert [
            (each["editIndex"], each["startLine"], each["quote"], each["text"]) for each in review["comments"]
        ] == [(0, 3, "1", COMMENTS[0][1]), (2, 11, "3", COMMENTS[1][1])]
        assert agent.call("md_history", {}).data["reviews"] == [review]

        # It revises the plan, and both see what differs.
        revised = [change("two", "2"), change("three", "three of them")]
        second = agent.call("md_validate", {"file": "a.md", "edits": revised, "revises": plan_id, **WORDS})
        compared = second.data["review"]["comparison"]
        assert compared["against"] == plan_id
        changed = [
            line for line in compared["diff"].splitlines() if line[:1] in "+-" and line[1:2] not in "+-"
        ]
        assert changed == ["-1", "+one", "-3", "+three of them"]
        assert [each["outdated"] for each in second.data["review"]["comments"]] == [True, True]
        assert "From that plan to" in second.text

        # The person approves, and the agent commits exactly that.
        plan_id = second.data["planId"]
        answer(plan_id, True, ())
        applied = agent.call("md_apply", {"planId": plan_id})
        assert applied.data["applied"], applied.text
        assert applied.data["approved"]["channel"] == way
        history = agent.call("md_history", {"verbosity": "full"}).data

    assert (root / "a.md").read_text() == GUIDE.replace("two", "2").replace("three", "three of them")
    assert history.get("reviews", []) == []
    (entry,) = history["transactions"]
    assert (entry["title"], entry["client"]) == (WORDS["title"], {"name": "robo", "version": "4.2"})
