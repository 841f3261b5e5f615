"""Edits of matches, lines and ranges, whose places mostly exist."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from mdplan.markdown.outline import Outline
from mdplan.text.source import DocumentFormat
from tests.properties.markdown_documents import hostile_payloads, new_sections, payload_blocks
from tests.properties.section_edits import addresses

Edit = dict[str, Any]
_PATTERNS = ("text", "1.0", "o", "e", "one", "#", "nothing like it", "\n", "Install")
_REGEXES = ("t.xt", r"(\w+)\.0", "^#+ ", "$", r"\s+", "(o)|(e)", "(", "^.*$")


@st.composite
def match_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """A pattern, mostly there, in a section, in lines or anywhere."""
    is_regex = draw(st.integers(0, 3)) == 0
    edit: Edit = {"pattern": draw(st.sampled_from(_REGEXES if is_regex else _PATTERNS))}
    if is_regex:
        edit["matchType"] = "regex"
    scope = draw(st.integers(0, 3))
    if scope == 0 and outline.format is DocumentFormat.MARKDOWN:
        edit |= draw(addresses(outline, draw(st.sampled_from(list(outline.every_section())))))
    elif scope == 1 and outline.source.lines.count:
        edit["lines"] = draw(_line_ranges(outline))
    counts: list[Edit] = [{}, {"minMatches": 0}, {"matchSelection": "all"}, {"matchSelection": "1"}]
    edit |= draw(st.sampled_from([*counts[1:], *counts, {"matchSelection": "1-2"}]))
    if draw(st.integers(0, 4)) == 0:
        edit["include"] = ["codeBlocks", "html", "inlineCode", "linkDestinations", "frontMatter"]
    if op == "replace_match":
        edit["replacement"] = draw(
            st.sampled_from(["", "new", "2.0", "x text", "\n", "# x", "\n\n# N\n\n", "```", r"\1"])
        )
    return edit


@st.composite
def _line_ranges(draw: DrawFn, outline: Outline) -> dict[str, int]:
    count = outline.source.lines.count
    start = draw(st.integers(1, max(1, count)))
    return {
        "start": start,
        "end": draw(st.integers(start, min(start + 3, count + 1) if start <= count else start)),
    }


@st.composite
def place_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """Draw existing lines, or a place between characters."""
    source = outline.source
    texts = payload_blocks | new_sections | hostile_payloads
    if op == "replace_range":
        start = draw(st.integers(0, len(source.text)))
        end = draw(st.integers(start, min(start + 12, len(source.text))))
        places = [source.lines.position(offset) for offset in (start, end)]
        guards: list[Edit] = [{"allowInsecureRange": True}, {"expectedText": source.text[start:end]}]
        guard = draw(st.sampled_from(guards))
        return {
            "range": {
                name: {"line": at.line, "col": at.col}
                for name, at in zip(("start", "end"), places, strict=True)
            },
            "replacement": draw(texts | st.sampled_from(["", "x", "\n", "# "])),
            **guard,
        }
    if op == "insert_lines":
        return {
            "line": draw(st.integers(1, max(1, source.lines.count))),
            "position": draw(st.sampled_from(["before", "after"])),
            "markdown": draw(texts),
        }
    edit: Edit = {"lines": draw(_line_ranges(outline))}
    if op == "replace_lines":
        edit["markdown"] = draw(texts)
    return edit
