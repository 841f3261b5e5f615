"""Parsers stop when their time is over, and what others do does not count."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from mdplan.markdown.blocks import ParseTimeout, check_deadline, parse_time, with_deadline
from mdplan.markdown.inline import InlineMap
from mdplan.markdown.outline import Outline
from mdplan.markdown.reference_parser import parse_reference_blocks
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source


def ticking() -> Callable[[], float]:
    """A clock that goes on by a second whenever somebody looks at it."""
    seconds: Iterator[int] = count()
    return lambda: next(seconds)


def ask() -> None:
    for _ in range(200):
        check_deadline()


HARD = {
    "headings": lambda: Outline(Source.from_text("# a\n" * 500)),
    "items": lambda: Outline(Source.from_text("- a\n- # b\n1. c\n" * 500)).blocks,
    "quotes": lambda: Outline(Source.from_text("> a\nb\n- c\n" * 500)),
    "a label without end": lambda: parse_reference_blocks("[\n" + "a\n" * 500),
    "lazy lines": lambda: parse_reference_blocks("- a\nb\n" * 500),
    "rows": lambda: parse_reference_blocks("|a|\n|-|\n" + "|b|\n" * 500),
    "columns": lambda: parse_reference_blocks("|x" * 9_000 + "\n" + "|-" * 9_000),
    "brackets": lambda: nodes("[a](b) " * 500),
    "stars": lambda: nodes("*a **a " * 500),
    "signs": lambda: nodes("<&\\\\" * 500),
    "cells": lambda: nodes("|`a`|\n|-|\n" + "|`b`|\n" * 500),
}


def nodes(text: str) -> object:
    return InlineMap(text, LineIndex(text)).nodes_in(Span(0, len(text)))


@pytest.mark.parametrize("parse", HARD.values(), ids=HARD)
def test_every_parser_stops_at_the_deadline(parse: Callable[[], object]) -> None:
    with parse_time(0, ticking()), pytest.raises(ParseTimeout):
        parse()


@pytest.mark.parametrize("parse", HARD.values(), ids=HARD)
def test_parsers_finish_without_or_within_a_deadline(parse: Callable[[], object]) -> None:
    parse()
    with parse_time(1_000_000, ticking()):
        parse()


def test_time_outside_parsers_does_not_count() -> None:
    with parse_time(10, ticking()):
        for _ in range(100):
            ask()


def test_parser_times_add_up_per_document() -> None:
    def ask_often(times: int) -> None:
        for _ in range(times):
            with_deadline(ask)()

    with parse_time(60, ticking()):
        ask_often(10)
        Outline(Source.from_text("a"))
        ask_often(10)
    with parse_time(60, ticking()), pytest.raises(ParseTimeout):
        ask_often(20)


def test_outer_deadline_applies_inside_an_inner_one() -> None:
    with parse_time(0, ticking()), parse_time(1_000_000, ticking()), pytest.raises(ParseTimeout):
        with_deadline(ask)()


def test_parsers_work_again_after_a_timeout() -> None:
    with parse_time(0, ticking()), pytest.raises(ParseTimeout):
        with_deadline(ask)()

    with_deadline(ask)()
    with parse_time(1_000_000, ticking()):
        with_deadline(ask)()
