"""Links of a document that needs no parser to be told, counted and looked up.

For `stat`, which is asked more often than anything else: to load the parser takes longer than all that it
does. What is given here is what `links` gives; where that is not certain, nothing is given.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.plain_text_blocks import DEFINITION, cells_of
from mdplan.markdown.blocks.scanner_lines import TRIMMED
from mdplan.markdown.blocks.undecided import Undecided
from mdplan.markdown.inline.inline_node import InlineKind, InlineNode
from mdplan.markdown.inline.plain_inline import normalized_label, plain_nodes
from mdplan.markdown.inline.plain_target import understood
from mdplan.markdown.links.targets import is_resolved, leaves_holding, resolvable_targets
from mdplan.markdown.outline.outline import Outline
from mdplan.text.span import Span

# Without one of these no text is a link, and none defines one (CommonMark 6.3 to 6.5, GFM 6.9).
_LINK_SIGN: Final = re.compile(r"[\[<@]|://|www\.")
_FOOTNOTE: Final = re.compile(r"\[\^[^\]]*\]:")
_COUNTED: Final = {InlineKind.IMAGE: "image", InlineKind.AUTOLINK: "autolink", InlineKind.WIKI_LINK: "wiki"}


class PlainLinks(NamedTuple):
    """Links by the fields of `LinkCount`, and lines (1-based) and targets of those to nothing, in order."""

    counts: dict[str, int]
    broken: list[tuple[int, str]]


def plain_links(outline: Outline, area: Span) -> PlainLinks | None:
    """Links in `area`, and those into the document itself that resolve to nothing.

    As `count_links` and `local_links` give them, or None where only the parser can tell.
    """
    if not outline.tree.is_scanned or "\0" in outline.source.text:
        return None
    try:
        reader = _Reader(outline)
        for block in leaves_holding(outline, area, _LINK_SIGN):
            if not area.contains(block.span):
                return None
            reader.read(block)
        return PlainLinks(reader.counts, reader.broken())
    except Undecided:
        return None


class _Reader:
    """What some blocks hold: how many links, and which of them are fragments, with their lines."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        names = ("inline", "reference", "autolink", "image", "wiki", "footnote", "html")
        self.counts = dict.fromkeys(names, 0)
        self._fragments: list[tuple[int, str]] = []
        # A footnote can hold the blocks behind it, which the tree does not know.
        for mark in _FOOTNOTE.finditer(outline.source.text):
            leaf = outline.tree.leaf_at(mark.start())
            if leaf is None or leaf.kind is not BlockKind.FENCE:
                raise Undecided

    def broken(self) -> list[tuple[int, str]]:
        """Lines and targets of the fragments that name nothing."""
        targets = resolvable_targets(self._outline) if self._fragments else frozenset()
        return [(line, href) for line, href in self._fragments if not is_resolved(href[1:], targets)]

    def read(self, block: Block) -> None:
        """The next block in document order."""
        match block.kind:
            case BlockKind.PARAGRAPH | BlockKind.HEADING:
                if not self._stands_in_its_lines(block):
                    raise Undecided
                self._read_content(block.content, block.first_line, is_source=not block.depth)
            case BlockKind.TABLE:
                self._read_table(block)
            case BlockKind.DEFINITION:
                _, href = self._definition(block)
                if href.startswith("#"):
                    self._fragments.append((block.first_line, href))
            case BlockKind.HTML:
                source = self._outline.source
                hrefs = self._hrefs(source.text, block.span)
                self._fragments += ((source.lines.line_at(place), href) for place, href in hrefs)
            case _:
                # Code has no links, and containers have theirs in other blocks.
                pass

    def _stands_in_its_lines(self, block: Block) -> bool:
        """Whether each line of the content is the end of a line of the source."""
        lines, parts = self._outline.source.lines, block.content.split("\n")
        is_atx = block.markup.startswith("#")
        has_underline = block.kind is BlockKind.HEADING and not is_atx
        if block.last_line - block.first_line + 1 - has_underline != len(parts):
            return False
        written = [lines.content(block.first_line + index) for index in range(len(parts))]
        written[-1] = written[-1].rstrip(TRIMMED)
        if is_atx and written[-1].endswith("#"):
            return False
        return all(line.endswith(part) for line, part in zip(written, parts, strict=True))

    def _read_table(self, block: Block) -> None:
        for number in range(block.first_line, block.last_line + 1):
            row = self._outline.source.lines.content(number)
            if block.depth or "\\|" in row:
                raise Undecided
            if number != block.first_line + 1:
                for cell in cells_of(row)[: len(block.cells)]:
                    self._read_content(cell, number, is_source=True)

    def _read_content(self, content: str, first_line: int, *, is_source: bool) -> None:
        """Inline content from `first_line` on; `is_source` where its lines are those of the source."""
        if _LINK_SIGN.search(content) is None:
            return
        nodes = plain_nodes(content, lambda: self._labels)
        if nodes is None:
            raise Undecided
        if "[[" in content:
            from mdplan.markdown.inline.wiki_links import wiki_links

            nodes += wiki_links(content, tuple(nodes), ())
            nodes.sort(key=lambda node: node.span.start)
        places: list[tuple[int, str]] = []
        for node in nodes:
            if node.kind is InlineKind.HTML:
                is_cut = "\n" in content[node.span.start : node.span.end]
                if is_cut and not (is_source and "\r" not in self._outline.source.text):
                    raise Undecided
                places += self._hrefs(content, node.span)
            elif node.kind is not InlineKind.CODE:
                self.counts[_field(node)] += 1
                if node.href.startswith("#") and node.destination and node.kind is not InlineKind.IMAGE:
                    if node.kind is InlineKind.WIKI_LINK:
                        raise Undecided
                    places.append((node.destination.start, node.href))
        self._fragments += (
            (first_line + content.count("\n", 0, place), href) for place, href in sorted(places)
        )

    def _hrefs(self, text: str, span: Span) -> list[tuple[int, str]]:
        """Counts the links in the HTML in `span`; places and values of those that are fragments."""
        if text.find("=", span.start, span.end) < 0:
            return []
        from mdplan.markdown.inline.html_attributes import html_attributes

        links = [each for each in html_attributes(text, span) if (each.tag, each.name) == ("a", "href")]
        self.counts["html"] += len(links)
        return [(link.value_span.start, link.value) for link in links if link.value.startswith("#")]

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        """Destinations of the labels that the document defines; the first definition of each counts."""
        found: dict[str, str] = {}
        for block in self._outline.tree.definitions:
            label, href = self._definition(block)
            found.setdefault(normalized_label(label), href)
        return found

    def _definition(self, block: Block) -> tuple[str, str]:
        """Label and destination, as understood."""
        written = DEFINITION.fullmatch(self._outline.source.lines.content(block.first_line))
        if written is None or block.depth or block.last_line != block.first_line:
            raise Undecided
        destination = written["destination"]
        if destination.startswith("<"):
            destination = destination[1:-1]
        return written["label"], understood(destination)


def _field(node: InlineNode) -> str:
    """Field of `LinkCount` that counts `node`."""
    return _COUNTED.get(node.kind) or ("inline" if node.label is None else "reference")
