"""Regular expressions that would take all time or memory to compile are told from those that do not."""

import pytest

from mdplan.text import pattern as pattern_cost
from mdplan.text.pattern import MOST_PARTS, has_too_many_parts

MODEST = [
    "",
    "word",
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}",
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"(?P<year>[0-9]{4})(?:-[0-9]{2}){2}",
    "a{2,1000000000}",
    "a{,1000000000}",
    r"\{1000000000\}",
    "[a{1000000000}]b{3}",
    "(a{100}){100}",
    "[[:alpha:]]{3}",
    "#{1,6} title",
    f"a{{{MOST_PARTS - 10}}}",
]
EXCESSIVE = [
    "a{1000000000}",
    "a{1000000000,}",
    "(?:ab){100000000}",
    "(a{1000}){1000}",
    "((a{100}){100}){100}",
    "(?:(?:(?:a|b){50}){50}){50}",
    "(?x)((a{1000}) {1000})",
    "(?x)a{ 100 000 }",
    "(?x)(a{1000} # )\n){1000}",
    "(a{1000}(?#)b)){1000}",
    "(?V1)(x{1000}[[a](]){1000}",
    "(?V1)(x{1000}[[a])b]){1000}",
    "a{99999999999999999999999999}",
    "x" * (MOST_PARTS + 1),
    "(?:" * 900 + "a" + "{9}){9}" * 900,
]


@pytest.mark.parametrize("pattern", MODEST)
def test_modest_pattern_is_compiled(pattern: str) -> None:
    assert not has_too_many_parts(pattern)


@pytest.mark.parametrize("pattern", EXCESSIVE, ids=lambda pattern: pattern[:40])
def test_excessive_pattern_is_not_compiled(pattern: str) -> None:
    assert has_too_many_parts(pattern)


def test_first_counts_decide_about_a_long_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the product of all counts is a number of that many digits."""
    read: list[object] = []
    monkeypatch.setattr(pattern_cost, "_least", lambda count: read.append(count) or 9)

    assert has_too_many_parts("a{9}" * MOST_PARTS)
    assert len(read) == 1
