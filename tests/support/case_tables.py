"""The tables of cases that a test file keeps in the YAML file next to it.

A table has the name of its test. It is a list of cases, or a mapping from the ID of each case to the case.
A case is a mapping from the names of the test's parameters to their values, a list of the values in their
order or, where the test has one parameter, the value itself.

Any other value that a test file reads, such as a long text, has a name too.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec

import pytest
import yaml

P = ParamSpec("P")


class CaseTables:
    """The tables of one test file."""

    def __init__(self, test_file: str) -> None:
        text = Path(test_file).with_suffix(".yaml").read_text(encoding="utf-8")
        self._tables: dict[str, Any] = yaml.safe_load(text)

    def value(self, name: str, *, tuples: bool = False) -> Any:
        """Return the value of a name. With `tuples`, the lists in it become tuples."""
        value = self._tables[name]
        if not tuples:
            return value
        if isinstance(value, dict):
            return {key: _frozen(part) for key, part in value.items()}
        return _frozen(value)

    def parametrize(
        self, *names: str, tuples: bool = False
    ) -> Callable[[Callable[P, None]], Callable[P, None]]:
        """Return a decorator that runs a test with each case of the table of its name.

        With `tuples`, the lists in the values become tuples.
        """

        def decorate(test: Callable[P, None]) -> Callable[P, None]:
            table = self._tables[test.__name__]
            cases = table.items() if isinstance(table, dict) else [(None, case) for case in table]
            rows = [
                pytest.param(
                    *(_frozen(value) if tuples else value for value in _values(case, names)), id=case_id
                )
                for case_id, case in cases
            ]
            return pytest.mark.parametrize(names, rows)(test)

        return decorate


def _values(case: Any, names: tuple[str, ...]) -> list[Any]:
    if isinstance(case, dict) and set(case) == set(names):
        return [case[name] for name in names]
    if len(names) == 1:
        return [case]
    assert len(case) == len(names), f"a case has a value for each of {', '.join(names)}: {case}"
    return list(case)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
