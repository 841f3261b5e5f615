"""The session of a command that uses the engine: its roots, options, reports and exit code."""

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from glob import iglob
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from mdplan.cli.options import verb_options
from mdplan.cli.suggestions import Misuse
from mdplan.cli.terminal import Console, shown
from mdplan.cli.usage import Command, command
from mdplan.diagnostics import Code, Diagnostic, Exit, Refused
from mdplan.documents.workspace import Workspace, find_root, folder_of, found_root, root_name_of
from mdplan.limits import LimitOption
from mdplan.reports.base import Report, refusal, to_wire
from mdplan.requests.verbs import VERBS, Verb
from mdplan.storage.names import absolute, path_below, relative, slashed
from mdplan.text import shell
from mdplan.values import Struct, replace
from mdplan.words import ShellWords, say

if TYPE_CHECKING:
    from mdplan.documents.files import OutlinedFiles
    from mdplan.engine.engine import Engine
    from mdplan.settings import Settings


Value = TypeVar("Value")

# These messages depend on which folder is the root.
_ABOUT_ROOT: Final = frozenset({Code.FILE_NOT_FOUND, Code.PATH_OUTSIDE_ROOT})

# Options that a `Session` has as they are.
_OF_SESSIONS: Final = ("roots", "allow", "deny")


class Session(Struct, kw_only=True):
    """A run of the command of `verb`: its roots, limits and console.

    `limits` are the limits among the command's options; None if the user gave none.
    """

    roots: tuple[str, ...]
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    console: Console
    verb: Verb
    limits: Mapping[LimitOption, Any]

    def open_engine(self, *, require_approval: bool = False) -> "Engine":
        """Engine over the roots; with `require_approval` it commits approved plans only.

        Raises `StorageRefused`, which `engine_command` reports.
        """
        from mdplan.engine.engine import Engine
        from mdplan.engine.history import CallerIdentity, shell_client

        settings = replace(self.settings(), require_approval=require_approval)
        return Engine(self.open_workspace(), settings, caller=CallerIdentity(client=shell_client))

    def open_files(self) -> "OutlinedFiles":
        """Return the files of the roots, for read-only commands, which start faster without an engine.

        Raises `StorageRefused`, as above.
        """
        from mdplan.documents.files import OutlinedFiles

        return OutlinedFiles.of(self.open_workspace(), self.settings())

    def settings(self) -> "Settings":
        """Return the default settings with the limits of the options, which also apply to globs."""
        from mdplan.settings import Settings

        settings = Settings().limited(self.limits)
        return replace(settings, batch=replace(settings.batch, glob_files=settings.batch.files))

    def open_workspace(self) -> "Workspace":
        """Open the roots. Raises `StorageRefused`, as above."""
        return Workspace.open(self.roots or (find_root("."),), self.allow, self.deny)

    def refuse(self, *problems: Diagnostic) -> Exit:
        """End with `problems`, errors all or some of them."""
        return self.finish(refusal(self.verb.report_class, problems))

    def finish(self, report: Report, batch: object = None, excerpt: str = "") -> Exit:
        """End with `report`, as JSON or with its problems for people; the exit code that it asks for.

        `batch` is what was sent, whose edits problems are about; without it none is named.
        """
        console = self.console
        if console.as_json:
            console.json(to_wire(self.words().tell_all(report)))
        if report.diagnostics:
            self._print_problems(report, batch, excerpt)
        return exit_of(report)

    def named(self, file: str) -> str:
        """Return `file` of the command line for the engine: absolute, or with the name of its root.

        It is relative to the folder of `--root`, or without that option to the current folder.
        """
        return named_file(file, self.roots)

    def other_folders(self) -> list[str]:
        """Return the root and the reason for it, if it is not the current folder, which people expect."""
        root, why = self._root()
        if root is None:
            return list(self.roots)
        return [] if root == absolute() else [f"{root} ({why})"]

    def folder(self) -> str:
        """Return the folder to which file names are relative."""
        return base_folder(self.roots)

    def files(self, names: Sequence[str], *, in_folders: bool = True) -> list[str]:
        """Return the files of `names`, in order: pages of a folder, and files of a glob as in the shell.

        Raises a usage error for a glob or folder without files, and for any folder if not `in_folders`.
        """
        from pathlib import Path

        folder = self.folder()
        files: list[str] = []
        for name in map(slashed, names):
            if Path(folder, name).is_dir():
                found = self._pages(name) if in_folders else []
            elif not self.is_glob(name):
                found = [name]
            else:
                # `Path.glob` takes no pattern that begins with `/` or `..`.
                paths = iglob(name, root_dir=folder, recursive=True)  # noqa: PTH207
                found = sorted(slashed(path) for path in paths if Path(folder, path).is_file())
            if not found:
                raise _no_files(name, folder, is_folder=Path(folder, name).is_dir(), in_folders=in_folders)
            files += found
        return list(dict.fromkeys(files))

    def is_glob(self, word: str) -> bool:
        """Return True if `word` is a glob, and not the name of an existing file with such characters."""
        return bool(_MARKERS & set(word)) and not os.path.lexists(os.path.join(self.folder(), word))  # noqa: PTH118

    def _pages(self, folder: str) -> list[str]:
        """Return the Markdown files below `folder`, without those git ignores."""
        from mdplan.markdown.paths import MARKDOWN_SUFFIXES
        from mdplan.storage.filesystem import granted

        workspace = self.open_workspace()
        names = granted(workspace.iter_files(self.named(folder), respect_gitignore=True))
        pages = (name for name in names if name.path.lower().endswith(MARKDOWN_SUFFIXES))
        return [relative(f"{workspace.root_of(name).given}/{name.path}", self.folder()) for name in pages]

    def _print_problems(self, report: Report, batch: object, excerpt: str) -> None:
        from mdplan.cli.batches import numbers_of
        from mdplan.cli.report_text import problem_texts

        root, why = self._root()
        edits = numbers_of(batch) if batch is not None else None
        is_partial = exit_of(report) is Exit.WOULD_CHANGE
        outcome = "these files stay as they are" if is_partial else "nothing was planned or changed"
        words = self.words(root, batch)
        for text in problem_texts(report.diagnostics, self.console.err, edits, excerpt, words, outcome):
            self.console.problem(text)
        if root is not None and any(problem.code in _ABOUT_ROOT for problem in report.diagnostics):
            self.console.problem(f"  {self.console.err.paint('root:', 'cyan')} {shown(root)} ({why})")

    def words(self, root: str | None = None, batch: object = None) -> ShellWords:
        """Return the words of this command; see `SessionWords`."""
        from mdplan.cli.shell_words import SessionWords

        return SessionWords(self.roots, root, batch)

    def _root(self) -> tuple[str | None, str]:
        """Return the root of this run and the reason for it; None if there are several."""
        if len(self.roots) > 1:
            return None, ""
        if self.roots:
            return base_folder(self.roots), "from --root"
        return found_root(".")

    def command_line(self, *arguments: str) -> str:
        """Return a command line on the same roots that can be pasted into a shell."""
        return self.on_roots(shell.join(["mdplan", *arguments]))

    def on_roots(self, command: str) -> str:
        """Return `command`, which can be pasted into a shell, with the roots of this session."""
        return " ".join([command, *(f"--root {shell.quote(root)}" for root in self.roots)])


def exit_of(report: Report) -> Exit:
    """Return the exit code that the error of `report` asks for; DONE without one.

    A report on files of which some could not be edited is `partial`, and asks for WOULD_CHANGE.
    """
    if getattr(report, "partial", None):
        return Exit.WOULD_CHANGE
    return report.error.code.exit if report.error is not None else Exit.DONE


def engine_command(
    name: str, verb: Verb | None = None, group: click.Group | None = None
) -> Callable[[Callable[..., Exit]], Command]:
    """Make a function the command of `verb`, or the command `name`, in `group` if given.

    The function gets a `Session`, then the arguments. The command also has the options of its requests, of
    every session, and of its limits.
    """
    told = verb or VERBS[name]

    def decorate(function: Callable[..., Exit]) -> Command:
        @functools.wraps(function)
        def callback(**given: Any) -> Exit:  # noqa: ANN401 (of many types)
            console = Console.of(
                given.pop("color"),
                os.environ,
                as_json=given.pop("as_json"),
                quiet=given.pop("quiet"),
                pages=not given.pop("no_pager"),
            )
            shared = {name: given.pop(name) for name in _OF_SESSIONS}
            limits = {limit: given.pop(limit.parameter) for limit in told.limits}
            session = Session(console=console, verb=told, limits=limits, **shared)
            try:
                return function(session, **given)
            except Refused as refused:
                report = refusal(told.report_class, refused.diagnostics)
                return session.finish(report, excerpt=getattr(refused, "excerpt", ""))

        made = command(name, verb)(callback)
        for option in verb_options(told):
            option(made)
        if group is not None:
            group.add_command(made)
        return made

    return decorate


# --- Names of files on the command line: relative to `--root`, as with `git -C`

_MARKERS: Final = frozenset("*?[")


def _no_files(name: str, folder: str, *, is_folder: bool, in_folders: bool) -> Misuse:
    if is_folder and not in_folders:
        glob = shell.quote(f"{'' if name == os.curdir else name.rstrip('/') + '/'}**/*.md")
        return Misuse(f"`{name}` is a folder", f"name its files, as in {glob}")
    where = say("names are relative to {}; {mdplan outline} lists the files", folder)
    return Misuse(f"`{name}` has no Markdown files" if is_folder else f"no file matches `{name}`", where)


def base_folder(roots: Sequence[str]) -> str:
    """Return the folder to which names are relative: that of `--root`, or the current folder."""
    if len(roots) != 1:
        return absolute()
    return absolute(folder_of(roots[0]))


def named_file(file: str, roots: Sequence[str]) -> str:
    """Return `file` for the engine: absolute, or with the name of its root if there are several.

    A name that is missing below `--root` but exists in the current folder, inside that root, means the
    latter: before mdplan 0.2 all names were relative to the current folder.
    """
    prefix, colon, _ = file.partition("/")[0].partition(":")
    if len(roots) > 1 and colon and (prefix in map(root_name_of, roots) or not os.path.lexists(file)):
        return file
    base = base_folder(roots)
    below = slashed(os.path.normpath(os.path.join(base, file)))  # noqa: PTH118 (links stay)
    here = absolute(file)
    is_inside = path_below(here, base) is not None
    return here if is_inside and os.path.lexists(here) and not os.path.lexists(below) else below
