"""Requests that name lines and what is there, as edits of a batch; and reports in their own words.

The texts of reasons, suggestions and hints are those that requirement 04 documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.engine.engine import Engine
from mdplan.mcp.flat_schema import NULLABLE
from mdplan.mcp.strict_requests import Request, hint_of
from mdplan.operations.base import Ordinal
from mdplan.text.line_end_view import to_lf
from mdplan.text.source import Source

_VALIDATION: Final = "Content validation failed - file was modified"
_CHECK: Final = "check_content"
_VERIFY: Final = "Use get_text_file_contents to verify current content"
OLD_STRING: Final = "old_string"
_BEYOND: Final = "Line numbers are beyond the end of the file"


class EditedRange(Request):
    """Whole lines, 1-based and inclusive."""

    start: Ordinal = Field(default=1, description="First line, 1-based.")
    end: Ordinal | None = Field(
        default=None,
        description="Last line, inclusive; null or absent: the end of the file.",
        json_schema_extra={NULLABLE: True},
    )

    @model_validator(mode="after")
    def _check_order(self) -> "EditedRange":
        if self.end is not None and self.end < self.start:
            msg = "end is before start"
            raise ValueError(msg)
        return self


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a file cannot be edited, in the words of the document."""

    reason: str
    suggestion: str | None = None
    hint: str | None = None

    def to_json(self) -> dict[str, str]:
        """As an error response; what is absent is left out."""
        optional = (("suggestion", self.suggestion), ("hint", self.hint))
        return {
            "result": "error",
            "reason": self.reason,
            **{name: text for name, text in optional if text is not None},
        }


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected text of some lines: `text`, which may end in a line end; `what` names it in the request.

    Unless `exact`, blanks at line ends do not count.
    """

    text: str
    what: str
    exact: bool

    def mismatch(self, start: int, end: int) -> Failure:
        """What is reported where the lines `start` to `end` hold something else."""
        if self.what == OLD_STRING:
            how = "exactly match file content" if self.exact else "match the actual file content"
            return Failure(
                f"Content mismatch at lines {start}-{end}", _CHECK, f"The {OLD_STRING} doesn't {how}"
            )
        lines = f"line {start} is" if start == end else f"lines {start}-{end} are"
        return Failure(_VALIDATION, _CHECK, f"{_VERIFY}: {lines} not the {self.what}")


@dataclass(frozen=True, slots=True)
class EditorDocument:
    """One file as this call read it, which pins the edits of it."""

    file: str
    encoding: str | None
    source: Source

    @classmethod
    def read(cls, engine: Engine, file: str, encoding: str | None) -> "EditorDocument | Failure":
        """The file, or why it cannot be read."""
        source = engine.source(file, encoding)
        if isinstance(source, Diagnostic):
            return failures_of(source, encoding)
        return cls(file, encoding, source)

    @property
    def line_count(self) -> int:
        """Number of lines."""
        return self.source.lines.count

    def text(self, start: int, end: int) -> str:
        """Lines `start` to `end`, inclusive, with LF line ends and without the last one."""
        lines = self.source.lines
        return to_lf(self.source.text[lines.start(start) : lines.content_end(end)])

    def checked(self, lines: EditedRange, expected: Expected) -> tuple[int, int] | Failure:
        """First and last line of `lines`, which must be in the file and hold what is `expected`.

        An empty file has no line, but nothing is at the first one: then the last line is 0.
        """
        start, end = lines.start, self.line_count if lines.end is None else lines.end
        if not self.line_count and start == 1 and end <= 1 and not expected.text.strip("\r\n"):
            return 1, 0
        if not start <= end <= self.line_count:
            return Failure(_BEYOND, _CHECK, f"The file has {self.line_count} lines")
        found, wanted = self.text(start, end), to_lf(expected.text)
        if wanted != found:
            wanted = wanted.removesuffix("\n")
        if not expected.exact:
            found, wanted = _without_trailing_blanks(found), _without_trailing_blanks(wanted)
        return (start, end) if found == wanted else expected.mismatch(start, end)

    def to_batch_file(self, edits: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Entry of a batch with `edits`, pinned to what was read."""
        encoding = {} if self.encoding is None else {"encoding": self.encoding}
        return {"file": self.file, "baseSha256": self.source.sha256, "edits": list(edits), **encoding}


def replacement(start: int, end: int, new_text: str) -> dict[str, Any]:
    """Edit that puts the lines of `new_text` in place of lines; no text takes them away.

    Where `end` is 0 the file is empty.
    """
    if not end:
        return {"op": "insert_lines", "line": start, "position": "before", "markdown": new_text}
    lines = {"start": start, "end": end}
    if not new_text:
        return {"op": "delete_lines", "lines": lines}
    return {"op": "replace_lines", "lines": lines, "markdown": new_text}


def write(engine: Engine, files: Sequence[Mapping[str, Any]]) -> Problems:
    """Plan and commit the edits of all `files`, or none of them; what was wrong.

    These are edits of lines of any text: whether headings come or go is the caller's business.
    """
    batch = {"files": list(files), "allowOutlineChange": True, "allowDuplicateHeadings": True}
    return engine.write(batch).diagnostics


def failures_of(problem: Diagnostic, encoding: str | None = None) -> Failure:
    """`problem` in the words of the document, where it has some."""
    if problem.code is Code.STALE_BASE:
        return Failure(_VALIDATION, _CHECK, _VERIFY)
    if problem.code is Code.PATH_OUTSIDE_ROOT and ".." in (problem.file or "").split("/"):
        return Failure("Path traversal not allowed", hint="File paths must not contain '..' patterns")
    if problem.code in {Code.ENCODING_UNKNOWN, Code.NOT_A_TEXT_FILE}:
        return not_decoded(encoding)
    if problem.code is Code.CONFLICTING_EDITS:
        return Failure("Overlapping ranges in one file", hint="The ranges of one file must not overlap")
    return Failure(f"{problem.code}: {problem.message}", hint=hint_of(problem) or None)


def not_decoded(encoding: str | None = None) -> Failure:
    """Refusal of bytes that are not text of `encoding`, which is UTF-8 when absent."""
    reason = f"Failed to decode file with {encoding or 'utf-8'} encoding"
    return Failure(reason, hint="Try specifying the correct encoding for this file")


def failures_by_file(problems: Problems, files: Mapping[str, str]) -> Iterator[tuple[str, Failure]]:
    """The first failure of each file that `problems` are about, or of all where they name none.

    `files` are names as diagnostics have them, by path as the request has it.
    """
    for path, name in files.items():
        own = [problem for problem in problems if problem.file in {path, name, None}]
        if own:
            yield path, failures_of(own[0])


def _without_trailing_blanks(text: str) -> str:
    return "\n".join(line.rstrip(" \t") for line in text.split("\n"))
