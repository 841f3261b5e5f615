"""From the lines of an INI file to its sections and keys.

The rules are those of Python's `configparser` with inline comments and keys without a value: a line that is
indented deeper than the key before it continues the value, after blank lines and comments too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mdplan.plaintext.ini_line import IniAssignment, IniLine, header_name, read_assignment, read_line
from mdplan.plaintext.ini_section import IniKey, IniSection
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source


def read_sections(source: Source) -> tuple[IniSection, ...]:
    """Sections of `source` in order, from one pass over its lines. There is always one before all headers.

    Lines that are neither header nor key are kept in their section, and nothing continues them.
    """
    lines = source.lines
    read = [read_line(lines.content(line), lines.start(line)) for line in range(1, lines.count + 1)]
    drafts = list(_drafts(source.text, read))
    firsts = [*(draft.first_line for draft in drafts), lines.count + 1]
    sections: list[IniSection] = []
    key_count = 0
    for index, draft in enumerate(drafts):
        numbered = enumerate(draft.keys, start=key_count)
        sections.append(
            IniSection(
                index=index,
                name=draft.name,
                keys=tuple(key.finished(number, index) for number, key in numbered),
                span=Span(lines.start(draft.first_line), lines.start(firsts[index + 1])),
                body=_body(lines, read, index, range(draft.first_line, firsts[index + 1]), len(drafts)),
                first_line=draft.first_line,
                last_line=firsts[index + 1] - 1,
                indent=draft.indent,
            )
        )
        key_count += len(draft.keys)
    return tuple(sections)


@dataclass(slots=True)
class _KeyDraft:
    """A key whose last line is not known yet. `blanks` are blank lines that may turn out to be its own."""

    name: str
    assignment: IniAssignment
    line: IniLine
    lines: list[int]
    parts: list[str]
    blanks: list[int] = field(default_factory=list)
    has_comment: bool = False

    def finished(self, index: int, section: int) -> IniKey:
        has_value = self.assignment.separator is not None or len(self.lines) > 1
        return IniKey(
            index=index,
            section=section,
            name=self.name,
            assignment=self.assignment,
            indent=self.line.indent,
            lines=tuple(self.lines),
            value="\n".join(self.parts).rstrip() if has_value else None,
            comment=self.line.comment,
            has_comment=self.has_comment,
        )


@dataclass(slots=True)
class _SectionDraft:
    name: str | None
    first_line: int
    indent: int
    keys: list[_KeyDraft]


def _drafts(text: str, read: Sequence[IniLine]) -> Iterator[_SectionDraft]:
    section = _SectionDraft(None, 1, 0, [])
    key: _KeyDraft | None = None
    for number, line in enumerate(read, start=1):
        content = text[line.text.start : line.text.end]
        if not content:
            if key is not None and line.is_blank:
                key.blanks.append(number)
        elif key is not None and line.indent > key.line.indent:
            key.parts += [*[""] * len(key.blanks), content]
            key.lines += [*key.blanks, number]
            key.blanks = []
            key.has_comment |= line.comment is not None
        elif (name := header_name(content)) is not None:
            yield section
            section, key = _SectionDraft(name, number, line.indent, []), None
        else:
            key = _new_key(text, content, line, number)
            section.keys += [key] if key is not None else []
    yield section


def _new_key(text: str, content: str, line: IniLine, number: int) -> _KeyDraft | None:
    assignment = read_assignment(content, line.text.start)
    if assignment is None:
        return None
    name, value = (text[span.start : span.end] for span in (assignment.name, assignment.value))
    return _KeyDraft(name, assignment, line, [number], [value], has_comment=line.comment is not None)


def _body(lines: LineIndex, read: Sequence[IniLine], index: int, own: range, section_count: int) -> Span:
    """Lines of the section `index`, which has the lines `own`, that hold something of its own."""
    first, end = own.start + (index > 0), own.stop
    if index + 1 < section_count:
        # A comment that touches the next header shows of that section.
        while end > first and read[end - 2].is_comment:
            end -= 1
    while end > first and read[end - 2].is_blank:
        end -= 1
    while first < end and read[first - 1].is_blank:
        first += 1
    if first >= end:
        behind_header = lines.start(own.start + (index > 0))
        return Span(behind_header, behind_header)
    return Span(lines.start(first), lines.start(end))
