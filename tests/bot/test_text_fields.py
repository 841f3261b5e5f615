"""Numbers from data become text in text fields and stay numbers in number fields."""

import pytest

from mdplan.bot.expansion import with_texts

GIVEN = "{{vars.n}}"


@pytest.mark.parametrize(
    ("edit", "filled"),
    [
        ({"op": "append_to_file", "markdown": GIVEN}, "3"),
        ({"op": "append_to_file", "content": GIVEN}, "3"),
        ({"op": "rename_heading", "new_title": GIVEN}, "3"),
        ({"op": "rename_heading", "headingPath": GIVEN}, "3"),
        ({"op": "set_ini_key", "value": GIVEN}, 3),
        ({"op": "set_front_matter", "key": GIVEN}, "3"),
        ({"op": "set_front_matter", "value": GIVEN}, 3),
        ({"op": "set_front_matter", "expectedValue": GIVEN}, 3),
        ({"op": "set_heading_level", "level": GIVEN}, 3),
        ({"op": "replace_match", "minMatches": GIVEN}, 3),
        ({"op": "replace_match", "minMatches": 3}, 3),
        ({"op": "append_to_file", "markdown": 3}, 3),
        ({"op": "no_such_op", "markdown": GIVEN}, 3),
    ],
)
def test_number_is_converted_to_the_type_of_its_field(edit: dict[str, object], filled: object) -> None:
    check(edit, {name: 3 if value == GIVEN else value for name, value in edit.items()}, filled)


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ({"a": 1, "b": True, "c": 1.5}, {"a": "1", "b": "true", "c": "1.5"}),
        ({"a": None, "b": "x", "c": [1]}, {"a": None, "b": "x", "c": [1]}),
    ],
)
def test_numbers_in_a_map_become_text_where_its_values_are_text(value: object, filled: object) -> None:
    check({"op": "upsert_table_row", "row": GIVEN}, {"op": "upsert_table_row", "row": value}, filled)


def test_numbers_in_a_list_of_the_manifest_stay_numbers() -> None:
    written = {"op": "append_to_section", "headingPath": [2024, GIVEN]}

    check(written, {**written, "headingPath": [2024, 3]}, [2024, "3"])


def check(written: dict[str, object], filled: dict[str, object], expected: object) -> None:
    assert list(with_texts(filled, written).values())[-1] == expected
