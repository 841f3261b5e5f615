"""append_to_file: add lines to the end of a file."""

from typing import ClassVar, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.block_tree import is_left_open, parse_blocks
from mdplan.markdown.blocks import Block
from mdplan.markdown.outline import Outline
from mdplan.operations.base.operation import Claim, Operation, Resolution
from mdplan.operations.base.whole_lines import as_lines, without_last_line_end
from mdplan.text.edit import TextEdit
from mdplan.text.line_end_view import line_end_around
from mdplan.text.lines import LineIndex, Span


class AppendToFile(Operation):
    """Add whole lines to the very end of a file, as they are: no blank lines are added.

    They start on a their own line. The final newline of the file is left as it was. Where the file ends in
    a code block or comment that is not closed, they must close it. For text that belongs to a section use
    append_to_section, which knows where that ends.
    """

    example: ClassVar[dict[str, object]] = {"op": "append_to_file", "markdown": "- 2026-05-02: descaled"}
    needs_markdown: ClassVar = False
    repeats: ClassVar = True
    may_begin_file: ClassVar = True

    op: Literal["append_to_file"]
    markdown: str = Field(description="Lines to add.")

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """One insertion at the end of the text. Errors: EMPTY_CONTENT, OUTLINE_CHANGED."""
        if not self.markdown:
            return (_EMPTY,)
        last, source = outline.tree.last_root, outline.source
        if last is not None and is_left_open(last, source.text) and not self._closes(outline, last):
            return (_swallowing(last),)
        end = len(source.text)
        text = as_lines(outline, end, self.markdown)
        if end and not source.lines.ending(source.lines.count):
            text = line_end_around(source.lines, end) + without_last_line_end(text)
        section = outline.section_at(end - 1) if end else outline.sections[0]
        return Resolution(
            claims=(Claim(span=Span(end, end), owner=section.index),),
            edits=(TextEdit.insert(end, text),),
            section=section,
            comes_last=True,
        )

    def _closes(self, outline: Outline, last: Block) -> bool:
        """Whether the lines close the block `last`, and leave none open themselves."""
        text = outline.source.text[last.span.start :].rstrip("\r\n") + f"\n{self.markdown}"
        end = parse_blocks(text, LineIndex(text)).last_root
        return end is None or not is_left_open(end, text)


def _swallowing(block: Block) -> Diagnostic:
    return Diagnostic(
        code=Code.OUTLINE_CHANGED,
        message=f"the {block.kind} that starts at line {block.first_line} is not closed, "
        "so the new lines would be inside it",
        hint="begin the lines with what closes it",
    )


_EMPTY = Diagnostic(code=Code.EMPTY_CONTENT, message="markdown is empty", hint="give the lines to add")
