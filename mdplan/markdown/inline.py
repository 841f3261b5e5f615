"""Find the inline nodes of a document, section by section, on demand."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from mdplan.markdown.block_tree import BlockTree
from mdplan.markdown.blocks import Block, check_deadline, with_deadline
from mdplan.markdown.inline_node import (
    WIKI_LINK,
    InlineKind,
    InlineNode,
    document_order,
    link_target,
    normalized_label,
    unescape,
)
from mdplan.markdown.parser import ParserFailure, PreparedText, event_batches, is_nested_too_deep
from mdplan.markdown.reference_parser import html_parser
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.values import Struct

_FOOTNOTE: Final = lazy_pattern(r"\[\^([^\]\s]+)\]")
_FOOTNOTE_DEFINITION: Final = lazy_pattern(r"\[\^[^\]\s]+\]:")
_LABEL: Final = lazy_pattern(r"\[(?!\^)(?P<label>(?:[^\[\]\\]|\\.)*)\]:", re.DOTALL)
_LINE_END: Final = lazy_pattern(r"[\r\n]+[ \t>]*")


class FoundNodes(Struct, dict=True):
    """Inline nodes in document order, and `undecided` spans that may hold nodes with uncertain offsets."""

    nodes: tuple[InlineNode, ...] = ()
    undecided: tuple[Span, ...] = ()

    def nodes_in(self, span: Span) -> Iterator[InlineNode]:
        """Yield the nodes that overlap `span`."""
        first = bisect_right(self._reach, span.start)
        for index in range(first, len(self.nodes)):
            node = self.nodes[index]
            if node.span.start >= span.end and node.span.start > span.start:
                return
            if node.span.overlaps(span):
                yield node

    @cached_property
    def _reach(self) -> list[int]:
        """For each index, the largest end among the nodes up to it."""
        return list(accumulate((node.span.end for node in self.nodes), max))


class InlineMap:
    """The inline nodes of a document, parsed on demand.

    Each section is parsed on its own, since a top-level ATX heading ends all blocks, but with the link
    definitions of the whole document.
    """

    def __init__(self, tree: BlockTree) -> None:
        self._tree = tree
        self._text = tree.text
        self._sections: dict[int, FoundNodes] = {}

    @cached_property
    def definitions(self) -> Mapping[str, object]:
        """Link and footnote labels, as an environment for markdown-it-py."""
        references = {
            label: {"href": node.href, "title": unescape(self._cut(node.title)[1:-1])}
            for label, node in self._definitions.items()
        }
        footnotes = {f":{label}": -1 for label in self._footnotes.values()}
        return {"references": references, "footnotes": {"refs": footnotes, "list": {}}}

    def nodes_in(self, span: Span) -> tuple[InlineNode, ...]:
        """Return the nodes that overlap `span`, or contain it if it is empty, in order, parents first."""
        return tuple(node for section in self._sections_in(span) for node in section.nodes_in(span))

    def undecided_in(self, span: Span) -> tuple[Span, ...]:
        """Return the spans touching `span` that may hold nodes with uncertain offsets.

        These are single nodes, or sections where the parser fails or that are nested too deep.
        """
        return tuple(
            undecided
            for section in self._sections_in(span)
            for undecided in section.undecided
            if undecided.overlaps(span)
        )

    def _sections_in(self, span: Span) -> Iterator[FoundNodes]:
        first = max(self._tree.part_at(span.start), 0)
        for index in range(first, max(self._tree.part_at(span.end - 1) if len(span) else 0, first) + 1):
            section = self._sections.get(index)
            if section is None:
                section = self._sections[index] = self._parse(self._section_span(index))
            yield section

    def _section_span(self, index: int) -> Span:
        return Span(self._tree.part_starts[index], self._tree.part_end(index))

    def _parse(self, span: Span) -> FoundNodes:
        part = self._text[span.start : span.end]
        if is_nested_too_deep(part):
            return FoundNodes((), (span,))
        try:
            inline = find_nodes(self._text, span, self.footnotes_for(part), self._find_href)
        except ParserFailure:
            return FoundNodes((), (span,))
        if "]:" not in part:
            return inline
        first, last = (bisect_left(self._definition_starts, offset) for offset in (span.start, span.end))
        nodes, undecided = [*inline.nodes], [*inline.undecided]
        for block, node in self._definition_blocks[first:last]:
            if node is None:
                undecided.append(block.span)
            else:
                nodes.append(node)
        nodes.sort(key=document_order)
        return FoundNodes(tuple(nodes), tuple(sorted(undecided)))

    def _find_href(self, label: str) -> str | None:
        node = self._definitions.get(label)
        return None if node is None else node.href

    @cached_property
    def _definitions(self) -> dict[str, InlineNode]:
        """The definition of each label; the first one wins (CommonMark 0.31.2, section 4.7)."""
        by_label: dict[str, InlineNode] = {}
        for _, node in self._definition_blocks:
            if node is not None:
                by_label.setdefault(normalized_label(self._cut(node.label)), node)
        return by_label

    @cached_property
    def _definition_blocks(self) -> list[tuple[Block, InlineNode | None]]:
        if "]:" not in self._text:
            return []
        definitions = ((block, find_definition(self._text, block.span)) for block in self._tree.definitions)
        return [
            (block, node)
            for block, node in definitions
            if node is not None
            or _FOOTNOTE_DEFINITION.search(self._text, block.span.start, block.span.end) is None
        ]

    @cached_property
    def _definition_starts(self) -> list[int]:
        return [block.span.start for block, _ in self._definition_blocks]

    def footnotes_for(self, part: str) -> str:
        """Return definitions for the footnotes that `part` refers to, ended by a heading."""
        labels = {match[1]: "" for match in _FOOTNOTE.finditer(part)} if "[^" in part else {}
        known = [label for label in labels if label.lower() in self._footnotes]
        return "".join(f"[^{label}]: x\n\n" for label in known) + "#\n" if known else ""

    @cached_property
    def _footnotes(self) -> dict[str, str]:
        """Labels of the defined footnotes by their lower-case form."""
        by_lower_case: dict[str, str] = {}
        for span in map(self._section_span, range(len(self._tree.part_starts))):
            if _FOOTNOTE_DEFINITION.search(self._text, span.start, span.end) is None:
                continue
            try:
                nodes = find_nodes(self._text, span, "", self._find_href).nodes
            except ParserFailure:
                continue
            for node in nodes:
                if node.kind is InlineKind.FOOTNOTE_DEFINITION:
                    label = self._cut(node.label)
                    by_lower_case.setdefault(label.lower(), label)
        return by_lower_case

    def _cut(self, span: Span | None) -> str:
        return "" if span is None else _LINE_END.sub(" ", self._text[span.start : span.end])


def find_definition(text: str, block: Span) -> InlineNode | None:
    """Return the link reference definition on the lines of `block` (CommonMark 0.31.2, section 4.7)."""
    label = _LABEL.search(text, block.start, block.end)
    target = link_target(text, label.end(), block.end) if label else None
    if label is None or target is None:
        return None
    return InlineNode(
        kind=InlineKind.DEFINITION,
        span=Span(label.start(), (target.title or target.destination).end),
        label=Span(*label.span("label")),
        **target._asdict(),
    )


# --- Inline nodes from parser events (CommonMark 0.31.2, section 6; GFM)
#
# The parser reports where a node starts and ends. Text, label, destination and title follow from the accepted
# syntax. A node whose parts do not match the parser's is undecided.

# Returns the destination of a defined, normalized label, or None.
FindHref = Callable[[str], str | None]

# Candidates for syntax that the parser does not support: wiki links, mail addresses, and bare URLs, detected
# by their protocol or start.
_SIGN: Final = lazy_pattern(r"\[(?=\[)|@|://|www\.")
_TICKS: Final = lazy_pattern(r"`+")

# Container prefixes of a line.
_MARKS: Final = lazy_pattern(r"[ \t>]*(?:(?:(?:[-+*]|[0-9]{1,9}[.)])[ \t>]|\[\^[^\]\s]+\]:)[ \t>]*)*")
_LINKS: Final = frozenset({"Link", "Image"})
_AUTOLINKS: Final = frozenset({"Autolink", "Email"})
_WITH_LABEL: Final = frozenset({"Reference", "ReferenceUnknown"})
_COLLAPSED: Final = frozenset({"Collapsed", "CollapsedUnknown"})

# The parser reads a footnote as text before brackets that are not a label.
_FOOTNOTE_BEFORE_BRACKET: Final = lazy_pattern(r"\[\^[^\[\]\s]+\](?=\[)")
_BRACKETS: Final = frozenset({"[", "![", "]"})
_EMPHASIS: Final = frozenset({"Emphasis", "Strong", "Strikethrough"})

# HTML of kind 1: any of the four closing tags ends it, but the parser accepts only its own (section 4.6).
_RAW_HTML: Final = lazy_pattern(r"[ \t>]*<(?i:pre|script|style|textarea)(?=[\s>])")
_RAW_END: Final = lazy_pattern(r"</(?i:pre|script|style|textarea)>[^\r\n]*[\r\n]*")

# Characters that the parser replaces, so its output cannot be compared with the source.
_REPLACED: Final = lazy_pattern("[\0\v\f\ud800-\udfff]")


@with_deadline
def find_nodes(text: str, span: Span, prefix: str, find_href: FindHref) -> FoundNodes:
    """Find inline nodes and footnote definition marks in `span`, which covers whole top-level blocks.

    `prefix`, which defines footnotes, is parsed before the span. `find_href` resolves labels. May raise
    `ParserFailure` and `ParseTimeout`.
    """
    return _NodeReader(text, span, prefix, find_href).read()


class _Open:
    """An open link or image; `last` is the end offset of its content so far."""

    __slots__ = ("data", "end", "kind", "last", "start")

    def __init__(self, kind: InlineKind, start: int, end: int, data: dict[str, Any]) -> None:
        self.kind, self.start, self.end, self.data = kind, start, end, data
        self.last = start + (1 if kind is InlineKind.LINK else 2)


class _NodeReader:
    """Collect the nodes of a span.

    `_url_end` is the offset after the last bare URL, which absorbs anything that starts before it.
    `_brackets` counts unclosed brackets in the current content.
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
        # The line of the last bare URL, and the start of its content.
        self._line = Span(0, 0)
        self._line_content = 0
        # Byte range of adjacent text pieces, and whether they may contain a mail address.
        self._run = (-1, -1)
        self._has_mail = False
        self._wiki: list[tuple[int, int]] = []

    def read(self) -> FoundNodes:
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

    def _add(self, kind: InlineKind, start: int, end: int, **parts: Any) -> None:  # noqa: ANN401 (fields)
        if self._open:
            self._open[-1].last = end
        if start >= self._url_end:
            self._nodes.append(InlineNode(kind=kind, span=Span(start, end), **parts))
        elif end > self._url_end:
            self._undecided.append(Span(start, end))

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
            self._add(InlineKind.HTML, start, end)
        elif kind == "FootnoteReference":
            self._add(InlineKind.FOOTNOTE_REFERENCE, start, end, label=Span(start + 2, end - 1))
        elif kind == "Code":
            self._code(start, end)

    def _html_block(self, start: int, end: int) -> None:
        """Mark as undecided the lines that only the parser counts as part of this HTML block."""
        closing = _RAW_END.search(self._text, start, end) if _RAW_HTML.match(self._text, start, end) else None
        if closing is not None and closing.end() < end:
            self._undecided.append(Span(closing.end(), end))

    def _code(self, start: int, end: int) -> None:
        ticks = _TICKS.match(self._text, start, end)
        width = len(ticks[0]) if ticks else 0
        # The range may include spaces after the last code span of a heading.
        end = self._text.rfind("`", start, end) + 1
        if not width or end - start <= 2 * width:
            self._refuse(start, max(start, end))
            return
        self._add(InlineKind.CODE, start, end, text=Span(start + width, end - width))

    def _footnote_definition(self, start: int) -> None:
        if start < self._span.start:
            return
        closing = self._text.find("]:", start)
        if not self._text.startswith("[^", start) or closing < 0:
            self._refuse(start, start + 1)
            return
        self._add(InlineKind.FOOTNOTE_DEFINITION, start, closing + 2, label=Span(start + 2, closing))

    # Links and images (sections 6.3 to 6.5).

    def _link(self, opened: _Open) -> None:
        form, start, end, href = opened.data["link_type"], opened.start, opened.end, opened.data["dest_url"]
        if form in _AUTOLINKS:
            href = f"mailto:{href}" if form == "Email" else href
            self._add(InlineKind.AUTOLINK, start, end, destination=Span(start + 1, end - 1), href=href)
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
        self._add(opened.kind, opened.start, end, text=text, **target._asdict())

    def _agrees(self, destination: Span, href: str, parsed: str) -> bool:
        """Return True if the written destination matches the parsed one."""
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
            # The parser's range excludes the empty brackets.
            end = text.end + 3
        written = _LINE_END.sub(" ", self._text[label.start : label.end]).replace("\\|", "|")
        href = self._find_href(normalized_label(written))
        if href is None:
            self._refuse(opened.start, end)
            return
        self._add(opened.kind, opened.start, end, text=text, label=label, href=href)

    # Syntax that the parser does not support.

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
        # A character has at least one byte.
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
            url = bare_url(self._text, at, self._content_start(at), stop)
            if url is not None and (not self._nodes or self._nodes[-1].span.end <= url[0]):
                self._url(*url)

    def _url(self, start: int, end: int, href: str) -> None:
        self._mail_before(start)
        self._add_url(start, end, href)
        self._url_end = end
        if self._text[end - 1] == "\\" and end < self._span.end:
            # The parser reads the backslash as an escape of the character after the URL.
            self._undecided.append(Span(end, end + 1))

    def _add_url(self, start: int, end: int, href: str) -> None:
        href = href.replace("\0", "\ufffd")
        self._add(InlineKind.AUTOLINK, start, end, destination=Span(start, end), href=href)

    def _end_run(self) -> None:
        if self._has_mail:
            self._mail_before(self._offset(self._run[1]))
            self._has_mail = False

    def _mail_before(self, stop: int) -> None:
        """Add the mail addresses between the start of the run, or its last URL, and `stop`."""
        if not self._has_mail:
            return
        start = self._offset(self._run[0])
        is_behind_escape = self._text.startswith("\\", start - 1)
        for address in mail_addresses(self._text, max(start, self._url_end), stop):
            if address[0] == start and is_behind_escape:
                # The address may start before the backslash.
                self._refuse(*address[:2])
            else:
                self._add_url(*address)

    def _content_start(self, at: int) -> int:
        """Return the start of the content on the line of `at`, after container prefixes."""
        if self._cell is not None:
            return self._cell.start
        if not self._line.start <= at < self._line.end:
            start = max(self._text.rfind("\n", 0, at), self._text.rfind("\r", 0, at)) + 1
            end = _LINE_END.search(self._text, at)
            self._line = Span(start, end.start() if end else len(self._text))
            marks = _MARKS.match(self._text, start)
            self._line_content = marks.end() if marks else start
        return self._line_content


# --- HTML by markdown-it-py

_SHOWN_AS_IT_IS: Final = lazy_pattern(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.DOTALL | re.IGNORECASE)
_SPACE: Final = lazy_pattern(r"[ \t\r\n]+")


def rendered_html(text: str) -> str:
    """Render `text` (LF newlines) as HTML, with whitespace collapsed outside code.

    May raise `RecursionError` on deep nesting.
    """
    html: str = html_parser().render(text)
    pieces = _SHOWN_AS_IT_IS.split(html)
    # The split yields text, match and tag name in turn.
    outside = (_SPACE.sub(" ", piece) for piece in pieces[::3])
    inside = (*pieces[1::3], "")
    return "".join(text + code for text, code in zip(outside, inside, strict=True)).strip(" ")


# --- Bare URLs and mail addresses (GFM, section 6.9), by the rules of cmark-gfm, which GitHub uses

_PROTOCOLS: Final = ("https", "http", "ftp")

# Characters allowed before `www.`.
_BEFORE: Final = frozenset(" \t\r\n\f*_~(")
_END: Final = lazy_pattern(r"[ \t\r\n\f<]")

# Other Unicode punctuation also ends a domain.
_NOT_IN_DOMAIN: Final = lazy_pattern(r"""[\s!-,/:-@\[\]^`{-~]|[^\x00-\x7f]""")
_MAX_DOTS: Final = 10
_AT_END: Final = frozenset("?!.,:*_~'\"")
_LOCAL_PART: Final = frozenset(".+-_")
_MAIL_DOMAIN: Final = lazy_pattern(r"(?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9]))*+")
_XMPP_DOMAIN: Final = lazy_pattern(r"(?:[A-Za-z0-9/_-]|\.(?=[A-Za-z0-9]))*+")
_MAIL_PROTOCOLS: Final = ("mailto", "xmpp")


def bare_url(text: str, sign: int, begin: int, stop: int) -> tuple[int, int, str] | None:
    """Return start, end and destination of the bare URL around `sign`, or None.

    `begin` and `stop` delimit the inline content of its line.
    """
    if text[sign] == "w":
        start, domain = sign, sign
        if sign > begin and text[sign - 1] not in _BEFORE:
            return None
    else:
        before = text[max(begin, sign - len("https")) : sign].lower()
        protocol = next((name for name in _PROTOCOLS if before.endswith(name)), "")
        start, domain = sign - len(protocol), sign + len("://")
        if not protocol or (start > begin and _is_letter(text[start - 1])):
            return None
    end = _domain_end(text, domain, stop, needs_dot=start == domain)
    if end is None:
        return None
    white = _END.search(text, end, stop)
    end = _without_punctuation(text, start, white.start() if white else stop)
    prefix = "http://" if start == domain else ""
    return (start, end, prefix + text[start:end]) if end > domain else None


def mail_addresses(text: str, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and destination of the bare mail and XMPP addresses in `text[start:stop]`."""
    at = text.find("@", start, stop)
    while at >= 0:
        check_deadline()
        behind = at + 1
        first, protocol = _local_part(text, start, at)
        end = _mail_domain_end(text, at, stop, is_xmpp=protocol == "xmpp") if first < at else None
        if end is not None:
            yield first, end, text[first:end] if protocol else f"mailto:{text[first:end]}"
            start = behind = end
        at = text.find("@", behind, stop)


def _domain_end(text: str, start: int, stop: int, *, needs_dot: bool) -> int | None:
    """Return the end of the domain that starts at `start`, or None."""
    at = start + 1
    while match := _NOT_IN_DOMAIN.search(text, at, stop):
        at = match.start()
        if match[0].isascii() or match[0].isspace() or unicodedata.category(match[0]).startswith("P"):
            break
        at += 1
    else:
        at = stop
    if start >= stop:
        return None
    parts = text[start:at].split(".")
    # GitHub ignores underscores in long domains, and in others those before the last two dots.
    has_underscore = any("_" in part for part in parts[-2:])
    if (has_underscore and len(parts) - 1 <= _MAX_DOTS) or (needs_dot and len(parts) == 1):
        return None
    return at


def _without_punctuation(text: str, start: int, end: int) -> int:
    """Return `end` of a URL without trailing punctuation of the sentence."""
    opening, closing = text.count("(", start, end), text.count(")", start, end)
    while end > start:
        last = text[end - 1]
        if last in _AT_END:
            end -= 1
        elif last == ";":
            entity = end - 2
            while entity > start and _is_letter(text[entity]):
                entity -= 1
            end = entity if entity < end - 2 and text[entity] == "&" else end - 1
        elif last == ")" and closing > opening:
            closing -= 1
            end -= 1
        else:
            break
    return end


def _local_part(text: str, start: int, at: int) -> tuple[int, str]:
    """Return the start of the local part before ``@``, and its protocol, if any."""
    first, protocol = at, ""
    while first > start:
        character = text[first - 1]
        if character == ":" and not protocol:
            protocol = next((name for name in _MAIL_PROTOCOLS if text.endswith(name, start, first - 1)), "")
            before = first - 1 - len(protocol)
            if not protocol or (before > start and _is_letter_or_digit(text[before - 1])):
                return first, ""
            first = before
        elif _is_letter_or_digit(character) or character in _LOCAL_PART:
            first -= 1
        else:
            break
    return first, protocol


def _mail_domain_end(text: str, at: int, stop: int, *, is_xmpp: bool) -> int | None:
    domain = (_XMPP_DOMAIN if is_xmpp else _MAIL_DOMAIN).match(text, at + 1, stop)
    end = domain.end() if domain else at
    is_domain = domain is not None and "." in domain[0] and _is_letter(text[end - 1])
    return _without_punctuation(text, at, end) if is_domain and not text.startswith("@", end, stop) else None


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalpha()


def _is_letter_or_digit(character: str) -> bool:
    return character.isascii() and character.isalnum()


# --- Wiki links, ``[[page#anchor|text]]``: not in CommonMark, but common in wikis and notes


def wiki_links(
    text: str, openings: Iterable[tuple[int, int]], nodes: Iterable[InlineNode], undecided: Sequence[Span]
) -> Iterator[InlineNode]:
    """Yield the wiki links in plain text and in link text.

    `openings` are the offsets of ``[[`` in the inline content, each with the end of that content.
    CommonMark's `nodes` take precedence.
    """
    taken = sorted([*undecided, *(span for node in nodes for span in node.outside_of_text)])
    last = 0
    for start, stop in openings:
        match = WIKI_LINK.match(text, start, stop) if start >= last else None
        if match is None:
            continue
        span = Span(*match.span())
        after = bisect_right(taken, span.start, key=lambda taken_span: taken_span.end)
        if (after < len(taken) and taken[after].start < span.end) or is_escaped(text, span.start):
            continue
        last = span.end
        shown = match.span("text")
        yield InlineNode(
            kind=InlineKind.WIKI_LINK,
            span=span,
            destination=Span(*match.span("target")),
            text=None if shown[0] < 0 else Span(*shown),
            href=match["target"],
        )


def is_escaped(text: str, at: int) -> bool:
    """Return True if an odd number of backslashes precedes `at`."""
    first = at
    while first and text[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1
