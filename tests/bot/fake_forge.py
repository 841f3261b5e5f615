"""A forge that listens on this machine, with the part of GitHub's API that the bot calls."""

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.bot.repository import Repository

NAME = "acme/docs"


@dataclass
class FakeForge:
    """The part of GitHub's API that the bot calls, with its state."""

    pulls: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    repositories: dict[str, Repository] = field(default_factory=dict)
    changed: dict[str, bytes] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, method: str, path: str, given: dict[str, Any]) -> tuple[int, Any]:
        self.calls.append(f"{method} {path.partition('?')[0]}")
        path, _, query = path.partition("?")
        _, _, owner, name, *rest = path.split("/", 4)
        if not rest:
            return 200, {"full_name": f"{owner}/{name}", **self.facts.get(f"{owner}/{name}", {})}
        (path,) = rest
        pulls = [each for each in self.pulls if each["repository"] == f"{owner}/{name}"]
        if (method, path) == ("GET", "pulls"):
            head = query.rpartition("head=")[2].replace("%3A", ":").replace("%2F", "/")
            is_open = [each for each in pulls if each["state"] == "open"]
            return 200, [told(each) for each in is_open if f"{owner}:{each['head']}" == head]
        if (method, path) == ("POST", "pulls"):
            if any((each["head"], each["state"]) == (given["head"], "open") for each in pulls):
                return 422, {"message": "A pull request already exists."}
            number = len(self.pulls) + 1
            url = f"https://forge.example/pull/{number}"
            known = {"number": number, "state": "open", "html_url": url, "labels": []}
            self.pulls.append({**given, **known, "repository": f"{owner}/{name}"})
            return 201, told(self.pulls[-1])
        return 200, self._change(method, path, given)

    def _change(self, method: str, path: str, given: dict[str, Any]) -> Any:
        if path.startswith("issues/comments/"):
            wanted = int(path.rpartition("/")[2])
            comments = [comment for pull in self.pulls for comment in pull.get("comments", [])]
            comments[wanted]["body"] = given["body"]
            return {}
        kind, number_, *rest = path.split("/")
        pull = self.pulls[int(number_) - 1]
        if method == "PATCH" and kind == "pulls":
            pull.update(given)
        elif rest == ["merge"]:
            pull.update(state="merged", merged=given["sha"])
        elif rest == ["labels"]:
            pull["labels"] = sorted({*pull["labels"], *given["labels"]})
        if rest == ["comments"]:
            return self._comments(method, pull.setdefault("comments", []), given)
        return told(pull)

    def commit(self, given: dict[str, Any]) -> Any:
        """A commit as GitHub makes it, on the head that is named."""
        self.calls.append("POST /graphql")
        repository = self.repositories[given["branch"]["repositoryNameWithOwner"]]
        branch, base = given["branch"]["branchName"], given["expectedHeadOid"]
        if repository.at(branch) != base:
            return {"errors": [{"message": f"Expected branch to point to {base}"}], "data": None}
        added = given["fileChanges"]["additions"]
        files = {each["path"]: base64.b64decode(each["contents"], validate=True) for each in added}
        removed = [each["path"] for each in given["fileChanges"]["deletions"]]
        message = "\n\n".join([given["message"]["headline"], given["message"]["body"]])
        made = repository.commit_on(branch, {**files, **self.changed}, removed, message)
        return {"data": {"createCommitOnBranch": {"commit": {"oid": made}}}}

    def _comments(self, method: str, comments: list[dict[str, Any]], given: dict[str, Any]) -> Any:
        if method == "POST":
            author = {"user": {"type": "Bot"}, "author_association": "NONE"}
            comments.append({"id": len(comments), "body": given["body"], **author})
        return comments


def told(pull: dict[str, Any]) -> dict[str, Any]:
    """A pull request as GitHub shows it."""
    return {**pull, "labels": [{"name": name} for name in pull["labels"]]}


def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeForge]:
    """A forge, as the environment names it."""
    fake = FakeForge()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            given = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            known = self.headers["Authorization"] == "Bearer secret"
            with fake.lock:
                found = (
                    (200, fake.commit(given["variables"]["input"]))
                    if self.path == "/graphql"
                    else fake.answer(self.command, self.path, given)
                )
            status, body = found if known else (401, {"message": "no"})
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_POST = do_PATCH = do_PUT = do_GET  # noqa: N815 (names that the base class looks up)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("GITHUB_REPOSITORY", NAME)
    monkeypatch.setenv("GH_TOKEN", "secret")
    yield fake
    server.shutdown()
    server.server_close()
