"""Choices on classes, files, edits and places, in any order, give the text that a small model says."""

import os
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mdplan.decisions import DecidedPlace, Decision, Verdict
from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService
from mdplan.review.shapes import chosen_edits, parts_of, place_name

TEXTS = {
    "a.md": "# A\n\nold and cat, old again, and `old` code\n\n## B\n\nold\n",
    "b.md": "# B\n\nold cat old\n",
    "c.md": "# C\n\na cat, and a cat\n",
}
EDITS = [("old", "new"), ("cat", "dog")]


class ChoicesOfAReview(RuleBasedStateMachine):
    """A person chooses; at the end the plan is approved and applied."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        # A folder can get the inode of an earlier one, by which the state directory would know it.
        self.environment = patch.dict(os.environ, MDPLAN_STATE_DIR=f"{self.folder.name}/state")
        self.environment.start()
        self.root = root = Path(self.folder.name) / "root"
        root.mkdir()
        for name, text in TEXTS.items():
            (root / name).write_text(text)
        every = {"op": "replace_match", "matchSelection": "all", "include": ["inlineCode"]}
        files = [
            {
                "file": name,
                "edits": [
                    every | {"pattern": old, "replacement": new} for old, new in EDITS if old in TEXTS[name]
                ],
            }
            for name in TEXTS
        ]
        self.engine = Engine.open([root], approval=approved_only)
        plan_id = self.engine.plan({"files": files}).plan_id
        opened = ReviewService(self.engine).open(plan_id or "")
        assert isinstance(opened, OpenPlan)
        self.opened = opened
        self.edits = {edit.index: edit.files for edit in opened.review.edits}
        self.parts = list(parts_of(opened.classes, self.edits))
        self.choices: dict[str, bool] = {}

    @rule(data=st.data(), choice=st.sampled_from([True, True, False, None]))
    def choose(self, data: st.DataObject, choice: bool | None) -> None:
        part = data.draw(st.sampled_from(self.parts))
        self.choices.pop(part, None)
        if choice is not None:
            self.choices[part] = choice

    def model(self) -> dict[tuple[int, int], bool]:
        """Whether each place is accepted: by the first of its names that has a choice."""
        return {
            place: next(
                (
                    self.choices[name]
                    for name in (
                        *(place_name(place), f"edit {owner}", f"file {place.file}"),
                        *(f"class {one.key}", "plan"),
                    )
                    if name in self.choices
                ),
                False,
            )
            for one in self.opened.classes
            for place, (owner,) in zip(one.places, one.owners, strict=True)
        }

    @invariant()
    def counts_are_those_of_the_model(self) -> None:
        chosen = chosen_edits(self.choices, self.opened.classes, self.edits)
        kept = self.model()
        for one in self.opened.classes:
            for place, (owner,) in zip(one.places, one.owners, strict=True):
                is_kept = owner in chosen.accepted or bool(chosen.in_part.get(owner, {}).get(place))
                assert is_kept == kept[place]

    def teardown(self) -> None:
        chosen, kept = self.opened.chosen(self.choices), self.model()
        places = tuple(DecidedPlace(file=each.file, number=each.number) for each in chosen.rejected_places)
        decision = ReviewService(self.engine).decide(
            self.opened.plan.plan_id,
            "ann",
            Verdict.APPROVED,
            rejected=chosen.left_out,
            terms=DecisionTerms(places=places),
        )
        assert isinstance(decision, Decision), decision
        if decision.approved_plan_id is not None:
            assert self.engine.apply({"planId": decision.approved_plan_id}).ok
        for index, change in enumerate(self.opened.plan.files):
            expected = TEXTS[change.path]
            for number, edit in reversed(list(enumerate(change.edits))):
                if kept[index, number]:
                    expected = expected[: edit.span.start] + edit.new_text + expected[edit.span.end :]
            assert (self.root / change.path).read_text() == expected
        self.engine.close()
        self.environment.stop()
        self.folder.cleanup()


TestChoicesOfAReview = pytest.mark.requirement("review-2")(ChoicesOfAReview.TestCase)
