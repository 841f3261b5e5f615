"""Candidates that name lines."""

from collections.abc import Iterator
from hashlib import sha256

from mdplan.derive.candidate import Candidate
from mdplan.derive.change import Change, Hunk
from mdplan.text.line_end_view import to_lf
from mdplan.text.line_hashes import LEAST_DIGITS

# Digits of the hash of a single line: so many that a line which is written later hardly ever has the same.
_DIGITS = 5
_MOST_WIDENED = 3
_MOST_SHOWN = 12
_MOST_SLID = 4


def line_candidates(change: Change, hunk: Hunk) -> Iterator[Candidate]:
    """Whole lines replaced, inserted or deleted; hashes of lines guard them, or the text that goes."""
    for each in _slid(change, hunk):
        yield from _hashed(change, each)
    if hunk.old_start < hunk.old_end:
        for each in _widened(change, hunk):
            yield from _hashed(change, each)
    if _has_unique(change, hunk.old_start, hunk.old_end):
        yield _edit_of_lines(change, hunk, f"{hunk.old_start + 1}-{hunk.old_end}", with_text=True)


def diff_candidate(change: Change, hunk: Hunk) -> Candidate:
    """The hunk as a unified diff, which can write anything; it shows lines until one of them is unique."""
    start, end = hunk.old_start, hunk.old_end
    if start == end:
        # What stands on one side of an insertion does not prove that the other side is unchanged.
        start, end = max(start - 1, hunk.floor), min(end + 1, hunk.ceiling)
        while start > hunk.floor and not change.old_lines[start].strip():
            start -= 1
        while end < hunk.ceiling and not change.old_lines[end - 1].strip():
            end += 1
    is_between = hunk.old_start < hunk.old_end or end - start > 1
    while not _has_unique(change, start, end) and end - start < _MOST_SHOWN:
        if start > hunk.floor:
            start -= 1
        elif end < hunk.ceiling:
            end += 1
        else:
            break
    before, after = hunk.old_start - start, end - hunk.old_end
    signed = (
        (" ", change.old_lines[start : hunk.old_start]),
        ("-", change.old_lines[hunk.old_start : hunk.old_end]),
        ("+", change.new_lines[hunk.new_start : hunk.new_end]),
        (" ", change.old_lines[hunk.old_end : end]),
    )
    old, new = end - start, before + hunk.new_end - hunk.new_start + after
    header = f"@@ -{start + bool(old)},{old} +{hunk.new_start - before + bool(new)},{new} @@\n"
    body = "".join(_signed(sign, line) for sign, lines in signed for line in lines)
    edit = {"op": "apply_diff", "diff": header + body}
    return Candidate((edit,), is_weak=not (is_between and _has_unique(change, start, end)))


def _has_unique(change: Change, first: int, end: int) -> bool:
    return any(_is_unique(change, line) for line in range(first, end))


def _signed(sign: str, line: str) -> str:
    return sign + line + ("" if line.endswith("\n") else "\n\\ No newline at end of file\n")


def _hashed(change: Change, hunk: Hunk) -> Iterator[Candidate]:
    """By hashes, where these name one place only."""
    first = hunk.old_start
    if first == hunk.old_end:
        yield from _insertion(change, hunk)
        return
    if _has_unique(change, first, hunk.old_end):
        yield _edit_of_lines(change, hunk, _addresses(change, hunk))


def _insertion(change: Change, hunk: Hunk) -> Iterator[Candidate]:
    """Between two lines by the hashes of both; at an end of the file the whole file has to be the same."""
    at, count = hunk.old_start, len(change.old_lines)
    markdown = _payload(change, hunk)
    if 0 < at < count and change.old_lines[at - 1].strip():
        end = at + 1
        # A blank line says nothing of what stands behind it.
        while end < hunk.ceiling and not change.old_lines[end - 1].strip() and end - at < _MOST_WIDENED:
            end += 1
        if _has_unique(change, at - 1, end):
            hashes = (_hash(change, line, LEAST_DIGITS) for line in range(at - 1, end))
            yield Candidate.of("insert_lines", line=f"{at}:{','.join(hashes)}", markdown=markdown)
    elif at in (0, count) and count:
        line, position = (1, "before") if at == 0 else (count, "after")
        edit = {"op": "insert_lines", "line": line, "position": position, "markdown": markdown}
        if _is_unique(change, line - 1):
            guarded = {**edit, "line": f"{line}:{_hash(change, line - 1, _DIGITS)}"}
            yield Candidate((guarded,), is_weak=True)


def _edit_of_lines(change: Change, hunk: Hunk, lines: str, *, with_text: bool = False) -> Candidate:
    old = to_lf(change.old_text(hunk.old_start, hunk.old_end)).removesuffix("\n") if with_text else None
    if hunk.new_start == hunk.new_end:
        return Candidate.of("delete_lines", lines=lines, expectedText=old)
    return Candidate.of("replace_lines", lines=lines, expectedText=old, markdown=_payload(change, hunk))


def _payload(change: Change, hunk: Hunk) -> str:
    """The new lines; their last line end is left out where that says the same."""
    text = to_lf(change.new_text(hunk))
    return text[:-1] if text[-1:] == "\n" and text[-2:-1] not in ("", "\n") else text


def _is_unique(change: Change, line: int) -> bool:
    content = change.old_lines[line].rstrip("\r\n")
    return bool(content.strip()) and change.repeats[content] == 1


def _addresses(change: Change, hunk: Hunk) -> str:
    """The lines of `hunk` by the number of the first and a hash of each."""
    digits = _DIGITS if hunk.old_end - hunk.old_start == 1 else LEAST_DIGITS
    hashes = (_hash(change, line, digits) for line in range(hunk.old_start, hunk.old_end))
    return f"{hunk.old_start + 1}:{','.join(hashes)}"


def _hash(change: Change, line: int, digits: int) -> str:
    content = change.old_lines[line].rstrip("\r\n")
    return sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:digits]


def _slid(change: Change, hunk: Hunk) -> Iterator[Hunk]:
    """`hunk`, and what says the same some lines earlier or later, where it only inserts or deletes."""
    yield hunk
    if hunk.old_start < hunk.old_end and hunk.new_start < hunk.new_end:
        return
    lines, first, end = (
        (change.new_lines, hunk.new_start, hunk.new_end)
        if hunk.old_start == hunk.old_end
        else (change.old_lines, hunk.old_start, hunk.old_end)
    )
    for step in range(1, _MOST_SLID + 1):
        if hunk.old_start - step < hunk.floor or lines[first - step] != lines[end - step]:
            break
        yield _moved(hunk, -step)
    for step in range(_MOST_SLID):
        if hunk.old_end + step >= hunk.ceiling or lines[first + step] != lines[end + step]:
            break
        yield _moved(hunk, step + 1)


def _moved(hunk: Hunk, by: int) -> Hunk:
    return Hunk(
        hunk.index,
        hunk.old_start + by,
        hunk.old_end + by,
        hunk.new_start + by,
        hunk.new_end + by,
        hunk.floor,
        hunk.ceiling,
    )


def _widened(change: Change, hunk: Hunk) -> Iterator[Hunk]:
    """`hunk` with unchanged lines before or after it, until one of its lines is unique."""
    for step in range(1, _MOST_WIDENED + 1):
        before = hunk.old_start - step
        if before >= hunk.floor and _is_unique(change, before):
            yield _grown(hunk, step, 0)
            break
    for step in range(1, _MOST_WIDENED + 1):
        after = hunk.old_end + step - 1
        if after < hunk.ceiling and _is_unique(change, after):
            yield _grown(hunk, 0, step)
            break


def _grown(hunk: Hunk, before: int, after: int) -> Hunk:
    return Hunk(
        hunk.index,
        hunk.old_start - before,
        hunk.old_end + after,
        hunk.new_start - before,
        hunk.new_end + after,
        hunk.floor,
        hunk.ceiling,
    )
