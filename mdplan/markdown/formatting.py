"""Format blocks with mdformat (an optional extra), and edit fenced code.

Only single top-level blocks are formatted; definitions and footnotes stay as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any, Final

from mdplan.diagnostics import Code, Diagnostic, Refused
from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.enclosure_search import has_site_syntax
from mdplan.markdown.headings import heading_title
from mdplan.markdown.inline import rendered_html
from mdplan.markdown.outline import Outline
from mdplan.markdown.reference_parser import new_formatting_parser
from mdplan.markdown.tables import prefix_after, width_of, with_prefix
from mdplan.text.diff import replace_lines
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span, common_edges, line_end_around, lines_of, to_lf
from mdplan.text.source import Source
from mdplan.values import Struct
from mdplan.words import say

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from mdformat.renderer import RenderContext, RenderTreeNode


_WIKI_LINK: Final = lazy_pattern(r"\[\[[^\[\]\n]+\]\]")

# mdformat would sort these blocks and drop the unused ones.
_KEPT: Final = frozenset({"definition", "footnote_reference"})
NOT_INSTALLED: Final = "mdformat is not installed"


class FormattedBlock(Struct):
    """The 1-based inclusive lines of a top-level block without trailing blank lines, and its new `lines`.

    `lines` is None if the block and the blank lines around it stay as they are.
    """

    first_line: int
    last_line: int
    lines: tuple[str, ...] | None


def format_blocks(
    text: str, definitions: Mapping[str, object], *, of_site: bool = False
) -> tuple[FormattedBlock, ...] | str:
    """Format the top-level blocks of `text` (LF newlines); return the reason if mdformat fails.

    `of_site` keeps blocks that a site could read differently afterwards. `definitions` is the markdown-it
    environment with the link labels.
    """
    try:
        rendered = _rendered(text, deepcopy(dict(definitions)))
    except ImportError:
        return NOT_INSTALLED
    except Exception as error:  # noqa: BLE001 (third-party plugins may raise anything; all of it becomes a refusal)
        return f"mdformat stopped with {type(error).__name__}"
    lines = text.split("\n")
    starts = [node.map[0] for node, _ in rendered if node.map] + [len(lines)]
    return tuple(
        _block(lines, range(start, following), new_text, node.type if of_site else None)
        for (node, new_text), (start, following) in zip(rendered, pairwise(starts), strict=True)
    )


def _rendered(text: str, environment: dict[str, Any]) -> list[tuple["RenderTreeNode", str | None]]:
    """Return the top-level nodes with their new text, or None to keep them."""
    parser = formatting_parser()
    from mdformat.renderer import RenderTreeNode

    tree = RenderTreeNode(parser.parse(text, environment))
    context = _context(parser, environment)
    is_kept = [any(inner.type in _KEPT for inner in node.walk()) for node in tree.children]
    return [
        (node, None if kept else node.render(context))
        for node, kept in zip(tree.children, is_kept, strict=True)
    ]


def _block(lines: Sequence[str], own: range, new_text: str | None, kind: str | None) -> FormattedBlock:
    """Make a block of the 0-based lines `own` without trailing blank lines.

    Given a `kind`, keep the block if a site could read `new_text` differently.
    """
    end = own.stop
    while end > own.start + 1 and not lines[end - 1].strip(" \t"):
        end -= 1
    new_lines = None if new_text is None else tuple(new_text.split("\n"))
    if new_lines and kind and not _means_the_same(kind, lines[own.start : end], new_lines):
        new_lines = None
    return FormattedBlock(own.start + 1, end, new_lines)


# --- Blocks that sites read differently from Markdown
#
# Containers by indentation (`!!! note`), attributes, math and templates have no HTML here to compare. So the
# text and column of each line must stay; markers, rules, fences, tables and headings may change.

_PARTS: Final = lazy_pattern(
    r"(?P<indent>[ \t>]*)(?P<marker>(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$))*)(?P<text>.*)"
)
_MARKS: Final = lazy_pattern(r"[\s|#=-]+")
_NO_TEXT: Final = frozenset({"fence", "hr", "html_block"})


def _means_the_same(kind: str, old: Sequence[str], new: Sequence[str]) -> bool:
    """Return True if sites read `new` like `old` in a top-level block of this `kind`."""
    if kind == "table" and not all("|" in line for line in old):
        # The last line holds attributes.
        return False
    if kind in {"heading", "table"}:
        return _MARKS.sub("", "".join(old)) == _MARKS.sub("", "".join(new))
    # Some sites read indented code as content of the block above.
    return kind in _NO_TEXT or (kind != "code_block" and _places(old) == _places(new))


def _places(lines: Sequence[str]) -> list[tuple[int, bool, str]]:
    """Return the column, marker flag and text of each non-blank line."""
    parts = filter(None, (_PARTS.match(line) for line in lines if line.strip()))
    return [(width_of(part["indent"]), bool(part["marker"]), part["text"].strip()) for part in parts]


def _context(parser: "MarkdownIt", environment: dict[str, Any]) -> "RenderContext":
    """Build the context that mdformat passes to its renderers."""
    from mdformat.renderer import DEFAULT_RENDERERS, RenderContext

    environment |= {"indent_width": 0, "used_refs": set()}
    renderers: dict[str, Any] = dict(DEFAULT_RENDERERS)
    postprocessors: dict[str, tuple[Any, ...]] = {}
    for extension in parser.options["parser_extension"]:
        renderers |= extension.RENDERERS
        for name, function in getattr(extension, "POSTPROCESSORS", {}).items():
            postprocessors[name] = (*postprocessors.get(name, ()), function)
    return RenderContext(renderers, postprocessors, parser.options, environment)


@cache
def formatting_parser() -> "MarkdownIt":
    """Return mdformat's GFM parser, configured to keep destinations verbatim; may raise `ImportError`."""
    from mdformat.plugins import PARSER_EXTENSIONS
    from mdformat.renderer import MDRenderer

    if "gfm" not in PARSER_EXTENSIONS:
        raise ImportError
    parser = new_formatting_parser(MDRenderer)
    parser.options["mdformat"] = {}
    parser.options["store_labels"] = True
    parser.options["parser_extension"] = [PARSER_EXTENSIONS["gfm"], _OurExtension]
    # This also appends the table extension, whose rule is elsewhere.
    PARSER_EXTENSIONS["gfm"].update_mdit(parser)
    parser.disable("table")
    parser.inline.ruler.after("image", "wiki_link", _wiki_link)
    return parser


def _wiki_link(state: "StateInline", silent: bool) -> bool:  # noqa: FBT001 (the parser calls its rules so)
    match = _WIKI_LINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("wiki_link", "", 0).content = match[0]
    state.pos = match.end()
    return True


class _OurExtension:
    """Renderers for syntax that mdformat does not know."""

    RENDERERS: Final = {
        "footnote_ref": lambda node, _: f"[^{node.meta['label']}]",
        "wiki_link": lambda node, _: node.content,
    }


# --- Edits that format lines without changing the HTML


def format_lines(outline: Outline, span: Span) -> tuple[TextEdit, ...]:
    """Return edits that format the top-level blocks on the lines of `span`; trailing blank lines stay.

    Raise FORMATTER_FAILED if mdformat is missing or fails, or if the HTML would change.
    """
    line = outline.source.lines.line_at(span.start)
    text = to_lf(outline.text_of(span))
    if outline.tree.nesting_limit:
        raise Refused(_failed(line, "the file is nested deeper than the parser goes"))
    of_site = outline.slugs.is_counted_up or has_site_syntax(outline)
    blocks = format_blocks(text, outline.inline.definitions, of_site=of_site)
    if isinstance(blocks, str):
        raise Refused(_NOT_INSTALLED if blocks == NOT_INSTALLED else _failed(line, blocks))
    edits = EditList.of(_edits(outline.source, line - 1, blocks, of_site=of_site))
    assert isinstance(edits, EditList), "blocks do not overlap"
    body = outline.body_start
    before, after = (to_lf(text[body:]) for text in (outline.source.text, edits.apply(outline.source.text)))
    if _headings(before) != _headings(after):
        raise Refused(_failed(line, "its headings would not be the same"))
    try:
        # Footnotes, and an item before its neighbours, depend on distant text.
        is_same = rendered_html(before) == rendered_html(after)
    except RecursionError:
        is_same = False
    if not is_same:
        raise Refused(_failed(line, "it would not be rendered as it is now"))
    return edits.edits


def _edits(
    source: Source, lines_before: int, blocks: Sequence[FormattedBlock], *, of_site: bool
) -> Iterator[TextEdit]:
    """Yield edits of `blocks`, which start after `lines_before` lines, and of the blank lines between them.

    A missing blank line is added to the end of the block before, so that the offset of a following heading
    stays valid. `of_site` adds none: attributes and labels apply to the adjacent block.
    """
    for block, following in zip_longest(blocks, blocks[1:]):
        if block.lines is None:
            continue
        is_spaced = following is not None and following.lines is not None
        gap = range(block.last_line + 1, following.first_line) if is_spaced else range(0)
        lines = (*block.lines, "") if is_spaced and not gap and not of_site else block.lines
        yield from replace_lines(
            source, lines_before + block.first_line, lines_before + block.last_line, lines
        )
        if gap:
            yield from replace_lines(source, lines_before + gap[0], lines_before + gap[-1], [""])


def _headings(text: str) -> list[tuple[int, str]]:
    """Return level and title of all headings as the outline's parser sees them."""
    blocks = parse_blocks(text, LineIndex(text)).blocks
    return [
        (block.level, heading_title(block.content)) for block in blocks if block.kind is BlockKind.HEADING
    ]


def _failed(line: int, reason: str) -> Diagnostic:
    return Code.FORMATTER_FAILED.problem(
        f"the text at line {line} cannot be formatted: {reason}",
        say("format other sections, or edit this one by {replace_section}"),
    )


_NOT_INSTALLED: Final = Code.FORMATTER_FAILED.problem(
    "mdformat is not installed, or its GFM plugin is not",
    'install the extra: `pip install "mdplan[mdformat]"`',
)


# --- Edits of fenced code blocks

_FENCE_ALONE: Final = lazy_pattern(r"[ \t]*(`+|~+)[ \t]*")


class FencedCode(Struct, kw_only=True):
    """A closed fenced code block (CommonMark 0.31.2, section 4.5).

    `opening` and `closing` are the runs of fence characters. `prefix` starts each line: container prefixes
    and the indentation of the opening fence, which code lines lose.
    """

    block: Block
    opening: Span
    closing: Span
    prefix: str

    @property
    def code(self) -> list[str]:
        """Lines of code without `prefix`."""
        return lines_of(self.block.code)


def read_fence(outline: Outline, block: Block) -> FencedCode | None:
    """Read the fenced code of `block`; None if it has no closing fence."""
    if block.last_line - block.first_line != len(lines_of(block.code)) + 1:
        return None
    lines = outline.source.lines
    first, last = lines.content(block.first_line), lines.content(block.last_line)
    opening, closing = first.index(block.markup), last.index(block.markup)
    width = len(last[closing:].rstrip(" \t"))
    opens, closes = lines.start(block.first_line) + opening, lines.start(block.last_line) + closing
    return FencedCode(
        block=block,
        opening=Span(opens, opens + len(block.markup)),
        closing=Span(closes, closes + width),
        prefix=prefix_after(first[:opening]),
    )


def replace_code(outline: Outline, fence: FencedCode, code: Sequence[str]) -> tuple[TextEdit, ...]:
    """Return edits that replace the code of `fence`, or none if it is equal.

    Equal lines at both ends stay untouched. The fences grow if a line of `code` would close the block.
    """
    prefix, suffix = common_edges(fence.code, code)
    new_lines = code[prefix : len(code) - suffix]
    lines = outline.source.lines
    start = lines.start(fence.block.first_line + 1 + prefix)
    end = lines.start(fence.block.last_line - suffix)
    line_end = line_end_around(lines, start)
    text = "".join(with_prefix(fence.prefix, line) + line_end for line in new_lines)
    edits = [TextEdit(Span(start, end), text)] if text or end > start else []
    width = _width_for(fence.block.markup, code)
    edits += [
        TextEdit.insert(run.end, fence.block.markup[0] * (width - len(run)))
        for run in (fence.opening, fence.closing)
        if len(run) < width and edits
    ]
    return tuple(edits)


def _width_for(markup: str, code: Sequence[str]) -> int:
    """Return a fence length that no line of `code` closes, at least that of `markup`."""
    runs = (fence[1] for line in code if (fence := _FENCE_ALONE.fullmatch(line)))
    longest = max((len(run) for run in runs if run[0] == markup[0]), default=0)
    return max(len(markup), longest + 1)
