"""Blocks and inline nodes of one text as three parsers see them: mdplan's, cmark-gfm, and markdown-it-py.

GitHub renders with cmark-gfm, so that is the measure. It gives positions of blocks only, and none of HTML
blocks and of paragraphs in tight lists. So blocks are compared by kind and first line, and inline nodes by
what they show, without places: all three sides become facts.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from html.parser import HTMLParser
from urllib.parse import unquote_to_bytes

from cmarkgfm import cmark
from markdown_it.token import Token

from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.format_detection import find_front_matter
from mdplan.markdown.inline import InlineMap
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.reference_parser import html_parser, parse_reference_blocks
from mdplan.text.lines import LineIndex, Span

BlockFact = tuple[str, int]
InlineFact = tuple[str, str, str]
Facts = list[BlockFact] | Counter[InlineFact]

_EXTENSIONS = ["table", "tasklist", "strikethrough", "autolink"]
_OPTIONS = cmark.Options.CMARK_OPT_SOURCEPOS | cmark.Options.CMARK_OPT_FOOTNOTES
_TAGS = {
    **{f"h{level}": f"heading {level}" for level in range(1, 7)},
    "blockquote": "quote",
    "ul": "list",
    "ol": "list",
    "li": "item",
    "pre": "code",
    "table": "table",
    "hr": "rule",
}
_KINDS = {
    BlockKind.QUOTE: "quote",
    BlockKind.LIST: "list",
    BlockKind.LIST_ITEM: "item",
    BlockKind.FENCE: "code",
    BlockKind.INDENTED_CODE: "code",
    BlockKind.TABLE: "table",
    BlockKind.RULE: "rule",
}
# cmark-gfm leaves these destinations out.
_UNSAFE = re.compile(r"(?:javascript|vbscript|file|data):", re.IGNORECASE)
_FOOTNOTE_DEFINITION = re.compile(r"\[\^([^\]\s]+)\]:")
# Content has none of the marks of containers that its lines have, and no backslash of an escaped pipe.
_NOT_IN_CONTENT = re.compile(r"[\s>|\\\0\ufffd\x7f\udc80-\udcff]")


class Verdict(StrEnum):
    """Which of the parsers agree with each other."""

    AGREED = "all agree"
    MARKDOWN_IT = "markdown-it-py differs"
    CMARK = "cmark-gfm differs"
    MDPLAN = "mdplan differs"
    NONE = "none agree"


@dataclass(frozen=True)
class Comparison:
    """What each parser sees of one text: blocks in document order, or inline nodes with their counts."""

    mdplan: Facts
    cmark: Facts
    markdown_it: Facts

    @property
    def verdict(self) -> Verdict:
        if self.mdplan == self.cmark:
            return Verdict.AGREED if self.cmark == self.markdown_it else Verdict.MARKDOWN_IT
        if self.cmark == self.markdown_it:
            return Verdict.MDPLAN
        return Verdict.CMARK if self.mdplan == self.markdown_it else Verdict.NONE

    @property
    def oracles_agree(self) -> bool:
        """Whether cmark-gfm and markdown-it-py see the same."""
        return self.cmark == self.markdown_it


@dataclass(frozen=True)
class Compared:
    """One text."""

    blocks: Comparison
    headings: Comparison
    # None where mdplan has undecided nodes, or a footnote is not used: cmark-gfm does not show it then.
    inline: Comparison | None

    @property
    def oracles_agree(self) -> bool:
        """Whether cmark-gfm and markdown-it-py see the same blocks and inline nodes; False is not certain."""
        inline = self.inline
        return self.blocks.oracles_agree and inline is not None and inline.oracles_agree


def compare(text: str) -> Compared:
    """`text` as the parsers see it; front matter is blank lines to all of them."""
    front_matter = find_front_matter(text)
    if front_matter:
        end = front_matter.span.end
        text = "\n" * (LineIndex(text).line_at(end - 1)) + text[end:]
    text += _unused_footnotes(text)
    lines = LineIndex(text)
    tree = parse_blocks(text, lines)
    page = _Page()
    page.feed(cmark.markdown_to_html_with_extensions(_encodable(text), _OPTIONS, extensions=_EXTENSIONS))
    # Footnotes are at the end of the page.
    page.blocks.sort(key=lambda block: block[1])
    ours = _block_facts(tree.blocks)
    theirs = _block_facts(parse_reference_blocks(text).blocks)
    found, whole = InlineMap(text, lines, tree=tree), Span(0, len(text))
    return Compared(
        Comparison(ours, page.blocks, theirs),
        Comparison(_headings(ours), _headings(page.blocks), _headings(theirs)),
        None if found.undecided_in(whole) else _inline(text, found.nodes_in(whole), page),
    )


def _unused_footnotes(text: str) -> str:
    """A paragraph with references to all footnotes, since cmark-gfm shows no others."""
    labels = dict.fromkeys(_FOOTNOTE_DEFINITION.findall(text))
    return "\n\n" + " ".join(f"[^{label}]" for label in labels) + "\n" if labels else ""


def _inline(text: str, nodes: tuple[InlineNode, ...], page: "_Page") -> Comparison | None:
    footnotes = {
        _content(_cut(text, each.label)) for each in nodes if each.kind is InlineKind.FOOTNOTE_DEFINITION
    }
    used = {fact[1].lower() for fact in page.nodes if fact[0] == "footnote"}
    if not {label.lower() for label in footnotes} <= used:
        return None
    markdown_it = Counter(_token_facts(html_parser().parse(text + "\n", {})))
    return Comparison(Counter(_node_facts(text, nodes)), Counter(page.nodes), markdown_it)


def _headings(blocks: list[BlockFact]) -> list[BlockFact]:
    return [block for block in blocks if block[0].startswith("heading")]


def _block_facts(blocks: tuple[Block, ...]) -> list[BlockFact]:
    facts = []
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            facts.append((f"heading {block.level}", block.first_line))
        elif kind := _KINDS.get(block.kind):
            facts.append((kind, block.first_line))
    return facts


def _encodable(text: str) -> str:
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def _content(text: str) -> str:
    return _NOT_IN_CONTENT.sub("", text)


def _target(href: str) -> str:
    """A destination however it is escaped."""
    href = "" if _UNSAFE.match(href) else href
    return _content(unquote_to_bytes(_encodable(href)).decode("utf-8", "replace"))


def _cut(text: str, span: Span | None) -> str:
    return "" if span is None else text[span.start : span.end]


def _node_facts(text: str, nodes: tuple[InlineNode, ...]) -> Iterator[InlineFact]:
    hidden = -1
    for node in nodes:
        # An image shows its alternative text without links.
        if node.span.start < hidden:
            continue
        match node.kind:
            case InlineKind.CODE:
                yield "code", _content(_cut(text, node.text)), ""
            case InlineKind.LINK | InlineKind.AUTOLINK:
                yield "link", _target(node.href), ""
            case InlineKind.IMAGE:
                hidden = node.span.end
                yield "image", _target(node.href), ""
            case InlineKind.FOOTNOTE_REFERENCE:
                yield "footnote", _content(_cut(text, node.label)).lower(), ""
            case _:
                pass


def _token_facts(tokens: list[Token]) -> Iterator[InlineFact]:
    for token in tokens:
        if token.type == "code_inline":
            yield "code", _content(token.content), ""
        elif token.type == "link_open":
            yield "link", _target(str(token.attrs["href"])), ""
        elif token.type == "image":
            yield "image", _target(str(token.attrs["src"])), ""
        elif token.type == "footnote_ref":
            yield "footnote", _content(token.meta["label"]).lower(), ""
        if token.type != "image":
            yield from _token_facts(token.children or [])


class _Page(HTMLParser):
    """Facts from the HTML of cmark-gfm."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[BlockFact] = []
        self.nodes: list[InlineFact] = []
        self._in_pre = False
        self._code: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag in _TAGS and "data-sourcepos" in found:
            self.blocks.append((_TAGS[tag], int(found["data-sourcepos"].partition(":")[0])))
        if tag == "pre":
            self._in_pre = True
        elif tag == "code" and not self._in_pre:
            self._code = []
        elif tag == "img":
            self.nodes.append(("image", _target(found["src"]), ""))
        elif tag == "a" and "data-footnote-ref" in found:
            self.nodes.append(("footnote", _target(found["href"].removeprefix("#fn-")).lower(), ""))
        elif tag == "a" and "data-footnote-backref" not in found:
            self.nodes.append(("link", _target(found["href"]), ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre":
            self._in_pre = False
        elif tag == "code" and self._code is not None:
            self.nodes.append(("code", _content("".join(self._code)), ""))
            self._code = None

    def handle_data(self, data: str) -> None:
        if self._code is not None:
            self._code.append(data)
