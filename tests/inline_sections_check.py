"""Inline nodes of a document that is parsed section by section, against those of one parse of all of it."""

from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.format_detection import find_front_matter
from mdplan.markdown.inline import InlineMap
from mdplan.text.lines import LineIndex, Span


def sections_differ(text: str) -> str | None:
    """The difference in nodes or undecided spans; None where there is none."""
    lines = LineIndex(text)
    front_matter = find_front_matter(text)
    start = front_matter.span.end if front_matter else 0
    tree = parse_blocks(text, lines, start)
    sections = InlineMap(text, lines, start, tree)
    all_of_it = _OneSection(text, lines, start, tree)
    for span in (Span(0, len(text)), *(Span(at, min(at + 40, len(text))) for at in range(0, len(text), 40))):
        for name in ("nodes_in", "undecided_in"):
            found, expected = getattr(sections, name)(span), getattr(all_of_it, name)(span)
            if found != expected:
                return f"{name} {span}: {found} and not {expected}"
    return None


class _OneSection(InlineMap):
    """Parses the whole body at once."""

    @property
    def _starts(self) -> list[int]:
        return [self._body_start]

    def _footnotes_for(self, part: str) -> str:
        return ""
