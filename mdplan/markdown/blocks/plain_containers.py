"""Blocks of lists and quotes that need no parser to be told (CommonMark 0.31.2, sections 5.1 to 5.3).

Most lists and quotes hold paragraphs, fences, and lists and quotes again, and are indented with spaces. Of
these the blocks are told here, exactly as the reference pass gives them. Whatever else shows in their lines
leaves all of them to that pass.
"""

import re
from collections.abc import Sequence
from typing import Final

from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.parse_time import in_time
from mdplan.markdown.blocks.plain_text_blocks import NO_DEFINITION
from mdplan.markdown.blocks.scanner_html import ending_of, is_named, is_tag_alone
from mdplan.markdown.blocks.scanner_lines import TRIMMED
from mdplan.markdown.blocks.undecided import Undecided
from mdplan.text.lines import LineIndex, LinesOfPart

# A tab in what may be indentation or the marks of containers.
_TAB: Final = re.compile(r"^[ >+*.)0-9-]*\t", re.MULTILINE)
# An item that has text on its first line, which is no code.
_ITEM: Final = re.compile(r"([-+*]|([0-9]{1,9})([.)])) {1,4}(?! )(?=.)", re.DOTALL)
# Fences, and what is left to the parser: headings, underlines, rules, empty items and those that begin with
# code, rows below the header of a table.
_FENCE: Final = re.compile(r"(`{3,})([^`]*)\Z|(~{3,})(.*)\Z", re.DOTALL)
_UNCERTAIN: Final = re.compile(
    r"#{1,6}(?:[ \t]|\Z)|[=-]+[ \t]*\Z|(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})\Z"
    r"|(?:[-+*]|[0-9]{1,9}[.)])(?:[ \t]*\Z| {5})|[|:-][|: \t-]*\Z"
)
_CODE_FROM: Final = 4
_MOST_CONTAINERS: Final = 30


def plain_blocks(text: str, lines: LineIndex | LinesOfPart, lines_before: int) -> tuple[Block, ...] | None:
    """Blocks of `text`, a quote or lists at the root; None where only the reference pass can tell them.

    `text` is in LF: the lines after the first `lines_before` of `lines`, or some of them.
    """
    if _TAB.search(text):
        return None
    reader = _Reader()
    rows = text.split("\n")
    while rows and not rows[-1].strip(" \t"):
        rows.pop()
    try:
        reader.read(rows, 0, 0)
    except Undecided:
        return None
    return tuple(_block(found, lines, lines_before) for found in reader.found)


class _Found:
    """One block. Its lines are 0-based indexes; `last` is known when it ends."""

    __slots__ = ("code", "content", "depth", "first", "kind", "last", "markup")

    def __init__(self, kind: BlockKind, first: int, depth: int, markup: str = "") -> None:
        self.kind, self.first, self.last, self.depth, self.markup = kind, first, first, depth, markup
        self.content = self.code = ""


class _Open:
    """A list and its last item, whose text begins in column `offset`."""

    __slots__ = ("item", "listing", "offset")

    def __init__(self, listing: _Found, item: _Found, offset: int) -> None:
        self.listing, self.item, self.offset = listing, item, offset


class _Frame:
    """The inside of one quote, or of the document: its lines, and the lists that are open."""

    def __init__(self, rows: list[str], first: int, depth: int) -> None:
        self.rows, self.first, self.depth = rows, first, depth
        self.opened: list[_Open] = []
        self.paragraph: _Found | None = None
        self.parts: list[str] = []

    @property
    def offset(self) -> int:
        """Column at which the innermost item has its text."""
        return self.opened[-1].offset if self.opened else 0


class _Reader:
    """Finds blocks in their order. Its methods raise `Undecided` where something is not certain."""

    def __init__(self) -> None:
        self.found: list[_Found] = []

    def read(self, rows: list[str], first: int, depth: int) -> None:
        """Blocks of `rows`, the first of which is the line `first`, inside of `depth` containers."""
        frame = _Frame(rows, first, depth)
        at = 0
        while at < len(rows):
            in_time()
            row = rows[at]
            content = row.lstrip(" ")
            if not content.strip("\t "):
                _end_paragraph(frame)
                at += 1
            else:
                at += self._take(frame, at, len(row) - len(content), content)
        _end_paragraph(frame)
        _close(frame, 0, len(rows))

    def _take(self, frame: _Frame, at: int, indentation: int, content: str) -> int:
        """How many lines are read; 0 where the first one has to be read again."""
        held = len(frame.opened)
        while held and frame.opened[held - 1].offset > indentation:
            held -= 1
        base = frame.opened[held - 1].offset if held else 0
        goes_on = frame.paragraph is not None and held == len(frame.opened)
        is_code = indentation - base >= _CODE_FROM
        if not (is_code and goes_on) and (is_code or _is_uncertain(frame, content)):
            raise Undecided
        item = None if is_code else _ITEM.match(content)
        fence = None if is_code else _FENCE.match(content)
        if item is not None and not (goes_on and item[2] and int(item[2]) != 1):
            self._take_item(frame, at, indentation, item, held)
            return 0
        if content.startswith(">") and not is_code:
            return self._take_quote(frame, at, base, held)
        if fence is not None:
            return self._take_fence(frame, at, indentation, fence, held)
        if frame.paragraph is None:
            _close(frame, held, at)
            self._begin_paragraph(frame, at, base)
        else:
            # It may be lazy.
            frame.parts.append(frame.rows[at][min(indentation, frame.offset) :])
            frame.paragraph.last = frame.first + at
        return 1

    def _begin_paragraph(self, frame: _Frame, at: int, base: int) -> None:
        depth = frame.depth + 2 * len(frame.opened)
        if not depth:
            raise Undecided
        frame.paragraph = _Found(BlockKind.PARAGRAPH, frame.first + at, depth)
        self.found.append(frame.paragraph)
        frame.parts = [frame.rows[at][base:]]

    def _take_item(self, frame: _Frame, at: int, indentation: int, marker: re.Match[str], held: int) -> None:
        line, depth = frame.first + at, frame.depth + 2 * held
        sign = marker[3] or marker[1]
        _end_paragraph(frame)
        if depth > _MOST_CONTAINERS:
            raise Undecided
        sibling = frame.opened[held] if held < len(frame.opened) else None
        if sibling is not None and sibling.listing.markup == sign:
            _close(frame, held + 1, at)
            sibling.item.last = line - 1
            listing = sibling.listing
            frame.opened.pop()
        else:
            _close(frame, held, at)
            listing = _Found(BlockKind.LIST, line, depth, sign)
            self.found.append(listing)
        item = _Found(BlockKind.LIST_ITEM, line, depth + 1, sign)
        self.found.append(item)
        offset = indentation + marker.end()
        frame.opened.append(_Open(listing, item, offset))
        # What follows the marker is read as a line of the item.
        frame.rows[at] = " " * offset + frame.rows[at][offset:]

    def _take_quote(self, frame: _Frame, at: int, base: int, held: int) -> int:
        _end_paragraph(frame)
        _close(frame, held, at)
        rows, stop = frame.rows, at
        inside: list[str] = []
        while stop < len(rows):
            content = rows[stop].lstrip(" ")
            if not content.startswith(">") or len(rows[stop]) - len(content) < base:
                break
            inside.append(content[2:] if content.startswith("> ") else content[1:])
            stop += 1
        # Another line right behind it may be lazy, and a blank one at its end belongs to more than it.
        if (stop < len(rows) and rows[stop].strip(" \t")) or not inside[-1].strip(" \t"):
            raise Undecided
        depth = frame.depth + 2 * held
        quote = _Found(BlockKind.QUOTE, frame.first + at, depth, ">")
        quote.last = frame.first + stop - 1
        self.found.append(quote)
        if depth >= _MOST_CONTAINERS:
            raise Undecided
        self.read(inside, quote.first, depth + 1)
        return stop - at

    def _take_fence(self, frame: _Frame, at: int, indentation: int, opening: re.Match[str], held: int) -> int:
        _end_paragraph(frame)
        _close(frame, held, at)
        depth = frame.depth + 2 * held
        marks = opening[1] or opening[3]
        stop = _closing_fence(frame.rows, at + 1, frame.offset, marks)
        if not depth:
            raise Undecided
        fence = _Found(BlockKind.FENCE, frame.first + at, depth, marks)
        fence.last = frame.first + stop
        fence.content = opening[2] if opening[1] else opening[4]
        code = (_without_indentation(row, indentation) for row in frame.rows[at + 1 : stop])
        fence.code = "".join(f"{row}\n" for row in code)
        self.found.append(fence)
        return stop + 1 - at


def _is_uncertain(frame: _Frame, content: str) -> bool:
    if _UNCERTAIN.match(content):
        return True
    return content.startswith("<") and (
        ending_of(content) is not None
        or is_named(content)
        # What interrupts no paragraph.
        or (frame.paragraph is None and is_tag_alone(content))
    )


def _end_paragraph(frame: _Frame) -> None:
    if frame.paragraph is None:
        return
    text = "\n".join(frame.parts)
    frame.paragraph.content = text.strip(TRIMMED)
    frame.paragraph = None
    text = text.lstrip(" ")
    if text.startswith("[") and NO_DEFINITION.match(text) is None:
        raise Undecided


def _close(frame: _Frame, held: int, at: int) -> None:
    """The end, before the line `at`, of all lists in more than `held` others."""
    while len(frame.opened) > held:
        opened = frame.opened.pop()
        opened.item.last = opened.listing.last = frame.first + at - 1


def _closing_fence(rows: Sequence[str], at: int, offset: int, marks: str) -> int:
    """Index of the line that closes the fence of `marks` in an item with text at `offset`."""
    for index in range(at, len(rows)):
        content = rows[index].lstrip(" ")
        indentation = len(rows[index]) - len(content)
        if not content.strip("\t "):
            continue
        if indentation < offset:
            break
        tail = content.lstrip(marks[0])
        is_long = len(content) - len(tail) >= len(marks)
        if is_long and not tail.strip(" \t") and indentation - offset < _CODE_FROM:
            return index
    raise Undecided


def _without_indentation(row: str, columns: int) -> str:
    return row[min(columns, len(row) - len(row.lstrip(" "))) :]


def _block(found: _Found, lines: LineIndex | LinesOfPart, before: int) -> Block:
    first, last = found.first + before + 1, min(found.last + before + 1, lines.count)
    if found.kind in {BlockKind.LIST, BlockKind.LIST_ITEM, BlockKind.QUOTE}:
        # Blank lines behind a container belong to nobody.
        while last > first and not lines.content(last).strip(" \t"):
            last -= 1
    return Block(
        kind=found.kind,
        first_line=first,
        last_line=last,
        span=lines.span(first, last),
        depth=found.depth,
        markup=found.markup,
        content=found.content,
        code=found.code,
    )
