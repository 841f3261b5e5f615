"""Records of others in `.mdplan`: they have no part in the history, the order, an undo or a recovery."""

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code, Exit
from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.storage.journal import JournalEntry
from tests.hostile.attacker import ID, LAST_SEQUENCE, PLANTED, journal, plant_history, plant_record, sha256
from tests.hostile.cost import cost_of
from tests.hostile.shipped import plant_bomb
from tests.hostile.trial import HERE, Place
from tests.support.files import tree
from tests.surfaces.command_line import mdplan

EDIT = {"file": "here.md", "edits": [{"op": "append_to_file", "markdown": "Mine."}]}
MIB = 1 << 20


def own_commit(place: Place, batch: dict[str, Any] = EDIT) -> str:
    report = place.engine.write(batch)
    assert report.receipt is not None, report.error
    return report.receipt.transaction


# S4


def test_undo_never_undoes_a_foreign_transaction(place: Place) -> None:
    plant_history(place.root, "here.md")
    own = own_commit(place)

    report = place.engine.undo()

    assert (report.ok, place.engine.history().transactions[0].undoes) == (True, own)
    assert (place.root / "here.md").read_bytes() == HERE


def test_undo_finds_nothing_where_all_transactions_are_foreign(place: Place) -> None:
    planted = plant_history(place.root, "here.md")

    for transaction in (None, *planted):
        report = place.engine.undo(transaction)
        assert report.error is not None
        assert report.error.code is Code.NOT_UNDOABLE
    assert (place.root / "here.md").read_bytes() == HERE


def test_foreign_sequence_number_never_changes_the_order(place: Place) -> None:
    own = [own_commit(place)]
    plant_record(place.root, state="kept", sequence=LAST_SEQUENCE)
    own += [own_commit(place), own_commit(place)]

    assert [entry.transaction for entry in place.engine.history().transactions] == own[::-1]
    numbers = {path.name.partition("-")[0] for path in journal(place.root).iterdir()}
    assert numbers == {"00000001", "00000002", "00000003", str(LAST_SEQUENCE)}


def test_renamed_record_of_this_user_never_moves_in_the_order(place: Place) -> None:
    old, new = own_commit(place), own_commit(place)
    record = next(path for path in journal(place.root).iterdir() if old in path.name)
    record.rename(record.with_name(f"{LAST_SEQUENCE}-{old}{record.suffix}"))

    assert [entry.transaction for entry in place.engine.history().transactions] == [new]


def test_foreign_records_never_evict_own_history(place: Place) -> None:
    own = own_commit(place)
    for number in range(220):
        plant_record(place.root, state="kept", transaction=f"{number:016x}", sequence=LAST_SEQUENCE - number)
    settings = Settings(durability=Durability.PROCESS, history_transactions=2)
    with Engine.open([place.root], settings=settings) as engine:
        assert engine.write(EDIT).ok
        assert {entry.transaction for entry in engine.history().transactions if entry.undoable} >= {own}


def test_foreign_image_never_evicts_own_history(place: Place) -> None:
    own = own_commit(place)
    planted = journal(place.root).parent / "history" / ("0" * 64)
    with planted.open("wb") as file:
        file.truncate(512 * MIB)
    for _ in range(20):
        own_commit(place)

    assert own in {entry.transaction for entry in place.engine.history(100).transactions}


def test_history_shows_foreign_records_apart(place: Place) -> None:
    own = own_commit(place)
    planted = plant_history(place.root, "here.md")
    report = place.engine.history()

    assert [entry.transaction for entry in report.transactions] == [own]
    assert {entry.transaction for entry in report.foreign or ()} == set(planted)
    assert report.foreign_total == len(planted)


def test_diff_of_a_foreign_transaction_is_never_shown(place: Place) -> None:
    (planted, _) = plant_history(place.root, "here.md")
    report = place.engine.transaction(planted)

    assert report.error is not None
    assert report.error.code is Code.NOT_UNDOABLE
    assert PLANTED not in json.dumps(report.diff)


def test_plan_of_a_foreign_transaction_is_never_applied(place: Place) -> None:
    """The plan IDs of others are public, and their records contain the plans."""
    before = (place.root / "here.md").read_bytes()
    own = own_commit(place)
    plant_history(place.root, "here.md")
    plan_ids = [
        json.loads(path.read_bytes().split(b"\n")[2])["planId"]
        for path in journal(place.root).iterdir()
        if own not in path.name
    ]
    assert plan_ids
    for plan_id in plan_ids:
        report = place.engine.apply({"planId": plan_id})
        assert report.error is not None
        assert report.error.code is Code.PLAN_NOT_FOUND
    assert (place.root / "here.md").read_bytes() == before + b"Mine.\n"


# S12


@pytest.mark.parametrize("verb", ["history", "doctor", "recover", "stat"])
def test_large_foreign_record_never_costs_memory_or_time(place: Place, verb: str) -> None:
    own_commit(place)
    before = cost_of(place.root, verb, *(["."] if verb == "stat" else []))
    plant_bomb(place.root)
    after = cost_of(place.root, verb, *(["."] if verb == "stat" else []))

    assert (before.code, after.code) == (0, 0)
    assert after.memory < 200 * MIB
    assert after.seconds < before.seconds + 1


# S13


WRONG_NOTES = {
    "infinite time": b'{"committedAt":1e999,"planId":"x"}',
    "no time": b'{"committedAt":"soon"}',
    "deep": b"[" * 50_000,
    "infinite lines": b'{"rootName":"","planId":"sha256-0","plan":{"mdplanPlan":1,"files":'
    b'[{"textEdits":[],"path":"a","encoding":null,"format":null,"baseSha256":null,"resultSha256":"'
    + b"0" * 64
    + b'","linesAdded":1e999,"linesRemoved":0,"baseSections":{},"requested":[]}]}}',
    "not an object": b"7",
}


@pytest.mark.parametrize("note", WRONG_NOTES.values(), ids=WRONG_NOTES)
@pytest.mark.parametrize("sealed", [True, False], ids=["own", "foreign"])
def test_wrong_value_in_a_record_never_ends_in_a_traceback(
    place: Place, monkeypatch: pytest.MonkeyPatch, note: bytes, sealed: bool
) -> None:
    own_commit(place)
    if sealed:
        # What this user's key sealed, an older or newer version wrote.
        monkeypatch.setattr("mdplan.engine.commit.note_of", lambda *_, **__: note)
        own_commit(place)
    else:
        plant_record(place.root, state="kept", note=note)
    for arguments in (["history"], ["undo"], ["history", "--show", ID[:8]], ["doctor"], ["recover"]):
        # A bug is raised here as it is.
        run = mdplan(*arguments, "--root", str(place.root))
        assert run.code != Exit.BUG, run.err
        assert "Traceback" not in run.err


# S18


def plant_interrupted(root: Path) -> None:
    """A commit that seems to be interrupted, and would move a known file away and put a planted one in."""
    planted = PLANTED.encode()
    (root / f".mdplan-{ID}-0.tmp").write_bytes(planted)
    (root / "new.md").write_bytes(HERE)
    plant_record(
        root,
        JournalEntry(
            path="here.md",
            base=sha256(planted),
            base_bytes=len(planted),
            result=sha256(HERE),
            result_bytes=len(HERE),
        ),
        JournalEntry(path="new.md", base=None, base_bytes=0, result=sha256(HERE), result_bytes=len(HERE)),
    )


def documents(root: Path) -> dict[str, object]:
    return {name: found for name, found in tree(root).items() if not name.startswith(".mdplan")}


def recover_in(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "mdplan", "recover", *arguments, "--root", root],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments", [[], ["--yes"], ["--keep-current"], ["--restore-base", "--yes"], ["--json"]]
)
def test_recover_ignores_a_foreign_record_unless_named(place: Place, arguments: list[str]) -> None:
    plant_interrupted(place.root)
    before = documents(place.root)
    run = recover_in(place.root, *arguments)

    assert run.returncode == 0, run.stderr
    assert documents(place.root) == before


def test_recover_lists_what_a_foreign_record_would_change(place: Place) -> None:
    plant_interrupted(place.root)
    told = recover_in(place.root).stderr.decode()

    assert "would put back the old content of here.md" in told
    assert "would remove new.md" in told
    assert "Nothing of this was changed." in told


def test_foreign_recovery_without_a_terminal_needs_yes(place: Place) -> None:
    plant_interrupted(place.root)
    before = documents(place.root)

    assert recover_in(place.root, "--foreign").returncode == 2
    assert documents(place.root) == before
    assert recover_in(place.root, "--foreign", "--yes").returncode == 0
    assert (place.root / "here.md").read_bytes() == PLANTED.encode()


@pytest.mark.parametrize(("answer", "is_done"), [(b"\n", False), (b"n\n", False), (b"y\n", True)])
def test_recover_asks_on_a_terminal_before_it_acts_on_a_foreign_record(
    place: Place, answer: bytes, is_done: bool
) -> None:
    plant_interrupted(place.root)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "mdplan", "recover", "--root", place.root],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        os.write(ours, answer)
        said = b""
        while b"?" not in said:
            said += os.read(ours, 1000)
        _drain(ours)
        assert process.wait(timeout=60) == 0
    os.close(ours)

    assert b"would remove new.md" in said
    assert ((place.root / "here.md").read_bytes() == PLANTED.encode()) is is_done
    assert (place.root / "new.md").exists() is not is_done


def _drain(terminal: int) -> None:
    try:
        while os.read(terminal, 1000):
            pass
    except OSError:
        # The other end is closed.
        return


def test_foreign_interrupted_commit_never_blocks_a_commit(place: Place) -> None:
    plant_interrupted(place.root)

    assert place.engine.write(EDIT).warnings == ()
    assert (place.root / "here.md").read_bytes() == HERE + b"Mine.\n"


def test_many_foreign_records_never_make_a_commit_slow(place: Place) -> None:
    own_commit(place)
    first = plant_record(place.root, state="kept")
    for number in range(5_000):
        (first.parent / f"{LAST_SEQUENCE - number - 1}-{number:016x}.kept").hardlink_to(first)
    started = time.process_time()
    own_commit(place)
    place.engine.history()

    # Four checks of each take about a second; reading them for one another would take minutes.
    assert time.process_time() - started < 5
