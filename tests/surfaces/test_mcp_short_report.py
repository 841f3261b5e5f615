"""Reports of huge batches keep within what clients take, and say what they leave out."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mdplan.diagnostics import Code, Diagnostic
from mdplan.mcp.answers import MOST_CHARACTERS, answer, plan_answer, size_of, with_short_diff, within
from mdplan.plan import EditResult
from mdplan.reports.base import refusal, to_wire
from mdplan.reports.history import HistoryReport, TransactionEntry
from mdplan.reports.plan import FileReport, PlanReport

FILE = FileReport(
    file="a.md", base_sha256="b" * 64, result_sha256="c" * 64, changed=True, lines_added=2, lines_removed=1
)
FILES = tuple(replace(FILE, file=f"{number}.md") for number in range(2_000))
EDITS = tuple(
    EditResult(edit_index=number, op="replace_match", file="a.md", no_op=False) for number in range(20_000)
)
PROBLEMS = tuple(
    Diagnostic(code=Code.SECTION_NOT_FOUND, message="no section", edit_index=number)
    for number in range(5_000)
)
PLAN = PlanReport(ok=True, plan_id="sha256-p", files=FILES, edit_results=EDITS)
DIFF = "diff --git a/a b/a\n--- a/a\n+++ b/a\n" + "@@ -1,1 +1,1 @@\n-a\n+b\n" * 9_000


def test_short_lists_are_kept_when_a_long_one_is_cut() -> None:
    notice = Diagnostic.warning(Code.BROKEN_LINK, "a link breaks")
    report = replace(PLAN, files=(FILE,), warnings=(notice,) * 20)

    structured = plan_answer(report).structured

    assert len(structured["files"]) == 1
    assert len(structured["warnings"]) == 20
    assert len(structured["editResults"]) + structured["leftOut"]["editResults"] == 20_000


def test_report_within_the_limit_is_unchanged() -> None:
    assert "leftOut" not in plan_answer(replace(PLAN, files=(FILE,), edit_results=EDITS[:5])).structured


def test_refusal_keeps_its_error() -> None:
    structured = answer(refusal(PlanReport, PROBLEMS), str).structured

    assert structured["error"]["editIndex"] == 0
    assert structured["diagnostics"][0] == structured["error"]


ENTRIES = st.lists(st.text(max_size=30), max_size=60)


@given(ENTRIES, ENTRIES, ENTRIES, st.integers(500, 4_000))
def test_cut_lists_count_their_missing_entries(
    files: list[str], warnings: list[str], receipt: list[str], most: int
) -> None:
    wire = {"ok": True, "files": files, "warnings": warnings, "receipt": {"files": receipt}}

    short = within(wire, most)

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

    structured = answer(report, str).structured

    assert size_of(structured) <= MOST_CHARACTERS
    assert [len(each["files"]) for each in structured["transactions"]] == [50, 50, 50]
    assert structured["leftOut"] == {"transactions.files": 3 * 1_950}


def test_diff_of_a_past_transaction_is_truncated() -> None:
    report = with_short_diff(HistoryReport(ok=True, diff=DIFF, diff_exact=True))

    assert report.diff_truncated is True
    assert size_of(to_wire(report)) <= MOST_CHARACTERS
