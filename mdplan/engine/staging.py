"""From a plan, and what it makes of its bases, to the files that a commit writes and removes."""

from collections.abc import Iterator, Mapping, Sequence

from mdplan.diagnostics import Code
from mdplan.documents.documents import BACKUP_SUFFIX, Documents
from mdplan.plan import FileChange, Plan
from mdplan.planning.replay import Replay
from mdplan.storage.fs.errors import StorageRefused
from mdplan.storage.fs.file_name import FileName
from mdplan.storage.transaction.commit import LaterContent, StagedFile
from mdplan.text.source import Source


def files_to_stage(
    plan: Plan, documents: Documents, bases: Sequence[Source], replayed: Replay
) -> list[StagedFile]:
    """Return the files of `plan` in `documents` that change, and those that keep old content.

    Raises `StorageRefused` as `Documents.backups_of` does.
    """
    backups = documents.backups_of(plan)
    restores = plan.undoes is not None
    return [
        file
        for index, (change, names) in enumerate(zip(plan.files, documents.names_of(plan), strict=True))
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
    name: FileName, bases: Sequence[Source], index: int, backups: Mapping[FileName, str | None]
) -> Iterator[StagedFile]:
    kept = FileName(name.root, name.path + BACKUP_SUFFIX)
    if kept not in backups:
        return
    size, sha256 = len(bases[index].data), bases[index].sha256
    if backups[kept] != sha256:

        def content_now() -> bytes:
            base = bases[index]
            return _read_unchanged(base.data if base.sha256 == sha256 else None, name.path)

        content = LaterContent(size, content_now)
        yield StagedFile(kept, backups[kept], content, sha256, like=name)


def _changed(
    change: FileChange,
    names: tuple[FileName, FileName | None],
    result: LaterContent | None,
    base: bytes | None,
    *,
    restores: bool,
) -> Iterator[StagedFile]:
    """One file; two for a renaming: a new file like the old one, which goes.

    An undo that creates a file `restores` a deleted one.
    """
    name, new_name = names
    if new_name is None:
        is_new = change.base_sha256 is None
        yield StagedFile(
            name, change.base_sha256, result, change.result_sha256, restores=restores and is_new, base=base
        )
    else:
        yield StagedFile(new_name, None, result, change.result_sha256, like=name)
        yield StagedFile(name, change.base_sha256, None, None, base=base)
