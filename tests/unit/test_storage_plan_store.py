"""Plans outlive the process, in a directory that is the user's alone."""

import os
from pathlib import Path

import pytest

from mdplan.storage.filesystem import Step
from mdplan.storage.plans import DEFAULT_KEPT_SECONDS, PlanStore
from tests.disk import NOBODY, FailingDisk

A = "sha256-" + "a" * 64
B = "sha256-" + "a" * 12 + "b" * 52
NOW = 1_000_000_000.0


def files_in(folder: Path) -> list[Path]:
    """All regular files below `folder`."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_plan_is_found_by_another_store_of_the_same_root(state_dir: Path) -> None:
    assert PlanStore("/root").save_plan(A, [b"{}\n"], NOW)

    assert PlanStore("/root").load_plan(A) == b"{}\n"
    assert PlanStore("/other").load_plan(A) is None
    assert PlanStore("/root").load_plan(B) is None


def test_stored_files_are_private(state_dir: Path) -> None:
    PlanStore("/root").save_plan(A, [b"{}"], NOW)

    assert {path.stat().st_mode & 0o777 for path in files_in(state_dir)} == {0o600}
    folders = [state_dir, *(path for path in state_dir.rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in folders} == {0o700}


def test_plan_is_named_by_twelve_digits_that_only_it_has(state_dir: Path) -> None:
    store = PlanStore("/root")
    store.save_plan(A, [b"A"], NOW)
    assert store.load_plan("a" * 12) == b"A"

    store.save_plan(B, [b"B"], NOW)
    assert store.load_plan("a" * 12) is None
    assert store.load_plan("a" * 13) == b"A"
    assert store.load_plan("sha256-" + "A" * 12 + "B") == b"B"


@pytest.mark.parametrize(
    "plan_id",
    ["", "a" * 11, "a" * 65, "sha256-", "../" + "a" * 20, "a" * 64 + "\n", "sha256-" + "g" * 64, "*" * 12],
)
def test_malformed_id_touches_no_file(state_dir: Path, plan_id: str) -> None:
    disk = FailingDisk()
    store = PlanStore("/root", filesystem=disk)

    assert store.load_plan(plan_id) is None
    assert not store.save_plan(plan_id, [b"{}"], NOW)
    assert not disk.reached
    assert not state_dir.exists()


def test_plan_is_not_saved_under_an_id_prefix(state_dir: Path) -> None:
    assert not PlanStore("/root").save_plan("a" * 12, [b"{}"], NOW)


def test_plans_are_listed_newest_first(state_dir: Path) -> None:
    store = PlanStore("/root")
    assert store.list_plans() == ()
    for number, plan_id in enumerate((A, B)):
        store.save_plan(plan_id, [b""], NOW)
        path = next(path for path in files_in(state_dir) if path.stem == plan_id.removeprefix("sha256-"))
        os.utime(path, (NOW + number, NOW + number))

    assert [(plan.plan_id, plan.saved_at) for plan in store.list_plans()] == [(B, NOW + 1), (A, NOW)]


def test_saving_removes_expired_plans(state_dir: Path) -> None:
    store = PlanStore("/root")
    store.save_plan(A, [b"A"], NOW)
    os.utime(files_in(state_dir)[0], (NOW, NOW))
    PlanStore("/root").save_plan(B, [b"B"], NOW + DEFAULT_KEPT_SECONDS)
    assert store.load_plan(A) == b"A"

    PlanStore("/root").save_plan(B, [b"B"], NOW + DEFAULT_KEPT_SECONDS + 1)
    assert store.load_plan(A) is None


def test_read_only_store_saves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    store = PlanStore("/root", directory=str(tmp_path / "file" / "state"))

    assert not store.save_plan(A, [b"{}"], NOW)
    assert store.load_plan(A) is None
    assert store.list_plans() == ()


@pytest.mark.parametrize("step", [Step.CREATE, Step.WRITE, Step.SYNC, Step.CLOSE, Step.RENAME])
def test_failed_save_keeps_the_earlier_plan(state_dir: Path, step: Step) -> None:
    PlanStore("/root").save_plan(A, [b"whole"], NOW)
    store = PlanStore("/root", filesystem=FailingDisk(step, 1, 5))

    assert not store.save_plan(A, [b"other"], NOW)
    assert [path.read_bytes() for path in files_in(state_dir)] == [b"whole"]


@pytest.mark.parametrize("trap", ["link", "writable-for-all", "another-user's"])
def test_plan_folder_accessible_to_others_is_not_used(state_dir: Path, tmp_path: Path, trap: str) -> None:
    store = PlanStore("/root")
    store.save_plan(A, [b"{}"], NOW)
    folder = files_in(state_dir)[0].parent
    if trap == "link":
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    elif trap == "writable-for-all":
        folder.chmod(0o777)
    elif os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    else:
        pytest.skip("needs root, to give a folder away")

    assert store.load_plan(A) is None
    assert not store.save_plan(B, [b"{}"], NOW)


def test_default_directory_is_the_user_state_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MDPLAN_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    if not PlanStore("/root").save_plan(A, [b"{}"], NOW):
        pytest.fail("nothing was stored")

    assert [path.relative_to(tmp_path).parts[0] for path in files_in(tmp_path)] == ["mdplan"]
