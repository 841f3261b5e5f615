"""The screenshots of the site exist and show the intended page."""

import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docs.screenshots import CARD, IMAGES, SCHEMES, SHOWN, card, review_pictures, reviewed_plan

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def size_of(picture: bytes) -> tuple[int, int]:
    """Width and height in the header of a PNG."""
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


@pytest.mark.slow
def test_screenshots_can_be_regenerated(
    browser: "Browser", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "state"))
    with reviewed_plan(tmp_path) as (link, plan):
        pictures = review_pictures(browser, link, plan)

    assert {scheme: size_of(picture) for scheme, picture in pictures.items()} == dict.fromkeys(
        SCHEMES, (1200, 800)
    )
    assert pictures["light"] != pictures["dark"]
    assert size_of(card(browser)) == (1200, 630)


@pytest.mark.slow
def test_screenshot_page_shows_the_plan(
    browser: "Browser", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "state"))
    with reviewed_plan(tmp_path) as (link, plan), browser.new_context() as visit:
        page = visit.new_page()
        page.goto(link)
        page.wait_for_url(lambda url: "open?" not in url)
        page.goto(plan)
        page.wait_for_load_state("networkidle")
        text = page.inner_text("body")

    assert [words for words in SHOWN if words not in text] == []


def test_site_contains_the_screenshots() -> None:
    sizes = [size_of((IMAGES / f"review-{scheme}.png").read_bytes()) for scheme in SCHEMES]

    assert sizes == [(1200, 800)] * 2
    assert size_of(CARD.read_bytes()) == (1200, 630)
