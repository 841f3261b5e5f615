"""INI files as a tree of sections and keys, and changes of them."""

import configparser
from collections.abc import Hashable, Iterator
from typing import Any

from mdplan.data.change import Branch, Inserted, Splice, within
from mdplan.data.node import DataError, Entry, Kind, Node, named
from mdplan.plaintext.ini_edits import add_key, add_section, delete_key, new_key_line, set_value
from mdplan.plaintext.ini_names import key_fault, section_fault, value_fault
from mdplan.plaintext.ini_outline import IniOutline
from mdplan.plaintext.ini_section import IniKey, IniSection
from mdplan.text.edit import TextEdit
from mdplan.text.span import Span


def ini_tree(ini: IniOutline) -> Node:
    """The keys before the first section, and the sections, as one map."""
    root = Node(Kind.MAP, 0, len(ini.source.text))
    for section in ini.sections:
        entries = [_entry_of(ini, key) for key in section.keys]
        named(entries)
        if section.name is None:
            root.entries += entries
            continue
        span = section.span
        inner = Node(Kind.MAP, span.start, max(section.body.end, span.start), entries=entries)
        header = Node(Kind.SCALAR, span.start, ini.source.lines.content_end(section.first_line), section.name)
        root.entries.append(Entry(section.name, header, inner, span.start))
    named(root.entries)
    return root


def _entry_of(ini: IniOutline, key: IniKey) -> Entry:
    place = key.assignment
    end = ini.source.lines.content_end(key.last_line)
    value = Node(Kind.SCALAR, place.value.start, end, key.value)
    name = Node(Kind.SCALAR, place.name.start, place.name.end, key.name)
    return Entry(key.name, name, value, place.name.start)


def ini_edits(ini: IniOutline, branch: Branch) -> list[Splice]:
    """What makes the changes of `branch`. Raises `DataError` where that cannot be done."""
    writer = _IniWriter(ini)
    if not branch.is_inside:
        raise DataError("the whole file is not set as a value")
    writer.edit_root(branch)
    return writer.splices


class _IniWriter:
    """Collects the splices of one file."""

    def __init__(self, ini: IniOutline) -> None:
        self._ini = ini
        self.splices: list[Splice] = []

    def edit_root(self, branch: Branch) -> None:
        """Changes of the sections, and of the keys before them."""
        first = self._ini.sections[0]
        is_top = {key.name for key in first.keys}
        sections = {str(name): each for name, each in branch.inner.items() if name not in is_top}
        own: dict[Hashable, Branch] = {name: each for name, each in branch.inner.items() if name in is_top}
        plain = {name for name, each in sections.items() if not self._is_section(name, each)}
        own |= {name: sections.pop(name) for name in plain}
        has_new = any(not own[name].is_removed and name not in is_top for name in own)
        if has_new and not is_top and len(self._ini.sections) > 1:
            raise DataError("a key of an INI file goes into a section, as in `section.key`")
        tops = [each for each in branch.inserted if not isinstance(each.value, dict)]
        if any(each.source is not None and each.source not in is_top for each in tops):
            raise DataError("sections are not moved")
        self.edit_section(first, Branch(branch.changes, inner=own, inserted=tops))
        for name, each in sections.items():
            found = self._ini.sections_named(name)
            if found:
                self._edit_whole(found[0], each)
            elif not each.is_removed:
                self._add_section(name, each.as_value, each.changes)
        for new in branch.inserted:
            if isinstance(new.value, dict):
                self._add_section(str(new.name), new.value, new.changes)

    def _is_section(self, name: str, branch: Branch) -> bool:
        is_map = branch.is_inside or isinstance(branch.value, dict)
        return is_map or bool(self._ini.sections_named(name))

    def _edit_whole(self, section: IniSection, branch: Branch) -> None:
        lines = self._ini.source.lines
        if branch.name is not None:
            self._check(section_fault(branch.name))
            header = lines.span(section.first_line, section.first_line)
            at = self._ini.source.text.index(f"[{section.name}]", header.start)
            self._add(TextEdit(Span(at + 1, at + 1 + len(section.name or "")), branch.name), branch.changes)
        if branch.is_removed:
            last = lines.line_at(max(section.body.end - 1, section.span.start))
            while last < section.last_line and not lines.content(last + 1).strip():
                last += 1
            self._add(TextEdit.delete(lines.span(section.first_line, last)), branch.changes)
        elif branch.is_inside:
            self.edit_section(section, branch)
        elif isinstance(branch.value, dict):
            old = {key.name: key.value for key in section.keys}
            self.edit_section(section, within(branch.value, old, branch.changes))
        else:
            raise DataError("a section cannot become a value", section.span.start)

    def edit_section(self, section: IniSection, branch: Branch) -> None:
        """Changes of the keys of `section`."""
        keys = {key.name: key for key in section.keys}
        for name, each in branch.inner.items():
            key = keys.get(str(name))
            if key is not None:
                self._edit_key(key, each)
            elif not each.is_removed:
                self._add_key(section, str(name), each.as_value, each.changes)
        for new in branch.inserted:
            self._insert(section, keys, new)

    def _edit_key(self, key: IniKey, branch: Branch) -> None:
        if branch.name is not None:
            self._check(key_fault(branch.name))
            self._add(TextEdit(key.assignment.name, branch.name), branch.changes)
        if branch.is_removed:
            for edit in delete_key(self._ini, key):
                self._add(edit, branch.changes)
        elif not branch.is_inside:
            if key.value != branch.value:
                value = self._text(branch.value)
                for edit in set_value(self._ini, key, value):
                    self._add(edit, branch.changes)
        elif branch.inner or branch.inserted:
            raise DataError("the value of a key of an INI file is text", key.assignment.name.start)

    def _insert(self, section: IniSection, keys: dict[str, IniKey], new: Inserted) -> None:
        if new.source is None and new.place >= len(section.keys):
            self._add_key(section, str(new.name), new.value, new.changes)
            return
        lines = self._ini.source.lines
        if new.source is None:
            self._check(key_fault(str(new.name)))
            line = new_key_line(self._ini, str(new.name), self._text(new.value)) + "\n"
        else:
            key = keys[str(new.source)]
            span = lines.span(key.first_line, key.last_line)
            line = self._ini.text_of(span).rstrip("\r\n") + "\n"
        place = min(new.place, len(section.keys))
        if place < len(section.keys):
            at = lines.start(section.keys[place].first_line)
        else:
            at = lines.end(section.keys[-1].last_line)
            if at == len(self._ini.source.text) and not lines.ending(section.keys[-1].last_line):
                line = "\n" + line.removesuffix("\n")
        self._add(TextEdit.insert(at, line), new.changes)

    def _add_key(self, section: IniSection, name: str, value: object, changes: list[int]) -> None:
        self._check(key_fault(name))
        self._add(add_key(self._ini, section, name, self._text(value)), changes)

    def _add_section(self, name: str, value: object, changes: list[int]) -> None:
        self._check(section_fault(name))
        if not isinstance(value, dict):
            raise DataError("a section of an INI file is a map of keys")
        for key in value:
            self._check(key_fault(str(key)))
        lines = [new_key_line(self._ini, str(key), self._text(each)) for key, each in value.items()]
        self._add(add_section(self._ini, name, lines)[0], changes)

    def _text(self, value: object) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if not isinstance(value, str | int | float):
            raise DataError("a value of an INI file is text, with neither lists nor maps")
        self._check(value_fault(str(value)))
        return str(value)

    def _check(self, fault: str | None) -> None:
        if fault is not None:
            raise DataError(f"the name or value {fault}, so that it would not be read back as it is")

    def _add(self, edit: TextEdit, changes: list[int]) -> None:
        self.splices.append(Splice(edit, tuple(changes)))


def as_configparser(text: str) -> dict[str, Any] | None:
    """What Python's `configparser` reads; None where it refuses the text."""
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, inline_comment_prefixes=("#", ";"), default_section="\0"
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except (configparser.Error, ValueError, AttributeError):
        return None
    return {name: dict(_items(parser, name)) for name in parser.sections()}


def _items(parser: configparser.RawConfigParser, section: str) -> Iterator[tuple[str, str | None]]:
    yield from parser.items(section, raw=True)
