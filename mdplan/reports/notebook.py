"""A report on a plan as a notebook shows it."""

from collections.abc import Sequence
from html import escape
from typing import Final

# Colors that can be read on a light and on a dark page.
_STYLES: Final = {
    "+": "color:#1a7f37",
    "-": "color:#cf222e",
    "@": "color:#8250df",
}


def report_html(summary: str, diff: str, warnings: Sequence[str]) -> str:
    """HTML of `summary`, the `warnings` and the lines of `diff`; all of it is escaped."""
    notes = "".join(f"<li>{escape(each)}</li>" for each in warnings)
    lines = "\n".join(map(_line, diff.splitlines()))
    listed = f"<ul>{notes}</ul>" if notes else ""
    return f"<div><p><code>{escape(summary)}</code></p>{listed}<pre>{lines}</pre></div>"


def _line(line: str) -> str:
    style = "" if line.startswith(("+++", "---")) else _STYLES.get(line[:1], "")
    return f'<span style="{style}">{escape(line)}</span>' if style else escape(line)
