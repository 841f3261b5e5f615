"""What somebody can put into the `.mdplan` of a folder before this user gets it."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.storage.journal import JournalEntry, JournalRecord, RecordBinding, encode_record
from mdplan.storage.user_state import STATE_DIRECTORY_VARIABLE

ID = "ef" * 8
LAST_SEQUENCE = 10**15 - 1
PLANTED = "Planted by the attacker."


def sha256(data: bytes) -> str:
    """The hex digest of `data`."""
    return hashlib.sha256(data).hexdigest()


@contextmanager
def attacker(root: Path) -> Iterator[Engine]:
    """An engine with another user's key over `root`, whose commits are the real thing but for the seal."""
    before = os.environ[STATE_DIRECTORY_VARIABLE]
    os.environ[STATE_DIRECTORY_VARIABLE] = f"{before}-of-the-attacker"
    try:
        with Engine.open([root], settings=Settings(durability=Durability.PROCESS)) as engine:
            yield engine
    finally:
        os.environ[STATE_DIRECTORY_VARIABLE] = before


def journal(root: Path) -> Path:
    """The folder of the journal of `root`, made if it is missing."""
    folder = root / ".mdplan" / "tx"
    for each in (folder.parent, folder, folder.parent / "history"):
        each.mkdir(mode=0o700, exist_ok=True)
    return folder


def plant_record(
    root: Path,
    *entries: JournalEntry,
    state: str = "pending",
    transaction: str = ID,
    sequence: int = LAST_SEQUENCE,
    note: bytes = b"{}",
    is_own: bool = False,
) -> Path:
    """A record that the attacker's key sealed, or with `is_own` the user's, for the place where it lies."""
    folder = journal(root)
    record = JournalRecord(transaction=transaction, entries=entries, note=note)
    with nullcontext() if is_own else attacker(root):
        binding = RecordBinding(str(root.resolve()), folder.stat().st_ino, sequence)
        data = encode_record(record, binding)
    path = folder / f"{sequence:08d}-{transaction}.{state}"
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def plant_history(root: Path, file: str, count: int = 2) -> list[str]:
    """`count` commits of the attacker to `file`, which leave it as it is, as the newest of all.

    To undo the last one would put planted text into `file`. The transactions are returned, the newest last.
    """
    before = (root / file).read_bytes()
    others = set(journal(root).iterdir())
    edits = (
        {"op": "append_to_file", "markdown": PLANTED},
        {"op": "replace_match", "pattern": f"{PLANTED}\n", "replacement": ""},
    )
    transactions: list[str] = []
    with attacker(root) as engine:
        for number in range(count):
            report = engine.write({"file": file, "edits": [edits[number % 2]]})
            assert report.receipt is not None, report.error
            transactions.append(report.receipt.transaction)
    assert (root / file).read_bytes() == before
    for number, path in enumerate(sorted(set(journal(root).iterdir()) - others)):
        _, _, rest = path.name.partition("-")
        path.rename(path.with_name(f"{LAST_SEQUENCE - count + number:08d}-{rest}"))
    return transactions
