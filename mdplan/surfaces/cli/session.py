"""What the commands that use the engine share: their options, the engine, and how they end."""

import functools
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.diagnostics import Diagnostic, Exit
from mdplan.history_report import DoctorReport
from mdplan.plan_report import ApplyReport, PlanReport
from mdplan.report import Report, refusal, to_wire
from mdplan.surfaces.cli.console import Console
from mdplan.surfaces.cli.report_view import problem_text

if TYPE_CHECKING:
    from mdplan.engine import Engine

_OPTIONS: Final = (
    click.option(
        "--root",
        "roots",
        multiple=True,
        metavar="[NAME=]FOLDER",
        help="Folder whose files may be touched; may be repeated. Default: the nearest folder upwards with a "
        ".mdplan, else the top of the git checkout, else the current folder.",
    ),
    click.option("--allow", multiple=True, metavar="GLOB", help="Touch only files that match; repeatable."),
    click.option("--deny", multiple=True, metavar="GLOB", help="Touch no files that match; repeatable."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="When to colour; auto obeys the terminal, NO_COLOR and FORCE_COLOR.",
    ),
)

# What people are told beside a plan; the answer to `stat` has nothing beside it.
_QUIET: Final = click.option("--quiet", "-q", is_flag=True, help="Print no summaries and no warnings.")

# Of the commands that add to the history, or look at how much of it there is.
_HISTORY: Final = (
    click.option(
        "--history-transactions",
        type=click.IntRange(min=0),
        envvar="MDPLAN_HISTORY_TRANSACTIONS",
        metavar="NUMBER",
        help="Transactions that the history keeps; 200 if not given, here or in MDPLAN_HISTORY_TRANSACTIONS.",
    ),
    click.option(
        "--history-bytes",
        type=click.IntRange(min=0),
        envvar="MDPLAN_HISTORY_BYTES",
        metavar="BYTES",
        help="Bytes of old content that it keeps; 256 MiB if not given, here or in MDPLAN_HISTORY_BYTES.",
    ),
)

# Options that a `Session` has as they are.
_OF_SESSIONS: Final = ("roots", "allow", "deny", "history_transactions", "history_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of a command: which files it may touch, where it writes, and the shape of its report.

    `history_transactions` and `history_bytes` are None where the command, or its user, does not limit them.
    """

    roots: tuple[str, ...]
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    console: Console
    shape: type[Report]
    history_transactions: int | None = None
    history_bytes: int | None = None

    def open_engine(self) -> "Engine":
        """Engine over the roots. Raises `StorageRefused`, which `engine_command` reports."""
        from mdplan.engine import Engine
        from mdplan.settings import Settings
        from mdplan.storage.root import find_root

        settings = Settings()
        if self.history_transactions is not None:
            settings = replace(settings, history_transactions=self.history_transactions)
        if self.history_bytes is not None:
            settings = replace(settings, history_bytes=self.history_bytes)
        roots = self.roots or (find_root("."),)
        return Engine.open(roots, allow=self.allow, deny=self.deny, settings=settings)

    def refuse(self, *problems: Diagnostic) -> Exit:
        """End with `problems`, errors all or some of them."""
        return self.finish(refusal(self.shape, problems))

    def finish(self, report: Report) -> Exit:
        """End with `report`, as JSON or with its problems for people; the exit code that it asks for."""
        console = self.console
        if console.as_json:
            console.json(to_wire(report))
        for problem in report.diagnostics:
            console.problem(problem_text(problem, console.err))
        return report.error.code.exit if report.error is not None else Exit.DONE

    def named(self, file: str) -> str:
        """`file` of the command line as the engine takes it: absolute, or with the name of its root."""
        names_a_root = len(self.roots) > 1 and ":" in file.partition("/")[0]
        return file if names_a_root else os.path.abspath(file)  # noqa: PTH100 (links stay)

    def command_line(self, *arguments: str) -> str:
        """A command of the same roots that can be pasted into a shell."""
        roots = (word for root in self.roots for word in ("--root", root))
        return shlex.join(["mdplan", *arguments, *roots])


def engine_command(shape: type[Report]) -> Callable[[Callable[..., Exit]], Callable[..., Exit]]:
    """Give a command the shared options, and its function the `Session` that they make, as first argument.

    `shape` is the report that the command prints as JSON.
    """

    def decorate(function: Callable[..., Exit]) -> Callable[..., Exit]:
        @functools.wraps(function)
        def run(**given: Any) -> Exit:  # noqa: ANN401 (what click makes of the options)
            from mdplan.storage.refusal import StorageRefused

            console = Console.of(
                given.pop("color"),
                os.environ,
                as_json=given.pop("as_json"),
                quiet=given.pop("quiet", False),
            )
            shared = {name: given.pop(name) for name in _OF_SESSIONS if name in given}
            session = Session(console=console, shape=shape, **shared)
            try:
                return function(session, **given)
            except StorageRefused as refused:
                return session.refuse(*refused.problems)

        options = (*_OPTIONS, _QUIET) if issubclass(shape, PlanReport) else _OPTIONS
        options = (*options, *_HISTORY) if issubclass(shape, ApplyReport | DoctorReport) else options
        for option in reversed(options):
            run = option(run)
        return run

    return decorate
