"""Laws of a merge, on documents and edits of which both results are known."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.merge.documents import merge_documents

_EDITS = {
    "text": lambda number: f"New text of {number}.\n",
    "item": lambda number: f"- item {number}\n- added to {number}\n",
    "row": lambda number: f"| {number} | new |\n",
    "": lambda number: "",
}


def _document(edits: dict[int, str], order: list[int]) -> str:
    """Sections in `order`, each with a text, an item and a row, and the edits of them."""
    parts = ["# Document\n"]
    for number in order:
        edit = edits.get(number, "")
        text = _EDITS["text"](number) if edit == "text" else f"Text of {number}.\n"
        items = _EDITS["item"](number) if edit == "item" else f"- item {number}\n"
        row = _EDITS["row"](number) if edit == "row" else f"| {number} | old |\n"
        parts.append(f"## Section {number}\n\n{text}\n{items}\n| Number | State |\n|---|---|\n{row}")
    return "\n".join(parts)


@st.composite
def _independent(draw: st.DrawFn) -> tuple[dict[int, str], dict[int, str], list[int]]:
    kinds = st.sampled_from(["text", "item", "row"])
    edits = draw(st.dictionaries(st.integers(0, 5), kinds))
    ours = draw(st.sets(st.sampled_from(sorted(edits)))) if edits else set()
    order = draw(st.permutations(range(6)))
    own = {number: kind for number, kind in edits.items() if number in ours}
    return own, {number: kind for number, kind in edits.items() if number not in ours}, list(order)


@given(_independent())
def test_independent_edits_commute_and_equal_both_batches(
    case: tuple[dict[int, str], dict[int, str], list[int]],
) -> None:
    own, other, _ = case
    order = list(range(6))
    base, ours, theirs = (_document(edits, order) for edits in ({}, own, other))
    both = _document({**own, **other}, order)
    assert merge_documents(base, ours, theirs).text == both
    assert merge_documents(base, theirs, ours).text == both


@given(_independent())
def test_moved_sections_keep_the_edits_of_the_other_side(
    case: tuple[dict[int, str], dict[int, str], list[int]],
) -> None:
    own, _, order = case
    base, ours, theirs = _document({}, list(range(6))), _document({}, order), _document(own, list(range(6)))
    found, swapped = merge_documents(base, ours, theirs), merge_documents(base, theirs, ours)
    assert (found.text, found.conflicts) == (_document(own, order), ())
    assert swapped.text == found.text


@given(_independent())
def test_merging_the_result_again_changes_nothing(
    case: tuple[dict[int, str], dict[int, str], list[int]],
) -> None:
    own, other, order = case
    base, ours, theirs = (_document({}, order), _document(own, order), _document(other, order))
    result = merge_documents(base, ours, theirs).text
    assert merge_documents(base, result, theirs).text == result
    assert merge_documents(base, ours, result).text == result


_KINDS = st.dictionaries(st.integers(0, 5), st.sampled_from(["text", "own text", "item", "row"]), max_size=6)


def _of(edits: dict[int, str], side: str) -> str:
    """The document with `edits`; an own text is another one on each side."""
    text = _document({n: "text" if kind == "own text" else kind for n, kind in edits.items()}, list(range(6)))
    for number, kind in edits.items():
        if kind == "own text":
            text = text.replace(f"New text of {number}.\n", f"Text of {number} by {side}.\n")
    return text


# Base, ours and theirs of a last section that is merged only if the sides are tried the other way round, too.
_ONE_WAY = [
    ("", "text\n\n- two\n", "- two\n\ntext\n\n- one\n"),
    ("- one\n", "text\n", "more text\n\n- one\n\ntext\n"),
    ("text\n", "- two\n\ntext\n\n- one\n", "- one\n\ntext\n\nmore text\n"),
]


@given(_KINDS, _KINDS, st.sampled_from(_ONE_WAY))
@example({}, {}, _ONE_WAY[0])
def test_swapped_sides_give_the_same_conflicts_and_result(
    own: dict[int, str], other: dict[int, str], last: tuple[str, str, str]
) -> None:
    conflicting = {
        number
        for number in own.keys() & other.keys()
        if {own[number], other[number]} in ({"own text"}, {"own text", "text"})
    }
    # Beside a conflict neither way is clean, and the first one stays.
    ends = ("", "", "") if conflicting else last
    texts = (_document({}, list(range(6))), _of(own, "ours"), _of(other, "theirs"))
    base, ours, theirs = (f"{text}\n## Last\n\n{end}" for text, end in zip(texts, ends, strict=True))
    found, swapped = merge_documents(base, ours, theirs), merge_documents(base, theirs, ours)
    assert [(each.path, each.base, each.ours, each.theirs) for each in found.conflicts] == [
        (each.path, each.base, each.theirs, each.ours) for each in swapped.conflicts
    ]
    assert {each.path[-1] for each in found.conflicts} == {f"Section {number}" for number in conflicting}
    if found.is_clean:
        assert found.text == swapped.text


@pytest.mark.parametrize("count", [200, pytest.param(2_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "line",
    [
        "- a\n",
        "| a | b |\n",
        "> " * 50 + "a\n",
        "# a\n",
        "```\n",
        "[a]: b\n",
        "<div>\n",
        "a\n\n",
        "*a_" * 50 + "\n",
    ],
)
def test_repeated_lines_take_bounded_time(line: str, count: int) -> None:
    base = line * count
    started = time.process_time()
    merge_documents(base, "x\n" + base + line * 3, base.replace(line, line + "y\n", 1) + line + "z\n")
    assert time.process_time() - started < count / 60
