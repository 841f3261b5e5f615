"""What planning costs, in parses and in steps of the interpreter: counts, so that no clock is needed."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from mdplan.cli.batches import numbers_of
from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.limits import RESULT_CHARACTERS
from mdplan.markdown import headings as heading_source
from mdplan.markdown import inline as inline_nodes
from mdplan.markdown import outline, payload
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations.matches import ReplaceMatch
from mdplan.plan import FileChange
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile, build_file, resolve_edits
from mdplan.planning.links import derive_link_edits
from mdplan.planning.plan_document import new_plan
from mdplan.planning.results import plan_of, report_fields, written_files
from mdplan.planning.verify import find_conflicts, verify
from mdplan.reports.plan import ApplyReport, WrittenFile
from mdplan.requests.batch import read_batch
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.diff import changed_lines, file_diff
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source, sha256_hex
from tests.properties.strategies import edit_lists, texts
from tests.support.case_tables import CaseTables
from tests.support.files import NoOtherFiles

CASE_TABLES = CaseTables(__file__)

Edit = dict[str, Any]
TraceFunction = Callable[..., Any]
SECTIONS = 16
OURS = str(Path(outline.__file__).parents[2])


def document(sections: int) -> Outline:
    """Return the outline of a document whose sections differ only in their number."""
    text = "# Title\n\n" + "".join(
        f"## Section {number:04}\n\nSome *prose* with word{number:04} and a [link](#section-{number:04}).\n\n"
        f"- one\n- two\n\n### Part {number:04}\n\nMore `code` here.\n\n### Notes\n\n"
        for number in range(sections)
    )
    return Outline(Source.from_text(text))


def append(base: Outline, number: int) -> Edit:
    section = section_of(base, number)
    return {"op": "append_to_section", "sectionId": section.section_id, "markdown": "One *more*."}


def append_item(base: Outline, number: int) -> Edit:
    title = f"## Section {number:04}"
    return {"op": "append_to_section", "headingPath": ["Title", title], "markdown": "- three"}


def append_note(_base: Outline, number: int) -> Edit:
    return {"op": "append_to_section", "heading": "Notes", "occurrence": number + 1, "markdown": "- four"}


def append_part(base: Outline, number: int) -> Edit:
    digits = section_of(base, number).section_id[7:17]
    return {"op": "append_to_section", "sectionId": digits, "markdown": f"# New {number}\n\ntext"}


def rename(base: Outline, number: int) -> Edit:
    return {"op": "rename_heading", "anchor": f"section-{number:04}", "newTitle": f"Renamed {number}"}


def match(base: Outline, number: int) -> Edit:
    return {
        "op": "replace_match",
        "heading": f"Section {number:04}",
        "pattern": f"word{number:04}",
        "replacement": "[word](#gone)",
    }


def replace(base: Outline, number: int) -> Edit:
    line = section_of(base, number).first_line + 2
    place = {"start": {"line": line, "col": 1}, "end": {"line": line, "col": 5}}
    return {"op": "replace_range", "range": place, "expectedText": "Some", "replacement": "Any"}


def section_of(base: Outline, number: int) -> Section:
    section = base.with_anchor(f"section-{number:04}")
    assert section is not None
    return section


KINDS = [append, match]

SLOW_KINDS = [
    pytest.param(kind, marks=pytest.mark.slow)
    for kind in (append_item, append_note, append_part, rename, replace)
]


def plan(base: Outline, edits: list[Edit]) -> None:
    """Run the engine's steps on a file, from the batch to the report."""
    entry = {"file": "a.md", "baseSha256": base.source.sha256, "edits": edits}
    batch = read_batch({"files": [entry]})
    file = SnapshotFile(path="a.md", relative="a.md", requested=batch.files[0], outline=base, first_edit=0)
    resolved, problems = resolve_edits(file)
    assert (problems, find_conflicts(file, resolved)) == ((), ())
    built = build_file(file, resolved)
    assert isinstance(built, BuiltFile)
    assert verify(built, batch) == ()
    diff = file_diff("a.md", "a.md", built.hunks)
    made = derive_link_edits([built], "none", NoOtherFiles())
    assert isinstance(made, BuildResult)
    assert report_fields(plan_of(made, batch), diff)["edits_applied"] == len(edits)


def spread(count: int, sections: int) -> list[int]:
    """Numbers of `count` sections, evenly from the first to the last: all between them is parsed again."""
    return [index * (sections - 1) // max(count - 1, 1) for index in range(count)]


# Parses.
@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """Record the lengths of parsed texts by purpose."""
    lengths: dict[str, list[int]] = {"outline": [], "inline": [], "payload": [], "heading": []}

    def record(module: ModuleType, function: str, purpose: str) -> None:
        original = getattr(module, function)

        def recorded(text: str, *arguments: object) -> object:
            lengths[purpose].append(len(text))
            return original(text, *arguments)

        monkeypatch.setattr(module, function, recorded)

    record(outline, "parse_blocks", "outline")
    find_nodes = inline_nodes.find_nodes

    def recorded_nodes(text: str, span: Span, *arguments: object) -> object:
        lengths["inline"].append(len(span))
        return find_nodes(text, span, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(inline_nodes, "find_nodes", recorded_nodes)
    record(payload, "parse_blocks", "payload")
    record(heading_source, "parse_blocks", "heading")
    return lengths


@pytest.mark.parametrize("count", [1, 8, SECTIONS])
def test_base_is_parsed_once_for_any_number_of_edits(parsed: dict[str, list[int]], count: int) -> None:
    base = document(SECTIONS)

    plan(base, [kind(base, number) for number in spread(count, SECTIONS) for kind in (append, rename, match)])

    assert len(parsed["outline"]) == 1
    assert sum(parsed["inline"]) <= 2 * len(base.source.text)
    assert (len(parsed["payload"]), len(parsed["heading"])) == (count, count)
    assert max(parsed["payload"] + parsed["heading"]) < 30


def test_inline_nodes_are_parsed_only_on_demand(parsed: dict[str, list[int]]) -> None:
    base = document(SECTIONS)

    plan(base, [append(base, number) for number in range(SECTIONS)])

    assert parsed["inline"] == []


# Steps.
def steps(action: Callable[[], object]) -> int:
    """Count the interpreter instructions of `action`, without the parser."""
    count = 0

    def trace(frame: FrameType, event: str, _argument: object) -> TraceFunction | None:
        nonlocal count
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count


def steps_of_plan(kind: Callable[[Outline, int], Edit], sections: int, count: int) -> int:
    edits = [kind(document(sections), number) for number in spread(count, sections)]
    plan(document(sections), edits)  # Fills the caches of words that outlive a plan.
    base = document(sections)
    return steps(lambda: plan(base, edits))


@pytest.mark.parametrize("kind", [*KINDS, *SLOW_KINDS], ids=lambda kind: kind.__name__)
def test_edit_cost_does_not_depend_on_document_length(kind: Callable[[Outline, int], Edit]) -> None:
    few, many = 4, 12
    small = steps_of_plan(kind, SECTIONS, many) - steps_of_plan(kind, SECTIONS, few)
    large = steps_of_plan(kind, 4 * SECTIONS, many) - steps_of_plan(kind, 4 * SECTIONS, few)

    assert large < 1.05 * small


@pytest.mark.parametrize("kind", [*KINDS, *SLOW_KINDS], ids=lambda kind: kind.__name__)
def test_edit_cost_does_not_depend_on_the_number_of_edits(kind: Callable[[Outline, int], Edit]) -> None:
    first, second, fourth = (steps_of_plan(kind, SECTIONS, count) for count in (4, 8, 16))

    assert fourth - second < 2.1 * (second - first)


# --- What the result must keep, and what may change because an edit asked for it.


def codes(text: str, *edits: dict[str, object]) -> list[str]:
    """Return the codes that `verify` reports for `edits` of a document."""
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


def insert(line: int, text: str) -> dict[str, object]:
    place = {"line": line, "col": 1}
    return {
        "op": "replace_range",
        "range": {"start": place, "end": place},
        "replacement": text,
        "allowInsecureRange": True,
    }


@pytest.mark.requirement("plan-10")
def test_heading_that_becomes_text_is_lost() -> None:
    assert codes("# A\n\n# B\n", insert(3, "x")) == ["OUTLINE_CHANGED"]


@pytest.mark.requirement("plan-10")
def test_heading_that_gets_another_level_is_lost() -> None:
    assert codes("# A\n\n# B\n", insert(3, "#")) == ["OUTLINE_CHANGED"]


# --- What a report says after a write: line maps and context in their bounds, and what pins the next
# edit.

GUIDE = "# Guide\n\nIntro.\n\n## Install\n\nRun it.\n\n### Linux\n\nUse apt.\n\n## Use\n\nUse it.\n"


def written(*files: tuple[str, EditList]) -> tuple[WrittenFile, ...]:
    """Return the report on files that had these texts before these edits."""
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
    """The ranges are correct; later lines are omitted."""
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
    """Its section ID and hash are enough: no second read, and no hash of the file."""
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


def test_bytes_that_are_not_text_are_shown_escaped(tmp_path: Path) -> None:
    """All output is valid Unicode."""
    (tmp_path / "a.md").write_bytes(b"Run \xff it.\n")
    edit = {"op": "replace_match", "pattern": "it", "replacement": "that", "expectedMatchCount": 1}

    report = Engine.open([tmp_path]).apply({"file": "a.md", "edits": [edit]})

    assert [block.text for file in report.written for block in file.context] == ["Run \\xff that.\n"]


# --- Edits are counted in each file from 1, where reports count through the whole batch from 0.

EDIT = {"op": "append_to_file", "markdown": "x"}


@pytest.mark.parametrize(
    ("batch", "indexes", "told"),
    [
        ({"file": "a.md", "edits": [EDIT, EDIT]}, [1], "edit 2 of a.md"),
        ({"file": "a.md", **EDIT}, [0], "edit 1 of a.md"),
        (
            {"files": [{"file": "a.md", "edits": [EDIT]}, {"file": "b.md", "edits": [EDIT, EDIT]}]},
            [2, 0, 1],
            "edit 1 of a.md and edits 1 and 2 of b.md",
        ),
        ({"glob": "*.md", "edits": [EDIT, EDIT]}, [0, 1], "edits 1 and 2"),
        ("no batch", [4], "edit 5"),
    ],
)
def test_edits_are_counted_by_file(batch: object, indexes: list[int], told: str) -> None:
    assert numbers_of(batch).listed(indexes) == told


# --- A batch that its own evidence pins is not done twice, though its evidence would hold again.

BASE = "# A\n\nfoo\n\n# B\n\nx\n"
LONGER = {"op": "replace_match", "pattern": "foo", "replacement": "a foo"}
NEW_LINE = {"op": "insert_lines", "line": 1, "position": "after", "expectedText": "# A", "markdown": "new"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "root" / "a.md"
    path.parent.mkdir()
    path.write_text(BASE)
    return path


def apply(file: Path, *edits: dict[str, Any], **fields: object) -> ApplyReport:
    """One batch, sent to an engine that knows nothing but what is stored."""
    with Engine.open([file.parent], settings=Settings(durability=Durability.PROCESS)).workspace as workspace:
        engine = Engine(workspace, Settings(durability=Durability.PROCESS))
        return engine.apply({"file": "a.md", "edits": list(edits), **fields})


@pytest.mark.parametrize("edit", [LONGER, NEW_LINE])
def test_repeated_batch_returns_the_first_receipt(file: Path, edit: dict[str, Any]) -> None:
    first = apply(file, edit)
    after = file.read_text()
    second = apply(file, edit)

    assert first.applied
    assert not first.already_applied
    assert second.already_applied
    assert second.plan_id == first.plan_id
    assert second.receipt.transaction == first.receipt.transaction
    assert file.read_text() == after


def test_batch_based_on_its_result_is_committed_again(file: Path) -> None:
    first = apply(file, LONGER)
    second = apply(file, LONGER, baseSha256=first.files[0].result_sha256)

    assert second.applied
    assert not second.already_applied
    assert "a a foo" in file.read_text()


def test_batch_is_committed_again_when_its_result_is_gone(file: Path) -> None:
    apply(file, LONGER)
    file.write_text(BASE)

    assert not apply(file, LONGER).already_applied
    assert file.read_text() == BASE.replace("foo", "a foo")


def test_intervening_batch_makes_a_new_commit(file: Path) -> None:
    apply(file, LONGER)
    apply(file, {"op": "replace_match", "pattern": "x", "replacement": "y"})
    apply(file, {"op": "replace_match", "pattern": "y", "replacement": "x"})

    assert not apply(file, LONGER).already_applied


def test_rebased_batch_is_not_rebased_onto_its_own_result(file: Path) -> None:
    base = apply(file, LONGER, dryRun=True).base_sha256
    file.write_text(BASE + "\nmore\n")
    first = apply(file, LONGER, baseSha256=base, onStale="rebase")
    second = apply(file, LONGER, baseSha256=base, onStale="rebase")

    assert first.rebased
    assert second.already_applied
    assert file.read_text() == BASE.replace("foo", "a foo") + "\nmore\n"


@pytest.mark.parametrize("reorder", [False, True])
@CASE_TABLES.parametrize("name", "edit")
def test_plan_document_writes_what_was_planned(
    name: str, edit: dict[str, Any], reorder: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "a.md": "---\nt: 1\nlist: [1]\n---\n",
        "b.json": '{"a": 1}\n',
        "c.toml": "",
        "d.ini": "[t]\na=1\n",
    }
    path = tmp_path / name
    path.write_text(files[name])
    draft = Engine.open([tmp_path]).draft({"file": name, "edits": [edit]})
    monkeypatch.setenv("MDPLAN_STATE_DIR", str(tmp_path / "another machine"))
    document = json.loads(draft.document)
    applied = Engine.open([tmp_path]).apply(json.loads(json.dumps(document, sort_keys=reorder)))

    assert applied.applied, applied.diagnostics
    assert sha256_hex(path.read_bytes()) == document["files"][0]["resultSha256"]


# --- replace_match: what no golden case can hold, because it would be megabytes.

LINE = "x" * 1000 + "\n"


def replace_lines(times: int) -> object:
    operation = ReplaceMatch(
        op="replace_match",
        pattern="(.+)",
        replacement=r"\1" * (RESULT_CHARACTERS // 1000 // 10),
        match_type="regex",
        match_selection="all",
    )
    return operation.resolved(Outline(Source.from_text(LINE * times)))


def test_replacements_that_would_fill_the_memory_are_refused() -> None:
    (problem,) = replace_lines(11)

    assert problem.code is Code.BATCH_TOO_LARGE
    assert str(RESULT_CHARACTERS) in problem.message


def test_replacements_up_to_the_limit_are_made() -> None:
    assert len(replace_lines(10).edits) == 10
