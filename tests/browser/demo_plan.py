"""A plan of 32 files with a move, a new title, a removed section, warnings and a new file."""

from pathlib import Path
from typing import Any

from mdplan.engine.engine import Engine

_GUIDE = """# Guide

What the device does, and how to use it.

## Requirements

- a socket
- a table that is level
- the nightly firmware

## Install

Put the device on the table. It needs a socket
and a network.

1. Plug it in.
2. Wait for the light.
3. Open the app.

## Configure

The nightly firmware is fine for a first try.
See [the reference](reference/options.md#flags) for all options.

## Use

Press the button once a day, in the morning.

## Legacy mode

Older devices have no button.

They have a lever, which is on the left side.
Pull it twice, then wait for the light.

## Troubleshooting

- [x] It is plugged in.
- [ ] It has water.
"""


def demo_root(root: Path) -> None:
    """Write the files that `demo_batch` changes into `root`."""
    (root / "manual.md").write_text(_GUIDE)
    for folder in ("reference", "howto", "howto/advanced"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for number in range(30):
        folder = ("reference", "howto", "howto/advanced")[number % 3]
        up = "../" * (folder.count("/") + 1)
        text = f"# Page {number}\n\nUses the nightly firmware.\n\nSee [legacy]({up}manual.md#legacy-mode).\n"
        (root / folder / f"page-{number:02}.md").write_text(text)
    (root / "reference" / "options.md").write_text("# Options\n\n## Flags\n\n`--fast` makes it fast.\n")


def demo_batch() -> dict[str, Any]:
    """The batch: 31 changed files and a new one."""
    guide = [
        {"op": "rename_heading", "heading": "Configure", "newTitle": "Settings"},
        {"op": "replace_match", "heading": "Configure", "pattern": "nightly", "replacement": "stable"},
        {"op": "delete_section", "heading": "Legacy mode"},
        {
            "op": "move_section",
            "heading": "Requirements",
            "toHeadingPath": ["Guide", "Use"],
            "position": "after",
        },
        {"op": "set_task", "item": "It has water.", "done": True},
    ]
    files: list[dict[str, Any]] = [{"file": "manual.md", "edits": guide}]
    for number in range(30):
        folder = ("reference", "howto", "howto/advanced")[number % 3]
        edit = {"op": "replace_match", "pattern": "nightly", "replacement": "stable"}
        more = {"op": "append_to_file", "markdown": f"It is page {number}."}
        edits = [edit, more] if number % 2 else [edit]
        files.append({"file": f"{folder}/page-{number:02}.md", "edits": edits})
    new = {"op": "create_file", "markdown": "# Changes\n\n- The guide has a section on settings.\n"}
    files.append({"file": "changes.md", "edits": [new]})
    return {
        "title": "Say stable, not nightly",
        "description": "The stable firmware is out, so no page needs to name the nightly one.\n\n"
        "The section on old devices goes: nobody has one.",
        "files": files,
    }


def demo_plan(root: Path) -> str:
    """ID of the plan of `demo_batch` over the files of `demo_root`."""
    demo_root(root)
    report = Engine.open([root]).plan(demo_batch())
    assert report.plan_id is not None, report.diagnostics
    return report.plan_id
