"""Law: after any renames and moves, every link still names the same section.

An independent link check judges: `tests/support/link_check.py`. A mark in its text identifies a section.
"""

import posixpath
import re
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mdplan.diagnostics import Code
from mdplan.documents.site_links import SiteLinks
from mdplan.engine.engine import Engine
from mdplan.markdown.paths import PRESETS, SiteRules, followed, leads_out
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.conftest import REPOSITORY
from tests.docs.pages import blocks_of
from tests.support.link_check import Site

NAMES = ("a.md", "docs/b.md", "docs/deep/c d.md")
NEW_NAMES = ("x.md", "docs/(y).md", "more/z z.md", "docs/deep/ü.md")
TITLES = ("Notes", "The *end*", "`Code` & more", "Notes 1")
SECTIONS = 3
_SLUG = re.compile(r"[^\w\- ]")
_LINK = re.compile(r"\[link(\d+)\]\((<[^>]*>|(?:[^()\s]|\([^()\s]*\))*)\)")


def anchors(titles: list[str]) -> list[str]:
    """Anchors as GitHub makes them."""
    taken: list[str] = []
    for title in titles:
        slug = _SLUG.sub("", title.lower()).replace(" ", "-")
        number, anchor = 0, slug
        while anchor in taken:
            number += 1
            anchor = f"{slug}-{number}"
        taken.append(anchor)
    return taken


def destination(source: str, target: str, anchor: str | None, style: int) -> str:
    """One of several spellings of a link from the file `source` to `target`."""
    path = (
        "" if source == target and style % 2 else posixpath.relpath(target, posixpath.dirname(source) or ".")
    )
    fragment = "" if anchor is None else f"#{anchor}"
    if not path + fragment:
        return posixpath.basename(target).replace(" ", "%20")
    if style < 2:
        return f"<{path}{fragment}>"
    return (
        path.replace(" ", "%20") if style < 4 or path.startswith(".") else f"./{path}".replace(" ", "%20")
    ) + fragment


_PLACES = st.tuples(st.sampled_from(range(len(NAMES))), st.sampled_from(range(SECTIONS)))


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str]:
    """Files with headings that repeat, and links between all of them."""
    titles = [draw(st.lists(st.sampled_from(TITLES), min_size=SECTIONS, max_size=SECTIONS)) for _ in NAMES]
    links = draw(
        st.lists(st.tuples(_PLACES, _PLACES, st.booleans(), st.integers(0, 5)), min_size=1, max_size=8)
    )
    texts: list[list[list[str]]] = [[[] for _ in range(SECTIONS)] for _ in NAMES]
    for number, ((file, section), (to_file, to_section), is_whole, style) in enumerate(links):
        anchor = None if is_whole else anchors(titles[to_file])[to_section]
        link = f"[link{number}]({destination(NAMES[file], NAMES[to_file], anchor, style)})"
        texts[file][section].append(link)
    return {
        name: "".join(
            f"## {titles[file][section]}\n\nmark-{file}-{section} {' '.join(texts[file][section])}\n\n"
            for section in range(SECTIONS)
        )
        for file, name in enumerate(NAMES)
    }


@st.composite
def edits(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw edits of each file: sections are renamed, moved, or unchanged; the file may be renamed."""
    files: list[dict[str, Any]] = []
    new_names = draw(st.permutations(NEW_NAMES))
    for number, name in enumerate(NAMES):
        changes: list[dict[str, Any]] = []
        if draw(st.booleans()):
            changes.append({"op": "rename_file", "newFile": new_names[number]})
        for section in range(SECTIONS):
            match draw(st.sampled_from(["rename", "move", "move to file", "nothing", "nothing"])):
                case "rename":
                    title = draw(st.sampled_from(TITLES))
                    changes.append({"op": "rename_heading", "section": section, "newTitle": title})
                case "move":
                    changes.append(
                        {
                            "op": "move_section",
                            "section": section,
                            "toHeadingPath": [],
                            "position": "lastChild",
                        }
                    )
                case "move to file":
                    other = draw(st.sampled_from([each for each in NAMES if each != name]))
                    changes.append({"op": "move_section", "section": section, "toFile": other})
        if changes:
            files.append({"file": name, "edits": changes})
    return files


def with_anchors(files: list[dict[str, Any]], tree: dict[str, str]) -> list[dict[str, Any]]:
    """The edits, with the anchors of their sections in `tree`."""

    def named(edit: dict[str, Any], names: list[str]) -> dict[str, Any]:
        if "section" not in edit:
            return edit
        return {key: value for key, value in edit.items() if key != "section"} | {
            "anchor": names[edit["section"]]
        }

    result = []
    for file in files:
        names = anchors(re.findall(r"^## (.*)$", tree[file["file"]], re.MULTILINE))
        result.append({**file, "edits": [named(edit, names) for edit in file["edits"]]})
    return result


def named_marks(site: Site) -> dict[int, str | None]:
    """By the number of each link, the mark of the section that it names, or the whole file that it names."""
    found: dict[int, str | None] = {}
    for name, page in site.pages.items():
        for match in _LINK.finditer(page.text):
            target = site.target(name, match[2].strip("<>"))
            if target is None:
                found[int(match[1])] = None
            elif isinstance(target.place, int):
                lines = page_lines(site, target.file)
                found[int(match[1])] = lines[site.pages[target.file].heading_lines[target.place] + 1].split()[
                    0
                ]
            else:
                found[int(match[1])] = target.file
    return found


def page_lines(site: Site, file: str) -> list[str]:
    return site.pages[file].text.split("\n")


@given(trees(), edits())
def test_links_keep_their_targets(tree: dict[str, str], files: list[dict[str, Any]]) -> None:
    assume(files)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in tree.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        before = named_marks(Site(root))
        engine = Engine.open([root], settings=Settings(durability=Durability.PROCESS))
        with engine.workspace:
            plan = engine.plan(
                {
                    "files": with_anchors(files, tree),
                    "updateReferences": "workspace",
                    "allowDuplicateHeadings": True,
                }
            )
            assert plan.ok, plan.diagnostics
            assert engine.apply({"planId": plan.plan_id}).ok
        after = named_marks(Site(root))

    renamed = {
        file["file"]: edit["newFile"]
        for file in files
        for edit in file["edits"]
        if edit["op"] == "rename_file"
    }
    assert Counter(before.values())[None] == 0
    assert after == {link: renamed.get(mark or "", mark) for link, mark in before.items()}
    assert [warning for warning in plan.warnings if warning.code is Code.BROKEN_LINK] == []


# --- Laws of the rules of a site: what a link names can be written again, in the style of the link.

SITE_NAMES = st.sampled_from(["a", "b.md", "index.md", "guide", "README.md", "en", "x.html"])
FILES = st.lists(SITE_NAMES, min_size=1, max_size=4).map(lambda parts: "/".join([*parts[:-1], "page.md"]))

RULES = st.sampled_from(
    [
        *PRESETS.values(),
        SiteRules.of({"/docs": "content/docs", "/": "static"}, ("index",), ("en", "fr")),
        SiteRules.of({}, ("index",)),
    ]
)


@given(
    rules=RULES,
    file=FILES,
    slash=st.sampled_from(["", "/"]),
    is_page=st.booleans(),
    locale=st.sampled_from(["", "en", "fr"]),
)
def test_rewritten_link_keeps_its_style(
    rules: SiteRules, file: str, slash: str, *, is_page: bool, locale: str
) -> None:
    for prefix, folder in rules.roots:
        path = f"{folder}/{file}" if folder else file
        before = f"/{locale}" if locale in rules.locales else ""
        link = f"{before}{prefix}{file.removesuffix('.md')}{slash}" if is_page else f"{before}{prefix}{file}"
        named = [
            (form, form_style)
            for start, style in rules.starts("any.md", link)
            for form, form_style in ((start, style), *rules.forms(start, style))
        ]
        found = next((style for form, style in named if form == path), None)
        assert found is not None
        assert rules.written(path, found, link) == link


@given(RULES, st.text(st.sampled_from("./ab-"), max_size=12), st.text(st.sampled_from("./ab-"), max_size=12))
def test_site_rules_leave_the_root_only_where_the_link_does(
    rules: SiteRules, document: str, link: str
) -> None:
    for start, _ in rules.starts(document, link):
        if leads_out(start):
            assert not link.startswith("/") or ".." in link
            assert ".." in followed("", link) or ".." in link or ".." in document


def test_rules_of_the_how_to_are_valid() -> None:
    """Those of `docs/how-to/keep-links-right.md`."""
    page = REPOSITORY / "docs" / "how-to" / "keep-links-right.md"
    (shown,) = [block.text for block in blocks_of(page) if block.info == ("toml", "mdplan.toml")]

    rules = SiteLinks.model_validate(tomllib.loads(shown)["links"]).rules()

    assert rules.roots == PRESETS["docusaurus"].roots
    assert rules.locales == ("en", "fr")


@pytest.mark.parametrize("folder", ["../x", "/etc", "../../..", "a/../../b"])
def test_site_root_outside_names_no_file_inside(folder: str) -> None:
    rules = SiteRules.of({"/docs": folder})

    for start, _ in rules.starts("a.md", "/docs/secret.md"):
        assert leads_out(start) or not folder.startswith("..")
