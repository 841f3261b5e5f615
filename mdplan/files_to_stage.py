"""From a plan, and what it makes of its bases, to the files that a commit writes and removes."""

from collections.abc import Iterator, Mapping, Sequence

from mdplan.documents import BACKUP_SUFFIX
from mdplan.plan import FileChange, Plan
from mdplan.planning.replay import Replay
from mdplan.planning.undo import undone_transaction
from mdplan.storage.commit import StagedFile
from mdplan.text.source import Source


def files_to_stage(
    plan: Plan,
    paths: Sequence[tuple[str, str | None]],
    bases: Sequence[Source],
    replayed: Replay,
    backups: Mapping[str, str | None],
) -> list[StagedFile]:
    """The files of `plan` that change: `paths` are their old and new ones, without the root's name.

    `backups` are the paths under which old content is kept, with the SHA-256 of what they hold now.
    """
    restores = undone_transaction(plan) is not None
    changes = zip(plan.files, paths, bases, replayed.results, strict=True)
    return [
        file
        for change, names, base, result in changes
        if not change.is_no_op
        for file in (*_backup(names[0], base, backups), *_changed(change, names, result, restores=restores))
    ]


def _backup(path: str, base: Source, backups: Mapping[str, str | None]) -> Iterator[StagedFile]:
    kept = path + BACKUP_SUFFIX
    if kept in backups and backups[kept] != base.sha256:
        yield StagedFile(kept, backups[kept], base.data, base.sha256, like=path)


def _changed(
    change: FileChange, names: tuple[str, str | None], result: bytes | None, *, restores: bool
) -> Iterator[StagedFile]:
    """One file; two for a renaming: a new file like the old one, which goes.

    An undo that creates a file `restores` a deleted one.
    """
    path, new_path = names
    if new_path is None:
        is_new = change.base_sha256 is None
        yield StagedFile(path, change.base_sha256, result, change.result_sha256, restores=restores and is_new)
    else:
        yield StagedFile(new_path, None, result, change.result_sha256, like=path)
        yield StagedFile(path, change.base_sha256, None, None)
