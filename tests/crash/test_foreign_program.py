"""A program that ignores the lock loses nothing, whenever it writes, also when the commit is killed then."""

from pathlib import Path

import pytest

from tests.crash.checker import Checker
from tests.crash.scenario import Scenario, created, deleted, renamed, replaced
from tests.crash.stranger import check_stranger
from tests.crash.tally import Tally

SCENARIOS = (
    Scenario("replace", replaced("a.md", "d/b.md"), (replaced("before.md"),)),
    Scenario("create", created("new.md"), (replaced("before.md"),)),
    Scenario("delete", deleted("gone.md"), (replaced("before.md"),)),
    Scenario("rename", renamed("d/from.md", "to.md"), (replaced("before.md"),)),
)


@pytest.mark.requirement("commit-6")
@pytest.mark.parametrize("scenario", [pytest.param(each, id=each.name) for each in SCENARIOS])
def test_file_of_another_program_is_never_replaced(scenario: Scenario, tmp_path: Path, tally: Tally) -> None:
    found = check_stranger(Checker(scenario, tmp_path))
    tally("another writer", points=found.points, states=found.states, violations=len(found.violations))

    assert found.points > 0
    assert not found.violations, "\n".join(found.violations)
