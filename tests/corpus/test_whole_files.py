"""Files of real folders that are created, renamed and deleted: bytes stay, links follow or are reported.

The judge of links is tests/support/link_check.py, which knows nothing of mdplan.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.reports.plan import PlanReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.conftest import FULL
from tests.corpus.sample import files_of, spread
from tests.support.link_check import Site, Target

pytestmark = pytest.mark.timeout(3600)
FOLDERS = ("EIPs", "PowerShell-Docs", "book", "nodejs-api")
MOST = 6 if FULL else 2


def planned(folder: Path, edit: dict[str, object], file: str, *, apply: bool = True) -> PlanReport:
    """The plan of one edit, which is applied as it was planned."""
    settings = Settings(durability=Durability.PROCESS)
    with Engine.open([folder], settings=settings).workspace as workspace:
        engine = Engine(workspace, settings)
        plan = engine.plan({"file": file, "updateReferences": "workspace", "edits": [edit]})
        assert plan.ok, plan.diagnostics
        if apply:
            report = engine.apply({"planId": plan.plan_id})
            assert report.ok, report.diagnostics
        return plan


def most_linked(site: Site) -> list[str]:
    """The files that the most links of other files name, first."""
    counts = Counter(
        target.file
        for name in site.pages
        for href in site.links(name)
        if (target := site.target(name, href)) and target.file != name and target.file in site.pages
    )
    return [name for name, _ in counts.most_common()]


@pytest.fixture(params=FOLDERS)
def folder(request: pytest.FixtureRequest, corpus: Path, tmp_path: Path) -> Path:
    source = corpus / request.param
    if not source.is_dir():
        pytest.skip(f"the corpus has no folder {request.param}")
    shutil.copytree(source, tmp_path / "work", copy_function=shutil.copyfile)
    return tmp_path / "work"


def changed_links(before: Site, after: Site, renamed: dict[str, str]) -> Iterator[str]:
    """Links that named something, and do not name the same any more; `renamed` has new paths of files."""
    for name in before.pages:
        new_name = renamed.get(name, name)
        for old, new in zip(before.links(name), after.links(new_name), strict=True):
            was, now = before.target(name, old), after.target(new_name, new)
            if was is not None and now != Target(renamed.get(was.file, was.file), was.place):
                yield f"{name}: {old} became {new}: {was} became {now}"


@pytest.mark.slow
@pytest.mark.parametrize("rename", ["beside.md", "new folder/deeper/name.md"])
def test_links_of_a_folder_follow_a_file_with_another_name(folder: Path, rename: str) -> None:
    for name in spread(most_linked(Site(folder)), MOST):
        before = Site(folder)
        assert before.pages
        new = str((Path(name).parent / rename).as_posix())

        planned(folder, {"op": "rename_file", "newFile": new}, name)

        after = Site(folder)
        assert after.pages.keys() == before.pages.keys() - {name} | {new}
        assert list(changed_links(before, after, {name: new})) == []
        planned(folder, {"op": "rename_file", "newFile": name}, new)


@pytest.mark.slow
def test_links_of_a_folder_to_a_deleted_file_are_reported(folder: Path) -> None:
    site = Site(folder)
    for name in spread(most_linked(site), MOST):
        linking = {
            other
            for other in site.pages
            if other != name
            and any(
                (target := site.target(other, href)) and target.file == name for href in site.links(other)
            )
        }
        plan = planned(folder, {"op": "delete_file"}, name, apply=False)

        reported = {each.file for each in plan.warnings if each.code is Code.BROKEN_LINK}
        deleted, *listing = (file.file for file in plan.files)
        # The entry of a table of contents is deleted with its page.
        assert {Path(each).name for each in listing} <= {"SUMMARY.md"}
        assert reported | set(listing) >= linking
        assert deleted == name


def test_created_files_have_the_bytes_of_real_ones(corpus: Path, tmp_path: Path) -> None:
    for number, path in enumerate(files_of(corpus, first=5, step=60)):
        data = path.read_bytes()
        text = data.decode("utf-8")
        # A byte order mark in new text is refused: it would not be text.
        if "\r" not in text and text.strip() and not text.startswith("\ufeff"):
            planned(tmp_path, {"op": "create_file", "markdown": text}, f"{number}.md")
            assert (tmp_path / f"{number}.md").read_bytes() == data
