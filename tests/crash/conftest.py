"""The fixture with which crash tests count what they tried."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.crash.tally import Tally, tally_into


@pytest.fixture
def tally(record_property: Callable[[str, Any], None]) -> Tally:
    """Adds numbers to a row of the table that ends the run."""
    return tally_into(record_property)
