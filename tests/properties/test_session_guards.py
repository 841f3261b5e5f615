"""No write lands on a version of a file that its client has not seen.

Two clients and an unknown writer work on two files at once. The model records the bytes that each client was
shown, or made from them.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mdplan.documents import documents as seen_bases
from mdplan.documents.documents import Seen
from mdplan.documents.workspace import Workspace
from mdplan.engine import commit as committer
from mdplan.engine.engine import Engine
from mdplan.mcp import adapter
from mdplan.mcp import md_tools as md_calls
from mdplan.mcp import md_tools as md_history
from mdplan.mcp.tool import ShownFiles, ShownVersion
from mdplan.requests.batch import Batch
from mdplan.settings import Settings
from mdplan.storage.files import FileName
from mdplan.storage.filesystem import Durability
from tests.support.servers import build_server
from tests.surfaces.mcp_calls import Calls, calls_to

FILES = ("a.md", "b.md")
LOOKS = ("stat", "read", "hits")
BLIND = ("count", "folder", "preview")
WRITES = ("append", "all", "lines", "heading", "both")

# Who (a client, or the foreign writer), what, and of which file.
STEPS = st.lists(
    st.tuples(
        st.sampled_from((0, 0, 1, 1, 2)), st.sampled_from((*LOOKS, *BLIND, *WRITES)), st.sampled_from(FILES)
    ),
    min_size=4,
    max_size=14,
)


@contextmanager
def two_clients(root: Path) -> Iterator[tuple[Calls, Calls]]:
    """Two clients of one server, each with a session."""
    server = build_server(Engine.open([root], settings=Settings(durability=Durability.PROCESS)))
    with ExitStack() as stack:
        first, second = (stack.enter_context(calls_to(server, "legacy")) for _ in range(2))
        yield first, second


def look(calls: Calls, kind: str, file: str) -> None:
    tool, arguments = {
        "stat": ("md_stat", {"file": file}),
        "read": ("md_read", {"file": file}),
        "hits": ("md_search", {"pattern": "word", "file": file}),
        # These show no text and no outline.
        "count": ("md_search", {"pattern": "word", "file": file, "filesOnly": True}),
        "folder": ("md_stat", {"file": "."}),
        "preview": ("md_validate", {"file": file, "edits": [{"op": "append_to_file", "markdown": "x"}]}),
    }[kind]
    assert not calls.call(tool, arguments).is_error


def write(calls: Calls, kind: str, file: str, title: str, number: int) -> bool:
    """An edit without hash or evidence, of a file whose heading is `title` now; whether it was made."""
    edit = {
        "append": {"op": "append_to_file", "markdown": f"word {number}"},
        "all": {
            "op": "replace_match",
            "pattern": "word",
            "replacement": f"word {number} of",
            "matchSelection": "all",
        },
        "lines": {"op": "insert_lines", "line": 1, "position": "after", "markdown": f"\nword {number}\n"},
        "heading": {"op": "rename_heading", "heading": title, "newTitle": f"Title {number}"}
        if number % 2
        else {"op": "append_to_section", "heading": title, "markdown": f"word {number}"},
        "both": {"op": "append_to_file", "markdown": f"both {number}"},
    }[kind]
    request = {"files": list(FILES), "edits": [edit]} if kind == "both" else {"file": file, "edits": [edit]}
    result = calls.call("md_apply", request)
    codes = {"STALE_BASE", "PRECONDITION_REQUIRED"}
    assert not result.is_error or result.data["error"]["code"] in codes, result.text
    return bool(result.data["applied"])


@settings(deadline=None, max_examples=12)
@given(STEPS)
def test_no_write_lands_on_a_version_its_client_has_not_seen(steps: list[tuple[int, str, str]]) -> None:
    with TemporaryDirectory() as name:
        root = Path(name)
        for file in FILES:
            (root / file).write_text("# Title\n\nword one\n")
        shown: list[dict[str, bytes]] = [{}, {}]
        with two_clients(root) as clients:
            for number, (who, what, file) in enumerate(steps):
                if who == 2:
                    (root / file).write_bytes(
                        (root / file).read_bytes() + f"\nforeign word {number}\n".encode()
                    )
                    continue
                before = {each: (root / each).read_bytes() for each in FILES}
                if what in LOOKS:
                    look(clients[who], what, file)
                    shown[who][file] = before[file]
                elif what in BLIND:
                    look(clients[who], what, file)
                else:
                    title = before[file].decode().splitlines()[0].removeprefix("# ")
                    is_made = write(clients[who], what, file, title, number)
                    touched = FILES if what == "both" else (file,)
                    knows_all = all(shown[who].get(each) == before[each] for each in touched)
                    assert is_made == knows_all
                    for each in touched if is_made else ():
                        shown[who][each] = (root / each).read_bytes()
                    assert is_made or all((root / each).read_bytes() == text for each, text in before.items())


def test_stale_write_names_the_section_that_changed() -> None:
    with TemporaryDirectory() as name:
        root = Path(name)
        (root / "a.md").write_text("# Title\n\none\n\n## Use\n\ntwo\n")
        with two_clients(root) as (client, _):
            look(client, "stat", "a.md")
            (root / "a.md").write_text("# Title\n\none\n\n## Use\n\nTWO\n")
            result = client.call(
                "md_apply", {"file": "a.md", "edits": [{"op": "append_to_file", "markdown": "x"}]}
            )

    assert result.data["error"]["code"] == "STALE_BASE"
    assert [row for row in result.data["error"]["candidates"] if row["headingPath"][-1] == "Use"]


OLD = "# Title\n\none\n\n## Use\n\ntwo\n"
NEW = OLD.replace("two", "TWO")
ONE = {"op": "replace_match", "pattern": "one", "replacement": "1"}


@pytest.mark.parametrize(
    "edit",
    [
        {**ONE, "expectedMatchCount": 1},
        {**ONE, "heading": "Title"},
        {**ONE, "lines": {"start": 3, "end": 3}},
        {"op": "replace_lines", "lines": {"start": 3, "end": 3}, "expectedText": "one", "markdown": "1"},
    ],
    ids=["count", "section", "lines", "text"],
)
def test_guarded_edit_succeeds_though_another_section_changed(edit: dict[str, object]) -> None:
    loose = {"op": "append_to_file", "markdown": "x"}
    with TemporaryDirectory() as name:
        file = Path(name, "a.md")
        file.write_text(OLD)
        with two_clients(Path(name)) as (client, _):
            look(client, "stat", "a.md")
            file.write_text(NEW)
            result = client.call("md_apply", {"file": "a.md", "edits": [edit]})
            refused = [
                client.call("md_apply", {"file": "a.md", "edits": edits})
                for edits in ([loose], [edit, loose], [{**ONE, "pattern": "two"}])
            ]

        assert result.data["applied"]
        assert file.read_text() == NEW.replace("one", "1")
        assert {each.data["error"]["code"] for each in refused} == {"STALE_BASE"}


def test_each_file_of_a_batch_needs_a_guard_of_its_own() -> None:
    proven = {"file": "a.md", "edits": [{**ONE, "expectedMatchCount": 1}]}
    loose = {"file": "b.md", "edits": [{"op": "append_to_file", "markdown": "x"}]}
    with TemporaryDirectory() as name:
        one, other = (Path(name, file) for file in FILES)
        one.write_text(OLD)
        other.write_text(OLD)
        with two_clients(Path(name)) as (client, _):
            look(client, "stat", "a.md")
            look(client, "stat", "b.md")
            one.write_text(NEW)
            made = client.call("md_apply", {"files": [proven, loose]})
            both = (one.read_text(), other.read_text())
            other.write_text(OLD)
            refused = client.call("md_apply", {"files": [loose]})

    assert made.data["applied"]
    assert both == (NEW.replace("one", "1"), OLD + "x\n")
    assert refused.data["error"]["code"] == "STALE_BASE"


def test_move_is_stale_if_either_file_changed() -> None:
    move = {"op": "move_section", "heading": "Use", "toFile": "b.md"}
    with TemporaryDirectory() as name:
        one, other = (Path(name, file) for file in FILES)
        one.write_text(OLD)
        other.write_text("# Other\n")
        with two_clients(Path(name)) as (client, stranger):
            look(client, "stat", "a.md")
            look(stranger, "stat", "b.md")
            unseen = client.call("md_apply", {"file": "a.md", "edits": [move]})
            look(client, "stat", "b.md")
            other.write_text("# Other\n\nforeign\n")
            stale = client.call("md_apply", {"file": "a.md", "edits": [move]})
            untouched = (one.read_text(), other.read_text())
            look(client, "read", "b.md")
            made = client.call("md_apply", {"file": "a.md", "edits": [move]})

        codes = [each.data["error"]["code"] for each in (unseen, stale)]
        assert codes == ["PRECONDITION_REQUIRED", "STALE_BASE"]
        assert untouched == (OLD, "# Other\n\nforeign\n")
        assert made.data["applied"]
        assert other.read_text() == "# Other\n\nforeign\n\n## Use\n\ntwo\n"


def test_undo_by_one_client_makes_plans_of_another_stale() -> None:
    edit = {"op": "append_to_file", "markdown": "more"}
    with TemporaryDirectory() as name:
        file = Path(name, "a.md")
        file.write_text(OLD)
        with two_clients(Path(name)) as (client, other):
            look(client, "stat", "a.md")
            assert client.call("md_apply", {"file": "a.md", "edits": [edit]}).data["applied"]
            look(other, "stat", "a.md")
            assert client.call("md_history", {"action": "undo"}).data["applied"]
            refused = other.call("md_apply", {"file": "a.md", "edits": [edit]})
            made = client.call("md_apply", {"file": "a.md", "edits": [edit]})

    assert refused.data["error"]["code"] == "STALE_BASE"
    assert made.data["applied"]


# --- The tests of session guards find each of ten faults that are planted in them.

_PATCH = pytest.MonkeyPatch


def no_guard(patch: _PATCH) -> None:
    patch.setattr(md_calls, "seen_bases", lambda: None)


def one_memory_for_all_clients(patch: _PATCH) -> None:
    shown = ShownFiles()
    patch.setattr(adapter, "_shown_in_session", lambda _: shown)


def looks_are_not_noted(patch: _PATCH) -> None:
    patch.setattr(md_calls, "record_shown", lambda *_: None)


def only_hashes_of_the_first_look_count(patch: _PATCH) -> None:
    def record(self: ShownFiles, file: str, version: ShownVersion) -> None:
        self._versions.setdefault(file, version)

    patch.setattr(ShownFiles, "record", record)


def own_commits_are_not_noted(patch: _PATCH) -> None:
    patch.setattr(ShownFiles, "follow", lambda *_: None)


def own_undo_is_not_noted(patch: _PATCH) -> None:
    patch.setattr(md_history, "record_written", lambda *_: None)


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
    test_move_is_stale_if_either_file_changed,
    test_undo_by_one_client_makes_plans_of_another_stale,
    test_each_file_of_a_batch_needs_a_guard_of_its_own,
    test_stale_write_names_the_section_that_changed,
    partial(test_guarded_edit_succeeds_though_another_section_changed, {**ONE, "expectedMatchCount": 1}),
)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_planted_fault_is_detected(plant: Callable[[_PATCH], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    walk = test_no_write_lands_on_a_version_its_client_has_not_seen.hypothesis.inner_test  # type: ignore[attr-defined]
    walks = settings(
        deadline=None, max_examples=40, database=None, derandomize=True, phases=(Phase.generate,)
    )(given(STEPS)(walk))

    assert any(map(_fails, (*_DIRECTED, walks)))


def _fails(test: Callable[[], None]) -> bool:
    try:
        test()
    except (AssertionError, KeyError, ExceptionGroup):
        return True
    return False
