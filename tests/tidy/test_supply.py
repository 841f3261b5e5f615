"""Dependencies are bounded, and mdplan starts no shell and runs no text."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
MODULES = sorted((REPOSITORY / "mdplan").rglob("*.py"))
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
REQUIREMENTS = [
    *PROJECT["dependencies"],
    *(each for extra in PROJECT["optional-dependencies"].values() for each in extra),
]
# What makes text or bytes into running code, or into objects of any class.
FORBIDDEN_CALLS = {
    "eval",
    "exec",
    "compile",
    "builtins.eval",
    "builtins.exec",
    "__import__",
    "os.system",
    "os.popen",
    "os.spawnl",
    "os.spawnv",
    "os.execv",
    "os.execve",
    "os.execvp",
    "subprocess.getoutput",
    "subprocess.getstatusoutput",
    "asyncio.create_subprocess_shell",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "tempfile.mktemp",
}
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle"}
FORBIDDEN_NAMES = {"CLoader", "CSafeLoader", "UnsafeLoader", "FullLoader", "Loader"}
# Worker processes of the bot receive pickled work over a private pipe, to which no file, batch or client can
# write.
ALLOWED = {"job.py: pickle"}


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_dependency_has_a_lower_and_an_upper_bound(requirement: str) -> None:
    bounds = re.sub(r"\[.*?\]|;.*", "", requirement)

    assert re.search(r">=?|~=|==", bounds)
    assert re.search(r"<|~=|==", bounds)


def test_nothing_in_the_package_runs_text_or_starts_a_shell() -> None:
    assert len(MODULES) > 100
    assert [
        found
        for module in MODULES
        for found in offences(module.read_text(), module)
        if re.sub(r":\d+:", ":", found) not in ALLOWED
    ] == []


def offences(source: str, module: Path) -> Iterator[str]:
    """Places of `source` that run text, start a shell, or unpack objects."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call():
                name = ast.unparse(node.func)
                given = {each.arg: ast.unparse(each.value) for each in node.keywords}
                if given.get("shell", "False") != "False" or name in FORBIDDEN_CALLS:
                    yield f"{module.name}:{node.lineno}: {name}"
            case ast.Import():
                yield from (
                    f"{module.name}: {each.name}" for each in node.names if each.name in FORBIDDEN_MODULES
                )
            case ast.ImportFrom() if node.module in FORBIDDEN_MODULES:
                yield f"{module.name}: {node.module}"
            case ast.Attribute(attr=attribute) if attribute in FORBIDDEN_NAMES:
                yield f"{module.name}:{node.lineno}: {attribute}"
            case _:
                pass
