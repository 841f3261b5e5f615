"""Diffs of one file, for tests of what reads and writes diffs."""

from collections.abc import Sequence

from mdplan.text.diff import file_diff, find_hunks
from mdplan.text.source import ByteEdit


def unified_diff(path: str, base: bytes, edits: Sequence[ByteEdit], *, context: int = 3) -> bytes:
    """Diff of the file `path` from `base` to the result of sorted, disjoint `edits`.

    `path` is relative, with forward slashes. Edits that change nothing give no bytes at all. git and
    GNU patch refuse hunks without context, so `context` is 1 or more.
    """
    return file_diff(path, path, find_hunks(base, edits, context=context))


def creation_diff(path: str, data: bytes) -> bytes:
    """Diff that makes the file `path` out of nothing."""
    return file_diff(None, path, find_hunks(b"", [ByteEdit(0, 0, data)]))


def deletion_diff(path: str, base: bytes) -> bytes:
    """Diff that removes the file `path`, which holds `base`. GNU patch declines where that is empty."""
    return file_diff(path, None, find_hunks(base, [ByteEdit(0, len(base), b"")]))
