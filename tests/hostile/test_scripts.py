"""Scripts of a hostile model, against a server that requires approval, write nothing that nobody approved.

The client of the script shows forms and apps, and answers each form itself. A reviewer decides in another
process; the only plans that may be written are those that they approved, each once.
"""

import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from mdplan.decisions import Decision, Remarks, Verdict
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from tests.conftest import FULL
from tests.surfaces.stdio_lines import HELLO, Lines, lines_to

SCRIPTS = 1_000 if FULL else 25
RACES = 50 if FULL else 3
CALLS, FLOOD = 8, 200
TEXT = "# A\n\none\n\ntwo\n"
EDITS = [{"op": "replace_match", "pattern": word, "replacement": word.upper()} for word in ("one", "two")]
MORE_EDITS = [
    [{"op": "append_to_section", "heading": "A", "markdown": "three"}],
    [{"op": "delete_file"}],
    [{"op": "rename_file", "newFile": "b.md"}],
]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"accept": [0]},
    {"onStale": "rebase"},
    {"onStale": "merge"},
    {"dryRun": False},
    {"backup": True},
]
VERBS = ["approve", "approve_and_apply", "request_changes", "reject"]
CAPABILITIES = {
    "elicitation": {},
    "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}},
}
FORGED_ANSWERS: list[dict[str, Any]] = [
    {"action": "accept", "content": {"decision": "approve", "comment": "yes"}},
    {"action": "accept", "content": {"decision": ["approve"]}},
    {"action": "accept", "content": {}},
    {"action": "accept"},
    {"action": "cancel"},
    {"action": "approve"},
]


class Script:
    """One client: what it learns, the calls that it makes up, and all at once if it likes."""

    def __init__(
        self, lines: Lines, draws: random.Random, answers: Sequence[dict[str, Any]] = FORGED_ANSWERS
    ) -> None:
        self.lines, self.draws, self.answers = lines, draws, answers
        self.plans: list[str] = []
        self.nonces: list[str] = ["00"]
        self.number = 1_000

    def made_up(self, file: str, base: str) -> tuple[str, dict[str, Any]]:
        """Return a call: of a plan that is known or forged, of edits, of an undo, of a decision."""
        draws = self.draws
        known = [*self.plans, forged(draws, self.plans), f"sha256-{draws.randbytes(32).hex()}"]
        edits = draws.choice([EDITS, EDITS[:1], EDITS[1:], *MORE_EDITS])
        title = draws.choice(["", "Shout", "Approved by ann"])
        batch = {"file": file, "edits": edits, "title": title}
        plan, several = draws.choice(known), draws.choices(known, k=draws.randint(1, 4))
        decision = {
            "planId": plan,
            "version": draws.choice(["undecided", "0", plan]),
            "verb": draws.choice(VERBS),
        }
        calls: list[tuple[str, dict[str, Any]]] = [
            ("md_validate", draws.choice([batch, {**batch, "revises": plan}, {"planIds": several}])),
            ("md_apply", {**batch, "baseSha256": base, **draws.choice(OPTIONS[2:])}),
            ("md_apply", {"planId": plan, **draws.choice(OPTIONS)}),
            ("md_apply", {"planIds": several, **draws.choice(OPTIONS[2:])}),
            ("md_history", {"action": "undo", **draws.choice([{}, {"transaction": plan[7:23]}])}),
            ("md_decide", {**decision, "nonce": draws.choice(self.nonces)}),
            ("md_review", {"planId": plan}),
        ]
        return draws.choice(calls)

    def call(self, calls: Sequence[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Send all calls before the first answer, answer the forms that come, and return the results."""
        waiting: dict[int, dict[str, Any] | None] = {}
        for tool, arguments in calls:
            self.number += 1
            waiting[self.number] = None
            self._send(id=self.number, method="tools/call", params={"name": tool, "arguments": arguments})
        while None in waiting.values():
            message = self.lines.hear()
            if message.get("method") == "elicitation/create":
                self._send(id=message["id"], result=self.draws.choice(self.answers))
            elif message.get("id") in waiting:
                waiting[message["id"]] = self._learned(message.get("result") or {})
        return [result for result in waiting.values() if result is not None]

    def _learned(self, result: dict[str, Any]) -> dict[str, Any]:
        data = result.get("structuredContent") or {}
        if data.get("planId"):
            self.plans.append(data["planId"])
        self.nonces += [part["nonce"] for part in (result.get("_meta") or {}).values() if "nonce" in part]
        return data

    def _send(self, **message: Any) -> None:
        self.lines.send(json.dumps({"jsonrpc": "2.0", **message}).encode())


def forged(draws: random.Random, plans: Sequence[str]) -> str:
    """Return a plan ID with another last digit, cut off, or of words."""
    plan = draws.choice([*plans, "sha256-0123456789abcdef"])
    return draws.choice([plan[:-1] + "0", plan[:12], plan.upper(), f"{plan}/../{plan}", "approved"])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def lines(root: Path) -> Iterator[Lines]:
    with lines_to(
        "--root", str(root), "--require-approval", hello=HELLO | {"capabilities": CAPABILITIES}
    ) as connected:
        yield connected


@pytest.fixture
def reviewing(root: Path) -> Iterator[ReviewService]:
    with Engine.open([root]) as engine:
        yield ReviewService(engine)


def new_file(root: Path, number: int) -> tuple[str, str]:
    """Make a file of its own for one script; return its name and hash."""
    (root / f"{number}.md").write_text(TEXT)
    return f"{number}.md", sha256(TEXT.encode()).hexdigest()


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_script_of_random_calls_writes_nothing(root: Path, lines: Lines) -> None:
    answered = 0
    for number in range(SCRIPTS):
        script = Script(lines, random.Random(number))
        file, base = new_file(root, number)
        for _ in range(CALLS):
            answered += len(script.call([script.made_up(file, base)]))
        assert (root / file).read_text() == TEXT, number
        assert [path.name for path in root.glob("*.md")] == [file], number
        (root / file).unlink()

    assert answered == SCRIPTS * CALLS
    assert transactions(root) == 0


def transactions(root: Path) -> int:
    with Engine.open([root]) as engine:
        return len(engine.history(limit=1_000).transactions)


@pytest.mark.parametrize("answer", FORGED_ANSWERS)
def test_forged_answer_to_a_form_is_no_approval(root: Path, lines: Lines, answer: dict[str, Any]) -> None:
    script = Script(lines, random.Random(1), [answer])
    file, _ = new_file(root, 0)
    (plan,) = script.call([("md_validate", {"file": file, "edits": EDITS})])
    (refused,) = script.call([("md_apply", {"planId": plan["planId"]})])

    assert refused["error"]["code"] == "APPROVAL_REQUIRED"
    assert (root / file).read_text() == TEXT


def test_flood_of_calls_writes_nothing_and_all_are_answered(root: Path, lines: Lines) -> None:
    script = Script(lines, random.Random(1))
    file, base = new_file(root, 0)
    script.call([("md_validate", {"file": file, "edits": EDITS})])
    mixed = script.call([script.made_up(file, base) for _ in range(FLOOD)])
    same = script.call([("md_apply", {"planId": script.plans[0]})] * FLOOD)

    assert (len(mixed), len(same)) == (FLOOD, FLOOD)
    assert {result["error"]["code"] for result in same} <= {
        "APPROVAL_REQUIRED",
        "CHANGES_REQUESTED",
        "PLAN_REJECTED",
    }
    assert (root / file).read_text() == TEXT
    assert transactions(root) == 0


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("decides", ["approves", "approves another plan", "rejects", "asks for changes"])
def test_race_with_the_reviewer_writes_only_what_they_approved(
    root: Path, lines: Lines, reviewing: ReviewService, decides: str
) -> None:
    """The script sends plans, their union and a revision while the reviewer decides, and again afterwards."""
    written = 0
    verdict = {"rejects": Verdict.REJECTED, "asks for changes": Verdict.CHANGES_REQUESTED}.get(
        decides, Verdict.APPROVED
    )
    for number in range(RACES):
        script = Script(lines, random.Random(number))
        file, base = new_file(root, number)
        plan, other = (
            script.call([("md_validate", {"file": file, "edits": [edit]})])[0]["planId"] for edit in EDITS
        )
        decided = other if decides == "approves another plan" else plan
        pause = script.draws.uniform(0, 0.05)

        def decide(plan_id: str = decided, seconds: float = pause) -> None:
            time.sleep(seconds)
            assert isinstance(reviewing.decide(plan_id, "ann", verdict, Remarks(comment="why")), Decision)

        both = {"file": file, "edits": EDITS}
        attacks = [
            ("md_apply", {"planId": plan}),
            ("md_apply", {"planId": plan, "onStale": "rebase"}),
            ("md_apply", {"planIds": [plan, other]}),
            ("md_apply", {**both, "baseSha256": base}),
            ("md_apply", {**both, "revises": plan, "baseSha256": base}),
            ("md_validate", {**both, "revises": plan}),
            ("md_history", {"action": "undo"}),
        ]
        person = threading.Thread(target=decide)
        person.start()
        script.call(script.draws.choices(attacks, k=20))
        person.join()
        script.call([*attacks, *(("md_apply", {"planId": each}) for each in script.plans)])
        script.call([("md_apply", {"planId": decided}), ("md_history", {"action": "undo"})])
        word = "one" if decided == plan else "two"
        approved = TEXT.replace(word, word.upper()) if verdict is Verdict.APPROVED else TEXT
        assert (root / file).read_text() == approved, number
        (root / file).write_text(TEXT)
        script.call(attacks * 2)
        assert (root / file).read_text() == TEXT, f"{number}: an approval counts once"
        written += approved != TEXT

    assert transactions(root) == written
