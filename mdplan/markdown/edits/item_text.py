"""The text of a list item that a caller gives: to write it, or to find the item that has it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.blocks.block_structure import Block, BlockKind, is_left_open, parse_blocks
from mdplan.markdown.blocks.rendered_text import heading_title
from mdplan.markdown.edits.payload import read_payload
from mdplan.markdown.elements.lists import ItemMarker, Lists, MarkdownList, text_without_box
from mdplan.text.lines import LineIndex


@dataclass(frozen=True, slots=True)
class ItemText:
    """The content of one list item without its marker: `lines` without line ends.

    `text` is what `ListItem.text` gives for such an item: of its first paragraph or heading, without the box
    of a task, white space collapsed. It is empty where the item begins with another block.
    """

    lines: tuple[str, ...]
    text: str

    @property
    def rendered(self) -> str:
        """`text` as a reader sees it."""
        return heading_title(self.text)

    def written(self, marker: ItemMarker) -> list[str]:
        """The lines of an item with this text and this `marker`."""
        first, *more = self.lines
        blank = marker.prefix.rstrip(" \t")
        indented = (marker.prefix + marker.indentation + line if line else blank for line in more)
        return [f"{marker.prefix}{marker.text}{marker.spacing}{first}", *indented]


def read_item(markdown: str) -> ItemText | Diagnostic:
    """`markdown` as one item; a marker that it starts with is taken off, and with it the indentation.

    Errors: EMPTY_CONTENT; INVALID_ARGUMENT for more than one item.
    """
    payload = read_payload(markdown)
    if payload.is_blank:
        return Diagnostic(code=Code.EMPTY_CONTENT, message="item is empty", hint="give the text of the item")
    text = payload.text.lstrip(" \t")
    blocks = _roots(text)
    if blocks and blocks[0].kind is BlockKind.LIST:
        inner = _without_marker(text)
        if isinstance(inner, Diagnostic):
            return inner
        text, blocks = inner, _roots(inner)
    if not text.strip(" \t\n"):
        return Diagnostic(code=Code.EMPTY_CONTENT, message="item is empty", hint="give the text of the item")
    lines = tuple(line if line.strip(" \t") else "" for line in text.split("\n"))
    return ItemText(lines, text_without_box(blocks[0]) if blocks else "")


def check_item(item: ItemText, marker: ItemMarker) -> Diagnostic | None:
    """What is wrong with `item` after `marker`: it would not be one item, or would swallow what follows it.

    Errors: INVALID_ARGUMENT, OUTLINE_CHANGED.
    """
    text = "\n".join(item.written(replace(marker, prefix="")))
    lines = LineIndex(text)
    tree = parse_blocks(text, lines)
    lists = Lists(tree, text, lines).all
    is_one = len(tree.roots) == 1 and len(lists) > 0 and len(lists[0].items) == 1
    if not is_one or lists[0].block.markup != marker.text[-1] or lists[0].last_line != lines.count:
        return Diagnostic.invalid(
            f"after the marker `{marker.text}` this text would not be one item",
            "put a backslash before the character that makes it another block",
        )
    left_open = next((block for block in lists[0].items[0].children if is_left_open(block, text)), None)
    if left_open is None:
        return None
    return Diagnostic(
        code=Code.OUTLINE_CHANGED,
        message=f"item leaves the {left_open.kind} of its line {left_open.first_line} open",
        hint="close the fence, comment or tag in the item",
    )


def _roots(text: str) -> Sequence[Block]:
    return parse_blocks(text, LineIndex(text)).roots


def _without_marker(text: str) -> str | Diagnostic:
    """The content of the one item that `text` is. Errors: INVALID_ARGUMENT."""
    lines = LineIndex(text)
    tree = parse_blocks(text, lines)
    lists = Lists(tree, text, lines)
    listing: MarkdownList = lists.all[0]
    marker = lists.marker(listing, 0)
    if len(tree.roots) > 1 or len(listing.items) > 1 or marker is None:
        return Diagnostic.invalid(
            "item is a list; it must be the text of one item",
            "send one edit for each item, with the text after its marker",
        )
    first, *more = text[marker.span.end :].split("\n")
    width = len(marker.indentation)
    return "\n".join([first.lstrip(" \t"), *(_outdented(line, width) for line in more)])


def _outdented(line: str, width: int) -> str:
    """`line` without white space at its start, as far as it fills `width` columns."""
    at = column = 0
    while at < len(line) and line[at] in " \t" and column < width:
        column += 4 - column % 4 if line[at] == "\t" else 1
        at += 1
    return line[at:]
