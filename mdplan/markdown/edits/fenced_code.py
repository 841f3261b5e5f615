"""Fenced code blocks as places that can be written: their two fences and the lines between."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.markdown.blocks.block_structure import Block
from mdplan.markdown.blocks.containers import prefix_after, with_prefix
from mdplan.markdown.outline.outline import Outline
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import common_edges, line_end_around, lines_of
from mdplan.text.lines import Span

_FENCE_ALONE: Final = re.compile(r"[ \t]*(`+|~+)[ \t]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class FencedCode:
    """A closed fenced code block (CommonMark 0.31.2, section 4.5).

    `opening` and `closing` are the runs of fence characters. `prefix` is what its lines begin with: the
    marks of the containers around it, and the indentation of the opening fence, which code lines lose.
    """

    block: Block
    opening: Span
    closing: Span
    prefix: str

    @property
    def code(self) -> list[str]:
        """Lines of code without their prefixes."""
        return lines_of(self.block.code)


def read_fence(outline: Outline, block: Block) -> FencedCode | None:
    """The fenced code of `block`; None where the end of the file or of a container ends it, and no fence."""
    if block.last_line - block.first_line != len(lines_of(block.code)) + 1:
        return None
    lines = outline.source.lines
    first, last = lines.content(block.first_line), lines.content(block.last_line)
    opening, closing = first.index(block.markup), last.index(block.markup)
    width = len(last[closing:].rstrip(" \t"))
    opens, closes = lines.start(block.first_line) + opening, lines.start(block.last_line) + closing
    return FencedCode(
        block=block,
        opening=Span(opens, opens + len(block.markup)),
        closing=Span(closes, closes + width),
        prefix=prefix_after(first[:opening]),
    )


def replace_code(outline: Outline, fence: FencedCode, code: Sequence[str]) -> tuple[TextEdit, ...]:
    """Edits that make the lines `code` the code of `fence`; none where it has them already.

    Lines at both ends that stay the same are not touched. Both fences are made longer where a line of `code`
    would close the block.
    """
    before, behind = common_edges(fence.code, code)
    new_lines = code[before : len(code) - behind]
    lines = outline.source.lines
    start = lines.start(fence.block.first_line + 1 + before)
    end = lines.start(fence.block.last_line - behind)
    line_end = line_end_around(lines, start)
    text = "".join(with_prefix(fence.prefix, line) + line_end for line in new_lines)
    edits = [TextEdit(Span(start, end), text)] if text or end > start else []
    width = _width_for(fence.block.markup, code)
    edits += [
        TextEdit.insert(run.end, fence.block.markup[0] * (width - len(run)))
        for run in (fence.opening, fence.closing)
        if len(run) < width and edits
    ]
    return tuple(edits)


def _width_for(markup: str, code: Sequence[str]) -> int:
    """Number of fence characters that no line of `code` closes, at least as many as in `markup`."""
    runs = (found[1] for line in code if (found := _FENCE_ALONE.fullmatch(line)))
    longest = max((len(run) for run in runs if run[0] == markup[0]), default=0)
    return max(len(markup), longest + 1)
