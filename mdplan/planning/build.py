"""From resolved edits to the result of one file."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.planning.attributed_edits import AttributedEdit, parts_of, without_joins
from mdplan.planning.data_changes import data_parts
from mdplan.planning.resolve import ResolvedEdit, too_long
from mdplan.planning.snapshot import SnapshotFile
from mdplan.text.diff import Hunk, file_diff, find_hunks
from mdplan.text.edit import EditList, Overlap
from mdplan.text.lines import Span
from mdplan.text.source import ByteEdit, DecodeFailure, DecodeProblem, EncodeProblem, Source, splice


@dataclass(frozen=True, kw_only=True)
class BuiltFile:
    """One file before and after. `written` maps the index of an edit to what it wrote, in the result.

    `earlier` and `later` map the index of an edit of a sequential batch to the edits that lead from the base
    to the document it saw, and from there to the result; in a snapshot batch every edit saw the base.
    `changed` has pieces of base and result, in order, outside which both have the same blocks; None where
    that is not known. `arrivals` are edits of other files that move text to this one, with what they do here.
    `references_updated` counts the links that were rewritten besides, and `warnings` tell of broken ones.
    """

    file: SnapshotFile
    resolved: Sequence[ResolvedEdit]
    edits: EditList
    byte_edits: tuple[ByteEdit, ...]
    result: Outline
    written: dict[int, tuple[Span, ...]]
    earlier: Mapping[int, EditList] = field(default_factory=dict)
    later: Mapping[int, EditList] = field(default_factory=dict)
    changed: Sequence[tuple[Span, Span]] | None = None
    arriving_edits: Sequence[ResolvedEdit] = ()
    references_updated: int = 0
    warnings: Problems = ()

    def edits_before(self, index: int) -> EditList:
        """Edits from the base to the document that the edit `index` saw."""
        return self.earlier.get(index, EditList())

    def edits_after(self, index: int) -> EditList:
        """Edits from the document that the edit `index` saw to the result."""
        return self.later.get(index, self.edits)

    @cached_property
    def base(self) -> Outline:
        """Outline of the base."""
        return self.file.outline

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """Hunks of the diff from base to result."""
        base = self.base.source.data
        # A file that goes takes along what is not text of it: its byte order mark.
        return find_hunks(base, [ByteEdit(0, len(base), b"")] if self.file.is_deleted else self.byte_edits)

    @cached_property
    def diff(self) -> bytes:
        """Exact diff from base to result."""
        file = self.file
        new = None if file.is_deleted else file.new_relative or file.relative
        return file_diff(file.relative if file.exists else None, new, self.hunks)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The files of a batch, then those that the engine changes besides; and warnings about other files."""

    files: Sequence[BuiltFile]
    warnings: Problems = ()


def build_file(
    file: SnapshotFile, resolved: Sequence[ResolvedEdit], arrivals: Sequence[ResolvedEdit] = ()
) -> BuiltFile | Problems:
    """Result of `resolved` on `file`, and of edits of other files that write into it; parses the result once.

    Errors: CONFLICTING_EDITS, FILE_TOO_LARGE, DATA_INVALID, FRONT_MATTER_INVALID, UNENCODABLE_TEXT,
    ENCODING_UNKNOWN, NOT_A_TEXT_FILE.
    """
    keyed = data_parts(file.outline, [*resolved, *arrivals])
    if not isinstance(keyed, list):
        return tuple(problem.at(file=file.path) for problem in keyed)
    parts = keyed + parts_of(file.outline, [*resolved, *arrivals])
    edits = EditList.of(part.edit for part in parts)
    if isinstance(edits, Overlap):
        first, second = parts[edits.first], parts[edits.second]
        return (_overlap(file, first, second),)
    source = file.outline.source
    parts = without_joins(source.text, source.lines, parts)
    edits = EditList(tuple(part.edit for part in parts))
    made = _make(file, edits, parts)
    if isinstance(made, Diagnostic):
        return (made,)
    byte_edits, result = made
    outline = file.outline if result is source else file.outline.edited(edits, result)
    return BuiltFile(
        file=file,
        resolved=resolved,
        arriving_edits=arrivals,
        edits=edits,
        byte_edits=byte_edits,
        result=outline,
        changed=() if result is source else outline.changed,
        written=_written(edits, parts),
    )


def _make(
    file: SnapshotFile, edits: EditList, parts: Sequence[AttributedEdit]
) -> tuple[tuple[ByteEdit, ...], Source] | Diagnostic:
    """What `edits` are in bytes, and the result, if it keeps within the limits of the document."""
    source, limits = file.outline.source, file.outline.limits
    # Looked at before anything is made of it: a few characters of a batch can represent any amount of text.
    length = len(source.text) + edits.growth
    if length > max(limits.result_characters, len(source.text)):
        return too_long(file.path, f"{length} characters or more", f"{limits.result_characters} bytes")
    shown_byte = source.shown_byte_edit(edits)
    if shown_byte is not None:
        return _shown_byte(file, *shown_byte, edits, parts)
    byte_edits = source.byte_edits(edits)
    if isinstance(byte_edits, EncodeProblem):
        return _unencodable(file, byte_edits, edits, parts)
    result = source if not edits else result_source(file, edits, byte_edits)
    if isinstance(result, DecodeProblem):
        return _no_text(file, result)
    # Nothing is parsed that no one could read again.
    if result.lines.count > max(limits.result_lines, source.lines.count):
        return too_long(file.path, f"{result.lines.count} lines", str(limits.result_lines), "--max-lines")
    return byte_edits, result


def result_source(
    file: SnapshotFile, edits: EditList, byte_edits: Sequence[ByteEdit]
) -> Source | DecodeProblem:
    """The result's bytes as text, in the encoding of the base; one that was given allows NUL.

    The text must be the one that `edits` make: a byte order mark at the start, or bytes next to each other
    that were none of a character alone, would be read as something else.
    """
    source = file.outline.source
    by_default = source.bom or (source.encoding == "utf-8" and file.requested.encoding is None)
    data = splice(source.data, byte_edits)
    result = Source.decode(data, None if by_default else source.encoding)
    if not isinstance(result, Source):
        return result
    if result.text != edits.apply(source.text):
        return DecodeProblem(DecodeFailure.NOT_TEXT, "its bytes would be read as another text")
    return result


def _written(edits: EditList, parts: Sequence[AttributedEdit]) -> dict[int, tuple[Span, ...]]:
    starts = {id(edit): span.start for edit, span in zip(edits, edits.result_spans, strict=True)}
    written: defaultdict[int, list[Span]] = defaultdict(list)
    for part in parts:
        start = starts[id(part.edit)]
        for index, span in part.pieces:
            written[index].append(Span(start + span.start, start + span.end))
    return {index: tuple(sorted(spans)) for index, spans in written.items()}


def _overlap(file: SnapshotFile, first: AttributedEdit, second: AttributedEdit) -> Diagnostic:
    indexes = sorted({index for part in (first, second) for index, _ in part.pieces})
    return Diagnostic(
        code=Code.CONFLICTING_EDITS,
        message=f"{file.numbers.listed(indexes)} change the same text",
        hint="combine them into one edit, or send them one after the other (sequential: true)",
        file=file.path,
        edit_index=indexes[-1],
        place=file.outline.source.lines.position(second.edit.span.start),
    )


def _shown_byte(
    file: SnapshotFile, edit: int, escape: str, edits: EditList, parts: Sequence[AttributedEdit]
) -> Diagnostic:
    return Diagnostic(
        code=Code.ENCODING_UNKNOWN,
        message=f"`{escape}` in the new text stands for a byte of the file that is not UTF-8, and would be "
        "written as four characters",
        hint='give the file\'s `"encoding"`, such as "latin-1" or "cp1252", and the character itself',
        file=file.path,
        edit_index=_edit_index(edits, edit, parts),
    )


def _edit_index(edits: EditList, edit: int, parts: Sequence[AttributedEdit]) -> int:
    """Index in the batch of the edit `edit` of `edits`."""
    return next(part.pieces[0][0] for part in parts if part.edit is edits.edits[edit])


def _unencodable(
    file: SnapshotFile, problem: EncodeProblem, edits: EditList, parts: Sequence[AttributedEdit]
) -> Diagnostic:
    index = _edit_index(edits, problem.edit, parts)
    if problem.character is None:
        return Diagnostic(
            code=Code.ENCODING_UNKNOWN,
            message="the file is not valid UTF-8, so text beyond ASCII cannot be written into it",
            hint='give the file\'s `"encoding"`, such as "latin-1" or "cp1252"',
            file=file.path,
            edit_index=index,
        )
    return Diagnostic(
        code=Code.UNENCODABLE_TEXT,
        message=f"U+{ord(problem.character):04X} does not exist in {file.outline.source.encoding}",
        hint="use characters of the file's encoding",
        file=file.path,
        edit_index=index,
    )


def _no_text(file: SnapshotFile, problem: DecodeProblem) -> Diagnostic:
    return Diagnostic(
        code=Code.NOT_A_TEXT_FILE,
        message=f"the result would not be a text file: {problem.reason}",
        hint="leave NUL characters and byte order marks out of new text",
        file=file.path,
    )
