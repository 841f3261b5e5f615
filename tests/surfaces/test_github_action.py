"""The scripts of `action.yml` do in a job what they say, without a network; so do the hooks of pre-commit."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import REPOSITORY
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan

CASE_TABLES = CaseTables(__file__)


ACTION: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
HOOKS: list[dict[str, Any]] = yaml.safe_load(
    (REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
)
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}
MANIFEST = CASE_TABLES.value("MANIFEST")
REQUIREMENTS = REPOSITORY / "packaging" / "github-action" / "requirements.txt"
PIP_INSTALL = "-I -m pip install --quiet --disable-pip-version-check"
# GitHub calls bash so.
BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c")
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@dataclass(frozen=True)
class Job:
    """A job of GitHub in a checkout of the samples."""

    checkout: Path
    runner: Path

    def manifest(self, text: str = MANIFEST) -> None:
        (self.checkout / "bot.yml").write_text(text, encoding="utf-8")

    def step(self, name: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script of the step `name` in the job's files, and return its end."""
        given = {
            **os.environ,
            "GITHUB_ACTION_PATH": str(REPOSITORY),
            "GITHUB_OUTPUT": str(self.runner / "output"),
            "GITHUB_STEP_SUMMARY": str(self.runner / "summary"),
            "GITHUB_REPOSITORY": "kettle/docs",
            "GITHUB_WORKSPACE": str(self.checkout),
            "RUNNER_TEMP": str(self.runner),
            "BOT_BASE": "",
            "BOT_HEAD": "",
            "GH_TOKEN": "",
            **environment,
        }
        assert set(STEPS[name].get("env", {})) - set(given) == set()
        return subprocess.run(
            [*BASH, STEPS[name]["run"]],
            cwd=self.checkout,
            env=given,
            check=False,
            capture_output=True,
            encoding="utf-8",
        )

    def bot(self, command: str, args: str = "--var new=stable") -> "Ended":
        """How the step that runs the bot ends."""
        for name in ("output", "summary"):
            (self.runner / name).unlink(missing_ok=True)
        done = self.step(
            "bot",
            BOT_PYTHON=sys.executable,
            BOT_COMMAND=command,
            BOT_MANIFEST="bot.yml",
            BOT_BASE="main",
            BOT_HEAD="topic",
            GH_TOKEN="",
            BOT_ARGS=args,
        )
        assert done.returncode == 0, done.stderr
        pairs = (self.runner / "output").read_text(encoding="utf-8").splitlines()
        outputs = dict(pair.split("=", 1) for pair in pairs)
        return Ended(outputs, (self.runner / "summary").read_text(encoding="utf-8"), done.stdout)

    def verdict(self, ended: "Ended") -> int:
        """The exit code of the job."""
        return self.step("verdict", BOT_EXIT=ended.outputs["exit-code"]).returncode

    def guide(self) -> str:
        return (self.checkout / "guide.md").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Ended:
    """What the bot left behind."""

    outputs: dict[str, str]
    summary: str
    log: str

    def commands(self) -> list[str]:
        """Return the workflow commands that GitHub obeys, which foreign text must never produce."""
        found: list[str] = []
        ends_with: str | None = None
        for line in self.log.splitlines():
            if ends_with is None and line.startswith("::stop-commands::"):
                ends_with = f"::{line.removeprefix('::stop-commands::')}::"
            elif line == ends_with:
                ends_with = None
            elif ends_with is None:
                found.append(line)
        assert ends_with is None
        return found


@pytest.fixture
def job(tmp_path: Path) -> Job:
    checkout = tmp_path / "checkout"
    shutil.copytree(
        REPOSITORY / "docs" / "samples", checkout, ignore=shutil.ignore_patterns("batches", "*.sh")
    )
    (checkout / ".git").mkdir()
    (tmp_path / "runner").mkdir()
    job = Job(checkout, tmp_path / "runner")
    job.manifest()
    return job


def test_plan_step_outputs_the_diff_and_the_plan(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    before = job.guide()
    ended = job.bot("plan")

    assert (ended.outputs["changed"], ended.outputs["exit-code"]) == ("true", "0")
    assert "\n+The stable firmware is fine" in ended.summary
    assert ended.outputs["plan-id"] in ended.summary
    assert (job.guide(), job.verdict(ended), ended.commands()) == (before, 0, [])
    monkeypatch.chdir(job.checkout)
    assert mdplan("apply", ended.outputs["plan-file"]).code == 0
    assert job.guide() == before.replace("The nightly", "The stable")


@pytest.mark.requirement("bot-ci-1")
def test_check_fails_the_job_when_something_would_change(job: Job) -> None:
    before = job.guide()
    ended = job.bot("check")

    assert (ended.outputs["changed"], ended.outputs["exit-code"]) == ("true", "1")
    assert "\n+The stable firmware is fine" in ended.summary
    assert Path(ended.outputs["plan-file"]).is_file()
    assert (job.guide(), job.verdict(ended)) == (before, 1)


def test_apply_changes_the_files_and_the_next_check_passes(job: Job) -> None:
    ended = job.bot("apply")

    assert (ended.outputs["changed"], ended.outputs["plan-file"], job.verdict(ended)) == ("true", "", 0)
    assert "\n+The stable firmware is fine" in ended.summary
    assert "The stable firmware" in job.guide()
    again = job.bot("check")
    assert (again.outputs["changed"], again.outputs["plan-id"], job.verdict(again)) == ("false", "", 0)
    assert "All files match the manifest." in again.summary


@pytest.mark.slow
def test_merge_pushes_the_base_to_the_branch_of_the_pull_request(job: Job) -> None:
    def git(*arguments: str) -> str:
        names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
        command = ["git", *names, *arguments]
        return subprocess.run(command, cwd=job.checkout, check=True, capture_output=True, text=True).stdout

    (job.checkout / ".git").rmdir()
    git("init", "-q")
    git("config", "user.name", "a")
    git("config", "user.email", "a@b")
    log, remote = job.checkout / "log.md", job.runner / "remote.git"
    for branch, item in (("main", "- a\n"), ("topic", "- of the branch\n"), ("main", "- of the base here\n")):
        git("checkout", "-q", "-B", branch, *([branch] if log.exists() and branch == "main" else []))
        log.write_text((log.read_text() if log.exists() else "# Log\n\n") + item)
        git("add", ".")
        git("commit", "-qm", "x")
    git("clone", "-q", "--bare", ".", str(remote))
    git("remote", "add", "origin", str(remote))
    ended = job.bot("merge", "--forge none")
    assert (ended.outputs["changed"], ended.outputs["exit-code"]) == ("true", "0")
    merged = git("--git-dir", str(remote), "show", "topic:log.md")
    assert sorted(merged.splitlines()[2:]) == ["- a", "- of the base here", "- of the branch"]


@pytest.mark.parametrize("root", ["--root notes", "--root=notes"])
def test_plan_in_another_root_is_shown(job: Job, root: str) -> None:
    (job.checkout / "notes" / "firmware.md").write_text("The nightly one.\n", encoding="utf-8")
    ended = job.bot("plan", f"--var new=stable {root}")

    assert "\n+The stable one." in ended.summary


def test_refusal_becomes_an_annotation_and_a_sarif_result(job: Job) -> None:
    job.manifest("files: [{file: guide.md, edits: [{op: replace_section, heading: Serve, markdown: Hot.}]}]")
    ended = job.bot("plan", "")

    (error,) = ended.commands()
    assert error.startswith("::error title=mdplan%3A SECTION_NOT_FOUND,file=guide.md::no section")
    log = json.loads(Path(ended.outputs["sarif-file"]).read_text(encoding="utf-8"))
    assert [result["ruleId"] for result in log["runs"][0]["results"]] == ["SECTION_NOT_FOUND"]
    assert "SECTION_NOT_FOUND guide.md" in ended.summary
    assert (ended.outputs["changed"], ended.outputs["plan-id"], job.verdict(ended)) == ("false", "", 1)


def test_missing_manifest_is_a_result_with_a_position(job: Job) -> None:
    (job.checkout / "bot.yml").unlink(missing_ok=True)
    ended = job.bot("check", "")

    log = json.loads(Path(ended.outputs["sarif-file"]).read_text(encoding="utf-8"))
    (result,) = log["runs"][0]["results"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "bot.yml"
    assert job.verdict(ended) == 2


@pytest.mark.parametrize("command", ["plan", "check", "apply"])
def test_refused_file_does_not_discard_the_plan_of_others(job: Job, command: str) -> None:
    job.manifest(
        MANIFEST
        + "  - {file: notes/ideas.md, edits: [{op: replace_section, heading: Serve, markdown: Hot.}]}\n"
    )
    ended = job.bot(command, "--var new=stable")

    assert "SECTION_NOT_FOUND notes/ideas.md" in ended.summary
    assert "\n+The stable firmware is fine" in ended.summary
    assert Path(ended.outputs["plan-file"]).is_file() is (command != "apply")
    assert (ended.outputs["changed"], job.verdict(ended)) == ("true", 1)


def test_annotations_name_commands_not_mcp_tools(job: Job) -> None:
    job.manifest("files: [{file: guide.md, edits: [{op: delete_section, anchor: xyzzy-quux}]}]")
    ended = job.bot("plan", "")

    assert "md_" not in "".join(ended.commands())


def test_problem_of_the_manifest_has_its_line(job: Job) -> None:
    job.manifest("files:\n  - file: guide.md\n    edits:\n      - {op: delete_sektion, heading: Brew}\n")
    ended = job.bot("check", "")

    assert re.fullmatch(r"::error title=[^,]+,file=bot\.yml,line=4,col=\d+::.+", ended.commands()[0])
    assert job.verdict(ended) == 2


@pytest.mark.parametrize(("problems", "shown", "last"), [(10, 10, "section"), (13, 10, "and 4 more")])
def test_annotations_stay_within_the_limit_of_github(job: Job, problems: int, shown: int, last: str) -> None:
    edits = [
        {"op": "replace_section", "heading": f"Gone {number}", "markdown": "."} for number in range(problems)
    ]
    job.manifest(json.dumps({"files": [{"file": "guide.md", "edits": edits}]}))
    ended = job.bot("plan", "")

    assert len(ended.commands()) == shown
    assert last in ended.commands()[-1]
    assert f"Errors: {problems}, " in ended.summary


@pytest.mark.requirement("bot-ci-2")
def test_untrusted_text_is_escaped_in_commands_and_markdown(job: Job) -> None:
    hostile = "100% ::warning::obeyed ``` @all"
    edits = [{"op": "replace_section", "heading": hostile, "markdown": "."}]
    job.manifest(json.dumps({"files": [{"file": "guide.md", "edits": edits}]}))
    ended = job.bot("plan", "")

    assert [command.partition(" ")[0] for command in ended.commands()] == ["::error"]
    assert "100%25" in ended.commands()[0]
    fence = re.search(r"^(`{3,})text\nerror .*\n\1$", ended.summary, re.MULTILINE)
    assert fence is not None
    assert "@all" not in ended.summary.replace(fence[0], "")


def test_rejected_command_line_is_reported(job: Job) -> None:
    ended = job.bot("plan", "--speed 9")

    assert ended.commands() == ["::error title=mdplan::mdplan ended with exit code 2: see the log"]
    assert "--speed" in ended.summary
    assert "--speed" in ended.log
    assert job.verdict(ended) == 2


@pytest.mark.parametrize(("command", "args"), [("undo", ""), ("plan", "--var 'new=stable")])
def test_invalid_inputs_fail_the_step(job: Job, command: str, args: str) -> None:
    given = {"BOT_COMMAND": command, "BOT_MANIFEST": "bot.yml", "BOT_ARGS": args}
    done = job.step("bot", BOT_PYTHON=sys.executable, **given)

    assert done.returncode == 2
    assert done.stdout.startswith("::error title=mdplan::")


# Stands for Python: it logs how it is called, and makes an environment of itself.
PYTHON = CASE_TABLES.value("PYTHON")


@pytest.mark.parametrize("inside", ["bin/python", "Scripts/python.exe"])
@pytest.mark.parametrize("given", ["python", ""], ids=["of-the-input", "of-the-runner"])
def test_mdplan_is_installed_into_an_environment_of_its_own(job: Job, inside: str, given: str) -> None:
    program = job.runner / "bin" / (given or "python3")
    program.parent.mkdir()
    program.write_text(PYTHON, encoding="utf-8")
    program.chmod(0o755)
    done = job.step(
        "install",
        PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        BOT_PYTHON=str(program) if given else "",
        PYTHON_LOG=str(job.runner / "calls"),
        PYTHON_OF_ENVIRONMENT=inside,
    )

    assert (done.returncode, done.stderr) == (0, "")
    environment = job.runner / "mdplan-environment"
    assert (job.runner / "output").read_text(encoding="utf-8") == f"python={environment / inside}\n"
    assert (job.runner / "calls").read_text(encoding="utf-8").splitlines() == [
        f"-I -m venv {environment}",
        f"{PIP_INSTALL} --only-binary=:all: --require-hashes --requirement {REQUIREMENTS}",
        "-I -c import sysconfig; print(sysconfig.get_path('purelib'))",
    ]
    assert (job.runner / "mdplan.pth").read_text(encoding="utf-8") == f"{REPOSITORY}\n"


GH = CASE_TABLES.value("GH")


@CASE_TABLES.parametrize("found", "changed", "calls")
def test_one_comment_is_posted_and_then_updated(job: Job, found: str, changed: str, calls: list[str]) -> None:
    done, log = commented(job, found=found, changed=changed, code="0")

    assert (done.returncode, done.stdout) == (0, "")
    assert ["--paginate" in log[0], log[0].count('startswith("<!-- mdplan-bot ')] == [True, 1]
    assert [re.sub(r".*--method (\w+ \S+) .*", r"\1", line) for line in log[1:]] == calls
    assert all(line.endswith("-F body=@comment.md") for line in log[1:])


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq, whose language gh speaks, is not installed")
@CASE_TABLES.parametrize("kind", "association", "body", "is_ours")
def test_comment_of_another_author_is_not_updated(
    job: Job, kind: str, association: str, body: str, is_ours: bool
) -> None:
    _, log = commented(job, found="", changed="false", code="0")
    comment = {"id": 41, "user": {"type": kind}, "author_association": association, "body": body}
    words = log[0].partition(" --jq ")
    found = subprocess.run(
        ["jq", words[2]], input=json.dumps([comment]), capture_output=True, text=True, check=True
    )

    assert found.stdout == ("41\n" if is_ours else "")


def test_comment_that_cannot_be_posted_is_a_warning(job: Job) -> None:
    done, _ = commented(job, found="", changed="true", code="1")

    assert (done.returncode, done.stdout) == (0, "::warning title=mdplan::the comment was not posted\n")


def commented(job: Job, *, found: str, changed: str, code: str) -> tuple[Any, list[str]]:
    """How the step that comments ends, with a `gh` that answers `found`; and the calls of it."""
    program = job.runner / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(GH, encoding="utf-8")
    program.chmod(0o755)
    done = job.step(
        "comment",
        PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        GH_LOG=str(job.runner / "calls"),
        GH_FOUND=found,
        GH_EXIT=code,
        GH_TOKEN="none",
        BOT_PULL="7",
        BOT_CHANGED=changed,
        BOT_EXIT="0",
        BOT_COMMENT="comment.md",
        BOT_MARKER="<!-- mdplan-bot 0123456789abcdef -->",
    )
    return done, (job.runner / "calls").read_text(encoding="utf-8").splitlines()


GH_OF_REVIEWS = CASE_TABLES.value("GH_OF_REVIEWS")
SUGGESTED = CASE_TABLES.value("SUGGESTED")


@pytest.mark.parametrize(
    ("lines", "known", "code", "suggested"),
    [
        ("@@ -14,0 +15 @@\n+The nightly firmware is fine for a first try.", [], "0", [SUGGESTED]),
        ("@@ -13,0 +14 @@\n+The nightly firmware is fine for a first try.", [], "0", None),
        ("@@ -14,0 +15 @@\n+The nightly firmware is old.", [], "0", None),
        ("@@ -14,0 +15 @@\n+The nightly firmware is fine for a first try.", [SUGGESTED], "0", None),
        ("@@ -14,0 +15 @@\n+The nightly firmware is fine for a first try.", [], "1", None),
    ],
    ids=["shown", "elsewhere", "other-text", "there-already", "refused"],
)
def test_changes_are_suggested_at_lines_of_the_pull_request(
    job: Job, lines: str, known: list[Any], code: str, suggested: list[Any] | None
) -> None:
    program = job.runner / "bin" / "gh"
    program.parent.mkdir()
    program.write_text(GH_OF_REVIEWS, encoding="utf-8")
    program.chmod(0o755)
    review = job.runner / "review.json"
    done = job.step(
        "suggest",
        PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        BOT_PYTHON=sys.executable,
        BOT_PULL="7",
        BOT_SARIF=job.bot("check").outputs["sarif-file"],
        GH_LOG=str(job.runner / "calls"),
        GH_REVIEW=str(review),
        GH_FILES=json.dumps([[{"filename": "guide.md", "patch": lines}, {"filename": "image.png"}]]),
        GH_COMMENTS=json.dumps([known]),
        GH_EXIT=code,
    )
    warned = "::warning title=mdplan::the suggestions were not posted\n" if code == "1" else ""

    assert (done.returncode, done.stdout) == (0, warned), done.stderr
    found = json.loads(review.read_text(encoding="utf-8"))["comments"] if review.exists() else None
    assert found == suggested


def test_comment_starts_with_its_marker_and_fits(job: Job) -> None:
    (job.checkout / "big.md").write_text(("nightly\n" + "more\n" * 9) * 3_000, encoding="utf-8")
    outputs = job.bot("plan").outputs

    comment = Path(outputs["comment-file"]).read_text(encoding="utf-8")
    assert comment.startswith(f"{outputs['comment-marker']}\n## ")
    assert 50_000 < len(comment) <= 65_536


def test_documented_action_names_exist(job: Job) -> None:
    """GitHub takes an unknown input or output for an empty text, and says nothing."""
    text = (REPOSITORY / "action.yml").read_text(encoding="utf-8")
    made = set(job.bot("plan").outputs)

    assert set(re.findall(r"\binputs\.([\w-]+)", text)) == set(ACTION["inputs"])
    assert set(re.findall(r"steps\.bot\.outputs\.([\w-]+)", text)) == made
    assert set(re.findall(r"steps\.(\w+)\.", text)) <= set(STEPS)
    assert [step["id"] for step in STEPS.values() if "${{" in step.get("run", "")] == []


@pytest.fixture
def in_checkout(job: Job, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    (job.checkout / "mdplan.yml").write_text(MANIFEST.replace("{{vars.new}}", "stable"), encoding="utf-8")
    monkeypatch.chdir(job.checkout)
    return job


@pytest.mark.parametrize(("hook", "code"), [("mdplan-bot-check", 1), ("mdplan-bot-apply", 0)])
def test_pre_commit_hook_runs_its_command(in_checkout: Job, hook: str, code: int) -> None:
    """pre-commit runs the entry with its arguments, and fails a hook that changes files."""
    before = in_checkout.guide()
    (found,) = [each for each in HOOKS if each["id"] == hook]
    program, *words = shlex.split(found["entry"])

    assert (program, mdplan(*words, *found["args"]).code) == ("mdplan", code)
    assert (in_checkout.guide() != before) is (hook == "mdplan-bot-apply")
    assert found["pass_filenames"] is False


def test_pre_commit_hooks_are_the_documented_ones() -> None:
    assert [hook["id"] for hook in HOOKS] == [
        "mdplan-check",
        "mdplan-links",
        "mdplan-bot-check",
        "mdplan-bot-apply",
    ]
