"""The command that crash tests run, and what they count of what they tried."""

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
    """Runs commands in processes of their own."""
    with commands() as served:
        yield served
