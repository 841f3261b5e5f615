"""Where in a document a target of `read` is."""

from collections.abc import Callable
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.addresses import find_by_anchor, find_by_id, find_by_path
from mdplan.markdown.enclosure_search import find_regions
from mdplan.markdown.outline import Outline
from mdplan.markdown.pattern_problem import pattern_problem
from mdplan.markdown.sections import Section
from mdplan.markdown.targets import find_anchors, target_key
from mdplan.reading import read_blocks
from mdplan.reading.document_place import ReadLocation
from mdplan.requests.read import ReadTarget
from mdplan.text.line_end_view import lf_pattern
from mdplan.text.lines import Span
from mdplan.text.pattern import MatchType, Pattern, PatternProblem

_MOST_LISTED: Final = 10


def find_place(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    """Lines of `target`.

    Errors: those of finding a section; ANCHOR_NOT_FOUND, CODE_BLOCK_NOT_FOUND, TABLE_NOT_FOUND,
    LIST_NOT_FOUND, REGION_NOT_FOUND, FRONT_MATTER_NOT_FOUND, KEY_NOT_FOUND, DATA_INVALID,
    RANGE_OUT_OF_BOUNDS, TEXT_MISMATCH (no match), INVALID_REGEX, REGEX_TIMEOUT.
    """
    if target.names_block:
        return _block(outline, target)
    if target.anchor is not None:
        return _behind_anchor(outline, target)
    if target.names_section:
        return _section(outline, target)
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


def _block(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    """A code block, table or list; in the section with its subsections, if one is named."""
    scope = Span(0, len(outline.source.text))
    if target.names_section:
        section = find_by_anchor(outline, target.anchor) if target.anchor else _named(outline, target)
        if isinstance(section, Diagnostic):
            return section
        scope = section.span
    if target.code_block is not None:
        return read_blocks.code_block(outline, target.code_block, scope)
    if target.table is not None:
        return read_blocks.table(outline, target.table, scope)
    assert target.list is not None
    return read_blocks.listing(outline, target.list, scope)


def _named(outline: Outline, target: ReadTarget) -> Section | Diagnostic:
    if target.section_id is not None:
        return find_by_id(outline, target.section_id)
    path = target.heading_path if target.heading_path is not None else (target.heading or "",)
    return find_by_path(outline, path, target.occurrence)


def _section(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    section = _named(outline, target)
    return section if isinstance(section, Diagnostic) else _of_section(outline, section, target)


def _of_section(outline: Outline, section: Section, target: ReadTarget) -> ReadLocation:
    """The whole section, or its heading and own body; of a nested heading its own lines."""
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


def _behind_anchor(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    """The section of a heading's anchor; after another anchor the lines to the next heading (DESIGN 15)."""
    section = find_by_anchor(outline, target.anchor or "")
    if not isinstance(section, Diagnostic):
        return _of_section(outline, section, target)
    wanted = target_key((target.anchor or "").removeprefix("#"))
    line = next((each.line for each in find_anchors(outline) if target_key(each.id) == wanted), None)
    if line is None:
        return section
    around = outline.section_at(outline.source.lines.start(line))
    body_end = outline.source.lines.line_at(max(around.body.end - 1, around.body.start))
    return ReadLocation(first=line, last=max(body_end, line))


def _lines(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    assert target.lines is not None
    count = outline.source.lines.count
    if target.lines.start > count:
        return _out_of_bounds(target.lines.start, count)
    return ReadLocation(first=target.lines.start, last=min(target.lines.end, count))


def _region(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    """Lines between the two markers."""
    regions = find_regions(outline)
    found = regions.by_name.get(target.region or "", ())
    if len(found) != 1:
        names = ", ".join(f"`{name}`" for name in list(regions.by_name)[:_MOST_LISTED])
        return Diagnostic(
            code=Code.REGION_NOT_FOUND,
            message=f"{'several' if found else 'no'} regions have that name",
            hint=f"regions of the file: {names}" if names else "the file has no regions",
        )
    return ReadLocation(first=found[0].start.line + 1, last=max(found[0].end.line - 1, found[0].start.line))


def _front_matter(outline: Outline, _: ReadTarget) -> ReadLocation | Diagnostic:
    if outline.front_matter is None:
        return Diagnostic(
            code=Code.FRONT_MATTER_NOT_FOUND,
            message="the file has no front matter",
            hint="read the file without frontMatter",
        )
    return _covering(outline, outline.front_matter.span, None)


def _key(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    # Most reads are of Markdown, and need no YAML.
    from mdplan.reading.data_keys import key_span

    span = key_span(outline, target.key or "")
    return span if isinstance(span, Diagnostic) else _covering(outline, span, None)


def _around_match(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    """The first match with `context` lines on both sides."""
    pattern = Pattern(
        text=lf_pattern(target.match or "", is_regex=target.match_type is MatchType.REGEX),
        match_type=target.match_type,
        case_sensitive=target.case_sensitive,
    )
    view = outline.view
    found = pattern.find(view.text, Span(0, len(view.text)), outline.limits.pattern_seconds)
    if isinstance(found, PatternProblem):
        return pattern_problem(found)
    if not found:
        return Diagnostic(
            code=Code.TEXT_MISMATCH,
            message="match occurs nowhere in the file",
            hint="look for a part of it, or with caseSensitive: false",
        )
    span = view.span_in_text(found[0].span)
    lines = outline.source.lines
    first, last = lines.line_at(span.start), lines.line_at(max(span.end - 1, span.start))
    return ReadLocation(
        first=max(first - target.context, 1), last=min(last + target.context, lines.count), match_line=first
    )


def _last_lines(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    count = outline.source.lines.count
    return ReadLocation(first=max(count - (target.last_lines or 0), 0) + 1, last=count)


def _until_pattern(outline: Outline, target: ReadTarget) -> ReadLocation | Diagnostic:
    """From a line to the one before the next that begins with a match of `until` (requirement 03)."""
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
    """The lines from `first` on that begin with a match of the regular expression `pattern`, in order.

    Each line is matched by itself, without its line end. Errors: INVALID_REGEX, REGEX_TIMEOUT,
    BATCH_TOO_LARGE.
    """
    seconds = outline.limits.pattern_seconds
    problem = Pattern(text=pattern, match_type=MatchType.REGEX).find("", Span(0, 0), seconds)
    if isinstance(problem, PatternProblem):
        return pattern_problem(problem)
    lines, view = outline.source.lines, outline.view
    if first > lines.count:
        return []
    # One search over the rest finds all lines that may match: `\A` would be the start of the file. A match
    # takes no text there, for it may reach into the next line, which is then examined as well.
    anchored = Pattern(text=rf"^(?=(?:{pattern}))", match_type=MatchType.REGEX)
    within = view.span_in_view(Span(lines.start(first), len(outline.source.text)))
    found = anchored.find(view.text, within, seconds)
    if isinstance(found, PatternProblem):
        return pattern_problem(found)
    like = []
    alone = Pattern(text=rf"\A(?:{pattern})", match_type=MatchType.REGEX)
    for line in dict.fromkeys(lines.line_at(view.span_in_text(match.span).start) for match in found):
        text = lines.content(line)
        matches = alone.find(text, Span(0, len(text)), seconds)
        if isinstance(matches, PatternProblem):
            return pattern_problem(matches)
        like += [line] if matches else []
    return like


def _out_of_bounds(line: int, count: int) -> Diagnostic:
    return Diagnostic(
        code=Code.RANGE_OUT_OF_BOUNDS,
        message=f"line {line} is not in the file",
        hint=f"the file has {count} lines",
    )
