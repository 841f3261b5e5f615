"""Blocks against two other parsers, and the smallest text that shows how they differ.

GitHub's cmark-gfm gives kinds and first lines of some blocks; where markdown-it-py agrees with it on these,
all that markdown-it-py gives must be the same.
"""

import re
from collections import Counter

from cmarkgfm import cmark

from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.blocks import CONTAINERS, Block, BlockKind
from mdplan.markdown.reference_parser import parse_reference_blocks
from mdplan.text.lines import LineIndex

EXTENSIONS = ["table", "tasklist", "strikethrough", "autolink"]
OPTIONS = cmark.Options.CMARK_OPT_SOURCEPOS
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_LINE_END = re.compile(r"\r\n?")
_OPENING = re.compile(r'<(h[1-6]|ul|ol|li|blockquote|pre|table|hr)(?: start="\d+")? data-sourcepos="(\d+):')
_TAGS = {
    BlockKind.LIST_ITEM: "li",
    BlockKind.QUOTE: "blockquote",
    BlockKind.FENCE: "pre",
    BlockKind.INDENTED_CODE: "pre",
    BlockKind.TABLE: "table",
    BlockKind.RULE: "hr",
}
_FOOTNOTE = "[^"
_DEFINITION = "]:"
# Of such a tab the mark takes one column, and others are spaces of code: to markdown-it-py it stays a tab.
_TAB_IN_QUOTE = re.compile(r"> *\t")
_TEXT_BELOW_NESTED_DEFINITION = re.compile(
    r"^(?:[ \t]+|.*[>+*.)-][ \t]*)\[[^\n]*\]:[^\n]*\n[ \t>]*\S", re.MULTILINE
)
_BLANK_TO_MARKDOWN_IT = re.compile(r"^[ \t|]*[^\S \t\n][\s|]*$", re.MULTILINE)
# To markdown-it-py any white space can be in a tag, to CommonMark that of ASCII.
_BLANK_IN_TAG = re.compile(r"<[^>]*[^\S \t\n\v\f]")
_INDENTED_QUOTE = re.compile(r"^[ \t>]*(?: {4}|\t)[ \t]*>", re.MULTILINE)
# To cmark-gfm such a tag ends the text of the inner quote, and code can follow; but HTML of kind 7 cannot
# interrupt a paragraph, on a lazy line neither (CommonMark 0.31.2, section 4.6). markdown-it-py continues the
# text, but ends it, too, at some lines that are indented like code: two faults that look like one answer.
_TAG_ON_LAZY_LINE = re.compile(
    r"^(?:[ \t]*>){2,}[^\n]*\n(?:[ \t]*[^ \t\n][^\n]*\n)*?"
    r"[ \t]*>[ \t]*</?[A-Za-z][^\n>]*>[ \t]*\n(?: {4}| {0,3}\t)",
    re.MULTILINE,
)

_UNSEEN = (_INDENTED_QUOTE, _BLANK_TO_MARKDOWN_IT, _BLANK_IN_TAG)


def cmark_blocks(text: str) -> Counter[tuple[str, int]]:
    """Tags that cmark-gfm makes of blocks, with their first lines."""
    text = text.encode("utf-8", "replace").decode()
    page = cmark.markdown_to_html_with_extensions(text, OPTIONS, extensions=EXTENSIONS)
    return Counter((tag, int(line)) for tag, line in _OPENING.findall(page))


def tags_of(blocks: tuple[Block, ...]) -> Counter[tuple[str, int]]:
    """The same of `blocks`."""
    found: Counter[tuple[str, int]] = Counter()
    for block in blocks:
        tag = _TAGS.get(block.kind)
        if block.kind is BlockKind.HEADING:
            tag = f"h{block.level}"
        elif block.kind is BlockKind.LIST:
            tag = "ol" if block.markup in {".", ")"} else "ul"
        if tag is not None:
            found[tag, block.first_line] += 1
    return found


def shape(block: Block) -> tuple[object, ...]:
    """What parsers must agree on; where a container ends is a matter of taste."""
    last_line = None if block.kind in CONTAINERS else block.last_line
    content = " ".join(block.content.split())
    return (
        block.kind,
        block.first_line,
        last_line,
        block.depth,
        block.level,
        content,
        # At the ends of a cell markdown-it-py drops any white space, CommonMark that of ASCII.
        tuple(cell.strip() for cell in block.cells),
        block.code,
    )


def differs(text: str) -> bool:
    """Whether blocks of `text` are not what both other parsers say, or headings not those of the blocks."""
    text = _LINE_END.sub("\n", text)
    # Blanks at the end of a fence that is not closed are taste without a line end.
    text += "" if text.endswith("\n") else "\n"
    lines = LineIndex(text)
    tree = parse_blocks(text, lines)
    if tree.headings != tree.of_kinds(BlockKind.HEADING):
        return True
    reference = parse_reference_blocks(text).blocks
    if _TEXT_BELOW_NESTED_DEFINITION.search(text):
        # To pulldown-cmark HTML and quotes end such a definition, to cmark-gfm they can continue a paragraph.
        return False
    if _TAG_ON_LAZY_LINE.search(text):
        return False
    # Pages show footnotes elsewhere, and only those with references.
    if _FOOTNOTE in text or tags_of(reference) != cmark_blocks(text):
        return False
    if _DEFINITION in text or any(pattern.search(text) for pattern in _UNSEEN):
        # Tags do not show where paragraphs and tables end: to markdown-it-py a definition ends at once, a
        # quote mark continues its quote at any indentation, and a no-break space is no row of a table.
        return tags_of(tree.blocks) != tags_of(reference)
    shapes, others = [*map(shape, tree.blocks)], [*map(shape, reference)]
    if _TAB_IN_QUOTE.search(text):
        shapes, others = ([each[:-1] for each in sides] for sides in (shapes, others))
    return shapes != others


def difference(text: str) -> str | None:
    """The same in as few of the lines of `text` as can be; None where all agree."""
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
