"""Sections of real documents that move to another file: both pages are the same but for the section.

The judge is cmark-gfm, and paths of links are followed by the standard library.
"""

import html
import posixpath
import random
import re
from collections import Counter
from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.conftest import FULL
from tests.corpus.test_operation_pages import middle
from tests.support.edit_trials import Document
from tests.support.pages import Page

pytestmark = pytest.mark.timeout(3600 if FULL else 120)
PAIRS = 150 if FULL else 4
HERE, THERE = "a.md", "sub/b.md"
_ADDRESS = re.compile(r' (?:href|src)="([^"]*)"')
_LEVEL = re.compile(r"(</?h)[1-6]>")
_OTHER_SITE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def shown(data: bytes) -> str:
    """The page without the levels of headings, which are fitted, and without addresses."""
    return _LEVEL.sub(r"\1>", _ADDRESS.sub("", Page.of(data).body))


def other_files(name: str, data: bytes) -> Counter[str]:
    """The paths from the root, with their fragments, that links of the file name; without the two files."""
    found: Counter[str] = Counter()
    for written in _ADDRESS.findall(Page.of(data).body):
        path, sign, fragment = html.unescape(written).partition("#")
        if path and not _OTHER_SITE.match(path) and not path.startswith("/"):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            found[target + sign + fragment] += target not in {HERE, THERE}
    return +found


@pytest.mark.parametrize("folder", ["book/src", "nodejs-api", "EIPs", "PowerShell-Docs"])
def test_section_is_the_same_in_the_other_file(corpus: Path, tmp_path: Path, folder: str) -> None:
    files = sorted((corpus / folder).rglob("*.md"))
    choice = random.Random(5)
    (tmp_path / "sub").mkdir()
    settings = Settings(durability=Durability.PROCESS)
    problems: list[str] = []
    for _ in range(PAIRS):
        here, there = (path.read_bytes() for path in choice.sample(files, 2))
        sections = Document(HERE, here).outline.sections[1:]
        if not sections:
            continue
        (tmp_path / HERE).write_bytes(here)
        (tmp_path / THERE).write_bytes(there)
        section = choice.choice(sections)
        edit = {"op": "move_section", "sectionId": section.section_id, "toFile": THERE}
        with Engine.open([tmp_path], settings=settings) as engine:
            plan = engine.plan({"file": HERE, "edits": [edit], "allowDuplicateHeadings": True})
            where = f"{section.path} of {sections[0].path}"
            if not plan.ok:
                problems.append(f"{where}: {plan.diagnostics[0]}")
                continue
            engine.apply({"planId": plan.plan_id})
        now_here, now_there = (tmp_path / HERE).read_bytes(), (tmp_path / THERE).read_bytes()
        less, more = middle(shown(now_here), shown(here)), middle(shown(there), shown(now_there))
        # Where both ends of the piece look alike, it may begin later: its characters are the same.
        if less is None or more is None or Counter(less) != Counter(more):
            problems.append(f"{where}: another page")
        before = other_files(HERE, here) + other_files(THERE, there)
        after = other_files(HERE, now_here) + other_files(THERE, now_there)
        if after != before:
            problems.append(f"{where}: other links, {after - before} for {before - after}")

    assert problems == []
