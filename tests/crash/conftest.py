"""The command of crash tests, and counts of their trials."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.crash.commands import Commands, commands
from tests.crash.tally import Tally, tally_into


@pytest.fixture
def tally(record_property: Callable[[str, Any], None]) -> Tally:
    """Adds numbers to a row of the table that ends the run."""
    return tally_into(record_property)


@pytest.fixture(scope="module")
def mdplan() -> Iterator[Commands]:
    """Run commands in separate processes."""
    with commands() as served:
        yield served
