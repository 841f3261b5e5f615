"""Lines that hold anchors alone: above a heading they name it, and belong to its section."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from mdplan.text.lines import Span

# The last code points of such lines, and how far before a heading they mostly are.
_ENDS: Final = (">", "=", "}")
_NEAR: Final = 6
_VALUE: Final = r"""(?:"[^"\r\n]*+"|'[^'\r\n]*+'|[^\s"'=<>`]++)"""
_ATTRIBUTE: Final = re.compile(rf"[ \t]++(?P<name>[A-Za-z_:][\w:.-]*+)(?:[ \t]*+=[ \t]*+{_VALUE})?+")
_ATTRIBUTES: Final = rf"(?:[ \t]++[A-Za-z_:][\w:.-]*+(?:[ \t]*+=[ \t]*+{_VALUE})?+)*+"
# An element without content, or the opening tag of a link alone, as older documents have it; sites in MDX
# have a component for it.
_HTML: Final = re.compile(
    rf"<(?P<tag>a|anchor|span|div|p)(?P<attributes>{_ATTRIBUTES})[ \t]*+"
    r"(?:/>|>(?:[ \t]|&nbsp;)*+</(?P=tag)[ \t]*+>|(?P<open>>))",
    re.IGNORECASE,
)
# mkdocs-autorefs and Pandoc (Pandoc manual, "Bracketed Spans").
_EMPTY_LINK: Final = re.compile(r"\[\](?:\(\))?\{:? ?#[\w:.-]++[ \t]*+\}")
# MyST has one on a line of its own (MyST reference, "Labels").
_MYST: Final = re.compile(r"\([^()\s]++\)=[ \t]*+\Z")
_NAMES: Final = re.compile(
    rf"(?i:[ \t](?:id|name)[ \t]*+=[ \t]*+({_VALUE}))|(?m:^[ ]{{0,3}}\(([^()\s]++)\)=)|\{{:? ?#([\w:.-]++)"
)
_LINES: Final = re.compile(r"[^\r\n]*+(?:\r\n?|\n)")
_COMMENT: Final = r"<!--(?s:(?!-->).)*+-->"
_LINES_OF_COMMENTS: Final = re.compile(rf"(?m:^) {{0,3}}(?:{_COMMENT}[ \t]*+)++(?=[\r\n])")
_NO_LINE_END: Final = re.compile(r"[^\r\n]")
_BLANK: Final = " \t\r\n"
_MOST_INDENT: Final = 3
_FARTHEST: Final = 2000


def is_anchor_line(line: str) -> bool:
    """Whether `line`, without its line end, holds anchors and nothing else."""
    text = line.lstrip(" ")
    if len(line) - len(text) > _MOST_INDENT:
        return False
    if _MYST.match(text):
        return True
    at = 0
    while (end := _end_of_anchor(text, at)) is not None:
        at = end
        while text.startswith((" ", "\t"), at):
            at += 1
    return 0 < at == len(text)


def _end_of_anchor(text: str, at: int) -> int | None:
    found = _EMPTY_LINK.match(text, at)
    if found is not None:
        return found.end()
    tag = _HTML.match(text, at)
    if tag is None or (tag["open"] and tag["tag"].lower() != "a"):
        return None
    names = {attribute["name"].lower() for attribute in _ATTRIBUTE.finditer(tag["attributes"])}
    return tag.end() if names & {"id", "name"} else None


def anchors_in(lines: str) -> list[str]:
    """The anchors of anchor `lines`, in order."""
    return [
        found[found.lastindex or 0].strip("\"'") for found in _NAMES.finditer(re.sub(_COMMENT, "", lines))
    ]


def anchors_without_html(lines: str) -> list[tuple[str, Span]]:
    """Those of them that no HTML names, each with its place in `lines`."""
    return [
        (found[found.lastindex], Span(*found.span(found.lastindex)))
        for found in _NAMES.finditer(lines)
        if found.lastindex and found.lastindex > 1
    ]


def lead_starts(text: str, starts: Sequence[int], body_start: int) -> dict[int, int]:
    """By the index of a heading in `starts`, where the anchor lines above it start; others are absent.

    `starts` are those of the headings at top level, sorted, and `body_start` is where the front matter ends.
    Blank lines and comments may lie between. Blocks need not be read: what ends right above a heading with
    such a line is a paragraph or HTML, for fences and front matter end with lines of their own.
    """
    leads: dict[int, int] = {}
    for index, (above, heading) in enumerate(pairwise((body_start, *starts))):
        near = text[max(heading - _NEAR, 0) : heading].rstrip(_BLANK)
        if not near or near.endswith(_ENDS):
            lead = _lead(text, heading, max(above, body_start))
            if lead < heading:
                leads[index] = lead
    return leads


def _lead(text: str, heading: int, floor: int) -> int:
    """Where the anchor lines above `heading` start, after `floor`."""
    # So far and no farther: blank lines without end cost nothing.
    first = max(floor, heading - _FARTHEST)
    lead = end = heading
    below = text[heading : heading + 1]
    for line in reversed(_LINES.findall(_without_comments(text[first:heading]))):
        end -= len(line)
        if line.strip(_BLANK):
            # The line of the heading before is none of these, and neither is a part of a line.
            if not _is_lead(line.rstrip("\r\n"), below) or (end == first > floor):
                break
            lead = end
        below = line
    return lead


def _without_comments(text: str) -> str:
    """`text` with blanks in place of comments on lines of their own."""
    return _LINES_OF_COMMENTS.sub(lambda found: _NO_LINE_END.sub(" ", found[0]), text)


def _is_lead(line: str, below: str) -> bool:
    """Whether `line` holds anchors alone, and would keep the line `below` out of its own block.

    After a blank line a tag without another one starts a block of HTML that a blank line ends (CommonMark
    0.31.2, section 4.6): where text above it prevents that, it stays with this text.
    """
    return is_anchor_line(line) and not (
        line.count("<") == 1 and line.lstrip()[0] == "<" and below.strip(_BLANK)
    )
