"""Messages of the edit commands name options of the command instead of batch fields."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from mdplan.cli.edit_options import CommandWords, EditOptions, edit_command, in_words
from mdplan.cli.proposal import SHORTCUT_OPS, shortcut_words
from mdplan.operations import OPERATIONS
from mdplan.reports.next_steps import Caller, in_words_of
from mdplan.requests.spellings import SPELLINGS
from tests.golden_case import Case, find_cases

# No command can send these, so nobody in a shell reads of them.
_OF_BATCHES = {"UNKNOWN_FIELD", "PRECONDITION_REQUIRED"}
_OTHER_SPELLINGS = re.compile(
    r"expectedMatches|nodeExclusions|contradict each other|(?:beside|next to) `|base[sS]ha256"
)
_JSON = re.compile(r'"\w+": |\["|\{(?!#)|\[\](?! task)|`\w+: (?:true|false)`')


def texts_of_edits() -> Iterator[tuple[str, str]]:
    """Each message and hint of the golden cases about one edit, with its operation."""
    for case in find_cases():
        edits = edits_of(case)
        problems = [*(case.diagnostics or []), *((case.report or {}).get("warnings", []))]
        for problem in problems:
            index = problem.get("editIndex", 0 if len(edits) == 1 else None)
            if index is None or problem["code"] in _OF_BATCHES or index >= len(edits):
                continue
            op = edits[index].get("op") if isinstance(edits[index], dict) else None
            op = SPELLINGS[op].op if op in SPELLINGS else op
            for text in (problem.get("message", ""), problem.get("hint", "")):
                if op in OPERATIONS and text and not _OTHER_SPELLINGS.search(text):
                    yield op, text


def edits_of(case: Case) -> list[Any]:
    batch = case.text.json("batch") or case.text.json("apply") or {}
    entries = batch.get("files", [batch]) if isinstance(batch, dict) else []
    return [edit for entry in entries if isinstance(entry, dict) for edit in entry.get("edits", [])]


TEXTS = sorted(set(texts_of_edits()))


@cache
def options_of(op: str) -> EditOptions:
    return EditOptions.of(op)


def fields_named(text: str, op: str) -> list[str]:
    """Names of fields in `text` that no shell has: those with an upper-case letter, and any in backquotes."""
    names = options_of(op).schemas
    found = re.findall(r"(?<![-\w])[a-z]+[A-Z]\w*", text) + re.findall(r"`([a-z]\w*)`", text)
    return [name for name in found if name in names]


def test_help_texts_are_found() -> None:
    assert len(TEXTS) > 300
    assert {op for op, _ in TEXTS} > set(SHORTCUT_OPS)


@pytest.mark.parametrize("op", sorted({op for op, _ in TEXTS}))
def test_edit_names_options(op: str) -> None:
    words = CommandWords.of_edit(options_of(op))

    for text in (text for each, text in TEXTS if each == op):
        told = in_words(in_words_of(Caller.SHELL, text), words)
        assert not _JSON.search(told), told
        assert not fields_named(told, op), told


@pytest.mark.parametrize("op", SHORTCUT_OPS)
def test_shortcut_errors_name_arguments_or_the_full_command(op: str) -> None:
    words = shortcut_words(op)

    def command(name: str, value: object) -> str:
        return edit_command(options_of(op), "guide.md", {"op": op, name: value})

    for text in (text for each, text in TEXTS if each == op):
        told = in_words(in_words_of(Caller.SHELL, text), words, command)
        assert not _JSON.search(told), told
        assert not re.search(r"(?<![-\w])(?:itemOccurrence|headingPath|sectionId|matchSelection)", told), told


@pytest.mark.parametrize("op", OPERATIONS)
def test_option_help_does_not_mention_json(op: str) -> None:
    for option in options_of(op).options():
        told = str(option.help)
        assert not _JSON.search(told), told
        assert not re.search(r"\bJSON\b|\barray\b", told), told
        assert not [name for name in fields_named(told, op) if name != "sectionSha256"], told


@pytest.mark.parametrize(
    ("op", "text", "told"),
    [
        (
            "set_task",
            '`"itemOccurrence": 1` takes the first of them; or name a section (`under`)',
            "`--item-occurrence 1` takes the first of them; or name a section (`--under`)",
        ),
        (
            "append_to_section",
            'use replace_match, or `"format": "markdown"` next to `file`',
            "use replace_match",
        ),
        (
            "rename_heading",
            'use another; to allow it, send `"allowDuplicateHeadings": true`',
            "use another; to allow it, add `--allow-duplicate-headings`",
        ),
        ("replace_match", 'add `"include": ["html"]` to match', "add `--include html` to match"),
        ("delete_value", "give a key, or `wholeBlock: true`", "give a key, or `--whole-block`"),
        ("append_to_section", 'no section matches heading path ["A", "B"]', "no section matches 'A / B'"),
        ("insert_section", "use firstChild with headingPath []", "use firstChild with `--section ''`"),
        ("add_list_item", '"list": {"index": …} is one of: 0, 1', "`--list` is one of: 0, 1"),
        ("set_value", 'send an array: `"key": ["ms.topic"]`', "write `--key '[ms.topic]'`"),
    ],
)
def test_fields_become_options(op: str, text: str, told: str) -> None:
    assert in_words(text, CommandWords.of_edit(options_of(op))) == told
