"""Bytes become text and find their way back."""

import hashlib

import pytest

from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from mdplan.text.source import ByteEdit, DecodeFailure, DecodeProblem, EncodeProblem, Source, splice, visible


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
        # In these a character can take two code points, of which one alone has other bytes or none.
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
@pytest.mark.parametrize(
    ("encoding", "text", "character"),
    [
        ("ascii", "aé", "é"),
        ("latin-1", "5 €", "€"),
        ("cp1252", "日", "日"),
        ("utf-8", "a\ud800", "\ud800"),
        # Python writes these as characters that only look alike: YEN SIGN becomes a backslash.
        ("shift_jis", "a¥", "¥"),
        ("shift_jis", "‾", "‾"),
        ("cp932", "日¢", "¢"),
        ("cp950", "¥", "¥"),
        ("euc_kr", "\u3164", "\u3164"),
    ],
)
def test_character_that_the_encoding_cannot_hold_is_named(encoding: str, text: str, character: str) -> None:
    assert inserted(b"", 0, text, encoding) == EncodeProblem(0, character)


def test_edit_that_does_not_fit_is_named() -> None:
    edits = EditList((TextEdit.insert(0, "a"), TextEdit.insert(1, "€")))

    assert decoded(b"xy", "latin-1").byte_edits(edits) == EncodeProblem(1, "€")


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
