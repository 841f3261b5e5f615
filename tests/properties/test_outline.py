"""Laws of the outline over hostile Markdown: nothing raises, nothing is lost, and every name is found."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.addresses import find_by_anchor, find_by_id, find_by_path
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.reading.stat import stat_report
from mdplan.reading.stat_text import stat_text
from mdplan.reports.base import to_wire
from mdplan.reports.stat import StatReport
from mdplan.requests.queries import StatRequest
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat, Source
from tests.properties.hostile_markdown import hostile_documents
from tests.properties.strategies import texts

documents = hostile_documents() | texts()

ANCHOR_LINES = re.compile(
    r"""(?: {0,3}(?:(?:<(a|span|div|p) (?:id|name)=["']?\w+["']?(?:/>|></\1>)|<a name=["']?\w+["']?>"""
    r"""|\[\]\(\)\{#\w+\})[ \t]*|\(\w+\)=[ \t]*)[\r\n\t ]+)+"""
)


def parsed(text: str) -> Outline:
    source = Source.decode(text.encode("utf-8", "surrogateescape"), "utf-8" if "\0" in text else None)
    if not isinstance(source, Source):  # Bytes that are not UTF-8 beside NUL are no text at all.
        source = Source.from_text(text.encode("utf-8", "replace").decode())
    return Outline(source)


@pytest.mark.requirement("outline-2")
@given(documents)
@example("[^1]: a heading, and no footnote\n=\n")
def test_sections_and_bodies_tile_the_text(text: str) -> None:
    outline = parsed(text)
    preamble, *sections = outline.sections
    at = preamble.span.end

    assert preamble.span.start == outline.body_start
    for section in sections:
        assert section.heading is not None
        assert section.span.start == at
        assert section.heading_start == section.heading.span.start
        assert section.body.start == section.heading.span.end
        at = section.body.end
    assert at == outline.content_end


@given(documents)
@example("a\n\n<a id=x></a>\n\n# A\n\n(label)=\n<a name='y'>\n\n## B\nb\n<a id=z></a> z\n# C\n")
@example("<a id=x></a>\n\n# A\n\n<a name=x>\n\na\n<a name=x>\n# B\n")
def test_section_starts_with_the_first_of_the_anchor_lines_above_its_heading(text: str) -> None:
    outline = parsed(text)
    source = outline.source

    for section in outline.sections[1:]:
        above = outline.sections[section.index - 1]
        limit = above.body.start
        lead = source.text[section.span.start : section.heading_start]
        before = source.text[limit : section.span.start].rstrip("\r\n\t ").replace("\r", "\n").split("\n")[-1]
        assert not lead or ANCHOR_LINES.fullmatch(lead)
        # A tag alone that text above it keeps from being a block of HTML stays with that text.
        assert not ANCHOR_LINES.fullmatch(before + "\n") or before.count("<") == 1


@given(documents)
def test_section_ends_where_the_next_of_its_level_starts(text: str) -> None:
    outline = parsed(text)
    sections = outline.sections[1:]

    for index, section in enumerate(sections):
        following = (other for other in sections[index + 1 :] if other.level <= section.level)
        end = next((other.span.start for other in following), outline.content_end)
        assert section.span.end == end


@given(documents)
def test_parents_contain_their_children_and_paths_extend_by_title(text: str) -> None:
    outline = parsed(text)

    for section in outline.every_section():
        parent = outline.parent(section)
        if parent is None:
            assert section.is_root
            continue
        assert section.path == (*parent.path, section.title)
        if not parent.is_root:
            assert parent.span.contains(section.span)
            assert section.nested or parent.level < section.level
        assert section.nested or section in outline.children(parent)


@given(documents)
def test_lines_agree_with_spans(text: str) -> None:
    outline = parsed(text)
    lines = outline.source.lines

    for section in outline.every_section():
        if len(section.span):
            assert section.first_line == lines.line_at(section.span.start)
            assert section.last_line == lines.line_at(section.span.end - 1)
    for block in outline.blocks:
        assert 1 <= block.first_line <= block.last_line <= lines.count
        assert block.span == lines.span(block.first_line, block.last_line)
    for before, after in pairwise(outline.tree.roots):
        assert before.last_line < after.first_line


@given(documents)
def test_every_section_is_found_by_its_id_and_its_anchor(text: str) -> None:
    outline = parsed(text)
    sections = list(outline.every_section())

    assert len({section.section_id for section in sections}) == len(sections)
    anchors = [section.anchor for section in sections if section.anchor]
    assert len(set(anchors)) == len(anchors)
    for section in sections:
        assert find_by_id(outline, section.section_id) is section
        if section.anchor:
            assert find_by_anchor(outline, section.anchor) is section


@given(documents)
def test_every_section_is_found_by_its_full_path_and_occurrence(text: str) -> None:
    outline = parsed(text)

    for section in outline.sections:
        found = find_by_path(outline, section.path)
        if isinstance(found, Diagnostic):
            picked = [
                find_by_path(outline, section.path, number) for number in range(1, len(outline.sections))
            ]
            assert section in picked
        else:
            assert found is section


@given(hostile_documents(("\n",)), st.sampled_from(["\r\n", "\r"]))
def test_line_ends_do_not_change_section_names(text: str, line_end: str) -> None:
    def names(outline: Outline) -> list[tuple[Section | str | int, ...]]:
        return [
            (section.section_id, section.anchor or "", section.first_line, section.last_line)
            for section in outline.every_section()
        ]

    assert names(parsed(text)) == names(parsed(text.replace("\n", line_end)))


@given(documents, st.sampled_from(["auto", "brief", "full"]))
def test_stat_is_valid_unicode_and_bounded_by_the_file(text: str, detail: str) -> None:
    outline = parsed(text)
    report = stat_report("a.md", outline, StatRequest(file="a.md", detail=detail))
    wire = json.loads(json.dumps(to_wire(report), ensure_ascii=False).encode("utf-8"))

    assert report.ok
    stat_text(report).encode("utf-8")
    entries = [entry for name in ("sections", "codeBlocks", "tables") for entry in wire.get(name, [])]
    for entry in entries:
        assert 1 <= entry["startLine"] <= entry["endLine"] <= report.total_lines
    for entry in [*wire.get("anchors", []), *wire.get("links", {}).get("broken", [])]:
        assert 1 <= entry["line"] <= report.total_lines


@pytest.mark.requirement("stat-1")
@given(documents, st.integers(1, 3))
def test_pages_of_stat_concatenate_to_the_whole(text: str, limit: int) -> None:
    outline = parsed(text)
    whole = stat_report("a.md", outline, StatRequest(file="a.md", detail="full", limit=10_000))
    pages: list[StatReport] = []
    cursor = None
    while not pages or cursor:
        request = StatRequest(file="a.md", detail="full", limit=limit, cursor=cursor)
        pages.append(stat_report("a.md", outline, request))
        cursor = pages[-1].next_cursor

    assert sum((page.sections for page in pages), ()) == whole.sections
    assert sum(page.tasks.total for page in pages) == whole.tasks.total
    for name in ("code_blocks", "tables", "anchors", "regions"):
        cut = any(page.inventory_totals for page in pages)
        assert cut or sum((getattr(page, name) for page in pages), ()) == getattr(whole, name)


@given(documents)
def test_plain_text_is_all_preamble(text: str) -> None:
    source = parsed(text).source
    outline = Outline(source, DocumentFormat.TEXT)

    assert [section.span for section in outline.every_section()] == [Span(0, len(source.text))]
    assert outline.blocks == ()
