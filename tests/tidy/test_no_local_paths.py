"""The repository works anywhere: no file names a folder or a package source of a development machine.

The forbidden words are assembled here, so that this file does not contain them.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("/wo" + "rk/", "/tmp/pro" + "be", "/ro" + "ot/", "/opt/py" + "pi", "/opt/whe" + "els")
PLACES = (
    "py" + "pi.org",
    "python" + "hosted.org",
    "npm" + "js.org",
    "npm" + "js.com",
    "deb." + "debian.org",
    "ind" + "ex-url",
    ".lib" + "rary/",
)
# A folder counts where a path begins with it: `docs` and then the first of them is a path of the project.
NEEDLE = re.compile(
    rf"(?<![\w.~>}}-])(?:{'|'.join(map(re.escape, FOLDERS))})|{'|'.join(map(re.escape, PLACES))}".encode()
)


def repository_files() -> list[str]:
    if shutil.which("git") is None or not (REPOSITORY / ".git").exists():
        pytest.skip("no git checkout: only git knows which files are part of the repository")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True)
    return listed.stdout.decode().rstrip("\0").split("\0")


def found_in(data: bytes) -> list[str]:
    return [
        f"{number}: {match[0].decode()}"
        for number, line in enumerate(data.split(b"\n"), 1)
        for match in NEEDLE.finditer(line)
    ]


@pytest.mark.requirement("project-1")
def test_no_file_contains_a_local_path() -> None:
    files = [REPOSITORY / name for name in repository_files()]
    assert len(files) > 1

    found = [
        f"{path.relative_to(REPOSITORY)}:{hit}"
        for path in files
        if path.is_file() and not path.is_symlink()
        for hit in found_in(path.read_bytes())
    ]

    assert found == []
