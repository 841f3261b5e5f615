"""The pages of `docs/how-to` show what happens: their batches, commands and programs are run in order."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.bot.repository import IDENTITY
from tests.conftest import REPOSITORY
from tests.surfaces.command_line import mdplan

PAGES = sorted((REPOSITORY / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?P<info>\w[^\n]*)\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL
)
# Transactions, commits and times are other ones each time, and what a page shows of them stands for them.
CHANGING = re.compile(
    r"(?<![-0-9a-f])(?:[0-9a-f]{12}|[0-9a-f]{16}|[0-9a-f]{40})(?![0-9a-f])"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?"
)

# With these a commit has the same ID each time.
COMMITTER = {
    **{name: value for name, value in IDENTITY.items() if name.startswith("GIT_CONFIG")},
    **{f"GIT_{role}_NAME": "Docs Bot" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_EMAIL": "bot@example.org" for role in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{role}_DATE": "2026-01-31T12:00:00+00:00" for role in ("AUTHOR", "COMMITTER")},
}


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the samples, without their batches."""
    folder = tmp_path / "samples"
    shutil.copytree(REPOSITORY / "docs" / "samples", folder, ignore=shutil.ignore_patterns("batches", "*.sh"))
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    for name, value in COMMITTER.items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_shows_what_happens(page: Path, samples: Path) -> None:
    names: dict[str, object] = {}
    text = page.read_text(encoding="utf-8")
    if "\n$ git " in text and shutil.which("git") is None:
        pytest.skip("git is not installed")
    for block in BLOCK.finditer(text):
        match block["info"].split():
            case ["json" | "yaml" | "sh", name]:
                (samples / name).parent.mkdir(parents=True, exist_ok=True)
                (samples / name).write_text(block["text"], encoding="utf-8")
            case ["python"]:
                exec(compile(block["text"], page.name, "exec"), names)
            case ["console"]:
                assert CHANGING.sub("…", run(block["text"])) == CHANGING.sub("…", block["text"])
            case other:
                pytest.fail(f"a block of another kind: {other}")


def run(shown: str) -> str:
    """The commands of `shown`, each with what it prints: standard output, then standard error."""
    commands = re.findall(r"^\$ (mdplan|git) (.*)$", shown, re.MULTILINE)
    return "".join(f"$ {program} {rest}\n{printed(program, rest)}" for program, rest in commands)


def printed(program: str, arguments: str) -> str:
    if program == "git":
        given = ["git", *shlex.split(arguments)]
        return subprocess.run(given, check=True, capture_output=True, text=True).stdout
    done = mdplan(*shlex.split(arguments))
    return done.out.decode() + done.err


def test_links_of_the_pages_lead_somewhere() -> None:
    assert [page.stem for page in PAGES] == [
        "bot-on-a-branch",
        "bot-recipes",
        "edit-front-matter",
        "keep-links-right",
        "review-plans",
        "run-the-bot-in-ci",
        "serve-over-http",
        "undo-a-commit",
        "use-from-python",
    ]
    for page in PAGES:
        prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
        targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", prose)
        assert [target for target in targets if not (page.parent / target).exists()] == []
