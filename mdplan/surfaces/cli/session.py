"""What the commands that use the engine share: their options, the engine, and how they end."""

import functools
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.diagnostics import Diagnostic, Exit
from mdplan.report import PlanReport, Report, refusal, to_wire
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One run of a command: which files it may touch, where it writes, and the shape of its report."""

    roots: tuple[str, ...]
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    console: Console
    shape: type[Report]

    def open_engine(self) -> "Engine":
        """Engine over the roots. Raises `StorageRefused`, which `engine_command` reports."""
        from mdplan.engine import Engine
        from mdplan.storage.root import find_root

        return Engine.open(self.roots or (find_root("."),), allow=self.allow, deny=self.deny)

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
        def run(
            *,
            roots: tuple[str, ...],
            allow: tuple[str, ...],
            deny: tuple[str, ...],
            as_json: bool,
            color: str,
            quiet: bool = False,
            **own: Any,  # noqa: ANN401 (the options of the command)
        ) -> Exit:
            from mdplan.storage.refusal import StorageRefused

            console = Console.of(color, os.environ, as_json=as_json, quiet=quiet)
            session = Session(roots=roots, allow=allow, deny=deny, console=console, shape=shape)
            try:
                return function(session, **own)
            except StorageRefused as refused:
                return session.refuse(*refused.problems)

        options = (*_OPTIONS, _QUIET) if issubclass(shape, PlanReport) else _OPTIONS
        for option in reversed(options):
            run = option(run)
        return run

    return decorate
