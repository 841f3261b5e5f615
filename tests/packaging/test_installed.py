"""Use the wheel in a separate environment, from a folder unrelated to this checkout."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from mdplan import __version__
from tests.packaging.conftest import Installed
from tests.surfaces.command_line import BATCH, DIFF, GUIDE, RESULT
from tests.surfaces.mcp_calls import calls_to

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder with a document, and no checkout around it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "guide.md").write_text(GUIDE)
    return tmp_path


def test_environment_has_its_own_mdplan_and_no_extras(installed: Installed, foreign: Path) -> None:
    where = "import mdplan; print(mdplan.__file__)"
    names = "import importlib.metadata as m; print(*{each.name for each in m.distributions()})"
    others = set(installed.run("python", "-c", names, cwd=foreign).stdout.split())
    check = [sys.executable, "-m", "pip", "--python", installed.folder / "bin" / "python", "check"]

    assert installed.run("python", "-c", where, cwd=foreign).stdout.startswith(str(installed.folder))
    assert "mdplan" in others
    assert others & {"pytest", "mdformat", "distributed"} == set()
    assert subprocess.run(check, check=False, capture_output=True).returncode == 0


@pytest.mark.requirement("packaging-1")
def test_installed_command_line_reads_plans_and_applies(installed: Installed, foreign: Path) -> None:
    version = installed.run("mdplan", "--version", cwd=foreign)
    stat = installed.run("mdplan", "stat", "guide.md", cwd=foreign)
    plan = installed.run("mdplan", "plan", cwd=foreign, stdin=json.dumps(BATCH))
    plan_id = plan.stderr.split()[-1]
    applied = installed.run("mdplan", "apply", plan_id, cwd=foreign)

    assert (version.returncode, version.stdout) == (0, f"mdplan {__version__}\n")
    assert (stat.returncode, "Install" in stat.stdout) == (0, True)
    assert (plan.returncode, plan.stdout) == (0, DIFF)
    assert (applied.returncode, applied.stderr.partition("\n")[0]) == (
        0,
        "Applied: 1 file, 2 edits: +3 -1 lines.",
    )
    assert (foreign / "guide.md").read_text() == RESULT


def test_missing_extra_is_named(installed: Installed, foreign: Path) -> None:
    batch = {"file": "guide.md", "edits": [{"op": "format_section", "heading": "Use"}]}
    refused = installed.run("mdplan", "validate", cwd=foreign, stdin=json.dumps(batch))

    assert refused.returncode == 3
    assert 'pip install "mdplan[mdformat]"' in refused.stderr


def test_installed_review_page_has_its_templates(installed: Installed, foreign: Path) -> None:
    render = (
        "from importlib.resources import files; page = files('mdplan.web'); "
        "print(*sorted(each.name for name in ('static', 'templates') "
        "for each in page.joinpath(name).iterdir()))"
    )
    web = Path(__file__).parents[2] / "mdplan" / "web"
    own = sorted(each.name for name in ("static", "templates") for each in (web / name).iterdir())

    assert installed.run("python", "-c", render, cwd=foreign).stdout.split() == own


@pytest.mark.requirement("packaging-1")
def test_installed_server_completes_the_handshake(installed: Installed, foreign: Path) -> None:
    server = StdioServerParameters(
        command=str(installed.program),
        args=["serve", "--root", str(foreign)],
        cwd=foreign,
        env=installed.environment,
    )
    with calls_to(server, "auto") as calls:
        names = [tool["name"] for tool in calls.tools()]
        applied = calls.call("md_apply", {"planId": calls.call("md_validate", BATCH).data["planId"]})

    assert names == ["md_stat", "md_read", "md_search", "md_validate", "md_apply", "md_history"]
    assert applied.data["applied"]
    assert (foreign / "guide.md").read_text() == RESULT
