"""Check values against a JSON Schema.

Schemas are untrusted. Nothing is fetched: a schema may only refer to itself and to the drafts of JSON Schema.
Steps (one per keyword), pattern time and total time are limited.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import regex
from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import SchemaError, ValidationError, best_match
from jsonschema_specifications import REGISTRY
from referencing.exceptions import Unresolvable

from mdplan.data.address import shown
from mdplan.data.content import as_json
from mdplan.data.tree import DataError, Opaque, Path
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.pattern import has_too_many_parts
from mdplan.values import Struct

# Limits for the schema itself, and again for the values. Processor seconds bound slow single steps.
_MOST_STEPS: Final = 300_000
_MOST_SECONDS: Final = 3.0
_PATTERN_SECONDS: Final = 1.0
_MOST_SHOWN: Final = 100
# Only some of the violations are useful.
_MOST_VIOLATIONS: Final = 1_000
_TAPLO: Final = lazy_pattern(r"^#:schema[ \t]+(\S+)", re.MULTILINE)
_MODELINE: Final = lazy_pattern(
    r"^[ \t]*#[ \t]*(?:yaml-language-server:[ \t]*)?\$schema[=:][ \t]*(\S+)", re.MULTILINE
)


_Errors = Iterator[ValidationError]


class Violation(Struct):
    """A schema violation: the value at `path` violates the keyword `rule`.

    `kind` identifies the violation across two texts, independent of list positions.
    """

    path: Path
    rule: str
    kind: tuple[object, ...]


def named_schema(text: str, values: object) -> str | None:
    """Return the path or URL of the schema that a file names, if any."""
    named = values.get("$schema") if isinstance(values, dict) else None
    if isinstance(named, str):
        return named
    comment = (_TAPLO.search(text) or _MODELINE.search(text)) if "schema" in text else None
    return comment[1] if comment else None


def known_schema(url: str) -> object:
    """Return the JSON Schema draft at `url`, or None."""
    resource = REGISTRY.get(url.removesuffix("#"))
    return None if resource is None else resource.contents


def violations(
    values: object, schema: object, clock: Callable[[], float] = lambda: 0.0
) -> tuple[Violation, ...]:
    """Return the violations of `schema` in `values`. Raise `DataError` if they cannot be checked.

    `clock` returns the processor seconds used by the check.
    """
    if any(isinstance(each, Opaque) for each in _all_values(values)):
        raise DataError("it has aliases or tags")
    if not isinstance(schema, dict | bool):
        raise DataError("it is no JSON Schema")
    if (
        isinstance(schema, dict)
        and _has(schema, "unevaluatedProperties")
        and _has(schema, "patternProperties")
    ):
        raise DataError("it has both unevaluatedProperties and patternProperties")
    try:
        errors = _checked(schema, clock).iter_errors(as_json(values))
        return tuple(map(_violation, islice(errors, _MOST_VIOLATIONS)))
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path))
        raise DataError(f"it is not valid JSON Schema at `/{place}`") from error
    except Exception as error:
        reason = next((each for kind, each in _REASONS if isinstance(error, kind)), None)
        if reason is None:
            raise
        raise DataError(reason) from error


_REASONS: Final = (
    (Unresolvable, "it refers to another schema, which is not fetched"),
    ((regex.error, re.error), "it has a pattern that is no regular expression"),
    (TimeoutError, "checking it takes too long"),
    (RecursionError, "it, or what it is used on, is nested too deeply"),
)


def _checked(schema: dict[str, Any] | bool, clock: Callable[[], float]) -> Any:  # noqa: FBT001 (a schema may be one)
    """Return the validator of `schema` with this module's limits. Raise `SchemaError`."""
    kind: Any = validators.validator_for(schema, default=Draft202012Validator)
    own_rules = _bounded(kind, clock)(kind.META_SCHEMA, registry=REGISTRY, format_checker=kind.FORMAT_CHECKER)
    error = best_match(islice(own_rules.iter_errors(schema), _MOST_VIOLATIONS))
    if error is not None:
        raise SchemaError.create_from(error)
    return _bounded(kind, clock)(schema, registry=REGISTRY)


def _bounded(kind: Any, clock: Callable[[], float]) -> Any:
    """Return a validator class like `kind` whose instances share one step limit."""
    limit = _Limit(clock)
    own = {
        "pattern": limit.pattern,
        "patternProperties": limit.pattern_properties,
        "additionalProperties": limit.additional_properties,
        "uniqueItems": limit.unique_items,
    }
    checks = {**kind.VALIDATORS, **{name: own[name] for name in own if name in kind.VALIDATORS}}
    return validators.extend(kind, {name: limit.counted(check) for name, check in checks.items()})


def new_violations(before: Sequence[Violation], after: Sequence[Violation]) -> tuple[Violation, ...]:
    """Return the violations in `after` that are missing, or less frequent, in `before`."""
    old = Counter(violation.kind for violation in before)
    new: list[Violation] = []
    for violation in after:
        if old[violation.kind]:
            old[violation.kind] -= 1
        else:
            new.append(violation)
    return tuple(new)


class _Limit:
    """The remaining steps and time, and the keywords that need special limits."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._left, self._clock = _MOST_STEPS, clock
        self._end = clock() + _MOST_SECONDS

    def counted(self, check: Any) -> Any:
        """Wrap the keyword function `check` to raise `TimeoutError` beyond the limits."""

        def step(validator: Any, asked: Any, instance: Any, schema: Any) -> _Errors:
            # Lists and maps of the schema are iterated, and so are the instances.
            self._take(1 + sum(len(each) >> 6 for each in (asked, instance) if isinstance(each, list | dict)))
            return check(validator, asked, instance, schema) or iter(())

        return step

    def _take(self, steps: int) -> float:
        """Consume `steps`; return the remaining seconds."""
        self._left -= steps
        seconds = self._end - self._clock()
        if self._left < 0 or seconds <= 0:
            raise TimeoutError
        return seconds

    def _matches(self, pattern: str, text: str) -> bool:
        if has_too_many_parts(pattern):
            raise TimeoutError
        seconds = min(self._take(1), _PATTERN_SECONDS)
        return regex.search(pattern, text, timeout=seconds) is not None

    def pattern(self, validator: Any, pattern: str, instance: Any, schema: Any) -> _Errors:
        del schema
        if validator.is_type(instance, "string") and not self._matches(pattern, instance):
            yield ValidationError("")

    def pattern_properties(self, validator: Any, patterns: Any, instance: Any, schema: Any) -> _Errors:
        del schema
        for pattern, inner in patterns.items() if validator.is_type(instance, "object") else ():
            for name, value in instance.items():
                if self._matches(pattern, name):
                    yield from validator.descend(value, inner, path=name, schema_path=pattern)

    def additional_properties(
        self, validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]
    ) -> _Errors:
        known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        for name, value in instance.items() if validator.is_type(instance, "object") else ():
            if name in known or any(self._matches(pattern, name) for pattern in patterns):
                continue
            if allowed is False:
                yield ValidationError("", path=[name])
            else:
                yield from validator.descend(value, allowed, path=name)

    def unique_items(self, validator: Any, asked: Any, instance: Any, schema: Any) -> _Errors:
        """Check `uniqueItems` with hashes instead of pairs."""
        del schema
        if asked and validator.is_type(instance, "array"):
            items = [self._hashable(item) for item in instance]
            if len(set(items)) < len(items):
                yield ValidationError("")

    def _hashable(self, value: Any) -> object:
        self._take(1)
        if isinstance(value, dict):
            return frozenset((name, self._hashable(inner)) for name, inner in value.items())
        if isinstance(value, list):
            return tuple(map(self._hashable, value))
        # True is not 1.
        return (bool, value) if isinstance(value, bool) else value


def _violation(error: ValidationError) -> Violation:
    inner = best_match([error]) or error
    path, schema_path = tuple(inner.absolute_path), tuple(error.absolute_schema_path)
    names = tuple(each for each in error.absolute_path if isinstance(each, str))
    rule = _rule(inner)
    return Violation(path, rule, (names, schema_path, rule))


def _rule(error: ValidationError) -> str:
    """Return the violated keyword, with its value if short."""
    if error.validator is None:
        return "false"
    keyword, asked = error.validator, error.validator_value
    if keyword == "required" and isinstance(asked, list) and isinstance(error.instance, dict):
        asked = [name for name in asked if name not in error.instance]
    written = json.dumps(asked, ensure_ascii=False, default=str)
    return f"{keyword}: {written}" if len(written) <= _MOST_SHOWN else keyword


def _has(schema: object, keyword: str) -> bool:
    """Return True if `keyword` occurs anywhere in `schema`."""
    return any(isinstance(each, dict) and keyword in each for each in _all_values(schema))


def _all_values(value: object) -> Iterator[object]:
    """Yield `value` and all values in it, without recursion, since it may be deep."""
    waiting = [value]
    for each in waiting:
        yield each
        waiting += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()


def place_of(violation: Violation) -> str:
    """Return the address of the violating value, or ``the file``."""
    return f"`{shown(violation.path)}`" if violation.path else "the file"
