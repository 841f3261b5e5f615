"""A plan as large as agents produce: 200 files in folders, 5,000 changed lines."""

from pathlib import Path
from typing import Any

from mdplan.engine.engine import Engine

FILES = 200
_SECTIONS = 5
_FOLDERS = ("guide", "guide/install", "reference/commands", "reference/options", "explain")


def large_batch(root: Path) -> dict[str, Any]:
    """A batch over 200 new files below `root`: each loses 13 lines and gets as many, in five places."""
    files = []
    for number in range(FILES):
        name = f"{_FOLDERS[number % len(_FOLDERS)]}/page-{number:03}.md"
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_text(number))
        files.append({"file": name, "edits": list(_edits(number))})
    return {"files": files}


def large_plan(root: Path) -> str:
    """ID of the plan of `large_batch`."""
    report = Engine.open([root]).plan(large_batch(root))
    assert report.plan_id is not None, report.diagnostics
    return report.plan_id


def _text(number: int) -> str:
    sections = [f"# Page {number}\n\nWhat page {number} is about.\n"]
    for section in range(_SECTIONS):
        lines = [f"- step {step} of part {section} uses the nightly build {number}" for step in range(14)]
        prose = [f"Paragraph {line} of part {section} says what people need." for line in range(10)]
        sections.append(f"## Part {section}\n\n" + "\n".join(lines) + "\n\n" + "\n\n".join(prose) + "\n")
    return "\n".join(sections)


def _edits(number: int) -> Any:
    for section in range(_SECTIONS):
        for step in range(2, 4 if section % 2 else 5):
            yield {
                "op": "replace_match",
                "heading": f"Part {section}",
                "pattern": f"step {step} of part {section} uses the nightly build",
                "replacement": f"step {step} of part {section} uses the stable build",
            }
