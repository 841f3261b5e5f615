"""Edits made by one command: the diff is shown, a person agrees, and exactly that plan is applied."""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from glob import iglob
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.cli.edits.content import edit_text
from mdplan.cli.edits.option_words import for_edit_command
from mdplan.cli.options import approval_option
from mdplan.cli.pending_plan import ask, has_terminal
from mdplan.cli.plan_view import print_applied, print_recovered, print_summary, print_warnings, write_diff
from mdplan.cli.session import Session
from mdplan.cli.usage.misuse import Misuse
from mdplan.cli.views.report import counted, file_list, plan_size
from mdplan.diagnostics import Code, Diagnostic, Exit, Problems
from mdplan.reports.plan import PlanReport, as_apply_report

if TYPE_CHECKING:
    from mdplan.engine.engine import Engine
    from mdplan.planning.replan.plan_result import PlanResult

_HELP: Final = """\
y - apply this change
n - change nothing
e - edit the request in your editor, then show the new diff
? - this help
"""
_MARKERS: Final = frozenset("*?[")


Check = Callable[[PlanReport], Diagnostic | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """How a command ends: `yes` applies without a question, `dry_run` never applies."""

    yes: bool
    dry_run: bool
    require_approval: bool

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "ApplyOptions":
        """The choice among the values `given` for the options of a command."""
        return cls(**{field.name: given[field.name] for field in fields(cls)})


def choice_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that are the fields of `ApplyOptions`."""
    function = approval_option(function)
    function = click.option("--dry-run", "-n", is_flag=True, help="Show the diff; change nothing.")(function)
    return click.option("--yes", "-y", is_flag=True, help="Apply without asking.")(function)


def expand_globs(names: Sequence[str], folder: str) -> list[str]:
    """The files that `names` name, in order; a glob in quotes is expanded as the shell does it, in `folder`.

    Raises a usage error for a glob that matches no file.
    """
    files: list[str] = []
    for name in names:
        if not _MARKERS & set(name) or os.path.lexists(Path(folder, name)):
            files.append(name)
            continue
        # `Path.glob` takes no pattern that begins with `/` or `..`.
        matching = iglob(name, root_dir=folder, recursive=True)  # noqa: PTH207
        found = sorted(path for path in matching if Path(folder, path).is_file())
        if not found:
            raise Misuse(f"no file matches `{name}`", f"the glob was looked up in {folder}")
        files += found
    return list(dict.fromkeys(files))


def batch_of(session: Session, files: Sequence[str], edits: Sequence[object]) -> dict[str, Any]:
    """A batch that makes the same `edits` in each of `files`."""
    entries = [{"file": session.named(file), "edits": list(edits)} for file in files]
    return entries[0] if len(entries) == 1 else {"files": entries}


def propose(
    session: Session,
    batch: dict[str, Any],
    choice: ApplyOptions,
    check: Check | None = None,
    fields: Collection[str] = (),
) -> Exit:
    """Plan `batch`, show its diff, ask, and apply it. `check` can refuse the plan.

    `fields` of the edit are options of the command, and problems name them so.

    Without a terminal, and without `--yes`, the plan is saved and nothing is applied: exit code 1.
    """
    engine = session.open_engine(require_approval=choice.require_approval)
    while True:
        draft = engine.draft(batch)
        report = draft.report
        problem = check(report) if check is not None and report.ok else None
        if problem is not None or not report.ok:
            problems = report.diagnostics if problem is None else (problem,)
            return _refuse(session, report, problems, fields)
        write_diff(session, draft.diff)
        if report.no_op or choice.dry_run:
            return _save(session, report, Exit.DONE)
        if choice.yes:
            return _apply(session, engine, draft, report.warnings)
        if session.console.as_json or not has_terminal():
            session.console.note(
                "Nothing changed: there is no terminal to ask on. Add --yes to apply at once."
            )
            return _save(session, report, Exit.WOULD_CHANGE)
        match _answer(session, report):
            case "y":
                # The question has shown the warnings.
                return _apply(session, engine, draft, ())
            case "e":
                batch = _edited(batch)
            case _:
                session.console.note("Nothing changed.")
                return Exit.WOULD_CHANGE


def _refuse(session: Session, report: PlanReport, problems: Problems, fields: Collection[str]) -> Exit:
    """End with the `problems` of `report`; people read them with options in place of the `fields`."""
    if report.ok:
        return session.refuse(*problems)
    if not session.console.as_json:
        problems = tuple(for_edit_command(each, fields) for each in problems)
    return session.finish(replace(report, diagnostics=problems))


def _save(session: Session, report: PlanReport, code: Exit) -> Exit:
    """End without a commit; the plan is saved under its ID."""
    session.finish(as_apply_report(report))
    print_summary(session, report)
    return code


def _apply(session: Session, engine: "Engine", draft: "PlanResult", warnings: Problems) -> Exit:
    """Apply the plan, and print its result with `warnings`."""
    from mdplan.engine.apply_request import PlanDocument, PlanRef

    planned = draft.report
    # A plan that could not be stored is applied from its document.
    request = (
        PlanRef(plan_id=planned.plan_id)
        if planned.stored and planned.plan_id is not None
        else PlanDocument(body=json.loads(draft.document))
    )
    report = engine.apply(request)
    print_recovered(session, report)
    code = session.finish(report)
    if report.ok:
        print_applied(session, replace(report, warnings=warnings))
        if report.receipt is not None:
            session.console.note(f"To undo: {session.command_line('undo', report.receipt.transaction)}")
    return code


def _answer(session: Session, report: PlanReport) -> str:
    """``y``, ``n`` or ``e``; the end of the input is no."""
    print_warnings(session, report)
    ink = session.console.err
    listed = file_list(report.files, ink)
    if listed:
        session.console.problem(listed)
    while True:
        line = ask(f"{plan_size(report)}. Apply this change? [y/n/e/?] ")
        if line is None:
            return "n"
        key = line.strip().lower()[:1]
        if key and key in "yne":
            return key
        session.console.problem(_HELP.rstrip("\n"))


def _edited(batch: dict[str, Any]) -> dict[str, Any]:
    """`batch` as the user leaves it in an editor, as YAML. Raises a usage error where it is no batch."""
    import yaml

    text = yaml.safe_dump(batch, sort_keys=False, allow_unicode=True, width=100)
    edited = edit_text(text, ".yaml")
    if edited is None:
        return batch
    try:
        decoded = yaml.safe_load(edited)
    except yaml.YAMLError as error:
        raise click.UsageError(f"the edited request is not YAML: {error}") from None
    if not isinstance(decoded, dict):
        raise click.UsageError("the edited request is not a batch: it needs `file` and `edits`.")
    return decoded


def check_count(expected: int | None) -> Check:
    """A check that a plan replaces `expected` matches in all its files together; None: one or more."""

    def check(report: PlanReport) -> Diagnostic | None:
        found = report.matches_replaced or 0
        if found == expected or (expected is None and found):
            return None
        return Diagnostic(
            code=Code.MATCH_COUNT_MISMATCH,
            message="no file contains the text"
            if expected is None
            else f"{counted(found, 'place')} match, and --count expects {expected}",
            hint="`mdplan search TEXT FILE` shows every place, also those in code and HTML",
        )

    return check
