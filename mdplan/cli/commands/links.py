"""`mdplan links`: lists broken links, and repairs those whose target is known."""

from typing import TYPE_CHECKING

from mdplan.cli.commands.check import format_option, paths_argument, paths_from_root, print_problems
from mdplan.cli.options import approval_option, flag, intent_options
from mdplan.cli.proposal import ApplyOptions, answer_options, propose
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal import shown
from mdplan.diagnostics import Exit
from mdplan.storage.filesystem import granted
from mdplan.text.visible import counted

# Commands with wrong arguments do not load the parser.
if TYPE_CHECKING:
    from mdplan.reports.history import LinksReport


@engine_command("links")
@paths_argument
@flag("--fix", "Make one plan of all repairs that are known.")
@flag("--unused", "List unused definitions, and pages to which nothing leads.")
@format_option
@answer_options
@approval_option
@intent_options("plan_")
def links(
    session: Session,
    *,
    paths: tuple[str, ...],
    fix: bool,
    unused: bool,
    form: str,
    **given: bool | str | None,
) -> Exit:
    """Examines the Markdown files below PATH, or all of them. Exits with 1 if a link is broken.

    Each repair has evidence: the case of a path, a rename or a moved section in the git history, or a single
    possible target. Other links stay, and the list shows candidates. Addresses of other sites are not
    fetched.
    """
    from mdplan.engine.links import batch_of, examine_links

    files = session.open_files()
    named = granted(paths_from_root(session, files.workspace, paths))
    with session.console.progress("examining") as show:
        report, repairs = examine_links(files, [] if "" in named else named, show, finds_unused=unused)
    if not fix or not repairs:
        code = print_problems(session, report, form, "document")
        if not session.console.as_json and form == "text":
            _print_unused(session, report)
        if repairs:
            known = counted(report.repairable, "repair is", "repairs are")
            session.console.note(f"{known} known: `{session.command_line('links', '--fix', *paths)}`")
        return code
    for repair in repairs:
        change = f"`{shown(repair.written)}` is `{shown(repair.repair.edit.new_text)}`"
        place = f"{shown(repair.path)}:{repair.start.line}"
        session.console.note(f"{place}: {change}: {shown(repair.repair.evidence)}")
    if left := len(report.warnings) - len(repairs):
        session.console.note(f"{counted(left, 'other broken link stays', 'other broken links stay')}.")
    batch = batch_of(repairs, session.named)
    # No target moves: what led there goes on to lead there.
    choice = ApplyOptions.of({**given, "no_follow": True})
    return propose(session, batch, choice, None)


def _print_unused(session: Session, report: "LinksReport") -> None:
    lines = [
        f"{shown(each.file)}:{each.line}: the definition `{shown(each.label)}` is not used"
        for each in report.unused_definitions or ()
    ]
    lines += [f"{shown(path)}: no page leads there" for path in report.orphans or ()]
    session.console.text("".join(f"{line}\n" for line in lines))
