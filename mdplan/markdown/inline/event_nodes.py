"""Inline nodes with their spans, from the events of the parser (CommonMark 0.31.2, section 6; GFM).

The parser reports where a node starts and ends. Where its text, label, destination and title are follows from
the syntax that the parser has accepted. A node whose parts do not agree with the parser is undecided.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from mdplan.markdown.blocks.deadline import check_deadline, with_deadline
from mdplan.markdown.blocks.pulldown import PreparedText, event_batches
from mdplan.markdown.inline.bare_urls import URL_SIGN, bare_url, mail_addresses
from mdplan.markdown.inline.inline_node import InlineKind, InlineNode, document_order
from mdplan.markdown.inline.link_parts import link_target, normalized_label
from mdplan.markdown.inline.wiki_links import is_escaped, wiki_links
from mdplan.text.lines import Span

# Destination of a normalized label that the document defines, or None.
FindHref = Callable[[str], str | None]

# Where text may have what the parser does not know: bare URLs, mail addresses, and wiki links.
_SIGN: Final = re.compile(rf"\[(?=\[)|@|{URL_SIGN.pattern}")
_TICKS: Final = re.compile(r"`+")
_LINE_END: Final = re.compile(r"[\r\n]+[ \t>]*")
# What the lines of containers begin with.
_MARKS: Final = re.compile(r"[ \t>]*(?:(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t>]|\[\^[^\]\s]+\]:)[ \t>]*)*")
_LINKS: Final = frozenset({"Link", "Image"})
_AUTOLINKS: Final = frozenset({"Autolink", "Email"})
_WITH_LABEL: Final = frozenset({"Reference", "ReferenceUnknown"})
_COLLAPSED: Final = frozenset({"Collapsed", "CollapsedUnknown"})
# The parser takes a footnote for text where brackets after it are no label.
_FOOTNOTE_BEFORE_BRACKET: Final = re.compile(r"\[\^[^\[\]\s]+\](?=\[)")
_BRACKETS: Final = frozenset({"[", "![", "]"})
_EMPHASIS: Final = frozenset({"Emphasis", "Strong", "Strikethrough"})
# HTML of kind 1, which any of the four closing tags ends; to the parser only its own does (section 4.6).
_RAW_HTML: Final = re.compile(r"[ \t>]*<(?i:pre|script|style|textarea)(?=[\s>])")
_RAW_END: Final = re.compile(r"</(?i:pre|script|style|textarea)>[^\r\n]*[\r\n]*")
# What the parser replaces, and so cannot be compared with the source.
_REPLACED: Final = re.compile("[\0\v\f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class FoundNodes:
    """Inline nodes in document order, and spans that may hold nodes whose places are not certain."""

    nodes: tuple[InlineNode, ...] = ()
    undecided: tuple[Span, ...] = ()


@with_deadline
def find_nodes(text: str, span: Span, prefix: str, find_href: FindHref) -> FoundNodes:
    """Inline nodes and marks of footnote definitions in `span` of `text`, which holds whole root blocks.

    The parser reads `prefix`, which defines footnotes, before the span. `find_href` is asked about labels.
    Raises `ParserFailure` and `ParseTimeout`.
    """
    return _Reader(text, span, prefix, find_href).read()


class _Open:
    """A link or image whose end is still to come; `last` is the offset after what was found in it."""

    __slots__ = ("data", "end", "kind", "last", "start")

    def __init__(self, kind: InlineKind, start: int, end: int, data: dict[str, Any]) -> None:
        self.kind, self.start, self.end, self.data = kind, start, end, data
        self.last = start + (1 if kind is InlineKind.LINK else 2)


class _Reader:
    """Collects the nodes of one span.

    `_url_end` is the offset after the last bare URL: what begins before it is part of the URL. `_brackets`
    counts the opening brackets of the current content that nothing has closed.
    """

    def __init__(self, text: str, span: Span, prefix: str, find_href: FindHref) -> None:
        self._text, self._span = text, span
        self._prepared = PreparedText(prefix + text[span.start : span.end])
        self._base = span.start - len(prefix)
        self._find_href = find_href
        self._nodes: list[InlineNode] = []
        self._undecided: list[Span] = []
        self._open: list[_Open] = []
        self._signs = [match.start() for match in _SIGN.finditer(text, span.start, span.end)]
        self._signs.append(len(text) + 1)
        self._next_sign = 0
        self._url_end = 0
        self._brackets = 0
        self._cell: Span | None = None
        self._is_code = False
        # The line of the last bare URL, and where its content starts.
        self._line = Span(0, 0)
        self._line_content = 0
        # Bytes of the last pieces of text without a gap between them, and whether an address may be there.
        self._run = (-1, -1)
        self._has_mail = False
        self._wiki: list[tuple[int, int]] = []

    def read(self) -> FoundNodes:
        """All nodes."""
        text, start, end = self._read_text, self._start, self._end
        batches: Iterator[tuple[tuple[Any, Any], ...]] = event_batches(self._prepared.text, self._is_label)
        for batch in batches:
            for event, place in batch:
                if isinstance(event, str):
                    continue
                ((kind, data),) = event.items()
                if kind == "Text":
                    text(data, place["start"], place["end"])
                elif kind == "Start":
                    start(data, place["start"], place["end"])
                elif kind == "End":
                    end(data, place["end"])
                elif kind != "Html":
                    self._leaf(kind, self._offset(place["start"]), self._offset(place["end"]))
        self._end_run()
        if self._wiki:
            self._nodes += wiki_links(self._text, self._wiki, self._nodes, self._undecided)
        self._nodes.sort(key=document_order)
        return FoundNodes(tuple(self._nodes), tuple(sorted(self._undecided)))

    def _offset(self, byte: int) -> int:
        return self._prepared.offset(byte) + self._base

    def _is_label(self, label: str) -> bool:
        return self._find_href(normalized_label(label)) is not None

    def _add(self, node: InlineNode) -> None:
        if self._open:
            self._open[-1].last = node.span.end
        if node.span.start >= self._url_end:
            self._nodes.append(node)
        elif node.span.end > self._url_end:
            self._undecided.append(node.span)

    def _refuse(self, start: int, end: int) -> None:
        if self._open:
            self._open[-1].last = end
        self._undecided.append(Span(start, end))

    def _start(self, data: str | dict[str, Any], first: int, last: int) -> None:
        if isinstance(data, str):
            if data == "HtmlBlock":
                self._html_block(self._offset(first), self._offset(last))
            if data not in _EMPHASIS:
                self._brackets = 0
                is_cell = data == "TableCell"
                self._cell = Span(self._offset(first), self._offset(last)) if is_cell else None
            return
        ((kind, values),) = data.items()
        if kind in _LINKS:
            kind = InlineKind.LINK if kind == "Link" else InlineKind.IMAGE
            self._open.append(_Open(kind, self._offset(first), self._offset(last), values))
            return
        self._brackets = 0
        self._cell = None
        if kind == "CodeBlock":
            self._is_code = True
        elif kind == "FootnoteDefinition":
            self._footnote_definition(self._offset(first))

    def _end(self, data: object, last: int) -> None:
        if not isinstance(data, str):
            return
        if data in _LINKS:
            self._link(self._open.pop())
        elif data == "CodeBlock":
            self._is_code = False
        elif self._open:
            # Emphasis ends inside a link.
            self._open[-1].last = self._offset(last)

    def _leaf(self, kind: str, start: int, end: int) -> None:
        if kind == "InlineHtml":
            self._add(InlineNode(kind=InlineKind.HTML, span=Span(start, end)))
        elif kind == "FootnoteReference":
            self._add(
                InlineNode(
                    kind=InlineKind.FOOTNOTE_REFERENCE, span=Span(start, end), label=Span(start + 2, end - 1)
                )
            )
        elif kind == "Code":
            self._code(start, end)

    def _html_block(self, start: int, end: int) -> None:
        """Mark the lines as undecided that are in this block to the parser alone."""
        closing = _RAW_END.search(self._text, start, end) if _RAW_HTML.match(self._text, start, end) else None
        if closing is not None and closing.end() < end:
            self._undecided.append(Span(closing.end(), end))

    def _code(self, start: int, end: int) -> None:
        ticks = _TICKS.match(self._text, start, end)
        width = len(ticks[0]) if ticks else 0
        # The range may have blanks after the last code span of a heading.
        end = self._text.rfind("`", start, end) + 1
        if not width or end - start <= 2 * width:
            self._refuse(start, max(start, end))
            return
        self._add(
            InlineNode(kind=InlineKind.CODE, span=Span(start, end), text=Span(start + width, end - width))
        )

    def _footnote_definition(self, start: int) -> None:
        if start < self._span.start:
            return
        closing = self._text.find("]:", start)
        if not self._text.startswith("[^", start) or closing < 0:
            self._refuse(start, start + 1)
            return
        label = Span(start + 2, closing)
        self._add(InlineNode(kind=InlineKind.FOOTNOTE_DEFINITION, span=Span(start, closing + 2), label=label))

    # Links and images (sections 6.3 to 6.5).

    def _link(self, opened: _Open) -> None:
        form, start, end, href = opened.data["link_type"], opened.start, opened.end, opened.data["dest_url"]
        if form in _AUTOLINKS:
            inside = Span(start + 1, end - 1)
            href = f"mailto:{href}" if form == "Email" else href
            self._add(
                InlineNode(kind=InlineKind.AUTOLINK, span=Span(start, end), destination=inside, href=href)
            )
            return
        closing = self._text.find("]", opened.last, end)
        text = Span(start + (1 if opened.kind is InlineKind.LINK else 2), max(closing, opened.last))
        if closing < 0:
            self._refuse(start, end)
        elif form == "Inline":
            self._inline_link(opened, text, end)
        else:
            self._reference(opened, text, end)

    def _inline_link(self, opened: _Open, text: Span, end: int) -> None:
        target = link_target(self._text, text.end + 2, end - 1)
        if target is None or not self._agrees(target.destination, target.href, opened.data["dest_url"]):
            self._refuse(opened.start, end)
            return
        self._add(
            InlineNode(
                kind=opened.kind,
                span=Span(opened.start, end),
                text=text,
                destination=target.destination,
                title=target.title,
                href=target.href,
            )
        )

    def _agrees(self, destination: Span, href: str, parsed: str) -> bool:
        """Whether what is written as a destination is what the parser has read."""
        return (
            href == parsed
            or href.replace("\\|", "|") == parsed
            or _REPLACED.search(self._text, destination.start, destination.end) is not None
        )

    def _reference(self, opened: _Open, text: Span, end: int) -> None:
        form, label = opened.data["link_type"], text
        if form in _WITH_LABEL:
            label = Span(text.end + 2, end - 1)
        elif form in _COLLAPSED:
            # The range of the parser is without the empty brackets.
            end = text.end + 3
        written = _LINE_END.sub(" ", self._text[label.start : label.end]).replace("\\|", "|")
        href = self._find_href(normalized_label(written))
        if href is None:
            self._refuse(opened.start, end)
            return
        self._add(
            InlineNode(kind=opened.kind, span=Span(opened.start, end), text=text, label=label, href=href)
        )

    # What the parser does not know.

    def _read_text(self, data: str, first: int, last: int) -> None:
        if first != self._run[1]:
            self._end_run()
            self._run = (first, last)
        else:
            self._run = (self._run[0], last)
        if self._open:
            self._open[-1].last = self._offset(last)
        if data in _BRACKETS:
            self._bracket(data, self._offset(last) - 1)
        # A code point has at least one byte.
        sign = self._signs[self._next_sign]
        if sign < last + self._base and sign < (end := self._offset(last)):
            start = self._offset(first)
            while (sign := self._signs[self._next_sign]) < end:
                if sign >= start:
                    self._sign(sign)
                self._next_sign += 1

    def _bracket(self, bracket: str, at: int) -> None:
        if at < self._url_end or is_escaped(self._text, at):
            return
        if bracket == "[" and (footnote := _FOOTNOTE_BEFORE_BRACKET.match(self._text, at, self._span.end)):
            self._undecided.append(Span(*footnote.span()))
        self._brackets = max(self._brackets - 1, 0) if bracket == "]" else self._brackets + 1

    def _sign(self, at: int) -> None:
        check_deadline()
        if self._is_code:
            return
        stop = self._span.end if self._cell is None else self._cell.end
        if self._text.startswith("[[", at):
            self._wiki.append((at, stop))
        elif self._open or at < self._url_end:
            return
        elif self._text[at] == "@":
            self._has_mail = True
        elif not self._brackets:
            found = bare_url(self._text, at, self._content_start(at), stop)
            if found is not None and (not self._nodes or self._nodes[-1].span.end <= found[0]):
                self._url(*found)

    def _url(self, start: int, end: int, href: str) -> None:
        self._mail_before(start)
        self._add_url(start, end, href)
        self._url_end = end
        if self._text[end - 1] == "\\" and end < self._span.end:
            # To the parser, the backslash escapes the character after the URL.
            self._undecided.append(Span(end, end + 1))

    def _add_url(self, start: int, end: int, href: str) -> None:
        span, href = Span(start, end), href.replace("\0", "\ufffd")
        self._add(InlineNode(kind=InlineKind.AUTOLINK, span=span, destination=span, href=href))

    def _end_run(self) -> None:
        if self._has_mail:
            self._mail_before(self._offset(self._run[1]))
            self._has_mail = False

    def _mail_before(self, stop: int) -> None:
        """Add the mail addresses between the start of the run, or the last URL in it, and `stop`."""
        if not self._has_mail:
            return
        start = self._offset(self._run[0])
        is_behind_escape = self._text.startswith("\\", start - 1)
        for found in mail_addresses(self._text, max(start, self._url_end), stop):
            if found[0] == start and is_behind_escape:
                # The address may begin before the backslash.
                self._refuse(*found[:2])
            else:
                self._add_url(*found)

    def _content_start(self, at: int) -> int:
        """Where the content before `at` in its line starts, after the marks of containers."""
        if self._cell is not None:
            return self._cell.start
        if not self._line.start <= at < self._line.end:
            start = max(self._text.rfind("\n", 0, at), self._text.rfind("\r", 0, at)) + 1
            end = _LINE_END.search(self._text, at)
            self._line = Span(start, end.start() if end else len(self._text))
            marks = _MARKS.match(self._text, start)
            self._line_content = marks.end() if marks else start
        return self._line_content
