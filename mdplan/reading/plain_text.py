"""List the sections, keys, comments and blank lines of INI files and plain text, never values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mdplan.markdown.outline import Outline, of_source
from mdplan.reports import stat
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Lines
from mdplan.text.source import DocumentFormat, Source, visible
from mdplan.text.visible import shortened

# Not needed for Markdown, the usual case.
if TYPE_CHECKING:
    from mdplan.data.ini import IniKey, IniOutline


_Entry = TypeVar("_Entry")
_DATA: Final = frozenset({DocumentFormat.YAML, DocumentFormat.JSON, DocumentFormat.TOML})


def has_keys(outline: Outline) -> bool:
    """Return True if the file of `outline` is YAML, JSON or TOML."""
    return outline.format in _DATA


def ini_section_count(outline: Outline) -> int:
    """Count the sections of an INI file, including the text before the first; 0 for other formats."""
    if outline.format is not DocumentFormat.INI:
        return 0
    return len(_ini(outline).sections)


def _ini(outline: Outline) -> "IniOutline":
    from mdplan.data.ini import IniOutline

    return outline.derived(of_source, IniOutline)


def plain_text_fields(
    outline: Outline, limit: int, *, is_full: bool
) -> tuple[dict[str, Any], dict[str, int]]:
    """Return fields of `StatReport`, limited to `limit` entries, and full lengths by wire name.

    Brief detail has only sections, without keys. Markdown has none of these fields.
    """
    fields: dict[str, Any] = {}
    totals: dict[str, int] = {}

    def cut(name: str, entries: Sequence[_Entry]) -> Sequence[_Entry]:
        if len(entries) > limit:
            totals[name] = len(entries)
        return entries[:limit]

    if outline.format is DocumentFormat.MARKDOWN:
        return fields, totals
    text = outline.derived(of_source, TextOutline)
    if outline.format is DocumentFormat.INI:
        fields["ini_sections"] = _ini_sections(outline, limit, totals, is_full=is_full)
    else:
        fields["text_sections"] = tuple(
            stat.TextSectionEntry(marker=shortened(marker), start_line=first, end_line=last)
            for marker, first, last in cut("textSections", text.sections)
        )
    if is_full:
        fields["comment_blocks"] = tuple(
            stat.CommentBlockEntry(prefix=prefix, start_line=first, end_line=last)
            for prefix, first, last in cut("commentBlocks", text.comment_blocks)
        )
        fields["blank_line_groups"] = tuple(
            Lines(start=first, end=last) for first, last in cut("blankLineGroups", text.blank_lines)
        )
    return fields, totals


def _ini_sections(
    outline: Outline, limit: int, totals: dict[str, int], *, is_full: bool
) -> tuple[stat.IniSectionEntry, ...]:
    """List non-empty sections, with at most `limit` keys in total."""
    ini = _ini(outline)
    sections = [section for section in ini.sections if section.last_line >= section.first_line]
    if len(sections) > limit:
        totals["iniSections"] = len(sections)
    key_count = sum(len(section.keys) for section in sections)
    if is_full and key_count > limit:
        totals["iniKeys"] = key_count
    entries: list[stat.IniSectionEntry] = []
    left = limit
    for section in sections[:limit]:
        keys = section.keys[:left]
        left -= len(keys)
        entries.append(
            stat.IniSectionEntry(
                name=None if section.name is None else shortened(section.name),
                start_line=section.first_line,
                end_line=section.last_line,
                section_sha256=ini.section_sha256(section) if is_full else None,
                keys=tuple(map(_key, keys)) if is_full else None,
            )
        )
    return tuple(entries)


def _key(key: "IniKey") -> stat.IniKeyEntry:
    end_line = key.last_line if key.last_line > key.first_line else None
    return stat.IniKeyEntry(key=shortened(key.name), line=key.first_line, end_line=end_line)


# --- Plain text: sections by marker lines, comment blocks, blank lines

_MARKER: Final = lazy_pattern(r"\[[^\[\]]+\](?=[ \t]*(?:\Z|[;#]))")

# Two dashes start a comment in some languages, but a row of dashes is a rule.
_COMMENT: Final = lazy_pattern(r"[ \t]*(#|;|//|--(?=[ \t]))")


class TextOutline:
    """The parts of a plain text, in order, each with its first and last line, 1-based and inclusive.

    - `sections`: from a bracketed name to the line before the next; with the name.
    - `comment_blocks`: successive lines with the same comment marker, possibly indented; with the marker.
    - `blank_lines`: successive blank lines.
    """

    def __init__(self, source: Source) -> None:
        lines, numbers = source.lines, range(1, source.lines.count + 1)
        markers = [(line, marker[0]) for line in numbers if (marker := _MARKER.match(lines.content(line)))]
        self.sections = [
            (marker, line, following - 1)
            for (line, marker), (following, _) in pairwise([*markers, (lines.count + 1, "")])
        ]
        self.comment_blocks: list[tuple[str, int, int]] = []
        self.blank_lines: list[tuple[int, int]] = []
        for kind, run in groupby(numbers, lambda line: _kind(lines.content(line))):
            first, *others = run
            last = others[-1] if others else first
            if kind:
                self.comment_blocks.append((kind, first, last))
            elif kind is not None:
                self.blank_lines.append((first, last))


def _kind(line: str) -> str | None:
    """Return the comment marker of `line`, an empty string for a blank line, else None."""
    comment = _COMMENT.match(line)
    if comment is not None:
        return comment[1]
    return None if line.strip(" \t") else ""


# --- The inventory as text


def plain_text_lines(report: stat.StatReport) -> Iterator[str]:
    """Yield the INI sections, keys, marked sections, comments and blank lines of `report` as text."""
    totals = report.inventory_totals or {}
    is_full = report.detail == "full"
    if report.ini_sections:
        columns = "lines [section]" + (" sectionSha256: keys" if is_full else "")
        yield f"{_shown(report.ini_sections, totals.get('iniSections'))} INI sections: {columns}"
        yield from map(_ini_section, report.ini_sections)
        yield from _total(totals, "iniKeys", "keys")
    if report.keys is not None:
        columns = "lines key (entries)" + (" sha256" if is_full else "")
        yield f"{_shown(report.keys, totals.get('keys'))} keys: {columns}"
        yield from key_lines(report.keys)
    for section in report.text_sections or ():
        yield f"section {_lines(section.start_line, section.end_line)} {section.marker}"
    yield from _total(totals, "textSections", "sections")
    if report.comment_blocks:
        blocks = (f"{_lines(each.start_line, each.end_line)} {each.prefix}" for each in report.comment_blocks)
        yield f"comments: {', '.join(blocks)}"
    yield from _total(totals, "commentBlocks", "comments")
    if report.blank_line_groups:
        groups = (_lines(each.start, each.end) for each in report.blank_line_groups)
        yield f"blank lines: {', '.join(groups)}"
    yield from _total(totals, "blankLineGroups", "groups of blank lines")


def key_lines(keys: Iterable[stat.KeyEntry]) -> Iterator[str]:
    """Yield a line for each key: its lines, address, and number of entries."""
    for each in keys:
        items = "" if each.items is None else f" ({each.items})"
        sha256 = f" {each.sha256}" if each.sha256 else ""
        yield f"{_lines(each.start_line, each.end_line)} {visible(each.key)}{items}{sha256}"


def _ini_section(section: stat.IniSectionEntry) -> str:
    name = "(before the first section)" if section.name is None else f"[{section.name}]"
    parts = [_lines(section.start_line, section.end_line), name]
    parts += [section.section_sha256] if section.section_sha256 else []
    keys = [f"{key.key} {_lines(key.line, key.end_line or key.line)}" for key in section.keys or ()]
    return " ".join(parts) + (f": {', '.join(keys)}" if keys else "")


def _shown(entries: Sequence[object], total: int | None) -> str:
    """Return a count: ``7``, or ``5 of 7`` if truncated."""
    return str(len(entries)) if total is None else f"{len(entries)} of {total}"


def _lines(start: int, end: int) -> str:
    return str(start) if start == end else f"{start}-{end}"


def _total(totals: Mapping[str, int], name: str, noun: str) -> Iterator[str]:
    if name in totals:
        yield f"{noun}: {totals[name]} in all"
