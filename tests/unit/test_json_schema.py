"""Hostile schemas: an answer or a refusal that says why, in bounded time."""

from typing import Any

import pytest

from mdplan.data.json_schema import violations
from mdplan.data.tree import DataError, Opaque

DOUBLED: dict[str, Any] = {
    "$defs": {
        str(level): {"anyOf": 2 * [{"$ref": f"#/$defs/{level + 1}"}]} if level < 40 else False
        for level in range(41)
    },
    "$ref": "#/$defs/0",
}


@pytest.mark.parametrize(
    ("schema", "values", "reason"),
    [
        ({"$ref": "#"}, {}, "it, or what it is used on, is nested too deeply"),
        (DOUBLED, {}, "checking it takes too long"),
        ({"$ref": "https://example.com/page.json"}, {}, "it refers to another schema, which is not fetched"),
        ({"$ref": "file:///etc/passwd"}, {}, "it refers to another schema, which is not fetched"),
        (
            {"properties": {"a": {"pattern": "^(a|a)*(a|a)*$"}}},
            {"a": "a" * 60 + "!"},
            "checking it takes too long",
        ),
        ({"properties": {"a": {"pattern": "a{1000000000}"}}}, {"a": "a"}, "checking it takes too long"),
        ({"type": 7}, {}, "it is not valid JSON Schema at `/type`"),
        ([], {}, "it is no JSON Schema"),
        ({}, {"a": Opaque("alias", "b")}, "it has aliases or tags"),
    ],
)
def test_schema_that_cannot_be_used_is_refused(schema: object, values: object, reason: str) -> None:
    with pytest.raises(DataError) as refused:
        violations(values, schema)
    assert refused.value.reason == reason


def test_violation_names_the_value_and_the_rule() -> None:
    schema = {"properties": {"a": {"items": {"properties": {"b": {"maxLength": 2}}}}}}
    found = violations({"a": [{"b": "xx"}, {"b": "xxx"}]}, schema)
    assert [(each.path, each.rule) for each in found] == [(("a", 1, "b"), "maxLength: 2")]
