"""Edit formats of other tools: how each writes and applies a change.

All are written from public descriptions and behaviour, and share no code with the originals. Each writer
knows both versions, so none makes the mistakes of a model; if a description leaves a choice, the writer takes
the smallest unambiguous form.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence

from mdplan.text.diff import LineComparison


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def differing(before: list[str], after: list[str]) -> Iterator[tuple[int, int, int, int]]:
    yield from LineComparison(1_000_000).differing(before, after)


def split(text: str) -> list[str]:
    """Lines that end at LF, with it."""
    return [line + "\n" for line in text.split("\n")[:-1]] + (
        [text.rpartition("\n")[2]] if not text.endswith("\n") and text else []
    )


def blocks(old: str, new: str, *, unique: bool = False) -> list[tuple[int, list[str], list[str]]]:
    """Changed lines, with as many around them as make each block stand in `old` once; neighbours join."""
    before, after = split(old), split(new)
    found: list[list[int]] = []
    for start, end, first, last in differing(before, after):
        room = 0
        while True:
            low, high = max(start - room, 0), min(end + room, len(before))
            text = "".join(before[low:high])
            if not unique or (text.strip() and old.count(text) == 1) or (low, high) == (0, len(before)):
                break
            room += 1
        grown = [low, high, first - (start - low), last + (high - end)]
        if found and grown[0] < found[-1][1]:
            was = found[-1]
            found[-1] = [min(was[0], low), max(high, was[1]), min(was[2], grown[2]), max(was[3], grown[3])]
        else:
            found.append(grown)
    return [(low, before[low:high], after[first:last]) for low, high, first, last in found]


def pairs(old: str, new: str) -> list[tuple[str, str]]:
    """Return old and new text as whole lines that are unique in `old`."""
    return [("".join(gone), "".join(come)) for _, gone, come in blocks(old, new, unique=True)]


# Search and replace


def shortest_pairs(old: str, new: str) -> list[tuple[str, str]]:
    """Return old and new text as the fewest words that are unique in `old`."""
    before, after = re.findall(r"\w+|\s|[^\w\s]", old), re.findall(r"\w+|\s|[^\w\s]", new)
    found: list[list[int]] = []
    for start, end, first, last in _words_that_differ(before, after, old, new):
        low, high = start, end
        while True:
            text = "".join(before[low:high])
            if (text.strip() and old.count(text) == 1) or (low, high) == (0, len(before)):
                break
            low, high = max(low - 1, 0), min(high + 1, len(before))
        grown = [low, high, first - (start - low), last + (high - end)]
        if found and grown[0] <= found[-1][1]:
            was = found[-1]
            found[-1] = [min(was[0], low), max(high, was[1]), min(was[2], grown[2]), max(was[3], grown[3])]
        else:
            found.append(grown)
    return [("".join(before[low:high]), "".join(after[first:last])) for low, high, first, last in found]


def _words_that_differ(
    before: list[str], after: list[str], old: str, new: str
) -> Iterator[tuple[int, int, int, int]]:
    """Runs of words that differ: words of the lines that do."""
    old_starts, new_starts = _word_starts(old), _word_starts(new)
    for start, end, first, last in differing(split(old), split(new)):
        a, b, c, d = old_starts[start], old_starts[end], new_starts[first], new_starts[last]
        while a < b and c < d and before[a] == after[c]:
            a, c = a + 1, c + 1
        while a < b and c < d and before[b - 1] == after[d - 1]:
            b, d = b - 1, d - 1
        yield a, b, c, d


def _word_starts(text: str) -> list[int]:
    """The index of the word that each line begins with."""
    starts = [0]
    for line in split(text):
        starts.append(starts[-1] + len(re.findall(r"\w+|\s|[^\w\s]", line)))
    return starts


def search_replace_call(path: str, found: Sequence[tuple[str, str]]) -> str:
    edits = [{"old_string": gone, "new_string": come} for gone, come in found]
    return compact({"file_path": path, "edits": edits})


def search_replace_apply(call: str, path: str, text: str, base: str) -> str | None:
    """Each text once and exactly, one edit after the other."""
    for edit in json.loads(call)["edits"]:
        if not edit["old_string"] or text.count(edit["old_string"]) != 1:
            return None
        text = text.replace(edit["old_string"], edit["new_string"])
    return text


def edit_file_write(path: str, old: str, new: str) -> str:
    edits = [{"oldText": gone, "newText": come} for gone, come in pairs(to_lf(old), to_lf(new))]
    return compact({"path": path, "edits": edits})


def to_lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def edit_file_apply(call: str, path: str, text: str, base: str) -> str | None:
    """Replace the first exact occurrence, or the first lines equal except for whitespace; converts to LF."""
    text = to_lf(text)
    for edit in json.loads(call)["edits"]:
        gone, come = edit["oldText"], edit["newText"]
        if gone in text:
            text = text.replace(gone, come, 1)
            continue
        lines, wanted = text.split("\n"), gone.split("\n")
        at = first_place(lines, wanted, str.strip)
        if at is None:
            return None
        lines[at : at + len(wanted)] = _indented(lines[at], wanted, come.split("\n"))
        text = "\n".join(lines)
    return text


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _indented(first: str, old: list[str], new: list[str]) -> Iterator[str]:
    """`new` with the indentation of the line that was found, and relative to it."""
    for index, line in enumerate(new):
        before = _indent(old[index]) if index < len(old) else ""
        if index == 0:
            yield _indent(first) + line.lstrip()
        elif before and _indent(line):
            yield _indent(first) + " " * max(len(_indent(line)) - len(before), 0) + line.lstrip()
        else:
            yield line


def first_place(
    lines: Sequence[str], wanted: Sequence[str], form: Callable[[str], str], start: int = 0
) -> int | None:
    shaped, pattern = [form(line) for line in lines], [form(line) for line in wanted]
    places = range(start, len(lines) - len(wanted) + 1)
    return next((at for at in places if shaped[at : at + len(wanted)] == pattern), None)


# Aider's SEARCH/REPLACE blocks

_BLOCK = re.compile(
    r"^<{5,9} SEARCH>?\s*\n(.*?)^={5,9}\s*\n(.*?)^>{5,9} REPLACE\s*$", re.MULTILINE | re.DOTALL
)


def aider_write(path: str, old: str, new: str) -> str:
    return "".join(
        f"{path}\n```\n<<<<<<< SEARCH\n{ended(gone)}=======\n{ended(come)}>>>>>>> REPLACE\n```\n"
        for gone, come in pairs(to_lf(old), to_lf(new))
    )


def ended(text: str) -> str:
    return text if text.endswith("\n") or not text else text + "\n"


def aider_apply(call: str, path: str, text: str, base: str) -> str | None:
    """Whole lines, else with other indentation, else without a first blank line, else around `...`."""
    text = to_lf(text)
    for block in _BLOCK.finditer(call):
        changed = _aider_block(text, block[1], block[2])
        if changed is None:
            return None
        text = changed
    return text


def _aider_block(text: str, gone: str, come: str) -> str | None:
    if not gone.strip():
        return text + come
    lines, wanted, new = split(ended(text)), split(ended(gone)), split(ended(come))
    tries = [wanted]
    if len(wanted) > 2 and not wanted[0].strip():
        tries.append(wanted[1:])
    for each in tries:
        at = first_place(lines, each, str)
        if at is not None:
            return "".join((*lines[:at], *new, *lines[at + len(each) :]))
        reindented = _reindented(lines, each, new)
        if reindented is not None:
            return reindented
    return _around_dots(ended(text), ended(gone), ended(come))


def _reindented(lines: list[str], wanted: list[str], new: list[str]) -> str | None:
    """Replace lines that equal `wanted` at another indentation with `new` at that indentation."""
    widths = [len(line) - len(line.lstrip()) for line in (*wanted, *new) if line.strip()]
    least = min(widths, default=0)
    wanted, new = ([line[least:] if line.strip() else line for line in each] for each in (wanted, new))
    for at in range(len(lines) - len(wanted) + 1):
        part = lines[at : at + len(wanted)]
        if [line.lstrip() for line in part] != [line.lstrip() for line in wanted]:
            continue
        added = {
            there[: len(there) - len(line)] for there, line in zip(part, wanted, strict=True) if there.strip()
        }
        if len(added) == 1:
            prefix = added.pop()
            shifted = (prefix + line if line.strip() else line for line in new)
            return "".join((*lines[:at], *shifted, *lines[at + len(wanted) :]))
    return None


def _around_dots(text: str, gone: str, come: str) -> str | None:
    """Return the parts between lines of `...`, which represent unchanged text."""
    dots = re.compile(r"(^\s*\.\.\.\n)", re.MULTILINE)
    old, new = dots.split(gone), dots.split(come)
    if len(old) == 1 or len(old) != len(new) or old[1::2] != new[1::2]:
        return None
    for before, after in zip(old[::2], new[::2], strict=True):
        if before:
            if text.count(before) != 1:
                return None
            text = text.replace(before, after, 1)
        elif after:
            text = ended(text) + after
    return text


# Line numbers and hashes

# Characters of an edit without its lines.
_EDIT = 40
_ALPHABET = "ZPMQVRWSNKTXJBYH"


def line_hash(number: int, line: str) -> str:
    """Two letters for a line without white space at its end; for one without words, of its number too."""
    content = line.rstrip()
    seed = "" if re.search(r"[^\W_]", content) else str(number)
    digest = hashlib.sha256((content + seed).encode("utf-8", "surrogateescape")).digest()[0]
    return _ALPHABET[digest >> 4] + _ALPHABET[digest & 15]


def anchor(number: int, lines: Sequence[str]) -> str:
    return f"{number}#{line_hash(number, lines[number - 1])}"


def hashline_write(path: str, old: str, new: str) -> str:
    before, after, edits = to_lf(old).split("\n"), to_lf(new).split("\n"), []
    for start, end, first, last in _joined(differing(before, after), before):
        lines = after[first:last]
        if start < end:
            edit: dict[str, object] = {"op": "replace", "pos": anchor(start + 1, before), "lines": lines}
            if end > start + 1:
                edit["end"] = anchor(end, before)
        elif start and (before[start - 1].strip() or start == len(before)):
            edit = {"op": "append", "pos": anchor(start, before), "lines": lines}
        else:
            # An empty line says less than the one behind it.
            edit = {"op": "prepend", "pos": anchor(start + 1, before), "lines": lines}
        edits.append(edit)
    return compact({"path": path, "edits": edits})


def _joined(
    runs: Iterator[tuple[int, int, int, int]], before: Sequence[str]
) -> Iterator[tuple[int, int, int, int]]:
    """Join `runs` if the text between them is shorter than the cost of another edit."""
    last: tuple[int, int, int, int] | None = None
    for run in runs:
        if last is not None and sum(len(line) + 3 for line in before[last[1] : run[0]]) < _EDIT:
            last = (last[0], run[1], last[2], run[3])
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


def hashline_apply(call: str, path: str, text: str, base: str) -> str | None:
    """All anchors have to fit at their numbers; line ends stay as most of them are."""
    ends = "\r\n" if "\r\n" in text else "\n"
    lines = to_lf(text).split("\n")
    edits = json.loads(call)["edits"]
    for edit in edits:
        for given in (edit["pos"], edit.get("end", edit["pos"])):
            number, _, letters = given.partition("#")
            if int(number) > len(lines) or line_hash(int(number), lines[int(number) - 1]) != letters:
                return None
    for edit in reversed(edits):
        first = int(edit["pos"].partition("#")[0])
        last = int(edit.get("end", edit["pos"]).partition("#")[0])
        spans = {"replace": (first - 1, last), "append": (first, first), "prepend": (first - 1, first - 1)}
        start, end = spans[edit["op"]]
        lines[start:end] = edit["lines"]
    return ends.join(lines)


def hashline_read(path: str, old: str, new: str) -> str:
    lines = to_lf(old).split("\n")
    return "\n".join(f"{anchor(number, lines)}:{line}" for number, line in enumerate(lines, start=1))


def text_editor_write(path: str, old: str, new: str) -> str:
    old, new = to_lf(old), to_lf(new)
    patches = [
        {
            "start": start + 1,
            "end": start + len(gone),
            "contents": "".join(come),
            "range_hash": digest("".join(gone)) if gone else "",
        }
        for start, gone, come in blocks(old, new)
    ]
    return compact({"files": [{"path": path, "file_hash": digest(old), "patches": patches}]})


def text_editor_apply(call: str, path: str, text: str, base: str) -> str | None:
    """Apply ranges if the hashes of the file and of each range match; adds a final newline to contents."""
    text = to_lf(text)
    [file] = json.loads(call)["files"]
    if file["file_hash"] != digest(text):
        return None
    lines = split(text)
    for patch in reversed(file["patches"]):
        lines[patch["start"] - 1 : max(patch["end"], patch["start"] - 1)] = [ended(patch["contents"])]
    return "".join(lines)


def text_editor_read(path: str, old: str, new: str) -> str:
    """The contents once, and the hashes of the file and of each range that is replaced."""
    ranges = [
        {"start": start + 1, "end": start + len(gone), "range_hash": digest("".join(gone))}
        for start, gone, _ in blocks(old, new)
        if gone
    ]
    return compact({path: {"file_hash": digest(old), "ranges": [{"content": old}, *ranges]}})


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
