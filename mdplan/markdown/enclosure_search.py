"""Search for regions, and for text that site generators and browsers read as code."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Final, TypeVar

from mdplan.markdown.blocks import INLINE_KINDS, Block, BlockKind
from mdplan.markdown.enclosures import Region, RegionMarker, Regions, pair_up
from mdplan.markdown.inline_node import InlineKind
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import BRACES
from mdplan.markdown.tables import NodeKind
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span

_Piece = TypeVar("_Piece")

# --- Regions: text between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->`` that tools replace.

_MARKER: Final = lazy_pattern(r"<!--[ \t]*(?P<name>[A-Za-z0-9][\w.-]*):(?P<edge>start|end)[ \t]*-->")

# Table of contents markers of other tools: doctoc, `toc` and `/toc`, markdown-toc, AlanWalk's, md-toc.
_CONTENTS_MARKER: Final = lazy_pattern(
    r"<!--[ \t]*(?:(?P<doctoc>START|END) doctoc\b[^>\r\n]*?"
    r"|(?P<edge>/|BEGIN |END )?toc(?P<stop>stop)?(?P<options>(?:[ \t]+\w+:[^\s>]*)*))[ \t]*-->",
    re.IGNORECASE,
)

_CONTENTS_SIGN: Final = lazy_pattern(r"<!--[ \t]*(?:/|BEGIN |END )?toc|doctoc", re.IGNORECASE)

# The name of a table of contents region, whatever its markers.
CONTENTS: Final = "toc"


def find_regions(outline: Outline) -> Regions:
    """Return the regions of a document, which may be nested.

    Markers in code, front matter or another comment are text. If two regions cross, the one that ends first
    is paired and the markers of the other are unpaired.
    """
    return outline.derived(_regions)


def _regions(outline: Outline) -> Regions:
    pairs, lone = pair_up((marker.name, marker.is_start, marker) for marker in _markers(outline))
    regions = (Region(name=start.name, start=start, end=end) for start, end in pairs)
    # A lone contents marker tells its tool to insert the contents there.
    unpaired = (marker for marker in lone if _MARKER.match(outline.source.text, marker.span.start))
    return Regions(
        tuple(sorted(regions, key=lambda region: region.start.span)),
        tuple(sorted(unpaired, key=lambda marker: marker.span)),
    )


def _markers(outline: Outline) -> Iterator[RegionMarker]:
    """Yield the region marker comments of `outline`."""
    text = outline.source.text
    markers = [*_MARKER.finditer(text, outline.body_start)]
    ends_of_contents = frozenset[int]()
    if _CONTENTS_SIGN.search(text, outline.body_start):
        contents = [*_CONTENTS_MARKER.finditer(text, outline.body_start)]
        ends_of_contents = _ends_of_contents(contents)
        markers = sorted((*markers, *contents), key=re.Match.start)
    for block, matches in groupby(markers, lambda marker: outline.tree.leaf_at(marker.start())):
        spans = frozenset[Span]()
        if block is not None and block.kind in INLINE_KINDS:
            nodes = outline.inline.nodes_in(block.span)
            spans = frozenset(node.span for node in nodes if node.kind is InlineKind.HTML)
        for match in matches:
            span = Span(*match.span())
            in_html = (
                block is not None and block.kind is BlockKind.HTML and _is_comment(text, block.span, span)
            )
            if in_html or span in spans:
                is_own = "name" in match.re.groupindex
                yield RegionMarker(
                    name=match["name"] if is_own else CONTENTS,
                    is_start=match["edge"] == "start" if is_own else match.start() not in ends_of_contents,
                    span=span,
                    line=outline.source.lines.line_at(span.start),
                )


def _ends_of_contents(markers: Sequence[re.Match[str]]) -> frozenset[int]:
    """Return the offsets of the closing contents markers."""
    ends = {
        marker.start()
        for marker in markers
        if (marker["doctoc"] or marker["edge"] or "").strip().upper() in {"END", "/"} or marker["stop"]
    }
    if not ends and len(markers) == 2 and markers[0][0] == markers[1][0]:
        # md-toc uses the same marker twice.
        ends = {markers[1].start()}
    return frozenset(ends)


def _is_comment(text: str, block: Span, span: Span) -> bool:
    """Return True unless an earlier comment in the HTML `block` is still open at `span`."""
    before = text.rfind("<!--", block.start, span.start)
    return before < 0 or text.find("-->", before + 2, span.start) >= 0


# --- Text that is code to sites and browsers but text to Markdown: templates, math, MDX.

SITE_KINDS: Final = frozenset({NodeKind.TEMPLATES, NodeKind.MATH, NodeKind.MDX, NodeKind.MARKUP})

_MARKUP_SIGNS: Final = {
    NodeKind.TEMPLATES: lazy_pattern(r"\{\{|\{%"),
    NodeKind.MATH: lazy_pattern(r"\$"),
    NodeKind.MDX: lazy_pattern(r"\{|^(?:import|export)\b", re.MULTILINE),
    NodeKind.MARKUP: lazy_pattern(r"[{&^:@]|\)=|\[!|!!!|\?\?\?|///|8<|<<<|%%|\[\[?_?TOC_?\]", re.IGNORECASE),
}

# Site and note syntax that readers do not see as words: at the start of a line, and anywhere.
_LINE_MARKUP: Final = lazy_pattern(
    r"""^[ \t>]*+(?:[-+*][ \t]+)?(?P<piece>
    \[![\w-]+\]
    | (?:!!!|\?\?\?\+?|///)[ \t]*[\w-]+
    | :{3,}[ \t]*\{(?:[\w-]*figure|image|(?:literal)?include|embed|code[\w-]*)\}[^\n\r]*
    | :{2,}[ \t]*(?:\{[\w:.+-]+\}|[\w-]+)
    | \([^()\s]+\)=(?=[ \t]*\r?$)
    | \[\[?_?TOC_?\]\]?(?=[ \t]*\r?$)
    | (?:;?-+8<-+|<<<[ \t])[^\n\r]*
    )""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_MARKUP: Final = lazy_pattern(
    rf"""(?P<piece>{BRACES}|\{{:[^{{}}\n\r]*\}}
    | \{{[A-Za-z][\w:+.-]*\}}(?=`)
    | &(?:[A-Za-z][A-Za-z0-9]*|\#[0-9]+|\#[xX][0-9A-Fa-f]+);
    | (?<!\S)\^[A-Za-z0-9-]+(?=[ \t]*\r?$)
    | \[\^[^\]\s]+\]
    | (?<=\[)-?@[\w:./-]+(?=[^\]\n\r]*\](?!\())
    | (?<![\w:]):[A-Za-z][\w+-]*(?::(?![\w:])|(?=[\[{{]))
    | %%(?s:.*?)%%
    )""",
    re.VERBOSE | re.MULTILINE,
)

# Option lines of MyST directives; some show text.
_OPTIONS: Final = lazy_pattern(
    r"[ \t>]*+:{3,}\{[^\n\r]*(?:\r\n?|\n)(?P<options>(?:[ \t>]*:[\w-]+:[^\n\r]*(?:\r\n?|\n)?)+)"
)
_OPTION: Final = lazy_pattern(
    r"^[ \t>]*(?P<piece>:(?:caption|alt|(?:sub)?title):|:[\w-]+:[^\n\r]*)", re.MULTILINE
)

_CLOSING: Final = {"{{": "}}", "{%": "%}"}

# Pandoc manual, "Math", and GitHub: no spaces inside single delimiters, no letters outside.
_MATH: Final = lazy_pattern(
    r"(?<![\\$\w])\$\$(?P<display>[^$]++)\$\$|(?<![\\$\w])\$(?=[^\s$])[^$\n\r]*+(?<=[^\s\\])\$(?![\w$])"
)

# MDX documentation, "ESM": a paragraph that starts like this.
_MODULE: Final = lazy_pattern(
    r"import\b[^\n\r]*?(?:from[ \t]+)?[\"'][^\"'\n\r]+[\"']"
    r"|export[ \t]+(?:default|const|let|var|function|async|class|\{|\*)"
)

_MODULE_LINE: Final = lazy_pattern(r"^(?:import|export)\b", re.MULTILINE)
_EXPRESSION: Final = lazy_pattern(r"\{[^{}]*+\}")
_LEAVES: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.TABLE, BlockKind.HTML})

# The kind of multi-line comments and formulas by delimiter; the rest are MDX.
_HIDDEN_KINDS: Final = {
    **dict.fromkeys(("$$", "\\[", "\\b"), NodeKind.MATH),
    **dict.fromkeys(("{{", "{{<", "{{%", "{%"), NodeKind.TEMPLATES),
    "%%": NodeKind.MARKUP,
}


def site_markup(outline: Outline, span: Span, kinds: frozenset[NodeKind]) -> Iterator[tuple[NodeKind, Span]]:
    """Yield site markup of `kinds` that touches `span`, with its delimiters.

    Multi-block comments and formulas come first.
    """
    for text in _touching(outline.hidden, span, lambda text: text.span):
        kind = _HIDDEN_KINDS.get(text.sign, NodeKind.MDX)
        if kind in kinds:
            yield kind, text.span
    for block in outline.tree.leaves_in(span):
        if block.kind not in _LEAVES:
            continue
        for kind in kinds & SITE_KINDS:
            pieces = outline.derived(_pieces_of, block, kind)
            yield from ((kind, piece) for piece in _touching(pieces, span, lambda piece: piece))


def _touching(pieces: Sequence[_Piece], span: Span, span_of: Callable[[_Piece], Span]) -> Iterator[_Piece]:
    """Yield the sorted `pieces` that touch `span`."""
    at = bisect_left(pieces, span.start, key=lambda piece: span_of(piece).end)
    while at < len(pieces) and span_of(pieces[at]).start <= span.end:
        yield pieces[at]
        at += 1


# Syntax that GitHub shares, and prefixes of site syntax: tabs, abbreviations, definitions, math.
_GITHUB_TOO: Final = lazy_pattern(r"\[[!^].*|&.*|:[\w+-]+:")
_OTHER_SITES: Final = lazy_pattern(
    r"^[ \t>]*(?:===[!+]?[ \t]+\"|\*\[[^\]\n\r]+\]:|:[ \t]+\S|\$\$|\\\[[ \t]*\r?$|<[^\n\r>]*\smarkdown\b)",
    re.MULTILINE,
)


def has_site_syntax(outline: Outline) -> bool:
    """Return True if the document has site syntax that neither CommonMark nor GitHub supports."""
    text = outline.source.text
    for block in outline.blocks:
        if block.kind not in _LEAVES:
            continue
        pieces = (piece for kind in SITE_KINDS for piece in outline.derived(_pieces_of, block, kind))
        if any(not _GITHUB_TOO.fullmatch(outline.text_of(piece)) for piece in pieces):
            return True
        if _OTHER_SITES.search(text, *_bounds(block)):
            return True
    return False


def _pieces_of(outline: Outline, block: Block, kind: NodeKind) -> tuple[Span, ...]:
    """Return the disjoint pieces of `kind` in `block`, in order."""
    has_sign = _MARKUP_SIGNS[kind].search(outline.source.text, *_bounds(block))
    return tuple(_PIECES[kind](outline, block)) if has_sign else ()


def _templates(outline: Outline, block: Block) -> Iterator[Span]:
    text, at, end = outline.source.text, block.span.start, block.span.end
    while (opening := _MARKUP_SIGNS[NodeKind.TEMPLATES].search(text, at, end)) is not None:
        close = text.find(_CLOSING[opening[0]], opening.end(), end)
        if close < 0:
            return
        at = close + 2
        yield Span(opening.start(), at)


def _math(outline: Outline, block: Block) -> Iterator[Span]:
    pieces = (Span(*match.span()) for match in _MATH.finditer(outline.source.text, *_bounds(block)))
    return _outside_code(outline, block, pieces)


def _markup(outline: Outline, block: Block) -> Iterator[Span]:
    text, bounds = outline.source.text, _bounds(block)
    options = _OPTIONS.match(text, *bounds)
    in_options = options.span("options") if options else (bounds[0], bounds[0])
    found = (
        Span(*match.span("piece"))
        for match in chain(
            _LINE_MARKUP.finditer(text, *bounds),
            _OPTION.finditer(text, *in_options),
            _MARKUP.finditer(text, *bounds),
        )
    )
    pieces: list[Span] = []
    for piece in sorted(found, key=lambda span: (span.start, -span.end)):
        if not pieces or piece.start >= pieces[-1].end:
            pieces.append(piece)
    return _outside_code(outline, block, pieces)


def _outside_code(outline: Outline, block: Block, pieces: Iterable[Span]) -> Iterator[Span]:
    code = [node.span for node in outline.inline.nodes_in(block.span) if node.kind is InlineKind.CODE]
    for piece in pieces:
        if not any(span.overlaps(piece) and not piece.contains(span) for span in code):
            yield piece


def _mdx(outline: Outline, block: Block) -> Iterator[Span]:
    """Yield module paragraphs, and expressions if the document is MDX."""
    text = outline.source.text
    if block.kind is BlockKind.PARAGRAPH and not block.depth and _MODULE.match(text, block.span.start):
        yield block.span
    elif (expressions := [*_EXPRESSION.finditer(text, *_bounds(block))]) and _is_mdx(outline):
        yield from (Span(*expression.span()) for expression in expressions)


def _bounds(block: Block) -> tuple[int, int]:
    return block.span.start, block.span.end


def _is_mdx(outline: Outline) -> bool:
    """Detect MDX by file name, a leading import or export, or an MDX comment."""
    text = outline.source.text
    if outline.is_mdx or "{/*" in text:
        return True
    line = _MODULE_LINE.search(text, outline.body_start)
    at = line.start() if line else 0
    leaf = outline.tree.leaf_at(at) if line else None
    return bool(
        leaf and leaf.kind is BlockKind.PARAGRAPH and leaf.span.start == at and _MODULE.match(text, at)
    )


_PIECES: Final = {
    NodeKind.TEMPLATES: _templates,
    NodeKind.MATH: _math,
    NodeKind.MDX: _mdx,
    NodeKind.MARKUP: _markup,
}
