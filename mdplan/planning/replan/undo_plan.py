"""An undo as a plan: the inverse text edits of a transaction, on the files that it left.

It is a plan like any other: with an ID, a diff and base hashes, stored, shown and applied by its ID, and
refused when a file changed. It requests one edit for each file, `undo`, which batches cannot contain, so
it cannot be accepted in part. Its own transaction can be undone in turn.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.plan import UNDO, EditResult, FileChange, Plan, Range
from mdplan.planning.plan_document import new_plan
from mdplan.planning.replan.replay import no_text, replay_file
from mdplan.planning.results.edit_results import MOST_MATCHES
from mdplan.text.diff import DiffStat, LineDrift, find_hunks
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Lines, Span
from mdplan.text.source import EncodeProblem, Source, sha256_hex, splice

_LISTED: Final = 5

UNDO_IS_WHOLE: Final = Diagnostic.invalid(
    "accept is given with the plan of an undo, which has no parts",
    "apply it whole, or write the old text that you want with a new batch",
)


@dataclass(frozen=True, slots=True)
class UndoneFile:
    """One file of an undo. `change` is the inverse change, and `source` the text that its edits are of.

    `source` is what the transaction left; that of a file which it deleted is empty.
    """

    change: FileChange
    source: Source


def undo_file(change: FileChange, before: bytes | None) -> UndoneFile | Diagnostic:
    """The inverse of one `change` of a transaction; `before` is what the file held, None for nothing.

    Proven by hashes: `before` must be the base, and its text edits must give what the transaction left.
    Errors: NOT_UNDOABLE.
    """
    base = no_text(change.encoding) if change.base_sha256 is None else _decoded(before or b"", change)
    if not isinstance(base, Source) or (change.base_sha256 or base.sha256) != base.sha256:
        return not_undoable(change.path, "its content from before the transaction is not in the history")
    if change.result_sha256 is None:
        return _created_again(change, base)
    replayed = replay_file(change, base)
    left = None if isinstance(replayed, Diagnostic) else _decoded(replayed.result or b"", change)
    if left is None:
        return not_undoable(change.path, "its entry in the history does not give what the transaction left")
    if change.base_sha256 is None:
        edits = EditList((TextEdit.delete(Span(0, len(left.text))),) if left.text else ())
    else:
        edits = change.edits.invert(base.text)
    return _undone(change, left, edits, change.base_sha256)


def rebase_undone(undone: UndoneFile, current: Source) -> UndoneFile | Problems:
    """`undone` on a file that others changed since: `current`, which was read with the plan's encoding.

    The lines of each inverse edit, and the lines on both sides of them, must be as the transaction left
    them. Errors: STALE_BASE, naming the lines that are not; UNENCODABLE_TEXT.
    """
    change, source = undone.change, undone.source
    drift = LineDrift.between(source.text, current.text)
    near = [(edit, drift.block_near(source.lines, edit.span)) for edit in change.edits]
    touched = sorted({block for _, block in near if block is not None})
    if touched or change.result_sha256 is None:
        lines = [_shown_lines(block.new_start + 1, block.new_end) for block in touched]
        return (_moved_on(change.path, lines),)
    edits = EditList(tuple(TextEdit(drift.carried(edit.span), edit.new_text) for edit in change.edits))
    return _on(change, current, edits)


def merge_undone(undone: UndoneFile, current: Source) -> UndoneFile | Problems:
    """`undone` merged three-way into a file that others changed since: `current`, read as above.

    Errors: MERGE_CONFLICT; STALE_BASE for a file that the undo removes; UNENCODABLE_TEXT.
    """
    # Most undos find their files as they were: they load no merge.
    from mdplan.planning.replan.merging import Sides, merged_edits

    change, source = undone.change, undone.source
    if change.result_sha256 is None:
        return (_moved_on(change.path, ()),)
    edits = merged_edits(Sides.of(change, source, current, change.edits.apply(source.text)))
    return _on(change, current, edits) if isinstance(edits, EditList) else edits


def _on(change: FileChange, current: Source, edits: EditList) -> UndoneFile | Problems:
    """`change` with `edits` of the file as it is now, `current`."""
    byte_edits = current.planned_byte_edits(edits)
    if isinstance(byte_edits, EncodeProblem):
        return (_unencodable(change.path, current),)
    result = splice(current.data, byte_edits)
    rebased = replace(
        change, base_sha256=current.sha256, result_sha256=sha256_hex(result), edits=edits, base_sections={}
    )
    return UndoneFile(rebased, current)


def undo_plan(transaction: str, files: Iterable[UndoneFile]) -> Plan:
    """The plan that takes back what `transaction` did to `files`, whose texts are not held together."""
    changes: list[FileChange] = []
    results: list[EditResult] = []
    for index, file in enumerate(files):
        changes.append(_counted(file.change, file.source))
        results.append(_result(index, file))
    return new_plan(
        files=tuple(changes),
        requested=tuple(({"op": UNDO, "transaction": transaction},) for _ in changes),
        options={},
        effects=tuple(() for _ in changes),
        results=tuple(results),
        warnings=(),
    )


def not_undoable(path: str, reason: str) -> Diagnostic:
    """NOT_UNDOABLE for the file `path` of a transaction."""
    return Diagnostic(
        code=Code.NOT_UNDOABLE,
        message=f"what was done to `{path}` cannot be undone: {reason}",
        hint="write the old text with a new batch; nothing of the transaction was undone",
        file=path,
    )


def _created_again(change: FileChange, base: Source) -> UndoneFile:
    """The deletion of a file, undone. Its byte order mark comes back as a character of the new text."""
    mark = base.bom.decode(base.encoding) if base.bom else ""
    text = mark + base.text
    edits = EditList((TextEdit.insert(0, text),) if text else ())
    is_default = change.encoding is None and base.encoding == "utf-8"
    encoding = None if is_default else base.encoding
    undone = replace(change, encoding=encoding)
    return _undone(undone, no_text(encoding), edits, base.sha256)


def _undone(change: FileChange, source: Source, edits: EditList, result: str | None) -> UndoneFile:
    path, new_path = change.path, change.new_path
    inverse = replace(
        change,
        path=new_path or path,
        new_path=path if new_path else None,
        base_sha256=change.result_sha256,
        result_sha256=result,
        edits=edits,
    )
    return UndoneFile(inverse, source)


def _counted(change: FileChange, source: Source) -> FileChange:
    """`change` with what is counted of its diff and known of the sections of its base."""
    byte_edits = source.planned_byte_edits(change.edits)
    assert not isinstance(byte_edits, EncodeProblem), "the text was in the file"
    stat = DiffStat.of(find_hunks(source.data, byte_edits))
    sections = {}
    if change.base_sha256 is not None:
        outline = Outline(source, document_format(change.path, source.text, change.format))
        sections = outline.own_hashes()
    return replace(change, lines_added=stat.added, lines_removed=stat.removed, base_sections=sections)


def _result(index: int, file: UndoneFile) -> EditResult:
    edits, lines = file.change.edits, file.source.lines
    written = LineIndex(edits.apply(file.source.text))
    spans = zip(edits, edits.result_spans, strict=True)
    listed = [(edit.span, span) for edit, span in spans][:MOST_MATCHES]
    return EditResult(
        edit_index=index,
        op=UNDO,
        file=file.change.path,
        no_op=False,
        ranges=tuple(
            Range(start=lines.position(span.start), end=lines.position(span.end)) for span, _ in listed
        ),
        result_lines=tuple(
            Lines(start=written.line_at(span.start), end=written.line_at(span.end - 1))
            for _, span in listed
            if len(span)
        ),
    )


def _decoded(data: bytes, change: FileChange) -> Source | None:
    source = Source.decode(data, change.encoding)
    return source if isinstance(source, Source) else None


def _moved_on(path: str, lines: Sequence[str]) -> Diagnostic:
    listed = ", ".join(lines[:_LISTED]) + (", …" if len(lines) > _LISTED else "")
    where = f" at {listed}" if listed else ""
    return Diagnostic(
        code=Code.STALE_BASE,
        message=f"`{path}` was changed{where} since, where the undo would change it, or next to that",
        hint="undo what was done later first, or write the old text with a new batch",
        file=path,
    )


def _shown_lines(first: int, last: int) -> str:
    """Lines as they are now, 1-based; where none is left, the place between two."""
    if last < first:
        return f"line {max(last, 1)} (deleted there)"
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _unencodable(path: str, current: Source) -> Diagnostic:
    return Diagnostic(
        code=Code.UNENCODABLE_TEXT,
        message=f"the old text of `{path}` has characters that do not exist in {current.encoding}",
        hint="the file got another encoding since; bring it back first",
        file=path,
    )
