"""Write what is generated, or say what of it is stale: `python -m docs.codegen.generated [--check]`.

Generated are schemas and reference pages, snapshots of tools, stubs of edits and diagrams. With `--check` nothing is
written, and the exit code is 1 if a file is missing, stale or left over.
"""

import ast
import inspect
import json
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from html import escape
from inspect import Parameter
from pathlib import Path
from textwrap import indent
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

from docs.codegen.case_pages import error_pages, operation_pages
from docs.codegen.cases import GoldenCases
from docs.codegen.manifest_page import manifest_page
from docs.codegen.pages import (
    NOTE,
    command_page,
    library_page,
    limit_page,
    page,
    published_tools,
    table,
    tool_pages,
    variable_page,
)
from docs.codegen.tool_schemas import tool_schemas
from docs.codegen.tool_stubs import stub_files
from mdplan.bot.manifest import manifest_schema
from mdplan.diagnostics import Exit
from mdplan.edits.edit_classes import (
    BATCHES,
    PARTS,
    Edit,
    SectionAddress,
    Value,
    class_names,
    class_of,
    parameters,
)
from mdplan.limits import Kept
from mdplan.markdown.tables import NodeKind
from mdplan.mcp.tool import ToolDefinition
from mdplan.operations.base import Operation
from mdplan.requests.json_schemas import SCHEMAS
from mdplan.text.pattern import MatchType

REPOSITORY: Final = Path(__file__).parent.parent.parent
_PAGES: Final = "docs/reference"


def main(arguments: Sequence[str]) -> int:
    """Write what is generated, or check it; return the exit code."""
    if list(arguments) not in ([], ["--check"]):
        print("usage: python -m docs.codegen.generated [--check]", file=sys.stderr)
        return Exit.INVALID
    if not arguments:
        for name in write():
            print(f"wrote {name}")
        return Exit.DONE
    found = problems()
    for problem in found:
        print(f"{problem}: run `make schemas`", file=sys.stderr)
    return Exit.WOULD_CHANGE if found else Exit.DONE


def generated_files(repository: Path = REPOSITORY) -> dict[str, str]:
    """Text of every generated file by its path in the `repository`."""
    return dict(_generated(repository))


def _generated(repository: Path) -> Iterator[tuple[str, str]]:
    """Path and text of every file; pages and snapshots of tools have what is in the files of their schemas."""
    yield from schema_files().items()
    golden = GoldenCases(repository / "tests" / "cases")
    pages = {
        **operation_pages(golden),
        **error_pages(golden),
        **tool_pages(),
        **tool_snapshots(),
        **diagrams(REPOSITORY),
        _EDIT_STUBS: edit_stubs(),
        f"{_PAGES}/command-line.md": command_page(),
        f"{_PAGES}/environment.md": variable_page(),
        f"{_PAGES}/limits.md": limit_page(),
        f"{_PAGES}/manifest.md": manifest_page(),
        f"{_PAGES}/python.md": library_page(),
        f"{_PAGES}/schemas.md": schema_page(),
    }
    yield from pages.items()


def problems(repository: Path = REPOSITORY) -> list[str]:
    """Return missing, outdated and surplus files in the `repository`, one line each."""
    files = generated_files(repository)
    found = []
    for name, text in files.items():
        path = repository / name
        if not path.is_file():
            found.append(f"{name} is missing")
        elif path.read_bytes() != text.encode():
            found.append(f"{name} is stale")
    return found + [f"{name} is left over" for name in sorted(_generated_in(repository) - files.keys())]


def write(repository: Path = REPOSITORY) -> list[str]:
    """Write every changed generated file to the `repository`; return the paths."""
    changed = []
    for name, text in _generated(repository):
        path = repository / name
        if not path.is_file() or path.read_bytes() != text.encode():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            changed.append(name)
    return changed


def _generated_in(repository: Path) -> set[str]:
    """Generated files of the `repository`: all of the folders below, and pages that contain the note."""
    folders = (repository / _SCHEMAS, repository / _OF_TOOLS, repository / _SNAPSHOTS)
    found = (path for folder in folders for path in folder.rglob("*"))
    whole = (path for path in found if path.is_file() and path.suffix != ".pyc")
    pages = (path for path in (repository / _PAGES).rglob("*.md") if NOTE.encode() in path.read_bytes())
    return {path.relative_to(repository).as_posix() for path in (*whole, *pages)}


_SCHEMAS: Final = "schemas"
_OF_TOOLS: Final = "mdplan/mcp/schemas"
_MADE_SCHEMAS: Final[Mapping[str, Callable[[], Mapping[str, Any]]]] = {**SCHEMAS, "manifest": manifest_schema}
# The purpose of each, and the command that prints it.
_USES: Final[Mapping[str, tuple[str, str]]] = {
    "apply-report": ("the answer of `apply` and `undo`", "mdplan schema report apply"),
    "batch": ("the input of `plan`, `validate` and `apply`: edits of one or more files", "mdplan schema"),
    "manifest": ("the input of `mdplan bot`", "mdplan schema manifest"),
    "plan": (
        "a plan file, which `mdplan plan --output` writes and `mdplan apply` reads",
        "mdplan schema plan",
    ),
    "plan-report": ("the answer of `plan` and `validate`", "mdplan schema report plan"),
    "stat-report": ("the answer of `stat`", "mdplan schema report stat"),
}
_OF_SCHEMAS: Final = """\
The folder `schemas` of the repository contains JSON Schemas (draft 2020-12) of requests and reports; the installed version prints its own.
They omit the [other spellings](semantics-rules.md#other-spellings) that mdplan also accepts.
Reports omit absent fields, and later versions may add fields: ignore unknown ones."""
_OF_TOOL_SCHEMAS: Final = """\
`mdplan/mcp/schemas` contains the schemas of arguments and answers of each [MCP tool](tools.md), as a client gets them, and stubs of the toolset `md` for scripts in TypeScript and Python (`tools.d.mts`, `tools.mjs`, `tools.py`).
They are flat, because some clients understand only simple schemas; the resource `mdplan://schema/batch` has the exact schema of a batch."""


def schema_files() -> dict[str, str]:
    """Return the text of each file by path."""
    files = {f"{_SCHEMAS}/{name}.schema.json": _text(make()) for name, make in _MADE_SCHEMAS.items()}
    files |= {f"{_OF_TOOLS}/{name}.json": _text(schemas) for name, schemas in tool_schemas().items()}
    return files | stub_files(_OF_TOOLS)


def schema_page() -> str:
    """Return the page that lists them."""
    rows = [
        (f"`{name}.schema.json`", _USES[name][0], f"`{_USES[name][1]}`") for name in sorted(_MADE_SCHEMAS)
    ]
    one_edit = ("", "one edit", "`mdplan schema op OPERATION`")
    listed = table(["File", "Describes", "Printed by"], [*rows, one_edit])
    return page("Schemas", _OF_SCHEMAS, listed, "## Tools", _OF_TOOL_SCHEMAS)


def _text(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


_SNAPSHOTS: Final = "tests/snapshots/tools"


def tool_snapshots() -> dict[str, str]:
    """Return the text of each snapshot by path."""
    return {
        f"{_SNAPSHOTS}/{tool.name}.json": json.dumps(_listed(tool), indent=2, ensure_ascii=False) + "\n"
        for tools in published_tools().values()
        for tool in tools
    }


def _listed(tool: ToolDefinition) -> dict[str, Any]:
    """Return the tool as in the answer to `tools/list`, without schemas, for a client without MCP Apps."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "annotations": {
            "title": tool.title,
            "readOnlyHint": not tool.writes,
            "destructiveHint": tool.writes,
            "idempotentHint": tool.may_be_repeated,
            "openWorldHint": False,
        },
        "_meta": {name: value for name, value in tool.published_meta.items() if name != "ui"},
    }


_EDIT_STUBS: Final = "mdplan/edits/__init__.pyi"
_STUB_HEAD: Final = """\
# Generated by `make schemas`; do not edit.

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from mdplan.edits.edit_classes import Edit as Edit
from mdplan.edits.edit_classes import SectionAddress
from mdplan.edits.edit_classes import Value as Value

Section = SectionAddress
"""
_CONTAINERS: Final[dict[object, str]] = {tuple: "Sequence", dict: "Mapping"}
# Objects that are typed here; a plain mapping does as well.
_CLASSES: Final[dict[type, str]] = {
    **{model: name for name, model in {**PARTS, **BATCHES}.items()},
    Operation: "Edit",
}


def edit_stubs() -> str:
    """Return the text of the stub file."""
    kinds = [class_of(name) for name in sorted(class_names())]
    return (
        "\n\n".join(
            [
                _STUB_HEAD + "\n".join(map(_choices, (MatchType, NodeKind, Kept))),
                *("\n".join(_class_lines(kind)) for kind in kinds),
            ]
        )
        + "\n"
    )


def _class_lines(kind: type[Value]) -> Iterator[str]:
    base = "Edit" if issubclass(kind, Edit) else "Value"
    yield f"class {kind.__name__}({base}):"
    text = inspect.cleandoc(kind.__doc__ or "")
    yield indent(f'r"""{text}{chr(10) if chr(10) in text else ""}"""', "    ")
    yield "    def __init__("
    yield "        self,"
    given = parameters(kind)
    for index, each in enumerate(given):
        if each.kind is Parameter.KEYWORD_ONLY and (not index or given[index - 1].kind is not each.kind):
            yield "        *,"
        default = "" if each.default is Parameter.empty else " = ..."
        yield f"        {each.name}: {_type_text(each.annotation)}{default},"
    yield "    ) -> None: ..."


def _type_text(annotation: Any) -> str:  # noqa: ANN401 (any annotation)
    """Return the `annotation` of a model field as a stub writes it."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        text = _type_text(arguments[0])
    elif origin in {Union, UnionType}:
        texts = [_type_text(each) for each in arguments if each is not NoneType]
        text = " | ".join([*dict.fromkeys(texts), *(["None"] if NoneType in arguments else [])])
    elif origin is Literal:
        text = f"Literal[{', '.join(map(_quoted, arguments))}]"
    elif origin in _CONTAINERS:
        items = [_type_text(each) for each in arguments if each is not ...]
        text = f"{_CONTAINERS[origin]}[{', '.join(items)}]"
    else:
        text = _class_text(annotation)
    return text


def _class_text(kind: type) -> str:
    if kind in _CLASSES:
        return f"{_CLASSES[kind]} | Mapping[str, Any]"
    return "Section" if kind is SectionAddress else kind.__name__


def _choices(kind: type[Enum]) -> str:
    """Return the values of an enum as a literal type: callers write them as strings."""
    values = "".join(f"    {_quoted(each.value)},\n" for each in kind)
    return f"{kind.__name__}: TypeAlias = Literal[\n{values}]"


def _quoted(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


_DIAGRAMS: Final = "docs/explanation"
_ROW: Final = 58
_GAP: Final = 12
_WIDTH: Final = 760
_STYLE: Final = """\
text { font: 13px system-ui, sans-serif; fill: #1f2328; }
.note { fill: #59636e; font-size: 12px; }
rect { fill: #f6f8fa; stroke: #818b98; }
line { stroke: #818b98; stroke-width: 1.5; }
path { fill: #818b98; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .note { fill: #9198a1; }
  rect { fill: #151b23; stroke: #656c76; }
}"""

# The stages of a batch in their order: name, what it produces, and the module to read.
STAGES: Final = (
    ("request", "a Batch, or every problem", "requests/batch.py"),
    ("decode", "a Source: text, encoding, line ends", "text/source.py"),
    ("parse", "an Outline: sections, blocks, links", "markdown/outline.py"),
    ("resolve", "a Resolution for each edit", "planning/build.py"),
    ("check", "no two edits claim the same text", "planning/verify.py"),
    ("build", "one sorted list of text edits", "planning/build.py"),
    ("verify", "the outline of the result is the planned one", "planning/verify.py"),
    ("derive", "links follow what was renamed or moved", "planning/links.py"),
    ("plan", "a Plan, its diff and its ID", "planning/results.py"),
    ("approve", "a decision about this version of the plan", "engine/approval.py"),
    ("stage", "results next to their targets, the intent in the store", "storage/commit.py"),
    ("publish", "files exchanged, then committed in the store", "storage/commit.py"),
)


def diagrams(repository: Path) -> dict[str, str]:
    """Text of every diagram by its path in the `repository`."""
    return {f"{_DIAGRAMS}/packages.svg": _packages(repository), f"{_DIAGRAMS}/batch.svg": _batch()}


def layers(repository: Path) -> list[list[str]]:
    """Return the names of packages and modules by layer, top layer first, as in the import contract."""
    settings = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    contract = next(each for each in contracts if each["id"] == "layers")
    return [layer.split(" | ") for layer in contract["layers"]]


def _packages(repository: Path) -> str:
    rows = layers(repository)
    shapes: list[str] = []
    for number, names in enumerate(rows):
        width = (_WIDTH - _GAP * (len(names) + 1)) / len(names)
        for column, name in enumerate(names):
            left = _GAP + column * (width + _GAP)
            most = int(width / 7)
            shapes += _box(
                left, _GAP + number * _ROW, width, (name, _shortened(_summary(repository, name), most))
            )
    bottom = _GAP + len(rows) * _ROW
    note = "A package imports only from the rows below it, never from its own row."
    shapes.append(f'<text class="note" x="{_GAP}" y="{bottom + 8}">{note}</text>')
    return _svg("Packages of mdplan", bottom + 22, shapes)


def _batch() -> str:
    shapes: list[str] = []
    for number, (name, product, module) in enumerate(STAGES):
        top = _GAP + number * _ROW
        if number:
            shapes += _arrow(_WIDTH / 4, top - _ROW + 44, top)
        shapes += _box(_GAP, top, _WIDTH / 2 - _GAP, (name, product))
        shapes.append(
            f'<text class="note" x="{_WIDTH / 2 + _GAP}" y="{top + 27}">mdplan/{escape(module)}</text>'
        )
    return _svg("The path of a batch", _GAP + len(STAGES) * _ROW, shapes)


def _summary(repository: Path, name: str) -> str:
    """Return the first sentence of the docstring of a top-level package or module."""
    package, module = repository / "mdplan" / name / "__init__.py", repository / "mdplan" / f"{name}.py"
    code = (package if package.is_file() else module).read_text(encoding="utf-8")
    text = " ".join((ast.get_docstring(ast.parse(code)) or "").split())
    return text.partition(". ")[0].rstrip(".")


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1].rpartition(" ")[0].rstrip(",:;") + " …"


def _box(left: float, top: float, width: float, lines: Sequence[str]) -> Iterable[str]:
    yield f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="44" rx="6"/>'
    for number, line in enumerate(lines):
        kind = ' class="note"' if number else ' font-weight="600"'
        yield f'<text{kind} x="{left + 10:g}" y="{top + 18 + number * 17:g}">{escape(line)}</text>'


def _arrow(x: float, start: float, end: float) -> Iterable[str]:
    yield f'<line x1="{x:g}" y1="{start:g}" x2="{x:g}" y2="{end - 6:g}"/>'
    yield f'<path d="M{x - 4:g} {end - 7:g}h8l-4 7z"/>'


def _svg(title: str, height: float, shapes: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" '
        f'width="{_WIDTH}" height="{height:g}" role="img">'
    )
    return "\n".join([head, f"<title>{title}</title>", f"<style>{_STYLE}</style>", *shapes, "</svg>", ""])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
