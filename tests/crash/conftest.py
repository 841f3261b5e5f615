"""The command of crash tests."""

from collections.abc import Iterator

import pytest

from tests.crash.commands import Commands, commands


@pytest.fixture(scope="module")
def mdplan() -> Iterator[Commands]:
    """Run commands in separate processes."""
    with commands() as served:
        yield served
