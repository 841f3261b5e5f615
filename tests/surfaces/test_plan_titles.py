"""Title, description and client of a plan: their part in the plan ID, and where they are shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from mdplan.bot.commits import commit_message
from mdplan.bot.manifest import LoadedManifest, ManifestInputs, load_manifest
from mdplan.cli.views import markdown_comment
from mdplan.client import Client
from mdplan.diagnostics import Code
from mdplan.documents.workspace import Workspace
from mdplan.engine.engine import Engine
from mdplan.engine.history import CallerIdentity
from mdplan.engine.reviews import OpenPlan, ReviewService
from mdplan.plan import Intent
from mdplan.planning.plan_document import read_document
from mdplan.settings import Settings
from mdplan.web.pages import plan_title
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


GUIDE = "# Guide\n\none\n\ntwo\n"
ONE = {"op": "replace_match", "pattern": "one", "replacement": "1"}
TWO = {"op": "replace_match", "pattern": "two", "replacement": "2"}
WORDS = {"title": "Write numbers as digits", "description": "The style guide wants it.\n\nSee *numbers*."}
AGENT = Client("robo", "4.2")
FILES = {"a.md": GUIDE}


def engine_of(root: Path, client: Client = AGENT) -> Engine:
    return Engine(Workspace.open([root]), Settings(), caller=CallerIdentity(client=lambda: client))


def batch(*edits: object, **more: object) -> dict[str, Any]:
    return {"file": "a.md", "edits": list(edits) or [ONE], **more}


def plan(engine: Engine, *edits: object, **more: object) -> str:
    report = engine.plan(batch(*edits, **more))
    assert report.ok, report.error
    return report.plan_id


@pytest.mark.parametrize("words", [{"title": "x"}, {"description": "x"}, WORDS])
def test_title_and_description_are_part_of_the_plan_id(root: Path, words: dict[str, str]) -> None:
    engine = engine_of(root)
    plain, titled = plan(engine), plan(engine, **words)

    assert titled != plain
    assert titled == plan(engine, **words)


def test_plan_without_title_keeps_its_document(root: Path) -> None:
    engine = engine_of(root)
    empty = [plan(engine), plan(engine, title="", description=" \n"), plan(engine, title=None)]

    assert len(set(empty)) == 1
    assert sorted(json.loads(engine.export(empty[0]))) == CASE_TABLES.value(
        "test_plan_without_title_keeps_its_document"
    )


def test_client_name_is_stored_outside_the_plan_id(root: Path) -> None:
    first = plan(engine_of(root), **WORDS)
    second = plan(engine_of(root, Client("other", "1")), **WORDS)
    shown = engine_of(root).show(first)

    assert first == second
    # Who planned it first has made it.
    assert (shown.title, shown.description, shown.client) == (*WORDS.values(), AGENT)


def test_part_and_rebased_plan_keep_title_and_client(root: Path) -> None:
    agent, person = engine_of(root), engine_of(root, Client("mdplan CLI", "1"))
    whole = plan(agent, ONE, TWO, **WORDS)
    part = person.apply({"planId": whole, "accept": [0], "dryRun": True}).plan_id
    (root / "a.md").write_text(GUIDE + "\nthree\n")
    rebased = person.replan(whole).plan_id

    for plan_id in (part, rebased):
        document = json.loads(person.export(plan_id))
        assert (document["title"], document["description"]) == tuple(WORDS.values())
        assert person.library.client_of(plan_id, person.workspace.roots[0]) == AGENT


def test_commit_records_title_and_client(root: Path) -> None:
    plan_id = plan(engine_of(root), **WORDS)
    person = engine_of(root, Client("mdplan CLI", "1"))
    assert person.apply({"planId": plan_id}).applied
    entry = person.history().transactions[0]

    assert (entry.title, entry.description, entry.client) == (*WORDS.values(), AGENT)


def test_another_title_makes_another_request(root: Path) -> None:
    longer = {"op": "replace_match", "pattern": "one", "replacement": "a one"}
    engine = engine_of(root)
    assert engine.apply(batch(longer, title="once")).applied

    assert engine.apply(batch(longer, title="once")).already_applied
    assert not engine.apply(batch(longer, title="twice")).already_applied


@pytest.mark.parametrize(
    ("words", "name"),
    [({"title": "x" * 201}, "title"), ({"description": "x" * 4_001}, "description"), ({"title": 3}, "title")],
)
def test_invalid_title_is_refused(root: Path, words: dict[str, object], name: str) -> None:
    report = engine_of(root).plan(batch(ONE, **words))

    assert report.error is not None
    assert report.error.code is Code.INVALID_ARGUMENT
    assert name in report.error.message


@pytest.mark.parametrize("title", ["two\nlines", " x", "x" * 201])
def test_plan_document_with_an_invalid_title_is_refused(root: Path, title: str) -> None:
    engine = engine_of(root)
    document = json.loads(engine.export(plan(engine, **WORDS)))
    found = read_document(document | {"title": title})

    assert found.code is Code.PLAN_TAMPERED


def test_create_page_keeps_its_own_title(root: Path) -> None:
    (root / "mkdocs.yml").write_text("docs_dir: pages\nnav:\n  - Guide: a.md\n")
    page = {"op": "create_page", "navigation": "mkdocs.yml", "title": "Of the page", "markdown": "# New\n"}
    report = engine_of(root).plan({"file": "pages/new.md", "edits": [page], "title": "Of the plan"})

    assert report.ok, report.error
    assert report.title == "Of the plan"
    assert "Of the page: new.md" in report.diff


MANIFEST = CASE_TABLES.value("MANIFEST")


def test_manifest_gives_its_plan_a_title(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "bot.yml"
    path.write_text(MANIFEST)
    loaded = load_manifest(str(path), ManifestInputs())

    assert isinstance(loaded, LoadedManifest)
    assert loaded.intent == Intent("Write numbers as digits, as agreed", "The style guide wants it.")


@pytest.mark.parametrize(
    ("manifest", "line"), [('title: "{{vars.nothing}}"', 1), (f"title: {'x' * 201}", 1), ("title: [x]", 1)]
)
def test_invalid_manifest_title_is_reported_with_its_line(tmp_path: Path, manifest: str, line: int) -> None:
    path = tmp_path / "bot.yml"
    path.write_text(f"{manifest}\nfiles: [{{file: a.md, edits: [{{op: delete_file}}]}}]\n")
    problems = load_manifest(str(path), ManifestInputs())

    assert not isinstance(problems, LoadedManifest)
    assert [(each.code, each.place.line) for each in problems] == [(Code.INVALID_ARGUMENT, line)]


@pytest.mark.parametrize(
    ("given", "intent", "expected"),
    [
        (
            None,
            Intent("Fix it", "Because."),
            "Fix it\n\nBecause.\n\nMdplan-Client: robo 4.2\nMdplan-Plan: p\n",
        ),
        (
            "docs: fix",
            Intent("Fix it"),
            "docs: fix\n\nMdplan-Title: Fix it\nMdplan-Client: robo 4.2\nMdplan-Plan: p\n",
        ),
        (None, Intent(), "Apply m.yml\n\nMdplan-Client: robo 4.2\nMdplan-Plan: p\n"),
    ],
)
def test_commit_message_has_the_title_and_the_client(
    given: str | None, intent: Intent, expected: str
) -> None:
    assert commit_message(given, "m.yml", "p", intent, AGENT).decode() == expected


def test_every_surface_shows_the_title_as_plain_text(root: Path) -> None:
    hostile = {"title": "`x` @all \x1b[31m<b>", "description": "```\n# Heading\n@all"}
    engine = engine_of(root, Client("robo\x1b[31m", "4"))
    opened = ReviewService(engine).open(plan(engine, **hostile))
    assert isinstance(opened, OpenPlan)
    comment = markdown_comment(opened.review, opened.file)

    assert comment.startswith("### `` `x` @all \\x1b[31m<b> ``")
    assert "````text\n```\n# Heading\n@all\n````" in comment
    assert plan_title(opened.review) == "`x` @all \\x1b[31m<b>"


@CASE_TABLES.parametrize("command", tuples=True)
def test_shell_options_set_title_and_description(
    root: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    (root / "batch.json").write_text(json.dumps(batch()))
    run = mdplan(*command, "--title", " Digits\n now", "--description", "Why not", "--json")
    report = json.loads(run.out)

    assert (report["title"], report["description"]) == ("Digits now", "Why not")
    listed = mdplan("review", "--list").out.decode()
    assert "Digits now" in listed


def test_create_page_names_the_plan_title_option_differently(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    (root / "mkdocs.yml").write_text("docs_dir: pages\nnav:\n  - Guide: a.md\n")
    words = ("--navigation", "mkdocs.yml", "--markdown", "# New", "--title", "Page", "--plan-title", "Plan")
    run = mdplan("edit", "create_page", "pages/new.md", *words, "--dry-run", "--json")
    report = json.loads(run.out)

    assert report["title"] == "Plan"
    assert "Page: new.md" in report["diff"]


def test_shell_compares_two_plans(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    first = json.loads(mdplan("replace", "one", "1", "a.md", "--json").out)["planId"]
    (root / "batch.json").write_text(json.dumps(batch(ONE | {"replacement": "uno"})))
    shown = mdplan("plan", "batch.json", "--revises", first[7:30]).err
    second = json.loads(mdplan("plan", "batch.json", "--revises", first[7:30], "--json").out)
    run = mdplan("show", second["planId"][7:19], "--against", first[7:19])

    assert second["review"]["comparison"]["against"] == first
    assert f"mdplan show {second['planId'][7:19]} --against {first[7:19]}" in shown
    assert b"-1\n+uno\n" in run.out
    assert f"From plan {first[7:19]} to plan {second['planId'][7:19]}." in run.err
