"""Edit formats: how each writes a change down, and what each makes of it on another version of the file.

All are written from their public descriptions, and share no code with the tools that they stand for.
"""

import hashlib
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from mdplan.derive.derive import Derivation, derive_batch
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline.outline import Outline
from mdplan.memory.planning import RequestedFile, plan_in_memory
from mdplan.planning.replan.plan_result import PlannedBatch
from mdplan.planning.replan.replanning import missing_preconditions
from mdplan.requests.batch import Batch
from mdplan.requests.batch_reader import read_batch
from mdplan.text.diff.line_blocks import LineComparison
from mdplan.text.source import Source
from tests.benchmarks.replay.changes import merged


@dataclass(frozen=True)
class Tool:
    """A format. `write` gives the call for a change; `apply` the new text, None for a refusal."""

    name: str
    verifies: bool
    write: Callable[[str, str, str], str | None]
    apply: Callable[[str, str, str, str], str | None]


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def blocks(
    old: str, new: str, *, context: int = 0, unique: bool = False
) -> list[tuple[int, list[str], list[str]]]:
    """Changed lines with `context`, and more of it until each block stands in `old` once; neighbours join."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    found: list[list[int]] = []
    for block in LineComparison(1_000_000).differing(before, after):
        start, end, first, last = block
        room = context
        while True:
            low, high = max(start - room, 0), min(end + room, len(before))
            text = "".join(before[low:high])
            if not unique or (text.strip() and old.count(text) == 1) or (low, high) == (0, len(before)):
                break
            room += 1
        grown = [low, high, first - (start - low), last + (high - end)]
        if found and grown[0] < found[-1][1]:
            found[-1] = [
                min(found[-1][0], low),
                max(high, found[-1][1]),
                min(found[-1][2], grown[2]),
                max(found[-1][3], grown[3]),
            ]
        else:
            found.append(grown)
    return [(low, before[low:high], after[first:last]) for low, high, first, last in found]


def pairs(old: str, new: str) -> list[tuple[str, str]]:
    return [("".join(gone), "".join(come)) for _, gone, come in blocks(old, new, unique=True)]


# mdplan


def opened(path: str, text: str) -> Outline:
    return Outline(Source.from_text(text), document_format(path, text))


def mdplan_write(path: str, old: str, new: str) -> str | None:
    derived = derive_batch(opened(path, old), opened(path, new), RequestedFile(path, None, None))
    return compact(derived.batch) if isinstance(derived, Derivation) else None


def mdplan_apply(call: str, path: str, text: str, base: str) -> str | None:
    batch = read_batch(json.loads(call))
    assert isinstance(batch, Batch)
    outline = opened(path, text)
    stated = batch.files[0].base_sha256
    if stated is not None and not outline.source.sha256.startswith(stated):
        return None
    planned = plan_in_memory(batch, outline)
    if not isinstance(planned, PlannedBatch) or missing_preconditions(planned.files):
        return None
    return planned.files[0].result.source.text


# Exact and lenient search and replace


def search_replace_write(path: str, old: str, new: str) -> str:
    edits = [{"old_string": gone, "new_string": come} for gone, come in pairs(old, new)]
    return compact({"file_path": path, "edits": edits})


def search_replace_apply(call: str, path: str, text: str, base: str) -> str | None:
    for edit in json.loads(call)["edits"]:
        if not edit["old_string"] or text.count(edit["old_string"]) != 1:
            return None
        text = text.replace(edit["old_string"], edit["new_string"])
    return text


def edit_file_write(path: str, old: str, new: str) -> str:
    edits = [{"oldText": gone, "newText": come} for gone, come in pairs(old, new)]
    return compact({"path": path, "edits": edits})


def edit_file_apply(call: str, path: str, text: str, base: str) -> str | None:
    for edit in json.loads(call)["edits"]:
        changed = lenient(text, edit["oldText"], edit["newText"])
        if changed is None:
            return None
        text = changed
    return text


def lenient(text: str, gone: str, come: str) -> str | None:
    """The first exact occurrence replaced, else the first whose lines are the same but for white space."""
    if gone and gone in text:
        return text.replace(gone, come, 1)
    lines, wanted = text.splitlines(keepends=True), [line.strip() for line in gone.splitlines()]
    for at in range(len(lines) - len(wanted) + 1):
        if wanted and any(wanted) and [line.strip() for line in lines[at : at + len(wanted)]] == wanted:
            return "".join((*lines[:at], come, *lines[at + len(wanted) :]))
    return None


def aider_write(path: str, old: str, new: str) -> str:
    return "".join(
        f"{path}\n```\n<<<<<<< SEARCH\n{ended(gone)}=======\n{ended(come)}>>>>>>> REPLACE\n```\n"
        for gone, come in pairs(old, new)
    )


def ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def aider_apply(call: str, path: str, text: str, base: str) -> str | None:
    text = ended(text)
    for part in call.split("<<<<<<< SEARCH\n")[1:]:
        gone, _, rest = part.partition("=======\n")
        come = rest.partition(">>>>>>> REPLACE\n")[0]
        changed = lenient(text, gone, come)
        if changed is None:
            return None
        text = changed
    return text


# Numbers and hashes


def line_hash(line: str) -> str:
    return hashlib.sha256(line.strip().encode("utf-8", "surrogateescape")).hexdigest()[:2]


def hashline_write(path: str, old: str, new: str) -> str:
    lines, edits = old.splitlines(), []
    for start, gone, come in blocks(old, new):
        new_lines = [line.rstrip("\r\n") for line in come]
        if gone:
            edit = {"op": "replace", "pos": f"{start + 1}#{line_hash(gone[0])}", "lines": new_lines}
            if len(gone) > 1:
                edit["end"] = f"{start + len(gone)}#{line_hash(gone[-1])}"
        elif start:
            edit = {"op": "append", "pos": f"{start}#{line_hash(lines[start - 1])}", "lines": new_lines}
        else:
            edit = {"op": "prepend", "lines": new_lines}
        edits.append(edit)
    return compact({"path": path, "edits": edits})


def hashline_apply(call: str, path: str, text: str, base: str) -> str | None:
    lines = text.split("\n")
    for edit in reversed(json.loads(call)["edits"]):
        numbers = []
        for name in ("pos", "end"):
            number, _, digits = edit.get(name, edit.get("pos", "0#")).partition("#")
            numbers.append(int(number))
            if digits and (int(number) > len(lines) or line_hash(lines[int(number) - 1]) != digits):
                return None
        first, last = numbers
        if edit["op"] == "replace":
            lines[first - 1 : last] = edit["lines"]
        else:
            lines[first:first] = edit["lines"]
    return "\n".join(lines)


def text_editor_write(path: str, old: str, new: str) -> str:
    patches = [
        {
            "start": start + 1,
            "end": start + len(gone) or None,
            "contents": "".join(come),
            "range_hash": digest("".join(gone)) if gone else "",
        }
        for start, gone, come in blocks(old, new)
    ]
    return compact({"files": [{"path": path, "file_hash": digest(old), "patches": patches}]})


def text_editor_apply(call: str, path: str, text: str, base: str) -> str | None:
    [file] = json.loads(call)["files"]
    if file["file_hash"] != digest(text):
        return None
    lines = text.splitlines(keepends=True)
    for patch in reversed(file["patches"]):
        start, end = patch["start"] - 1, patch["end"] or 0
        lines[start : end if patch["range_hash"] else start] = [patch["contents"]]
    return "".join(lines)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


# Diffs


def diff_write(path: str, old: str, new: str) -> str:
    lines = unified_diff(split(old), split(new), f"a/{path}", f"b/{path}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def split(text: str) -> list[str]:
    return [line + "\n" for line in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if not text.endswith("\n") and text else []
    )


def with_program(*command: str) -> Callable[[str, str, str, str], str | None]:
    def apply(call: str, path: str, text: str, base: str) -> str | None:
        with TemporaryDirectory() as folder:
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8", "surrogateescape"))
            data = call.encode("utf-8", "surrogateescape")
            done = subprocess.run(command, cwd=folder, input=data, check=False, capture_output=True)
            return None if done.returncode else file.read_bytes().decode("utf-8", "surrogateescape")

    return apply


@lru_cache(maxsize=1)
def patched(call: str, path: str, base: str) -> str | None:
    return with_program("patch", "-p1", "-s", "--fuzz=0", "--no-backup-if-mismatch")(call, path, base, base)


def three_way(call: str, path: str, text: str, base: str) -> str | None:
    """What `git apply --3way` does where it has the old version: it merges."""
    result = patched(call, path, base)
    if result is None:
        return None
    data, is_clean = merged(*(each.encode("utf-8", "surrogateescape") for each in (text, base, result)))
    return data.decode("utf-8", "surrogateescape") if is_clean else None


def codex_write(path: str, old: str, new: str) -> str:
    body = []
    before = split(old)
    for start, gone, come in blocks(old, new):
        body.append("@@\n")
        body += [" " + ended(line) for line in before[max(start - 3, 0) : start]]
        body += ["-" + ended(line) for line in gone] + ["+" + ended(line) for line in come]
        body += [" " + ended(line) for line in before[start + len(gone) : start + len(gone) + 3]]
    return f"*** Begin Patch\n*** Update File: {path}\n{''.join(body)}*** End Patch\n"


def codex_apply(call: str, path: str, text: str, base: str) -> str | None:
    """Each hunk at the first place behind the last where its lines stand: exactly, or but for white space."""
    lines, cursor, result = split(text), 0, []
    for hunk in call.removesuffix("*** End Patch\n").split("@@\n")[1:]:
        signed = split(hunk)
        gone = [line[1:] for line in signed if line[0] in " -"]
        come = [line[1:] for line in signed if line[0] in " +"]
        at = sought(lines, gone, cursor)
        if at is None:
            return None
        result.append((at, len(gone), come))
        # Contexts of neighbours may share lines.
        trailing = next((n for n, line in enumerate(reversed(signed)) if line[0] != " "), 0)
        cursor = at + len(gone) - trailing
    for at, count, come in reversed(merged_places(result, lines)):
        lines[at : at + count] = come
    return "".join(map(ended, lines))


def merged_places(
    places: Sequence[tuple[int, int, list[str]]], lines: list[str]
) -> list[tuple[int, int, list[str]]]:
    """`places` cut down to what changes, so that no two share lines."""
    cut = []
    for at, count, come in places:
        gone = lines[at : at + count]
        head = 0
        while head < min(len(gone), len(come)) and gone[head] == come[head]:
            head += 1
        tail = 0
        while tail < min(len(gone), len(come)) - head and gone[-1 - tail] == come[-1 - tail]:
            tail += 1
        cut.append((at + head, count - head - tail, come[head : len(come) - tail]))
    return cut


def sought(lines: list[str], wanted: list[str], cursor: int) -> int | None:
    for form in (str, str.rstrip, str.strip):
        shaped, pattern = [form(line) for line in lines], [form(line) for line in wanted]
        for at in range(cursor, len(lines) - len(wanted) + 1):
            if shaped[at : at + len(wanted)] == pattern:
                return at
    return None


TOOLS = (
    Tool("mdplan", True, mdplan_write, mdplan_apply),
    Tool("line-hash anchors", True, hashline_write, hashline_apply),
    Tool("mcp-text-editor", True, text_editor_write, text_editor_apply),
    Tool("search/replace", True, search_replace_write, search_replace_apply),
    Tool("edit_file", True, edit_file_write, edit_file_apply),
    Tool("Aider blocks", True, aider_write, aider_apply),
    Tool("apply_patch", True, codex_write, codex_apply),
    Tool("git apply", True, diff_write, with_program("git", "apply", "-")),
    Tool("patch", True, diff_write, with_program("patch", "-p1", "-s", "--no-backup-if-mismatch", "-r", "-")),
    Tool("three-way merge", True, diff_write, three_way),
    Tool(
        "whole file",
        False,
        lambda path, old, new: compact({"path": path, "content": new}),
        lambda call, path, text, base: json.loads(call)["content"],
    ),
)
