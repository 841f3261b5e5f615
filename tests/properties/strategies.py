"""Strategies for texts, bytes and edits, with more of those that break careless code."""

from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from mdplan.text.source import ByteEdit

# Line ends, and separators that only `str.splitlines` treats as such.
LINE_ENDS = ("\n", "\r\n", "\r")
FALSE_LINE_ENDS = ("\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1d", "\x1e")
# Lines similar to marks of a diff, and characters of one to four bytes.
DIFF_MARKS = ("-- x", "++ x", "--- a/x", "+++ b/x", "@@ -1,1 +1,1 @@", "\\ No newline at end of file", "diff")
WORDS = ("a", "b", " ", "\t", "# T", "- x", "", "é", "ß", "日本", "\U0001f600", "e\u0301", "\ufeff")
BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\0\0\xfe\xff")
NOT_UTF8 = (b"\xff", b"\xc3", b"\xe2\x80", b"\xed\xa0\x80", b"\x80", b"\xf0\x9f")
# What means something in Markdown, HTML, addresses, paths, YAML and TOML, and letters of odd width or case.
# Examples of all of Unicode seldom have any of these.
SPECIAL = ":%&()[]#<>{}\"'`\\/|*_~^?@=+-.,;!$ \t\u00a0\u00e9\u0301\u00df\u0130\u200b\u2028\ufeff\U0001f600"


def characters(special: str = SPECIAL, **limits: Any) -> SearchStrategy[str]:
    """Draw characters: half of them `special`, the others within `limits`, as for `st.characters`."""
    return st.sampled_from(special) | st.characters(**{"codec": "utf-8", **limits})


@cache
def texts(alphabet: str | None = None) -> SearchStrategy[str]:
    """Draw valid Unicode text of a few lines, with every kind of line end; from `alphabet` if given."""
    if alphabet is not None:
        return st.text(st.sampled_from(alphabet), max_size=30)
    pieces = st.sampled_from(LINE_ENDS + LINE_ENDS + FALSE_LINE_ENDS + DIFF_MARKS + WORDS)
    return st.lists(pieces, max_size=25).map("".join) | st.text(characters(), max_size=30)


@cache
def data() -> SearchStrategy[bytes]:
    """Draw the bytes of a file: arbitrary bytes, or text in several encodings with invalid parts."""
    pieces = texts().map(str.encode) | st.sampled_from(NOT_UTF8) | st.just(b"\n") | st.just(b"\r\n")
    mixed = st.lists(pieces, max_size=12).map(b"".join)
    return st.one_of(
        st.binary(max_size=60),
        mixed,
        mixed,
        st.builds(bytes.__add__, st.sampled_from(BOMS), mixed),
        st.builds(str.encode, texts(), st.sampled_from(["utf-16", "utf-16-le", "utf-32"])),
        st.builds(lambda text: b"\xfe\xff" + text.encode("utf-16-be"), texts()),
    )


@cache
def many_lines() -> SearchStrategy[bytes]:
    """Bytes of up to 60 short lines, often the same ones, so that a diff has several hunks."""
    line = st.sampled_from([b"\n", b"a\n", b"b\n", b"c\r\n"])
    return st.builds(
        lambda lines, last: b"".join(lines) + last, st.lists(line, max_size=60), st.sampled_from([b"", b"z"])
    )


@st.composite
def spans(draw: DrawFn, length: int) -> list[tuple[int, int]]:
    """Sorted, disjoint ranges inside of `length`; some touch, some are empty."""
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=10)))
    return list(zip(cuts[::2], cuts[1::2], strict=False))


@st.composite
def edit_lists(draw: DrawFn, text: str, new_text: SearchStrategy[str] | None = None) -> EditList:
    """Edits of `text`."""
    new = texts() if new_text is None else new_text
    edits = EditList.of(TextEdit(Span(*span), draw(new)) for span in draw(spans(len(text))))
    assert isinstance(edits, EditList)
    return edits


SAME, COPY = b"same", b"copy"
NEW_BYTES = data() | st.sampled_from([SAME, COPY, b"", b"\n", b"x"])


@st.composite
def byte_edits(draw: DrawFn, base: bytes) -> list[ByteEdit]:
    """Draw edits of the bytes `base`; some restore the old bytes, or copy other lines."""
    edits: list[ByteEdit] = []
    for start, end in draw(spans(len(base))):
        new = draw(NEW_BYTES)
        if new == SAME:
            new = base[start:end]
        elif new == COPY:
            new = b"".join(base[start:end] for start, end in draw(spans(len(base))))
        edits.append(ByteEdit(start, end, new))
    return edits


@st.composite
def edited_bytes(draw: DrawFn) -> tuple[bytes, list[ByteEdit]]:
    """A file and edits of it."""
    base = draw(data() | many_lines())
    return base, draw(byte_edits(base))
