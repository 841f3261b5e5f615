"""replace_match: what no golden case can hold, because it would be megabytes."""

from mdplan.diagnostics import Code
from mdplan.limits import RESULT_CHARACTERS
from mdplan.markdown.outline import Outline
from mdplan.operations.matches import ReplaceMatch
from mdplan.text.source import Source

LINE = "x" * 1000 + "\n"


def replace_lines(times: int) -> object:
    operation = ReplaceMatch(
        op="replace_match",
        pattern="(.+)",
        replacement=r"\1" * (RESULT_CHARACTERS // 1000 // 10),
        match_type="regex",
        match_selection="all",
    )
    return operation.resolve(Outline(Source.from_text(LINE * times)))


def test_replacements_that_would_fill_the_memory_are_refused() -> None:
    (problem,) = replace_lines(11)

    assert problem.code is Code.BATCH_TOO_LARGE
    assert str(RESULT_CHARACTERS) in problem.message


def test_replacements_up_to_the_limit_are_made() -> None:
    assert len(replace_lines(10).edits) == 10
