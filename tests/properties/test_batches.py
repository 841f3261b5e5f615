"""Random batches hold edits of every operation."""

import pytest

from mdplan.operations import OPERATIONS
from tests.properties.batches import DRAWN


@pytest.mark.parametrize("operation", OPERATIONS)
def test_strategies_draw_every_operation(operation: str) -> None:
    assert operation in DRAWN, f"tests/properties/batches.py does not draw {operation}: give it a strategy"


def test_strategies_draw_only_existing_operations() -> None:
    assert set(DRAWN) - set(OPERATIONS) == set()
