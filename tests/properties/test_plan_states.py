"""Whatever people do in the shell, the list of plans says what became of each."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.surfaces.command_line import Run, mdplan

BASE = "# Tasks\n\n- [ ] Buy tea\n- [ ] Boil water\n\nThe end.\n"
WORDS = {"tea": "coffee", "water": "milk", "end": "beginning"}


class PlanStates(RuleBasedStateMachine):
    """The model: by plan its word and its base, and what was `done` with it since it was last saved."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name, "root")
        (self.root / ".git").mkdir(parents=True)
        self.path = self.root / "todo.md"
        self.path.write_text(BASE)
        self.ids: dict[str, str] = {}
        self.done: dict[str, str] = {}
        self.commits: list[set[str]] = []

    def teardown(self) -> None:
        self.folder.cleanup()

    def run(self, *words: str) -> Run:
        # A folder of another example may have had the same inode.
        environment = {"MDPLAN_STATE_DIR": f"{self.folder.name}/state"}
        return mdplan(*words, "--root", str(self.root), environment=environment)

    def planned(self, text: str, word: str) -> str:
        return text.replace(word, WORDS[word])

    @rule(word=st.sampled_from(sorted(WORDS)))
    def save(self, word: str) -> None:
        """Save the plan without a terminal."""
        text = self.path.read_text()
        said = self.run("replace", word, WORDS[word], "todo.md").err
        if word in text:
            plan_id = said.partition("To apply: mdplan apply ")[2].split()[0]
            self.ids[plan_id], self.done[plan_id] = f"{word}\0{text}", ""

    @rule(word=st.sampled_from(sorted(WORDS)))
    def only_look(self, word: str) -> None:
        self.run("replace", word, WORDS[word], "todo.md", "-n")

    @rule(data=st.data(), how=st.sampled_from(["", "--merge"]))
    def apply(self, data: st.DataObject, how: str) -> None:
        if not self.ids:
            return
        plan_id = data.draw(st.sampled_from(sorted(self.ids)))
        before = self.path.read_text()
        said = self.run("apply", plan_id, *([how] if how else [])).err
        if "Applied:" not in said:
            assert self.path.read_text() == before
            return
        self.done[plan_id] = "applied"
        derived = said.partition("as plan ")[2][:12]
        if derived:
            word = self.ids[plan_id].partition("\0")[0]
            self.ids[derived], self.done[derived] = f"{word}\0{before}", "applied"
        self.commits.append({plan_id, derived or plan_id})

    @rule()
    def undo(self) -> None:
        """Take back the last commit; undo never redoes here."""
        if not self.commits:
            return
        after = self.path.read_text()
        said = self.run("undo", "1", "-y").err
        if "Undone:" not in said:
            assert self.path.read_text() == after
            return
        for plan_id in self.commits.pop():
            self.done[plan_id] = "undone" if self.done[plan_id] == "applied" else self.done[plan_id]

    @rule(data=st.data())
    def discard(self, data: st.DataObject) -> None:
        if self.ids:
            plan_id = data.draw(st.sampled_from(sorted(self.ids)))
            self.run("discard", plan_id)
            if not self.done[plan_id]:
                self.done[plan_id] = "discarded"

    @rule(text=st.sampled_from([BASE, BASE + "More.\n", BASE.replace("tea", "coffee"), "# Other\n"]))
    def write(self, text: str) -> None:
        """Somebody else writes the file."""
        self.path.write_text(text)

    @invariant()
    def list_says_the_truth(self) -> None:
        rows = self.run("review", "--list", "--limit", "500", "--json").json["plans"]
        listed = {row["planId"][7:19]: row["state"] for row in rows}
        now = self.path.read_text()
        expected = {}
        for plan_id, known in self.ids.items():
            word, _, base = known.partition("\0")
            by_files = (
                "already so" if now == self.planned(base, word) else "waiting" if now == base else "stale"
            )
            expected[plan_id] = self.done[plan_id] or by_files
        assert listed == expected


@pytest.mark.filterwarnings("ignore::ResourceWarning")
class TestPlanStates(PlanStates.TestCase):
    settings = settings(
        deadline=None, max_examples=10, stateful_step_count=15, suppress_health_check=[HealthCheck.too_slow]
    )
