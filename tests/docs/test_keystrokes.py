"""The table of keystrokes: counts are right, mdplan is short, and `mdplan` and `sed` do the same."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tests.surfaces.command_line import mdplan

PAGE = DOCS / "how-to" / "edit-in-the-shell.md"
ROW = re.compile(
    r"^\| (?P<edit>[^|`]+) \| `(?P<mdplan>mdplan [^`]+)` \| `(?P<sed>sed [^`]+)` \| `(?P<vi>vi [^`]+)`"
    r" \| (?P<keys>\d+ / \d+ / \d+) \| (?P<ratio>[\d.]+) \|$",
    re.MULTILINE,
)
MOST = 1.3
ROWS = list(ROW.finditer(PAGE.read_text(encoding="utf-8")))


def test_ten_edits_are_counted() -> None:
    assert len(ROWS) == 10


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["edit"])
def test_counts_are_those_of_the_keys(row: re.Match[str]) -> None:
    counts = [len(row[name]) for name in ("mdplan", "sed", "vi")]

    assert row["keys"] == " / ".join(map(str, counts))
    assert row["ratio"] == f"{counts[0] / min(counts[1:]):.2f}"
    assert float(row["ratio"]) <= MOST


@pytest.mark.skipif(shutil.which("sed") is None, reason="sed is missing")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["edit"])
def test_mdplan_and_sed_make_the_same_edit(
    row: re.Match[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {}
    for name in ("mdplan", "sed"):
        folder = tmp_path / name
        shutil.copytree(DOCS / "samples", folder)
        (folder / ".git").mkdir()
        (folder / "app.ini").write_text("[client]\nport = 1\n[server]\nport = 80\n", encoding="utf-8")
        before = _texts(folder)
        monkeypatch.chdir(folder)
        command = row[name].split("⏎")[0]
        if name == "mdplan":
            run = mdplan(*shlex.split(command)[1:], "--yes")
            assert run.code == 0, run.err
        else:
            subprocess.run(["bash", "-c", command], check=True)
        made[name] = _texts(folder)
        assert made[name] != before

    assert made["mdplan"] == made["sed"]


def _texts(folder: Path) -> dict[str, bytes]:
    paths = [*folder.glob("*.md"), *folder.glob("notes/*.md"), *folder.glob("*.ini")]
    return {path.name: path.read_bytes() for path in paths}
