"""The reference parser: markdown-it-py configured to match GitHub.

Deviations from its presets: tables are tried after headings, a row of dashes without pipe or colon is a
setext underline, links are neither validated nor normalized, and the nesting limit is much higher.

Parsers are built on first use, because importing markdown-it-py takes longer than starting Python. They keep
no state between parses, so threads share them; building one twice in a race is harmless.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from mdplan.markdown.blocks import CONTAINERS, Block, BlockKind, check_deadline, with_deadline
from mdplan.text.lines import LineIndex, Span

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

    BlockRule = Callable[[StateBlock, int, int, bool], bool]

# The limit of the block pass; a list counts twice (list and item).
MAX_NESTING: Final = 400

# A limit that is safe on any stack, if Python's recursion limit stops the parser earlier.
SAFE_NESTING: Final = 60
_TABLE: Final = "table_after_headings"
_IN_TIME: Final = "check_deadline"
_INTERRUPTS_PARAGRAPHS: Final = ["paragraph", "reference"]


@cache
def block_parser(max_nesting: int = MAX_NESTING) -> "MarkdownIt":
    """Return the block parser: ``parse(text)`` returns block tokens and leaves inline content raw.

    Link reference definitions are tokens of type ``definition``. The text must not contain BOM or front
    matter; deep nesting may raise `RecursionError`.
    """
    parser = _with_footnotes(_configured(max_nesting))
    ruler = parser.block.ruler
    footnote = dict(zip(ruler.get_active_rules(), ruler.getRules(""), strict=True))["footnote_def"]
    ruler.at("footnote_def", _with_lines(footnote), {"alt": _INTERRUPTS_PARAGRAPHS})
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def new_formatting_parser(renderer: type) -> "MarkdownIt":
    """Return a parser with footnotes whose `renderer` writes Markdown; the caller adds plugins.

    Definitions and footnotes are tokens in place. Deep nesting may raise `RecursionError`.
    """
    return _with_footnotes(_configured(MAX_NESTING, renderer))


@cache
def html_parser() -> "MarkdownIt":
    """Return a parser that renders HTML like GitHub, unsanitized: only for comparisons.

    Deep nesting may raise `RecursionError`.
    """
    from mdit_py_plugins.tasklists import tasklists_plugin

    return _with_footnotes(_github_parser(MAX_NESTING).use(tasklists_plugin))


def inert_parser(max_nesting: int) -> "MarkdownIt":
    """Return a GFM parser that treats HTML as text, to display untrusted Markdown."""
    parser = _github_parser(max_nesting)
    parser.options["html"] = False
    return parser


def _with_footnotes(parser: "MarkdownIt") -> "MarkdownIt":
    """Add footnotes to `parser`, as tokens in place."""
    from mdit_py_plugins.footnote import footnote_plugin

    return parser.use(footnote_plugin, inline=False, move_to_end=False)


def _github_parser(max_nesting: int) -> "MarkdownIt":
    from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

    parser = _configured(max_nesting)
    parser.enable("strikethrough")
    parser.options["strikethrough_single_tilde"] = True
    parser.options["inline_definitions"] = False
    return parser.use(gfm_autolink_plugin)


def _configured(max_nesting: int, renderer: type | None = None) -> "MarkdownIt":
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.rules_block import table

    parser = MarkdownIt(
        "commonmark",
        {"maxNesting": max_nesting, "inline_definitions": True},
        renderer_cls=renderer or RendererHTML,
    )
    parser.block.ruler.after("heading", _TABLE, _behind_headings(table), {"alt": _INTERRUPTS_PARAGRAPHS})
    # These match nothing, and run at every line and token where a rule could start or end.
    block_alternatives = ["paragraph", "reference", "blockquote", "list", "table"]
    parser.block.ruler.before("code", _IN_TIME, _in_time, {"alt": block_alternatives})
    parser.block.ruler.before("code", "table_end", _lone_pipe, {"alt": ["blockquote"]})
    parser.inline.ruler.before("text", _IN_TIME, _in_time)
    # Destinations are compared with the source and never loaded, so they stay as written.
    for name in ("normalizeLink", "normalizeLinkText"):
        setattr(parser, name, str)
    vars(parser)["validateLink"] = lambda _destination: True
    return parser


def _behind_headings(table: "BlockRule") -> "BlockRule":
    """Return the table rule for use after headings: a row of only dashes underlines a heading."""

    def table_after_headings(state: "StateBlock", start_line: int, end_line: int, silent: bool) -> bool:
        if start_line + 1 < end_line:
            start = state.bMarks[start_line + 1] + state.tShift[start_line + 1]
            row = state.src[start : state.eMarks[start_line + 1]]
            if "|" not in row and ":" not in row:
                return False
        if silent:
            return table(state, start_line, end_line, True)
        with _push_in_time(state):
            return table(state, start_line, end_line, False)

    return table_after_headings


def _lone_pipe(state: "StateBlock", start_line: int, _end_line: int, silent: bool) -> bool:
    """End a table at a line that is only `|`, as GitHub does."""
    if not silent or state.parentType != "table":
        return False
    return state.src[state.bMarks[start_line] : state.eMarks[start_line]].strip(" \t\v\f") == "|"


def _in_time(*_: object) -> bool:
    check_deadline()
    return False


@contextmanager
def _push_in_time(state: "StateBlock") -> Iterator[None]:
    """Check the deadline for each token: a table can be as large as the document."""
    push = state.push

    def push_in_time(kind: str, tag: str, nesting: Literal[-1, 0, 1]) -> "Token":
        check_deadline()
        return push(kind, tag, nesting)

    vars(state)["push"] = push_in_time
    try:
        yield
    finally:
        del vars(state)["push"]


def _with_lines(rule: "BlockRule") -> "BlockRule":
    """Return `rule`, recording its lines on its first token as other rules do."""

    def with_lines(state: "StateBlock", start_line: int, end_line: int, silent: bool) -> bool:
        before = len(state.tokens)
        matched = rule(state, start_line, end_line, silent)
        if matched and not silent:
            state.tokens[before].map = [start_line, state.line]
        return matched

    return with_lines


@cache
def trim_characters() -> str:
    """Return the characters that the parser strips from both ends of content."""
    from markdown_it.common.utils import MD_TRIM_CHARS

    return MD_TRIM_CHARS


# --- Blocks from markdown-it-py, for a document or a top-level part
#
# The parser supplies only line numbers, raw inline text of headings and, for comparisons, the code of fences;
# the rest is cut from the source.

_KINDS: Final = {
    "heading_open": BlockKind.HEADING,
    "paragraph_open": BlockKind.PARAGRAPH,
    "fence": BlockKind.FENCE,
    "code_block": BlockKind.INDENTED_CODE,
    "html_block": BlockKind.HTML,
    "table_open": BlockKind.TABLE,
    "bullet_list_open": BlockKind.LIST,
    "ordered_list_open": BlockKind.LIST,
    "list_item_open": BlockKind.LIST_ITEM,
    "blockquote_open": BlockKind.QUOTE,
    "hr": BlockKind.RULE,
    "definition": BlockKind.DEFINITION,
    "footnote_reference_open": BlockKind.FOOTNOTE,
}


@with_deadline
def parse_reference_blocks(
    text: str, start: int = 0, lines_before: int = 0
) -> tuple[tuple[Block, ...], bool]:
    """Return the blocks of `text`, which starts at offset `start` after `lines_before` lines.

    They are in document order, parents first. Return also True if the parser hit its nesting limit, so later
    blocks may be missing.
    """
    tokens, nesting_limit = _tokens(text)
    lines = LineIndex(text)
    blocks: list[Block] = []
    for index, token in enumerate(tokens):
        kind = _KINDS.get(token.type)
        if kind is None or not token.map:
            continue
        first = token.map[0] + 1
        last = min(max(token.map[1], first), lines.count)
        # Line maps of lists include the blank lines after them.
        last = lines.last_with_text(first + 1, last) if kind in CONTAINERS else last
        content = token.info if kind is BlockKind.FENCE else ""
        if kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}:
            content = tokens[index + 1].content
        blocks.append(
            Block(
                kind=kind,
                first_line=lines_before + first,
                last_line=lines_before + last,
                span=Span(start + lines.start(first), start + lines.end(last)),
                depth=token.level,
                level=int(token.tag[1]) if kind is BlockKind.HEADING else 0,
                # The parser repeats the character of a thematic break once too often.
                markup=token.markup[:1] if kind is BlockKind.RULE else token.markup,
                content=content,
                cells=_header_cells(tokens, index) if kind is BlockKind.TABLE else (),
                code=token.content if kind is BlockKind.FENCE else "",
            )
        )
    return tuple(blocks), nesting_limit


def _tokens(text: str) -> "tuple[list[Token], bool]":
    # Without a final newline the parser loses whitespace lines and the last line of a quote.
    text = text if text.endswith(("\n", "\r")) else f"{text}\n"
    try:
        tokens = block_parser().parse(text)
    except RecursionError:
        return block_parser(SAFE_NESTING).parse(text), True
    return tokens, any(token.level >= MAX_NESTING - 1 for token in tokens)


def _header_cells(tokens: "list[Token]", table: int) -> tuple[str, ...]:
    """Return the cells of the first row of the table that opens at token `table`."""
    cells: list[str] = []
    while tokens[table].type != "tr_close":
        if tokens[table].type == "inline":
            cells.append(tokens[table].content)
        table += 1
    return tuple(cells)
