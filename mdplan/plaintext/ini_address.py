"""Finding the sections and keys of an INI file by their names."""

from collections.abc import Sequence
from typing import Final, TypeVar

from mdplan.diagnostics import Candidate, Code, Diagnostic
from mdplan.plaintext.ini_outline import IniOutline
from mdplan.plaintext.ini_section import IniKey, IniSection
from mdplan.text.visible import nearest_names

_MOST_CANDIDATES: Final = 10
_Place = TypeVar("_Place", IniKey, IniSection)


def section_name(ini: IniOutline, given: str | None) -> str | None:
    """The name that `given` stands for: it may be written as the header is, in brackets."""
    if given is None or ini.sections_named(given) or not (given[:1] == "[" and given[-1:] == "]"):
        return given
    return given[1:-1]


def find_section(ini: IniOutline, name: str | None, occurrence: int | None) -> IniSection | Diagnostic:
    """The section `name`; None names what is before the first header.

    Of several `occurrence` (1-based) picks one. Errors: SECTION_NOT_FOUND, AMBIGUOUS_HEADING.
    """
    found = ini.sections_named(name)
    if not found:
        near = nearest_names(name or "", filter(None, ini.section_names))
        return Diagnostic(
            code=Code.SECTION_NOT_FOUND,
            message=f"no section has the name {_quoted(name)}",
            hint=f"nearest: {_listed(near)}" if near else "see iniSections in md_stat",
        )
    places = [_section_candidate(section) for section in found[:_MOST_CANDIDATES]]
    return _pick(found, occurrence, Code.SECTION_NOT_FOUND, f"section {_quoted(name)}", places)


def find_key(ini: IniOutline, section: str | None, key: str, occurrence: int | None) -> IniKey | Diagnostic:
    """The key `key` in the sections `section`, by the letter or else in any case.

    Of several `occurrence` (1-based) picks one. Errors: KEY_NOT_FOUND, SECTION_NOT_FOUND, AMBIGUOUS_HEADING.
    """
    found = ini.keys_named(section, key)
    what = f"key {_quoted(key)}" + (f" of section {_quoted(section)}" if section is not None else "")
    if found:
        places = [_key_candidate(ini, each) for each in found[:_MOST_CANDIDATES]]
        return _pick(found, occurrence, Code.KEY_NOT_FOUND, what, places)
    if not ini.sections_named(section):
        absent = find_section(ini, section, None)
        assert isinstance(absent, Diagnostic)
        return absent
    near = nearest_names(key, ini.key_names(section))
    return Diagnostic(
        code=Code.KEY_NOT_FOUND,
        message=f"there is no {what}",
        hint=f"nearest: {_listed(near)}" if near else "see iniSections in md_stat",
    )


def _pick(
    found: Sequence[_Place],
    occurrence: int | None,
    absent: Code,
    what: str,
    candidates: Sequence[Candidate],
) -> _Place | Diagnostic:
    if occurrence is None and len(found) == 1:
        return found[0]
    if occurrence is not None and occurrence <= len(found):
        return found[occurrence - 1]
    lines = ", ".join(str(each.first_line) for each in found[:_MOST_CANDIDATES])
    lines += ", …" if len(found) > _MOST_CANDIDATES else ""
    place = f"{'once' if len(found) == 1 else f'{len(found)} times'}, at {_noun(len(found))} {lines}"
    return Diagnostic(
        code=Code.AMBIGUOUS_HEADING if occurrence is None else absent,
        message=f"the {what} is {place}",
        hint=f"give occurrence (1-based), from 1 to {len(found)}"
        if len(found) > 1
        else "leave occurrence out",
        candidates=tuple(candidates),
    )


def _noun(count: int) -> str:
    return "line" if count == 1 else "lines"


def _section_candidate(section: IniSection) -> Candidate:
    return Candidate(
        heading_path=(section.name or "",), start_line=section.first_line, end_line=section.last_line
    )


def _key_candidate(ini: IniOutline, key: IniKey) -> Candidate:
    path = (ini.sections[key.section].name or "", key.name)
    return Candidate(heading_path=path, start_line=key.first_line, end_line=key.last_line)


def _quoted(name: str | None) -> str:
    return f"`{name}`"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_quoted, names))
