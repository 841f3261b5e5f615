"""The remote of a repository: what is fetched from it and pushed to it."""

from dataclasses import dataclass

from mdplan.bot.git.commit_verbs import must_be_free, must_be_of_the_bot
from mdplan.diagnostics import Code
from mdplan.git.repository import BRANCHES, RepositoryLocation, branch_tip, git_failed
from mdplan.storage.names import visible


@dataclass(frozen=True, slots=True)
class Remote:
    """The remote `name` of a repository, which the `git` program talks to, with the credentials it has."""

    place: RepositoryLocation
    name: str

    def address(self) -> str:
        """The address that it is pushed to."""
        return self._git("remote", "get-url", "--push", "--", self.name)

    def branches_of(self, branch: str) -> list[str]:
        """The names of the parts of `branch` that have a branch; an empty one for a branch of the whole."""
        name = BRANCHES + branch
        listed = self._git("ls-remote", "--", self.name, name, f"{name}/*").splitlines()
        return [line.partition("\t")[2].removeprefix(name).removeprefix("/") for line in listed]

    def fetch(self, *branches: str) -> None:
        """Fetch `branches`, whose commits `tracking` names."""
        refs = [f"+{BRANCHES}{branch}:{tracking(self.name, branch)}" for branch in branches]
        self._git("fetch", "--quiet", "--no-tags", "--", self.name, *refs)

    def follow(self, base: str, branch: str) -> str | None:
        """Fetch both, and let the local `branch` be where the remote one is; that commit, if any."""
        here, there = BRANCHES + branch, tracking(self.name, branch)
        tip = self._git("ls-remote", "--", self.name, here).partition("\t")[0]
        self.fetch(base, *([branch] if tip else []))
        if not tip:
            return None
        must_be_free(self.place, here)
        local = branch_tip(self.place, here)
        if local is not None:
            must_be_of_the_bot(self.place, here, local, tip)
        self._git("update-ref", "-m", f"mdplan: follow {self.name}", here, there)
        return tip

    def put(self, branch: str, commit: str) -> None:
        """Let the remote branch be at `commit`, wherever it is: for branches that nobody works on."""
        self._git("push", "--quiet", "--force", "--", self.name, f"{commit}:{BRANCHES}{branch}")

    def remove(self, branch: str) -> None:
        """Delete the remote branch that `put` made, and the ref that follows it."""
        self._git("push", "--quiet", "--", self.name, f":{BRANCHES}{branch}")
        self._git("update-ref", "-d", tracking(self.name, branch))

    def move(self, branch: str, commit: str, expected: str) -> None:
        """Let the local branch be at `commit`, if it is still at `expected`."""
        self._git("update-ref", "-m", "mdplan: signed by the forge", BRANCHES + branch, commit, expected)

    def forget(self, branch: str) -> None:
        """Delete the local branch `branch`, which the remote no longer has."""
        self._git("update-ref", "-d", BRANCHES + branch)

    def push(self, branch: str, commit: str, expected: str | None) -> None:
        """Let the remote branch be at `commit` (empty to delete it) if it is still at `expected`."""
        lease = f"--force-with-lease={BRANCHES}{branch}:{expected or ''}"
        self._git("push", "--quiet", "--porcelain", lease, "--", self.name, f"{commit}:{BRANCHES}{branch}")

    def _git(self, *arguments: str) -> str:
        done = self.place.git(*arguments)
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace").strip()
        if b"stale info" in done.stdout + done.stderr:
            # Others pushed the branch while this ran.
            raise git_failed(done, "the branch was pushed by others; run the command again", Code.STALE_BASE)
        raise git_failed(done, f"check the remote `{visible(self.name)}`")


def tracking(remote: str, branch: str) -> str:
    """The ref of this repository for the branch `branch` of `remote`."""
    return f"refs/remotes/{remote}/{branch}"
