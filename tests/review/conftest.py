"""A plan of three edits and who decides on it, for the tests of decisions."""

from pathlib import Path

import pytest

from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from tests.support.three_edits import plan


@pytest.fixture
def strict(root: Path) -> Engine:
    """An engine that commits approved plans only."""
    return Engine.open([root], approval=approved_only)


@pytest.fixture
def reviewing(strict: Engine) -> ReviewService:
    return ReviewService(strict, clock=lambda: 1_000_000_000.0)


@pytest.fixture
def plan_id(strict: Engine) -> str:
    """The plan of all three edits, which nobody has looked at yet."""
    return plan(strict)
