"""How people count the edits of a batch that was sent."""

from typing import Any

from mdplan.edit_numbers import EditNumbers
from mdplan.requests.spellings import op_of


def numbers_of(data: object) -> EditNumbers:
    """Those of `data`, a batch as it was sent; globs and diffs make the numbers unknown."""
    match data:
        case {"files": list(entries)}:
            counted = [_counted(entry) for entry in entries]
        case dict():
            counted = [_counted(data)]
        case _:
            counted = [None]
    known = [each for each in counted if each is not None]
    return EditNumbers(tuple(known) if len(known) == len(counted) else ())


def _counted(entry: Any) -> tuple[str, int] | None:  # noqa: ANN401 (any JSON)
    match entry:
        case {"file": str(file), "edits": list(edits)} | {"path": str(file), "edits": list(edits)}:
            return file, len(edits)
        case {"file": str(file)} if op_of(entry) is not None:
            return file, 1
        case _:
            return None
