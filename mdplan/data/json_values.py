"""Values of a text as JSON, and JSON values as a text has them: dates are texts to callers."""

import datetime as dt
import json
from collections.abc import Iterable
from typing import Final

from mdplan.data.change import DateText
from mdplan.data.content import read_data
from mdplan.data.node import DataError, Language, Opaque
from mdplan.field_names import short_name

DATES: Final = (dt.date, dt.time)


def read_date(language: str, text: str) -> object:
    """The date or time that `text` reads as; None where it is none."""
    # What follows a `#` is a comment, which a date does not have.
    if not text[:1].isdigit() or set("\n\r#") & set(text):
        return None
    try:
        content = f"k: {text}\n" if language == Language.YAML else f"k = {text}\n"
        found = read_data(Language(language), content, is_strict=True).values.get("k")
    except DataError:
        return None
    return found if isinstance(found, DATES) else None


def dated(language: str, value: object, old: object) -> object:
    """`value`, or where it is a string and takes the place of the date or time `old`, the date that it is."""
    return with_dates(language, value) if isinstance(value, str) and isinstance(old, DATES) else value


def dated_as_others(language: str, value: object, others: Iterable[object]) -> object:
    """`value`, or the date that it reads as, where `others` have dates and none is quoted like a text."""
    others = list(others)
    has_dates = any(isinstance(other, DATES) for other in others)
    has_texts = any(isinstance(other, str) and read_date(language, other) is not None for other in others)
    return with_dates(language, value) if isinstance(value, str) and has_dates and not has_texts else value


def with_dates(language: str, value: object) -> object:
    """`value` with dates and times in place of the strings that read as such, also in lists and maps."""
    match value:
        case str():
            found = read_date(language, value)
            return value if found is None else DateText(value.strip(" \t"), found)
        case list():
            return [with_dates(language, each) for each in value]
        case dict():
            return {key: with_dates(language, each) for key, each in value.items()}
        case _:
            return value


def other_value(name: str, value: object, expected: object) -> str:
    """The message that the key `name` has `value`, and not the `expected` one."""
    now, wanted = (json.dumps(as_json(each), ensure_ascii=False) for each in (value, expected))
    return f"{name} is `{short_name(now)}`, not `{short_name(wanted)}`"


def value_matches(language: str, value: object, expected: object) -> bool:
    """Whether `value`, of a text in `language`, is the JSON value `expected`.

    A date is its text, in any spelling that reads as the same; 1 and 1.0 are one number.
    """
    if isinstance(value, DATES):
        return isinstance(expected, str) and read_date(language, expected) == value
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(
            value_matches(language, value[k], expected[k]) for k in value
        )
    if isinstance(value, list) and isinstance(expected, list):
        pairs = zip(value, expected, strict=False)
        return len(value) == len(expected) and all(
            value_matches(language, left, right) for left, right in pairs
        )
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    return value == expected


def written_in(language: str, value: object) -> object:
    """`value` as a text in `language` can have it: in INI numbers, true and false are text."""
    if language != Language.INI or value is None or isinstance(value, str | list):
        return value
    if isinstance(value, dict):
        return {key: written_in(language, each) for key, each in value.items()}
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_json(value: object) -> object:
    """`value` as JSON, dates as ISO 8601."""
    if isinstance(value, dict):
        return {str(key): as_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    if isinstance(value, Opaque):
        return f"*{value.value}" if value.kind == "alias" else as_json(value.value)
    return value.isoformat() if isinstance(value, DATES) else _plain(value)


def _plain(value: object) -> object:
    """A scalar; what JSON does not have as its text."""
    is_json = value is None or isinstance(value, str | bool | int | float)
    return value if is_json else str(value)
