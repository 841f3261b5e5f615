"""`mdplan` as a process: pipes, signals, closed and full streams, odd locales."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import BATCH, GUIDE, RESULT, plan_id_of, write_batch

CASE_TABLES = CaseTables(__file__)


MDPLAN = [sys.executable, "-m", "mdplan"]
REPOSITORY = Path(__file__).parents[2]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))


def run(command: str | list[str], **options: object) -> subprocess.CompletedProcess[bytes]:
    shell = isinstance(command, str)
    return subprocess.run(command, capture_output=True, check=False, shell=shell, timeout=60, **options)


def on_terminal(*arguments: str) -> str:
    """Return the output of `mdplan` with all its streams on one terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*MDPLAN, *arguments], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    printed = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        printed += piece
    process.wait(timeout=60)
    os.close(ours)
    return printed.decode().replace("\r\n", "\n")


@pytest.mark.requirement("cli-1")
@needs_git
def test_plan_is_piped_into_git_apply(project: Path) -> None:
    (project / ".git").rmdir()
    files = {
        "guide.md": GUIDE.encode(),
        "crlf.md": b"# A\r\n\r\nnightly\r\n",
        "no newline.md": b"# A\n\nnightly",
        "latin.md": b"# A\n\n\xe9 nightly \xff\x1b[31m\n",
    }
    for name, data in files.items():
        (project / name).write_bytes(data)
    edit = {"op": "replace_match", "pattern": "nightly", "replacement": "stable"}
    write_batch(project, {"files": [{"file": name, "edits": [edit]} for name in files]})
    environment = os.environ | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "FORCE_COLOR": "1",
    }

    command = f"git init -q . && {sys.executable} -m mdplan plan batch.json | git apply"
    done = run(command, env=environment)

    assert done.returncode == 0, done.stderr
    assert {name: (project / name).read_bytes() for name in files} == {
        name: data.replace(b"nightly", b"stable") for name, data in files.items()
    }


def test_closed_pipe_changes_nothing(project: Path) -> None:
    write_batch(project)
    (project / "guide.md").write_text(GUIDE + "more nightly\n" * 20_000)
    batch = BATCH | {"edits": [BATCH["edits"][0] | {"matchSelection": "all"}]}
    write_batch(project, batch)
    with subprocess.Popen(
        [*MDPLAN, "plan", "batch.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
        code = process.wait(timeout=60)

    assert code == 0
    assert err.startswith(b"1 file, 20001 replacements: ")
    assert b"Error" not in err
    assert b"Exception" not in err


@needs_full_device
def test_full_disk_at_standard_output_is_reported(project: Path) -> None:
    write_batch(project)

    done = run(f"{sys.executable} -m mdplan plan batch.json > /dev/full")

    assert done.returncode == 6
    assert done.stderr == b"error: IO_ERROR: No space left on device\n"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&-"])
def test_closed_streams_do_not_stop_an_apply(project: Path, closed: str) -> None:
    plan_id = plan_id_of()

    done = run(f"{sys.executable} -m mdplan apply {plan_id} {closed}")

    assert done.returncode == 0
    assert (project / "guide.md").read_text() == RESULT


def test_closed_standard_input_is_not_a_batch(project: Path) -> None:
    done = run(f"{sys.executable} -m mdplan plan - <&-")

    assert done.returncode == 2
    assert done.stderr.startswith(b"error: INVALID_ARGUMENT: standard input cannot be read: ")


def test_ascii_locale_escapes_other_characters(project: Path) -> None:
    (project / "guide.md").write_text("# Straße 漢\n", encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}

    done = run([*MDPLAN, "stat", "guide.md"], env=environment)

    assert done.returncode == 0
    assert "Straße \\u6f22".encode("latin-1") in done.stdout


def test_interrupt_ends_quietly(project: Path) -> None:
    with subprocess.Popen(
        [*MDPLAN, "plan", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        err = process.stderr.read()
        code = process.wait(timeout=60)

    assert code == 130
    assert err == b"\ninterrupted\n"


INTERRUPTED_IMPORT = CASE_TABLES.value("INTERRUPTED_IMPORT")


def test_interrupt_in_generated_code_keeps_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while a dataclass is made, which takes much of the time that imports take."""
    (tmp_path / "interrupted_import.py").write_text(INTERRUPTED_IMPORT)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{REPOSITORY}")
    ended = run([sys.executable, "-m", "interrupted_import"])

    assert ended.returncode == 130
    assert ended.stderr.strip() == b"interrupted"


def wait_until_it_reads(pid: int) -> None:
    """Until the process sleeps in a read of its standard input, as far as the system tells."""
    what = Path(f"/proc/{pid}/wchan")
    if not what.exists():
        pytest.skip("the system does not say what a process waits for")
    for _ in range(600):
        if "pipe" in what.read_text():
            return
        time.sleep(0.05)
    pytest.skip("the process was not seen to wait")


@pytest.mark.requirement("cli-3")
def test_terminal_output_contains_no_control_characters(project: Path) -> None:
    (project / "guide.md").write_bytes("# A\n\nold \x1b[31m \u202e \u200b \x07\n".encode())
    batch = {"file": "guide.md", "edits": [{"op": "replace_match", "pattern": "old", "replacement": "new"}]}

    printed = on_terminal("plan", "--color", "never", write_batch(project, batch))

    assert "-old \\x1b[31m \\u202e \\u200b \\x07\n+new \\x1b[31m \\u202e \\u200b \\x07\n" in printed
    assert all(character.isprintable() or character == "\n" for character in printed)


def test_terminal_without_input_prompts_for_a_batch(project: Path) -> None:
    assert "the batch is missing" in on_terminal("plan")
    assert "no plan is pending here" in on_terminal("apply")


def test_version_is_printed(project: Path) -> None:
    assert run([*MDPLAN, "--version"]).stdout.startswith(b"mdplan ")


@pytest.mark.parametrize(
    "words", ["append guide.md Install", "edit replace_section guide.md --section Install"]
)
def test_closed_standard_input_has_no_text(project: Path, words: str) -> None:
    done = run(f"'{sys.executable}' -m mdplan {words} <&-", cwd=project)

    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(b"error: ")
    assert b"hint: write" in done.stderr
