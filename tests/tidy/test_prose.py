"""The check of words finds what it is for, and nothing in code, tables or good English."""

import pytest

from tests.tidy.prose import MOST_WORDS, passive_problems, problems


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("The batch holds two edits.", 0, "holds"),
        ("One line.\n\nWhat stands there is kept.", 2, "stands"),
        ("```sh\nmdplan pin\n```\n\nEdits are pinned.", 4, "pinned"),
        ("| Word |\n|---|\n| left out |", 2, "left out"),
        ("Read the next chapter.", 0, "section (glossary)"),
        ("word " * (MOST_WORDS + 1), 0, f"{MOST_WORDS + 1} words"),
        ("Done.\n\n" + "word " * (MOST_WORDS + 1), 2, f"{MOST_WORDS + 1} words"),
    ],
)
def test_checker_detects_wording_at_its_line(text: str, line: int, found: str) -> None:
    ((at, problem),) = problems(text)

    assert at == line
    assert found in problem


@pytest.mark.parametrize(
    "text",
    [
        "The batch contains two edits, and `holds` is a name.",
        "```text\nwhat stands there\n```",
        "[a link](behind.md) and <img alt='beside'>",
        "MCP stands for Model Context Protocol.",
        "- " + "word " * 30 + "\n- " + "word " * 30,
        "word " * 30 + "\n\n" + "word " * 30,
        "| a |\n" * 60,
    ],
)
def test_checker_accepts_plain_wording(text: str) -> None:
    assert list(problems(text)) == []


def test_checker_detects_pages_with_many_passive_sentences() -> None:
    text = "The bot reads it. The file is refused. It is written.\n\nIt was applied by the bot."

    assert [problem[-12:] for _, problem in passive_problems(text)] == ["`is refused`", "`is written`"]
    assert passive_problems(text + " You apply it." * 4) == []
