"""Front matter as nodes: an entry for each key, with the entries below it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from mdplan.merge.trees.merge_node import MergeNode, MergeNodeKind

# A key of YAML or TOML, quoted or not, and its value.
_ENTRY: Final = re.compile(
    r"""\s*(?P<key>"[^"]*"|'[^']*'|[^\s#:="'\[\]{},-][^:=#]*?)\s*[:=](?P<value>\s.*|)$"""
)
_ITEM: Final = re.compile(r"\s*-(?:\s|$)")
_COMMENT: Final = re.compile(r"\s*#")
_TOML_TABLE: Final = re.compile(r"\[+(?P<name>[^\[\]]+)\]+\s*$")


def front_matter_node(lines: Sequence[str], stop: int) -> MergeNode:
    """The front matter in the first `stop` of `lines`, with its fences as entries without a label."""
    end = stop
    while not lines[end - 1].strip():
        end -= 1
    fences = [_entry(lines, range(at, at + 1), f"fence {at > 0}", ()) for at in (0, end - 1)]
    inner = tuple(_entries(lines, range(1, end - 1)))
    return MergeNode(
        MergeNodeKind.FRONT_MATTER,
        range(0),
        end,
        "".join(lines[:end]),
        children=(fences[0], *inner, fences[1]),
    )


def _entries(lines: Sequence[str], where: range) -> Iterator[MergeNode]:
    """The entries in the lines `where` that have the indentation of the first of them."""
    written = [at for at in where if lines[at].strip()]
    if not written:
        return
    indent, is_list = _indent(lines[written[0]]), bool(_ITEM.match(lines[written[0]]))
    is_in_table = False
    starts: list[int] = []
    for at in written:
        line = lines[at]
        is_table = bool(_TOML_TABLE.match(line))
        if is_table or (not is_in_table and _indent(line) == indent and _starts(line, is_list=is_list)):
            starts.append(at)
        is_in_table |= is_table
    if not starts or starts[0] != written[0]:
        starts = [written[0], *starts]
    for at, after in zip(starts, [*starts[1:], written[-1] + 1], strict=True):
        stop = after
        while not lines[stop - 1].strip():
            stop -= 1
        yield _read(lines, range(at, stop))


def _starts(line: str, *, is_list: bool) -> bool:
    if _COMMENT.match(line):
        return True
    return bool(_ITEM.match(line)) if is_list else bool(_ENTRY.match(line))


def _read(lines: Sequence[str], where: range) -> MergeNode:
    line = lines[where.start]
    table = _TOML_TABLE.match(line)
    if table:
        return _entry(lines, where, f"[{table['name'].strip()}]", _entries(lines, where[1:]))
    found = None if _ITEM.match(line) or _COMMENT.match(line) else _ENTRY.match(line)
    if not found:
        return _entry(lines, where, "", ())
    is_parent = not found["value"].strip() and len(where) > 1
    return _entry(lines, where, found["key"].strip("\"'"), _entries(lines, where[1:]) if is_parent else ())


def _entry(
    lines: Sequence[str], where: range, label: str, children: Iterator[MergeNode] | tuple[()]
) -> MergeNode:
    below = tuple(children)
    head = range(where.start, where.start + 1) if below else where
    return MergeNode(
        MergeNodeKind.ENTRY,
        head,
        where.stop,
        "".join(lines[where.start : where.stop]),
        label=label,
        children=below,
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
