"""The examples of `docs/how-to/run-the-bot-in-ci.md` name what there is, and their scripts run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


PATH = REPOSITORY / "docs" / "how-to" / "run-the-bot-in-ci.md"
PAGE = PATH.read_text(encoding="utf-8")
FILES = {block.info[-1]: block.text for block in blocks_of(PATH) if len(block.info) > 1}
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """A checkout of the samples with the files of the page, and `mdplan` beside it."""
    folder = tmp_path / "samples"
    shutil.copytree(REPOSITORY / "docs" / "samples", folder, ignore=shutil.ignore_patterns("batches", "*.sh"))
    (folder / ".git").mkdir()
    for name in ("mdplan.yml", "check-docs.sh"):
        (folder / name).write_text(FILES[name], encoding="utf-8")
    program = tmp_path / "bin" / "mdplan"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mdplan "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """How `script` ends in `folder`."""
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        check=False,
        capture_output=True,
        encoding="utf-8",
    )


def test_workflow_uses_existing_inputs_and_outputs() -> None:
    text = FILES[".github/workflows/docs.yml"]
    workflow: dict[str, Any] = yaml.safe_load(text)
    (step,) = [each for each in workflow["jobs"]["docs"]["steps"] if each.get("id") == "mdplan"]
    outputs = set(re.findall(r"steps\.mdplan\.outputs\.([\w-]+)", text))

    assert set(step["with"]) <= set(ACTION["inputs"])
    assert {name for name, each in ACTION["inputs"].items() if each.get("required")} <= set(step["with"])
    assert outputs == {"plan-file", "comment-file"}
    assert outputs <= set(ACTION["outputs"])


def test_nightly_workflow_pushes_the_branch_of_the_bot(samples: Path) -> None:
    job = yaml.safe_load(FILES[".github/workflows/nightly.yml"])["jobs"]["docs"]
    step = job["steps"][-1]
    identity = "".join(f"export {name}={value!r}\n" for name, value in step["env"].items() if "GIT" in name)
    setup = (
        "rmdir .git; git init -q -b main; git add -A; git commit -qm x\n"
        "git clone -q --bare . ../remote.git; git remote add origin ../remote.git\n"
    )
    command = step["run"].removeprefix("pipx run ")
    done = shell(
        samples, f"{identity}{setup}{command} --forge none; git -C ../remote.git log --oneline mdplan/mdplan"
    )

    assert job["permissions"] == {"contents": "write", "pull-requests": "write"}
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2), done.stderr


GH_OF_PULL = CASE_TABLES.value("GH_OF_PULL")


@CASE_TABLES.parametrize("permission", "repository", "is_pushed")
def test_comment_applies_the_manifest_of_the_default_branch(
    samples: Path, permission: str, repository: str, is_pushed: bool
) -> None:
    """What the pull request says of itself decides nothing: neither its manifest nor its programs."""
    text = FILES[".github/workflows/docs-apply.yml"]
    job = yaml.safe_load(text)["jobs"]["apply"]
    step = job["steps"][-1]
    identity = "".join(f"export {name}={value!r}\n" for name, value in step["env"].items() if "GIT" in name)
    (samples.parent / "bin" / "gh").write_text(GH_OF_PULL)
    (samples.parent / "bin" / "gh").chmod(0o755)
    setup = (
        "rmdir .git; git init -q -b main; git add -A; git commit -qm x\n"
        "git clone -q --bare . ../remote.git; git remote add origin ../remote.git\n"
        "git checkout -q -b topic; echo 'files: []' > mdplan.yml; touch ran; git commit -qam hostile\n"
        "git push -q origin topic; git checkout -q main; git branch -qD topic\n"
    )
    sha = shell(samples, identity + setup + "git -C ../remote.git rev-parse topic").stdout.strip()
    given = f"GH_REPO=kettle/docs ACTOR=ada NUMBER=7 GH_PERMISSION={permission}".split()
    exports = "".join(f"export {each}\n" for each in [*given, f"GH_PULL='{sha} topic {repository}'"])
    script = samples.parent / "apply.sh"
    script.write_text(identity + exports + step["run"])
    done = shell(samples, f"bash -e -o pipefail {script}")
    page = shell(
        samples, "git -C ../remote.git show topic:guide.md; git -C ../remote.git show topic:mdplan.yml"
    )

    assert (done.returncode == 0, "The stable firmware" in page.stdout) == (is_pushed, is_pushed), done.stderr
    assert page.stdout.endswith("files: []\n")
    assert "${{" not in step["run"]
    assert job["permissions"] == {"contents": "write", "pull-requests": "read"}
    assert job["steps"][0]["with"] == {"ref": "${{ github.event.repository.default_branch }}"}


@pytest.mark.slow
def test_pipeline_of_azure_checks_and_pushes(samples: Path) -> None:
    _, _, check, nightly = yaml.safe_load(FILES["azure-pipelines.yml"])["steps"]
    identity = "".join(f"export {name}={value!r}\n" for name, value in nightly["env"].items())
    setup = (
        "rmdir .git; git init -q -b main; git add -A; git commit -qm x\n"
        "git clone -q --bare . ../remote.git; git remote add origin ../remote.git\n"
    )
    checked = shell(samples, check["script"])
    done = shell(
        samples, f"{identity}{setup}{nightly['script']}; git -C ../remote.git log --oneline mdplan/mdplan"
    )

    assert checked.returncode == 1
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2), done.stderr


@pytest.mark.slow
def test_pipeline_of_jenkins_shows_what_would_change(samples: Path) -> None:
    check, plan = re.findall(r"'(python -m mdplan [^']*)'", FILES["Jenkinsfile"])
    script = samples.parent / "bin" / "python"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    script.chmod(0o755)

    assert shell(samples, check).returncode == 1
    assert shell(samples, plan).returncode == 0
    assert "\n+The stable firmware" in (samples / "plan.diff").read_text(encoding="utf-8")
    assert shell(samples, check.replace("check", "apply")).returncode == 0
    assert shell(samples, check).returncode == 0


GH = CASE_TABLES.value("GH")


def test_workflow_for_pull_requests_has_no_secret_and_may_not_write() -> None:
    workflow = yaml.safe_load(FILES[".github/workflows/docs.yml"])

    assert list(workflow[True]) == ["pull_request"]
    assert (workflow["permissions"], workflow["jobs"]["docs"]["permissions"]) == ({}, {"contents": "read"})
    assert "secrets." not in FILES[".github/workflows/docs.yml"]
    assert workflow["jobs"]["docs"]["steps"][0]["with"] == {"persist-credentials": False}


@pytest.mark.skipif(shutil.which("iconv") is None, reason="iconv is not installed")
@CASE_TABLES.parametrize("pull", "found", "call")
def test_workflow_that_comments_never_runs_or_renders_text_of_pull_requests(
    tmp_path: Path, pull: str, found: str, call: str | None
) -> None:
    """It checks nothing out, and what an artifact contains is text inside of one fence."""
    text = FILES[".github/workflows/docs-comment.yml"]
    job = yaml.safe_load(text)["jobs"]["comment"]
    for name, data in (("bin/gh", GH.encode()), ("mdplan/x/comment.md", b"```\n@all \xff$(id)\n~~~\n")):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (tmp_path / "bin" / "gh").chmod(0o755)
    log = tmp_path / "log"
    given = dict.fromkeys(job["steps"][-1]["env"], "x") | {
        "GH_REPO": "kettle/docs",
        "ARTIFACT": str(tmp_path / "mdplan"),
        "RUNNER_TEMP": str(tmp_path),
        "GH_PULL": pull,
        "GH_FOUND": found,
        "GH_LOG": str(log),
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    script = job["steps"][-1]["run"]
    subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], env=given, cwd=tmp_path, check=True)

    assert "checkout" not in text
    assert "${{" not in script
    assert job["permissions"] == {"actions": "read", "pull-requests": "write"}
    calls = [line for line in log.read_text(encoding="utf-8").splitlines() if "--silent" in line]
    assert [re.sub(r".*(--method \w+ \S+).*", r"\1", line) for line in calls] == ([call] if call else [])
    if call:
        body = (tmp_path / "body.md").read_text(encoding="utf-8")
        assert body == "<!-- mdplan -->\n```text\n\n@all $(id)\n~~~\n\n```\n"


def test_tables_name_each_input_and_output() -> None:
    named = {
        name
        for cell in re.findall(r"^\| (`[^|]*`) \|", PAGE, re.MULTILINE)
        for name in re.findall("`([^`]+)`", cell)
    }

    assert named == {*ACTION["inputs"], *ACTION["outputs"]}


def test_configuration_of_pre_commit_names_a_hook() -> None:
    configuration = yaml.safe_load(FILES[".pre-commit-config.yaml"])
    (repository,) = configuration["repos"]

    assert {hook["id"] for hook in repository["hooks"]} <= {hook["id"] for hook in HOOKS}


def test_gitlab_jobs_pass_on_the_plan(samples: Path) -> None:
    jobs = yaml.safe_load(FILES[".gitlab-ci.yml"])
    plan, apply = ("\n".join(jobs[name]["script"]) for name in ("plan", "apply"))

    for _ in range(2):
        assert shell(samples, plan).returncode == 0
        assert (samples / "plan.diff").is_file()
        assert shell(samples, apply).returncode == 0
        assert "The stable firmware" in (samples / "guide.md").read_text(encoding="utf-8")
        (samples / "plan.json").unlink(missing_ok=True)


def test_script_shows_what_a_failed_check_would_change(samples: Path) -> None:
    first = shell(samples, "sh check-docs.sh")
    applied = shell(samples, "mdplan bot apply mdplan.yml")
    second = shell(samples, "sh check-docs.sh mdplan.yml")

    assert (first.returncode, "\n+The stable firmware" in first.stdout) == (1, True)
    assert applied.returncode == 0
    assert (second.returncode, second.stdout) == (0, "")
