"""Forges such as GitHub: pull requests, signed commits, and the remote of a repository."""

import base64
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from urllib.parse import quote

from mdplan.bot.commits import must_be_free, must_be_of_the_bot
from mdplan.diagnostics import Code
from mdplan.git import repository
from mdplan.git.tree import Objects
from mdplan.storage.files import visible
from mdplan.storage.filesystem import storage_errors
from mdplan.text.lazy_pattern import lazy_pattern


@dataclass(frozen=True, slots=True)
class PullRequest:
    """An open pull request: its number and the address of its page."""

    number: int
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullText:
    """Title and description of a pull request; `labels` are added to its existing ones."""

    title: str
    body: str
    labels: Sequence[str] = ()


class Forge(Protocol):
    """A host of repositories. Each method raises `StorageRefused` (IO_ERROR) when the forge refuses."""

    @property
    def committer(self) -> bytes:
        """Who is the committer of the commits that the forge makes, as commits name it."""

    def commit(self, branch: str, base: str, message: str, files: Mapping[str, bytes | None]) -> str:
        """Make a commit with `message` on `branch`, which is at the commit `base`; its ID.

        `files` are those that it writes; None removes one. The forge signs it.
        """

    def find(self, branch: str) -> PullRequest | None:
        """The open pull request of the branch `branch`; None where there is none."""

    def open(self, branch: str, base: str, text: PullText) -> PullRequest:
        """Ask for a merge of `branch` into `base`."""

    def update(self, pull: PullRequest, text: PullText) -> None:
        """Give `pull` this text."""

    def comment(self, pull: PullRequest, marker: str, text: str) -> None:
        """Write the comment on `pull` that begins with the line `marker`, or write it again."""

    def merge(self, pull: PullRequest, commit: str) -> None:
        """Merge `pull`, if its branch is still at `commit`."""

    def close(self, pull: PullRequest, comment: str) -> None:
        """Close `pull` with a last comment."""


# --- GitHub, over its REST API (docs.github.com/rest/pulls, version 2022-11-28)

_API: Final = "https://api.github.com"
_SECONDS: Final = 30
_PAGE: Final = 100

# Comments are looked through so far.
_MOST_PAGES: Final = 10
_MEMBERS: Final = ("OWNER", "MEMBER", "COLLABORATOR")

_COMMIT: Final = (
    "mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid } } }"
)

# https://HOST/OWNER/NAME.git, ssh://git@HOST/OWNER/NAME.git and git@HOST:OWNER/NAME.git
_ADDRESS: Final = lazy_pattern(r"(?:[a-z+]+://)?(?:[^@/]+@)?([^/:]+)(?::\d+)?[:/](.+?)(?:\.git)?/?")


@dataclass(frozen=True, slots=True)
class GitHub:
    """The repository `name` (``OWNER/NAME``) of the API at `api`."""

    api: str
    name: str
    token: str = field(repr=False)

    @classmethod
    def of_environment(cls, address: str) -> "GitHub":
        """As `of_repository`, with the name in GITHUB_REPOSITORY where that is set."""
        return cls.of_repository(address, os.environ.get("GITHUB_REPOSITORY"))

    @classmethod
    def of_repository(cls, address: str, name: str | None = None) -> "GitHub":
        """The repository `name`, else that of the remote `address`.

        GH_TOKEN or GITHUB_TOKEN is the token, GITHUB_API_URL another API than that of github.com. Raises
        `StorageRefused` (INVALID_ARGUMENT) where one is missing.
        """
        token = os.environ.get("GH_TOKEN") or os.environ.get("GITHUB_TOKEN")
        if not token:
            message = "no token of GitHub is set"
            raise repository.repository_error(
                Code.INVALID_ARGUMENT, message, "set GH_TOKEN, or use `--forge none`"
            )
        parts = _ADDRESS.fullmatch(address)
        name = name or (parts[2] if parts is not None else "")
        if name.count("/") != 1:
            message = f"the remote `{address}` names no repository of GitHub"
            hint = "set GITHUB_REPOSITORY to OWNER/NAME, or use `--forge none`"
            raise repository.repository_error(Code.INVALID_ARGUMENT, message, hint)
        return cls((os.environ.get("GITHUB_API_URL") or _API).rstrip("/"), name, token)

    @property
    def committer(self) -> bytes:
        """Who is the committer of the commits that GitHub makes."""
        return b"GitHub <noreply@github.com>"

    def commit(self, branch: str, base: str, message: str, files: Mapping[str, bytes | None]) -> str:
        """Make a commit with `message` and `files` on `branch`, which is at `base`; its ID.

        The author is whom the token belongs to (docs.github.com/graphql/reference/mutations).
        """
        headline, _, body = message.partition("\n")
        changes: dict[str, list[dict[str, str]]] = {"additions": [], "deletions": []}
        for path, data in files.items():
            if data is None:
                changes["deletions"].append({"path": path})
            else:
                changes["additions"].append({"path": path, "contents": base64.b64encode(data).decode()})
        commit = {
            "branch": {"repositoryNameWithOwner": self.name, "branchName": branch},
            "expectedHeadOid": base,
            "message": {"headline": headline, "body": body.strip("\n")},
            "fileChanges": changes,
        }
        # GitHub Enterprise has REST at /api/v3 and GraphQL at /api/graphql.
        address = f"{self.api.removesuffix('/v3')}/graphql"
        answer = self._send("POST", address, {"query": _COMMIT, "variables": {"input": commit}})
        try:
            return str(answer["data"]["createCommitOnBranch"]["commit"]["oid"])
        except (KeyError, TypeError) as error:
            said = [str(each.get("message")) for each in answer.get("errors") or ()]
            raise _refused("POST", "graphql", "; ".join(said)) from error

    def find(self, branch: str) -> PullRequest | None:
        """The open pull request of the branch `branch`; None where there is none."""
        owner = self.name.partition("/")[0]
        pulls = self._call("GET", f"pulls?state=open&head={quote(f'{owner}:{branch}', safe='')}")
        return _pull(pulls[0]) if pulls else None

    def open(self, branch: str, base: str, text: PullText) -> PullRequest:
        """Ask for a merge of `branch` into `base`."""
        fields = {"title": text.title, "body": text.body, "head": branch, "base": base}
        pull = _pull(self._call("POST", "pulls", fields))
        self._label(pull, text)
        return pull

    def update(self, pull: PullRequest, text: PullText) -> None:
        """Give `pull` this text."""
        self._call("PATCH", f"pulls/{pull.number}", {"title": text.title, "body": text.body})
        self._label(pull, text)

    def comment(self, pull: PullRequest, marker: str, text: str) -> None:
        """Write the comment on `pull` that begins with the line `marker`, or write it again."""
        body = {"body": f"{marker}\n{text}"}
        for page in range(1, _MOST_PAGES + 1):
            comments = self._call("GET", f"issues/{pull.number}/comments?per_page={_PAGE}&page={page}")
            own = next((each for each in comments if _is_own(each, marker)), None)
            if own is not None:
                self._call("PATCH", f"issues/comments/{int(own['id'])}", body)
                return
            if len(comments) < _PAGE:
                break
        self._call("POST", f"issues/{pull.number}/comments", body)

    def merge(self, pull: PullRequest, commit: str) -> None:
        """Merge `pull`, if its branch is still at `commit`."""
        self._call("PUT", f"pulls/{pull.number}/merge", {"sha": commit})

    def close(self, pull: PullRequest, comment: str) -> None:
        """Close `pull` with a last comment."""
        self._call("POST", f"issues/{pull.number}/comments", {"body": comment})
        self._call("PATCH", f"pulls/{pull.number}", {"state": "closed"})

    def _label(self, pull: PullRequest, text: PullText) -> None:
        if text.labels:
            self._call("POST", f"issues/{pull.number}/labels", {"labels": list(text.labels)})

    def _call(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 (any JSON)
        return self._send(method, f"{self.api}/repos/{self.name}/{path}", body)

    def _send(self, method: str, address: str, body: object) -> Any:  # noqa: ANN401 (any JSON)
        path = address.removeprefix(f"{self.api}/repos/{self.name}/")
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        data = None if body is None else json.dumps(body).encode()
        try:
            request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310 (of the user)
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            said = error.read(2000).decode("utf-8", "replace")
            raise _refused(method, path, f"{error.code} {_message(said)}") from error
        except (OSError, ValueError) as error:
            message = f"GitHub cannot be asked at `{self.api}`: {error}"
            hint = "run the command again, or set GITHUB_API_URL"
            raise repository.repository_error(Code.IO_ERROR, message, hint) from error


def _pull(answer: Any) -> PullRequest:  # noqa: ANN401 (any JSON)
    return PullRequest(int(answer["number"]), str(answer["html_url"]))


def _is_own(comment: Any, marker: str) -> bool:  # noqa: ANN401 (any JSON)
    """Whether `comment` begins with `marker`, and a program or a member of the project wrote it."""
    is_trusted = comment.get("author_association") in _MEMBERS or comment["user"]["type"] == "Bot"
    return is_trusted and str(comment["body"]).startswith(marker)


def _message(said: str) -> str:
    try:
        return str(json.loads(said)["message"])
    except (ValueError, KeyError, TypeError):
        return ""


def _refused(method: str, path: str, reason: str) -> Exception:
    message = f"GitHub refused {method} {path.partition('?')[0]}: {reason}"
    hint = "the token needs write access to contents and pull requests; run the command again"
    return repository.repository_error(Code.IO_ERROR, message, hint)


# --- The remote of a repository


@dataclass(frozen=True, slots=True)
class Remote:
    """The remote `name` of a repository, which the `git` program talks to, with the credentials it has."""

    place: repository.RepositoryLocation
    name: str

    def address(self) -> str:
        """The address that it is pushed to."""
        return self._git("remote", "get-url", "--push", "--", self.name)

    def branches_of(self, branch: str) -> list[str]:
        """The names of the parts of `branch` that have a branch; an empty one for a branch of the whole."""
        name = repository.BRANCHES + branch
        listed = self._git("ls-remote", "--", self.name, name, f"{name}/*").splitlines()
        return [line.partition("\t")[2].removeprefix(name).removeprefix("/") for line in listed]

    def fetch(self, *branches: str) -> None:
        """Fetch `branches`, whose commits `tracking` names."""
        refs = [f"+{repository.BRANCHES}{branch}:{tracking(self.name, branch)}" for branch in branches]
        self._git("fetch", "--quiet", "--no-tags", "--", self.name, *refs)

    def follow(self, base: str, branch: str) -> str | None:
        """Fetch both, and let the local `branch` be where the remote one is; that commit, if any."""
        here, there = repository.BRANCHES + branch, tracking(self.name, branch)
        tip = self._git("ls-remote", "--", self.name, here).partition("\t")[0]
        self.fetch(base, *([branch] if tip else []))
        if not tip:
            return None
        must_be_free(self.place, here)
        local = repository.branch_tip(self.place, here)
        if local is not None:
            must_be_of_the_bot(self.place, here, local, tip)
        self._git("update-ref", "-m", f"mdplan: follow {self.name}", here, there)
        return tip

    def put(self, branch: str, commit: str) -> None:
        """Let the remote branch be at `commit`, wherever it is: for branches that nobody works on."""
        self._git("push", "--quiet", "--force", "--", self.name, f"{commit}:{repository.BRANCHES}{branch}")

    def remove(self, branch: str) -> None:
        """Delete the remote branch that `put` made, and the ref that follows it."""
        self._git("push", "--quiet", "--", self.name, f":{repository.BRANCHES}{branch}")
        self._git("update-ref", "-d", tracking(self.name, branch))

    def move(self, branch: str, commit: str, expected: str) -> None:
        """Let the local branch be at `commit`, if it is still at `expected`."""
        self._git(
            "update-ref", "-m", "mdplan: signed by the forge", repository.BRANCHES + branch, commit, expected
        )

    def forget(self, branch: str) -> None:
        """Delete the local branch `branch`, which the remote no longer has."""
        self._git("update-ref", "-d", repository.BRANCHES + branch)

    def push(self, branch: str, commit: str, expected: str | None) -> None:
        """Let the remote branch be at `commit` (empty to delete it) if it is still at `expected`."""
        lease = f"--force-with-lease={repository.BRANCHES}{branch}:{expected or ''}"
        ref = f"{commit}:{repository.BRANCHES}{branch}"
        self._git("push", "--quiet", "--porcelain", lease, "--", self.name, ref)

    def _git(self, *arguments: str) -> str:
        done = self.place.git(*arguments)
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace").strip()
        if b"stale info" in done.stdout + done.stderr:
            # Others pushed the branch while this ran.
            raise repository.git_failed(
                done, "the branch was pushed by others; run the command again", Code.STALE_BASE
            )
        raise repository.git_failed(done, f"check the remote `{visible(self.name)}`")


# --- Commits that the forge makes and signs in place of local ones


def commit_by_forge(remote: Remote, forge: Forge, branch: str, commit: str) -> str:
    """The commit that `forge` makes in place of `commit`, which the local `branch` is at; it is moved there.

    It is made on a temporary branch, `BRANCH.signing`, so that the pull request never sees a branch without
    commits. A merge stays as git made it: forges make no merges so. Raises `StorageRefused`: IO_ERROR where
    the forge refuses, or makes a commit with other files.
    """
    place = remote.place
    (own,) = repository.Commit.of(place, "--no-walk", commit)
    if len(own.parents) != 1:
        return commit
    base, beside = own.parents[0], f"{branch}.signing"
    remote.put(beside, base)
    try:
        made = forge.commit(beside, base, own.message.decode(), _changes(place, own))
        remote.fetch(beside)
        (theirs,) = repository.Commit.of(place, "--no-walk", made)
        if theirs.tree != own.tree or theirs.parents != [base]:
            message = "the commit that the forge made has other files, or another parent"
            hint = "a forge can set no file mode; run the command again, or with `--commits git`"
            raise repository.repository_error(Code.IO_ERROR, message, hint)
    finally:
        remote.remove(beside)
    remote.move(branch, made, commit)
    return made


def _changes(place: repository.RepositoryLocation, commit: repository.Commit) -> Mapping[str, bytes | None]:
    """Return the files that `commit` writes, with their bytes; None for those that it removes."""
    words = place.words("diff-tree", "-r", "-z", "--no-renames", commit.parents[0], commit.name)
    with storage_errors(visible(place.path), "reading objects of"), closing(Objects(place)) as objects:
        return {
            path: None if kind == "D" else objects.read(blob, "blob")
            for facts, path in zip(words[::2], words[1::2], strict=True)
            for _, _, _, blob, kind in [facts.split()]
        }


def tracking(remote: str, branch: str) -> str:
    """The ref of this repository for the branch `branch` of `remote`."""
    return f"refs/remotes/{remote}/{branch}"
