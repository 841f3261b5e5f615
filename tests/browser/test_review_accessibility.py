"""Every page at every width, in both colour schemes: no overflow, no accessibility violations."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.browser.review_server import ReviewServer
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, StorageState

WIDTHS = (360, 768, 1280)
SCHEMES = ("light", "dark")
PAGES = CASE_TABLES.value("PAGES")
pytestmark = pytest.mark.slow
Every = tuple[ReviewServer, dict[str, str]]


@pytest.fixture(scope="module")
def state(browser: "Browser", every_state: Every) -> "StorageState":
    """Return the stored browser state of a visit, so that each test can be a first visit."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(every_state[0].link)
    page.wait_for_url(every_state[0].url())
    kept = context.storage_state()
    context.close()
    return kept


@contextmanager
def page_of(browser: "Browser", state: "StorageState", **options: object) -> Iterator["Page"]:
    context = browser.new_context(storage_state=state, **options)
    yield context.new_page()
    context.close()


def open_everything(page: "Page") -> None:
    """Show what a page shows on request only."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for link in page.locator("[data-section]").all()[:5]:
        # A panel that is open can cover it.
        link.dispatch_event("click")
        link.locator("xpath=ancestor::*[@data-edit]").locator(".rendered").wait_for()


@pytest.mark.requirement("review-6")
@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_overflow_and_no_blocked_requests(
    browser: "Browser", state: "StorageState", every_state: Every, name: str
) -> None:
    server, plans = every_state
    with page_of(browser, state) as page:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(server.url(PAGES[name].format(**plans)))
        open_everything(page)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert [each for each in said if "404" not in each] == []


@pytest.mark.requirement("review-6")
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_no_accessibility_violations(
    browser: "Browser", state: "StorageState", every_state: Every, axe: str, name: str
) -> None:
    server, plans = every_state
    # axe is not part of the page, so only this test bypasses the page's policy.
    for scheme in SCHEMES:
        with page_of(browser, state, bypass_csp=True, color_scheme=scheme) as page:
            page.set_viewport_size({"width": 1280, "height": 800})
            page.goto(server.url(PAGES[name].format(**plans)))
            open_everything(page)
            page.add_script_tag(content=axe)
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
            assert [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found] == []


def test_keyboard_shortcuts_are_listed_and_can_be_disabled(
    browser: "Browser", state: "StorageState", every_state: Every, axe: str
) -> None:
    server, plans = every_state
    with page_of(browser, state, bypass_csp=True) as page:
        page.goto(server.url(f"plan/{plans['waiting']}"))
        page.keyboard.press("?")
        dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
        assert dialog.is_visible()
        page.add_script_tag(content=axe)
        assert page.evaluate("axe.run(document)")["violations"] == []
        dialog.get_by_label("Enable keyboard shortcuts").uncheck()
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        assert page.evaluate("document.activeElement.closest('[data-edit]')") is None
