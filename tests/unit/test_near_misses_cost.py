"""What near misses cost, in steps: a text is folded once, and then little of it is compared."""

from collections.abc import Callable

import pytest

from mdplan.markdown.outline import Outline
from mdplan.operations import OPERATIONS
from mdplan.text import near_misses as folded_text
from mdplan.text.lines import Span
from mdplan.text.near_misses import FoldedText, SearchTerm, find_near_misses
from mdplan.text.source import Source
from tests.unit.test_planning_cost import steps

LENGTH = 20_000
PROSE = "".join(
    f"The line {number} of a text that says little, and word{number % 97}.\n" for number in range(2_000)
)

# Texts of which any length can be had, and what is looked for in them.
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


@pytest.mark.parametrize("kind", KINDS)
def test_first_search_cost_is_linear_in_the_text(kind: str) -> None:
    text, wanted = KINDS[kind]

    short, long = (
        steps(lambda part=text[:length]: search(FoldedText(part), wanted)) for length in (LENGTH, 4 * LENGTH)
    )

    assert long < 4.5 * short


@pytest.mark.parametrize("change", [str.upper, str.swapcase, lambda text: text.replace("a", "e", 20)])
def test_search_cost_is_at_most_linear_in_the_text(change: Callable[[str], str]) -> None:
    folded = FoldedText(PROSE)
    search(folded, "Completely different words everywhere")  # Makes the index.

    def one(length: int) -> int:
        return steps(lambda: search(folded, change(PROSE[500 : 500 + length])))

    assert one(3_000) < 2.5 * one(1_500)


def test_document_is_folded_once_for_all_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[str] = []
    monkeypatch.setattr(folded_text, "FoldedText", lambda text: folded.append(text) or FoldedText(text))
    document = Outline(Source.from_text(PROSE))
    edits = [
        {"op": "replace_match", "pattern": "the line 9 of", "replacement": "x"},
        {"op": "preview_match", "pattern": "THE LINE 9 OF", "expectedMatchCount": 1},
        {"op": "delete_lines", "lines": {"start": 1, "end": 1}, "expectedText": "The line 1"},
    ]

    for edit in edits:
        (problem,) = OPERATIONS[edit["op"]].model_validate(edit).resolve(document)
        assert problem.near
    assert folded == [PROSE]
