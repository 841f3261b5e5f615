"""`read`: the content of places in files."""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

from mdplan.diagnostics import Diagnostic
from mdplan.documents.files import OutlinedFiles
from mdplan.markdown.outline import Outline
from mdplan.reading.read import read_target
from mdplan.reports.base import refusal
from mdplan.reports.read import ReadReport, ReadResult
from mdplan.requests.read import ReadRequest, ReadTarget
from mdplan.storage.files import FileName

_Outlines: TypeAlias = dict[tuple[FileName, str | None, str | None], Outline | Diagnostic]


def read_files(files: OutlinedFiles, request: ReadRequest | Mapping[str, Any]) -> ReadReport:
    """Read one or several places, each with the hash that guards an edit of it.

    `ok` is true when all were read. Decoded JSON is read first, with the errors of that.
    """
    if not isinstance(request, ReadRequest):
        from mdplan.requests.query_reader import read_read_request

        parsed = read_read_request(request)
        if not isinstance(parsed, ReadRequest):
            return refusal(ReadReport, parsed)
        request = parsed
    outlines: _Outlines = {}
    results: list[ReadResult] = []
    left = request.max_characters
    for target in request.targets:
        result = files.with_timeout(target.file, partial(_read, files, target, outlines, left, request))
        if isinstance(result, Diagnostic):
            result = ReadResult(file=result.file or target.file, problem=result)
        left -= len(result.content or "")
        results.append(result)
    problems = tuple(result.problem for result in results if result.problem is not None)
    return ReadReport(
        ok=not problems, error=problems[0] if problems else None, diagnostics=problems, results=tuple(results)
    )


def _read(
    files: OutlinedFiles, target: ReadTarget, known: _Outlines, left: int, request: ReadRequest
) -> ReadResult | Diagnostic:
    file, outline = _opened(files, target, known)
    if isinstance(outline, Diagnostic):
        return outline.at(file=file)
    longest = request.max_characters
    result = read_target(
        file, outline, target, left, request.cursor, longest=longest, addresses=request.addresses
    )
    return result.at(file=file) if isinstance(result, Diagnostic) else result


def _opened(files: OutlinedFiles, target: ReadTarget, known: _Outlines) -> tuple[str, Outline | Diagnostic]:
    """Return the name of the file of `target`, and its outline, which is parsed once for all targets."""
    name = files.workspace.locate(target.file)
    if isinstance(name, Diagnostic):
        return target.file, name
    key = (name, target.encoding, target.format)
    if key not in known:
        known[key] = files.open(*key)
    return str(name), known[key]
