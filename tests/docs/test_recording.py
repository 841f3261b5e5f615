"""The animation of the README shows what a terminal shows: its commands are typed again, into a real one."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.docs.animation import PICTURE, drawn, recorded_frames, shown_text
from tests.docs.pages import DOCS, blocks_of
from tests.docs.recording import PAGE, recorded
from tests.docs.shown import masked
from tests.support.tmux import BASH, terminal
from tests.surfaces.command_line import mdplan


@pytest.mark.slow
def test_animation_shows_what_a_terminal_shows(tmp_path: Path, *, update_cases: bool) -> None:
    now = drawn(recorded_frames(tmp_path))
    if update_cases:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(now, encoding="utf-8")

    committed = PICTURE.read_text(encoding="utf-8")
    assert [*map(masked, shown_text(now))] == [*map(masked, shown_text(committed))]


def test_animation_is_one_picture_without_scripts_or_links() -> None:
    names = {element.tag.rpartition("}")[2] for element in ET.parse(PICTURE).iter()}

    assert names == {"svg", "style", "rect", "g", "text", "tspan"}


# --- The tutorial shows what a terminal shows: its commands are typed again, into a real one.


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_tutorial_shows_what_a_new_user_sees(tmp_path: Path, *, update_cases: bool) -> None:
    text = PAGE.read_text(encoding="utf-8")
    now = recorded(text, tmp_path)
    if update_cases and masked(now) != masked(text):
        PAGE.write_text(now, encoding="utf-8")
        text = now

    assert masked(now) == masked(text)


# --- The table of keystrokes: counts are right, mdplan is short, and all commands of an edit write the
# same.

KEYSTROKES_PAGE = DOCS / "how-to" / "edit-in-the-shell.md"
PROGRAMS = ("mdplan", "sed", "perl", "yq", "vi")
MOST = 1.3
TABLE = re.compile(r"^\| Edit \| mdplan .*\n(?:\|.*\n)*", re.MULTILINE)

# The oldest version of yq that edits front matter in place.
YQ = (4, 4)
BIN = Path(sys.executable).parent


def edits() -> dict[str, dict[str, str]]:
    """The commands of each edit by their programs."""
    (block,) = (block for block in blocks_of(KEYSTROKES_PAGE) if block.info == ("text",))
    found = {}
    for part in block.text.rstrip().split("\n\n"):
        edit, *commands = part.split("\n")
        found[edit] = {line.split()[0]: line.strip() for line in commands}
    return found


EDITS = edits()
RUNS = [(edit, program) for edit, typed in EDITS.items() for program in typed if program != "mdplan"]


def ratio(typed: dict[str, str]) -> float:
    return len(typed["mdplan"]) / min(len(keys) for program, keys in typed.items() if program != "mdplan")


def table() -> str:
    """The table of counts, for the commands of the page."""
    rows = [
        [edit, *(str(len(typed[each])) if each in typed else "–" for each in PROGRAMS), f"{ratio(typed):.2f}"]
        for edit, typed in EDITS.items()
    ]
    header = ["Edit", *PROGRAMS, "Ratio"]
    lines = [" | ".join(header), "|".join(["---"] * len(header)), *map(" | ".join, rows)]
    return "".join(f"|{line}|\n" if line.startswith("---") else f"| {line} |\n" for line in lines)


def test_table_has_the_counts_of_ten_edits(*, update_cases: bool) -> None:
    text = KEYSTROKES_PAGE.read_text(encoding="utf-8")
    if update_cases:
        text = TABLE.sub(lambda _: table(), text)
        KEYSTROKES_PAGE.write_text(text, encoding="utf-8")

    assert len(EDITS) == 10
    assert [found[0] for found in TABLE.finditer(text)] == [table()]


@pytest.mark.parametrize("edit", EDITS)
def test_mdplan_takes_few_more_keys_than_the_shortest(edit: str) -> None:
    assert ratio(EDITS[edit]) <= MOST


@pytest.mark.parametrize(("edit", "program"), [each for each in RUNS if each[1] != "vi"], ids=" ".join)
def test_other_program_makes_the_same_edit(
    edit: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without(program)
    ours, theirs = samples(tmp_path / "mdplan"), samples(tmp_path / program)
    before = texts(ours)
    monkeypatch.chdir(ours)
    # mdplan expands globs itself.
    run = mdplan(*shlex.split(EDITS[edit]["mdplan"].removesuffix("⏎y⏎"))[1:], "--yes")
    command = EDITS[edit][program].removesuffix("⏎")
    subprocess.run(["bash", "-c", command], cwd=theirs, env=environment(), check=True)

    assert run.code == 0, run.err
    assert texts(ours) == texts(theirs) != before


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("edit", EDITS)
def test_keys_typed_into_a_terminal_make_the_same_edit(edit: str, tmp_path: Path) -> None:
    """Each key of mdplan and vi, the answer to the question included; vi ends the last line of a file."""
    skip_without("vi")
    made = []
    for program in ("mdplan", "vi"):
        folder = samples(tmp_path / program)
        with terminal(BASH, folder, {**environment(), "HOME": str(tmp_path)}) as shell:
            shell.settle()
            for key in re.findall(r"[⏎⎋]|[^⏎⎋]+", EDITS[edit][program]):
                match key:
                    case "⏎":
                        shell.press("Enter")
                    case "⎋":
                        shell.press("Escape")
                    case "y":
                        shell.expect("[y/n/e/?]")
                        shell.type(key)
                    case _:
                        shell.type(key)
                shell.settle()
            shell.wait_for_prompt()
        made.append(ended(folder))

    assert made[0] == made[1] != ended(samples(tmp_path / "before"))


def ended(folder: Path) -> dict[str, bytes]:
    """The texts of `folder`, each with the end of line that vi adds."""
    return {name: text.removesuffix(b"\n") + b"\n" for name, text in texts(folder).items()}


def skip_without(program: str) -> None:
    found = shutil.which(program, path=environment()["PATH"])
    if found is None:
        pytest.skip(f"{program} is missing")
    if program == "yq":
        said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        version = tuple(map(int, re.findall(r"\d+", said)[:2]))
        if version < YQ or "mikefarah" in said or shutil.which("jq") is None:
            pytest.skip(
                f"this yq ({said.strip()}) cannot edit front matter as the page does, or jq is missing"
            )


def environment() -> dict[str, str]:
    """The environment of a user who has mdplan and yq."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(REPOSITORY)}


def samples(folder: Path) -> Path:
    """A copy of the samples at `folder`, with an INI file."""
    shutil.copytree(DOCS / "samples", folder)
    (folder / ".git").mkdir()
    ini = "[client]\nhost = localhost\n[server]\nhost = localhost\n"
    (folder / "app.ini").write_text(ini, encoding="utf-8")
    return folder


def texts(folder: Path) -> dict[str, bytes]:
    paths = [*folder.glob("*.md"), *folder.glob("notes/*.md"), *folder.glob("*.ini")]
    return {path.name: path.read_bytes() for path in paths}
