"""CR and LF that edits would bring together: two line ends would be read as one, and a line be lost."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from mdplan.planning.parts import Part
from mdplan.text.edit import TextEdit
from mdplan.text.lines import LineIndex
from mdplan.text.span import BY_PLACE, Span


def without_joins(text: str, lines: LineIndex, parts: Sequence[Part]) -> list[Part]:
    """`parts` of edits of `text`, in order; where one would leave a CR just before an LF it adds an LF.

    `lines` is the index of the text. So the line end before becomes CRLF, and the line after keeps its own.
    """
    ordered = sorted(parts, key=lambda part: BY_PLACE(part.edit.span))
    if not lines.has_cr and not any("\r" in part.edit.new_text for part in ordered):
        return ordered
    last = Part(TextEdit.insert(len(text) + 1, ""), ())
    kept: list[Part] = []
    before = ""
    end = 0
    for part, following in pairwise([*ordered, last]):
        span, new_text = part.edit.span, part.edit.new_text
        if span.start > end:
            before = text[span.start - 1]
        before = new_text[-1:] or before
        end = span.end
        is_joined = before == "\r" and text[end : end + 1] == "\n" and following.edit.span.start > end
        # Between the CR and the LF of one line end nothing is lost: they were together before.
        if is_joined and not _is_inside_line_end(text, span):
            kept.append(replace(part, edit=TextEdit(span, new_text + "\n")))
            before = "\n"
        else:
            kept.append(part)
    return kept


def _is_inside_line_end(text: str, span: Span) -> bool:
    """Whether the last line end of `span` is cut in two."""
    return text[span.end - 1 : span.end + 1] == "\r\n"
