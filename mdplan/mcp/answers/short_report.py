"""Reports of huge batches within the size that clients take: long lists lose their end, and say so."""

import json
from collections.abc import Iterable
from typing import Any, Final

# The lists that grow with a batch, by their names on the wire.
_LISTS: Final = frozenset(
    {
        "transactions",
        "diagnostics",
        "warnings",
        "files",
        "editResults",
        "matches",
        "written",
        "accepted",
        "rejected",
        "candidates",
        "rolledBack",
        "finished",
    }
)
# How much of them an entry of a list may hold: candidates of one problem, files of one past transaction.
_MOST_INSIDE: Final = {"candidates": 20, "files": 50}
# Names and numbers of what is omitted.
_NOTE_CHARACTERS: Final = 400


def within(wire: dict[str, Any], most: int) -> dict[str, Any]:
    """The report `wire` in at most `most` characters of JSON, if cutting lists brings it there.

    `leftOut` then says how many entries the ends of lists have lost, by the names of the lists.
    """
    if size_of(wire) <= most:
        return wire
    left_out: dict[str, int] = {}
    short = {
        name: _with_short_entries(each, name, left_out) if isinstance(each, list) or name == "error" else each
        for name, each in wire.items()
    }
    lists = _lists_of(short, "")
    room = most - size_of(short) + sum(map(size_of, lists.values())) - _NOTE_CHARACTERS
    # The short lists are kept whole, and what they leave is for the long ones.
    for number, (name, entries) in enumerate(sorted(lists.items(), key=lambda named: size_of(named[1]))):
        share = max(room, 0) // (len(lists) - number)
        kept = _prefix(entries, share)
        room -= size_of(kept)
        if len(kept) < len(entries):
            left_out[name] = len(entries) - len(kept)
            short = _with_list(short, name.split("."), kept)
    return {**short, "leftOut": left_out} if left_out else short


def first_lines(lines: Iterable[str], room: int, what: str) -> list[str]:
    """The first of `lines` that fit into `room` characters of JSON, and how many more `what` there are."""
    rows = list(lines)
    kept = _prefix(rows, room)
    omitted = len(rows) - len(kept)
    return [*kept, f"… and {omitted} more {what}"] if omitted else kept


def size_of(value: object) -> int:
    """How many characters `value` takes as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def _with_short_entries(value: Any, name: str, left_out: dict[str, int]) -> Any:  # noqa: ANN401 (any JSON)
    """`value`, called `name`, with little in each of its entries; `left_out` counts what is gone."""
    if isinstance(value, list):
        return [_with_short_entries(each, name, left_out) for each in value]
    if not isinstance(value, dict):
        return value
    short = dict(value)
    for inside, most in _MOST_INSIDE.items():
        entries = value.get(inside, ())
        if len(entries) > most:
            short[inside] = entries[:most]
            counted = f"{name}.{inside}"
            left_out[counted] = left_out.get(counted, 0) + len(entries) - most
    return short


def _lists_of(value: dict[str, Any], above: str) -> dict[str, list[Any]]:
    """The lists of a report and of the objects in it, by their dotted names."""
    found: dict[str, list[Any]] = {}
    for name, each in value.items():
        if isinstance(each, list) and name in _LISTS:
            found[above + name] = each
        elif isinstance(each, dict):
            found |= _lists_of(each, f"{above}{name}.")
    return found


def _prefix(entries: list[Any], room: int) -> list[Any]:
    """The first of `entries` that fit into `room` characters."""
    used = len("[]")
    for number, entry in enumerate(entries):
        used += size_of(entry) + len(", ")
        if used > room:
            return entries[:number]
    return entries


def _with_list(value: dict[str, Any], path: list[str], entries: list[Any]) -> dict[str, Any]:
    name, *below = path
    return {**value, name: _with_list(value[name], below, entries) if below else entries}
