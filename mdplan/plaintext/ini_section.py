"""One section of an INI file, and one key."""

from dataclasses import dataclass

from mdplan.plaintext.ini_line import IniAssignment
from mdplan.text.lines import Span


@dataclass(frozen=True, slots=True, kw_only=True)
class IniKey:
    """One key. `index` counts through all sections, `section` is the index of its own.

    `lines` are those of its value, 1-based: the key's own, then the indented ones that continue it with the
    blank ones between, without comments between them. `value` is what `configparser` reads: these lines
    joined by LF, without indentation and comments; None where no sign follows the name. `assignment` and
    `comment` are of the key's own line; `has_comment` is of all `lines`.
    """

    index: int
    section: int
    name: str
    assignment: IniAssignment
    indent: int
    lines: tuple[int, ...]
    value: str | None
    comment: Span | None
    has_comment: bool

    @property
    def first_line(self) -> int:
        """Line of the key itself."""
        return self.lines[0]

    @property
    def last_line(self) -> int:
        """Last line of its value."""
        return self.lines[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class IniSection:
    """One section. The first of a file has no name: it is what is before the first header.

    `span` reaches from the header to the next one, and `body` holds the lines between that are the section's
    own: without blank lines at its edges, and without a comment directly above the next header. An empty
    body is after the header. Lines are 1-based and inclusive; a section without lines has `last_line`
    before `first_line`. `indent` is that of the header.
    """

    index: int
    name: str | None
    keys: tuple[IniKey, ...]
    span: Span
    body: Span
    first_line: int
    last_line: int
    indent: int
