"""Hints name only existing tools, commands, options and methods."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import mdplan
from docs.codegen.case_pages import messages_in
from mdplan import Document, Engine
from mdplan.cli.program import build_program
from mdplan.mcp.toolsets import TOOLSETS
from mdplan.operations import OPERATIONS
from mdplan.reports.next_steps import Caller, in_words_of
from tests.support.golden_cases import find_cases

PACKAGE = Path(mdplan.__file__).parent
# Packages whose messages reach people alone.
FOR_PEOPLE = frozenset({"bot", "checks", "cli", "web"})
# Packages whose messages reach a document in memory.
IN_MEMORY = frozenset({"markdown", "memory", "operations", "plaintext", "planning", "reading", "requests"})
TOOL = re.compile(r"\bmd_\w+")
FIELD = re.compile(r'"([a-zA-Z]+)": ')
COMMAND = re.compile(r"`mdplan (?P<words>[^`]+)`")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
METHOD = re.compile(r"`document\.(\w+)\(\)`")
ARGUMENT = re.compile(r"`([a-z_]+)=")


def hints_of_code(packages: frozenset[str]) -> set[str]:
    return {hint for name in packages for texts in messages_in(PACKAGE / name).values() for _, hint in texts}


OF_CASES = {each.get("hint", "") for case in find_cases() for each in case.diagnostics or ()}
PACKAGES = frozenset(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())
OF_ENGINE = sorted(OF_CASES | hints_of_code(PACKAGES - FOR_PEOPLE))
OF_DOCUMENTS = sorted(OF_CASES | hints_of_code(IN_MEMORY))


def names_in(schema: Any) -> Iterator[str]:
    """Names of fields at every depth, also those that a description writes as in JSON."""
    match schema:
        case dict():
            yield from schema.get("properties", {})
            yield from re.findall(r"[a-z][a-zA-Z]+", str(schema.get("description", "")))
            for each in schema.values():
                yield from names_in(each)
        case list():
            for each in schema:
                yield from names_in(each)
        case _:
            return


def test_hints_for_agents_name_default_tools(tmp_path: Path) -> None:
    tools = TOOLSETS["md"](Engine.open([tmp_path]), False)
    names = {tool.name for tool in tools}
    arguments = {name for tool in tools for name in names_in(tool.input_schema)}

    for hint in OF_ENGINE:
        told = in_words_of(Caller.AGENT, hint)
        assert set(TOOL.findall(told)) <= names, told
        assert set(FIELD.findall(told)) <= arguments, told
        # What only a person can run, a person is asked to run.
        before, *commands = re.split("(?=`mdplan )", told)
        assert not commands or before.endswith(" to run "), told
        assert all(each.endswith(" or ") for each in commands[:-1]), told
        assert not OPTION.search(COMMAND.sub("", told)), told


def test_hints_in_the_shell_name_existing_commands() -> None:
    program = build_program()
    context = click.Context(program)
    commands = {name: program.get_command(context, name) for name in program.list_commands(context)}
    options = {name: set(options_of(command)) for name, command in commands.items()}
    every_option = set().union(*options.values())

    for hint in OF_ENGINE:
        told = in_words_of(Caller.SHELL, hint)
        assert not TOOL.search(told), told
        for found in COMMAND.finditer(told):
            name = found["words"].split()[0]
            assert name in commands, told
            assert set(OPTION.findall(found["words"])) <= options[name], told
        assert set(OPTION.findall(COMMAND.sub("", told))) <= every_option, told


def options_of(command: click.Command | None) -> Iterator[str]:
    assert command is not None
    for parameter in command.params:
        yield from parameter.opts
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from options_of(command.get_command(context, name))


def test_hints_in_python_name_existing_methods() -> None:
    arguments = {name for model in OPERATIONS.values() for name in model.model_fields}
    arguments |= {"allow_outline_change", "allow_duplicate_headings", "format", "encoding"}

    for hint in OF_DOCUMENTS:
        told = in_words_of(Caller.DOCUMENT, hint)
        assert not TOOL.search(told), told
        assert all(callable(getattr(Document, name)) for name in METHOD.findall(told)), told
        assert set(ARGUMENT.findall(told)) <= arguments, told
        assert not COMMAND.search(told), told
        assert not OPTION.search(told), told


@pytest.mark.parametrize(
    ("caller", "told"),
    [
        (Caller.AGENT, 'md_stat {"file": "a b.md"} lists; nearest: `md_stat`'),
        (Caller.SHELL, "`mdplan outline 'a b.md'` lists; nearest: `md_stat`"),
        (Caller.DOCUMENT, "`document.stat()` lists; nearest: `md_stat`"),
    ],
)
def test_quoted_file_text_in_hints_is_unchanged(caller: Caller, told: str) -> None:
    assert in_words_of(caller, 'md_stat {"file": "a b.md"} lists; nearest: `md_stat`') == told
