"""Blocks and inline nodes of a text as three parsers see them: mdplan's, cmark-gfm, and markdown-it-py.

GitHub renders with cmark-gfm, so that is the reference. It reports positions only of blocks, and not for HTML
blocks and paragraphs in tight lists. So blocks are compared by kind and first line, and inline nodes by
visible content, without positions.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from html.parser import HTMLParser
from random import Random
from urllib.parse import unquote_to_bytes

from cmarkgfm import cmark
from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference, unescapeAll
from markdown_it.token import Token
from mdit_py_plugins.footnote import footnote_plugin

from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.blocks import CONTAINERS, Block, BlockKind
from mdplan.markdown.format_detection import find_front_matter
from mdplan.markdown.inline import InlineMap
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.outline import Outline
from mdplan.markdown.reference_parser import html_parser, inert_parser, parse_reference_blocks
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source
from tests.properties.hostile_markdown import random_document

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

# cmark-gfm omits these destinations.
_UNSAFE = re.compile(r"(?:javascript|vbscript|file|data):", re.IGNORECASE)
_FOOTNOTE_DEFINITION = re.compile(r"\[\^([^\]\s]+)\]:")

# Content lacks the container prefixes of its lines, and backslashes of escaped pipes.
_NOT_IN_CONTENT = re.compile(r"[\s>|\\\0\ufffd\x7f\udc80-\udcff]")


class Verdict(StrEnum):
    """Which of the parsers agree."""

    AGREED = "all agree"
    MARKDOWN_IT = "markdown-it-py differs"
    CMARK = "cmark-gfm differs"
    MDPLAN = "mdplan differs"
    NONE = "none agree"


@dataclass(frozen=True)
class Comparison:
    """The facts that each parser finds: blocks in document order, or inline nodes with counts."""

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
        """True if cmark-gfm and markdown-it-py agree."""
        return self.cmark == self.markdown_it


@dataclass(frozen=True)
class Compared:
    blocks: Comparison
    headings: Comparison
    # None if mdplan has undecided nodes, or a footnote is unused: cmark-gfm omits those.
    inline: Comparison | None

    @property
    def oracles_agree(self) -> bool:
        """True if cmark-gfm and markdown-it-py certainly agree on blocks and inline nodes."""
        inline = self.inline
        return self.blocks.oracles_agree and inline is not None and inline.oracles_agree


def compare(text: str) -> Compared:
    """Parse `text` with all parsers, with front matter replaced by blank lines."""
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
    theirs = _block_facts(parse_reference_blocks(text)[0])
    found, whole = InlineMap(tree), Span(0, len(text))
    return Compared(
        Comparison(ours, page.blocks, theirs),
        Comparison(_headings(ours), _headings(page.blocks), _headings(theirs)),
        None if found.undecided_in(whole) else _inline(text, found.nodes_in(whole), page),
    )


def _unused_footnotes(text: str) -> str:
    """Return a paragraph that refers to all footnotes, since cmark-gfm omits unused ones."""
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
    """Return a destination, normalizing escapes."""
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
    """Collect facts from the HTML of cmark-gfm."""

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


# --- Blocks compared with two other parsers, and the smallest text with a difference
#
# GitHub's cmark-gfm reports kinds and first lines of some blocks; where markdown-it-py agrees, all of its
# results must match.

EXTENSIONS = ["table", "tasklist", "strikethrough", "autolink"]
OPTIONS = cmark.Options.CMARK_OPT_SOURCEPOS
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_LINE_END = re.compile(r"\r\n?")
_OPENING = re.compile(r'<(h[1-6]|ul|ol|li|blockquote|pre|table|hr)(?: start="\d+")? data-sourcepos="(\d+):')

BLOCK_TAGS = {
    BlockKind.LIST_ITEM: "li",
    BlockKind.QUOTE: "blockquote",
    BlockKind.FENCE: "pre",
    BlockKind.INDENTED_CODE: "pre",
    BlockKind.TABLE: "table",
    BlockKind.RULE: "hr",
}

_FOOTNOTE = "[^"
_DEFINITION = "]:"

# The marker takes one column of such a tab, and the rest is code indentation; markdown-it-py keeps the tab.
_TAB_IN_QUOTE = re.compile(r"> *\t")

_TEXT_BELOW_NESTED_DEFINITION = re.compile(
    r"^(?:[ \t]+|.*[>+*.)-][ \t]*)\[[^\n]*\]:[^\n]*\n[ \t>]*\S", re.MULTILINE
)

_BLANK_TO_MARKDOWN_IT = re.compile(r"^[ \t|]*[^\S \t\n][\s|]*$", re.MULTILINE)

# markdown-it-py allows any whitespace in a tag, CommonMark only ASCII.
_BLANK_IN_TAG = re.compile(r"<[^>]*[^\S \t\n\v\f]")
_INDENTED_QUOTE = re.compile(r"^[ \t>]*(?: {4}|\t)[ \t]*>", re.MULTILINE)

# In cmark-gfm such a tag ends the text of the inner quote, and code can follow; but HTML of kind 7 cannot
# interrupt a paragraph, even on a lazy line (CommonMark 0.31.2, section 4.6). markdown-it-py continues the
# text, but also ends it at some lines indented like code: two bugs that look alike.
_TAG_ON_LAZY_LINE = re.compile(
    r"^(?:[ \t]*>){2,}[^\n]*\n(?:[ \t]*[^ \t\n][^\n]*\n)*?"
    r"[ \t]*>[ \t]*</?[A-Za-z][^\n>]*>[ \t]*\n(?: {4}| {0,3}\t)",
    re.MULTILINE,
)

_UNSEEN = (_INDENTED_QUOTE, _BLANK_TO_MARKDOWN_IT, _BLANK_IN_TAG)


def cmark_blocks(text: str) -> Counter[tuple[str, int]]:
    """Return the block tags of cmark-gfm with their first lines."""
    text = text.encode("utf-8", "replace").decode()
    page = cmark.markdown_to_html_with_extensions(text, OPTIONS, extensions=EXTENSIONS)
    return Counter((tag, int(line)) for tag, line in _OPENING.findall(page))


def tags_of(blocks: tuple[Block, ...]) -> Counter[tuple[str, int]]:
    """Return the tags of `blocks` with their first lines."""
    found: Counter[tuple[str, int]] = Counter()
    for block in blocks:
        tag = BLOCK_TAGS.get(block.kind)
        if block.kind is BlockKind.HEADING:
            tag = f"h{block.level}"
        elif block.kind is BlockKind.LIST:
            tag = "ol" if block.markup in {".", ")"} else "ul"
        if tag is not None:
            found[tag, block.first_line] += 1
    return found


def shape(block: Block) -> tuple[object, ...]:
    """Return what parsers must agree on; the end of a container is a matter of taste."""
    last_line = None if block.kind in CONTAINERS else block.last_line
    content = " ".join(block.content.split())
    return (
        block.kind,
        block.first_line,
        last_line,
        block.depth,
        block.level,
        content,
        # At cell edges markdown-it-py strips any whitespace, CommonMark only ASCII.
        tuple(cell.strip() for cell in block.cells),
        block.code,
    )


def differs(text: str) -> bool:
    """Return True if mdplan's blocks differ from both other parsers', or its headings from its blocks."""
    text = _LINE_END.sub("\n", text)
    # Without newline, trailing spaces in an unclosed fence are a matter of taste.
    text += "" if text.endswith("\n") else "\n"
    lines = LineIndex(text)
    tree = parse_blocks(text, lines)
    if tree.headings != tree.of_kinds(BlockKind.HEADING):
        return True
    reference = parse_reference_blocks(text)[0]
    if _TEXT_BELOW_NESTED_DEFINITION.search(text):
        # In pulldown-cmark HTML and quotes end such a definition, in cmark-gfm they can continue a paragraph.
        return False
    if _TAG_ON_LAZY_LINE.search(text):
        return False
    # Pages show only used footnotes, and at another place.
    if _FOOTNOTE in text or tags_of(reference) != cmark_blocks(text):
        return False
    if _DEFINITION in text or any(pattern.search(text) for pattern in _UNSEEN):
        # Tags do not show where paragraphs and tables end: in markdown-it-py a definition ends immediately, a
        # quote marker continues its quote at any indentation, and a no-break space is not a table row.
        return tags_of(tree.blocks) != tags_of(reference)
    shapes, others = [*map(shape, tree.blocks)], [*map(shape, reference)]
    if _TAB_IN_QUOTE.search(text):
        shapes, others = ([each[:-1] for each in sides] for sides in (shapes, others))
    return shapes != others


def difference(text: str) -> str | None:
    """Return `text` reduced to as few lines as possible that still differ; None without difference."""
    if not differs(text):
        return None
    lines = _LINES.findall(text)
    at = 0
    while at < len(lines):
        fewer = lines[:at] + lines[at + 1 :]
        if differs("".join(fewer)):
            lines, at = fewer, 0
        else:
            at += 1
    return "".join(lines)


# --- Inline nodes of the parser, compared with the content of mdplan's spans
#
# Neither side has columns, so both become facts: for each node, in document order, its kind and content.

Fact = tuple[str, ...]
Definitions = dict[str, dict[str, str]]

# Characters allowed before an address by the plugin for bare addresses.
_BEFORE_ADDRESS = frozenset(("", *" \t\r\n*_~("))


@cache
def _parser() -> MarkdownIt:
    """Return a GFM parser with footnotes and HTML that emits definitions as tokens."""
    parser = inert_parser(100)
    parser.options["html"] = parser.options["inline_definitions"] = True
    return parser.use(footnote_plugin, inline=False, move_to_end=False)


def all_nodes(text: str) -> tuple[tuple[InlineNode, ...], tuple[Span, ...]]:
    """Return the nodes and undecided spans of a document without front matter."""
    nodes = InlineMap(parse_blocks(text, LineIndex(text)))
    whole = Span(0, len(text))
    return nodes.nodes_in(whole), nodes.undecided_in(whole)


def disagreements(text: str, nodes: tuple[InlineNode, ...]) -> list[tuple[Fact | None, Fact | None]]:
    """Return differing facts of the parser and of `nodes`, as pairs."""
    environment: dict[str, Definitions] = {}
    expected = list(_inline_facts(_parser().parse(text + "\n", environment)))
    seen = text.replace("\0", "\ufffd")
    found = []
    for node in nodes:
        if node.kind is InlineKind.WIKI_LINK:
            continue
        fact = _node_fact(node, seen, environment.get("references", {}))
        if fact in expected or not _is_unseen_address(node, text):
            found.append(fact)
    length = max(len(expected), len(found))
    rows = zip(_padded(expected, length), _padded(found, length), strict=True)
    return [(want, have) for want, have in rows if want is None or have is None or not _agree(want, have)]


def _is_unseen_address(node: InlineNode, text: str) -> bool:
    """Return True if `node` is a mail address that the plugin misses because of the character before it.

    GFM (section 6.9) and cmark-gfm accept an address after any character that cannot be part of it, as in
    ``"a@b.org"``. The plugin requires a character that may precede a bare URL.
    """
    is_bare = node.kind is InlineKind.AUTOLINK and not text.startswith("<", node.span.start)
    return (
        is_bare
        and node.href.startswith("mailto:")
        and not text.startswith("mailto:", node.span.start)
        and text[: node.span.start][-1:] not in _BEFORE_ADDRESS
    )


def _padded(facts: list[Fact], length: int) -> list[Fact | None]:
    return [*facts, *[None] * (length - len(facts))]


def _agree(expected: Fact, found: Fact) -> bool:
    """Return True if two facts are equal.

    Multi-line facts, and facts with an escaped pipe, are compared without whitespace, quote markers, pipes
    and backslashes, since content lacks some of these.
    """
    if any(mark in part for part in found for mark in ("\n", "\r", "\\|")):
        return [_bare(part) for part in expected] == [_bare(part) for part in found]
    return expected == found


def _bare(text: str) -> str:
    return re.sub(r"[\s>|\\]", "", text)


def _inline_facts(tokens: list[Token]) -> Iterator[Fact]:
    for index, token in enumerate(tokens):
        if token.type == "definition":
            yield "definition", token.meta["label"], token.meta["url"], token.meta["title"]
        elif token.type == "footnote_reference_open":
            yield "footnoteDefinition", token.meta["label"]
        elif token.type == "footnote_ref":
            yield "footnoteReference", token.meta["label"]
        elif token.type == "code_inline":
            yield "inlineCode", token.content
        elif token.type == "html_inline":
            yield "html", token.content
        elif token.type == "link_open" and token.info == "auto":
            yield "autolink", tokens[index + 1].content, str(token.attrs["href"])
        elif token.type == "link_open":
            yield "link", str(token.attrs["href"]), str(token.attrs.get("title", ""))
        elif token.type == "image":
            yield "image", str(token.attrs["src"]), str(token.attrs.get("title", "")), token.content
        yield from _inline_facts(token.children or [])


def _node_fact(node: InlineNode, text: str, definitions: Definitions) -> Fact:
    def cut(span: Span | None) -> str:
        return "" if span is None else text[span.start : span.end]

    whole = cut(node.span)
    label = cut(node.label)
    match node.kind:
        case InlineKind.DEFINITION:
            assert whole.startswith(f"[{label}]:")
            return (node.kind, label, *_inline_target(cut(node.destination), cut(node.title)))
        case InlineKind.FOOTNOTE_DEFINITION | InlineKind.FOOTNOTE_REFERENCE:
            assert whole == f"[^{label}]" + ":" * (node.kind is InlineKind.FOOTNOTE_DEFINITION)
            return node.kind, label
        case InlineKind.CODE:
            marks = "`" * (len(whole) - len(whole.lstrip("`")))
            inside = cut(node.text)
            assert marks
            assert whole == marks + inside + marks
            spaced = len(inside) > 2 and inside[0] == inside[-1] == " " and inside.strip(" ")
            return node.kind, inside[1:-1] if spaced else inside
        case InlineKind.HTML:
            assert whole[0] + whole[-1] == "<>"
            return node.kind, whole
        case InlineKind.AUTOLINK:
            written = cut(node.destination)
            assert whole in {written, f"<{written}>"}
            assert node.href.endswith((written, written.replace("\\|", "|")))
            return node.kind, written, node.href
    opening = "!" if node.kind is InlineKind.IMAGE else ""
    assert whole.startswith(f"{opening}[{cut(node.text)}]")
    if node.destination is None:
        assert whole.endswith((f"[{label}]", f"[{label}][]"))
        definition = definitions[normalizeReference(_joined(label))]
        target = definition["href"], definition["title"]
    else:
        assert whole.endswith(")")
        target = _inline_target(cut(node.destination), cut(node.title))
    return (node.kind, *target, cut(node.text)) if opening else (node.kind, *target)


def _inline_target(destination: str, title: str) -> tuple[str, str]:
    if destination.startswith("<"):
        assert destination.endswith(">")
        destination = destination[1:-1]
    assert not title or title[0] + title[-1] in {'""', "''", "()"}
    return unescapeAll(destination), unescapeAll(title[1:-1])


def _joined(label: str) -> str:
    """Return a label as in content: without container prefixes, pipes unescaped."""
    return re.sub(r"[\r\n]+[ \t>]*", "\n", label).replace("\\|", "|")


# --- Inline nodes of a document parsed by section, compared with a single parse


def sections_differ(text: str) -> str | None:
    """Return the difference in nodes or undecided spans, or None."""
    front_matter = find_front_matter(text)
    tree = parse_blocks(text, LineIndex(text), front_matter.span.end if front_matter else 0)
    sections = InlineMap(tree)
    all_of_it = _OneSection(tree)
    for span in (Span(0, len(text)), *(Span(at, min(at + 40, len(text))) for at in range(0, len(text), 40))):
        for name in ("nodes_in", "undecided_in"):
            found, expected = getattr(sections, name)(span), getattr(all_of_it, name)(span)
            if found != expected:
                return f"{name} {span}: {found} and not {expected}"
    return None


class _OneSection(InlineMap):
    """Parse the whole body at once."""

    @property
    def _starts(self) -> list[int]:
        return self._tree.part_starts[:1]

    def _footnotes_for(self, part: str) -> str:
        return ""


# --- Outlines of edited documents, parsed around the edits, compared with a full parse

# Text that changes the meaning of later lines.
NEW = (
    *("", "x", "\n", "\n\n", " ", "    ", "# H\n", "\n# N\n\n", "## ", "a\nb\n", "---\n", "===\n"),
    *(
        "```\n",
        "\n```\n",
        "~~~",
        "> ",
        "- ",
        "1. ",
        "<!--",
        "-->",
        "<div>\n",
        "[a]: /u\n",
        "|-|-|\n",
        "+++\n",
        " {#own}",
        "{: #own}\n",
        '<a id="own"></a>\n',
    ),
)


def random_edits(dice: Random, text: str) -> EditList:
    """Return some edits of `text`, most of them small."""
    edits: list[TextEdit] = []
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        start = dice.randrange(len(text) + 1)
        end = min(start + dice.choice((0, 0, 1, 2, 5, 20)), len(text))
        new = dice.choice((*NEW, random_document(dice)[:30]))
        edits.append(TextEdit(Span(start, end), new))
    found = EditList.of(edits)
    return found if isinstance(found, EditList) else EditList((edits[0],))


def is_rescanned_alike(text: str, edits: EditList, *, looks_first: bool = True) -> bool:
    """Return True if the outline after `edits` of `text` equals a full scan of the result.

    `looks_first` parses all blocks beforehand, so that unchanged ones are reused.
    """
    before = Outline(source_of(text))
    if looks_first:
        assert before.blocks is before.tree.blocks
    source = source_of(edits.apply(text))
    edited, whole = before.edited(edits, source), Outline(source)
    lines = LineIndex(source.text)
    return (
        edited.source.lines.starts == lines.starts
        and list(edited.tree.part_starts) == list(whole.tree.part_starts)
        and edited.tree.nesting_limit == whole.tree.nesting_limit
        and edited.content_end == whole.content_end
        # This compares all fields of sections, including the preamble and nested ones.
        and edited.in_order == whole.in_order
        and edited.blocks == whole.blocks
    )


def source_of(text: str) -> Source:
    """Return `text` as a source in UTF-8, with lone surrogates as invalid bytes."""
    invalid = sum("\udc80" <= character <= "\udcff" for character in text)
    return Source(text.encode("utf-8", "surrogateescape"), text, "utf-8", b"", "", invalid)
