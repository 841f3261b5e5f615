"""`mdplan check` in a repository: against a commit, over two files, for a hook, as annotations and SARIF."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.surfaces.command_line import mdplan

BEFORE = {
    "a.md": "# A\n\nSee [b](b.md#two).\n\n## Bar\n",
    "b.md": "# B\n\n## Two\n",
    "gone.md": "# Gone\n",
    "docs/c.md": "[gone](../gone.md)\n",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    for name, text in BEFORE.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=start")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True)


def codes(*arguments: str) -> list[tuple[str, str]]:
    run = mdplan("check", *arguments, "--json")
    assert run.code == (1 if run.json["warnings"] else 0)
    return [(each["code"], each["file"]) for each in run.json["warnings"]]


def test_no_changes_exit_with_success(repository: Path) -> None:
    assert codes("--since", "HEAD") == []


def test_broken_links_in_unchanged_files_are_reported(repository: Path) -> None:
    (repository / "gone.md").unlink()
    (repository / "b.md").write_text("# B\n\n## Three\n", encoding="utf-8")

    assert codes("--since", "HEAD") == [("BROKEN_LINK", "a.md"), ("BROKEN_LINK", "docs/c.md")]
    assert codes("--since", "HEAD", "docs") == []


def test_references_to_a_deleted_page_are_reported(repository: Path) -> None:
    (repository / "names.md").write_text('[[page]] {{< ref "page" >}} [[to write]]\n', encoding="utf-8")
    (repository / "page.md").write_text("# Page\n", encoding="utf-8")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message=names")
    (repository / "page.md").unlink()

    assert codes("--since", "HEAD") == [("BROKEN_LINK", "names.md")] * 2


def test_links_to_lines_labels_and_sites_are_not_reported(repository: Path) -> None:
    links = "[a](b.md?plain=1#L3) [b](@site/docs/c.md) [c](#label)\n"
    (repository / "new.md").write_text(links, encoding="utf-8")
    (repository / "label.md").write_text("(label)=\nText\n", encoding="utf-8")
    git(repository, "add", ".")

    assert codes("--since", "HEAD") == []
    git(repository, "commit", "--quiet", "--message=label")
    (repository / "label.md").write_text("Text\n", encoding="utf-8")
    assert codes("--since", "HEAD") == [("BROKEN_LINK", "new.md")]


def test_navigation_entry_of_a_deleted_page_is_reported(repository: Path) -> None:
    (repository / "mkdocs.yml").write_text("nav:\n  - C: c.md\n  - Other: other.md\n", encoding="utf-8")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message=site")
    (repository / "docs" / "c.md").rename(repository / "docs" / "d.md")

    assert codes("--since", "HEAD") == [("BROKEN_LINK", "mkdocs.yml")]


def test_link_is_reported_when_its_anchor_names_another_heading(repository: Path) -> None:
    (repository / "b.md").write_text("# B\n\n## X\n\n### Two\n\n## Two\n", encoding="utf-8")
    (repository / "new.md").write_text("[b](b.md#two)\n", encoding="utf-8")

    assert codes("--since", "HEAD") == [("LINK_RETARGETED", "a.md")]


def test_path_that_neither_version_has_is_refused(repository: Path) -> None:
    (repository / "gone.md").unlink()

    assert mdplan("check", "--since", "HEAD", "gone.md").code == 1
    run = mdplan("check", "--since", "HEAD", "dcos")
    assert run.code == 2
    assert "`dcos` is no path" in run.err


def test_files_that_cannot_be_read_are_named_as_skipped(repository: Path) -> None:
    (repository / "a.md").write_bytes(b"# A\0\n")
    (repository / os.fsdecode(b"caf\xe9.md")).write_text("# New\n", encoding="utf-8")

    run = mdplan("check", "--since", "HEAD", "--json")

    assert run.code == 0
    assert run.json["checked"] == 0
    assert [each["code"] for each in run.json["skipped"]] == ["NOT_A_TEXT_FILE", "PATH_INVALID"]
    assert "skipped `a.md`: " in mdplan("check", "--since", "HEAD").err


def test_new_and_renamed_files_are_checked(repository: Path) -> None:
    (repository / "new.md").write_text("# N\n\n[x](nowhere.md)\n\n```\n", encoding="utf-8")
    git(repository, "mv", "b.md", "docs/b.md")

    assert codes("--since", "HEAD") == [
        ("BLOCK_UNCLOSED", "new.md"),
        ("BROKEN_LINK", "new.md"),
        ("BROKEN_LINK", "a.md"),
    ]


def test_revision_is_resolved_as_git_does(repository: Path) -> None:
    (repository / "b.md").write_text("# B\n\n## Three\n", encoding="utf-8")
    git(repository, "commit", "--quiet", "--all", "--message=break")

    assert codes("--since", "HEAD~1") == [("BROKEN_LINK", "a.md")]
    assert codes("--since", "HEAD") == []
    run = mdplan("check", "--since", "nope")
    assert run.code == 2
    assert "names no commit" in run.err


def test_root_below_the_repository_is_checked_alone(repository: Path) -> None:
    (repository / "docs" / "c.md").write_text("```\n", encoding="utf-8")
    (repository / "a.md").write_text("```\n", encoding="utf-8")

    assert codes("--since", "HEAD", "--root", "docs") == [("BLOCK_UNCLOSED", "c.md")]


def test_two_files_are_compared_without_a_repository(repository: Path) -> None:
    (repository / "old.md").write_text("# A\r\n\r\n## B\r\n", encoding="utf-8", newline="")
    (repository / "new.md").write_text("# A\n\n## B\n", encoding="utf-8", newline="")

    assert codes("old.md", "new.md") == [("LINE_ENDS_CHANGED", "new.md")]
    run = mdplan("check", "old.md")
    assert run.code == 2
    assert "--since HEAD" in run.err


def test_annotations_and_sarif_have_the_place(repository: Path) -> None:
    (repository / "b.md").write_text("# B\n\n```\n\n## Two\n", encoding="utf-8")

    annotations = mdplan("check", "--since", "HEAD", "b.md", "--format", "github")
    assert annotations.code == 1
    assert annotations.out.startswith(b"::warning file=b.md,line=3,title=BLOCK_UNCLOSED::")
    sarif = mdplan("check", "--since", "HEAD", "b.md", "--format", "sarif").json
    result = sarif["runs"][0]["results"][0]
    assert result["ruleId"] == "BLOCK_UNCLOSED"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3


def test_agent_hook_reports_what_to_correct(repository: Path) -> None:
    (repository / "b.md").write_text("# B\n\n```\n\n## Two\n", encoding="utf-8")
    event = f'{{"tool_input": {{"file_path": "{repository / "b.md"}"}}}}'
    command = [sys.executable, "-m", "mdplan", "check", "--hook"]

    def run(text: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, input=text, capture_output=True, check=False, text=True)

    found = run(event)
    assert found.returncode == 2
    assert "BLOCK_UNCLOSED" in found.stderr
    (repository / "b.md").write_text(BEFORE["b.md"], encoding="utf-8")
    assert run(event).returncode == 0
    assert run('{"tool_input": {"file_path": "/nowhere/else.md"}}').returncode == 0


def test_hook_of_pre_commit_fails_for_a_broken_document(repository: Path) -> None:
    """As `docs/how-to/check-a-change.md` sets it up."""
    shown = blocks_of(REPOSITORY / "docs" / "how-to" / "check-a-change.md")
    (configured,) = [yaml.safe_load(block.text) for block in shown if block.info[0] == "yaml"]
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    used = configured["repos"][0]["hooks"][0]["id"]
    (entry,) = [shlex.split(hook["entry"]) for hook in hooks if hook["id"] == used]
    (repository / "b.md").write_text("```\n", encoding="utf-8")

    assert mdplan(*entry[1:], "b.md").code == 1
    assert mdplan(*entry[1:], "docs/c.md").code == 0
