"""Entries for the parts of data files and plain text; lines are 1-based and inclusive."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class IniKeyEntry:
    """One key of an INI file and its line; `end_line` where its value goes on in other lines."""

    key: str
    line: int
    end_line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IniSectionEntry:
    """One section of an INI file, from its header on; the one before the first header has no `name`.

    Brief entries have neither `section_sha256` nor `keys`.
    """

    name: str | None
    start_line: int
    end_line: int
    section_sha256: str | None = None
    keys: tuple[IniKeyEntry, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyEntry:
    """One key or item of a YAML, JSON or TOML file: its address, as edits take it, and its lines.

    `items` counts the entries of a list or map. `sha256` is the hash of its text; brief entries have none.
    """

    key: str
    start_line: int
    end_line: int
    items: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSectionEntry:
    """One section of plain text: from a line that is its `marker`, a name in brackets, to the next one."""

    marker: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentBlockEntry:
    """Successive lines that begin with the comment sign `prefix`."""

    prefix: str
    start_line: int
    end_line: int
