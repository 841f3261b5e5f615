"""Search a document for a pattern, and group the matches by section."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.matches import UNDECIDED, Eligible, exclusion_of, find_matches, pattern_problem
from mdplan.markdown.outline import Outline
from mdplan.markdown.tables import NodeKind
from mdplan.reading.read import lines_like
from mdplan.reports.read import SearchedFile, SearchGroup, SearchHit
from mdplan.requests.search import SearchRequest
from mdplan.text.lines import Span
from mdplan.text.pattern import Pattern, PatternProblem
from mdplan.text.source import DocumentFormat, visible
from mdplan.text.visible import shown_names
from mdplan.values import replace

_MOST_LINES: Final = 10
_MOST_TEXT: Final = 200
_EVERY_KIND: Final = frozenset(NodeKind)


# The lines that match each section start pattern, the preferred pattern first.
_Starts = Mapping[str, Sequence[int]]


def search_document(
    file: str, outline: Outline, pattern: Pattern, request: SearchRequest, window: range
) -> SearchedFile | Diagnostic:
    """Search `outline`, and list the matches in `window`.

    `matches` of the result counts all. Errors: INVALID_REGEX, REGEX_TIMEOUT, BATCH_TOO_LARGE.
    """
    excluded = frozenset(request.exclude)
    scope = Span(0, len(outline.source.text))
    matches = find_matches(outline, pattern, scope, excluded, soft_breaks=request.joins_lines)
    if isinstance(matches, PatternProblem):
        return pattern_problem(matches).at(file=file)
    starts: dict[str, Sequence[int]] = {}
    for each in request.section_patterns:
        lines = lines_like(outline, each)
        if isinstance(lines, Diagnostic):
            return lines.at(file=file)
        starts[each] = lines
    listed = matches.eligible[window.start : window.stop]
    return SearchedFile(
        file=file,
        base_sha256=outline.source.sha256,
        matches=len(matches.eligible),
        groups=tuple(_groups(outline, listed, request, starts)),
        undecided=matches.excluded.get(UNDECIDED),
    )


def _end_behind(starts: _Starts, line: int) -> tuple[int, str] | tuple[None, None]:
    """Return the last line of the section around `line`, and the pattern that matches after it."""
    for pattern, lines in starts.items():
        index = bisect_right(lines, line)
        if index < len(lines):
            return lines[index] - 1, pattern
    return None, None


def _groups(
    outline: Outline, matches: Sequence[Eligible], request: SearchRequest, starts: _Starts
) -> list[SearchGroup]:
    groups: list[SearchGroup] = []
    found = _hits(outline, [match.span for match in matches], request, starts)
    for index, hits in groupby(matches, lambda match: outline.section_at(match.span.start).index):
        section = outline.sections[index]
        groups.append(
            SearchGroup(
                section_id=section.section_id,
                heading_path=shown_names(section.path),
                level=section.level,
                start_line=section.first_line,
                end_line=section.last_line,
                hits=tuple(next(found) for _ in hits),
            )
        )
    return groups


def _hits(
    outline: Outline, spans: Sequence[Span], request: SearchRequest, starts: _Starts
) -> Iterator[SearchHit]:
    """Yield the matches, each with the lines around it that no other match shows."""
    lines, context, shown = outline.source.lines, request.context, 0
    firsts = [lines.position(span.start).line for span in spans]
    for span, next_start in zip(spans, [*firsts[1:], lines.count + 1], strict=True):
        hit = _hit(outline, span, request, starts)
        last = lines.line_at(max(span.end - 1, span.start))
        if context:
            before = _lines(outline, max(hit.line - context, shown + 1), hit.line - 1)
            behind = _lines(outline, last + 1, min(last + context, next_start - 1))
            shown = max(last, min(last + context, next_start - 1))
            hit = replace(hit, before=before, behind=behind)
        yield hit


def _hit(outline: Outline, span: Span, request: SearchRequest, starts: _Starts) -> SearchHit:
    lines = outline.source.lines
    place = lines.position(span.start)
    line = min(place.line, max(lines.count, 1))
    end_hint, section_pattern = _end_behind(starts, line)
    return SearchHit(
        line=place.line,
        col=place.col,
        text=_text_of_hit(outline, span, line, place.col) if lines.count else "",
        within=exclusion_of(outline, span, _EVERY_KIND),
        section_end_hint=end_hint,
        section_pattern=section_pattern,
        key=_key(outline, span),
        address=outline.line_hashes.address(line) if request.addresses and lines.count else None,
    )


def _key(outline: Outline, span: Span) -> str | None:
    if outline.format in {DocumentFormat.MARKDOWN, DocumentFormat.TEXT}:
        return None
    # Not needed for Markdown, the usual case.
    from mdplan.reading.data_keys import key_at

    return key_at(outline, span.start)


def _text_of_hit(outline: Outline, span: Span, line: int, col: int) -> str:
    """Return the lines of the match, joined by LF, up to ten."""
    lines = outline.source.lines
    last = max(line, lines.line_at(max(span.end - 1, span.start)))
    shown = [_line(outline, line, col)]
    shown += [_line(outline, each, 1) for each in range(line + 1, min(last, line + _MOST_LINES - 1) + 1)]
    return "\n".join([*shown, "…"] if last - line >= _MOST_LINES else shown)


def _line(outline: Outline, line: int, col: int) -> str:
    """Return the line, or 200 characters of it around the column."""
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
