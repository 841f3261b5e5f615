"""`mdplan check`: reports what a change by any tool broke in documents."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from mdplan.cli.options import flag, option
from mdplan.cli.report_text import problem_texts
from mdplan.cli.session import Session, engine_command
from mdplan.cli.terminal import shown
from mdplan.diagnostics import Diagnostic, Exit
from mdplan.documents.workspace import Workspace
from mdplan.reports.history import CheckReport
from mdplan.storage.filesystem import granted
from mdplan.text.visible import counted
from mdplan.words import Command, say

# Commands with wrong arguments do not load the parser.
if TYPE_CHECKING:
    from mdplan.markdown.outline import Outline

# What Claude Code shows its model of a hook that ends so.
_BLOCKING: Final = 2


paths_argument: Final = click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
format_option: Final = option(
    "--format form",
    "sarif: for code scanning; github: annotations of a workflow.",
    type=click.Choice(["text", "sarif", "github"]),
    default="text",
)


@engine_command("check")
@paths_argument
@option("--since", "Compare the files with the commit that REF names.", "REF")
@format_option
@flag("--hook", "Check the file that a hook of Claude Code names on standard input.")
def check(session: Session, *, paths: tuple[str, ...], since: str | None, form: str, hook: bool) -> Exit:
    """Compares the files below PATH with an older commit (--since), or two versions of one document.

    It reports changed line ends and encodings, headings that became text, unclosed code and comments, and
    broken tables. It also reports front matter that cannot be read, unbalanced regions and tags, and links
    whose target is missing or different. Exits with 1 if it finds a problem.
    """
    if hook:
        return _check_for_hook(session)
    paths = tuple(
        file for path in paths for file in (session.files([path]) if session.is_glob(path) else [path])
    )
    if since is None and len(paths) != 2:
        return session.refuse(
            Diagnostic.invalid(
                "check compares two versions, and only one is given",
                say(
                    "compare with a commit: {}; or with another file: {mdplan check OLD NEW}",
                    Command("check", "--since", "HEAD", *paths),
                ),
            )
        )
    report = _compared(paths[0], paths[1]) if since is None else _since(session, since, paths)
    return print_problems(session, granted(report), form, "changed document")


def _since(session: Session, reference: str, paths: tuple[str, ...]) -> CheckReport | Diagnostic:
    from mdplan.checks import check_since

    files = session.open_files()
    named = paths_from_root(session, files.workspace, paths)
    if isinstance(named, Diagnostic):
        return named
    with session.console.progress("checking") as show:
        report = check_since(files, session.settings(), reference, [] if "" in named else named, show)
    root = Path(files.workspace.roots[0].path)
    missing = next((name for name in named if not os.path.lexists(root / name)), None)
    # A path deleted since the commit is a change; this path was in neither version.
    if missing is not None and not report.checked and not report.skipped:
        return Diagnostic.invalid(
            f"`{shown(missing)}` is no path of this root, nor of `{shown(reference)}`",
            "correct the path, or give none to check all documents",
            file=missing,
        )
    return report


def paths_from_root(session: Session, workspace: Workspace, paths: tuple[str, ...]) -> list[str] | Diagnostic:
    """Return `paths` of the command line relative to the root, which itself is empty. Errors: as `locate`."""
    named = []
    for path in paths:
        name = workspace.locate(session.named(path))
        if isinstance(name, Diagnostic) and Path(path).resolve() != Path(workspace.roots[0].path):
            return name
        named.append("" if isinstance(name, Diagnostic) else name.path)
    return named


def _compared(old: str, new: str) -> CheckReport:
    from mdplan.checks import check_documents

    before, after = (granted(_outline(path, new)) for path in (old, new))
    return check_documents(new, before, after)


def _outline(path: str, like: str) -> "Outline | Diagnostic":
    """Read the document at `path` in the format of the file `like`.

    Errors: INVALID_ARGUMENT for an unreadable file; as `decode_document`.
    """
    from mdplan.markdown.format_detection import decode_document, document_format
    from mdplan.markdown.outline import Outline
    from mdplan.settings import DEFAULT_SETTINGS

    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return Diagnostic.invalid(f"there is no file `{shown(path)}`", "give two files that exist", file=path)
    except OSError as error:
        return Diagnostic.invalid(
            f"`{shown(path)}` cannot be read: {error.strerror}", "give two files that exist", file=path
        )
    source = decode_document(path, data, None, DEFAULT_SETTINGS.max_lines)
    if isinstance(source, Diagnostic):
        return source
    return Outline(source, document_format(like, source.text), DEFAULT_SETTINGS.of_documents)


def print_problems(session: Session, report: CheckReport, form: str, noun: str) -> Exit:
    """End with the warnings of `report` in this form; the `noun` says what was examined."""
    console = session.console
    report = session.words().tell_all(report)
    if form == "sarif":
        from mdplan.review.sarif import sarif_log

        console.json(sarif_log(report.warnings, "."))
    else:
        session.finish(report)
        texts = problem_texts(report.warnings, console.out)
        lines = map(_annotation, report.warnings) if form == "github" else (f"{text}\n" for text in texts)
        console.text("".join(lines))
    for problem in report.skipped:
        console.note(f"skipped `{shown(problem.file or '')}`: {problem.message}")
    checked = counted(report.checked, noun)
    console.note(f"{counted(len(report.warnings), 'problem')} in {checked}.")
    return Exit.WOULD_CHANGE if report.warnings else Exit.DONE


def _annotation(problem: Diagnostic) -> str:
    """Return a warning as a workflow command of GitHub, which shows it at its line."""
    place = f",line={problem.place.line}" if problem.place else ""
    text = f"{problem.message}. {problem.hint}" if problem.hint else problem.message
    return (
        f"::warning file={_escaped(problem.file or '', ':,')}{place},title={problem.code}::{_escaped(text)}\n"
    )


def _escaped(text: str, more: str = "") -> str:
    """Escape `text` for a workflow command: percent signs, line ends, and in properties the separators."""
    for character in "%\r\n" + more:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _check_for_hook(session: Session) -> Exit:
    """Check the file that was just edited, and say on standard error what the model should correct.

    The event is the JSON of Claude Code's PostToolUse. Whatever is not a document in a repository is fine.
    """
    try:
        event: Any = json.load(sys.stdin)
        path = event["tool_input"]["file_path"]
        with suppress(OSError):
            # Text that cannot be a path gets another error.
            os.lstat(path)
    except (ValueError, KeyError, TypeError, RecursionError):
        return session.refuse(
            Diagnostic.invalid("standard input is no event of a hook", "call it from a PostToolUse hook")
        )
    report = _since(session, "HEAD", (str(path),))
    if isinstance(report, Diagnostic) or not report.warnings:
        return Exit.DONE
    for text in problem_texts(report.warnings, session.console.err):
        session.console.problem(text)
    sys.stdout.flush()
    raise SystemExit(_BLOCKING)
