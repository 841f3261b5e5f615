"""Repositories that git makes and checks."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from mdplan.bot.bot import BotReport
from mdplan.bot.commits import GitCommit, apply_to_branch, propose_on_commit
from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from tests.bot.golden import HERE, load

IDENTITY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Bo",
    "GIT_COMMITTER_EMAIL": "bo@example.org",
}
# The branch of the bot that tests name.
BRANCH = "mdplan/bot"
MANIFEST = """\
files:
  - glob: "docs/**"
    edits:
      - {op: replace_match, pattern: nightly, replacement: stable, matchSelection: all}
"""


@dataclass(frozen=True)
class Repository:
    """A repository at `path`, bare or not."""

    path: Path

    @classmethod
    def make(cls, path: Path, *options: str) -> "Repository":
        """A repository without commits, whose first branch is `main`."""
        subprocess.run(["git", "init", "-q", "-b", "main", *options, str(path)], check=True)
        return cls(path)

    def git(self, *arguments: str, given: bytes | None = None) -> str:
        """What git prints, without the last line end."""
        return self.raw(*arguments, given=given).decode("utf-8", "surrogateescape").removesuffix("\n")

    def raw(self, *arguments: str, given: bytes | None = None) -> bytes:
        """What git prints."""
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments], check=True, capture_output=True, input=given
        )
        return done.stdout

    def write(self, files: dict[str, bytes]) -> None:
        """Write `files` into the work tree."""
        for name, data in files.items():
            target = self.path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    def commit_on(self, branch: str, files: dict[str, bytes], removed: list[str], message: str) -> str:
        """Commit to `branch` as GitHub does, without a work tree; the ID of the commit."""
        who = {"NAME": "GitHub", "EMAIL": "noreply@github.com"}
        environment = os.environ | {f"GIT_COMMITTER_{name}": value for name, value in who.items()}
        environment["GIT_INDEX_FILE"] = str(self.path / "index-of-forge")

        def git(*arguments: str, given: bytes = b"") -> str:
            command = ["git", "-C", str(self.path), *arguments]
            done = subprocess.run(command, check=True, capture_output=True, input=given, env=environment)
            return done.stdout.decode().strip()

        git("read-tree", branch)
        lines = [f"100644 {git('hash-object', '-w', '--stdin', given=files[name])}\t{name}" for name in files]
        lines += [f"0 {'0' * 40}\t{name}" for name in removed]
        git("update-index", "--index-info", given="".join(f"{line}\n" for line in lines).encode())
        made = git("commit-tree", git("write-tree"), "-p", branch, given=message.encode())
        git("update-ref", f"refs/heads/{branch}", made)
        return made

    def commit(self, files: dict[str, bytes], message: str = "by hand") -> str:
        """Commit `files` in the work tree; the ID."""
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.at("HEAD")

    def push(self, files: dict[str, bytes], branch: str = "main") -> None:
        """Commit `files`, and push them to `branch` of `origin`."""
        self.commit(files)
        self.git("push", "-q", "origin", f"HEAD:{branch}")

    def push_by_hand(self, branch: str, files: dict[str, bytes]) -> str:
        """Somebody commits `files` to `branch` of `origin`; the ID. The work tree ends at `main`."""
        self.git("fetch", "-q", "origin")
        self.git("checkout", "-q", "-B", "by-hand", f"origin/{branch}")
        with pytest.MonkeyPatch.context() as somebody:
            somebody.setenv("GIT_COMMITTER_NAME", "Eve")
            made = self.commit(files)
        self.git("push", "-q", "origin", f"HEAD:{branch}")
        self.git("checkout", "-q", "main")
        return made

    def clone(self, path: Path) -> "Repository":
        """A clone with a work tree, as a workflow makes it."""
        self.git("clone", "-q", ".", str(path))
        return Repository(path)

    def bare(self, path: Path) -> "Repository":
        """A bare clone."""
        self.git("clone", "-q", "--bare", ".", str(path))
        return Repository(path)

    def at(self, ref: str) -> str:
        """The commit that `ref` names."""
        return self.git("rev-parse", "--verify", f"{ref}^{{commit}}")

    def files(self, ref: str) -> dict[str, bytes]:
        """The content of all files of a commit."""
        names = self.raw("ls-tree", "-r", "-z", "--name-only", ref).decode().split("\0")[:-1]
        return {name: self.raw("cat-file", "blob", f"{ref}:{name}") for name in names}

    def modes(self, ref: str) -> dict[str, str]:
        """Mode and object of all files of a commit."""
        lines = self.raw("ls-tree", "-r", "-z", ref).decode().split("\0")[:-1]
        return {name: facts for facts, _, name in (line.partition("\t") for line in lines)}

    def must_be_sound(self) -> None:
        """Fail unless git finds nothing wrong."""
        done = subprocess.run(
            ["git", "-C", str(self.path), "fsck", "--strict", "--no-dangling", "--full"],
            check=False,
            capture_output=True,
        )
        assert (done.returncode, done.stdout, done.stderr.replace(b"notice: HEAD points", b"")) == (
            0,
            b"",
            b"",
        )

    def engine(self, folder: str = ".") -> Engine:
        """An engine on the repository, or on a folder of its work tree."""
        return Engine.open([self.path / folder], settings=Settings(lock_timeout=0.2))

    def planned(self, manifest: Path, ref: str) -> tuple[BotReport, bytes]:
        """The report on a plan for `ref`, and the diff."""
        with propose_on_commit(self.engine(), load(str(manifest)), HERE, ref) as proposal:
            return proposal.report, b"".join(proposal.diff())

    def applied(self, manifest: Path, ref: str, wanted: GitCommit | None = None) -> BotReport:
        """Return the report of a commit of `manifest` on `ref`."""
        return apply_to_branch(self.engine(), load(str(manifest)), HERE, ref, wanted or GitCommit())


def codes(report: BotReport) -> list[str]:
    """Return the problem codes."""
    return [problem.code.value for problem in report.diagnostics]
