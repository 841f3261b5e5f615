"""Parse INI files into sections and keys, validate names and values, and detect the file's style."""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Final, TypeVar, cast

import msgspec

from mdplan.data import tree
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source, sha256_hex
from mdplan.values import Struct

_Name = TypeVar("_Name")
_Item = TypeVar("_Item")
_SHORT_HASH: Final = 16
_FIRST: Final = 10


class IniAssignment(Struct, kw_only=True):
    """A key and its value. `separator` includes surrounding whitespace; None if missing."""

    name: Span
    separator: Span | None
    value: Span


class IniKey(msgspec.Struct, kw_only=True):
    """A key of the section with the index `section`.

    - `lines`: the 1-based lines of its value: the key's own and continuation lines, with blank lines but not
      comments in between; `parts`: their texts without indentation and comments.
    - `assignment`, `comment`: of the key's own line; `has_comment`: of any of `lines`.
    """

    section: int
    name: str
    assignment: IniAssignment
    indent: int
    lines: list[int]
    parts: list[str]
    comment: Span | None
    has_comment: bool

    @property
    def value(self) -> str | None:
        """Its value as `configparser` reads it: its parts joined by LF; None without separator."""
        has_value = self.assignment.separator is not None or len(self.lines) > 1
        return "\n".join(self.parts).rstrip() if has_value else None

    @property
    def first_line(self) -> int:
        """The line of the key."""
        return self.lines[0]

    @property
    def last_line(self) -> int:
        """The last line of its value."""
        return self.lines[-1]


class IniSection(Struct, kw_only=True):
    """A section. The first of a file has no name: it precedes the first header.

    - `span`: from the header to the next one.
    - `body`: the lines between, without surrounding blank lines and a comment directly above the next header;
      if empty, after the header.
    - Lines are 1-based and inclusive; a section without lines has `last_line` before `first_line`.
    - `indent`: of the header.
    """

    index: int
    name: str | None
    keys: tuple[IniKey, ...]
    span: Span
    body: Span
    first_line: int
    last_line: int
    indent: int


class IniOutline:
    """Sections and keys of a source, in order. Immutable; indexes are built on demand.

    Unlike `configparser`, it accepts keys before the first section and duplicate names. Section names are
    case-sensitive; keys match exactly, then case-insensitively.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.sections: tuple[IniSection, ...] = read_sections(source)

    def every_key(self) -> Iterator[IniKey]:
        """Yield the keys of all sections, in order."""
        for section in self.sections:
            yield from section.keys

    def text_of(self, span: Span) -> str:
        """Return the text of `span`."""
        return self.source.text[span.start : span.end]

    def sections_named(self, name: str | None) -> tuple[IniSection, ...]:
        """Return the sections called `name`; None for the text before the first header."""
        return self._by_name.get(name, ())

    def keys_named(self, section: str | None, key: str) -> tuple[IniKey, ...]:
        """Return the keys called `key` in all sections called `section`."""
        return self._by_key.get((section, key)) or self._by_folded_key.get((section, key.lower()), ())

    def section_sha256(self, section: IniSection) -> str:
        """Return the first 16 hex digits of the SHA-256 of the section's bytes."""
        return self._digest(section)[:_SHORT_HASH]

    def has_sha256(self, section: IniSection, expected: str) -> bool:
        """Return True if the section's SHA-256 starts with the hex digits `expected`."""
        return self._digest(section).startswith(expected.lower())

    @cached_property
    def root(self) -> tree.Node:
        """The keys before the first section, and the sections, as one map."""
        tree.check_count(sum(1 + len(section.keys) for section in self.sections))
        root = tree.Node(tree.Kind.MAP, 0, len(self.source.text))
        for section in self.sections:
            entries = list(map(self._entry_of, section.keys))
            tree.named(entries)
            if section.name is None:
                root.entries += entries
                continue
            span, end = section.span, self.source.lines.content_end(section.first_line)
            inner = tree.Node(tree.Kind.MAP, span.start, max(section.body.end, span.start), entries=entries)
            header = tree.Node(tree.Kind.SCALAR, span.start, end, section.name)
            root.entries.append(tree.Entry(section.name, header, inner, span.start))
        tree.named(root.entries)
        return root

    def _entry_of(self, key: IniKey) -> tree.Entry:
        place = key.assignment
        end = self.source.lines.content_end(key.last_line)
        value = tree.Node(tree.Kind.SCALAR, place.value.start, end, key.value)
        name = tree.Node(tree.Kind.SCALAR, place.name.start, place.name.end, key.name)
        return tree.Entry(key.name, name, value, place.name.start)

    @cached_property
    def by_path(self) -> dict[tuple[Hashable, ...], IniSection | IniKey]:
        """The sections and keys by their path in the tree; the empty one is before the first section."""
        # The tree has the order of the file.
        top, *sections = self.sections
        count, entries = len(top.keys), self.root.entries
        places: dict[tuple[Hashable, ...], IniSection | IniKey] = {(): top}
        places |= {(each.name,): key for each, key in zip(entries[:count], top.keys, strict=True)}
        for entry, section in zip(entries[count:], sections, strict=True):
            places[entry.name,] = section
            inner = zip(entry.node.entries, section.keys, strict=True)
            places |= {(entry.name, each.name): key for each, key in inner}
        return places

    @cached_property
    def _paths(self) -> dict[int, tree.Path]:
        return {id(place): cast("tree.Path", path) for path, place in self.by_path.items()}

    def path_of(self, place: IniSection | IniKey) -> tree.Path:
        """Return the path of `place` in the tree."""
        return self._paths[id(place)]

    def keys_of(self, section: IniSection) -> dict[Hashable, IniKey]:
        """Return the keys of `section` by their names in the tree."""
        return {self.path_of(key)[-1]: key for key in section.keys}

    @cached_property
    def first_keys(self) -> tuple[IniKey, ...]:
        """The first key of each of the first sections with keys: a sample of the file's style."""
        return tuple(islice((section.keys[0] for section in self.sections if section.keys), _FIRST))

    @property
    def section_names(self) -> Collection[str | None]:
        """Section names, deduplicated; None for the text before the first header."""
        return self._by_name.keys()

    def key_names(self, section: str | None) -> Collection[str]:
        """Return the names of the keys of all sections called `section`, deduplicated."""
        return dict.fromkeys(key.name for each in self.sections_named(section) for key in each.keys)

    @cached_property
    def _by_name(self) -> dict[str | None, tuple[IniSection, ...]]:
        return _grouped((section.name, section) for section in self.sections)

    @cached_property
    def _by_key(self) -> dict[tuple[str | None, str], tuple[IniKey, ...]]:
        return _grouped(((self.sections[key.section].name, key.name), key) for key in self.every_key())

    @cached_property
    def _by_folded_key(self) -> dict[tuple[str | None, str], tuple[IniKey, ...]]:
        return _grouped(
            ((self.sections[key.section].name, key.name.lower()), key) for key in self.every_key()
        )

    def _digest(self, section: IniSection) -> str:
        return sha256_hex(self.source.bytes_of(section.span))


def _grouped(items: Iterable[tuple[_Name, _Item]]) -> dict[_Name, tuple[_Item, ...]]:
    """Group `items` by name."""
    groups: defaultdict[_Name, list[_Item]] = defaultdict(list)
    for name, item in items:
        groups[name].append(item)
    return {name: tuple(group) for name, group in groups.items()}


# --- Reading sections and keys, by the rules of Python's `configparser` with inline comments and keys without
# value: a line indented deeper than the key before it continues the value, also after blank lines and
# comments.


def read_sections(source: Source) -> tuple[IniSection, ...]:
    """Parse the sections of `source`; the first is the text before all headers.

    Lines that are neither header nor key stay in their section and cannot be continued.
    """
    lines, text = source.lines, source.text
    read = [read_line(lines.content(line), lines.start(line)) for line in range(1, lines.count + 1)]
    headers: list[tuple[int, str | None, int]] = [(1, None, 0)]
    keys: list[list[IniKey]] = [[]]
    key: IniKey | None = None
    blanks: list[int] = []
    for number, line in enumerate(read, start=1):
        content = text[line.text.start : line.text.end]
        if not content:
            blanks += [number] if line.is_blank else []
        elif key is not None and line.indent > key.indent:
            key.parts += [*[""] * len(blanks), content]
            key.lines += [*blanks, number]
            key.has_comment |= line.comment is not None
            blanks = []
        elif (name := header_name(content)) is not None:
            headers.append((number, name, line.indent))
            keys.append([])
            key = None
        else:
            key = _new_key(text, content, line, number, len(keys) - 1)
            keys[-1] += [key] if key is not None else []
            blanks = []
    ends = [*(number for number, _, _ in headers[1:]), lines.count + 1]
    return tuple(
        IniSection(
            index=index,
            name=name,
            keys=tuple(keys[index]),
            span=Span(lines.start(first), lines.start(end)),
            body=_body(lines, read, index, range(first, end), len(headers)),
            first_line=first,
            last_line=end - 1,
            indent=indent,
        )
        for index, ((first, name, indent), end) in enumerate(zip(headers, ends, strict=True))
    )


class IniLine(Struct, kw_only=True):
    """A line of an INI file; spans are offsets in the whole text.

    `text` excludes indentation, comment and the whitespace before it; empty for blank lines and comments.
    `indent` counts characters. `comment` extends to the end of the line.
    """

    text: Span
    indent: int
    comment: Span | None

    @property
    def is_blank(self) -> bool:
        """True if it is empty."""
        return not len(self.text) and self.comment is None

    @property
    def is_comment(self) -> bool:
        """True if it is only a comment."""
        return not len(self.text) and self.comment is not None


def _new_key(text: str, content: str, line: IniLine, number: int, section: int) -> IniKey | None:
    assignment = read_assignment(content, line.text.start)
    if assignment is None:
        return None
    name, value = (text[span.start : span.end] for span in (assignment.name, assignment.value))
    return IniKey(
        section=section,
        name=name,
        assignment=assignment,
        indent=line.indent,
        lines=[number],
        parts=[value],
        comment=line.comment,
        has_comment=line.comment is not None,
    )


def _body(lines: LineIndex, read: Sequence[IniLine], index: int, own: range, section_count: int) -> Span:
    """Return the body of section `index` with the lines `own`, without surrounding blank lines."""
    first, end = own.start + (index > 0), own.stop
    if index + 1 < section_count:
        # A comment directly above the next header belongs to that section.
        while end > first and read[end - 2].is_comment:
            end -= 1
    while end > first and read[end - 2].is_blank:
        end -= 1
    while first < end and read[first - 1].is_blank:
        first += 1
    if first >= end:
        first = end = own.start + (index > 0)
    return Span(lines.start(first), lines.start(end))


# --- Reading one line like Python's `configparser`: comments start at ``;`` or ``#``, at the line start or
# after whitespace. A header is ``[name]``; a key ends at the first ``=`` or ``:``, and without either has no
# value.

_COMMENT: Final = lazy_pattern(r"(?:\A|(?<=\s))[;#]")
_HEADER: Final = lazy_pattern(r"\[(.+)\]")
_SEPARATOR: Final = lazy_pattern(r"[=:]")


def read_line(content: str, start: int) -> IniLine:
    """Parse the line `content`, which starts at offset `start`."""
    comment = _COMMENT.search(content)
    behind = content[: comment.start()] if comment else content
    text = behind.strip()
    indent = len(behind) - len(behind.lstrip())
    first = start + indent if text else start
    return IniLine(
        text=Span(first, first + len(text)),
        indent=indent,
        comment=Span(start + comment.start(), start + len(content)) if comment else None,
    )


def header_name(text: str) -> str | None:
    """Return the name in the section header `text`, up to the last bracket; else None."""
    header = _HEADER.match(text)
    return header[1] if header else None


def read_assignment(text: str, start: int) -> IniAssignment | None:
    """Parse the key and value in `text`, which starts at offset `start`; None without a name."""
    sign = _SEPARATOR.search(text)
    if sign is None:
        end = start + len(text)
        return IniAssignment(name=Span(start, end), separator=None, value=Span(end, end))
    name = text[: sign.start()].rstrip()
    if not name:
        return None
    value = text[sign.end() :].lstrip()
    value_start = start + len(text) - len(value)
    return IniAssignment(
        name=Span(start, start + len(name)),
        separator=Span(start + len(name), value_start),
        value=Span(value_start, start + len(text)),
    )


def has_comment(text: str) -> bool:
    """Return True if `text` contains a comment when it follows whitespace."""
    return _COMMENT.search(text) is not None


# --- Checks that names and values read back as written


def section_fault(name: str) -> str | None:
    """Return why `name` cannot be a section name, as the end of a sentence; None if it can."""
    if "[" in name or "]" in name:
        return "has a bracket in it"
    return _edge_fault(name) or ("has a comment sign in it" if has_comment(f"[{name}]") else None)


def key_fault(name: str) -> str | None:
    """Return why `name` cannot be a key, as the end of a sentence; None if it can."""
    if name.startswith("["):
        return "begins with a bracket, as a section does"
    if _SEPARATOR.search(name):
        return "has a sign in it that ends it: `=` or `:`"
    return _edge_fault(name) or ("has a comment sign in it" if has_comment(name) else None)


def value_fault(value: str) -> str | None:
    """Return why `value` cannot be written; None if it can."""
    if not value:
        return None
    if has_comment(value):
        return "has `;` or `#` at its start or after white space, where a comment begins"
    return _edge_fault(value)


def _edge_fault(text: str) -> str | None:
    if not text.strip():
        return "is blank"
    if "\n" in text or "\r" in text:
        return "has a line break"
    return "has white space at its edges" if text != text.strip() else None


# --- The style of keys: indentation and separator

_DEFAULT_SEPARATOR: Final = " = "

# How many keys before a new one determine its style and alignment.
_NEIGHBOURS: Final = 3


def separator_for(ini: IniOutline, section: IniSection, name: str, indent: str) -> str:
    """Return the separator of a new key `name`, with whitespace like the last keys of `section`.

    It is aligned if theirs are and the name is short enough.
    """
    written = [_separator(ini, key) for key in section.keys[-_NEIGHBOURS:] if key.assignment.separator]
    column = _sign_column(ini, section)
    if column is not None:
        sign = written[-1].lstrip()
        least = min(len(separator) - len(separator.lstrip()) for separator in written)
        return " " * max(column - len(indent) - len(name), min(least, 1)) + sign
    return next(_with_value_first(ini, section.keys[-1 : -_NEIGHBOURS - 1 : -1]), usual_separator(ini))


def indent_for(ini: IniOutline, section: IniSection) -> str:
    """Return the indentation of a new last key of `section`.

    It is at most that of the key before, and at least that of the next header; otherwise one would continue
    the other's value.
    """
    if section.keys:
        return _indent(ini, section.keys[-1])
    indent = usual_indent(ini) if section.name is not None else ""
    is_last = section.index + 1 == len(ini.sections)
    return indent if is_last else indent.ljust(ini.sections[section.index + 1].indent)


def usual_separator(ini: IniOutline) -> str:
    """Return the separator of the first key with a value, or an equals sign with spaces.

    Alignment padding is dropped: the new key has other neighbours.
    """
    separator = next(_with_value_first(ini, ini.first_keys), _DEFAULT_SEPARATOR)
    padding = _before_sign(separator)
    return (" " if len(padding) > 1 else padding) + separator[len(padding) :]


def usual_indent(ini: IniOutline) -> str:
    """Return the indentation of the first key in a section."""
    return next((_indent(ini, key) for key in ini.first_keys if ini.sections[key.section].name), "")


def spaced(separator: str) -> str:
    """Return `separator` with a space after the sign if there is one before it."""
    return separator + " " if separator[0].isspace() and not separator[-1].isspace() else separator


def _with_value_first(ini: IniOutline, keys: Iterable[IniKey]) -> Iterator[str]:
    """Yield the separators of `keys`, keys with a value first: others may lack trailing whitespace."""
    assigned = [key for key in keys if key.assignment.separator]
    assigned.sort(key=lambda key: not len(key.assignment.value))
    return (_separator(ini, key) for key in assigned)


def _sign_column(ini: IniOutline, section: IniSection) -> int | None:
    """Return the column of the separators of the last keys, if they are deliberately aligned."""
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


def looks_like_ini(text: str) -> bool:
    """Return True if `text` consists of headers, keys with ``=`` and comments, with a key in a section.

    Indented lines are ignored. Colons, common in prose, do not count as separators, nor brackets in headers:
    lists and TOML arrays of tables are not INI.
    """
    if "[" not in text or "=" not in text:
        return False
    lines = LineIndex(text)
    has_header = has_key = False
    for line in range(1, lines.count + 1):
        content = lines.content(line)
        read = read_line(content, 0)
        own = content[read.text.start : read.text.end]
        if not own or read.indent:
            has_key |= has_header and "=" in own
            continue
        name = header_name(own) if own[0] == "[" else None
        if name is not None and own == f"[{name}]" and not {"[", "]"} & set(name):
            has_header = True
        elif own[0] not in "[=" and "=" in own:
            has_key |= has_header
        else:
            return False
    return has_key
