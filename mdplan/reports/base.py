"""The base class of all reports, and their JSON form.

Each verb has one class, for success and refusal alike. On the wire names are camelCase, absent
values are omitted, and every string is valid Unicode.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from typing import Any, NoReturn, Self, TypeVar

from mdplan.diagnostics import Diagnostic, Refused, Severity
from mdplan.field_names import camel_case
from mdplan.text.source import visible
from mdplan.values import Struct


class Report(Struct, kw_only=True):
    """The part that all reports share. `error` is the first of the `diagnostics` that are errors.

    `left_out` says how many entries long lists have lost to keep the report short, by the names of the lists.

    >>> report = engine.read({"file": "guide.md", "heading": "Descale"})
    >>> report.ok, report.error.code.value, len(report.diagnostics)
    (False, 'SECTION_NOT_FOUND', 1)
    """

    ok: bool
    error: Diagnostic | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: Mapping[str, int] | None = None

    def unwrap(self) -> Self:
        """Return the report if it is `ok`. Raises `Refused`, which has all diagnostics, if it is not."""
        if not self.ok:
            raise Refused(*self.diagnostics)
        return self

    def __bool__(self) -> NoReturn:
        """Raise `TypeError`: every report, also a refusal, would count as true."""
        raise TypeError("a report is neither true nor false: look at `report.ok`, or call `report.unwrap()`")


AnyReport = TypeVar("AnyReport", bound=Report)


def refusal(shape: type[AnyReport], problems: Sequence[Diagnostic]) -> AnyReport:
    """Make a report of the class `shape` that refuses: all `problems`, the first error in front."""
    error = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
    assert error is not None, "a refusal names its error"
    return shape(ok=False, error=error, diagnostics=tuple(problems))


def to_wire(value: object) -> Any:  # noqa: ANN401 (any JSON)
    """Convert `value` to JSON: records to objects in camelCase without absent fields, enums to values.

    >>> to_wire(engine.search({"pattern": "nightly", "file": "guide.md"}))["totalMatches"]
    2
    """
    if isinstance(value, str):
        return visible(str(value)) if not value.isascii() else str(value)
    if value is None or isinstance(value, bool | int | float | Enum):
        return value.value if isinstance(value, Enum) else value
    shape: Any = type(value)  # To mypy a class has no hash.
    names = _names(shape)
    if names is not None:
        return {
            wire_name: to_wire(item)
            for name, wire_name in names
            if (item := getattr(value, name)) is not None and (item != "" or name != "hint")
        }
    # The test for any mapping takes longer than all else.
    if not isinstance(value, tuple) and isinstance(value, Mapping):
        return {to_wire(key): to_wire(item) for key, item in value.items()}
    assert isinstance(value, Sequence), type(value)
    return [to_wire(item) for item in value]


@cache
def _names(shape: type) -> tuple[tuple[str, str], ...] | None:
    """Return the names of the fields of a Struct, each with its wire name; None for another class."""
    if not issubclass(shape, Struct):
        return None
    off_wire = getattr(shape, "_off_wire", ())
    return tuple((name, camel_case(name)) for name in shape.__struct_fields__ if name not in off_wire)
