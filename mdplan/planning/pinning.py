"""What pins a commit to the bytes that its caller saw (DESIGN section 7)."""

from collections.abc import Sequence

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.plan import Plan
from mdplan.planning.build import BuiltFile


def unpinned(built_files: Sequence[BuiltFile]) -> Problems:
    """PRECONDITION_REQUIRED for every file that neither a base hash nor the evidence of each edit pins."""
    problems: list[Diagnostic] = []
    for built in built_files:
        if built.file.requested.base_sha256 is not None:
            continue
        loose = [item.index for item in built.resolved if not item.resolution.is_evidence]
        if loose:
            listed = f"{'edit' if len(loose) == 1 else 'edits'} {', '.join(map(str, loose[:10]))}"
            problems.append(
                Diagnostic(
                    code=Code.PRECONDITION_REQUIRED,
                    message=f"nothing pins `{built.file.path}` to what you saw ({listed})",
                    hint=f'add `"baseSha256": "{built.base.source.sha256}"` if you saw this file, '
                    "or dry-run the batch and apply its planId",
                    file=built.file.path,
                    edit_index=loose[0],
                )
            )
    return tuple(problems)


def other_base(plan: Plan, given: str | None) -> Diagnostic | None:
    """STALE_BASE when the `baseSha256` beside a plan ID is not that of the plan's one file."""
    bases = [change.base_sha256 for change in plan.files]
    if given is None or (len(bases) == 1 and bases[0].startswith(given.lower())):
        return None
    return Diagnostic(
        code=Code.STALE_BASE,
        message="baseSha256 is not the base of this plan",
        hint="leave it out, or plan again on the file as it is now",
    )
