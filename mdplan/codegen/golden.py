"""The golden cases of `tests/cases`, read for the reference pages."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

from mdplan.codegen.case_file import CaseText, case_files, read_cases

# The case of each operation that shows the example of its model.
EXAMPLE: Final = "reference-example"
_DIAGNOSTICS: Final = "diagnostics"
_OPERATIONS: Final = "operations/"


@dataclass(frozen=True)
class GoldenCases:
    """The cases in the files below the folder `cases`, which may have only some of them."""

    cases: Path

    def example_of(self, op: str) -> CaseText | None:
        """The case that shows the example of the operation `op`."""
        found = (case for group, case in self._all if group == _OPERATIONS + op and case.slug == EXAMPLE)
        return next(found, None)

    def case_of(self, code: str) -> CaseText | None:
        """The case that shows the diagnostic `code`."""
        return next((case for group, case in self._all if (group, case.title) == (_DIAGNOSTICS, code)), None)

    @cached_property
    def diagnostics(self) -> Mapping[str, Mapping[str, Any]]:
        """By code its first diagnostic: of its own case, else of any."""
        shown = tuple(self._shown())
        own = (each for group, case, each in shown if (group, case.title) == (_DIAGNOSTICS, each["code"]))
        return _first_by_code(chain(own, (each for _, _, each in shown)))

    @cached_property
    def refusals(self) -> Mapping[str, Mapping[str, str]]:
        """By operation, and then by code, the first message that carries it."""
        found: dict[str, dict[str, str]] = {}
        for op, diagnostic in self._shown_by_operations():
            if diagnostic.get("severity") != "warning":
                found.setdefault(op, {}).setdefault(diagnostic["code"], diagnostic["message"])
        return {op: dict(sorted(messages.items())) for op, messages in found.items()}

    @cached_property
    def operations(self) -> Mapping[str, tuple[str, ...]]:
        """By code the operations in whose cases it occurs."""
        found: dict[str, dict[str, None]] = {}
        for op, diagnostic in self._shown_by_operations():
            found.setdefault(diagnostic["code"], {})[op] = None
        return {code: tuple(operations) for code, operations in found.items()}

    def _shown_by_operations(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for group, _, diagnostic in self._shown():
            if group.startswith(_OPERATIONS):
                yield group.removeprefix(_OPERATIONS), diagnostic

    def _shown(self) -> Iterator[tuple[str, CaseText, Mapping[str, Any]]]:
        """All diagnostics with a message that cases expect, each after its group and its case."""
        for group, case in self._all:
            for block in case.find("diagnostics", "report"):
                for diagnostic in _diagnostics(block.json):
                    yield group, case, diagnostic

    @cached_property
    def _all(self) -> tuple[tuple[str, CaseText], ...]:
        return tuple((group, case) for group, path in case_files(self.cases) for case in read_cases(path))


def _first_by_code(diagnostics: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for diagnostic in diagnostics:
        found.setdefault(diagnostic["code"], diagnostic)
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
