"""The site builds without a warning, so no link inside of it is dead; and it needs nothing from elsewhere."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from mdplan.diagnostics import Code
from mdplan.operations import OPERATIONS
from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "samples" not in path.relative_to(DOCS).parts)
# An element that loads what its attribute names as soon as the page is shown.
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}
BLOCK = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1`*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(((?:[^()\s]|\([^()\s]*\))+)\)")


class Links(HTMLParser):
    """What a page links to, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.linked: list[str] = []
        self.loaded: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (tag, name) == ("a", "href"):
                self.linked.append(value)
            if value and (tag, name) in LOADED:
                self.loaded.append(value)


def build(pages: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of `pages` into `folder`, as `make docs` does."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install --group docs")
    command = [sys.executable, "-m", "sphinx", "-qnW", "--keep-going", "-c", DOCS, "-d", folder / "state"]
    return subprocess.run(
        [*command, pages, folder / "html"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    folder = tmp_path_factory.mktemp("site")
    built = build(DOCS, folder)
    assert (built.returncode, built.stderr) == (0, "")
    return folder / "html"


@pytest.mark.requirement("docs-2")
def test_site_build_fails_for_dead_links(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text(
        "# A\n\n[b](gone.md) [c](#nowhere) [d](index.md#no) [a](#a)\n"
    )

    built = build(tmp_path / "pages", tmp_path)

    assert built.returncode != 0
    assert [dead for dead in ("gone.md", "nowhere", "'no'", "'a'") if dead in built.stderr] == [
        "gone.md",
        "nowhere",
        "'no'",
    ]


def reached(site: Path) -> set[str]:
    """Pages that can be reached from the first one by links."""
    found, waiting = {"index.html"}, ["index.html"]
    while waiting:
        here = site / waiting.pop()
        for link in Links(here).linked:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not parts.path.endswith(".html"):
                continue
            name = (here.parent / unquote(parts.path)).resolve().relative_to(site.resolve()).as_posix()
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found


@pytest.mark.requirement("docs-2")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_page_can_be_reached(site: Path) -> None:
    pages = {page.relative_to(DOCS).with_suffix(".html").as_posix() for page in PAGES}

    assert pages - reached(site) == set()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_operation_and_code_has_its_page(site: Path) -> None:
    pages = [f"operations/{op}" for op in OPERATIONS] + [f"errors/{code}" for code in Code]

    assert [page for page in pages if not (site / "reference" / f"{page}.html").is_file()] == []


@pytest.mark.requirement("docs-2")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_site_loads_nothing_from_other_hosts(site: Path) -> None:
    """The search box too works from the files of the site alone."""
    loaded = {link for page in site.rglob("*.html") for link in Links(page).loaded}
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))

    assert [link for link in loaded if urlsplit(link).netloc] == []
    assert re.findall(r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"](?:https?:)?//", styles) == []
    assert (site / "searchindex.js").is_file()


def links_of(page: Path) -> Iterator[str]:
    """Targets of the inline links of a page, which stand in no code."""
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return (found[1] for found in LINK.finditer(re.sub(r"`[^`\n]*`", "``", prose)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_links_work_on_a_page_of_the_repository_too(page: Path) -> None:
    """Those to other sites are not followed: they are looked at alone."""
    for link in links_of(page):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            assert parts.scheme in {"https", "http", "mailto"}
            assert parts.scheme == "mailto" or re.fullmatch(
                r"[\w-]+(?:\.[\w-]+)+|localhost(?::\d+)?", parts.netloc
            )
        elif parts.path:
            assert (page.parent / unquote(parts.path)).exists(), link
