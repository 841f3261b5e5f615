"""One record of the journal: the changes of a transaction, in a form that proves who wrote it.

Three lines: a head; the changes; the note of the engine. The head names the size and the SHA-256 of the two
other lines, and the user's key seals it. So a short read of the head shows whether this user wrote the
record, however large the rest is. Recovery reads the changes without decoding the note, which contains the
plan.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mdplan.storage.user.user_state import is_sealed, seal

MAX_RECORD_BYTES: Final = 1 << 28
# No one vouches for a record of someone else, so no more than this is ever decoded of one.
MAX_FOREIGN_BYTES: Final = 1 << 16
MAX_HEAD_BYTES: Final = 1 << 11
TRANSACTION: Final = re.compile(r"[0-9a-f]{8,32}")
_FORMAT: Final = 2
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MAX_SIZE: Final = 1 << 50
# Separates what is sealed here from the decisions on plans.
_KIND: Final = "record"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One file of a transaction, by its path below the root.

    `base` and `result` are the SHA-256 digests of its content before and after, None where the file is not
    there; they differ. The sizes in bytes tell a foreign file apart without reading all of it.
    """

    path: str
    base: str | None
    base_bytes: int
    result: str | None
    result_bytes: int

    @property
    def at_most(self) -> int:
        """The size in bytes beyond which a file is neither base nor result."""
        return max(self.base_bytes, self.result_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalRecord:
    """What a transaction changes. The entries are in the order of the batch.

    `made_folders` are made before the files, the outer first; `removed_folders` are removed after the commit
    if they are empty then, the inner first. `note` is the encoded JSON object of the engine. `known` means
    that this user's key sealed the record, so no one else can have written it.
    """

    transaction: str
    entries: tuple[JournalEntry, ...]
    made_folders: tuple[str, ...] = ()
    removed_folders: tuple[str, ...] = ()
    note: bytes = field(default=b"{}", repr=False)
    known: bool = True

    def decoded_note(self) -> dict[str, Any]:
        """The engine's note; empty when it is not an object."""
        decoded = _decoded(self.note)
        return decoded if isinstance(decoded, dict) else {}


@dataclass(frozen=True, slots=True)
class RecordBinding:
    """Where a record belongs: a sealed record that is copied or renamed is foreign.

    `folder` is the inode of the journal's folder. A record stays the user's own when the root is moved, which
    keeps the inode, or copied back to `root_path`. `sequence` is the number in the name of the record.
    """

    root_path: str
    folder: int
    sequence: int


@dataclass(frozen=True, slots=True)
class RecordHead:
    """The first line of a record: the length of the line in bytes, and the size and digest of the rest."""

    line_bytes: int
    body_bytes: int
    sha256: str
    seals: tuple[str, ...]

    def is_own(self, transaction: str, binding: RecordBinding) -> bool:
        """Whether this user's key sealed this head for that place and transaction."""
        sealed = _sealed_head(transaction, binding.sequence, self.body_bytes, self.sha256)
        return any(
            is_sealed(place, sealed, given)
            for place, given in zip(_places(binding), self.seals, strict=True)
            if given
        )


def read_head(data: bytes) -> RecordHead | None:
    """The head in `data`, the first `MAX_HEAD_BYTES` of a record or all of it; None if there is none."""
    line, end, _ = data[:MAX_HEAD_BYTES].partition(b"\n")
    head = _decoded(line) if end else None
    if not isinstance(head, dict):
        return None
    digest, size = head.get("sha256"), _size(head.get("bytes"))
    seals = _texts([head.get("seal"), head.get("folderSeal")])
    if head.get("format") != _FORMAT or not (isinstance(digest, str) and _SHA256.fullmatch(digest)):
        return None
    return None if size is None or seals is None else RecordHead(len(line), size, digest, seals)


def encode_note(note: Mapping[str, Any]) -> bytes:
    """The bytes of `note` in a record."""
    import json

    return json.dumps(note, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def encode_record(record: JournalRecord, binding: RecordBinding) -> bytes:
    """The bytes of `record`, sealed for the place in `binding`."""
    changes = {
        "transaction": record.transaction,
        "entries": [
            {
                "path": entry.path,
                "base": entry.base,
                "baseBytes": entry.base_bytes,
                "result": entry.result,
                "resultBytes": entry.result_bytes,
            }
            for entry in record.entries
        ],
        "madeFolders": record.made_folders,
        "removedFolders": record.removed_folders,
    }
    # A note may be large: it is put together with the rest once.
    body = (encode_note(changes), b"\n", record.note, b"\n")
    digest = hashlib.sha256()
    for part in body:
        digest.update(part)
    size = sum(map(len, body))
    sealed = _sealed_head(record.transaction, binding.sequence, size, digest.hexdigest())
    seals = [seal(place, sealed) for place in _places(binding)]
    head = {
        "format": _FORMAT,
        "bytes": size,
        "sha256": digest.hexdigest(),
        "seal": seals[0],
        "folderSeal": seals[1],
    }
    return b"".join((encode_note(head), b"\n", *body))


def decode_record(data: bytes, binding: RecordBinding) -> JournalRecord | None:
    """The record in `data`; None when it is torn, tampered with, or was never one.

    Paths in it are texts: whoever uses them checks them like those of a caller.
    """
    head = read_head(data)
    if head is None:
        return None
    body = data[head.line_bytes + 1 :]
    if head.body_bytes != len(body) or head.sha256 != hashlib.sha256(body).hexdigest():
        return None
    changes_line, _, note = body.partition(b"\n")
    changes = _decoded(changes_line)
    if not isinstance(changes, dict):
        return None
    transaction, entries = changes.get("transaction"), changes.get("entries")
    made, removed = _texts(changes.get("madeFolders")), _texts(changes.get("removedFolders"))
    if not (isinstance(transaction, str) and TRANSACTION.fullmatch(transaction)) or not isinstance(
        entries, list
    ):
        return None
    checked = [_entry(entry) for entry in entries]
    if made is None or removed is None or None in checked:
        return None
    return JournalRecord(
        transaction=transaction,
        entries=tuple(entry for entry in checked if entry is not None),
        made_folders=made,
        removed_folders=removed,
        note=note.removesuffix(b"\n"),
        known=head.is_own(transaction, binding),
    )


def _places(binding: RecordBinding) -> tuple[str, str]:
    """What the two seals are bound to; no absolute path begins like the second."""
    return binding.root_path, f"inode {binding.folder}"


def _sealed_head(transaction: str, sequence: int, size: int, digest: str) -> bytes:
    return f"{_KIND}\0{transaction}\0{sequence}\0{size}\0{digest}".encode("ascii")


def _entry(found: object) -> JournalEntry | None:
    if not isinstance(found, dict):
        return None
    path, base, result = found.get("path"), found.get("base"), found.get("result")
    base_bytes, result_bytes = _size(found.get("baseBytes")), _size(found.get("resultBytes"))
    if not isinstance(path, str) or not (_is_digest(base) and _is_digest(result)) or base == result:
        return None
    if base_bytes is None or result_bytes is None:
        return None
    return JournalEntry(path=path, base=base, base_bytes=base_bytes, result=result, result_bytes=result_bytes)


def _is_digest(found: object) -> bool:
    return found is None or (isinstance(found, str) and _SHA256.fullmatch(found) is not None)


def _size(found: object) -> int | None:
    return found if type(found) is int and 0 <= found <= _MAX_SIZE else None


def _texts(found: object) -> tuple[str, ...] | None:
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        return None
    return tuple(found)


def _decoded(line: bytes) -> object:
    """The JSON value in `line`; None when there is none, however it was broken."""
    import json

    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
