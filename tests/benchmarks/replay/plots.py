"""The plots of the page, the same to the byte for the same numbers."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

# Of the same lightness in order, and told apart in print and by those who see few colors.
COLORS = {
    "right": "#2a7f62",
    "right elsewhere": "#8fc1a9",
    "refused": "#c9c9c9",
    "wrong": "#b3261e",
    "call": "#2a6f97",
    "read": "#a9c6d9",
}
_WIDTH, _ROW = 7.5, 0.32


def stacked(path: Path, title: str, rows: Sequence[str], parts: Mapping[str, Sequence[float]]) -> None:
    """A bar for each of `rows`, made of `parts`, in a file `path` of SVG."""
    matplotlib = import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "mdplan", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    )
    height = _ROW * len(rows) + 1.1
    figure = import_module("matplotlib.figure").Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots()
    left = [0.0] * len(rows)
    for name, widths in parts.items():
        axes.barh(rows, widths, left=left, label=name, color=COLORS[name], height=0.7)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    if len(parts) > 1:
        figure.legend(loc="outside lower center", ncols=len(parts), frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
