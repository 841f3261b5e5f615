"""Scripts that call the tools by the stubs of the package: they plan many edits, and apply them as one."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mdplan
from tests.support.case_tables import CaseTables

STUBS = Path(mdplan.__file__).parent / "mcp" / "schemas"
SCRIPTS = CaseTables(__file__).value("SCRIPTS")
PROGRAMS = {"script.py": sys.executable, "script.mjs": shutil.which("node")}
TEXT = "# A\n\nold\n\n# B\n\nold\n"


@pytest.mark.parametrize("script", PROGRAMS)
@pytest.mark.parametrize(
    ("options", "code", "result"),
    [((), None, TEXT.replace("old", "new")), (("--require-approval",), "APPROVAL_REQUIRED", TEXT)],
)
def test_script_plans_many_edits_and_applies_them_as_one_if_it_may(
    tmp_path: Path, script: str, options: tuple[str, ...], code: str | None, result: str
) -> None:
    program = PROGRAMS[script]
    if program is None:
        pytest.skip("there is no Node")
    root, scripts = tmp_path / "root", tmp_path / "scripts"
    for folder, files in ((root, {"a.md": TEXT, "b.md": TEXT}), (scripts, SCRIPTS)):
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    server = [sys.executable, "-m", "mdplan", "serve", "--root", str(root), *options]

    done = subprocess.run(
        [program, script, str(STUBS), *server],
        cwd=scripts,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    answer = json.loads(done.stdout)
    assert (answer["plans"], answer["code"]) == (4, code)
    assert answer["planId"].startswith("sha256-")
    assert [(root / name).read_text() for name in ("a.md", "b.md")] == [result, result]


@pytest.mark.parametrize(
    ("file", "choice"),
    [
        ("tools.d.mts", 'detail?: "auto" | "brief" | "full";'),
        ("tools.py", '"detail": Literal["auto", "brief", "full"]'),
    ],
)
def test_choices_are_types_in_the_stubs(file: str, choice: str) -> None:
    assert choice in (STUBS / file).read_text()
