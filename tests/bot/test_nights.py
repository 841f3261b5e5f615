"""Some nights of each chore of `tests/bot/nights.py`."""

from pathlib import Path

import pytest

from tests.bot.nights import CHORES, Nights
from tests.conftest import FULL
from tests.support.patches import needs_git

pytestmark = [needs_git, pytest.mark.usefixtures("identity"), pytest.mark.timeout(600)]


@pytest.mark.parametrize("chore", CHORES if FULL else ["region", "keys"])
def test_branch_is_what_the_manifest_says_on_the_base_plus_what_people_committed(
    chore: str, tmp_path: Path
) -> None:
    happened = Nights.of(chore, tmp_path, seed=0).run(30 if FULL else 6)

    assert happened["broken page"] == 1
