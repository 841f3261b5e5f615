"""Plan again: with preconditions, in part, on a base that changed, or to undo a transaction.

A `Planner` turns a batch into its plan; functions here call it once or twice.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.limits import Limits
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Operation, Resolution, SectionTargeted
from mdplan.plan import (
    MOST_DESCRIPTION,
    MOST_TITLE,
    PREFIX,
    UNDO,
    EditResult,
    FileChange,
    Plan,
    Range,
    canonical_json,
)
from mdplan.planning import replay
from mdplan.planning.build import BuildResult, BuiltFile, ResolvedEdit, SnapshotFile
from mdplan.planning.plan_document import changes_of, new_plan
from mdplan.planning.results import MOST_MATCHES
from mdplan.requests.batch import Batch, normalized_edits, read_batch
from mdplan.text.diff import DiffStat, LineDrift, find_hunks
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Lines, Span
from mdplan.text.source import EncodeProblem, Source, sha256_hex, splice
from mdplan.text.visible import first_few
from mdplan.values import Struct, replace
from mdplan.words import Argument, say

Planner: TypeAlias = Callable[[Batch], replay.PlannedBatch | Problems]

# Adds guards to a batch, except for the files of some paths.
AddGuards: TypeAlias = Callable[[Batch, Collection[str | None]], Batch]

# Returns a file as it was when its hash started with these digits, or None if unknown.
PastOutline: TypeAlias = Callable[[SnapshotFile, str], Outline | None]


def replan_with_preconditions(
    plan: Planner, batch: Batch, past: PastOutline
) -> replay.PlannedBatch | Problems:
    """Plan a batch that is guarded by base hashes or by the evidence of its edits.

    If a base hash does not match and the batch allows a rebase, evidence is enough: it fixes what is removed
    and where text is inserted. Errors: as for planning, PRECONDITION_REQUIRED.
    """
    planned = plan(batch)
    if isinstance(planned, replay.PlannedBatch):
        return missing_preconditions(planned.files) or planned
    if batch.on_stale != "rebase" or any(problem.code is not Code.STALE_BASE for problem in planned):
        return planned
    rebased = plan(batch.without_bases())
    if not isinstance(rebased, replay.PlannedBatch):
        return (*planned, *rebased)
    bases = [file.base_sha256 for file in batch.files]
    unguarded_edits = missing_preconditions(rebased.files) or counted_places(rebased.files, bases, past)
    return (*planned, *unguarded_edits) if unguarded_edits else replace(rebased, rebased=True)


def replan_with_guards(
    plan: Planner, batch: Batch, add_guards: AddGuards, past: PastOutline
) -> replay.PlannedBatch | Problems:
    """Plan a batch to which `add_guards` adds base hashes that its caller did not send.

    A file with another hash needs no guard if the evidence of its edits suffices: they were made for a part
    of it, and another part may have changed. Errors: as `replan_with_preconditions`.
    """
    guarded = add_guards(batch, ())
    planned = replan_with_preconditions(plan, guarded, past)
    if isinstance(planned, replay.PlannedBatch) or any(
        problem.code is not Code.STALE_BASE for problem in planned
    ):
        return planned
    proven = add_guards(batch, {problem.file for problem in planned})
    if proven == guarded:
        return planned
    replanned = replan_with_preconditions(plan, proven, past)
    if not isinstance(replanned, replay.PlannedBatch):
        return planned
    bases = [file.base_sha256 for file in guarded.files]
    return counted_places(replanned.files, bases, past) or replanned


# In place of an edit: an edit for each of its places, and whether that is accepted.
SplitEdit: TypeAlias = Sequence[tuple[Mapping[str, Any], bool]]


def plan_part(
    plan: Planner,
    whole: Plan,
    accept: Collection[int],
    limits: Limits,
    split: Mapping[int, SplitEdit] = MappingProxyType({}),
) -> replay.PlannedBatch | Problems:
    """Plan the edits `accept` of the plan `whole`, and of the `split` ones the accepted places, on its bases.

    Errors: as for planning, STALE_BASE.
    """
    request, accepted, index = replay.request_of(whole, with_bases=True), list[bool](), 0
    for file in request["files"]:
        parts: list[tuple[Mapping[str, Any], bool]] = []
        for edit in file["edits"]:
            parts += split.get(index) or [(edit, index in accept)]
            index += 1
        file["edits"] = [edit for edit, _ in parts]
        accepted += (kept for _, kept in parts)
    request["accept"] = [at for at, kept in enumerate(accepted) if kept]
    planned = _plan_request(plan, request, limits)
    if not isinstance(planned, replay.PlannedBatch):
        return planned
    return replay.other_bases(whole, planned.plan) or planned


def plan_together(plan: Planner, parts: Sequence[Plan], limits: Limits) -> replay.PlannedBatch | Problems:
    """Plan the edits of all `parts` as one batch, on their bases.

    Errors: those of planning, as where two edits touch the same text; INVALID_ARGUMENT for plans that were
    made with different options, or on different versions of a file.
    """
    requests = [replay.request_of(part, with_bases=True) for part in parts]
    files: dict[str, dict[str, Any]] = {}
    fitting = all(part.options == parts[0].options and part.undoes is None for part in parts)
    for file in (file for request in requests for file in request["files"]):
        known = files.setdefault(file["file"], {**file, "edits": []})
        # In a sequence, the edits of a plan address what those before them made.
        is_other = {**known, "edits": ()} != {**file, "edits": ()}
        fitting &= not is_other and not (known["edits"] and parts[0].options.get("sequential"))
        known["edits"] += file["edits"]
    if not fitting:
        return (_NOT_TOGETHER,)
    titles = dict.fromkeys(filter(None, (part.intent.title for part in parts)))
    texts = dict.fromkeys(filter(None, (part.intent.description for part in parts)))
    intent = {"title": "; ".join(titles)[:MOST_TITLE], "description": "\n\n".join(texts)[:MOST_DESCRIPTION]}
    return _plan_request(plan, {**requests[0], **intent, "files": list(files.values())}, limits)


_NOT_TOGETHER: Final = Diagnostic.invalid(
    "these plans cannot be joined: one undoes a commit, or they were made with different options or on "
    "different versions of a file",
    "plan the edits in one batch, or apply one plan after the other",
)


def plan_on_new_base(
    plan: Planner, stale: Plan, limits: Limits, past: PastOutline
) -> replay.PlannedBatch | Problems:
    """Plan the edits of `stale` again on the current files, if they still do the same.

    Errors: as for planning; STALE_BASE.
    """
    planned = _plan_request(plan, replay.request_of(stale, with_bases=False), limits)
    if not isinstance(planned, replay.PlannedBatch):
        return planned
    bases = [change.base_sha256 for change, edits in zip(stale.files, stale.requested, strict=True) if edits]
    return counted_places(planned.files, bases, past) or replay.other_effects(stale, planned.files) or planned


def _plan_request(plan: Planner, request: dict[str, Any], limits: Limits) -> replay.PlannedBatch | Problems:
    batch = read_batch(request, limits)
    return plan(batch) if isinstance(batch, Batch) else batch


_GUARDS: Final = "{see look} its hash as {}{}; or plan the batch first, and apply its {planId}"


def missing_preconditions(built_files: Sequence[BuiltFile]) -> Problems:
    """Return PRECONDITION_REQUIRED for files that neither a base hash nor evidence of all edits guards."""
    problems: list[Diagnostic] = []
    for built in built_files:
        if built.file.requested.base_sha256 is not None or not built.file.exists:
            continue
        bare = [item for item in (*built.resolved, *built.arriving_edits) if not _has_evidence(item)]
        if bare:
            unguarded = "the edit" if len(bare) == 1 else f"{len(bare)} edits"
            why, guard = _why_unguarded(bare[0])
            field = Argument("baseSha256" if built.resolved else "toBaseSha256")
            message = f"`{built.file.path}` could have changed since you read it: nothing guards {unguarded}"
            problems.append(
                Code.PRECONDITION_REQUIRED.problem(
                    say("{}: {}", message, why) if why else message,
                    say(
                        "{see look} its hash as {}{}; or plan the batch first, and apply its {planId}",
                        field,
                        guard,
                    ),
                    file=built.file.path,
                    edit_index=bare[0].index,
                )
            )
    return tuple(problems)


def _why_unguarded(item: ResolvedEdit) -> tuple[str, str]:
    """Return why what an edit expects is no guard, if it expects something, and what would be one."""
    operation = item.operation
    if item.resolution.why_unguarded:
        exact = ", or a literal {pattern} of exact case, which guards itself: by default it must match once"
        return item.resolution.why_unguarded, say(exact)
    if not (getattr(operation, "expected_text", None) or getattr(operation, "is_guarded", False)):
        return "", say(", or the text that the edit replaces as {expectedText}")
    return "what it expects is no proof of it", ""


# Numbers that the expected text or value can prove.
_PROVABLE: Final = frozenset({"lines", "line", "range", "key", "codeBlock"})


def counted_places(
    built_files: Sequence[BuiltFile], bases: Sequence[str | None], past: PastOutline
) -> Problems:
    """Return STALE_BASE for edits of changed files that name a place by a number, which may have shifted.

    `bases` are the known hashes of the first `built_files`, which are the files of the batch, or None. A
    number is safe if the text or value that the edit expects there is unique, both in the base and now.
    """
    return tuple(
        Code.STALE_BASE.problem(
            f"{built.file.numbers.named(index)} names its place by {field}, which may be another "
            "place of the changed file",
            "look at the file as it is now, and send the edit again",
            file=built.file.path,
            edit_index=index,
        )
        for built, base in zip(built_files, bases, strict=False)
        if base is not None and not built.base.source.sha256.startswith(base.lower())
        for index, field in _counted(built.file, past(built.file, base.lower()))
    )


def _counted(file: SnapshotFile, base: Outline | None) -> Iterator[tuple[int, str]]:
    """Yield the index of each edit of `file` with unproven numbers, and a field that has one."""
    for index, operation in enumerate(file.requested.edits, start=file.first_edit):
        for outline in (file.outline, base or file.outline):
            fields = operation.counted_fields(outline)
            loose = [field for field in fields if field not in _PROVABLE or base is None]
            if fields and (loose or not _is_proven(index, operation, outline)):
                yield index, (loose or fields)[0]
                break


def _is_proven(index: int, operation: Operation, outline: Outline) -> bool:
    resolution = operation.resolved(outline)
    if not isinstance(resolution, Resolution):
        return False
    return _has_evidence(
        ResolvedEdit(index=index, operation=operation, resolution=resolution, outline=outline)
    )


def _has_evidence(item: ResolvedEdit) -> bool:
    """Return True if the guards of an edit prove what it removes and the section that it inserts into.

    The hash of a section's body proves nothing about its heading and subsections, and the hash of a moved
    section proves nothing about its destination.
    """
    operation, section = item.operation, item.resolution.section
    if item.resolution.is_evidence or item.resolution.destination is not None:
        return item.resolution.is_evidence
    if not isinstance(operation, SectionTargeted) or operation.section_sha256 is None or section is None:
        return False
    # Of equal sections, which are counted, one could have taken the place of another.
    if section.repeats > 1 and not operation.has_sole_hash(item.outline):
        return False
    part = item.outline.hashed_part(section, operation.section_sha256)
    spans = (*(edit.span for edit in item.resolution.edits), *item.resolution.deletions)
    removed = (_without_blanks(item.outline.source.text, span) for span in spans)
    return part is not None and all(map(part.contains, removed))


def _without_blanks(text: str, span: Span) -> Span:
    """Return `span` without surrounding whitespace: edits add and remove blank lines around sections."""
    removed = text[span.start : span.end]
    start = span.start + len(removed) - len(removed.lstrip())
    return Span(start, max(start, span.start + len(removed.rstrip())))


def other_base(plan: Plan, expected: str | None) -> Diagnostic | None:
    """Return STALE_BASE unless the `baseSha256` next to a plan ID matches the plan's only file."""
    bases = [change.base_sha256 for change in plan.files]
    if expected is None or (len(bases) == 1 and (bases[0] or "").startswith(expected.lower())):
        return None
    return Code.STALE_BASE.problem(
        say("{baseSha256} is not the base of this plan"), "omit it, or plan again on the file as it is now"
    )


# --- A batch that comes a second time: only the last commit can tell it from a new one


def state_id(files: Iterable[tuple[str, str | None]]) -> str:
    """Name a state of `files`: their paths and the SHA-256 of their bytes, None for no file."""
    return PREFIX + hashlib.sha256(canonical_json(sorted(files, key=lambda file: file[0]))).hexdigest()


def result_id(plan: Plan) -> str:
    """Name the state in which `plan` leaves the files that its batch names."""
    arrived = {change.new_path: change.result_sha256 for change in plan.files if change.new_path is not None}
    return state_id(
        (change.path, arrived.get(change.path) if change.new_path else change.result_sha256)
        for change, edits in zip(plan.files, plan.requested, strict=True)
        if edits
    )


def is_pinned(batch: Batch) -> bool:
    """Return True if base hashes of `batch` prevent a second commit on its own result."""
    return batch.on_stale == "refuse" and all(file.base_sha256 is not None for file in batch.files)


def is_same_request(plan: Plan, batch: Batch) -> bool:
    """Return True if `plan` was made from the request `batch`, ignoring the spelling of paths."""
    bases = [
        change.base_sha256 or "" for change, edits in zip(plan.files, plan.requested, strict=True) if edits
    ]
    is_stale = any(
        not base.startswith((file.base_sha256 or "").lower())
        for base, file in zip(bases, batch.files, strict=False)
    )
    if is_stale and batch.on_stale == "refuse":
        return False
    requested = [(file.encoding, file.format, list(normalized_edits(file))) for file in batch.files]
    planned = [
        (change.encoding, change.format, list(edits))
        for change, edits in zip(plan.files, plan.requested, strict=True)
        if edits
    ]
    is_same = canonical_json([planned, dict(plan.options)]) == canonical_json([requested, batch.options])
    return is_same and plan.intent == batch.intent


# --- The plan of the accepted edits of a batch, which must do the same without the rest


def accepted_batch(batch: Batch) -> Batch | Diagnostic:
    """Return `batch` with only its accepted edits. Errors: INVALID_ARGUMENT for an index out of range."""
    accept = frozenset(batch.accept or ())
    if not accept or max(accept) >= batch.edit_count:
        return Diagnostic.invalid(
            f"accept must name edits from 0 to {batch.edit_count - 1}", "leave accept out to take all edits"
        )
    files = []
    index = 0
    for file in batch.files:
        edits = tuple(edit for number, edit in enumerate(file.edits, start=index) if number in accept)
        index += len(file.edits)
        if edits:
            files.append(file.model_copy(update={"edits": edits}))
    return batch.model_copy(update={"files": tuple(files), "accept": None})


def needs_rejected(batch: Batch, full: BuildResult, chosen: BuildResult | Problems) -> Problems:
    """Return CONFLICTING_EDITS for accepted edits that would do something else without the rejected ones.

    `full` are the files with all edits of `batch`, `chosen` the files with the accepted edits, or their
    problems. Spans and texts are compared in terms of the base.
    """
    kept = sorted(set(batch.accept or ()))
    files = [built.file for built in full.files for _ in built.resolved]

    def conflict(problem: str, index: int) -> Diagnostic:
        """Return `problem`, and the rejected edits of the file that `index` needs: earlier ones, or all."""
        file = files[index]
        own = range(file.first_edit, file.first_edit + len(file.requested.edits))
        rejected = [other for other in own if other not in kept]
        needed = [other for other in rejected if other < index] or rejected
        return Code.CONFLICTING_EDITS.problem(
            f"{problem} {file.numbers.listed(needed)}",
            "accept them too, or reject it",
            file=file.path,
            edit_index=index,
        )

    def named(index: int) -> str:
        return files[index].numbers.named(index)

    if isinstance(chosen, BuildResult):
        in_full, in_chosen = _changes(full.files), _changes(chosen.files)
        return tuple(
            conflict(f"{named(index)} does something else without", index)
            for position, index in enumerate(kept)
            if in_full[index] != in_chosen[position]
        )

    def wanted(problem: Diagnostic) -> Diagnostic:
        if problem.edit_index is not None:
            index = kept[problem.edit_index]
            return conflict(f"{named(index)} cannot be made without", index)
        if problem.code in {Code.OUTLINE_CHANGED, Code.DUPLICATE_HEADING}:
            # A file that only receives moved text has no edits, so it may need any edit.
            own = [index for index, file in enumerate(files) if file.path == problem.file]
            last = max(own or range(len(files)))
            return replace(conflict(f"{problem.message}, without", last), edit_index=None)
        return problem

    return tuple(map(wanted, chosen))


_Changes = tuple[tuple[int | None, int | None, str, str], ...]


def _changes(built_files: Sequence[BuiltFile]) -> "list[_Changes]":
    """By edit, where what it replaces is in the base, that text, and the new one."""

    def changes_in(built: BuiltFile, item: ResolvedEdit) -> _Changes:
        base_of = built.edits_before(item.index).unmap_offset
        return tuple(
            (base_of(span.start), base_of(span.end), item.outline.text_of(span), new_text)
            for span, new_text in changes_of(item)
        )

    arrived = {item.index: changes_in(built, item) for built in built_files for item in built.arriving_edits}
    return [
        changes_in(built, item) + arrived.get(item.index, ())
        for built in built_files
        for item in built.resolved
    ]


# --- An undo as a plan: the inverse text edits of a transaction, on the files that it left
#
# It is a plan like any other: with an ID, a diff and base hashes, stored, shown and applied by its ID, and
# refused when a file changed. It requests one edit for each file, `undo`, which batches cannot contain, so
# it cannot be accepted in part. Its own transaction can be undone in turn.

_LISTED: Final = 5

UNDO_IS_WHOLE: Final = Diagnostic.invalid(
    say("{accept} is given with the plan of an undo, which has no parts"),
    "apply it whole, or write the old text that you want with a new batch",
)


class UndoneFile(Struct):
    """One file of an undo. `change` is the inverse change, and `source` is the text that its edits apply to.

    `source` is what the transaction left, which is empty for a deleted file.
    """

    change: FileChange
    source: Source


def undo_file(change: FileChange, before: bytes | None) -> UndoneFile | Diagnostic:
    """Return the inverse of one `change` of a transaction; `before` is what the file held, None for nothing.

    Proven by hashes: `before` must be the base, and its text edits must give what the transaction left.
    Errors: NOT_UNDOABLE.
    """
    base = replay.no_text(change.encoding) if change.base_sha256 is None else _decoded(before or b"", change)
    if not isinstance(base, Source) or (change.base_sha256 or base.sha256) != base.sha256:
        return not_undoable(change.path, "its content from before the transaction is not in the history")
    if change.result_sha256 is None:
        return _created_again(change, base)
    replayed = replay.replay_file(change, base)
    left = None if isinstance(replayed, Diagnostic) else _decoded(replayed.result or b"", change)
    if left is None:
        return not_undoable(change.path, "its entry in the history does not give what the transaction left")
    if change.base_sha256 is None:
        edits = EditList((TextEdit.delete(Span(0, len(left.text))),) if left.text else ())
    else:
        edits = change.edits.invert(base.text)
    return _inverse(change, left, edits, change.base_sha256)


def rebase_undone(undone: UndoneFile, current: Source) -> UndoneFile | Problems:
    """Carry `undone` to a file that others changed since: `current`, read with the plan's encoding.

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
    return _rebased(change, current, edits)


def merge_undone(undone: UndoneFile, current: Source) -> UndoneFile | Problems:
    """Merge `undone` three-way into a file that others changed since: `current`, read as above.

    Errors: MERGE_CONFLICT; STALE_BASE for a file that the undo removes; UNENCODABLE_TEXT.
    """
    # Most undos find their files as they were: they load no merge.
    from mdplan.planning.merging import Sides, merged_edits

    change, source = undone.change, undone.source
    if change.result_sha256 is None:
        return (_moved_on(change.path, ()),)
    edits = merged_edits(Sides.of(change, source, current, change.edits.apply(source.text)))
    return _rebased(change, current, edits) if isinstance(edits, EditList) else edits


def _rebased(change: FileChange, current: Source, edits: EditList) -> UndoneFile | Problems:
    """Return `change` with `edits` of the file as it is now, `current`."""
    byte_edits = current.planned_byte_edits(edits)
    if isinstance(byte_edits, EncodeProblem):
        return (
            Code.UNENCODABLE_TEXT.problem(
                f"the old text of `{change.path}` has characters that do not exist in {current.encoding}",
                "the file got another encoding since; bring it back first",
                file=change.path,
            ),
        )
    result = splice(current.data, byte_edits)
    rebased = replace(
        change, base_sha256=current.sha256, result_sha256=sha256_hex(result), edits=edits, base_sections={}
    )
    return UndoneFile(rebased, current)


def undo_plan(transaction: str, files: Iterable[UndoneFile], *, is_part: bool) -> Plan:
    """Plan the undo of `transaction` in `files`; reads them one at a time.

    With `is_part`, other files of the transaction stay as they are.
    """
    edit = {"op": UNDO, "transaction": transaction, **({"part": True} if is_part else {})}
    changes: list[FileChange] = []
    results: list[EditResult] = []
    for index, file in enumerate(files):
        changes.append(_with_counts(file.change, file.source))
        results.append(_undo_result(index, file))
    return new_plan(
        files=tuple(changes),
        requested=tuple((edit,) for _ in changes),
        options={},
        effects=tuple(() for _ in changes),
        results=tuple(results),
        warnings=(),
    )


def not_undoable(path: str, reason: str) -> Diagnostic:
    """Return NOT_UNDOABLE for the file `path` of a transaction."""
    return Code.NOT_UNDOABLE.problem(
        f"what was done to `{path}` cannot be undone: {reason}",
        "write the old text with a new batch; nothing of the transaction was undone",
        file=path,
    )


def _created_again(change: FileChange, base: Source) -> UndoneFile:
    """Undo the deletion of a file. Its byte order mark is restored as a character of the new text."""
    mark = base.bom.decode(base.encoding) if base.bom else ""
    text = mark + base.text
    edits = EditList((TextEdit.insert(0, text),) if text else ())
    is_default = change.encoding is None and base.encoding == "utf-8"
    encoding = None if is_default else base.encoding
    undone = replace(change, encoding=encoding)
    return _inverse(undone, replay.no_text(encoding), edits, base.sha256)


def _inverse(change: FileChange, source: Source, edits: EditList, result: str | None) -> UndoneFile:
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


def _with_counts(change: FileChange, source: Source) -> FileChange:
    """Return `change` with the line counts of its diff and the section hashes of its base."""
    byte_edits = source.planned_byte_edits(change.edits)
    assert not isinstance(byte_edits, EncodeProblem), "the text was in the file"
    stat = DiffStat.of(find_hunks(source.data, byte_edits))
    outline = Outline(source, document_format(change.path, source.text, change.format))
    sections = outline.own_hashes() if change.base_sha256 is not None else {}
    return replace(change, lines_added=stat.added, lines_removed=stat.removed, base_sections=sections)


def _undo_result(index: int, file: UndoneFile) -> EditResult:
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
    listed = first_few(lines, _LISTED)
    where = f" at {listed}" if listed else ""
    return Code.STALE_BASE.problem(
        f"`{path}` was changed{where} since, where the undo would change it, or next to that",
        "undo what was done later first, or write the old text with a new batch",
        file=path,
    )


def _shown_lines(first: int, last: int) -> str:
    """Describe current lines (1-based), or the place between two lines if nothing is left."""
    if last < first:
        return f"line {max(last, 1)} (deleted there)"
    return f"line {first}" if first == last else f"lines {first}-{last}"
