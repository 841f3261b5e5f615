"""Change headings and files of a real book: every link keeps its target.

An independent link check judges: `tests/support/link_check.py`.
"""

import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.reports.plan import PlanReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.support.case_tables import CaseTables
from tests.support.link_check import Site, Target

CASE_TABLES = CaseTables(__file__)


pytestmark = pytest.mark.timeout(600)
FOLDERS = ("src", "first-edition", "redirects")


@pytest.fixture
def book(corpus: Path, tmp_path: Path) -> Path:
    """A copy of the book of the corpus, which can be written."""
    for folder in FOLDERS:
        shutil.copytree(corpus / "book" / folder, tmp_path / "book" / folder, copy_function=shutil.copyfile)
    return tmp_path / "book"


def applied(book: Path, batch: dict[str, object]) -> PlanReport:
    """The plan of `batch`, which is applied as it was planned."""
    with Engine.open([book], settings=Settings(durability=Durability.PROCESS)).workspace as workspace:
        engine = Engine(workspace, Settings(durability=Durability.PROCESS))
        plan = engine.plan(batch)
        assert plan.ok, plan.diagnostics
        report = engine.apply({"planId": plan.plan_id})
        assert report.ok, report.diagnostics
        return plan


def linking(site: Site, targets: Iterable[Target]) -> set[str]:
    """Return the files that link to one of `targets`."""
    wanted = set(targets)
    return {
        name for name in site.pages if any(site.target(name, href) in wanted for href in site.links(name))
    }


def check_links(before: Site, after: Site, renamed: dict[str, str]) -> int:
    """Every link names what it named, where `renamed` has the new paths of files; how many there are.

    One that named nothing may go on so.
    """
    problems: list[str] = []
    count = 0
    for name in before.pages:
        new_name = renamed.get(name, name)
        old_links, new_links = before.links(name), after.links(new_name)
        assert len(old_links) == len(new_links), name
        for old, new in zip(old_links, new_links, strict=True):
            was, now = before.target(name, old), after.target(new_name, new)
            count += was is not None
            if was is not None and now != Target(renamed.get(was.file, was.file), was.place):
                problems.append(f"{name}: {old} became {new}: {was} became {now}")
    assert problems == []
    return count


def most_linked_heading(site: Site) -> Target:
    """The heading that the most links of other files name."""
    counts = Counter(
        target
        for name in site.pages
        for href in site.links(name)
        if (target := site.target(name, href)) and isinstance(target.place, int) and target.file != name
    )
    return counts.most_common(1)[0][0]


def heading_line(book: Path, target: Target) -> tuple[str, int]:
    """Anchor and line of the heading `target`."""
    page = Site(book).pages[target.file]
    anchor = next(anchor for anchor, place in page.places.items() if place == target.place)
    assert isinstance(target.place, int)
    return anchor, page.heading_lines[target.place]


@pytest.mark.requirement("references-1")
def test_renamed_heading_is_named_by_every_link_that_named_it(book: Path, tmp_path: Path) -> None:
    shutil.copytree(book, tmp_path / "before")
    before = Site(tmp_path / "before")
    target = most_linked_heading(before)
    anchor, line = heading_line(book, target)

    plan = applied(
        book,
        {
            "file": target.file,
            "updateReferences": "workspace",
            "edits": [{"op": "rename_heading", "anchor": anchor, "newTitle": "A wholly *other* title"}],
        },
    )

    assert {file.file for file in plan.files} == linking(before, [target]) | {target.file}
    assert len(plan.files) > 3
    assert plan.warnings == ()
    assert check_links(before, Site(book), {}) > 300
    assert "wholly" in (book / target.file).read_text(encoding="utf-8").split("\n")[line - 1]


@CASE_TABLES.parametrize("name", "new_name")
def test_file_that_moves_to_another_folder_takes_its_links_along(
    book: Path, tmp_path: Path, name: str, new_name: str
) -> None:
    shutil.copytree(book, tmp_path / "before")
    before = Site(tmp_path / "before")
    targets = {Target(name), *(Target(name, place) for place in before.pages[name].places.values())}

    plan = applied(
        book,
        {
            "file": name,
            "updateReferences": "workspace",
            "edits": [{"op": "rename_file", "newFile": new_name}],
        },
    )

    assert {file.file for file in plan.files} == linking(before, targets) | {name}
    # Its links that lead to nothing stay as they are.
    assert any(file.references_updated for file in plan.files)
    assert check_links(before, Site(book), {name: new_name}) > 300


@pytest.mark.requirement("references-2")
def test_section_that_moves_to_another_file_is_named_there(book: Path, tmp_path: Path) -> None:
    """Headings are renumbered, so the test only checks that every link resolves."""
    shutil.copytree(book, tmp_path / "before")
    before = Site(tmp_path / "before")
    target = most_linked_heading(before)
    anchor, _ = heading_line(book, target)
    there = "first-edition/src/README.md"

    applied(
        book,
        {
            "file": target.file,
            "updateReferences": "workspace",
            "edits": [{"op": "move_section", "anchor": anchor, "toFile": there}],
        },
    )

    after = Site(book)
    assert anchor in after.pages[there].places
    for name in before.pages:
        broken_before = Counter(href for href in before.links(name) if before.target(name, href) is None)
        broken = Counter(href for href in after.links(name) if after.target(name, href) is None)
        assert not broken - broken_before, name


def test_links_to_a_deleted_file_are_reported_and_its_entry_goes(book: Path) -> None:
    site = Site(book)
    name = "src/ch04-01-what-is-ownership.md"
    targets = {Target(name), *(Target(name, place) for place in site.pages[name].places.values())}
    summary = "src/SUMMARY.md"
    expected = linking(site, targets) - {name, summary}

    plan = applied(book, {"file": name, "updateReferences": "workspace", "edits": [{"op": "delete_file"}]})

    assert [file.file for file in plan.files] == [name, summary]
    assert {warning.file for warning in plan.warnings} == expected
