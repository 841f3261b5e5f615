"""Where the parser finds inline nodes in inline content.

Tokens carry no columns. The rules do know where they are, so each rule of interest is wrapped: when it
succeeds, the stretch that it took is recorded, its parts are read again with the parser's own functions, and
what they give is compared with the token. Where it differs the stretch is undecided.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final

from mdplan.markdown.blocks.parse_time import timed
from mdplan.markdown.blocks.parser import MAX_INLINE_NESTING, new_inline_parser, rule_functions
from mdplan.markdown.inline import inline_parts
from mdplan.markdown.inline.bare_urls import PROTOCOLS, SEARCH_END
from mdplan.markdown.inline.inline_node import InlineNode, document_order
from mdplan.text.span import Span

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

    Rule = Callable[[StateInline, bool], bool]
    Derive = Callable[[StateInline, int, Token], InlineNode | None]

# Content without any of these has no inline nodes.
MARKUP: Final = re.compile(r"[`\[<@]|://|www\.")

# The rules for bare URLs copy the rest of the content and search all pending text at each colon.
_LONG_PENDING: Final = 256
_LONGEST_PROTOCOL: Final = 16
_LONG_URL: Final = 8192
_MAX_LONG_URLS: Final = 50


class Recording:
    """What the rules found in one inline content. Spans are in that content.

    `base` is where the content of the parse that runs now starts: alternative texts of images are parsed
    by themselves. `long_urls` counts the places where a URL without an end in sight was tried.
    """

    def __init__(self) -> None:
        self.nodes: list[InlineNode] = []
        self.undecided: list[Span] = []
        self.base = 0
        self.long_urls = 0

    def add(self, state: "StateInline", start: int, node: InlineNode | None) -> None:
        """Record a stretch of `state` from `start` to its position as a node, or as undecided."""
        base = self.base
        if node is None:
            self.undecided.append(Span(base + start, base + state.pos))
        else:
            self.nodes.append(node.moved(lambda span: Span(base + span.start, base + span.end)))


@timed
def record_without_labels(content: str) -> Recording | None:
    """As `record_nodes`, of content without footnotes; None where it depends on what labels mean."""
    try:
        return record_nodes(content, _Unasked())
    except _LabelAsked:
        return None


class _LabelAsked(Exception):  # noqa: N818 - It is no error.
    """The parser asks what labels mean."""


class _Unasked(dict[str, object]):
    """An environment that nobody may ask for definitions."""

    def copy(self) -> "_Unasked":
        return _Unasked(self)

    def __contains__(self, key: object) -> bool:
        if key == "references":
            raise _LabelAsked
        return super().__contains__(key)


@timed
def record_nodes(content: str, environment: dict[str, object]) -> Recording:
    """Inline nodes of `content`, sorted; `environment` is that of the block pass (definitions).

    Raises `RecursionError` where brackets or images stand in each other too deep, or where hostile text
    would cost too much.
    """
    recording = Recording()
    parser = _recording_parser()
    known = environment.copy()
    known["recording"] = recording
    parser.inline.parse(content, parser, known, [])
    recording.nodes.sort(key=document_order)
    return recording


@cache
def _recording_parser() -> "MarkdownIt":
    parser = new_inline_parser()
    ruler = parser.inline.ruler
    rules = rule_functions(ruler)
    ruler.at("backticks", _recorded(rules["backticks"], "`", "code_inline", inline_parts.code_span))
    ruler.at("autolink", _recorded(rules["autolink"], "<", "link_open", inline_parts.angle_autolink))
    ruler.at("html_inline", _recorded(rules["html_inline"], "<", "html_inline", inline_parts.html_tag))
    ruler.at(
        "footnote_ref", _recorded(rules["footnote_ref"], "[", "footnote_ref", inline_parts.footnote_reference)
    )
    ruler.at("link", _recorded(_limited(rules["link"]), "[", "link_open", inline_parts.link))
    ruler.at("image", _recorded(_with_base(_limited(rules["image"])), "!", "image", inline_parts.image))
    for name, mark in (("www", "w"), ("protocol", ":"), ("email", "@")):
        rule = rules[f"gfm_autolink_{name}"]
        bounded = _bounded(rule, mark)
        ruler.at(f"gfm_autolink_{name}", _recorded(bounded, mark, "link_open", inline_parts.bare_autolink))
    return parser


def _recorded(rule: "Rule", mark: str, token_type: str, derive: "Derive") -> "Rule":
    """`rule`, which only ever applies at `mark`, recording what it finds when it is not silent."""

    def recorded(state: "StateInline", silent: bool) -> bool:
        if state.src[state.pos] != mark:
            return False
        if silent:
            return rule(state, True)
        start = state.pos
        before = len(state.tokens)
        found = rule(state, False)
        if found:
            # Pending text may have become tokens before the one that is looked for.
            token = next((new for new in state.tokens[before : before + 3] if new.type == token_type), None)
            if token is not None:
                state.env["recording"].add(state, start, derive(state, start, token))
        return found

    return recorded


def _limited(rule: "Rule") -> "Rule":
    """`rule` for links or images, which stops where the parser would skip what is nested too deep."""

    def limited(state: "StateInline", silent: bool) -> bool:
        if state.level >= MAX_INLINE_NESTING:
            raise RecursionError
        return rule(state, silent)

    return limited


def _with_base(rule: "Rule") -> "Rule":
    """The rule for images: what it parses is the alternative text, two characters behind its start."""

    def with_base(state: "StateInline", silent: bool) -> bool:
        if silent:
            return rule(state, True)
        recording: Recording = state.env["recording"]
        base = recording.base
        recording.base = base + state.pos + 2
        try:
            return rule(state, False)
        finally:
            recording.base = base

    return with_base


def _bounded(rule: "Rule", mark: str) -> "Rule":
    """A rule for bare URLs that looks no further than white space, so that its cost is that of the URL."""

    def bounded(state: "StateInline", silent: bool) -> bool:
        source, position, maximum = state.src, state.pos, state.posMax
        # In silent mode these rules find nothing.
        if (
            silent
            or (mark == ":" and not source.endswith(PROTOCOLS, 0, position))
            or (mark == "w" and not source.startswith("www.", position))
        ):
            return False
        if mark == ":":
            _shorten_pending(state)
        end = SEARCH_END.search(source, position, min(maximum, position + _LONG_URL))
        if end:
            state.posMax = end.end()
        elif position + _LONG_URL < maximum:
            _count_long_url(state.env["recording"])
        try:
            return rule(state, False)
        finally:
            state.posMax = maximum

    return bounded


def _shorten_pending(state: "StateInline") -> None:
    """Forget long pending text but for its end, where a protocol may stand: nobody reads the text tokens."""
    if len(state.pending) > _LONG_PENDING:
        state.pending = state.pending[-_LONGEST_PROTOCOL:]


def _count_long_url(recording: Recording) -> None:
    recording.long_urls += 1
    if recording.long_urls > _MAX_LONG_URLS:
        raise RecursionError
