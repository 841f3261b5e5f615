"""What the result must keep, and what may change because an edit asked for it."""

import pytest

from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile, SnapshotFile, build_file, resolve_edits
from mdplan.planning.verify import verify
from mdplan.requests.batch import read_batch
from mdplan.text.source import Source


def codes(text: str, *edits: dict[str, object]) -> list[str]:
    """Codes of what `verify` says about `edits` of a document."""
    batch = read_batch({"files": [{"file": "a.md", "edits": list(edits)}]})
    file = SnapshotFile(
        path="a.md",
        relative="a.md",
        requested=batch.files[0],
        outline=Outline(Source.from_text(text)),
        first_edit=0,
    )
    resolved, problems = resolve_edits(file)
    assert problems == ()
    built = build_file(file, resolved)
    assert isinstance(built, BuiltFile), built
    return [str(problem.code) for problem in verify(built, batch)]


def append(path: list[str], markdown: str) -> dict[str, object]:
    return {"op": "append_to_section", "headingPath": path, "markdown": markdown}


def rename(path: list[str], title: str, occurrence: int | None = None) -> dict[str, object]:
    return {"op": "rename_heading", "headingPath": path, "newTitle": title, "occurrence": occurrence}


def insert(line: int, text: str) -> dict[str, object]:
    place = {"line": line, "col": 1}
    return {
        "op": "replace_range",
        "range": {"start": place, "end": place},
        "replacement": text,
        "allowInsecureRange": True,
    }


def test_heading_survives_text_in_the_empty_preamble() -> None:
    assert codes("# A\n\ntext\n", append([], "new")) == []
    assert codes("---\na: 1\n---\n# A\n\n## B\n", append([], "new")) == []


def test_heading_is_kept_when_another_heading_is_inserted_right_before_it() -> None:
    assert codes("# A\n## B\n", append(["A"], "## New")) == []
    assert codes("# A\n# B\n", append(["A"], "### New")) == []


def test_heading_may_be_indented() -> None:
    assert codes("# A\n\n# B\n", insert(3, " ")) == []


@pytest.mark.requirement("plan-10")
def test_heading_that_becomes_text_is_lost() -> None:
    assert codes("# A\n\n# B\n", insert(3, "x")) == ["OUTLINE_CHANGED"]


@pytest.mark.requirement("plan-10")
def test_heading_that_gets_another_level_is_lost() -> None:
    assert codes("# A\n\n# B\n", insert(3, "#")) == ["OUTLINE_CHANGED"]


def test_subsections_that_repeated_before_may_repeat_under_a_renamed_heading() -> None:
    text = "# A\n\n## X\n\n## X\n"

    assert codes(text, rename(["A"], "B")) == []
    assert codes(text, rename(["A"], "B"), append(["A"], "## Y")) == []


def test_subsection_that_repeats_one_under_a_renamed_heading_is_a_duplicate() -> None:
    assert codes("# A\n\n## X\n", rename(["A"], "B"), append(["A"], "## X")) == ["DUPLICATE_HEADING"]
    assert codes("# A\n\n## X\n\n## X\n", rename(["A"], "B"), append(["A"], "## X")) == ["DUPLICATE_HEADING"]


def test_renamed_heading_makes_duplicates_of_equal_subsections() -> None:
    text = "# A\n\n## X\n\n# B\n\n## X\n"

    assert codes(text, rename(["B"], "A")) == ["DUPLICATE_HEADING", "DUPLICATE_HEADING"]


def test_repeated_heading_may_be_renamed_while_another_takes_its_name() -> None:
    assert codes("# A\n\n# A\n\n# B\n", rename(["A"], "C", 2), rename(["B"], "A")) == []
