"""Decode the bytes of a file, and convert edits of its text to edits of its bytes.

Bytes outside the edited spans are copied from the base, never encoded again.
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


# Encodings with state, or that join characters: pieces of them cannot be copied or encoded separately.
_STATEFUL: Final = r"iso2022|hz|utf_?7|punycode|idna|escape|^utf_(16|32)$|jis_?2004|jisx0213|big5hkscs"

# How `visible` shows an invalid byte.
SHOWN_BYTE: Final = lazy_pattern(r"\\x[89a-f][0-9a-f]")

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class DecodeFailure(StrEnum):
    """Why bytes could not be decoded."""

    NOT_TEXT = "not-text"
    UNKNOWN_ENCODING = "unknown-encoding"
    DOES_NOT_DECODE = "does-not-decode"


_INVALID_BYTE: Final = lazy_pattern("[\udc80-\udcff]")


class DecodeProblem(Struct):
    """A failed decoding and its `reason`."""

    failure: DecodeFailure
    reason: str


class EncodeProblem(Struct):
    """New text that the file's encoding cannot represent.

    `character` is the first such character, or None if the encoding itself is unknown; `edit` is the index in
    the edit list.
    """

    edit: int
    character: str | None


class Source(Struct, dict=True):
    """The decoded text of a file, and its bytes.

    `text` excludes the BOM. Bytes that are invalid in `encoding` are lone surrogates (PEP 383), counted by
    `invalid_bytes`. `sha256` is the hex digest of `data`.
    """

    data: bytes
    text: str
    encoding: str
    bom: bytes
    sha256: str
    invalid_bytes: int

    @staticmethod
    def decode(data: bytes, encoding: str | None = None) -> "Source | DecodeProblem":
        """Decode `data` by its BOM, else as `encoding`, else as UTF-8.

        Without BOM and `encoding`, invalid UTF-8 becomes lone surrogates. Otherwise `data` must round-trip,
        or it is a problem.
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
        """Create a source from new text: UTF-8 without BOM.

        Text derived from a file may contain lone surrogates.
        """
        invalid_bytes = 0 if text.isascii() else len(_INVALID_BYTE.findall(text))
        return _source(text.encode("utf-8", "surrogateescape"), text, "utf-8", b"", invalid_bytes)

    @cached_property
    def lines(self) -> LineIndex:
        """The line table of `text`."""
        return LineIndex(self.text)

    @property
    def is_exact(self) -> bool:
        """True if `text` is valid Unicode."""
        return self.invalid_bytes == 0

    def byte_offsets(self, offsets: Sequence[int]) -> list[int]:
        """Convert ascending character `offsets` into `text` to byte offsets into `data`, in one pass."""
        base = len(self.bom)
        if self.encoding in {"utf-8", "ascii", "latin-1"} and len(self.text) + base == len(self.data):
            return [base + offset for offset in offsets]
        text, encoding, errors = self.text, self.encoding, _errors(self.encoding)
        lengths = (len(text[at:end].encode(encoding, errors)) for at, end in pairwise((0, *offsets)))
        return [base + length for length in accumulate(lengths)]

    def bytes_of(self, span: Span) -> bytes:
        """Return the bytes of `span`."""
        if len(self.text) == len(self.data):
            return self.data[span.start : span.end]
        # Every piece of decoded text encodes as before: `decode` refuses texts that do not.
        return _encode(self.text[span.start : span.end], self.encoding)

    def byte_edits(self, edits: "EditList") -> "tuple[ByteEdit, ...] | EncodeProblem":
        """Convert `edits` to byte edits in the encoding of the file."""
        encoded: list[bytes] = []
        for index, edit in enumerate(edits):
            new = _encode_new(edit.new_text, self)
            if not isinstance(new, bytes):
                return EncodeProblem(index, new[0])
            encoded.append(new)
        return self._byte_edits(edits, encoded)

    def shown_byte_edit(self, edits: "EditList") -> tuple[int, str] | None:
        r"""Return the index of an edit that would write a ``\xNN`` escape shown for a byte, and the escape.

        Return None if the text has no invalid bytes, or already contains as many of these escapes.
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
        """Convert the edits of a stored plan, whose result is verified by hash, like `byte_edits`.

        Lone surrogates in new text become their bytes, so that an undo can restore invalid bytes.
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
    """Replace bytes ``[start, end)`` of a base by `new`."""

    start: int
    end: int
    new: bytes


def splice(data: bytes, edits: Iterable[ByteEdit]) -> bytes:
    """Apply sorted, disjoint `edits` to `data`."""
    pieces: list[bytes] = []
    at = 0
    for edit in edits:
        pieces += (data[at : edit.start], edit.new)
        at = edit.end
    pieces.append(data[at:])
    return b"".join(pieces)


def visible(text: str) -> str:
    r"""Return `text` as valid Unicode, with lone surrogates as ``\xNN``."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def sha256_hex(data: bytes | memoryview) -> str:
    """Return the SHA-256 of `data` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def _source(data: bytes, text: str, encoding: str, bom: bytes, invalid_bytes: int) -> Source:
    return Source(
        data=data, text=text, encoding=encoding, bom=bom, sha256=sha256_hex(data), invalid_bytes=invalid_bytes
    )


def _known_encoding(encoding: str) -> str | DecodeProblem:
    """Return Python's name of the text `encoding`; refuse stateful ones."""
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
    """Decode `data` as UTF-8, with invalid bytes as lone surrogates."""
    try:
        return _source(data, data.decode("utf-8"), "utf-8", b"", 0)
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
        return _source(data, text, "utf-8", b"", len(_INVALID_BYTE.findall(text)))


# --- Questions about bytes before decoding


_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def keeps_ascii(data: bytes, encoding: str | None) -> bool:
    """Return True if ASCII characters are single equal bytes, and other characters contain no such bytes.

    `encoding` is the caller's for `data`.
    """
    return encoding is None and not data.startswith(_UTF_16)


def may_contain(data: bytes, encoding: str | None, text: str) -> bool:
    """Return False only if the decoded `data` cannot contain `text`, whatever the newlines."""
    # The longest line decides.
    line = max(to_lf(text).split("\n"), key=len)
    return not keeps_ascii(data, encoding) or line.encode("utf-8", "surrogateescape") in data


def _encode(text: str, encoding: str) -> bytes:
    return text.encode(encoding, _errors(encoding))


def _errors(encoding: str) -> str:
    return "surrogateescape" if encoding == "utf-8" else "strict"


def _encode_new(text: str, source: Source) -> bytes | tuple[str | None]:
    """Encode new text; a 1-tuple holds the unencodable character, or None for an unknown encoding."""
    if source.invalid_bytes and not text.isascii():
        return (None,)
    try:
        new = text.encode(source.encoding)
    except UnicodeEncodeError as error:
        return (text[error.start],)
    # Some codecs change characters: YEN SIGN becomes a backslash in Python's Shift JIS.
    if new.decode(source.encoding, "replace") != text:
        encoding = source.encoding
        return (next(each for each in text if each.encode(encoding).decode(encoding, "replace") != each),)
    return new


class DocumentFormat(StrEnum):
    """The format of a file. JSON may have comments, or be JSON5."""

    MARKDOWN = "markdown"
    INI = "ini"
    YAML = "yaml"
    JSON = "json"
    TOML = "toml"
    TEXT = "text"
