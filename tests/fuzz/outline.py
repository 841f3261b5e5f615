"""Target: the outline, against the reference pass and against itself after edits."""

import json
import re
from itertools import pairwise
from random import Random
from typing import Final
from zlib import crc32

from mdplan.markdown.addresses import find_by_anchor, find_by_id
from mdplan.markdown.headings import is_anchor_line
from mdplan.markdown.outline import Outline
from mdplan.reading.stat import stat_report
from mdplan.reading.stat_text import stat_text
from mdplan.reports.base import to_wire
from mdplan.requests.queries import StatRequest
from mdplan.text.source import Source
from tests.fuzz.mutation import mutated_text
from tests.fuzz.seeds import documents
from tests.fuzz.target import Target
from tests.support.oracles import difference, is_rescanned_alike, random_edits

_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)


def check(data: bytes) -> None:
    """Check that blocks match other parsers, spans nest, names are unique, and edits keep all laws."""
    source = Source.decode(data)
    if not isinstance(source, Source):
        return
    outline = Outline(source)
    shortest = difference(source.text[outline.body_start :])
    assert shortest is None, f"parsers differ over {shortest!r}"
    _check_tiles(outline)
    _check_names(outline)
    _check_stat(outline)
    edits = random_edits(Random(crc32(data)), source.text)
    assert is_rescanned_alike(source.text, edits), f"what is scanned again after {edits} differs"


def _check_tiles(outline: Outline) -> None:
    preamble, *sections = outline.sections
    at = preamble.span.end
    assert preamble.span.start == outline.body_start
    for section in sections:
        assert section.heading is not None
        assert section.span.start == at, f"{section.title!r} starts elsewhere"
        lead = outline.source.text[at : section.heading_start].replace("\r\n", "\n").replace("\r", "\n")
        lines = [line for line in _COMMENT.sub("", lead).split("\n") if line.strip()]
        assert all(map(is_anchor_line, lines)), f"{section.title!r} starts with other lines than anchors"
        assert section.body.start >= section.heading.span.end
        at = section.body.end
    assert at == outline.content_end, "the last section ends elsewhere"
    for section in sections:
        parent = outline.parent(section)
        assert parent is not None
        assert section.path == (*parent.path, section.title)
        assert parent.is_root or (parent.span.contains(section.span) and parent.level < section.level)
    for before, after in pairwise(outline.tree.roots):
        assert before.span.end <= after.span.start, "two blocks overlap"


def _check_names(outline: Outline) -> None:
    sections = list(outline.every_section())
    assert len({section.section_id for section in sections}) == len(sections), "a section ID names two"
    anchors = [section.anchor for section in sections if section.anchor]
    assert len(set(anchors)) == len(anchors), "an anchor names two"
    for section in sections:
        assert find_by_id(outline, section.section_id) is section
        assert not section.anchor or find_by_anchor(outline, section.anchor) is section


def _check_stat(outline: Outline) -> None:
    report = stat_report("a.md", outline, StatRequest(file="a.md", detail="full"))
    assert report.ok
    json.dumps(to_wire(report), ensure_ascii=False, allow_nan=False).encode()
    stat_text(report).encode()


TARGET: Final = Target(name="outline", check=check, seeds=documents, mutated=mutated_text, most_bytes=600)
