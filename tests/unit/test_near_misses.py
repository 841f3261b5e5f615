"""Near misses: the difference is named with its place, without text of the file."""

from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from mdplan.markdown.outline import Outline
from mdplan.operations import OPERATIONS
from mdplan.text import near_misses as folded_text
from mdplan.text import pattern as pattern_cost
from mdplan.text.lines import NearMiss, Span
from mdplan.text.near_misses import FoldedText, SearchTerm, describe_near_misses, find_near_misses
from mdplan.text.pattern import MOST_PARTS, has_too_many_parts, required_texts
from mdplan.text.source import Source
from mdplan.text.visible import nearest_names
from tests.support.case_tables import CaseTables
from tests.unit.test_planning import steps

CASE_TABLES = CaseTables(__file__)


TEXT = CASE_TABLES.value("TEXT")


def near(text: str, wanted: SearchTerm | str, within: Span | None = None) -> list[tuple[int, int, int, str]]:
    if isinstance(wanted, str):
        wanted = SearchTerm(text=wanted)
    found = find_near_misses(FoldedText(text), wanted, within or Span(0, len(text)))
    return [(miss.line, miss.col, miss.end_line, miss.differs) for miss in found]


@CASE_TABLES.parametrize("wanted", "place", "differs", tuples=True)
def test_difference_is_reported_with_its_position(
    wanted: str, place: tuple[int, int, int] | None, differs: str | None
) -> None:
    assert near(TEXT, wanted) == ([(*place, differs)] if place is not None else [])


@CASE_TABLES.parametrize("text", "wanted", "expected", tuples=True)
def test_line_near_miss_covers_whole_lines(
    text: str, wanted: str, expected: tuple[tuple[int, int, int, str], ...]
) -> None:
    assert near(text, SearchTerm(text=wanted, whole_lines=True)) == [*expected]


def test_intended_place_comes_first_then_the_closest() -> None:
    text = "same\n" * 5 + "Same  \n" + "same\n" * 5
    meant = Span(25, 31)

    assert near(text, SearchTerm(text="same", whole_lines=True, addressed=meant)) == [
        (6, 1, 6, "case at column 1, trailing blanks (2, not none) at column 5"),
        (5, 1, 5, "the place only"),
        (7, 1, 7, "the place only"),
    ]


def test_intended_place_is_compared_among_many_others() -> None:
    text = "same line here\n" * 400 + "same  line here\n" + "same line here\n" * 400
    meant = Span(6000, 6015)

    assert near(text, SearchTerm(text="same line here", addressed=meant, or_exact=False)) == [
        (401, 1, 401, "blanks (2, not 1) at column 6")
    ]


@CASE_TABLES.parametrize("text", "wanted", "within", "expected")
def test_near_misses_of_a_term(
    text: str, wanted: dict[str, Any], within: list[int] | None, expected: list[list[Any]]
) -> None:
    found = near(text, SearchTerm(**wanted), Span(*within) if within else None)
    assert list(map(list, found)) == expected


def test_near_misses_with_a_remark_come_last() -> None:
    text = "Good\ngood  one\n"
    found = find_near_misses(
        FoldedText(text),
        SearchTerm(text="gooD"),
        Span(0, len(text)),
        lambda span: "in code" if span.start == 0 else "",
    )

    assert [(miss.line, miss.differs) for miss in found] == [
        (2, "case at column 4"),
        (1, "case at column 1 and 1 more (in code)"),
    ]


def test_long_list_of_differences_is_shortened() -> None:
    ((_, _, _, differs),) = near("“A – big”\u200b  café\u00a0Market", '"a - big" cafe market')

    assert differs == (
        "quotes (U+201C, not U+0022) at column 1 and 1 more, "
        "case at column 2 and 1 more, dashes (U+2013, not U+002D) at column 4, "
        "a zero width space (U+200B, not U+0020) at column 10, and more"
    )


def test_near_miss_contains_no_text_of_the_file() -> None:
    secret = "Passw\u00f6rd\u2019s  “hunter2”\u00a0– ok"
    for wanted in ("passw\u00f6rd's hunter2 - ok", "Passwords 'hunter3' ok", "passwOrd’s hunter2 – okay"):
        (miss,) = near(f"x\n{secret}\ny\n", wanted)
        assert not any(word in miss[3].casefold() for word in ("passw", "hunter", "ok"))


def test_undecodable_bytes_are_compared_like_characters() -> None:
    assert near("caf\udce9  au lait", "caf\udce9 au lait") == [(1, 1, 1, "blanks (2, not 1) at column 6")]
    assert near("caf\udce9 au lait", "caf\u00e9 au lait") == [
        (1, 1, 1, "about 1 of 10 characters, from column 4 on")
    ]


def test_very_long_text_has_no_near_miss_search() -> None:
    text = "word " * 4_001

    assert near(text.upper(), text) == []


def test_near_misses_share_one_hint() -> None:
    misses = (
        NearMiss(line=12, col=5, end_line=12, differs="case at column 9"),
        NearMiss(line=40, col=1, end_line=40, differs="the place only"),
        NearMiss(line=50, col=1, end_line=52, differs="accents at 51:2"),
        NearMiss(line=60, col=7, end_line=61, differs="accents at 61:2"),
    )

    assert describe_near_misses(misses) == (
        "nearest: line 12:5 differs in case at column 9; line 40 differs in the place only; "
        "lines 50-52 differ in accents at 51:2; lines 60:7-61 differ in accents at 61:2"
    )
    assert describe_near_misses(()) == ""


# --- What near misses cost, in steps: a text is folded once, and then little of it is compared.

LENGTH = 20_000

PROSE = "".join(
    f"The line {number} of a text that says little, and word{number % 97}.\n" for number in range(2_000)
)

# Texts of any length, and search terms for them.
KINDS = {
    "the same but for case": (PROSE, "THE LINE 7 OF A TEXT"),
    "similar": (PROSE, "The lime 17 of the text that said little, and wort17."),
    "nothing alike": (PROSE, "Completely different words everywhere"),
    "a short text": (PROSE, "sai"),
    "one letter": ("a" * LENGTH * 8, "b" + "a" * 40 + "b"),
    "two letters": ("ab" * LENGTH * 4, "ab" * 20 + "bb" + "ab" * 20),
    "one letter, as it is": ("a" * LENGTH * 8, "A" * 60),
    "blanks alone": (" \n" * LENGTH * 4, "   "),
    "marks alone": ("*-" * LENGTH * 4, "- -"),
    "blanks around": ((" " * 300 + "x\n") * 500, "  X  "),
}


def search(folded: FoldedText, wanted: str) -> None:
    find_near_misses(folded, SearchTerm(text=wanted, or_exact=False), Span(0, len(folded.text)))


def cost(text: str, wanted: str, searches: int) -> int:
    folded = FoldedText(text)
    return steps(lambda: [search(folded, wanted) for _ in range(searches)])


@pytest.mark.parametrize("kind", KINDS)
def test_second_search_cost_does_not_depend_on_text_length(kind: str) -> None:
    text, wanted = KINDS[kind]
    short, long = text[:LENGTH], text[: 4 * LENGTH]

    assert cost(long, wanted, 3) - cost(long, wanted, 1) < 1.5 * (
        cost(short, wanted, 3) - cost(short, wanted, 1)
    )


def test_document_is_folded_once_for_all_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[str] = []
    monkeypatch.setattr(folded_text, "FoldedText", lambda text: folded.append(text) or FoldedText(text))
    document = Outline(Source.from_text(PROSE))
    edits = [
        {"op": "replace_match", "pattern": "the line 9 of", "replacement": "x"},
        {
            "op": "replace_match",
            "pattern": "THE LINE 9 OF",
            "replacement": "",
            "preview": True,
            "expectedMatchCount": 1,
        },
        {"op": "delete_lines", "lines": {"start": 1, "end": 1}, "expectedText": "The line 1"},
    ]

    for edit in edits:
        (problem,) = OPERATIONS[edit["op"]].model_validate(edit).resolved(document)
        assert problem.near
    assert folded == [PROSE]


# --- Names that are most like a given one.

NAMES = CASE_TABLES.value("NAMES", tuples=True)
MANY = tuple(f"chapter {number} about topic {number}" for number in range(3_000))


@pytest.mark.parametrize("others", [(), MANY], ids=["few", "many"])
@CASE_TABLES.parametrize("wanted", "expected", tuples=True)
def test_nearest_name_is_the_first(others: tuple[str, ...], wanted: str, expected: str) -> None:
    assert nearest_names(wanted, (*others, *NAMES))[:1] == [expected]


@pytest.mark.parametrize("others", [(), MANY], ids=["few", "many"])
@pytest.mark.parametrize("wanted", ["", "zq", "zebra crossing", "in" * 200])
def test_dissimilar_names_give_no_suggestion(others: tuple[str, ...], wanted: str) -> None:
    assert nearest_names(wanted, (*others, *NAMES)) == []


# --- The literals of a pattern: without one of them, nothing matches.


@CASE_TABLES.parametrize("pattern", "texts", tuples=True)
def test_required_literals_of_a_pattern_are_found(pattern: str, texts: tuple[str, ...] | None) -> None:
    assert required_texts(pattern) == texts


_PIECES = r"""a b ab \. . ^ $ (a) (?:b|ab) (?=a) (?<!b) [ab] [^a] \d \b * + ? {2} {0,1} *? ++ | (?i) \x61 (?:
) {e<=1} [ ] \K \N{DIGIT+ONE} (?i:a) (?|a|b) (?>a) (?P<n>a) \g<n> (?(1)a|b) #"""
_PIECE = st.sampled_from([*_PIECES.split(), " ", "\n"])


@given(st.lists(_PIECE, max_size=6).map("".join), st.text("aAbB.1 #\n", max_size=8))
def test_text_without_required_literals_never_matches(pattern: str, text: str) -> None:
    texts = required_texts(pattern)
    try:
        found = regex.search(pattern, text, regex.MULTILINE | regex.VERSION0, timeout=1)
    except (regex.error, ValueError):
        return
    if texts is not None and found is not None:
        assert any(each in text for each in texts)


# --- Regular expressions that would take too much time or memory to compile are detected.


@CASE_TABLES.parametrize("pattern")
def test_modest_pattern_is_compiled(pattern: str) -> None:
    assert not has_too_many_parts(pattern)


def test_long_pattern_is_compiled_up_to_the_limit() -> None:
    assert not has_too_many_parts(f"a{{{MOST_PARTS - 10}}}")
    assert has_too_many_parts("x" * (MOST_PARTS + 1))
    assert has_too_many_parts("(?:" * 900 + "a" + "{9}){9}" * 900)


@CASE_TABLES.parametrize("pattern")
def test_excessive_pattern_is_not_compiled(pattern: str) -> None:
    assert has_too_many_parts(pattern)


def test_first_counts_decide_about_a_long_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the product of all counts is a number of that many digits."""
    read: list[object] = []
    monkeypatch.setattr(pattern_cost, "_least", lambda count: read.append(count) or 9)

    assert has_too_many_parts("a{9}" * MOST_PARTS)
    assert len(read) == 1
