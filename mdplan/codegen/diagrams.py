"""Diagrams as SVG: the packages, by the import contract in `pyproject.toml`, and the path of a batch."""

import ast
import tomllib
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Final

FOLDER: Final = "docs/explanation"
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
    ("request", "a Batch, or every problem", "requests/batch_reader.py"),
    ("decode", "a Source: text, encoding, line ends", "text/source.py"),
    ("parse", "an Outline: sections, blocks, links", "markdown/outline/outline.py"),
    ("resolve", "a Resolution for each edit", "planning/resolve.py"),
    ("check", "no two edits claim the same text", "planning/conflicts.py"),
    ("build", "one sorted list of text edits", "planning/build.py"),
    ("verify", "the outline of the result is the planned one", "planning/verify.py"),
    ("derive", "links follow what was renamed or moved", "planning/links/derived_edits.py"),
    ("plan", "a Plan, its diff and its ID", "planning/results/summary.py"),
    ("approve", "a decision about this version of the plan", "engine/decisions/approval.py"),
    ("stage", "results next to their targets, a journal record", "storage/transaction/commit.py"),
    ("publish", "files exchanged, record renamed: committed", "storage/transaction/commit.py"),
)


def diagrams(repository: Path) -> dict[str, str]:
    """Text of every diagram by its path in the `repository`."""
    return {
        f"{FOLDER}/packages.svg": _packages(repository),
        f"{FOLDER}/batch.svg": _batch(),
    }


def layers(repository: Path) -> list[list[str]]:
    """Names of packages and modules by layer, the top layer first, as the import contract lists them."""
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
    """The first sentence of the docstring of a package or module at the top."""
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
