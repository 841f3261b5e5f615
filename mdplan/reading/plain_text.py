"""The inventory of INI files and plain text: sections, keys, comments and blank lines, never values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypedDict, TypeVar

from mdplan.markdown.outline import Outline, of_source
from mdplan.reports.ini import CommentBlockEntry, IniKeyEntry, IniSectionEntry, TextSectionEntry
from mdplan.text.lines import Lines
from mdplan.text.source import DocumentFormat
from mdplan.text.visible import escape_for_message

# A stat of Markdown, which is most of them, comes by here and needs none of this.
if TYPE_CHECKING:
    from mdplan.data.ini import IniKey, IniOutline


class PlainTextFields(TypedDict, total=False):
    """Fields of `StatReport` that are of INI files and plain text."""

    ini_sections: tuple[IniSectionEntry, ...]
    text_sections: tuple[TextSectionEntry, ...]
    comment_blocks: tuple[CommentBlockEntry, ...]
    blank_line_groups: tuple[Lines, ...]


_Entry = TypeVar("_Entry")


_DATA: Final = frozenset({DocumentFormat.YAML, DocumentFormat.JSON, DocumentFormat.TOML})


def has_keys(outline: Outline) -> bool:
    """Whether the file of `outline` is YAML, JSON or TOML."""
    return outline.format in _DATA


def ini_section_count(outline: Outline) -> int:
    """How many sections an INI file has, with what is before the first one; 0 for other formats."""
    if outline.format is not DocumentFormat.INI:
        return 0
    return len(_ini(outline).sections)


def _ini(outline: Outline) -> "IniOutline":
    from mdplan.data.ini import IniOutline

    return outline.derived(of_source, IniOutline)


def plain_text_fields(
    outline: Outline, limit: int, *, is_full: bool
) -> tuple[PlainTextFields, dict[str, int]]:
    """Fields with at most `limit` entries a list, and the real numbers of those that were cut, by wire name.

    Brief detail has the sections alone, without keys. Markdown has none of it.
    """
    fields, totals = PlainTextFields(), dict[str, int]()

    def cut(name: str, found: Sequence[_Entry]) -> Sequence[_Entry]:
        if len(found) > limit:
            totals[name] = len(found)
        return found[:limit]

    if outline.format is DocumentFormat.MARKDOWN:
        return fields, totals
    from mdplan.text.plain import TextOutline

    text = outline.derived(of_source, TextOutline)
    if outline.format is DocumentFormat.INI:
        fields["ini_sections"] = _ini_sections(outline, limit, totals, is_full=is_full)
    else:
        fields["text_sections"] = tuple(
            TextSectionEntry(
                marker=escape_for_message(section.marker),
                start_line=section.first_line,
                end_line=section.last_line,
            )
            for section in cut("textSections", text.sections)
        )
    if is_full:
        fields["comment_blocks"] = tuple(
            CommentBlockEntry(prefix=block.prefix, start_line=block.first_line, end_line=block.last_line)
            for block in cut("commentBlocks", text.comment_blocks)
        )
        fields["blank_line_groups"] = tuple(
            Lines(start=group.first_line, end=group.last_line)
            for group in cut("blankLineGroups", text.blank_lines)
        )
    return fields, totals


def _ini_sections(
    outline: Outline, limit: int, totals: dict[str, int], *, is_full: bool
) -> tuple[IniSectionEntry, ...]:
    """Sections that have lines; of all their keys together at most `limit`."""
    ini = _ini(outline)
    sections = [section for section in ini.sections if section.last_line >= section.first_line]
    if len(sections) > limit:
        totals["iniSections"] = len(sections)
    key_count = sum(len(section.keys) for section in sections)
    if is_full and key_count > limit:
        totals["iniKeys"] = key_count
    entries: list[IniSectionEntry] = []
    left = limit
    for section in sections[:limit]:
        keys = section.keys[:left]
        left -= len(keys)
        entries.append(
            IniSectionEntry(
                name=None if section.name is None else escape_for_message(section.name),
                start_line=section.first_line,
                end_line=section.last_line,
                section_sha256=ini.section_sha256(section) if is_full else None,
                keys=tuple(map(_key, keys)) if is_full else None,
            )
        )
    return tuple(entries)


def _key(key: "IniKey") -> IniKeyEntry:
    end_line = key.last_line if key.last_line > key.first_line else None
    return IniKeyEntry(key=escape_for_message(key.name), line=key.first_line, end_line=end_line)
