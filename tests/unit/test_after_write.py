"""What a report says after a write: line maps and context in their bounds, and what pins the next edit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from mdplan.engine.engine import Engine
from mdplan.plan import FileChange
from mdplan.planning.plan_document import new_plan
from mdplan.planning.results import written_files
from mdplan.reports.plan import WrittenFile
from mdplan.text.diff import changed_lines
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source, sha256_hex
from tests.properties.strategies import edit_lists, texts

GUIDE = "# Guide\n\nIntro.\n\n## Install\n\nRun it.\n\n### Linux\n\nUse apt.\n\n## Use\n\nUse it.\n"


def written(*files: tuple[str, EditList]) -> tuple[WrittenFile, ...]:
    """What is said of files that had these texts before these edits."""
    bases = [Source.from_text(text) for text, _ in files]
    changes = [
        FileChange(
            path=f"{number}.md",
            encoding=None,
            format=None,
            base_sha256=base.sha256,
            result_sha256=sha256_hex(edits.apply(base.text).encode()),
            edits=edits,
            lines_added=0,
            lines_removed=0,
            base_sections={},
        )
        for number, (base, (_, edits)) in enumerate(zip(bases, files, strict=True))
    ]
    plan = new_plan(
        files=changes, requested=[() for _ in files], options={}, effects=(), results=(), warnings=()
    )
    return written_files(plan, bases)


def every_second_word(count: int, word: str) -> tuple[str, EditList]:
    """A text of `count` words that are changed to `word`, each in a paragraph far from the next."""
    text = "old\n\n1\n2\n3\n4\n5\n6\n7\n8\n9\n\n" * count
    period = len(text) // count
    edits = EditList.of(TextEdit(Span(at, at + 3), word) for at in range(0, len(text), period))
    assert isinstance(edits, EditList)
    return text, edits


@given(data=st.data(), base=texts("ab\n\r") | texts())
def test_context_shows_result_lines_around_each_change(data: DataObject, base: str) -> None:
    """Texts this short are never cut off."""
    edits = data.draw(edit_lists(base))
    lines = LineIndex(edits.apply(base))

    for file in written((base, edits)):
        text = edits.apply(base)
        for block in file.context:
            span = lines.span(block.start_line, block.end_line)
            assert block.text == text[span.start : span.end]
        shown = [line for block in file.context for line in range(block.start_line, block.end_line + 1)]
        assert shown == sorted(set(shown))
        for change in changed_lines(LineIndex(base), edits, lines):
            near = {*range(change.new_start - 3, change.new_start + 3)}
            near |= {*range(change.new_end - 3, change.new_end + 3)}
            assert near & {*range(1, lines.count + 1)} <= {*shown}
        assert file.context_truncated is None


def test_line_map_of_many_changes_is_truncated_with_a_note() -> None:
    """The ranges that are told are true; lines behind them are not told."""
    text, edits = every_second_word(500, "new")

    (file,) = written((text, edits))

    assert file.line_map_truncated is True
    assert len(file.line_map) == 200
    assert (file.line_map[-1].start_line, file.line_map[-1].end_line) == (2390, 2400)


def test_context_of_many_changes_is_truncated_with_a_note() -> None:
    """No more than 4,000 characters, whole blocks before the last."""
    text, edits = every_second_word(500, "new")

    (file,) = written((text, edits))

    assert file.context_truncated is True
    assert sum(len(block.text) for block in file.context) == 4000


def test_files_of_one_report_share_the_size_limit() -> None:
    """The first file takes what it needs, and the second is cut off."""
    first, second = written(every_second_word(150, "new"), every_second_word(150, "new"))

    assert (first.line_map_truncated, second.line_map_truncated) == (None, True)
    assert len(first.line_map) + len(second.line_map) == 200
    assert (first.context_truncated, second.context_truncated) == (None, True)
    assert sum(len(block.text) for file in (first, second) for block in file.context) == 4000


def test_very_long_line_is_truncated() -> None:
    """Its block names the line that it shows the start of."""
    (file,) = written(("a\nb\n", EditList((TextEdit(Span(2, 3), "x" * 100_000),))))

    (block,) = file.context
    assert (block.start_line, block.end_line, block.text) == (1, 2, "a\n" + "x" * 3998)
    assert file.context_truncated is True


def test_emptied_file_has_neither_lines_nor_context() -> None:
    """There is nothing left to show."""
    (file,) = written(("a\nb\n", EditList((TextEdit.delete(Span(0, 4)),))))

    assert (file.line_map, file.context, file.context_truncated) == ((), (), None)


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "insert_section", "heading": "Use", "position": "before", "markdown": "## Test\n\nTest it."},
        {"op": "append_to_section", "heading": "Use", "markdown": "Often."},
        {"op": "append_to_section", "heading": "Use", "markdown": "# Often\n\nAgain."},
        {"op": "upsert_section", "heading": "Test", "markdown": "Test it.", "createIfMissing": True},
        {"op": "rename_heading", "heading": "Install", "newTitle": "Set up"},
        {"op": "replace_section", "heading": "Install", "markdown": "Start it."},
        {"op": "move_section", "heading": "Install", "toHeadingPath": ["Use"], "position": "lastChild"},
        {"op": "set_heading_level", "heading": "Use", "level": 3},
        {"op": "delete_section", "heading": "Install", "part": "body"},
    ],
    ids=lambda edit: edit["op"],
)
def test_next_edit_is_guarded_by_the_hashes_of_the_last_report(
    tmp_path: Path, edit: Mapping[str, Any]
) -> None:
    """Its section ID and hash are enough: no other look at the file, and no hash of it."""
    path = tmp_path / "a.md"
    path.write_text(GUIDE)
    engine = Engine.open([tmp_path])
    base = {"baseSha256": sha256_hex(GUIDE.encode())}

    first = engine.apply({"file": "a.md", **base, "edits": [edit]})
    assert first.ok, first.error
    (result,) = first.edit_results
    pin = {
        "sectionId": result.new_section_id or result.section_id,
        "sectionSha256": result.new_section_sha256,
    }
    second = engine.apply(
        {"file": "a.md", "edits": [{"op": "append_to_section", **pin, "markdown": "More."}]}
    )

    assert second.applied, second.error
    assert path.read_text().count("More.") == 1


def test_only_the_writing_call_reports_written_lines(tmp_path: Path) -> None:
    """A dry run before it does not, nor the same call once more."""
    (tmp_path / "a.md").write_text(GUIDE)
    engine = Engine.open([tmp_path])
    edit = {"op": "append_to_section", "heading": "Use", "markdown": "Often."}
    plan_id = engine.plan({"file": "a.md", "edits": [edit]}).plan_id

    dry = engine.apply({"planId": plan_id, "dryRun": True})
    first, second = engine.apply({"planId": plan_id}), engine.apply({"planId": plan_id})

    assert (dry.applied, dry.written) == (False, None)
    assert [file.file for file in first.written] == ["a.md"]
    assert (second.already_applied, second.written) == (True, None)


def test_bytes_that_are_not_text_are_shown_escaped(tmp_path: Path) -> None:
    """What leaves is valid Unicode."""
    (tmp_path / "a.md").write_bytes(b"Run \xff it.\n")
    edit = {"op": "replace_match", "pattern": "it", "replacement": "that", "expectedMatchCount": 1}

    report = Engine.open([tmp_path]).apply({"file": "a.md", "edits": [edit]})

    assert [block.text for file in report.written for block in file.context] == ["Run \\xff that.\n"]
