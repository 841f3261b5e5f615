"""What the crash tests tried, added up in one table at the end of a run.

Numbers travel as user properties of reports, so that they arrive from the processes of pytest-xdist too. A
test takes the fixture `tally` and says `tally("model checker", points=40, states=900, violations=0)`, before
it asserts anything, so that violations are in the table of a run that fails.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest

PROPERTY = "crash-tally"
COLUMNS = ("points", "states", "errnos", "violations")
TITLES = ("crash points", "states", "errnos", "violations")
Tally = Callable[..., None]


def tally_into(record_property: Callable[[str, Any], None]) -> Tally:
    """A function that adds numbers to a row of the table."""

    def tally(row: str, *, points: int = 0, states: int = 0, errnos: int = 0, violations: int = 0) -> None:
        record_property(PROPERTY, [row, points, states, errnos, violations])

    return tally


def added(reports: Iterable[pytest.TestReport]) -> dict[str, list[int]]:
    """The sums of each row, sorted by its name; empty when no test has counted anything."""
    rows: dict[str, list[int]] = defaultdict(lambda: [0] * len(COLUMNS))
    for report in reports:
        for name, value in report.user_properties if report.when == "call" else ():
            if name == PROPERTY:
                row, *numbers = cast("list[Any]", value)
                rows[row] = [sum(pair) for pair in zip(rows[row], numbers, strict=True)]
    return dict(sorted(rows.items()))


def table(rows: dict[str, list[int]]) -> list[str]:
    """The lines of the table, with a last one for all."""
    every = {**rows, "all": [sum(column) for column in zip(*rows.values(), strict=True)]}
    width = max(map(len, every))
    head = f"{'':{width}}" + "".join(f"  {title:>12}" for title in TITLES)
    return [head] + [
        f"{row:{width}}" + "".join(f"  {number:>12,}" for number in numbers) for row, numbers in every.items()
    ]


def crash_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the table, if any test has counted something."""
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    ]
    rows = added(reports)
    if rows:
        terminalreporter.section("crashes")
        for line in table(rows):
            terminalreporter.write_line(line)
