"""The review page of a plan with many files, used in a browser."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mdplan.engine.engine import Engine
from mdplan.web.sessions import address_of
from tests.browser.demo_plan import demo_batch, demo_root
from tests.browser.large_plan import FILES, large_batch
from tests.browser.review_server import ReviewServer, plan, review_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Locator, Page

pytestmark = pytest.mark.slow
TITLES = count(1)
Open = Callable[..., "Page"]


@dataclass(frozen=True)
class Place:
    """A running server over the files of both plans, and a browser that may decide there."""

    state: Path
    root: Path
    server: ReviewServer
    context: "BrowserContext"

    def plan(self, batch: dict[str, object]) -> str:
        """Return the ID of a plan for this test only: the title is part of the ID."""
        with pytest.MonkeyPatch.context() as patch:
            # Each test has its own state directory, but the server has this one.
            patch.setenv("MDPLAN_STATE_DIR", str(self.state))
            return plan(Engine.open([self.root]), {**batch, "title": f"Plan {next(TITLES)}"})

    def view_link(self, plan_id: str) -> str:
        """The link that a client of an agent's server gets."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MDPLAN_STATE_DIR", str(self.state))
            return address_of(Engine.open([self.root]).workspace.roots[0].path, plan_id) or ""

    def page(self, plan_id: str, query: str = "") -> "Page":
        page = self.context.new_page()
        page.goto(self.server.url(f"plan/{plan_id}{query}"))
        return page


@pytest.fixture(scope="module")
def place(browser: "Browser", tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("large")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDPLAN_STATE_DIR", str(folder / "state"))
        root = folder / "root"
        root.mkdir()
        demo_root(root)
        large_batch(root)
        with review_server(root) as server:
            context = browser.new_context(viewport={"width": 1400, "height": 900})
            context.set_default_timeout(20_000)
            page = context.new_page()
            page.goto(server.link)
            page.wait_for_url(server.url())
            page.close()
            yield Place(folder / "state", root, server, context)
            context.close()


@pytest.fixture
def demo(place: Place) -> "Iterator[Page]":
    """The page of a plan of 32 files."""
    page = place.page(place.plan(demo_batch()))
    yield page
    page.close()


@pytest.fixture
def large(place: Place) -> "Iterator[Page]":
    """The page of a plan of 200 files."""
    page = place.page(place.plan(large_batch(place.root)))
    yield page
    page.close()


def file(page: "Page", path: str) -> "Locator":
    return page.locator("article[data-file]").filter(has=page.get_by_text(path, exact=True))


def guide(page: "Page") -> "Locator":
    """The file with most of the edits, loaded."""
    page.locator("#files").get_by_text("manual.md", exact=True).click()
    found = file(page, "manual.md")
    found.locator(".diff").first.wait_for()
    return found


def has_text(page: "Page", selector: str, text: str) -> None:
    page.locator(selector, has_text=re.compile(f"^{re.escape(text)}$")).wait_for(state="attached")


def loaded(page: "Page") -> int:
    return page.locator("article[data-file]:not([data-later])").count()


def rows(article: "Locator", kind: str) -> list[str]:
    """The texts of the lines of a kind, without marks of a move."""
    return article.locator(f"tr.{kind} .t").evaluate_all(
        "(cells) => cells.map((cell) => [...cell.childNodes]"
        ".filter((each) => !each.classList?.contains('moved-tag')).map((each) => each.textContent).join(''))"
    )


def test_files_load_when_they_scroll_into_view(large: "Page") -> None:
    assert large.locator("article[data-file]").count() == FILES
    assert loaded(large) < 30
    last = large.locator("article[data-file]").last
    assert last.locator(".diff").count() == 0
    last.scroll_into_view_if_needed()
    last.locator(".diff").first.wait_for()
    assert loaded(large) < 60


@pytest.mark.requirement("review-page-3")
def test_memory_stays_flat_while_scrolling(large: "Page") -> None:
    session = large.context.new_cdp_session(large)

    def nodes() -> int:
        session.send("HeapProfiler.collectGarbage")
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(int(each["value"]) for each in metrics if each["name"] == "Nodes")

    session.send("Performance.enable")
    seen = []
    height = large.evaluate("document.documentElement.scrollHeight")
    for step in range(16):
        large.evaluate(f"scrollTo(0, {height * step // 16})")
        is_loaded = (
            "() => [...document.querySelectorAll('article[data-later]')].every((each) => {"
            " const box = each.getBoundingClientRect();"
            " return box.bottom < 0 || box.top > innerHeight; })"
        )
        for _ in range(200):
            if large.evaluate(is_loaded):
                break
            large.wait_for_timeout(100)
        seen.append(nodes())
    # All files together are more than six times the largest part loaded at once.
    assert max(seen[8:]) < max(seen[:8]) * 1.5
    assert loaded(large) < FILES / 4


@pytest.mark.requirement("review-page-3")
def test_every_file_is_reachable_with_the_keyboard(large: "Page") -> None:
    large.evaluate(
        "() => { window.reached = []; document.addEventListener('focusin',"
        " ({ target }) => reached.push(target.closest('article')?.id)); }"
    )
    for _ in range(FILES):
        large.keyboard.press("n")
    large.locator("article[data-file]:focus").last.wait_for()
    assert sorted(large.evaluate("reached"), key=lambda name: int(name.removeprefix("file-"))) == [
        f"file-{number}" for number in range(FILES)
    ]
    large.keyboard.press("j")
    large.keyboard.press("k")
    large.locator("article:focus-within .diff").first.wait_for()


def test_keyboard_moves_between_edits_of_unloaded_files(large: "Page") -> None:
    numbers = []
    for _ in range(40):
        before = large.evaluate("document.activeElement.id")
        large.keyboard.press("j")
        large.locator(f"[data-edit]:focus:not([id='{before}'])").wait_for()
        numbers.append(large.evaluate("document.activeElement.closest('article').dataset.file"))
    assert [numbers.count(each) for each in dict.fromkeys(numbers)] == [13, 13, 13, 1]


def test_file_tree_counts_added_and_removed_lines_of_each_file(demo: "Page") -> None:
    tree = demo.get_by_role("navigation", name="Files changed")
    assert tree.get_by_role("link").count() == 32
    assert tree.get_by_role("link", name=re.compile(r"manual\.md \+9 .16")).is_visible()
    assert tree.get_by_role("link", name=re.compile(r"changes\.md created \+3 .0")).is_visible()
    assert tree.locator("summary").all_inner_texts() == ["reference", "howto", "advanced"]


def test_filter_shows_files_with_matching_paths(demo: "Page") -> None:
    demo.keyboard.press("t")
    demo.keyboard.type("advanced/page-1")
    shown = demo.locator("#files .leaf:visible .name").all_inner_texts()
    assert shown == ["page-11.md", "page-14.md", "page-17.md"]
    demo.get_by_label("Filter files").fill("nothing has this")
    assert demo.get_by_text("No file has this in its path.").is_visible()
    demo.get_by_label("Filter files").fill("")
    assert demo.locator("#files .leaf:visible").count() == 32


def test_viewed_marks_survive_a_reload_and_sync_to_other_windows(demo: "Page", place: Place) -> None:
    other = place.page(demo.url.rpartition("/")[2])
    has_text(demo, "#viewed-sum", "0 of 32 viewed")
    demo.get_by_role("button", name="Viewed reference/page-03.md").click()
    has_text(demo, "#viewed-sum", "1 of 32 viewed")
    has_text(other, "#viewed-sum", "1 of 32 viewed")
    for page in (demo, other):
        button = page.get_by_role("button", name="Viewed reference/page-03.md")
        assert button.get_attribute("aria-pressed") == "true"
    demo.reload()
    has_text(demo, "#viewed-sum", "1 of 32 viewed")
    assert demo.locator("#files").get_by_role("link", name="page-03.md").inner_text().endswith("viewed")
    demo.get_by_role("button", name="Viewed reference/page-03.md").click()
    has_text(other, "#viewed-sum", "0 of 32 viewed")
    other.close()


def test_viewed_files_collapse_and_can_be_expanded(demo: "Page") -> None:
    found = file(demo, "reference/page-03.md")
    assert found.locator(".diff").is_visible()
    found.get_by_role("button", name="Viewed").click()
    found.locator(".diff").wait_for(state="hidden")
    demo.reload()
    assert not found.locator(".diff").is_visible()
    found.get_by_role("button", name="Show the changes of").click()
    found.locator(".diff").wait_for()
    assert found.get_by_role("button", name="Viewed").get_attribute("aria-pressed") == "true"


@pytest.mark.requirement("review-page-2")
def test_edits_are_not_accepted_by_default(demo: "Page") -> None:
    has_text(demo, "#sum", "0 of 51 edits accepted")
    article = guide(demo)
    assert demo.locator("[name=mark][aria-pressed=true]").count() == 0
    first, second = article.locator("[data-edit]").nth(0), article.locator("[data-edit]").nth(1)
    first.get_by_role("button", name="Accept").click()
    second.get_by_role("button", name="Reject").click()
    has_text(demo, "#sum", "1 of 51 edits accepted, 1 rejected")
    second.get_by_role("button", name="Reject").click()
    has_text(demo, "#sum", "1 of 51 edits accepted")
    has_text(demo, "#undecided", "Approve accepts 50 undecided edits.")


@pytest.mark.requirement("review-page-2")
def test_approval_lists_the_files_that_nobody_viewed(demo: "Page") -> None:
    for name in ("reference/page-00.md", "reference/page-03.md"):
        demo.get_by_role("button", name=f"Viewed {name}").click()
    has_text(demo, "#viewed-sum", "2 of 32 viewed")
    demo.keyboard.press("d")
    demo.get_by_role("button", name="Approve", exact=True).click()
    dialog = demo.get_by_role("dialog", name="30 files not viewed")
    names = dialog.locator("li").all_inner_texts()
    assert len(names) == 30
    assert {"manual.md", "howto/advanced/page-29.md"} < set(names)
    assert {"reference/page-00.md", "reference/page-03.md"}.isdisjoint(names)
    dialog.get_by_role("button", name="Go back").click()
    assert demo.locator("body").get_attribute("data-state") == "waiting"
    demo.get_by_role("button", name="Approve", exact=True).click()
    dialog.get_by_role("button", name="Approve anyway").click()
    demo.get_by_role("heading", name="Approved by").wait_for()


def test_approval_asks_about_a_file_marked_unviewed_in_another_window(demo: "Page", place: Place) -> None:
    plan_id = demo.url.rpartition("/")[2]
    for button in range(31):
        demo.keyboard.press("n")
        demo.keyboard.press("v")
        has_text(demo, "#viewed-sum", f"{button + 1} of 32 viewed")
    demo.keyboard.press("n")
    demo.keyboard.press("v")
    has_text(demo, "#viewed-sum", "32 of 32 viewed")
    other = place.page(plan_id)
    demo.route("**/news", lambda route: route.abort())
    demo.route("**/state", lambda route: route.abort())
    other.get_by_role("button", name="Viewed manual.md").click()
    has_text(other, "#viewed-sum", "31 of 32 viewed")
    other.close()
    demo.keyboard.press("d")
    demo.get_by_role("button", name="Approve", exact=True).click()
    demo.get_by_role("heading", name="1 file not viewed").wait_for()
    assert demo.locator(".names li").all_inner_texts() == ["manual.md"]


def test_warnings_are_grouped_and_link_to_their_line(demo: "Page") -> None:
    region = demo.get_by_role("region", name="30 warnings")
    assert region.locator("summary").count() == 1
    assert region.locator("summary > code").inner_text() == "BROKEN_LINK"
    link = region.get_by_role("link", name="howto/page-22.md, line 5")
    assert not link.is_visible()
    region.locator("summary").click()
    link.click()
    demo.locator("tr.is-target:focus").wait_for()
    line = demo.locator("tr.is-target")
    assert "manual.md#legacy-mode" in line.inner_text()
    assert line.locator("xpath=ancestor::article//h2").inner_text() == "howto/page-22.md"


def test_context_expands_to_the_whole_file(demo: "Page") -> None:
    article = guide(demo)
    assert "Put the device on the table. It needs a socket" in rows(article, "same")
    assert "and a network." not in rows(article, "same")
    article.get_by_role("button", name="Expand 3 lines").click()
    article.get_by_text("and a network.").wait_for()
    article.get_by_role("button", name="Expand 1 line").click()
    article.locator("tr.same", has_text="# Guide").wait_for()
    same = [text for text in rows(article, "same") if text]
    assert same.index("# Guide") < same.index("## Install") < same.index("1. Plug it in.")
    assert article.locator(".expand").count() == 0


def test_search_finds_lines_in_unloaded_files(large: "Page") -> None:
    large.keyboard.press("/")
    large.keyboard.type("STABLE BUILD 173")
    found = large.get_by_role("region", name="Found in the plan")
    found.get_by_text("13 lines in 1 file").wait_for()
    assert found.get_by_role("link").nth(1).locator("mark").inner_text() == "stable build 173"
    found.get_by_role("link").nth(1).click()
    large.locator("tr.is-target:focus").wait_for()
    assert "stable build 173" in large.locator("tr.is-target").inner_text()


def test_search_works_without_javascript(browser: "Browser", place: Place) -> None:
    plan_id = place.plan(demo_batch())
    state = place.context.storage_state()
    context = browser.new_context(storage_state=state, java_script_enabled=False)
    page = context.new_page()
    page.goto(place.server.url(f"plan/{plan_id}"))
    page.get_by_label("Search in the plan").fill("legacy MODE")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="removed line 29 ## Legacy mode").click()
    assert page.get_by_role("heading", name="manual.md").is_visible()
    assert page.locator("tr:target").inner_text().endswith("## Legacy mode")
    context.close()


def test_edits_are_numbered_in_each_file(demo: "Page") -> None:
    article = guide(demo)
    assert article.locator("[data-edit] .number").all_inner_texts() == [
        f"Edit {number}" for number in (4, 1, 2, 3, 5)
    ]
    assert set(article.locator(".tag").all_inner_texts()) == {"1", "2", "3", "4", "5"}
    demo.locator("#files").get_by_role("link", name="page-29.md").click()
    other = file(demo, "howto/advanced/page-29.md")
    other.locator(".number").first.wait_for()
    assert other.locator(".number").all_inner_texts() == ["Edit 1", "Edit 2"]


def test_removed_text_is_described_as_removed(demo: "Page") -> None:
    card = guide(demo).locator("[data-edit]", has_text="delete_section")
    assert "removes lines 29 to 35" in card.inner_text()
    assert "writes" not in card.inner_text()


def test_moved_section_links_to_its_new_place(demo: "Page") -> None:
    article = guide(demo)
    assert "moves lines 5 to 10 to lines 23 to 28" in article.locator("#edit-3").inner_text()
    moved = ["## Requirements", "", "- a socket", "- a table that is level", "- the nightly firmware", ""]
    assert rows(article, "gone.moved") == rows(article, "new.moved") == moved
    article.get_by_role("link", name="moved to line 23").click()
    demo.locator("tr.is-target:focus").wait_for()
    assert "moved from line 5" in demo.locator("tr.is-target").inner_text()


def pending(page: "Page") -> list[str]:
    return [" ".join(each.split()) for each in page.locator(".comment").all_inner_texts()]


def test_plus_button_and_dragging_select_lines_to_comment_on(demo: "Page") -> None:
    article = guide(demo)
    line = article.locator("tr.new", has_text="stable firmware")
    line.hover()
    article.get_by_role("button", name="Comment on new line 16").click()
    demo.keyboard.type("Which one?")
    article.get_by_role("button", name="Add comment").click()
    line.locator("xpath=following-sibling::tr[1]").get_by_text("You on line 16").wait_for()
    first = article.locator("tr.gone", has_text="## Legacy mode")
    last = article.locator("tr.gone", has_text="Pull it twice")
    first.hover()
    first.locator("button.plus").hover()
    demo.mouse.down()
    last.hover()
    demo.mouse.up()
    demo.keyboard.type("Somebody may have one.")
    article.get_by_role("button", name="Add comment").click()
    last.locator("xpath=following-sibling::tr[1]").get_by_text("You on old lines 29 to 34").wait_for()
    has_text(demo, "#comment-sum", "2 comments")
    demo.reload()
    guide(demo)
    assert pending(demo) == [
        "You on line 16 · pending Which one? Delete your comment",
        "You on old lines 29 to 34 · pending Somebody may have one. Delete your comment",
    ]
    article.get_by_role("button", name="Delete your comment").first.click()
    has_text(demo, "#comment-sum", "1 comment")


def test_comment_can_be_written_with_the_keyboard(demo: "Page") -> None:
    keys = demo.keyboard
    for key in ("j", "c", *"Say why.", "Tab", "Tab", "Enter"):
        keys.press(key)
    demo.locator(".comment").wait_for()
    assert pending(demo) == ["You on line 3 · pending Say why. Delete your comment"]
    assert demo.evaluate("document.activeElement.className") == "comment"


def test_comment_range_can_be_typed(demo: "Page") -> None:
    article = guide(demo)
    article.locator(".line-comment summary").click()
    article.get_by_label("Side").select_option("old")
    article.get_by_label("From line").fill("29")
    article.get_by_label("to", exact=True).fill("31")
    article.get_by_label("Comment", exact=True).fill("Keep this.")
    article.get_by_role("button", name="Add comment").click()
    demo.locator(".comment").wait_for()
    assert pending(demo) == ["You on old lines 29 to 31 · pending Keep this. Delete your comment"]


def test_request_changes_is_next_to_approve_and_reject(place: Place) -> None:
    # The edits differ from those of other tests, because equal edits share decisions under any title.
    page = place.page(place.plan({"files": demo_batch()["files"][:2]}))
    page.keyboard.press("d")
    buttons = page.locator("#decide .buttons button").all_inner_texts()
    assert buttons == ["Approve", "Approve and apply", "Request changes", "Reject the plan"]
    page.keyboard.type("Not yet.")
    page.get_by_role("button", name="Request changes").click()
    page.get_by_role("heading", name="Changes requested by").wait_for()
    assert page.locator("body").get_attribute("data-state") == "changes requested"
    page.close()


def test_split_view_pairs_renamed_headings_with_their_bodies(place: Place) -> None:
    text = "# A\n\n## One\n\nThe first body.\n\n## Two\n\nThe second body.\n"
    (place.root / "pairs.md").write_text(text)
    new = "## Zero\n\nA new body.\n\n## Uno\n\nThe first body, again.\n\n## Dos\n\nThe second body, again.\n"
    edits = [{"op": "replace_lines", "lines": {"start": 3, "end": 9}, "markdown": new}]
    page = place.page(place.plan({"file": "pairs.md", "edits": edits}), "?view=split")
    pairs = page.locator(".diff.pair tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.querySelectorAll('td.t')].map((cell) => cell.textContent))"
    )
    assert ["## One", "## Uno"] in pairs
    assert ["The first body.", "The first body, again."] in pairs
    assert ["## Two", "## Dos"] in pairs
    assert ["The second body.", "The second body, again."] in pairs
    assert ["", "## Zero"] in pairs
    page.close()


def test_rendered_section_marks_only_changed_words(demo: "Page") -> None:
    card = guide(demo).locator("[data-edit]", has_text="replace_match")
    card.get_by_role("link", name="Rendered").click()
    card.locator(".rendered").wait_for()
    assert card.locator(".rendered del").all_inner_texts() == ["Configure", "nightly"]
    assert card.locator(".rendered ins").all_inner_texts() == ["Settings", "stable"]
    assert "firmware is fine" in card.locator(".rendered .after").inner_text()


def test_view_link_shows_all_files_without_decision_buttons(browser: "Browser", place: Place) -> None:
    page = browser.new_page()
    page.goto(place.view_link(place.plan(demo_batch())))
    found = guide(page)
    found.locator("tr.new").first.hover()
    for key in ("j", "a", "r", "c", "v", "d"):
        page.keyboard.press(key)
    assert page.locator("form[method=post], .plus, textarea").count() == 0
    assert page.get_by_role("heading", name="This page is read-only").count() == 1
    page.close()


def test_review_page_uses_the_words_of_pull_requests(demo: "Page") -> None:
    assert demo.locator("#decision > summary").inner_text().strip() == "Finish your review"
    for name in ("Unified", "Split", "Whitespace", "Viewed", "32 files changed"):
        assert demo.get_by_text(name).first.is_visible(), name


def test_changed_text_replaces_that_of_the_plan_and_reaches_the_author(demo: "Page", place: Place) -> None:
    plan_id = demo.locator("body").get_attribute("data-plan") or ""
    demo.goto(place.server.url(f"plan/{plan_id}/file/2"))
    demo.get_by_role("link", name="Change text").nth(1).click()
    box = demo.get_by_label("New text")
    assert "It is page" in box.input_value()
    box.fill("It is a page.\n")
    demo.get_by_role("button", name="Save").click()
    demo.get_by_role("link", name="Your text").wait_for()
    demo.keyboard.press("d")
    demo.get_by_role("button", name="Approve", exact=True).click()
    demo.get_by_role("button", name="Approve anyway").click()
    demo.get_by_role("heading", name="Approved by").wait_for()
    assert "1 place of accepted edits left out or changed" in demo.inner_text("main")
    assert "Changed to: It is a page." in demo.inner_text("main")
