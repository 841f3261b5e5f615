"""Text that is to become the body of an INI section."""

from dataclasses import dataclass

from mdplan.plaintext.ini_reader import read_sections
from mdplan.text.line_end_view import to_lf
from mdplan.text.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class IniPayload:
    """Lines without blank ones at their edges. `header` is the name of the section that they begin with.

    `last_indent` is the indentation of the last key, which deeper lines after it would continue; None where
    the last line with text is not a key. `other_sections` are headers after the first line.
    """

    header: str | None
    lines: tuple[str, ...]
    last_indent: int | None
    other_sections: int


def read_ini_payload(text: str) -> IniPayload:
    """`text` as the body of a section, which may begin with its own header."""
    lines = to_lf(text).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    sections = read_sections(Source.from_text("\n".join(lines)))
    has_header = len(sections) > 1 and sections[1].first_line == 1
    body = sections[has_header]
    return IniPayload(
        header=body.name,
        lines=tuple(lines[has_header:]),
        last_indent=body.keys[-1].indent if body.keys else None,
        other_sections=len(sections) - 1 - has_header,
    )
