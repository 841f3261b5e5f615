"""Matches of a pattern in one document, grouped by the sections that they stand in."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.matches import UNDECIDED, Eligible, NodeKind, find_matches, kept_out_by
from mdplan.markdown.outline import Outline
from mdplan.read_report import SearchedFile, SearchGroup, SearchHit
from mdplan.reading.search_request import SearchRequest
from mdplan.reading.shown import shown_names
from mdplan.text.pattern import Pattern, PatternFailure, PatternProblem
from mdplan.text.source import visible
from mdplan.text.span import Span

_MOST_TEXT: Final = 200
_CODES: Final = {
    PatternFailure.INVALID: Code.INVALID_REGEX,
    PatternFailure.TIMEOUT: Code.REGEX_TIMEOUT,
    PatternFailure.TOO_MANY: Code.BATCH_TOO_LARGE,
}
_EVERY_KIND: Final = frozenset(NodeKind)


@dataclass(frozen=True, slots=True)
class Window:
    """Which matches of a search are listed: `count` of them, behind the first `skipped`."""

    skipped: int
    count: int


def search_document(
    file: str, outline: Outline, pattern: Pattern, request: SearchRequest, window: Window
) -> SearchedFile | Diagnostic:
    """Matches in `outline`, of which those in `window` are listed.

    `matches` of the result counts all of them. Errors: INVALID_REGEX, REGEX_TIMEOUT, BATCH_TOO_LARGE.
    """
    excluded = frozenset(request.exclude)
    found = find_matches(outline, pattern, Span(0, len(outline.source.text)), excluded)
    if isinstance(found, PatternProblem):
        return Diagnostic(
            code=_CODES[found.failure],
            message=f"the pattern cannot be used: {found.reason}",
            hint="mend the pattern, or search fewer files",
            file=file,
        )
    listed = found.eligible[window.skipped : window.skipped + window.count]
    return SearchedFile(
        file=file,
        base_sha256=outline.source.sha256,
        matches=len(found.eligible),
        groups=tuple(_groups(outline, listed, request.context)),
        undecided=found.excluded.get(UNDECIDED),
    )


def _groups(outline: Outline, matches: Sequence[Eligible], context: int) -> list[SearchGroup]:
    groups: list[SearchGroup] = []
    for index, hits in groupby(matches, lambda match: outline.section_at(match.span.start).index):
        section = outline.sections[index]
        groups.append(
            SearchGroup(
                section_id=section.section_id,
                heading_path=shown_names(section.path),
                level=section.level,
                start_line=section.first_line,
                end_line=section.last_line,
                hits=tuple(_hit(outline, match.span, context) for match in hits),
            )
        )
    return groups


def _hit(outline: Outline, span: Span, context: int) -> SearchHit:
    lines = outline.source.lines
    place = lines.position(span.start)
    line = min(place.line, max(lines.count, 1))
    last = lines.line_at(max(span.end - 1, span.start))
    return SearchHit(
        line=place.line,
        col=place.col,
        text=_line(outline, line, place.col) if lines.count else "",
        within=kept_out_by(outline, span, _EVERY_KIND),
        before=_lines(outline, line - context, line - 1) if context else None,
        behind=_lines(outline, last + 1, last + context) if context else None,
    )


def _line(outline: Outline, line: int, col: int) -> str:
    """The line, or 200 characters of it around the column."""
    text = outline.source.lines.content(line)
    if len(text) <= _MOST_TEXT:
        return visible(text)
    start = max(0, min(col - 1 - _MOST_TEXT // 4, len(text) - _MOST_TEXT))
    cut = text[start : start + _MOST_TEXT]
    return visible(("…" if start else "") + cut + ("…" if start + _MOST_TEXT < len(text) else ""))


def _lines(outline: Outline, first: int, last: int) -> tuple[str, ...]:
    lines = outline.source.lines
    numbers = range(max(first, 1), min(last, lines.count) + 1)
    return tuple(visible(lines.content(number)[:_MOST_TEXT]) for number in numbers)
