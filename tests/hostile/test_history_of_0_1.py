"""What mdplan 0.1 committed stays readable and undoable; its plan IDs allow nothing.

`committed_by_0_1` is a root as mdplan 0.1 left it, with its state folder under another name. The test seals
the record for its own key and root, as if the same user had committed there.
"""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.user.user_state import seal

LEFT = Path(__file__).parent / "committed_by_0_1"
BEFORE = {"a.md": b"# A\n\none\n\ntwo\n", "b.md": b"# B\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    shutil.copytree(LEFT, root)
    (root / "mdplan-folder").rename(root / ".mdplan")
    for folder in (root / ".mdplan", *(root / ".mdplan").iterdir()):
        folder.chmod(0o700 if folder.is_dir() else 0o600)
    (record,) = (root / ".mdplan" / "tx").iterdir()
    record.chmod(0o600)
    head, _, body = record.read_bytes().partition(b"\n")
    facts = json.loads(head)
    assert facts["sha256"] == hashlib.sha256(body).hexdigest(), "the record is not as 0.1 wrote it"
    sealed = {**facts, "seal": seal(str(root), body)}
    record.write_bytes(json.dumps(sealed, separators=(",", ":")).encode() + b"\n" + body)
    return root


@pytest.fixture
def engine(root: Path) -> Engine:
    return Engine.open([root])


def documents(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.iterdir() if path.suffix == ".md"}


def test_transaction_of_0_1_is_shown_with_its_diff(engine: Engine) -> None:
    (entry,) = engine.history().transactions
    shown = engine.transaction(entry.transaction)

    assert (entry.state, entry.undoable, entry.actor) == ("committed", True, None)
    assert "-one\n+1\n" in shown.diff


def test_transaction_of_0_1_is_undone_and_redone(engine: Engine, root: Path) -> None:
    left = documents(root)

    assert engine.undo().applied
    assert documents(root) == BEFORE
    assert engine.undo().applied
    assert documents(root) == left


def test_plan_id_of_0_1_commits_nothing(engine: Engine, root: Path) -> None:
    plan_id = engine.history().transactions[0].plan_id
    engine.undo()

    for each in (engine, Engine.open([root], settings=Settings(require_approval=True))):
        report = each.apply({"planId": plan_id})
        assert report.error.code.value == "PLAN_OUTDATED"
        assert "md_validate" in report.error.hint
    assert documents(root) == BEFORE
