"""The report of `stat`: the structure of a document, or of a folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mdplan.diagnostics import Diagnostic
from mdplan.reports.base import Report
from mdplan.text.lines import Lines


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionEntry:
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
    # Whether no other section has this heading, which then names it.
    has_own_heading: bool = field(default=False, metadata={"wire": False})


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeBlockEntry:
    """One code block. `index` is 0-based over fenced blocks of every depth; indented ones have none."""

    start_line: int
    end_line: int
    fenced: bool
    index: int | None = None
    language: str | None = None
    section_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """One table: its index (0-based), lines, header cells as inline Markdown, and number of body rows."""

    index: int
    start_line: int
    end_line: int
    columns: tuple[str, ...]
    rows: int
    section_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListEntry:
    """One list in no other list: its index (0-based), lines, marker (`-`, `1.`) and number of items."""

    index: int
    start_line: int
    end_line: int
    marker: str
    items: int
    section_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCounts:
    """Task list items."""

    total: int
    done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorEntry:
    """A place that ``#id`` links to: made from a heading, or explicit in HTML."""

    id: str
    line: int
    explicit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionEntry:
    """Text between ``<!-- NAME:start -->`` and ``<!-- NAME:end -->``; the lines are those of the markers.

    A marker without its other half has its own line alone, and is no region yet.
    """

    name: str
    start_line: int | None
    end_line: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLink:
    """A link of a file that leads to nothing: ``#fragment``, ``[^footnote]``, or a path as it is written."""

    line: int
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkCounts:
    """Links by kind, and those that resolve to nothing: in the same file, or if asked in any."""

    inline: int
    reference: int
    autolink: int
    image: int
    wiki: int
    footnote: int
    html: int
    broken: tuple[BrokenLink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontMatterEntry:
    """Front matter: its format (yaml, toml, json), lines with fences, and top-level keys that can be read."""

    format: str
    start_line: int
    end_line: int
    keys: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """One file of a folder: enough to find one's way. `problem` is why it could not be read.

    `broken_links` are there if asked for; `total_broken_links` where there are more than are listed.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class IniKeyEntry:
    """One key of an INI file and its line; `end_line` where its value goes on in other lines."""

    key: str
    line: int
    end_line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IniSectionEntry:
    """One section of an INI file, from its header on; the one before the first header has no `name`.

    Brief entries have neither `section_sha256` nor `keys`.
    """

    name: str | None
    start_line: int
    end_line: int
    section_sha256: str | None = None
    keys: tuple[IniKeyEntry, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """One key or item of a YAML, JSON or TOML file: its address, as edits take it, and its lines.

    `items` counts the entries of a list or map. `sha256` is the hash of its text; brief entries have none.
    """

    key: str
    start_line: int
    end_line: int
    items: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSectionEntry:
    """One section of plain text: from a line that is its `marker`, a name in brackets, to the next one."""

    marker: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentBlockEntry:
    """Successive lines that begin with the comment sign `prefix`."""

    prefix: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatReport(Report):
    """Of `stat`: the structure of one file, or one row a file of a folder or glob; never content.

    `next_cursor` is there when more sections, or rows, follow. Inventories (code blocks and what follows)
    are those of the text of the listed sections; where one was cut at the limit, `inventory_totals` has its
    real number, by its wire name. INI files and plain text have other lists, cut in the same way.

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
