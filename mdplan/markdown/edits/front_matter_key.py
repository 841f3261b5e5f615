"""Which key of front matter a caller means, who may write a path with dots.

Dots stand between maps, but some names have dots themselves, such as `ms.date`: what is there decides.
"""

from collections.abc import Iterator, Mapping, Sequence

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.edits.front_matter_problems import ambiguous_key
from mdplan.markdown.front_matter.change import Key
from mdplan.markdown.front_matter.values import FrontMatterContent


def elements_of(given: str | Sequence[str]) -> Key:
    """The path that `given` is: a string is split at dots. Raises `ValueError` where a part is empty."""
    key = tuple(given.split(".")) if isinstance(given, str) else tuple(given)
    if not all(key):
        msg = "a key between the dots is empty; a key that has such dots itself goes into an array"
        raise ValueError(msg)
    return key


def find_key(content: FrontMatterContent, given: str | Sequence[str]) -> Key | Diagnostic:
    """The path that `given` means in `content`, whether it is there or not.

    An array is taken as it is. A string with dots means the one key that is there and can be read so; where
    none is, dots stand between maps. Errors: INVALID_ARGUMENT where that cannot be told: several keys are
    there, or others beside the missing one have dots in their names.
    """
    key = elements_of(given)
    if not isinstance(given, str) or len(key) == 1:
        return key
    found = list(_readings(content.values, key))
    if len(found) > 1:
        return ambiguous_key(found)
    if found:
        return found[0]
    return _missing(content, key)


def _readings(values: Mapping[str, object], key: Key) -> Iterator[Key]:
    """All paths in `values` whose elements are those of `key`, some of them joined by dots."""
    for length in range(1, len(key) + 1):
        name = ".".join(key[:length])
        inner = values.get(name)
        if name in values and length == len(key):
            yield (name,)
        elif isinstance(inner, dict):
            yield from ((name, *rest) for rest in _readings(inner, key[length:]))


def _missing(content: FrontMatterContent, key: Key) -> Key | Diagnostic:
    values: Mapping[str, object] = content.values
    for depth, element in enumerate(key):
        inner = values.get(element)
        if element not in values and any(name.startswith(f"{element}.") for name in values):
            literal = (*key[:depth], ".".join(key[depth:]))
            return ambiguous_key([literal, key]) if depth < len(key) - 1 else key
        if not isinstance(inner, dict):
            return key
        values = inner
    return key
