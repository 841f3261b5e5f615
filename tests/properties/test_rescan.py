"""After edits an outline is scanned around these alone, and is the one of the whole result."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.markdown.outline import Outline
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from tests.conftest import FULL
from tests.properties.hostile_markdown import hostile_documents, random_document
from tests.rescan_check import NEW, is_rescanned_alike, random_edits, source_of


@st.composite
def documents_and_edits(draw: st.DrawFn) -> tuple[str, EditList]:
    """Hostile documents with headings between them, and edits anywhere."""
    pieces = draw(st.lists(hostile_documents(("\n",)), min_size=1, max_size=4))
    text = "\n# Between\n".join(pieces)
    places = st.integers(0, len(text))
    edits = [
        TextEdit(Span(*sorted(place)), new)
        for place, new in draw(
            st.lists(
                st.tuples(st.tuples(places, places), st.sampled_from(NEW) | hostile_documents()),
                min_size=1,
                max_size=3,
            )
        )
    ]
    found = EditList.of(edits)
    return text, found if isinstance(found, EditList) else EditList((edits[0],))


@pytest.mark.requirement("rescan-1")
@given(documents_and_edits(), st.booleans())
def test_outline_after_edits_equals_a_full_parse(case: tuple[str, EditList], looks_first: bool) -> None:
    assert is_rescanned_alike(*case, looks_first=looks_first)


def test_edited_documents_have_the_outlines_of_their_results() -> None:
    dice = Random(0)
    for number in range(3_000 if FULL else 600):
        between = dice.choice(("\n# A\n\n", "# A\n", "\n"))
        documents = (random_document(dice) for _ in range(dice.randint(1, 5)))
        text = between.join(document.replace("\r\n", "\n").replace("\r", "\n") for document in documents)
        edits = random_edits(dice, text)
        assert is_rescanned_alike(text, edits, looks_first=number % 2 == 0), (text, edits)


@pytest.mark.parametrize(
    ("text", "start", "end", "new"),
    [
        ("", 0, 0, "# A"),
        ("# A", 3, 3, " B"),
        ("# A\n", 4, 4, "# B\n"),
        ("# A\n\na\n\n# B\n", 5, 7, ""),
        ("# A\n\na\n\n# B\n\nc\n", 5, 5, "```\n"),
        ("# A\n\n```\n\n# B\n\n```\n\n# C\n", 5, 9, ""),
        ("# A\n\na\n# B\n\nb\n# C\n", 6, 7, ""),
        ("# A\n\na\n# B\n", 3, 4, ""),
        ("---\na: 1\n---\n# A\n\nb\n\n# C\n", 18, 18, "x"),
        ("---\na: 1\n---\n# A\n\nb\n\n# C\n", 0, 4, ""),
        ("# A\n\na\n\n# B\n", 0, 0, "---\na: 1\n---\n"),
        ("# A\r\n\r\na\r\n\r\n# B\r\n", 7, 8, "c"),
        ("# A\n\na\n\n# B\n", 5, 6, "c\r"),
        ("# A\n\na\n\n# B\n", 5, 6, "> " * 250 + "c"),
        ("# A\n\n" + "> " * 250 + "a\n\n# B\n", 5, 6, "c"),
        ("# A\n\na\n\n# A\n", 4, 4, "{: #b}\n"),
        ("# A\n{: #b}\n\na\n\n# A\n", 4, 12, ""),
        ("# A\n\na\n\n# A\n", 5, 6, '<a id="b"></a>'),
        ("# A\n\na\n\n# A\n", 3, 3, " {#b}"),
        ("[a]: b\n", 0, 7, ""),
        ("# A\n\na\n\n# B\n\n[a]: b\n", 5, 6, "c"),
        ("# A\n\na\n\n# B\n\n[a]: b\n", 5, 6, "c\n\n[d]: e\n\n```"),
    ],
)
def test_edits_at_the_edges_of_headings_are_detected(text: str, start: int, end: int, new: str) -> None:
    assert is_rescanned_alike(text, EditList((TextEdit(Span(start, end), new),)))


@pytest.mark.parametrize(
    ("first", "last"), [("x", "y"), ("```\n", "\n```\n"), ("\n# N\n\n", ""), ("", "> # M\n")]
)
def test_edits_of_distant_sections_are_detected(first: str, last: str) -> None:
    text = "".join(f"# {number}\n\na\n\n> ## N\n\nb\n\n" for number in range(9))
    places = [text.index("# 2") + 5, text.index("# 6") + 5]
    edits = [TextEdit(Span(place, place + 1), new) for place, new in zip(places, (first, last), strict=True)]
    assert is_rescanned_alike(text, EditList(tuple(edits)))


def test_only_the_sections_of_the_edits_are_rescanned() -> None:
    text = "".join(f"# {number}\n\n{'text ' * 20}\n\n" for number in range(1_000))
    before = Outline(source_of(text))
    first, last = text.index("# 300") + 8, text.index("# 302") + 8
    edits = EditList((TextEdit.insert(first, "x"), TextEdit.insert(last, "y")))
    heading = before.tree.root_at(before.sections[300].span.start)

    edited = before.edited(edits, source_of(edits.apply(text)))

    assert edited.changed is not None
    assert [len(new) < 220 for _, new in edited.changed] == [True, True]
    assert edited.tree.root_at(edited.sections[300].span.start) is heading
