"""Laws of mdplan.text, for any bytes and any edits."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy

from mdplan.text.diff import DiffStat, DiffText, find_hunks
from mdplan.text.edit import EditList, Overlap, TextEdit, compose
from mdplan.text.lines import LineIndex, NearMiss, Span
from mdplan.text.near_misses import FoldedText, Folding, SearchTerm, find_differences, find_near_misses
from mdplan.text.source import ByteEdit, DecodeProblem, EncodeProblem, Source, splice, visible
from tests.properties.strategies import characters, data, edit_lists, edited_bytes, spans, texts
from tests.support.case_tables import CaseTables
from tests.support.patches import (
    Tool,
    dulwich_apply,
    git_apply,
    gnu_patch,
    lf_lines,
    needs_git,
    needs_patch,
    unidiff_print,
    unified_diff,
    without_tabs,
)

CASE_TABLES = CaseTables(__file__)


# Encodings of one, two and up to four bytes a character, with characters that they can hold.
ALPHABETS = CASE_TABLES.value("ALPHABETS")
UNKNOWN = "bytes that are not all UTF-8"


# Source.
@pytest.mark.requirement("text-1")
@given(data(), st.sampled_from([None, None, *ALPHABETS, "ascii", "cp932", "euc_jp", "utf-8-sig"]))
def test_decoded_text_encodes_to_the_same_bytes(base: bytes, encoding: str | None) -> None:
    source = Source.decode(base, encoding)

    if isinstance(source, Source):
        errors = "surrogateescape" if source.invalid_bytes else "strict"
        assert source.data == base
        assert source.bom + source.text.encode(source.encoding, errors) == base
        assert source.is_exact == (visible(source.text) == source.text)


@pytest.mark.requirement("text-1")
@given(st.binary() | data())
def test_bytes_without_bom_and_nul_always_decode(base: bytes) -> None:
    is_text = not base.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) and b"\0" not in base

    assert not (is_text and isinstance(Source.decode(base), DecodeProblem))


@given(st.data(), st.sampled_from([UNKNOWN, *ALPHABETS]))
def test_offsets_agree_with_an_encoder_that_goes_character_by_character(
    draw: DataObject, encoding: str
) -> None:
    source, encoded = draw_source(draw, encoding)
    offsets = range(len(source.text) + 1)

    assert source.byte_offsets(offsets) == [
        len(source.bom) + sum(map(len, encoded[:offset])) for offset in offsets
    ]


@pytest.mark.requirement("text-2")
@given(st.data(), st.sampled_from([UNKNOWN, *ALPHABETS]))
def test_bytes_outside_the_edits_never_change(draw: DataObject, encoding: str) -> None:
    source, encoded = draw_source(draw, encoding)
    edits = draw.draw(edit_lists(source.text, texts(ALPHABETS.get(encoding, "ab\n"))))

    made = source.byte_edits(edits)

    assert not isinstance(made, EncodeProblem)
    for edit in reversed(edits.edits):
        encoded[edit.span.start : edit.span.end] = [edit.new_text.encode(source.encoding)]
    assert splice(source.data, made) == source.bom + b"".join(encoded)


@pytest.mark.requirement("text-7")
@given(st.data(), st.sampled_from([*ALPHABETS]), texts())
def test_new_text_is_encoded_without_loss_or_refused(draw: DataObject, encoding: str, new: str) -> None:
    source, _ = draw_source(draw, encoding)

    made = source.byte_edits(EditList((TextEdit.insert(0, new),)))

    if isinstance(made, EncodeProblem):
        assert made.character is not None
        assert made.character in new
        assert made.character.encode(encoding, "ignore").decode(encoding) != made.character
    else:
        assert made[0].new.decode(encoding) == new


@given(edited_bytes())
def test_splice_agrees_with_edits_done_one_by_one_from_the_back(case: tuple[bytes, list[ByteEdit]]) -> None:
    base, edits = case
    expected = bytearray(base)
    for edit in reversed(edits):
        expected[edit.start : edit.end] = edit.new

    assert splice(base, edits) == bytes(expected)


def draw_source(draw: DataObject, encoding: str) -> tuple[Source, list[bytes]]:
    """A source in `encoding`, and the bytes of each of its code points."""
    if encoding == UNKNOWN:
        source = Source.decode(b"a" + draw.draw(data()).replace(b"\0", b""))
    else:
        mark = draw.draw(st.sampled_from(["", "\ufeff"])) if encoding.startswith("utf") else ""
        source = Source.decode((mark + draw.draw(texts(ALPHABETS[encoding]))).encode(encoding), encoding)
    assert isinstance(source, Source), source
    return source, [character.encode(source.encoding, "surrogateescape") for character in source.text]


# EditList.
@given(st.data(), texts())
def test_result_is_longer_by_what_the_edits_add(draw: DataObject, text: str) -> None:
    edits = draw.draw(edit_lists(text))

    assert len(edits.apply(text)) == len(text) + sum(len(e.new_text) - len(e.span) for e in edits)


@pytest.mark.requirement("text-4")
@given(st.data(), texts())
def test_edits_done_one_by_one_from_the_back_give_the_same(draw: DataObject, text: str) -> None:
    edits = draw.draw(edit_lists(text))
    expected = text
    for edit in reversed(edits.edits):
        expected = expected[: edit.span.start] + edit.new_text + expected[edit.span.end :]

    assert edits.apply(text) == expected


@pytest.mark.requirement("text-4")
@given(st.data(), texts())
def test_inverted_edits_undo_and_are_sorted(draw: DataObject, text: str) -> None:
    edits = draw.draw(edit_lists(text))
    result = edits.apply(text)

    back = edits.invert(text)

    assert back.apply(result) == text
    assert EditList.of(back) == back
    assert [result[span.start : span.end] for span in edits.result_spans] == [e.new_text for e in edits]


@given(st.data(), st.integers(0, 12))
def test_mapped_position_follows_its_character(draw: DataObject, length: int) -> None:
    text = "".join(map(chr, range(0x100, 0x100 + length)))  # All characters differ, and none is inserted.
    edits = draw.draw(edit_lists(text, texts("ab\n")))
    result = edits.apply(text)

    for offset, character in enumerate(text):
        place = result.index(character) if character in result else None
        assert edits.map_offset(offset, after=True) == place
        if place is not None:
            assert edits.map_offset(offset + 1) == place + 1


@given(st.data(), texts())
def test_mapped_positions_keep_their_order(draw: DataObject, text: str) -> None:
    edits = draw.draw(edit_lists(text))
    for after in (False, True):
        places = [edits.map_offset(offset, after=after) for offset in range(len(text) + 1)]
        found = [place for place in places if place is not None]

        assert found == sorted(found)
        assert edits.map_offset(len(text), after=True) == len(edits.apply(text))


@given(st.lists(st.builds(lambda a, b: Span(min(a, b), max(a, b)), st.integers(0, 9), st.integers(0, 9))))
def test_edits_overlap_exactly_when_two_replace_the_same_text(given_spans: list[Span]) -> None:
    made = EditList.of(TextEdit(span, "") for span in given_spans)

    if isinstance(made, Overlap):
        assert made.first < made.second
        assert clash(given_spans[made.first], given_spans[made.second])
    else:
        assert sorted(edit.span for edit in made) == sorted(given_spans)
        assert not any(clash(*both) for both in pairwise(sorted(given_spans)))


def clash(one: Span, other: Span) -> bool:
    first, second = sorted((one, other))
    return second.start < first.end


# LineIndex.
@pytest.mark.requirement("text-3")
@given(texts())
def test_lines_agree_with_a_splitter_that_goes_character_by_character(text: str) -> None:
    lines, index = naive_lines(text), LineIndex(text)
    numbers = range(1, index.count + 1)

    assert [text[index.start(n) : index.end(n)] for n in numbers] == lines
    assert [index.content(n) + index.ending(n) for n in numbers] == lines
    assert [index.content(n) for n in numbers] == [line.rstrip("\r\n") for line in lines]
    assert index.end(index.count + 1) == len(text)


@given(texts())
def test_each_character_is_in_its_line(text: str) -> None:
    index = LineIndex(text)

    assert [index.line_at(offset) for offset in range(len(text))] == [
        number for number, line in enumerate(naive_lines(text), 1) for _ in line
    ]


@pytest.mark.requirement("text-3")
@given(texts())
def test_offset_and_position_are_inverse_outside_crlf(text: str) -> None:
    index = LineIndex(text)
    for offset in range(len(text) + 1):
        inside_crlf = text[offset - 1 : offset + 1] == "\r\n"
        assert index.offset(index.position(offset)) == (None if inside_crlf else offset)


def naive_lines(text: str) -> list[str]:
    lines = [""]
    for offset, character in enumerate(text):
        lines[-1] += character
        if character == "\n" or (character == "\r" and text[offset + 1 : offset + 2] != "\n"):
            lines.append("")
    return lines if lines[-1] else lines[:-1]


# Diffs.
Case = tuple[bytes, list[ByteEdit]]

NAMES = st.text(
    characters('ab ."\\\t\n', codec=None, exclude_categories=["Cs"], exclude_characters="/\0"),
    min_size=1,
    max_size=12,
).filter(lambda name: name not in {".", ".."})

TREES = st.dictionaries(
    st.sampled_from("abcdefghij").map(lambda name: f"{name}.md"), edited_bytes(), min_size=1, max_size=10
)


def whole_diff(cases: dict[str, Case]) -> bytes:
    return b"".join(unified_diff(name, base, edits) for name, (base, edits) in cases.items())


def check(apply: Tool, cases: dict[str, Case]) -> None:
    diff = whole_diff(cases)
    tree = {name: base for name, (base, _) in cases.items()}
    planned = {name: splice(base, edits) for name, (base, edits) in cases.items()}

    assert (apply(tree, diff) if diff else tree) == planned


@pytest.mark.requirement("text-5")
@needs_git
@given(TREES)
def test_git_makes_the_planned_bytes_of_a_diff(cases: dict[str, Case]) -> None:
    check(git_apply, cases)


@pytest.mark.requirement("text-5")
@needs_patch
@given(TREES)
def test_patch_makes_the_planned_bytes_of_a_diff(cases: dict[str, Case]) -> None:
    check(gnu_patch, cases)


@pytest.mark.requirement("text-5")
@given(TREES)
def test_dulwich_makes_the_planned_bytes_and_unidiff_prints_what_it_parsed(cases: dict[str, Case]) -> None:
    diff = DiffText.of(whole_diff(cases)).text.encode()

    check(dulwich_apply, cases)
    assert unidiff_print(diff) == diff


@needs_git
@given(NAMES)
def test_git_finds_a_file_with_any_name(name: str) -> None:
    check(git_apply, {name: (b"a\n", [ByteEdit(0, 1, b"b")])})


@needs_patch
@given(NAMES)
def test_patch_finds_a_file_with_any_name(name: str) -> None:
    check(gnu_patch, {name: (b"a\n", [ByteEdit(0, 1, b"b")])})


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True))
def test_libraries_find_files_with_any_name(parts: list[str]) -> None:
    cases = {"/".join(parts): (b"a\n", [ByteEdit(0, 1, b"b")])}
    diff = whole_diff(cases)

    check(dulwich_apply, cases)
    assert unidiff_print(diff) == without_tabs(diff)


@given(edited_bytes(), st.integers(1, 4))
def test_hunks_are_ordered_and_contain_only_the_requested_context(case: Case, context: int) -> None:
    base, edits = case
    hunks = find_hunks(base, edits, context=context)

    for hunk in hunks:
        signs = b"".join(line[:1] for line in hunk.lines).decode()
        assert re.fullmatch(rf" {{0,{context}}}[-+](?:.*[-+])? {{0,{context}}}", signs)
        assert " " * (2 * context + 1) not in signs
    for hunk, following in pairwise(hunks):
        assert hunk.old_start + hunk.old_count < following.old_start + (following.old_count == 0)


@given(edited_bytes())
def test_diff_touches_only_lines_that_the_edits_touch(case: Case) -> None:
    base, edits = case
    stat = DiffStat.of(find_hunks(base, edits))

    assert stat.removed <= sum(base.count(b"\n", edit.start, edit.end) + 2 for edit in edits)
    assert stat.added <= sum(edit.new.count(b"\n") + 2 for edit in edits)
    assert stat.added - stat.removed == len(lf_lines(splice(base, edits))) - len(lf_lines(base))


@given(edited_bytes())
def test_diff_is_empty_exactly_when_nothing_changes(case: Case) -> None:
    base, edits = case

    assert (unified_diff("x", base, edits) == b"") == (splice(base, edits) == base)


@given(data(), st.data())
def test_diff_of_replaced_text_is_not_larger_than_its_edits(base: bytes, draw: DataObject) -> None:
    """One edit of everything is refined; only lines that other lines repeat can be paired another way."""
    base = b"".join(b"%d %b\n" % pair for pair in enumerate(base.split(b"\n")))
    edits = [
        ByteEdit(start, end, draw.draw(st.sampled_from([b"", b"x", b"x\n", b"\n"])))
        for start, end in draw.draw(spans(len(base)))
    ]
    whole = [ByteEdit(0, len(base), splice(base, edits))]

    assert DiffStat.of(find_hunks(base, whole)).removed <= DiffStat.of(find_hunks(base, edits)).removed


# --- Edits one after the other are the same as their composition at once.


@st.composite
def successive_edits(draw: st.DrawFn, length: int) -> EditList:
    bounds = sorted(draw(st.lists(st.integers(0, length), max_size=8)))
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    edits = [TextEdit(Span(start, end), draw(st.text("xyz", max_size=3))) for start, end in pairs]
    found = EditList.of(edits)
    return found if isinstance(found, EditList) else EditList()


@pytest.mark.requirement("text-4")
@given(st.data())
def test_composed_edits_give_what_they_give_one_after_the_other(data: st.DataObject) -> None:
    base = data.draw(st.text("abcdef", max_size=20))
    first = data.draw(successive_edits(len(base)))
    middle = first.apply(base)
    then = data.draw(successive_edits(len(middle)))

    composed = compose(first, then, len(base))

    assert composed.apply(base) == then.apply(middle)
    assert EditList.of(composed) == composed


@given(st.data())
def test_offset_that_maps_to_the_result_is_unmapped_to_itself(data: st.DataObject) -> None:
    base = data.draw(st.text("abcdef", max_size=20))
    edits = data.draw(successive_edits(len(base)))
    for offset in range(len(base) + 1):
        mapped = edits.map_offset(offset, after=True)
        inside = any(span.start < offset <= span.end for span in (edit.span for edit in edits))
        if mapped is not None and not inside and all(edit.span.start != offset for edit in edits):
            assert edits.unmap_offset(mapped) == offset


# --- Laws of near misses: what was changed is found where it is, by its name, and nothing else is made
# up.

SYLLABLES = ("ka", "ri", "to", "mé", "lun", "sol", "bar", "vex", "ön", "qui")

# What becomes what, and the name of that difference.
CHANGES = {
    "case": ("[a-z]", lambda found: found.upper()),
    "blanks": (r"(?<=\S) (?=\S)", lambda found: found * 2),
    "a non-breaking space": (r"(?<=\S) (?=\S)", lambda _: "\u00a0"),
    "line breaks": (r"(?<=\S) (?=\S)", lambda _: "\n"),
    "line breaks (3": (r"(?<=\w)\n(?=\w)", lambda _: "\n\n\n"),
    "trailing blanks": (r"(?<=\w)\n", lambda _: " \n"),
    "indentation": (r"\n(?=\w)", lambda _: "\n\t"),
    "quotes": ("'", lambda _: "\u2019"),
    "dashes": ("-", lambda _: "\u2013"),
    "a zero width space": (r"(?<=\w)(?=\w)", lambda _: "\u200b"),
    "characters (U+00": ("[éö]", lambda found: unicodedata.normalize("NFD", found)),
    "characters": ("[éö]", lambda found: unicodedata.normalize("NFD", found)[0]),
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
        at = folded.span_in_text(index, index + 1).start
        assert character in text[at].translate(Folding())
        assert folded.index_at(at) <= index < folded.index_at(at + 1)


@given(any_text(), any_text())
def test_differences_are_listed_exactly_where_texts_differ(first: str, second: str) -> None:
    folding = Folding()
    left, right = f"a{first}a", f"a{first}a"
    assert list(find_differences(left, Span(0, len(left)), right)) == []
    right = f"a{second}a"
    if left.translate(folding) == right.translate(folding) and left != right:
        assert list(find_differences(left, Span(0, len(left)), right)) != []
