"""Edit INI files: sections and keys as a tree, addresses, and splices."""

import configparser
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from mdplan.data import tree
from mdplan.data.address import Found, GivenKey, shown, steps_of
from mdplan.data.ini import (
    IniKey,
    IniOutline,
    IniSection,
    indent_for,
    key_fault,
    read_line,
    read_sections,
    section_fault,
    separator_for,
    spaced,
    usual_indent,
    usual_separator,
    value_fault,
)
from mdplan.diagnostics import Candidate, Code
from mdplan.text.diff import delete_lines, insert_lines, replace_lines
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Span, text_range, to_lf
from mdplan.text.source import Source
from mdplan.text.visible import first_few, nearest_names
from mdplan.values import Struct
from mdplan.words import say

# `configparser`'s section for the keys before the first header.
_TOP: Final = "\x01"

# A section name (None before the first header) and a key (None for the section itself).
_Reading = tuple[str | None, str | None]


class IniAddress(Struct):
    """A section or key as a caller names it.

    With `section` (empty before the first header), `key` is one name, or None for the section itself.
    `occurrence` selects a duplicate.
    """

    key: GivenKey | None
    section: str | None = None
    occurrence: int | None = None


def find_in_ini(ini: IniOutline, address: IniAddress, *, is_new: bool) -> Found:
    """Find the target of `address`; with `is_new`, its key or section may be missing.

    Section names are case-sensitive, with or without brackets; keys match exactly, then case-insensitively.
    Raise INVALID_ARGUMENT, KEY_NOT_FOUND, SECTION_NOT_FOUND or AMBIGUOUS_HEADING.
    """
    given, occurrence = address.key, address.occurrence
    if address.section is not None:
        name = section_name(ini, address.section or None)
        readings: list[_Reading] = [(name, None if given is None else str(given))]
    else:
        assert given is not None, "a section or a key is named"
        names = [step for step in steps_of(given) if isinstance(step, str)]
        if len(names) < len(steps_of(given)):
            raise Code.INVALID_ARGUMENT.refused("an INI file has no lists", "name a key as in `section.key`")
        if not names:
            return Found(())
        readings = list(_readings(ini, names, is_dotted=isinstance(given, str) and given[:1] != "/"))
    there = [each for each in readings if _is_there(ini, *each)]
    if len(there) > 1:
        spelled = " or ".join(f"`{shown([name for name in each if name is not None])}`" for each in there)
        raise Code.INVALID_ARGUMENT.refused(
            f"the key could mean {spelled}", "send an array of section and key"
        )
    name, key = there[0] if there else _missing(ini, readings)
    if is_new and not there and name is None and address.section is None and key is not None:
        own = [each for each in ini.section_names if each is not None and ini.keys_named(each, key)]
        if own:
            meant = " or ".join(f"`{shown([each, key])}`" for each in own)
            raise Code.KEY_NOT_FOUND.refused(
                f"no `{key}` is before the first section", f"name the section: {meant}"
            )
    missing = (key,) if key is not None and is_new and not there else ()
    if missing and name is not None and not ini.sections_named(name) and occurrence in {None, 1}:
        return Found((), (name, *missing))
    place = (
        find_section(ini, name, occurrence)
        if missing or key is None
        else find_ini_key(ini, name, key, occurrence)
    )
    return Found(ini.path_of(place), missing)


def _readings(ini: IniOutline, names: Sequence[str], *, is_dotted: bool) -> Iterator[_Reading]:
    """Yield the possible meanings of `names`; with `is_dotted`, dots may be part of names."""
    if len(names) == 1:
        yield from ((None, names[0]), (section_name(ini, names[0]), None))
    elif not is_dotted:
        yield section_name(ini, names[0]), ".".join(names[1:])
    else:
        yield None, ".".join(names)
        for length in range(len(names) - 1, 0, -1):
            yield ".".join(names[:length]), ".".join(names[length:])
        yield ".".join(names), None


def _is_there(ini: IniOutline, section: str | None, key: str | None) -> bool:
    return bool(ini.sections_named(section) if key is None else ini.keys_named(section, key))


def _missing(ini: IniOutline, readings: Sequence[_Reading]) -> _Reading:
    """Return the reading for a missing key, preferably in an existing section."""
    keys = [each for each in readings if each[1] is not None] or readings
    in_sections = [each for each in keys if each[0] is not None]
    return next((each for each in in_sections if ini.sections_named(each[0])), (in_sections or keys)[0])


def ini_edits(ini: IniOutline, branch: tree.ChangeTree) -> list[tree.Splice]:
    """Return splices that make the changes of `branch`. Raise `DataError` if impossible."""
    writer = _IniWriter(ini)
    writer.edit_root(branch)
    return writer.splices


class _IniWriter:
    """Collect the splices of one file."""

    def __init__(self, ini: IniOutline) -> None:
        self._ini = ini
        self.splices: list[tree.Splice] = []

    def edit_root(self, branch: tree.ChangeTree) -> None:
        """Edit the sections and the keys before them."""
        places = {name: self._ini.by_path.get((name,)) for name in branch.inner}
        sections = {
            name: each
            for name, each in branch.inner.items()
            if isinstance(places[name], IniSection)
            or (places[name] is None and (each.is_inside or isinstance(each.value, dict)))
        }
        own = {name: each for name, each in branch.inner.items() if name not in sections}
        tops = [each for each in branch.inserted if not isinstance(each.value, dict)]
        first = self._ini.sections[0]
        if any(each.source is not None and each.source not in self._ini.keys_of(first) for each in tops):
            raise tree.DataError("sections are not moved")
        self._edit_section(first, tree.ChangeTree(branch.changes, inner=own, inserted=tops))
        for name, each in sections.items():
            section = places[name]
            if isinstance(section, IniSection):
                self._edit_whole(section, each)
        # New sections go to the end of the file, after the keys of the last section.
        for name, each in sections.items():
            if places[name] is None:
                self._add_section(str(name), each.as_value, each.changes)
        for new in branch.inserted:
            if isinstance(new.value, dict):
                self._add_section(str(new.name), new.value, new.changes)

    def _edit_whole(self, section: IniSection, branch: tree.ChangeTree) -> None:
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
            self._edit_section(section, branch)
        elif isinstance(branch.value, dict):
            old = {name: key.value for name, key in self._ini.keys_of(section).items()}
            self._edit_section(section, tree.map_changes(branch.value, old, branch.changes))
        else:
            raise tree.DataError("a section cannot become a value", section.span.start)

    def _edit_section(self, section: IniSection, branch: tree.ChangeTree) -> None:
        """Edit the keys of `section`."""
        keys = self._ini.keys_of(section)
        for name, each in branch.inner.items():
            key = keys.get(name)
            if key is not None:
                self._edit_key(key, each)
            elif not each.is_removed:
                self._add_key(section, str(name), each.as_value, each.changes)
        for new in branch.inserted:
            self._insert(section, keys, new)

    def _edit_key(self, key: IniKey, branch: tree.ChangeTree) -> None:
        if branch.name is not None:
            self._check(key_fault(branch.name))
            self._add(TextEdit(key.assignment.name, branch.name), branch.changes)
        if branch.is_removed:
            for edit in delete_lines(self._ini.source, key.lines):
                self._add(edit, branch.changes)
        elif not branch.is_inside:
            if key.value != branch.value:
                for edit in _set_value(self._ini, key, self._text(branch.value)):
                    self._add(edit, branch.changes)
        elif branch.inner or branch.inserted:
            raise tree.DataError("the value of a key of an INI file is text", key.assignment.name.start)

    def _insert(self, section: IniSection, keys: Mapping[Hashable, IniKey], new: tree.NewItem) -> None:
        if new.source is None and new.place >= len(section.keys):
            self._add_key(section, str(new.name), new.value, new.changes)
            return
        lines = self._ini.source.lines
        if new.source is None:
            self._check(key_fault(str(new.name)))
            line = _new_key_line(self._ini, str(new.name), self._text(new.value)) + "\n"
        else:
            key = keys[new.source]
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
        self._add(_add_key(self._ini, section, name, self._text(value)), changes)

    def _add_section(self, name: str, value: object, changes: list[int]) -> None:
        self._check(section_fault(name))
        if not isinstance(value, dict):
            raise tree.DataError("a section of an INI file is a map of keys")
        for key in value:
            self._check(key_fault(str(key)))
        lines = [_new_key_line(self._ini, str(key), self._text(each)) for key, each in value.items()]
        self._add(add_section(self._ini, name, lines), changes)

    def _text(self, value: object) -> str:
        if not isinstance(value, str | int | float):
            raise tree.DataError("a value of an INI file is text, with neither lists nor maps")
        text = tree.plain_text(value)
        self._check(value_fault(text))
        return text

    def _check(self, fault: str | None) -> None:
        if fault is not None:
            raise tree.DataError(f"the name or value {fault}, so that it would not be read back as it is")

    def _add(self, edit: TextEdit, changes: list[int]) -> None:
        self.splices.append(tree.Splice(edit, tuple(changes)))


def named_values(values: Mapping[Hashable, Any]) -> list[Any]:
    """Return names and values of an INI file as lists; keys before the first section come first."""
    pairs = [[_name(name), value] for name, value in values.items()]
    pairs.sort(key=lambda pair: isinstance(pair[1], dict))
    return [[name, named_values(value) if isinstance(value, dict) else value] for name, value in pairs]


def _name(name: object) -> str:
    return name.text if isinstance(name, tree.Unnamed) else str(name)


def count_twins(ini: IniOutline) -> int:
    """Count the keys that equal an earlier key of their section, ignoring case."""
    names = {(section.index, key.name.lower()) for section in ini.sections for key in section.keys}
    return sum(len(section.keys) for section in ini.sections) - len(names)


def is_read_alike(ini: IniOutline) -> bool | None:
    """Return True if `configparser` agrees with our parser; None if it refuses the text.

    It keeps the last of duplicate names. If a line has both comment signs, Python 3.11 may overlook the
    first.
    """
    text = to_lf(ini.source.text)
    if any(";" in line and "#" in line for line in text.split("\n")):
        return None
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, inline_comment_prefixes=("#", ";"), default_section="\0"
    )
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(f"[{_TOP}]\n{text}")
    except (configparser.Error, ValueError, AttributeError):
        # For a continued key without value, Python 3.11 fails because None has no `append`.
        return None
    expected: dict[str, dict[str, str | None]] = {}
    for section in ini.sections:
        keys = expected.setdefault(_TOP if section.name is None else section.name, {})
        keys |= {key.name: key.value for key in section.keys}
    return {name: dict(parser.items(name, raw=True)) for name in parser.sections()} == expected


# --- Edits of sections and keys in the style of the file


def _set_value(ini: IniOutline, key: IniKey, value: str) -> tuple[TextEdit, ...]:
    """Set `key` to `value`, deleting continuation lines of the old value.

    Inline comments and comments between the lines stay. No edit is an insertion, so a key added after this
    one stays after it.
    """
    assignment, lines = key.assignment, ini.source.lines
    if assignment.separator is None:
        separator = separator_for(ini, ini.sections[key.section], key.name, " " * key.indent)
        new = TextEdit(assignment.name, _assigned(key.name, separator, value))
    elif len(assignment.value):
        new = TextEdit(assignment.value, value)
    else:
        empty = Span(assignment.separator.start, lines.content_end(key.first_line))
        new = TextEdit(empty, spaced(ini.text_of(empty)) + value)
    return (new, *delete_lines(ini.source, key.lines[1:]))


def _add_key(ini: IniOutline, section: IniSection, name: str, value: str) -> TextEdit:
    """Insert a key after the last key of `section`, or after its comments."""
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
    """Insert a section with `lines` at the end of the file."""
    return insert_lines(ini.source, len(ini.source.text), [f"[{name}]", *lines], blank_before=True)


def _new_key_line(ini: IniOutline, name: str, value: str) -> str:
    """Return the line of a key in a new section."""
    return usual_indent(ini) + _assigned(name, usual_separator(ini), value)


def replace_body(ini: IniOutline, section: IniSection, lines: Sequence[str]) -> tuple[TextEdit, ...]:
    """Replace the body of `section` by `lines`.

    A blank line follows a trailing comment, which would otherwise read as a comment on the next section.
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


# --- Finding sections and keys by name

_MOST_CANDIDATES: Final = 10
_Match = TypeVar("_Match", bound=IniKey | IniSection)


def section_name(ini: IniOutline, given: str | None) -> str | None:
    """Return the section name `given`, stripped of brackets if it has them."""
    if given is None or ini.sections_named(given) or not (given[:1] == "[" and given[-1:] == "]"):
        return given
    return given[1:-1]


def find_section(ini: IniOutline, name: str | None, occurrence: int | None) -> IniSection:
    """Return the section `name`; None is the text before the first header.

    `occurrence` (1-based) selects a duplicate. Raise SECTION_NOT_FOUND or AMBIGUOUS_HEADING.
    """
    near = partial(nearest_names, name or "", filter(None, ini.section_names))
    return _pick(ini, ini.sections_named(name), occurrence, Code.SECTION_NOT_FOUND, _quoted(name), near)


def find_ini_key(ini: IniOutline, section: str | None, key: str, occurrence: int | None) -> IniKey:
    """Return `key` of `section`, matched exactly or else case-insensitively.

    `occurrence` (1-based) selects a duplicate. Raise KEY_NOT_FOUND, SECTION_NOT_FOUND or
    AMBIGUOUS_HEADING.
    """
    if not ini.sections_named(section):
        find_section(ini, section, None)
    description = _quoted(key) + (f" of section {_quoted(section)}" if section is not None else "")
    near = partial(nearest_names, key, ini.key_names(section))
    return _pick(ini, ini.keys_named(section, key), occurrence, Code.KEY_NOT_FOUND, description, near)


def _pick(
    ini: IniOutline,
    matches: Sequence[_Match],
    occurrence: int | None,
    absent: Code,
    name: str,
    near: Callable[[], Sequence[str]],
) -> _Match:
    """Return the match number `occurrence`, or the only match."""
    count = len(matches)
    description = f"{'key' if absent is Code.KEY_NOT_FOUND else 'section'} {name}"
    if not matches:
        names = ", ".join(map(_quoted, near()))
        hint = f"nearest: {names}" if names else say("see the sections in {step stat}")
        raise absent.refused(f"there is no {description}", hint)
    if occurrence is None and count == 1:
        return matches[0]
    if occurrence is not None and occurrence <= count:
        return matches[occurrence - 1]
    lines = first_few([match.first_line for match in matches], _MOST_CANDIDATES)
    times = "once, at line" if count == 1 else f"{count} times, at lines"
    raise (Code.AMBIGUOUS_HEADING if occurrence is None else absent).refused(
        f"the {description} is {times} {lines}",
        say("give {occurrence} (1-based), from 1 to {}", count)
        if count > 1
        else say("leave {occurrence} out"),
        candidates=tuple(
            Candidate(
                heading_path=(ini.sections[match.section].name or "", match.name)
                if isinstance(match, IniKey)
                else (match.name or "",),
                start_line=match.first_line,
                end_line=match.last_line,
            )
            for match in matches[:_MOST_CANDIDATES]
        ),
    )


def _quoted(name: str | None) -> str:
    return f"`{name}`"


# --- Reading text for the body of a section


class IniPayload(Struct, kw_only=True):
    """Lines without surrounding blank lines; `header` is the section name that they start with.

    `last_indent` is the indentation of the last key, which deeper lines would continue; None if the last text
    line is not a key. `other_sections` counts headers after the first line.
    """

    header: str | None
    lines: tuple[str, ...]
    last_indent: int | None
    other_sections: int


def read_ini_payload(text: str) -> IniPayload:
    """Parse `text` as the body of a section, which may start with its own header."""
    lines = to_lf(text).split("\n")
    lines = [lines[at] for at in text_range(lines)]
    sections = read_sections(Source.from_text("\n".join(lines)))
    has_header = len(sections) > 1 and sections[1].first_line == 1
    body = sections[has_header]
    return IniPayload(
        header=body.name,
        lines=tuple(lines[has_header:]),
        last_indent=body.keys[-1].indent if body.keys else None,
        other_sections=len(sections) - 1 - has_header,
    )
