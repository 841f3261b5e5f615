"""A batch that its own evidence pins is not done twice, though its evidence would hold again."""

from pathlib import Path
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from mdplan.reports.plan import ApplyReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability

BASE = "# A\n\nfoo\n\n# B\n\nx\n"
LONGER = {"op": "replace_match", "pattern": "foo", "replacement": "a foo"}
NEW_LINE = {"op": "insert_lines", "line": 1, "position": "after", "expectedText": "# A", "markdown": "new"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "root" / "a.md"
    path.parent.mkdir()
    path.write_text(BASE)
    return path


def apply(file: Path, *edits: dict[str, Any], **fields: object) -> ApplyReport:
    """One batch, sent to an engine that knows nothing but what is stored."""
    with Engine.open([file.parent], settings=Settings(durability=Durability.PROCESS)).workspace as workspace:
        engine = Engine(workspace, Settings(durability=Durability.PROCESS))
        return engine.apply({"file": "a.md", "edits": list(edits), **fields})


@pytest.mark.parametrize("edit", [LONGER, NEW_LINE])
def test_repeated_batch_returns_the_first_receipt(file: Path, edit: dict[str, Any]) -> None:
    first = apply(file, edit)
    after = file.read_text()
    second = apply(file, edit)

    assert first.applied
    assert not first.already_applied
    assert second.already_applied
    assert second.plan_id == first.plan_id
    assert second.receipt.transaction == first.receipt.transaction
    assert file.read_text() == after


def test_batch_based_on_its_result_is_committed_again(file: Path) -> None:
    first = apply(file, LONGER)
    second = apply(file, LONGER, baseSha256=first.files[0].result_sha256)

    assert second.applied
    assert not second.already_applied
    assert "a a foo" in file.read_text()


def test_batch_is_committed_again_when_its_result_is_gone(file: Path) -> None:
    apply(file, LONGER)
    file.write_text(BASE)

    assert not apply(file, LONGER).already_applied
    assert file.read_text() == BASE.replace("foo", "a foo")


def test_intervening_batch_makes_a_new_commit(file: Path) -> None:
    apply(file, LONGER)
    apply(file, {"op": "replace_match", "pattern": "x", "replacement": "y"})
    apply(file, {"op": "replace_match", "pattern": "y", "replacement": "x"})

    assert not apply(file, LONGER).already_applied


def test_changed_options_make_a_new_commit(file: Path) -> None:
    apply(file, LONGER)

    assert not apply(file, LONGER, sequential=True).already_applied


def test_rebased_batch_is_not_rebased_onto_its_own_result(file: Path) -> None:
    base = apply(file, LONGER, dryRun=True).base_sha256
    file.write_text(BASE + "\nmore\n")
    first = apply(file, LONGER, baseSha256=base, onStale="rebase")
    second = apply(file, LONGER, baseSha256=base, onStale="rebase")

    assert first.rebased
    assert second.already_applied
    assert file.read_text() == BASE.replace("foo", "a foo") + "\nmore\n"
