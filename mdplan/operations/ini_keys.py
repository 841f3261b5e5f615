"""INI support for key operations: section hashes, limits of lines, and whole sections."""

from collections.abc import Iterator, Sequence

from mdplan.data import ini_edits
from mdplan.data.address import Found
from mdplan.data.content import DataContent
from mdplan.data.ini import IniKey, IniOutline, IniSection, key_fault, section_fault, value_fault
from mdplan.data.tree import Path
from mdplan.diagnostics import Code, Diagnostic, Refused, or_problem, refuse_if
from mdplan.markdown.outline import Outline, of_source
from mdplan.operations.base import KEYS, Claim, Resolution, with_way_to_create
from mdplan.words import say


def check_section(outline: Outline, content: DataContent, found: Found, sha256: str) -> None:
    """Refuse if the section of `found` has another hash; a new section has no hash."""
    if len(found.missing) > 1:
        ini_edits.find_section(content.ini, found.missing[0], None)
        return
    section, ini = _section_of(content, found.path), outline.derived(of_source, IniOutline)
    if not ini.has_sha256(section, sha256):
        now = ini.section_sha256(section)
        raise Refused(Code.SECTION_CHANGED.of(first=section.first_line, last=section.last_line, now=now))


def later_sha256(
    outlines: tuple[Outline, Outline], places: Sequence[tuple[DataContent, Found]], sha256: str
) -> str | None:
    """Return the hash of the section in the later of two outlines; None if `sha256` is wrong in the first."""
    if any(len(found.missing) > 1 for _, found in places):
        return None
    sections = [_section_of(content, found.path) for content, found in places]
    # The hash is that of the bytes of the file.
    before, now = (each.derived(of_source, IniOutline) for each in outlines)
    return now.section_sha256(sections[1]) if before.has_sha256(sections[0], sha256) else None


def _section_of(content: DataContent, path: Path) -> IniSection:
    """Return the section at `path`, or the section of the key there."""
    place = content.ini.by_path[path]
    return content.ini.sections[place.section] if isinstance(place, IniKey) else place


def line_problems(content: DataContent, found: Found, value: object) -> Iterator[Diagnostic]:
    """Yield INVALID_ARGUMENT where no line can hold the key that was `found` with `value`, a text."""
    if isinstance(value, str):
        yield from _fault_problem("value", value_fault(value))
    if found.missing:
        *section, key = found.missing
        yield from _fault_problem("key", key_fault(key))
        yield from _fault_problem("section", section_fault(section[0]) if section else None)
        return
    place = content.ini.by_path[found.path]
    if isinstance(place, IniKey) and isinstance(value, str):
        yield from _fault_problem("key", key_fault(place.name) if place.name[0] == "[" else None)
        yield from _if_unclear(content.ini, place, value)


def _fault_problem(field: str, fault: str | None) -> Iterator[Diagnostic]:
    """Yield INVALID_ARGUMENT where `fault` says why an INI file cannot contain what is in `field`."""
    if fault is not None:
        yield Diagnostic.invalid(
            f"`{field}` {fault}, so that it would not be read back as it is",
            say("use {replace_lines} or {replace_match} for lines that only your program reads so"),
        )


def _if_unclear(ini: IniOutline, key: IniKey, value: str) -> Iterator[Diagnostic]:
    """Yield INVALID_ARGUMENT where it is not clear that the comment after a value is one.

    Only the sign is, or would be, before it, as in ``colour = #fff``, or the value opens a
    quote that it does not close. Programs without inline comments take all of it for the value.
    """
    if key.comment is None or key.assignment.separator is None:
        return
    old = ini.text_of(key.assignment.value)
    if not value or not old or (old[0] in "\"'" and old.count(old[0]) == 1):
        yield Diagnostic.invalid(
            f"at line {key.first_line} nothing shows where the value ends and a comment begins",
            say("write the whole line with {replace_lines}"),
        )


def replaced_section(
    outline: Outline,
    content: DataContent,
    address: ini_edits.IniAddress,
    text: str,
    *,
    sha256: str | None,
    may_create: bool,
) -> Resolution:
    """Return the replacement of the changed lines in the section of `address`, guarded by `sha256`.

    Errors: SECTION_NOT_FOUND, AMBIGUOUS_HEADING, SECTION_CHANGED, EMPTY_CONTENT; INVALID_ARGUMENT for a
    payload with other sections; OUTLINE_CHANGED if its last key would absorb the next header.
    """
    ini, payload = content.ini, ini_edits.read_ini_payload(text)
    name = ini_edits.section_name(ini, address.section or None)
    found = or_problem(ini_edits.find_in_ini, content.ini, address, is_new=False)
    problems = list(_payload_problems(name, payload))
    if isinstance(found, Diagnostic):
        is_absent = name is not None and not ini.sections_named(name)
        if not may_create and is_absent:
            found = with_way_to_create(found)
        if not may_create or not is_absent or sha256 is not None or address.occurrence not in {None, 1}:
            raise Refused(*problems, found)
        assert name is not None, "what is before the first section is always there"
        problems += _fault_problem("section", section_fault(name))
        refuse_if(problems)
        new = ini_edits.add_section(ini, name, payload.lines)
        # Keys that other edits add to the last section precede it.
        return Resolution(
            claims=(Claim(span=new.span, owner=0, part=(KEYS, name)),), edits=(new,), comes_last=True
        )
    section = _section_of(content, found.path)
    if sha256 is not None:
        changed = or_problem(check_section, outline, content, found, sha256)
        problems += [] if changed is None else [changed]
    problems += _if_swallows(ini, section, payload)
    refuse_if(problems)
    part = (KEYS, *(map(str, found.path) if found.path else ("",)))
    return Resolution(
        claims=(Claim(span=section.body, owner=0, part=part),),
        edits=ini_edits.replace_body(ini, section, payload.lines),
        is_evidence=sha256 is not None,
    )


def _payload_problems(name: str | None, payload: ini_edits.IniPayload) -> Iterator[Diagnostic]:
    if not payload.lines:
        yield Code.EMPTY_CONTENT.problem(
            say("{markdown} is empty"),
            say("use {delete_value} for its keys, or {delete_lines} for all of it"),
        )
    if payload.other_sections:
        yield Diagnostic.invalid(
            f"the payload has {payload.other_sections} more section headers",
            "replace one section with each edit",
        )
    elif payload.header is not None and payload.header != name:
        yield Diagnostic.invalid(
            "the payload begins with the header of another section",
            say("leave the header out; rename a section with {rename_key}"),
        )


def _if_swallows(ini: IniOutline, section: IniSection, payload: ini_edits.IniPayload) -> Iterator[Diagnostic]:
    """Yield OUTLINE_CHANGED where the next header would continue the last value of `payload`."""
    following = ini.sections[section.index + 1 : section.index + 2]
    if following and payload.last_indent is not None and following[0].indent > payload.last_indent:
        yield Code.OUTLINE_CHANGED.problem(
            f"the header at line {following[0].first_line} is indented deeper than the last key of "
            "the payload, and would continue its value",
            "indent the keys of the payload as the file does",
        )
