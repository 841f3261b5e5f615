"""A place that is nearly what was asked for, as a value."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class NearMiss:
    """A place that is nearly what was asked for. Lines and columns are 1-based, `end_line` is inclusive.

    `differs` names what differs, where, and what is there: ``dashes (U+2013, not U+002D) at column 9``.
    """

    line: int
    col: int
    end_line: int
    differs: str
