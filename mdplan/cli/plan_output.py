"""Print plans (diff, summary, next step), and find a plan by the first digits of its ID."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mdplan.cli.options import option
from mdplan.cli.report_text import diff_for_people, file_list, plan_size, problem_texts, size_of
from mdplan.cli.session import Session
from mdplan.cli.terminal import Style, shown, shown_paths
from mdplan.diagnostics import Code, Diagnostic, Problems, Refused
from mdplan.reports.plan import ApplyReport, PlanComparison, PlanReport
from mdplan.storage.filesystem import granted
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import counted
from mdplan.words import say

if TYPE_CHECKING:
    from mdplan.engine.engine import Engine
    from mdplan.engine.reviews import ReviewEntry
    from mdplan.reports.history import HistoryReport, RecoverReport
    from mdplan.reports.plan import RecoveredTransactions


output_option = option(
    "--output -o",
    "Write the plan to FILE, which `mdplan apply FILE` takes.",
    "FILE",
    type=click.Path(dir_okay=False, path_type=Path),
)


def print_diff(session: Session, engine: "Engine", report: PlanReport) -> None:
    """Write the exact diff of a stored plan to standard output, or its picture to a terminal.

    Raises `Refused` when its exact bytes cannot be had: a diff that is not exact is not printed as one.
    """
    if not session.console.as_json and report.diff and report.plan_id is not None:
        is_whole = report.diff_exact and not report.diff_truncated
        exact = report.diff.encode("utf-8") if is_whole else granted(engine.diff_bytes(report.plan_id))
        write_diff(session, exact)


def write_diff(session: Session, exact: bytes) -> None:
    """Write a diff to standard output as it is, or its picture to a terminal."""
    if not exact:
        return
    if session.console.diff_is_for_people:
        # The summary that follows is apart.
        session.console.paged(diff_for_people(exact, session.console.out) + "\n")
    else:
        session.console.data(exact)


_NOTHING: Final = "Nothing to change: the files already have this content."
_NOTHING_ELSE: Final = "Nothing changed: no other file needs a change."


def print_warnings(session: Session, report: "PlanReport | HistoryReport | RecoverReport") -> None:
    """Say what to look out for."""
    for text in problem_texts(report.warnings, session.console.err):
        session.console.note(text)


def print_files(session: Session, report: PlanReport) -> None:
    """Say how many lines of each file change, if there are several."""
    listed = file_list(report.files, session.console.err)
    if listed:
        session.console.note(listed)


def print_summary(session: Session, report: PlanReport, document: Path | None = None) -> None:
    """Print the size of a plan, its location, and how to apply it. `document` is the output file."""
    console = session.console
    print_warnings(session, report)
    if report.no_op or report.plan_id is None:
        console.note(_NOTHING_ELSE if getattr(report, "partial", None) else _NOTHING)
        return
    print_files(session, report)
    compared = report.review.comparison if report.review is not None else None
    if compared is not None:
        old = short_id(compared.against)
        shows = session.command_line("show", short_id(report.plan_id), "--against", old)
        console.note(f"It replaces plan {old}. To see what differs: {shows}")
    plan_id = console.err.bold(short_id(report.plan_id))
    if document is not None:
        name = str(document)
        console.note(f"{plan_size(report)}. Plan {plan_id} written to {shown(name)}.")
        console.note(f"To apply: {session.command_line('apply', name if name[:1] != '-' else f'./{name}')}")
    elif report.stored is False:
        console.note(f"{plan_size(report)}. Plan {plan_id} not saved, as mdplan's store cannot be written.")
        console.note(f"To see why: {session.command_line('doctor')}")
    else:
        console.note(f"{plan_size(report)}. Plan {plan_id}{' saved' if report.stored else ''}.")
        console.note(f"To apply: {session.command_line('apply', short_id(report.plan_id))}")


def comparison_text(compared: "PlanComparison", style: Style) -> str:
    """Return the files whose results differ between two plans, with line counts."""
    if not compared.files:
        return "The plans leave all files the same."
    rows = [
        f"  {shown(each.file)}  +{each.lines_added} -{each.lines_removed}"
        + ("" if each.state == "changed" else f"  ({each.state})")
        for each in compared.files
    ]
    ids = [style.bold(short_id(each)) for each in (compared.against, compared.plan_id)]
    return "\n".join([*rows, f"From plan {ids[0]} to plan {ids[1]}."])


def print_sarif(session: Session, report: PlanReport, source: str) -> None:
    """Write the warnings or problems of a plan to standard output as SARIF.

    `source` is the path of the batch, for problems without a file.
    """
    from mdplan.review.sarif import sarif_log

    report = session.words().tell_all(report)
    session.console.json(sarif_log(report.warnings if report.ok else report.diagnostics, source))


def print_applied(session: Session, report: ApplyReport, done: str = "Applied", back: str = "undo") -> None:
    """Say what an apply or undo has `done`, and how to take it `back`."""
    console = session.console
    if report.already_applied:
        console.note(f"{done} already, nothing written: {plan_size(report)}.")
        return
    print_warnings(session, report)
    if not report.applied:
        console.note(_NOTHING_ELSE if getattr(report, "partial", None) else _NOTHING)
        return
    print_files(session, report)
    undone, plan_id = report.undone, short_id(report.plan_id or "")
    kept = ", kept later changes" if undone else f", on the files as they are now, as plan {plan_id}"
    console.note(f"{console.err.bold(done, 'green')}: {plan_size(report)}{kept if report.rebased else ''}.")
    if undone is not None:
        by = f" by {shown(undone.actor)}" if undone.actor else ""
        console.note(f"That was the transaction {undone.transaction}{by}.")
    elif report.approved is not None:
        comment = f": {shown(report.approved.comment)}" if report.approved.comment else ""
        console.note(f"Approved by {shown(report.approved.decided_by)}{comment}")
    if report.receipt is not None:
        console.note(f"To {back}: {session.command_line('undo', report.receipt.transaction)}")


def print_nobody_to_ask(session: Session) -> None:
    """Say that nothing was applied, because there is no terminal to ask on."""
    session.console.note("Nothing changed: there is no terminal to ask on. Add --yes to apply at once.")


def print_recovered(session: Session, recovered: "RecoveredTransactions | None") -> None:
    """Say what was done about interrupted commits."""
    if recovered is not None and (recovered.rolled_back or recovered.files):
        count = len(recovered.rolled_back)
        what = f"Rolled back {counted(count, 'interrupted transaction')}" if count else "Recovered"
        session.console.note(f"{what}: {counted(len(recovered.files), 'file')} put back.")
    if recovered is not None and recovered.finished:
        left = counted(len(recovered.finished), "finished transaction")
        session.console.note(f"Removed what {left} had left over.")


def write_file(what: str, parts: Iterable[bytes], path: Path, option: str) -> Problems:
    """Write `what` and a line end to the file `path` that `option` names; returns why that failed."""
    try:
        with path.open("wb") as file:
            file.writelines(parts)
            file.write(b"\n")
    except OSError as error:
        message = f"writing {what} to `{path}` failed: {error.strerror}"
        return (Code.IO_ERROR.problem(message, f"name another file after {option}"),)
    return ()


# --- Finding a plan by the beginning of its ID, or the only pending plan

PLAN_ID: Final = lazy_pattern(r"(?:sha256-)?[0-9a-fA-F]{4,64}")
_PREFIX: Final = "sha256-"
_SHORT: Final = 12
_LISTED: Final = 20

_STATE_COLOURS: Final = {
    "waiting": "yellow",
    "approved": "green",
    "applied": "green",
    "rejected": "red",
    "changes requested": "red",
}

_STATES: Final = {"waiting": "pending"}


def short_id(plan_id: str) -> str:
    """Return the first 12 hex digits of `plan_id`, which every command accepts."""
    return plan_id.removeprefix(_PREFIX)[:_SHORT]


def full_id(engine: "Engine", text: str) -> str:
    """Return the plan ID that begins with `text`, at least 4 of its hex digits.

    Raises `Refused`: PLAN_NOT_FOUND, or INVALID_ARGUMENT if it is ambiguous.
    """
    digits = text.removeprefix(_PREFIX).lower()
    if len(digits) >= _SHORT or not PLAN_ID.fullmatch(text):
        return text
    saved = [plan.plan_id for plan, _ in engine.library.pending()]
    found = [each for each in saved if each.removeprefix(_PREFIX).startswith(digits)]
    if len(found) == 1:
        return found[0]
    if not found:
        hint = say("{mdplan review --list} lists the saved plans")
        raise Refused(
            Code.PLAN_NOT_FOUND.problem(f"no saved plan has an ID that begins with `{digits}`", hint)
        )
    names = ", ".join(f"`{short_id(each)}`" for each in found[:_LISTED])
    raise Refused(
        Diagnostic.invalid(
            f"{len(found)} saved plans have IDs that begin with `{digits}`", f"give more digits: {names}"
        )
    )


def named_plan(session: Session, engine: "Engine", text: str | None, verb: str) -> str:
    """Return the plan ID that begins with `text`, or without one the only pending plan, for `mdplan VERB`."""
    return _only_pending(session, engine, verb) if text is None else full_id(engine, text)


def plan_row(entry: "ReviewEntry", style: Style) -> str:
    """Return a saved plan as a line: ID, state, time, size and files."""
    review = entry.review
    time = datetime.fromtimestamp(entry.saved_at).astimezone().strftime("%Y-%m-%d %H:%M")
    files = shown_paths([file.path for file in review.changed_files], 2)
    state = _STATES.get(entry.state, entry.state)
    painted = style.paint(f"{state:8}", _STATE_COLOURS.get(entry.state, "bright_black"))
    reason = f"  ({entry.reason})" if entry.reason else ""
    edits = size_of(len(review.changed_files), [edit.result for edit in review.edits])
    size = f"{edits}, +{review.lines_added} -{review.lines_removed}"
    title = f"  {style.bold(shown(review.intent.title))}" if review.intent.title else ""
    by = f"  ({shown(str(entry.client))})" if entry.client is not None and not entry.client.is_mdplan else ""
    return f"{short_id(review.plan_id)}  {painted}  {time}{title}  {size}  {files}{reason}{by}"


def _only_pending(session: Session, engine: "Engine", verb: str) -> str:
    """Return the ID of the only pending plan for `mdplan VERB`.

    Raises `Refused`: INVALID_ARGUMENT without pending plans, or with several, which are listed.
    """
    from mdplan.engine.reviews import ReviewService, ReviewState

    entries = [each for each in ReviewService(engine).entries(_LISTED) if each.state.may_be_applied]
    # Those that can be applied now, newest first; if there are none, the stale ones.
    pending = [each for each in entries if each.state is not ReviewState.STALE] or entries
    if not pending:
        raise Refused(
            Diagnostic.invalid(
                "no plan is pending here",
                say("make one with {step plan}, or edit at once: {mdplan edit --help}"),
            )
        )
    if len(pending) == 1:
        return pending[0].review.plan_id
    for entry in pending:
        session.console.note(plan_row(entry, session.console.err))
    raise Refused(
        Diagnostic.invalid(
            f"{len(pending)} plans are pending",
            say(f"name one: {{mdplan {verb} {short_id(pending[0].review.plan_id)}}}"),
        )
    )
