"""The two channels of an answer, text and data: each value of one is in the other."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from mdplan.mcp.answers import SENTENCES

_WORD: Final = re.compile(r"\w+")

# What texts say between the values.
_BETWEEN: Final = frozenset(
    _WORD.findall(
        " ".join(said for sentences in SENTENCES.values() for said in sentences)
        + " of hint line column preamble start end"
        # The toolset `files`, whose form its document sets.
        " File Lines Line Error Section End Hint next No matches found in all; narrow the pattern or the path"
        " (cut here: read on with cursor) (cut inside line, which is too long)"
    )
)

# A level is that many signs before a heading; HTML is for an App, and no text for a model.
_OTHERWISE: Final = frozenset({"level", "html"})


def assert_same_values(text: str, data: dict[str, Any]) -> None:
    """Fail where `text` has a word or number that `data` lacks, or the other way round."""
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
