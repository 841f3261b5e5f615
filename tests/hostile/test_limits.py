"""Every limit of DESIGN section 14 is an option and a variable, and says so when it is met."""

import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest

from mdplan import limits as limit_options
from mdplan.cli.program import build_program
from mdplan.diagnostics import Code
from mdplan.limits import LimitOption, in_words
from mdplan.settings import DEFAULT_SETTINGS, Settings
from tests.conftest import REPOSITORY
from tests.hostile.tally import Record
from tests.surfaces.command_line import GUIDE, mdplan

GROUPS = ("FILES", "PATTERNS", "BATCHES", "COMMITS", "HISTORY", "REPORTS")
LIMITS: list[LimitOption] = [limit for group in GROUPS for limit in getattr(limit_options, group)]
# What is a choice and no limit.
NO_LIMITS = {"durability", "require_approval"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a document of 11 lines."""
    (tmp_path / "guide.md").write_text(f"---\ntitle: {'x' * 50}\n---\n{GUIDE}{'a' * 40}!\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def value_of(settings: Settings, limit: LimitOption) -> float:
    value: Any = settings
    for name in limit.setting.split("."):
        value = getattr(value, name)
    return value


def test_defaults_of_options_are_those_of_the_settings() -> None:
    assert {limit.name: limit.default for limit in LIMITS} == {
        limit.name: value_of(DEFAULT_SETTINGS, limit) for limit in LIMITS
    }


def test_every_setting_has_an_option() -> None:
    settings = {field.name for field in fields(Settings)} - {"batch"} - NO_LIMITS
    settings |= {f"batch.{field.name}" for field in fields(DEFAULT_SETTINGS.batch)}

    assert {limit.setting for limit in LIMITS} == settings


def test_option_changes_its_setting_alone() -> None:
    for limit in LIMITS:
        changed = DEFAULT_SETTINGS.limited(
            {limit: 7, **{other: None for other in LIMITS if other is not limit}}
        )
        assert [other.name for other in LIMITS if value_of(changed, other) != other.default] == [limit.name]


def options_of(command: click.Command) -> dict[str, click.Option]:
    return {
        name.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
    }


def test_serve_has_every_limit_and_each_has_its_variable() -> None:
    group = build_program()
    assert isinstance(group, click.Group)
    serve = group.get_command(click.Context(group), "serve")
    assert serve is not None
    options = options_of(serve)

    for limit in LIMITS:
        assert options[limit.name].envvar == limit.variable
        assert limit.variable in (options[limit.name].help or "")


def test_page_on_limits_has_each_with_its_variable_and_default() -> None:
    page = (REPOSITORY / "docs" / "reference" / "limits.md").read_text(encoding="utf-8")
    table = page[page.index("## Options") : page.index("## Commands")]
    rows = [line.split(" | ") for line in table.split("\n") if line.startswith("| `--")]

    assert sorted([row[0].split()[1], row[1], row[3]] for row in rows) == sorted(
        [f"`--{limit.name}", f"`{limit.variable}`", in_words(limit.default)] for limit in LIMITS
    )


BATCH = {
    "file": "guide.md",
    "edits": [
        {"op": "replace_match", "pattern": "nightly", "replacement": "stable"},
        {"op": "append_to_section", "headingPath": ["Install"], "markdown": "Restart."},
    ],
}
CATASTROPHE = ["search", "--regex", r"(a|aa)+$", "guide.md"]
FRONT_MATTER = {"file": "guide.md", "edits": [{"op": "set_front_matter", "key": "k", "value": 1}]}
GROWTH = {"file": "guide.md", "edits": [{"op": "append_to_file", "markdown": "x\n" * 300}]}
TWO_FILES = {
    "files": [{"file": f"{n}.md", "edits": [{"op": "create_file", "markdown": "x"}]} for n in range(2)]
}
MET: dict[str, tuple[list[str], Mapping[str, Any] | bytes, Code]] = {
    "max-file-bytes=20": (["stat", "guide.md"], b"", Code.FILE_TOO_LARGE),
    "max-file-bytes=500": (["plan"], GROWTH, Code.FILE_TOO_LARGE),
    "max-lines=5": (["read", "guide.md"], b"", Code.FILE_TOO_LARGE),
    "max-lines=100": (["plan"], GROWTH, Code.FILE_TOO_LARGE),
    "max-front-matter=30": (["plan"], FRONT_MATTER, Code.FRONT_MATTER_INVALID),
    "max-regex-seconds=0.05": (CATASTROPHE, b"", Code.REGEX_TIMEOUT),
    "max-files=1": (["plan"], TWO_FILES, Code.BATCH_TOO_LARGE),
    "max-edits=1": (["apply"], BATCH, Code.BATCH_TOO_LARGE),
    "max-payload=30": (["validate"], BATCH, Code.BATCH_TOO_LARGE),
}


@pytest.mark.requirement("hostile-1")
@pytest.mark.parametrize("form", ["option", "variable"])
@pytest.mark.parametrize("given", MET)
def test_exceeded_limit_is_reported_with_its_option(
    folder: Path, record: Record, given: str, form: str
) -> None:
    name, value = given.split("=")
    arguments, stdin, code = MET[given]
    before = (folder / "guide.md").read_bytes()
    limit = next(each for each in LIMITS if each.name == name)
    options = [f"--{name}", value] if form == "option" else []
    environment = {limit.variable: value} if form == "variable" else {}

    run = mdplan(*arguments, "--json", *options, stdin=stdin, environment=environment)

    error = run.json["error"]
    is_refused = error["code"] == code and (folder / "guide.md").read_bytes() == before
    record(f"limit {name}", "refused" if is_refused else "escaped", 0.0)
    assert is_refused, run.json
    assert run.code == code.exit
    if code is not Code.FRONT_MATTER_INVALID:
        assert f"--{name}" in error["hint"]
    assert not (folder / ".mdplan").exists()


@pytest.mark.parametrize("given", MET)
def test_raised_limit_allows_the_same_request(folder: Path, given: str) -> None:
    """But for the pattern, which would take for ever."""
    arguments, stdin, code = MET[given]
    run = mdplan(*arguments, "--json", stdin=stdin)

    if code is Code.REGEX_TIMEOUT:
        assert "more than 1 s" in run.json["error"]["message"]
    else:
        assert (
            run.json["error"]["code"] == Code.PRECONDITION_REQUIRED
            if arguments == ["apply"]
            else run.json["ok"]
        )


@pytest.mark.parametrize("value", ["0", "-1", "x", "nan", "inf", "1e400", "9" * 5000 + "x"])
@pytest.mark.parametrize("name", ["max-lines", "max-regex-seconds"])
def test_invalid_limit_is_a_usage_error(folder: Path, name: str, value: str) -> None:
    run = mdplan("search", f"--{name}", value, "x", "guide.md")

    assert run.code == 2
    assert f"--{name}" in run.err


def test_expired_plans_are_deleted(folder: Path, state_dir: Path) -> None:
    plan_id = mdplan("plan", "--json", stdin=BATCH).json["planId"]
    for stored in state_dir.rglob("*.json"):
        os.utime(stored, (1, 1))
    mdplan("plan", "--json", "--keep-plans", "1", stdin=TWO_FILES)

    run = mdplan("show", plan_id, "--json")
    assert run.json["error"]["code"] == Code.PLAN_NOT_FOUND
    assert "--keep-plans" in run.json["error"]["hint"]


DENIED = [
    (["--deny", "secret/"], "secret/a.md", "secret/"),
    (["--deny", "*.key"], "b.key", "*.key"),
    (["--allow", "docs/**"], "guide.md", "docs/**"),
    (["--allow", "*.md", "--deny", "guide*"], "guide.md", "guide*"),
]


@pytest.mark.parametrize(("options", "path", "glob"), DENIED)
def test_file_outside_the_globs_is_refused_naming_the_option(
    folder: Path, record: Record, options: list[str], path: str, glob: str
) -> None:
    """To be read, looked at, searched, edited, made and moved to."""
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text("# Secret\n")
    edit = {"file": path, "edits": [{"op": "append_to_file", "markdown": "x"}]}
    make = {"file": path, "edits": [{"op": "create_file", "markdown": "x"}]}
    for arguments, stdin in (
        (["read", path], b""),
        (["stat", path], b""),
        (["search", "Secret", path], b""),
        (["plan"], edit),
        (["plan"], make),
    ):
        run = mdplan(*arguments, "--json", *options, stdin=stdin)
        error = run.json["error"] or {}
        is_refused = error.get("code") == Code.PATH_OUTSIDE_ROOT and f"`{glob}`" in error["message"]
        record("glob that denies", "refused" if is_refused else "escaped", 0.0)
        assert is_refused, run.json
    assert "Secret" not in json.dumps(mdplan("search", "Secret", ".", "--json", *options).json["files"])


def test_limit_names_are_unique() -> None:
    assert len({limit.name for limit in LIMITS}) == len(LIMITS)
