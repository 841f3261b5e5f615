"""Candidate edits for a changed part of a document: its text, lines, sections or tasks.

Nothing is verified here: `derive.py` plans the candidates and keeps those that make the change.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, pairwise, takewhile
from typing import Any, Final, Self

from mdplan.diagnostics import or_problem
from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.lists import ListItem
from mdplan.markdown.matches import EXCLUDED_BY_DEFAULT, UNDECIDED, exclusion_of
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations import IMPLIED
from mdplan.text.diff import ChangedLines, LineComparison
from mdplan.text.lines import LEAST_DIGITS, Span, to_lf
from tests.benchmarks.replay.formats import compact

Edit = Mapping[str, Any]

# One token of a model, or nearly so: an escape, a word, three digits, punctuation.
_TOKEN: Final = re.compile(r"\\.| ?[^\W\d_]{1,9}|\d{1,3}|\s+|[^\w\s\\]{1,3}|.", re.DOTALL)
# How many pairs of lines, or of words, a comparison may take before it calls a run of them replaced.
_LINE_COMPARISONS: Final = 1_000_000
_WORD_COMPARISONS: Final = 100_000
# A shorter text, or pattern, might be found in other words of another version.
_FEWEST_CHARACTERS: Final = 20
_FEWEST_OF_ROW: Final = 40
# Digits of a line hash: enough that lines written later rarely have the same.
_DIGITS: Final = 5
_MOST_WIDENED: Final = 3
_MOST_SHOWN: Final = 12
_MOST_SLID: Final = 4
# An item, a row, or a definition: these move from section to section one by one.
_MOVES: Final = re.compile(r"\s*([-*+]\s|\d{1,9}[.)]\s|\||\[[^\]]+\]:)")
_WORD: Final = re.compile(r"\w+|\s+|[^\w\s]")
# Unchanged characters between two changes past which two edits are smaller than one.
_LARGEST_GAP: Final = 90
# Changes of one hunk for which all ways to join them are compared.
_MOST_SEGMENTS: Final = 10
_MOST_CHARACTERS: Final = 600
_MOST_WORDS: Final = 40
# (context before, context after) the change.
_WAYS: Final = ((True, True), (True, False), (False, True))


@dataclass(frozen=True, slots=True)
class CandidateEdits:
    """Edits, as a batch has them, that may make some hunks; nothing is proven yet.

    Edits that find text which occurs elsewhere too are `is_weak`: another version might have it only there.
    """

    edits: tuple[Edit, ...]
    is_weak: bool = False

    @classmethod
    def of(cls, op: str, **fields: object) -> Self:
        """Return an edit with all `fields` that are not None."""
        return cls(({"op": op, **{name: value for name, value in fields.items() if value is not None}},))

    @property
    def cost(self) -> int:
        """Return about how many tokens the edits are as compact JSON: the measure of a small batch."""
        return cost_of(self.edits)


def cost_of(edits: Iterable[Edit]) -> int:
    """Estimate the tokens of `edits` in their short form, with a comma after each."""
    return sum(1 + len(_TOKEN.findall(compact(short_edit(edit)))) for edit in edits)


def short_edit(edit: Edit) -> Edit:
    """Return `edit` without its `op` if its other fields imply that."""
    implied = IMPLIED.get(edit["op"])
    if implied is None or not implied <= edit.keys():
        return edit
    return {name: value for name, value in edit.items() if name != "op"}


@dataclass(frozen=True, slots=True)
class ChangedRun:
    """Lines ``[old_start, old_end)`` of the old version that became ``[new_start, new_end)``; 0-based.

    `floor` and `ceiling` are lines of the old version: nothing else between them changes.
    """

    index: int
    old_start: int
    old_end: int
    new_start: int
    new_end: int
    floor: int
    ceiling: int

    @property
    def is_insertion(self) -> bool:
        """Return True if no line is deleted or replaced."""
        return self.old_start == self.old_end

    def grown(self, before: int, after: int) -> "ChangedRun":
        """Return the hunk with this many unchanged lines before and after it."""
        return replace(
            self,
            old_start=self.old_start - before,
            old_end=self.old_end + after,
            new_start=self.new_start - before,
            new_end=self.new_end + after,
        )

    def joined(self, last: "ChangedRun") -> "ChangedRun":
        """Return one hunk of this one, `last` and all between them."""
        return replace(self, old_end=last.old_end, new_end=last.new_end, ceiling=last.ceiling)


class DocumentChange:
    """Both versions of a document, and the runs of lines that differ."""

    def __init__(self, old: Outline, new: Outline, *, by_headings: bool = False) -> None:
        """Compare the lines of both, newlines included; `by_headings` only between the same headings."""
        self.old = old
        self.new = new
        self.old_lines = _lines(old)
        self.new_lines = _lines(new)
        self.hunks = tuple(self._compare(_anchors(old, new) if by_headings else ()))

    @cached_property
    def repeats(self) -> Counter[str]:
        """Count how often each line of the old version occurs, without its newline."""
        return Counter(line.rstrip("\r\n") for line in self.old_lines)

    def old_span(self, first: int, end: int) -> Span:
        """Return the span of the old lines ``[first, end)``."""
        starts = self._old_starts
        return Span(starts[first], starts[end])

    def old_text(self, first: int, end: int) -> str:
        """Return the text of the old lines ``[first, end)``."""
        return "".join(self.old_lines[first:end])

    def new_text(self, hunk: ChangedRun) -> str:
        """Return the lines that `hunk` writes."""
        return "".join(self.new_lines[hunk.new_start : hunk.new_end])

    def is_heading(self, line: int) -> bool:
        """Return True if `line` of the old version, 0-based, is a heading or a part of one."""
        return line + 1 in self._heading_lines[0]

    def has_heading(self, hunk: ChangedRun) -> bool:
        """Return True if `hunk` writes a heading."""
        return any(hunk.new_start < line <= hunk.new_end for line in self._heading_lines[1])

    def text_with(self, hunks: Iterable[ChangedRun]) -> str:
        """Return the old text after only these hunks, which are in order."""
        parts: list[str] = []
        at = 0
        for hunk in hunks:
            parts += self.old_lines[at : hunk.old_start]
            parts += self.new_lines[hunk.new_start : hunk.new_end]
            at = hunk.old_end
        return "".join((*parts, *self.old_lines[at:]))

    @cached_property
    def _old_starts(self) -> list[int]:
        return list(accumulate(map(len, self.old_lines), initial=0))

    @cached_property
    def _heading_lines(self) -> tuple[frozenset[int], frozenset[int]]:
        """Return the 1-based lines of the headings of both versions."""
        old, new = (
            frozenset(
                line
                for section in outline.sections
                if section.heading is not None
                for line in range(section.heading.first_line, section.heading.last_line + 1)
            )
            for outline in (self.old, self.new)
        )
        return old, new

    def _compare(self, anchors: Sequence[tuple[int, int]]) -> Collection[ChangedRun]:
        """Return the hunks; each pair of `anchors` is one line that both versions have."""
        blocks: list[ChangedLines] = []
        ends = (len(self.old_lines), len(self.new_lines))
        for (old, new), (old_end, new_end) in pairwise(((0, 0), *anchors, ends)):
            lines = self.old_lines[old:old_end], self.new_lines[new:new_end]
            blocks += [block.moved(old, new) for block in LineComparison(_LINE_COMPARISONS).differing(*lines)]
        hunks = []
        for index, block in enumerate(blocks):
            floor = blocks[index - 1].old_end if index else 0
            ceiling = blocks[index + 1].old_start if index + 1 < len(blocks) else len(self.old_lines)
            hunks.append(ChangedRun(index, *block, floor, ceiling))
        return hunks


def _anchors(old: Outline, new: Outline) -> list[tuple[int, int]]:
    """Return the 0-based lines of the headings that both have, in the same order."""
    before, after = (_headings(outline) for outline in (old, new))
    anchors = []
    at = 0
    shift = 0
    blocks = LineComparison(_LINE_COMPARISONS).differing(
        [text for _, text in before], [text for _, text in after]
    )
    for start, end, _, last in (*blocks, (len(before), len(before), len(after), len(after))):
        anchors += [(before[index][0], after[index + shift][0]) for index in range(at, start)]
        at, shift = end, last - end
    return anchors


def _headings(outline: Outline) -> list[tuple[int, str]]:
    """Return the 0-based line of each heading, and its text."""
    lines = outline.source.lines
    return [
        (section.heading_line - 1, lines.content(section.heading_line))
        for section in outline.sections
        if section.heading is not None
    ]


def _lines(outline: Outline) -> list[str]:
    text = outline.source.text
    return [
        text[start:end] for start, end in pairwise((*outline.source.lines.starts, len(text))) if start < end
    ]


def task_candidates(change: DocumentChange, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Yield an edit of the task whose box is all that changes."""
    if not hunk.old_end - hunk.old_start == 1 == hunk.new_end - hunk.new_start:
        return
    before, after = _item(change.old, hunk.old_start + 1), _item(change.new, hunk.new_start + 1)
    if before is None or after is None or None in (before.mark, after.mark):
        return
    if before.text == after.text:
        yield CandidateEdits.of("set_task", item=before.text, done=after.mark != " ")


def _item(outline: Outline, line: int) -> ListItem | None:
    """Return the list item that starts at `line`, 1-based."""
    lists = (found for found in outline.lists.all if found.block.first_line <= line <= found.last_line)
    items = (item for found in lists for item in found.items)
    return next((item for item in items if item.first_line == line), None)


def section_candidates(change: DocumentChange, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Yield an edit of the section that is deleted, or whose own text is replaced."""
    if hunk.new_start == hunk.new_end:
        yield from _deleted(change, hunk)
    elif not hunk.is_insertion:
        yield from _rewritten(change, hunk)


def address_of(change: DocumentChange, section: Section) -> dict[str, object]:
    """Return the shortest address of `section`."""
    if or_problem(find_by_path, change.old, [section.title]) is section:
        return {"heading": section.title}
    if or_problem(find_by_path, change.old, section.path) is section:
        return {"headingPath": list(section.path)}
    return {"sectionId": section.section_id}


def _deleted(change: DocumentChange, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Delete the first section whose heading goes, if nothing else goes; its hash proves what it was."""
    headed = (section for section in change.old.sections if section.heading is not None)
    inside = (section for section in headed if hunk.old_start < section.first_line <= hunk.old_end)
    section = next(inside, None)
    if section is not None and section.last_line <= hunk.old_end:
        digest = change.old.section_sha256(section)
        yield CandidateEdits.of("delete_section", **address_of(change, section), sectionSha256=digest)


def _rewritten(change: DocumentChange, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Replace the own text of a section if all of it is in the hunk."""
    section = change.old.section_at(change.old_span(hunk.old_start, hunk.old_end).start)
    span = change.old_span(hunk.old_start, hunk.old_end)
    body, text = section.body, change.old.source.text
    has_all = not (text[body.start : span.start].strip() or text[span.end : body.end].strip())
    if has_all and body.contains(span) and not change.has_heading(hunk):
        markdown = to_lf(change.new_text(hunk)).strip("\n")
        if markdown.strip():
            proven = {**address_of(change, section), "sectionSha256": change.old.body_sha256(section)}
            yield CandidateEdits.of("replace_section", **proven, markdown=markdown)


def line_candidates(change: DocumentChange, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Yield edits of whole lines, guarded by the hashes of lines or by the text that they replace."""
    for each in _slid(change, hunk):
        yield from _hashed(change, each)
    if hunk.old_start < hunk.old_end:
        for each in _widened(change, hunk):
            yield from _hashed(change, each)
    if _has_unique(change, hunk.old_start, hunk.old_end):
        yield _edit_of_lines(change, hunk, f"{hunk.old_start + 1}-{hunk.old_end}", with_text=True)


def diff_candidate(change: DocumentChange, hunk: ChangedRun) -> CandidateEdits:
    """Return the hunk as a unified diff, the most general form, with lines until one of them is unique."""
    start, end = hunk.old_start, hunk.old_end
    if start == end:
        # Text on one side of an insertion does not prove that the other side is unchanged.
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


def _has_unique(change: DocumentChange, first: int, end: int) -> bool:
    """Return True if one of the lines ``[first, end)`` is unique, or all are with enough text."""
    if any(_is_unique(change, line) for line in range(first, end)):
        return True
    text = change.old_text(first, end)
    return len("".join(text.split())) >= _FEWEST_CHARACTERS and change.old.source.text.count(text) == 1


def _signed(sign: str, line: str) -> str:
    return sign + line + ("" if line.endswith("\n") else "\n\\ No newline at end of file\n")


def _hashed(change: DocumentChange, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Yield edits by hashes if these name only one place."""
    first = hunk.old_start
    if first == hunk.old_end:
        yield from _insertion(change, hunk)
        return
    if _has_unique(change, first, hunk.old_end):
        yield _edit_of_lines(change, hunk, _addresses(change, hunk))


def _insertion(change: DocumentChange, hunk: ChangedRun) -> Iterator[CandidateEdits]:
    """Insert between two lines by the hashes of both, or at the start or end of the file by one."""
    at, count = hunk.old_start, len(change.old_lines)
    markdown = _payload(change, hunk)
    if 0 < at < count:
        edge = _edge_of_block(change, hunk)
        if edge is not None:
            yield _between(change, at, *edge, markdown)
            return
        start, end = at - 1, at + 1
        # A blank line does not identify its neighbours.
        while end < hunk.ceiling and not change.old_lines[end - 1].strip() and end - at < _MOST_WIDENED:
            end += 1
        while start > hunk.floor and not change.old_lines[start].strip() and at - start < _MOST_WIDENED:
            start -= 1
        # With several lines, the place is after the first or before the last.
        if at in (start + 1, end - 1) and _has_unique(change, start, end):
            yield _between(change, at, start, end, markdown)
    elif at == count > 0 and change.old_lines[-1].strip():
        line = f"{count}:{_hash(change, count - 1, _DIGITS)},end"
        yield CandidateEdits.of("insert_lines", line=line, markdown=markdown)
    elif at == 0 < count and change.old_lines[0].strip():
        yield CandidateEdits.of(
            "insert_lines", line=f"1:start,{_hash(change, 0, _DIGITS)}", markdown=markdown
        )


def _edge_of_block(change: DocumentChange, hunk: ChangedRun) -> tuple[int, int] | None:
    """Return the lines that prove lines added at the end or start of a block, with the blank line.

    The number of blank lines and the next block change more often than the block. But a separate block lies
    between two others, and both must be present: somebody may have written it too. Items, rows and
    definitions move between sections one by one, so the line before must be present too, or the heading if
    there is only one line.
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


def _end_of_text(change: DocumentChange, hunk: ChangedRun) -> tuple[int, int] | None:
    at = hunk.old_start
    first = _first_unique(change, range(at - 1, max(at - 1 - _MOST_WIDENED, hunk.floor - 1), -1))
    return None if first is None else (first, at + 1)


def _start_of_text(change: DocumentChange, hunk: ChangedRun) -> tuple[int, int] | None:
    at = hunk.old_start
    last = _first_unique(change, range(at, min(at + _MOST_WIDENED, hunk.ceiling)))
    return None if last is None else (at - 1, last + 1)


def _end_of_list(change: DocumentChange, hunk: ChangedRun) -> tuple[int, int] | None:
    """Return the last two lines of a list before two blank ones, or its only line and the one before it."""
    at, lines = hunk.old_start, change.old_lines
    first = at - 2
    while first > hunk.floor and at - first <= _MOST_WIDENED and not lines[first].strip():
        first -= 1
    if first < hunk.floor or not lines[first].strip() or not _has_unique(change, first, at):
        return None
    is_alone = first < at - 2
    is_last = at + 1 < hunk.ceiling and not lines[at + 1].strip()
    return (first, at + 1) if is_alone or is_last else None


def _first_unique(change: DocumentChange, lines: Iterable[int]) -> int | None:
    """Return the first of `lines` that occurs once, before a blank one."""
    block = takewhile(lambda line: change.old_lines[line].strip(), lines)
    return next((line for line in block if _is_unique(change, line)), None)


def _between(change: DocumentChange, at: int, start: int, end: int, markdown: str) -> CandidateEdits:
    """Insert at `at` by the lines ``[start, end)``: after the first of them, or before the last."""
    position = None if at == start + 1 else "before"
    line = f"{start + 1}:{_hashes(change, start, end)}"
    return CandidateEdits.of("insert_lines", line=line, position=position, markdown=markdown)


def _edit_of_lines(
    change: DocumentChange, hunk: ChangedRun, lines: str, *, with_text: bool = False
) -> CandidateEdits:
    old = to_lf(change.old_text(hunk.old_start, hunk.old_end)).removesuffix("\n") if with_text else None
    if hunk.new_start == hunk.new_end:
        return CandidateEdits.of("delete_lines", lines=lines, expectedText=old)
    return CandidateEdits.of("replace_lines", lines=lines, expectedText=old, markdown=_payload(change, hunk))


def _payload(change: DocumentChange, hunk: ChangedRun) -> str:
    """Return the new lines, without their last newline unless an empty line would be lost."""
    text = to_lf(change.new_text(hunk))
    return text[:-1] if text[-1:] == "\n" and text[-2:-1] not in ("", "\n") else text


def _is_unique(change: DocumentChange, line: int) -> bool:
    content = change.old_lines[line].rstrip("\r\n")
    return bool(content.strip()) and change.repeats[content] == 1


def _addresses(change: DocumentChange, hunk: ChangedRun) -> str:
    """Name the lines of `hunk` by the number of the first and a hash of each."""
    if hunk.old_end - hunk.old_start == 1:
        return f"{hunk.old_start + 1}:{_hash(change, hunk.old_start, _DIGITS)}"
    return f"{hunk.old_start + 1}:{_hashes(change, hunk.old_start, hunk.old_end)}"


def _hashes(change: DocumentChange, first: int, end: int) -> str:
    """Return a hash of each line; an empty line needs none, and adds no certainty."""
    contents = [change.old_lines[line].rstrip("\r\n") for line in range(first, end)]
    digits = LEAST_DIGITS if sum(map(bool, contents)) > 1 else _DIGITS
    return ",".join(
        _hash(change, line, digits) if content else "" for line, content in enumerate(contents, start=first)
    )


def _hash(change: DocumentChange, line: int, digits: int) -> str:
    content = change.old_lines[line].rstrip("\r\n")
    return sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:digits]


def _slid(change: DocumentChange, hunk: ChangedRun) -> Iterator[ChangedRun]:
    """Yield `hunk`, and its equivalents some lines earlier or later if it only inserts or deletes."""
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


def _widened(change: DocumentChange, hunk: ChangedRun) -> Iterator[ChangedRun]:
    """Yield `hunk` with unchanged lines before or after it, until one of its lines is unique."""
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


@dataclass(frozen=True, slots=True)
class Segment:
    """Text `span` of the old version that becomes `new`; `floor` and `ceiling` bound its context.

    A segment that `opens` or `closes` with an insertion proves nothing about the text on that side.
    """

    span: Span
    new: str
    floor: int
    ceiling: int
    opens: bool
    closes: bool


class MatchCandidates:
    """Makes patterns that occur once, within an allowance of searches."""

    def __init__(self, change: DocumentChange) -> None:
        """Make patterns of the old text of `change`."""
        self._change = change
        self._text = change.old.source.text
        self._end = Span(len(self._text), len(self._text))
        self._left = 300_000_000

    def of_hunk(self, hunk: ChangedRun) -> Iterator[CandidateEdits]:
        """Yield the hunk as replaced text: as one match, and as the matches that are smallest together."""
        segments = tuple(self.segments(hunk, 1))
        if len(segments) > _MOST_SEGMENTS:
            segments = tuple(self.segments(hunk, _LARGEST_GAP))
        if not segments:
            return
        at_end = any(segment.span == self._end for segment in segments)
        whole = self._edit(self._joined(segments))
        if whole is not None:
            yield CandidateEdits((whole,), is_weak=at_end)
        if 1 < len(segments) <= _MOST_SEGMENTS:
            edits = self._smallest(segments)
            if edits is not None and len(edits) > 1:
                yield CandidateEdits(edits, is_weak=at_end)

    def _smallest(self, segments: Sequence[Segment]) -> tuple[Mapping[str, object], ...] | None:
        """Return edits of all `segments`, with neighbours joined if that is smaller."""
        best: list[tuple[int, tuple[Mapping[str, object], ...]] | None] = [(0, ())]
        for end in range(1, len(segments) + 1):
            ways = []
            for start in range(end - 1, -1, -1):
                part = segments[start:end]
                if len(part) > 1 and part[1].span.start - part[0].span.end > _LARGEST_GAP:
                    break
                before = best[start]
                edit = self._edit(self._joined(part)) if before is not None else None
                if before is not None and edit is not None:
                    ways.append((before[0] + cost_of((edit,)), (*before[1], edit)))
            best.append(min(ways, key=lambda way: way[0], default=None))
        return best[-1][1] if best[-1] is not None else None

    def _joined(self, segments: Sequence[Segment]) -> Segment:
        """Return consecutive `segments` as one, including the text between them."""
        parts = [segments[0].new]
        for before, after in pairwise(segments):
            parts += [self._text[before.span.end : after.span.start], after.new]
        span = Span(segments[0].span.start, segments[-1].span.end)
        first, last = segments[0], segments[-1]
        return Segment(span, "".join(parts), first.floor, last.ceiling, first.opens, last.closes)

    def everywhere(
        self, hunks: Sequence[ChangedRun]
    ) -> Iterator[tuple[tuple[ChangedRun, ...], CandidateEdits]]:
        """Yield replacements of all occurrences of a text, each with the hunks that consist of it."""
        places: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
        sizes: Counter[int] = Counter()
        for hunk in hunks:
            for segment in self.segments(hunk, 1):
                whole = self._words(segment)
                old = self._text[whole.span.start : whole.span.end]
                places[old, whole.new][hunk.index] += 1
                sizes[hunk.index] += 1
        for (old, new), found in places.items():
            count = sum(found.values())
            if count < 2 or not old.strip() or any(sizes[index] != times for index, times in found.items()):
                continue
            covered = tuple(hunk for hunk in hunks if hunk.index in found)
            first = next(self.segments(covered[0], 1))
            yield (
                covered,
                CandidateEdits.of(
                    "replace_match",
                    pattern=to_lf(old),
                    replacement=to_lf(new),
                    expectedMatchCount=count,
                    include=self._include(self._words(first).span),
                ),
            )

    def segments(self, hunk: ChangedRun, gap: int) -> Iterator[Segment]:
        """Yield the parts of `hunk` that differ by words; less than `gap` characters apart they are one."""
        change = self._change
        start = change.old_span(hunk.old_start, hunk.old_end).start
        old = _WORD.findall(change.old_text(hunk.old_start, hunk.old_end))
        new = _WORD.findall(change.new_text(hunk))
        runs: list[tuple[int, int, int, int]] = []
        old_at, new_at = (list(accumulate(map(len, words), initial=0)) for words in (old, new))
        for block in LineComparison(_WORD_COMPARISONS).differing(old, new):
            at = (
                old_at[block.old_start],
                old_at[block.old_end],
                new_at[block.new_start],
                new_at[block.new_end],
            )
            if runs and at[0] - runs[-1][1] < gap:
                runs[-1] = (runs[-1][0], at[1], runs[-1][2], at[3])
            else:
                runs.append(at)
        text = change.new_text(hunk)
        floor = self._start_of(hunk.floor)
        for index, (first, last, begin, end) in enumerate(runs):
            is_last = index + 1 == len(runs)
            # Two edits must not share their context.
            ceiling = self._start_of(hunk.ceiling) if is_last else start + (last + runs[index + 1][0]) // 2
            is_new = first == last
            yield Segment(Span(start + first, start + last), text[begin:end], floor, ceiling, is_new, is_new)
            floor = ceiling

    def _start_of(self, line: int) -> int:
        return self._change.old_span(line, line).start

    def _words(self, segment: Segment) -> Segment:
        """Return `segment` with all of the words that it cuts."""
        start, end = segment.span.start, segment.span.end
        while start > segment.floor and _is_word(self._text[start - 1]):
            start -= 1
        while end < segment.ceiling and _is_word(self._text[end]):
            end += 1
        return self._with_context(segment, start, end)

    def _with_context(self, segment: Segment, start: int, end: int) -> Segment:
        text, span = self._text, segment.span
        new = text[start : span.start] + segment.new + text[span.end : end]
        return replace(segment, span=Span(start, end), new=new)

    def _edit(self, segment: Segment) -> dict[str, object] | None:
        """Replace the shortest pattern around `segment` that occurs once."""
        # Text on one side of an insertion does not prove that the other side is unchanged.
        is_one_sided = not (segment.opens or segment.closes) or segment.span == self._end
        ways = _WAYS if is_one_sided else _WAYS[:1]
        inside = self._in_line(segment)
        found = [self._grown(each, way) for each in dict.fromkeys((inside, segment)) for way in ways]
        edits = []
        for each in found:
            if each is not None:
                fields: dict[str, object] = {
                    "op": "replace_match",
                    "pattern": to_lf(self._text[each.span.start : each.span.end]),
                    "replacement": to_lf(each.new),
                }
                include = self._include(each.span)
                scope = self._section_of(each)
                edits.append({**fields, **scope, **({"include": include} if include else {})})
        # A pattern of one line survives what is done to the next one.
        return min(edits, key=lambda edit: (cost_of((edit,)) + _breaks(edit), _breaks(edit)), default=None)

    def _section_of(self, segment: Segment) -> Mapping[str, object]:
        """Return the section of a row: rows move from table to table, and mean something else there."""
        section = self._change.old.section_at(segment.span.start)
        is_named = section.heading is not None and self._is_row(segment)
        return address_of(self._change, section) if is_named else {}

    def _is_row(self, segment: Segment) -> bool:
        return self._text.startswith("|", self._text.rfind("\n", 0, segment.span.start) + 1)

    def _in_line(self, segment: Segment) -> Segment:
        """Return `segment` with context only from its own lines."""
        start, end = segment.span.start, segment.span.end
        floor = max(self._text.rfind("\n", 0, start) + 1, segment.floor)
        behind = self._text.find("\n", end)
        ceiling = min(behind if behind >= 0 else len(self._text), segment.ceiling)
        return replace(segment, floor=floor, ceiling=max(ceiling, end))

    def _grown(self, segment: Segment, way: tuple[bool, bool]) -> Segment | None:
        """Return `segment` with words before it, after it or both, until its pattern occurs once."""
        text = self._text
        words = self._words(segment)
        start, end = words.span.start, words.span.end
        back, forth = way
        for _ in range(_MOST_WORDS):
            if end - start > max(_MOST_CHARACTERS, 2 * len(segment.span)):
                return None
            if self._is_pattern(segment, start, end):
                return self._with_context(segment, *self._shrunk(segment, start, end))
            before, after = start, end
            if back and start > segment.floor:
                start = _next(_starts_word, text, start, segment.floor)
            if forth and end < segment.ceiling:
                end = _next(_ends_word, text, end, segment.ceiling)
            if (start, end) == (before, after):
                return self._last_line(segment)
        return None

    def _shrunk(self, segment: Segment, start: int, end: int) -> tuple[int, int]:
        """Drop words at the edges of the pattern that it does not need."""
        words = self._words(segment)
        while start < words.span.start:
            nearer = _next(_starts_word, self._text, start, words.span.start)
            if not self._is_pattern(segment, nearer, end):
                break
            start = nearer
        while end > words.span.end:
            nearer = _next(_ends_word, self._text, end, words.span.end)
            if not self._is_pattern(segment, start, nearer):
                break
            end = nearer
        return start, end

    def _is_pattern(self, segment: Segment, start: int, end: int) -> bool:
        text = self._text
        # White space pads the cells of tables, and rows have much else in common, which says little.
        fewest = _FEWEST_OF_ROW if self._is_row(segment) else _FEWEST_CHARACTERS
        is_long = len(" ".join(text[start:end].split())) >= fewest
        return is_long and self._is_inside(segment, start, end) and self._is_unique(start, end)

    def _last_line(self, segment: Segment) -> Segment | None:
        """Return a `segment` at the end of the text with all of its line; the whole file has to guard it."""
        start = max(self._text.rfind("\n", 0, segment.span.start) + 1, segment.floor)
        is_last = segment.span == self._end and start < self._end.start
        found = is_last and self._is_unique(start, self._end.end)
        return self._with_context(segment, start, self._end.end) if found else None

    def _is_inside(self, segment: Segment, start: int, end: int) -> bool:
        """Return True if the pattern has no newline at its edges, and proves both sides of an insertion."""
        text, span = self._text, segment.span
        if text[start] in "\r\n" or text[end - 1] in "\r\n":
            return False
        if span == self._end:
            return True
        # Part of a run of marks would be found in a longer run.
        if _is_mark(text[start]) and start > 0 and (text[start - 1] == " " or _is_mark(text[start - 1])):
            return False
        if _is_mark(text[end - 1]) and end < len(text) and _is_mark(text[end]):
            return False
        is_before = text[start : span.start].strip() or not segment.opens
        is_behind = text[span.end : end].strip() or not segment.closes
        return bool(is_before and is_behind)

    def _is_unique(self, start: int, end: int) -> bool:
        self._left -= len(self._text)
        if self._left < 0:
            return False
        pattern = self._text[start:end]
        first = self._text.find(pattern)
        # If the result contains it too, a second run would make the edit again.
        is_gone = self._change.new.source.text.find(pattern) < 0
        return first == start and self._text.find(pattern, start + 1) < 0 and is_gone

    def _include(self, span: Span) -> list[str] | None:
        """Return the kind of node that has to be included to find `span`."""
        kind = exclusion_of(self._change.old, span, EXCLUDED_BY_DEFAULT)
        return None if kind is None or kind == UNDECIDED else [str(kind)]


def _is_mark(character: str) -> bool:
    return not (_is_word(character) or character.isspace())


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _breaks(edit: Mapping[str, object]) -> int:
    """Count the newlines in the pattern of `edit`."""
    return str(edit["pattern"]).count("\n")


def _starts_word(text: str, at: int) -> bool:
    return _is_word(text[at]) and not _is_word(text[at - 1])


def _ends_word(text: str, at: int) -> bool:
    return _is_word(text[at - 1]) and not _is_word(text[at])


def _next(is_edge: Callable[[str, int], bool], text: str, at: int, bound: int) -> int:
    """Return the edge of a word next to `at` in the direction of `bound`, or `bound` itself."""
    step = 1 if at < bound else -1
    at += step
    while at != bound and not is_edge(text, at):
        at += step
    return at
