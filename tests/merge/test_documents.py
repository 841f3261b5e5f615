"""Merges of documents: automatic merges, and conflicts for a person."""

import json
import re
import time
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.cli.commands.merge import _result_of_git, merge_files
from mdplan.merge.documents import marked_in, merge_documents, merge_texts
from mdplan.merge.lines import MarkerStyle, Merge
from mdplan.text.source import DocumentFormat
from tests.merge.merge_check import misplaced, unaccounted
from tests.merge.real_merges import CASES, cases, of_bundles
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


@CASE_TABLES.parametrize("base", "ours", "theirs", "result")
def test_independent_changes_are_merged(base: str, ours: str, theirs: str, result: str) -> None:
    found = merge_documents(base, ours, theirs)
    assert (found.text, found.conflicts) == (result, ())


def test_markers_carry_the_path_of_the_section() -> None:
    found = merge_documents("# A\n\n## B\n\nold\n", "# A\n\n## B\n\nmine\n", "# A\n\n## B\n\nyours\n")
    assert "<<<<<<< ours: A / B\nmine\n=======\nyours\n>>>>>>> theirs: A / B\n" in found.text
    assert found.conflicts[0].path == ("A", "B")


_BLOCKS = st.lists(
    st.sampled_from(
        ["# A", "## B", "## C", "- one", "- two", "text", "more text", "| a | b |", "```", "[x]: y"]
    ),
    max_size=8,
).map("\n\n".join)


@given(_BLOCKS, _BLOCKS)
def test_unchanged_side_gives_the_other_side(base: str, side: str) -> None:
    assert merge_documents(base, base, side).text == side
    assert merge_documents(base, side, base).text == side
    assert merge_documents(base, side, side).text == side


@given(_BLOCKS, _BLOCKS, _BLOCKS)
@example("", "## B\n\n# A", "## C")
@example("- two\n\ntext", "- one\n\n```", "text\n\n[x]: y\n\n```")
@example("more text\n\nmore text", "| a | b |\n\n## B", "## C\n\n## C\n\n```\n\n# A\n\n| a | b |")
def test_swapped_sides_have_the_same_conflicts_and_lose_no_line(base: str, ours: str, theirs: str) -> None:
    found, swapped = merge_documents(base, ours, theirs), merge_documents(base, theirs, ours)
    assert found.is_clean == swapped.is_clean
    if found.is_clean:
        # But for their order, after which blank lines follow.
        assert sorted(found.text.split()) == sorted(swapped.text.split())
        decided = [line for each in found.decisions for line in each.text.splitlines()]
        assert not unaccounted(base, ours, theirs, found.text, decided)


def test_strict_merge_reports_decisions_as_conflicts() -> None:
    texts = "- [ ] task\n", "- [x] task\n", "- [ ] the task\n"
    assert merge_documents(*texts).decisions
    found = merge_documents(*texts, is_strict=True)
    assert "an item has the box, the text" in found.conflicts[0].reason


def test_key_of_front_matter_that_both_sides_add_is_a_conflict() -> None:
    base, ours, theirs = (
        f"---\na: 1\n{lines}---\n\nx\n"
        for lines in ("b: 2\nc: 3\n", "z: 9\nb: 2\nc: 3\n", "b: 2\nc: 3\nz: 8\n")
    )
    found = merge_documents(base, ours, theirs)
    assert {each.reason for each in found.conflicts} == {"both sides added it, and not the same"}


def _are_members(text: str) -> bool:
    """Return True if git marks only items and rows in `text`."""
    marked: list[str] = []
    is_inside = False
    for line in text.splitlines():
        if re.match(r"<<<<<<<|>>>>>>>", line):
            is_inside = line.startswith("<")
        elif is_inside and line.strip() and line != "=======":
            marked.append(line)
    return all(re.match(r"\s*([-*+]|\d+[.)])\s|\s*\|", line) for line in marked)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(not CASES.exists(), reason="the real merges are not on this machine")
def test_real_merges_have_the_measured_rates_and_lose_nothing(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    wrong: list[object] = []
    for case in [*cases(), *of_bundles(tmp_path)]:
        files = case.files(tmp_path)
        found = merge_files([case.base, case.ours, case.theirs], files, 7)
        by_git = _result_of_git(files, 7)
        text = found.text.encode(errors="surrogateescape")
        kind = "clean" if by_git.is_clean else "one side" if case.took_one_side else "conflict"
        counts[kind] += 1
        counts[f"{kind} merged"] += found.is_clean
        counts[f"{kind} equal"] += found.is_clean and text == case.human
        if kind == "conflict" and _are_members(by_git.text):
            counts["members"] += 1
            counts["members merged"] += found.is_clean
        own, git = (marked_in(text, MarkerStyle()) for text in (found.text, by_git.text))
        counts["marked by git"] += git
        counts["marked"] += 0 if by_git.is_clean else own
        if own > git and not by_git.is_clean:
            wrong.append((case.name, "marks more than git"))
        if found.is_clean and b"\r" not in case.base:
            sides = case.base.decode(), case.ours.decode(), case.theirs.decode()
            decided = [line for each in found.decisions for line in each.text.splitlines()]
            lost = [*unaccounted(*sides, found.text, decided), *misplaced(*sides, found.text)]
            wrong += [(case.name, line) for line in lost]
    assert not wrong
    # docs/explanation/merge.md quotes these.
    assert counts == CASE_TABLES.value("test_real_merges_have_the_measured_rates_and_lose_nothing")


# --- Laws of a merge, on documents and edits of which both results are known.

_EDITS = {
    "text": lambda number: f"New text of {number}.\n",
    "item": lambda number: f"- item {number}\n- added to {number}\n",
    "row": lambda number: f"| {number} | new |\n",
    "": lambda number: "",
}


def _document(edits: dict[int, str], order: list[int]) -> str:
    """Sections in `order`, each with a text, an item and a row, and the edits of them."""
    parts = ["# Document\n"]
    for number in order:
        edit = edits.get(number, "")
        text = _EDITS["text"](number) if edit == "text" else f"Text of {number}.\n"
        items = _EDITS["item"](number) if edit == "item" else f"- item {number}\n"
        row = _EDITS["row"](number) if edit == "row" else f"| {number} | old |\n"
        parts.append(f"## Section {number}\n\n{text}\n{items}\n| Number | State |\n|---|---|\n{row}")
    return "\n".join(parts)


@st.composite
def _independent(draw: st.DrawFn) -> tuple[dict[int, str], dict[int, str], list[int]]:
    kinds = st.sampled_from(["text", "item", "row"])
    edits = draw(st.dictionaries(st.integers(0, 5), kinds))
    ours = draw(st.sets(st.sampled_from(sorted(edits)))) if edits else set()
    order = draw(st.permutations(range(6)))
    own = {number: kind for number, kind in edits.items() if number in ours}
    return own, {number: kind for number, kind in edits.items() if number not in ours}, list(order)


@given(_independent())
def test_independent_edits_commute_and_equal_both_batches(
    case: tuple[dict[int, str], dict[int, str], list[int]],
) -> None:
    own, other, _ = case
    order = list(range(6))
    base, ours, theirs = (_document(edits, order) for edits in ({}, own, other))
    both = _document({**own, **other}, order)
    assert merge_documents(base, ours, theirs).text == both
    assert merge_documents(base, theirs, ours).text == both


@given(_independent())
def test_moved_sections_keep_the_edits_of_the_other_side(
    case: tuple[dict[int, str], dict[int, str], list[int]],
) -> None:
    own, _, order = case
    base, ours, theirs = _document({}, list(range(6))), _document({}, order), _document(own, list(range(6)))
    found, swapped = merge_documents(base, ours, theirs), merge_documents(base, theirs, ours)
    assert (found.text, found.conflicts) == (_document(own, order), ())
    assert swapped.text == found.text


@given(_independent())
def test_merging_the_result_again_changes_nothing(
    case: tuple[dict[int, str], dict[int, str], list[int]],
) -> None:
    own, other, order = case
    base, ours, theirs = (_document({}, order), _document(own, order), _document(other, order))
    result = merge_documents(base, ours, theirs).text
    assert merge_documents(base, result, theirs).text == result
    assert merge_documents(base, ours, result).text == result


_KINDS = st.dictionaries(st.integers(0, 5), st.sampled_from(["text", "own text", "item", "row"]), max_size=6)


def _of(edits: dict[int, str], side: str) -> str:
    """The document with `edits`; an own text is another one on each side."""
    text = _document({n: "text" if kind == "own text" else kind for n, kind in edits.items()}, list(range(6)))
    for number, kind in edits.items():
        if kind == "own text":
            text = text.replace(f"New text of {number}.\n", f"Text of {number} by {side}.\n")
    return text


# Base, ours and theirs of a last section that is merged only if the sides are tried the other way round, too.
_ONE_WAY = [
    ("", "text\n\n- two\n", "- two\n\ntext\n\n- one\n"),
    ("- one\n", "text\n", "more text\n\n- one\n\ntext\n"),
    ("text\n", "- two\n\ntext\n\n- one\n", "- one\n\ntext\n\nmore text\n"),
]


@given(_KINDS, _KINDS, st.sampled_from(_ONE_WAY))
@example({}, {}, _ONE_WAY[0])
def test_swapped_sides_give_the_same_conflicts_and_result(
    own: dict[int, str], other: dict[int, str], last: tuple[str, str, str]
) -> None:
    conflicting = {
        number
        for number in own.keys() & other.keys()
        if {own[number], other[number]} in ({"own text"}, {"own text", "text"})
    }
    # Beside a conflict neither way is clean, and the first one stays.
    ends = ("", "", "") if conflicting else last
    texts = (_document({}, list(range(6))), _of(own, "ours"), _of(other, "theirs"))
    base, ours, theirs = (f"{text}\n## Last\n\n{end}" for text, end in zip(texts, ends, strict=True))
    found, swapped = merge_documents(base, ours, theirs), merge_documents(base, theirs, ours)
    assert [(each.path, each.base, each.ours, each.theirs) for each in found.conflicts] == [
        (each.path, each.base, each.theirs, each.ours) for each in swapped.conflicts
    ]
    assert {each.path[-1] for each in found.conflicts} == {f"Section {number}" for number in conflicting}
    if found.is_clean:
        assert found.text == swapped.text


@pytest.mark.parametrize("count", [200, pytest.param(2_000, marks=pytest.mark.slow)])
@CASE_TABLES.parametrize("line")
def test_repeated_lines_take_bounded_time(line: str, count: int) -> None:
    base = line * count
    started = time.process_time()
    merge_documents(base, "x\n" + base + line * 3, base.replace(line, line + "y\n", 1) + line + "z\n")
    assert time.process_time() - started < count / 60


# --- Merges of YAML, JSON, TOML and INI by key.


def _merged(name: str, base: str, ours: str, theirs: str, *, is_strict: bool = False) -> Merge:
    found = merge_texts(DocumentFormat(name), (base, ours, theirs), is_strict=is_strict)
    assert found is not None
    return found


JSON = '{\n  "name": "a",\n  "version": 1,\n  "files": [\n    "x"\n  ]\n}\n'


@CASE_TABLES.parametrize("language", "base", "ours", "theirs", "path", tuples=True)
def test_key_that_both_changed_is_a_conflict_with_its_path(
    language: str, base: str, ours: str, theirs: str, path: tuple[str, ...]
) -> None:
    found = _merged(language, base, ours, theirs)
    assert [each.path for each in found.conflicts] == [path]
    assert "<<<<<<< ours" in found.text


def test_merge_never_loses_a_comment() -> None:
    base, commented = '{"a": 1}\n', '{"a": 1, // why\n "c": 3}\n'
    # A side without comments is merged into the one with comments, whichever is ours.
    for sides in ((commented, '{"a": 1, "b": 2}\n'), ('{"a": 1, "b": 2}\n', commented)):
        found = _merged("json", base, *sides)
        assert (found.text, found.is_clean) == ('{"a": 1, "b": 2, // why\n "c": 3}\n', True)

    assert not _merged("json", base, '{"a": 1, // mine\n "b": 2}\n', commented).is_clean


def test_strict_merge_writes_no_line_that_no_side_has() -> None:
    texts = "on: [a]\n", "on: [a, b]\n", "on: [a, c]\n"
    assert _merged("yaml", *texts).is_clean
    assert not _merged("yaml", *texts, is_strict=True).is_clean


def test_unreadable_files_are_merged_by_lines() -> None:
    found = _merged("json", "{\n1\n2\n3\n", "{\n1\n2\n4\n", "{\n5\n2\n3\n")
    assert (found.text, found.is_clean) == ("{\n5\n2\n4\n", True)
    assert "cannot be read" in found.note


_VALUES = st.dictionaries(
    st.sampled_from("abcd"),
    st.integers(0, 3) | st.lists(st.sampled_from("xyz"), unique=True, max_size=3),
    min_size=1,
)

_READ = {"yaml": yaml.safe_load, "json": json.loads, "toml": tomllib.loads}


def _written(language: str, values: dict[str, object]) -> str:
    if language == "json":
        return json.dumps(values, indent=1) + "\n"
    sign = " =" if language == "toml" else ":"
    return "".join(f"{key}{sign} {json.dumps(value)}\n" for key, value in values.items())


@given(st.sampled_from(sorted(_READ)), _VALUES, _VALUES, _VALUES)
def test_clean_merge_has_the_values_that_each_side_changed(
    language: str, base: dict[str, object], ours: dict[str, object], theirs: dict[str, object]
) -> None:
    texts = [_written(language, each) for each in (base, ours, theirs)]
    found, swapped = _merged(language, *texts), _merged(language, texts[0], texts[2], texts[1])
    assert found.is_clean == swapped.is_clean
    if not found.is_clean:
        return
    values = _READ[language](found.text)
    for key in {*base, *ours, *theirs}:
        old, own, other = (each.get(key) for each in (base, ours, theirs))
        if own == old or other in (old, own):
            assert _content(values.get(key)) == _content(other if own == old else own)
        else:
            assert set(values[key]) >= (set(own) & set(other)) | (set(own) ^ set(other)) - set(old or ())


def _content(value: object) -> object:
    return sorted(value) if isinstance(value, list) else value
