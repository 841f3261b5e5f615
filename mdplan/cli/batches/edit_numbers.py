"""Edits as people count them: in each file from 1, where reports count through the whole batch from 0."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EditNumbers:
    """The files of a batch in their order, each with how many edits it has; none where that is not known.

    `data` is the batch as it was sent.
    """

    files: tuple[tuple[str, int], ...] = ()
    data: object = None

    @classmethod
    def of(cls, data: object) -> "EditNumbers":
        """Those of `data`, a batch as it was sent; globs and diffs make the numbers unknown."""
        match data:
            case {"files": list(entries)}:
                counted = [_counted(entry) for entry in entries]
            case dict():
                counted = [_counted(data)]
            case _:
                counted = [None]
        known = [each for each in counted if each is not None]
        return cls(tuple(known) if len(known) == len(counted) else (), data)

    def named(self, index: int, file: str | None) -> str:
        """The edit at `index` of the batch, as in ``edit 2 of guide.md``; `file` is what a report says."""
        first = 0
        for name, count in self.files:
            if index < first + count:
                return f"edit {index - first + 1} of {file or name}"
            first += count
        return f"edit {index + 1}" + (f" of {file}" if file else "")


def _counted(entry: Any) -> tuple[str, int] | None:  # noqa: ANN401 (any JSON)
    match entry:
        case {"file": str(file), "edits": list(edits)} | {"path": str(file), "edits": list(edits)}:
            return file, len(edits)
        case {"file": str(file), "op": _}:
            return file, 1
        case _:
            return None
