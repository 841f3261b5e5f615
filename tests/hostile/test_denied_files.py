"""S5: nothing that leaves a process shows text or existence of files that `--allow` and `--deny` exclude."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import OpenPlan, ReviewService
from mdplan.mcp.answers import diff_uri
from mdplan.mcp.guide import resources
from mdplan.mcp.md_tools import history_tool
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.storage.journal import JournalEntry
from tests.hostile.attacker import ID, plant_record, sha256
from tests.hostile.trial import EVERY_VERB, problems_of, read_verb, search_verb, stat_verb

# S5

WORD = "ultramarine"
SETTINGS = Settings(durability=Durability.PROCESS)
SCOPES: dict[str, dict[str, list[str]]] = {
    "deny a name": {"deny": ["diary.md", "drafts/"]},
    "deny all below": {"deny": ["diary*", "drafts/**"]},
    "allow others": {"allow": ["here.md", "open/**"]},
}


def opened(root: Path, scope: dict[str, list[str]]) -> Engine:
    return Engine.open([root], settings=SETTINGS, allow=scope.get("allow", ()), deny=scope.get("deny", ()))


class Ids:
    """What was planned and committed before the server with the limits started."""

    def __init__(self, root: Path) -> None:
        with Engine.open([root], settings=SETTINGS) as engine:
            self.commit = _committed(engine, {"file": "diary.md", "edits": [_append(f"The {WORD} one.")]})
            both = [{"file": name, "edits": [_append(f"Both {WORD}.")]} for name in ("here.md", "diary.md")]
            self.partial = _committed(engine, {"files": both})
            self.committed_plan = str(engine.history(1).transactions[0].plan_id)
            planned = engine.plan({"file": "diary.md", "edits": [_append("More.")]})
            self.plan = str(planned.plan_id)


def _append(text: str) -> dict[str, Any]:
    return {"op": "append_to_file", "markdown": text}


def _committed(engine: Engine, batch: dict[str, Any]) -> str:
    report = engine.write(batch)
    assert report.receipt is not None
    return report.receipt.transaction


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "drafts").mkdir(parents=True)
    (folder / "open").mkdir()
    for name in ("diary.md", "drafts/next.md"):
        (folder / name).write_text(f"# Diary\n\n{WORD}\n", encoding="utf-8")
    (folder / "here.md").write_text("# Here\n\n[a](diary.md) [b](gone.md)\n", encoding="utf-8")
    (folder / "open" / "note.md").write_text("# Note\n", encoding="utf-8")
    return folder


@pytest.fixture
def ids(root: Path) -> Ids:
    return Ids(root)


@pytest.fixture(params=SCOPES.values(), ids=list(SCOPES))
def engine(root: Path, ids: Ids, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine that must not show the diary and the drafts."""
    del ids
    with opened(root, request.param) as limited:
        yield limited


def leaks(told: object) -> list[str]:
    text = told.decode() if isinstance(told, bytes) else str(told)
    return [each for each in (WORD, "diary", "drafts") if each in text]


WAYS_BY_ID: dict[str, Callable[[Engine, Ids], object]] = {
    "history": lambda engine, _: engine.history(100),
    "history of a commit": lambda engine, ids: engine.transaction(ids.commit),
    "history of a commit of both": lambda engine, ids: engine.transaction(ids.partial),
    "diff of a commit": lambda engine, ids: engine.transaction_diff(ids.commit),
    "diff of a commit of both": lambda engine, ids: engine.transaction_diff(ids.partial),
    "show": lambda engine, ids: engine.show(ids.plan),
    "show a committed plan": lambda engine, ids: engine.show(ids.committed_plan),
    "export": lambda engine, ids: engine.export(ids.plan),
    "export a committed plan": lambda engine, ids: engine.export(ids.committed_plan),
    "diff of a plan": lambda engine, ids: engine.diff_bytes(ids.plan),
    "diff of a committed plan": lambda engine, ids: engine.diff_bytes(ids.committed_plan),
    "diff resource": lambda engine, ids: _resource(engine, ids.plan),
    "diff resource of a committed plan": lambda engine, ids: _resource(engine, ids.committed_plan),
    "replan": lambda engine, ids: engine.replan(ids.plan),
    "apply": lambda engine, ids: engine.apply({"planId": ids.plan}),
    "apply a committed plan": lambda engine, ids: engine.apply({"planId": ids.committed_plan}),
    "plan of an undo": lambda engine, ids: engine.undo(ids.commit, dry_run=True),
    "undo": lambda engine, ids: engine.undo(ids.commit),
    "undo of both": lambda engine, ids: engine.undo(ids.partial),
    "undo of the last": lambda engine, _: engine.undo(),
    "rebased undo of both": lambda engine, ids: engine.undo(ids.partial, rebases=True),
    "list of reviews": lambda engine, _: ReviewService(engine).entries(),
    "review of a plan": lambda engine, ids: ReviewService(engine).open(ids.plan),
    "review of a committed plan": lambda engine, ids: ReviewService(engine).open(ids.committed_plan),
    "search": lambda engine, _: search_verb(engine, "."),
    "search in a glob": lambda engine, _: search_verb(engine, "**/*.md"),
    "stat of the root": lambda engine, _: stat_verb(engine, "."),
    "stat of a glob": lambda engine, _: stat_verb(engine, "**"),
    "near name": lambda engine, _: read_verb(engine, "open/diari.md"),
    "near name beside": lambda engine, _: read_verb(engine, "diari.md"),
    "near folder": lambda engine, _: stat_verb(engine, "draft/x.md"),
    "doctor": lambda engine, _: engine.doctor(),
}


def _resource(engine: Engine, plan_id: str) -> object:
    (diff,) = [each for each in resources(engine, {}) if each.name == "plan-diff"]
    assert diff.uri == diff_uri("{plan_id}")
    return diff.read(plan_id)


@pytest.mark.parametrize("way", WAYS_BY_ID.values(), ids=WAYS_BY_ID)
def test_denied_text_and_names_never_appear_in_output(
    engine: Engine, ids: Ids, way: Callable[[Engine, Ids], object]
) -> None:
    assert leaks(way(engine, ids)) == []


@pytest.mark.parametrize("read_only", [False, True], ids=["with writing tools", "read only"])
def test_history_tool_never_shows_denied_files(engine: Engine, ids: Ids, *, read_only: bool) -> None:
    tool = history_tool(engine, read_only=read_only)
    for arguments in ({}, {"limit": 200}, {"transaction": ids.commit}, {"transaction": ids.partial}):
        assert leaks(tool.call(arguments)) == []


def test_history_still_lists_commits_without_denied_files(engine: Engine, ids: Ids) -> None:
    (entry,) = engine.history(10).transactions

    assert (entry.transaction, [file.file for file in entry.files]) == (ids.partial, ["here.md"])
    assert not entry.undoable


@pytest.mark.parametrize("verb", EVERY_VERB.values(), ids=EVERY_VERB)
def test_answers_never_confirm_that_a_denied_file_exists(
    root: Path, verb: Callable[[Engine, str], object]
) -> None:
    """The answer is the same, but for the name, where there is such a file and where there is none."""
    (root / "drafts" / "twin.md").unlink(missing_ok=True)
    for scope in SCOPES.values():
        with opened(root, scope) as engine:
            there = problems_of(verb(engine, "drafts/next.md"))
            missing = problems_of(verb(engine, "drafts/twin.md"))

        assert [each.code for each in there][:1] == [Code.PATH_OUTSIDE_ROOT]
        assert str(there).replace("next.md", "") == str(missing).replace("twin.md", "")


@pytest.mark.parametrize("pattern", ["{}", "{}/", "{}/*.md", "{}/**", "{}/x/*.md"])
@pytest.mark.parametrize("verb", [stat_verb, search_verb, read_verb])
def test_answers_never_confirm_that_a_denied_folder_exists(
    root: Path, verb: Callable[[Engine, str], object], pattern: str
) -> None:
    for scope in ({"deny": ["drafts/", "dreams/"]}, {"allow": ["open/**"]}):
        with opened(root, scope) as engine:
            there = str(verb(engine, pattern.format("drafts")))
            missing = str(verb(engine, pattern.format("dreams")))

        assert there.replace("drafts", "") == missing.replace("dreams", "")


def test_links_never_confirm_that_a_denied_file_exists(root: Path) -> None:
    text = "# Here\n\n[a](diary.md#diary) [b](drafts/next.md#x) [c](drafts/none.md) [d](gone.md)\n"
    (root / "here.md").write_text(text, encoding="utf-8")
    with Engine.open([root], settings=SETTINGS, deny=["diary.md", "drafts/", "open/"]) as engine:
        (row,) = engine.stat({"file": ".", "links": True}).files or ()

    assert [link.target for link in row.broken_links or ()] == ["gone.md"]


def test_hint_never_names_the_denied_target_of_a_link(root: Path) -> None:
    (root / "open" / "link.md").symlink_to("../diary.md")
    with Engine.open([root], settings=SETTINGS, deny=["diary.md"]) as engine:
        (problem,) = problems_of(read_verb(engine, "open/link.md"))

    assert problem.code is Code.SYMLINK_REFUSED
    assert leaks(problem) == []


def test_plan_can_be_reviewed_while_plans_of_denied_files_are_hidden(engine: Engine) -> None:
    planned = engine.plan({"file": "open/note.md", "edits": [_append("x")]})
    reviewing = ReviewService(engine)

    assert isinstance(reviewing.open(str(planned.plan_id)), OpenPlan)
    assert [entry.review.plan_id for entry in reviewing.entries()] == [planned.plan_id]


# Recovery speaks of files as well.

RECOVERIES: dict[str, Callable[[Engine], object]] = {
    "doctor": lambda engine: engine.doctor(),
    "recover": lambda engine: engine.recover(),
    "recover and keep": lambda engine: engine.recover("current"),
    "recover and restore": lambda engine: engine.recover("base"),
    "recover what is foreign": lambda engine: engine.recover(foreign=[ID]),
    "stat": lambda engine: stat_verb(engine, "."),
    "history": lambda engine: engine.history(),
    "apply": lambda engine: engine.write({"file": "open/note.md", "edits": [_append("x")]}),
    "undo": lambda engine: engine.undo(),
}


@pytest.mark.parametrize("is_own", [True, False], ids=["own", "foreign"])
@pytest.mark.parametrize("content", ["base", "other"])
@pytest.mark.parametrize("recovery", RECOVERIES.values(), ids=RECOVERIES)
def test_recovery_never_names_denied_files(
    root: Path, recovery: Callable[[Engine], object], content: str, *, is_own: bool
) -> None:
    """A commit was cut off in `diary.md` and `drafts/next.md`; with other content it is a conflict."""
    for name in ("diary.md", "drafts/next.md"):
        folder = (root / name).parent
        base = (root / name).read_bytes()
        planned = f"{WORD} new".encode()
        (folder / f".mdplan-{ID}-0.tmp").write_bytes(planned)
        entry = JournalEntry(
            path=name,
            base=sha256(base),
            base_bytes=len(base),
            result=sha256(planned),
            result_bytes=len(planned),
        )
        plant_record(root, entry, sequence=7 if name == "diary.md" else 8, is_own=is_own)
        if content == "other":
            (root / name).write_text(f"{WORD} of somebody else")
    with opened(root, SCOPES["deny a name"]) as engine:
        assert leaks(recovery(engine)) == []
