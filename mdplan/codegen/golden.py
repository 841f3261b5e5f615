"""What the golden cases of `tests/cases` show, read for the reference pages."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

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

    def refusals_of(self, op: str) -> dict[str, str]:
        """By code, the first message of the cases of an operation that carries it."""
        found: dict[str, str] = {}
        for _, diagnostic in _diagnostics_below(self.cases / "operations" / op):
            if diagnostic.get("severity") != "warning":
                found.setdefault(diagnostic["code"], diagnostic["message"])
        return dict(sorted(found.items()))

    @cached_property
    def diagnostics(self) -> Mapping[str, Mapping[str, Any]]:
        """By code its first diagnostic: of its own case, else of any."""
        found: dict[str, Mapping[str, Any]] = {}
        for path, diagnostic in _diagnostics_below(self.cases / "diagnostics"):
            if path.parent.name == diagnostic["code"]:
                found.setdefault(diagnostic["code"], diagnostic)
        for _, diagnostic in _diagnostics_below(self.cases):
            found.setdefault(diagnostic["code"], diagnostic)
        return found

    @cached_property
    def operations_of(self) -> Mapping[str, tuple[str, ...]]:
        """By code the operations in whose cases it occurs."""
        found: dict[str, dict[str, None]] = {}
        for path, diagnostic in _diagnostics_below(self.cases / "operations"):
            op = path.relative_to(self.cases / "operations").parts[0]
            found.setdefault(diagnostic["code"], {})[op] = None
        return {code: tuple(operations) for code, operations in found.items()}


def _diagnostics_below(folder: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Diagnostics with a message that cases below `folder` expect, each with the file where it stands."""
    for path in sorted(folder.rglob("*.json")):
        if path.name not in _REQUESTS:
            yield from ((path, found) for found in _diagnostics(json.loads(path.read_bytes())))


def _diagnostics(value: object) -> Iterator[Mapping[str, Any]]:
    match value:
        case {"code": str(), "message": str()}:
            yield value  # type: ignore[misc]
        case dict():
            for item in value.values():
                yield from _diagnostics(item)
        case list():
            for item in value:
                yield from _diagnostics(item)
        case _:
            pass
