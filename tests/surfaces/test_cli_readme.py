"""The commands of the README and the demo give the shown output."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.command_line import mdplan

REPOSITORY = Path(__file__).parents[2]
SAMPLES = REPOSITORY / "docs" / "samples"
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Contents of the README's code blocks of a `language`, with a name or without."""
    return [
        match[2]
        for match in re.finditer(rf"^(````*){language}(?: \S+)?\n(.*?)^\1$", README, re.MULTILINE | re.DOTALL)
    ]


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the samples."""
    folder = tmp_path / "samples"
    shutil.copytree(SAMPLES, folder)
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_the_readme_shows(block: str, samples: Path) -> None:
    for step in block.removeprefix("$ mdplan ").split("\n$ mdplan "):
        command, _, shown = step.partition("\n")
        run = mdplan(*shlex.split(command))
        assert run.out.decode() + run.err == shown.removesuffix("\n") + "\n"


def test_batch_of_the_readme_is_the_sample() -> None:
    batch = json.loads((SAMPLES / "batches" / "stable.json").read_bytes())

    assert batch in [json.loads(block) for block in blocks("json")]


def test_files_that_the_readme_links_to_exist() -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)

    assert targets
    assert [target for target in targets if not (REPOSITORY / target).exists()] == []


def test_demo_recording_ends_with_the_expected_screen(tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is missing")
    (tmp_path / "mdplan").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mdplan "$@"\n')
    (tmp_path / "mdplan").chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "PYTHONPATH": str(REPOSITORY),
        "TMPDIR": str(tmp_path),
    }

    done = subprocess.run(
        ["sh", SAMPLES / "demo.sh"], capture_output=True, check=False, encoding="utf-8", env=environment
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout.endswith("\nEvery step ended as it should.\n")
    assert "error: STALE_BASE: " in done.stdout
