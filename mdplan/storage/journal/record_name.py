"""The names of the records of the journal, which say how far each transaction is."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

_NAME: Final = re.compile(r"(\d{8,15})-([0-9a-f]{8,32})(?:-([0-9a-f]{16}))?\.([a-z]+)")


class State(StrEnum):
    """How far a transaction is."""

    # The record is being written; nothing else was done yet.
    NEW = "new"
    # Perhaps staged, perhaps visible, in part or whole; has to be undone, unless its process is still at it.
    PENDING = "pending"
    # Committed; displaced files may still lie next to the targets.
    DONE = "done"
    # Committed and cleaned up, for good.
    KEPT = "kept"
    # Undone by recovery; what it had written is kept.
    UNDONE = "undone"
    # Undone but for files that someone changed on top of it; waits for a person.
    CONFLICT = "conflict"
    # No readable record; a person let it be.
    BROKEN = "broken"


_STATES: Final = {state.value: state for state in State}


@dataclass(frozen=True, slots=True)
class RecordName:
    """The name of a record's file. The sequence shows in which order transactions began.

    `mark` is the beginning of the user's seal on the name, so that a damaged record is distinguished from a
    foreign one. Records of a user without a key have none.
    """

    sequence: int
    transaction: str
    state: State
    mark: str = ""

    def __str__(self) -> str:
        mark = f"-{self.mark}" if self.mark else ""
        return f"{self.sequence:08d}-{self.transaction}{mark}.{self.state}"

    @classmethod
    def parse(cls, name: str) -> Self | None:
        """The name of a record as `str` writes it; None for any other file."""
        matched = _NAME.fullmatch(name)
        if matched is None or matched[4] not in _STATES:
            return None
        parsed = cls(int(matched[1]), matched[2], State(matched[4]), matched[3] or "")
        return parsed if str(parsed) == name else None
