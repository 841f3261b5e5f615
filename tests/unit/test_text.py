"""Lines end at LF, CRLF and CR, and at nothing else."""

import hashlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.text import shell
from mdplan.text.diff import ChangedLines, changed_lines, kept_lines
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Position, Span
from mdplan.text.source import (
    ByteEdit,
    DecodeFailure,
    DecodeProblem,
    EncodeProblem,
    Source,
    sha256_hex,
    splice,
    visible,
)
from tests.bot.golden import open_engine
from tests.properties.strategies import edit_lists, texts
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


def test_content_is_the_line_without_its_end() -> None:
    index = LineIndex("a\r\n\nb\rc")

    assert [(index.content(n), index.ending(n)) for n in range(1, 5)] == [
        ("a", "\r\n"),
        ("", "\n"),
        ("b", "\r"),
        ("c", ""),
    ]


@CASE_TABLES.parametrize("text", "line", "col")
def test_position_outside_the_text_has_no_offset(text: str, line: int, col: int) -> None:
    assert LineIndex(text).offset(Position(line, col)) is None


@CASE_TABLES.parametrize("text", "ends")
def test_line_ends_are_counted_by_kind(text: str, ends: dict[str, int]) -> None:
    assert LineIndex(text).line_ends == ends


# --- Bytes become text and find their way back.


def decoded(data: bytes, encoding: str | None = None) -> Source:
    source = Source.decode(data, encoding)
    assert isinstance(source, Source), source
    return source


def inserted(data: bytes, offset: int, text: str, encoding: str | None = None) -> bytes | EncodeProblem:
    """`data` with `text` inserted at the code point `offset`."""
    edits = EditList((TextEdit.insert(offset, text),))
    made = decoded(data, encoding).byte_edits(edits)
    return made if isinstance(made, EncodeProblem) else splice(data, made)


@pytest.mark.parametrize(
    ("data", "given", "text", "encoding", "bom"),
    [
        (b"", None, "", "utf-8", b""),
        (b"caf\xc3\xa9", None, "café", "utf-8", b""),
        (b"\xef\xbb\xbfa\0", None, "a\0", "utf-8", b"\xef\xbb\xbf"),
        (b"\xff\xfea\0\n\0", None, "a\n", "utf-16-le", b"\xff\xfe"),
        (b"\xfe\xff\0a\0\n", None, "a\n", "utf-16-be", b"\xfe\xff"),
        (b"\xfe\xff\0a", "latin-1", "a", "utf-16-be", b"\xfe\xff"),
        (b"caf\xe9", "latin-1", "café", "latin-1", b""),
        (b"caf\xe9", "ISO-8859-1", "café", "latin-1", b""),
        (b"\x80", "cp1252", "€", "cp1252", b""),
        (b"a\0", "utf-16-le", "a", "utf-16-le", b""),
        (b"\xef\xbb\xbfa", "utf-8-sig", "a", "utf-8", b"\xef\xbb\xbf"),
        (b"a", "utf-8-sig", "a", "utf-8", b""),
        (b"\x93\xfa\x96\x7b", "shift_jis", "日本", "shift_jis", b""),
    ],
)
def test_encoding_comes_from_the_bom_then_the_caller_then_utf_8(
    data: bytes, given: str | None, text: str, encoding: str, bom: bytes
) -> None:
    source = decoded(data, given)

    assert (source.text, source.encoding, source.bom) == (text, encoding, bom)
    assert (source.data, source.is_exact) == (data, True)
    assert source.sha256 == hashlib.sha256(data).hexdigest()


def test_bytes_that_are_not_utf_8_are_carried_and_counted() -> None:
    source = decoded(b"a\x80\xff\xc3\xa9\xc3")

    assert source.text == "a\udc80\udcffé\udcc3"
    assert (source.invalid_bytes, source.is_exact) == (3, False)
    assert visible(source.text) == "a\\x80\\xffé\\xc3"


@pytest.mark.parametrize(
    ("data", "given", "failure"),
    [
        (b"a\0b", None, DecodeFailure.NOT_TEXT),
        (b"\xff\xfe\0\0a\0\0\0", None, DecodeFailure.NOT_TEXT),
        (b"\0\0\xfe\xff\0\0\0a", None, DecodeFailure.NOT_TEXT),
        (b"\xff\xfea", None, DecodeFailure.NOT_TEXT),
        (b"\xff\xfe\0\xd8", None, DecodeFailure.NOT_TEXT),
        (b"\xef\xbb\xbf\xff", None, DecodeFailure.NOT_TEXT),
        (b"a", "no-such-encoding", DecodeFailure.UNKNOWN_ENCODING),
        (b"a", "", DecodeFailure.UNKNOWN_ENCODING),
        (b"a", "base64", DecodeFailure.UNKNOWN_ENCODING),
        (b"a", "rot13", DecodeFailure.UNKNOWN_ENCODING),
        (b"a", "undefined", DecodeFailure.UNKNOWN_ENCODING),
        (b"a", "utf-8\0", DecodeFailure.UNKNOWN_ENCODING),
        (b"a", "ütf-8", DecodeFailure.UNKNOWN_ENCODING),
        (b"\xff", "utf-8", DecodeFailure.DOES_NOT_DECODE),
        (b"\x81", "cp1252", DecodeFailure.DOES_NOT_DECODE),
        (b"\xe9", "ascii", DecodeFailure.DOES_NOT_DECODE),
        (b"a", "utf-16-le", DecodeFailure.DOES_NOT_DECODE),
        (b"\xfa\x54", "cp932", DecodeFailure.DOES_NOT_DECODE),  # A second code for U+FFE2.
    ],
)
def test_bytes_that_do_not_round_trip_are_refused(
    data: bytes, given: str | None, failure: DecodeFailure
) -> None:
    problem = Source.decode(data, given)

    assert isinstance(problem, DecodeProblem)
    assert problem.failure == failure


@pytest.mark.parametrize(
    "encoding",
    [
        *("utf-7", "utf-16", "utf-32", "iso2022_jp", "hz", "idna", "punycode", "unicode_escape"),
        # In these encodings a character can be two code points, one of which has other bytes or none.
        *("euc_jis_2004", "euc_jisx0213", "shift_jis_2004", "shift_jisx0213", "big5hkscs"),
    ],
)
def test_encoding_that_cannot_be_edited_in_pieces_is_refused(encoding: str) -> None:
    problem = Source.decode(b"a", encoding)

    assert isinstance(problem, DecodeProblem)
    assert problem.failure == DecodeFailure.NOT_TEXT


def test_non_ascii_text_in_a_file_with_unknown_bytes_is_refused() -> None:
    assert inserted(b"\xff", 0, "é") == EncodeProblem(0, None)


@pytest.mark.requirement("text-7")
@CASE_TABLES.parametrize("encoding", "text", "character")
def test_character_that_the_encoding_cannot_hold_is_named(encoding: str, text: str, character: str) -> None:
    assert inserted(b"", 0, text, encoding) == EncodeProblem(0, character)


def test_byte_edits_are_half_open_ranges_of_the_file() -> None:
    edits = EditList((TextEdit(Span(1, 3), "x"), TextEdit.delete(Span(3, 4))))

    assert decoded(b"\xef\xbb\xbf" + "aéüß".encode()).byte_edits(edits) == (
        ByteEdit(4, 8, b"x"),
        ByteEdit(8, 10, b""),
    )


def test_new_file_is_utf_8_without_a_bom() -> None:
    source = Source.from_text("é\n")

    assert (source.data, source.text, source.bom) == (b"\xc3\xa9\n", "é\n", b"")
    assert source.lines.count == 1


# --- Edits as values: what may stand together, what they make, and how to take them back.


def edits(*given: tuple[int, int, str]) -> EditList:
    made = EditList.of(TextEdit(Span(start, end), new) for start, end, new in given)
    assert isinstance(made, EditList), made
    return made


def test_insertions_at_one_place_keep_the_order_in_which_they_were_given() -> None:
    assert edits((1, 1, "x"), (1, 1, "y")).apply("ab") == "axyb"
    assert edits((1, 1, "y"), (1, 1, "x")).apply("ab") == "ayxb"


# --- How line numbers shift: every line outside of the changes is found where the map says.


def changes_of(base: str, *edits: TextEdit) -> list[ChangedLines]:
    edit_list = EditList.of(edits)
    assert isinstance(edit_list, EditList)
    return list(changed_lines(LineIndex(base), edit_list, LineIndex(edit_list.apply(base))))


def replaced(base: str, old: str, new: str) -> list[ChangedLines]:
    """Changes where the only `old` in `base` becomes `new`."""
    assert base.count(old) == 1
    start = base.index(old)
    return changes_of(base, TextEdit(Span(start, start + len(old)), new))


few_lines = texts("ab\n\r") | texts()


@given(data=st.data(), base=few_lines)
def test_kept_lines_are_where_the_map_says(data: DataObject, base: str) -> None:
    """Kept and changed lines together are all lines, and every kept one reads the same."""
    edits = data.draw(edit_lists(base, few_lines))
    old, new = LineIndex(base), LineIndex(edits.apply(base))

    changes = list(changed_lines(old, edits, new))
    kept = list(kept_lines(changes, old.count))

    for start, end, shift in kept:
        for line in range(start, end):
            assert new.content(line + shift) == old.content(line)
    old_lines = [line for start, end, *_ in (*kept, *changes) for line in range(start, end)]
    new_lines = [line + shift for start, end, shift in kept for line in range(start, end)]
    new_lines += [line for change in changes for line in range(change.new_start, change.new_end)]
    assert sorted(old_lines) == list(range(1, old.count + 1))
    assert sorted(new_lines) == list(range(1, new.count + 1))


@given(data=st.data(), base=few_lines)
def test_changes_are_separate_and_not_empty(data: DataObject, base: str) -> None:
    """Between two changes stands a kept line, and none is empty on both sides."""
    edits = data.draw(edit_lists(base, few_lines))

    changes = list(changed_lines(LineIndex(base), edits, LineIndex(edits.apply(base))))

    for before, after in pairwise(changes):
        assert before.old_end < after.old_start
        assert before.new_end < after.new_start
    assert all(change.old_end > change.old_start or change.new_end > change.new_start for change in changes)


@given(data=st.data(), base=few_lines)
def test_edits_that_restore_the_text_change_no_line(data: DataObject, base: str) -> None:
    """Rewritten but equal text counts as unchanged."""
    spans = [edit.span for edit in data.draw(edit_lists(base, few_lines))]

    assert changes_of(base, *(TextEdit(span, base[span.start : span.end]) for span in spans)) == []


def test_changed_word_changes_only_its_line() -> None:
    """Its number stays, and so do all others."""
    changes = replaced("a\nbcd\ne\n", "c", "x")

    assert changes == [ChangedLines(2, 3, 2, 3)]
    assert list(kept_lines(changes, 3)) == [(1, 2, 0), (3, 4, 0)]


def test_line_feed_after_a_lone_carriage_return_joins_no_lines() -> None:
    """CR and LF become one line end: the number of lines stays."""
    assert changes_of("a\rb\rc", TextEdit.insert(2, "\n")) == []


# --- Hashes of lines guard what they name, and nothing between them.

TEXT = "zero\none\ntwo\nthree\n"


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "a.md").write_text(TEXT, encoding="utf-8")
    return open_engine(tmp_path)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ("2:769", None),
        ("2:769-3:3fc", None),
        ("2:769,3fc,8b5", None),
        ("1:769-3:8b5", Code.PRECONDITION_REQUIRED),
        ("2:769-4:8b5", Code.PRECONDITION_REQUIRED),
        ("2-4", Code.PRECONDITION_REQUIRED),
    ],
)
def test_only_a_hash_of_each_line_is_evidence(engine: Engine, lines: str, code: Code | None) -> None:
    report = engine.apply({"file": "a.md", "edits": [{"op": "delete_lines", "lines": lines}]})

    assert (report.error.code if report.error is not None else None) == code
    assert report.applied is (code is None)


# Hashes of "a", "b" and "c" in SPACED.
A, B, C = "ca9", "3e2", "2e7"
SPACED = "a\n\nb\n\nc\n"


@pytest.mark.parametrize(
    ("edit", "result"),
    [
        ({"op": "delete_lines", "lines": f"1:{A},,{B}"}, "\nc\n"),
        ({"op": "delete_lines", "lines": f"4:,{C}"}, "a\n\nb\n"),
        ({"op": "insert_lines", "line": f"1:{A},,{B}", "markdown": "x"}, "a\nx\n\nb\n\nc\n"),
        (
            {"op": "insert_lines", "line": f"7:{A},,{B}", "position": "before", "markdown": "x"},
            "a\n\nx\nb\n\nc\n",
        ),
        ({"op": "insert_lines", "line": f"9:{C},end", "markdown": "x"}, f"{SPACED}x\n"),
        ({"op": "insert_lines", "line": f"1:start,{A}", "markdown": "x"}, f"x\n{SPACED}"),
    ],
)
def test_hashes_of_both_neighbouring_lines_guard_a_place(
    engine: Engine, tmp_path: Path, edit: dict[str, str], result: str
) -> None:
    (tmp_path / "a.md").write_text(SPACED, encoding="utf-8")

    assert engine.apply({"file": "a.md", "edits": [edit]}).ok
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == result


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (f"5:{C},end", f"{SPACED}more\n", "line 5 was the last one, and is line 5 now, with more after it"),
        (
            f"1:start,{A}",
            f"more\n{SPACED}",
            "line 1 was the first one, and is line 2 now, with more before it",
        ),
    ],
)
def test_line_hash_of_a_line_no_longer_at_the_edge_is_refused(
    engine: Engine, tmp_path: Path, line: str, text: str, message: str
) -> None:
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    edit = {"op": "insert_lines", "line": line, "markdown": "x"}
    report = engine.apply({"file": "a.md", "edits": [edit]})

    assert report.error is not None
    assert (report.error.code, report.error.message) == (Code.TEXT_MISMATCH, message)


@CASE_TABLES.parametrize("line", "position")
def test_malformed_place_is_refused(engine: Engine, line: str, position: str | None) -> None:
    edit = {"op": "insert_lines", "line": line, "markdown": "x"} | (
        {"position": position} if position else {}
    )
    report = engine.apply({"file": "a.md", "edits": [edit]})

    assert report.error is not None
    assert report.error.code is Code.INVALID_ARGUMENT


def test_file_hash_guards_the_lines_between(engine: Engine, tmp_path: Path) -> None:
    edits = [{"op": "delete_lines", "lines": "1:769-3:8b5"}]
    base = sha256_hex(TEXT.encode())
    report = engine.apply({"file": "a.md", "baseSha256": base, "edits": edits})

    assert report.applied
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "zero\n"


@CASE_TABLES.parametrize("word", "on_posix", "on_windows")
def test_word_is_quoted_for_the_shell(word: str, on_posix: str, on_windows: str) -> None:
    assert (shell.quote(word, posix=True), shell.quote(word, posix=False)) == (on_posix, on_windows)
