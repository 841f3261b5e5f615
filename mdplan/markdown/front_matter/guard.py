"""Whether front matter says what a caller expects, who can only speak JSON."""

from mdplan.markdown.front_matter.block import FrontMatterFormat
from mdplan.markdown.front_matter.values import DATES, read_date


def value_matches(format: FrontMatterFormat, value: object, expected: object) -> bool:  # noqa: A002 (as in stat)
    """Whether `value`, of a block in `format`, is the JSON value `expected`.

    A date is its text, in any spelling that reads as the same; 1 and 1.0 are one number.
    """
    if isinstance(value, DATES):
        return isinstance(expected, str) and read_date(format, expected) == value
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(
            value_matches(format, value[k], expected[k]) for k in value
        )
    if isinstance(value, list) and isinstance(expected, list):
        pairs = zip(value, expected, strict=False)
        return len(value) == len(expected) and all(
            value_matches(format, left, right) for left, right in pairs
        )
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    return value == expected


def as_json(value: object) -> object:
    """`value` as JSON, dates as ISO 8601."""
    match value:
        case dict():
            return {key: as_json(each) for key, each in value.items()}
        case list():
            return [as_json(each) for each in value]
        case _ if isinstance(value, DATES):
            return value.isoformat()
        case _:
            return value
