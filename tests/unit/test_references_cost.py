"""What following links costs: counts of parses and of steps, so that no clock is needed."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.markdown import outline
from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile, build_file, resolve_edits
from mdplan.planning.links import derive_link_edits
from mdplan.requests.batch import read_batch
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.source import Source
from tests.no_other_files import NoOtherFiles
from tests.unit.test_planning_cost import steps

OTHERS = 30


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """First lines of the documents that were parsed."""
    lines: list[str] = []
    original = outline.parse_blocks

    def recorded(text: str, *arguments: object) -> object:
        lines.append(text.partition("\n")[0])
        return original(text, *arguments)

    monkeypatch.setattr(outline, "parse_blocks", recorded)
    return lines


def parses(root: Path, scope: str, parsed: list[str]) -> Sequence[str]:
    """What is parsed for a plan that renames a heading and the file `guide.md` of `root`."""
    engine = Engine.open([root], settings=Settings(durability=Durability.PROCESS))
    with engine.workspace:
        parsed.clear()
        plan = engine.plan(
            {
                "file": "guide.md",
                "updateReferences": scope,
                "edits": [
                    {"op": "rename_heading", "heading": "Install", "newTitle": "Setup"},
                    {"op": "rename_file", "newFile": "manual.md"},
                ],
            }
        )
        assert plan.ok, plan.diagnostics
        return tuple(parsed)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "guide.md").write_text("# Guide\n\n## Install\n")
    for number in range(OTHERS):
        (tmp_path / f"other{number}.md").write_text(f"# Other {number}\n\n[x](other1.md) guide.md install\n")
    (tmp_path / "links.md").write_text("# Links\n\n[x](guide.md#install)\n")
    (tmp_path / "mentions.md").write_text("# Mentions\n\n`[x](guide.md)`\n")
    return tmp_path


@pytest.mark.parametrize("scope", ["none", "file"])
def test_other_files_are_not_parsed_without_workspace(root: Path, scope: str, parsed: list[str]) -> None:
    assert set(parses(root, scope, parsed)) == {"# Guide"}


def test_only_files_that_may_link_are_parsed(root: Path, parsed: list[str]) -> None:
    found = parses(root, "workspace", parsed)

    assert sorted(found) == ["# Guide", "# Links", "# Mentions"]


def steps_of_links(links: int, headings: int) -> int:
    """Steps that follow so many links after every one of so many headings was renamed."""
    text = "".join(f"## Section {number:04}\n\n" for number in range(headings)) + "".join(
        f"[link](#section-{number % headings:04}) and [other](b{number:04}.md)\n\n" for number in range(links)
    )
    edits = [
        {"op": "rename_heading", "anchor": f"section-{number:04}", "newTitle": f"Renamed {number:04}"}
        for number in range(headings)
    ]
    batch = read_batch({"files": [{"file": "a.md", "edits": edits}]})
    base = Outline(Source.from_text(text))
    file = SnapshotFile(path="a.md", relative="a.md", requested=batch.files[0], outline=base, first_edit=0)
    resolved, problems = resolve_edits(file)
    assert problems == ()
    built = build_file(file, resolved)
    assert isinstance(built, BuiltFile)
    made: list[BuildResult] = []

    def follow() -> None:
        found = derive_link_edits([built], "file", NoOtherFiles())
        assert isinstance(found, BuildResult)
        made.append(found)

    count = steps(follow)
    assert made[0].files[0].references_updated == links
    return count


def test_steps_are_linear_in_the_links() -> None:
    steps_of_links(8, 8)  # Fills the caches of words that outlive a plan.
    one, two, four = (steps_of_links(number, 8) for number in (20, 40, 80))

    assert four - two < 2.1 * (two - one)


def test_steps_are_linear_in_the_headings() -> None:
    one, two, four = (steps_of_links(80, number) for number in (20, 40, 80))

    assert four - two < 2.1 * (two - one)
