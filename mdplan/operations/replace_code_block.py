"""replace_code_block: replace the code in a fenced code block."""

import re
from collections.abc import Sequence
from typing import ClassVar, Final, Literal

from pydantic import Field

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.blocks import Block
from mdplan.markdown.formatting import FencedCode, read_fence, replace_code
from mdplan.markdown.outline import Outline, fence_language, has_language
from mdplan.markdown.sections import Section
from mdplan.operations.base.expected_text import with_nearest_lines
from mdplan.operations.base.fields import CodeBlockField
from mdplan.operations.base.operation import Claim, Resolution, SectionTargeted
from mdplan.text.line_end_view import lines_of, to_lf
from mdplan.text.lines import Span
from mdplan.text.source import visible

_FENCE: Final = re.compile(r"[ ]{0,3}(?:`{3,}|~{3,})")
_MARKDOWN: Final = frozenset({"md", "markdown", "mdx", "qmd", "rmd"})
_MOST_LISTED: Final = 10
_LONGEST_LANGUAGE: Final = 30


class ReplaceCodeBlock(SectionTargeted):
    """Replace the code in a fenced code block.

    `codeBlock` names it by `index`, which counts the fenced blocks of the file from 0 at every depth, as
    md_stat does. `language`, the first word after the opening fence, is enough where only one block has
    that; with both, the index counts the blocks of that language. With a section next to it, the index
    counts within that section and its subsections.

    `markdown` is the new code alone, without fences; it may be empty. A code block with its fences is
    refused, unless the block shows Markdown. The fences, what is after the opening one, and the indentation
    or quote marks before each line stay. Both fences are made longer where the new code would close the
    block. `expectedText` proves that this is the code you mean. A block whose closing fence is missing is
    refused.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "replace_code_block",
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

    def resolve(self, outline: Outline) -> Resolution | Problems:
        """Edits of code and fences.

        Errors: those of the target; CODE_BLOCK_NOT_FOUND, OUTLINE_CHANGED, TEXT_MISMATCH; INVALID_ARGUMENT
        for code with its fences.
        """
        section = self.find_section(outline) if self._given_targets() else None
        if isinstance(section, Diagnostic):
            return (section,)
        fence = self._fence(outline, section)
        problem = (
            fence
            if isinstance(fence, Diagnostic)
            else self._fences(outline, fence) or self._mismatch(outline, fence)
        )
        if isinstance(problem, Diagnostic) or isinstance(fence, Diagnostic):
            return (problem,) if problem else ()
        span = fence.block.span
        return Resolution(
            claims=(Claim(span=span, owner=outline.section_at(span.start).index),),
            edits=replace_code(outline, fence, lines_of(to_lf(self.markdown))),
            section=section or outline.section_at(span.start),
            is_evidence=bool(self.expected_text),
        )

    def _fence(self, outline: Outline, section: Section | None) -> FencedCode | Diagnostic:
        scope = outline.tree.fences if section is None else outline.tree.fences_in(section.span)
        wanted = self.code_block
        if wanted.language is not None:
            languages = [fence_language(block) for block in scope]
            found = [index for index, each in enumerate(languages) if each == wanted.language]
            if not found:
                found = [index for index, each in enumerate(languages) if has_language(each, wanted.language)]
            if wanted.index is not None:
                found = found[wanted.index : wanted.index + 1]
        else:
            found = [wanted.index] if wanted.index is not None and wanted.index < len(scope) else []
        if len(found) != 1:
            return self._not_found(scope, found)
        fence = read_fence(outline, scope[found[0]])
        return _left_open(outline, scope[found[0]]) if fence is None else fence

    def _not_found(self, scope: Sequence[Block], found: Sequence[int]) -> Diagnostic:
        place = "the section" if self._given_targets() else "the file"
        if len(found) > 1:
            message = f"{len(found)} code blocks of {place} have that language"
            hint = f"give its index among them as well, from 0: {_listed(scope, found)}"
        else:
            of_language = "that language" if self.code_block.index is None else "that language and index"
            by = f"index {self.code_block.index}" if self.code_block.language is None else of_language
            message = f"{place} has no fenced code block of {by}"
            hint = f"it has {_listed(scope, range(len(scope)))}" if scope else "it has no fenced code blocks"
        return Diagnostic(code=Code.CODE_BLOCK_NOT_FOUND, message=message, hint=hint)

    def _fences(self, outline: Outline, fence: FencedCode) -> Diagnostic | None:
        """INVALID_ARGUMENT for a whole code block as the new code, unless the block shows Markdown."""
        new = to_lf(self.markdown).strip("\n").split("\n")
        own = outline.text_of(fence.opening)[0]
        is_block = len(new) > 1 and new[0].startswith(3 * own) and set(new[-1].rstrip()) == {own}
        language = (fence_language(fence.block) or "").lower()
        if not is_block or language in _MARKDOWN or any(map(_FENCE.match, fence.code)):
            return None
        return Diagnostic.invalid(
            "markdown has fences, and the block has its own", "send the code alone, without fences"
        )

    def _mismatch(self, outline: Outline, fence: FencedCode) -> Diagnostic | None:
        expected = self.expected_text
        if expected is None or lines_of(to_lf(expected)) == fence.code:
            return None
        lines, block = outline.source.lines, fence.block
        start = lines.start(block.first_line + 1)
        problem = Diagnostic(
            code=Code.TEXT_MISMATCH,
            message=f"the code at lines {block.first_line}-{block.last_line} is not expectedText",
            hint="read the block again; expectedText is its code without the fences",
            place=lines.position(start),
        )
        span = Span(start, lines.start(block.last_line))
        return with_nearest_lines(outline, problem, expected, span)


def _listed(scope: Sequence[Block], indexes: Sequence[int]) -> str:
    """Blocks of `scope` in words: ``0 (sh, lines 5-9), 1 (lines 12-14)``."""
    descriptions = []
    for index in indexes[:_MOST_LISTED]:
        language = visible(fence_language(scope[index]) or "")[:_LONGEST_LANGUAGE]
        lines = f"lines {scope[index].first_line}-{scope[index].last_line}"
        descriptions.append(f"{index} ({language}, {lines})" if language else f"{index} ({lines})")
    return ", ".join(descriptions) + (", …" if len(indexes) > _MOST_LISTED else "")


def _left_open(outline: Outline, block: Block) -> Diagnostic:
    return Diagnostic(
        code=Code.OUTLINE_CHANGED,
        message=f"the code block at line {block.first_line} has no closing fence, "
        "so it is not known where its code should end",
        hint="close it first, in a separate edit",
        place=outline.source.lines.position(block.span.start),
    )
