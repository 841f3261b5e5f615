"""Headings of a text, made of the parser's events without any other block."""

import re
from collections.abc import Iterator
from typing import Any, Final

from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.deadline import with_deadline
from mdplan.markdown.blocks.event_tree import DELIMITER_ROW, is_doubtful_table, read_heading, without_prefixes
from mdplan.markdown.blocks.pulldown import PreparedText, Range, Tag, event_batches, is_nested_too_deep
from mdplan.text.lines import Span

# HTML that ends with the first of these closing tags (CommonMark 0.31.2, section 4.6). The parser waits for
# the one that closes its own tag.
_RAW_HTML: Final = re.compile(r"[ \t]*<(?:script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_RAW_HTML_END: Final = re.compile(r"</(?:script|pre|style|textarea)>[^\n]*", re.IGNORECASE)
_UNDERLINE: Final = re.compile(r"\n[ \t>]*(?:=+|-+)[ \t]*(?=\n|\Z)")
# Where a tab takes a quote mark four columns in or more, it is text; to the parser it is a mark all the same.
# So it is to markdown-it-py, but for an underline in a list.
_MARK_AFTER_TAB: Final = re.compile(r"\n[ \t>]*\t[ \t]*>")
# A dash and a blank begin a list item, in which a heading can be; to the parser they can be a delimiter row.
_ITEM_AS_DELIMITER: Final = re.compile(r"[^\n]*\n[ \t>]*-[ \t]")
# Containers whose ends are names alone.
_CONTAINERS: Final = frozenset({"Item", "FootnoteDefinition"})


class DoubtfulText(Exception):  # noqa: N818 - Callers treat it as a result: they ask the other parser.
    """The parser may take too long for the text, or read its headings otherwise than GitHub does."""


@with_deadline
def parse_headings(text: str, start: int, lines_before: int) -> list[Block]:
    """Headings of `text`, a part of a document from the offset `start` on, after `lines_before` lines.

    Raises `ParserFailure` and `DoubtfulText`.
    """
    reader = _Reader(PreparedText(text), start, lines_before)
    if is_nested_too_deep(reader.prepared.text):
        raise DoubtfulText
    batches: Iterator[tuple[tuple[Any, Range], ...]] = event_batches(reader.prepared.text)
    for batch in batches:
        # Events that are names alone have neither of the two words in them.
        for event, place in batch:
            if "Start" in event:
                reader.take_start(event["Start"], place)
            elif "End" in event:
                reader.take_end(event["End"])
    return reader.headings


class _Reader:
    def __init__(self, prepared: PreparedText, start: int, lines_before: int) -> None:
        self.prepared = prepared
        self.headings: list[Block] = []
        self._source = prepared.source
        self._start = start
        # The offset up to which line ends were counted, and the number of its line.
        self._at, self._line = 0, lines_before + 1
        # Of each container around, whether it is a quote. Their ranges can overlap: only ends count.
        self._quotes: list[bool] = []

    def take_start(self, tag: Tag, place: Range) -> None:
        """The next start of a block or an inline node."""
        if isinstance(tag, str):
            if tag == "Item":
                self._quotes.append(False)
            elif tag == "HtmlBlock":
                self._take_html(place)
        elif "Heading" in tag:
            self._take_heading(place)
        elif "Table" in tag:
            self._take_table(place)
        elif "FootnoteDefinition" in tag:
            self._take_footnote(place)
        elif "List" in tag or "BlockQuote" in tag:
            self._quotes.append("BlockQuote" in tag)

    def take_end(self, tag: Tag) -> None:
        """The next end of one."""
        if tag in _CONTAINERS if isinstance(tag, str) else "Heading" not in tag:
            self._quotes.pop()

    def _take_footnote(self, place: Range) -> None:
        """Two definitions in one line are in each other to GitHub, and side by side to the parser."""
        start, _ = self.prepared.bounds(place)
        if "]:" in self._source[self._source.rfind("\n", 0, start) + 1 : start]:
            raise DoubtfulText
        self._quotes.append(False)

    def _take_table(self, place: Range) -> None:
        """After a row that is none to GitHub, text that is a row to the parser can be a heading."""
        start, end = self.prepared.bounds(place)
        line_end = self._source.find("\n", end)
        text = self._source[start : line_end if line_end >= 0 else len(self._source)]
        has_item = _ITEM_AS_DELIMITER.match(text)
        if has_item or _UNDERLINE.search(text):
            start = self._source.rfind("\n", 0, start) + 1
            if has_item or is_doubtful_table(self._source[start:end].replace("\r", "").split("\n")):
                raise DoubtfulText

    def _take_heading(self, place: Range) -> None:
        start, end = self.prepared.bounds(place)
        text = self._source[start:end].strip(" \t\r\n")
        if "\n" in text:
            if _MARK_AFTER_TAB.search(text):
                raise DoubtfulText
            text = without_prefixes(text, sum(self._quotes))
            if DELIMITER_ROW.search(text):
                raise DoubtfulText
        line_start = self._source.rfind("\n", 0, start) + 1
        line_end = self._source.find("\n", start + len(self._source[start:end].rstrip(" \t\r\n")))
        line_end = line_end + 1 if line_end >= 0 else len(self._source)
        self._line += self._source.count("\n", self._at, line_start)
        self._at = line_start
        level, markup, content = read_heading(text)
        self.headings.append(
            Block(
                kind=BlockKind.HEADING,
                first_line=self._line,
                last_line=self._line + text.count("\n"),
                span=Span(self._start + line_start, self._start + line_end),
                depth=len(self._quotes),
                level=level,
                markup=markup,
                content=content,
            )
        )

    def _take_html(self, place: Range) -> None:
        start, end = self.prepared.bounds(place)
        if not _RAW_HTML.match(self._source, start, end):
            return
        found = _RAW_HTML_END.search(self._source, start, end)
        if found and self._source[found.end() : end].strip():
            raise DoubtfulText
