"""An agent plans, a person decides in a browser, and the agent applies exactly that."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.review_server import EDITS, GUIDE, ReviewServer, review_server
from tests.support.case_tables import CaseTables
from tests.surfaces.mcp_calls import Calls, calls_to, process

CASE_TABLES = CaseTables(__file__)


if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EXPECTED = GUIDE.replace("first", "1st").replace("third", "3rd")
COMMENT = 'leave it, "as it is" <b>'
Decide = Callable[["Page"], None]


@contextmanager
def agent(root: Path) -> Iterator[Calls]:
    """An agent over stdio, whose writes wait for approval."""
    with calls_to(process("--root", str(root), "--require-approval"), "auto") as calls:
        yield calls


def with_mouse(page: "Page") -> None:
    page.get_by_role("link", name="3 edits in guide.md").click()
    card = page.locator("[data-edit='1']")
    card.locator("summary", has_text="Comment").click()
    card.get_by_label("Comment").fill(COMMENT)
    card.get_by_role("button", name="Reject").click()
    has_sum(page, "0 of 3 edits accepted, 1 rejected")
    page.locator("summary", has_text="Finish your review").click()
    page.locator("#decision").get_by_label("Comment").fill("The rest is fine.")
    approve(page)


def has_sum(page: "Page", text: str) -> None:
    page.locator("#sum", has_text=re.compile(f"^{text}$")).wait_for(state="attached")


def approve(page: "Page", button: str = "Approve") -> None:
    """Approve, though no file was marked as viewed."""
    if not page.get_by_role("button", name=button, exact=True).is_visible():
        page.locator("summary", has_text="Finish your review").click()
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("button", name="Approve anyway").click()


def with_keys(page: "Page") -> None:
    """No pointer, and no focus that a key did not move."""
    keys = page.keyboard
    page.locator(".plan-card").wait_for()
    keys.press("j")
    keys.press("Enter")
    page.wait_for_url("**/plan/*")
    keys.press("j")
    keys.press("j")
    keys.press("r")
    keys.type(COMMENT)
    keys.press("Escape")
    has_sum(page, "0 of 3 edits accepted, 1 rejected")
    keys.press("d")
    keys.type("The rest is fine.")
    keys.press("Tab")
    keys.press("Enter")
    page.get_by_role("dialog", name="1 file not viewed").wait_for()
    keys.press("Tab")
    keys.press("Enter")


@pytest.mark.requirement("review-4")
@pytest.mark.parametrize(
    ("decide", "has_script"),
    [
        (with_mouse, True),
        pytest.param(with_mouse, False, marks=pytest.mark.slow),
        pytest.param(with_keys, True, marks=pytest.mark.slow),
    ],
    ids=["mouse", "mouse and no script", "keys"],
)
def test_agent_applies_the_approved_plan_and_sees_the_comment(
    browser: "Browser", root: Path, decide: Decide, has_script: bool
) -> None:
    with agent(root) as calls, review_server(root) as server:
        plan_id = plan(calls)
        refused = calls.call("md_apply", {"planId": plan_id})
        assert "APPROVAL_REQUIRED" in refused.text
        context = browser.new_context(java_script_enabled=has_script)
        page = context.new_page()
        page.goto(server.link)
        page.wait_for_url(server.url())
        decide(page)
        page.get_by_role("heading", name="Approved by").wait_for()
        context.close()
        assert (root / "guide.md").read_text() == GUIDE

        told = calls.call("md_apply", {"planId": plan_id})
        assert "PLAN_REJECTED" in told.text
        assert COMMENT in told.text
        part = told.text.partition('{"planId": "')[2].partition('"')[0]
        applied = calls.call("md_apply", {"planId": part})

    assert applied.data["applied"]
    assert "The rest is fine." in applied.text
    assert (root / "guide.md").read_bytes() == EXPECTED.encode()


SLOW_NETWORK = CASE_TABLES.value("SLOW_NETWORK")


def plan(calls: Calls) -> str:
    """ID of the plan of all edits."""
    return calls.call("md_validate", {"file": "guide.md", "edits": EDITS}).data["planId"]


def opened(browser: "Browser", server: ReviewServer, plan_id: str, script: str = "") -> "Page":
    """Open the page of a plan in a new browser that runs `script` before the page's own."""
    page = browser.new_context().new_page()
    page.add_init_script(script)
    page.goto(server.link)
    page.wait_for_url(server.url())
    page.goto(server.url(f"plan/{plan_id}"))
    return page


@pytest.mark.requirement("review-page-1")
def test_approval_waits_for_pending_viewed_marks(browser: "Browser", root: Path) -> None:
    with agent(root) as calls, review_server(root) as server:
        plan_id = plan(calls)
        page = opened(browser, server, plan_id, SLOW_NETWORK)
        for key in ("j", "j", "r", *COMMENT, "Escape", "d", "Tab", "Enter"):
            page.keyboard.press(key)
        page.get_by_role("button", name="Approve anyway").click()
        page.get_by_text("Approved 2 of 3 edits").wait_for()
        page.context.close()
        told = calls.call("md_apply", {"planId": plan_id})
    assert "PLAN_REJECTED" in told.text
    assert COMMENT in told.text


def test_comments_on_lines_reach_the_agent_with_place_and_text(browser: "Browser", root: Path) -> None:
    with agent(root) as calls, review_server(root) as server:
        plan_id = plan(calls)
        page = opened(browser, server, plan_id)
        page.locator("tr.new", has_text="2nd").hover()
        page.get_by_role("button", name="Comment on new line 7").click()
        page.keyboard.type(COMMENT)
        page.get_by_role("button", name="Add comment").click()
        page.locator(".comment").wait_for()
        page.locator("summary", has_text="Finish your review").click()
        page.get_by_role("button", name="Request changes").click()
        page.get_by_role("heading", name="Changes requested by").wait_for()
        page.context.close()
        told = calls.call("md_apply", {"planId": plan_id})
    assert "CHANGES_REQUESTED" in told.text
    assert f'on guide.md line 7: "{COMMENT}"' in told.text


@pytest.mark.requirement("review-page-1")
def test_approval_is_refused_if_the_page_showed_other_decisions(browser: "Browser", root: Path) -> None:
    with agent(root) as calls, review_server(root) as server:
        plan_id = plan(calls)
        page = opened(browser, server, plan_id)
        other = page.context.new_page()
        other.goto(server.url(f"plan/{plan_id}"))
        # The first window gets no update and keeps its content.
        page.route("**/news", lambda route: route.abort())
        page.route("**/state", lambda route: route.abort())
        other.locator("[data-edit='1']").get_by_role("button", name="Reject").click()
        has_sum(other, "0 of 3 edits accepted, 1 rejected")
        approve(page)
        page.get_by_role("heading", name="Your decision was not saved").wait_for()
        has_sum(page, "0 of 3 edits accepted, 1 rejected")
        page.context.close()
        assert "APPROVAL_REQUIRED" in calls.call("md_apply", {"planId": plan_id}).text


def test_failed_viewed_mark_blocks_the_decision(browser: "Browser", root: Path) -> None:
    with agent(root) as calls, review_server(root) as server:
        plan_id = plan(calls)
        page = opened(browser, server, plan_id)
        page.route("**/edit/1?*", lambda route: route.abort())
        page.locator("[data-edit='1']").get_by_role("button", name="Reject").click()
        page.locator("summary", has_text="Finish your review").click()
        page.get_by_role("button", name="Approve", exact=True).click()
        page.get_by_text("A choice was not saved, so your decision was not saved either.").wait_for()
        page.context.close()
        assert "APPROVAL_REQUIRED" in calls.call("md_apply", {"planId": plan_id}).text


@pytest.mark.slow
def test_person_applies_from_the_page(browser: "Browser", root: Path) -> None:
    with agent(root) as calls, review_server(root) as server:
        calls.call("md_validate", {"file": "guide.md", "edits": EDITS})
        context = browser.new_context()
        page = context.new_page()
        page.goto(server.link)
        page.get_by_role("link", name="3 edits in guide.md").click()
        approve(page, "Approve and apply")
        page.get_by_role("heading", name="Applied: 1 file written.").wait_for()
        assert page.locator("body").get_attribute("data-state") == "applied"
        assert page.locator("#decision").count() == 0
        context.close()
    assert (root / "guide.md").read_text() == EXPECTED.replace("second", "2nd")


@pytest.mark.slow
def test_page_updates_for_new_plans_and_decisions_without_reload(browser: "Browser", root: Path) -> None:
    with agent(root) as calls, review_server(root) as server:
        context = browser.new_context()
        page = context.new_page()
        page.goto(server.link)
        page.get_by_text("No pending plans.").wait_for()
        plan_id = plan(calls)
        page.get_by_role("link", name="3 edits in guide.md").wait_for()
        assert page.locator("#live").inner_text() == "A new plan"

        other = context.new_page()
        other.goto(server.url(f"plan/{plan_id}"))
        page.get_by_role("link", name="3 edits in guide.md").click()
        page.locator("summary", has_text="Finish your review").click()
        page.get_by_role("button", name="Reject the plan").click()
        other.get_by_text("This plan is now rejected.").wait_for()
        context.close()


@pytest.mark.slow
def test_stale_plan_shows_what_changed_and_can_be_replanned(browser: "Browser", root: Path) -> None:
    with agent(root) as calls, review_server(root) as server:
        plan_id = calls.call("md_validate", {"file": "guide.md", "edits": EDITS[:1]}).data["planId"]
        (root / "guide.md").write_text(GUIDE + "\nmore\n")
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(server.link)
        page.goto(server.url(f"plan/{plan_id}"))
        assert page.get_by_role("region", name="1 file changed since").get_by_text("+more").is_visible()
        assert page.locator(".diff").count() == 1
        assert page.get_by_role("button", name="Approve").count() == 0
        page.get_by_role("button", name="Plan again").click()
        page.get_by_role("heading", name="Planned again").wait_for()
        approve(page, "Approve and apply")
        page.get_by_role("heading", name="Applied").wait_for()
        context.close()
    assert (root / "guide.md").read_text() == GUIDE.replace("first", "1st") + "\nmore\n"
