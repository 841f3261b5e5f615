"""Decode the bytes of a file, and encode edits of its text as edits of its bytes.

Bytes outside the edited spans never change: they are copied from the base, not encoded again.
"""

import codecs
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span, to_lf
from mdplan.values import Struct

if TYPE_CHECKING:
    from mdplan.text.edit import EditList


# Encodings whose bytes depend on what came before, or that write two code points as one character: their
# pieces cannot be copied or encoded separately.
_STATEFUL: Final = r"iso2022|hz|utf_?7|punycode|idna|escape|^utf_(16|32)$|jis_?2004|jisx0213|big5hkscs"

# How `visible` shows a byte that is not text.
SHOWN_BYTE: Final = lazy_pattern(r"\\x[89a-f][0-9a-f]")

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class DecodeFailure(StrEnum):
    """Why bytes are not the text that they should be."""

    NOT_TEXT = "not-text"
    UNKNOWN_ENCODING = "unknown-encoding"
    DOES_NOT_DECODE = "does-not-decode"


_INVALID_BYTE: Final = lazy_pattern("[\udc80-\udcff]")


class DecodeProblem(Struct):
    """Bytes that could not become a `Source`, and the reason in words."""

    failure: DecodeFailure
    reason: str


class EncodeProblem(Struct):
    """New text that the encoding of its file cannot hold.

    `character` is the first one that does not fit; None when the file's encoding itself is unknown.
    `edit` is the index in the edit list.
    """

    edit: int
    character: str | None


class Source(Struct, dict=True):
    """Decoded text of one file and its bytes.

    `text` is without the byte order mark. Bytes that are not valid in `encoding` are in it as lone
    surrogates (PEP 383) and are counted by `invalid_bytes`. `sha256` is the hex digest of `data`.
    """

    data: bytes
    text: str
    encoding: str
    bom: bytes
    sha256: str
    invalid_bytes: int

    @staticmethod
    def decode(data: bytes, encoding: str | None = None) -> "Source | DecodeProblem":
        """Decode `data` as its byte order mark says, else as `encoding`, else as UTF-8.

        Without a mark and an encoding, bytes that are not UTF-8 become lone surrogates. With either of
        them, bytes that do not decode and encode again to themselves are a problem.
        """
        for bom, marked in _BOMS:
            if data.startswith(bom):
                if data.startswith(codecs.BOM_UTF32_LE):
                    return DecodeProblem(DecodeFailure.NOT_TEXT, "UTF-32 is not supported")
                return _decode_exactly(data, bom, marked, DecodeFailure.NOT_TEXT)
        if encoding is not None:
            name = _known_encoding(encoding)
            if isinstance(name, DecodeProblem):
                return name
            return _decode_exactly(data, b"", name, DecodeFailure.DOES_NOT_DECODE)
        if b"\0" in data:
            return DecodeProblem(DecodeFailure.NOT_TEXT, "it contains NUL bytes")
        return _decode_unmarked(data)

    @staticmethod
    def from_text(text: str) -> "Source":
        """Make the source of new text, in UTF-8 without a byte order mark.

        Text that was made from that of a file may have bytes of it that are not UTF-8.
        """
        invalid_bytes = 0 if text.isascii() else len(_INVALID_BYTE.findall(text))
        return _source(text.encode("utf-8", "surrogateescape"), text, "utf-8", b"", invalid_bytes)

    @cached_property
    def lines(self) -> LineIndex:
        """Return the line table of `text`."""
        return LineIndex(self.text)

    @property
    def is_exact(self) -> bool:
        """Return True if `text` is valid Unicode, which can leave the program as it is."""
        return self.invalid_bytes == 0

    def byte_offsets(self, offsets: Sequence[int]) -> list[int]:
        """Convert ascending code point `offsets` into `text` to offsets into `data`, in one pass."""
        base = len(self.bom)
        if self.encoding in {"utf-8", "ascii", "latin-1"} and len(self.text) + base == len(self.data):
            return [base + offset for offset in offsets]
        text, encoding, errors = self.text, self.encoding, _errors(self.encoding)
        lengths = (len(text[at:end].encode(encoding, errors)) for at, end in pairwise((0, *offsets)))
        return [base + length for length in accumulate(lengths)]

    def bytes_of(self, span: Span) -> bytes:
        """Return the bytes of `data` that are the text in `span`."""
        if len(self.text) == len(self.data):
            return self.data[span.start : span.end]
        # Every piece of a text that was decoded is encoded as it was (`decode` refuses what is not).
        return _encode(self.text[span.start : span.end], self.encoding)

    def byte_edits(self, edits: "EditList") -> "tuple[ByteEdit, ...] | EncodeProblem":
        """Convert `edits` to edits of the bytes of `data`; their new text gets the encoding of the file."""
        encoded: list[bytes] = []
        for index, edit in enumerate(edits):
            new = _encode_new(edit.new_text, self)
            if not isinstance(new, bytes):
                return EncodeProblem(index, new[0])
            encoded.append(new)
        return self._byte_edits(edits, encoded)

    def shown_byte_edit(self, edits: "EditList") -> tuple[int, str] | None:
        r"""Find an edit that would write ``\xNN``, which a caller was shown for a byte; return its index too.

        Returns None if the text has no such byte, or had as many of these escapes itself.
        """
        if self.is_exact:
            return None
        shown = {visible(character) for character in _INVALID_BYTE.findall(self.text)}
        surplus: Counter[str] = Counter()
        for edit in edits:
            surplus.update(SHOWN_BYTE.findall(edit.new_text))
            surplus.subtract(SHOWN_BYTE.findall(self.text, edit.span.start, edit.span.end))
        for index, edit in enumerate(edits):
            for escape in SHOWN_BYTE.findall(edit.new_text):
                if escape in shown and surplus[escape] > 0:
                    return index, escape
        return None

    def planned_byte_edits(self, edits: "EditList") -> "tuple[ByteEdit, ...] | EncodeProblem":
        """Convert the edits of a stored plan, whose result a hash proves, like `byte_edits`.

        Lone surrogates in new text, with which an undo restores bytes that are not text, become their bytes.
        """
        encoded: list[bytes] = []
        for index, edit in enumerate(edits):
            try:
                encoded.append(_encode(edit.new_text, self.encoding))
            except UnicodeEncodeError as error:
                return EncodeProblem(index, edit.new_text[error.start])
        return self._byte_edits(edits, encoded)

    def _byte_edits(self, edits: "EditList", encoded: Sequence[bytes]) -> "tuple[ByteEdit, ...]":
        bounds = self.byte_offsets([at for edit in edits for at in (edit.span.start, edit.span.end)])
        return tuple(
            ByteEdit(bounds[2 * index], bounds[2 * index + 1], new) for index, new in enumerate(encoded)
        )


class ByteEdit(Struct):
    """Replace the bytes ``[start, end)`` of a base by `new`."""

    start: int
    end: int
    new: bytes


def splice(data: bytes, edits: Iterable[ByteEdit]) -> bytes:
    """Apply sorted, disjoint `edits` to `data`; every other byte is copied."""
    pieces: list[bytes] = []
    at = 0
    for edit in edits:
        pieces += (data[at : edit.start], edit.new)
        at = edit.end
    pieces.append(data[at:])
    return b"".join(pieces)


def visible(text: str) -> str:
    r"""Return `text` as valid Unicode: bytes that are lone surrogates in it show as ``\xNN``."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def sha256_hex(data: bytes | memoryview) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def _source(data: bytes, text: str, encoding: str, bom: bytes, invalid_bytes: int) -> Source:
    return Source(
        data=data, text=text, encoding=encoding, bom=bom, sha256=sha256_hex(data), invalid_bytes=invalid_bytes
    )


def _known_encoding(encoding: str) -> str | DecodeProblem:
    """Return Python's name of the text `encoding`, unless it is stateful."""
    try:
        info = codecs.lookup(encoding)
        "".encode(encoding)  # Refuses the codecs that are not text encodings, such as base64.
    except (LookupError, ValueError, TypeError):
        return DecodeProblem(DecodeFailure.UNKNOWN_ENCODING, "no such text encoding")
    name = info.name.replace("-", "_")
    if name == "utf_8_sig":
        return "utf-8"
    if re.search(_STATEFUL, name):
        return DecodeProblem(DecodeFailure.NOT_TEXT, "pieces of this encoding cannot be edited alone")
    return "latin-1" if name == "iso8859_1" else info.name


def _decode_exactly(data: bytes, bom: bytes, encoding: str, failure: DecodeFailure) -> Source | DecodeProblem:
    body = data[len(bom) :]
    try:
        text = body.decode(encoding)
        if text.encode(encoding) != body:
            return DecodeProblem(failure, f"it does not encode to the same bytes in {encoding}")
    except (UnicodeError, ValueError):
        return DecodeProblem(failure, f"it does not decode as {encoding}")
    return _source(data, text, encoding, bom, 0)


def _decode_unmarked(data: bytes) -> Source:
    """Decode `data` as UTF-8, and bytes that are not UTF-8 as lone surrogates."""
    try:
        return _source(data, data.decode("utf-8"), "utf-8", b"", 0)
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        return _source(data, text, "utf-8", b"", len(_INVALID_BYTE.findall(text)))


# --- Questions to bytes, before they are decoded


_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def keeps_ascii(data: bytes, encoding: str | None) -> bool:
    """Return True if ASCII characters are bytes of the same number, and all others none of these.

    `encoding` is the one that a caller gave for `data`.
    """
    return encoding is None and not data.startswith(_UTF_16)


def may_contain(data: bytes, encoding: str | None, text: str) -> bool:
    """Return False only if the text of `data` certainly does not contain `text`, whatever its line ends."""
    # The longest line decides.
    line = max(to_lf(text).split("\n"), key=len)
    return not keeps_ascii(data, encoding) or line.encode("utf-8", "surrogateescape") in data


def _encode(text: str, encoding: str) -> bytes:
    return text.encode(encoding, _errors(encoding))


def _errors(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "strict"


def _encode_new(text: str, source: Source) -> bytes | tuple[str | None]:
    """Encode new text; a 1-tuple has the character that cannot be, or None for an unknown encoding."""
    if source.invalid_bytes and not text.isascii():
        return (None,)
    try:
        new = text.encode(source.encoding)
    except UnicodeEncodeError as error:
        return (text[error.start],)
    # Some codecs write a character as another one: YEN SIGN is a backslash in Python's Shift JIS.
    if new.decode(source.encoding, "replace") != text:
        encoding = source.encoding
        return (next(each for each in text if each.encode(encoding).decode(encoding, "replace") != each),)
    return new


class DocumentFormat(StrEnum):
    """The format of a file. Plain text has no sections; JSON may have comments, or be JSON5."""

    MARKDOWN = "markdown"
    INI = "ini"
    YAML = "yaml"
    JSON = "json"
    TOML = "toml"
    TEXT = "text"
