"""What is told of links without a parser, beside what the parser gives."""

from collections import Counter
from dataclasses import asdict

from mdplan.markdown.inline.inline_recorder import record_nodes
from mdplan.markdown.inline.plain_inline import plain_nodes
from mdplan.markdown.links.links import count_links, local_links
from mdplan.markdown.links.plain_links import plain_links
from mdplan.markdown.links.targets import attributes_in, explicit_anchors, whole, with_anchor
from mdplan.markdown.outline.outline import Outline
from mdplan.text.source import Source
from mdplan.text.span import Span

# What labels mean, and the parser's own form of that.
LABELS = {"A": "/u", "B C": "#x", "`D`": "/d"}
ENVIRONMENT: dict[str, object] = {
    "references": {label: {"href": href, "title": ""} for label, href in LABELS.items()}
}


def content_differs(content: str, *, tally: Counter[str] | None = None) -> bool:
    """Whether nodes are told of inline `content` that are not the parser's; `tally` counts what is told."""
    told = plain_nodes(content, lambda: LABELS)
    if tally is not None:
        tally["told" if told is not None else "left"] += 1
    if told is None:
        return False
    recorded = record_nodes(content, ENVIRONMENT)
    return told != recorded.nodes or bool(recorded.undecided)


def parsed_anchors(outline: Outline) -> tuple[tuple[str, Span], ...]:
    """Anchors that HTML names, by the parser."""
    found = {
        attribute.value_span: attribute.value
        for attribute in attributes_in(outline, whole(outline), with_anchor())
        if attribute.value and (attribute.name == "id" or (attribute.name, attribute.tag) == ("name", "a"))
    }
    return tuple((found[span], span) for span in sorted(found))


def links_differ(data: bytes, *, tally: Counter[str] | None = None) -> bool:
    """Whether links of a document, or of one of its sections, or anchors, are told and not the parser's."""
    source = Source.decode(data)
    if not isinstance(source, Source):
        return False
    told, parsed = Outline(source), Outline(source)
    if explicit_anchors(told) != parsed_anchors(parsed):
        return True
    areas = [Span(0, len(source.text)), *(section.span for section in told.in_order)]
    for area in areas:
        found = plain_links(told, area)
        if tally is not None:
            tally["told" if found is not None else "left"] += 1
            tally["links"] += sum(found.counts.values()) if found else 0
        if found is None:
            continue
        links = local_links(parsed, [area])
        broken = [(link.line, link.target) for link in links if not link.resolves]
        if (found.counts, found.broken) != (asdict(count_links(parsed, area)), broken):
            return True
    return False
