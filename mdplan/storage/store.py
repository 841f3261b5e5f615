"""The store of a root: an SQLite database in the user's state directory.

It holds transactions with the contents that they displaced, plans, links between plans, decisions, and the
address of the review page. `mdplan doctor` prints the file; in the `sqlite3` shell, see the views
`transaction_list` and `plan_list`.

Every change is one IMMEDIATE transaction, so it is atomic across processes, and waits as long as the lock of
a root. SQLite 3.7.0 to 3.51.2 can damage a WAL that two connections write and checkpoint at once, so no
connection checkpoints automatically; `checkpoint` takes the database's write lock under the lock of the root.
"""

import json
import os
import sqlite3
import sys
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.filesystem import FileSystem, Step, StorageRefused, of_error
from mdplan.storage.user_state import STATE_DIRECTORY_VARIABLE, RootFolder, UnsafeFolderError
from mdplan.text import shell
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, astuple

DATABASE: Final = "store.sqlite3"
BUSY_SECONDS: Final = 30.0
_VERSION: Final = 1
_PART_BYTES: Final = 1 << 20
_COLLECT_EVERY: Final = 16
_CHECKPOINT_BYTES: Final = 4 << 20
TRANSACTION: Final = lazy_pattern(r"[0-9a-f]{8,32}")


class State(StrEnum):
    """The state of a transaction."""

    # Possibly staged or partly visible; must be undone, unless its process is still running.
    PENDING = "pending"
    COMMITTED = "committed"
    # Undone by recovery; its results are kept.
    UNDONE = "rolled back"
    # Undone, except for files that someone changed on top; waits for a person.
    CONFLICT = "conflict"


class FileEntry(Struct):
    """A file of a transaction, by path below the root.

    `base` and `result` are the different SHA-256 digests before and after, None if absent. The sizes in bytes
    rule out other programs' files without reading them entirely.
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


class Record(Struct, kw_only=True):
    """What a transaction changes, in batch order.

    - `made_folders`: made before the files, outermost first.
    - `removed_folders`: removed after the commit if empty, innermost first.
    - `known`: from this user's store, not from a note in the tree.
    - `noted`: the note exists. Without it, nothing was done yet, or another user has recovered.
    """

    transaction: str
    entries: tuple[FileEntry, ...]
    made_folders: tuple[str, ...] = ()
    removed_folders: tuple[str, ...] = ()
    known: bool = True
    noted: bool = True


class Transaction(Struct, kw_only=True):
    """A complete transaction and the engine's `note`.

    `undoable`: it was committed and the store has all old contents.
    """

    record: Record
    state: Literal["committed", "rolled back"]
    note: dict[str, Any]
    undoable: bool

    @property
    def id(self) -> str:
        """Its ID."""
        return self.record.transaction


class Traits(NamedTuple):
    """Mode, owner and extended attributes of a deleted file."""

    mode: int
    uid: int
    gid: int
    attributes: dict[str, bytes]


class StoreSize(NamedTuple):
    """The number of transactions, the bytes of their old contents, and of the database files."""

    transactions: int
    content_bytes: int
    file_bytes: int


def keep_base(database: sqlite3.Connection, sha256: str, data: bytes, traits: Traits | None = None) -> None:
    """Store a content that a transaction will displace, with `traits` for a deleted file."""
    put_parts(database, sha256, data)
    if traits is not None:
        encoded = json.dumps({name: value.hex() for name, value in traits.attributes.items()})
        database.execute(
            "INSERT OR REPLACE INTO traits VALUES (?, ?, ?, ?, ?)",
            (sha256, traits.mode, traits.uid, traits.gid, encoded),
        )


def add_record(database: sqlite3.Connection, record: Record, note: bytes, now: float) -> None:
    """Add the transaction `record` as pending, with the engine's `note`. From then on a crash means undo."""
    made, removed = json.dumps(record.made_folders), json.dumps(record.removed_folders)
    sequence = database.execute(
        "INSERT INTO transactions (id, state, began_at, made_folders, removed_folders)"
        " VALUES (?, ?, ?, ?, ?)",
        (record.transaction, State.PENDING, now, made, removed),
    ).lastrowid
    database.executemany(
        "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (sequence, position, os.fsencode(entry.path), *astuple(entry)[1:])
            for position, entry in enumerate(record.entries)
        ),
    )
    put_parts(database, f"note {record.transaction}", note)


class Store:
    """The database of the root with the real path `root_path`, created on first write.

    Methods raise `StorageRefused`.
    """

    def __init__(self, root_path: str, filesystem: FileSystem | None = None) -> None:
        self.folder = RootFolder(root_path, filesystem)
        self.path = os.path.join(self.folder.path, DATABASE)
        self._filesystem = self.folder.filesystem

    # --- Connections

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection | None]:
        """Yield a consistent snapshot of the database, or None if it does not exist."""
        with self._errors("reading"):
            self._filesystem.before(Step.STORE_READ)
            connection = self._connect(makes=False)
            if connection is None or connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                with suppress(sqlite3.Error):
                    connection.execute("COMMIT")

    @contextmanager
    def write(self, *, syncs: bool = True) -> Iterator[sqlite3.Connection]:
        """Yield the database for one atomic change, durable unless `syncs` is False."""
        with self._errors("writing"):
            self._filesystem.before(Step.STORE_BEGIN)
            connection = self._connect(makes=True)
            assert connection is not None
            # An unsynced change in a rollback journal can damage the database; one in a WAL cannot.
            is_wal = connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
            connection.execute(f"PRAGMA synchronous = {'NORMAL' if is_wal and not syncs else 'FULL'}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                self._filesystem.before(Step.STORE_COMMIT)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            self._filesystem.before(Step.STORE_DONE)

    def _connect(self, *, makes: bool) -> sqlite3.Connection | None:
        try:
            self.folder.check(makes=makes)
            identity = os.stat(self.path).st_ino
        except FileNotFoundError:
            if not makes:
                return None
            identity = 0
            # Private; SQLite gives the WAL the same mode.
            with suppress(FileExistsError):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        opened: dict[str, tuple[int, sqlite3.Connection]] = _connections.__dict__
        inode, connection = opened.get(self.path, (0, None))
        if connection is not None and inode == identity:
            return connection
        if connection is not None:
            connection.close()
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            _prepare(connection, self.folder.directory)
        except BaseException:
            connection.close()
            raise
        opened[self.path] = os.stat(self.path).st_ino, connection
        close_idle(_MOST_OPEN)
        return connection

    def close(self) -> None:
        """Close this thread's connection."""
        _, connection = _connections.__dict__.pop(self.path, (0, None))
        if connection is not None:
            connection.close()

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Convert system and SQLite errors to a `StorageRefused` that names the state directory."""
        try:
            yield
        except sqlite3.Error as error:
            raise StorageRefused((self._problem(error, doing),)) from error
        except OSError as error:
            raise StorageRefused((self._system_problem(error, doing),)) from error

    def _problem(self, error: sqlite3.Error, doing: str) -> Diagnostic:
        name = getattr(error, "sqlite_errorname", "")
        message = f"{doing} mdplan's store `{self.path}` failed: {error}"
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            return Code.JOURNAL_CORRUPT.problem(message, self._set_aside)
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")):
            return Code.NO_SPACE.problem(message, _MORE_SPACE)
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return Code.LOCK_TIMEOUT.problem(message, "try again")
        code = Code.IO_ERROR if name.startswith("SQLITE_IOERR") else Code.PERMISSION_DENIED
        return code.problem(message, _ELSEWHERE)

    def _system_problem(self, error: OSError, doing: str) -> Diagnostic:
        if isinstance(error, UnsafeFolderError):
            message = f"`{self.folder.path}` is not yours, or others can write into it"
            hint = f"make it yours with mode 0700, or name another folder with {STATE_DIRECTORY_VARIABLE}"
            return Code.STATE_DIR_UNSAFE.problem(message, hint)
        problem = of_error(error, self.folder.path, f"{doing} mdplan's store in")
        hint = _MORE_SPACE if problem.code is Code.NO_SPACE else _ELSEWHERE
        return problem.code.problem(problem.message, hint)

    @property
    def _set_aside(self) -> str:
        old = shell.quote(self.folder.path)
        return f"no document is affected; set it aside, and mdplan starts anew: `mv {old} {old}.damaged`"

    # --- Transactions

    def settle(self, transaction: str, state: State, clean: Iterable[str] = (), *, syncs: bool) -> None:
        """Set the state of a transaction; mark those in `clean` as cleaned up."""
        with self.write(syncs=syncs) as database:
            database.execute("UPDATE transactions SET state = ? WHERE id = ?", (state, transaction))
            _mark_clean(database, clean)

    def keep(self, sha256: str, data: bytes, *, syncs: bool) -> None:
        """Store a content that belongs to no plan."""
        with self.write(syncs=syncs) as database:
            put_parts(database, sha256, data)

    def forget(self, transaction: str, *, syncs: bool) -> None:
        """Remove a transaction without leftovers."""
        with self.write(syncs=syncs) as database:
            row = database.execute(
                "SELECT sequence FROM transactions WHERE id = ?", (transaction,)
            ).fetchone()
            if row is not None:
                _forget(database, row[0], transaction)

    def interrupted(self) -> list[tuple[State, Record]]:
        """Return the transactions that need recovery, oldest first."""
        return [
            (State(state), record)
            for state, record, _ in self._records("state IN ('pending', 'conflict')", (), newest_first=False)
        ]

    def uncleaned(self) -> list[Record]:
        """Return the committed transactions that may have leftovers, oldest first."""
        rows = self._records("state = 'committed' AND is_clean = 0", (), newest_first=False)
        return [record for _, record, _ in rows]

    def mark_clean(self, transactions: Iterable[str]) -> None:
        """Mark `transactions` as cleaned up; losing this is harmless."""
        with self.write(syncs=False) as database:
            _mark_clean(database, transactions)

    def mark_conflicts(self) -> None:
        """Set or clear the mark for `user_state.has_conflict`."""
        with self._errors("writing"), suppress(FileNotFoundError):
            has_some = any(state is State.CONFLICT for state, _ in self.interrupted())
            self.folder.mark_conflict(exists=has_some)

    def state_of(self, transaction: str) -> State | None:
        """Return the state of a transaction, or None if unknown."""
        with self.read() as database:
            if database is None:
                return None
            row = database.execute("SELECT state FROM transactions WHERE id = ?", (transaction,)).fetchone()
        return State(row[0]) if row else None

    def transactions(self, beginning: str = "") -> Iterator[Transaction]:
        """Yield complete transactions whose ID starts with `beginning`, newest first."""
        if not all(character in "0123456789abcdef" for character in beginning):
            return
        condition = "state IN ('committed', 'rolled back') AND id GLOB ?"
        for state, record, undoable in self._records(condition, (f"{beginning}*",)):
            with self.read() as database:
                note = get_parts(database, f"note {record.transaction}") if database is not None else None
            yield Transaction(
                record=record,
                state="committed" if state == State.COMMITTED else "rolled back",
                note=_decoded(note or b"{}"),
                undoable=undoable and state == State.COMMITTED,
            )

    def content(self, sha256: str) -> bytes | None:
        """Return the content with that SHA-256 (64 hex digits), if stored and intact."""
        import hashlib

        with self.read() as database:
            data = get_parts(database, sha256) if database is not None else None
        return data if data is not None and hashlib.sha256(data).hexdigest() == sha256 else None

    def traits_of(self, sha256: str) -> Traits | None:
        """Return the traits of the last deleted file with that content."""
        with self.read() as database:
            if database is None:
                return None
            row = database.execute(
                "SELECT mode, uid, gid, attributes FROM traits WHERE sha256 = ?", (sha256,)
            ).fetchone()
        if row is None:
            return None
        return Traits(
            row[0], row[1], row[2], {name: bytes.fromhex(value) for name, value in json.loads(row[3]).items()}
        )

    def _records(
        self, condition: str, values: Sequence[str], *, newest_first: bool = True
    ) -> Iterator[tuple[str, Record, bool]]:
        """Yield state and record of transactions, and True if all their old contents are stored."""
        order = "DESC" if newest_first else "ASC"
        with self.read() as database:
            if database is None:
                return
            listed = database.execute(
                f"SELECT sequence, id, state, made_folders, removed_folders FROM transactions"  # noqa: S608 (ours)
                f" WHERE {condition} ORDER BY sequence {order}",
                values,
            ).fetchall()
        for sequence, transaction, state, made, removed in listed:
            with self.read() as database:
                assert database is not None
                rows = database.execute(
                    "SELECT path, base, base_bytes, result, result_bytes,"
                    " base IS NULL OR EXISTS (SELECT 1 FROM parts WHERE key = base) FROM files"
                    " WHERE sequence = ? ORDER BY position",
                    (sequence,),
                ).fetchall()
            entries = tuple(FileEntry(os.fsdecode(path), *contents) for path, *contents, _ in rows)
            record = Record(
                transaction=transaction,
                entries=entries,
                made_folders=tuple(json.loads(made)),
                removed_folders=tuple(json.loads(removed)),
            )
            yield state, record, all(row[5] for row in rows)

    # --- Retention

    def collect(
        self, max_transactions: int, max_bytes: int, oldest: float, *, dry_run: bool = False
    ) -> tuple[int, int]:
        """Forget the oldest complete transactions beyond a number, a size in bytes, and an age.

        `oldest` is in seconds since the epoch. The last committed one stays. Return how many are removed, and
        the bytes freed; `dry_run` removes nothing.
        """
        with self.write(syncs=False) as database:
            database.execute("SAVEPOINT whole")
            before = _content_bytes(database)
            rows = database.execute(
                "SELECT sequence, id, began_at, (SELECT total(length(data)) FROM parts WHERE key IN"
                " (SELECT base FROM files WHERE files.sequence = transactions.sequence)"
                " OR key = 'note ' || id) FROM transactions WHERE state IN ('committed', 'rolled back')"
                " ORDER BY sequence DESC"
            ).fetchall()
            room, forgotten = float(max_bytes), 0
            for count, (sequence, transaction, began_at, size) in enumerate(rows):
                if count and (count >= max_transactions or size > room or began_at < oldest):
                    _forget(database, sequence, transaction)
                    forgotten += 1
                else:
                    room -= size
            after = _content_bytes(database)
            if dry_run:
                database.execute("ROLLBACK TO whole")
        return forgotten, before - after

    def collect_if_due(self, max_transactions: int, max_bytes: int, oldest: float) -> None:
        """Run `collect` on every 16th transaction, since it may scan many."""
        with self.read() as database:
            row = database.execute("SELECT max(sequence) FROM transactions").fetchone() if database else None
        if row is not None and row[0] and row[0] % _COLLECT_EVERY == 0:
            self.collect(max_transactions, max_bytes, oldest)

    def size(self) -> StoreSize:
        """Return the size of the store."""
        with self.read() as database:
            if database is None:
                return StoreSize(0, 0, 0)
            count = database.execute(
                "SELECT count(*) FROM transactions WHERE state IN ('committed', 'rolled back')"
            ).fetchone()[0]
            content_bytes = _content_bytes(database)
        files = [path for path in (self.path, f"{self.path}-wal") if os.path.exists(path)]
        return StoreSize(count, content_bytes, sum(os.path.getsize(path) for path in files))

    def shrink(self) -> None:
        """Return freed space to the disk."""
        with self._errors("shrinking"):
            connection = self._connect(makes=False)
            if connection is not None:
                connection.execute("VACUUM")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def checkpoint(self) -> None:
        """Checkpoint the WAL if it is large. Call it under the lock of the root."""
        with self._errors("writing"):
            try:
                is_due = os.stat(f"{self.path}-wal").st_size > _CHECKPOINT_BYTES
            except FileNotFoundError:
                return
            connection = self._connect(makes=False)
            if is_due and connection is not None:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def examine(self) -> str:
        """Write to the store, check it, and describe SQLite's mode. Raise `StorageRefused` for damage."""
        with self.write(syncs=False) as database:
            database.execute(f"PRAGMA user_version = {_VERSION}")
        with self.read() as database:
            assert database is not None
            found = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
            mode = database.execute("PRAGMA journal_mode").fetchone()[0]
        if found != "ok":
            message = f"mdplan's store `{self.path}` is damaged: {found}"
            raise StorageRefused.of(Code.JOURNAL_CORRUPT, message, self._set_aside)
        kind = _file_system_of(self.folder.directory)
        how = "WAL" if mode == "wal" else f"rollback journal, as {kind or 'its file system'} allows no WAL"
        return f"SQLite {sqlite3.sqlite_version}, {how}; integrity_check: ok"


def stored_content(root_path: str, sha256: str) -> bytes | None:
    """Return the content with that SHA-256 (64 hex digits), if the store has it and is readable."""
    with suppress(StorageRefused):
        return Store(root_path).content(sha256)
    return None


_MORE_SPACE: Final = f"free some space, or name another state directory with {STATE_DIRECTORY_VARIABLE}"
_ELSEWHERE: Final = (
    f"make the state directory writable for you, or name another with {STATE_DIRECTORY_VARIABLE}"
)

# Connections per thread by database path, with the inode of the opened file.
_connections = threading.local()


# A process that visits many roots must not run out of descriptors.
_MOST_OPEN: Final = 8


def close_idle(most: int = 0) -> None:
    """Close this thread's idle connections, except for the `most` recently opened."""
    opened: dict[str, tuple[int, sqlite3.Connection]] = _connections.__dict__
    for path in [*opened][: max(0, len(opened) - most)]:
        if not opened[path][1].in_transaction:
            opened.pop(path)[1].close()


# A forked process must neither use nor close a connection of its parent.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=close_idle)


def _prepare(connection: sqlite3.Connection, directory: str) -> None:
    """Set up a connection, creating missing tables."""
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > _VERSION:
        raise StorageRefused.of(
            Code.JOURNAL_CORRUPT,
            f"the store in `{directory}` was written by a newer mdplan (version {version})",
            f"update mdplan, or name another state directory with {STATE_DIRECTORY_VARIABLE}",
        )
    # A state directory may have been copied to another file system.
    # WAL mode needs shared memory.
    mode = "truncate" if _file_system_of(directory) in _SHARED_BY_MACHINES else "wal"
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != mode:
        connection.execute(f"PRAGMA journal_mode = {mode}")
    if version < _VERSION:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
                make_tables(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def make_tables(connection: sqlite3.Connection) -> None:
    """Create all tables and views in an empty database."""
    with open(os.path.join(os.path.dirname(__file__), "store.sql"), encoding="ascii") as file:
        statements = file.read().split(";\n")
    for statement in statements:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {_VERSION}")


_SHARED_BY_MACHINES: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "afs", "lustre"}
)


def _file_system_of(directory: str) -> str:
    """Return the file system type of a folder on Linux, or an empty string."""
    if sys.platform != "linux":
        return ""
    device = os.stat(directory).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError), open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            fields = line.split()
            if fields[2] == wanted:
                return fields[fields.index("-") + 1]
    return ""


def put_parts(database: sqlite3.Connection, key: str, data: bytes) -> None:
    """Store `data` under a new `key`, compressed in parts of at most 1 MiB."""
    put_stream(database, key, (data,), len(data))


def put_stream(database: sqlite3.Connection, key: str, data: Iterable[bytes], most_bytes: int) -> None:
    """Store streamed data like `put_parts`. Raise `StorageRefused` if it is too large."""
    if database.execute("SELECT 1 FROM parts WHERE key = ? LIMIT 1", (key,)).fetchone() is not None:
        return
    waiting, part, size = bytearray(), 0, 0

    def put() -> None:
        database.execute("INSERT INTO parts VALUES (?, ?, ?)", (key, part, zlib.compress(waiting, 1)))

    for chunk in data:
        size += len(chunk)
        if size > most_bytes:
            raise StorageRefused(())
        for start in range(0, len(chunk), _PART_BYTES):
            piece = chunk[start : start + _PART_BYTES]
            if len(waiting) + len(piece) > _PART_BYTES:
                put()
                waiting.clear()
                part += 1
            waiting += piece
    put()


def get_parts(database: sqlite3.Connection, key: str) -> bytes | None:
    """Return the data under `key`; None if missing or damaged."""
    rows = database.execute("SELECT data FROM parts WHERE key = ? ORDER BY part", (key,)).fetchall()
    try:
        return b"".join(zlib.decompress(row[0]) for row in rows) if rows else None
    except zlib.error:
        return None


def _mark_clean(database: sqlite3.Connection, transactions: Iterable[str]) -> None:
    database.executemany(
        "UPDATE transactions SET is_clean = 1 WHERE id = ?", ((name,) for name in transactions)
    )


def _forget(database: sqlite3.Connection, sequence: int, transaction: str) -> None:
    """Remove a transaction, and the contents that only it refers to."""
    rows = database.execute("SELECT base, result FROM files WHERE sequence = ?", (sequence,)).fetchall()
    database.execute("DELETE FROM transactions WHERE sequence = ?", (sequence,))
    database.execute("DELETE FROM parts WHERE key = ?", (f"note {transaction}",))
    drop_unused(database, {sha256 for row in rows for sha256 in row if sha256 is not None})


def drop_unused(database: sqlite3.Connection, digests: Iterable[str]) -> None:
    """Delete the contents in `digests` that no transaction or plan refers to."""
    unused = (
        "NOT EXISTS (SELECT 1 FROM files WHERE base = :key) AND NOT EXISTS (SELECT 1 FROM files WHERE"
        " result = :key) AND NOT EXISTS (SELECT 1 FROM plan_bases WHERE sha256 = :key)"
    )
    keys = [{"key": sha256} for sha256 in digests]
    database.executemany(f"DELETE FROM parts WHERE key = :key AND {unused}", keys)  # noqa: S608 (ours)
    database.executemany(f"DELETE FROM traits WHERE sha256 = :key AND {unused}", keys)  # noqa: S608 (ours)


def _content_bytes(database: sqlite3.Connection) -> int:
    """Return the stored bytes of old contents and notes."""
    query = "SELECT total(length(data)) FROM parts WHERE key NOT GLOB 'plan *'"
    return int(database.execute(query).fetchone()[0])


def _decoded(note: bytes) -> dict[str, Any]:
    """Return the engine's note, or an empty dict if it is not an object."""
    try:
        decoded = json.loads(note)
    except (ValueError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}
