"""Side by side, lines that belong together are beside each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.web.diff import paired

OLD = ("## Install", "", "Get the nightly build.", "", "## Use", "", "Run it once a day.")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # A renamed heading is beside the old one, though a section was put before it.
        (
            OLD[4:],
            ("## Requirements", "", "A socket.", "", "## Use it", "", "Run it twice a day."),
            [(None, 0), (None, 1), (None, 2), (None, 3), (0, 4), (1, 5), (2, 6)],
        ),
        # Two titles without a common word, each with its own body.
        (
            OLD,
            ("## Setup", "", "Get the stable build.", "", "## Daily work", "", "Run it once a week."),
            [(number, number) for number in range(7)],
        ),
        # The body of a section that was removed is beside nothing.
        (OLD, OLD[4:], [(0, None), (1, None), (2, None), (3, None), (4, 0), (5, 1), (6, 2)]),
        # A new section before two renamed ones: titles go with their bodies.
        (
            ("## One", "First body.", "## Two", "Second body."),
            ("## Nil", "New text.", "## Uno", "First body, again.", "## Dos", "Second body, again."),
            [(None, 0), (None, 1), (0, 2), (1, 3), (2, 4), (3, 5)],
        ),
        (("a b c",), ("x y z",), [(0, 0)]),
        ((), ("new",), [(None, 0)]),
        (("gone", "gone too"), (), [(0, None), (1, None)]),
    ],
)
def test_split_view_pairs_matching_lines(
    old: tuple[str, ...], new: tuple[str, ...], expected: list[tuple[int | None, int | None]]
) -> None:
    assert list(paired(old, new)) == expected


LINES = st.lists(st.sampled_from(["", "# A", "## A", "## B c", "one two three", "one two", "four", "---"]))


@given(LINES, LINES)
def test_every_line_is_shown_once_and_in_order(old: list[str], new: list[str]) -> None:
    pairs = list(paired(old, new))
    assert [each for each, _ in pairs if each is not None] == list(range(len(old)))
    assert [each for _, each in pairs if each is not None] == list(range(len(new)))
