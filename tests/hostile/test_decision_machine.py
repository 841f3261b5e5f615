"""Every sequence of planning, deciding, deriving, undoing and applying keeps two promises.

Nothing is committed that a person did not approve in exactly that version, and no approval is used twice.
"""

import json
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from mdplan.engine.caller import Caller, client_actor
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService
from mdplan.settings import Settings
from mdplan.storage.user.decisions import Channel, Decision
from mdplan.storage.user.user_state import STATE_DIRECTORY_VARIABLE
from mdplan.storage.workspace import Workspace
from tests.conftest import FULL

WORDS = ("one", "two", "three")
TEXT = "# A\n\none\n\ntwo\n\nthree\n"
EDITS = [{"op": "replace_match", "pattern": word, "replacement": word.upper()} for word in WORDS]
REVIEWERS = ("ann", "bob")


class DecisionMachine(RuleBasedStateMachine):
    """Two reviewers with pages that may be old, and an agent with every way to apply."""

    plans = Bundle("plans")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "root"
        self.root.mkdir()
        (self.root / "a.md").write_text(TEXT)
        strict = Settings(require_approval=True)
        agent = Caller(actor=lambda: client_actor("agent"))
        self.agent = Engine(Workspace.open([self.root]), strict, caller=agent)
        self.person = Engine(Workspace.open([self.root]), strict)
        self.reviewing = ReviewService(self.person)
        self.content = TEXT
        # What each reviewer saw last of a plan, and the approvals that no commit has used.
        self.seen: dict[tuple[str, str], str] = {}
        self.unused: Counter[str] = Counter()
        self.documents: dict[str, bytes] = {}

    def teardown(self) -> None:
        self.agent.close()
        self.person.close()
        shutil.rmtree(self.folder)

    def _committed(self, plan_id: str | None) -> None:
        """A commit reported this plan: exactly this plan must have an approval, which is used up now."""
        assert plan_id is not None
        assert self.unused[plan_id] == 1, f"{plan_id} was committed without an approval of its own"
        self.unused[plan_id] = 0
        self.content = (self.root / "a.md").read_text()

    # The agent.

    @initialize(target=plans)
    def plan_all(self) -> str:
        return self.plan(3)

    @rule(target=plans, count=st.integers(1, 3))
    def plan(self, count: int) -> str:
        return self.agent.plan({"file": "a.md", "edits": EDITS[:count]}).plan_id or ""

    @rule(plan_id=plans, how=st.sampled_from(["id", "rebase", "part", "document", "changed", "batch"]))
    def apply(self, plan_id: str, how: str) -> None:
        if not plan_id:
            return
        request: object = {"planId": plan_id}
        match how:
            case "rebase":
                request = {"planId": plan_id, "onStale": "rebase"}
            case "part":
                request = {"planId": plan_id, "accept": [0]}
            case "document" | "changed":
                document = self.documents.setdefault(plan_id, self._exported(plan_id))
                if not document:
                    return
                request = json.loads(document)
                if how == "changed":
                    request["options"] = {**request.get("options", {}), "backup": True}
            case "batch":
                request = {"file": "a.md", "edits": [EDITS[0]]}
            case _:
                pass
        report = self.agent.apply(request)
        if report.ok and report.applied and not report.already_applied and not report.no_op:
            self._committed(report.plan_id)

    @rule(target=plans, plan_id=plans)
    def replan(self, plan_id: str) -> str:
        return (self.agent.replan(plan_id).plan_id or "") if plan_id else ""

    @rule()
    def undo(self) -> None:
        report = self.agent.undo()
        if report.ok and report.applied and not report.already_applied:
            self._committed(report.plan_id)

    @rule(target=plans)
    def plan_undo(self) -> str:
        return self.agent.undo(dry_run=True).plan_id or ""

    @rule(plan_id=plans, how=st.sampled_from(["id", "document"]))
    def apply_after_another_program_restored_the_file(self, plan_id: str, how: str) -> None:
        (self.root / "a.md").write_text(TEXT)
        self.content = TEXT
        self.apply(plan_id, how)

    @rule(plan_id=plans)
    def replay_files_of_decisions(self, plan_id: str) -> None:
        """Somebody copies the events of one plan onto the names of another."""
        state = Path(_state_directory())
        stored = list(state.rglob("decisions/*.json"))
        digits = plan_id.removeprefix("sha256-")
        for path in stored:
            copy = path.with_name(f"{digits}.{path.name.split('.')[1]}.json")
            if digits and not copy.exists():
                copy.write_bytes(path.read_bytes())
                copy.chmod(0o600)
                self._check_not_approved(plan_id)
                # The copy ends the log of the plan; without it people can decide again.
                copy.unlink()

    def _check_not_approved(self, plan_id: str) -> None:
        report = self.agent.apply({"planId": plan_id})
        if report.ok and report.applied and not report.already_applied and not report.no_op:
            self._committed(report.plan_id)

    # The reviewers.

    @rule(plan_id=plans, who=st.sampled_from(REVIEWERS))
    def look(self, plan_id: str, who: str) -> None:
        opened = self.reviewing.open(plan_id) if plan_id else ()
        if isinstance(opened, OpenPlan):
            self.seen[who, plan_id] = opened.decisions.version

    @rule(
        plan_id=plans, who=st.sampled_from(REVIEWERS), rejected=st.sets(st.just(0)), overrides=st.booleans()
    )
    def approve(self, plan_id: str, who: str, rejected: set[int], overrides: bool) -> None:
        if (who, plan_id) not in self.seen:
            return
        terms = DecisionTerms(saw=self.seen[who, plan_id], channel=Channel.PAGE, overrides=overrides)
        before = self._part_of(plan_id)
        decision = self.reviewing.approve(plan_id, who, rejected=rejected, terms=terms)
        if isinstance(decision, Decision):
            # A new decision on the plan replaces an earlier one, and what that approved in part.
            for each in (plan_id, before):
                self.unused[each] = 0
            if decision.approved_plan_id is not None:
                self.unused[decision.approved_plan_id] = 1

    @rule(
        plan_id=plans, who=st.sampled_from(REVIEWERS), rejected=st.sets(st.just(0)), overrides=st.booleans()
    )
    def look_and_approve(self, plan_id: str, who: str, rejected: set[int], overrides: bool) -> None:
        self.look(plan_id, who)
        self.approve(plan_id, who, rejected, overrides)

    @rule(plan_id=plans, who=st.sampled_from(REVIEWERS))
    def reject(self, plan_id: str, who: str) -> None:
        if (who, plan_id) not in self.seen:
            return
        part = self._part_of(plan_id)
        decision = self.reviewing.reject(plan_id, who, terms=DecisionTerms(saw=self.seen[who, plan_id]))
        if isinstance(decision, Decision):
            self.unused[plan_id] = 0
            self.unused[part] = 0

    def _part_of(self, plan_id: str) -> str:
        opened = self.reviewing.open(plan_id)
        decision = opened.decision if isinstance(opened, OpenPlan) else None
        return (decision.approved_plan_id or "") if decision is not None else ""

    def _exported(self, plan_id: str) -> bytes:
        document = self.agent.export(plan_id)
        return document if isinstance(document, bytes) else b""

    @invariant()
    def file_changes_by_commits_alone(self) -> None:
        assert (self.root / "a.md").read_text() == self.content


def _state_directory() -> str:
    return os.environ[STATE_DIRECTORY_VARIABLE]


TestDecisions = DecisionMachine.TestCase
TestDecisions.settings = settings(max_examples=300 if FULL else 20, stateful_step_count=30, deadline=None)
