"""`mdplan links`: what is broken in a tree, and repairs with their evidence, on small histories of git."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import Run, mdplan

CASE_TABLES = CaseTables(__file__)
TEXTS: dict[str, str] = CASE_TABLES.value("TEXTS")


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)


def make_tree(folder: Path, links: str, steps: list[dict[str, str | None]], *, commits: bool = True) -> Path:
    """Make a repository in `folder`: its texts, and `links` in `start.md`.

    Each of `steps` is a commit: it gives names of files the text, the name of a text, or the file to move
    there after ``<``; null deletes.
    """
    git(folder, "init", "--quiet")
    for number, step in enumerate([{**TEXTS, "start.md": links}, *steps]):
        for name, text in step.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            elif text.startswith("<"):
                (folder / text[1:]).rename(path)
            else:
                path.write_text(text.replace("…", TEXTS["guide.md"]), encoding="utf-8")
        git(folder, "add", ".")
        if commits or not number:
            git(folder, "commit", "--quiet", f"--message={number}")
    return folder


def fixed(folder: Path) -> tuple[Run, str]:
    run = mdplan("links", "--fix", "--yes")
    start = next(path for path in folder.rglob("*.md") if path.name == "start.md")
    return run, start.read_text(encoding="utf-8")


@pytest.fixture(params=["committed", "in the work tree"])
def commits(request: pytest.FixtureRequest) -> bool:
    return request.param == "committed"


@CASE_TABLES.parametrize("case")
def test_known_targets_are_repaired(
    case: dict[str, Any], commits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_tree(tmp_path, case["links"], case["steps"], commits=commits))
    run, text = fixed(tmp_path)

    assert (text, run.code) == (case["repaired"], 0)
    assert case["evidence"] in run.err
    assert mdplan("links").code == 0


@CASE_TABLES.parametrize("links", "steps", "hint")
def test_other_links_stay_and_say_what_they_may_mean(
    links: str, steps: list[dict[str, str | None]], hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_tree(tmp_path, links, steps))
    run, text = fixed(tmp_path)

    assert (text, run.code) == (links, 1)
    assert hint in run.out.decode()


def test_whole_links_exit_with_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = "[a](guide.md#install) ![b](img/logo.png) [c](https://example.org) [[guide]] [d](/route)\n"
    monkeypatch.chdir(make_tree(tmp_path, links, []))

    assert mdplan("links").code == 0
    assert mdplan("links", "missing.md").err
    assert mdplan("links", "--json").json["checked"] == 4


def test_problems_are_annotations_sarif_and_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_tree(tmp_path, "A [link](guid.md) and\n[one](GUIDE.md).\n", []))
    report = mdplan("links", "--json").json

    assert mdplan("links", "img").code == 0
    assert (report["repairable"], [each["code"] for each in report["warnings"]]) == (1, ["BROKEN_LINK"] * 2)
    annotation = mdplan("links", "--format", "github").out.decode()
    assert annotation.startswith("::warning file=start.md,line=1,title=BROKEN_LINK::the link to `guid.md`")
    [run] = mdplan("links", "--format", "sarif").out and [
        mdplan("links", "--format", "sarif").json["runs"][0]
    ]
    assert [each["ruleId"] for each in run["results"]] == ["BROKEN_LINK"] * 2


def test_unused_definitions_and_orphans_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[a] [b](guide.md)\n\n[a]: guide.md\n[c]: guide.md\n[//]: # (a comment)\n"
    monkeypatch.chdir(make_tree(tmp_path, text, []))

    assert mdplan("links", "--unused").out.decode().splitlines() == [
        "start.md:4: the definition `C` is not used",
        "other/notes.md: no page leads there",
        "start.md: no page leads there",
        "twins.md: no page leads there",
    ]


def test_folder_without_git_is_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.md").write_text("[b](B.md) [c](x/deep.md)\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("# B\n", encoding="utf-8")
    (tmp_path / "deep.md").write_text("# Deep\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert mdplan("links", "--fix", "--yes").code == 0
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "[b](b.md) [c](x/deep.md)\n"


def test_entries_of_a_site_follow_their_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = "nav:\n- twins.md\n- Guide: guide.md\n- \"Gone\": 'gone.md'\n- other/Notes.md\n"
    texts = {f"docs/{name}": text for name, text in TEXTS.items()}
    steps = [{**texts, "mkdocs.yml": entries}, {"docs/manual.md": "<docs/guide.md"}]
    monkeypatch.chdir(make_tree(tmp_path, "", steps))

    assert mdplan("links", "mkdocs.yml", "--fix", "--yes").code == 0
    assert (tmp_path / "mkdocs.yml").read_text(encoding="utf-8") == entries.replace(
        "guide.md", "manual.md"
    ).replace("Notes", "notes")
    [warning] = mdplan("links", "--json").json["warnings"]
    assert warning["message"] == "the link to `gone.md` at line 4 leads to nothing"


def test_check_names_the_same_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_tree(tmp_path, "[a](guide.md)\n", []))
    git(tmp_path, "mv", "guide.md", "manual.md")

    [warning] = mdplan("check", "--since", "HEAD", "--json").json["warnings"]
    assert warning["hint"] == "it is now `manual.md`: renamed in the work tree"
