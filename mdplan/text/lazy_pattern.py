"""Regular expressions that compile on first use: most commands use few of those they import."""

import re
from functools import partial
from typing import Any, AnyStr, cast


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return `re.compile(pattern, flags)`, compiled on first use."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


class _LazyPattern:
    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._compile = partial(re.compile, pattern, flags)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever a pattern has)
        if name == "_compiled":
            value: object = self._compile()
        else:
            value = getattr(self._compiled, name)
        # Later look-ups find the attribute and skip this method.
        setattr(self, name, value)
        return value
