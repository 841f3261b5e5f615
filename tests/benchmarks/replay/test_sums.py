"""The sums of a run: each end of a call is counted once, and one tool can be measured again."""

from typing import Any

from tests.benchmarks.replay.sums import merged, sums_of
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


def row(drift: list[str | None], *tools: str) -> dict[str, Any]:
    result = {"exact": True, "tokens": [5, 6], "read": [7, 8], "drift": drift}
    return {
        "change": "a 1 a.md",
        "hunks": 1,
        "size": 9,
        "kind": "list",
        "tools": dict.fromkeys(tools, result),
    }


def test_change_at_another_place_is_counted_separately() -> None:
    sums = sums_of([row(["right", "refused (changed)", None], "mdplan")], [], [])

    assert sums["parts"]["kind: list"] == sums["parts"]["all"]
    assert sums["parts"]["all"]["tools"]["mdplan"] == CASE_TABLES.value(
        "test_change_at_another_place_is_counted_separately"
    )


def test_rerun_replaces_the_sums_of_its_tool_only() -> None:
    before = sums_of([row(["refused"], "mdplan", "patch")], [], [{"variants": {"CRLF": {"patch": True}}}])
    after = sums_of([row(["right"], "mdplan")], [], [])
    found = merged(before, after)

    assert found["parts"]["all"]["tools"]["mdplan"]["drift"] == {"right": 1}
    assert found["parts"]["all"]["tools"]["patch"]["drift"] == {"refused": 1}
    assert found["variants"]["CRLF"]["tools"]["patch"] == {"exact": 1}
