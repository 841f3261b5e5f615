"""Slugs of headings are those of github-slugger."""

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest

from mdplan.markdown.headings import heading_slug
from mdplan.markdown.outline import Outline
from mdplan.text.source import Source
from tests.clients.node_tools import node_tools

SCRIPT = Path(__file__).parent / "slugs.mjs"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Plain Title", "plain-title"),
        ("⚙️ Settings", "\ufe0f-settings"),
        ("हिन्दी", "हिन्दी"),
        ("ಕನ್ನಡ", "ಕನ್ನಡ"),
        ("ภาษาไทย", "ภาษาไทย"),
        ("Cafe\u0301", "cafe\u0301"),
        ("x² and Ⅻ", "x-and-ⅻ"),
        ("a_b‿c", "a_b‿c"),
        ("tab\tand\u00a0no-break", "tabandno-break"),
        ("٣ digits ３", "٣-digits-３"),
    ],
)
def test_slug_keeps_letters_marks_and_digits_of_all_scripts(title: str, slug: str) -> None:
    assert heading_slug(title) == slug


def slugs(titles: Sequence[str], folder: Path, package: str = "github-slugger") -> list[str]:
    """The slug of each title by `package`."""
    file = folder / "titles.json"
    file.write_text(json.dumps(titles), encoding="utf-8")
    done = node_tools().run_script(SCRIPT, [str(file), package], cwd=folder)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_slug_of_every_character_is_that_of_github_slugger(tmp_path: Path) -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    theirs = slugs([f"a{character}b" for character in characters], tmp_path)
    differing = [
        character
        for character, slug in zip(characters, theirs, strict=True)
        if heading_slug(f"a{character}b") != slug
    ]

    # github-slugger 2.0.0 knows Unicode 13; the standard library has tables of Unicode 3.2 to compare with.
    assert [each for each in differing if unicodedata.ucd_3_2_0.category(each) != "Cn"] == []
    assert len(differing) < len(characters) / 10


@pytest.mark.slow
def test_slugs_of_real_headings_are_those_of_github_slugger(corpus: Path, tmp_path: Path) -> None:
    sources = [Source.decode(path.read_bytes()) for path in sorted(corpus.rglob("*.md"))]
    titles = sorted(
        {
            section.title
            for source in sources
            if isinstance(source, Source)
            for section in Outline(source).sections
        }
    )
    theirs = slugs(titles, tmp_path)

    assert [
        (title, slug) for title, slug in zip(titles, theirs, strict=True) if heading_slug(title) != slug
    ] == []
