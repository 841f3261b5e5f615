"""Who may see the page, what its forms do, and that hostile files do nothing on it."""

import json
import re
from pathlib import Path

import pytest

from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.user.decisions import DecisionStore
from mdplan.storage.user.review_address import address_of
from mdplan.text.visible_text import escaped, is_hidden
from tests.surfaces.review_calls import HOST, TOKEN, Page, ReviewCalls

GUIDE = "# Guide\n\nfirst\n\n## Middle\n\nsecond\n\n## End\n\nthird\n"
EDITS = [
    {"op": "replace_match", "pattern": word, "replacement": number}
    for word, number in (("first", "1st"), ("second", "2nd"), ("third", "3rd"))
]
# Each breaks out of some place where text can stand: an element, an attribute, a script, a comment, a URL;
# or steers what is shown: escape sequences, direction, invisible characters.
HOSTILE = (
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</textarea><svg onload=alert(1)>",
    "--><style>*{display:none}</style><!--",
    "]]><iframe src=javascript:alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;script&gt;&#60;b&#62;",
    "javascript:alert(1)",
    "\u202e\u2066right to left\u2069",
    "\x1b]8;;http://evil\x07link\x1b]8;;\x07",
    "zero\u200bwidth\ufeff\u00ad\u2028\u0085",
    "`~~~<b>|[x](javascript:1)![y](http://evil/z.png)",
)
TAGS = frozenset(
    re.findall(
        r"\w+",
        """
        html head meta title link script body header main nav section article div h1 h2 h3 p ul ol li dl dt dd
        a span bdi b i q code kbd em strong s del ins br hr pre blockquote time details summary dialog
        svg path form input label textarea button table caption colgroup col thead tbody tr th td
        """,
    )
)
ROUTES = (
    ("GET", ""),
    ("GET", "/"),
    ("GET", "/news"),
    ("GET", "/static/review.css"),
    ("GET", "/static/review.js"),
    ("GET", "/static/icon.svg"),
    ("GET", "/plan/{id}"),
    ("GET", "/plan/{id}/state"),
    ("GET", "/plan/{id}/patch"),
    ("GET", "/plan/{id}/file/0"),
    ("GET", "/plan/{id}/edit/0/section/0"),
    ("POST", "/plan/{id}/edit/0"),
    ("POST", "/plan/{id}/decide"),
    ("POST", "/plan/{id}/apply"),
    ("POST", "/plan/{id}/replan"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "guide.md").write_text(GUIDE)
    return folder


@pytest.fixture
def engine(root: Path) -> Engine:
    return Engine.open([root], approval=approved_only)


@pytest.fixture
def calls(engine: Engine) -> ReviewCalls:
    return ReviewCalls(engine)


@pytest.fixture
def plan_id(engine: Engine) -> str:
    return engine.plan({"file": "guide.md", "edits": EDITS}).plan_id


@pytest.mark.requirement("review-5")
@pytest.mark.parametrize(("method", "route"), ROUTES)
def test_route_answers_a_visit_from_its_own_host_and_pages_alone(
    calls: ReviewCalls, root: Path, plan_id: str, method: str, route: str
) -> None:
    path = calls.base.rstrip("/") + route.format(id=plan_id)
    form = {"origin": f"http://{HOST}"} if method == "POST" else {}
    assert calls.ask(method, path, b"", form).status == 401
    assert calls.ask(method, path, b"", {"cookie": "mdplan_review_0=guessed", **form}).status == 401
    # The token of agents opens nothing here: else one could approve what it planned.
    assert calls.ask(method, path, b"", {"authorization": f"Bearer {TOKEN}", **form}).status == 401

    calls.visit()
    for headers, status in (
        ({"host": "evil.example"}, 421),
        ({"host": "localhost:8080"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:8081"}, 403),
        ({"origin": "null"}, 403),
    ):
        assert calls.ask(method, path, b"", headers).status == status
    answer = calls.ask(method, path, b"form_token=guessed", form)
    assert answer.status == (403 if method == "POST" else 200 if route else 303)
    assert DecisionStore(str(root)).all() == ()


@pytest.mark.parametrize("path", ["", "plan/{id}", "static/review.js", "plan/0"])
def test_policy_lets_nothing_in(calls: ReviewCalls, plan_id: str, path: str) -> None:
    headers = calls.visit().get(calls.base + path.format(id=plan_id)).headers

    policy = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    # Else browsers send forms with the origin `null`.
    assert headers["referrer-policy"] == "same-origin"


def test_link_works_once_and_becomes_a_cookie_that_scripts_and_other_sites_do_not_get(
    calls: ReviewCalls,
) -> None:
    opened = calls.get(calls.link)

    attributes = {part.strip().lower() for part in opened.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"httponly", "samesite=strict", f"path={calls.base.rstrip('/')}".lower()}
    assert calls.get(calls.link).status == 401
    assert calls.get(f"{calls.base}open?token=guessed").status == 401


def test_visit_opens_only_the_page(calls: ReviewCalls) -> None:
    calls.visit()
    assert calls.get("/mcp").status == 401
    assert calls.get(calls.base.rstrip("/") + "ed").status == 401
    assert calls.get("/review/").status == 401


def test_agents_find_where_to_send_people(calls: ReviewCalls, root: Path, plan_id: str) -> None:
    address = address_of(str(root), plan_id).removeprefix(f"http://{HOST}")

    first, second = calls.get(address), calls.get(address)

    assert first.status == second.status == 200
    assert address.partition("view?")[0] + f"plan/{plan_id}" in first.text


def test_part_is_approved_with_comments_and_applied(
    calls: ReviewCalls, engine: Engine, root: Path, plan_id: str
) -> None:
    page = calls.plan_path(plan_id)
    calls.visit()
    back = calls.submit(page, "/edit/1?view=unified&blanks=0", mark="reject", comment="no\r\nnever")
    assert back.headers["location"] == f"{page}?view=unified&blanks=0&page=1#edit-1"
    assert "2 of 3 edits accepted" in calls.get(page).page.text
    assert calls.submit(page, "/decide", verb="approve", comment="fine").headers["location"] == page

    (whole, part) = sorted(DecisionStore(str(root)).all(), key=lambda each: each.part_of is not None)
    assert (whole.decided_by, whole.comment, whole.rejected) == ("ann", "fine", (1,))
    assert whole.edit_comments == {1: "no\nnever"}
    assert part.approves
    assert "Approved 2 of 3 edits (plan " in calls.get(page).page.text
    calls.submit(page, "/apply")
    assert (root / "guide.md").read_text() == GUIDE.replace("first", "1st").replace("third", "3rd")
    assert "Applied: 1 file written." in calls.get(page).page.text


def test_plan_that_nobody_approved_is_not_applied(calls: ReviewCalls, root: Path, plan_id: str) -> None:
    page = calls.plan_path(plan_id)
    token = calls.visit().get(page).page.forms[0].fields["form_token"]

    calls.post(f"{page}/apply", {"form_token": token})

    assert "APPROVAL_REQUIRED" in calls.get(page).page.text
    assert (root / "guide.md").read_text() == GUIDE


def test_decision_that_is_none_is_refused(calls: ReviewCalls, plan_id: str) -> None:
    page = calls.plan_path(plan_id)
    calls.visit()
    assert calls.submit(page, "/decide", verb="perhaps").status == 400
    assert calls.submit(page, "/decide", verb="approve", comment="x" * 2001).status == 303
    assert "a comment is longer" in calls.get(page).page.text


@pytest.mark.parametrize(
    "path",
    [
        "plan/{id}/file/9",
        "static/nothing",
        "plan/{id}/edit/9/section/0",
        "plan/%00",
    ],
)
def test_what_is_not_there_is_told(calls: ReviewCalls, plan_id: str, path: str) -> None:
    assert calls.visit().get(calls.base + path.format(id=plan_id)).status in {404, 409}


def test_news_change_with_plans_and_decisions_alone(calls: ReviewCalls, engine: Engine, plan_id: str) -> None:
    calls.visit()

    def news() -> str:
        return json.loads(calls.get(f"{calls.base}news").text)["news"]

    seen = [news(), news()]
    engine.plan({"file": "guide.md", "edits": EDITS[:1]})
    seen.append(news())
    calls.submit(calls.plan_path(plan_id), "/decide", verb="reject")
    seen.append(news())

    assert seen[0] == seen[1]
    assert len(set(seen)) == 3


def test_every_file_is_on_one_page_and_every_line_of_a_large_one(
    calls: ReviewCalls, engine: Engine, root: Path
) -> None:
    names = [f"{number:03}.md" for number in range(70)]
    for name in names:
        (root / name).write_text("# A\n\nold\n")
    large = [f"line {number}" for number in range(2000)]
    files = [{"file": name, "edits": [EDITS[0] | {"pattern": "old"}]} for name in names]
    files.append({"file": "large.md", "edits": [{"op": "create_file", "markdown": "\n".join(large)}]})
    url = calls.plan_path(engine.plan({"files": files}).plan_id)
    calls.visit()

    pages, number = [], 1
    while 'rel="next"' in "".join(pages[-1:]) or not pages:
        pages.append(calls.get(f"{url}?page={number}").text)
        number += 1
    headings = [
        path for page in pages for path in re.findall(r'id="file-\d+-t"><bdi class="path">(.*?)<', page)
    ]
    assert sorted(headings) == [*names, "large.md"]
    assert max(map(len, pages)) < 500_000
    parts = [calls.get(f"{url}/file/70?page={part}").page.text for part in range(1, 6)]
    shown = re.findall(r"line (\d+)(?=\D)", " ".join(part.partition("Edit 70")[2] or part for part in parts))
    assert {f"line {each}" for each in shown} >= set(large)
    assert "All 2,000 lines of this file" in "".join(pages)


def test_line_without_end_is_cut_and_told(calls: ReviewCalls, engine: Engine, root: Path) -> None:
    edit = {"op": "create_file", "markdown": "x" * 3_000_000}
    plan_id = engine.plan({"file": "new.md", "edits": [edit]}).plan_id

    answer = calls.visit().get(calls.plan_path(plan_id))

    assert "and 2,980,000 more characters, which are in the patch" in answer.page.text
    assert len(answer.text) < 50_000


@pytest.mark.requirement("review-5")
@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_does_nothing(
    calls: ReviewCalls, engine: Engine, root: Path, text: str
) -> None:
    """As a path, a heading, a body, a pattern, a payload and a comment, on every page."""
    path = text.replace("/", "_") + ".md"
    if not isinstance(engine.workspace.locate(path), FileName):
        path = "a.md"
    (root / path).write_bytes(f"# {text}\n\nold {text}\n".encode())
    edits = [
        {"op": "replace_match", "pattern": f"old {text}", "replacement": f"new {text}"},
        {"op": "append_to_file", "markdown": f"more {text}\n\n- {text}\n\n~~~~ {text}\n{text}\n~~~~"},
    ]
    planned = engine.plan({"file": path, "edits": edits})
    assert planned.ok, planned.diagnostics
    page = calls.plan_path(planned.plan_id)
    calls.visit()
    calls.submit(page, "/edit/0?view=unified&blanks=0", mark="reject", comment=text)
    calls.submit(page, "/decide", verb="approve", comment=text)

    assert re.sub(r"\s+", " ", escaped(f"new {text}")) in calls.get(page).page.text
    for each in ("", "?view=split&blanks=1", "/file/0", "/edit/0/section/0", "/edit/1/section/0"):
        check_inert(calls.get(page + each).text)
    check_inert(calls.get(calls.base).text)
    (root / path).write_bytes(f"# {text}\n\nother {text}\n".encode())
    check_inert(calls.get(page).text)


def check_inert(html: str) -> None:
    """No tag or attribute but those of the templates, and no character that hides or steers."""
    page = Page.of(html)
    assert set(page.tags) <= TAGS
    assert [tag for tag in page.tags if tag == "script"] == ["script"]
    names = {name for _, name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on") or name in {"style", "srcdoc", "srcset"}}
    for tag, name, value in page.attributes:
        if name in {"href", "src", "action"}:
            assert value.startswith(("/review/", "#")), (tag, name, value)
    # The value of a comment is the person's own, as it was typed.
    typed = "".join(value for _, name, value in page.attributes if name == "value")
    assert [hex(ord(each)) for each in html if is_hidden(each) and each not in typed] == []
