"""Anchors in the styles of site generators.

The anchors of the table are those of MkDocs' Python-Markdown 3.11 and pymdown-extensions 13.1, VitePress 1.6,
and Hugo 0.168.
"""

from pathlib import Path

import pytest

from mdplan.documents.files import read_site_rules
from mdplan.engine.engine import Engine
from mdplan.markdown.headings import GITHUB, STYLES
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import PRESETS, SiteRules
from mdplan.storage.root import Root
from mdplan.text.source import Source

COLUMNS = ("vitepress", "python-markdown", "pymdownx", "hugo")
TABLE = {
    "Zwei & Drei": ("zwei-drei", "zwei-drei", "zwei--drei", "zwei--drei"),
    "**Bold** _it_ snake_case": ("bold-it-snake-case", *["bold-it-snake_case"] * 3),
    "`code<T>` here": ("code-t-here", "codet-here", "code-here", "codet-here"),
    "A ![logo](i.png) z": ("a-z", "a-z", "a-z", "a-logo-z"),
    "Über Straße ǅ": ("uber-straße-dz", "uber-strae-dz", "über-straße-ǆ", "über-straße-ǆ"),
    "हिन्दी x² Ⅻ": ("हिन्दी-x2-xii", "x2-xii", "हनद-x²-ⅻ", "हनद-x-"),
    "1. First": ("_1-first", "1-first", "1-first", "1-first"),
    "C++ / C#": ("c-c", "c-c", "c--c", "c--c"),
    "⚙️ Settings": ("⚙️-settings", "settings", "-settings", "-settings"),
    "中文，标题": ("中文-标题", "_1", "中文标题", "中文标题"),
    "!!!": ("", "_1", "_1", "heading"),
    "Ending -": ("ending", "ending-", "ending--", "ending--"),
    "it's “q” — dash": ("it-s-q-—-dash", "its-q-dash", "its-q--dash", "its-q--dash"),
    "Cafe\u0301": ("cafe", "cafe", "café", "cafe"),
    "The --force flag": ("the-force-flag", "the-force-flag", "the---force-flag", "the-force-flag"),
    "`--force` x": ("force-x", "-force-x", "--force-x", "--force-x"),
}


def anchors(text: str, style: str) -> list[str | None]:
    outline = Outline(Source.from_text(text), slugs=STYLES[style])
    return [section.anchor for section in outline.headings]


@pytest.mark.parametrize("title", TABLE)
def test_anchor_is_that_of_the_site_generator(title: str) -> None:
    found = [anchors(f"# {title}\n", style)[0] for style in COLUMNS]

    assert tuple(found) == TABLE[title]


@pytest.mark.parametrize(
    ("style", "wanted"),
    [
        ("github", ["a", "a-1", "a-1-1", "own", "own", "", "-1"]),
        ("docusaurus", ["a", "a-1", "a-1-1", "own", "own", "", "-1"]),
        ("hugo", ["a", "a-1", "a-1-1", "own", "own-1", "heading", "heading-1"]),
        ("docfx", ["a", "a-1", "a-1-1", "own", "own", "section", "section-1"]),
        ("vitepress", ["a", "a-1", "a-1-1", "own", "own-1", "", "-1"]),
        ("python-markdown", ["a", "a_1", "a-1", "own", "own_1", "_1", "_2"]),
        ("pymdownx", ["a", "a_1", "a-1", "own", "own_1", "_1", "_2"]),
    ],
)
def test_repeated_and_empty_anchors_get_the_suffixes_of_the_generator(style: str, wanted: list[str]) -> None:
    text = "# A\n\n# A\n\n# A-1\n\n# X {#own}\n\n# Own\n\n# !\n\n# ?\n"

    assert anchors(text, style) == wanted


def test_python_markdown_counts_own_ids_below_and_goes_on_from_a_number() -> None:
    text = "# Own\n\n# A_1\n\n# A_1\n\n# A\n\n# A\n\n# X {#own}\n"

    assert anchors(text, "python-markdown") == ["own_1", "a_1", "a_2", "a", "a_3", "own"]


def test_hugo_takes_the_last_line_of_a_heading() -> None:
    assert anchors("Set\n*text*\n===\n", "hugo") == ["text"]
    assert anchors("Set\r\n*text*\r\n===\r\n", "hugo") == ["text"]


def rules_in(folder: Path) -> SiteRules:
    root = Root.open(folder)
    try:
        found = read_site_rules(root)
    finally:
        root.close()
    assert isinstance(found, SiteRules)
    return found


def test_mkdocs_configuration_selects_its_slug_style(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: X\ndocs_dir: 'manual'  # theirs\n")
    rules = rules_in(tmp_path)

    assert rules.slugs_of("manual/a.md") is STYLES["python-markdown"]
    assert rules.slugs_of("README.md") is GITHUB
    assert rules.roots == ()

    (tmp_path / "mkdocs.yml").write_text(
        "markdown_extensions:\n  - toc:\n      slugify: !!python/object/apply:pymdownx.slugs.slugify\n"
    )
    assert rules_in(tmp_path).slugs_of("docs/a.md") is STYLES["pymdownx"]


def test_own_rules_take_precedence_over_mkdocs(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: X\n")
    (tmp_path / "mdplan.toml").write_text('[links]\nslugs = "github"\n')

    assert rules_in(tmp_path).slugs_of("docs/a.md") is GITHUB


def test_slug_preset_applies_below_its_folders() -> None:
    assert PRESETS["vitepress"].slugs_of("docs/a.md") is STYLES["vitepress"]
    assert PRESETS["vitepress"].slugs_of("README.md") is GITHUB
    assert PRESETS["docfx"].slugs_of("README.md") is STYLES["docfx"]


def test_anchors_change_when_the_rules_do(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A & B\n")
    with Engine.open(tmp_path) as engine:
        before = engine.stat({"file": "docs/a.md", "detail": "full"})
        (tmp_path / "mkdocs.yml").write_text("site_name: X\n")
        after = engine.stat({"file": "docs/a.md", "detail": "full"})

    assert [section.anchor for section in before.sections] == ["a--b"]
    assert [section.anchor for section in after.sections] == ["a-b"]
