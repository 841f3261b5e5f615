"""Links that a plan breaks: in the same file, whatever the edits were."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems, warning
from mdplan.document_format import DocumentFormat
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.links import LocalLink, local_links, reference_labels, reference_uses
from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile
from mdplan.text.span import Span

_MAY_BE_LOCAL: Final = re.compile(r"\]\(\s*<?#|\]:\s*<?#|href\s*=\s*[\"']?#|\[\[#|\[\^")
_MAY_BE_ANCHOR: Final = re.compile(r"<[^>]*\b(?:id|name)\s*=", re.IGNORECASE)


def broken_links(built: BuiltFile) -> Problems:
    """BROKEN_LINK warnings; their lines are those of the result.

    For links and labels that resolved in the base and no longer do, and for links in written text that
    resolve to nothing. Inline nodes are costly, so the whole document is looked at only when an anchor, a
    definition or a footnote of the base is gone.
    """
    if not built.edits or built.base.format is not DocumentFormat.MARKDOWN:
        return ()
    broken = {link.span.start: link for link in _in_written_text(built)}
    if _loses_targets(built):
        broken |= {link.span.start: link for link in _no_longer_resolved(built)}
    links = (_link_warning(built, broken[start]) for start in sorted(broken))
    return tuple(found.at(file=built.file.path) for found in (*links, *_labels(built)))


def _in_written_text(built: BuiltFile) -> Iterator[LocalLink]:
    written = [
        span
        for span in built.edits.result_spans()
        if len(span) and _MAY_BE_LOCAL.search(_around(built.result, span))
    ]
    for link in local_links(built.result, written):
        before = bisect_left(written, link.span.end, key=lambda span: span.start)
        if not link.resolves and before and written[before - 1].overlaps(link.span):
            yield link


def _around(outline: Outline, span: Span) -> str:
    """Text of the lines of `span`, in which an edit may have completed a link."""
    lines = outline.source.lines
    return outline.source.text[lines.start(lines.line_at(span.start)) : lines.end(lines.line_at(span.end))]


def _loses_targets(built: BuiltFile) -> bool:
    """Whether something that links could point to is in the base and may not be in the result."""
    if _MAY_BE_LOCAL.search(built.base.source.text) is None:
        return False
    if built.base.by_anchor.keys() - built.result.by_anchor.keys():
        return True
    replaced = (built.base.text_of(edit.span) for edit in built.edits if len(edit.span))
    return any("[^" in text or _MAY_BE_ANCHOR.search(text) for text in replaced)


def _no_longer_resolved(built: BuiltFile) -> Iterator[LocalLink]:
    resolved = {
        built.edits.map_offset(link.span.start, after=True)
        for link in local_links(built.base)
        if link.resolves
    }
    for link in local_links(built.result):
        if not link.resolves and link.span.start in resolved:
            yield link


def _labels(built: BuiltFile) -> Iterator[Diagnostic]:
    """Uses of labels whose definition is gone; the parser of the result takes them as text."""
    if _definitions(built.base) <= _definitions(built.result):
        return
    lost = reference_labels(built.base) - reference_labels(built.result)
    for use in reference_uses(built.base) if lost else ():
        start = built.edits.map_offset(use.span.start, after=True)
        if use.label in lost and start is not None:
            place = built.result.source.lines.position(start)
            yield warning(
                Code.BROKEN_LINK,
                f"the link at line {place.line} uses the label of a definition that is gone",
                "keep the definition, or change the link too",
                place,
            )


def _definitions(outline: Outline) -> set[str]:
    return {
        outline.text_of(block.span).strip() for block in outline.blocks if block.kind is BlockKind.DEFINITION
    }


def _link_warning(built: BuiltFile, link: LocalLink) -> Diagnostic:
    place = built.result.source.lines.position(link.span.start)
    anchor = _new_anchor(built, link.target.removeprefix("#"))
    hint = (
        f"the anchor of that heading is now `#{anchor}`" if anchor else "correct the link in the same batch"
    )
    return warning(Code.BROKEN_LINK, f"the link at line {place.line} resolves to nothing", hint, place)


def _new_anchor(built: BuiltFile, old: str) -> str | None:
    """Anchor in the result of the heading that had the anchor `old` in the base."""
    section = built.base.by_anchor.get(old)
    start = built.edits.map_offset(section.span.start, after=True) if section else None
    if start is None:
        return None
    heading = built.result_headings.get(start)
    return heading.anchor if heading else None
