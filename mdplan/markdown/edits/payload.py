"""Markdown that a caller wants to insert: its headings, and their levels fitted to the place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.markdown.blocks.block_structure import Block, BlockKind, BlockTree, is_left_open, parse_blocks
from mdplan.markdown.blocks.heading_source import atx_heading
from mdplan.markdown.outline.anchor_lines import lead_starts
from mdplan.markdown.outline.heading_path import MAX_LEVEL
from mdplan.text.line_end_view import to_lf
from mdplan.text.lines import LineIndex

_BLANK: Final = " \t\n"
_ATX_MARKS: Final = re.compile(r"( {0,3})#+")


@dataclass(frozen=True, slots=True)
class Payload:
    """Text with LF line ends and no blank lines around it, and its blocks (spans are in `text`)."""

    text: str
    tree: BlockTree

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing to insert."""
        return not self.text.strip()

    @property
    def headings(self) -> tuple[Block, ...]:
        """Its top-level headings."""
        return tuple(block for block in self.tree.roots if block.kind is BlockKind.HEADING)

    @property
    def starts_with_heading(self) -> bool:
        """Whether it begins with a heading, or with anchor lines above one."""
        return bool(self.headings) and self._first_section == 0

    @property
    def starts_with_anchor(self) -> bool:
        """Whether it begins with anchor lines above a heading."""
        return self.starts_with_heading and self.headings[0].span.start > 0

    def split(self) -> "tuple[Payload, Payload]":
        """The text before the first section, with the blank lines after it but for one, and the rest."""
        before, rest = self.text[: self._first_section], self.text[self._first_section :]
        return _parsed(before.removesuffix("\n").removesuffix("\n")), _parsed(rest)

    @property
    def _first_section(self) -> int:
        start = self.headings[0].span.start
        return lead_starts(self.text, (start,), 0).get(0, start)

    @property
    def left_open(self) -> Block | None:
        """A fence, comment or other HTML block that would swallow what follows the payload."""
        last = self.tree.roots[-1] if self.tree.roots else None
        return last if last is not None and is_left_open(last, self.text) else None


def read_payload(markdown: str) -> Payload:
    """`markdown` as a payload."""
    return _parsed(_without_blank_lines_around(to_lf(markdown)))


def _parsed(text: str) -> Payload:
    return Payload(text, parse_blocks(text, LineIndex(text)))


def fit_levels(payload: Payload, shallowest: int, *, own_level: int | None = None) -> Payload | int:
    """`payload` with one number added to the levels of its headings.

    Headings are never lifted. The number is just enough that the shallowest of them is at level
    `shallowest` or deeper. With `own_level` the first heading is brought to that level, and is not part of
    this. Where a heading would go below level 6, the level that it would have is returned. A setext heading
    that goes below level 2 becomes ATX.
    """
    levels = [block.level for block in payload.headings]
    own = [own_level] if own_level is not None else []
    shift = max(0, shallowest - min(levels[len(own) :], default=shallowest))
    return _with_levels(payload, [*own, *(level + shift for level in levels[len(own) :])])


def _with_levels(payload: Payload, levels: Sequence[int]) -> Payload | int:
    """`payload` with its headings at `levels`; the deepest of these where it is below level 6."""
    deepest = max(levels, default=0)
    if deepest > MAX_LEVEL:
        return deepest
    pieces: list[str] = []
    at = 0
    for block, level in zip(payload.headings, levels, strict=True):
        if level != block.level:
            pieces += (payload.text[at : block.span.start], _at_level(block, payload.text, level))
            at = block.span.end
    pieces.append(payload.text[at:])
    return read_payload("".join(pieces)) if at else payload


def _without_blank_lines_around(text: str) -> str:
    """`text` from its first to its last line that is not blank, without the last line end."""
    before = len(text) - len(text.lstrip(_BLANK))
    if before == len(text):
        return ""
    end = text.find("\n", len(text.rstrip(_BLANK)))
    return text[text.rfind("\n", 0, before) + 1 : end if end >= 0 else len(text)]


def _at_level(block: Block, text: str, level: int) -> str:
    """Source of the heading `block` at another level, with the line end it had."""
    source = text[block.span.start : block.span.end]
    line_end = "\n" if source.endswith("\n") else ""
    if block.markup.startswith("#"):
        return _ATX_MARKS.sub(lambda match: match[1] + "#" * level, source, count=1)
    if level <= len("=-"):
        lines = source.rstrip("\n").split("\n")
        return "\n".join([*lines[:-1], ("=" if level == 1 else "-") * len(lines[-1].strip())]) + line_end
    title = " ".join(line.strip() for line in block.content.split("\n"))
    return f"{atx_heading(level, title) or '#' * level + ' ' + title}{line_end}"
