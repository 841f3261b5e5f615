"""Move sections of real documents to another file: except for the section, both pages stay the same.

The judge is cmark-gfm, and the standard library follows the paths of links. In every second trial the files
that links name exist; otherwise the links are broken and must stay as written.
"""

import html
import posixpath
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

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


def named_files(name: str, data: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield links of the file: as written, as a path from the root, and that with query and fragment."""
    for written in map(html.unescape, _ADDRESS.findall(Page.of(data).body)):
        path = re.split(r"[?#]", written, maxsplit=1)[0]
        if path and not _OTHER_SITE.match(path) and not path.startswith("/"):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
            yield written, unquote(target), target + written.removeprefix(path)


def other_files(root: Path, name: str, data: bytes) -> Counter[str]:
    """Return the targets of links of the file, except the two files; broken links as written."""
    return Counter(
        place if path.startswith("..") or (root / path).exists() else written
        for written, path, place in named_files(name, data)
        if path not in {HERE, THERE}
    )


@pytest.mark.parametrize("folder", ["book/src", "nodejs-api", "EIPs", "PowerShell-Docs"])
def test_section_is_the_same_in_the_other_file(corpus: Path, tmp_path: Path, folder: str) -> None:
    files = sorted((corpus / folder).rglob("*.md"))
    choice = random.Random(5)
    settings = Settings(durability=Durability.PROCESS)
    problems: list[str] = []
    for number in range(PAIRS):
        here, there = (path.read_bytes() for path in choice.sample(files, 2))
        sections = Document(HERE, here).outline.sections[1:]
        if not sections:
            continue
        root = tmp_path / str(number)
        (root / "sub").mkdir(parents=True)
        (root / HERE).write_bytes(here)
        (root / THERE).write_bytes(there)
        links = (*named_files(HERE, here), *named_files(THERE, there))
        # Files before the folders that they are in.
        for path in sorted({path for _, path, _ in links}, reverse=True) if number % 2 else ():
            if not path.startswith(".."):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).touch()
        section = choice.choice(sections)
        edit = {"op": "move_section", "sectionId": section.section_id, "toFile": THERE}
        with Engine.open([root], settings=settings) as engine:
            plan = engine.plan({"file": HERE, "edits": [edit], "allowDuplicateHeadings": True})
            where = f"{section.path} of {sections[0].path}"
            if not plan.ok:
                problems.append(f"{where}: {plan.diagnostics[0]}")
                continue
            engine.apply({"planId": plan.plan_id})
        now_here, now_there = (root / HERE).read_bytes(), (root / THERE).read_bytes()
        less, more = middle(shown(now_here), shown(here)), middle(shown(there), shown(now_there))
        # If both ends of the piece look alike, it may begin later: its characters are the same.
        if less is None or more is None or Counter(less) != Counter(more):
            problems.append(f"{where}: another page")
        before = other_files(root, HERE, here) + other_files(root, THERE, there)
        after = other_files(root, HERE, now_here) + other_files(root, THERE, now_there)
        if after != before:
            problems.append(f"{where}: other links, {after - before} for {before - after}")

    assert problems == []
