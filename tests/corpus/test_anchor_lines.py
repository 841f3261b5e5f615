"""Anchors above headings still name their headings, whatever is done to the sections around them.

The judge is cmark-gfm: in the page that it renders, what follows an anchor is its heading.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from mdplan.markdown.sections import Section
from mdplan.planning.build import BuiltFile
from tests.corpus.sample import spread
from tests.edit_trials import Document

SECTIONS_OF_A_SAMPLE = 6
_ANCHOR_OR_HEADING = re.compile(
    r"""<(?:a|span|div)\b[^>]*?\b(?:id|name)\s*=\s*["']?(?P<anchor>[^\s"'>]+)|<h[1-6]>(?P<heading>.*?)</h[1-6]>""",
    re.DOTALL,
)


def headings_by_anchor(text: str) -> dict[str, str]:
    """By each explicit anchor of the rendered page the heading right behind it, without text between."""
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
    """What is wrong after each edit of the sections with an anchor line, `most` of them if that is given."""
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
