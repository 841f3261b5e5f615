"""Names that are most like a given one."""

import pytest

from mdplan.text.visible import nearest_names

NAMES = (
    "installing",
    "getting started with the cli",
    "configuration",
    "environment variables",
    "faq",
    "api reference",
    "32 retry policy",
    "static method bufferconcatlist totallength",
    "buffer constants",
    "über uns",
    "contributing",
)
MANY = tuple(f"chapter {number} about topic {number}" for number in range(3_000))


@pytest.mark.parametrize("others", [(), MANY], ids=["few", "many"])
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("instalation", "installing"),
        ("install", "installing"),
        ("getting started", "getting started with the cli"),
        ("confguration", "configuration"),
        ("enviroment variable", "environment variables"),
        ("retry policies", "32 retry policy"),
        ("api", "api reference"),
        ("the api reference page", "api reference"),
        ("bufferconcatt list", "static method bufferconcatlist totallength"),
        ("uber uns", "über uns"),
        ("contribute", "contributing"),
    ],
)
def test_nearest_name_is_the_first(others: tuple[str, ...], wanted: str, expected: str) -> None:
    assert nearest_names(wanted, (*others, *NAMES))[:1] == [expected]


@pytest.mark.parametrize("others", [(), MANY], ids=["few", "many"])
@pytest.mark.parametrize("wanted", ["", "zq", "zebra crossing", "in" * 200])
def test_dissimilar_names_give_no_suggestion(others: tuple[str, ...], wanted: str) -> None:
    assert nearest_names(wanted, (*others, *NAMES)) == []


def test_at_most_three_names_are_given() -> None:
    assert nearest_names("step x", (f"step {number}" for number in range(9))) == [
        "step 0",
        "step 1",
        "step 2",
    ]
