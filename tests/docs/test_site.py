"""The site builds without a warning, so no link inside of it is dead; and it needs nothing from elsewhere."""

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest

from docs.codegen.generated import STAGES, layers
from mdplan.diagnostics import Code
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Operation, Resolution
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.support.golden_cases import find_cases

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
    """Even the search box uses only files of the site."""
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
    """Links to other sites are listed but not followed."""
    for link in links_of(page):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            assert parts.scheme in {"https", "http", "mailto"}
            assert parts.scheme == "mailto" or re.fullmatch(
                r"[\w-]+(?:\.[\w-]+)+|localhost(?::\d+)?", parts.netloc
            )
        elif parts.path:
            assert (page.parent / unquote(parts.path)).exists(), link


# --- The page on the architecture names what exists.

PAGE = (REPOSITORY / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
CODE = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "mdplan").rglob("*.py"))


def test_paths_on_the_page_exist() -> None:
    paths = re.findall(r"`((?:mdplan|tests)/[\w/.*]+)`", PAGE)

    assert paths
    assert [path for path in paths if not list(REPOSITORY.glob(path))] == []


def test_outputs_of_the_stages_are_classes() -> None:
    line = PAGE[PAGE.index("```text\n") : PAGE.index("```\n\n")]
    products = re.findall(r"\b[A-Z]\w+", line)

    assert products[:3] == ["Source", "Outline", "Batch"]
    assert [name for name in products if not re.search(rf"^class {name}\b", CODE, re.MULTILINE)] == []


def test_every_package_is_on_the_page() -> None:
    packages = sorted(path.parent.name for path in (REPOSITORY / "mdplan").glob("*/__init__.py"))

    assert [name for name in packages if f"`mdplan/{name}`" not in PAGE] == []


def test_functions_and_classes_on_the_page_exist() -> None:
    ways = PAGE[PAGE.index("## The way of a batch") : PAGE.index("## Invariants")]
    names = re.findall(r"`(?:\w+\.)?(\w+)`", ways)
    fields = {"baseSha256", "accept", "sequential", "files", "rebase", "updateReferences"}

    assert [
        name
        for name in names
        if name not in fields and not name.isupper() and not re.search(rf"\b(?:def|class) {name}\b", CODE)
    ] == []


@pytest.mark.requirement("docs-4")
def test_each_invariant_names_tests_that_exist() -> None:
    table = PAGE[PAGE.index("## Invariants") : PAGE.index("## How an edit finds its place")]
    rows = [
        line for line in table.split("\n") if line.startswith("| ") and not line.startswith("| Invariant")
    ]
    named = [re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row) for row in rows]

    assert len(rows) > 20
    assert [row for row, tests in zip(rows, named, strict=True) if not tests] == []
    assert [
        f"{path}::{name}"
        for tests in named
        for path, name in tests
        if not re.search(rf"^def {name}\b", (REPOSITORY / path).read_text(encoding="utf-8"), re.MULTILINE)
    ] == []


def test_diagram_of_the_path_names_modules_that_exist() -> None:
    assert [module for *_, module in STAGES if not (REPOSITORY / "mdplan" / module).is_file()] == []


def test_diagram_of_the_packages_has_every_package() -> None:
    drawn = {name for layer in layers(REPOSITORY) for name in layer}
    packages = {path.parent.name for path in (REPOSITORY / "mdplan").glob("*/__init__.py")}

    assert packages - drawn == set()


# --- `docs/contributing/adding-an-operation.md` follows an existing operation.

PATH = REPOSITORY / "docs" / "contributing" / "adding-an-operation.md"
ADDING_AN_OPERATION_PAGE = PATH.read_text(encoding="utf-8")


def test_shown_code_equals_the_operation_module() -> None:
    code = (REPOSITORY / "mdplan" / "operations" / "lists.py").read_text(encoding="utf-8")
    (block,) = [block for block in blocks_of(PATH) if block.info == ("python",)]

    # The docstring of the class goes on there.
    lines = [line.removesuffix('"""') for line in block.text.split("\n")]
    assert [line for line in lines if line not in code] == []


def test_shown_cases_exist() -> None:
    cases = {case.text.slug for case in find_cases("operations/sort_list")}
    step = ADDING_AN_OPERATION_PAGE[
        ADDING_AN_OPERATION_PAGE.index("## 2.") : ADDING_AN_OPERATION_PAGE.index("## 3.")
    ]
    named = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", step)

    assert len(named) > 5
    assert [name for name in named if name not in cases] == []


def test_members_fields_and_paths_exist() -> None:
    methods, resolution = (
        ADDING_AN_OPERATION_PAGE.split(text)[1] for text in ("Override these", "A `Resolution` describes")
    )
    members = re.findall(r"^\| `(\w+)` \|", methods.split("A `Resolution`")[0], re.MULTILINE)
    parts = re.findall(r"`(\w+)`(?=[^|]*\|[^|]*\|$)", resolution.split("Three rules")[0], re.MULTILINE)
    paths = re.findall(r"`((?:mdplan|tests)/[\w/.*]+)`", ADDING_AN_OPERATION_PAGE)

    assert len(members) > 3
    assert [name for name in members if not hasattr(Operation, name)] == []
    assert len(parts) > 5
    assert set(parts) <= set(Resolution.__struct_fields__)
    assert [path for path in paths if not list(REPOSITORY.glob(path))] == []


# --- The table of `docs/explanation/comparison.md` is what its script makes; our own columns are made
# again.

COMPARISON_PAGE = (REPOSITORY / "docs" / "explanation" / "comparison.md").read_text(encoding="utf-8")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tests" / "benchmarks"))
    return importlib.import_module("same_edits")


def shown() -> dict[str, list[str]]:
    """The columns of the table by their heads."""
    (table,) = re.findall(
        r"<!-- same-edits:start -->\n(.*?)<!-- same-edits:end -->", COMPARISON_PAGE, re.DOTALL
    )
    head, _, *rows = [[cell.strip() for cell in line[1:-1].split("|")] for line in table.splitlines()]
    return {name: [row[at] for row in rows] for at, name in enumerate(head)}


def test_table_has_every_edit_and_every_server(script: ModuleType) -> None:
    columns = shown()

    assert columns.pop("Edit") == [trial.name for trial in script.TRIALS]
    assert list(columns) == list(script.ASKED)


@pytest.mark.requirement("docs-5")
def test_columns_of_mdplan_match_its_behaviour(script: ModuleType, tmp_path: Path) -> None:
    ours = [name for name in script.ASKED if name.startswith(script.OURS)]

    assert len(ours) == 2
    for name in ours:
        assert script.outcomes(name, script.own_command(tmp_path), tmp_path) == shown()[name]


def test_no_weakness_of_mdplan_is_hidden() -> None:
    assert [
        cell for name, column in shown().items() if "mdplan" in name for cell in column if "**" in cell
    ] == []
