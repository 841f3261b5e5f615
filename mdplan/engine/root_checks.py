"""The checks of `mdplan doctor`: whether each root supports safe commits, and how to fix what does not."""

import secrets
from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.engine.interrupted import without_hidden
from mdplan.reports.history import Check, DoctorReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import StorageRefused, of_error
from mdplan.storage.folders import Exchange
from mdplan.storage.lock import RootLock, locked
from mdplan.storage.plans import PlanStore
from mdplan.storage.recovery import orphan_files, pending
from mdplan.storage.root import STATE_FOLDER, Root, Workspace
from mdplan.storage.state_folder import JOURNAL_FOLDER, open_existing
from mdplan.storage.transactions import history_size, transactions
from mdplan.storage.user_state import STATE_DIRECTORY_VARIABLE, has_key

_LISTED: Final = 5
_LOCK_SECONDS: Final = 2.0
_MIB: Final = 1024 * 1024
_Finding: TypeAlias = "tuple[Check, Problems]"


def examine(workspace: Workspace, settings: Settings) -> DoctorReport:
    """Check every root of `workspace`. Probe files are created and removed; nothing else changes."""
    findings = [finding for root in workspace.roots for finding in _findings(root, workspace, settings)]
    problems = tuple(problem for _, errors in findings for problem in errors)
    return DoctorReport(
        ok=not problems,
        error=problems[0] if problems else None,
        diagnostics=problems,
        checks=tuple(check for check, _ in findings),
    )


def _findings(root: Root, workspace: Workspace, settings: Settings) -> Iterator[_Finding]:
    yield _folder(root)
    yield from _state_folder(root, settings)
    yield _journal(root, workspace)
    yield _stray_files(root)
    if not has_key():
        yield _no_journal_key(root)
    yield _plan_store(root)
    yield _history(root, settings)


def _folder(root: Root) -> _Finding:
    """Whether files can be written at all: a disk can be mounted to be read only."""
    if root.filesystem.may_write(root.descriptor, "."):
        return _ok(root, "folder", "can be written")
    problem = Diagnostic(
        code=Code.PERMISSION_DENIED,
        message="this folder cannot be written: mdplan can look at its files, but not edit them",
        hint="if it is yours: `chmod u+w` on it; if its disk is mounted read-only: mount it writable",
    )
    return _problem(root, "folder", (problem,))


def _state_folder(root: Root, settings: Settings) -> Iterator[_Finding]:
    """The state folder, the lock in it, and whether files can change places next to it."""
    name = "state folder"
    try:
        folder = open_existing(root, JOURNAL_FOLDER)
    except StorageRefused as refused:
        yield _problem(root, name, refused.problems)
        return
    if folder is None:
        yield _ok(root, name, "none yet; the first edit creates it, and `mdplan doctor` can then check more")
        return
    root.filesystem.release(folder)
    yield _ok(root, name, "private: only you can read it (mode 0700)")
    try:
        with locked(root, min(settings.lock_timeout, _LOCK_SECONDS)) as lock:
            yield _ok(root, "lock", "works: one mdplan writes at a time")
            yield _exchange(root, lock)
    except StorageRefused as refused:
        if refused.problems[0].code is Code.LOCK_TIMEOUT:
            yield _note(
                root, "lock", "another mdplan uses it right now", "run `mdplan doctor` again when it is done"
            )
        else:
            yield _problem(root, "lock", refused.problems)


def _exchange(root: Root, lock: RootLock) -> _Finding:
    token = secrets.token_hex(8)
    names = (f".mdplan-{token}-0.tmp", f".mdplan-{token}-1.tmp")
    try:
        works = Exchange(root.filesystem, lock.state_folder).works_in(root.descriptor, names)
    except OSError as error:
        return _problem(root, "exchange", (of_error(error, root.show("") or ".", "trying the disk of"),))
    if works:
        return _ok(root, "exchange", "atomic swap is supported: concurrent writes are never lost")
    return _note(
        root,
        "exchange",
        "atomic swap is not supported by this file system",
        "edits work; a write by another program at the very moment of a commit could be lost (WEAK_CAS)",
    )


def _journal(root: Root, workspace: Workspace) -> _Finding:
    problems = without_hidden(workspace, pending(root))
    if problems:
        return _problem(root, "journal", problems)
    broken = sum(isinstance(record, Diagnostic) for record in transactions(root))
    if broken:
        return _note(
            root,
            "journal",
            f"{broken} records cannot be read",
            "those transactions cannot be undone; nothing else is affected",
        )
    return _ok(root, "journal", "no transaction was interrupted")


def _stray_files(root: Root) -> _Finding:
    paths = (path for path in orphan_files(root) if root.scope.refusal(path) is None)
    listed = list(islice(paths, _LISTED + 1))
    if not listed:
        return _ok(root, "stray files", "none")
    names = ", ".join(f"`{root.show(path)}`" for path in listed[:_LISTED])
    more = ", …" if len(listed) > _LISTED else ""
    hint = "`mdplan recover` removes those of its transactions; delete others when no mdplan is running"
    return _note(root, "stray files", f"left by interrupted transactions: {names}{more}", hint)


def _no_journal_key(root: Root) -> _Finding:
    problem = Diagnostic(
        code=Code.IO_ERROR,
        message="mdplan cannot keep a private key, so it cannot recognize its own history",
        hint=f"make the user's state folder and its `journal.key` private, or set {STATE_DIRECTORY_VARIABLE}",
    )
    return _problem(root, "journal key", (problem,))


def _plan_store(root: Root) -> _Finding:
    if PlanStore(root.path).is_writable():
        return _ok(root, "plan store", "can be written")
    problem = Diagnostic(
        code=Code.IO_ERROR,
        message="plans cannot be saved, so none can be applied by its ID",
        hint=f"make the user's state folder writable, or name another with {STATE_DIRECTORY_VARIABLE}",
    )
    return _problem(root, "plan store", (problem,))


def _history(root: Root, settings: Settings) -> _Finding:
    try:
        size = history_size(root)
    except StorageRefused as refused:
        return _problem(root, "history", refused.problems)
    except OSError as error:
        return _problem(root, "history", (of_error(error, root.show(STATE_FOLDER), "looking at"),))
    usage = (
        f"{size.transactions} of {settings.history_transactions} transactions, "
        f"{size.bytes / _MIB:.1f} of {settings.history_bytes / _MIB:.0f} MiB"
    )
    if size.foreign:
        hint = "they came with this folder, or from another machine or key; to discard them, remove `.mdplan`"
        return _note(root, "history", f"{usage}; foreign records ignored: {size.foreign}", hint)
    return _ok(root, "history", usage)


def _ok(root: Root, check: str, found: str) -> _Finding:
    return Check(check=check, status="ok", found=found, root=root.name or None), ()


def _note(root: Root, check: str, found: str, hint: str) -> _Finding:
    return Check(check=check, status="note", found=found, hint=hint, root=root.name or None), ()


def _problem(root: Root, check: str, problems: Problems) -> _Finding:
    first = problems[0]
    named = Check(check=check, status="problem", found=first.message, hint=first.hint, root=root.name or None)
    return named, tuple(problem for problem in problems if problem.severity is Severity.ERROR)
