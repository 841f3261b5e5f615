"""The pictures of the site that a browser makes: `python -m tests.docs.screenshots`.

The review page in both schemes, with a plan of the batch in the README, and the card that social networks
show for a link to the site. The pictures depend on the fonts of the machine, so no test compares their bytes;
a test looks that the page which they show still has the words of `SHOWN`.
"""

import base64
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mdplan.engine.engine import Engine
from tests.browser.conftest import NAMES
from tests.browser.review_server import review_server
from tests.docs.pages import DOCS

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ViewportSize

IMAGES: Final = DOCS / "images"
SCHEMES: Final = ("light", "dark")
CARD: Final = IMAGES / "social-card.png"
# The edits of the picture: a word, a paragraph, a table row and a task of the sample document.
BATCH: Final = {
    "file": "guide.md",
    "title": "Describe the stable channel",
    "edits": [
        {"op": "replace_match", "pattern": "nightly", "replacement": "stable"},
        {"op": "append_to_section", "headingPath": ["Install"], "markdown": "Restart the kettle afterwards."},
        {"op": "set_task", "item": "It has water.", "done": True},
    ],
}
SHOWN: Final = ("Describe the stable channel", "guide.md", "Restart the kettle afterwards.")
_CARD_PAGE: Final = """\
<!doctype html><meta charset="utf-8"><style>
body{{margin:0;width:1200px;height:630px;background:#0d1117;color:#f0f6fc;font-family:system-ui,sans-serif}}
h1{{font-size:76px;margin:64px 72px 16px}}
p{{font-size:38px;line-height:1.35;margin:0 72px 40px;color:#c9d1d9}}
pre{{font:30px/1.5 ui-monospace,Menlo,Consolas,monospace;margin:0 72px;padding:24px 32px;background:#161b22;
border-radius:12px}}i{{font-style:normal}}.r{{color:#ff8b8b}}.g{{color:#8ddb8c}}
</style><h1>mdplan</h1><p>{promise}</p><pre>$ mdplan replace nightly stable guide.md
<i class="r">-The nightly firmware is fine for a first try.</i>
<i class="g">+The stable firmware is fine for a first try.</i>
Apply this change? [y/n/p/e/?]</pre>
"""


@contextmanager
def reviewed_plan(folder: Path) -> Iterator[tuple[str, str]]:
    """A running review server over the sample in `folder`: its link, and the ID of the plan of `BATCH`."""
    root = folder / "docs"
    root.mkdir()
    shutil.copy(DOCS / "samples" / "guide.md", root)
    with Engine.open(root) as engine:
        plan_id = engine.plan(BATCH).unwrap().plan_id
    with review_server(root) as server:
        yield server.link, server.url(f"plan/{str(plan_id).removeprefix('sha256-')[:12]}")


def review_pictures(browser: "Browser", link: str, plan: str) -> dict[str, bytes]:
    """The review page of `plan`, by scheme."""
    pictures = {}
    with browser.new_context() as visit:
        page = visit.new_page()
        page.goto(link)
        page.wait_for_url(lambda url: "open?" not in url)
        state = visit.storage_state()
    for scheme in SCHEMES:
        size: ViewportSize = {"width": 1200, "height": 800}
        with browser.new_context(storage_state=state, viewport=size, color_scheme=scheme) as visit:
            page = visit.new_page()
            page.goto(plan)
            page.wait_for_load_state("networkidle")
            pictures[scheme] = page.screenshot()
    return pictures


def card(browser: "Browser") -> bytes:
    """The picture for social networks, with the promise of the landing page."""
    promise = (DOCS / "index.md").read_text(encoding="utf-8").split("**")[1]
    page_text = _CARD_PAGE.format(promise=promise)
    with browser.new_context(viewport={"width": 1200, "height": 630}) as visit:
        page = visit.new_page()
        page.goto(f"data:text/html;base64,{base64.b64encode(page_text.encode()).decode()}")
        return page.screenshot()


def main() -> None:
    """Write all pictures."""
    from playwright.sync_api import sync_playwright

    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        sys.exit("no Chromium on this machine (on Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MDPLAN_STATE_DIR"] = f"{folder}/state"
        with reviewed_plan(Path(folder)) as (link, plan), sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
            for scheme, picture in review_pictures(browser, link, plan).items():
                (IMAGES / f"review-{scheme}.png").write_bytes(picture)
            CARD.write_bytes(card(browser))
            browser.close()


if __name__ == "__main__":
    main()
