"""The outcomes of hostile input, in one table at the end of a run.

Entries are user properties of reports, so that they also arrive from the processes of pytest-xdist. A test
takes the fixture `record` and calls `record("26 folder that flips to a link", "refused", seconds)` before it
asserts, so that the table of a failed run includes it. The number is that of the case in the list of hostile
inputs.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast, get_args

import pytest

PROPERTY = "hostile-tally"
TITLES = ("cases", "inputs", "refused", "accepted", "escaped", "server deaths")
AREAS = (
    ("paths", range(1, 23)),
    ("kinds of files", range(23, 41)),
    ("commits", range(41, 57)),
    ("content", range(57, 65)),
    ("protocol", range(65, 73)),
)

Outcome = Literal["refused", "accepted as expected", "escaped", "server death"]


class Record(Protocol):
    """Adds `count` inputs of a case, whose name begins with its number.

    `outcome` is what became of each, `seconds` how long one took.
    """

    def __call__(self, case: str, outcome: Outcome, seconds: float, count: int = 1) -> None: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """Inputs: the case that they belong to, their outcome, and the seconds until there was one."""

    case: str
    outcome: Outcome
    seconds: float
    count: int = 1

    @property
    def number(self) -> int:
        """The number of the case; 0 if it is not in the list."""
        digits = self.case.partition(" ")[0]
        return int(digits) if digits.isdecimal() else 0


def record_into(record_property: Callable[[str, Any], None]) -> Record:
    """A function that adds inputs to the table."""

    def record(case: str, outcome: Outcome, seconds: float, count: int = 1) -> None:
        assert outcome in get_args(Outcome), outcome
        record_property(PROPERTY, [case, outcome, seconds, count])

    return record


def recorded(reports: Iterable[pytest.TestReport]) -> list[Entry]:
    """All inputs that the tests of `reports` have recorded."""
    return [
        Entry(*cast("tuple[Any, ...]", value))
        for report in reports
        if report.when == "call"
        for name, value in report.user_properties
        if name == PROPERTY
    ]


def table(entries: list[Entry]) -> list[str]:
    """The lines of the table, a row for each area, one for all of them, and the slowest input."""
    rows = {name: [entry for entry in entries if entry.number in numbers] for name, numbers in AREAS}
    rows["besides the list"] = [entry for entry in entries if not entry.number]
    rows = {name: found for name, found in rows.items() if found} | {"all": entries}
    width = max(map(len, rows))
    lines = [f"{'':{width}}" + "".join(f"  {title:>13}" for title in TITLES)]
    for name, found in rows.items():
        outcomes: Counter[str] = Counter()
        for entry in found:
            outcomes[entry.outcome] += entry.count
        numbers = [len({entry.number or entry.case for entry in found}), outcomes.total()]
        numbers += [outcomes[outcome] for outcome in get_args(Outcome)]
        lines.append(f"{name:{width}}" + "".join(f"  {number:>13,}" for number in numbers))
    slowest = max(entries, key=lambda entry: entry.seconds)
    return [*lines, f"slowest single input: {slowest.seconds:.2f} s, case {slowest.case}"]


def hostile_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the table, if any test has recorded an input."""
    entries = recorded(
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    )
    if entries:
        terminalreporter.section("hostile inputs")
        for line in table(entries):
            terminalreporter.write_line(line)
