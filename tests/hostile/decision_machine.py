"""A model of decisions about plans, and of what must never happen whatever people and agents do.

- An engine that requires approval commits no plan without an unused approval of exactly that plan.
- No engine commits a plan that a person rejected or wants changed, or a plan derived from it, or one with the
  same edits under another title.
- Nobody decides on unseen content, and nobody approves a rejected plan without overriding the rejection.
- A holder of the bearer token, or of a link that a client received, decides nothing.
- In the chat nobody decides without the nonce of what they saw, or approves unless the operator allows it.
"""

import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
)

from mdplan.decisions import Channel, Decision, LineComment, Remarks, Side, Verdict
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.engine.history import CallerIdentity, client_actor
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService
from mdplan.mcp.review_app import META_KEY, ChatReview, Decided, DecideRequest, Verb
from mdplan.settings import Settings
from mdplan.storage.plans import DecisionStore
from mdplan.storage.user_state import STATE_DIRECTORY_VARIABLE
from mdplan.web.sessions import address_of
from tests.support.commits import change_store
from tests.surfaces.review_calls import HOST, TOKEN, ReviewCalls

TEXT = "# A\n\none\n\ntwo\n"
# Text from another program: plans on the other text become stale, and can be carried over.
LONGER = TEXT + "\nmore\n"
EDITS = [{"op": "replace_match", "pattern": word, "replacement": word.upper()} for word in ("one", "two")]
REVIEWERS = ("ann", "bob")
REPLAYED = 3
FORM_VERBS = (Verb.APPROVE, Verb.REQUEST_CHANGES, Verb.REJECT)
TITLES = ("", "Shout", "Shout louder")
WAYS = ("id", "rebase", "part", "document", "changed document", "batch")


class DecisionMachine(RuleBasedStateMachine):
    """Two reviewers with possibly outdated pages, and agents with every way to apply.

    The engine of one agent requires approval, that of the other does not. `plans` are plan IDs.
    """

    plans = Bundle("plans")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        # Of its own: records of earlier sequences, on plans of the same ID, would be replayed as well.
        self.environment = pytest.MonkeyPatch()
        self.environment.setenv(STATE_DIRECTORY_VARIABLE, str(self.folder / "state"))
        self.root = self.folder / "root"
        self.root.mkdir()
        self.file = self.root / "a.md"
        self.file.write_text(TEXT)
        self.content = TEXT
        workspace = Workspace.open([self.root])
        strict = Settings(require_approval=True)
        agent = CallerIdentity(actor=lambda: client_actor("agent"))
        self.strict = Engine(workspace, strict, caller=agent)
        self.free = Engine(workspace, Settings(), caller=agent)
        self.person = Engine(workspace, strict)
        self.reviewing = ReviewService(self.person)
        self.page: ReviewCalls | None = None
        # By whether the operator trusts the host of the chat.
        self.chats = {trusts: ChatReview(self.strict, may_approve=trusts) for trusts in (False, True)}
        # What the App shows, with the number of changes at that time.
        self.apps: dict[tuple[bool, str], tuple[Mapping[str, Any], int]] = {}
        self.documents: dict[str, bytes] = {}
        # The model. Plans with an unused approval; plans whose latest decision blocks a commit; plans
        # approved later than the last rejection of any plan they derive from.
        self.unused: set[str] = set()
        self.refused: set[str] = set()
        self.cleared: set[str] = set()
        self.whole_rejections: set[str] = set()
        self.origins: dict[str, set[str]] = defaultdict(set)
        self.part_of: dict[str, str] = {}
        # The edits of each known plan, without its title.
        self.edits_of: dict[str, str] = {}
        # How often something happened to the decisions on a plan, and how often it had when a person looked.
        self.changes: dict[str, int] = defaultdict(int)
        self.seen: dict[tuple[str, str], tuple[str, int]] = {}

    def teardown(self) -> None:
        for engine in (self.strict, self.free, self.person):
            engine.close()
        self.environment.undo()
        shutil.rmtree(self.folder)

    # The model.

    def _ancestors(self, plan_id: str) -> set[str]:
        found: set[str] = set()
        open_ends = [plan_id]
        while open_ends:
            at = open_ends.pop()
            new = (self.origins.get(at, set()) | self._twins(at)) - found
            found |= new
            open_ends += new
        return found - {plan_id}

    def _twins(self, plan_id: str) -> set[str]:
        """The plans that make the same edits under other titles."""
        key = self._edits_of(plan_id)
        return {each for each, other in self.edits_of.items() if other == key} if key else set()

    def _edits_of(self, plan_id: str) -> str:
        """Return the edits of a plan without its title; empty if it can no longer be read."""
        if plan_id not in self.edits_of:
            document = self._exported(plan_id)
            if not document:
                return ""
            fields = json.loads(document)
            for name in ("planId", "title", "description"):
                fields.pop(name, None)
            self.edits_of[plan_id] = json.dumps(fields, sort_keys=True)
        return self.edits_of[plan_id]

    def _committed(self, report: Any, *, is_strict: bool) -> None:
        if not (report.ok and report.applied) or report.already_applied or report.no_op:
            return
        plan_id = report.plan_id
        assert plan_id is not None
        if is_strict:
            assert plan_id in self.unused, f"{plan_id} was committed without an approval of its own"
        assert plan_id not in self.refused, f"{plan_id} was committed in spite of its rejection"
        if plan_id not in self.cleared:
            assert not self._ancestors(plan_id) & self.refused, f"{plan_id} comes from a rejected plan"
        if plan_id in self.unused:
            self.unused.discard(plan_id)
            self.changes[plan_id] += 1
        self.content = self.file.read_text()

    def _decided(self, plan_id: str, decision: Decision) -> None:
        self.changes[plan_id] += 1
        self.unused.discard(plan_id)
        self.cleared.discard(plan_id)
        self.unused.discard(self.part_of.pop(plan_id, ""))
        approved = decision.approved_plan_id
        self.refused.add(plan_id)
        self.whole_rejections.discard(plan_id)
        if approved is None:
            self.whole_rejections.add(plan_id)
            # A copy: looking for ancestors can add what a plan does.
            for each in [each for each in list(self.edits_of) if plan_id in self._ancestors(each)]:
                self.unused.discard(each)
                self.cleared.discard(each)
            return
        self.refused.discard(approved)
        self.whole_rejections.discard(approved)
        self.unused.add(approved)
        self.cleared.add(approved)
        if approved != plan_id:
            self.changes[approved] += 1
            self.part_of[plan_id] = approved
            self.origins[approved].add(plan_id)

    # Agents.

    @initialize(target=plans)
    def plan_both(self) -> str:
        return self._planned(2)

    @rule(target=plans, count=st.integers(1, 2), title=st.sampled_from(TITLES))
    def plan(self, count: int, title: str) -> MultipleResults[str]:
        return _known(self._planned(count, title))

    @rule(target=plans, count=st.integers(1, 2), title=st.sampled_from(TITLES), revised=plans)
    def revise(self, count: int, title: str, revised: str) -> MultipleResults[str]:
        """Another plan in place of one: no decision on the one counts for the other."""
        return _known(self._planned(count, title, revises=revised))

    def _planned(self, count: int, title: str = "", **more: str) -> str:
        batch = {"file": "a.md", "edits": EDITS[:count], "title": title, **more}
        plan_id = self.strict.plan(batch).plan_id or ""
        self._edits_of(plan_id)
        return plan_id

    @rule(target=plans, plan_id=plans)
    def replan(self, plan_id: str) -> MultipleResults[str]:
        derived = self.strict.replan(plan_id).plan_id
        if derived is not None and derived != plan_id:
            self.origins[derived].add(plan_id)
        return _known(derived)

    @rule(target=plans)
    def plan_undo(self) -> MultipleResults[str]:
        return _known(self.strict.undo(dry_run=True).plan_id)

    @rule(target=plans, plan_id=plans, how=st.sampled_from(WAYS), is_strict=st.booleans())
    def apply(self, plan_id: str, how: str, is_strict: bool) -> MultipleResults[str]:
        request: dict[str, Any] = {"planId": plan_id}
        match how:
            case "rebase":
                request = {"planId": plan_id, "onStale": "rebase"}
            case "part":
                request = {"planId": plan_id, "accept": [0]}
            case "document" | "changed document":
                document = self.documents.setdefault(plan_id, self._exported(plan_id))
                if not document:
                    return multiple()
                request = json.loads(document)
                if how == "changed document":
                    request["options"] = {**request.get("options", {}), "backup": True}
            case "batch":
                request = {"file": "a.md", "edits": EDITS}
            case _:
                pass
        self._edits_of(plan_id)
        report = (self.strict if is_strict else self.free).apply(request)
        if report.plan_id is not None:
            self._edits_of(report.plan_id)
        if how in ("rebase", "part") and report.plan_id not in (None, plan_id):
            self.origins[report.plan_id].add(plan_id)
        self._committed(report, is_strict=is_strict)
        return _known(report.plan_id)

    @rule(is_strict=st.booleans())
    def undo(self, is_strict: bool) -> None:
        engine = self.strict if is_strict else self.free
        self._committed(engine.undo(), is_strict=is_strict)

    @rule(text=st.sampled_from([TEXT, LONGER]))
    def another_program_writes(self, text: str) -> None:
        self.file.write_text(text)
        self.content = text

    @rule(plan_id=plans, source=plans)
    def replay_records(self, plan_id: str, source: str) -> None:
        """Append a copy of the decisions on a plan, or on an earlier version of the same plan."""
        root = Path(self.strict.workspace.roots[0].path)
        # The last ones show an approval and its use; more would only take more time.
        for nth in range(REPLAYED):
            copied = "version, kind, facts, stored_at FROM decisions WHERE plan = ?"
            change_store(
                root,
                f"INSERT INTO decisions SELECT ?, 1000, {copied} ORDER BY number DESC LIMIT 1 OFFSET ?",
                *(plan_id, source, nth),
            )
            self._committed(self.strict.apply({"planId": plan_id}), is_strict=True)
            # A copy ends the log of the plan; without it people can decide again.
            change_store(root, "DELETE FROM decisions WHERE number = 1000")

    @rule(plan_id=plans, verb=st.sampled_from(["decide", "apply", "replan"]), has_link=st.booleans())
    def ask_the_page(self, plan_id: str, verb: str, has_link: bool) -> None:
        """A client with the bearer token, or with the link that it received, sends the forms of the page."""
        page = self.page = self.page or ReviewCalls(self.person)
        page.cookie, base, headers = "", page.base, {"authorization": f"Bearer {TOKEN}"}
        if has_link:
            link = (address_of(page.root, plan_id) or "").removeprefix(f"http://{HOST}")
            page.cookie = page.get(link).headers["set-cookie"].partition(";")[0]
            base, headers = link.partition("view?")[0], {}
        fields = {"verb": "apply", "verdicts": "", "version": "undecided", "form_token": ""}
        assert page.post(f"{base}plan/{plan_id}/{verb}", fields, **headers).status in {401, 403}

    # Reviewers.

    @rule(plan_id=plans, who=st.sampled_from(REVIEWERS))
    def look(self, plan_id: str, who: str) -> None:
        opened = self.reviewing.open(plan_id)
        if isinstance(opened, OpenPlan):
            version = opened.decisions.version
            self.seen[who, plan_id] = (version, self.changes[plan_id])

    @rule(plan_id=plans, who=st.sampled_from(REVIEWERS), without_first=st.booleans(), overrides=st.booleans())
    def approve(self, plan_id: str, who: str, without_first: bool, overrides: bool) -> None:
        """Approve what `who` saw last of the plan, which may be old."""
        version, changes = self.seen.get((who, plan_id), ("undecided", 0))
        terms = DecisionTerms(saw=version, channel=Channel.PAGE, overrides=overrides)
        decision = self.reviewing.decide(
            plan_id, who, Verdict.APPROVED, rejected={0} if without_first else (), terms=terms
        )
        if isinstance(decision, Decision):
            assert changes == self.changes[plan_id], f"{who} decided over what came since"
            assert overrides or decision.is_rejection or plan_id not in self.whole_rejections
            self._decided(plan_id, decision)

    @rule(plan_id=plans, who=st.sampled_from(REVIEWERS), without_first=st.booleans())
    def look_and_approve(self, plan_id: str, who: str, without_first: bool) -> None:
        self.look(plan_id, who)
        self.approve(plan_id, who, without_first, overrides=True)

    @rule(
        plan_id=plans,
        who=st.sampled_from(REVIEWERS),
        looks=st.booleans(),
        line=st.sampled_from([None, 0, 1, 3]),
    )
    def reject(self, plan_id: str, who: str, looks: bool, line: int | None = None) -> None:
        """Reject a plan; with a `line` ask for changes there; there is no line 0."""
        if looks:
            self.look(plan_id, who)
        version, changes = self.seen.get((who, plan_id), ("undecided", 0))
        terms, decision = DecisionTerms(saw=version), None
        if line is None:
            decision = self.reviewing.decide(plan_id, who, Verdict.REJECTED, terms=terms)
        else:
            comment = LineComment(file="a.md", side=Side.AFTER, start=line, end=line, text="why")
            decision = self.reviewing.decide(
                plan_id, who, Verdict.CHANGES_REQUESTED, Remarks(line_comments=(comment,)), terms=terms
            )
            assert line > 0 or not isinstance(decision, Decision), "a comment is on a line that is none"
        if isinstance(decision, Decision):
            assert changes == self.changes[plan_id], f"{who} decided over what came since"
            self._decided(plan_id, decision)

    # The chat.

    @rule(plan_id=plans, trusts=st.booleans())
    def show_in_chat(self, plan_id: str, trusts: bool) -> None:
        facts = self.chats[trusts].meta_of(plan_id).get(META_KEY)
        if facts is not None:
            self.apps[trusts, plan_id] = (facts, self.changes[plan_id])

    @rule(
        plan_id=plans,
        other_id=plans,
        trusts=st.booleans(),
        verb=st.sampled_from(Verb),
        nonce=st.sampled_from(["own", "of another plan", "of another server", "none"]),
        without_first=st.booleans(),
    )
    def decide_in_app(
        self, plan_id: str, other_id: str, trusts: bool, verb: Verb, nonce: str, without_first: bool
    ) -> None:
        """Decide in the App on possibly outdated content, or without a nonce."""
        facts, changes = self.apps.get((trusts, plan_id), ({}, 0))
        others = {"of another plan": (trusts, other_id), "of another server": (not trusts, plan_id)}
        is_own = nonce == "own" or others.get(nonce) == (trusts, plan_id)
        given = facts if nonce == "own" else self.apps.get(others.get(nonce, (trusts, "")), ({}, 0))[0]
        request = DecideRequest(
            plan_id=plan_id,
            version=facts.get("version", "undecided"),
            nonce=given.get("nonce", ""),
            verb=verb,
            rejected=(0,) if without_first else (),
            comment="why",
        )
        decided = self.chats[trusts].decide_in_app(request)
        if isinstance(decided, Decided):
            assert is_own, "somebody decided without the nonce"
            assert trusts or decided.decision.is_rejection, "somebody approved in a chat that is not trusted"
            assert changes == self.changes[plan_id], "the App decided over what came since"
            self._decided(plan_id, decided.decision)
            if decided.applied is not None:
                self._committed(decided.applied, is_strict=True)
            assert not isinstance(self.chats[trusts].decide_in_app(request), Decided), "a nonce counts twice"

    @rule(plan_id=plans, trusts=st.booleans(), verb=st.sampled_from(Verb))
    def show_and_decide_in_app(self, plan_id: str, trusts: bool, verb: Verb) -> None:
        self.show_in_chat(plan_id, trusts)
        self.decide_in_app(plan_id, plan_id, trusts, verb, nonce="own", without_first=False)

    @rule(
        plan_id=plans,
        other_id=plans,
        verb=st.sampled_from(Verb),
        nonce=st.sampled_from(["of another plan", "of another server", "none"]),
    )
    def show_everywhere_and_decide_with_a_wrong_nonce(
        self, plan_id: str, other_id: str, verb: Verb, nonce: str
    ) -> None:
        """Nothing but the nonce is wrong: the operator trusts the chat, and it shows the newest version."""
        for trusts in (True, False):
            self.show_in_chat(other_id, trusts)
            self.show_in_chat(plan_id, trusts)
        self.decide_in_app(plan_id, other_id, trusts=True, verb=verb, nonce=nonce, without_first=False)

    @rule(
        plan_id=plans, who=st.sampled_from(REVIEWERS), trusts=st.booleans(), verb=st.sampled_from(FORM_VERBS)
    )
    def answer_a_form(self, plan_id: str, who: str, trusts: bool, verb: Verb) -> None:
        version, changes = self.seen.get((who, plan_id), ("undecided", 0))
        if self.chats[trusts].decide_in_form(plan_id, version, verb, "why"):
            assert changes == self.changes[plan_id], "a form decided over what came since"
            decision = DecisionStore(str(self.root)).of(plan_id)
            assert decision is not None
            assert trusts or decision.is_rejection, "somebody approved in a form that is not trusted"
            self._decided(plan_id, decision)

    # Short stories, which random steps reach seldom.

    @rule(plan_id=plans, how=st.sampled_from(WAYS), again=st.sampled_from(WAYS))
    def approve_apply_restore_and_apply_again(self, plan_id: str, how: str, again: str) -> None:
        self.look_and_approve(plan_id, "ann", without_first=False)
        before = self.content
        self.apply(plan_id, how, is_strict=True)
        self.another_program_writes(before)
        self.apply(plan_id, again, is_strict=True)

    @rule(plan_id=plans, target_id=plans)
    def approve_one_and_replay_its_records(self, plan_id: str, target_id: str) -> None:
        self.look_and_approve(plan_id, "ann", without_first=False)
        self.replay_records(target_id, plan_id)
        before = self.content
        self.apply(plan_id, "id", is_strict=True)
        self.another_program_writes(before)
        self.replay_records(plan_id, plan_id)

    @rule(target=plans, plan_id=plans, count=st.integers(1, 2), title=st.sampled_from(TITLES))
    def approve_one_and_replay_its_records_on_a_new_plan(
        self, plan_id: str, count: int, title: str
    ) -> MultipleResults[str]:
        """The new plan is on the file as it is: nothing but the lack of an approval is against it."""
        new = self._planned(count, title)
        if new:
            self.approve_one_and_replay_its_records(plan_id, new)
        return _known(new)

    @rule(plan_id=plans, how=st.sampled_from(WAYS), is_strict=st.booleans(), line=st.sampled_from([None, 1]))
    def reject_and_apply(self, plan_id: str, how: str, is_strict: bool, line: int | None) -> None:
        self.reject(plan_id, "bob", looks=True, line=line)
        self.apply(plan_id, how, is_strict)

    @rule(
        target=plans,
        titles=st.tuples(st.sampled_from(TITLES), st.sampled_from(TITLES)),
        line=st.sampled_from([None, 1]),
        is_part=st.booleans(),
        revises=st.booleans(),
    )
    def reject_and_apply_under_another_title(
        self, titles: tuple[str, str], line: int | None, is_part: bool, revises: bool
    ) -> MultipleResults[str]:
        """The agent gives the same edits, or a part of them, other words."""
        refused = self._planned(2, titles[0])
        if not refused:
            return multiple()
        self.reject(refused, "ann", looks=True, line=line)
        again = self._planned(2, titles[1], **({"revises": refused} if revises else {}))
        if is_part:
            part = self.free.apply({"planId": again, "accept": [0], "dryRun": True}).plan_id
            if part is not None:
                self._edits_of(part)
                self.origins[part].add(again)
            again = part or again
        self.apply(again, "id", is_strict=False)
        return _known(again)

    @rule(target=plans, plan_id=plans, title=st.sampled_from(TITLES))
    def approve_and_apply_the_revision(self, plan_id: str, title: str) -> MultipleResults[str]:
        """Check that the approval of a plan does not cover its revision."""
        self.look_and_approve(plan_id, "ann", without_first=False)
        revised = self._planned(1, title, revises=plan_id)
        if not revised:
            return multiple()
        self.apply(revised, "id", is_strict=True)
        return _known(revised)

    @rule(plan_id=plans, who=st.sampled_from(REVIEWERS), is_strict=st.booleans())
    def approve_a_part_reject_the_whole_and_apply_the_part(
        self, plan_id: str, who: str, is_strict: bool
    ) -> None:
        self.look_and_approve(plan_id, who, without_first=True)
        part = self.part_of.get(plan_id)
        self.reject(plan_id, who, looks=True)
        if part is not None:
            self.apply(part, "id", is_strict)

    @rule(target=plans, plan_id=plans, how=st.sampled_from(["rebase", "replan"]))
    def approve_and_apply_what_is_derived(self, plan_id: str, how: str) -> MultipleResults[str]:
        self.look_and_approve(plan_id, "ann", without_first=False)
        self.another_program_writes(LONGER if self.content == TEXT else TEXT)
        if how == "rebase":
            return self.apply(plan_id, "rebase", is_strict=True)
        derived = self.strict.replan(plan_id).plan_id
        if derived is None:
            return multiple()
        if derived != plan_id:
            self.origins[derived].add(plan_id)
        return self.apply(derived, "id", is_strict=True)

    @rule(plan_id=plans, is_approval=st.booleans())
    def two_windows(self, plan_id: str, is_approval: bool) -> None:
        for who in REVIEWERS:
            self.look(plan_id, who)
        self.approve(plan_id, "ann", without_first=False, overrides=True)
        if is_approval:
            self.approve(plan_id, "bob", without_first=True, overrides=False)
        else:
            self.reject(plan_id, "bob", looks=False)

    @rule(target=plans, title=st.sampled_from(TITLES))
    def apply_and_undo(self, title: str) -> MultipleResults[str]:
        """Check that the approval of a plan does not cover its undo."""
        new = self._planned(1, title)
        if new:
            self.look_and_approve(new, "ann", without_first=False)
            self.apply(new, "id", is_strict=True)
            self.undo(is_strict=True)
        return _known(new)

    @rule(plan_id=plans, who=st.sampled_from(REVIEWERS))
    def comment_on_a_line_that_is_none(self, plan_id: str, who: str) -> None:
        self.reject(plan_id, who, looks=True, line=0)

    @rule(plan_id=plans)
    def reject_and_approve_without_override(self, plan_id: str) -> None:
        self.reject(plan_id, "ann", looks=True)
        self.look(plan_id, "bob")
        self.approve(plan_id, "bob", without_first=False, overrides=False)

    def _exported(self, plan_id: str) -> bytes:
        document = self.strict.export(plan_id)
        return document if isinstance(document, bytes) else b""

    @invariant()
    def file_changes_by_commits_alone(self) -> None:
        assert self.file.read_text() == self.content


def _known(plan_id: str | None) -> MultipleResults[str]:
    return multiple(plan_id) if plan_id else multiple()
