"""From the bytes of a file to its text, within the limits."""

from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.text.source import DecodeFailure, DecodeProblem, Source

_CODES: Final = {
    DecodeFailure.NOT_TEXT: Code.NOT_A_TEXT_FILE,
    DecodeFailure.UNKNOWN_ENCODING: Code.INVALID_ARGUMENT,
    DecodeFailure.DOES_NOT_DECODE: Code.ENCODING_UNKNOWN,
}
_HINTS: Final = {
    DecodeFailure.NOT_TEXT: 'if it is text, give its `"encoding"`',
    DecodeFailure.UNKNOWN_ENCODING: 'use a name such as "utf-8", "latin-1", "cp1252" or "shift_jis"',
    DecodeFailure.DOES_NOT_DECODE: "give the encoding that the file has, or omit it",
}


def decode_document(path: str, data: bytes, encoding: str | None, max_lines: int) -> Source | Diagnostic:
    """Source of the file `path`, whose bytes are `data`.

    Errors: NOT_A_TEXT_FILE, INVALID_ARGUMENT (an unknown encoding), ENCODING_UNKNOWN, FILE_TOO_LARGE (more
    than `max_lines` lines).
    """
    source = Source.decode(data, encoding)
    if isinstance(source, DecodeProblem):
        return Diagnostic(
            code=_CODES[source.failure],
            message=f"`{path}` cannot be read as text: {source.reason}",
            hint=_HINTS[source.failure],
            file=path,
        )
    if source.lines.count > max_lines:
        return Diagnostic(
            code=Code.FILE_TOO_LARGE,
            message=f"`{path}` has {source.lines.count} lines, and the limit is {max_lines}",
            hint="split the file, or raise `--max-lines`",
            file=path,
        )
    return source
