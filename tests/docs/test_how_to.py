"""The pages of `docs/how-to` show what happens: their batches, commands and programs are run in order."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.surfaces.command_line import mdplan

PAGES = sorted((REPOSITORY / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?P<info>\w[^\n]*)\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL
)
# Transactions and times are other ones each time, and what a page shows of them stands for them.
CHANGING = re.compile(r"(?<![-0-9a-f])[0-9a-f]{16}(?![0-9a-f])|\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?")


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the samples, without their batches."""
    folder = tmp_path / "samples"
    shutil.copytree(REPOSITORY / "docs" / "samples", folder, ignore=shutil.ignore_patterns("batches", "*.sh"))
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_shows_what_happens(page: Path, samples: Path) -> None:
    names: dict[str, object] = {}
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        match block["info"].split():
            case ["json", name]:
                (samples / name).write_text(block["text"], encoding="utf-8")
            case ["python"]:
                exec(compile(block["text"], page.name, "exec"), names)
            case ["console"]:
                assert CHANGING.sub("…", run(block["text"])) == CHANGING.sub("…", block["text"])
            case other:
                pytest.fail(f"a block of another kind: {other}")


def run(shown: str) -> str:
    """The commands of `shown`, each with what it prints: standard output, then standard error."""
    commands = re.findall(r"^\$ mdplan (.*)$", shown, re.MULTILINE)
    return "".join(f"$ mdplan {command}\n{printed(command)}" for command in commands)


def printed(command: str) -> str:
    done = mdplan(*shlex.split(command))
    return done.out.decode() + done.err


def test_links_of_the_pages_lead_somewhere() -> None:
    assert [page.stem for page in PAGES] == [
        "edit-front-matter",
        "keep-links-right",
        "review-plans",
        "serve-over-http",
        "undo-a-commit",
        "use-from-python",
    ]
    for page in PAGES:
        prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
        targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", prose)
        assert [target for target in targets if not (page.parent / target).exists()] == []
