"""Files and headings of real sites get other names, some hundred of them, and no link that worked breaks.

The judge shares no code with mdplan: markdown-it-py finds the links, and a few lines follow them.
"""

import posixpath
import random
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from mdplan.engine.engine import Engine
from mdplan.requests.queries import StatRequest
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability

pytestmark = pytest.mark.timeout(600)
N_FILES, N_HEADINGS = 25, 40
_FRONT_MATTER = re.compile(r"\A\ufeff?---\r?\n.*?^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_RAW = re.compile(r"""\b(?:href|src)\s*=\s*["']([^"'{}<>]+)["']""")
_NAMED = re.compile(
    r"""\{#([\w:.-]+)[^}]*\}\s*$|\b(?:id|name)=["']([^"']+)["']|^\(([^()\n]+)\)=\s*$""", re.MULTILINE
)
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_PARSER = MarkdownIt("commonmark").enable("table")


class Target(NamedTuple):
    """A file, and what a fragment names in it: the number of a heading, an ID, or nothing."""

    file: str
    place: int | str | None = None


class Page:
    """The links and anchors of a page."""

    def __init__(self, data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        front = _FRONT_MATTER.match(text)
        self.text = "\n" * front[0].count("\n") + text[front.end() :] if front else text
        self.tokens = _PARSER.parse(self.text)

    @cached_property
    def links(self) -> list[str]:
        """All destinations of links, images and tags, in order."""
        return [href for token in self.tokens for href in _links_in(token)]

    @cached_property
    def headings(self) -> list[tuple[int, str]]:
        """Line and text of each heading that is in no other block."""
        pairs = zip(self.tokens, self.tokens[1:], strict=False)
        return [
            ((token.map or [0])[0] + 1, content.content)
            for token, content in pairs
            if token.type == "heading_open" and not token.level
        ]

    @cached_property
    def anchors(self) -> dict[str, int | str]:
        """What each fragment names, in lower case."""
        named: dict[str, int | str] = {
            name: name for found in _NAMED.findall(self.text) for name in found if name
        }
        for number, (_, title) in enumerate(self.headings):
            own = _NAMED.search(title)
            text = re.sub(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])?|<[^<>]*>", r"\1", title)
            slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            anchor, count = slug, 0
            while anchor in named:
                count += 1
                anchor = f"{slug}-{count}"
            named[own[1] if own and own[1] else anchor] = number
        return {name.lower(): place for name, place in named.items()}


def _links_in(token: Token) -> Iterator[str]:
    if token.type in {"html_block", "html_inline"}:
        yield from _RAW.findall(token.content)
    for name in ("href", "src"):
        value = token.attrGet(name)
        if isinstance(value, str):
            yield value
    for child in token.children or ():
        yield from _links_in(child)


class Site:
    """The files of a site, where `roots` has the folder that a path from the root begins in."""

    def __init__(self, folder: Path, roots: Mapping[str, str]) -> None:
        self.roots = roots
        paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "mdplan.toml")
        contents = {path.relative_to(folder).as_posix(): path for path in paths}
        self.files = frozenset(contents)
        self.pages = {
            name: Page(path.read_bytes())
            for name, path in sorted(contents.items())
            if name.endswith((".md", ".mdx"))
        }

    def target(self, name: str, href: str) -> Target | None:
        """What `href` in the page `name` leads to; None if to nothing here."""
        path, _, fragment = unquote(href).partition("#")
        path = path.partition("?")[0]
        if _ELSEWHERE.match(href):
            return None
        file = self._file(posixpath.dirname(name), path) if path else name
        if file is None or not fragment:
            return Target(file) if file else None
        page = self.pages.get(file)
        place = page.anchors.get(fragment.lower()) if page else None
        return None if place is None else Target(file, place)

    def _file(self, folder: str, path: str) -> str | None:
        starts = [(prefix, start) for prefix, start in self.roots.items() if path.startswith(prefix)]
        folder, path = (starts[0][1], path.removeprefix(starts[0][0])) if starts else (folder, path)
        file = posixpath.normpath(posixpath.join(folder, path))
        forms = (file, *(f"{stem}{end}" for stem in (file, file.removesuffix(".html")) for end in _ENDS))
        return next((form for form in forms if form in self.files), None)


_ENDS = (".md", ".mdx", "/index.md", "/index.mdx")


class Kind(NamedTuple):
    """Where a site of the corpus lies, where its paths from the root begin, and its settings of links."""

    folder: str
    roots: Mapping[str, str] = {}
    settings: str = ""


SITES = [
    Kind("astro-docs", {"/": "src/content/docs"}, '[links]\npreset = "astro"\n'),
    Kind("vuejs-docs", {"/": "src"}, '[links]\npreset = "vitepress"\nroots = {"/" = "src"}\n'),
    Kind("mystmd"),
    Kind("book"),
    Kind("nodejs-api"),
    Kind("EIPs"),
    Kind("PowerShell-Docs", {}, '[links]\npreset = "docfx"\n'),
]


@pytest.mark.parametrize("kind", SITES, ids=lambda kind: kind.folder)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_links_lead_where_they_led_after_renames_and_moves(
    kind: Kind, seed: int, corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "site"
    shutil.copytree(corpus / kind.folder, folder, copy_function=shutil.copyfile)
    (folder / "mdplan.toml").write_text(kind.settings)
    before = Site(folder, kind.roots)
    settings = Settings(durability=Durability.PROCESS)
    engine = Engine.open([folder], settings=settings)
    files, renamed = _edits(engine, before, random.Random(f"{kind.folder} {seed}"))

    plan = engine.plan({"files": files, "updateReferences": "workspace"})
    assert plan.ok, plan.diagnostics
    assert engine.apply({"planId": plan.plan_id}).applied

    after = Site(folder, kind.roots)
    broken: list[str] = []
    for name, page in before.pages.items():
        new_name = renamed.get(name, name)
        links = after.pages[new_name].links
        assert len(links) == len(page.links), name
        for old, new in zip(page.links, links, strict=True):
            was, now = before.target(name, old), after.target(new_name, new)
            if was is not None and now != Target(renamed.get(was.file, was.file), was.place):
                broken.append(f"{name}: {old} became {new}: {was} became {now}")
    assert broken == []


def _edits(
    engine: Engine, site: Site, chance: random.Random
) -> tuple[list[dict[str, object]], dict[str, str]]:
    """Renames of files and headings, some in other folders, and the new names of the files."""
    top = site.roots.get("/", "")
    pages = [name for name in site.pages if name.startswith(top)]
    folders = sorted({posixpath.dirname(name) for name in pages})
    renamed: dict[str, str] = {}
    for number, name in enumerate(chance.sample(pages, min(N_FILES, len(pages) // 3))):
        folder = chance.choice(
            [posixpath.dirname(name), chance.choice(folders), posixpath.join(top, "moved/deep")]
        )
        stem, end = posixpath.splitext(posixpath.basename(name))
        renamed[name] = posixpath.join(folder, f"{stem if chance.random() < 0.3 else 'new'}-{number}{end}")
    edits: dict[str, list[dict[str, object]]] = {
        name: [{"op": "rename_file", "newFile": new}] for name, new in renamed.items()
    }
    headings = [
        (name, line)
        for name, page in site.pages.items()
        for line, title in page.headings
        if not re.search(r"[\[<]", title)
    ]
    for number, (name, line) in enumerate(chance.sample(headings, min(N_HEADINGS, len(headings)))):
        sections = engine.stat(StatRequest(file=name, detail="full")).sections
        section = next((each for each in sections if each.start_line == line and each.level), None)
        if section is not None:
            edit = {
                "op": "rename_heading",
                "sectionId": section.section_id,
                "newTitle": f"Other *title* {number}",
            }
            edits.setdefault(name, []).append(edit)
    return [{"file": name, "edits": made} for name, made in edits.items()], renamed
