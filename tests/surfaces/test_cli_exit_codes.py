"""Every exit code, and the text on standard error."""

import json
from pathlib import Path

import pytest

from mdplan.cli.usage import exit_code
from mdplan.diagnostics import Exit
from mdplan.engine.engine import Engine
from tests.surfaces.command_line import BATCH, mdplan, plan_id_of, write_batch

SECRET = "text of a file"


def test_success_exits_with_0(project: Path) -> None:
    assert mdplan("plan", stdin=BATCH).code == Exit.DONE


def test_pending_changes_exit_with_1(project: Path) -> None:
    assert mdplan("plan", "--check", stdin=BATCH).code == Exit.WOULD_CHANGE


@pytest.mark.parametrize(
    ("stdin", "says"),
    [
        (b"", "standard input is empty"),
        (b" \n", "standard input is empty"),
        (b'{"file": "a.md"', 'standard input is not JSON: it ends too early\n  1 | {"file": "a.md"\n'),
        (b"\xff\xfe\xfa", "standard input is not UTF-8"),
        (b"[" * 100_000, "standard input is not JSON: it is nested too deeply"),
        (b"[1]", "the batch is a list"),
        (b"{}", "is missing"),
        (json.dumps(BATCH | {"fiel": 1}).encode(), "did you mean `file`?"),
    ],
)
def test_malformed_batch_is_invalid(project: Path, stdin: bytes, says: str) -> None:
    for verb in ("plan", "validate"):
        run = mdplan(verb, stdin=stdin)
        assert (run.code, run.out) == (Exit.INVALID, b"")
        assert says in run.err
    assert mdplan("plan", "--json", stdin=stdin).json["ok"] is False


@pytest.mark.parametrize(
    ("name", "says"), [("missing.json", "there is no file `missing.json`"), (".", "`.` is a folder")]
)
def test_file_that_cannot_be_read_is_invalid(project: Path, name: str, says: str) -> None:
    for verb in ("plan", "validate", "apply"):
        run = mdplan(verb, name)
        assert (run.code, run.out) == (Exit.INVALID, b"")
        assert says in run.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Usage: mdplan COMMAND"),
        (("unknown",), "error: there is no command `unknown`\n"),
        (("plan", "--unknown"), "error: `mdplan plan` has no option `--unknown`\n"),
        (("plan", "--color", "pink"), "hint: give `auto`, `always` or `never`\n"),
        (("stat", "--depth", "0"), "error: `--depth`: 0 is out of range\n  hint: give a number from 1\n"),
        (("read",), "usage: mdplan read [OPTIONS] FILE\n"),
        (("completion", "tcsh"), "hint: give `bash`, `fish` or `zsh`\n"),
    ],
)
def test_wrong_usage_exits_with_2(project: Path, arguments: tuple[str, ...], says: str) -> None:
    run = mdplan(*arguments)

    assert (run.code, run.out) == (Exit.INVALID, b"")
    assert says in run.err


@pytest.mark.requirement("cli-2")
def test_refused_plan_exits_with_3(project: Path) -> None:
    assert mdplan("apply", "sha256-" + "0" * 64).code == Exit.REFUSED
    assert mdplan("stat", "missing.md").code == Exit.REFUSED


@pytest.mark.requirement("cli-2")
def test_stale_plan_exits_with_4(project: Path) -> None:
    plan_id = plan_id_of()
    (project / "guide.md").write_text("# Other\n")

    assert mdplan("apply", plan_id).code == Exit.STALE
    assert mdplan("show", plan_id).code == Exit.STALE


def test_environment_error_exits_with_6(project: Path) -> None:
    run = mdplan("plan", "--output", "missing/plan.json", stdin=BATCH)

    assert (run.code, run.out) == (Exit.ENVIRONMENT, b"")
    assert run.err == (
        "error: IO_ERROR: writing the plan to `missing/plan.json` failed: No such file or directory\n"
        "  hint: name another file after --output\n"
    )


def fail_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def plan(engine: Engine, data: object, **_: object) -> None:
        raise error

    monkeypatch.setattr(Engine, "draft", plan)


@pytest.mark.requirement("cli-2")
def test_bug_report_has_the_location_and_no_file_text(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(ValueError(SECRET), monkeypatch)

    run = mdplan("plan", write_batch(project))

    assert (run.code, run.out) == (Exit.BUG, b"")
    assert "ValueError" in run.err
    assert "MDPLAN_DEBUG=1" in run.err
    assert SECRET not in run.err
    assert "Traceback" not in run.err


def test_bug_is_raised_when_debugging(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(ValueError(SECRET), monkeypatch)
    monkeypatch.setenv("MDPLAN_DEBUG", "1")

    with pytest.raises(ValueError, match=SECRET):
        mdplan("plan", write_batch(project))


def test_interrupt_exits_with_130(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(KeyboardInterrupt(), monkeypatch)

    run = mdplan("plan", write_batch(project))

    assert run.code == Exit.INTERRUPTED
    assert run.err.endswith("interrupted\n")


@pytest.mark.parametrize(
    ("ending", "code", "says"),
    [
        (Exit.STALE, Exit.STALE, ""),
        (None, Exit.DONE, ""),
        (KeyboardInterrupt(), Exit.INTERRUPTED, "\ninterrupted\n"),
        (
            OSError(28, "No space left on device"),
            Exit.ENVIRONMENT,
            "error: IO_ERROR: No space left on device\n",
        ),
        (ValueError(SECRET), Exit.BUG, "mdplan met a bug in itself: ValueError in "),
    ],
)
def test_each_ending_exits_with_its_code(
    ending: Exit | BaseException | None, code: Exit, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Also of commands that run without click."""

    def run() -> Exit | None:
        if isinstance(ending, BaseException):
            raise ending
        return ending

    assert exit_code(run) == code
    assert capfd.readouterr().err[: len(says) or None] == says
