"""Help: the first screen of every command fits on a small terminal, with an example that its parser takes."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from docs.codegen.cases import EXAMPLE
from mdplan.cli.edit_options import CONTENT_FIELDS
from mdplan.cli.program import COMMANDS, build_program
from mdplan.cli.usage import exit_code
from mdplan.diagnostics import Exit
from mdplan.engine.engine import Engine
from mdplan.operations import OPERATIONS
from mdplan.requests.json_schemas import SCHEMAS
from mdplan.requests.schemas import Schema
from tests.docs.pages import blocks_of
from tests.support.case_tables import CaseTables
from tests.support.golden_cases import find_cases, read_tree
from tests.surfaces.command_line import BATCH, GUIDE, mdplan, plan_id_of, write_batch

CASE_TABLES = CaseTables(__file__)


# One line of a terminal with 24 is for the prompt that follows.
MOST_LINES = 23
MOST_COLUMNS = 80


def commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words of `command` and of all commands below it."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*words, name))


ALL = list(commands(build_program(), ()))


@pytest.mark.parametrize("words", ALL, ids=lambda words: " ".join(words) or "mdplan")
def test_first_screen_fits_and_has_an_example(words: tuple[str, ...]) -> None:
    run = mdplan(*words, "--help", environment={"COLUMNS": "80", "LINES": "24"})
    lines = run.out.decode().splitlines()

    assert run.code == 0
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= MOST_COLUMNS
    assert any(line.startswith("Example") for line in lines)


@pytest.mark.parametrize("op", OPERATIONS)
def test_command_of_an_operation_does_what_its_page_shows(
    op: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if op == "format_section":
        pytest.importorskip("mdformat_gfm", reason="mdformat is not installed: format_section is not tested")
    page = REPOSITORY / "docs" / "reference" / "operations" / f"{op}.md"
    (command,) = (block.text for block in blocks_of(page) if block.info == ("sh",))
    case = next(case for case in find_cases(f"operations/{op}") if case.text.slug == EXAMPLE)
    case.lay_out(tmp_path)
    texts = [text for name, text in OPERATIONS[op].example.items() if name in CONTENT_FIELDS]
    for name, text in zip(re.findall(r"@(new\.\w+)", command), texts, strict=False):
        (tmp_path / name).write_text(str(text), encoding="utf-8")
    others = read_tree(tmp_path).keys() - case.before.keys()
    monkeypatch.chdir(tmp_path)

    run = mdplan(*shlex.split(command.replace("\\\n", " "))[1:], "-y", "--no-follow")

    assert run.code == 0, run.err
    assert {path: data for path, data in read_tree(tmp_path).items() if path not in others} == case.after
    help_text = mdplan("edit", op, "--help").out.decode()
    assert " ".join(command.split()) in " ".join(help_text.split())


def test_first_screen_of_edit_lists_each_operation_once() -> None:
    _, _, listed = mdplan("edit", "--help").out.decode().partition("Operations:\n")

    assert sorted(op for op in re.findall(r"\w+", listed) if op in OPERATIONS) == sorted(OPERATIONS)


# --- The commands of the README and the demo give the shown output.

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


# --- `mdplan schema`, `help` and `completion`: what the installed version says about itself.

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema, which comes with mcp, is missing")


def strict(schema: object) -> object:
    """Return `schema` with objects restricted to the listed properties."""
    if isinstance(schema, list):
        return [strict(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = (
        {"additionalProperties": False} if schema.get("type") == "object" and "properties" in schema else {}
    )
    return closed | {name: strict(item) for name, item in schema.items()}


def accepts(schema: Schema, value: object) -> bool:
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid(value)


@cache
def batch_validator() -> Any:
    """Checking this large schema itself takes longer than all that is checked against it."""
    jsonschema.Draft202012Validator.check_schema(SCHEMAS["batch"]())
    return jsonschema.Draft202012Validator(SCHEMAS["batch"]())


@CASE_TABLES.parametrize("arguments", "name", tuples=True)
def test_schema_is_that_of_the_package(arguments: tuple[str, ...], name: str) -> None:
    assert mdplan("schema", *arguments).json == SCHEMAS[name]()


@pytest.mark.parametrize("arguments", [("op",), ("op", "nothing"), ("report",), ("batch", "x"), ("nothing",)])
def test_schema_that_does_not_exist_is_a_usage_error(arguments: tuple[str, ...]) -> None:
    run = mdplan("schema", *arguments)

    assert (run.code, run.out) == (2, b"")
    assert run.err.startswith("error: ")
    assert "mdplan schema --help" in run.err


@pytest.mark.parametrize("op", OPERATIONS)
def test_example_fits_its_schema_in_a_batch_too(op: str) -> None:
    example = dict(OPERATIONS[op].example)

    assert accepts(mdplan("schema", "op", op).json, example)
    fits = batch_validator().is_valid
    assert fits({"file": "a.md", "edits": [example]})
    assert fits({"files": [{"file": "a.md", "edits": [example]}], "dryRun": True})
    assert not fits({"file": "a.md", "edits": [example | {"unknown": 1}]})
    assert not fits({"edits": [example]})
    assert not fits({"file": "a.md", "files": [], "edits": [example]})


def test_reports_have_the_fields_of_their_schemas_and_no_others(project: Path) -> None:
    (project / "guide.md").write_text(
        "---\na: 1\n---\n" + GUIDE + "\n- [ ] [x](#y)\n\n|a|\n|-|\n\n```sh\n```\n"
    )
    wrong = BATCH | {"edits": [{"op": "append_to_section", "heading": "None", "markdown": "x"}]}
    planned = mdplan("plan", "--json", stdin=BATCH).json
    reports = {
        "stat-report": [mdplan("stat", "--json", "guide.md").json, mdplan("stat", "--json").json],
        "plan-report": [planned, mdplan("plan", "--json", stdin=wrong).json],
        "apply-report": [mdplan("apply", "--json", planned["planId"]).json for _ in range(2)],
    }

    for name, each in reports.items():
        for report in each:
            jsonschema.validate(report, strict(SCHEMAS[name]()))


def test_plan_file_fits_its_schema(project: Path) -> None:
    mdplan("plan", "--output", "plan.json", stdin=BATCH)
    document = json.loads((project / "plan.json").read_bytes())

    jsonschema.validate(document, strict(SCHEMAS["plan"]()))
    assert not accepts(SCHEMAS["plan"](), document | {"planId": "sha256-0"})


@pytest.mark.parametrize("op", OPERATIONS)
def test_operation_help_lists_fields_and_a_valid_example(op: str) -> None:
    text = mdplan("help", op).out.decode()

    assert text.startswith(f"{op}\n\n")
    assert all(
        f" {name} (" in text for name in OPERATIONS[op].model_json_schema()["properties"] if name != "op"
    )
    example = json.loads(text.partition("Example of a batch:\n")[2])
    assert example["edits"] == [json.loads(json.dumps(OPERATIONS[op].example))]
    assert example["file"] == OPERATIONS[op].example_file


def test_help_lists_all_operations_and_commands() -> None:
    text = mdplan("help").out.decode()

    assert all(f"\n  {op} " in text for op in OPERATIONS)
    assert "\n  plan, apply  " in text


def test_help_of_a_command_is_its_own() -> None:
    assert mdplan("help", "plan").out == mdplan("plan", "--help").out


@CASE_TABLES.parametrize("command", "line")
def test_help_does_not_wrap_commands(command: str, line: str) -> None:
    assert line in mdplan(command, "--help").out.decode()


@pytest.mark.parametrize(
    ("topic", "near"), [("task", "`set_task`"), ("add_item", "`add_list_item`"), ("manifst", "`manifest`")]
)
def test_help_suggests_the_nearest_topic(topic: str, near: str) -> None:
    run = mdplan("help", topic)

    assert run.code == 2
    assert near in run.err.partition("did you mean")[2]


def test_help_shows_a_valid_batch_and_manifest(project: Path) -> None:
    """The batches are planned and the manifest is applied as they stand there, without their indentation."""
    paragraphs = mdplan("help", "batch").out.decode().split("\n\n")
    batches = [each for each in paragraphs if each.startswith("  {")]
    manifest = mdplan("help", "manifest").out.decode().split("\n\n")[1]
    (project / "guide.md").write_text("# Kettle\n\nThe nightly 1.0.\n\n## Install\n\n## Brew\n")
    (project / "manifest.yml").write_text(manifest)

    assert [mdplan("plan", stdin=batch.encode()).code for batch in batches] == [0, 0], batches
    assert mdplan("bot", "apply", "manifest.yml").code == 0
    assert "nightly 1.1." in (project / "guide.md").read_text()


def test_command_list_uses_the_summaries_of_the_commands() -> None:
    listed = mdplan("--help-all").out.decode().partition("Commands:\n")[2].rstrip("\n")

    names = [line.split()[0] for line in listed.split("\n")]

    assert names == [*COMMANDS]
    assert all(mdplan(name, "--help").code == 0 for name in names)


# --- Every exit code, and the text on standard error.

SECRET = "text of a file"


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


@CASE_TABLES.parametrize("arguments", "says", tuples=True)
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


# --- Common mistakes at the command line: the message names the likely intention, or where to correct it.

FILES = CASE_TABLES.value("FILES")
MISTAKES = CASE_TABLES.value("MISTAKES")


@pytest.mark.parametrize("typed", MISTAKES)
def test_mistake_is_answered_with_what_was_meant(project: Path, typed: str) -> None:
    for name, text in FILES.items():
        (project / name).write_text(text, encoding="utf-8")
    run = mdplan(*shlex.split(typed))

    assert run.code in {2, 3}, run.err
    assert MISTAKES[typed] in run.err
    assert {name: (project / name).read_text(encoding="utf-8") for name in FILES} == FILES


BATCHES = CASE_TABLES.value("BATCHES", tuples=True)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("batch", BATCHES)
def test_slip_in_a_batch_is_answered_with_its_place_and_correction(batch: str) -> None:
    run = mdplan("plan", stdin=batch.encode())

    assert run.code == 2
    assert [part for part in BATCHES[batch] if part not in run.err] == [], run.err
