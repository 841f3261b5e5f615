"""Past transactions: listed, undone and redone as plans, and the one truth about what was committed."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.engine.engine import Engine
from mdplan.plan import Plan
from mdplan.reports.base import Report, to_wire
from mdplan.reports.plan import ApplyReport
from mdplan.requests.batch import Batch
from mdplan.requests.verbs import OnStale
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.storage.root import Root
from mdplan.storage.store import FileEntry, Record, Store, Transaction
from mdplan.text.source import sha256_hex
from tests.support.golden_cases import read_tree

SETTINGS = Settings(durability=Durability.PROCESS, lock_timeout=0.2)
GUIDE = b"# Guide\n\nIntro.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"
REPLACE = {"op": "replace_match", "pattern": "Run it", "replacement": "Run that"}
APPEND = {"op": "append_to_section", "heading": "Install", "markdown": "Then rest."}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.md").write_bytes(GUIDE)
    (root / "b.md").write_bytes(b"\xef\xbb\xbf# B\r\n\r\nbytes \r\n")
    return root


@pytest.fixture
def engine(folder: Path) -> Engine:
    times = iter(range(1_000_000_000, 2_000_000_000))
    engine = Engine.open([folder], settings=SETTINGS)
    return Engine(engine.workspace, SETTINGS, clock=lambda: float(next(times)))


def batch(*edits: Mapping[str, Any], file: str = "a.md", **fields: object) -> dict[str, Any]:
    return {"file": file, "edits": list(edits), **fields}


def commit(engine: Engine, request: Mapping[str, Any]) -> str:
    """Apply `request`, pinned by a plan; the transaction."""
    report = engine.apply({"planId": engine.plan(request).plan_id})
    assert report.applied, report.error
    assert report.receipt is not None
    return report.receipt.transaction


def codes(report: Report) -> list[Code]:
    return [diagnostic.code for diagnostic in report.diagnostics]


def test_undo_restores_the_mode_of_a_deleted_file(engine: Engine, folder: Path) -> None:
    (folder / "b.md").chmod(0o640)
    engine.undo(commit(engine, batch({"op": "delete_file"}, file="b.md")))

    assert (folder / "b.md").stat().st_mode & 0o777 == 0o640


def test_dry_run_gives_a_plan_that_is_shown_exported_and_applied(engine: Engine, folder: Path) -> None:
    transaction = commit(engine, batch(REPLACE))
    after = (folder / "a.md").read_bytes()

    planned = engine.undo(transaction, dry_run=True)
    assert (planned.ok, planned.applied, planned.stored) == (True, False, True)
    assert (folder / "a.md").read_bytes() == after
    assert "-Run that." in planned.diff
    assert engine.show(planned.plan_id).diff == planned.diff

    document = json.loads(engine.export(planned.plan_id))
    assert document["files"][0]["requested"] == [{"op": "undo", "transaction": transaction}]
    report = engine.apply(document)
    assert report.applied
    assert (folder / "a.md").read_bytes() == GUIDE
    assert engine.apply(document).already_applied


@pytest.mark.requirement("undo-2")
def test_undo_of_a_changed_file_is_stale_and_writes_nothing(engine: Engine, folder: Path) -> None:
    transaction = commit(engine, {"files": [batch(REPLACE), batch({"op": "delete_file"}, file="b.md")]})
    theirs = (folder / "a.md").read_bytes().replace(b"Use it.", b"Use it well.")
    (folder / "a.md").write_bytes(theirs)

    report = engine.undo(transaction)

    assert codes(report) == [Code.STALE_BASE]
    assert [candidate.heading_path for candidate in report.error.candidates] == [("Guide", "Use")]
    assert (folder / "a.md").read_bytes() == theirs
    assert not (folder / "b.md").exists()


def test_undo_with_rebase_keeps_changes_of_other_lines(engine: Engine, folder: Path) -> None:
    transaction = commit(engine, batch(REPLACE))
    # Before and after the lines of the transaction.
    theirs = {b"Intro.": b"Introduction.\n\nMore.", b"Use it.": b"Use it well."}
    for old, new in theirs.items():
        (folder / "a.md").write_bytes((folder / "a.md").read_bytes().replace(old, new))

    report = engine.undo(transaction, on_stale="rebase")

    assert (report.applied, report.rebased) == (True, True)
    kept = GUIDE
    for old, new in theirs.items():
        kept = kept.replace(old, new)
    assert (folder / "a.md").read_bytes() == kept


def test_stored_undo_is_rebased_when_applied(engine: Engine, folder: Path) -> None:
    plan_id = engine.undo(commit(engine, batch(REPLACE)), dry_run=True).plan_id
    (folder / "a.md").write_bytes((folder / "a.md").read_bytes() + b"\nMore.\n")

    assert codes(engine.apply({"planId": plan_id})) == [Code.STALE_BASE]
    report = engine.apply({"planId": plan_id, "onStale": "rebase"})

    assert report.rebased
    assert report.plan_id != plan_id
    assert (folder / "a.md").read_bytes() == GUIDE + b"\nMore.\n"


@pytest.mark.parametrize(
    ("request_", "meanwhile", "code"),
    [
        (batch({"op": "create_file", "markdown": "x\n"}, file="c.md"), ("c.md", b"y\n"), Code.STALE_BASE),
        (batch({"op": "create_file", "markdown": "x\n"}, file="c.md"), ("c.md", None), None),
        (batch({"op": "delete_file"}, file="b.md"), ("b.md", b"mine\n"), Code.FILE_EXISTS),
        (batch({"op": "rename_file", "newFile": "c.md"}), ("a.md", b"mine\n"), Code.FILE_EXISTS),
        (batch({"op": "rename_file", "newFile": "c.md"}), ("c.md", None), Code.FILE_NOT_FOUND),
    ],
)
@pytest.mark.parametrize("on_stale", ["refuse", "rebase"])
def test_undo_neither_overwrites_nor_deletes_foreign_files(
    engine: Engine,
    folder: Path,
    request_: Mapping[str, Any],
    meanwhile: tuple[str, bytes | None],
    code: Code | None,
    on_stale: OnStale,
) -> None:
    transaction = commit(engine, request_)
    name, data = meanwhile
    if data is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(data)
    before = read_tree(folder)

    report = engine.undo(transaction, on_stale=on_stale)

    assert codes(report) == ([code] if code else [])
    assert bool(report.already_applied) is (code is None)
    assert read_tree(folder) == before


def test_undo_follows_names_that_were_swapped_since_and_takes_the_swap_back(
    engine: Engine, folder: Path
) -> None:
    before = read_tree(folder)
    replaced = commit(engine, batch(REPLACE))
    swap = (("a.md", "b.md"), ("b.md", "a.md"))
    request = {"files": [batch({"op": "rename_file", "newFile": new}, file=old) for old, new in swap]}
    swapped = commit(engine, request)

    assert engine.undo(replaced).ok
    assert read_tree(folder) == {"a.md": before["b.md"], "b.md": before["a.md"]}
    assert engine.undo(swapped, on_stale="rebase").ok
    assert read_tree(folder) == before


def test_undo_cannot_be_accepted_in_part(engine: Engine) -> None:
    plan_id = engine.undo(commit(engine, batch(REPLACE)), dry_run=True).plan_id

    assert codes(engine.apply({"planId": plan_id, "accept": [0]})) == [Code.INVALID_ARGUMENT]


@pytest.mark.parametrize("transaction", [None, "0123456789abcdef", "", "abc", "../../etc"])
def test_unknown_transaction_is_refused(engine: Engine, transaction: str | None) -> None:
    report = engine.undo(transaction)

    assert codes(report) == [Code.NOT_UNDOABLE]


def test_missing_old_content_is_named(engine: Engine, folder: Path) -> None:
    transaction = commit(engine, {"files": [batch(REPLACE), batch({"op": "delete_file"}, file="b.md")]})
    with Store(str(folder)).write() as database:
        database.execute("DELETE FROM parts WHERE key <> ? AND length(key) = 64", (sha256_hex(GUIDE),))
    before = read_tree(folder)

    report = engine.undo(transaction)

    assert codes(report) == [Code.NOT_UNDOABLE]
    assert report.error.file == "b.md"
    assert read_tree(folder) == before


def test_redone_transaction_is_not_marked_as_undone(engine: Engine) -> None:
    transaction = commit(engine, batch(REPLACE))
    undo = engine.undo(transaction).receipt.transaction
    redo = engine.undo(undo).receipt.transaction

    by_id = {entry.transaction: entry for entry in engine.history().transactions}

    assert (by_id[undo].undone_by, by_id[transaction].undone_by) == (redo, None)


def test_history_can_be_limited_to_a_number_and_a_file(engine: Engine) -> None:
    mine = commit(engine, batch(REPLACE))
    other = commit(engine, batch({"op": "create_file", "markdown": "x\n"}, file="c.md"))

    assert [entry.transaction for entry in engine.history(file="a.md").transactions] == [mine]
    limited = engine.history(limit=1)
    assert ([entry.transaction for entry in limited.transactions], limited.more) == ([other], True)
    assert codes(engine.history(file="../a.md")) == [Code.PATH_OUTSIDE_ROOT]


def test_renamed_file_is_found_under_both_names(engine: Engine) -> None:
    transaction = commit(engine, batch({"op": "rename_file", "newFile": "c.md"}))

    for name in ("a.md", "c.md"):
        assert [entry.transaction for entry in engine.history(file=name).transactions] == [transaction]


def test_unchanged_file_is_in_no_diff_and_no_undo(engine: Engine) -> None:
    nothing = {"op": "replace_match", "pattern": "bytes", "replacement": "bytes"}
    transaction = commit(engine, {"files": [batch(REPLACE), batch(nothing, file="b.md")]})

    report = engine.transaction(transaction)

    assert report.ok, report.error
    assert [file.file for file in report.transactions[0].files] == ["a.md"]
    assert [file.file for file in engine.undo(transaction).files] == ["a.md"]


def test_damaged_store_is_a_warning_and_is_never_overwritten(engine: Engine, folder: Path) -> None:
    commit(engine, batch(REPLACE))
    store = Store(str(folder))
    store.close()
    Path(store.path).write_bytes(b"torn" * 2000)

    report = engine.history()

    assert report.transactions == ()
    assert [(w.code, w.severity) for w in report.warnings] == [(Code.JOURNAL_CORRUPT, Severity.WARNING)]
    assert codes(engine.undo()) == [Code.JOURNAL_CORRUPT]
    assert codes(engine.apply(batch(APPEND))) == [Code.JOURNAL_CORRUPT]
    assert Path(store.path).read_bytes() == b"torn" * 2000


def test_history_and_undo_work_under_another_root_name(engine: Engine, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    both = Engine.open({"docs": folder, "other": tmp_path / "other"}, settings=SETTINGS)
    report = both.apply({"planId": both.plan(batch(REPLACE, file="docs:a.md")).plan_id})

    assert [entry.root for entry in both.history().transactions] == ["docs"]
    assert engine.history().transactions[0].files[0].file == "a.md"
    assert engine.undo(report.receipt.transaction).applied
    assert (folder / "a.md").read_bytes() == GUIDE
    assert both.undo().applied
    assert b"Run that." in (folder / "a.md").read_bytes()


PLAN = {"mdplanPlan": 1, "planId": "sha256-0", "files": []}


@pytest.mark.parametrize(
    "note",
    [
        {},
        {"committedAt": 1e400, "undoes": ["x"], "planId": 3, "rootName": None, "durability": {}},
        {"committedAt": 10**400, "plan": 7, "planId": "sha256-0", "rootName": "\ud800"},
        {"committedAt": "now", "plan": PLAN, "planId": "sha256-0", "rootName": ""},
    ],
)
def test_foreign_record_is_listed_and_never_undone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, note: dict[str, object]
) -> None:
    entry = FileEntry(path="a.md", base=None, base_bytes=0, result="0" * 64, result_bytes=1)
    record = Record(transaction="ffffffffffffffff", entries=(entry,))
    strange = Transaction(record=record, state="committed", note=note, undoable=True)
    monkeypatch.setattr("mdplan.storage.store.Store.transactions", lambda *_: iter([strange]))

    (entry,) = engine.history().transactions

    assert (entry.transaction, entry.undoable, entry.committed_at) == (strange.id, False, None)
    json.dumps(to_wire(entry), allow_nan=False)
    assert codes(engine.undo()) == [Code.NOT_UNDOABLE]
    assert codes(engine.transaction(strange.id)) == [Code.NOT_UNDOABLE]
    assert codes(engine.show("sha256-" + "0" * 64)) == [Code.PLAN_NOT_FOUND]
    assert engine.apply(batch(REPLACE)).applied


# Only the history shows what was committed.


def forget_plans(folder: Path) -> None:
    """Lose all plans, but not what was committed."""
    with Store(str(folder)).write() as database:
        database.execute("DELETE FROM plans")
        database.execute("DELETE FROM parts WHERE key GLOB 'plan *'")


@pytest.mark.requirement("history-1")
@pytest.mark.parametrize("is_pinned", [False, True])
def test_receipt_of_a_repeated_batch_is_in_the_history(engine: Engine, folder: Path, is_pinned: bool) -> None:
    longer = batch({"op": "replace_match", "pattern": "Run it", "replacement": "Run it, run it"})
    longer |= {"baseSha256": sha256_hex((folder / "a.md").read_bytes())} if is_pinned else {}
    first = engine.apply(longer)
    forget_plans(folder)
    second = engine.apply(longer)

    assert second.already_applied
    assert second.receipt.transaction == first.receipt.transaction
    assert (folder / "a.md").read_bytes().count(b"run it") == 1


def test_undone_batch_is_committed_again_and_redone_batch_is_not(engine: Engine, folder: Path) -> None:
    longer = batch({"op": "replace_match", "pattern": "Run it", "replacement": "Run it, run it"})
    first = engine.apply(longer)
    undone = engine.undo(first.receipt.transaction)
    engine.undo(undone.receipt.transaction)
    assert engine.apply(longer).already_applied

    engine.undo()  # The redo.
    again = engine.apply(longer)
    assert (again.applied, again.already_applied) == (True, None)
    assert again.receipt.transaction != first.receipt.transaction
    assert (folder / "a.md").read_bytes().count(b"run it") == 1


def test_committed_plan_is_available_from_the_history(engine: Engine, folder: Path) -> None:
    plan_id = engine.apply(batch(REPLACE)).plan_id
    forget_plans(folder)

    assert engine.show(plan_id).applied
    assert engine.show(plan_id[:30]).plan_id == plan_id
    assert json.loads(engine.export(plan_id))["planId"] == plan_id
    assert engine.apply({"planId": plan_id}).already_applied


# Actions of others between a plan and its lock.


CREATE = batch({"op": "create_file", "markdown": "# C\n"}, file="c.md")
RENAME = batch({"op": "rename_file", "newFile": "c.md"}, baseSha256=sha256_hex(GUIDE))


def be_overtaken(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, other: Callable[[], object]
) -> list[object]:
    """Let `other` come between the first plan of `engine` and its lock; what it gives is in the list then."""
    planned, done = engine.planner.plan, []

    def plan(asked: Batch, tick: object = None) -> object:
        del tick
        found = planned(asked)
        if not done:
            done.append(other())
        return found

    monkeypatch.setattr(engine.planner, "plan", plan)
    return done


def test_create_rechecks_existence_under_the_lock(
    engine: Engine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Engine.open([folder], settings=SETTINGS)
    first = be_overtaken(engine, monkeypatch, lambda: other.apply(CREATE))
    second = engine.apply(CREATE)

    assert engine.recovery.recover_pending() == []
    assert isinstance(first[0], ApplyReport)
    assert first[0].applied
    assert second.already_applied
    assert second.receipt.transaction == first[0].receipt.transaction


@pytest.mark.parametrize(
    ("asked", "other", "code"),
    [
        (CREATE, Path.mkdir, Code.NOT_A_TEXT_FILE),
        (CREATE, lambda path: path.symlink_to("a.md"), Code.SYMLINK_REFUSED),
        (RENAME, Path.touch, Code.FILE_EXISTS),
    ],
)
def test_new_obstacle_is_detected_under_the_lock(
    engine: Engine,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: dict[str, Any],
    other: Callable[[Path], object],
    code: Code,
) -> None:
    before = (folder / "a.md").read_bytes()
    be_overtaken(engine, monkeypatch, lambda: other(folder / "c.md"))

    assert codes(engine.apply(asked)) == [code]
    assert (folder / "a.md").read_bytes() == before


# Approval.

NOT_YET = Diagnostic(code=Code.APPROVAL_REQUIRED, message="nobody has looked at it", hint="ask")


def test_refused_approval_writes_nothing_and_keeps_the_plan(folder: Path) -> None:
    asked: list[tuple[str, Root]] = []

    def approval(plan: Plan, root: Root) -> tuple[Diagnostic, ...]:
        asked.append((plan.plan_id, root))
        return (NOT_YET,)

    engine = Engine.open([folder], settings=SETTINGS, approval=approval)
    plan_id = engine.plan(batch(REPLACE)).plan_id

    for request in (
        {"planId": plan_id},
        batch(REPLACE),
        batch({"op": "create_file", "markdown": ""}, file="c.md"),
    ):
        report = engine.apply(request)
        assert codes(report) == [Code.APPROVAL_REQUIRED]
        assert (report.applied, report.stored) == (False, True)
        assert engine.show(report.plan_id).diff == report.diff
    assert [asked_of for asked_of, _ in asked][:2] == [plan_id, plan_id]
    assert asked[0][1] is engine.workspace.roots[0]
    assert read_tree(folder).keys() == {"a.md", "b.md"}
    assert (folder / "a.md").read_bytes() == GUIDE


@pytest.mark.requirement("approval-1")
def test_undo_and_rebased_plans_need_approval(engine: Engine, folder: Path) -> None:
    asked: list[str] = []

    def approval(plan: Plan, root: Root) -> tuple[Diagnostic, ...]:
        asked.append(plan.plan_id)
        return (NOT_YET,)

    plan_id = engine.plan(batch(REPLACE)).plan_id
    transaction = commit(engine, batch(APPEND))
    strict = Engine(engine.workspace, SETTINGS, approval=approval)

    undone = strict.undo(transaction)
    rebased = strict.apply({"planId": plan_id, "onStale": "rebase"})

    assert codes(undone) == codes(rebased) == [Code.APPROVAL_REQUIRED]
    assert asked == [undone.plan_id, rebased.plan_id]
    assert plan_id not in asked


def test_empty_plan_needs_no_approval(folder: Path) -> None:
    engine = Engine.open([folder], settings=SETTINGS, approval=lambda plan, root: (NOT_YET,))
    nothing = batch(REPLACE | {"replacement": "Run it"})

    assert engine.apply({"planId": engine.plan(nothing).plan_id}).no_op
