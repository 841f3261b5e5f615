"""Lines as callers write them in one text: ``12:a3f-14:b07``, numbers and the beginnings of hashes.

``12:a3f,c41,b07`` gives the first number and a hash of each line; in such a list nothing stands for an empty
line, as in ``12:a3f,,b07``.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

_HASH: Final = "[0-9a-fA-F]{3,64}"
_LINES: Final = re.compile(
    rf"(?P<start>[1-9][0-9]{{0,8}})(?::(?P<startHash>{_HASH}|(?:{_HASH})?(?:,(?:{_HASH})?)+))?"
    rf"(?:-(?P<end>[1-9][0-9]{{0,8}})(?::(?P<endHash>{_HASH}))?)?"
)
_EMPTY: Final = sha256(b"").hexdigest()[:8]
# Before a hash: that line is the first one; after it: the last one.
START: Final = "start,"
END: Final = ",end"


def lines_of_text(given: str) -> dict[str, Any]:
    """``12:a3f-14:b07`` as the fields of `LinesField`. Raises ValueError for anything else."""
    found = _LINES.fullmatch(given.strip())
    if found is None:
        raise ValueError('lines are {"start": 12, "end": 14}, "12-14", "12:a3f" or "12:a3f-14:b07"')
    start = int(found["start"])
    listed = [digits.lower() or _EMPTY for digits in (found["startHash"] or "").split(",")]
    is_hashed = found["startHash"] is not None
    end_hash = listed[-1] if is_hashed and found["end"] is None else (found["endHash"] or "").lower()
    fields = {"start": start, "end": int(found["end"] or start + len(listed) - 1)}
    hashes = {"startHash": ",".join(listed) if is_hashed else "", "endHash": end_hash}
    return {**fields, **{name: digits for name, digits in hashes.items() if digits}}


def with_line_hash(given: object) -> object:
    """`given`, an object whose `line` may be ``"12:a3f"``, with number and hash apart. Raises ValueError.

    ``"12:a3f,b07"`` is the place between lines 12 and 13, ``"12:a3f,end"`` the one after line 12, which is
    the last, and ``"1:start,a3f"`` the one before line 1; `position` need not say so. Hashes of further
    lines prove more of what is there.
    """
    if not isinstance(given, Mapping) or not isinstance(given.get("line"), str):
        return given
    text = given["line"].strip()
    number, _, digits = text.partition(":")
    start = START if digits.startswith(START) else ""
    end = END if digits.endswith(END) else ""
    found = lines_of_text(f"{number}:{digits.removeprefix(start).removesuffix(end)}" if digits else text)
    lines = found["end"] - found["start"] + 1
    edge = start + end
    if "-" in text or (edge and lines > 1) or (start and (end or found["start"] != 1)):
        raise ValueError(
            'a line is 12, "12:a3f", "12:a3f,b07" for the place between two lines, '
            '"1:start,a3f" for that before the first, or "12:a3f,end" for that after the last'
        )
    implied = "before" if start else "after"
    if edge and given.get("position", implied) != implied:
        raise ValueError(
            "`start` and `end` are places before the first and after the last line: remove position"
        )
    between = {"position": given.get("position", implied)} if lines > 1 or edge else {}
    hashes = {"lineHash": start + found["startHash"] + end} if "startHash" in found else {}
    return {**given, **between, "line": found["start"], **hashes}
