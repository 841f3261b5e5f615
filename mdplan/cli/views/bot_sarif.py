"""Problems and changes of a manifest as a SARIF file."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mdplan.diagnostics import Code, Diagnostic, Problems

if TYPE_CHECKING:
    from mdplan.bot.bot import Proposal
    from mdplan.review.sarif import Fix


def write_proposal_sarif(proposal: "Proposal", manifest: str, path: Path | None) -> Problems:
    """Write problems and changes of `proposal` to the file `path`, if it is given.

    Gives what is wrong when that fails.
    """
    report = proposal.report
    return write_sarif((*report.diagnostics, *report.warnings), manifest, path, _fixes(proposal))


def write_sarif(
    problems: Iterable[Diagnostic], manifest: str, path: Path | None, fixes: Iterable["Fix"] = ()
) -> Problems:
    """Write `problems` and `fixes` to the file `path`, if it is given; returns why that failed."""
    if path is None:
        return ()
    from mdplan.reports.next_steps import Caller, hint_for
    from mdplan.review.sarif import sarif_log

    problems = [hint_for(Caller.SHELL, each) for each in problems]
    try:
        path.write_text(json.dumps(sarif_log(problems, manifest, fixes)), encoding="utf-8")
    except OSError as error:
        message = f"writing the SARIF log to `{path}` failed: {error.strerror}"
        return (Diagnostic(code=Code.IO_ERROR, message=message, hint="name another file after --sarif"),)
    return ()


def _fixes(proposal: "Proposal") -> Iterator["Fix"]:
    from mdplan.review.sarif import fixes_of

    for part in proposal.diff():
        yield from fixes_of(part.decode("utf-8", "surrogateescape"))
