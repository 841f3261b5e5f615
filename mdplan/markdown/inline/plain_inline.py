"""Inline nodes of content that needs no parser to be told (CommonMark 0.31.2, section 6; GFM's autolinks).

Only what ends up as a node is looked at: code spans, HTML, links, images, autolinks, and escapes because of
these. The order in which the parser of record tries them, and what each may stand in, are its own; what it
would take its tables of characters for, or could refuse, is left to it.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from mdplan.markdown.blocks.parse_time import in_time, timed
from mdplan.markdown.blocks.scanner_html import TAG
from mdplan.markdown.blocks.scanner_lines import TRIMMED
from mdplan.markdown.blocks.undecided import Undecided
from mdplan.markdown.inline.inline_node import InlineKind, InlineNode, document_order
from mdplan.markdown.inline.plain_target import plain_target
from mdplan.text.span import Span

# Destinations by label, normalized; None where only the parser can tell them.
Labels = Callable[[], Mapping[str, str] | None]

_LONGEST: Final = 20_000
_DEEPEST: Final = 20
_LONGEST_TAG: Final = 4_000
_SIGN: Final = re.compile(r"[\\`<\[:@]|!\[|www\.")
_LABEL_SIGN: Final = re.compile(r"[\\`<\[\]!]")
_TICKS: Final = re.compile(r"`+")
# As `bare_urls` has them, which is loaded only where one of them stands.
_PROTOCOLS: Final = ("http", "https", "mailto", "xmpp")
_URI: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]{1,31}:[^<>\x00-\x20]*")


@timed
def plain_nodes(content: str, labels: Labels) -> list[InlineNode] | None:
    """Inline nodes of `content`, sorted, with spans in it; None where only the parser can tell them.

    They are those that `record_nodes` gives, none of which is undecided there. `labels` is asked where a
    text in brackets may be a link by its label.
    """
    if len(content) > _LONGEST:
        return None
    try:
        return sorted(_Content(content, labels, 0).nodes_in_all(), key=document_order)
    except Undecided:
        return None


def normalized_label(label: str) -> str:
    """`label` as the parser compares labels (CommonMark 0.31.2, section 4.7)."""
    if label.isascii() and label.isprintable():
        return " ".join(label.split()).upper()
    return re.sub(f"[{re.escape(TRIMMED)}]+", " ", label.strip(TRIMMED)).lower().upper()


class _Content:
    """One content. `skipped` remembers where what begins at a place ends when nothing is made of it."""

    def __init__(self, source: str, labels: Labels, depth: int) -> None:
        self._source = source
        self._labels = labels
        self._images = depth
        self._depth = 0
        self._links = 0
        self._skipped: dict[int, int] = {}
        self._last_angle = source.rfind(">")
        self._nodes: list[InlineNode] = []

    def nodes_in_all(self) -> list[InlineNode]:
        """All nodes."""
        self._read(0, len(self._source))
        return self._nodes

    def _read(self, at: int, stop: int) -> None:
        """Note the nodes between `at` and `stop`."""
        source = self._source
        while (sign := _SIGN.search(source, at, stop)) is not None:
            in_time()
            start = sign.start()
            match sign[0]:
                case "\\":
                    at = start + 2
                case "`":
                    at = self._take_code(start, stop)
                case "<":
                    at = self._take_angle(start, stop)
                case "[":
                    at = self._take_link(start, stop)
                case "![":
                    at = self._take_image(start, stop)
                case _:
                    at = self._take_url(start, stop)

    def _skip(self, at: int, stop: int) -> int:
        """Where what begins at `at` ends; right behind the sign there where that is text."""
        end = self._skipped.get(at)
        if end is not None:
            return end
        if self._depth >= _DEEPEST:
            raise Undecided
        self._depth += 1
        found: tuple[InlineNode, int] | None
        end = at + 1
        match self._source[at]:
            case "\\":
                end = at + 2 if at + 1 < stop else at + 1
            case "`":
                end = self._code(at, stop)[1]
            case "<":
                found = self._angle(at, stop)
                end = found[1] if found else end
            case "[":
                found = self._link(at, stop)
                end = found[1] if found else end
            case "!":
                found = self._image(at, stop)
                end = found[1] if found else end
            case _:
                pass
        self._depth -= 1
        self._skipped[at] = end
        return end

    # Code spans (section 6.1).

    def _take_code(self, at: int, stop: int) -> int:
        text, end = self._code(at, stop)
        if text is not None:
            self._nodes.append(InlineNode(kind=InlineKind.CODE, span=Span(at, end), text=text))
        return end

    def _code(self, at: int, stop: int) -> tuple[Span | None, int]:
        """What stands in the code span at `at`, and where it ends; where the ticks end that begin none."""
        ticks = _TICKS.match(self._source, at, stop)
        assert ticks is not None
        for closing in _TICKS.finditer(self._source, ticks.end()):
            if closing.end() > stop:
                break
            if len(closing[0]) == len(ticks[0]):
                return Span(ticks.end(), closing.start()), closing.end()
        return None, ticks.end()

    # Autolinks and HTML (sections 6.5 and 6.6).

    def _take_angle(self, at: int, stop: int) -> int:
        found = self._angle(at, stop)
        if found is None:
            return at + 1
        node, end = found
        self._nodes.append(node)
        if node.kind is InlineKind.HTML:
            # In the text of a link, HTML's own too, no bare URL is a link.
            tag = self._source[at:end].lower()
            self._links += tag.startswith("<a") and (tag[2] == ">" or tag[2].isspace())
            self._links -= tag.startswith("</a") and not tag[3:-1].strip()
        return end

    def _angle(self, at: int, stop: int) -> tuple[InlineNode, int] | None:
        source = self._source
        if at >= self._last_angle:
            return None
        closing = source.find(">", at, at + _LONGEST_TAG)
        if closing < 0:
            raise Undecided
        written = source[at + 1 : closing]
        if closing < stop and "<" not in written:
            mail = "@" in written and _mail_address().fullmatch(written)
            if mail or _URI.fullmatch(written):
                node = InlineNode(
                    kind=InlineKind.AUTOLINK,
                    span=Span(at, closing + 1),
                    destination=Span(at + 1, closing),
                    href=written if not mail or _URI.fullmatch(written) else f"mailto:{written}",
                )
                return node, closing + 1
            if written.endswith("\n") and (":" in written or "@" in written):
                raise Undecided
        if source.startswith(("<!", "<?"), at):
            return self._comment(at)
        tag = TAG.match(source, at) if at + 2 < stop else None
        if tag is None:
            return None
        return InlineNode(kind=InlineKind.HTML, span=Span(at, tag.end())), tag.end()

    def _comment(self, at: int) -> tuple[InlineNode, int] | None:
        """A comment without dashes in it but for those of its end; of others the parser knows."""
        source = self._source
        end = source.find("-->", at + 4)
        inside = source[at + 4 : end]
        if not source.startswith("<!--", at) or end < 0 or "--" in inside or inside[:1] in {">", "-"}:
            raise Undecided
        if inside.endswith("-"):
            raise Undecided
        return InlineNode(kind=InlineKind.HTML, span=Span(at, end + 3)), end + 3

    def _take_url(self, at: int, stop: int) -> int:
        if self._source[at] == ":" and not self._source.endswith(_PROTOCOLS, 0, at):
            return at + 1
        if self._links < 0:
            raise Undecided
        # Many a document has no bare URL.
        from mdplan.markdown.inline.bare_urls import bare_url

        found = None if self._links else bare_url(self._source, at, stop)
        if found is None:
            return at + 1
        start, end, href = found
        # What a node before it has is not looked at again.
        if end <= at or (self._nodes and start < self._nodes[-1].span.end):
            raise Undecided
        span = Span(start, end)
        self._nodes.append(InlineNode(kind=InlineKind.AUTOLINK, span=span, destination=span, href=href))
        return end

    # Links and images (sections 6.3 and 6.4).

    def _take_link(self, at: int, stop: int) -> int:
        found = self._link(at, stop)
        if found is None:
            return at + 1
        node, end = found
        assert node.text is not None
        self._nodes.append(node)
        self._links += 1
        self._read(node.text.start, node.text.end)
        self._links -= 1
        return end

    def _take_image(self, at: int, stop: int) -> int:
        found = self._image(at, stop)
        if found is None:
            return at + 1
        node, end = found
        assert node.text is not None
        self._nodes.append(node)
        if self._images >= _DEEPEST // 2:
            raise Undecided
        base = node.text.start
        alternative = _Content(self._source[base : node.text.end], self._labels, self._images + 1)
        self._nodes += (
            inner.moved(lambda span: Span(base + span.start, base + span.end))
            for inner in alternative.nodes_in_all()
        )
        return end

    def _link(self, at: int, stop: int) -> tuple[InlineNode, int] | None:
        if self._source.startswith("[^", at):
            # What may be a footnote.
            raise Undecided
        closing = self._label_end(at, stop, holds_no_link=True)
        return None if closing < 0 else self._labelled(InlineKind.LINK, at, closing, stop)

    def _image(self, at: int, stop: int) -> tuple[InlineNode, int] | None:
        if at + 1 >= stop or self._source[at + 1] != "[":
            return None
        if self._source.startswith("![^", at):
            raise Undecided
        closing = self._label_end(at + 1, stop, holds_no_link=False)
        return None if closing < 0 else self._labelled(InlineKind.IMAGE, at, closing, stop)

    def _labelled(self, kind: InlineKind, at: int, closing: int, stop: int) -> tuple[InlineNode, int] | None:
        """The link or image at `at`, the text of which ends at `closing`."""
        source = self._source
        text = Span(at + (1 if kind is InlineKind.LINK else 2), closing)
        behind = source[closing + 1 : closing + 2] if closing + 1 < stop else ""
        if behind == "(":
            target = plain_target(source, closing + 2, stop)
            if target is not None and target.end < stop and source[target.end] == ")":
                end = target.end + 1
                node = InlineNode(
                    kind=kind,
                    span=Span(at, end),
                    text=text,
                    destination=target.destination,
                    title=target.title,
                    href=target.href,
                )
                return node, end
            if kind is InlineKind.IMAGE or target is None:
                return None
            # The parser looks for a label behind where it stopped.
            if source.startswith("[", target.end + 1):
                raise Undecided
        return self._by_label(kind, at, text, stop, is_followed=behind == "[")

    def _by_label(
        self, kind: InlineKind, at: int, text: Span, stop: int, *, is_followed: bool
    ) -> tuple[InlineNode, int] | None:
        source, closing = self._source, text.end
        labels = self._labels()
        if labels is None:
            raise Undecided
        if not labels:
            return None
        label, end = text, closing + 1
        if is_followed:
            last = self._label_end(closing + 1, stop, holds_no_link=False)
            if last >= 0:
                label, end = Span(closing + 2, last) or text, last + 1
        href = labels.get(normalized_label(source[label.start : label.end]))
        if href is None:
            return None
        return InlineNode(kind=kind, span=Span(at, end), text=text, label=label, href=href), end

    def _label_end(self, start: int, stop: int, *, holds_no_link: bool) -> int:
        """Offset of the bracket that closes the one at `start`; -1 for none, or for a link in between."""
        at, level = start + 1, 1
        while (sign := _LABEL_SIGN.search(self._source, at, stop)) is not None:
            in_time()
            before = sign.start()
            if sign[0] == "]":
                level -= 1
                if not level:
                    return before
                at = before + 1
                continue
            at = self._skip(before, stop)
            if sign[0] == "[":
                if at == before + 1:
                    level += 1
                elif holds_no_link:
                    return -1
        return -1


@cache
def _mail_address() -> re.Pattern[str]:
    """What is a mail address in angle brackets."""
    name = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
    return re.compile(rf"[a-zA-Z0-9.!#$%&'*+/=?^_`{{|}}~-]+@{name}(?:\.{name})*")
