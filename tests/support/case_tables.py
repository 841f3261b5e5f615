"""Tables of test cases, read from the YAML file next to a test file.

A table has the name of its test. It is a list of cases, or a mapping from case IDs to cases. A case is a
mapping from parameter names to values, a list of values in order or, for a single parameter, the value
itself.

Other values that a test file reads, such as long texts, have names too.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec

import pytest
import yaml

P = ParamSpec("P")


class CaseTables:
    def __init__(self, test_file: str) -> None:
        text = Path(test_file).with_suffix(".yaml").read_text(encoding="utf-8")
        self._tables: dict[str, Any] = yaml.safe_load(text)

    def value(self, name: str, *, tuples: bool = False) -> Any:
        """Return the value of a name, optionally with lists converted to tuples."""
        value = self._tables[name]
        if not tuples:
            return value
        if isinstance(value, dict):
            return {key: _frozen(part) for key, part in value.items()}
        return _frozen(value)

    def parametrize(
        self, *names: str, tuples: bool = False
    ) -> Callable[[Callable[P, None]], Callable[P, None]]:
        """Return a decorator that runs a test with each case of its table.

        `tuples` converts lists in the values to tuples.
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
