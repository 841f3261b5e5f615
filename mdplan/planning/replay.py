"""A plan on the bytes of today: are they its base or its result, and what do its text edits make of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.document_format import document_format
from mdplan.markdown.outline import Outline
from mdplan.plan import FileChange, Plan
from mdplan.planning.stale import stale_base
from mdplan.text.diff import unified_diff
from mdplan.text.source import EncodeProblem, Source, sha256_hex, splice


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a plan makes of its bases: the bytes of every file, and the diff."""

    results: tuple[bytes, ...]
    diff: bytes


def is_applied(plan: Plan, sources: Sequence[Source]) -> bool:
    """Whether every file has its result already, and the plan changes something."""
    return not plan.is_no_op and all(
        source.sha256 == change.result_sha256 for change, source in zip(plan.files, sources, strict=True)
    )


def stale_files(plan: Plan, sources: Sequence[Source]) -> Problems:
    """STALE_BASE for every file that is not the base of `plan`; only those are parsed."""
    return tuple(
        stale_base(
            change.path,
            change.base_sha256,
            Outline(source, document_format(change.path, source.text, change.format)),
            change.base_sections,
        )
        for change, source in zip(plan.files, sources, strict=True)
        if source.sha256 != change.base_sha256
    )


def replay(plan: Plan, relative_paths: Sequence[str], bases: Sequence[Source]) -> Replay | Problems:
    """The text edits of `plan` on its bases.

    Errors: PLAN_TAMPERED where base and edits do not give the result hash that the plan names.
    """
    results: list[bytes] = []
    diff: list[bytes] = []
    for change, path, base in zip(plan.files, relative_paths, bases, strict=True):
        fits = all(edit.span.end <= len(base.text) for edit in change.edits)
        byte_edits = base.byte_edits(change.edits) if fits else EncodeProblem(0, None)
        result = b"" if isinstance(byte_edits, EncodeProblem) else splice(base.data, byte_edits)
        if isinstance(byte_edits, EncodeProblem) or sha256_hex(result) != change.result_sha256:
            return (_tampered(change),)
        results.append(result)
        diff.append(unified_diff(path, base.data, byte_edits))
    return Replay(results=tuple(results), diff=b"".join(diff))


def _tampered(change: FileChange) -> Diagnostic:
    return Diagnostic(
        code=Code.PLAN_TAMPERED,
        message=f"the text edits of the plan do not give the result that it names for `{change.path}`",
        hint="plan the batch again",
        file=change.path,
    )
