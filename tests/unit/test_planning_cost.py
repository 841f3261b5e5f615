"""What planning costs, in parses and in steps of the interpreter: counts, so that no clock is needed."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from mdplan.markdown import headings as heading_source
from mdplan.markdown import inline as inline_nodes
from mdplan.markdown import outline, payload
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile, build_file, resolve_edits
from mdplan.planning.links import derive_link_edits
from mdplan.planning.results import plan_of, report_fields
from mdplan.planning.verify import find_conflicts, verify
from mdplan.requests.batch import read_batch
from mdplan.text.diff import file_diff
from mdplan.text.lines import Span
from mdplan.text.source import Source
from tests.no_other_files import NoOtherFiles

Edit = dict[str, Any]
TraceFunction = Callable[..., Any]

SECTIONS = 16
OURS = str(Path(outline.__file__).parents[2])


def document(sections: int) -> Outline:
    """Outline of a document in which every section is like the others but for its number."""
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
    """What the engine does with one file, from the batch to the report."""
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
    """Lengths of the texts that were parsed, by what they were parsed for."""
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
    """How many instructions of the interpreter `action` takes, without those of the parser."""
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
