"""Anchors of real headings match those of the site generators."""

import html
import json
import re
import subprocess
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from mdplan.markdown.headings import STYLES
from mdplan.markdown.outline import Outline
from mdplan.text.source import Source
from tests.clients.python_tools import environment_of
from tests.corpus.test_blocks import slugs
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


pytestmark = pytest.mark.slow

# Prints the anchors of each of the documents in the JSON list on standard input.
PYTHON_MARKDOWN: Final = CASE_TABLES.value("PYTHON_MARKDOWN")


def documents(corpus: Path) -> list[str]:
    """Return the single-line headings of each document of the corpus as a document."""
    found = []
    for path in sorted(corpus.rglob("*.md")):
        source = Source.decode(path.read_bytes())
        assert isinstance(source, Source)
        contents = [section.heading.content for section in Outline(source).headings if section.heading]
        titles = [each for each in contents if each.strip() and not re.search(r"\n|\{\{|\}\s*$", each)]
        if titles:
            found.append("".join(f"# {title}\n\n" for title in titles))
    return found


def differing(texts: Sequence[str], theirs: Sequence[Sequence[str]], style: str) -> list[tuple[str, str]]:
    ours = (Outline(Source.from_text(text), slugs=STYLES[style]).headings for text in texts)
    return [
        (section.anchor or "", anchor)
        for sections, anchors in zip(ours, theirs, strict=True)
        for section, anchor in zip(sections, anchors, strict=True)
        if section.anchor != anchor
    ]


@pytest.mark.parametrize("style", ["python-markdown", "python-markdown-unicode", "pymdownx"])
def test_anchors_are_those_of_python_markdown(corpus: Path, style: str) -> None:
    texts = documents(corpus)
    command = [str(environment_of("pymdown-extensions") / "python"), "-c", PYTHON_MARKDOWN, style]
    done = subprocess.run(
        command, input=json.dumps(texts), capture_output=True, check=True, encoding="utf-8", timeout=600
    )
    found = differing(texts, json.loads(done.stdout), style)

    # It takes `<System.String>` for a tag, which CommonMark does not, and marks escaped brackets.
    assert len(found) <= sum(text.count("\n\n") for text in texts) / 400


def test_anchors_are_those_of_hugo(corpus: Path, tmp_path: Path) -> None:
    texts = documents(corpus)
    (tmp_path / "content").mkdir()
    (tmp_path / "layouts").mkdir()
    (tmp_path / "hugo.toml").write_text('disableKinds = ["home", "section", "taxonomy", "term"]\n')
    (tmp_path / "layouts" / "single.html").write_text("{{ .Content }}")
    for number, text in enumerate(texts):
        (tmp_path / "content" / f"page{number}.md").write_text(text, encoding="utf-8")
    command = [str(environment_of("hugo") / "hugo"), "--quiet", "--source", str(tmp_path)]
    subprocess.run(command, check=True, timeout=600)
    pages = [
        (tmp_path / "public" / f"page{number}" / "index.html").read_text(encoding="utf-8")
        for number in range(len(texts))
    ]
    theirs = [[html.unescape(each) for each in re.findall(r'<h1 id="([^"]*)"', page)] for page in pages]

    assert differing(texts, theirs, "hugo") == []


def test_slug_of_every_character_is_that_of_vitepress(tmp_path: Path) -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    titles = [f"a{each}b" for each in characters]
    theirs = slugs(titles, tmp_path, "@mdit-vue/shared")
    pairs = zip(characters, titles, theirs, strict=True)
    found = [each for each, title, slug in pairs if STYLES["vitepress"].slug(title) != slug]

    # Node knows other versions of Unicode than Python.
    assert [each for each in found if unicodedata.ucd_3_2_0.category(each) != "Cn"] == []
    assert len(found) < len(characters) / 10
