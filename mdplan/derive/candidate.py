"""Edits that may make a part of a change, and what they cost."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

Edit = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Edits, as a batch has them, that may make some hunks; nothing is proven yet.

    Text that occurs elsewhere too `is_weak` evidence: in another version it might be found there.
    """

    edits: tuple[Edit, ...]
    is_weak: bool = False

    @classmethod
    def of(cls, op: str, **fields: object) -> Self:
        """One edit, with those of `fields` that are not None."""
        return cls(({"op": op, **{name: value for name, value in fields.items() if value is not None}},))

    @property
    def cost(self) -> int:
        """Characters of the edits as compact JSON: the measure by which a batch is small."""
        return cost_of(self.edits)


def cost_of(edits: Iterable[Edit]) -> int:
    """Characters of `edits` as compact JSON, with a comma behind each."""
    return sum(len(json.dumps(edit, ensure_ascii=False, separators=(",", ":"))) + 1 for edit in edits)
