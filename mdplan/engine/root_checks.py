"""The checks of `mdplan doctor`: whether each root supports safe commits, and how to fix what does not."""

import secrets
from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Problems, Severity
from mdplan.documents.workspace import Workspace
from mdplan.engine.interrupted import without_hidden
from mdplan.reports.history import Check, DoctorReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import StorageRefused, of_error
from mdplan.storage.folders import can_exchange
from mdplan.storage.lock import locked
from mdplan.storage.names import NOTE, is_temporary_name
from mdplan.storage.recovery import pending
from mdplan.storage.root import Root
from mdplan.storage.store import Store
from mdplan.text.visible import size_text
from mdplan.words import say

_LISTED: Final = 5
_LOCK_SECONDS: Final = 2.0
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
    yield from _lock(root, settings)
    yield _interruptions(root, workspace)
    yield _stray_files(root)
    yield _old_folder(root)
    yield from _store(root, settings)


def _folder(root: Root) -> _Finding:
    """Return True if files can be written at all: a disk can be mounted to be read only."""
    if root.filesystem.may_write(root.descriptor, "."):
        return _ok(root, "folder", "can be written")
    problem = Code.PERMISSION_DENIED.problem(
        "this folder cannot be written: mdplan can look at its files, but not edit them",
        "if it is yours: `chmod u+w` on it; if its disk is mounted read-only: mount it writable",
    )
    return _problem(root, "folder", (problem,))


def _lock(root: Root, settings: Settings) -> Iterator[_Finding]:
    """Yield the lock of the folder, and whether files can change places in it."""
    try:
        with locked(root, min(settings.lock_timeout, _LOCK_SECONDS)) as lock:
            if lock.warnings:
                yield _note(root, "lock", lock.warnings[0].message, lock.warnings[0].hint or "")
            else:
                yield _ok(root, "lock", "works: one mdplan writes at a time")
            yield _exchange(root)
    except StorageRefused as refused:
        if refused.problems[0].code is Code.LOCK_TIMEOUT:
            hint = say("{run doctor} again when it is done")
            yield _note(root, "lock", refused.problems[0].message, hint)
        else:
            yield _problem(root, "lock", refused.problems)


def _exchange(root: Root) -> _Finding:
    if root.filesystem.moves_aside:
        return _ok(root, "exchange", "replaced files move aside: concurrent writes are never lost")
    token = secrets.token_hex(8)
    names = (f".mdplan-{token}-0.tmp", f".mdplan-{token}-1.tmp")
    try:
        works = can_exchange(root.filesystem, root.descriptor, names)
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


def _interruptions(root: Root, workspace: Workspace) -> _Finding:
    problems = without_hidden(workspace, pending(root))
    if problems:
        return _problem(root, "interruptions", problems)
    return _ok(root, "interruptions", "no transaction was interrupted")


def _old_folder(root: Root) -> _Finding:
    """Return what mdplan 0.2 kept in the root."""
    try:
        root.filesystem.status_of(root.descriptor, ".mdplan")
    except OSError:
        return _ok(root, "tree", "contains no `.mdplan` of mdplan 0.2")
    return _note(
        root,
        "tree",
        "contains `.mdplan`, the history of mdplan 0.2, which this version does not read",
        "remove it when you no longer need to undo what 0.2 did",
    )


def _stray_files(root: Root) -> _Finding:
    # Whose the note of the root is, the interruptions say.
    paths = (path for path in orphan_files(root) if path != NOTE and root.scope.refusal(path) is None)
    listed = list(islice(paths, _LISTED + 1))
    if not listed:
        return _ok(root, "stray files", "none")
    names = ", ".join(f"`{root.show(path)}`" for path in listed[:_LISTED])
    more = ", …" if len(listed) > _LISTED else ""
    hint = say("{mdplan recover} removes those of its transactions; delete others when no mdplan is running")
    return _note(root, "stray files", f"left by interrupted transactions: {names}{more}", hint)


def _store(root: Root, settings: Settings) -> Iterator[_Finding]:
    """Return True if the store can be written and is whole, and how much is in it."""
    store = Store(root.path)
    try:
        how = store.examine()
        size = store.size()
    except StorageRefused as refused:
        yield _problem(root, "store", refused.problems)
        return
    yield _ok(root, "store", f"`{store.path}`, {size_text(size.file_bytes)}; {how}")
    usage = (
        f"{size.transactions} of {settings.history_transactions} transactions, "
        f"{size_text(size.content_bytes)} of {size_text(settings.history_bytes)}, "
        f"of the last {settings.history_days:g} days"
    )
    yield _ok(root, "history", usage)


def _ok(root: Root, check: str, found: str) -> _Finding:
    return Check(check=check, status="ok", found=found, root=root.name or None), ()


def _note(root: Root, check: str, found: str, hint: str) -> _Finding:
    return Check(check=check, status="note", found=found, hint=hint, root=root.name or None), ()


def _problem(root: Root, check: str, problems: Problems) -> _Finding:
    first = problems[0]
    named = Check(check=check, status="problem", found=first.message, hint=first.hint, root=root.name or None)
    return named, tuple(problem for problem in problems if problem.severity is Severity.ERROR)


def orphan_files(root: Root) -> Iterator[str]:
    """Yield the paths of all files below `root` that are named as a commit names what it works on.

    Links are not followed; folders that cannot be opened, and `.git`, are skipped.
    """
    waiting = [""]
    while waiting:
        path = waiting.pop()
        folder = root.open_folder(path)
        if isinstance(folder, Diagnostic):
            continue
        try:
            entries = sorted(root.filesystem.list(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        finally:
            root.filesystem.release(folder)
        above = f"{path}/" if path else ""
        yield from (
            above + entry.name for entry in entries if entry.is_file and is_temporary_name(entry.name)
        )
        waiting += (
            above + entry.name
            for entry in reversed(entries)
            if entry.is_directory and entry.name not in _NOT_ENTERED
        )


_NOT_ENTERED: Final = frozenset({".git", ".mdplan"})
