"""The two channels of an answer, text and data: both contain the same values."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from mdplan.mcp.answers import SENTENCES

_WORD: Final = re.compile(r"\w+")

# Words of texts between values.
_BETWEEN: Final = frozenset(
    _WORD.findall(
        " ".join(said for sentences in SENTENCES.values() for said in sentences)
        + " of hint line column preamble start end"
        # The toolset `files`, whose format is defined by its document.
        " File Lines Line Error Section End Hint next No matches found in all; narrow the pattern or the path"
        " (cut here: read on with cursor) (cut inside line, which is too long)"
    )
)

# A level is the number of ``#`` before a heading; HTML is for an app, not for a model.
_OTHERWISE: Final = frozenset({"level", "html"})


def assert_same_values(text: str, data: dict[str, Any]) -> None:
    """Fail if `text` has a word or number missing in `data`, or vice versa."""
    if text == json.dumps(data, ensure_ascii=False):
        return
    said = set(_WORD.findall(text))
    values = {word for value in _values(data) for word in _WORD.findall(value)}
    names = set(_names(data))
    assert values - said == set(), text
    assert said - values - names - _BETWEEN == set(), data


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "committedAt" and "files" in value:
                yield f"{datetime.fromtimestamp(inner, UTC):%Y-%m-%d %H:%M:%SZ}"
            else:
                yield from _values(inner) if name not in _OTHERWISE else ()
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    elif not isinstance(value, bool) and value is not None:
        yield str(value)


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _WORD.findall(name)
            yield from ["true", "false"] if isinstance(inner, bool) else _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)
