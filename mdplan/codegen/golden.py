"""What the golden cases of `tests/cases` show, read for the reference pages."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

# The case of each operation whose one edit is the example of its model.
EXAMPLE: Final = "what-the-reference-shows"
_REQUESTS: Final = frozenset({"batch.json", "apply.json", "settings.json"})


@dataclass(frozen=True)
class GoldenCases:
    """The cases in the folder `cases`, which may hold fewer than all."""

    cases: Path

    def batch_of(self, *folder: str) -> object:
        """The batch of one case; None where there is none."""
        path = self.cases.joinpath(*folder, "batch.json")
        return json.loads(path.read_bytes()) if path.is_file() else None

    def diff_of(self, *folder: str) -> str:
        """The diff that one case expects; empty where nothing changes."""
        path = self.cases.joinpath(*folder, "plan.diff")
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def report_of(self, *folder: str) -> object:
        """The part of the report that one case expects; None where there is none."""
        path = self.cases.joinpath(*folder, "report.json")
        return json.loads(path.read_bytes()) if path.is_file() else None

    @cached_property
    def diagnostics(self) -> Mapping[str, Mapping[str, Any]]:
        """By code its first diagnostic: of its own case, else of any."""
        own = (
            (diagnostic["code"], diagnostic)
            for parts, diagnostic in self._shown
            if parts[:2] == ("diagnostics", diagnostic["code"])
        )
        every = ((diagnostic["code"], diagnostic) for _, diagnostic in self._shown)
        return _firsts(chain(own, every))

    @cached_property
    def refusals(self) -> Mapping[str, Mapping[str, str]]:
        """By operation, and then by code, the first message that carries it."""
        found: dict[str, dict[str, str]] = {}
        for (_, op, *_), diagnostic in self._of_operations():
            if diagnostic.get("severity") != "warning":
                found.setdefault(op, {}).setdefault(diagnostic["code"], diagnostic["message"])
        return {op: dict(sorted(messages.items())) for op, messages in found.items()}

    @cached_property
    def operations(self) -> Mapping[str, tuple[str, ...]]:
        """By code the operations in whose cases it occurs."""
        found: dict[str, dict[str, None]] = {}
        for (_, op, *_), diagnostic in self._of_operations():
            found.setdefault(diagnostic["code"], {})[op] = None
        return {code: tuple(operations) for code, operations in found.items()}

    def _of_operations(self) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
        return (shown for shown in self._shown if shown[0][0] == "operations")

    @cached_property
    def _shown(self) -> tuple[tuple[tuple[str, ...], Mapping[str, Any]], ...]:
        """All diagnostics with a message that cases expect, each behind the parts of its file's path."""
        return tuple(
            (path.relative_to(self.cases).parts, diagnostic)
            for path in sorted(self.cases.rglob("*.json"))
            if path.name not in _REQUESTS
            for diagnostic in _diagnostics(json.loads(path.read_bytes()))
        )


def _firsts(pairs: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for code, diagnostic in pairs:
        found.setdefault(code, diagnostic)
    return found


def _diagnostics(value: object) -> Iterator[Mapping[str, Any]]:
    match value:
        case {"code": str(), "message": str()}:
            yield cast("Mapping[str, Any]", value)
        case dict():
            for item in value.values():
                yield from _diagnostics(item)
        case list():
            for item in value:
                yield from _diagnostics(item)
        case _:
            pass
