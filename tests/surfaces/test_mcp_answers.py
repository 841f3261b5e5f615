"""Reports as answers: what their text says, and where a long diff is cut."""

import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import unidiff
from hypothesis import given
from hypothesis import strategies as st

from mdplan.diagnostics import Candidate, Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.mcp.answers import (
    MOST_CHARACTERS,
    answer_within,
    cut_diff,
    cut_lists,
    size_of,
    text_of,
    with_short_diff,
)
from mdplan.mcp.compact import plan_wire
from mdplan.mcp.server import build_catalog
from mdplan.plan import EditResult
from mdplan.reports.base import refusal, to_wire
from mdplan.reports.history import HistoryReport, TransactionEntry
from mdplan.reports.plan import ApplyReport, FileReport, PlanReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.lines import Lines, Position
from mdplan.values import replace
from tests.conftest import FULL
from tests.support.answer_channels import assert_same_values
from tests.support.case_tables import CaseTables
from tests.support.golden_cases import Case, find_cases, read_tree
from tests.support.servers import build_server
from tests.surfaces.mcp_calls import Calls, Result, calls_to, compact

CASE_TABLES = CaseTables(__file__)


AMBIGUOUS = Diagnostic(
    code=Code.AMBIGUOUS_HEADING,
    message='heading path ["Install"] names 2 sections',
    hint='add `"occurrence": 1`',
    file="a.md",
    edit_index=3,
    place=Position(7, 2),
    candidates=(
        Candidate(
            section_id="sha256-0123456789abcdef", heading_path=("A", "Install"), start_line=5, end_line=8
        ),
        Candidate(section_id="sha256-fedcba9876543210", heading_path=(), start_line=1, end_line=4),
    ),
)


def test_refusal_says_code_place_hint_candidates_and_that_nothing_was_written() -> None:
    assert text_of(plan_wire(refusal(PlanReport, [AMBIGUOUS]), MOST_CHARACTERS)) == (
        'AMBIGUOUS_HEADING (a.md, editIndex 3, line 7 column 2): heading path ["Install"] names 2 sections\n'
        '  hint: add `"occurrence": 1`\n'
        "  sectionId 01234567, A > Install, 5-8\n"
        "  sectionId fedcba98, 1-4\n"
        "Nothing was written."
    )


@pytest.mark.parametrize(
    ("report", "outcome"),
    [
        (refusal(PlanReport, [AMBIGUOUS]), "\nNothing was written."),
        (refusal(ApplyReport, [Diagnostic(code=Code.COMMIT_IN_DOUBT, message="power went")]), "power went"),
        (ApplyReport(ok=False, error=AMBIGUOUS, diagnostics=(AMBIGUOUS,), applied=True), "\nApplied."),
    ],
)
def test_refusal_says_what_was_written(report: PlanReport, outcome: str) -> None:
    assert text_of(plan_wire(report, MOST_CHARACTERS)).endswith(outcome)


def test_long_refusal_loses_its_last_problems_in_text_and_data() -> None:
    problems = [
        Diagnostic(code=Code.EMPTY_CONTENT, message=f"problem {n}", edit_index=n) for n in range(2_000)
    ]

    answer = answer_within(plan_wire(refusal(PlanReport, problems), MOST_CHARACTERS), MOST_CHARACTERS)

    assert answer.size <= 10_000
    assert answer.text.startswith("EMPTY_CONTENT (editIndex 0): problem 0\nNothing was written.")
    assert_same_values(answer.text, dict(answer.structured))
    assert len(answer.structured["diagnostics"]) + answer.structured["leftOut"]["diagnostics"] == 1_999


def test_invalid_unicode_is_escaped_in_the_result() -> None:
    name = "a\udcff.md"

    text = text_of(to_wire(refusal(PlanReport, [Diagnostic(code=Code.IO_ERROR, message=name, file=name)])))

    assert text.startswith("IO_ERROR (a\\xff.md): a\\xff.md")


FILE = FileReport(
    file="a.md", base_sha256="b" * 64, result_sha256="c" * 64, changed=True, lines_added=2, lines_removed=1
)

RESULT = EditResult(
    edit_index=0,
    op="rename_heading",
    file="a.md",
    no_op=False,
    result_lines=(Lines(start=3, end=3), Lines(start=5, end=6), Lines(start=3, end=3)),
    section_id="sha256-old",
    new_section_id="sha256-new",
    line_ends_normalized=True,
    warnings=(Diagnostic.warning(Code.BROKEN_LINK, "a link breaks"),),
)

GOLDEN = find_cases()[:: 1 if FULL else 40]


@pytest.mark.parametrize("verbosity", ["compact", "full"])
@pytest.mark.parametrize("case", GOLDEN, ids=str)
def test_text_and_data_of_a_golden_case_have_the_same_values(
    case: Case, verbosity: str, tmp_path: Path
) -> None:
    case.lay_out(tmp_path)
    engine = case.open_engine(tmp_path)
    tools = {tool.name: tool for tool in build_catalog(engine).tools}
    batch = case.request("batch") or case.request("apply")
    calls = [("md_validate", batch), ("md_apply", batch)]
    calls += [("md_stat", {"file": name}) for name in read_tree(tmp_path)]
    calls += [("md_read", {"file": name}) for name in read_tree(tmp_path)]
    with engine.workspace:
        for name, arguments in [*calls, ("md_search", {"pattern": "e"}), ("md_history", {})]:
            answer = tools[name].call({**arguments, "verbosity": verbosity})
            assert_same_values(answer.text, dict(answer.structured))


def test_long_report_shortens_the_diff() -> None:
    diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n" + "@@ -1,1 +1,1 @@\n-a\n+b\n" * 3_000
    short = PlanReport(ok=True, plan_id="sha256-p", diff=diff)
    long = PlanReport(ok=True, plan_id="sha256-p", diff=diff, edit_results=(RESULT,) * 100)

    lengths = [len(full(report)["diff"]) for report in (short, long)]

    assert 50_000 > lengths[0] > lengths[1] >= 9_900
    assert full(short)["diffTruncated"] is True


def full(report: PlanReport) -> Mapping[str, Any]:
    """Return the data of a report at full verbosity."""
    return answer_within(to_wire(with_short_diff(report)), MOST_CHARACTERS).structured


HUNK = st.builds(
    lambda minus, plus: (
        f"@@ -1,{len(minus)} +1,{len(plus)} @@\n"
        + "".join(f"-{line}\n" for line in minus)
        + "".join(f"+{line}\n" for line in plus)
    ),
    st.lists(st.sampled_from(["a", "- x", "diff --git a/x b/x", "@@ -1,1 +1,1 @@", "\u2028"]), min_size=1),
    st.lists(st.sampled_from(["b", "++ y", "diff --git ", "@@ "]), min_size=1),
)

HEADER = "diff --git a/f b/f\n--- a/f\n+++ b/f\n"

PATCH = st.lists(st.lists(HUNK, min_size=1).map(lambda hunks: HEADER + "".join(hunks)), max_size=4).map(
    "".join
)


@given(PATCH, st.integers(0, 400))
def test_truncated_diff_consists_of_whole_hunks(diff: str, room: int) -> None:
    cut = cut_diff(diff, room)
    hunks = [len(file) for file in unidiff.PatchSet(cut)]
    whole = [len(file) for file in unidiff.PatchSet(diff)]

    assert diff.startswith(cut)
    assert len(cut) <= room
    assert str(unidiff.PatchSet(cut)) == cut
    assert hunks[:-1] == whole[: len(hunks)][:-1]
    assert all(hunks)


# --- Answers are short: each fact once, in data as in text.

MOST_OF_17_EDITS = 6_000
MOST_OF_290_SECTIONS = 12_500
RATIO, BESIDE = 1.3, 200
CALLS = 200 if FULL else 60
WORDS = CASE_TABLES.value("WORDS", tuples=True)


def prose(number: int, length: int = 90) -> str:
    """A line of words, another one for each number."""
    words = random.Random(number).choices(WORDS, k=length)
    return " ".join(words)[:length].rstrip()


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    engine = Engine.open([tmp_path], settings=Settings(durability=Durability.PROCESS))
    with calls_to(build_server(engine), "legacy") as connected:
        yield connected


def length(result: Result) -> int:
    """Characters of the longer of the two forms."""
    assert not result.is_error, result.text
    return max(len(compact(result.data)), len(result.text))


def test_answer_to_seventeen_edits_is_short(calls: Calls, tmp_path: Path) -> None:
    files = []
    for number in range(17):
        name = f"docs/guide/chapter-{number:02}-of-the-guide.md"
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [prose(100 * number + line) for line in range(20)]
        path.write_text("# Guide\n\n" + "\n\n".join(lines) + "\n")
        edit = {"op": "replace_match", "pattern": lines[9], "replacement": prose(9_000 + number)}
        files.append({"file": name, "edits": [edit]})

    applied = calls.call("md_apply", {"files": files})

    assert length(applied) <= MOST_OF_17_EDITS
    assert all(entry["file"].rpartition("/")[2] in compact(applied.data) for entry in files)


@pytest.mark.parametrize("words", [1, 2, 4])
def test_outline_of_a_long_guide_is_short_and_whole(calls: Calls, tmp_path: Path, words: int) -> None:
    chosen = random.Random(words)
    titles = [f"{' '.join(chosen.choices(WORDS, k=words)).title()} {number}" for number in range(290)]
    parts = [
        f"{'##' if number % 5 else '#'} {title}\n\n{prose(number, 144 - len(title))}\n"
        for number, title in enumerate(titles)
    ]
    (tmp_path / "guide.md").write_text("\n".join(parts))
    assert 40_000 < (tmp_path / "guide.md").stat().st_size < 44_000

    upper = calls.call("md_stat", {"file": "guide.md"}).data["outline"].split("\n")
    assert upper[-1] == "232 deeper sections: give under or depth"
    assert len(upper) == 58 + 1

    stat = calls.call("md_stat", {"file": "guide.md", "depth": 9})

    assert length(stat) <= MOST_OF_290_SECTIONS
    assert len(stat.data["outline"].split("\n")) == 290
    assert all(f" {title}\n" in stat.data["outline"] + "\n" for title in titles)
    assert "nextCursor" not in stat.data


def test_outline_row_names_its_section_by_heading_or_id(calls: Calls, tmp_path: Path) -> None:
    odd = ("`a` and *b*", "A / B", "[1.2.0] - 2020", "C#", '["json"]', "deadbeef", "a\\_b", "&amp;", "Ü {#x}")
    titles = [*odd, "Twice", "Twice", *(f"Part {number}" for number in range(40))]
    (tmp_path / "odd.md").write_text("\n".join(f"## {title}\n\nText.\n" for title in titles))

    rows = calls.call("md_stat", {"file": "odd.md"}).data["outline"].split("\n")

    assert len(rows) == len(titles)
    for row in rows:
        line, heading = row.split(" ## ")
        section_id = heading.removeprefix("Twice ") if heading.startswith("Twice ") else None
        place = {"sectionId": section_id} if section_id else {"heading": heading}
        found = calls.call("md_read", {"file": "odd.md", **place})
        assert not found.is_error, (row, found.text)
        assert found.data["results"][0]["startLine"] == int(line)


def test_full_answer_has_every_field(calls: Calls, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\none two\n")
    request = {"file": "a.md", "edits": [{"op": "replace_match", "pattern": "one", "replacement": "1"}]}

    full = calls.call("md_apply", {**request, "verbosity": "full"}).data

    assert len(full["planId"]) == len("sha256-") + 64
    assert full["receipt"]["files"] == full["files"]
    assert full["written"][0]["context"][0]["text"] == "# A\n\n1 two\n"
    assert full["editResults"][0]["matches"][0]["text"] == "one"


def requests(root: Path, seed: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls as an agent makes them, on all documents below `root`, right ones and wrong ones."""
    for number, path in enumerate(sorted(root.glob("*.md"))):
        text = path.read_text()
        words = [word for word in text.split() if word.isalpha() and len(word) > 4]
        word, other = seed.choice(words), seed.choice(words)
        edit = {"op": "replace_match", "pattern": word, "replacement": "changed", "matchSelection": "all"}
        file = path.name
        yield "md_stat", {"file": file}
        yield "md_stat", {"file": file, "detail": "brief"}
        yield "md_read", {"file": file, "lines": {"start": 1, "end": 40}}
        yield "md_search", {"pattern": word, "file": file, "limit": 20}
        yield "md_search", {"pattern": other, "limit": 20}
        yield "md_search", {"pattern": other, "filesOnly": True}
        yield "md_validate", {"file": file, "edits": [edit]}
        yield "md_apply", {"file": file, "edits": [edit]}
        yield "md_apply", {"file": file, "edits": [{"op": "delete_section", "heading": f"Missing {number}"}]}
        yield "md_history", {"file": file}


def test_structured_content_repeats_only_the_text(calls: Calls, tmp_path: Path) -> None:
    for number in range(CALLS // 10):
        sections = (
            f"## Part {part} of {number}\n\n"
            + "\n".join(prose(number * 99 + part * 9 + line) for line in range(9))
            for part in range(3 * number + 2)
        )
        (tmp_path / f"document-{number}.md").write_text("# Document\n\n" + "\n\n".join(sections) + "\n")

    made = 0
    for tool, arguments in requests(tmp_path, random.Random(7)):
        result = calls.call(tool, arguments)
        made += 1
        has_objects = tool == "md_stat" and "sections" in (result.data or {})
        if not has_objects:
            assert len(compact(result.data)) <= RATIO * len(result.text) + BESIDE, (tool, arguments, result)
    assert made == CALLS


FILES = tuple(replace(FILE, file=f"{number}.md") for number in range(2_000))

PROBLEMS = tuple(
    Diagnostic(code=Code.SECTION_NOT_FOUND, message="no section", edit_index=number)
    for number in range(5_000)
)

DIFF = "diff --git a/a b/a\n--- a/a\n+++ b/a\n" + "@@ -1,1 +1,1 @@\n-a\n+b\n" * 9_000


def test_refusal_keeps_its_error() -> None:
    structured = full(refusal(PlanReport, PROBLEMS))

    assert structured["error"]["editIndex"] == 0
    assert structured["diagnostics"][0] == structured["error"]


ENTRIES = st.lists(st.text(max_size=30), max_size=60)


@given(ENTRIES, ENTRIES, ENTRIES, st.integers(500, 4_000))
def test_cut_lists_count_their_missing_entries(
    files: list[str], warnings: list[str], receipt: list[str], most: int
) -> None:
    wire = {"ok": True, "files": files, "warnings": warnings, "receipt": {"files": receipt}}

    short = cut_lists(wire, most)

    assert size_of(short) <= most
    left_out = short.get("leftOut", {})
    for whole, kept, name in (
        (files, short["files"], "files"),
        (warnings, short["warnings"], "warnings"),
        (receipt, short["receipt"]["files"], "receipt.files"),
    ):
        assert kept == whole[: len(kept)]
        assert len(whole) - len(kept) == left_out.get(name, 0)


def test_history_of_huge_commits_lists_some_files_of_each() -> None:
    entry = TransactionEntry(transaction="0" * 16, state="committed", undoable=True, files=FILES)
    report = HistoryReport(ok=True, transactions=(entry,) * 3, more=False)

    structured = answer_within(to_wire(report), MOST_CHARACTERS).structured

    assert size_of(structured) <= MOST_CHARACTERS
    assert [len(each["files"]) for each in structured["transactions"]] == [50, 50, 50]
    assert structured["leftOut"] == {"transactions.files": 3 * 1_950}
    assert structured["more"] is False

    longer = answer_within(to_wire(replace(report, transactions=(entry,) * 60)), MOST_CHARACTERS)
    assert longer.structured["leftOut"]["transactions"]
    assert "There are older ones: raise limit, or ask for one file." in longer.text


def test_diff_of_a_past_transaction_is_truncated() -> None:
    report = with_short_diff(HistoryReport(ok=True, diff=DIFF, diff_exact=True))

    assert report.diff_truncated is True
    assert size_of(to_wire(report)) <= MOST_CHARACTERS
