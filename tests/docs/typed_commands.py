"""Commands that pages tell people to type: those of mdplan are parsed."""

import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from itertools import dropwhile

import click

from mdplan.cli.program import build_program
from tests.conftest import REPOSITORY

_PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_TARGETS = set(
    re.findall(r"^([a-z-]+):.*## ", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)
# A clone, this package by its names, or this package with extras.
_OURS = re.compile(r"(?:\.|mdplan|/path/to/mdplan)(?:\[(?P<extras>[\w,]+)\])?(?:==[\w.]+)?")


def faults_of_script(text: str) -> Iterator[str]:
    """Return the faults of the commands in `text`, one per line; handles comments and continued lines."""
    for line in text.replace("\\\n", " ").split("\n"):
        for command in _commands(line):
            problem = fault_of(command)
            if problem:
                yield f"{line.strip()}: {problem}"


def _commands(line: str) -> Iterator[list[str]]:
    command: list[str] = []
    for word in [*shlex.split(line, comments=True), ";"]:
        if word not in {"|", "&&", "||", ";"}:
            command.append(word)
        elif command:
            yield command
            command = []


def fault_of(command: Sequence[str]) -> str | None:
    """Return the fault of a command, such as an unknown program.

    Environment variables may precede it.
    """
    name, *rest = dropwhile(re.compile(r"\w+=").match, command)
    rule = _RULES.get(name.rpartition("/")[2])
    return f"nothing here knows `{name}`" if rule is None else rule(rest)


def _fault_of_client(words: Sequence[str]) -> str | None:
    """Check how an MCP client gets a server: a command after `--`, or an address and a header."""
    if list(words[:2]) != ["mcp", "add"]:
        return f"clients have no {words[:2]}"
    if "--" in words:
        return fault_of(words[words.index("--") + 1 :])
    address, option, header = words[-3:]
    is_right = (
        address.endswith("/mcp") and option == "--header" and header.startswith("Authorization: Bearer ")
    )
    return None if is_right else "another address or header than a server has"


def _fault_of_make(words: Sequence[str]) -> str | None:
    unknown = [word for word in words if "=" not in word and word not in _TARGETS]
    return f"no target {unknown}" if unknown else None


def _fault_of_installer(words: Sequence[str]) -> str | None:
    """`pip install`, `uv tool install`: the last word is the package."""
    *verb, package = words
    if verb[-1:] != ["install"]:
        return f"only `install` is known, not {verb}"
    found = _OURS.fullmatch(package)
    if found is None:
        return f"`{package}` is not this package"
    extras = set(found["extras"].split(",")) if found["extras"] else set()
    return None if extras <= set(_PROJECT["optional-dependencies"]) else f"no extras {sorted(extras)}"


def _fault_of_uvx(words: Sequence[str]) -> str | None:
    if words[:1] == ["--from"]:
        return _fault_of_installer(["install", words[1]]) or fault_of(words[2:])
    return fault_of(words)


def _fault_of_docker(words: Sequence[str]) -> str | None:
    there = any((REPOSITORY / name).exists() for name in ("Dockerfile", "Containerfile"))
    return (
        None if there and words[:1] in (["run"], ["build"]) else "there is no container file, or no such verb"
    )


def _fault_of_python(words: Sequence[str]) -> str | None:
    """Check that the module of `-m` exists, and every word that looks like a path of this repository."""
    if words[:1] == ["-m"] and find_spec(words[1]) is None:
        return f"no module {words[1]}"
    paths = [
        word.partition("::")[0] for word in words if re.match(r"(?:tests|mdplan|docs|benchmarks)/", word)
    ]
    gone = [path for path in paths if not list(REPOSITORY.glob(path))]
    return f"no {gone}" if gone else None


def _nothing(words: Sequence[str]) -> None:
    """Accept commands of the shell and git."""
    del words


def _fault_of_ours(words: Sequence[str]) -> str | None:
    """Return click's error about options and arguments, without running anything or looking for files."""
    command: click.Command = build_program()
    rest = [word for word in words if not re.fullmatch(r"\d?>.*", word)]
    context = click.Context(command, info_name="mdplan")
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            return f"no command {rest[0]}"
        command, rest = found, rest[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    if isinstance(command, click.Group):
        return None if set(rest) <= {"--version", "--help", "-h"} else f"no option {rest}"
    try:
        command.make_parser(context).parse_args(args=list(rest))
    except click.UsageError as error:
        return error.format_message()
    return None


_RULES: dict[str, Callable[[Sequence[str]], str | None]] = {
    "mdplan": _fault_of_ours,
    "claude": _fault_of_client,
    "codex": _fault_of_client,
    "make": _fault_of_make,
    "pip": _fault_of_installer,
    "pipx": _fault_of_installer,
    "uv": _fault_of_installer,
    "uvx": _fault_of_uvx,
    "docker": _fault_of_docker,
    "python": _fault_of_python,
    "python3": _fault_of_python,
    "pytest": _fault_of_python,
    **dict.fromkeys(("cd", "export", "git", "mkdir", "sh"), _nothing),
}
