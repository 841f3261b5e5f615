"""Answers of tools that look: as much as fits into the size that clients take, and how to go on."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.mcp.answers.short_report import size_of
from mdplan.mcp.tool import ToolResult
from mdplan.reports.base import Report, refusal, to_wire
from mdplan.reports.read import ReadReport, ReadResult, SearchedFile, SearchReport
from mdplan.requests.read import ReadRequest

Content = TypeVar("Content")
AnyReport = TypeVar("AnyReport", bound=Report)


def fitted(
    make: Callable[[int], Content], amount: int, most: int, size: Callable[[Content], int] = size_of
) -> Content:
    """What `make` makes of `amount`, or of less where that is larger than `most`; of 1 at the least."""
    made = make(amount)
    while (found := size(made)) > most and amount > 1:
        amount = shrunk(amount, found, most)
        made = make(amount)
    return made


def shrunk(amount: int, size: int, most: int) -> int:
    """Less than `amount`, which has `size`: nine tenths of what would fit if all parts were of one size."""
    return max(1, min(amount - 1, amount * most * 9 // (size * 10)))


def wire_size(report: Report) -> int:
    """How many characters `report` takes as JSON."""
    return size_of(to_wire(report))


def either_size(text_of: Callable[[AnyReport], str]) -> Callable[[AnyReport], int]:
    """How many characters a report takes as JSON or as text, whichever is longer."""
    return lambda report: max(wire_size(report), len(text_of(report)))


def with_fewer_hits(report: SearchReport, most: int, size: Callable[[SearchReport], int]) -> SearchReport:
    """`report` with as many hits as fit by `size`, without the lines around them where not even one fits."""
    listed = hit_count(report)
    cut = fitted(lambda count: first_hits(report, count), listed, most, size)
    if size(cut) <= most:
        return cut
    return replace(cut, files=tuple(map(_without_context, cut.files)))


def hit_count(report: SearchReport) -> int:
    """How many hits `report` lists."""
    return sum(len(group.hits) for found in report.files for group in found.groups)


def first_hits(report: SearchReport, count: int) -> SearchReport:
    """`report` with the first `count` of its hits; its cursor goes on after them."""
    listed = hit_count(report)
    if count >= listed:
        return report
    end = int(report.next_cursor) if report.next_cursor else report.total_matches or 0
    files: list[SearchedFile] = []
    left = count
    for found in report.files:
        groups = []
        for group in found.groups:
            hits = group.hits[:left]
            left -= len(hits)
            if hits:
                groups.append(replace(group, hits=hits))
        if groups:
            files.append(replace(found, groups=tuple(groups)))
    return replace(report, files=tuple(files), truncated=True, next_cursor=str(end - listed + count))


def _without_context(found: SearchedFile) -> SearchedFile:
    groups = tuple(
        replace(group, hits=tuple(replace(hit, before=None, behind=None) for hit in group.hits))
        for group in found.groups
    )
    return replace(found, groups=groups)


def read_within(
    engine: Engine, request: ReadRequest, most: int, size: Callable[[ReadReport], int]
) -> ReadReport:
    """What `request` asks for, cut where it is longer than `most` by `size`; its cursors go on.

    What was omitted is not listed where the list alone would be too long.
    """
    longest = min(request.max_characters, most)
    report = fitted(
        lambda characters: engine.read(replace(request, max_characters=characters)),
        longest,
        most,
        size,
    )
    if size(report) <= most:
        return report
    return replace(report, results=tuple(map(_without_outline, report.results)))


def _without_outline(result: ReadResult) -> ReadResult:
    return replace(result, left_out=None)


def bounded(
    answer: ToolResult, shape: type[AnyReport], most: int, refuse: Callable[[AnyReport], ToolResult]
) -> ToolResult:
    """`answer`, or a refusal where it is longer than `most`: nothing was written, so nothing is lost."""
    if max(size_of(dict(answer.structured)), len(answer.text)) <= most:
        return answer
    problem = Diagnostic(
        code=Code.BATCH_TOO_LARGE,
        message=f"the answer would be longer than {most} characters",
        hint="ask for fewer places, or for one file",
    )
    return refuse(refusal(shape, (problem,)))
