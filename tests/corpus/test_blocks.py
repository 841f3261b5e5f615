"""Blocks match cmark-gfm and markdown-it-py, on real documents and after edits."""

import html
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from mdplan.markdown.format_detection import find_front_matter
from mdplan.markdown.headings import heading_slug
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.planning.build import BuiltFile
from mdplan.text.source import Source
from tests.clients.node_tools import node_tools
from tests.conftest import FULL
from tests.corpus.sample import spread
from tests.corpus.variants import WRAPPINGS, documents, examples_in, mutated
from tests.support.case_tables import CaseTables
from tests.support.edit_trials import Document
from tests.support.oracles import (
    all_nodes,
    difference,
    differs,
    disagreements,
    is_rescanned_alike,
    random_edits,
    sections_differ,
)

CASE_TABLES = CaseTables(__file__)


def without_front_matter(text: str) -> str:
    found = find_front_matter(text)
    return text[found.span.end :] if found else text


def test_real_documents_parse_to_the_same_blocks_as_other_parsers(corpus: Path) -> None:
    found = documents(corpus)[:: 1 if FULL else 12]

    assert len(found) > 50
    assert [name for name, text in found if differs(without_front_matter(text))] == []


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_examples_of_the_specification_have_the_same_blocks(corpus: Path, wrapping: str) -> None:
    examples = examples_in(corpus)

    assert len(examples) == 652
    # In a short run one of three examples, different ones in each wrapping.
    first = list(WRAPPINGS).index(wrapping)
    taken = examples if FULL else examples[first % 3 :: 3]
    assert [text for text in map(WRAPPINGS[wrapping], taken) if differs(text)] == []


def check_mutated(corpus: Path, seed: int, count: int) -> None:
    dice = Random(seed)
    texts = [text for _, text in documents(corpus)]
    for _ in range(count):
        assert difference(mutated(dice, texts)) is None


def test_mutated_pieces_of_real_documents_have_the_same_blocks(corpus: Path) -> None:
    check_mutated(corpus, seed=0, count=2_000 if FULL else 400)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(1, 11))
def test_two_hundred_thousand_mutated_pieces_have_the_same_blocks(corpus: Path, seed: int) -> None:
    check_mutated(corpus, seed, 20_000)


# --- Inline nodes of real documents agree with the parser, and hardly any is undecided.

# Every n-th file, so that the sample has all kinds of documents and takes seconds.
STEP = 1 if FULL else 12
MAX_UNDECIDED = 1 / 1000


@pytest.mark.requirement("inline-1")
def test_nodes_of_real_documents_agree_with_the_parser(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n_nodes = n_undecided = 0
    differing: dict[str, object] = {}
    files = sorted(corpus.rglob("*.md"))[::STEP]

    for path in files:
        text = path.read_bytes().decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        nodes, undecided = all_nodes(text)
        n_nodes += len(nodes)
        n_undecided += len(undecided)
        if not undecided and (different := disagreements(text, nodes)):
            differing[str(path.relative_to(corpus))] = different[0]

    with capsys.disabled():
        print(f"\n{len(files)} documents, {n_nodes} inline nodes, {n_undecided} undecided")  # noqa: T201
    assert n_nodes > len(files)
    assert differing == {}
    assert n_undecided <= n_nodes * MAX_UNDECIDED


# --- After edits of real documents the outline equals that of the result, though little of it is scanned.

ROUNDS = 10 if FULL else 1
LONGEST = 20_000


def test_real_documents_have_the_outlines_of_their_results(corpus: Path) -> None:
    dice = Random(0)
    for name, text in (documents(corpus) * ROUNDS)[:: 1 if FULL else 6]:
        start = dice.randrange(max(len(text) - LONGEST, 1))
        piece = text[start : start + LONGEST]
        edits = random_edits(dice, piece)
        assert is_rescanned_alike(piece, edits), (name, start, edits)


MUTATED = 20_000 if FULL else 300


def test_real_documents_have_the_same_nodes(corpus: Path) -> None:
    found = documents(corpus)[::STEP]

    assert [(name, different) for name, text in found if (different := sections_differ(text))] == []


def test_mutated_pieces_of_real_documents_have_the_same_nodes(corpus: Path) -> None:
    dice = Random(0)
    texts = [text for _, text in documents(corpus)]
    for _ in range(MUTATED):
        text = mutated(dice, texts)
        assert sections_differ(text) is None, text


# --- Anchors above headings still name their headings, whatever is done to the sections around them.
#
# The judge is cmark-gfm: in the page that it renders, what follows an anchor is its heading.

SECTIONS_OF_A_SAMPLE = 6

_ANCHOR_OR_HEADING = re.compile(
    r"""<(?:a|span|div)\b[^>]*?\b(?:id|name)\s*=\s*["']?(?P<anchor>[^\s"'>]+)|<h[1-6]>(?P<heading>.*?)</h[1-6]>""",
    re.DOTALL,
)


def headings_by_anchor(text: str) -> dict[str, str]:
    """Return, by explicit anchor of the rendered page, the heading that directly follows."""
    page = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    named: dict[str, str] = {}
    open_anchors: list[str] = []
    at = 0
    for found in _ANCHOR_OR_HEADING.finditer(page):
        if html.unescape(re.sub(r"<[^>]*>", "", page[at : found.start()])).strip():
            open_anchors = []
        if found["anchor"]:
            open_anchors.append(found["anchor"])
        else:
            named |= dict.fromkeys(open_anchors, found["heading"])
            open_anchors = []
        at = found.end()
    return named


def sections_with_anchor_line(document: Document) -> list[Section]:
    return [
        section for section in document.outline.sections[1:] if section.span.start < section.heading_start
    ]


def edits_of(document: Document, section: Section) -> Iterator[dict[str, object]]:
    """The three edits of `section`; it moves before its sibling above, or to the end of its parent."""
    named = {"sectionId": section.section_id}
    yield {"op": "insert_section", **named, "position": "before", "markdown": "## New one\n\nText."}
    yield {"op": "delete_section", **named}
    parent = document.outline.parent(section)
    siblings = [] if parent is None else list(document.outline.children(parent))
    others = [each for each in siblings if each.index != section.index]
    if others:
        yield {"op": "move_section", **named, "position": "before", "toSectionId": others[0].section_id}
        yield {"op": "move_section", **named, "position": "after", "toSectionId": others[-1].section_id}


def wrong_anchors(document: Document, most: int | None) -> list[str]:
    """Return the faults after an edit of each section with an anchor line, at most `most` of them."""
    problems: list[str] = []
    before = headings_by_anchor(document.outline.source.text)
    sections = sections_with_anchor_line(document)
    for section in sections if most is None else spread(sections, most):
        span = document.outline.text_of(section.span)
        for edit in edits_of(document, section):
            built = document.plan(edit)
            where = f"{document.name}, {edit['op']} {section.path}"
            if not isinstance(built, BuiltFile):
                problems.append(f"{where}: refused, {built[0]}")
                continue
            wanted = before
            if edit["op"] == "delete_section":
                gone = headings_by_anchor(span)
                wanted = {anchor: heading for anchor, heading in before.items() if anchor not in gone}
            now = headings_by_anchor(built.result.source.text)
            if now != wanted:
                problems.append(f"{where}: {dict(now.items() ^ wanted.items())}")
    return problems


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_anchor_of_the_corpus_names_its_heading_after_each_edit(corpus: Path) -> None:
    files = [path for path in sorted(corpus.rglob("*.md")) if b"<a " in path.read_bytes()]
    problems = [
        each for path in files for each in wrong_anchors(Document(path.name, path.read_bytes()), None)
    ]

    assert problems == []


def test_anchors_of_node_documents_name_their_headings_after_each_edit(corpus: Path) -> None:
    files = [corpus / "nodejs-api" / name for name in ("errors.md", "deprecations.md")]
    documents = [Document(path.name, path.read_bytes()) for path in files if path.exists()]
    problems = [each for document in documents for each in wrong_anchors(document, SECTIONS_OF_A_SAMPLE)]

    assert documents
    assert problems == []


# --- Slugs of headings match github-slugger.

SCRIPT = Path(__file__).parent / "slugs.mjs"


@CASE_TABLES.parametrize("title", "slug")
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
