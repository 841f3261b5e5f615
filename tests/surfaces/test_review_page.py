"""Access to the review page, its forms, and escaping of hostile text."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from mdplan.decisions import LineComment, Remarks, Side, Verdict
from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from mdplan.storage.files import FileName
from mdplan.storage.plans import DecisionStore
from mdplan.text.visible import escaped, is_hidden
from mdplan.web.sessions import address_of
from tests.conftest import REPOSITORY
from tests.support.case_tables import CaseTables
from tests.support.three_edits import change
from tests.surfaces.command_line import mdplan
from tests.surfaces.review_calls import HOST, TOKEN, Page, ReviewCalls

CASE_TABLES = CaseTables(__file__)


GUIDE = "# Guide\n\nfirst\n\n## Middle\n\nsecond\n\n## End\n\nthird\n"

EDITS = [
    {"op": "replace_match", "pattern": word, "replacement": number}
    for word, number in (("first", "1st"), ("second", "2nd"), ("third", "3rd"))
]

# Each breaks out of some place where text can stand: an element, an attribute, a script, a comment, a URL;
# or steers what is shown: escape sequences, direction, invisible characters.

TAGS = frozenset(
    re.findall(
        r"\w+",
        """
        html head meta title link script body header main nav section article div h1 h2 h3 p ul ol li dl dt dd
        a span bdi b i q code kbd em strong s del ins br hr pre blockquote time details summary dialog
        svg path form input label textarea button select option progress mark
        table caption colgroup col thead tbody tr th td
        """,
    )
)


FILES = {"guide.md": GUIDE}


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
@CASE_TABLES.parametrize("method", "route")
def test_routes_reject_foreign_hosts_and_origins(
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
def test_content_security_policy_blocks_other_sources(calls: ReviewCalls, plan_id: str, path: str) -> None:
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


def test_link_works_once_and_sets_an_http_only_strict_cookie(calls: ReviewCalls) -> None:
    opened = calls.get(calls.link)

    attributes = {part.strip().lower() for part in opened.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"httponly", "samesite=strict", f"path={calls.base.rstrip('/')}".lower()}
    assert calls.get(calls.link).status == 401
    assert calls.get(f"{calls.base}open?token=guessed").status == 401


def test_session_cookie_opens_only_the_page(calls: ReviewCalls) -> None:
    calls.visit()
    assert calls.get("/mcp").status == 401
    assert calls.get(calls.base.rstrip("/") + "ed").status == 401
    assert calls.get("/review/").status == 401


def test_agents_find_the_page_address(calls: ReviewCalls, root: Path, plan_id: str) -> None:
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
    assert "0 of 3 edits accepted, 1 rejected" in calls.get(page).page.text
    assert calls.submit(page, "/decide", verb="approve", comment="fine").headers["location"] == page

    (whole, part) = sorted(DecisionStore(str(root)).all(), key=lambda each: each.part_of is not None)
    assert (whole.decided_by, whole.remarks.comment, whole.rejected) == ("ann", "fine", (1,))
    assert whole.remarks.edit_comments == {1: "no\nnever"}
    assert part.approves
    assert "Approved 2 of 3 edits (plan " in calls.get(page).page.text
    calls.submit(page, "/apply")
    assert (root / "guide.md").read_text() == GUIDE.replace("first", "1st").replace("third", "3rd")
    assert "Applied: 1 file written." in calls.get(page).page.text


def test_class_is_rejected_and_one_place_of_it_accepted(
    calls: ReviewCalls, engine: Engine, root: Path
) -> None:
    (root / "guide.md").write_text("old one\n\nold two\n\nthis\n")
    every = {"op": "replace_match", "pattern": "old", "replacement": "new", "matchSelection": "all"}
    others = {"op": "replace_match", "pattern": "this", "replacement": "that"}
    plan_id = engine.plan({"file": "guide.md", "edits": [every, others]}).plan_id or ""
    page = calls.plan_path(plan_id)
    classes = f"{page}/classes"
    key = next(one.key for one in ReviewService(engine).open(plan_id).classes if one.removed == "old")
    assert "2 places in 1 file" in calls.visit().get(f"{classes}?key={key}").page.text
    calls.submit(classes, "/choose", part=f"class {key}", mark="reject")

    assert calls.submit(classes, "/choose", part="place 0 1", mark="accept").status == 303
    assert calls.submit(classes, "/choose", part="place 9 9", mark="accept").status == 409
    assert "0 of 2 edits accepted, 1 in part" in calls.get(page).page.text
    calls.submit(page, "/decide", verb="apply", comment="")
    assert (root / "guide.md").read_text() == "old one\n\nnew two\n\nthis\n"


def test_text_of_the_reader_goes_into_the_approved_plan(calls: ReviewCalls, root: Path, plan_id: str) -> None:
    path = calls.visit().plan_path(plan_id)
    query = "?view=unified&blanks=0"
    calls.submit(f"{path}/edit/1/text", f"/edit/1/text{query}", **{"place 0 1": "number\r\n\r\n2"})
    assert "Your text" in calls.get(path).text
    assert ">\nnumber\n\n2</textarea>" in calls.get(f"{path}/edit/1/text").text
    assert calls.get(f"{path}/edit/9/text").status == 409

    calls.submit(path, f"/edit/0{query}", mark="reject")
    calls.submit(path, "/decide", verb="apply", unviewed="0")

    assert (root / "guide.md").read_text() == GUIDE.replace("second", "number\n\n2").replace("third", "3rd")
    decision = DecisionStore(str(root)).of(plan_id)
    assert decision is not None
    feedback = [each.text for each in decision.remarks.line_comments]
    assert feedback == ["Changed to: number\n\n2"]


def test_unapproved_plan_is_not_applied(calls: ReviewCalls, root: Path, plan_id: str) -> None:
    page = calls.plan_path(plan_id)
    forms = calls.visit().get(page).page.forms
    token = next(form.fields["form_token"] for form in forms if "form_token" in form.fields)

    calls.post(f"{page}/apply", {"form_token": token})

    assert "APPROVAL_REQUIRED" in calls.get(page).page.text
    assert (root / "guide.md").read_text() == GUIDE


def test_malformed_decision_is_refused(calls: ReviewCalls, plan_id: str) -> None:
    page = calls.plan_path(plan_id)
    calls.visit()
    assert calls.submit(page, "/decide", verb="perhaps").status == 400
    assert calls.submit(page, "/decide", verb="approve", comment="x" * 2001).status == 303
    assert "a comment is longer" in calls.get(page).page.text


@pytest.mark.parametrize(
    "path", ["plan/{id}/file/9", "static/nothing", "plan/{id}/edit/9/section/0", "plan/%00"]
)
def test_missing_plan_or_file_is_reported(calls: ReviewCalls, plan_id: str, path: str) -> None:
    assert calls.visit().get(calls.base + path.format(id=plan_id)).status in {404, 409}


def test_page_version_changes_only_with_plans_and_decisions(
    calls: ReviewCalls, engine: Engine, plan_id: str
) -> None:
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


def test_one_page_shows_every_file_and_line(calls: ReviewCalls, engine: Engine, root: Path) -> None:
    names = [f"{number:03}.md" for number in range(70)]
    for name in names:
        (root / name).write_text("# A\n\nold\n")
    large = [f"line {number}" for number in range(2000)]
    files = [{"file": name, "edits": [EDITS[0] | {"pattern": "old"}]} for name in names]
    files.append({"file": "large.md", "edits": [{"op": "create_file", "markdown": "\n".join(large)}]})
    url = calls.plan_path(engine.plan({"files": files}).plan_id)
    page = calls.visit().get(url)

    assert re.findall(r'<article class="file" id="file-(\d+)"', page.text) == [
        str(each) for each in range(71)
    ]
    assert len(page.text) < 200_000
    indexes = ",".join(re.findall(r'data-file="(\d+)"[^>]*data-later', page.text))
    answer = calls.get(f"{url}/files?files={indexes}")
    # An answer may be incomplete, so a script asks for the rest.
    assert len(re.findall("<article", answer.text)) == 10
    assert len(answer.text) < 200_000
    parts = [calls.get(f"{url}/file/70?page={part}").page.text for part in range(1, 6)]
    assert shown_lines(" ".join(parts)) >= set(large)
    rest, first = calls.get(f"{url}/files?files=70").text, 0
    while found := re.search(r"rest\?view=unified&amp;blanks=0&amp;first=(\d+)", rest[first:]):
        first = len(rest)
        rest += calls.get(f"{url}/file/70/rest?first={found[1]}").text
    assert shown_lines(Page.of(rest).text) >= set(large)
    assert rest.count('id="edit-70"') == 1


def shown_lines(text: str) -> set[str]:
    return {f"line {each}" for each in re.findall(r"line (\d+)(?=\D)", text)}


@pytest.mark.requirement("review-page-2")
def test_approval_lists_unviewed_files(calls: ReviewCalls, engine: Engine, root: Path) -> None:
    (root / "other.md").write_text("old\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}
    batch = {"files": [{"file": "guide.md", "edits": EDITS}, {"file": "other.md", "edits": [edit]}]}
    page = calls.plan_path(engine.plan(batch).plan_id)
    calls.visit()
    assert "0 of 2 viewed" in calls.get(page).page.text
    calls.submit(page, "/file/0/viewed?view=unified&blanks=0", viewed="1")
    assert "1 of 2 viewed" in calls.get(page).page.text
    form = next(form for form in calls.get(page).page.forms if form.action.endswith("/decide"))

    asking = calls.post(form.action, {**form.fields, "verb": "approve"}).page

    assert "1 file not viewed" in asking.text
    assert "other.md" in asking.text
    assert "guide.md" not in asking.text
    assert DecisionStore(str(root)).all() == ()
    calls.submit(page, "/file/1/viewed?view=unified&blanks=0", viewed="1")
    calls.post(form.action, {**form.fields, "verb": "approve"})
    assert len(DecisionStore(str(root)).all()) == 1


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"comment": " "}, "a comment on lines is empty"),
        ({"comment": "x" * 2001}, "a comment is longer than 2000 characters"),
        ({"start": "40"}, "guide.md has no lines 3-40 after the plan"),
        ({"start": "0"}, "guide.md has no lines 0-3 after the plan"),
        ({"side": "old", "end": "12"}, "guide.md has no lines 3-12 before the plan"),
        ({"file": "9"}, "Page not found."),
    ],
)
def test_comment_on_a_missing_line_is_refused(
    calls: ReviewCalls, plan_id: str, given: dict[str, str], problem: str
) -> None:
    page = calls.plan_path(plan_id)
    calls.visit()
    fields = {"comment": "why?", "start": "3", "end": "3", "side": "new", **given}

    answer = calls.submit(page, "/comment?view=unified&blanks=0", **fields)

    assert answer.status in {404, 409}
    assert problem in answer.page.text
    assert "why?" not in calls.get(page).text


def test_comment_is_at_its_line_until_it_is_removed(calls: ReviewCalls, plan_id: str) -> None:
    page = calls.plan_path(plan_id)
    calls.visit()
    calls.submit(page, "/comment?view=unified&blanks=0", comment="why?", start="7", end="3", side="new")
    shown = calls.get(page).page.text
    assert "2nd You on lines 3 to 7 · pending why?" in shown
    assert "1 comment" in shown
    calls.submit(page, "/comment/1/delete?view=unified&blanks=0")
    assert "why?" not in calls.get(page).page.text


def test_request_for_changes_keeps_the_comments_and_their_places(
    calls: ReviewCalls, root: Path, plan_id: str
) -> None:
    page = calls.plan_path(plan_id)
    calls.visit()
    calls.submit(page, "/comment?view=unified&blanks=0", comment="why?", start="3", end="7", side="new")
    calls.submit(page, "/edit/2?view=unified&blanks=0", mark="none", comment="and this?")
    calls.submit(page, "/decide", verb="changes", comment="Nearly.")

    (decision,) = DecisionStore(str(root)).all()
    assert (decision.requests_changes, decision.remarks.comment) == (True, "Nearly.")
    (said,) = decision.remarks.line_comments
    assert (said.file, said.start, said.end, said.text) == ("guide.md", 3, 7, "why?")
    assert said.quote == "1st\n\n## Middle\n\n2nd"
    assert decision.remarks.edit_comments == {2: "and this?"}
    shown = calls.get(page).page.text
    assert "Changes requested by ann" in shown
    assert "guide.md, line 3 to 7: why?" in shown
    assert "ann on lines 3 to 7 why?" in shown


def test_request_for_changes_without_a_comment_is_refused(
    calls: ReviewCalls, root: Path, plan_id: str
) -> None:
    page = calls.plan_path(plan_id)
    calls.visit()
    calls.submit(page, "/decide", verb="changes")
    assert "a request for changes says what to change" in calls.get(page).page.text
    assert DecisionStore(str(root)).all() == ()


def test_section_moved_between_files_is_marked_in_both(
    calls: ReviewCalls, engine: Engine, root: Path
) -> None:
    (root / "other.md").write_text("# Other\n\ntext\n")
    move = {"op": "move_section", "heading": "Middle", "toFile": "other.md"}
    report = engine.plan({"file": "guide.md", "edits": [move]})
    assert report.plan_id is not None, report.diagnostics

    page = calls.visit().get(calls.plan_path(report.plan_id))

    assert "moved to other.md## Middle" in page.page.text
    assert "moved from guide.md" in page.page.text
    assert len(re.findall(r'<tr class="(?:gone|new) moved"', page.text)) >= 4


def test_very_long_line_is_truncated_with_a_note(calls: ReviewCalls, engine: Engine, root: Path) -> None:
    edit = {"op": "create_file", "markdown": "x" * 3_000_000}
    plan_id = engine.plan({"file": "new.md", "edits": [edit]}).plan_id

    answer = calls.visit().get(calls.plan_path(plan_id))

    assert "and 2,980,000 more characters, which are in the patch" in answer.page.text
    assert len(answer.text) < 50_000


@pytest.mark.requirement("review-5")
@CASE_TABLES.parametrize("text")
def test_hostile_text_is_escaped_in_the_page(
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
    calls.submit(page, "/comment?view=unified&blanks=0", comment=text, start="1", end="2", side="new")
    calls.get(page)
    for each in (
        *("", "?view=split&blanks=1", "/file/0", "/edit/0/section/0", "/edit/1/section/0"),
        *("/files?files=0", "/file/0/rest?first=1", f"/search?q={quote(text)}", "/file/0/lines?last=9"),
    ):
        check_inert(calls.get(page + each).text)
    check_inert(calls.get(calls.base).text)
    (root / path).write_bytes(f"# {text}\n\nother {text}\n".encode())
    check_inert(calls.get(page).text)


def check_inert(html: str) -> None:
    """Check that tags and attributes come only from templates, and that no character hides or controls."""
    page = Page.of(html)
    assert set(page.tags) <= TAGS
    assert page.tags.count("script") == page.tags.count("html")
    names = {name for _, name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on") or name in {"style", "srcdoc", "srcset"}}
    for tag, name, value in page.attributes:
        if name in {"href", "src", "action"}:
            assert value.startswith(("/review/", "#")), (tag, name, value)
    # The value of a comment is the person's own, as it was typed.
    typed = "".join(value for _, name, value in page.attributes if name == "value")
    assert [hex(ord(each)) for each in html if is_hidden(each) and each not in typed] == []


# --- The page of a revised plan: comments on the earlier one, and the difference.


@pytest.fixture
def revised_engine(tmp_path: Path) -> Engine:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\none\n\ntwo\n")
    (folder / "b.md").write_text("# B\n\none\n")
    return Engine.open([folder])


def page_of(revised_engine: Engine, plan_id: str) -> str:
    calls = ReviewCalls(revised_engine)
    calls.visit()
    answer = calls.get(f"{calls.base}plan/{plan_id}")
    assert answer.status == 200
    return answer.text


def test_page_shows_earlier_comments_and_differences(revised_engine: Engine) -> None:
    first = revised_engine.plan({"file": "a.md", "edits": [change("one", "1"), change("two", "2")]}).plan_id
    lines = (LineComment(file="a.md", side=Side.AFTER, start=3, end=3, text="as a <word>"),)
    ReviewService(revised_engine).decide(
        first, "ann", Verdict.CHANGES_REQUESTED, Remarks(comment="nearly", line_comments=lines)
    )
    second = revised_engine.plan(
        {"file": "a.md", "edits": [change("one", "<one>"), change("two", "2")]}
    ).plan_id
    shown = page_of(revised_engine, second)

    assert "Replaces plan" in shown
    assert 'requested changes to that plan: <q dir="auto">nearly</q>' in shown
    assert "as a &lt;word&gt;" in shown
    assert "changed since" in shown
    assert '<span class="gone">-1</span>\n<span class="added">+&lt;one&gt;</span>' in shown
    assert "Replaces plan" not in page_of(revised_engine, first)


def test_comment_on_a_removed_file_does_not_break_the_page(revised_engine: Engine) -> None:
    batch = {"files": [{"file": name, "edits": [change("one", "1")]} for name in ("a.md", "b.md")]}
    whole = revised_engine.plan(batch).plan_id
    part = revised_engine.apply({"planId": whole, "accept": [0], "dryRun": True}).plan_id
    lines = (LineComment(file="b.md", side=Side.AFTER, start=3, end=3, text="on the other file"),)
    ReviewService(revised_engine).decide(
        whole, "ann", Verdict.CHANGES_REQUESTED, Remarks(line_comments=lines)
    )

    assert "on the other file" not in page_of(revised_engine, part)
    assert "on the other file" in page_of(revised_engine, whole)


# --- `mdplan review` as a process: output, browser, address and exit.

SECONDS = 60
HOW_TO = (REPOSITORY / "docs" / "how-to" / "review-plans.md").read_text(encoding="utf-8")
PROCESS_FILES = {"guide.md": "# Guide\n\nold\n"}


@pytest.fixture
def small_root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    for name, text in PROCESS_FILES.items():
        (folder / name).write_text(text)
    return folder


@contextmanager
def review(small_root: Path, *arguments: str, **streams: object) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "mdplan", "review", "--root", str(small_root), *arguments],
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
        encoding="utf-8",
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SECONDS)


def wait_for(file: Path) -> None:
    for _ in range(SECONDS * 20):
        if file.exists():
            return
        time.sleep(0.05)


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file into which a browser of these tests writes what it opens."""
    program, opened = tmp_path / "browser", tmp_path / "opened"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > "{opened}.new" && mv "{opened}.new" "{opened}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{program} %s")
    return opened


def test_link_is_printed_and_a_signal_stops_the_server(small_root: Path, opened: Path) -> None:
    with review(small_root) as process:
        link = process.stdout.readline().strip()
        assert link.startswith("http://127.0.0.1:")
        shown = address_of(str(small_root), "ID")
        assert shown is not None
        host = re.escape(link.partition("/review/")[0])
        assert re.fullmatch(host + r"/review/[\w-]{22}/view\?plan=ID&token=\w+", shown)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=SECONDS)

    assert process.returncode == 130
    assert told in HOW_TO
    assert address_of(str(small_root), "ID") is None
    assert not opened.exists(), "nobody would see it"


@pytest.mark.parametrize("no_browser", [True, False])
def test_terminal_with_a_browser_opens_the_page(small_root: Path, opened: Path, no_browser: bool) -> None:
    terminal, inner = pty.openpty()
    options = ["--no-browser"] if no_browser else []
    with review(small_root, *options, stdin=inner, stderr=inner) as process:
        link = process.stdout.readline().strip()
        if not no_browser:
            wait_for(opened)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=SECONDS)
    os.close(inner)
    os.close(terminal)

    assert [path.read_text() for path in [opened] if path.exists()] == ([] if no_browser else [link])


def test_link_opens_the_named_plan(small_root: Path) -> None:
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}
    plan_id = Engine.open([small_root]).plan({"file": "guide.md", "edits": [edit]}).plan_id
    with review(small_root, plan_id[:23], "--host", "::1") as process:
        link = process.stdout.readline().strip()
    assert link.startswith("http://[::1]:")
    assert link.endswith(f"&plan={plan_id}")


@CASE_TABLES.parametrize("arguments", "code", "told", tuples=True)
def test_impossible_options_are_refused(
    small_root: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    refused = mdplan("review", "--root", str(small_root), *arguments)

    assert refused.code == code
    assert told in refused.err


def test_busy_port_is_reported(small_root: Path) -> None:
    with review(small_root) as first:
        port = first.stdout.readline().partition(":")[2].partition(":")[2].partition("/")[0]
        with review(small_root, "--port", port) as second:
            _, err = second.communicate(timeout=SECONDS)
    assert second.returncode == 6
    assert "IO_ERROR" in err


def test_client_configuration_of_the_page_is_json() -> None:
    block = HOW_TO.partition("```json .mcp.json\n")[2].partition("```")[0]
    assert json.loads(block)["mcpServers"]["mdplan"]["args"][-1] == "--require-approval"
