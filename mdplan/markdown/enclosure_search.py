"""Enclosures: text between an opening and a closing line that sites know and Markdown does not.

`:::` blocks, `<details>` and other HTML around Markdown, JSX-like components, Liquid blocks and shortcodes of
Hugo. Tags count at the start of a line, and closing ones also at its end; not in code.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Final, TypeVar

from mdplan.markdown.blocks import INLINE_KINDS, Block, BlockKind
from mdplan.markdown.enclosures import Enclosures, Region, RegionMarker, Regions, Tag
from mdplan.markdown.inline_node import InlineKind
from mdplan.markdown.outline import Outline
from mdplan.markdown.parser import BRACES
from mdplan.markdown.tables import NodeKind
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat

_ENCLOSURE_SIGNS: Final = (":::", "</", "{%", "{{<", "{{%")

_ELEMENT: Final = (
    r"(?:[A-Z][\w.]*+|(?:details|div|section|article|aside|center|figure)\b(?!-)|[a-z]+-[\w-]++)"
)

_LINE: Final = lazy_pattern(
    rf"""^[ \t]*+(?:
    (?P<colons>:{{3,}})[ \t]*+(?P<directive>[\w-]*)[^\n\r]*
    |<(?P<close>/)?(?P<element>{_ELEMENT})(?P<rest>(?:[^<>"'{{\n\r]|"[^"\n\r]*"|'[^'\n\r]*'|\{{[^{{}}\n\r]*+\}})*+)(?P<end>>)?
    |\{{%-?[ \t]*+(?P<liquid>\w+)\b[^\n\r]*
    |\{{\{{[<%]-?[ \t]*+(?P<endcode>/)?[ \t]*+(?P<shortcode>[\w/.-]+)[^\n\r]*
    )""",
    re.MULTILINE | re.VERBOSE,
)

_OPENING: Final = lazy_pattern(rf"^[ \t]*+<{_ELEMENT}", re.MULTILINE)
_CLOSED_AT_END: Final = lazy_pattern(rf"</(?P<element>{_ELEMENT})[ \t]*>[ \t]*$", re.MULTILINE)
_CODE: Final = frozenset({BlockKind.FENCE, BlockKind.INDENTED_CODE})
_Edge = TypeVar("_Edge")


def may_have_tags(text: str) -> bool:
    """Return True if `text` may hold a tag of an enclosure."""
    return "<" in text or any(sign in text for sign in _ENCLOSURE_SIGNS)


def find_enclosures(outline: Outline) -> Enclosures:
    """Return the enclosures of `outline`, found once."""
    text = outline.source.text
    # A tag that lost the only closing tag has none of the signs.
    has_tags = any(sign in text for sign in _ENCLOSURE_SIGNS) or ("<" in text and _OPENING.search(text))
    if outline.format is not DocumentFormat.MARKDOWN or not has_tags:
        return Enclosures()
    return outline.derived(_enclosures)


def _enclosures(outline: Outline) -> Enclosures:
    pairs, lone = _pair_up((tag.name, tag.opens, tag) for tag in _tags(outline))
    return Enclosures(tuple(pairs), tuple(sorted(lone, key=lambda tag: tag.start)))


def _pair_up(edges: Iterable[tuple[str, bool, _Edge]]) -> tuple[list[tuple[_Edge, _Edge]], list[_Edge]]:
    """Return the pairs among `edges`, in the order of their ends, and the edges without another half.

    Each edge has a name and opens or closes. Where two pairs cross, the one that ends first is a pair.
    """
    pairs: list[tuple[_Edge, _Edge]] = []
    lone: list[_Edge] = []
    opened: list[tuple[str, _Edge]] = []
    open_names: Counter[str] = Counter()
    for name, opens, edge in edges:
        if opens:
            opened.append((name, edge))
            open_names[name] += 1
        elif not open_names[name]:
            lone.append(edge)
        else:
            while (last := opened.pop())[0] != name:
                open_names[last[0]] -= 1
                lone.append(last[1])
            open_names[name] -= 1
            pairs.append((last[1], edge))
    return pairs, [*lone, *(edge for _, edge in opened)]


def _tags(outline: Outline) -> Iterator[Tag]:
    text, lines, tree = outline.source.text, outline.source.lines, outline.tree
    matches = chain(
        _LINE.finditer(text, outline.body_start), _CLOSED_AT_END.finditer(text, outline.body_start)
    )
    seen: set[tuple[int, str]] = set()
    for match in sorted(matches, key=re.Match.start):
        tag = _read_tag(match, lines.line_at(match.start()))
        leaf = tree.leaf_at(match.end() - 1)
        if tag is None or (leaf is not None and leaf.kind in _CODE) or (tag.line, tag.name) in seen:
            continue
        # What opens and closes in one line is no enclosure of lines.
        if tag.opens and tag.name.startswith("<") and f"</{tag.name[1:]}" in lines.content(tag.line):
            seen.add((tag.line, tag.name))
            continue
        seen.add((tag.line, tag.name))
        yield Tag(tag.name, lines.start(tag.line), tag.line, tag.opens, tag.needs_other)


def _read_tag(match: re.Match[str], line: int) -> Tag | None:
    start = match.start()
    if match.re.pattern == _CLOSED_AT_END.pattern:
        return Tag(f"<{match['element']}", start, line, opens=False, needs_other=True)
    if match["colons"]:
        return _read_directive(match, line)
    if match["element"]:
        if not match["end"] or match["rest"].rstrip().endswith("/"):
            return None
        return Tag(f"<{match['element']}", start, line, opens=not match["close"], needs_other=True)
    return _read_template_tag(match, line)


def _read_template_tag(match: re.Match[str], line: int) -> Tag | None:
    start = match.start()
    if match["liquid"]:
        closes = match["liquid"].startswith("end")
        return Tag("{%" + match["liquid"].removeprefix("end"), start, line, not closes, needs_other=closes)
    closes = match["endcode"] is not None
    if match[0].rstrip().endswith(("/>}}", "/%}}")):
        return None
    return Tag("{{" + match["shortcode"], start, line, not closes, needs_other=closes)


def _read_directive(match: re.Match[str], line: int) -> Tag:
    """Read a line of colons: with a name it opens, alone it closes; Microsoft's are `:::name-end:::`."""
    name, colons = match["directive"], match["colons"]
    if name.endswith("-end"):
        return Tag(f"{colons}{name.removesuffix('-end')}", match.start(), line, opens=False, needs_other=True)
    is_microsoft = match[0].rstrip().endswith(":::") and len(match[0].strip()) > len(colons)
    if is_microsoft or name in {"zone", "moniker"}:
        return Tag(f"{colons}{name}", match.start(), line, opens=True, needs_other=False)
    return Tag(colons, match.start(), line, opens=len(match[0].strip()) > len(colons), needs_other=True)


# --- Regions: text between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->``, which tools replace.

_MARKER: Final = lazy_pattern(r"<!--[ \t]*(?P<name>[A-Za-z0-9][\w.-]*):(?P<edge>start|end)[ \t]*-->")

# Markers around contents that other tools write: doctoc, `toc` and `/toc`, markdown-toc, AlanWalk's, md-toc.
_CONTENTS_MARKER: Final = lazy_pattern(
    r"<!--[ \t]*(?:(?P<doctoc>START|END) doctoc\b[^>\r\n]*?"
    r"|(?P<edge>/|BEGIN |END )?toc(?P<stop>stop)?(?P<options>(?:[ \t]+\w+:[^\s>]*)*))[ \t]*-->",
    re.IGNORECASE,
)

_CONTENTS_SIGN: Final = lazy_pattern(r"<!--[ \t]*(?:/|BEGIN |END )?toc|doctoc", re.IGNORECASE)

# The region of contents, whatever its markers.
CONTENTS: Final = "toc"


def find_regions(outline: Outline) -> Regions:
    """Return the regions of a document; they may be in each other.

    Markers in code, in front matter and inside another comment are text. Where two regions cross, the
    one whose end comes first is a pair, and the markers of the other are unpaired.
    """
    return outline.derived(_regions)


def _regions(outline: Outline) -> Regions:
    pairs, lone = _pair_up((marker.name, marker.is_start, marker) for marker in _markers(outline))
    regions = (Region(name=start.name, start=start, end=end) for start, end in pairs)
    # A mark without another one is for a tool that puts the contents there itself.
    unpaired = (marker for marker in lone if _MARKER.match(outline.source.text, marker.span.start))
    return Regions(
        tuple(sorted(regions, key=lambda region: region.start.span)),
        tuple(sorted(unpaired, key=lambda marker: marker.span)),
    )


def _markers(outline: Outline) -> Iterator[RegionMarker]:
    """Yield the comments that are markers; only blocks and inline nodes that may hold one are examined."""
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
    """Return the offsets of those of the `markers` around contents that end them."""
    ends = {
        marker.start()
        for marker in markers
        if (marker["doctoc"] or marker["edge"] or "").strip().upper() in {"END", "/"} or marker["stop"]
    }
    if not ends and len(markers) == 2 and markers[0][0] == markers[1][0]:
        # md-toc has the same mark twice.
        ends = {markers[1].start()}
    return frozenset(ends)


def _is_comment(text: str, block: Span, span: Span) -> bool:
    """Return True unless a comment before `span` in the HTML `block` is still open there."""
    before = text.rfind("<!--", block.start, span.start)
    return before < 0 or text.find("-->", before + 2, span.start) >= 0


# --- Text that site generators and browsers read as code, and Markdown as text: templates, math, MDX.

SITE_KINDS: Final = frozenset({NodeKind.TEMPLATES, NodeKind.MATH, NodeKind.MDX, NodeKind.MARKUP})

_MARKUP_SIGNS: Final = {
    NodeKind.TEMPLATES: lazy_pattern(r"\{\{|\{%"),
    NodeKind.MATH: lazy_pattern(r"\$"),
    NodeKind.MDX: lazy_pattern(r"\{|^(?:import|export)\b", re.MULTILINE),
    NodeKind.MARKUP: lazy_pattern(r"[{&^:@]|\)=|\[!|!!!|\?\?\?|///|8<|<<<|%%|\[\[?_?TOC_?\]", re.IGNORECASE),
}

# Names and paths in the syntax of sites and notes, which readers do not see as words.
_MARKUP: Final = lazy_pattern(
    rf"""
    ^[ \t>]*+(?:[-+*][ \t]+)?(?:
        (?P<alert>\[![\w-]+\])
        | (?P<kind>(?:!!!|\?\?\?\+?)[ \t]*[\w-]+|///[ \t]*[\w-]+)
        | (?P<path>:{{3,}}[ \t]*\{{(?:[\w-]*figure|image|(?:literal)?include|embed|code[\w-]*)\}}[^\n\r]*)
        | (?P<directive>:{{2,}}[ \t]*(?:\{{[\w:.+-]+\}}|[\w-]+))
        | (?P<label>\([^()\s]+\)=(?=[ \t]*\r?$))
        | (?P<contents>\[\[?_?TOC_?\]\]?(?=[ \t]*\r?$))
        | (?P<snippet>(?:[;]?-+8<-+|<<<[ \t])[^\n\r]*)
    )
    | (?P<reference>{BRACES}|\{{:[^{{}}\n\r]*\}})
    | (?P<role>\{{[A-Za-z][\w:+.-]*\}}(?=`))
    | (?P<entity>&(?:[A-Za-z][A-Za-z0-9]*|\#[0-9]+|\#[xX][0-9A-Fa-f]+);)
    | (?<![^\s])(?P<block>\^[A-Za-z0-9-]+)(?=[ \t]*\r?$)
    | (?P<footnote>\[\^[^\]\s]+\])
    | (?P<citation>(?<=\[)-?@[\w:./-]+)(?=[^\]\n\r]*\](?!\())
    | (?<![\w:])(?P<emoji>:[A-Za-z][\w+-]*:)(?![\w:])
    | (?<![\w:])(?P<text>:[A-Za-z][\w-]*(?=[\[{{]))
    | (?P<comment>%%(?s:.*?)%%)
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)

# What directives of MyST have on the lines below the first; some of it readers see.
_OPTIONS: Final = lazy_pattern(
    r"[ \t>]*+:{3,}\{[^\n\r]*(?:\r\n?|\n)(?P<options>(?:[ \t>]*:[\w-]+:[^\n\r]*(?:\r\n?|\n)?)+)"
)
_OPTION: Final = lazy_pattern(
    r"^[ \t>]*(?P<option>:(?:caption|alt|(?:sub)?title):|:[\w-]+:[^\n\r]*)", re.MULTILINE
)

_CLOSING: Final = {"{{": "}}", "{%": "%}"}

# Pandoc manual, "Math", and GitHub: no blanks inside single marks, and no letters outside.
_MATH: Final = lazy_pattern(
    r"(?<![\\$\w])\$\$(?P<display>[^$]++)\$\$|(?<![\\$\w])\$(?=[^\s$])[^$\n\r]*+(?<=[^\s\\])\$(?![\w$])"
)

# MDX documentation, "ESM": a paragraph that begins so.
_MODULE: Final = lazy_pattern(
    r"import\b[^\n\r]*?(?:from[ \t]+)?[\"'][^\"'\n\r]+[\"']"
    r"|export[ \t]+(?:default|const|let|var|function|async|class|\{|\*)"
)

_MODULE_LINE: Final = lazy_pattern(r"^(?:import|export)\b", re.MULTILINE)
_EXPRESSION: Final = lazy_pattern(r"\{[^{}]*+\}")
_LEAVES: Final = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.TABLE, BlockKind.HTML})


def site_markup(outline: Outline, span: Span, kinds: frozenset[NodeKind]) -> Iterator[tuple[NodeKind, Span]]:
    """Yield the pieces of such markup of `kinds` that touch `span`, with their delimiters."""
    for block in outline.tree.leaves_in(span):
        if block.kind not in _LEAVES:
            continue
        for kind in kinds & SITE_KINDS:
            pieces = outline.derived(_pieces_of, block, kind)
            at = bisect_left(pieces, span.start, key=lambda piece: piece.end)
            while at < len(pieces) and pieces[at].start <= span.end:
                yield kind, pieces[at]
                at += 1


def _pieces_of(outline: Outline, block: Block, kind: NodeKind) -> tuple[Span, ...]:
    """Return the pieces of `kind` in `block`, in order and apart from each other."""
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
    text, (start, end) = outline.source.text, _bounds(block)
    options = _OPTIONS.match(text, start, end)
    first, stop = options.span("options") if options else (start, start)
    matches = chain(
        _MARKUP.finditer(text, start, first),
        _OPTION.finditer(text, first, stop),
        _MARKUP.finditer(text, stop, end),
    )
    return _outside_code(outline, block, (Span(*match.span(match.lastgroup or 0)) for match in matches))


def _outside_code(outline: Outline, block: Block, pieces: Iterable[Span]) -> Iterator[Span]:
    code = [node.span for node in outline.inline.nodes_in(block.span) if node.kind is InlineKind.CODE]
    for piece in pieces:
        if not any(span.overlaps(piece) and not piece.contains(span) for span in code):
            yield piece


def _mdx(outline: Outline, block: Block) -> Iterator[Span]:
    """Yield a paragraph of modules; expressions, if the document has such a paragraph."""
    text = outline.source.text
    if block.kind is BlockKind.PARAGRAPH and not block.depth and _MODULE.match(text, block.span.start):
        yield block.span
    elif (expressions := [*_EXPRESSION.finditer(text, *_bounds(block))]) and _is_mdx(outline):
        yield from (Span(*expression.span()) for expression in expressions)


def _bounds(block: Block) -> tuple[int, int]:
    return block.span.start, block.span.end


def _is_mdx(outline: Outline) -> bool:
    """Return True if the name says so, or a first paragraph imports or exports, or a comment is of MDX."""
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
