"""`mdplan history`, `show`, `undo` and `recover`: past transactions and saved plans."""

from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click

from mdplan.cli import plan_output
from mdplan.cli.completion import plans, transactions
from mdplan.cli.options import approval_option, flag, option, stale_options
from mdplan.cli.report_text import plan_size
from mdplan.cli.session import Session, engine_command, exit_of
from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import Style, agrees, shown, shown_paths
from mdplan.diagnostics import Code, Exit
from mdplan.engine.history import PastTransaction
from mdplan.engine.history_list import list_transactions
from mdplan.reports.history import ForeignTransaction, HistoryReport, HistorySize, TransactionEntry
from mdplan.reports.plan import ApplyReport, PlanReport, as_apply_report
from mdplan.storage.filesystem import granted
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.visible import counted, size_text
from mdplan.values import replace
from mdplan.words import Command, say

if TYPE_CHECKING:
    from mdplan.engine.engine import Engine
    from mdplan.requests.verbs import OnStale


@engine_command("history")
@click.argument("file", type=click.Path(readable=False), required=False)
@option("--limit", "Maximum number of transactions to list.", type=click.IntRange(min=1), default=20)
@option("--show transaction", "Show the diff of this transaction instead.", "TX", shell_complete=transactions)
@flag("--prune", "Forget transactions beyond the limits of the history now.")
@option(
    "--older-than",
    "With --prune: forget those that are older than this.",
    "DAYS",
    type=click.FloatRange(min=0),
)
@flag("-n --dry-run", "With --prune: only say what would be forgotten.")
def history(  # noqa: PLR0913 (one parameter for each option)
    session: Session,
    *,
    file: str | None,
    limit: int,
    transaction: str | None,
    prune: bool,
    older_than: float | None,
    dry_run: bool,
) -> Exit:
    """With FILE, lists only transactions that changed it.

    Each line begins with the ID of a transaction, for `mdplan undo` and --show; a unique prefix of an ID is
    enough. Times are in your time zone.

    A forgotten transaction cannot be undone. The last one always stays.
    """
    if sum((file is not None, transaction is not None, prune)) > 1:
        raise click.UsageError("Give only one of FILE, --show and --prune.")
    if not prune and (dry_run or older_than is not None):
        raise click.UsageError("--dry-run and --older-than need --prune.")
    if transaction is not None:
        return _show(session, transaction)
    if prune:
        return _prune(session, older_than, dry_run=dry_run)
    name = None if file is None else session.named(file)
    report = list_transactions(session.open_workspace(), limit, name, session.settings())
    if report.ok:
        plan_output.print_warnings(session, report)
        is_missing = file is not None and not Path(session.folder(), file).exists()
        session.console.paged(history_text(report, file, session.console.out, is_missing=is_missing))
        if report.kept is not None and report.transactions:
            session.console.note(_kept(report.kept))
    return session.finish(report)


def _prune(session: Session, older_than: float | None, *, dry_run: bool) -> Exit:
    report = session.open_engine().prune(older_than, dry_run=dry_run)
    if report.kept is not None:
        what, size = counted(report.transactions, "transaction"), size_text(report.content_bytes)
        session.console.note(f"{'Would forget' if dry_run else 'Forgot'} {what}, {size}.")
        session.console.note(_kept(report.kept))
    return session.finish(report)


def _kept(kept: HistorySize) -> str:
    """Return the size of the history and its limits."""
    return (
        f"The history has {counted(kept.transactions, 'transaction')}, {size_text(kept.content_bytes)}. "
        f"It keeps {kept.most_transactions}, {size_text(kept.most_bytes)}, {kept.most_days:g} days."
    )


def _show(session: Session, transaction: str) -> Exit:
    engine = session.open_engine()
    report = engine.transaction(transaction)
    if report.ok and not session.console.as_json:
        plan_output.print_warnings(session, report)
        exact = granted(engine.transaction_diff(transaction))
        session.console.note(transaction_text(report.transactions[0], session.console.err))
        plan_output.write_diff(session, exact)
    return session.finish(report)


# --- `mdplan show`


@engine_command("show")
@click.argument("plan_id", metavar="[PLAN]", required=False, shell_complete=plans)
@option(
    "--format form",
    "text for people, patch for the exact diff, markdown for a comment, sarif for warnings.",
    type=click.Choice(["auto", "text", "patch", "markdown", "sarif"]),
    default="auto",
)
@option("--against", "Show what differs from this other plan.", "PLAN")
def show(session: Session, *, plan_id: str | None, form: str, against: str | None) -> Exit:
    """PLAN is a plan ID or its first hex digits, at least 4.

    The diff is computed from the files, or from the history once the plan is applied.
    """
    engine = session.open_engine()
    plan_id = plan_output.named_plan(session, engine, plan_id, "show")
    if against is not None:
        return _compare(session, engine, plan_id, against)
    report = engine.show(plan_id)
    if form == "sarif":
        plan_output.print_sarif(session, report, plan_id)
        return exit_of(report)
    if not report.ok:
        return session.finish(report)
    if form == "auto":
        form = "text" if session.console.diff_is_for_people else "patch"
    if not session.console.as_json:
        _write_plan(session, engine, plan_id, form)
    session.finish(report)
    if report.applied:
        session.console.note("This plan is applied: its files have the planned text.")
    else:
        # Text has the warnings already, before all else.
        plan_output.print_summary(session, report if form != "text" else replace(report, warnings=()))
    return Exit.DONE


def _compare(session: Session, engine: "Engine", plan_id: str, against: str) -> Exit:
    """Show what the plan does otherwise than the plan `against`, from one result to the other."""
    report = engine.compare(plan_id, plan_output.full_id(engine, against))
    compared = report.comparison
    if compared is not None:
        plan_output.write_diff(session, compared.diff.encode("utf-8"))
    code = session.finish(report)
    if compared is not None:
        session.console.note(plan_output.comparison_text(compared, session.console.err))
    return code


def _write_plan(session: Session, engine: "Engine", plan_id: str, form: str) -> None:
    """Write the plan to standard output as `form`: text, markdown or patch."""
    if form == "patch":
        session.console.data(granted(engine.diff_bytes(plan_id)))
        return
    from mdplan.cli.views import markdown_comment, plan_text
    from mdplan.engine.reviews import ReviewService

    opened = granted(ReviewService(engine).open(plan_id))
    if form == "markdown":
        session.console.text(markdown_comment(opened.review, opened.file))
    else:
        session.console.paged(plan_text(opened, session.console.out))


# --- `mdplan undo`

# Words that people use for their last transaction.
_LAST: Final = ("last", "HEAD", "latest")
_STEPS: Final = lazy_pattern(r"\d{1,3}")


@engine_command("undo")
@click.argument("transaction", metavar="[TX|NUMBER]", required=False, shell_complete=transactions)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(readable=False))
@flag("--yes -y", "Undo without asking.")
@flag("--dry-run -n", "Show the diff; change nothing.")
@stale_options("Where a file has changed since, undo if other lines changed.")
@approval_option
def undo(  # noqa: PLR0913 (one parameter for each option)
    session: Session,
    *,
    transaction: str | None,
    files: tuple[str, ...],
    yes: bool,
    dry_run: bool,
    on_stale: "OnStale",
    require_approval: bool,
) -> Exit:
    """Shows the diff and asks before it applies it.

    All files of the transaction, or only FILE, get their old content back: created files are deleted, deleted
    and renamed files return. A file that has changed since is refused. An undo is a transaction too: undo it
    to redo.

    TX is an ID from `mdplan history` or its first digits. Name it to undo a commit of another user or of a
    client of `mdplan serve`. NUMBER undoes that many of your last transactions, one after another; only 1
    takes a FILE.
    """
    engine = session.open_engine(require_approval=require_approval)
    is_number = transaction is not None and _STEPS.fullmatch(transaction) is not None
    pasts = _last_pasts(engine, int(transaction)) if transaction is not None and is_number else []
    if files and len(pasts) > 1:
        raise Misuse(
            "files of several transactions are not undone at once",
            say("undo those of one: {mdplan undo TX FILE}"),
        )
    if transaction is not None and not is_number and Path(session.folder(), transaction).exists():
        raise Misuse(
            f"undo takes the ID of a transaction, and `{transaction}` is a file",
            say(
                "in your last transaction: {}; {} lists all that changed it",
                Command("undo", "1", transaction),
                Command("history", transaction),
            ),
        )
    if not is_number:
        one = None if transaction in _LAST else transaction
        pasts = [granted(engine.undoing.find(one, engine.caller.actor()))]
    named = [session.named(file) for file in files]
    size, shown_plan = counted(len(pasts), "transaction"), PlanReport(ok=True)
    if len(pasts) == 1:
        planned = engine.undoing.plan(pasts[0], on_stale, named)
        shown_plan = replace(engine.stored.report(planned.plan), stored=None)
        size = plan_size(shown_plan)
        if not planned.is_applied:
            plan_output.write_diff(session, engine.stored.replayed(planned.plan).diff)
    else:
        for past in pasts:
            entry = engine.transaction(past.id).transactions[0]
            session.console.problem(transaction_text(entry, session.console.err))
    is_redo = len(pasts) == 1 and engine.undoing.is_redo(pasts[0])
    verb, *words = ("Redo", "Redone", "undo") if is_redo else ("Undo", "Undone", "redo")
    code = _unless_agreed(session, size, f"{verb} this?", yes=yes, dry_run=dry_run)
    if code is not None:
        session.finish(as_apply_report(shown_plan))
        return code
    report = ApplyReport(ok=True)
    for past in pasts:
        report = engine.undo(past.id, named, on_stale=on_stale)
        plan_output.print_recovered(session, report.recovered)
        if not report.ok:
            break
        plan_output.print_applied(session, report, *words)
    return session.finish(report)


def _unless_agreed(session: Session, size: str, question: str, *, yes: bool, dry_run: bool) -> Exit | None:
    """Return None if the user agrees to the change of this `size`, otherwise the exit code."""
    if dry_run:
        session.console.note(f"{size}. Nothing changed: --dry-run.")
        return Exit.DONE
    if yes:
        return None
    if not session.console.can_ask:
        plan_output.print_nobody_to_ask(session)
        return Exit.WOULD_CHANGE
    if agrees(f"{size}. {question}"):
        return None
    session.console.note("Nothing changed.")
    return Exit.WOULD_CHANGE


def _last_pasts(engine: "Engine", steps: int) -> list[PastTransaction]:
    """Return the last `steps` transactions of the caller that are in force. Raise NOT_UNDOABLE."""
    pasts = (
        past
        for past, undone_by in engine.past.with_undos()
        if isinstance(past, PastTransaction)
        and past.is_committed
        and undone_by is None
        and past.note.undoes is None
    )
    chosen = list(islice((past for past in pasts if past.note.actor == engine.caller.actor()), steps))
    if len(chosen) < steps:
        raise Code.NOT_UNDOABLE.refused(
            f"you have {counted(len(chosen), 'transaction')} to undo", "`mdplan history` lists them"
        )
    return chosen


# --- `mdplan recover`


@engine_command("recover")
@flag("--keep-current", "Keep files that have changed since then.")
@flag("--restore-base", "Restore files that have changed since then, too.")
@flag("--adopt", "Also undo or finish a commit that another user or machine began.")
@flag("--yes", "Answer yes to every question; required without a terminal.")
def recover(session: Session, *, keep_current: bool, restore_base: bool, adopt: bool, yes: bool) -> Exit:
    """Rolls back your own transactions that a crash or power loss interrupted.

    The next edit does this too. Nothing is lost: replaced text stays in the history.

    A commit of another user, container or job is listed with the changes that --adopt would make; recover
    asks before it makes them.
    """
    if keep_current and restore_base:
        raise click.UsageError("--keep-current cannot be combined with --restore-base.")
    if adopt and not (yes or session.console.can_ask):
        raise click.UsageError("--adopt needs --yes where no terminal can answer.")
    keep: Literal["current", "base"] | None = "current" if keep_current else "base" if restore_base else None
    engine = session.open_engine()
    foreign_commits = engine.recovery.foreign()
    for commit in foreign_commits:
        session.console.note(_listed(commit))
    if foreign_commits and session.console.can_ask and not yes:
        count = len(foreign_commits)
        what = "this transaction" if count == 1 else f"all {count} transactions"
        adopt = agrees(f"You did not begin this on this machine. Undo or finish {what}?")
    agreed = adopt and bool(foreign_commits)
    report = engine.recover(keep, adopt=agreed)
    plan_output.print_warnings(session, report)
    plan_output.print_recovered(session, report.recovered)
    if report.recovered is None and report.ok and not report.foreign:
        session.console.note("Nothing to recover: no transaction was interrupted here.")
    if report.foreign and not agreed:
        session.console.note(
            "Nothing of this was changed. To undo or finish it: mdplan recover --adopt --yes"
        )
    return session.finish(report)


def _listed(commit: ForeignTransaction) -> str:
    """Return what the recovery of a foreign commit would change, one line per file."""
    root = f" in {shown(commit.root)}" if commit.root else ""
    lines = [f"  would {file.action} {shown(file.file)}" for file in commit.files or ()]
    lines = lines or ["  would change no file"]
    who = f"The interrupted commit {shown(commit.transaction)}{root} of another user or machine."
    return "\n".join((f"{who} If all of its files are new, --adopt finishes it; else it", *lines))


# --- Text of past transactions

_FILES_NAMED = 2


def history_text(report: HistoryReport, file: str | None, style: Style, *, is_missing: bool = False) -> str:
    """Return the transactions of `report` as lines; with `file`, they are those of that file.

    `is_missing`: the file does not exist now.
    """
    if not report.transactions:
        if report.kept is None:
            return ""  # It could not be read, as the warnings say.
        what = "mdplan has changed nothing here yet"
        if file:
            what = f"No transaction in the history changed `{shown(file)}`"
            what += ", and there is no such file" if is_missing else ""
        lines = [f"{what}."]
    else:
        lines = [transaction_text(entry, style) for entry in report.transactions]
    if report.more:
        lines.append(f"There are older ones: --limit {2 * len(lines)} shows more.")
    return "".join(line + "\n" for line in lines)


def transaction_text(entry: TransactionEntry, style: Style) -> str:
    """Return a transaction as a line: ID, time, files, and whether it was undone."""
    added = sum(file.lines_added for file in entry.files)
    removed = sum(file.lines_removed for file in entry.files)
    moved = [file.file + (f" -> {file.new_file}" if file.new_file else "") for file in entry.files]
    names = shown_paths(moved, _FILES_NAMED)
    names = f"{style.bold(shown(entry.title))}  {names}" if entry.title else names
    remarks = "".join(f"  ({remark})" for remark in _remarks(entry))
    return (
        f"{style.paint(entry.transaction, 'yellow')}  {_time(entry)}  +{added} -{removed}  {names}{remarks}"
    )


def _remarks(entry: TransactionEntry) -> list[str]:
    remarks = []
    if entry.state != "committed":
        remarks.append(shown(entry.state))
    elif not entry.undoable:
        remarks.append("cannot be undone")
    if entry.undoes is not None:
        remarks.append(f"undoes {shown(entry.undoes)}")
    if entry.undone_by is not None:
        remarks.append(f"undone by {shown(entry.undone_by)}")
    if entry.actor is not None and entry.actor.startswith("client "):
        remarks.append(f"by {shown(entry.actor)}")
    if entry.client is not None and not entry.client.is_mdplan:
        remarks.append(f"planned with {shown(str(entry.client))}")
    if entry.approved is not None:
        where = f" ({shown(entry.approved.channel)})" if entry.approved.channel else ""
        over = " over a rejection" if entry.approved.overrides else ""
        remarks.append(f"approved by {shown(entry.approved.decided_by)}{where}{over}")
    return remarks


def _time(entry: TransactionEntry) -> str:
    """Return a time in the local time zone."""
    if entry.committed_at is None:
        return "at an unknown time"
    return datetime.fromtimestamp(entry.committed_at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
