"""Changes of the outline that the text of a line edit makes on purpose.

Line edits write Markdown source: an edit that writes or removes a heading changes what is below it, and an
edit that writes both fences of a code block intends what is between them. An edit that writes only one end
of a block swallows text by accident.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from mdplan.markdown.block_tree import is_left_open
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.headings import folded
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.planning.build import BuiltFile
from mdplan.text.lines import Span

_SWALLOWING: Final = frozenset({BlockKind.FENCE, BlockKind.HTML})


class IntendedChanges:
    """Explains changes of the outline by what line edits removed from the base or wrote into the result."""

    def __init__(self, built: BuiltFile) -> None:
        """Collect the intended changes of `built`."""
        self._base, self._result = built.base, built.result
        edits = [item for item in built.resolved if item.operation.edits_source]
        self._taken = [
            edit.span for item in edits if item.outline is built.base for edit in item.resolution.edits
        ]
        self._written = [span for item in edits for span in built.written.get(item.index, ())]

    def explain_parent(self, now: Section | None) -> bool:
        """Whether a heading may be below `now` in the result, and was below another one in the base.

        It may if an edit wrote `now`, and not in place of the same heading at another level.
        """
        if now is None or now.is_root or not self._writes(self._result.heading_span(now)):
            return False
        title = folded(now.title)
        taken = (section for span in self._taken for section in self._base.headings_in(span))
        return all(folded(section.title) != title for section in taken)

    def explain_loss(self, start: int | None) -> bool:
        """Whether the text at `start` of the result is in a block of which both ends were written."""
        block = None if start is None else self._result.tree.leaf_at(start)
        if block is None or block.kind not in _SWALLOWING or is_left_open(block, self._result.source.text):
            return False
        return all(self._writes(end) for end in _ends(self._result, block))

    def explain_gain(self, start: int | None) -> bool:
        """Whether the text at `start` of the base was in a block of which both ends were taken, or left open.

        A block that nothing closed swallowed what it did by mistake: who closes it means that.
        """
        block = None if start is None else self._base.tree.leaf_at(start)
        if block is None or block.kind not in _SWALLOWING:
            return False
        if is_left_open(block, self._base.source.text):
            last = self._result.tree.last_root
            return last is None or not is_left_open(last, self._result.source.text)
        return all(self._takes(end) for end in _ends(self._base, block))

    def explain_front_matter(self) -> bool:
        """Whether the front matter comes with a fence that was written, or goes with one that was taken.

        What comes must be keys with values: between two thematic breaks is other text.
        """
        had, has = self._base.front_matter, self._result.front_matter
        if has is not None and had is None:
            # Most edits touch no front matter, and this loads a YAML parser.
            from mdplan.markdown.front_matter import FrontMatterContent

            content = self._result.front_matter_content
            is_mapping = isinstance(content, FrontMatterContent) and bool(content.values)
            return is_mapping and any(map(self._writes, _fences(self._result, has.span)))
        return had is not None and all(map(self._takes, _fences(self._base, had.span)))

    def _takes(self, span: Span) -> bool:
        return any(taken.overlaps(span) for taken in self._taken)

    def _writes(self, span: Span) -> bool:
        return any(written.contains(span) for written in self._written)


def _ends(outline: Outline, block: Block) -> Sequence[Span]:
    return [*_fences(outline, block.span)]


def _fences(outline: Outline, span: Span) -> Iterator[Span]:
    """The first and the last line of `span`, without line ends."""
    lines = outline.source.lines
    for offset in (span.start, span.end - 1):
        line = lines.line_at(offset)
        yield Span(lines.start(line), lines.content_end(line))
