"""Values of keys as callers write them: any JSON that a text of keys can contain."""

import json
import math
from collections.abc import Iterator

from mdplan.data.tree import depth_of
from mdplan.markdown.front_matter import MAX_DEPTH


def checked(value: object) -> object:
    """`value`, which a text of keys can contain. Raises `ValueError`."""
    if depth_of(value) > MAX_DEPTH:
        msg = f"it is nested deeper than {MAX_DEPTH} levels"
        raise ValueError(msg)
    if any(isinstance(each, float) and not math.isfinite(each) for each in scalars_of(value)):
        msg = "it contains a number that JSON does not have"
        raise ValueError(msg)
    if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"} and _is_json(value):
        msg = "a string that contains JSON: send that array or object itself"
        raise ValueError(msg)
    return value


def scalars_of(value: object) -> Iterator[object]:
    """Yield `value`, or all values in its lists and maps that are neither."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            waiting += each.values() if isinstance(each, dict) else each
        else:
            yield each


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
