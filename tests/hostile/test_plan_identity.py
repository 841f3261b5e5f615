"""S7: a plan ID covers everything that the plan does or shows, and no document replaces a stored plan."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mdplan.decisions import Verdict
from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import ReviewService
from mdplan.plan import Plan
from mdplan.planning.plan_document import FORMAT, plan_id_of, read_document
from mdplan.storage.plans import PlanStore
from tests.support.case_tables import CaseTables
from tests.support.commits import change_store

CASE_TABLES = CaseTables(__file__)


TEXT = "# A\n\none\n\ntwo\n"
EDITS = [
    {"op": "replace_match", "pattern": "one", "replacement": "1"},
    {"op": "replace_match", "pattern": "two", "replacement": "2"},
]
BATCH = {"file": "a.md", "edits": EDITS}
Document = dict[str, Any]
FILES = {"a.md": TEXT, "b.md": "[to a](a.md#one)\n"}


@pytest.fixture
def engine(root: Path) -> Engine:
    return Engine.open([root])


@pytest.fixture
def strict(root: Path) -> Engine:
    """An engine that commits approved plans only."""
    return Engine.open([root], approval=approved_only)


def document(engine: Engine, batch: object = BATCH) -> Document:
    return json.loads(engine.draft(batch).document)


def hashed(changed: Document) -> Document:
    """Return `changed` with the ID of its content, as an attacker would compute it."""
    parts = {name: value for name, value in changed.items() if name != "planId"}
    probe = read_document(json.dumps(changed).encode())
    assert not isinstance(probe, Plan), "nothing was changed"
    for file in parts["files"]:
        file["baseSections"] = {}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    honest = {**changed, "planId": "sha256-" + hashlib.sha256(text.encode()).hexdigest()}
    read = read_document(honest)
    assert isinstance(read, Plan), read
    assert plan_id_of(read) == read.plan_id
    return honest


def set_backup(plan: Document) -> None:
    plan["options"] = {"backup": True}


def hide_an_edit(plan: Document) -> None:
    plan["editResults"][1] |= {"ranges": [], "resultLines": [], "matches": [], "noOp": True}


def hide_lines(plan: Document) -> None:
    plan["files"][0] |= {"linesAdded": 0, "linesRemoved": 0}


def hide_request(plan: Document) -> None:
    plan["files"][0]["requested"][1]["pattern"] = "harmless"


def add_a_text_edit(plan: Document) -> None:
    plan["files"][0]["textEdits"][0][2] = "evil"


def add_a_warning(plan: Document) -> None:
    plan["warnings"] = [
        {"code": "WEAK_CAS", "message": "all is well", "severity": "warning", "candidates": []}
    ]


def change_encoding(plan: Document) -> None:
    plan["files"][0]["encoding"] = "latin-1"


CHANGES = [
    set_backup,
    hide_an_edit,
    hide_lines,
    hide_request,
    add_a_text_edit,
    add_a_warning,
    change_encoding,
]


@pytest.mark.parametrize("change", CHANGES)
def test_changed_plan_document_never_keeps_its_id(engine: Engine, change: Callable[[Document], None]) -> None:
    changed = document(engine)
    change(changed)

    assert engine.apply(changed).error.code.value == "PLAN_TAMPERED"


@pytest.mark.parametrize("change", CHANGES)
def test_rehashed_plan_document_is_not_applied(
    engine: Engine, root: Path, change: Callable[[Document], None]
) -> None:
    changed = document(engine)
    change(changed)
    change_store(root, "DELETE FROM plans")
    report = engine.apply(hashed(changed))

    # A document whose options were changed whole is an honest plan of another batch, under another ID.
    assert report.ok == (change in (set_backup, change_encoding))
    assert (root / "a.md").read_text() == (TEXT if not report.ok else "# A\n\n1\n\n2\n")


def test_approval_does_not_cover_an_added_backup(strict: Engine, root: Path) -> None:
    (root / "a.md.bak").write_text("precious")
    plan = document(strict)
    ReviewService(strict).decide(plan["planId"], "ann", Verdict.APPROVED)

    assert not strict.apply({**plan, "options": {"backup": True}}).ok
    assert not strict.apply(hashed({**plan, "options": {"backup": True}})).ok
    assert not strict.apply({**BATCH, "backup": True, "baseSha256": plan["files"][0]["baseSha256"]}).ok
    assert (root / "a.md.bak").read_text() == "precious"
    assert (root / "a.md").read_text() == TEXT


def test_plan_document_never_replaces_a_stored_plan(strict: Engine, root: Path) -> None:
    plan = document(strict)
    before = PlanStore(str(root)).load_plan(plan["planId"])
    lying = {**plan, "editResults": plan["editResults"][:1]}

    assert not strict.apply(lying).ok
    assert not strict.apply({**plan, "files": [{**plan["files"][0], "baseSections": {"sha256-0": "0"}}]}).ok
    assert PlanStore(str(root)).load_plan(plan["planId"]) == before
    assert len(ReviewService(strict).open(plan["planId"]).review.edits) == 2


@pytest.mark.parametrize(
    "batch",
    [
        BATCH,
        {**BATCH, "sequential": True},
        {**BATCH, "backup": True},
        {
            "file": "a.md",
            "edits": [{"op": "rename_file", "newFile": "c.md"}],
            "updateReferences": "workspace",
        },
        {"file": "new.md", "edits": [{"op": "create_file", "markdown": "# New\n"}]},
    ],
)
def test_valid_plan_document_is_applied_on_another_machine(
    engine: Engine, root: Path, batch: dict[str, Any]
) -> None:
    plan = document(engine, batch)
    change_store(root, "DELETE FROM plans")

    assert engine.apply(plan).applied


def test_valid_plan_document_of_an_undo_is_applied(engine: Engine, root: Path) -> None:
    engine.write(BATCH)
    undo = json.loads(engine.export(engine.undo(dry_run=True).plan_id))
    change_store(root, "DELETE FROM plans")

    assert engine.apply(undo).applied
    assert (root / "a.md").read_text() == TEXT


def test_plan_ids_of_different_options_differ(engine: Engine) -> None:
    options: list[dict[str, object]] = [
        {},
        {"backup": True},
        {"sequential": True},
        {"updateReferences": "file"},
    ]

    assert len({document(engine, BATCH | more)["planId"] for more in options}) == len(options)


@CASE_TABLES.parametrize("broken")
def test_malformed_plan_document_is_refused_with_a_code(engine: Engine, root: Path, broken: Document) -> None:
    plan = {**document(engine), **broken}
    report = engine.apply(plan)

    assert report.error.code.value == "PLAN_TAMPERED"
    assert (root / "a.md").read_text() == TEXT


@pytest.mark.parametrize("number", ["1e999", "-1", "NaN", '"7"', "[]", "1.5", "true", "null"])
@pytest.mark.parametrize("name", ["linesAdded", "referencesUpdated"])
def test_wrong_number_in_a_plan_document_is_refused_with_a_code(
    engine: Engine, number: str, name: str
) -> None:
    plan = document(engine)
    plan["files"][0][name] = json.loads(number)

    assert engine.apply(plan).error.code.value == "PLAN_TAMPERED"


@pytest.mark.parametrize(
    "edit", [7, "undo", None, [], {}, {"op": "undo", "transaction": 5}, {"codeBlock": 5}]
)
def test_request_that_is_not_an_edit_is_refused_with_a_code(engine: Engine, root: Path, edit: object) -> None:
    plan = document(engine)
    plan["files"][0]["requested"][0] = edit
    for each in (plan, {**plan, "onStale": "rebase"}):
        assert engine.apply(each).error.code.value == "PLAN_TAMPERED"
    (root / "a.md").write_text("# other\n")
    assert not engine.apply({**plan, "onStale": "rebase"}).ok


def test_plan_of_another_format_is_refused(engine: Engine, root: Path) -> None:
    plan = document(engine)
    assert plan["mdplanPlan"] == FORMAT
    changed = json.dumps({**plan, "mdplanPlan": 1}).encode()
    assert PlanStore(str(root.resolve())).save_plan(plan["planId"], [changed], 0.0)

    for report in (
        engine.apply({"planId": plan["planId"]}),
        engine.show(plan["planId"]),
        engine.apply({**plan, "mdplanPlan": 1}),
    ):
        assert report.error.code.value == "PLAN_TAMPERED"
        assert report.error.hint == "plan the batch again"
    assert (root / "a.md").read_text() == TEXT
