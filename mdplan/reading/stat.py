"""Report the structure of a document, or of the files in a folder, never content."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mdplan.diagnostics import Code, Diagnostic, Severity, or_problem
from mdplan.markdown.headings import section_id_digits
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.reading.plain_text import has_keys, ini_section_count, plain_text_fields
from mdplan.reports.base import refusal
from mdplan.reports.stat import BrokenLink, FileRow, FrontMatterEntry, KeyEntry, SectionEntry, StatReport
from mdplan.requests.queries import USUAL_INVENTORIES, StatRequest
from mdplan.text.lines import Lines, Span
from mdplan.text.source import DocumentFormat
from mdplan.text.visible import shortened, shown_names
from mdplan.values import Struct, replace
from mdplan.words import say

# Loaded on demand.
if TYPE_CHECKING:
    from mdplan.reading.inventories import FindBroken

_FULL_UP_TO: Final = 40

# Maximum number of listed sections, by detail.
LIMITS: Final = {"full": 200, "brief": 1_000}
_CURSOR: Final = r"(?P<place>[0-9]{1,9})-(?P<base>[0-9a-f]{8})"
_BASE_DIGITS: Final = 8
_LINE_END_NAMES: Final = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}

_NESTING_LIMIT: Final = Code.NESTING_LIMIT.warning(
    "blocks are nested deeper than the parser goes: what follows them may be missing here",
    "unnest the lists or quotes, or edit by lines",
)


def stat_report(
    file: str, outline: Outline, request: StatRequest, find_broken: "FindBroken | None" = None
) -> StatReport:
    """Report on the document `outline` of `file`.

    Without `find_broken`, only links within the document are checked. Errors: as `find_by_id` and
    `find_by_path` for `under`; INVALID_ARGUMENT for a malformed cursor, STALE_BASE for one of another file
    version.
    """
    is_data = has_keys(outline)
    scope = _scope(outline, request.under if not is_data else None)
    start = _read_cursor(outline, request.cursor)
    if isinstance(scope, Diagnostic) or isinstance(start, Diagnostic):
        problems = (each for each in (scope, start) if isinstance(each, Diagnostic))
        return refusal(StatReport, [problem.at(file=file) for problem in problems])
    keys: list[KeyEntry] | Diagnostic | None = None
    if is_data:
        # Not needed for Markdown, the usual case.
        from mdplan.reading.data_keys import key_entries

        keys = key_entries(outline, request.under, request.depth)
    if isinstance(keys, Diagnostic) and request.under:
        return refusal(StatReport, [keys.at(file=file)])
    listed = _listed(outline, scope, request.depth) if not isinstance(keys, list) else ()
    count = max(len(listed), ini_section_count(outline), len(keys) if isinstance(keys, list) else 0)
    is_full = request.detail == "full" or (request.detail == "auto" and count <= _FULL_UP_TO)
    detail = "full" if is_full else "brief"
    limit = request.limit or LIMITS[detail]
    page = _page(outline, listed, start, limit, scope.span)
    entry = partial(_entry, outline, _first_of_path(outline) if is_full else None)
    fields: dict[str, Any] = {}
    totals: dict[str, int] = {}
    if isinstance(keys, list):
        fields["keys"] = tuple(key if is_full else replace(key, sha256=None) for key in keys[:limit])
        totals |= {"keys": len(keys)} if len(keys) > limit else {}
    else:
        fields, totals = plain_text_fields(outline, limit, is_full=is_full)
    if names := _inventory_names(outline, request, is_full=is_full):
        from mdplan.reading.inventories import inventories

        fields |= inventories(outline, names, page.area, limit, find_broken)
    if totals:
        fields["inventory_totals"] = totals | fields.get("inventory_totals", {})
    source = outline.source
    ends = source.lines.line_ends
    return StatReport(
        ok=True,
        file=file,
        detail=detail,
        format=outline.format,
        base_sha256=source.sha256,
        bytes=len(source.data),
        encoding=source.encoding,
        bom=bool(source.bom),
        line_ends={name: ends.get(end, 0) for name, end in _LINE_END_NAMES.items()},
        final_newline=source.text.endswith(("\n", "\r")),
        total_lines=source.lines.count,
        invalid_bytes=source.invalid_bytes or None,
        front_matter=_front_matter(outline),
        sections=tuple(entry(section) for section in page.sections),
        total_sections=len(listed),
        trailing_definitions=_trailing_definitions(outline),
        next_cursor=page.next_cursor,
        warnings=(
            *((_NESTING_LIMIT,) if outline.tree.nesting_limit else ()),
            *((replace(keys, severity=Severity.WARNING),) if isinstance(keys, Diagnostic) else ()),
        ),
        **fields,
    )


class _Scope(NamedTuple):
    """The section to report on (the preamble for the whole document) and its text."""

    section: Section
    span: Span


def _scope(outline: Outline, under: str | Sequence[str] | None) -> _Scope | Diagnostic:
    if not under:
        return _Scope(outline.sections[0], Span(0, len(outline.source.text)))
    section = _find(outline, under)
    return section if isinstance(section, Diagnostic) else _Scope(section, section.span)


def _find(outline: Outline, under: str | Sequence[str]) -> Section | Diagnostic:
    """Return a section by path or ID, else by heading: hex digits can be a word."""
    # Not needed for a whole document.
    from mdplan.markdown.addresses import find_by_id, find_by_path

    if not isinstance(under, str):
        return or_problem(find_by_path, outline, under)
    by_id = or_problem(find_by_id, outline, under) if section_id_digits(under) else None
    if isinstance(by_id, Section):
        return by_id
    by_heading = or_problem(find_by_path, outline, (under,))
    return by_heading if by_id is None or isinstance(by_heading, Section) else by_id


def _listed(outline: Outline, scope: _Scope, depth: int | None) -> Sequence[int]:
    """Return the indexes of the sections to list, in document order; the preamble only if it has text."""
    top, order = scope.section, outline.in_order
    places: Sequence[int] = range(len(order))
    if not top.is_root:
        places = [
            place
            for place, section in enumerate(order)
            if not section.is_root and (section is top or top.span.contains(section.span))
        ]
    elif not outline.text_of(order[0].span).strip():
        places = places[1:]
    if depth is None:
        return places
    return [place for place in places if _depth_below(outline, order[place], top) <= depth]


def _depth_below(outline: Outline, section: Section, top: Section) -> int:
    """Return the number of levels from `section` up to `top`, its ancestor."""
    depth = 0
    ancestor: Section | None = section
    while ancestor is not None and ancestor is not top:
        ancestor = outline.parent(ancestor)
        depth += 1
    return depth


class _Page(Struct):
    """A page of the list; `area` spans from its first section to the next page."""

    sections: tuple[Section, ...]
    area: Span
    next_cursor: str | None


def _page(outline: Outline, listed: Sequence[int], start: int, limit: int, scope: Span) -> _Page:
    first = bisect_left(listed, start)
    page, behind = listed[first : first + limit], listed[first + limit :]
    sections = tuple(outline.in_order[place] for place in page)
    area_start = scope.start
    if first:
        area_start = sections[0].span.start if sections else scope.end
    area_end = outline.in_order[behind[0]].span.start if behind else scope.end
    cursor = f"{behind[0]}-{outline.source.sha256[:_BASE_DIGITS]}" if behind else None
    return _Page(sections, Span(area_start, max(area_start, area_end)), cursor)


def _read_cursor(outline: Outline, cursor: str | None) -> int | Diagnostic:
    """Return the index of the first section of the page; 0 without cursor."""
    if cursor is None:
        return 0
    match = re.fullmatch(_CURSOR, cursor)
    if match is None:
        return Diagnostic.invalid(
            say("{cursor} is none that stat gave for a file"),
            say("send {nextCursor} of the report before as it is, or leave {cursor} out"),
        )
    if match["base"] != outline.source.sha256[:_BASE_DIGITS]:
        return Code.STALE_BASE.problem(
            "the file changed since the page before", "leave cursor out to start again"
        )
    return int(match["place"])


def _has_own_heading(outline: Outline, section: Section) -> bool:
    """Return True if the heading of `section` is unique in the document."""
    canonical = section.canonical_path
    return bool(canonical) and len(outline.named(canonical[-1])) == 1


def _entry(outline: Outline, firsts: dict[tuple[str, ...], Section] | None, section: Section) -> SectionEntry:
    """Return the entry of `section`: a full one given the `firsts` of each path, else a brief one."""
    canonical = section.canonical_path
    entry = SectionEntry(
        section_id=section.section_id,
        level=section.level,
        canonical_heading_path=shown_names(canonical),
        start_line=section.first_line,
        end_line=section.last_line,
        nested=section.nested or None,
        has_own_heading=_has_own_heading(outline, section),
    )
    if firsts is None:
        return replace(entry, title=shortened(section.title))
    first = firsts[canonical]
    return replace(
        entry,
        heading_path=shown_names(section.path),
        anchor=shortened(section.anchor) if section.anchor else None,
        section_sha256=outline.section_sha256(section),
        tokens=(len(section.span) + 3) // 4,
        duplicate_of=None if first is section else first.section_id,
    )


def _first_of_path(outline: Outline) -> dict[tuple[str, ...], Section]:
    """Return the first section of each canonical path, preferring top-level ones."""
    firsts: dict[tuple[str, ...], Section] = {}
    for section in outline.every_section():
        firsts.setdefault(section.canonical_path, section)
    return firsts


def _front_matter(outline: Outline) -> FrontMatterEntry | None:
    front_matter = outline.front_matter
    if front_matter is None:
        return None
    from mdplan.data.content import DataContent

    content = outline.front_matter_content
    return FrontMatterEntry(
        format=front_matter.format,
        start_line=1,
        end_line=outline.source.lines.line_at(front_matter.span.end - 1),
        keys=shown_names(tuple(content.values)) if isinstance(content, DataContent) else None,
    )


def _trailing_definitions(outline: Outline) -> Lines | None:
    lines = outline.source.lines
    if outline.content_end == len(outline.source.text):
        return None
    return Lines(start=lines.line_at(outline.content_end), end=lines.count)


def _inventory_names(outline: Outline, request: StatRequest, *, is_full: bool) -> tuple[str, ...]:
    """Return the names of the inventories to list."""
    names: tuple[str, ...] | None = request.include
    if names is None:
        names = USUAL_INVENTORIES if is_full and outline.format is DocumentFormat.MARKDOWN else ()
    return (*names, "links") if request.links and "links" not in names else names


# --- Folders and globs: one row per file

_LIMIT: Final = 200
_MOST_BROKEN: Final = 100
_TITLE: Final = "title"
_OF_ONE_FILE: Final = ("under", "depth", "include")


def folder_report(
    request: StatRequest,
    files: Iterable[str],
    read: Callable[[str], Outline | Diagnostic],
    broken: Callable[[str, Outline], Sequence[BrokenLink]] | None = None,
) -> StatReport:
    """Report a row per file, sorted by path; read only the files of the page.

    `broken` finds the broken links of a file, if requested. The cursor is the last path of the previous page,
    so it stays valid when files are added or removed. Errors: INVALID_ARGUMENT for fields that require a
    single file.
    """
    problems = tuple(_of_one_file(request))
    if problems:
        return refusal(StatReport, problems)
    paths = sorted(files)
    rest = [path for path in paths if request.cursor is None or path > request.cursor]
    limit = request.limit or _LIMIT
    page = rest[:limit]
    return StatReport(
        ok=True,
        file=request.file,
        files=tuple(_row(path, read(path), broken) for path in page),
        total_files=len(paths),
        next_cursor=page[-1] if len(rest) > limit else None,
    )


def _row(
    path: str, outline: Outline | Diagnostic, broken: Callable[[str, Outline], Sequence[BrokenLink]] | None
) -> FileRow:
    row = file_row(path, outline)
    if broken is None or isinstance(outline, Diagnostic):
        return row
    links = broken(path, outline)
    return replace(
        row,
        broken_links=tuple(links[:_MOST_BROKEN]),
        total_broken_links=len(links) if len(links) > _MOST_BROKEN else None,
    )


def file_row(file: str, outline: Outline | Diagnostic) -> FileRow:
    """Return the row of `file`: a summary of its outline, or a problem.

    `sections` counts top-level headings, or the sections of an INI file.
    """
    if isinstance(outline, Diagnostic):
        return FileRow(file=file, problem=f"{outline.code}: {outline.message}")
    source = outline.source
    return FileRow(
        file=file,
        bytes=len(source.data),
        base_sha256=source.sha256,
        title=_title(outline),
        sections=max(len(outline.sections), ini_section_count(outline)) - 1,
        tokens=(len(source.text) + 3) // 4,
    )


def _title(outline: Outline) -> str | None:
    """Return `title` from the front matter, else the first heading."""
    text, front_matter = outline.source.text, outline.front_matter
    if front_matter and text.find(_TITLE, front_matter.content.start, front_matter.content.end) >= 0:
        from mdplan.data.content import DataContent

        content = outline.front_matter_content
        title = content.values.get(_TITLE) if isinstance(content, DataContent) else None
        if isinstance(title, str) and title.strip():
            return shortened(" ".join(title.split()))
    return next((shortened(section.title) for section in outline.sections[1:] if section.title), None)


def _of_one_file(request: StatRequest) -> Iterable[Diagnostic]:
    given = [name for name in _OF_ONE_FILE if getattr(request, name) is not None]
    if request.detail == "full":
        given.append("detail")
    for name in given:
        yield Diagnostic.invalid(
            f"`{request.file}` names several files, and `{name}` is asked of one",
            f"name one of its files, or leave {name} out",
        )
