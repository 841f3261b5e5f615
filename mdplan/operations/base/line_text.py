"""Lines as callers write them in one text: ``12:a3f-14:b07``, numbers and the beginnings of hashes.

``12:a3f,c41,b07`` gives the first number and a hash of each line.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_LINES: Final = re.compile(
    r"(?P<start>[1-9][0-9]{0,8})(?::(?P<startHash>[0-9a-fA-F]{3,64}(?P<further>(?:,[0-9a-fA-F]{3,64})*)))?"
    r"(?:-(?P<end>[1-9][0-9]{0,8})(?::(?P<endHash>[0-9a-fA-F]{3,64}))?)?"
)


def lines_of_text(given: str) -> dict[str, Any]:
    """``12:a3f-14:b07`` as the fields of `LinesField`. Raises ValueError for anything else."""
    found = _LINES.fullmatch(given.strip())
    if found is None:
        raise ValueError('lines are {"start": 12, "end": 14}, "12-14", "12:a3f" or "12:a3f-14:b07"')
    start = int(found["start"])
    further = (found["further"] or "").count(",")
    end_hash = (found["startHash"] or "").rpartition(",")[2] if found["end"] is None else found["endHash"]
    fields = {"start": start, "end": int(found["end"] or start + further)}
    hashes = {"startHash": found["startHash"], "endHash": end_hash}
    return {**fields, **{name: digits.lower() for name, digits in hashes.items() if digits}}


def with_line_hash(given: object) -> object:
    """`given`, an object whose `line` may be ``"12:a3f"``, with number and hash apart. Raises ValueError.

    ``"12:a3f,b07"`` is the place between lines 12 and 13, which `position` need not say. Hashes of further
    lines prove more of what follows.
    """
    if not isinstance(given, Mapping) or not isinstance(given.get("line"), str):
        return given
    found = lines_of_text(given["line"])
    lines = found["end"] - found["start"] + 1
    if "-" in given["line"]:
        raise ValueError('a line is 12, "12:a3f", or "12:a3f,b07" for the place between two lines')
    between = {"position": given.get("position", "after")} if lines > 1 else {}
    if between.get("position") == "before":
        raise ValueError("several hashes name the place behind the first: leave out position")
    hashes = {"lineHash": found["startHash"]} if "startHash" in found else {}
    return {**given, **between, "line": found["start"], **hashes}
