"""GitHub as a forge, over its REST API (docs.github.com/rest/pulls, version 2022-11-28)."""

import base64
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

from mdplan.bot.pulls.forge import PullRequest, PullText
from mdplan.diagnostics import Code
from mdplan.git.repository import repository_error

_API: Final = "https://api.github.com"
_SECONDS: Final = 30
_PAGE: Final = 100
# Comments are looked through so far.
_MOST_PAGES: Final = 10
_MEMBERS: Final = ("OWNER", "MEMBER", "COLLABORATOR")
# https://HOST/OWNER/NAME.git, ssh://git@HOST/OWNER/NAME.git and git@HOST:OWNER/NAME.git
_COMMIT: Final = (
    "mutation($input: CreateCommitOnBranchInput!) { createCommitOnBranch(input: $input) { commit { oid } } }"
)
_ADDRESS: Final = re.compile(r"(?:[a-z+]+://)?(?:[^@/]+@)?([^/:]+)(?::\d+)?[:/](.+?)(?:\.git)?/?")


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
            raise repository_error(Code.INVALID_ARGUMENT, message, "set GH_TOKEN, or use `--forge none`")
        found = _ADDRESS.fullmatch(address)
        name = name or (found[2] if found is not None else "")
        if name.count("/") != 1:
            message = f"the remote `{address}` names no repository of GitHub"
            hint = "set GITHUB_REPOSITORY to OWNER/NAME, or use `--forge none`"
            raise repository_error(Code.INVALID_ARGUMENT, message, hint)
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
        given = {
            "branch": {"repositoryNameWithOwner": self.name, "branchName": branch},
            "expectedHeadOid": base,
            "message": {"headline": headline, "body": body.strip("\n")},
            "fileChanges": changes,
        }
        # GitHub Enterprise has REST at /api/v3 and GraphQL at /api/graphql.
        address = f"{self.api.removesuffix('/v3')}/graphql"
        answer = self._send("POST", address, {"query": _COMMIT, "variables": {"input": given}})
        try:
            return str(answer["data"]["createCommitOnBranch"]["commit"]["oid"])
        except (KeyError, TypeError) as error:
            said = [str(each.get("message")) for each in answer.get("errors") or ()]
            raise _refused("POST", "graphql", "; ".join(said)) from error

    def find(self, branch: str) -> PullRequest | None:
        """The open pull request of the branch `branch`; None where there is none."""
        owner = self.name.partition("/")[0]
        found = self._call("GET", f"pulls?state=open&head={quote(f'{owner}:{branch}', safe='')}")
        return _pull(found[0]) if found else None

    def open(self, branch: str, base: str, text: PullText) -> PullRequest:
        """Ask for a merge of `branch` into `base`."""
        given = {"title": text.title, "body": text.body, "head": branch, "base": base}
        pull = _pull(self._call("POST", "pulls", given))
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

    def _call(self, method: str, path: str, given: object = None) -> Any:  # noqa: ANN401 (any JSON)
        return self._send(method, f"{self.api}/repos/{self.name}/{path}", given)

    def _send(self, method: str, address: str, given: object) -> Any:  # noqa: ANN401 (any JSON)
        path = address.removeprefix(f"{self.api}/repos/{self.name}/")
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        data = None if given is None else json.dumps(given).encode()
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
            raise repository_error(Code.IO_ERROR, message, hint) from error


def _pull(found: Any) -> PullRequest:  # noqa: ANN401 (any JSON)
    return PullRequest(int(found["number"]), str(found["html_url"]))


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
    return repository_error(Code.IO_ERROR, message, hint)
