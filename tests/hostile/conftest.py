"""The fixture with which tests of hostile inputs say what became of each."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.hostile.tally import Record, record_into


@pytest.fixture
def record(record_property: Callable[[str, Any], None]) -> Record:
    """Adds one input to the table that ends the run."""
    return record_into(record_property)
