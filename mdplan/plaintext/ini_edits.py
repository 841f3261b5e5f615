"""Edits of the sections and keys of an INI file, in the style of what is there."""

from collections.abc import Sequence

from mdplan.plaintext.ini_line import read_line
from mdplan.plaintext.ini_outline import IniOutline
from mdplan.plaintext.ini_section import IniKey, IniSection
from mdplan.plaintext.ini_style import indent_for, separator_for, spaced, usual_indent, usual_separator
from mdplan.text.diff import delete_lines, insert_lines, replace_lines
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span


def set_value(ini: IniOutline, key: IniKey, value: str) -> tuple[TextEdit, ...]:
    """Edits that make `value` the value of `key`; the lines that continue the old one go.

    Its inline comment stays, and so do comments between the lines. No edit is without width, so that a key
    that is added after this one stays after it.
    """
    place, lines = key.assignment, ini.source.lines
    if place.separator is None:
        separator = separator_for(ini, ini.sections[key.section], key.name, " " * key.indent)
        new = TextEdit(place.name, _assigned(key.name, separator, value))
    elif len(place.value):
        new = TextEdit(place.value, value)
    else:
        empty = Span(place.separator.start, lines.content_end(key.first_line))
        new = TextEdit(empty, spaced(ini.text_of(empty)) + value)
    return (new, *delete_lines(ini.source, key.lines[1:]))


def delete_key(ini: IniOutline, key: IniKey) -> tuple[TextEdit, ...]:
    """Edits that delete `key`; comments and blank lines between the lines of its value stay."""
    return delete_lines(ini.source, key.lines)


def add_key(ini: IniOutline, section: IniSection, name: str, value: str) -> TextEdit:
    """Insertion of a key after the last one of `section`; after its comments where it has none."""
    lines = ini.source.lines
    indent = indent_for(ini, section)
    line = indent + _assigned(name, separator_for(ini, section, name, indent), value)
    if section.keys:
        return insert_lines(ini.source, lines.end(section.keys[-1].last_line), [line])
    is_preamble = section.name is None
    return insert_lines(
        ini.source, section.body.end, [line], blank_before=is_preamble, blank_after=is_preamble
    )


def add_section(ini: IniOutline, name: str, lines: Sequence[str]) -> TextEdit:
    """Insertion of a section with the lines `lines` at the end of the file."""
    return insert_lines(ini.source, len(ini.source.text), [f"[{name}]", *lines], blank_before=True)


def new_key_line(ini: IniOutline, name: str, value: str) -> str:
    """The line of a key in a section that is new."""
    return usual_indent(ini) + _assigned(name, usual_separator(ini), value)


def replace_body(ini: IniOutline, section: IniSection, lines: Sequence[str]) -> tuple[TextEdit, ...]:
    """Edits that put `lines` in place of the body of `section`.

    A comment at their end is kept apart from what follows, for it would tell of the next section.
    """
    source, end = ini.source, section.body.end
    line = source.lines.line_at(end)
    if end < len(source.text) and source.lines.content(line).strip() and read_line(lines[-1], 0).is_comment:
        lines = [*lines, ""]
    if not len(section.body):
        return (insert_lines(source, end, lines),)
    first, last = source.lines.line_at(section.body.start), source.lines.line_at(end - 1)
    return replace_lines(source, first, last, lines)


def _assigned(name: str, separator: str, value: str) -> str:
    return name + (separator + value if value else separator.rstrip())
