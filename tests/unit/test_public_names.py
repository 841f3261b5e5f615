"""What `import mdplan` offers: few names, each with types, and with an example that runs."""

import ast
import doctest
import inspect
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from textwrap import dedent
from types import FunctionType
from typing import get_args, get_type_hints

import pytest

import mdplan
from mdplan import edits
from mdplan.values import Struct
from tests.conftest import REPOSITORY
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


NAMES = [name for name in mdplan.__all__ if name != "__version__"]
SNAPSHOT = REPOSITORY / "tests" / "snapshots" / "public_names.txt"
# For mdplan's own modules, as the docstrings of their classes say.
INNER = {
    *("draft", "source", "commit", "invalid", "warning", "file_exists", "of"),
    *("committer", "comparer", "document_check", "recovery", "undoing"),
}
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
OPTIONS = doctest.REPORT_NDIFF | doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the samples."""
    folder = tmp_path / "samples"
    shutil.copytree(REPOSITORY / "docs" / "samples", folder)
    monkeypatch.chdir(folder)
    return folder


def fields_and_methods(kind: type) -> Iterator[str]:
    """What of a class a caller may use, as its source declares it."""
    (tree,) = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    for each in tree.body:
        if isinstance(each, ast.AnnAssign | ast.Assign) and not ast.unparse(each).startswith("_"):
            yield ast.unparse(each)
        elif isinstance(each, ast.FunctionDef) and each.name not in INNER and each.name[0] != "_":
            yield signature(each)


def signature(function: ast.FunctionDef) -> str:
    given = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"def {function.name}({ast.unparse(function.args)}){given}"


def surface() -> Iterator[str]:
    """All public names with their signatures, one a line."""
    for name in NAMES:
        found = getattr(mdplan, name)
        if isinstance(found, FunctionType):
            (tree,) = ast.parse(dedent(inspect.getsource(found))).body
            assert isinstance(tree, ast.FunctionDef)
            yield signature(tree)
            continue
        bases = [base.__name__ for base in found.__bases__ if base not in (object, Struct)]
        yield f"class {name}({', '.join(bases)})"
        yield from (f"    {line}" for line in fields_and_methods(found))
    for part in sorted(parts(), key=lambda part: part.__name__):
        yield f"part {part.__name__}"
        yield from (f"    {line}" for line in fields_and_methods(part))


def parts() -> set[type]:
    """The values that reports are made of, which have no public name."""
    public = {getattr(mdplan, name) for name in NAMES}
    found: set[type] = set()
    waiting = [kind for kind in public if is_value(kind)]
    while waiting:
        for hint in get_type_hints(waiting.pop()).values():
            new = {kind for kind in within(hint) if is_value(kind)} - found - public
            found |= new
            waiting.extend(new)
    return found


def is_value(kind: object) -> bool:
    return is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, Struct))


def within(hint: object) -> Iterator[object]:
    """Yield a type and the types it consists of."""
    yield hint
    for argument in get_args(hint):
        yield from within(argument)


@pytest.mark.requirement("api-1")
def test_public_signatures_match_the_snapshot(*, update_cases: bool) -> None:
    """A difference affects callers: docs/contributing/releasing.md says which version may have it."""
    lines = "".join(f"{line}\n" for line in surface())
    if update_cases:
        SNAPSHOT.write_text(lines, encoding="utf-8")

    assert lines == SNAPSHOT.read_text(encoding="utf-8")


def test_async_engine_has_every_verb_of_the_engine() -> None:
    verbs = {line.split("(")[0].removeprefix("def ") for line in fields_and_methods(mdplan.Engine)}

    assert {"plan", "apply", "reviews"} < verbs
    assert [verb for verb in sorted(verbs) if not hasattr(mdplan.AsyncEngine, verb)] == []


def test_stub_declares_exactly_the_public_names() -> None:
    stub = ast.parse((REPOSITORY / "mdplan" / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [(each.names[0].asname, each.module) for each in stub.body if isinstance(each, ast.ImportFrom)]

    assert sorted(NAMES) == NAMES
    assert sorted(imports) == sorted(vars(mdplan)["_HOMES"].items())


def test_dir_lists_lazy_names() -> None:
    told = "import mdplan; print(*(name for name in mdplan.__all__ if name not in dir(mdplan)), sep='')"
    run = subprocess.run([sys.executable, "-c", told], capture_output=True, check=True, text=True)

    assert run.stdout == "\n"


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'mdplan' has no attribute 'Motor'"):
        _ = mdplan.Motor


@pytest.mark.requirement("api-1")
@pytest.mark.parametrize("name", ["", *NAMES])
def test_docstring_example_runs(name: str, samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = getattr(mdplan, name).__doc__ if name else mdplan.__doc__
    names = {each: getattr(mdplan, each) for each in NAMES}
    names |= {"engine": mdplan.Engine.open(["."]), "edits": edits}
    example = doctest.DocTestParser().get_doctest(shown, names, name or "mdplan", None, None)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(example)

    assert example.examples
    assert runner.failures == 0, capsys.readouterr().out


def programs() -> dict[str, str]:
    """Programs in the pages, by the page: what a page shows is one program."""
    shown = {
        page.relative_to(REPOSITORY).as_posix(): "\n".join(PYTHON.findall(page.read_text(encoding="utf-8")))
        for page in PAGES
    }
    return {page: program for page, program in shown.items() if program and "/contributing/" not in page}


@pytest.mark.requirement("api-2")
def test_documented_programs_import_only_public_names() -> None:
    imports = [
        (page, line)
        for page, program in programs().items()
        for line in re.findall(r"^.*import.*mdplan.*$|^from mdplan.*$", program, re.MULTILINE)
    ]

    assert imports
    assert [found for found in imports if not found[1].startswith("from mdplan import ")] == []


@pytest.mark.requirement("api-2")
def test_documented_programs_pass_a_strict_type_checker(tmp_path: Path) -> None:
    """Checked from another folder, as somebody's own program is, with no configuration of ours."""
    for number, program in enumerate(programs().values()):
        (tmp_path / f"program_{number}.py").write_text(program, encoding="utf-8")

    checked = type_checked(*sorted(map(str, tmp_path.glob("*.py"))), folder=tmp_path)

    assert checked.returncode == 0, checked.stdout + checked.stderr


WRONG_EDITS = CASE_TABLES.value("WRONG_EDITS")
WRONG_LINES = {"3", "4", "5", "6", "7", "8", "9", "10"}


def test_mypy_rejects_every_wrong_edit(tmp_path: Path) -> None:
    (tmp_path / "wrong_edits.py").write_text(WRONG_EDITS, encoding="utf-8")

    checked = type_checked("wrong_edits.py", folder=tmp_path)

    assert set(re.findall(r"wrong_edits\.py:(\d+): error", checked.stdout)) == WRONG_LINES


@pytest.mark.slow
def test_pyright_rejects_every_wrong_edit(tmp_path: Path) -> None:
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("no pyright on this machine")
    (tmp_path / "wrong_edits.py").write_text(WRONG_EDITS, encoding="utf-8")

    command = [pyright, "--pythonpath", sys.executable, "wrong_edits.py"]
    checked = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)

    assert set(re.findall(r"wrong_edits\.py:(\d+):\d+ - error", checked.stdout)) == WRONG_LINES


def type_checked(*files: str, folder: Path) -> subprocess.CompletedProcess[str]:
    cache = REPOSITORY / ".mypy_cache" / "user"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={cache}"]
    environment = {**os.environ, "MYPYPATH": ""}
    return subprocess.run(
        [*command, *files], capture_output=True, check=False, cwd=folder, env=environment, text=True
    )
