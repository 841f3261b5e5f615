"""One record of the journal: what a transaction is going to do, in a form that proves itself.

Three lines: a head with the SHA-256 and the seal of the two others; the changes; the note of the engine. So
recovery reads the changes without decoding the note, which holds the plan.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mdplan.storage.user.user_state import is_sealed, seal

MAX_RECORD_BYTES: Final = 1 << 28
TRANSACTION: Final = re.compile(r"[0-9a-f]{8,32}")
_FORMAT: Final = 1
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MAX_SIZE: Final = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
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
class Record:
    """What a transaction changes. The entries are in the order of the batch.

    `made_folders` are made before the files, the outer first; `removed_folders` are removed after the commit
    if they are empty then, the inner first. `note` is the encoded JSON object of the engine. `known` says
    that the record has the seal of this user, so that no stranger can have written it.
    """

    transaction: str
    entries: tuple[Entry, ...]
    made_folders: tuple[str, ...] = ()
    removed_folders: tuple[str, ...] = ()
    note: bytes = field(default=b"{}", repr=False)
    known: bool = True

    def decoded_note(self) -> dict[str, Any]:
        """The engine's note; empty when it is not an object."""
        decoded = _decoded(self.note)
        return decoded if isinstance(decoded, dict) else {}


def encode_note(note: Mapping[str, Any]) -> bytes:
    """The bytes of `note` in a record."""
    import json

    return json.dumps(note, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")


def encode_record(record: Record, root_path: str) -> bytes:
    """The bytes of `record`, sealed for the root whose real path is given."""
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
    head = {"format": _FORMAT, "sha256": digest.hexdigest(), "seal": seal(root_path, *body)}
    return b"".join((encode_note(head), b"\n", *body))


def decode_record(data: bytes, root_path: str) -> Record | None:
    """The record in `data`; None when it is torn, tampered with, or was never one.

    Paths in it are texts: whoever uses them checks them like those of a caller.
    """
    head_line, _, body = data.partition(b"\n")
    head = _decoded(head_line)
    if not isinstance(head, dict) or head.get("format") != _FORMAT:
        return None
    if head.get("sha256") != hashlib.sha256(body).hexdigest():
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
    given = head.get("seal")
    return Record(
        transaction=transaction,
        entries=tuple(entry for entry in checked if entry is not None),
        made_folders=made,
        removed_folders=removed,
        note=note.removesuffix(b"\n"),
        known=isinstance(given, str) and is_sealed(root_path, body, given),
    )


def _entry(found: object) -> Entry | None:
    if not isinstance(found, dict):
        return None
    path, base, result = found.get("path"), found.get("base"), found.get("result")
    base_bytes, result_bytes = _size(found.get("baseBytes")), _size(found.get("resultBytes"))
    if not isinstance(path, str) or not (_is_digest(base) and _is_digest(result)) or base == result:
        return None
    if base_bytes is None or result_bytes is None:
        return None
    return Entry(path=path, base=base, base_bytes=base_bytes, result=result, result_bytes=result_bytes)


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
