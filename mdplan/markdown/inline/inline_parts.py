"""The parts of one inline node, read again from inline content with the parser's functions.

Each function takes the state right behind the node, the node's start and the parser's token, and returns the
node in offsets of the state's content, or None where its parts do not give what the token says.
"""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from mdplan.markdown.inline.inline_node import InlineKind, InlineNode
from mdplan.text.span import Span

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_SPACES: Final = re.compile(r"[ \t\n]*")


def code_span(state: "StateInline", start: int, token: "Token") -> InlineNode | None:
    """Code span (CommonMark 0.31.2, section 6.1): line ends are spaces, one on each side is dropped."""
    inside = Span(start + len(token.markup), state.pos - len(token.markup))
    content = state.src[inside.start : inside.end].replace("\n", " ")
    if content.startswith(" ") and content.endswith(" ") and content.strip(" "):
        content = content[1:-1]
    if content != token.content:
        return None
    return InlineNode(kind=InlineKind.CODE, span=Span(start, state.pos), text=inside)


def html_tag(state: "StateInline", start: int, token: "Token") -> InlineNode | None:
    """One tag, comment, declaration or instruction (section 6.6)."""
    if state.src[start : state.pos] != token.content:
        return None
    return InlineNode(kind=InlineKind.HTML, span=Span(start, state.pos))


def footnote_reference(state: "StateInline", start: int, token: "Token") -> InlineNode | None:
    """``[^label]`` with a definition."""
    label = Span(start + 2, state.pos - 1)
    if state.src[label.start : label.end] != token.meta["label"]:
        return None
    return InlineNode(kind=InlineKind.FOOTNOTE_REFERENCE, span=Span(start, state.pos), label=label)


def angle_autolink(state: "StateInline", start: int, token: "Token") -> InlineNode | None:
    """URL or mail address in angle brackets (section 6.5)."""
    return _autolink(state, Span(start, state.pos), Span(start + 1, state.pos - 1), token)


def bare_autolink(state: "StateInline", _start: int, token: "Token") -> InlineNode | None:
    """Bare URL or mail address (GFM). The rules notice some of them late, behind their protocol or name."""
    span = Span(state.pos - len(state.tokens[-2].content), state.pos)
    return _autolink(state, span, span, token)


def _autolink(state: "StateInline", span: Span, destination: Span, token: "Token") -> InlineNode | None:
    written = state.src[destination.start : destination.end]
    href = str(token.attrs["href"])
    if state.tokens[-2].content != written or href not in {written, f"mailto:{written}", f"http://{written}"}:
        return None
    return InlineNode(kind=InlineKind.AUTOLINK, span=span, destination=destination, href=href)


def link(state: "StateInline", start: int, token: "Token") -> InlineNode | None:
    """Link in any of its forms (section 6.3)."""
    return _with_text(InlineKind.LINK, state, start, token)


def image(state: "StateInline", start: int, token: "Token") -> InlineNode | None:
    """Image in any of its forms (section 6.4)."""
    return _with_text(InlineKind.IMAGE, state, start, token)


def _with_text(kind: InlineKind, state: "StateInline", start: int, token: "Token") -> InlineNode | None:
    opening = start if kind is InlineKind.LINK else start + 1
    href = str(token.attrs["href" if kind is InlineKind.LINK else "src"])
    closing = state.md.helpers.parseLinkLabel(state, opening, kind is InlineKind.LINK)
    if closing < 0:
        return None
    text = Span(opening + 1, closing)
    span = Span(start, state.pos)
    if state.pos == closing + 1:
        return InlineNode(kind=kind, span=span, text=text, label=text, href=href)
    if state.src[closing + 1] == "[" and state.src[state.pos - 1] == "]":
        label = Span(closing + 2, state.pos - 1)
        return InlineNode(kind=kind, span=span, text=text, label=label or text, href=href)
    target = read_target(state.src, closing + 2, state.pos)
    if (
        state.src[closing + 1] != "("
        or target is None
        or target.end != state.pos - 1
        or target.href != href
        or target.title_text != token.attrs.get("title", "")
    ):
        return None
    return InlineNode(
        kind=kind, span=span, text=text, destination=target.destination, title=target.title, href=href
    )


class LinkTarget(NamedTuple):
    """Destination and title as written, as understood, and the end of both with the white space behind."""

    destination: Span
    title: Span | None
    href: str
    title_text: str
    end: int


def read_target(content: str, start: int, stop: int) -> LinkTarget | None:
    """Destination and optional title at `start`, after white space; None where there are none.

    An empty destination is only possible before a closing parenthesis.
    """
    from markdown_it.helpers import parseLinkDestination, parseLinkTitle

    at = _skip_spaces(content, start)
    found = parseLinkDestination(content, at, stop)
    if not found.ok:
        return LinkTarget(Span(at, at), None, "", "", at) if content.startswith(")", at) else None
    destination = Span(at, found.pos)
    at = _skip_spaces(content, found.pos)
    title = parseLinkTitle(content, at, stop)
    if at == found.pos or not title.ok:
        return LinkTarget(destination, None, found.str, "", at)
    quoted = Span(at, title.pos)
    return LinkTarget(destination, quoted, found.str, title.str, _skip_spaces(content, title.pos))


def _skip_spaces(content: str, at: int) -> int:
    match = _SPACES.match(content, at)
    return match.end() if match else at
