"""Laws of formatting: what a section says stays, and what is not in it stays to the byte."""

import re

import pytest
from hypothesis import assume, event, example, given, note, settings
from hypothesis import strategies as st

from mdplan.diagnostics import Code
from mdplan.markdown.inline import rendered_html
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Resolution
from mdplan.operations.sections import FormatSection
from mdplan.text.edit import EditList
from mdplan.text.lines import to_lf
from mdplan.text.source import Source
from tests.conftest import FULL
from tests.properties.hostile_markdown import hostile_documents
from tests.properties.markdown_documents import documents

pytest.importorskip("mdformat", reason="mdformat is not installed: format_section is not tested")

# In such a tag white space counts until it is closed, wherever that is; one section does not know.
_RAW = re.compile(r"<(pre|script|style|textarea)\b", re.IGNORECASE)
MANY = settings(max_examples=1500 if FULL else 20)


@st.composite
def texts_and_sections(draw: st.DrawFn) -> tuple[str, int]:
    drawn = draw(documents() | hostile_documents(("\n", "\r\n", "\r")))
    text = drawn.encode("utf-8", "replace").decode().replace("\0", "!")
    assume(not text.startswith("\ufeff"))
    outline = Outline(Source.from_text(text))
    assume(len(outline.sections) > 1)
    note(repr(text))
    return text, draw(st.integers(1, len(outline.sections) - 1))


def formatted(outline: Outline, index: int) -> str | None:
    """Return the text with the section `index` formatted; None if that is refused."""
    section = outline.sections[index]
    edit = FormatSection(op="format_section", section_id=section.section_id)
    resolution = edit.resolved(outline)
    if not isinstance(resolution, Resolution):
        event(f"refused: {resolution[0].message.partition(':')[2]}")
        assert [problem.code for problem in resolution] == [Code.FORMATTER_FAILED]
        return None
    event("formatted" if resolution.edits else "formatted before")
    edits = EditList.of(resolution.edits)
    assert isinstance(edits, EditList)
    assert all(section.span.contains(edit.span) for edit in edits)
    result = edits.apply(outline.source.text)
    note(repr(result))
    return result


@MANY
@given(texts_and_sections())
@example(("- <script>\ntext-\n10) <script></script>\n===***a  \n- \n", 1))
@example(("---\n# One\n    ---\n", 1))
@example(("<b><script>\n## Two\n  </script>\n- \n***", 1))
@example(("## Two<script>\n1. ***\n# One\n</script>\n", 1))
@example(("# Zero\n[^1]: - text\n1.\n   text\n\n   text\n\n   # One\n  #  Two\n", 2))
def test_formatting_changes_neither_what_is_shown_nor_the_outline(drawn: tuple[str, int]) -> None:
    text, index = drawn
    before = Outline(Source.from_text(text))
    result = formatted(before, index)
    assume(result is not None)
    after = Outline(Source.from_text(result))
    # The verification of plans refuses new or lost front matter for every operation.
    assume((after.front_matter is None) is (before.front_matter is None))

    html = [rendered_html(to_lf(each.source.text[each.body_start :])) for each in (before, after)]
    if _RAW.search(text, 0, before.sections[index].span.end):
        html = [" ".join(each.split()) for each in html]
    assert html[1] == html[0]
    assert [(each.section_id, each.level) for each in after.sections] == [
        (each.section_id, each.level) for each in before.sections
    ]
