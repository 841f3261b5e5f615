"""A page is added, renamed, moved and deleted in sites of six kinds: their navigation follows."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from mdplan.engine.engine import Engine

PAGES = {
    "index.md": "# Home\n\nSee [install](guide/install.md).\n",
    "guide/install.md": "# Install\n\nUse water.\n",
    "guide/brew.md": "# Brew\n",
}
RECIPES: dict[str, tuple[str, list[dict[str, Any]], str | None]] = {
    "added": ("guide/descaling.md", [{"op": "create_page", "markdown": "# Descaling\n"}], None),
    "renamed": ("guide/brew.md", [{"op": "rename_file", "newFile": "guide/tea.md"}], "guide/tea"),
    "moved": ("guide/brew.md", [{"op": "rename_file", "newFile": "tea/brew.md"}], "tea/brew"),
    "deleted": ("guide/brew.md", [{"op": "delete_file"}], None),
}


def _strings(value: Any, keys: frozenset[str] | None = None) -> Iterator[str]:
    """Yield strings in lists, and values of `keys`, or of any key."""
    for name, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(each, dict | list):
            yield from _strings(each, keys)
        elif isinstance(each, str) and (keys is None or name in keys or isinstance(name, int)):
            yield each


def _summary(text: str) -> list[str]:
    """Pages of mdBook's SUMMARY.md: a title, then items that are one link each, and drafts without a path."""
    head, *lines = text.splitlines()
    assert head.startswith("# ")
    found = [re.fullmatch(r" *- \[[^\]]+\]\(([^)]*)\)", line) for line in lines if line.strip()]
    assert all(found), text
    return [match[1] for match in found if match and match[1]]


@dataclass(frozen=True)
class Site:
    """A navigation file with its text, the folder of the pages, how an entry is written, and who reads it."""

    file: str
    folder: str
    text: str
    added: str
    gone: str
    pages: Callable[[str], list[str]]


SITES = {
    "MkDocs": Site(
        "mkdocs.yml",
        "docs/",
        "site_name: Kettle\nnav:\n  - Home: index.md\n  - Guide:\n"
        "      - Install: guide/install.md  # first\n      - guide/brew.md\n",
        "      - Descaling: guide/descaling.md\n",
        "      - guide/brew.md\n",
        lambda text: list(_strings(yaml.safe_load(text)["nav"])),
    ),
    "Mintlify": Site(
        "docs.json",
        "",
        '{"navigation": {"pages": ["index"], "groups": [\n'
        '  {"group": "Guide", "pages": [\n    "guide/install",\n    "guide/brew"\n  ]}\n]}}\n',
        ',\n    "guide/descaling"',
        ',\n    "guide/brew"',
        lambda text: list(_strings(json.loads(text)["navigation"], frozenset())),
    ),
    "Docusaurus": Site(
        "sidebars.json",
        "docs/",
        '{"docs": ["index", {"type": "category", "label": "Guide",\n'
        '  "items": [\n    "guide/install",\n    "guide/brew"\n  ]}]}\n',
        ',\n    "guide/descaling"',
        ',\n    "guide/brew"',
        lambda text: list(_strings(json.loads(text), frozenset())),
    ),
    "docfx": Site(
        "toc.yml",
        "",
        "- name: Home\n  href: index.md\n- name: Guide\n  items:\n"
        "  - name: Install  # first\n    href: guide/install.md\n  - name: Brew\n    href: guide/brew.md\n",
        "  - name: Descaling\n    href: guide/descaling.md\n",
        "  - name: Brew\n    href: guide/brew.md\n",
        lambda text: list(_strings(yaml.safe_load(text), frozenset({"href"}))),
    ),
    "mdBook": Site(
        "src/SUMMARY.md",
        "src/",
        "# Summary\n\n- [Home](index.md)\n- [Guide]()\n"
        "  - [Install](guide/install.md)\n  - [Brew](guide/brew.md)\n",
        "  - [Descaling](guide/descaling.md)\n",
        "  - [Brew](guide/brew.md)\n",
        _summary,
    ),
    "Jupyter Book": Site(
        "_toc.yml",
        "",
        "format: jb-book\nroot: index\nchapters:\n- file: guide/install  # first\n- file: guide/brew\n",
        "- file: guide/descaling\n",
        "- file: guide/brew\n",
        lambda text: list(_strings(yaml.safe_load(text), frozenset({"root", "file"}))),
    ),
}


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("kind", SITES)
def test_navigation_names_each_page_once_and_changes_nothing_else(
    tmp_path: Path, kind: str, recipe: str
) -> None:
    site, (page, edits, now) = SITES[kind], RECIPES[recipe]
    for name, text in PAGES.items():
        (tmp_path / site.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / site.folder / name).write_text(text)
    (tmp_path / site.file).write_text(site.text)
    edit = {**edits[0], **({"navigation": site.file} if recipe == "added" else {})}
    if now is not None:
        edit["newFile"] = site.folder + edit["newFile"]
    with Engine.open([tmp_path]) as engine:
        plan = engine.plan({"file": site.folder + page, "edits": [edit], "updateReferences": "workspace"})
        assert plan.ok, plan.diagnostics
        assert engine.apply({"planId": plan.plan_id}).ok
    result = (tmp_path / site.file).read_text()
    # Each of these is the last entry of its list.
    last = site.text.index(site.gone) + len(site.gone)
    wanted = {
        "added": site.text[:last] + site.added + site.text[last:],
        "deleted": site.text.replace(site.gone, ""),
    }
    assert result == wanted.get(recipe, site.text.replace("guide/brew", now or ""))
    files = sorted(
        path.relative_to(tmp_path / site.folder).with_suffix("").as_posix()
        for path in (tmp_path / site.folder).rglob("*.md")
        if path.name != "SUMMARY.md"
    )
    assert sorted(entry.removesuffix(".md") for entry in site.pages(result)) == files
