"""Write the files of a plan: all of them, or none.

`stage` verifies every base and writes every result beside its target, `publish` puts them in place. A failure
is undone in the process. A process that is killed while it publishes leaves each file whole, old or new; the
undo journal that will close this gap is written where `publish` begins and forgotten where it ends, so that
callers do not see it.
"""

import errno
import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.storage.leaf import read_leaf, write_refusal
from mdplan.storage.lock import RootLock
from mdplan.storage.refusal import StorageRefused, refusing
from mdplan.storage.staged import Durability, Replacement, Staged, StagedFile, Target

__all__ = ["CommitFacts", "Durability", "StagedFile", "publish", "stage"]

# What a file system says on which a file can have no second name, or no further one.
_NO_LINK: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


@dataclass(frozen=True, slots=True)
class Attempt:
    """A target that was replaced, or was just going to be, and the name that its old content has."""

    target: Target
    before: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """What there is to say about a commit that happened.

    `cas` is `weak`: another program's write in the microseconds before a replacement could be lost.
    `durable` is False when syncs were not asked for, or when the file system cannot sync names. `warnings`
    are things left behind; they change nothing about the success.
    """

    cas: Literal["weak"]
    durable: bool
    warnings: Problems


def stage(
    lock: RootLock,
    files: Sequence[StagedFile],
    *,
    max_bytes: int,
    durability: Durability = Durability.FULL,
) -> Staged:
    """Verify the base of every file, then write every result beside its target; nothing is visible yet.

    `max_bytes` is the limit on the size of a base. Raises `StorageRefused` with the problems of all files,
    and leaves nothing behind then: STALE_BASE, ALIAS_CONFLICT (two names of one file), what `Root.read` and
    `Root.write_refusal` give, NO_SPACE, OWNER_CHANGE, PERMISSION_DENIED, IO_ERROR.
    """
    staged = Staged(lock.root, durability, max_bytes)
    try:
        for target in _verified(staged, files):
            staged.add(target)
    except StorageRefused as refused:
        raise StorageRefused(refused.problems + staged.discard()) from refused
    except BaseException:
        staged.discard()
        raise
    return staged


def publish(staged: Staged) -> CommitFacts:
    """Put all staged files in place; `staged` is used up, whatever happens.

    Raises `StorageRefused` after undoing what was done: STALE_BASE (nothing had been replaced yet),
    CONFLICT_LATE_WRITE, TARGET_BUSY, PERMISSION_DENIED, NO_SPACE, IO_ERROR. COMMIT_IN_DOUBT beside one of
    them names a file that could not be put back, and where its old content is.
    """
    attempted: list[Attempt] = []
    try:
        _check_bases(staged)
        for replacement in staged.replacements:
            _replace(staged, replacement, attempted)
        durable = staged.sync_folders()
    except StorageRefused as refused:
        raise StorageRefused(refused.problems + _undo(staged, attempted) + staged.discard()) from refused
    except BaseException as stopped:
        for problem in _undo(staged, attempted) + staged.discard():
            stopped.add_note(problem.message)
        raise
    return CommitFacts(cas="weak", durable=durable, warnings=staged.discard())


def _verified(staged: Staged, files: Sequence[StagedFile]) -> list[Target]:
    found = [staged.find(file) for file in files]
    names = Counter(target.identity for target in found if isinstance(target, Target))
    problems: list[Diagnostic] = []
    targets: list[Target] = []
    for target in found:
        if isinstance(target, Diagnostic):
            problems.append(target)
            continue
        problem = (
            _alias_problem(target, names[target.identity])
            or _stale_problem(target)
            or write_refusal(staged.filesystem, target.folder, target.leaf, target.shown, target.status)
        )
        if problem is None:
            targets.append(target)
        else:
            problems.append(problem)
    if problems:
        raise StorageRefused(tuple(problems))
    return targets


def _alias_problem(target: Target, names: int) -> Diagnostic | None:
    if names == 1:
        return None
    return Diagnostic(
        code=Code.ALIAS_CONFLICT,
        message=f"`{target.shown}` is one of {names} names of one file in this batch",
        hint="put all edits of the file under one name",
        file=target.shown,
    )


def _stale_problem(target: Target) -> Diagnostic | None:
    if target.found_sha256 == target.file.base_sha256:
        return None
    return Diagnostic(
        code=Code.STALE_BASE,
        message=f"`{target.shown}` is not as the plan saw it",
        hint=f"plan again; its content now has the SHA-256 {target.found_sha256}",
        file=target.shown,
    )


def _check_bases(staged: Staged) -> None:
    """Look at all bases once more, while there is nothing to undo."""
    found = [staged.find(replacement.target.file) for replacement in staged.replacements]
    problems = [target if isinstance(target, Diagnostic) else _stale_problem(target) for target in found]
    refusals = tuple(problem for problem in problems if problem is not None)
    if refusals:
        raise StorageRefused(refusals)


def _replace(staged: Staged, replacement: Replacement, attempted: list[Attempt]) -> None:
    """Replace one file, keeping what it displaces under a second name; into `attempted` before it happens."""
    target = replacement.target
    before = _keep_before(staged, target)
    kept = _digest(staged, target, before)
    if isinstance(kept, Diagnostic):
        raise StorageRefused((kept,))
    if kept != target.file.base_sha256:
        problem = Diagnostic(
            code=Code.CONFLICT_LATE_WRITE,
            message=f"another program wrote `{target.shown}` during the commit",
            hint="plan again on its new content",
            file=target.shown,
        )
        raise StorageRefused((problem,))
    attempted.append(Attempt(target, before))
    with refusing(target.shown, "replacing"):
        staged.filesystem.rename(target.folder, replacement.temporary, target.leaf)
    staged.keep(target, replacement.temporary)


def _keep_before(staged: Staged, target: Target) -> str:
    """Give the file that will be displaced another name, or copy it where it can have none."""
    before = staged.name_beside(target)
    with refusing(target.shown, "keeping the old content of"):
        try:
            staged.filesystem.link(target.folder, target.leaf, before)
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
        else:
            return before
    found = read_leaf(staged.filesystem, target.folder, target.leaf, target.shown, staged.max_bytes)
    if isinstance(found, Diagnostic):
        raise StorageRefused((found,))
    return staged.write_beside(target, found.data)


def _undo(staged: Staged, attempted: Sequence[Attempt]) -> Problems:
    """Put back what was displaced, the last first; a problem for each thing that was not possible."""
    problems = [_put_back(staged, attempt) for attempt in reversed(attempted)]
    if attempted:
        try:
            staged.sync_folders()
        except StorageRefused as refused:
            problems.extend(replace(problem, code=Code.COMMIT_IN_DOUBT) for problem in refused.problems)
    return tuple(problem for problem in problems if problem is not None)


def _put_back(staged: Staged, attempt: Attempt) -> Diagnostic | None:
    target = attempt.target
    found = _digest(staged, target, target.leaf)
    if found == target.file.base_sha256:
        return None
    # From here on the old content is either in its place or the only copy.
    staged.keep(target, attempt.before)
    reason = found.message if isinstance(found, Diagnostic) else "another program wrote it after that"
    if found == target.file.result_sha256:
        try:
            staged.filesystem.rename(target.folder, attempt.before, target.leaf)
        except OSError as error:
            reason = error.strerror or type(error).__name__
        else:
            return None
    return Diagnostic(
        code=Code.COMMIT_IN_DOUBT,
        message=f"`{target.shown}` was replaced and could not be put back: {reason}",
        hint=f"its old content is in `{attempt.before}` in the same folder",
        file=target.shown,
    )


def _digest(staged: Staged, target: Target, leaf: str) -> str | Diagnostic:
    """The digest of the file `leaf` in the folder of `target`. Errors: those of `read_leaf`."""
    limit = max(staged.max_bytes, len(target.file.result))
    found = read_leaf(staged.filesystem, target.folder, leaf, target.shown, limit)
    return found if isinstance(found, Diagnostic) else hashlib.sha256(found.data).hexdigest()
