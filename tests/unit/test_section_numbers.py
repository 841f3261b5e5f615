"""Numbers of sections are whole numbers, which callers print."""

from mdplan.markdown.outline.outline import Outline
from mdplan.text.source import Source


def test_sections_are_numbered_from_zero_in_order() -> None:
    outline = Outline(Source.from_text("# A\n\n## B\n\n> # Quoted\n\n# C\n"))

    assert repr([section.index for section in outline.sections]) == "[0, 1, 2, 3]"
