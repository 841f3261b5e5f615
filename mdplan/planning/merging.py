"""Merge a change three-way into files that others changed since, and plans of several files into one."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate, groupby
from types import MappingProxyType
from typing import Any, Final, Protocol

from mdplan.diagnostics import Candidate, Code, Diagnostic, Problems
from mdplan.markdown.addresses import candidate
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.outline import Outline
from mdplan.merge.documents import ConflictPlace, marker_style, merge_texts, places, resolved
from mdplan.merge.lines import Conflict
from mdplan.plan import NO_INTENT, EditResult, Effect, FileChange, Intent, Plan
from mdplan.planning.plan_document import new_plan
from mdplan.planning.replay import Entry, LazySequence, ReplayedFile, replay_file, request_of
from mdplan.text.diff import LineDrift, file_diff, find_hunks
from mdplan.text.edit import EditList
from mdplan.text.lines import Position, to_lf
from mdplan.text.source import DocumentFormat, EncodeProblem, Source, visible
from mdplan.values import Struct, replace
from mdplan.words import Argument, say

_MOST_CONFLICTS: Final = 20
_MOST_CHARACTERS: Final = 1_000
_MIXED: Final = "it has mixed line ends, or conflict markers"


class Sides(Struct, kw_only=True):
    """A file: the `base` of a change, as it is now, `ours`, and as the change left it, `theirs`.

    `theirs_sha256` is the hash of the bytes of the last; `encoding` and `format` are what the caller gave.
    """

    path: str
    base: Source
    ours: Source
    theirs: str
    theirs_sha256: str
    encoding: str | None = None
    format: str | None = None

    @classmethod
    def of(cls, change: FileChange, base: Source, ours: Source, theirs: str) -> "Sides":
        """Return the sides of a `change` that has a result."""
        return cls(
            path=change.path,
            base=base,
            ours=ours,
            theirs=theirs,
            theirs_sha256=change.result_sha256 or "",
            encoding=change.encoding,
            format=change.format,
        )


# The text that a person chose for each place at which both changed a file, by the path of the file.
Choices = Mapping[str, Sequence[str]]


def merged_edits(sides: Sides, choices: Sequence[str] = ()) -> EditList | Problems:
    """Merge the change into the file as it is now, with `choices` for its conflicts.

    Errors: MERGE_CONFLICT for each place that both changed, unless there is a choice for all of them;
    STALE_BASE for a file that is not merged.
    """
    ours = sides.ours
    named = document_format(sides.path, ours.text, sides.format)
    texts = sides.base.text, ours.text, sides.theirs
    style = marker_style(texts)
    merged = merge_texts(named, texts, style)
    if merged is None:
        return (_not_merged(sides.path, _MIXED),)
    if merged.conflicts and choices and len(choices) == len(places(merged, style)):
        return LineDrift.between(ours.text, resolved(merged, style, choices)).edits
    if merged.conflicts:
        outline = Outline(ours, named) if named is DocumentFormat.MARKDOWN else None
        return tuple(map(partial(_conflict, sides, outline), merged.conflicts[:_MOST_CONFLICTS]))
    return LineDrift.between(ours.text, merged.text).edits


def conflict_places(sides: Sides) -> tuple[ConflictPlace, ...] | Problems:
    """Return the places that both changed, in order. Errors: STALE_BASE for a file that is not merged."""
    texts = sides.base.text, sides.ours.text, sides.theirs
    style = marker_style(texts)
    merged = merge_texts(document_format(sides.path, sides.ours.text, sides.format), texts, style)
    if merged is None:
        return (_not_merged(sides.path, _MIXED),)
    return places(merged, style)


def merged_request(
    files: Sequence[Sides], stale: Plan | None = None, choices: Choices = MappingProxyType({})
) -> dict[str, Any] | Problems:
    """Return the batch that merges the changes of `files` into their current text, with `choices`.

    It also creates, deletes and renames files as the plan `stale`. Each changed file is a diff that names the
    hashes of the three merged texts; unchanged files are omitted. Errors: as `merged_edits`.
    """
    changed: list[dict[str, Any]] = []
    unchanged: list[dict[str, Any]] = []
    problems: list[Diagnostic] = []
    for sides in files:
        edits = merged_edits(sides, choices.get(sides.path, ()))
        if isinstance(edits, EditList):
            (changed if edits else unchanged).append(_as_diff(sides, edits))
        else:
            problems += edits
    whole_files = _whole_files(stale) if stale is not None else []
    kept = stale.options if stale is not None else {}
    options: dict[str, Any] = {
        name: kept[name] for name in ("backup", "jsonSchema", "keep", "drop", "refuseOn") if name in kept
    }
    options |= stale.intent.fields if stale is not None else {}
    guards = {"allowOutlineChange": True, "allowDuplicateHeadings": True}
    # A batch needs a file: if all have the change already, add a diff without a change.
    entries = [*whole_files, *changed] or unchanged[:1]
    return tuple(problems) or {"files": entries, **options, **guards}


def not_kept(path: str) -> Diagnostic:
    """Return STALE_BASE for the file `path`, whose text at the time of the change is not known any more."""
    return _not_merged(path, "the text that the change was made for is not kept")


def _whole_files(plan: Plan) -> list[dict[str, Any]]:
    """Return the files that `plan` creates, deletes or renames, as requested."""
    edited = [change for change, edits in zip(plan.files, plan.requested, strict=True) if edits]
    return [
        file
        for file, change in zip(request_of(plan, with_bases=True)["files"], edited, strict=True)
        if change.base_sha256 is None or change.result_sha256 is None or change.new_path is not None
    ]


def _as_diff(sides: Sides, edits: EditList) -> dict[str, Any]:
    """Return `edits` of ours as a file of a batch, with one diff."""
    path, ours = sides.path, Source.from_text(sides.ours.text)
    byte_edits = ours.planned_byte_edits(edits)
    assert not isinstance(byte_edits, EncodeProblem), "UTF-8 has all characters"
    hunks = file_diff(path, path, find_hunks(ours.data, byte_edits)).decode()
    if not hunks:
        first_line = to_lf(ours.text).partition("\n")[0]
        hunks = f"@@ -1 +1 @@\n {first_line}\n"
    hashes = sides.base.sha256, sides.ours.sha256, sides.theirs_sha256
    head = "Merge of base {}, ours {} and theirs {}\n".format(*hashes)
    options = (("encoding", sides.encoding), ("format", sides.format))
    return {
        "file": path,
        "baseSha256": sides.ours.sha256,
        **{name: value for name, value in options if value is not None},
        "edits": [{"op": "apply_diff", "diff": head + hunks}],
    }


def theirs_of(change: FileChange, base: Source) -> str | None:
    """Return what the text edits of `change` make of `base`; None if that is not what the plan says."""
    replayed = replay_file(change, base) if base.sha256 == change.base_sha256 else None
    if not isinstance(replayed, ReplayedFile) or replayed.result is None:
        return None
    return change.edits.apply(base.text)


def _conflict(sides: Sides, outline: Outline | None, conflict: Conflict) -> Diagnostic:
    section = outline.section_at(sides.ours.lines.start(conflict.line)) if outline else None
    count = max(conflict.ours.count("\n"), 1)
    path = candidate(section) if section else None
    target = path or Candidate(
        heading_path=conflict.path, start_line=conflict.line, end_line=conflict.line + count - 1
    )
    return Code.MERGE_CONFLICT.problem(
        f"`{sides.path}` line {conflict.line}: {conflict.reason}",
        say(
            "the file has {} there now, and the change writes {}: send the text that is right as an "
            "edit, with {}",
            _quoted(conflict.ours),
            _quoted(conflict.theirs),
            Argument("baseSha256", sides.ours.sha256[:16]),
        ),
        file=sides.path,
        place=Position(line=conflict.line, col=1),
        candidates=(target,),
    )


def _quoted(text: str) -> str:
    if not text:
        return "nothing"
    text = text.removesuffix("\n")
    cut = text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS] + "…"
    return f"`{visible(cut)}`"


def _not_merged(path: str, reason: str) -> Diagnostic:
    return Code.STALE_BASE.problem(
        f"`{path}` has changed and cannot be merged: {reason}",
        say("look at the file with {step stat}, then plan again on it as it is"),
        file=path,
    )


class PlansByNumber(Protocol):
    """Plans by their number, from 0. Each counts its edits from 0."""

    def sizes(self) -> Iterable[tuple[int, int]]:
        """Return how many files and edits each has."""

    def changes(self, number: int) -> Sequence[tuple[FileChange, Sequence[Mapping[str, Any]]]]:
        """Return the files of a plan, each with the edits that were requested."""

    def effects(self, number: int) -> Sequence[tuple[Effect, ...]]:
        """Return what its edits remove and insert."""

    def results(self, number: int) -> Sequence[EditResult]:
        """Return what its edits do."""


# --- Plans of different files as one plan


def merge_plans(
    plans: PlansByNumber, warnings: Problems, options: Mapping[str, bool | str], intent: Intent = NO_INTENT
) -> Plan | Problems:
    """Join `plans` of different files, in their order, into one plan with `options` and `intent`.

    Edit indexes count through the whole plan. `warnings` are the warnings of all `plans`. Files and edits are
    loaded on access. Errors: INVALID_ARGUMENT for a path that two of `plans` change.
    """
    files, edits = zip(*plans.sizes(), strict=True)
    first = [0, *accumulate(edits)]
    # Who reads a file reads what was requested for it, too.
    changes = lru_cache(maxsize=1)(plans.changes)
    changed = StoredEntries(files, lambda number: [change for change, _ in changes(number)])
    paths = sorted(path for change in changed for path in (change.path, change.new_path) if path is not None)
    problems = tuple(
        Diagnostic.invalid(
            f"`{path}` would be changed twice, by edits of different files",
            "let one file write into it; a new name must be free",
            file=path,
        )
        for path, same in groupby(paths)
        if len(list(same)) > 1
    )
    return problems or new_plan(
        files=changed,
        requested=StoredEntries(files, lambda number: [requested for _, requested in changes(number)]),
        options=options,
        effects=StoredEntries(edits, plans.effects),
        results=StoredEntries(edits, lambda number: _numbered(plans.results(number), first[number])),
        warnings=warnings,
        intent=intent,
    )


def ready_to_merge(plan: Plan) -> Plan:
    """Return `plan`, which changes some file, without the unchanged files, under the same ID.

    It knows no sections of its bases, which only show what made a base stale, and no single matches, which no
    report on several files has: these two are most of a plan.
    """
    files: list[FileChange] = []
    requested: list[Sequence[Mapping[str, Any]]] = []
    effects: list[tuple[Effect, ...]] = []
    results: list[EditResult] = []
    first = 0
    for change, edits in zip(plan.files, plan.requested, strict=True):
        end = first + len(edits)
        if not change.is_no_op:
            files.append(replace(change, base_sections={}))
            requested.append(edits)
            effects += plan.effects[first:end]
            bare = [replace(result, matches=()) for result in plan.results[first:end]]
            results += _numbered(bare, len(results))
        first = end
    return replace(
        plan, files=tuple(files), requested=tuple(requested), effects=tuple(effects), results=tuple(results)
    )


def _numbered(results: Iterable[EditResult], first: int) -> list[EditResult]:
    """Return `results` with indexes of edits that begin at `first`."""
    return [_at(result, index) for index, result in enumerate(results, start=first)]


def _at(result: EditResult, index: int) -> EditResult:
    if result.edit_index == index:
        return result
    warnings = tuple(replace(warning, edit_index=index) for warning in result.warnings)
    return replace(result, edit_index=index, warnings=warnings)


class StoredEntries(LazySequence[Entry]):
    """Entries of several stored plans in sequence; keeps only one plan in memory.

    `counts` are the numbers of entries of the plans, and `load` returns the entries of a plan.
    """

    def __init__(self, counts: Iterable[int], load: Callable[[int], Sequence[Entry]]) -> None:
        starts = [0, *accumulate(counts)]
        entries_of = lru_cache(maxsize=1)(load)

        def entry_at(index: int) -> Entry:
            number = bisect_right(starts, index) - 1
            return entries_of(number)[index - starts[number]]

        super().__init__(starts[-1], entry_at)
