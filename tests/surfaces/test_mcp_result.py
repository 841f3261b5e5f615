"""Reports as answers: what their text says, and where a long diff is cut."""

from dataclasses import replace

import pytest
import unidiff
from hypothesis import given
from hypothesis import strategies as st

from mdplan.diagnostics import Candidate, Code, Diagnostic
from mdplan.mcp.answers import MOST_CHARACTERS, cut_diff, plan_answer, plan_text, refusal_text
from mdplan.plan import EditResult, MatchResult, Range
from mdplan.reports.base import refusal
from mdplan.reports.plan import ApplyReport, FileReport, PlanReport
from mdplan.reports.stat import StatReport
from mdplan.text.lines import Lines, Position

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
    assert refusal_text(refusal(PlanReport, [AMBIGUOUS])) == (
        'AMBIGUOUS_HEADING (a.md, editIndex 3, line 7 column 2): heading path ["Install"] names 2 sections\n'
        '  hint: add `"occurrence": 1`\n'
        "  lines 5-8 sectionId sha256-0123456789abcdef A > Install\n"
        "  lines 1-4 sectionId sha256-fedcba9876543210 (preamble)\n"
        "Nothing was written."
    )


@pytest.mark.parametrize(
    ("report", "outcome"),
    [
        (refusal(PlanReport, [AMBIGUOUS]), "Nothing was written."),
        (
            refusal(ApplyReport, [Diagnostic(code=Code.COMMIT_IN_DOUBT, message="power went")]),
            "It is not known whether the files were written: look at them before going on.",
        ),
        (
            ApplyReport(ok=False, error=AMBIGUOUS, diagnostics=(AMBIGUOUS,), applied=True),
            "The files were written all the same.",
        ),
    ],
)
def test_refusal_says_what_was_written(report: PlanReport, outcome: str) -> None:
    assert refusal_text(report).endswith(outcome)


def test_failed_read_does_not_mention_writing() -> None:
    assert "written" not in refusal_text(refusal(StatReport, [AMBIGUOUS]))


def test_long_refusal_is_cut_between_lines_and_keeps_its_outcome() -> None:
    problems = [
        Diagnostic(code=Code.EMPTY_CONTENT, message=f"problem {n}", edit_index=n) for n in range(2_000)
    ]

    text = refusal_text(refusal(PlanReport, problems))
    lines = text.split("\n")

    assert len(text) < 10_100
    assert lines[:2] == ["EMPTY_CONTENT (editIndex 0): problem 0", "Nothing was written."]
    assert lines[-2].startswith(f"EMPTY_CONTENT (editIndex {len(lines) - 3}): problem")
    assert lines[-1] == f"… and {2_000 - (len(lines) - 2)} more lines about further problems"


def test_invalid_unicode_is_escaped_in_the_result() -> None:
    name = "a\udcff.md"

    text = refusal_text(refusal(PlanReport, [Diagnostic(code=Code.IO_ERROR, message=name, file=name)]))

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
PLAN = PlanReport(
    ok=True,
    plan_id="sha256-p",
    stored=True,
    no_op=False,
    files=(FILE,),
    diff="diff --git a/a.md b/a.md\n",
    edit_results=(RESULT,),
    warnings=(Diagnostic.warning(Code.BROKEN_LINK, "a link breaks"),),
)


def test_plan_text_is_complete() -> None:
    assert plan_text(PLAN, MOST_CHARACTERS) == (
        "Planned, nothing was written: 1 edit, 1 file changed, +2 -1 lines. "
        'To apply exactly this: md_apply {"planId": "sha256-p"}\n'
        "a.md: +2 -1, baseSha256 bbbbbbbbbbbbbbbb, resultSha256 cccccccccccccccc\n"
        "editIndex 0 rename_heading in a.md: writes lines 3, 5-6; newSectionId sha256-new; "
        "line ends differ from the file's and were converted\n"
        "warning BROKEN_LINK: a link breaks\n"
        "\n"
        "diff --git a/a.md b/a.md"
    )


def test_unstored_plan_names_the_next_step() -> None:
    text = plan_text(PlanReport(ok=True, plan_id="sha256-p", stored=False, files=(FILE,)), MOST_CHARACTERS)

    assert "could not be stored" in text
    assert "md_apply {" not in text


def test_plan_that_changes_nothing_says_so() -> None:
    assert plan_text(PlanReport(ok=True, plan_id="sha256-p", no_op=True), MOST_CHARACTERS).startswith(
        "Nothing to do"
    )


def test_previewed_matches_are_in_the_text() -> None:
    place = Position(3, 2)
    match = MatchResult(line=3, col=2, text='a "b"\n', range=Range(start=place, end=place))
    found = replace(
        RESULT, op="preview_match", no_op=True, matches=(match,), matches_found=1, matches_replaced=0
    )
    plan = PlanReport(ok=True, plan_id="sha256-p", no_op=True, edit_results=(found,))

    assert '\n  3:2 "a \\"b\\"\\n"' in plan_text(plan, MOST_CHARACTERS)


def test_dry_run_of_a_plan_that_is_applied_says_so() -> None:
    assert plan_text(ApplyReport(ok=True, plan_id="sha256-p", applied=True), MOST_CHARACTERS).startswith(
        "Already applied"
    )


def test_long_lists_are_cut_in_the_text() -> None:
    files = tuple(FILE for _ in range(60))

    assert "\n… and 10 more files" in plan_text(
        PlanReport(ok=True, plan_id="sha256-p", files=files), MOST_CHARACTERS
    )


def test_long_report_shortens_the_diff() -> None:
    diff = "diff --git a/a b/a\n--- a/a\n+++ b/a\n" + "@@ -1,1 +1,1 @@\n-a\n+b\n" * 3_000
    short = PlanReport(ok=True, plan_id="sha256-p", diff=diff)
    long = PlanReport(ok=True, plan_id="sha256-p", diff=diff, edit_results=(RESULT,) * 100)

    lengths = [len(plan_answer(report).structured["diff"]) for report in (short, long)]

    assert 50_000 > lengths[0] > lengths[1] >= 9_900
    assert plan_answer(short).structured["diffTruncated"] is True


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


@given(PATCH)
def test_slightly_long_diff_loses_at_most_its_last_hunk(diff: str) -> None:
    assert cut_diff(diff + "diff --git a/last b/last\n", len(diff)) == diff
