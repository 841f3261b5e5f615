"""Headings in a quote of which every line has its mark: what stands behind the marks is a document."""

import re
from typing import Final, NamedTuple

from mdplan.markdown.blocks.block import Block, BlockKind
from mdplan.markdown.blocks.heading_rows import read_heading
from mdplan.markdown.blocks.scanner import Form, scan
from mdplan.text.lines import LinesOfPart

# Section 5.1 of CommonMark 0.31.2: a block quote marker, and the text that it stands before.
_MARK: Final = re.compile(r"^ {0,3}> ?", re.MULTILINE)
_HEADINGS: Final = (Form.ATX, Form.SETEXT)


class QuotedHeading(NamedTuple):
    """A heading in quotes.

    `first_line` counts from 0, from the first line of the outermost quote on; `source` are its lines without
    the marks of quotes and the last line end; `depth` is the number of quotes around it.
    """

    first_line: int
    source: str
    depth: int

    def block(self, first_line: int, lines: LinesOfPart) -> Block:
        """It as a block, where the quote begins on `first_line`, and `lines` are those of the quote."""
        level, markup, content = read_heading(self.source)
        first = first_line + self.first_line
        last = min(first + self.source.count("\n"), lines.count)
        return Block(
            kind=BlockKind.HEADING,
            first_line=first,
            last_line=last,
            span=lines.span(first, last),
            depth=self.depth,
            level=level,
            markup=markup,
            content=content,
        )


def quoted_headings(lines: str) -> list[QuotedHeading] | None:
    """Headings in `lines`, whole lines in LF without NUL that stand at the root and hold no lazy one.

    None where they are more than one quote, or where only the reference pass knows.
    """
    # How many columns a tab takes up depends on the marks before it (section 2.2).
    content, marks = _MARK.subn("", lines)
    if marks != lines.count("\n") or "\t" in lines:
        return None
    stretches = scan(content)
    if stretches is None:
        return None
    found: list[QuotedHeading] = []
    line = at = 0
    for form, start, end in stretches.each():
        line += content.count("\n", at, start)
        at = start
        if form in _HEADINGS:
            found.append(QuotedHeading(line, content[start : end - 1], 1))
        elif form is Form.UNKNOWN:
            inner = quoted_headings(content[start:end])
            if inner is None:
                return None
            found += [QuotedHeading(line + each.first_line, each.source, each.depth + 1) for each in inner]
    return found
