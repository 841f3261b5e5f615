"""The address of a section, as an argument of an edit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mdplan.field_names import camel_case


@dataclass(frozen=True)
class SectionAddress:
    """A section by its headings, its ID or its anchor; with `sha256` an edit is refused if it has changed.

    `headings` go from outer to inner, or are the last of them; `occurrence` (1-based) chooses among equal
    ones. `id` is a section ID or at least 8 of its digits, and `anchor` the GitHub anchor without ``#``.
    Raises `TypeError` unless exactly one address is given.

    >>> from mdplan import edits
    >>> dict(edits.DeleteSection(section=edits.Section("Install", "Linux")))
    {'op': 'delete_section', 'headingPath': ['Install', 'Linux']}
    """

    headings: tuple[str, ...]
    id: str | None
    anchor: str | None
    occurrence: int | None
    sha256: str | None

    def __init__(
        self,
        *headings: str,
        id: str | None = None,  # noqa: A002 (what it is called everywhere)
        anchor: str | None = None,
        occurrence: int | None = None,
        sha256: str | None = None,
    ) -> None:
        if sum(map(bool, (headings, id, anchor))) != 1:
            raise TypeError("Section() takes one address: headings, id or anchor")
        for name, value in (
            ("headings", headings),
            ("id", id),
            ("anchor", anchor),
            ("occurrence", occurrence),
            ("sha256", sha256),
        ):
            object.__setattr__(self, name, value)

    def fields(self, prefix: str = "") -> Mapping[str, Any]:
        """The fields of an edit that name this section, in JSON; with `prefix` ``to`` the destination's.

        A destination is named by its path or its ID alone: raises `TypeError` for anything else.
        """
        if prefix and (self.anchor or self.occurrence or self.sha256):
            raise TypeError("a destination is a Section of headings or an id, and nothing else")
        if len(self.headings) == 1 and not prefix:
            address: dict[str, Any] = {"heading": self.headings[0]}
        elif self.headings:
            address = {"heading_path": list(self.headings)}
        else:
            address = {"anchor": self.anchor} if self.anchor else {"section_id": self.id}
        guards = {"occurrence": self.occurrence, "section_sha256": self.sha256}
        given = address | {name: value for name, value in guards.items() if value is not None}
        return {camel_case(f"{prefix}_{name}" if prefix else name): value for name, value in given.items()}
