"""The numbers of these tests are in the table of the crash tests."""

from tests.crash.conftest import tally

__all__ = ["tally"]
