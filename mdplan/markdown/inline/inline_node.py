"""Inline nodes as values: what they are and where their parts are."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from mdplan.text.lines import Span


class InlineKind(StrEnum):
    """Kinds of inline nodes (CommonMark 0.31.2, section 6; GFM; wiki links as in GitHub's wikis).

    Definitions of links and footnotes are blocks, but their parts have columns as inline nodes have them.
    """

    CODE = "inlineCode"
    LINK = "link"
    IMAGE = "image"
    AUTOLINK = "autolink"
    HTML = "html"
    WIKI_LINK = "wikiLink"
    FOOTNOTE_REFERENCE = "footnoteReference"
    DEFINITION = "definition"
    FOOTNOTE_DEFINITION = "footnoteDefinition"


# Not frozen: an outline makes thousands, and freezing makes each one take three times as long.
@dataclass(slots=True, unsafe_hash=True, kw_only=True)
class InlineNode:
    """One inline node.

    All spans are in the source text; one over several lines contains what is before their text, such as
    the marks of a quote. `span` is the whole node with its delimiters; of a footnote definition the mark
    ``[^label]:``, of inline HTML one tag or comment.
    `text` is what a reader sees: link text, alternative text, the inside a code span, the text of a
    wiki link where it has its own.
    `label` is the label of a reference as written, without brackets; that of a collapsed or shortcut
    reference is its text. A link or image with a label has its destination in a definition.
    `destination` is the destination as written, with ``<`` and ``>`` where it has them; those of an
    autolink are its delimiters and not in it. That of a wiki link is the page with its anchor.
    `title` has its quotes.
    `href` is the destination as the parser understood it (escapes and entities resolved).
    """

    kind: InlineKind
    span: Span
    text: Span | None = None
    label: Span | None = None
    destination: Span | None = None
    title: Span | None = None
    href: str = ""

    def moved(self, move: Callable[[Span], Span]) -> "InlineNode":
        """The same node with every span put where `move` says."""

        def moved(span: Span | None) -> Span | None:
            return None if span is None else move(span)

        return replace(
            self,
            span=move(self.span),
            text=moved(self.text),
            label=moved(self.label),
            destination=moved(self.destination),
            title=moved(self.title),
        )


def document_order(node: InlineNode) -> tuple[int, int]:
    """Sort key: nodes in the order of their start, each before those inside it."""
    return (node.span.start, -node.span.end)
