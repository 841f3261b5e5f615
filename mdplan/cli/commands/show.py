"""`mdplan show`: a saved plan again, for eyes and for other programs."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import click

from mdplan.cli.completion.completed_values import plans
from mdplan.cli.pending_plan import full_id, only_pending
from mdplan.cli.plan_output import comparison_text, print_sarif, print_stored, write_diff
from mdplan.cli.session import Session, engine_command
from mdplan.cli.usage.command import command
from mdplan.diagnostics import Diagnostic, Exit, Problems
from mdplan.limits import FILES
from mdplan.reports.plan import PlanReport

if TYPE_CHECKING:
    from mdplan.engine.engine import Engine
    from mdplan.engine.reviews import OpenPlan


@command(example="mdplan show 3f058f21")
@click.argument("plan_id", metavar="[PLAN]", required=False, shell_complete=plans)
@click.option(
    "--format",
    "form",
    type=click.Choice(["auto", "text", "patch", "markdown", "sarif"]),
    default="auto",
    show_default=True,
    help="text for people, patch for the exact diff, markdown for a comment, sarif for warnings.",
)
@click.option("--against", metavar="PLAN", help="Show what differs from this other plan.")
@engine_command(PlanReport, FILES, tells_people=True)
def show(session: Session, *, plan_id: str | None, form: str, against: str | None) -> Exit:
    """Show the saved plan PLAN, or the only pending plan.

    PLAN is a plan ID, or the beginning of one with at least 4 of its hex digits. The diff is made again: from
    the files, or once the plan is applied from the history.
    """
    engine = session.open_engine()
    found = only_pending(session, engine, "show") if plan_id is None else full_id(engine, plan_id)
    if isinstance(found, Diagnostic):
        return session.refuse(found)
    plan_id = found
    if against is not None:
        return _compare(session, engine, plan_id, against)
    report = engine.show(plan_id)
    if form == "sarif":
        print_sarif(session, report, plan_id)
        return report.error.code.exit if report.error is not None else Exit.DONE
    if not report.ok:
        return session.finish(report)
    if form == "auto":
        form = "text" if session.console.diff_is_for_people else "patch"
    problems = () if session.console.as_json else _FORMS[form](session, engine, plan_id)
    if problems:
        return session.refuse(*problems)
    session.finish(report)
    # Text has the warnings already, before all else.
    print_stored(session, report if form != "text" else replace(report, warnings=()))
    return Exit.DONE


def _compare(session: Session, engine: "Engine", plan_id: str, against: str) -> Exit:
    """Show what the plan does otherwise than the plan `against`, from one result to the other."""
    old = full_id(engine, against)
    if isinstance(old, Diagnostic):
        return session.refuse(old)
    report = engine.compare(plan_id, old)
    compared = report.comparison
    if compared is not None:
        write_diff(session, compared.diff.encode("utf-8"))
    code = session.finish(report)
    if compared is not None:
        session.console.note(comparison_text(compared, session.console.err))
    return code


def _write_text(session: Session, engine: "Engine", plan_id: str) -> Problems:
    from mdplan.cli.views.review_text import plan_text

    opened = _open(engine, plan_id)
    if isinstance(opened, tuple):
        return opened
    text = plan_text(opened, session.console.out)
    session.console.paged(text)
    return ()


def _write_markdown(session: Session, engine: "Engine", plan_id: str) -> Problems:
    from mdplan.cli.views.markdown_comment import markdown_comment

    opened = _open(engine, plan_id)
    if isinstance(opened, tuple):
        return opened
    session.console.text(markdown_comment(opened.review, opened.file))
    return ()


def _write_patch(session: Session, engine: "Engine", plan_id: str) -> Problems:
    exact = engine.diff_bytes(plan_id)
    if not isinstance(exact, bytes):
        return exact
    session.console.data(exact)
    return ()


def _open(engine: "Engine", plan_id: str) -> "OpenPlan | Problems":
    from mdplan.engine.reviews import ReviewService

    return ReviewService(engine).open(plan_id)


_FORMS: Final[dict[str, Callable[[Session, "Engine", str], Problems]]] = {
    "text": _write_text,
    "markdown": _write_markdown,
    "patch": _write_patch,
}
