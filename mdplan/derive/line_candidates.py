"""Candidates that name lines."""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import takewhile

from mdplan.derive.candidate import CandidateEdits
from mdplan.derive.version_change import Change, ChangedRun
from mdplan.text.line_end_view import to_lf
from mdplan.text.line_hashes import LEAST_DIGITS

# Digits of the hash of a single line: so many that a line which is written later hardly ever has the same.
_DIGITS = 5
_MOST_WIDENED = 3
_MOST_SHOWN = 12
_MOST_SLID = 4
# Lines that are repeated, and shorter than this together, might be others in another version.
_FEWEST_CHARACTERS = 20
# An item, a row, or a definition.
_MOVES = re.compile(r"\s*([-*+]\s|\d{1,9}[.)]\s|\||\[[^\]]+\]:)")


def line_candidates(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Whole lines replaced, inserted or deleted; hashes of lines guard them, or the text that goes."""
    for each in _slid(change, hunk):
        yield from _hashed(change, each)
    if hunk.old_start < hunk.old_end:
        for each in _widened(change, hunk):
            yield from _hashed(change, each)
    if _has_unique(change, hunk.old_start, hunk.old_end):
        yield _edit_of_lines(change, hunk, f"{hunk.old_start + 1}-{hunk.old_end}", with_text=True)


def diff_candidate(change: Change, hunk: ChangedRun) -> CandidateEdits:
    """The hunk as a unified diff, which can write anything; it shows lines until one of them is unique."""
    start, end = hunk.old_start, hunk.old_end
    if start == end:
        # What is on one side of an insertion does not prove that the other side is unchanged.
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
    return CandidateEdits((edit,), is_weak=not (is_between and _has_unique(change, start, end)))


def _has_unique(change: Change, first: int, end: int) -> bool:
    """Whether one of the lines ``[first, end)`` occurs once, or all of them together, with enough text."""
    if any(_is_unique(change, line) for line in range(first, end)):
        return True
    text = change.old_text(first, end)
    return len("".join(text.split())) >= _FEWEST_CHARACTERS and change.old.source.text.count(text) == 1


def _signed(sign: str, line: str) -> str:
    return sign + line + ("" if line.endswith("\n") else "\n\\ No newline at end of file\n")


def _hashed(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """By hashes, where these name one place only."""
    first = hunk.old_start
    if first == hunk.old_end:
        yield from _insertion(change, hunk)
        return
    if _has_unique(change, first, hunk.old_end):
        yield _edit_of_lines(change, hunk, _addresses(change, hunk))


def _insertion(change: Change, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Between two lines by the hashes of both, or at an end of the file by that of the line there."""
    at, count = hunk.old_start, len(change.old_lines)
    markdown = _payload(change, hunk)
    if 0 < at < count:
        edge = _edge_of_block(change, hunk)
        if edge is not None:
            yield _between(change, at, *edge, markdown)
            return
        start, end = at - 1, at + 1
        # A blank line says nothing of what is on its other side.
        while end < hunk.ceiling and not change.old_lines[end - 1].strip() and end - at < _MOST_WIDENED:
            end += 1
        while start > hunk.floor and not change.old_lines[start].strip() and at - start < _MOST_WIDENED:
            start -= 1
        # Of several lines the place is after the first, or before the last.
        if at in (start + 1, end - 1) and _has_unique(change, start, end):
            yield _between(change, at, start, end, markdown)
    elif at == count > 0 and change.old_lines[-1].strip():
        line = f"{count}:{_hash(change, count - 1, _DIGITS)},end"
        yield CandidateEdits.of("insert_lines", line=line, markdown=markdown)
    elif at == 0 < count and change.old_lines[0].strip():
        yield CandidateEdits.of(
            "insert_lines", line=f"1:start,{_hash(change, 0, _DIGITS)}", markdown=markdown
        )


def _edge_of_block(change: Change, hunk: ChangedRun) -> tuple[int, int] | None:
    """The lines that prove lines added to a block, at its end or its start: of it, and the blank line there.

    How many blank lines there are, and which block is after them, changes more often than the block. But a
    block of its own is between two others, so that both have to be there: somebody may have written it too.
    Items, rows and definitions move from section to section one by one, so that the line before has to be
    there as well: the heading, where they are alone.
    """
    at, lines = hunk.old_start, change.old_lines
    if change.has_heading(hunk):
        return None
    before, behind = bool(lines[at - 1].strip()), bool(lines[at].strip())
    first, last = (change.new_lines[line].strip() for line in (hunk.new_start, hunk.new_end - 1))
    if before and first and not behind and at < hunk.ceiling and not change.is_heading(at - 1):
        return _end_of_list(change, hunk) if _MOVES.match(lines[at - 1]) else _end_of_text(change, hunk)
    if behind and last and not before and at > hunk.floor and not change.is_heading(at):
        return None if _MOVES.match(lines[at]) else _start_of_text(change, hunk)
    return None


def _end_of_text(change: Change, hunk: ChangedRun) -> tuple[int, int] | None:
    at = hunk.old_start
    first = _first_unique(change, range(at - 1, max(at - 1 - _MOST_WIDENED, hunk.floor - 1), -1))
    return None if first is None else (first, at + 1)


def _start_of_text(change: Change, hunk: ChangedRun) -> tuple[int, int] | None:
    at = hunk.old_start
    last = _first_unique(change, range(at, min(at + _MOST_WIDENED, hunk.ceiling)))
    return None if last is None else (at - 1, last + 1)


def _end_of_list(change: Change, hunk: ChangedRun) -> tuple[int, int] | None:
    """The last two lines of a list before two blank ones, or its only line and the one before the list."""
    at, lines = hunk.old_start, change.old_lines
    first = at - 2
    while first > hunk.floor and at - first <= _MOST_WIDENED and not lines[first].strip():
        first -= 1
    if first < hunk.floor or not lines[first].strip() or not _has_unique(change, first, at):
        return None
    is_alone = first < at - 2
    is_last = at + 1 < hunk.ceiling and not lines[at + 1].strip()
    return (first, at + 1) if is_alone or is_last else None


def _first_unique(change: Change, lines: Iterable[int]) -> int | None:
    """The first of `lines` that occurs once, before a blank one."""
    block = takewhile(lambda line: change.old_lines[line].strip(), lines)
    return next((line for line in block if _is_unique(change, line)), None)


def _between(change: Change, at: int, start: int, end: int, markdown: str) -> CandidateEdits:
    """Insertion at `at` by the lines ``[start, end)``: after the first of them, or before the last."""
    position = None if at == start + 1 else "before"
    line = f"{start + 1}:{_hashes(change, start, end)}"
    return CandidateEdits.of("insert_lines", line=line, position=position, markdown=markdown)


def _edit_of_lines(
    change: Change, hunk: ChangedRun, lines: str, *, with_text: bool = False
) -> CandidateEdits:
    old = to_lf(change.old_text(hunk.old_start, hunk.old_end)).removesuffix("\n") if with_text else None
    if hunk.new_start == hunk.new_end:
        return CandidateEdits.of("delete_lines", lines=lines, expectedText=old)
    return CandidateEdits.of("replace_lines", lines=lines, expectedText=old, markdown=_payload(change, hunk))


def _payload(change: Change, hunk: ChangedRun) -> str:
    """The new lines; their last line end is left out where that says the same."""
    text = to_lf(change.new_text(hunk))
    return text[:-1] if text[-1:] == "\n" and text[-2:-1] not in ("", "\n") else text


def _is_unique(change: Change, line: int) -> bool:
    content = change.old_lines[line].rstrip("\r\n")
    return bool(content.strip()) and change.repeats[content] == 1


def _addresses(change: Change, hunk: ChangedRun) -> str:
    """The lines of `hunk` by the number of the first and a hash of each."""
    if hunk.old_end - hunk.old_start == 1:
        return f"{hunk.old_start + 1}:{_hash(change, hunk.old_start, _DIGITS)}"
    return f"{hunk.old_start + 1}:{_hashes(change, hunk.old_start, hunk.old_end)}"


def _hashes(change: Change, first: int, end: int) -> str:
    """A hash of each line; an empty line needs none, and makes those of others no stronger."""
    contents = [change.old_lines[line].rstrip("\r\n") for line in range(first, end)]
    digits = LEAST_DIGITS if sum(map(bool, contents)) > 1 else _DIGITS
    return ",".join(
        _hash(change, line, digits) if content else "" for line, content in enumerate(contents, start=first)
    )


def _hash(change: Change, line: int, digits: int) -> str:
    content = change.old_lines[line].rstrip("\r\n")
    return sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:digits]


def _slid(change: Change, hunk: ChangedRun) -> Iterator[ChangedRun]:
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


def _moved(hunk: ChangedRun, by: int) -> ChangedRun:
    return hunk.grown(-by, by)


def _widened(change: Change, hunk: ChangedRun) -> Iterator[ChangedRun]:
    """`hunk` with unchanged lines before or after it, until one of its lines is unique."""
    for step in range(1, _MOST_WIDENED + 1):
        before = hunk.old_start - step
        if before >= hunk.floor and _is_unique(change, before):
            yield hunk.grown(step, 0)
            break
    for step in range(1, _MOST_WIDENED + 1):
        after = hunk.old_end + step - 1
        if after < hunk.ceiling and _is_unique(change, after):
            yield hunk.grown(0, step)
            break
