"""The forge of a repository, GitHub: pull requests and signed commits; and the repository's remote."""

import base64
import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import quote, urlsplit

import msgspec

from mdplan.bot.commits import must_be_free, must_be_of_the_bot
from mdplan.diagnostics import Code
from mdplan.git import repository
from mdplan.git.tree import Objects
from mdplan.storage.filesystem import StorageRefused, storage_errors
from mdplan.storage.local import wait_for_lock
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import visible
from mdplan.values import Struct, field, replace
from mdplan.words import Option, say


class PullText(Struct, kw_only=True):
    """Title and description of a pull request; `labels` are added to its existing ones."""

    title: str
    body: str
    labels: Sequence[str] = ()


class PullRequest(Struct):
    """An open pull request: its number and URL, and its text if known."""

    number: int
    url: str
    text: PullText = PullText(title="", body="")


# --- Requests per token (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api)

WRITES_AN_HOUR: Final = 500

# Seconds, most, and what a read and a write count for: points, requests, and content twice.
_RateLimit: TypeAlias = tuple[float, int, int, int]
_RATE_LIMITS: Final[tuple[_RateLimit, ...]] = (
    (60, 900, 1, 5),
    (3600, 5000, 1, 1),
    (60, 80, 0, 1),
    (3600, WRITES_AN_HOUR, 0, 1),
)
_LONGEST: Final = 3600.0
# Requests arrive at GitHub sooner or later than they are counted here.
_MARGIN: Final = 1.0
# What GitHub asks for if an answer names no time; the wait doubles each time.
_PAUSE: Final = 60.0
_MOST_PAUSES: Final = 6


class Governor(Struct, kw_only=True):
    """Keep the requests of all processes with the same file `path` below GitHub's limits.

    `share` is their share of the limits: several fleets can use one token. Without `path` nothing waits
    until GitHub asks for it.
    """

    path: str | None = None
    share: float = 1.0
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep

    def wait(self, *, writes: bool) -> None:
        """Wait until a request is within the limits, and count it."""
        while True:
            with self._log() as log:
                now = self.now()
                free = (self._free_at(limit, log.sent, writes=writes) for limit in _RATE_LIMITS)
                begins = max(now, log.resume, *free)
                if begins <= now:
                    kept = [each for each in log.sent if each[0] > now - _LONGEST - _MARGIN]
                    log.sent = [*kept, (now, writes)]
                    return
            self.sleep(begins - now)

    def pause(self, seconds: float) -> None:
        """Let all processes wait so long."""
        with self._log() as log:
            log.resume = max(log.resume, self.now() + seconds)
        if self.path is None:
            self.sleep(seconds)

    def _free_at(self, limit: _RateLimit, sent: Sequence[tuple[float, bool]], *, writes: bool) -> float:
        seconds, most, *costs = limit
        total = costs[writes]
        for at, wrote in reversed(sent if total else ()):
            total += costs[wrote]
            if total > max(most * self.share, costs[writes]):
                return at + seconds + _MARGIN
        return 0.0

    @contextmanager
    def _log(self) -> "Iterator[_RequestLog]":
        """Yield the log, and save its changes. A torn one, left by a killed process, is empty."""
        if self.path is None:
            yield _RequestLog()
            return
        with storage_errors(self.path, "counting requests in"), Path(self.path).open("a+b") as file:
            wait_for_lock(file.fileno())
            file.seek(0)
            try:
                log = msgspec.json.decode(file.read(), type=_RequestLog)
            except ValueError:
                log = _RequestLog()
            yield log
            file.truncate(0)
            file.write(msgspec.json.encode(log))


class _RequestLog(msgspec.Struct):
    """The times of the last hour's requests, and if each wrote; and when to go on after a pause."""

    sent: list[tuple[float, bool]] = field(default_factory=list)
    resume: float = 0.0


# --- GitHub, over its REST API (docs.github.com/rest/pulls, version 2022-11-28)

_API: Final = "https://api.github.com"
_WITHOUT: Final = Option("--forge none")
_SECONDS: Final = 30
_PAGE: Final = 100
_MOST_BYTES: Final = 32 << 20

# The maximum number of comment pages to search.
_MOST_PAGES: Final = 10
_LIMITED: Final = (403, 429)
_MEMBERS: Final = ("OWNER", "MEMBER", "COLLABORATOR")

_COMMIT: Final = (
    "mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid } } }"
)

# https://HOST/OWNER/NAME.git, ssh://git@HOST/OWNER/NAME.git and git@HOST:OWNER/NAME.git
_ADDRESS: Final = lazy_pattern(r"(?:[a-z+]+://)?(?:[^@/]+@)?([^/:]+)(?::\d+)?[:/](.+?)(?:\.git)?/?")


class GitHub(Struct):
    """The repository `name` (``OWNER/NAME``) of the API at `api`.

    Methods raise `StorageRefused` (IO_ERROR).
    """

    api: str
    name: str
    token: str
    governor: Governor = Governor()

    @classmethod
    def of_environment(cls, address: str) -> "GitHub":
        """Return the repository as `of_repository`, named by GITHUB_REPOSITORY if set."""
        return cls.of_repository(address, os.environ.get("GITHUB_REPOSITORY"))

    @classmethod
    def of_repository(
        cls, address: str, name: str | None = None, governor: Governor | None = None
    ) -> "GitHub":
        """Return the repository `name`, by default from the remote `address`.

        GH_TOKEN or GITHUB_TOKEN is the token; GITHUB_API_URL overrides the API of github.com. Raise
        `StorageRefused` (INVALID_ARGUMENT) if anything is missing.
        """
        token = os.environ.get("GH_TOKEN") or os.environ.get("GITHUB_TOKEN")
        if not token:
            message = "no token of GitHub is set"
            raise repository.repository_error(
                Code.INVALID_ARGUMENT, message, say("set GH_TOKEN, or use {}", _WITHOUT)
            )
        parts = _ADDRESS.fullmatch(address)
        name = name or (parts[2] if parts is not None else "")
        if name.count("/") != 1:
            message = f"the remote `{address}` names no repository of GitHub"
            hint = say("set GITHUB_REPOSITORY to OWNER/NAME, or use {}", _WITHOUT)
            raise repository.repository_error(Code.INVALID_ARGUMENT, message, hint)
        api = (os.environ.get("GITHUB_API_URL") or _API).rstrip("/")
        return cls(api, name, token, governor or Governor())

    def found(self) -> "GitHub":
        """Return the repository under its present name. Raise `StorageRefused` if it is archived."""
        facts: dict[str, Any] = self._call("GET", "", read=dict)
        if facts.get("archived"):
            hint = "remove it from the list, or unarchive it"
            raise repository.repository_error(
                Code.PERMISSION_DENIED, "the repository is archived, so it is read-only", hint
            )
        return replace(self, name=str(facts["full_name"]))

    @property
    def committer(self) -> bytes:
        """The committer of GitHub's commits."""
        return b"GitHub <noreply@github.com>"

    def commit(self, branch: str, base: str, message: str, files: Mapping[str, bytes | None]) -> str:
        """Commit `files` with `message` to `branch`, which is at `base`; return the ID.

        A file that is None is removed. GitHub signs the commit; its author is the token's owner
        (docs.github.com/graphql/reference/mutations).
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
        return self._send("POST", address, {"query": _COMMIT, "variables": {"input": commit}}, _commit_of)

    def find(self, branch: str) -> PullRequest | None:
        """Return the open pull request of `branch`, or None."""
        owner = self.name.partition("/")[0]
        query = f"pulls?state=open&head={quote(f'{owner}:{branch}', safe='')}"
        pulls: list[PullRequest] = self._call(
            "GET", query, read=lambda answer: list(map(_pull, _list(answer)))
        )
        return next(iter(pulls), None)

    def open(self, branch: str, base: str, text: PullText) -> PullRequest:
        """Open a pull request from `branch` into `base`."""
        fields = {"title": text.title, "body": text.body, "head": branch, "base": base}
        pull: PullRequest = self._call("POST", "pulls", fields, _pull)
        self._label(pull, text)
        return pull

    def update(self, pull: PullRequest, text: PullText) -> None:
        """Update title, description and labels of `pull`, where they differ."""
        if (pull.text.title, pull.text.body) != (text.title, text.body):
            self._call("PATCH", f"pulls/{pull.number}", {"title": text.title, "body": text.body})
        self._label(pull, text)

    def comment(self, pull: PullRequest, marker: str, text: str) -> None:
        """Write or update the comment on `pull` that starts with the line `marker`."""
        body = {"body": f"{marker}\n{text}"}

        def ids(answer: Any) -> list[int | None]:  # noqa: ANN401 (any JSON)
            return [int(each["id"]) if _is_own(each, marker) else None for each in _list(answer)]

        for page in range(1, _MOST_PAGES + 1):
            query = f"issues/{pull.number}/comments?per_page={_PAGE}&page={page}"
            comments: list[int | None] = self._call("GET", query, read=ids)
            own = next((each for each in comments if each is not None), None)
            if own is not None:
                self._call("PATCH", f"issues/comments/{own}", body)
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
        if not set(text.labels) <= set(pull.text.labels):
            self._call("POST", f"issues/{pull.number}/labels", {"labels": list(text.labels)})

    def _call(self, method: str, path: str, body: object = None, read: Callable[[Any], object] = bool) -> Any:  # noqa: ANN401 (what `read` makes of the answer)
        address = f"{self.api}/repos/{self.name}/{path}".rstrip("/")
        return self._send(method, address, body, read)

    def _send(
        self, method: str, address: str, body: object, read: "Callable[[Any], _Read]", attempt: int = 0
    ) -> "_Read":
        """Return the response parsed by `read`, after the pauses that GitHub asks for.

        Raise `StorageRefused` (IO_ERROR).
        """
        path = address.removeprefix(f"{self.api}/repos/{self.name}/")
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        data = None if body is None else json.dumps(body).encode()
        self.governor.wait(writes=method != "GET")
        try:
            request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310 (of the user)
            with urllib.request.build_opener(_SameServer).open(request, timeout=_SECONDS) as answer:
                said = answer.read(_MOST_BYTES)
        except urllib.error.HTTPError as error:
            with error:
                message = _message(error)
                pause = _pause_of(error, message, attempt, self.governor.now())
                if pause is None or attempt == _MOST_PAUSES:
                    raise _refused(method, path, f"{error.code} {message}", error.code) from error
            self.governor.pause(pause)
            return self._send(method, address, body, read, attempt + 1)
        except (OSError, ValueError, http.client.HTTPException) as error:
            message = f"GitHub cannot be asked at `{self.api}`: {visible(str(error))}"
            hint = "run the command again, or set GITHUB_API_URL"
            raise repository.repository_error(Code.IO_ERROR, message, hint) from error
        try:
            return read(json.loads(said or b"null"))
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            message = f"GitHub gave no whole answer to {method} {path.partition('?')[0]}"
            raise repository.repository_error(Code.IO_ERROR, message, "run the command again") from error


_Read = TypeVar("_Read")


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Redirects only to the same server, to protect the token, and only for GET requests."""

    def redirect_request(self, *given: Any) -> urllib.request.Request | None:  # noqa: ANN401 (those of urllib)
        """Return the redirected request; None to treat the redirect as a refusal."""
        request, _, _, _, _, address = given
        same = urlsplit(address)[:2] == urlsplit(request.full_url)[:2]
        return super().redirect_request(*given) if same and request.get_method() == "GET" else None


def _list(answer: Any) -> list[Any]:  # noqa: ANN401 (any JSON)
    if not isinstance(answer, list):
        raise TypeError
    return answer


def _commit_of(answer: Any) -> str:  # noqa: ANN401 (any JSON)
    errors = answer.get("errors")
    if errors:
        said = "; ".join(str(each.get("message")) for each in errors)
        raise _refused("POST", "graphql", visible(said))
    return str(answer["data"]["createCommitOnBranch"]["commit"]["oid"])


def _pull(answer: Any) -> PullRequest:  # noqa: ANN401 (any JSON)
    labels = [str(label["name"]) for label in answer.get("labels") or ()]
    text = PullText(title=str(answer["title"]), body=str(answer.get("body") or ""), labels=labels)
    return PullRequest(int(answer["number"]), str(answer["html_url"]), text)


def _is_own(comment: Any, marker: str) -> bool:  # noqa: ANN401 (any JSON)
    """Return True if a bot or project member wrote `comment`, and it starts with `marker`."""
    # A deleted account is null.
    is_bot = (comment["user"] or {}).get("type") == "Bot"
    is_trusted = is_bot or comment.get("author_association") in _MEMBERS
    return is_trusted and str(comment["body"]).startswith(marker)


def _message(error: urllib.error.HTTPError) -> str:
    """Return GitHub's error message, if readable."""
    try:
        return visible(str(json.loads(error.read(2000).decode("utf-8", "replace"))["message"]))
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError, RecursionError):
        return ""


def _pause_of(error: urllib.error.HTTPError, message: str, attempt: int, now: float) -> float | None:
    """Return how long to wait before asking again; None if `error` is not about a limit."""
    if error.code not in _LIMITED:
        return None
    # A broken or hostile server must not stop a run for days.
    for header, since in (("Retry-After", 0.0), ("X-RateLimit-Reset", now)):
        given = error.headers.get(header, "")
        is_spent = header == "Retry-After" or error.headers.get("X-RateLimit-Remaining") == "0"
        if given.isdecimal() and is_spent:
            return min(max(float(given) - since, 0.0) + 1, _LONGEST)
    return _PAUSE * 2**attempt if "rate limit" in message.lower() else None


def _refused(method: str, path: str, reason: str, status: int = 0) -> StorageRefused:
    message = f"GitHub refused {method} {path.partition('?')[0]}: {reason}"
    hint = "the token needs write access to contents and pull requests; run the command again"
    if 300 <= status < 400:
        hint = "the repository has another name or server: set GITHUB_REPOSITORY, or GITHUB_API_URL"
    return repository.repository_error(Code.IO_ERROR, message, hint)


# --- The remote of a repository


class Remote(Struct):
    """The remote `name` of a repository, accessed by `git` with its credentials."""

    place: repository.RepositoryLocation
    name: str

    def address(self) -> str:
        """Return the push URL."""
        return self.git("remote", "get-url", "--push", "--", self.name)

    def branches_of(self, branch: str) -> list[str]:
        """Return the parts of `branch` that have a remote branch; an empty name is the branch itself."""
        name = repository.BRANCHES + branch
        listed = self.git("ls-remote", "--", self.name, name, f"{name}/*").splitlines()
        return [line.partition("\t")[2].removeprefix(name).removeprefix("/") for line in listed]

    def fetch(self, *branches: str) -> None:
        """Fetch `branches` into their `tracking` refs."""
        refs = [f"+{repository.BRANCHES}{branch}:{tracking(self.name, branch)}" for branch in branches]
        for ref in self._blocking(*(tracking(self.name, branch) for branch in branches)):
            self.git("update-ref", "-d", ref)
        self.git("fetch", "--quiet", "--no-tags", "--", self.name, *refs)

    def follow(self, base: str, branch: str) -> str | None:
        """Fetch both branches and move the local `branch` to the remote one; return that commit, if any."""
        here, there = repository.BRANCHES + branch, tracking(self.name, branch)
        tip = self.git("ls-remote", "--", self.name, here).partition("\t")[0]
        self.fetch(base, *([branch] if tip else []))
        if not tip:
            for old in self._blocking(here):
                must_be_free(self.place, old)
                must_be_of_the_bot(self.place, old, old, tracking(self.name, base))
                self.git("update-ref", "-d", old)
            return None
        must_be_free(self.place, here)
        local = repository.branch_tip(self.place, here)
        if local is not None:
            must_be_of_the_bot(self.place, here, local, tip)
        self.git("update-ref", "-m", f"mdplan: follow {self.name}", here, there)
        return tip

    def _blocking(self, *wanted: str) -> list[str]:
        """Return refs whose names conflict with the refs `wanted`: a ref cannot be inside another."""
        folders = [f"{name}/" for name in wanted]
        known = {f"{ref}/" for ref in self.git("for-each-ref", "--format=%(refname)").splitlines()}
        related = (
            ref
            for ref in known.difference(folders)
            if any(name.startswith(ref) or ref.startswith(name) for name in folders)
        )
        return [ref.rstrip("/") for ref in related]

    def push(self, branch: str, commit: str, expected: str | None) -> None:
        """Move the remote branch to `commit` (empty to delete it) if it is still at `expected`."""
        lease = f"--force-with-lease={repository.BRANCHES}{branch}:{expected or ''}"
        ref = f"{commit}:{repository.BRANCHES}{branch}"
        self.git("push", "--quiet", "--porcelain", lease, "--", self.name, ref)

    def git(self, *arguments: str) -> str:
        """Return the output of git in the repository. Raise `StorageRefused`, also for a push of others."""
        done = self.place.git(*arguments)
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace").strip()
        if b"stale info" in done.stdout + done.stderr:
            # Someone else pushed the branch meanwhile.
            raise repository.git_failed(
                done, "the branch was pushed by others; run the command again", Code.STALE_BASE
            )
        raise repository.git_failed(done, f"check the remote `{visible(self.name)}`")


# --- Replacing local commits by commits that the forge signs


def commit_by_forge(remote: Remote, forge: GitHub, branch: str, commit: str) -> str:
    """Replace `commit`, the tip of the local `branch`, by a commit of `forge`, and return it.

    It is made on a temporary branch, `BRANCH.signing`, so that the pull request never has an empty branch. A
    merge stays as it is, since forges cannot make it this way. Raise `StorageRefused`: IO_ERROR if the forge
    refuses, or its commit has other files.
    """
    place = remote.place
    (own,) = repository.Commit.of(place, "--no-walk", commit)
    if len(own.parents) != 1:
        return commit
    base, beside = own.parents[0], f"{branch}.signing"
    there, push = repository.BRANCHES + beside, ("push", "--quiet", "--force", "--", remote.name)
    remote.git(*push, f"{base}:{there}")
    try:
        made = forge.commit(beside, base, own.message.decode(), _changes(place, own))
        remote.fetch(beside)
        (theirs,) = repository.Commit.of(place, "--no-walk", made)
        if theirs.tree != own.tree or theirs.parents != [base]:
            message = "the commit that the forge made has other files, or another parent"
            hint = say(
                "a forge can set no file mode; run the command again, or with {}", Option("--commits git")
            )
            raise repository.repository_error(Code.IO_ERROR, message, hint)
    finally:
        remote.git(*push, f":{there}")
        remote.git("update-ref", "-d", tracking(remote.name, beside))
    here = repository.BRANCHES + branch
    remote.git("update-ref", "-m", "mdplan: signed by the forge", here, made, commit)
    return made


def _changes(place: repository.RepositoryLocation, commit: repository.Commit) -> Mapping[str, bytes | None]:
    """Return the files that `commit` writes, with their bytes; None for removed files."""
    words = place.words("diff-tree", "-r", "-z", "--no-renames", commit.parents[0], commit.name)
    with storage_errors(visible(place.path), "reading objects of"), closing(Objects(place)) as objects:
        return {
            path: None if kind == "D" else objects.read(blob, "blob")
            for facts, path in zip(words[::2], words[1::2], strict=True)
            for _, _, _, blob, kind in [facts.split()]
        }


def tracking(remote: str, branch: str) -> str:
    """Return the local tracking ref of `branch` on `remote`."""
    return f"refs/remotes/{remote}/{branch}"
