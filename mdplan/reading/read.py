"""Read a part of a document with its hashes, and write read and search reports as text."""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final

from mdplan.diagnostics import Code, Diagnostic, or_problem
from mdplan.markdown.addresses import (
    find_by_anchor,
    find_by_id,
    find_by_path,
    find_fence,
    find_list,
    find_table,
)
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.links import find_anchors, target_key
from mdplan.markdown.matches import pattern_problem
from mdplan.markdown.outline import Outline, fence_language
from mdplan.markdown.sections import Section
from mdplan.markdown.tables import NodeKind
from mdplan.reports.read import OutlineRow, ReadResult, SearchedFile, SearchGroup, SearchReport
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span, lf_pattern
from mdplan.text.pattern import MatchType, Pattern, PatternProblem
from mdplan.text.source import visible
from mdplan.text.visible import counted, shortened, shown_names
from mdplan.values import Struct
from mdplan.words import either, say

if TYPE_CHECKING:
    from mdplan.requests.read import CodeBlockName, ReadTarget

_CURSOR: Final = lazy_pattern(r"(?P<line>[0-9]{1,9})(?:\+(?P<col>[0-9]{1,9}))?-(?P<base>[0-9a-f]{16})")
_BASE_DIGITS: Final = 16
_MOST_LEFT_OUT: Final = 100


def read_target(  # noqa: PLR0913 (one parameter for each limit)
    file: str,
    outline: Outline,
    target: "ReadTarget",
    budget: int,
    cursor: str | None = None,
    *,
    longest: int = 0,
    addresses: bool = False,
) -> ReadResult | Diagnostic:
    """Read the part of `outline` that `target` names, at most `budget` characters.

    `longest` is the largest budget of any target; longer lines are split. `addresses` prefixes each line with
    its address, such as ``12:a3f``.

    The text is cut at the end of a block, else of a line, else inside a line. Errors: as `find_place`;
    INVALID_ARGUMENT for a cursor of another target, STALE_BASE for one of another file version.
    """
    place = find_place(outline, target)
    if isinstance(place, Diagnostic):
        return place
    lines = outline.source.lines
    whole = lines.span(place.first, place.last) if place.last >= place.first else Span(0, 0)
    start = whole.start if cursor is None else _read_cursor(outline, place, whole, cursor)
    if isinstance(start, Diagnostic):
        return start
    start_line = place.first if cursor is None else lines.line_at(start)
    end = whole.end if whole.end - start <= budget else _cut(outline, start, budget, max(longest, budget))
    text = outline.source.text[start:end]
    rest = Span(end, whole.end) if end < whole.end else None
    section, source = place.section, outline.source
    return ReadResult(
        file=file,
        base_sha256=source.sha256,
        start_line=start_line,
        end_line=lines.line_at(end - 1) if end > start else start_line - 1,
        total_lines=lines.count,
        content=_addressed(outline, start_line, visible(text)) if addresses else visible(text),
        addressed=True if addresses else None,
        content_exact=source.is_exact or visible(text) == text,
        section_id=section.section_id if section else None,
        heading_path=shown_names(section.path) if section else None,
        section_sha256=_section_sha256(outline, place),
        language=place.language,
        match_line=place.match_line,
        truncated=True if rest else None,
        next_cursor=_cursor(outline, rest.start) if rest else None,
        left_out=_left_out(outline, rest) if rest else None,
    )


def _addressed(outline: Outline, first: int, text: str) -> str:
    """Prefix each line of `text` with its address; it starts at line `first`."""
    lines, hashes = LineIndex(text), outline.line_hashes
    return "".join(
        f"{hashes.address(first - 1 + number)} {lines.content(number)}{lines.ending(number)}"
        for number in range(1, lines.count + 1)
    )


class ReadLocation(Struct, kw_only=True):
    """The lines `first` to `last` (1-based, inclusive; `last` is ``first - 1`` if empty).

    `section` is the requested one; `own_body` if only that part of it was requested.
    """

    first: int
    last: int
    section: Section | None = None
    own_body: bool = False
    language: str | None = None
    match_line: int | None = None


def _section_sha256(outline: Outline, place: ReadLocation) -> str | None:
    if place.section is None or place.section.nested:
        return None
    if place.own_body:
        return outline.body_sha256(place.section)
    return outline.section_sha256(place.section)


def _cut(outline: Outline, start: int, budget: int, longest: int) -> int:
    """Return the last cut position within `budget` characters from `start`.

    A line is only split if it is longer than `longest`.
    """
    limit = start + budget
    blocks = outline.tree.roots_backwards(limit)
    # Keep a heading with its text.
    last = next((block for block in blocks if block.kind is not BlockKind.HEADING), None)
    if last is not None and last.span.end > start:
        return last.span.end
    lines = outline.source.lines
    line = lines.line_at(limit)
    if lines.start(line) > start:
        return lines.start(line)
    return limit if lines.end(line) - start > longest else start


def _cursor(outline: Outline, offset: int) -> str:
    lines = outline.source.lines
    line = lines.line_at(offset)
    inside = f"+{offset - lines.start(line)}" if offset > lines.start(line) else ""
    return f"{line}{inside}-{outline.source.sha256[:_BASE_DIGITS]}"


def _read_cursor(outline: Outline, place: ReadLocation, whole: Span, cursor: str) -> int | Diagnostic:
    """Return the offset at which `cursor` continues `place` with the span `whole`."""
    match = _CURSOR.fullmatch(cursor)
    if match is not None and not outline.source.sha256.startswith(match["base"]):
        return Code.STALE_BASE.problem(
            "the file has changed since the cursor was given", "read the place again without cursor"
        )
    if match is not None and place.first <= int(match["line"]) <= place.last:
        offset = outline.source.lines.start(int(match["line"])) + int(match["col"] or 0)
        if offset < whole.end:
            return offset
    return Diagnostic.invalid(
        "the cursor is not one of this place", say("send {nextCursor} with the target that it came with")
    )


def _left_out(outline: Outline, rest: Span) -> tuple[OutlineRow, ...]:
    starts = [section.span.start for section in outline.sections]
    first = bisect_right(starts, rest.start - 1)
    rows: list[OutlineRow] = []
    for section in outline.sections[first : first + _MOST_LEFT_OUT]:
        if section.span.start >= rest.end:
            break
        rows.append(
            OutlineRow(
                section_id=section.section_id,
                heading=f"{'#' * section.level} {shortened(section.title)}",
                start_line=section.first_line,
                end_line=section.last_line,
            )
        )
    return tuple(rows)


# --- Finding a target in a document

_MOST_LISTED: Final = 10


def find_place(outline: Outline, target: "ReadTarget") -> ReadLocation | Diagnostic:
    """Return the lines of `target`.

    Errors: as finding a section; ANCHOR_NOT_FOUND, CODE_BLOCK_NOT_FOUND, TABLE_NOT_FOUND, LIST_NOT_FOUND,
    REGION_NOT_FOUND, FRONT_MATTER_NOT_FOUND, KEY_NOT_FOUND, DATA_INVALID, RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH
    (no match), INVALID_REGEX, REGEX_TIMEOUT.
    """
    if target.names_block:
        return _block(outline, target)
    if target.anchor is not None:
        return _behind_anchor(outline, target)
    if target.names_section:
        section = _named_section(outline, target)
        return section if isinstance(section, Diagnostic) else _of_section(outline, section, target)
    finders: tuple[tuple[object, Callable[[Outline, ReadTarget], ReadLocation | Diagnostic]], ...] = (
        (target.lines, _lines),
        (target.region, _region),
        (target.front_matter, _front_matter),
        (target.key, _key),
        (target.match, _around_match),
        (target.start_line, _until_pattern),
        (target.last_lines, _last_lines),
    )
    for given, find in finders:
        if given is not None:
            return find(outline, target)
    return ReadLocation(first=1, last=outline.source.lines.count)


def _block(outline: Outline, target: "ReadTarget") -> ReadLocation | Diagnostic:
    """Return a code block, table or list, in the named section with its subsections, if any."""
    section = None
    if target.names_section:
        named = (
            or_problem(find_by_anchor, outline, target.anchor)
            if target.anchor
            else _named_section(outline, target)
        )
        if isinstance(named, Diagnostic):
            return named
        section = named
    if target.code_block is not None:
        return _code_block(outline, target.code_block, section)
    if target.table is not None:
        found = or_problem(find_table, outline, section, target.table.index, target.table.header)
        if isinstance(found, Diagnostic):
            return found
        return ReadLocation(first=found.block.first_line, last=found.block.last_line)
    assert target.list is not None
    listing = or_problem(find_list, outline, section, target.list.index or 0)
    if isinstance(listing, Diagnostic):
        return listing
    # The block of a list includes trailing blank lines.
    return ReadLocation(first=listing.block.first_line, last=listing.last_line)


def _named_section(outline: Outline, target: "ReadTarget") -> Section | Diagnostic:
    if target.section_id is not None:
        return or_problem(find_by_id, outline, target.section_id)
    path = target.heading_path if target.heading_path is not None else (target.heading or "",)
    return or_problem(find_by_path, outline, path, target.occurrence)


def _of_section(outline: Outline, section: Section, target: "ReadTarget") -> ReadLocation:
    """Return the whole section, or its heading and own body; for a nested heading its own lines."""
    if section.is_root:
        return _covering(outline, section.body, section, own_body=True)
    if section.nested or target.subsections:
        return ReadLocation(first=section.first_line, last=section.last_line, section=section)
    own = Span(section.span.start, section.body.end)
    return _covering(outline, own, section, own_body=True)


def _covering(
    outline: Outline, span: Span, section: Section | None, *, own_body: bool = False
) -> ReadLocation:
    lines = outline.source.lines
    first = lines.line_at(span.start)
    last = lines.line_at(span.end - 1) if len(span) else first - 1
    return ReadLocation(first=first, last=last, section=section, own_body=own_body)


def _behind_anchor(outline: Outline, target: "ReadTarget") -> ReadLocation | Diagnostic:
    """Return the section of a heading's anchor, or the lines from another anchor to the next heading."""
    section = or_problem(find_by_anchor, outline, target.anchor or "")
    if not isinstance(section, Diagnostic):
        return _of_section(outline, section, target)
    key = target_key((target.anchor or "").removeprefix("#"))
    line = next((anchor.line for anchor in find_anchors(outline) if target_key(anchor.id) == key), None)
    if line is None:
        return section
    around = outline.section_at(outline.source.lines.start(line))
    body_end = outline.source.lines.line_at(max(around.body.end - 1, around.body.start))
    return ReadLocation(first=line, last=max(body_end, line))


def _lines(outline: Outline, target: "ReadTarget") -> ReadLocation | Diagnostic:
    assert target.lines is not None
    count = outline.source.lines.count
    if target.lines.start > count:
        return _out_of_bounds(target.lines.start, count)
    return ReadLocation(first=target.lines.start, last=min(target.lines.end, count))


def _region(outline: Outline, target: "ReadTarget") -> ReadLocation | Diagnostic:
    """Return the lines between the two markers."""
    from mdplan.operations.regions import region_named

    region = or_problem(region_named, outline, target.region or "")
    if isinstance(region, Diagnostic):
        return region
    start, end = region.start.line, region.end.line
    return ReadLocation(first=start + 1, last=max(end - 1, start))


def _front_matter(outline: Outline, _: "ReadTarget") -> ReadLocation | Diagnostic:
    if outline.front_matter is None:
        return Code.FRONT_MATTER_NOT_FOUND.problem(
            "the file has no front matter", say("read the file without {frontMatter}")
        )
    return _covering(outline, outline.front_matter.span, None)


def _key(outline: Outline, target: "ReadTarget") -> ReadLocation | Diagnostic:
    # Not needed for Markdown, the usual case.
    from mdplan.reading.data_keys import key_span

    span = key_span(outline, target.key or "")
    return span if isinstance(span, Diagnostic) else _covering(outline, span, None)


def _around_match(outline: Outline, target: "ReadTarget") -> ReadLocation | Diagnostic:
    """Return the first match with `context` lines on both sides."""
    pattern = Pattern(
        text=lf_pattern(target.match or "", is_regex=target.match_type is MatchType.REGEX),
        match_type=target.match_type,
        case_sensitive=target.case_sensitive,
    )
    view = outline.view
    matches = pattern.find(view.text, Span(0, len(view.text)), outline.limits.pattern_seconds)
    if isinstance(matches, PatternProblem):
        return pattern_problem(matches)
    if not matches:
        return Code.TEXT_MISMATCH.problem(
            say("{match} occurs nowhere in the file"),
            either("look for a part of it", say("with {caseSensitive=false}")),
        )
    span = view.span_in_text(matches[0].span)
    lines = outline.source.lines
    first, last = lines.line_at(span.start), lines.line_at(max(span.end - 1, span.start))
    return ReadLocation(
        first=max(first - target.context, 1), last=min(last + target.context, lines.count), match_line=first
    )


def _last_lines(outline: Outline, target: "ReadTarget") -> ReadLocation | Diagnostic:
    count = outline.source.lines.count
    return ReadLocation(first=max(count - (target.last_lines or 0), 0) + 1, last=count)


def _until_pattern(outline: Outline, target: "ReadTarget") -> ReadLocation | Diagnostic:
    """Return the lines from a start up to the next line that starts with a match of `until`."""
    first, count = target.start_line or 1, outline.source.lines.count
    if first > count:
        return _out_of_bounds(first, count)
    if target.until is None:
        return ReadLocation(first=first, last=count)
    ends = lines_like(outline, target.until, first + 1)
    if isinstance(ends, Diagnostic):
        return ends
    return ReadLocation(first=first, last=ends[0] - 1 if ends else count)


def lines_like(outline: Outline, pattern: str, first: int = 1) -> list[int] | Diagnostic:
    """Return the lines from `first` that start with a match of the regex `pattern`, in order.

    Each line is matched separately, without its newline. Errors: INVALID_REGEX, REGEX_TIMEOUT,
    BATCH_TOO_LARGE.
    """
    seconds = outline.limits.pattern_seconds
    problem = Pattern(text=pattern, match_type=MatchType.REGEX).find("", Span(0, 0), seconds)
    if isinstance(problem, PatternProblem):
        return pattern_problem(problem)
    lines, view = outline.source.lines, outline.view
    if first > lines.count:
        return []
    # One search finds the candidate lines; `\A` would be the start of the file. Matches are empty, since they
    # could extend into the next line, which must be checked too.
    anchored = Pattern(text=rf"^(?=(?:{pattern}))", match_type=MatchType.REGEX)
    within = view.span_in_view(Span(lines.start(first), len(outline.source.text)))
    candidates = anchored.find(view.text, within, seconds)
    if isinstance(candidates, PatternProblem):
        return pattern_problem(candidates)
    matching = []
    in_line = Pattern(text=rf"\A(?:{pattern})", match_type=MatchType.REGEX)
    for line in dict.fromkeys(lines.line_at(view.span_in_text(match.span).start) for match in candidates):
        text = lines.content(line)
        matches = in_line.find(text, Span(0, len(text)), seconds)
        if isinstance(matches, PatternProblem):
            return pattern_problem(matches)
        matching += [line] if matches else []
    return matching


def _out_of_bounds(line: int, count: int) -> Diagnostic:
    return Code.RANGE_OUT_OF_BOUNDS.problem(f"line {line} is not in the file", f"the file has {count} lines")


def _code_block(
    outline: Outline, name: "CodeBlockName", section: Section | None
) -> ReadLocation | Diagnostic:
    """Return the lines between the fences of a code block."""
    from mdplan.markdown.formatting import read_fence

    block = or_problem(find_fence, outline, section, name.index, name.language)
    if isinstance(block, Diagnostic):
        return block
    last = block.last_line - (read_fence(outline, block) is not None)
    return ReadLocation(first=block.first_line + 1, last=last, language=fence_language(block))


# --- Read and search reports as text, with everything needed for the next step

_HASH_DIGITS: Final = 16
_ID_DIGITS: Final = 8


def place_line(result: ReadResult, *, hashes: bool = True) -> str:
    """Describe what was read in one line: ``a.md 12-25 of 90, baseSha256 …, section Install …``.

    Without `hashes`: ``a.md 12-25 of 90, section Install``.
    """
    assert result.base_sha256 is not None
    lines = f"{result.start_line}-{result.end_line} of {result.total_lines}"
    parts = [f"{result.file} {lines}"]
    parts += [f"baseSha256 {result.base_sha256[:_HASH_DIGITS]}"] if hashes else []
    if result.section_id is not None:
        path = " / ".join(result.heading_path or ()) or "(preamble)"
        digits = result.section_id.removeprefix("sha256-")[:_ID_DIGITS]
        pin = f" sectionSha256 {result.section_sha256[:_HASH_DIGITS]}" if result.section_sha256 else ""
        parts.append(f"section {path}" + (f", sectionId {digits}{pin}" if hashes else ""))
    if result.match_line is not None:
        parts.append(f"match at line {result.match_line}")
    if result.content_exact is False:
        parts.append("some bytes are not text and shown as \\xNN")
    return ", ".join(parts)


def rest_lines(result: ReadResult) -> Iterator[str]:
    """Yield how to continue truncated content, and the sections in the rest."""
    if result.truncated:
        yield f"(cut here: cursor {result.next_cursor} goes on)"
        for row in result.left_out or ():
            digits = row.section_id.removeprefix("sha256-")[:_ID_DIGITS]
            yield f"  {row.start_line}-{row.end_line} {row.heading} {digits}"


def search_text(report: SearchReport, *, hashes: bool = True) -> str:
    """Return the matches as text, by file and section.

    `hashes` includes those of files and sections.
    """
    lines = [_summary(report)]
    if report.files and not any(file.groups or file.front_matter for file in report.files):
        lines += file_listing(report.files)
    else:
        for file in report.files:
            lines += _file_lines(file, hashes=hashes)
    if report.next_cursor is not None:
        lines.append(f"(more: cursor {report.next_cursor})")
    lines += (f"{warning.file or 'warning'}: {_problem_text(warning)}" for warning in report.warnings)
    return visible("".join(f"{line}\n" for line in lines))


def _summary(report: SearchReport) -> str:
    matches, files = report.total_matches or 0, report.total_files or 0
    if not matches and files:
        return counted(files, "file")
    if not matches:
        return f"no matches in {counted(report.searched_files or 0, 'file')}"
    return f"{counted(matches, 'match', 'matches')} in {counted(files, 'file')}"


def _file_lines(file: SearchedFile, *, hashes: bool) -> Iterator[str]:
    matches = f", {counted(file.matches, 'match', 'matches')}" if file.matches else ""
    # A file without shown matches needs no hash.
    pin = f" baseSha256 {file.base_sha256[:_HASH_DIGITS]}" if file.groups and hashes else ""
    yield f"{file.file}{pin}{matches}"
    for key, value in (file.front_matter or {}).items():
        yield f"  {key}: {json.dumps(value, ensure_ascii=False)}"
    yield from (f"  {line}" for line in hit_lines(file, hashes=hashes))


def file_listing(files: Sequence[SearchedFile]) -> Iterator[str]:
    """Yield the files with their match counts, grouped by folder."""
    for folder, in_folder in groupby(files, key=lambda file: file.file.rpartition("/")[0]):
        if folder:
            yield f"{folder}/"
        for file in in_folder:
            yield f"{' ' if folder else ''}{file.file.rpartition('/')[2]} {file.matches}"


def hit_lines(file: SearchedFile, *, brief: bool = False, hashes: bool = True) -> Iterator[str]:
    """Yield the matches of a file, grouped by section; `brief` shows only the section's heading."""
    for group in file.groups:
        is_front_matter = all(hit.within == NodeKind.FRONT_MATTER for hit in group.hits)
        if is_front_matter and len(file.groups) > 1:
            yield "front matter"
        elif group.level or len(file.groups) > 1:
            yield _section_heading(group, brief=brief, hashes=hashes)
        for hit in group.hits:
            within = f" [{hit.within}]" if hit.within else ""
            before, behind = hit.before or (), hit.behind or ()
            for number, line in enumerate(before, start=hit.line - len(before)):
                yield f"  {number}: {line}"
            yield f"  {hit.address or f'{hit.line}:{hit.col}'}{within} {hit.text}"
            for number, line in enumerate(behind, start=hit.line + 1):
                yield f"  {number}: {line}"


def _section_heading(group: SearchGroup, *, brief: bool, hashes: bool) -> str:
    path = " / ".join(group.heading_path[-1:] if brief else group.heading_path) or "(preamble)"
    digits = group.section_id.removeprefix("sha256-")[:_ID_DIGITS]
    return f"{group.start_line}-{group.end_line} {path}" + (f" {digits}" if hashes else "")


def _problem_text(problem: Diagnostic) -> str:
    return f"{problem.code}: {problem.message}" + (f"; {problem.hint}" if problem.hint else "")
