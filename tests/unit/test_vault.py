"""Links of a vault of Obsidian lead where they led, whatever moves. Judged by a resolver of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from tests.support.vault import Vault, make_vault, sections_of


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("vault")
    make_vault(root, seed=7)
    return root


def changes(random: Random, before: Vault) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield a note or attachment, what is done to it, and the edit that does it."""
    files = sorted(before.files)
    notes = [path for path in files if path.endswith(".md")]
    pictures = [path for path in files if path.endswith(".png")]
    path, other = random.sample(notes, 2)
    folder, _, name = path.rpartition("/")
    place, title = f"{folder}/".lstrip("/"), f"New (v3) & café {random.randrange(999)}"
    heading = random.choice(
        [each.title for each in sections_of(before.files[path].decode()) if each.level == 2]
    )
    yield path, "rename", {"op": "rename_file", "newFile": f"{place}{title}.md"}
    yield path, "move", {"op": "rename_file", "newFile": f"Moved/here/{name}"}
    yield path, "move", {"op": "rename_file", "newFile": f"{title}/{other.rpartition('/')[2]}"}
    yield random.choice(pictures), "move", {"op": "rename_file", "newFile": f"Shots/{title}.png"}
    yield path, "heading", {"op": "rename_heading", "heading": heading, "newTitle": f"Now: {title}"}
    yield path, "heading", {"op": "rename_heading", "heading": "Top", "newTitle": f"First {title}"}
    yield (
        path,
        "section",
        {
            "op": "move_section",
            "heading": heading,
            "toFile": other,
            "toHeadingPath": ["Top"],
            "position": "lastChild",
        },
    )
    yield path, "delete", {"op": "delete_file"}
    yield path, "delete", {"op": "delete_section", "heading": heading}
    yield (
        f"New/{name}",
        "create",
        {"op": "create_file", "markdown": f"# Top\n\nM9{random.randrange(10**6)}\n"},
    )


@pytest.mark.parametrize("seed", range(3))
def test_links_lead_where_they_led_in_the_form_that_they_had(vault: Path, tmp_path: Path, seed: int) -> None:
    root = shutil.copytree(vault, tmp_path / "vault")
    random, engine = Random(seed), Engine.open([root])
    before = Vault(root)
    for _ in range(10):
        file, kind, edit = random.choice(list(changes(random, before)))
        batch = {"file": file, "edits": [edit], "updateReferences": "workspace"}
        planned = engine.plan(batch)
        assert planned.ok, planned.diagnostics
        assert engine.apply({"planId": planned.plan_id}).applied
        after = Vault(root)
        now = after.targets
        led = {name: target for name, target in before.targets.items() if target is not None and name in now}
        lost = {name for name in led if now[name] is None}
        assert {name: now[name] for name in led if name not in lost} == {
            name: target for name, target in led.items() if name not in lost
        }
        # What goes, or meets an ID that its new note has already, breaks links, and the plan says so.
        assert not lost or (kind in {"delete", "section"} and planned.warnings)
        before = after
    engine.close()
