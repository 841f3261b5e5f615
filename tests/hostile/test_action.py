"""S2: the GitHub action runs no code of a pull request, and installs only the listed packages."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from tests.conftest import REPOSITORY

STEPS = {
    step["id"]: step
    for step in yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
}
BASH = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c")
FOLDER = REPOSITORY / "packaging" / "github-action"
REQUIREMENTS = (FOLDER / "requirements.txt").read_text(encoding="utf-8")
# Modules that Python, pip or the action would import if the checkout were a place of modules.
MODULES = (
    *("venv", "pip", "ensurepip", "sitecustomize", "usercustomize", "encodings", "runpy", "site", "json"),
    *("yaml", "mdplan", "subprocess", "shlex", "hatchling", "multiprocessing", "run_bot", "run_in"),
)
# A fake module that writes its name.
EVIDENCE = "import os\nwith os.fdopen(os.open({!r}, os.O_CREAT | os.O_WRONLY | os.O_APPEND), 'w') as f:\n"
EVIDENCE += "    f.write(__name__)\nraise SystemExit(9)\n"
HOSTILE_MANIFEST = """\
data: {stolen: ../secret.json}
files:
  - {file: guide.md, edits: [{op: replace_match, pattern: nightly, replacement: "{{data.stolen.key}}"}]}
  - {file: ../outside.md, edits: [{op: create_file, markdown: "Owned."}]}
"""
PLAIN_MANIFEST = """\
files: [{file: guide.md, edits: [{op: replace_match, pattern: nightly, replacement: stable}]}]
"""

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


class Checkout:
    """A checkout of a hostile pull request, and the runner's folder beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.runner = folder / "checkout", folder / "runner"
        self.evidence = folder / "evidence"
        for path in (self.folder / ".git", self.runner):
            path.mkdir(parents=True)
        (self.folder / "guide.md").write_text("# Guide\n\nnightly\n", encoding="utf-8")
        (folder / "secret.json").write_text('{"key": "sesame-4711"}', encoding="utf-8")
        code = EVIDENCE.format(str(self.evidence))
        for module in MODULES:
            (self.folder / f"{module}.py").write_text(code, encoding="utf-8")
            (self.folder / module).mkdir()
            for name in ("__init__.py", "__main__.py"):
                (self.folder / module / name).write_text(code, encoding="utf-8")

    def run(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """How the `script` of a step ends, started in the checkout as GitHub does."""
        given = {
            **os.environ,
            "GITHUB_ACTION_PATH": str(REPOSITORY),
            "GITHUB_OUTPUT": str(self.runner / "output"),
            "GITHUB_STEP_SUMMARY": str(self.runner / "summary"),
            "GITHUB_REPOSITORY": "kettle/docs",
            "GITHUB_WORKSPACE": str(self.folder),
            "RUNNER_TEMP": str(self.runner),
            # Tools of a job set it, which would make a folder of the checkout importable.
            "PYTHONPATH": str(self.folder),
            **environment,
        }
        return subprocess.run(
            [*BASH, script], cwd=self.folder, env=given, check=False, capture_output=True, encoding="utf-8"
        )

    def bot(
        self, command: str, manifest: str, args: str = "--jobs 2", python: str = sys.executable
    ) -> dict[str, str]:
        """Outputs of the step that runs the bot."""
        (self.folder / "bot.yml").write_text(manifest, encoding="utf-8")
        given = {"BOT_COMMAND": command, "BOT_MANIFEST": "bot.yml", "BOT_ARGS": args}
        done = self.run(STEPS["bot"]["run"], BOT_PYTHON=python, **given)
        assert done.returncode == 0, done.stderr
        pairs = (self.runner / "output").read_text(encoding="utf-8").splitlines()
        return dict(pair.split("=", 1) for pair in pairs)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.mark.parametrize(
    "command", ["plan", *(pytest.param(name, marks=pytest.mark.slow) for name in ("check", "apply"))]
)
def test_bot_step_never_runs_code_of_the_checkout(checkout: Checkout, command: str) -> None:
    outputs = checkout.bot(command, PLAIN_MANIFEST)

    assert outputs["exit-code"] == ("1" if command == "check" else "0")
    assert outputs["changed"] == "true"
    assert not checkout.evidence.exists()


@pytest.mark.slow
def test_code_of_the_checkout_never_builds_the_environment(checkout: Checkout) -> None:
    """The environment is made in earnest; pip only says that it runs, as it would download packages."""
    script = STEPS["install"]["run"].replace("-m pip install", "-m pip --version")
    done = checkout.run(re.sub(r"(--version) .*\\\n.*", r"\1", script), BOT_PYTHON=sys.executable)

    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"pip \d", done.stdout)
    assert not checkout.evidence.exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_installed_environment_plans_without_code_of_the_checkout(checkout: Checkout) -> None:
    done = checkout.run(STEPS["install"]["run"], BOT_PYTHON=sys.executable)
    if "Retrying" in done.stderr or "Could not find a version" in done.stderr:
        pytest.skip("no package index is reached")
    assert done.returncode == 0, done.stderr
    python = (checkout.runner / "output").read_text(encoding="utf-8").strip().removeprefix("python=")

    assert checkout.bot("plan", PLAIN_MANIFEST, python=python)["changed"] == "true"
    assert not checkout.evidence.exists()


def test_every_python_of_the_action_runs_isolated_outside_the_checkout() -> None:
    for name in ("install", "bot", "comment"):
        script = STEPS[name]["run"]
        assert script.startswith('cd "$RUNNER_TEMP"\n')
        started = re.findall(r'^"\$[^"]*[Pp][^"]*"(.*)', script, re.MULTILINE)
        assert all(arguments.startswith(" -I ") for arguments in started)
    assert len(re.findall(" -I ", STEPS["install"]["run"] + STEPS["bot"]["run"])) == 4
    run_bot = (FOLDER / "run_bot.py").read_text(encoding="utf-8")
    assert re.findall(r'sys\.executable, "([^"]+)"', run_bot) == ["-I"]


def test_hostile_manifest_never_reads_or_writes_outside_the_checkout(checkout: Checkout) -> None:
    for command in ("plan", "check", "apply"):
        outputs = checkout.bot(command, HOSTILE_MANIFEST, "")
        told = "".join(
            Path(path).read_text(encoding="utf-8")
            for path in (outputs["comment-file"], outputs["sarif-file"], checkout.runner / "summary")
        )
        assert (outputs["exit-code"], outputs["plan-id"], outputs["plan-file"]) == ("2", "", "")
        assert "sesame" not in told
        assert "is not below the root of the manifest" in told
    assert not (checkout.folder.parent / "outside.md").exists()
    assert not checkout.evidence.exists()


def test_package_without_hash_or_from_a_url_is_never_installed() -> None:
    """Each requirement names a version and the hashes of its files, and no source."""
    entries = re.split(r"\n(?=[a-z0-9])", re.sub(r"(?m)^#.*\n", "", REQUIREMENTS).strip())

    assert len(entries) > 30
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ;[^\\]*)? \\\n", entry)
        assert re.findall(r"--hash=(\w+):[0-9a-f]{64}", entry)
    assert "://" not in REQUIREMENTS
    assert "--index" not in REQUIREMENTS


def test_every_dependency_is_in_the_list_of_the_action() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [Requirement(each) for each in project["project"]["dependencies"]]
    installed = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", REQUIREMENTS, re.MULTILINE))

    for each in wanted:
        name = re.sub(r"[-_.]+", "-", each.name).lower()
        assert each.specifier.contains(installed[name]), each
