"""What a verb hands back: one shape each, for success and refusal alike.

On the wire names are camelCase, absent values are left out, and every string is valid Unicode.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar

from mdplan.diagnostics import Diagnostic, Severity
from mdplan.plain_text_report import CommentBlockEntry, IniSectionEntry, TextSectionEntry
from mdplan.plan import EditResult, Lines
from mdplan.text.source import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The part that all reports share. `error` is the first of the `diagnostics` that are errors.

    `left_out` says how many entries long lists have lost to keep the report short, by the names of the lists.
    """

    ok: bool
    error: Diagnostic | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """One file of a plan. Line counts are those of the diff.

    A file that is created has no `base_sha256`, one that is deleted no `result_sha256`; `new_file` is what a
    renaming calls it. `references_updated` counts the links in it that were rewritten besides what was asked
    for; a file that is here for them alone was named by no edit.
    """

    file: str
    base_sha256: str | None
    result_sha256: str | None
    changed: bool
    lines_added: int
    lines_removed: int
    new_file: str | None = None
    references_updated: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReport(Report):
    """Of `validate` and `plan`. Nothing was written.

    `accepted` and `rejected` are indexes of the batch that a subset was asked of; the edits of the report are
    counted anew. `file` and `base_sha256` stand for the one file of a batch of one. `diff` is a unified diff;
    `diff_exact` is false where the bytes are not Unicode and it shows them escaped. `stored` says whether
    the plan can be applied by its ID alone.
    """

    plan_id: str | None = None
    stored: bool | None = None
    no_op: bool | None = None
    file: str | None = None
    base_sha256: str | None = None
    files: tuple[FileReport, ...] = ()
    diff: str | None = None
    diff_exact: bool | None = None
    diff_truncated: bool | None = None
    accepted: tuple[int, ...] | None = None
    rejected: tuple[int, ...] | None = None
    edits_applied: int | None = None
    matches_found: int | None = None
    matches_replaced: int | None = None
    excluded_matches: Mapping[str, int] | None = None
    edit_results: tuple[EditResult, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    applied: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What one transaction committed. `committed_at` is in seconds since the epoch.

    `cas` is weak where a late write by others could go unseen; a receipt of an earlier call has none.
    """

    transaction: str
    plan_id: str
    files: tuple[FileReport, ...]
    committed_at: float
    durability: str
    cas: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredTransactions:
    """What recovery did about commits that were cut off.

    `rolled_back` are transactions that were undone, `finished` those that were committed and are cleaned up
    now, `files` the paths that were put back.
    """

    rolled_back: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LineShift:
    """Lines of a base that are still there: what was line n is now line n + `shift`.

    Lines are 1-based and inclusive.
    """

    start_line: int
    end_line: int
    shift: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBlock:
    """Text of whole lines of a result; their numbers are 1-based and inclusive.

    Where context is cut off, the last block may end inside of its last line.
    """

    start_line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenFile:
    """One file that was just written: what the next edit of it needs to know.

    `line_map` says where the lines of the base are now: ranges in order, and lines of the base in none of
    them were replaced or deleted. `context` has the lines around each change as they are now: three before
    and behind it, and the first and last three of its own. Where a report would hold too much of either, the
    later ones are left out, and `line_map_truncated` or `context_truncated` is true.
    """

    file: str
    line_map: tuple[LineShift, ...]
    context: tuple[ContextBlock, ...]
    line_map_truncated: bool | None = None
    context_truncated: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyReport(PlanReport):
    """Of `apply`. `applied` says whether the files now have their result; `receipt` is of the transaction.

    With `rebased` the files had moved on, and the same edits were planned on them anew. `written` is of the
    files that this call changed. `undoable` says whether the history has all that an undo needs, `durable`
    whether the commit would survive a loss of power now. `recovered` is what was found cut off, and mended,
    before.
    """

    already_applied: bool | None = None
    rebased: bool | None = None
    receipt: Receipt | None = None
    undoable: bool | None = None
    durable: bool | None = None
    recovered: RecoveredTransactions | None = None
    written: tuple[WrittenFile, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionEntry:
    """One section. Lines are 1-based and inclusive; `tokens` is an estimate: characters / 4.

    `duplicate_of` is the ID of the first section of the same canonical path. `nested` is true for a heading
    in a quote or list, which delimits nothing. Brief entries have only ID, level, title, canonical path and
    lines; `title`, the heading as rendered, is left out where `heading_path` ends in it.
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
    """Front matter: its format (yaml, toml), lines with fences, and top-level keys where they can be read."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class StatReport(Report):
    """Of `stat`: the structure of one file, or one row a file of a folder or glob; never content.

    `next_cursor` is there when more sections, or rows, follow. Inventories (code blocks and what follows)
    are those of the text of the listed sections; where one was cut at the limit, `inventory_totals` has its
    real number, by its wire name. INI files and plain text have lists of their own, cut in the same way.
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
    tasks: TaskCounts | None = None
    anchors: tuple[AnchorEntry, ...] | None = None
    regions: tuple[RegionEntry, ...] | None = None
    links: LinkCounts | None = None
    ini_sections: tuple[IniSectionEntry, ...] | None = None
    text_sections: tuple[TextSectionEntry, ...] | None = None
    comment_blocks: tuple[CommentBlockEntry, ...] | None = None
    blank_line_groups: tuple[Lines, ...] | None = None
    inventory_totals: Mapping[str, int] | None = None
    trailing_definitions: Lines | None = None
    files: tuple[FileRow, ...] | None = None
    total_files: int | None = None
    next_cursor: str | None = None
    warnings: tuple[Diagnostic, ...] = ()


AnyReport = TypeVar("AnyReport", bound=Report)


def refusal(shape: type[AnyReport], problems: Sequence[Diagnostic]) -> AnyReport:
    """Report of the given `shape` that says no: all `problems`, the first error in front."""
    error = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
    assert error is not None, "a refusal names its error"
    return shape(ok=False, error=error, diagnostics=tuple(problems))


def to_wire(value: object) -> Any:  # noqa: ANN401 (any JSON)
    """`value` as decoded JSON: dataclasses as objects in camelCase without absent fields, enums as values."""
    if isinstance(value, str):
        return visible(str(value)) if not value.isascii() else str(value)
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {to_wire(key): to_wire(item) for key, item in value.items()}
    if is_dataclass(value):
        return {
            _camel(field.name): to_wire(item)
            for field in fields(value)
            if (item := getattr(value, field.name)) is not None and (item != "" or field.name != "hint")
        }
    assert isinstance(value, Sequence), type(value)
    return [to_wire(item) for item in value]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)
