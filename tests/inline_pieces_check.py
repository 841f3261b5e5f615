"""Inline nodes of a document that is parsed piece by piece, against those of one parse of all of it."""

from mdplan.markdown.blocks.blocks import parse_blocks
from mdplan.markdown.front_matter.block import find_front_matter
from mdplan.markdown.inline.inline_nodes import InlineMap
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span


def inline_difference(text: str) -> str | None:
    """What differs: nodes, what is undecided, or what labels mean; None where nothing does."""
    lines = LineIndex(text)
    front_matter = find_front_matter(text)
    start = front_matter.span.end if front_matter else 0
    tree = parse_blocks(text, lines, start)
    whole = InlineMap(text, lines, start)
    pieces = InlineMap(text, lines, start, tree)
    if labels(pieces) != labels(whole):
        return f"labels: {labels(pieces)} and not {labels(whole)}"
    for span in (Span(0, len(text)), *(Span(at, min(at + 40, len(text))) for at in range(0, len(text), 40))):
        for name in ("nodes_in", "undecided_in"):
            found, expected = getattr(pieces, name)(span), getattr(whole, name)(span)
            if found != expected and (name == "nodes_in" or not pieces.undecided_in(span)):
                return f"{name} {span}: {found} and not {expected}"
    for at in range(0, len(text), 5):
        word = Span(at, min(at + 3, len(text)))
        if pieces.is_plain(word) and whole.nodes_in(word):
            return f"{word} is not plain"
    return None


def labels(nodes: InlineMap) -> tuple[object, object]:
    """What links and footnotes may refer to."""
    references = nodes.definitions.get("references", {})
    footnotes = nodes.definitions.get("footnotes", {})
    assert isinstance(references, dict)
    assert isinstance(footnotes, dict)
    meanings = {label: (each["href"], each["title"]) for label, each in references.items()}
    return meanings, set(footnotes.get("refs", {}))
