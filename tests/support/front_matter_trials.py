"""Edits of front matter, checked with PyYAML and tomlkit, and by comparing bytes.

The text of a key extends from its line to the line of the next top-level key.
"""

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import tomlkit
import yaml

from mdplan.planning.build import BuiltFile
from mdplan.text.lines import to_lf
from mdplan.text.source import DocumentFormat
from tests.support.case_tables import CaseTables
from tests.support.edit_trials import Document

CASE_TABLES = CaseTables(__file__)


NEW_KEY = "zz new key"
NEW_ITEM = "zz: new item"
VALUES: list[Any] = CASE_TABLES.value("VALUES")


@dataclass
class Block:
    """Front matter as parsed by another reader."""

    text: str
    format: DocumentFormat
    start: int
    end: int

    @classmethod
    def of(cls, built_or_document: BuiltFile | Document) -> "Block":
        if isinstance(built_or_document, BuiltFile):
            outline = built_or_document.result
        else:
            outline = built_or_document.outline
        found = outline.front_matter
        assert found is not None
        return cls(outline.source.text, found.format, found.content.start, found.content.end)

    @property
    def content(self) -> str:
        return self.text[self.start : self.end]

    @cached_property
    def values(self) -> dict[str, Any]:
        if self.format is DocumentFormat.TOML:
            # A lone CR is a newline here, but not whitespace in TOML.
            return tomlkit.parse(to_lf(self.content)).unwrap()
        return {str(key): value for key, value in (yaml.safe_load(self.content) or {}).items()}

    @cached_property
    def starts(self) -> dict[str, int]:
        """The offset of the line of each top-level key; YAML only."""
        node = yaml.compose(self.content, Loader=yaml.SafeLoader)
        return {key.value: self.start + key.start_mark.index for key, _ in node.value} if node else {}

    @property
    def is_flow(self) -> bool:
        """True for a YAML map in braces, where a key is deleted with the comma before it."""
        node = yaml.compose(self.content, Loader=yaml.SafeLoader)
        return isinstance(node, yaml.CollectionNode) and bool(node.flow_style)

    def own_text(self, key: str) -> tuple[int, int]:
        behind = [start for start in self.starts.values() if start > self.starts[key]]
        # Spaces before a key are its own.
        start = len(self.text[: self.starts[key]].rstrip(" \t"))
        return start, min(behind, default=self.end)


@dataclass
class Tally:
    """The results of the edits in one shard."""

    planned: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def judge(self, report: Callable[[str], object], what: str) -> None:
        refused = ", ".join(f"{count} times: {reason}" for reason, count in self.refused.most_common())
        report(f"\n{what}: {self.planned} planned; refused: {refused or 'none'}\n")
        assert self.planned
        assert self.problems[:5] == []


def try_every_key(document: Document, tally: Tally, turn: int = 0) -> None:
    """Edit each key, and add one; `turn` selects the new values."""
    for number in range(len(Block.of(document).values) + 1):
        try_key(document, tally, number, turn + number)


def try_key(document: Document, tally: Tally, number: int, turn: int) -> None:
    """Set and delete a key, and add to and remove from its list or map; after the last one, add a key."""
    block = Block.of(document)
    value = VALUES[turn % len(VALUES)]
    names = list(block.values)
    if number >= len(names):
        try_one(document, tally, {"op": "set_front_matter", "values": {NEW_KEY: value}}, NEW_KEY, value)
        return
    key, old = written_key(block, names[number]), block.values[names[number]]
    try_one(document, tally, {"op": "set_front_matter", "values": {key: value}}, key, value)
    try_one(document, tally, {"op": "delete_front_matter", "key": [key]}, key, None)
    if isinstance(old, list):
        for op, item, new in list_edits(old):
            try_one(document, tally, {"op": op, "key": [key], "value": [item]}, key, new)
    if isinstance(old, dict) and old:
        inner = next(iter(old))
        new = {each: kept for each, kept in old.items() if each != inner}
        # YAML reads the key `yes` as true.
        edit: dict[str, Any] = {
            "op": "delete_front_matter",
            "key": [key, "yes" if inner is True else str(inner)],
        }
        try_one(document, tally, edit, key, new)
        edit = {"op": "set_front_matter", "key": [key, "zz"], "value": 1}
        try_one(document, tally, edit, key, {**old, "zz": 1})


def list_edits(old: list[Any]) -> Iterator[tuple[str, Any, Any]]:
    yield "add_to_front_matter_list", NEW_ITEM, [*old, NEW_ITEM]
    if old and isinstance(old[0], str):
        yield "remove_from_front_matter_list", old[0], [each for each in old if each != old[0]]


def written_key(block: Block, name: str) -> str:
    """Return the source text of the key that YAML reads as `name`: ``yes`` is ``True``."""
    if block.format is DocumentFormat.TOML or name in block.starts:
        return name
    return next(text for text in block.starts if str(yaml.safe_load(text)) == name)


def try_one(document: Document, tally: Tally, edit: Mapping[str, Any], key: str, value: object) -> None:
    """Make one edit, after which `key` has `value`, or is gone if that is None."""
    outcome = document.plan(dict(edit))
    if not isinstance(outcome, BuiltFile):
        tally.refused[f"{edit['op']} {outcome[0].code}: {outcome[0].message}"] += 1
        return
    tally.planned += 1
    problem = what_is_wrong(Block.of(document), Block.of(outcome), key, value)
    if problem:
        tally.problems.append(f"{document.name}: {json.dumps(edit, default=str)}: {problem}")


def what_is_wrong(base: Block, result: Block, key: str, value: object) -> str | None:
    wanted = {name: old for name, old in base.values.items() if written_key(base, name) != key}
    got = {name: new for name, new in result.values.items() if written_key(result, name) != key}
    if got != wanted or list(got) != list(wanted):
        return f"other keys changed: {got}"
    has = [new for name, new in result.values.items() if written_key(result, name) == key]
    # A TOML table without header is removed with its last key.
    may_be_gone = base.format is DocumentFormat.TOML and value == {}
    wanted_values = [] if value is None or (may_be_gone and not has) else [plain(value)]
    if [plain(each) for each in has] != wanted_values:
        return f"the value is {has}"
    if base.format is DocumentFormat.TOML or base.is_flow:
        return None
    start, end = base.own_text(key) if key in base.starts else (base.end, base.end)
    if key not in base.starts:
        return None if is_one_insertion(base.text, result.text) else "more than one place changed"
    behind = len(base.text) - end
    if (
        result.text[:start] != base.text[:start]
        or result.text[len(result.text) - behind :] != base.text[end:]
    ):
        return "text of other keys changed"
    return comments_lost(base, result, key)


def is_one_insertion(base: str, result: str) -> bool:
    length = next((at for at, (a, b) in enumerate(zip(base, result, strict=False)) if a != b), len(base))
    return result.endswith(base[length:]) and len(result) > len(base)


def comments_lost(base: Block, result: Block, key: str) -> str | None:
    """Return comments lost after the last line of a value, which belong to no key."""
    start, end = base.own_text(key)
    behind = re.search(
        r"(?:\s*^[ \t]*#[^\r\n]*)*\s*\Z", base.text[start:end].replace("\r", "\n"), re.MULTILINE
    )
    assert behind is not None
    comments = re.findall(r"#.*", behind[0])
    # Apparent comments in a literal block are text.
    lost = [each for each in comments if each not in result.text and each not in str(base.values)]
    return f"lost {lost}" if lost else None


def plain(value: object) -> object:
    """Return `value` with the type of every part; dates as text, as in JSON."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dt.date | dt.time):
        return ("str", value.isoformat())
    return (type(value).__name__, value)
