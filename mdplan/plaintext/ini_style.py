"""How the keys of an INI file are written: their indentation, and the sign between name and value."""

from collections.abc import Iterable, Iterator
from typing import Final

from mdplan.plaintext.ini_outline import IniOutline
from mdplan.plaintext.ini_section import IniKey, IniSection

_SEPARATOR: Final = " = "
# So many keys before a new one say how it is written, and whether the signs are below each other.
_NEIGHBOURS: Final = 3


def separator_for(ini: IniOutline, section: IniSection, name: str, indent: str) -> str:
    """The sign after a key `name` of `section` with its white space, as after the last keys there.

    Where their signs are below each other, it is there too, if the name is short enough.
    """
    written = [_separator(ini, key) for key in section.keys[-_NEIGHBOURS:] if key.assignment.separator]
    column = _sign_column(ini, section)
    if column is not None:
        sign = written[-1].lstrip()
        least = min(len(separator) - len(separator.lstrip()) for separator in written)
        return " " * max(column - len(indent) - len(name), min(least, 1)) + sign
    return next(_with_value_first(ini, section.keys[-1 : -_NEIGHBOURS - 1 : -1]), usual_separator(ini))


def indent_for(ini: IniOutline, section: IniSection) -> str:
    """Indentation of a new key after all of `section`: no deeper than its last key, which it would continue.

    It is no less than that of the next header either, which would continue the key.
    """
    if section.keys:
        return _indent(ini, section.keys[-1])
    indent = usual_indent(ini) if section.name is not None else ""
    is_last = section.index + 1 == len(ini.sections)
    return indent if is_last else indent.ljust(ini.sections[section.index + 1].indent)


def usual_separator(ini: IniOutline) -> str:
    """The sign after the first key of the file that has a value; else an equals sign between blanks.

    It is not padded, for the keys around the new one are others.
    """
    separator = next(_with_value_first(ini, ini.first_keys), _SEPARATOR)
    padding = _before_sign(separator)
    return (" " if len(padding) > 1 else padding) + separator[len(padding) :]


def usual_indent(ini: IniOutline) -> str:
    """Indentation of the first key of a section; nothing where there is none."""
    return next((_indent(ini, key) for key in ini.first_keys if ini.sections[key.section].name), "")


def spaced(separator: str) -> str:
    """`separator` for a value after it: with a blank after the sign where one is before it."""
    return separator + " " if separator[0].isspace() and not separator[-1].isspace() else separator


def _with_value_first(ini: IniOutline, keys: Iterable[IniKey]) -> Iterator[str]:
    """What separates `keys`; after a sign without a value the white space may be missing."""
    assigned = [key for key in keys if key.assignment.separator]
    assigned.sort(key=lambda key: not len(key.assignment.value))
    return (_separator(ini, key) for key in assigned)


def _sign_column(ini: IniOutline, section: IniSection) -> int | None:
    """Where in their lines the signs of the last keys are, if that is below each other on purpose."""
    ends: set[int] = set()
    columns: set[int] = set()
    for key in section.keys[-_NEIGHBOURS:]:
        if key.assignment.separator:
            ends.add(key.indent + len(key.name))
            columns.add(key.indent + len(key.name) + len(_before_sign(_separator(ini, key))))
    if len(columns) != 1:
        return None
    (column,) = columns
    return column if len(ends) > 1 or column > max(ends) + 1 else None


def _separator(ini: IniOutline, key: IniKey) -> str:
    assert key.assignment.separator is not None
    return spaced(ini.text_of(key.assignment.separator))


def _before_sign(separator: str) -> str:
    return separator[: len(separator) - len(separator.lstrip())]


def _indent(ini: IniOutline, key: IniKey) -> str:
    start = key.assignment.name.start
    return ini.source.text[start - key.indent : start]
