"""The tests of session guards find each of ten faults that are planted in them."""

from collections.abc import Callable, Collection
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

import pytest
from hypothesis import Phase, given, settings

from mdplan.documents import documents as seen_bases
from mdplan.documents.documents import Seen
from mdplan.engine import commit as committer
from mdplan.mcp import adapter
from mdplan.mcp import md_tools as md_calls
from mdplan.mcp import md_tools as md_history
from mdplan.mcp.calls import ShownFiles, ShownVersion
from mdplan.requests.batch import Batch
from mdplan.storage.names import FileName
from mdplan.storage.root import Workspace
from tests.properties import test_session_guards as guards

_PATCH = pytest.MonkeyPatch


def no_guard(patch: _PATCH) -> None:
    patch.setattr(md_calls, "seen_bases", lambda: None)


def one_memory_for_all_clients(patch: _PATCH) -> None:
    shown = ShownFiles()
    patch.setattr(adapter, "_shown_in_session", lambda _: shown)


def looks_are_not_noted(patch: _PATCH) -> None:
    patch.setattr(md_calls, "note_shown", lambda *_: None)


def only_hashes_of_the_first_look_count(patch: _PATCH) -> None:
    def note(self: ShownFiles, file: str, version: ShownVersion) -> None:
        self._versions.setdefault(file, version)

    patch.setattr(ShownFiles, "note", note)


def own_commits_are_not_noted(patch: _PATCH) -> None:
    patch.setattr(ShownFiles, "follow", lambda *_: None)


def own_undo_is_not_noted(patch: _PATCH) -> None:
    patch.setattr(md_history, "note_written", lambda *_: None)


def commits_on_unseen_versions_count_as_seen(patch: _PATCH) -> None:
    def follow(
        self: ShownFiles, file: str, _: str | None, version: ShownVersion | None, new_file: str
    ) -> None:
        self._versions.pop(file, None)
        if version is not None:
            self._versions[new_file] = version

    patch.setattr(ShownFiles, "follow", follow)


def what_one_client_writes_all_have_seen(patch: _PATCH) -> None:
    everybody: list[ShownFiles] = []
    start, follow = ShownFiles.__init__, ShownFiles.follow

    def started(self: ShownFiles) -> None:
        start(self)
        everybody.append(self)

    def followed(
        self: ShownFiles, file: str, old: str | None, version: ShownVersion | None, new_file: str
    ) -> None:
        del self
        for each in everybody:
            follow(each, file, old, version, new_file)

    patch.setattr(ShownFiles, "__init__", started)
    patch.setattr(ShownFiles, "follow", followed)


def only_the_first_file_is_guarded(patch: _PATCH) -> None:
    guarded = seen_bases.with_seen_bases

    def first_alone(
        batch: Batch, workspace: Workspace, seen: Seen, unguarded: Collection[str | None] = ()
    ) -> Batch:
        made = guarded(batch, workspace, seen, unguarded)
        now = guarded(batch, workspace, _now(workspace), unguarded)
        return made.model_copy(update={"files": (made.files[0], *now.files[1:])})

    patch.setattr(committer, "with_seen_bases", first_alone)


def the_file_as_it_is_now_is_the_guard(patch: _PATCH) -> None:
    guarded = seen_bases.with_seen_bases

    def of_now(
        batch: Batch, workspace: Workspace, seen: Seen, unguarded: Collection[str | None] = ()
    ) -> Batch:
        now = _now(workspace)
        return guarded(batch, workspace, lambda file: now(file) if seen(file) else None, unguarded)

    patch.setattr(committer, "with_seen_bases", of_now)


def the_file_that_a_section_moves_to_is_unguarded(patch: _PATCH) -> None:
    guarded = seen_bases.with_seen_bases

    def but_not_the_other(
        batch: Batch, workspace: Workspace, seen: Seen, unguarded: Collection[str | None] = ()
    ) -> Batch:
        now = _now(workspace)
        named = {file.file for file in batch.files}
        return guarded(batch, workspace, lambda file: seen(file) if file in named else now(file), unguarded)

    patch.setattr(committer, "with_seen_bases", but_not_the_other)


def _now(workspace: Workspace) -> Seen:
    """Gives the hash of a file as it is on disk."""

    def now(file: str) -> str:
        name = workspace.locate(file)
        assert isinstance(name, FileName)
        return sha256(Path(workspace.root_of(name).path, name.path).read_bytes()).hexdigest()

    return now


FAULTS: Final[tuple[Callable[[_PATCH], None], ...]] = (
    no_guard,
    one_memory_for_all_clients,
    looks_are_not_noted,
    only_hashes_of_the_first_look_count,
    own_commits_are_not_noted,
    own_undo_is_not_noted,
    commits_on_unseen_versions_count_as_seen,
    what_one_client_writes_all_have_seen,
    only_the_first_file_is_guarded,
    the_file_as_it_is_now_is_the_guard,
    the_file_that_a_section_moves_to_is_unguarded,
)
_DIRECTED: Final = (
    guards.test_move_is_stale_if_either_file_changed,
    guards.test_undo_by_one_client_makes_plans_of_another_stale,
    guards.test_each_file_of_a_batch_needs_a_guard_of_its_own,
    guards.test_stale_write_names_the_section_that_changed,
    partial(
        guards.test_guarded_edit_succeeds_though_another_section_changed,
        {**guards.ONE, "expectedMatchCount": 1},
    ),
)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_planted_fault_is_detected(plant: Callable[[_PATCH], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    walk = guards.test_no_write_lands_on_a_version_its_client_has_not_seen.hypothesis.inner_test  # type: ignore[attr-defined]
    walks = settings(
        deadline=None, max_examples=40, database=None, derandomize=True, phases=(Phase.generate,)
    )(given(guards.STEPS)(walk))

    assert any(map(_fails, (*_DIRECTED, walks)))


def _fails(test: Callable[[], None]) -> bool:
    try:
        test()
    except (AssertionError, KeyError, ExceptionGroup):
        return True
    return False
