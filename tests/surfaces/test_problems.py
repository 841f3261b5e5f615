"""The advice of every problem works when taken: every text of the package, for every caller."""

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

import mdplan
from docs.codegen.case_pages import said
from mdplan import Document, Engine
from mdplan.cli.edit_options import CommandWords, EditOptions
from mdplan.cli.program import build_program
from mdplan.diagnostics import Code
from mdplan.operations import OPERATIONS
from mdplan.requests.batch import wire_names
from mdplan.words import (
    AgentWords,
    Argument,
    Clauses,
    Command,
    Op,
    Option,
    PythonWords,
    Send,
    ShellWords,
    Step,
    Text,
    Value,
)
from tests.surfaces.command_line import mdplan as run_command
from tests.surfaces.mcp_calls import calls_to, process

PACKAGE = Path(mdplan.__file__).parent
FILES = ('my docs/a "b}.md', "-x.md", "$HOME.md")
FORM = {Code.INVALID_ARGUMENT, Code.UNKNOWN_FIELD}
OF_ENGINE = (
    "data",
    "documents",
    "engine",
    "markdown",
    "operations",
    "planning",
    "reading",
    "requests",
    "storage",
)
# The operation that has a field, for each field.
FIELDS = {name: op for op, model in OPERATIONS.items() for name in wire_names(model) if name != "op"}
NAMES = {*OPERATIONS, *(name for name in FIELDS if not name.islower())}
NAMED = re.compile(rf'\bmd_[a-z]+|`mdplan |`--[a-z]|"[a-z]\w*": |\b(?:{"|".join(sorted(NAMES))})\b')


@cache
def texts() -> dict[str, str]:
    """Every text with values that the package makes, by its place."""
    found = {}
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_bytes())) if module.name != "words.py" else ():
            match node:
                case ast.Call(func=ast.Name(id="say" | "either")):
                    place = f"{module.relative_to(PACKAGE)}:{node.lineno}"
                    found[place] = said(node, FILES[0])
                case _:
                    pass
    return found


def values_in(text: str) -> Iterator[Value]:
    for part in getattr(text, "parts", ()):
        if isinstance(part, Value):
            yield part
            for inner in part.given[0] if isinstance(part, Clauses) else ():
                yield from values_in(inner)


def values(kind: type[Value]) -> list[Any]:
    """Every value of the `kind` that a text of the package has, each once."""
    found = [value for text in texts().values() for value in values_in(text) if isinstance(value, kind)]
    return list({repr((type(value), value.given, value.named)): value for value in found}.values())


def steps() -> list[Text]:
    """Every step as a text, with each of the odd files where it names one."""
    named = {file: {"file": file} for file in FILES}
    return [
        Text(Step(*step.given, **{**step.named, **(named[file] if "file" in step.named else {})}))
        for step in values(Step)
        for file in FILES
    ]


def arguments() -> Iterator[tuple[str, str, Any]]:
    """Every field of an edit with a value, after an operation that has the field."""
    for value in [*values(Argument), *values(Send)]:
        if value.given[0] in FIELDS and value.given[1:]:
            yield FIELDS[value.given[0]], *value.given


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which holds the odd files."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("# A\n\nText.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_texts_name_verbs_and_fields_by_values() -> None:
    assert len(texts()) > 300
    for place, text in texts().items():
        parts = text.parts if isinstance(text, Text) else [text]
        plain = "".join(part for part in parts if isinstance(part, str))
        assert not (place.startswith(OF_ENGINE) and NAMED.search(plain)), (place, plain)


def test_advice_in_a_shell_is_a_command_that_runs(root: Path) -> None:
    told = {ShellWords().text(step) for step in steps()}
    told |= {ShellWords().command(*value.given) for value in values(Command)}
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(root),
        "BROWSER": "true",
    }

    for command in sorted(text.strip("`") for text in told):
        call = ["timeout", "5", "sh", "-c", command]
        ended = subprocess.run(
            call, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        wrong_form = re.search(
            r"has no option|unexpected argument|no command|JSONDecodeError", ended.stderr.decode()
        )
        assert not wrong_form, (command, ended.stderr.decode())
        assert ended.returncode != 70, (command, ended.stderr.decode())


def commands_of(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (below := command.get_command(context, name)) is not None:
                yield from commands_of(below)


def test_advice_of_a_limit_is_an_option(root: Path) -> None:
    options = {
        flag for command in commands_of(build_program()) for each in command.params for flag in each.opts
    }

    assert {option.given[0].split()[0] for option in values(Option)} <= options


def test_advice_of_an_edit_in_a_shell_is_an_option_that_it_takes(root: Path) -> None:
    for op, name, value in arguments():
        option = shlex.split(str(CommandWords.of_edit(EditOptions.of(op)).given(name, value)))
        ended = run_command("edit", op, FILES[2], *option, "-n")
        assert f"no option `{option[0]}`" not in ended.err, ended.err


def test_advice_for_agents_is_a_call_that_the_server_takes(root: Path) -> None:
    with calls_to(process("--root", str(root)), "auto") as client:
        tools = {tool["name"] for tool in client.tools()}
        for step in steps():
            tool, _, given = (AgentWords().text(step) or "md_stat").partition(" ")
            answer = client.call(tool, json.loads(given)) if given.startswith("{") else None
            assert tool in tools
            assert answer is None or (answer.data or {}).get("error", {}).get("code") not in FORM, answer
        for op, name, value in arguments():
            answer = client.call("md_validate", {"file": FILES[2], "edits": [{"op": op, name: value}]})
            assert f"unknown field `{name}`" not in answer.text
    assert {op.given[0] for op in values(Op)} <= set(OPERATIONS)


def test_advice_in_python_is_a_call_that_runs(root: Path) -> None:
    with Engine.open([root]) as engine:
        for step in filter(None, map(PythonWords().text, steps())):
            report = eval(step.strip("`"), {"engine": engine})
            assert callable(report) or report.error is None or report.error.code not in FORM, step
    for op, name, value in arguments():
        argument = PythonWords(of_document=True).field(name, value)
        edit = eval(f"dict({argument.strip('`')})") if argument else {}
        problems = Document.from_text("# A\n").plan({"op": op, **edit}).diagnostics
        assert Code.UNKNOWN_FIELD not in {problem.code for problem in problems}, argument
