"""A place that was found in a document."""

from dataclasses import dataclass

from mdplan.markdown.sections import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadLocation:
    """Whole lines `first` to `last` (1-based, inclusive; `last` is ``first - 1`` where there is none).

    `section` is the one that was asked for, and `own_body` whether only that part of it.
    """

    first: int
    last: int
    section: Section | None = None
    own_body: bool = False
    language: str | None = None
    match_line: int | None = None
