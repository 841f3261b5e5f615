"""Regions: text between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->``, which tools replace."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from mdplan.markdown.blocks.block_structure import INLINE_KINDS, BlockKind
from mdplan.markdown.inline.inline_node import InlineKind
from mdplan.markdown.outline.outline import Outline
from mdplan.markdown.outline.region import Region, RegionMarker, Regions
from mdplan.text.lines import Span

_MARKER: Final = re.compile(r"<!--[ \t]*(?P<name>[A-Za-z0-9][\w.-]*):(?P<edge>start|end)[ \t]*-->")


# Markers around contents that other tools write: doctoc, `toc` and `/toc`, markdown-toc, AlanWalk's, md-toc.
_CONTENTS_MARKER: Final = re.compile(
    r"<!--[ \t]*(?:(?P<doctoc>START|END) doctoc\b[^>\r\n]*?"
    r"|(?P<edge>/|BEGIN |END )?toc(?P<stop>stop)?(?P<options>(?:[ \t]+\w+:[^\s>]*)*))[ \t]*-->",
    re.IGNORECASE,
)
_CONTENTS_SIGN: Final = re.compile(r"<!--[ \t]*(?:/|BEGIN |END )?toc|doctoc", re.IGNORECASE)
# The region of contents, whatever its markers.
CONTENTS: Final = "toc"


def find_regions(outline: Outline) -> Regions:
    """Regions of a document; they may be in each other.

    Markers in code, in front matter and inside another comment are text. Where two regions cross, the
    one whose end comes first is a pair, and the markers of the other are unpaired.
    """
    return outline.derived(_regions)


def _regions(outline: Outline) -> Regions:
    pairs: list[Region] = []
    unpaired: list[RegionMarker] = []
    open_starts: list[RegionMarker] = []
    open_names: Counter[str] = Counter()
    for marker in _markers(outline):
        if marker.is_start:
            open_starts.append(marker)
            open_names[marker.name] += 1
        elif not open_names[marker.name]:
            unpaired.append(marker)
        else:
            while (start := open_starts.pop()).name != marker.name:
                open_names[start.name] -= 1
                unpaired.append(start)
            open_names[marker.name] -= 1
            pairs.append(Region(name=marker.name, start=start, end=marker))
    unpaired += open_starts
    # A mark without another one is for a tool that puts the contents there itself.
    unpaired = [each for each in unpaired if _MARKER.match(outline.source.text, each.span.start)]
    return Regions(
        tuple(sorted(pairs, key=lambda region: region.start.span)),
        tuple(sorted(unpaired, key=lambda marker: marker.span)),
    )


def _markers(outline: Outline) -> Iterator[RegionMarker]:
    """Comments that are markers; blocks and inline nodes are examined only where one could be."""
    text = outline.source.text
    found = [*_MARKER.finditer(text, outline.body_start)]
    ends_of_contents = frozenset[int]()
    if _CONTENTS_SIGN.search(text, outline.body_start):
        contents = [*_CONTENTS_MARKER.finditer(text, outline.body_start)]
        ends_of_contents = _ends_of_contents(contents)
        found = sorted((*found, *contents), key=re.Match.start)
    for block, matches in groupby(found, lambda marker: outline.tree.leaf_at(marker.start())):
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
                is_own = match.re is _MARKER
                yield RegionMarker(
                    name=match["name"] if is_own else CONTENTS,
                    is_start=match["edge"] == "start" if is_own else match.start() not in ends_of_contents,
                    span=span,
                    line=outline.source.lines.line_at(span.start),
                )


def _ends_of_contents(markers: Sequence[re.Match[str]]) -> frozenset[int]:
    """Where those of the `markers` around contents start that end them."""
    ends = {
        each.start()
        for each in markers
        if (each["doctoc"] or each["edge"] or "").strip().upper() in {"END", "/"} or each["stop"]
    }
    if not ends and len(markers) == 2 and markers[0][0] == markers[1][0]:
        # md-toc has the same mark twice.
        ends = {markers[1].start()}
    return frozenset(ends)


def _is_comment(text: str, block: Span, span: Span) -> bool:
    """Whether the comment before `span` in the HTML `block`, if there is one, has ended there."""
    before = text.rfind("<!--", block.start, span.start)
    return before < 0 or text.find("-->", before + 2, span.start) >= 0
