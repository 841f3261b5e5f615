"""Operations on blocks that a text names, and on the code of fenced blocks."""

from bisect import bisect_left
from typing import ClassVar, Final, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Candidate, Code, Refused, both
from mdplan.markdown import block_edits
from mdplan.markdown.addresses import find_by_path, find_fence
from mdplan.markdown.block_edits import BlockChange, BlockEditor, PlacedBlock
from mdplan.markdown.formatting import FencedCode, read_fence, replace_code
from mdplan.markdown.outline import Outline, fence_language
from mdplan.markdown.payload import Payload, read_payload, read_text_payload
from mdplan.markdown.sections import Section
from mdplan.operations.base import (
    ONCE_BY_TEXT,
    BlockInsertion,
    Claim,
    CodeBlockField,
    InsertOrder,
    InsertRank,
    ReplacingOperation,
    Resolution,
    SectionTargeted,
)
from mdplan.operations.matches import with_nearest_lines
from mdplan.operations.sections import place_in_body
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, lines_of, to_lf
from mdplan.text.source import visible
from mdplan.text.visible import first_few, shortened
from mdplan.values import replace
from mdplan.words import say


class BlockOperation(SectionTargeted):
    """An operation on a paragraph, list, table, quote or code block that a text names."""

    target_is_required: ClassVar = False
    accepts_root: ClassVar = True

    block: str = Field(min_length=1, description="Text that the block begins with or contains, or its ^id.")
    kind: block_edits.KindName | None = Field(
        default=None, description="Its kind; without it the innermost block with that text."
    )

    def find_editor(self, outline: Outline) -> tuple[Section | None, BlockEditor]:
        """Return the section that the edit names, and the block.

        Errors: as for the target; MATCH_COUNT_MISMATCH; OUTLINE_CHANGED for a block that cuts an enclosure in
        half.
        """
        section = self.named_section(outline)
        return section, BlockEditor(find_block(outline, section, "block", self.block, self.kind))


class GuardedBlockOperation(BlockOperation):
    """An operation that takes the text of a block away."""

    expected_text: str | None = Field(default=None, description="The whole text of the block as it is now.")

    def find_editor(self, outline: Outline) -> tuple[Section | None, BlockEditor]:
        """Errors: as for the base class; TEXT_MISMATCH."""
        section, editor = super().find_editor(outline)
        expected = self.expected_text
        if expected is not None and read_payload(expected).text not in {
            editor.source,
            editor.source_of(editor.own_lines),
        }:
            lines = editor.lines
            problem = Code.TEXT_MISMATCH.problem(
                say("the block at lines {}-{} is not {expectedText}", lines.start, lines.stop - 1),
                "read the block again",
                place=outline.source.lines.position(editor.span.start),
            )
            raise Refused(with_nearest_lines(outline, problem, expected, editor.span))
        return section, editor

    def is_evidence(self, editor: BlockEditor) -> bool:
        """Return True if the edit has the whole text of the block."""
        return self.expected_text is not None or read_payload(self.block).text == editor.source


class InsertBlock(BlockOperation):
    """Insert Markdown before or after a paragraph, list, table, quote or code block.

    `block` is text that the block begins with or contains, as written or as rendered; whitespace does not
    matter. It must match exactly one block in the section with its subsections, or in the file. The text of a
    block in a list item or quote matches that block; `kind`, or a text that begins with the marker, selects
    the list or quote. `^id` names the block with that ID, as in Obsidian.

    Blank lines around the new text are added as needed. In a list item or quote it gets the indentation and
    markers of its neighbour, and a tight list stays tight if Markdown allows it. The edit refuses headings,
    and new text that would merge with a neighbour, such as a list next to a list with the same marker.
    """

    example: ClassVar[dict[str, object]] = {
        "block": "The nightly firmware",
        "position": "after",
        "markdown": "It is built every night.",
    }
    once_condition: ClassVar = ONCE_BY_TEXT

    op: Literal["insert_block"]
    position: block_edits.Side = Field(description="before or after the block.")
    markdown: str = Field(description="Text to insert.")

    def resolve(self, outline: Outline) -> Resolution:
        """Return one insertion. Errors: as `find_editor` and `read_blocks`; OUTLINE_CHANGED."""
        (section, editor), payload = both(
            lambda: self.find_editor(outline), lambda: read_blocks(self.markdown)
        )
        change = editor.insert(self.position, payload)
        return _resolution(outline, editor, section, change, self.position, editor.place(self.position))


class ReplaceBlock(ReplacingOperation, GuardedBlockOperation):
    """Replace a paragraph, list, table, quote or code block.

    `block`, the section and `kind` name the block as in `insert_block`. The new text keeps the distance to
    its neighbours, and in a list item or quote the indentation and markers. Equal lines are not touched. An
    ID on a separate line below the block stays. `expectedText` proves that this is the block you mean. Single
    list items and table rows have operations of their own.
    """

    example: ClassVar[dict[str, object]] = {
        "block": "The nightly firmware",
        "markdown": "Use the stable firmware.",
    }

    op: Literal["replace_block"]
    markdown: str = Field(description="New text.")

    def resolve(self, outline: Outline) -> Resolution:
        """Return one replacement. Errors: as `find_editor` and `read_blocks`; OUTLINE_CHANGED."""
        (section, editor), payload = both(
            lambda: self.find_editor(outline), lambda: read_blocks(self.markdown)
        )
        change = editor.replace(payload)
        return replace(
            _resolution(outline, editor, section, change, None, editor.span),
            is_evidence=self.is_evidence(editor),
        )


class DeleteBlock(GuardedBlockOperation):
    """Delete a paragraph, list, table, quote or code block, and the blank lines around it.

    `block`, the section and `kind` name the block as in `insert_block`. The list item or quote around it is
    deleted too if nothing else remains in it, and so is an ID on a separate line below the block.
    `expectedText`, or a `block` that is its whole text, proves that this is the block you mean. The edit is
    refused if it would merge two other blocks, such as two lists.
    """

    example: ClassVar[dict[str, object]] = {"block": "The nightly firmware"}
    satisfied_by: ClassVar = frozenset({Code.MATCH_COUNT_MISMATCH})

    op: Literal["delete_block"]

    def resolve(self, outline: Outline) -> Resolution:
        """Return one deletion. Errors: as `find_editor`; OUTLINE_CHANGED."""
        section, editor = self.find_editor(outline)
        change, claimed = editor.delete()
        is_evidence = self.is_evidence(editor) and claimed == editor.span
        return replace(_resolution(outline, editor, section, change, None, claimed), is_evidence=is_evidence)


class MoveBlock(BlockOperation):
    """Move a paragraph, list, table, quote or code block next to another one, or into another section.

    `block`, the section and `kind` name the block as in `insert_block`. `toBlock` is the text of the block
    that it goes `before` or `after`, in the section `toHeadingPath` or in the file. Without `toBlock` it goes
    to the `start` or the `end` of the own text of the section `toHeadingPath`. Blank lines, indentation and
    marks are set as they must be at the new place. An ID on a separate line below the block moves along.
    """

    example: ClassVar[dict[str, object]] = {
        "block": "The nightly firmware",
        "toHeadingPath": ["Brew"],
        "position": "start",
    }
    moves_text: ClassVar = True

    op: Literal["move_block"]
    to_block: str | None = Field(default=None, min_length=1, description="Text of the block to move it to.")
    to_heading_path: tuple[str, ...] | None = Field(
        default=None, description="Heading path of the section to move to; [] is the preamble."
    )
    position: Literal["before", "after", "start", "end"] = Field(
        description="before or after toBlock, or start or end of the section."
    )

    @model_validator(mode="after")
    def _check_destination(self) -> "MoveBlock":
        if (self.to_block is None) == (self.position in {"before", "after"}):
            raise ValueError(say("{position} is before or after with {toBlock}, and start or end without it"))
        if self.to_block is None and self.to_heading_path is None:
            raise ValueError(say("give {toBlock or toHeadingPath}"))
        return self

    def resolve(self, outline: Outline) -> Resolution:
        """Return one deletion and one insertion.

        Errors: as `find_editor`, of the destination, and of `BlockEditor.move`; INVALID_ARGUMENT for a
        place in the block itself.
        """
        (section, editor), to = both(
            lambda: self.find_editor(outline), lambda: self._find_destination(outline)
        )
        if isinstance(to, BlockEditor):
            return self._move_beside(outline, section, editor, to)
        payload = read_payload(editor.source)
        place = place_in_body(outline, to, "start" if self.position == "start" else "end", payload)
        if editor.span.start <= place.offset <= editor.span.end and not editor.is_nested:
            return Resolution.at(outline, editor.span, (), section=section)
        roots = outline.tree.blocks
        index = bisect_left(roots, place.offset, key=lambda block: block.span.start)
        coming = BlockChange(offset=place.offset, payload=payload)
        change = editor.move([coming], block_edits.arrival(index, payload, 0))
        moved = _resolution(outline, editor, section, change, None, editor.span)
        arriving = place.insertion(payload)
        return replace(
            moved, claims=(*moved.claims, *arriving.claims), insertions=arriving.insertions, destination=to
        )

    def _find_destination(self, outline: Outline) -> Section | BlockEditor:
        to = None if self.to_heading_path is None else find_by_path(outline, self.to_heading_path)
        if to is not None and to.nested:
            raise Code.INVALID_ARGUMENT.refused(
                f"the heading at line {to.heading_line} is in a quote or list: it has no section",
                say("name a block there by {toBlock}"),
            )
        if self.to_block is None:
            assert to is not None, "the model checks it"
            return to
        return BlockEditor(find_block(outline, to, "toBlock", self.to_block, None))

    def _move_beside(
        self, outline: Outline, section: Section | None, editor: BlockEditor, to: BlockEditor
    ) -> Resolution:
        payload = read_payload(editor.source)
        side: block_edits.Side = "before" if self.position == "before" else "after"
        if editor.target.index <= to.target.index < editor.end:
            raise Code.INVALID_ARGUMENT.refused(
                "a block cannot move next to itself, or into itself", say("name another one by {toBlock}")
            )
        at = to.target.index if side == "before" else to.end
        if to.target.block.depth == editor.target.block.depth and at in {editor.target.index, editor.end}:
            return Resolution.at(outline, editor.span, (), section=section)
        arrival = block_edits.arrival(at, payload, to.target.block.depth)
        change = editor.move(to.insertions(side, payload), arrival)
        moved = _resolution(outline, to, section, change, side, editor.span)
        claim = Claim(span=to.place(side), owner=outline.section_at(to.span.start).index)
        return replace(moved, claims=(*moved.claims, claim))


_FENCE: Final = lazy_pattern(r"[ ]{0,3}(?:`{3,}|~{3,})")
_MARKDOWN: Final = frozenset({"md", "markdown", "mdx", "qmd", "rmd"})
_MOST_LISTED: Final = 10


class ReplaceCodeBlock(ReplacingOperation, SectionTargeted):
    """Replace the code in a fenced code block.

    `codeBlock` names it by `index`, which counts the fenced blocks of the file from 0 at every depth, as
    md_stat does. `language`, the first word after the opening fence, is enough for a unique block; with both,
    the index counts the blocks of that language. With a section, the index counts within it and its
    subsections.

    `markdown` is the new code without fences; it may be empty. A code block with fences is refused, unless
    the block shows Markdown. Fences, info string, and the indentation or quote markers of each line stay.
    Both fences grow if the new code would close the block. `expectedText` proves that this is the code you
    mean. A block without a closing fence is refused.
    """

    example: ClassVar[dict[str, object]] = {
        "headingPath": ["Install"],
        "codeBlock": {"language": "sh"},
        "markdown": "pip install --upgrade mdplan",
    }
    target_is_required: ClassVar = False
    accepts_root: ClassVar = True

    op: Literal["replace_code_block"]
    code_block: CodeBlockField = Field(
        description="{index}, {language} or both of a fenced block; 0-based, in the section if one is given."
    )
    markdown: str = Field(description="New code, without fences; may be empty.")
    expected_text: str | None = Field(
        default=None, description="The code as it is now; the last line end is optional."
    )

    def resolve(self, outline: Outline) -> Resolution:
        """Return edits of code and fences.

        Errors: as for the target; CODE_BLOCK_NOT_FOUND, OUTLINE_CHANGED, TEXT_MISMATCH; INVALID_ARGUMENT
        for code with its fences.
        """
        section = self.named_section(outline)
        fence = self._fence(outline, section)
        self._check_fences(outline, fence)
        self._check_code(outline, fence)
        return Resolution.at(
            outline,
            fence.block.span,
            replace_code(outline, fence, lines_of(to_lf(self.markdown))),
            section=section,
            is_evidence=bool(self.expected_text) and self._is_sole(outline, fence),
        )

    def _is_sole(self, outline: Outline, fence: FencedCode) -> bool:
        """Return True if a language names the block, or its code is unique in the file."""
        if self.code_block.index is None:
            return True
        fences = (read_fence(outline, block) for block in outline.tree.fences)
        return sum(each is not None and each.code == fence.code for each in fences) == 1

    def _fence(self, outline: Outline, section: Section | None) -> FencedCode:
        block = find_fence(outline, section, self.code_block.index, self.code_block.language)
        fence = read_fence(outline, block)
        if fence is None:
            raise Code.OUTLINE_CHANGED.refused(
                f"the code block at line {block.first_line} has no closing fence, "
                "so it is not known where its code should end",
                "close it first, in a separate edit",
                place=outline.source.lines.position(block.span.start),
            )
        return fence

    def _check_fences(self, outline: Outline, fence: FencedCode) -> None:
        """Refuse a whole code block as the new code, unless the block shows Markdown."""
        new = to_lf(self.markdown).strip("\n").split("\n")
        own = outline.text_of(fence.opening)[0]
        is_block = len(new) > 1 and new[0].startswith(3 * own) and set(new[-1].rstrip()) == {own}
        language = (fence_language(fence.block) or "").lower()
        if is_block and language not in _MARKDOWN and not any(map(_FENCE.match, fence.code)):
            raise Code.INVALID_ARGUMENT.refused(
                say("{markdown} has fences, and the block has its own"), "send the code alone, without fences"
            )

    def _check_code(self, outline: Outline, fence: FencedCode) -> None:
        """Refuse code that is not the expected one."""
        expected = self.expected_text
        if expected is None or lines_of(to_lf(expected)) == fence.code:
            return
        lines, block = outline.source.lines, fence.block
        start = lines.start(block.first_line + 1)
        problem = Code.TEXT_MISMATCH.problem(
            say("the code at lines {}-{} is not {expectedText}", block.first_line, block.last_line),
            say("read the block again; {expectedText} is its code without the fences"),
            place=lines.position(start),
        )
        span = Span(start, lines.start(block.last_line))
        raise Refused(with_nearest_lines(outline, problem, expected, span))


# --- Shared parts of operations on blocks: finding the block that a text names.

_WORDS_SHOWN: Final = 6
_LONGEST_WORDS: Final = 50


def find_block(
    outline: Outline, section: Section | None, where: str, text: str, kind: block_edits.KindName | None
) -> PlacedBlock:
    """Return the one block in `section`, or in the file, that has the `text`, which the field `where` gives.

    Errors: MATCH_COUNT_MISMATCH.
    """
    area = Span(0, len(outline.source.text)) if section is None else section.span
    found = block_edits.blocks_with_text(outline, area, text, kind)
    if len(found) == 1:
        return found[0]
    place, noun = "the file" if section is None else "the section", kind or "block"
    if not found:
        problem = Code.MATCH_COUNT_MISMATCH.problem(
            f"{where}: {place} has no {noun} with that text",
            say("give text that it begins with or contains; headings and list items have other operations"),
        )
        raise Refused(with_nearest_lines(outline, problem, text, None))
    listed = first_few([f"line {each.lines.start} `{_first_words(each)}`" for each in found])
    raise Code.MATCH_COUNT_MISMATCH.refused(
        f"{where}: {len(found)} blocks of {place} have that text, exactly one is needed",
        say("give more of its text, or name its section: {}", listed),
        place=outline.source.lines.position(found[0].block.span.start),
        candidates=tuple(
            Candidate(
                heading_path=outline.section_at(each.block.span.start).path,
                start_line=each.lines.start,
                end_line=each.lines.stop - 1,
            )
            for each in found[:_MOST_LISTED]
        ),
    )


def _first_words(placed: PlacedBlock) -> str:
    return shortened(visible(" ".join(placed.text.split()[:_WORDS_SHOWN])), _LONGEST_WORDS)


def read_blocks(markdown: str) -> Payload:
    """Read `markdown` as blocks for a place between others.

    Errors: as `read_text_payload`; INVALID_ARGUMENT for headings.
    """
    payload = read_text_payload(markdown)
    if payload.headings:
        raise Code.INVALID_ARGUMENT.refused(
            say("{markdown} has a heading, which begins a section"),
            say("use {insert_section} or {replace_section} for sections"),
        )
    return payload


def _resolution(
    outline: Outline,
    editor: BlockEditor,
    section: Section | None,
    change: BlockChange,
    side: block_edits.Side | None,
    claimed: Span,
) -> Resolution:
    """Return `change` for the planner, with its insertions at `side` of the block of `editor`."""
    owner = outline.section_at(editor.span.start)
    rank = InsertRank.BODY_END if side == "before" else InsertRank.BODY_START
    insertions: tuple[BlockInsertion, ...] = ()
    if change.offset is not None and change.payload is not None:
        order = InsertOrder.into(owner, rank)
        insertions = (BlockInsertion(offset=change.offset, payload=change.payload, order=order),)
    return Resolution(
        claims=(Claim(span=claimed, owner=outline.section_at(claimed.start).index),),
        edits=change.edits,
        deletions=change.deletions,
        insertions=insertions,
        section=section or owner,
    )
