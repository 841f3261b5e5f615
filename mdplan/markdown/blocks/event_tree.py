"""The tree of blocks that the events of pulldown-cmark describe, with line numbers inside one part."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from mdplan.markdown.blocks.block import CONTAINERS, BlockKind
from mdplan.markdown.blocks.pulldown import Event, PreparedText, Range, event_batches

# The parser wants a pipe before the header of a table that follows on text; GitHub does not. And where such a
# header is a lazy line of a quote, the parser ends the quote, and begins another with the delimiter row.
DELIMITER_ROW: Final = re.compile(r"(?:\n(?=[ \t-]*[|:])|\A(?=[^\n|]*\|))[|:-][|: \t-]*(?=\n|\Z)")
# No delimiter row: a dash and a blank begin a list item; one cell has dashes side by side, and colons around.
_BROKEN_DELIMITER: Final = re.compile(r"^[ \t>]*-[ \t]|[:-][ \t]+[:-]|-:-|::|(?:^|\|)[ \t]*:[ \t]*(?:\||$)")
_KINDS: Final = {
    "Paragraph": BlockKind.PARAGRAPH,
    "Heading": BlockKind.HEADING,
    "BlockQuote": BlockKind.QUOTE,
    "CodeBlock": BlockKind.FENCE,
    "HtmlBlock": BlockKind.HTML,
    "List": BlockKind.LIST,
    "Item": BlockKind.LIST_ITEM,
    "FootnoteDefinition": BlockKind.FOOTNOTE,
    "Table": BlockKind.TABLE,
}
# HTML that can contain blank lines, and ends with one where its own end is missing (section 4.6).
_HTML_WITH_BLANK_LINES: Final = re.compile(
    r"<(?:[!?]|(?:script|pre|style|textarea)(?=[\s>]|$))", re.IGNORECASE
)
# A range that begins inside a tab begins with the mark before it.
_MARKER: Final = re.compile(r"[ \t>]*([-+*]|[0-9]{1,9}[.)])")
_FENCE: Final = re.compile(r"`{3,}|~{3,}")
_WHITE: Final = re.compile(r"[ \t\r\n]*")
_QUOTE_MARK: Final = re.compile(r"[ \t]*>")
# CommonMark 0.31.2, section 4.2: closing marks are after a blank.
_CLOSING_MARKS: Final = re.compile(r"[ \t]#+\Z")


@dataclass(slots=True, eq=False)
class BlockNode:
    """One block and the blocks in it. Lines are 0-based and inclusive.

    Until the tree is complete, `last_line` of a container is the last line that the parser counts to it,
    which can be a blank one after its last block. Other fields are those of `Block`.
    """

    kind: BlockKind
    first_line: int
    last_line: int
    children: "list[BlockNode]" = field(default_factory=list)
    level: int = 0
    markup: str = ""
    content: str = ""
    cells: tuple[str, ...] = ()
    code: str = ""

    def leaves(self) -> "Iterator[BlockNode]":
        """Blocks in it, and in those, without blocks of their own; it itself if it has none."""
        stack = [self]
        while stack:
            node = stack.pop()
            if node.children:
                stack += reversed(node.children)
            else:
                yield node


class PartLines:
    """Lines of a prepared text. Numbers are 0-based; a final line end opens no line."""

    def __init__(self, text: str) -> None:
        """Split `text`."""
        lines = text.split("\n")
        self.starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
        if not lines[-1]:
            lines.pop()
            self.starts.pop()
        self.texts = [line.removesuffix("\r") for line in lines] if "\r" in text else lines
        self._length = len(text)

    def end(self, line: int) -> int:
        """Offset after `line` and its line end."""
        return min(self.starts[line + 1], self._length)


def read_tree(prepared: PreparedText, lines: PartLines) -> list[BlockNode]:
    """Root blocks of a text with the blocks in them, but without link reference definitions.

    `lines` are those of `prepared`. Raises `ParserFailure`.
    """
    reader = _Reader(prepared, lines)
    for batch in event_batches(prepared.text):
        for event, place in batch:
            reader.take(event, place)
    return reader.roots


class _Reader:
    """Makes nodes of events. A paragraph in a tight list has no event: its inline events tell where it is."""

    def __init__(self, prepared: PreparedText, lines: PartLines) -> None:
        self.prepared = prepared
        self.roots: list[BlockNode] = []
        self._text = prepared.source
        self._lines = lines
        self._containers: list[BlockNode] = []
        # The leaf block that is being read, its event, and where it starts and ends.
        self._leaf: BlockNode | None = None
        self._leaf_event = ""
        self._start = self._end = 0
        self._cells: list[str] = []
        self._code: list[str] = []
        self._is_header = False

    def take(self, event: Event, place: Range) -> None:
        """The next event."""
        if isinstance(event, str):
            if event == "Rule":
                self._close_leaf()
                self._open_leaf(BlockKind.RULE, event, place)
                self._close_leaf()
            else:
                self._take_inline(place)
        elif "Start" in event:
            tag = event["Start"]
            name = tag if isinstance(tag, str) else next(iter(tag))
            self._take_start(name, place, is_indented=tag == {"CodeBlock": "Indented"})
        elif "End" in event:
            end = event["End"]
            self._take_end(end if isinstance(end, str) else next(iter(end)))
        elif self._leaf_event == "CodeBlock" and "Text" in event:
            self._code.append(self._code_of(event["Text"], place))
        else:
            self._take_inline(place)

    def _take_start(self, name: str, place: Range, *, is_indented: bool) -> None:
        kind = _KINDS.get(name)
        if self._leaf_event:
            self._is_header = self._is_header or name == "TableHead"
            if name == "TableCell" and self._is_header:
                self._cells.append(self._text_of(place))
        elif kind is None:
            self._take_inline(place)
        else:
            self._close_leaf()
            if kind in CONTAINERS:
                self._open_container(kind, place)
            else:
                self._open_leaf(BlockKind.INDENTED_CODE if is_indented else kind, name, place)

    def _take_end(self, name: str) -> None:
        if name == "TableHead":
            self._is_header = False
        elif self._leaf_event:
            if name == self._leaf_event:
                self._close_leaf()
        elif _KINDS.get(name) in CONTAINERS:
            self._close_leaf()
            self._containers.pop()

    def _take_inline(self, place: Range) -> None:
        """Inline content: of a leaf block whose place is known, or of the paragraph of a tight item."""
        if self._leaf_event:
            return
        if self._leaf is None:
            self._open_leaf(BlockKind.PARAGRAPH, "", place)
            # The range of an escaped character begins after the backslash.
            self._start -= self._text.startswith("\\", self._start - 1) if self._start else 0
        # A paragraph ends with a line, which the ranges of some references do not reach.
        _, end = self.prepared.bounds(place)
        end = self._text.find("\n", max(end - 1, self._start))
        self._end = max(self._end, end if end >= 0 else len(self._text))

    def _open_container(self, kind: BlockKind, place: Range) -> None:
        start, end = self._bounds(place)
        markup = ">" if kind is BlockKind.QUOTE else ""
        if kind in {BlockKind.LIST, BlockKind.LIST_ITEM} and (marker := _MARKER.match(self._text, start)):
            markup = marker[1][-1]
        node = BlockNode(kind, self._line(start), self._line(max(start, end - 1)), markup=markup)
        self._siblings().append(node)
        self._containers.append(node)

    def _open_leaf(self, kind: BlockKind, event: str, place: Range) -> None:
        self._start, self._end = self._bounds(place)
        self._leaf_event = event
        self._leaf = BlockNode(kind, 0, 0)
        self._cells, self._code = [], []

    def _close_leaf(self) -> None:
        """Add the leaf block that was read last, if any."""
        node = self._leaf
        if node is None:
            return
        self._leaf, self._leaf_event = None, ""
        source = self._text[self._start : self._end]
        if node.kind is not BlockKind.FENCE and not _HTML_WITH_BLANK_LINES.match(source):
            source = source.rstrip(" \t\r\n")
        quotes = sum(container.kind is BlockKind.QUOTE for container in self._containers)
        if node.kind is BlockKind.HTML and quotes:
            source = _without_blank_end(source, quotes)
        node.first_line = self._line(self._start)
        node.last_line = self._line(self._start + max(len(source) - 1, 0))
        if node.kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}:
            node.content = without_prefixes(source, quotes)
        if node.kind is BlockKind.HEADING:
            node.level, node.markup, node.content = read_heading(node.content)
        if node.kind is BlockKind.TABLE:
            node.cells = tuple(self._cells)
        elif node.kind is BlockKind.RULE:
            node.markup = source[:1]
        elif node.kind is BlockKind.FENCE and (fence := _FENCE.match(source)):
            node.markup = fence[0]
            node.content = source[fence.end() :].partition("\n")[0].removesuffix("\r")
            node.code = "".join(self._code)
            node.code += "\n" if node.code and not node.code.endswith("\n") else ""
        self._siblings().append(node)

    def _siblings(self) -> list[BlockNode]:
        return self._containers[-1].children if self._containers else self.roots

    def _bounds(self, place: Range) -> tuple[int, int]:
        """Start and end in code points; a range can begin with white space of the line before."""
        start, end = self.prepared.bounds(place)
        white = _WHITE.match(self._text, start, end)
        return (white.end() if white else start), end

    def _line(self, offset: int) -> int:
        return bisect_right(self._lines.starts, offset) - 1

    def _text_of(self, place: Range) -> str:
        start, end = self.prepared.bounds(place)
        return self._text[start:end].replace("\\|", "|").strip(" \t\v\f")

    def _code_of(self, text: str, place: Range) -> str:
        """A piece of code as it is in the source, if it is there: a tab can be spaces in part."""
        start, end = self.prepared.bounds(place)
        source = self._text[start:end]
        return source if len(source) == len(text) else text


def is_doubtful_table(rows: Sequence[str]) -> bool:
    """Whether GitHub may see no table in `rows`, or fewer rows: one indented like code is none to it."""
    least = max(_indentation(rows[0]) + 1, 4)
    return _BROKEN_DELIMITER.search(rows[1]) is not None or any(
        _indentation(row) >= least for row in rows[2:]
    )


def _indentation(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))


def without_prefixes(source: str, quotes: int) -> str:
    """`source` in LF; lines but the first without white space and up to so many quote marks before them."""
    first, *others = source.rstrip(" \t\r\n").split("\n")
    if not others:
        return first
    return "\n".join([first.removesuffix("\r"), *(_without_prefix(line, quotes) for line in others)])


def _without_prefix(line: str, quotes: int) -> str:
    for _ in range(quotes):
        mark = _QUOTE_MARK.match(line)
        if mark is None:
            break
        line = line[mark.end() :]
    return line.removesuffix("\r").lstrip(" \t")


def _without_blank_end(html: str, quotes: int) -> str:
    """`html` without a last line of quote marks alone: its range can have the blank line that ends it."""
    before, _, last = html.rpartition("\n")
    if not before or _without_prefix(last, quotes) or _HTML_WITH_BLANK_LINES.match(html):
        return html
    return before


def read_heading(source: str) -> tuple[int, str, str]:
    """Level, markup and raw inline text of the heading that `source` is (CommonMark 0.31.2, 4.2 and 4.3)."""
    if "\n" in source:
        content, _, underline = source.rpartition("\n")
        mark = underline.strip(" \t")[0]
        return 1 if mark == "=" else 2, mark, content.strip(" \t\n")
    line = source.strip(" \t")
    title = line.lstrip("#")
    level = len(line) - len(title)
    if title.endswith("#"):
        title = _CLOSING_MARKS.sub("", title)
    return level, line[:level], title.strip(" \t\n")
