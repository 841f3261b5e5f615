"""The reports of `read` and `search`: content with the hashes that guard an edit of it."""

from collections.abc import Mapping
from typing import Any

from mdplan.diagnostics import Diagnostic
from mdplan.reports.base import Report
from mdplan.values import Struct


class OutlineRow(Struct, kw_only=True):
    """An omitted section. Lines are 1-based and inclusive."""

    section_id: str
    heading: str
    start_line: int
    end_line: int


class ReadResult(Struct, kw_only=True):
    """A place and its `content`: the lines `start_line` to `end_line`, inclusive.

    If `end_line` is less than `start_line`, the content is empty. `content_exact` is false if it contains
    escaped bytes that are not text; such content cannot be used as evidence. `section_sha256` guards an edit:
    it is the hash of the whole section, or of its own body if only that was read. `truncated` is true if the
    place continues: `next_cursor` reads the rest, and `left_out` has the sections that begin there (at most
    100). With `addressed` each line begins with its address, ``12:a3f``, and a space. An unreadable place has
    only a `problem`.
    """

    file: str
    base_sha256: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    total_lines: int | None = None
    content: str | None = None
    content_exact: bool | None = None
    section_id: str | None = None
    heading_path: tuple[str, ...] | None = None
    section_sha256: str | None = None
    language: str | None = None
    match_line: int | None = None
    addressed: bool | None = None
    truncated: bool | None = None
    next_cursor: str | None = None
    left_out: tuple[OutlineRow, ...] | None = None
    problem: Diagnostic | None = None


class ReadReport(Report, kw_only=True):
    """Of `read`: one result a target, in their order. `ok` says that all of them were read.

    >>> report = engine.read({"file": "guide.md", "codeBlock": {"language": "sh"}})
    >>> report.results[0].start_line, report.results[0].end_line
    (18, 19)
    """

    results: tuple[ReadResult, ...] = ()


class SearchHit(Struct, kw_only=True):
    """A match: its first line and column (1-based, in code points) and that line, cut at 200 characters.

    `address` is the line with its hash, ``12:a3f``, on request. `key` is the innermost key or item around the
    match, as edits of data files name it. `within` is the kind of node that contains or overlaps the match,
    as named in `exclude`. `before` and `behind` are lines of context, on request, once. `section_end_hint` is
    the line before the next match of a `section_pattern`: the first pattern that matches later in the file.
    """

    line: int
    col: int
    text: str
    within: str | None = None
    before: tuple[str, ...] | None = None
    behind: tuple[str, ...] | None = None
    section_end_hint: int | None = None
    section_pattern: str | None = None
    address: str | None = None
    key: str | None = None


class SearchGroup(Struct, kw_only=True):
    """Matches in the own body of one section; `end_line` is where that section ends, subsections included.

    `level` is 0 for the text before the first heading, and for plain text.
    """

    section_id: str
    heading_path: tuple[str, ...]
    level: int
    start_line: int
    end_line: int
    hits: tuple[SearchHit, ...]


class SearchedFile(Struct, kw_only=True):
    """A file with matches. `matches` is their exact number; `groups` may list fewer.

    `front_matter` has the requested values by key.
    """

    file: str
    base_sha256: str
    matches: int
    groups: tuple[SearchGroup, ...]
    undecided: int | None = None
    front_matter: Mapping[str, Any] | None = None


class SearchReport(Report, kw_only=True):
    """Result of `search`. Totals are exact even if `truncated` says that hits are omitted.

    `total_files` counts files with matches. `warnings` concern files that could not be searched.

    >>> report = engine.search({"pattern": "kettle", "file": "**/*.md", "caseSensitive": False})
    >>> report.total_files, report.files[0].file, report.files[0].groups[0].hits[0].line
    (2, 'guide.md', 2)
    """

    pattern: str | None = None
    total_matches: int | None = None
    total_files: int | None = None
    searched_files: int | None = None
    files: tuple[SearchedFile, ...] = ()
    truncated: bool | None = None
    next_cursor: str | None = None
    warnings: tuple[Diagnostic, ...] = ()
