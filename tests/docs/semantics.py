"""The examples of `docs/explanation/semantics.md` as values, and their outcomes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.reports.plan import PlanReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.source import sha256_hex

NAME = "doc.md"
_BLOCK = re.compile(
    r"^### (?P<title>[^\n]+)$|^(?P<fence>`{3,})(?P<info>\w[^\n]*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Document:
    """A document as it is shown; `info` may say ``crlf`` and ``no-final-newline``."""

    shown: str
    info: str

    @property
    def data(self) -> bytes:
        text = self.shown
        if "no-final-newline" in self.info:
            text = text.removesuffix("\n")
        return text.replace("\n", "\r\n" if "crlf" in self.info else "\n").encode()


@dataclass
class Example:
    """A batch for a document, its `verb`, and the outcome shown."""

    title: str
    document: Document
    batch: str = ""
    verb: str = ""
    diff: str = ""
    said: str = ""


def examples_of(page: str) -> Iterator[Example]:
    """The examples of a page in order: headings of level 3 with blocks, behind the document they mean."""
    document, example = Document("", ""), None
    for found in _BLOCK.finditer(page):
        if found["title"]:
            if example:
                yield example
            example = Example(found["title"], document)
            continue
        match found["info"].split():
            case ["markdown", *_]:
                if example:
                    yield example
                document, example = Document(found["text"], found["info"]), None
            case ["json", *verb]:
                assert example is not None
                example.batch, example.verb = found["text"], (verb or ["plan"])[0]
            case ["diff"]:
                assert example is not None
                example.diff = found["text"]
            case ["text"]:
                assert example is not None
                example.said = found["text"]
            case _:
                raise AssertionError(f"a block of another kind: {found['info']}")
    if example:
        yield example


def outcome_of(document: Document, batch: dict[str, Any], verb: str, root: Path) -> tuple[str, str]:
    """Return the diff hunks of `batch` on `document` in the folder `root`, and the messages."""
    (root / NAME).write_bytes(document.data)
    pins = {"baseSha256": sha256_hex(document.data)} if batch.get("baseSha256") == "@base" else {}
    with Engine.open([root], settings=Settings(durability=Durability.PROCESS)).workspace as workspace:
        engine = Engine(workspace, Settings(durability=Durability.PROCESS))
        report = getattr(engine, verb)({"file": NAME, **batch, **pins})
    _, mark, hunks = (report.diff or "").partition("@@")
    said = _said(report).replace(sha256_hex(document.data), "@base")
    return (mark + hunks).replace("\r\n", "␍\n"), said


def _said(report: PlanReport) -> str:
    if not report.ok:
        return "".join(map(_line_of, report.diagnostics))
    text = "Nothing changes.\n" if report.no_op else ""
    for result in report.edit_results:
        if result.matches_found is not None:
            left_out = ", ".join(
                f"{count} in {kind}" for kind, count in (result.excluded_matches or {}).items()
            )
            text += f"{result.matches_replaced} of {result.matches_found} matches replaced"
            text += f", skipped: {left_out}\n" if left_out else "\n"
    # Examples replace short texts by others, and are not about that.
    told = (each for each in report.warnings if each.code is not Code.CONTENT_DROPPED)
    return text + "".join(map(_line_of, told))


def _line_of(found: Diagnostic) -> str:
    where = "" if found.edit_index is None else f" (editIndex {found.edit_index})"
    return f"{found.code}{where}: {found.message}\n" + (f"  {found.hint}\n" if found.hint else "")
