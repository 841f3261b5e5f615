"""A real browser: the Chromium of the machine, driven by Playwright."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.review_server import ReviewServer, make_root, plans_in_every_state, review_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


# Scope: module, because no other test of the process can have an event loop while the driver runs.
@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """The browser, started once for each module."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium on this machine (on Debian: apt-get install chromium)")
    api = pytest.importorskip("playwright.sync_api", reason="no Playwright (pip install playwright)")
    with api.sync_playwright() as driver:
        # The pages are our own; where tests run as root, Chromium refuses to start with its sandbox.
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path)


@pytest.fixture(scope="session")
def axe() -> str:
    """The program that finds what screen readers and keyboards stumble over."""
    if not AXE.is_file():
        pytest.skip("no axe-core (npm install --prefix tests/browser)")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def every_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ReviewServer, dict[str, str]]]:
    """A server that nothing is decided through, and its plans."""
    folder = tmp_path_factory.mktemp("review")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDPLAN_STATE_DIR", str(folder / "state"))
        root = make_root(folder)
        plans = plans_in_every_state(root)
        with review_server(root) as server:
            yield server, plans
