"""The page of each code, and their index."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mdplan.codegen.golden import GoldenCases
from mdplan.codegen.pages.error_meanings import MEANINGS
from mdplan.codegen.pages.messages import messages_in
from mdplan.codegen.pages.page import as_json, fenced, linked, page, table
from mdplan.diagnostics import Code, Exit
from mdplan.reports.next_steps import Caller, in_words_of

FOLDER: Final = "docs/reference/errors"
_PACKAGE: Final = Path(__file__).parents[2]
_INTRODUCTION: Final = """\
A report that says no has `ok: false`, the first `error`, and all `diagnostics`: every problem of every edit, not the first.
Each has one of these codes, a message (what and where), mostly a hint (the next step, with values that can be pasted), and where they help, `candidates` and `near` places.
Nothing was written then, unless `applied` says so.
Messages contain no text of files.

The first error gives the command line its exit code.
Warnings stop nothing."""
_EXITS: Final[Mapping[Exit, str]] = {
    Exit.DONE: "done",
    Exit.WOULD_CHANGE: "`--check`, and something would change",
    Exit.INVALID: "usage, or an invalid batch",
    Exit.REFUSED: "refused",
    Exit.STALE: "a file has changed since the plan was made",
    Exit.APPROVAL: "a person has not approved, or has rejected",
    Exit.ENVIRONMENT: "environment: I/O, lock, recovery",
    Exit.BUG: "a bug in mdplan",
    Exit.INTERRUPTED: "interrupted",
}


def error_pages(golden: GoldenCases) -> dict[str, str]:
    """The index and the page of each code, by their paths."""
    texts = messages_in(_PACKAGE)
    exits = table(["Exit code", "Meaning"], ((str(code.value), _EXITS[code]) for code in Exit))
    rows = ((f"[`{code}`](errors/{code}.md)", _exit_words(code), _first_sentence(code)) for code in Code)
    index = page(
        "Errors and warnings",
        _INTRODUCTION,
        "## Codes",
        table(["Code", "Exit code", "Meaning"], rows),
        "## Exit codes",
        exits,
    )
    pages = {f"{FOLDER}/{code}.md": _error_page(code, golden, texts.get(code, ())) for code in Code}
    return {f"{FOLDER}.md": index, **pages}


def _error_page(code: Code, golden: GoldenCases, texts: tuple[tuple[str, str], ...]) -> str:
    if code.exit is Exit.DONE:
        exit_code = "A warning: it stops nothing."
    else:
        exit_code = f"Exit code {code.exit.value}: {_EXITS[code.exit]}."
    shown = golden.diagnostics.get(code)
    content = tuple(_example(code, shown, golden)) if shown is not None else tuple(_messages(code, texts))
    operations = golden.operations.get(code, ())
    where = f"## Seen with\n\n{linked(operations, '../operations')}" if operations else ""
    return page(code, exit_code, MEANINGS[code], *content, where)


def _example(code: Code, shown: Mapping[str, Any], golden: GoldenCases) -> Iterator[str]:
    case = golden.case_of(code)
    batch = case.json("batch") if case else None
    yield "## Example"
    if batch is not None:
        yield as_json(batch)
        yield "Response:"
    yield fenced(_message_text(code, shown["message"], shown.get("hint", "")))


def _messages(code: Code, texts: tuple[tuple[str, str], ...]) -> Iterator[str]:
    if texts:
        yield "## Messages"
        yield from (fenced(_message_text(code, message, hint)) for message, hint in texts)


def _message_text(code: Code, message: str, hint: str) -> str:
    hint = in_words_of(Caller.SHELL, hint)
    return f"{code}: {message}" + (f"\n  hint: {hint}" if hint else "")


def _exit_words(code: Code) -> str:
    return "warning" if code.exit is Exit.DONE else str(code.exit.value)


def _first_sentence(code: Code) -> str:
    """The first sentence of a meaning, with its links seen from the index."""
    sentence, _, _ = MEANINGS[code].partition(". ")
    return sentence.removesuffix(".").replace("](../", "](") + "."
