"""Diagnostics for an `expectedText` that is not where it should be."""

from collections.abc import Callable
from dataclasses import replace

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.outline import Outline
from mdplan.text.line_end_view import to_lf
from mdplan.text.lines import Span
from mdplan.text.near_misses import SearchTerm, describe_near_misses, find_near_misses


def with_nearest_lines(outline: Outline, problem: Diagnostic, expected: str, at: Span | None) -> Diagnostic:
    """`problem` with the lines that come closest to the lines `expected`.

    `at` is where those lines should be; None where the file does not have the place.
    """
    wanted = SearchTerm(
        text=to_lf(expected).removesuffix("\n"), whole_lines=True, addressed=_in_view(outline, at)
    )
    return _with_nearest(outline, problem, wanted, lambda _: "")


def with_nearest_ranges(outline: Outline, problem: Diagnostic, expected: str, at: Span | None) -> Diagnostic:
    """`problem` with the ranges that come closest to the text `expected`.

    `at` is where that text should be; None where the file does not have the place.
    """
    addressed = _in_view(outline, at)
    lines = outline.folded.lines

    def remark(span: Span) -> str:
        if span == addressed:
            return ""
        start, end = lines.position(span.start), lines.position(span.end)
        return f"from {start.line}:{start.col} to {end.line}:{end.col}"

    return _with_nearest(outline, problem, SearchTerm(text=to_lf(expected), addressed=addressed), remark)


def _in_view(outline: Outline, span: Span | None) -> Span | None:
    return None if span is None else outline.view.span_in_view(span)


def _with_nearest(
    outline: Outline, problem: Diagnostic, wanted: SearchTerm, remark: Callable[[Span], str]
) -> Diagnostic:
    near = find_near_misses(outline.folded, wanted, Span(0, len(outline.folded.text)), remark)
    if not near:
        return problem
    return replace(problem, near=near, hint=f"{describe_near_misses(near)}; {problem.hint}")
