"""Side by side, lines that belong together are beside each other."""

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import HTTPConnection
from starlette.types import Receive, Send

from mdplan.markdown.html import safe_html
from mdplan.values import replace
from mdplan.web import http as http_guard
from mdplan.web.diff import marked_html, paired
from mdplan.web.http import GuardRules, HttpGuard, any_of, bearer
from tests.properties.hostile_markdown import hostile_documents
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


OLD = ("## Install", "", "Get the nightly build.", "", "## Use", "", "Run it once a day.")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # A renamed heading is beside the old one, though a section was put before it.
        (
            OLD[4:],
            ("## Requirements", "", "A socket.", "", "## Use it", "", "Run it twice a day."),
            [(None, 0), (None, 1), (None, 2), (None, 3), (0, 4), (1, 5), (2, 6)],
        ),
        # Two titles without a common word, each with its own body.
        (
            OLD,
            ("## Setup", "", "Get the stable build.", "", "## Daily work", "", "Run it once a week."),
            [(number, number) for number in range(7)],
        ),
        # The body of a section that was removed is beside nothing.
        (OLD, OLD[4:], [(0, None), (1, None), (2, None), (3, None), (4, 0), (5, 1), (6, 2)]),
        # A new section before two renamed ones: titles stay with their bodies.
        (
            ("## One", "First body.", "## Two", "Second body."),
            ("## Nil", "New text.", "## Uno", "First body, again.", "## Dos", "Second body, again."),
            [(None, 0), (None, 1), (0, 2), (1, 3), (2, 4), (3, 5)],
        ),
        (("a b c",), ("x y z",), [(0, 0)]),
        ((), ("new",), [(None, 0)]),
        (("gone", "gone too"), (), [(0, None), (1, None)]),
    ],
)
def test_split_view_pairs_matching_lines(
    old: tuple[str, ...], new: tuple[str, ...], expected: list[tuple[int | None, int | None]]
) -> None:
    assert list(paired(old, new)) == expected


LINES = st.lists(st.sampled_from(["", "# A", "## A", "## B c", "one two three", "one two", "four", "---"]))


@given(LINES, LINES)
def test_every_line_is_shown_once_and_in_order(old: list[str], new: list[str]) -> None:
    pairs = list(paired(old, new))
    assert [each for each, _ in pairs if each is not None] == list(range(len(old)))
    assert [each for _, each in pairs if each is not None] == list(range(len(new)))


# --- Rendered before and after, only what changed is marked.


@CASE_TABLES.parametrize("before", "after", "gone", "come")
def test_only_the_words_that_changed_are_marked(
    before: str, after: str, gone: list[str], come: list[str]
) -> None:
    old, new = marked_html(safe_html(before) or "", safe_html(after) or "")
    assert re.findall(r"<del>(.*?)</del>", old) == gone
    assert re.findall(r"<ins>(.*?)</ins>", new) == come


@given(hostile_documents(), hostile_documents())
def test_marks_do_not_change_the_rendered_text(before: str, after: str) -> None:
    old = safe_html(before.encode("utf-8", "replace").decode()) or ""
    new = safe_html(after.encode("utf-8", "replace").decode()) or ""
    marked_old, marked_new = marked_html(old, new)
    assert re.sub(r"</?del>", "", marked_old) == old
    assert re.sub(r"</?ins>", "", marked_new) == new
    for html, tag in ((marked_old, "del"), (marked_new, "ins")):
        assert all("<" not in each for each in re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL))


# --- The guard before every HTTP route: what passes, what is refused with which status, and how it
# compares.

TOKEN = "0123456789abcdef"
GOOD = {"host": "127.0.0.1:8080", "authorization": f"Bearer {TOKEN}"}

RULES = GuardRules(
    hosts=frozenset({"127.0.0.1:8080", "localhost:8080"}),
    origins=frozenset({"https://docs.example.org"}),
    admission=bearer(TOKEN),
    max_body_bytes=10,
)

Pairs = list[tuple[bytes, bytes]]


def pairs(headers: dict[str, str]) -> Pairs:
    return [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]


def sent_through(
    headers: Pairs, *body: bytes, kind: str = "http", path: str = "/", rules: GuardRules = RULES
) -> tuple[list[dict[str, Any]], list[bytes]]:
    """What the guard, or the application behind it, sends; and the bodies that the application has read."""
    bodies: list[bytes] = []
    sent: list[dict[str, Any]] = []
    chunks = list(body or (b"",))

    async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        read = b""
        while True:
            message = await receive()
            read += message["body"]
            if not message["more_body"]:
                break
        bodies.append(read)
        assert (await receive())["type"] == "http.disconnect"
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"served"})

    async def receive() -> dict[str, Any]:
        if not chunks:
            return {"type": "http.disconnect"}
        chunk = chunks.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(chunks)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": kind, "method": "POST", "path": path, "query_string": b"", "headers": headers}
    asyncio.run(HttpGuard(app, rules)(scope, receive, send))
    return sent, bodies


def status(headers: Pairs, *body: bytes, path: str = "/", rules: GuardRules = RULES) -> int:
    sent, bodies = sent_through(headers, *body, path=path, rules=rules)
    assert (sent[0]["status"] == 200) == bool(bodies), "only what is served is read by the application"
    return sent[0]["status"]


@pytest.mark.requirement("http-1")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 200),
        ({"host": "LOCALHOST:8080"}, 200),
        ({"host": "127.0.0.1:8080.evil.example"}, 421),
        ({"host": ""}, 421),
        ({"origin": "https://docs.example.org"}, 200),
        ({"origin": "HTTPS://DOCS.example.org"}, 200),
        ({"origin": "http://docs.example.org"}, 403),
        ({"origin": "https://docs.example.org.evil.example"}, 403),
        ({"origin": ""}, 403),
        ({"authorization": f"bearer  {TOKEN}"}, 200),
        ({"authorization": TOKEN}, 401),
        ({"authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        ({"authorization": "Bearer "}, 401),
        ({"authorization": "Bearer \xff\xfe"}, 401),
        ({"content-length": "10"}, 200),
        ({"content-length": "11"}, 413),
        ({"content-length": "9" * 5000}, 413),
        ({"content-length": "many"}, 200),
    ],
)
def test_request_is_accepted_or_refused_by_its_headers(headers: dict[str, str], expected: int) -> None:
    assert status(pairs({**GOOD, **headers})) == expected


@pytest.mark.parametrize("missing", GOOD)
def test_request_without_a_required_header_is_refused(missing: str) -> None:
    given_headers = {name: value for name, value in GOOD.items() if name != missing}

    assert status(pairs(given_headers)) == {"host": 421, "authorization": 401}[missing]


@CASE_TABLES.parametrize("path", "origin", "expected")
def test_forms_of_own_pages_are_accepted(path: str, origin: str, expected: int) -> None:
    rules = replace(RULES, pages=("/review/",))
    assert status(pairs(GOOD | {"origin": origin}), path=path, rules=rules) == expected


def test_duplicate_host_or_origin_is_refused() -> None:
    evil = [(b"origin", b"https://docs.example.org"), (b"origin", b"https://evil.example")]

    assert status([*pairs(GOOD), (b"host", b"evil.example")]) == 421
    assert status([*pairs(GOOD), *evil]) == 403


def test_body_is_accepted_up_to_the_limit() -> None:
    sent, bodies = sent_through(pairs(GOOD), b"12345", b"", b"67890")

    assert (sent[0]["status"], bodies) == (200, [b"1234567890"])
    assert status(pairs(GOOD), b"12345", b"67890", b"1", b"2") == 413


def test_web_socket_is_closed() -> None:
    sent, bodies = sent_through(pairs(GOOD), kind="websocket")

    assert (sent, bodies) == ([{"type": "websocket.close", "code": 1008}], [])


def test_refusal_repeats_nothing_of_the_request() -> None:
    for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}, {"authorization": "evil"}):
        sent, _ = sent_through(pairs({**GOOD, **headers}))
        assert b"evil" not in repr(sent).encode()


@pytest.mark.requirement("http-1")
def test_wrong_tokens_of_every_length_are_compared_as_digests_of_one_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = http_guard.compare_digest
    monkeypatch.setattr(http_guard, "compare_digest", lambda *both: compared.append(both) or compare(*both))
    for credential in ("", "Bearer x", f"Bearer {TOKEN}", f"Bearer {TOKEN}{TOKEN}", f"Basic {TOKEN}"):
        status(pairs({**GOOD, "authorization": credential}))

    assert [(len(given), len(expected)) for given, expected in compared] == [(32, 32)] * 5


def test_one_valid_credential_is_enough() -> None:
    def by_cookie(connection: HTTPConnection) -> bool:
        return connection.cookies.get("session") == "open"

    admits = any_of(bearer(TOKEN), by_cookie)
    scope = {"type": "http", "path": "/", "headers": [(b"cookie", b"session=open")]}

    assert admits(HTTPConnection(scope))
    assert not admits(HTTPConnection({**scope, "headers": []}))
    assert admits(HTTPConnection({**scope, "headers": pairs(GOOD)}))
