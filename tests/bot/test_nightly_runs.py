"""Thirty nights of a bot: the base moves, people edit its branch, bots race, and runs are killed."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.bot.fake_forge import FakeForge
from tests.bot.repository import BRANCH, Repository
from tests.conftest import FULL
from tests.support.patches import needs_git

pytestmark = [needs_git, pytest.mark.slow, pytest.mark.timeout(3600), pytest.mark.usefixtures("identity")]
NIGHTS = 30


@dataclass
class Nights:
    """The repository of people, and the bots that work on it."""

    people: Repository
    remote: Repository
    manifest: Path
    forge: FakeForge
    draw: random.Random
    runs: int = 0
    by_people: list[str] = field(default_factory=list)

    def start(self) -> subprocess.Popen[bytes]:
        """A bot in a new clone, as a workflow starts it."""
        self.runs += 1
        clone = self.remote.clone(self.manifest.parent / f"clone-{self.runs}")
        command = ["bot", "pr", str(self.manifest), "--branch", BRANCH, "--root", str(clone.path)]
        command += ["--jobs", "1"]
        return subprocess.Popen(
            [sys.executable, "-m", "mdplan", *command],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def day(self, number: int) -> None:
        """People work on the base: pages come, and some are corrected by hand."""
        self.people.git("fetch", "-q", "--prune", "origin")
        self.people.git("checkout", "-q", "-B", "main", "origin/main")
        for _ in range(self.draw.randrange(3)):
            page = f"docs/{self.draw.randrange(6)}.md"
            text = self.draw.choice(["The nightly build.", "The stable build.", "No build."])
            self.people.push({page: f"# {number}\n\n{text} {self.runs}.{self.draw.random()}\n".encode()})
            self.by_people.append(self.people.at("HEAD"))

    def edit_branch(self, number: int) -> bool:
        """Somebody commits to the branch of the bot, if there is one."""
        self.people.git("fetch", "-q", "--prune", "origin")
        if not self.has_branch():
            return False
        self.by_people.append(self.people.push_by_hand(BRANCH, {f"docs/hand-{number}.md": b"by hand\n"}))
        return True

    def merge_branch(self) -> None:
        """Somebody merges the pull request, and deletes its branch."""
        self.people.git("fetch", "-q", "--prune", "origin")
        self.people.git("checkout", "-q", "-B", "main", "origin/main")
        self.people.git("merge", "-q", "-X", "theirs", "--no-edit", f"origin/{BRANCH}")
        self.people.git("push", "-q", "origin", "main", f":{BRANCH}")
        for pull in self.forge.pulls:
            pull["state"] = "merged" if pull["state"] == "open" else pull["state"]

    def has_branch(self) -> bool:
        return BRANCH in self.remote.git("branch", "--format=%(refname:short)").split()

    def must_be_right(self) -> None:
        """One pull request of one commit on the newest base, with all of it done; or none, if it is done."""
        self.remote.must_be_sound()
        opened = [pull for pull in self.forge.pulls if pull["state"] == "open"]
        base = self.remote.files("main")
        left = any(b"nightly" in data for name, data in base.items() if name.startswith("docs/"))
        assert (len(opened), self.has_branch()) == (int(left), left)
        if left:
            assert self.remote.git("rev-list", f"main..{BRANCH}").split() == [self.remote.at(BRANCH)]
            assert self.remote.at(f"{BRANCH}^") == self.remote.at("main")
            done = {name: data.replace(b"nightly", b"stable") for name, data in base.items()}
            assert self.remote.files(BRANCH) == done

    def must_have_all(self) -> None:
        """Each commit of a person is on the base or on the branch."""
        tips = ["main", *([BRANCH] if self.has_branch() else [])]
        reachable = set(self.remote.git("rev-list", *tips).split())
        assert set(self.by_people) <= reachable


@pytest.mark.parametrize("seed", range(3 if FULL else 1))
def test_each_nightly_run_leaves_at_most_one_correct_pull_request(
    forge: FakeForge, people: Repository, remote: Repository, manifest: Path, seed: int
) -> None:
    nights = Nights(people, remote, manifest, forge, random.Random(seed))
    kinds: dict[str, int] = {}
    for number in range(NIGHTS):
        nights.day(number)
        kind = nights.draw.choice(["plain", "killed", "racing", "edited", "merged"])
        kinds[kind] = kinds.get(kind, 0) + 1
        if kind == "killed":
            bot = nights.start()
            time.sleep(nights.draw.uniform(0.3, 4))
            os.killpg(bot.pid, signal.SIGKILL)
            bot.communicate()
        if kind == "racing":
            for bot in [nights.start(), nights.start()]:
                bot.communicate()
        if kind == "edited" and nights.edit_branch(number):
            tip = remote.at(BRANCH)
            bot = nights.start()
            said, _ = bot.communicate()
            assert bot.returncode == 4, said
            assert remote.at(BRANCH) == tip
            nights.must_have_all()
            nights.merge_branch()
        if kind == "merged" and nights.has_branch():
            nights.merge_branch()
        bot = nights.start()
        said, _ = bot.communicate()
        assert bot.returncode == 0, said.decode()
        nights.must_be_right()
        nights.must_have_all()
    assert len(kinds) == 5
