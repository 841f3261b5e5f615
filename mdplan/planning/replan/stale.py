"""Saying that a file is not the one that was planned on, and which sections made the difference."""

from collections.abc import Mapping

from mdplan.diagnostics import Candidate, Code, Diagnostic
from mdplan.markdown.addresses import candidate
from mdplan.markdown.outline import Outline

_LISTED = 5


def stale_base(
    path: str, expected: str, current: Outline, base_sections: Mapping[str, str] | None = None
) -> Diagnostic:
    """STALE_BASE for the file `path`, whose hash should have been `expected`.

    With `base_sections` (own hashes by section ID, as the plan saw them) the sections that changed since
    are candidates, and those that came or went are counted.
    """
    found = current.source.sha256
    message = (
        f"`{path}` has changed since it was read: its SHA-256 is now {found[:16]}…, not {expected[:16]}…"
    )
    changed: tuple[Candidate, ...] = ()
    if base_sections is not None:
        now = current.own_hashes()
        differing = [
            section
            for section in current.sections
            if section.section_id not in base_sections
            or base_sections[section.section_id] != now[section.section_id]
        ]
        gone = len(base_sections.keys() - now.keys())
        lines = ", ".join(f"{section.first_line}-{section.last_line}" for section in differing[:_LISTED])
        noun = "section" if len(differing) == 1 else "sections"
        message += f"; changed since: {len(differing)} {noun}" + (f" (lines {lines})" if lines else "")
        message += f", gone: {gone}" if gone else ""
        changed = tuple(candidate(section) for section in differing[:_LISTED])
    return Diagnostic(
        code=Code.STALE_BASE,
        message=message,
        hint="look at what changed with md_stat, then plan again on the file as it is",
        file=path,
        candidates=changed,
    )
