"""From a plan, and what it makes of its bases, to the files that a commit writes and removes."""

from collections.abc import Iterator, Mapping, Sequence

from mdplan.diagnostics import Code
from mdplan.documents.documents import BACKUP_SUFFIX
from mdplan.plan import FileChange, Plan
from mdplan.planning.replan.replay import Replay
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.transaction.commit import LaterContent, StagedFile
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
    restores = plan.undoes is not None
    return [
        file
        for index, (change, names) in enumerate(zip(plan.files, paths, strict=True))
        if not change.is_no_op
        for file in (
            *_backup(names[0], bases, index, backups),
            *_changed(
                change,
                names,
                _result(change, replayed, index),
                _replayed_bytes(bases, replayed, index),
                restores=restores,
            ),
        )
    ]


def _result(change: FileChange, replayed: Replay, index: int) -> LaterContent | None:
    """What becomes of a file, made when it is written; None for one that goes."""
    if change.result_sha256 is None:
        return None
    return LaterContent(replayed.sizes[index], lambda: _read_unchanged(replayed.results[index], change.path))


def _replayed_bytes(bases: Sequence[Source], replayed: Replay, index: int) -> bytes | None:
    """The bytes of a base, which are held where all results are."""
    return None if replayed.texts is None else bases[index].data


def _read_unchanged(content: bytes | None, path: str) -> bytes:
    """`content`, for which there is none when its base is another by now: STALE_BASE (`StorageRefused`)."""
    if content is not None:
        return content
    raise StorageRefused.of(
        Code.STALE_BASE,
        f"`{path}` was changed by another program during the commit",
        "plan again on its new content",
        file=path,
    )


def _backup(
    path: str, bases: Sequence[Source], index: int, backups: Mapping[str, str | None]
) -> Iterator[StagedFile]:
    kept = path + BACKUP_SUFFIX
    if kept not in backups:
        return
    size, sha256 = len(bases[index].data), bases[index].sha256
    if backups[kept] != sha256:

        def content_now() -> bytes:
            base = bases[index]
            return _read_unchanged(base.data if base.sha256 == sha256 else None, path)

        content = LaterContent(size, content_now)
        yield StagedFile(kept, backups[kept], content, sha256, like=path)


def _changed(
    change: FileChange,
    names: tuple[str, str | None],
    result: LaterContent | None,
    base: bytes | None,
    *,
    restores: bool,
) -> Iterator[StagedFile]:
    """One file; two for a renaming: a new file like the old one, which goes.

    An undo that creates a file `restores` a deleted one.
    """
    path, new_path = names
    if new_path is None:
        is_new = change.base_sha256 is None
        yield StagedFile(
            path, change.base_sha256, result, change.result_sha256, restores=restores and is_new, base=base
        )
    else:
        yield StagedFile(new_path, None, result, change.result_sha256, like=path)
        yield StagedFile(path, change.base_sha256, None, None, base=base)
