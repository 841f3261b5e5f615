"""A plan on a base that changed: the same edits, if they still do the same to the same text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.plan import Plan
from mdplan.planning.build import BuiltFile
from mdplan.planning.results.fingerprints import effects_of

_NUMERIC: Final = ("lines", "line", "range", "occurrence", "table", "list", "itemOccurrence")
# Of these, the ones that have hashes of their first and last lines.
_HASHED: Final = frozenset({"lines", "range"})
# Targets that name the n-th block of a kind.
_COUNTED: Final = ("codeBlock",)


def request_of(plan: Plan, *, with_bases: bool) -> dict[str, Any]:
    """The batch that `plan` was made of, as decoded JSON.

    `with_bases` adds the base hashes of the plan as preconditions. Files without edits are omitted, because
    planning derives their changes again.
    """
    files = []
    for change, edits in zip(plan.files, plan.requested, strict=True):
        if not edits:
            continue
        file: dict[str, Any] = {"file": change.path, "edits": [dict(edit) for edit in edits]}
        file |= {
            name: value
            for name, value in (("encoding", change.encoding), ("format", change.format))
            if value is not None
        }
        pins = with_bases and change.base_sha256 is not None
        files.append(file | ({"baseSha256": change.base_sha256} if pins else {}))
    return {"files": files, **plan.options, **plan.intent.fields}


def numeric_addresses(plan: Plan) -> Problems:
    """STALE_BASE for every edit that names its place by numbers, which mean nothing on another base."""
    edits = [edit for file in plan.requested for edit in file]
    numbers = plan.edit_numbers
    return tuple(
        Diagnostic(
            code=Code.STALE_BASE,
            message=f"{numbers.named(index)} names its place by {name}, "
            "which cannot be carried to the changed file",
            hint="plan it again on the file as it is now",
            edit_index=index,
        )
        for index, edit in enumerate(edits)
        for name in _numbers_in(edit)
    )


def _numbers_in(edit: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in _NUMERIC if name in edit and not _has_hashes(name, edit))
    if edit.get("matchSelection", "all") != "all":
        yield "matchSelection"
    yield from (name for name in _COUNTED if "index" in (edit.get(name) or {}))


def _has_hashes(name: str, edit: Mapping[str, Any]) -> bool:
    """Whether lines are named by their hashes as well, so that they are found again."""
    if name == "line":
        return "lineHash" in edit
    if name not in _HASHED:
        return False
    place = edit[name]
    ends = (place.get("startHash"), place.get("endHash"))
    return all(ends) or (name == "range" and all(place[end].get("lineHash") for end in ("start", "end")))


def other_bases(whole: Plan, part: Plan) -> Problems:
    """STALE_BASE for every file of `part` that is not the one on which `whole`, the whole plan, was made.

    Of files that no edit names the request does not say what they were.
    """
    bases = {change.path: change.base_sha256 for change in whole.files}
    return tuple(
        Diagnostic(
            code=Code.STALE_BASE,
            message=f"`{change.path}` is not the file that the plan was made on",
            hint="plan again on the files as they are now",
            file=change.path,
        )
        for change in part.files
        if bases.get(change.path, "") != change.base_sha256
    )


def other_effects(plan: Plan, built_files: Sequence[BuiltFile]) -> Problems:
    """STALE_BASE for every edit that would now remove or insert something else, or elsewhere."""
    now, numbers = effects_of(built_files), plan.edit_numbers
    return tuple(
        Diagnostic(
            code=Code.STALE_BASE,
            message=f"{numbers.named(index)} would not do the same on the changed file",
            hint="look at the file and plan again",
            edit_index=index,
        )
        for index, (before, after) in enumerate(zip(plan.effects, now, strict=True))
        if before != after
    )
