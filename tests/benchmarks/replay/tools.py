"""The tools of the replay: how each writes a change down, applies it, and what has to be read before."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.memory import plan_in_memory
from mdplan.planning.replan import missing_preconditions
from mdplan.planning.replay import PlannedBatch
from mdplan.reading.read import read_target
from mdplan.reading.stat import stat_report
from mdplan.reading.stat_text import stat_text
from mdplan.requests.batch import Batch, read_batch
from mdplan.requests.queries import StatRequest
from mdplan.requests.read import LinesToRead, ReadTarget
from mdplan.text.source import Source
from tests.benchmarks.replay import diffs, formats
from tests.benchmarks.replay.derive import derive_batch, short_batch
from tests.benchmarks.replay.formats import compact


def whole_text(path: str, old: str, new: str) -> str:
    return old


@dataclass(frozen=True)
class Tool:
    """A format. `write` returns the call for a change, `apply` the new text or None for a refusal.

    `read` is the text needed to write the call. A tool that `verifies` compares the text that the call
    replaces, and one that `takes_bytes` edits files in any encoding.
    """

    name: str
    write: Callable[[str, str, str], str | None]
    apply: Callable[[str, str, str, str], str | None]
    read: Callable[[str, str, str], str] = whole_text
    verifies: bool = True
    takes_bytes: bool = False


@lru_cache(maxsize=8)
def opened(path: str, text: str) -> Outline:
    return Outline(Source.from_text(text), document_format(path, text))


def mdplan_write(path: str, old: str, new: str) -> str | None:
    return derived_call(path, opened(path, old), opened(path, new))


def derived_call(path: str, old: Outline, new: Outline, encoding: str | None = None) -> str | None:
    derived = derive_batch(old, new, {"file": path, **({"encoding": encoding} if encoding else {})})
    return None if derived is None else compact(short_batch(derived.batch))


def mdplan_apply(call: str, path: str, text: str, base: str) -> str | None:
    outline = planned(call, opened(path, text))
    return outline.source.text if outline is not None else None


def planned(call: str, outline: Outline) -> Outline | None:
    """What a call makes of a document, by the rules for a write without a session; None for a refusal."""
    batch = read_batch(json.loads(call))
    assert isinstance(batch, Batch)
    stated = batch.files[0].base_sha256
    if stated is not None and not outline.source.sha256.startswith(stated):
        return None
    found = plan_in_memory(batch, outline)
    if not isinstance(found, PlannedBatch) or missing_preconditions(found.files):
        return None
    return found.files[0].result


def mdplan_read(path: str, old: str, new: str) -> str:
    """The outline as md_stat gives it, and the own text of each section that changes, with addresses."""
    outline = opened(path, old)
    report = stat_report(path, outline, StatRequest(file=path))
    parts = [stat_text(report)]
    table = outline.source.lines
    touched = {}
    for start, gone, _ in formats.blocks(old, new):
        for line in range(max(start, 1), max(start + len(gone), 1) + 1):
            section = outline.section_at(table.start(min(line, max(table.count, 1))))
            touched[section.index] = section
    for section in touched.values() if table.count else ():
        last = max(table.line_at(max(section.body.end - 1, 0)), section.first_line)
        target = ReadTarget(file=path, lines=LinesToRead(start=section.first_line, end=last))
        found = read_target(path, outline, target, len(old) + 1, addresses=True)
        if not isinstance(found, Diagnostic):
            parts.append(found.content or "")
    return "\n".join(parts)


TOOLS = (
    Tool("mdplan", mdplan_write, mdplan_apply, mdplan_read, takes_bytes=True),
    Tool("line-hash anchors", formats.hashline_write, formats.hashline_apply, formats.hashline_read),
    Tool("mcp-text-editor", formats.text_editor_write, formats.text_editor_apply, formats.text_editor_read),
    Tool(
        "search/replace, words",
        lambda path, old, new: formats.search_replace_call(path, formats.shortest_pairs(old, new)),
        formats.search_replace_apply,
    ),
    Tool(
        "search/replace, lines",
        lambda path, old, new: formats.search_replace_call(path, formats.pairs(old, new)),
        formats.search_replace_apply,
    ),
    Tool("edit_file", formats.edit_file_write, formats.edit_file_apply),
    Tool("Aider blocks", formats.aider_write, formats.aider_apply),
    Tool("apply_patch", diffs.codex_write, diffs.codex_apply),
    Tool("git apply", diffs.diff_write, diffs.with_program("git", "apply", "-"), takes_bytes=True),
    Tool(
        "patch",
        diffs.diff_write,
        diffs.with_program("patch", "-p1", "-s", "--binary", "--no-backup-if-mismatch", "-r", "-"),
        takes_bytes=True,
    ),
    Tool("three-way merge", diffs.diff_write, diffs.three_way, takes_bytes=True),
    Tool(
        "whole file",
        lambda path, old, new: compact({"path": path, "content": new}),
        lambda call, path, text, base: json.loads(call)["content"],
        verifies=False,
    ),
)
