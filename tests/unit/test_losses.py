"""The ledger: what an edit that replaces text drops, said in one line, with the parts on request."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mdplan.diagnostics import Code, Diagnostic, or_problem
from mdplan.engine.engine import Engine
from mdplan.limits import Limits
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.enclosures import is_hidden
from mdplan.markdown.outline import Outline
from mdplan.memory import Document
from mdplan.planning.losses import plain_text, split_sentences
from mdplan.settings import Settings
from mdplan.text.source import Source
from tests.properties.hostile_markdown import hostile_documents
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)
CASES: Mapping[str, Any] = CASE_TABLES.value("CASES")


def warnings(old: str, edits: Any) -> list[Diagnostic]:
    report = Document.from_text(old).plan(edits)
    assert report.ok, report.error
    return [each for each in report.warnings if each.code is Code.CONTENT_DROPPED]


@pytest.mark.parametrize("name", CASES)
def test_edit_names_what_it_drops(name: str) -> None:
    case = CASES[name]
    assert "".join(each.message for each in warnings(case["old"], case["edit"])) == case["line"]


def test_parts_say_what_stands_there_now() -> None:
    edit = {"op": "replace_lines", "lines": {"start": 1, "end": 3}, "text": "Read [it](b.md) now."}
    (warning,) = warnings("Read [it](a.md) now.\n\nThen use it.\n", edit)
    parts = [(each.kind, each.text, each.became) for each in warning.lost or ()]
    assert parts == [("paragraph", "Then use it.", None), ("link", "a.md", "b.md")]


def test_text_that_another_edit_writes_is_moved() -> None:
    old = "## A\n\nFirst text of it.\n\nSecond text of it.\n\n## B\n\nOther.\n"
    edits = [
        {"op": "replace_section", "heading": "A", "markdown": "First text of it."},
        {"op": "append_to_section", "heading": "B", "markdown": "Second text of it."},
    ]
    assert warnings(old, edits) == []


def test_text_that_goes_to_another_file_is_moved(tmp_path: Path) -> None:
    engine = Engine.open([tmp_path])
    (tmp_path / "a.md").write_text("First text of it.\n\nSecond text of it.\n")
    (tmp_path / "b.md").write_text("Other.\n")
    shorter = {"op": "replace_lines", "lines": {"start": 1, "end": 3}, "text": "First text of it."}
    more = {"op": "append_to_file", "text": "\nSecond text of it.\n"}
    files = [{"file": "a.md", "edits": [shorter]}, {"file": "b.md", "edits": [more]}]
    of_one, of_both = (engine.plan({"files": each}).edit_results[0].warnings for each in (files[:1], files))
    assert [each.message for each in of_one] == ["drops 1 of 2 paragraphs"]
    assert of_both == ()


GUIDE: str = CASE_TABLES.value("GUIDE")
PROMISES: Mapping[str, Any] = CASE_TABLES.value("PROMISES")


@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.parametrize("place", ["edit", "batch"])
def test_plan_that_breaks_its_promise_is_refused(name: str, place: str) -> None:
    case = PROMISES[name]
    text = GUIDE.replace(*case["change"]).replace(*case.get("also", ("", "")))
    lines = {"start": 1, "end": len(GUIDE.splitlines())}
    edit = {"op": "replace_lines", "lines": lines, "text": text}
    promise = {part: case[part] for part in ("keep", "drop") if part in case}
    of_edit, of_batch = (promise, {}) if place == "edit" else ({}, promise)
    report = Document.from_text(GUIDE).plan([{**edit, **of_edit}], **of_batch)
    problems = [(each.code, [part.text for part in each.lost or ()]) for each in report.diagnostics]
    assert problems == ([(Code.CONTENT_LOST, case["lost"])] if case["lost"] else [])


def test_promise_is_part_of_the_plan_and_its_id(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Some text.\n")
    edit = {"op": "append_to_file", "markdown": "More."}
    batch = {"file": "a.md", "edits": [edit]}
    plain, asked = (
        Engine.open([tmp_path]).draft({**batch, **given}) for given in ({}, {"keep": "links,code"})
    )
    settings = Settings(batch=Limits(keep=("code", "links")))
    served = Engine.open([tmp_path], settings=settings).draft(batch)
    assert plain.report.plan_id != asked.report.plan_id == served.report.plan_id
    assert json.loads(asked.document)["options"] == {"keep": "code,links"}
    again = Engine.open([tmp_path]).apply(json.loads(asked.document))
    assert again.applied, again.error


def test_insertions_hide_nothing_that_is_promised() -> None:
    old = "First.\n\nSecond.\n"
    edits = [
        {"op": "insert_lines", "line": line, "position": position, "text": text}
        for line, position, text in ((3, "before", "<!--"), (3, "after", "-->"))
    ]
    report = Document.from_text(old).plan(edits, keep=["sentences"])
    assert [(each.code, each.edit_index) for each in report.diagnostics] == [(Code.CONTENT_LOST, None)]


@given(old=hostile_documents(), new=hostile_documents(), data=st.data())
def test_what_is_dropped_is_in_the_old_text_and_not_in_the_new_one(old: str, new: str, data: Any) -> None:
    document = or_problem(Document.from_text, old)
    assume(isinstance(document, Document) and document.text)
    count = Source.from_text(old).lines.count
    first = data.draw(st.integers(1, count))
    lines = {"start": first, "end": data.draw(st.integers(first, count))}
    report = document.apply({"op": "replace_lines", "lines": lines, "text": new})
    found = [each for each in report.warnings if each.code is Code.CONTENT_DROPPED]
    lost = Counter(
        part.text for each in found for part in each.lost or () if part.kind == "sentence" and not part.became
    )
    before, after = sentences(old), sentences(report.text if lost else "")
    assert all(before[text] - after[text] >= times for text, times in lost.items())


def sentences(text: str) -> Counter[str]:
    """The sentences that people see."""
    outline = Outline(Source.from_text(text))
    return Counter(
        plain_text(sentence)
        for block in outline.tree.of_kinds(BlockKind.PARAGRAPH)
        if not is_hidden(block.span.start, outline.hidden)
        for sentence in split_sentences(block.content)
    )
