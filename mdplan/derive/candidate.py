"""Edits that may make a part of a change, and what they cost."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from mdplan.operations import IMPLIED, OPERATIONS

Edit = Mapping[str, Any]
# Pieces that a tokenizer of a model makes one token of, or nearly so: an escape, a word, three digits, marks.
_PIECE: Final = re.compile(r"\\.| ?[^\W\d_]{1,9}|\d{1,3}|\s+|[^\w\s\\]{1,3}|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CandidateEdits:
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
    def is_of_text(self) -> bool:
        """Whether an edit is one of text or lines, whatever these mean."""
        return any(OPERATIONS[edit["op"]].finds_text for edit in self.edits)

    @property
    def breaks_lines(self) -> bool:
        """Whether a pattern goes on in another line."""
        return any("\n" in edit.get("pattern", "") for edit in self.edits)

    @property
    def cost(self) -> int:
        """About how many tokens the edits are as compact JSON: the measure by which a batch is small."""
        return cost_of(self.edits)


def cost_of(edits: Iterable[Edit]) -> int:
    """About how many tokens `edits` are in their short form, with a comma after each."""
    return sum(1 + len(_PIECE.findall(_compact(short_edit(edit)))) for edit in edits)


def short_edit(edit: Edit) -> Edit:
    """`edit` without its `op`, where its other fields imply that."""
    implied = IMPLIED.get(edit["op"])
    if implied is None or not implied <= edit.keys():
        return edit
    return {name: value for name, value in edit.items() if name != "op"}


def short_batch(batch: Mapping[str, Any]) -> dict[str, Any]:
    """`batch`, of one file or of several, with its edits in their short form."""
    if "files" in batch:
        return {**batch, "files": [short_batch(entry) for entry in batch["files"]]}
    if "edits" in batch:
        return {**batch, "edits": [short_edit(edit) for edit in batch["edits"]]}
    return dict(short_edit(batch))


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
