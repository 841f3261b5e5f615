"""The report of `stat`: the structure of a document, or of a folder."""

from collections.abc import Mapping
from typing import ClassVar

from mdplan.diagnostics import Diagnostic
from mdplan.reports.base import Report
from mdplan.text.lines import Lines
from mdplan.values import Struct


class SectionEntry(Struct, kw_only=True):
    """One section. Lines are 1-based and inclusive; `tokens` is an estimate: characters / 4.

    `duplicate_of` is the ID of the first section of the same canonical path. `nested` is true for a heading
    in a quote or list, which delimits nothing. Brief entries have only ID, level, title, canonical path and
    lines; `title`, the heading as rendered, is omitted where `heading_path` ends in it.
    """

    section_id: str
    level: int
    canonical_heading_path: tuple[str, ...]
    start_line: int
    end_line: int
    title: str | None = None
    heading_path: tuple[str, ...] | None = None
    anchor: str | None = None
    section_sha256: str | None = None
    tokens: int | None = None
    duplicate_of: str | None = None
    nested: bool | None = None
    # True if the heading is unique and so names the section.
    has_own_heading: bool = False

    _off_wire: ClassVar = frozenset({"has_own_heading"})


class CodeBlockEntry(Struct, kw_only=True):
    """A code block. `index` is 0-based over fenced blocks of any depth; None for indented ones."""

    start_line: int
    end_line: int
    fenced: bool
    index: int | None = None
    language: str | None = None
    section_id: str | None = None


class TableEntry(Struct, kw_only=True):
    """One table: its index (0-based), lines, header cells as inline Markdown, and number of body rows."""

    index: int
    start_line: int
    end_line: int
    columns: tuple[str, ...]
    rows: int
    section_id: str | None = None


class ListEntry(Struct, kw_only=True):
    """A top-level list: its index (0-based), lines, marker (`-`, `1.`) and number of items."""

    index: int
    start_line: int
    end_line: int
    marker: str
    items: int
    section_id: str | None = None


class TaskCounts(Struct, kw_only=True):
    """Task list items."""

    total: int
    done: int


class AnchorEntry(Struct, kw_only=True):
    """A place that ``#id`` links to: made from a heading, or explicit in HTML."""

    id: str
    line: int
    explicit: bool


class RegionEntry(Struct, kw_only=True):
    """The text between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->``; lines include the markers.

    A marker without a partner is listed with its own line.
    """

    name: str
    start_line: int | None
    end_line: int | None


class BrokenLink(Struct, kw_only=True):
    """A link of a file that leads to nothing: ``#fragment``, ``[^footnote]``, or a path as it is written."""

    line: int
    target: str


class LinkCounts(Struct, kw_only=True):
    """Links by kind, and broken links: within the file, or also to other files on request."""

    inline: int
    reference: int
    autolink: int
    image: int
    wiki: int
    footnote: int
    html: int
    broken: tuple[BrokenLink, ...]


class FrontMatterEntry(Struct, kw_only=True):
    """Front matter: its format (yaml, toml, json), lines with fences, and top-level keys that can be read."""

    format: str
    start_line: int
    end_line: int
    keys: tuple[str, ...] | None


class FileRow(Struct, kw_only=True):
    """A summary of a file in a folder. `problem` says why it could not be read.

    `broken_links` are listed on request; `total_broken_links` is set if the list is incomplete.
    """

    file: str
    bytes: int | None = None
    base_sha256: str | None = None
    title: str | None = None
    sections: int | None = None
    tokens: int | None = None
    problem: str | None = None
    broken_links: tuple[BrokenLink, ...] | None = None
    total_broken_links: int | None = None


# --- Entries for the parts of data files and plain text; lines are 1-based and inclusive.


class IniKeyEntry(Struct, kw_only=True):
    """One key of an INI file and its line; `end_line` where its value goes on in other lines."""

    key: str
    line: int
    end_line: int | None = None


class IniSectionEntry(Struct, kw_only=True):
    """One section of an INI file, from its header on; the one before the first header has no `name`.

    Brief entries have neither `section_sha256` nor `keys`.
    """

    name: str | None
    start_line: int
    end_line: int
    section_sha256: str | None = None
    keys: tuple[IniKeyEntry, ...] | None = None


class KeyEntry(Struct, kw_only=True):
    """A key or item of a YAML, JSON or TOML file: its address in edits, and its lines.

    `items` counts the entries of a list or map. `sha256` is the hash of its text; brief entries omit it.
    """

    key: str
    start_line: int
    end_line: int
    items: int | None = None
    sha256: str | None = None


class TextSectionEntry(Struct, kw_only=True):
    """One section of plain text: from a line that is its `marker`, a name in brackets, to the next one."""

    marker: str
    start_line: int
    end_line: int


class CommentBlockEntry(Struct, kw_only=True):
    """Successive lines that begin with the comment sign `prefix`."""

    prefix: str
    start_line: int
    end_line: int


class StatReport(Report, kw_only=True):
    """Result of `stat`: the structure of a file, or a row for each file of a folder or glob; no content.

    `next_cursor` is set if more sections or rows follow. Inventories (`code_blocks` and the fields after it)
    cover the listed sections; for one that was cut at the limit, `inventory_totals` has the full number, by
    wire name. INI files and plain text have other lists, cut in the same way.

    >>> report = engine.stat({"file": "guide.md"})
    >>> install = report.sections[1]
    >>> install.heading_path, install.level, install.start_line, install.end_line
    (('Kettle guide', 'Install'), 2, 12, 29)
    """

    file: str | None = None
    detail: str | None = None
    format: str | None = None
    base_sha256: str | None = None
    bytes: int | None = None
    encoding: str | None = None
    bom: bool | None = None
    line_ends: Mapping[str, int] | None = None
    final_newline: bool | None = None
    total_lines: int | None = None
    invalid_bytes: int | None = None
    front_matter: FrontMatterEntry | None = None
    sections: tuple[SectionEntry, ...] = ()
    total_sections: int | None = None
    code_blocks: tuple[CodeBlockEntry, ...] | None = None
    tables: tuple[TableEntry, ...] | None = None
    lists: tuple[ListEntry, ...] | None = None
    tasks: TaskCounts | None = None
    anchors: tuple[AnchorEntry, ...] | None = None
    regions: tuple[RegionEntry, ...] | None = None
    links: LinkCounts | None = None
    ini_sections: tuple[IniSectionEntry, ...] | None = None
    keys: tuple[KeyEntry, ...] | None = None
    text_sections: tuple[TextSectionEntry, ...] | None = None
    comment_blocks: tuple[CommentBlockEntry, ...] | None = None
    blank_line_groups: tuple[Lines, ...] | None = None
    inventory_totals: Mapping[str, int] | None = None
    trailing_definitions: Lines | None = None
    files: tuple[FileRow, ...] | None = None
    total_files: int | None = None
    next_cursor: str | None = None
    warnings: tuple[Diagnostic, ...] = ()
