"""The review page behind its guard, asked in memory; and its HTML taken apart."""

import asyncio
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from mdplan.web.http import GuardRules, any_of, bearer, http_app
from mdplan.web.routes import review_part

HOST = "127.0.0.1:8080"
TOKEN = "a-token-of-the-agents"


@dataclass(frozen=True)
class Answer:
    """A response: status, headers by lower-case name, text."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def page(self) -> "Page":
        return Page.of(self.text)


class ReviewCalls:
    """A server in memory, with its printed links, and the cookie of the last visit."""

    def __init__(self, engine: Engine) -> None:
        self.links: list[str] = []
        self.root = engine.workspace.roots[0].path
        part = review_part(ReviewService(engine), lambda: "ann", self.links.append)
        rules = GuardRules(
            hosts=frozenset({HOST}),
            origins=frozenset(),
            admission=any_of(bearer(TOKEN), *part.admissions),
            max_body_bytes=1 << 16,
            pages=part.pages,
        )
        self._app = http_app([part], rules)
        part.listening(f"http://{HOST}")
        self.cookie = ""

    @property
    def link(self) -> str:
        """Path of the printed link."""
        return self.links[-1].removeprefix(f"http://{HOST}")

    @property
    def base(self) -> str:
        """Path of the pages of a session that may decide."""
        return self.link.partition("open?")[0]

    def plan_path(self, plan_id: str) -> str:
        """Path of the page of a plan, in a session that may decide."""
        return f"{self.base}plan/{plan_id}"

    def visit(self) -> "ReviewCalls":
        """Open the link, and keep the cookie as a browser does."""
        answer = self.get(self.link)
        assert answer.status == 200
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self

    def get(self, path: str, **headers: str | None) -> Answer:
        return self.ask("GET", path, b"", headers)

    def post(self, path: str, fields: Mapping[str, str], **headers: str | None) -> Answer:
        given = {"origin": f"http://{HOST}", "content_type": "application/x-www-form-urlencoded", **headers}
        return self.ask("POST", path, urlencode(fields).encode(), given)

    def submit(self, page_path: str, action: str, **fields: str) -> Answer:
        """Send the form with that `action`, which stands on a page, with its hidden fields.

        Where files were not viewed, approve anyway.
        """
        hidden = next(form for form in self.get(page_path).page.forms if form.action.endswith(action))
        answer = self.post(hidden.action, {**hidden.fields, **fields})
        asking = [form for form in answer.page.forms if form.fields.get("unviewed")]
        return self.post(asking[0].action, {**asking[0].fields, "verb": fields["verb"]}) if asking else answer

    def ask(self, method: str, path: str, body: bytes, headers: Mapping[str, str | None]) -> Answer:
        given = {"host": HOST, **({"cookie": self.cookie} if self.cookie else {}), **headers}
        sent: list[MutableMapping[str, Any]] = []
        chunks = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> MutableMapping[str, Any]:
            return chunks.pop(0) if chunks else {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "scheme": "http",
            "server": ("127.0.0.1", 8080),
            "query_string": query.encode(),
            "headers": [
                (name.replace("_", "-").encode(), value.encode("latin-1"))
                for name, value in given.items()
                if value is not None
            ],
        }
        asyncio.run(self._app(scope, receive, send))
        start = sent[0]
        return Answer(
            status=start["status"],
            headers={name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]},
            text=b"".join(message.get("body", b"") for message in sent[1:]).decode("utf-8", "replace"),
        )


@dataclass
class Form:
    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """Tags and attributes of a page, its text, and its forms."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.forms: list[Form] = []

    @classmethod
    def of(cls, html: str) -> "Page":
        page = cls()
        page.feed(html)
        page.close()
        return page

    @property
    def text(self) -> str:
        """All text, with one blank for each run of white space."""
        return re.sub(r"\s+", " ", "".join(self.texts))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.attributes += [(tag, name, value) for name, value in given.items()]
        if tag == "form":
            self.forms.append(Form(given.get("action", "")))
        if tag == "input" and given.get("type") == "hidden":
            self.forms[-1].fields[given["name"]] = given["value"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
