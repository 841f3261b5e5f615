"""Headings and fenced blocks match cmark-gfm, on real documents and on the CommonMark examples.

Differences are listed here with reasons, and explained in docs/explanation/commonmark-notes.md; an unlisted
difference fails. Positions of cmark-gfm come from its `data-sourcepos`.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cmarkgfm import cmark

from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.outline import Outline
from mdplan.text.source import Source
from tests.conftest import FULL
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


EXTENSIONS = ["table", "tasklist", "strikethrough", "autolink"]
SOURCEPOS = cmark.Options.CMARK_OPT_SOURCEPOS
FOOTNOTES = cmark.Options.CMARK_OPT_FOOTNOTES

# The output omits raw HTML, so all of these come from blocks.
OPENING = re.compile(
    r'<(?:h(?P<level>[1-6])|pre) data-sourcepos="(?P<line>\d+):(?P<column>\d+)-(?P<last>\d+):\d+">'
    r"(?:<code[^>]*>(?P<code>[^\n]*))?"
)
LINE_END = re.compile(r"\r\n?|\n")
EXAMPLE = re.compile(r"^`{32} example\n(?P<markdown>.*?)^\.\n.*?^`{32}$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Structure:
    """Headings as (level, first line), fenced blocks as (first line, last line); of every depth."""

    headings: tuple[tuple[int, int], ...] = ()
    fences: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Difference:
    ours: Structure
    cmark: Structure


def our_structure(outline: Outline) -> Structure:
    blocks = outline.blocks
    return Structure(
        tuple((block.level, block.first_line) for block in blocks if block.kind is BlockKind.HEADING),
        tuple((block.first_line, block.last_line) for block in blocks if block.kind is BlockKind.FENCE),
    )


def cmark_structure(text: str) -> Structure:
    """Pages show footnotes behind everything else: what is found is sorted by its lines."""
    lines = LINE_END.split(text)
    page = cmark.markdown_to_html_with_extensions(text, SOURCEPOS | FOOTNOTES, extensions=EXTENSIONS)
    headings, fences = [], []
    for match in OPENING.finditer(page):
        line = int(match["line"])
        if match["level"]:
            headings.append((int(match["level"]), line))
            continue
        # Columns count bytes. Indented code can begin with text like a fence, which is then part of the code.
        opener = lines[line - 1].encode()[int(match["column"]) - 1 :].decode()
        if opener.startswith(("```", "~~~")) and html.unescape(match["code"]) != opener:
            fences.append((line, int(match["last"])))
    headings.sort(key=lambda heading: heading[1])
    return Structure(tuple(headings), tuple(sorted(fences)))


def difference(source: Source) -> Difference | None:
    outline = Outline(source)
    text = source.text
    if outline.front_matter:
        text = "\n" * outline.source.lines.line_at(outline.body_start - 1) + text[outline.body_start :]
    ours, theirs = our_structure(outline), cmark_structure(text)
    return None if ours == theirs else Difference(ours, theirs)


def documents(corpus: Path) -> Iterator[tuple[str, Source]]:
    """Return all documents; without MDPLAN_FULL=1 one of three."""
    for path in sorted(corpus.rglob("*.md"))[:: 1 if FULL else 3]:
        source = Source.decode(path.read_bytes())
        assert isinstance(source, Source), path
        yield path.relative_to(corpus).as_posix(), source


@pytest.mark.requirement("outline-1", "toolset-text-5")
def test_real_documents_have_the_same_headings_and_fences(corpus: Path) -> None:
    found = {name: difference(source) for name, source in documents(corpus)}

    assert len(found) > (500 if FULL else 200)
    assert {name: each for name, each in found.items() if each} == {}


# The examples that differ, by their numbers in version 0.31.2 of the specification.
UNCLOSED_IN_A_CONTAINER = "cmark-gfm counts the line that ends the container to the fence that it cuts off"
BEHIND_A_DEFINITION = "cmark-gfm gives the heading the line of the definition before it"
EXAMPLES = {
    128: (UNCLOSED_IN_A_CONTAINER, Structure(fences=((1, 2),)), Structure(fences=((1, 3),))),
    215: (BEHIND_A_DEFINITION, Structure(headings=((1, 2),)), Structure(headings=((1, 1),))),
    237: (UNCLOSED_IN_A_CONTAINER, Structure(fences=((1, 1), (3, 3))), Structure(fences=((1, 2), (3, 3)))),
}


@pytest.mark.requirement("outline-1")
def test_commonmark_examples_have_the_same_headings_and_fences(corpus: Path) -> None:
    specification = (corpus / "commonmark-spec-0.31.2.md").read_text(encoding="utf-8")
    examples = [match["markdown"].replace("→", "\t") for match in EXAMPLE.finditer(specification)]
    found = {number: difference(Source.from_text(text)) for number, text in enumerate(examples, start=1)}

    assert len(examples) == 652
    assert {number: each for number, each in found.items() if each} == {
        number: Difference(ours, theirs) for number, (_, ours, theirs) in EXAMPLES.items()
    }


@CASE_TABLES.parametrize("text", "ours", "theirs", tuples=True)
def test_known_parser_differences_are_documented(
    text: str, ours: tuple[tuple[int, int], ...], theirs: tuple[tuple[int, int], ...]
) -> None:
    found = difference(Source.from_text(text))

    assert found is not None
    assert (tuple(found.ours.headings), tuple(found.cmark.headings)) == (ours, theirs)


@CASE_TABLES.parametrize("text")
def test_parser_agrees_on_inputs_where_parsers_often_differ(text: str) -> None:
    assert difference(Source.from_text(text)) is None
