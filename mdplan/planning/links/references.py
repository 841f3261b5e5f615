"""Footnotes and labels that a plan breaks: in the same file, whatever the edits were."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.field_names import short_name
from mdplan.markdown.links import (
    LocalLink,
    first_definitions,
    footnote_links,
    label_uses,
)
from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile
from mdplan.planning.links.undefined_labels import undefined_labels
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat

_FOOTNOTE: Final = "[^"
_LABEL_END: Final = "]:"


def broken_labels(built: BuiltFile) -> Problems:
    """BROKEN_LINK warnings; their lines are those of the result.

    For labels and footnotes that resolved in the base and no longer do, and for footnotes in written text
    that are not defined. Inline nodes are costly, so the whole document is examined only when a definition
    or a footnote of the base is gone or changed.
    """
    if not built.edits or built.base.format is not DocumentFormat.MARKDOWN:
        return ()
    broken = {link.span.start: link for link in _in_written_text(built)}
    if _loses_footnotes(built):
        broken |= {link.span.start: link for link in _no_longer_resolved(built)}
    return (*(_footnote_warning(built, broken[start]) for start in sorted(broken)), *undefined_labels(built))


def retargeted_labels(built: BuiltFile) -> Problems:
    """LINK_RETARGETED warnings for uses of a label or footnote that another definition defines now.

    The first definition of a label counts. One that an edit changes in its place is meant: its uses follow.
    """
    if not built.edits or built.base.format is not DocumentFormat.MARKDOWN or not _touches_labels(built):
        return ()
    before, after = first_definitions(built.base), first_definitions(built.result)
    other = {
        label
        for label, was in before.items()
        if label in after
        and built.edits.map_offset(was.start, after=True) != after[label].start
        and built.base.text_of(was).strip() != built.result.text_of(after[label]).strip()
    }
    lines = built.result.source.lines
    return tuple(
        Diagnostic.warning(
            Code.LINK_RETARGETED,
            f"`{short_name(built.result.text_of(use.span))}` at line {use.line} named the definition of "
            f"line {built.base.source.lines.line_at(before[use.label].start)} before the plan, and now names "
            f"another one, at line {lines.line_at(after[use.label].start)}",
            "give the new definition another label",
            place=lines.position(use.span.start),
        )
        for use in label_uses(built.result)
        if use.label in other and not _is_written(built, use.span)
    )


def _touches_labels(built: BuiltFile) -> bool:
    """Whether an edit may add, delete or move a definition."""
    removed = any(_LABEL_END in built.base.text_of(edit.span) for edit in built.edits)
    return removed or any(_LABEL_END in edit.new_text for edit in built.edits)


def _is_written(built: BuiltFile, span: Span) -> bool:
    return any(each.overlaps(span) for each in built.edits.result_spans if len(each))


def _in_written_text(built: BuiltFile) -> Iterator[LocalLink]:
    written = list(_near_footnotes(built.result, [span for span in built.edits.result_spans if len(span)]))
    for link in footnote_links(built.result, written) if written else ():
        before = bisect_left(written, link.span.end, key=lambda span: span.start)
        if not link.resolves and before and written[before - 1].overlaps(link.span):
            yield link


def _near_footnotes(outline: Outline, spans: Sequence[Span]) -> Iterator[Span]:
    """Those of `spans`, which are in order, in whose lines an edit may have completed a reference."""
    text, lines = outline.source.text, outline.source.lines
    end = lines.end(lines.line_at(spans[-1].end)) if spans else 0
    at = 0
    while at < len(spans):
        found = text.find(_FOOTNOTE, lines.start(lines.line_at(spans[at].start)), end)
        if found < 0:
            return
        line = lines.span(lines.line_at(found), lines.line_at(found))
        at = bisect_left(spans, line.start, lo=at, key=lambda span: span.end)
        while at < len(spans) and spans[at].start < line.end:
            yield spans[at]
            at += 1


def _loses_footnotes(built: BuiltFile) -> bool:
    """Whether a footnote of the base may be gone in the result."""
    return any(_FOOTNOTE in built.base.text_of(edit.span) for edit in built.edits if len(edit.span))


def _no_longer_resolved(built: BuiltFile) -> Iterator[LocalLink]:
    resolved = {
        built.edits.map_offset(link.span.start, after=True)
        for link in footnote_links(built.base)
        if link.resolves
    }
    for link in footnote_links(built.result):
        if not link.resolves and link.span.start in resolved:
            yield link


def _footnote_warning(built: BuiltFile, link: LocalLink) -> Diagnostic:
    place = built.result.source.lines.position(link.span.start)
    return Diagnostic.warning(
        Code.BROKEN_LINK,
        f"the footnote `{short_name(link.target)}` at line {place.line} has no definition",
        "write its definition in the same batch, or delete the reference",
        place=place,
    )
