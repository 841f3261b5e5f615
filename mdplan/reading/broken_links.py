"""Links of a document into itself that name nothing."""

from collections.abc import Callable

from mdplan.markdown.links import local_links
from mdplan.markdown.outline import Outline
from mdplan.reports.stat import BrokenLink
from mdplan.text.lines import Span
from mdplan.text.visible import escape_for_message

FindBroken = Callable[[Outline, Span], list[BrokenLink]]


def broken_in_document(outline: Outline, area: Span) -> list[BrokenLink]:
    """Links in `area` into the document itself that resolve to nothing."""
    return [
        BrokenLink(line=link.line, target=escape_for_message(link.target))
        for link in local_links(outline, [area])
        if not link.resolves
    ]
