"""Laws of near misses: what was changed is found where it is, by its name, and nothing else is made up."""

import re
import unicodedata

from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy

from mdplan.text.lines import NearMiss, Span
from mdplan.text.near_misses import (
    FoldedText,
    Folding,
    SearchTerm,
    find_differences,
    find_near_misses,
    find_similar,
)
from tests.properties.strategies import texts

SYLLABLES = ("ka", "ri", "to", "mé", "lun", "sol", "bar", "vex", "ön", "qui")
# What becomes what, and the name of that difference.
CHANGES = {
    "case": ("[a-z]", lambda found: found.upper()),
    "blanks": (r"(?<=\S) (?=\S)", lambda found: found * 2),
    "a non-breaking space": (r"(?<=\S) (?=\S)", lambda _: "\u00a0"),
    "line breaks": (r"(?<=\S) (?=\S)", lambda _: "\n"),
    "blank lines": (r"(?<=\w)\n(?=\w)", lambda _: "\n\n\n"),
    "trailing blanks": (r"(?<=\w)\n", lambda _: " \n"),
    "indentation": (r"\n(?=\w)", lambda _: "\n\t"),
    "curly quotes": ("'", lambda _: "\u2019"),
    "dashes": ("-", lambda _: "\u2013"),
    "a zero width space": (r"(?<=\w)(?=\w)", lambda _: "\u200b"),
    "Unicode normalization": ("[éö]", lambda found: unicodedata.normalize("NFD", found)),
    "accents": ("[éö]", lambda found: unicodedata.normalize("NFD", found)[0]),
    "markup": (r"(?<=\W)(?=\w)", lambda _: "**"),
}


def prose() -> SearchStrategy[str]:
    """Lines of words with a few marks in them."""
    word = st.lists(st.sampled_from(SYLLABLES), min_size=1, max_size=3).map("".join)
    marked = st.one_of(word, word, word.map("'{}'".format), st.builds("{}-{}".format, word, word))
    line = st.lists(marked, min_size=3, max_size=8).map(" ".join)
    return st.lists(line, min_size=2, max_size=12).map("\n".join)


def any_text() -> SearchStrategy[str]:
    """Text with LF line ends, of everything that folding drops and of more."""
    odd = st.sampled_from(" \t\n\n-–—'\"’“*_`\\\u00a0\u200b\u0301éE\u00e9ﬁßİ…²ÅKa b1日本\ufe0f\udcff\u2028")
    return st.one_of(st.text(odd, max_size=60), texts().map(lambda text: re.sub("\r\n?", "\n", text)))


@given(st.sampled_from(sorted(CHANGES)), prose(), st.data())
def test_near_miss_names_the_kind_and_position_of_a_change(name: str, text: str, data: DataObject) -> None:
    pattern, change = CHANGES[name]
    place = data.draw(st.sampled_from(list(re.finditer(pattern, text)) or [None]))
    assume(place is not None)
    start = data.draw(st.integers(max(place.start() - 60, 0), max(place.start() - 15, 0)))
    end = data.draw(st.integers(min(place.end() + 15, len(text)), min(place.end() + 60, len(text))))
    wanted = text[start:end]
    assume(wanted.strip() == wanted and wanted[-1] not in "-'" and wanted[0] not in "-'")
    changed = text[: place.start()] + change(place[0]) + text[place.end() :]
    assume(wanted not in changed)

    folded = FoldedText(changed)
    found = find_near_misses(
        folded, SearchTerm(text=wanted, addressed=Span(start, end)), Span(0, len(changed))
    )

    assert found
    first = folded.lines.position(start)
    assert (found[0].line, found[0].col) == (first.line, first.col)
    assert found[0].differs.startswith(name)
    assert place.start() <= told_offset(folded, found[0]) <= place.start() + len(change(place[0]))


def told_offset(folded: FoldedText, miss: NearMiss) -> int:
    """The first place that `miss` tells."""
    where = re.search(r"at (?:column (\d+)|(\d+):(\d+))", miss.differs)
    line, col = (miss.line, where[1]) if where[1] else (where[2], where[3])
    return folded.lines.start(int(line)) + int(col) - 1


@given(any_text(), any_text(), st.booleans(), st.data())
def test_near_miss_search_accepts_any_two_texts(
    text: str, wanted: str, whole_lines: bool, data: DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    folded = FoldedText(text)

    for addressed in (None, Span(start, end)):
        asked = SearchTerm(text=wanted, whole_lines=whole_lines, addressed=addressed)
        for within in (Span(0, len(text)), Span(start, end)):
            if addressed is None or within == Span(0, len(text)):
                for miss in find_near_misses(folded, asked, within):
                    assert 1 <= miss.line <= miss.end_line <= max(folded.lines.count, 1)


@given(any_text(), any_text())
def test_text_is_found_in_itself_without_difference(text: str, around: str) -> None:
    assume(text.strip() and text.translate(Folding()))
    whole = f"{around}\n\n{text}\n\n{around}"
    at = Span(len(around) + 2, len(around) + 2 + len(text))

    found = find_near_misses(
        FoldedText(whole), SearchTerm(text=text, whole_lines=False, addressed=at), Span(0, len(whole))
    )

    if found:  # A short text that cuts a word has no near miss.
        assert found[0].differs == "the place only"


@given(any_text())
def test_positions_in_folded_text_map_back_to_the_text(text: str) -> None:
    folded = FoldedText(text)

    assert folded.folded == text.translate(Folding())
    for index, character in enumerate(folded.folded):
        at = folded.start_in_text(index)
        assert character in text[at].translate(Folding())
        assert folded.index_at(at) <= index < folded.index_at(at + 1)
        assert folded.end_in_text(index + 1) == at + 1


@given(any_text(), any_text())
def test_differences_are_listed_exactly_where_texts_differ(first: str, second: str) -> None:
    folding = Folding()
    left, right = f"a{first}a", f"a{first}a"
    assert list(find_differences(folding, left, Span(0, len(left)), right)) == []
    right = f"a{second}a"
    if left.translate(folding) == right.translate(folding) and left != right:
        assert list(find_differences(folding, left, Span(0, len(left)), right)) != []


@given(st.text("ab", min_size=12, max_size=40), st.text("abc", max_size=60), st.data())
def test_similar_text_has_at_most_the_reported_errors(wanted: str, around: str, data: DataObject) -> None:
    at = data.draw(st.integers(0, len(wanted) - 1))
    text = around + wanted[:at] + "c" + wanted[at + 1 :] + around

    for similar in find_similar(text, wanted, Span(0, len(text)), 0):
        assert distance(wanted, text[similar.start : similar.end]) <= similar.errors


def distance(left: str, right: str) -> int:
    """Fewest characters to change, add or drop, by the table of all prefixes."""
    row = list(range(len(right) + 1))
    for number, character in enumerate(left, 1):
        previous, row[0] = row[0], number
        for column, other in enumerate(right, 1):
            previous, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, previous + (character != other)),
            )
    return row[-1]
