"""Laws of the outline over hostile Markdown: nothing raises, nothing is lost, and every name is found."""

import json
import re
from itertools import pairwise
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.diagnostics import Diagnostic, or_problem
from mdplan.markdown.addresses import find_by_anchor, find_by_id, find_by_path
from mdplan.markdown.destinations import destinations
from mdplan.markdown.links import explicit_anchors, target_key
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.planning.link_changes import keys_in_html, places_of_fragments, possible_links
from mdplan.reading.stat import stat_report
from mdplan.reading.stat_text import stat_text
from mdplan.reports.base import to_wire
from mdplan.reports.stat import StatReport
from mdplan.requests.queries import StatRequest
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat, Source
from tests.conftest import FULL
from tests.properties.hostile_markdown import NAMES, hostile_documents, random_document
from tests.properties.strategies import texts
from tests.support.oracles import NEW, is_rescanned_alike, random_edits, source_of

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
        # A tag that text above keeps from being an HTML block stays with that text.
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
        found = or_problem(find_by_path, outline, section.path)
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


# --- After edits, a partial scan gives the same outline as the whole result.


@st.composite
def documents_and_edits(draw: st.DrawFn) -> tuple[str, EditList]:
    """Hostile documents with headings between them, and edits anywhere."""
    pieces = draw(st.lists(hostile_documents(("\n",)), min_size=1, max_size=4))
    text = "\n# Between\n".join(pieces)
    places = st.integers(0, len(text))
    edits = [
        TextEdit(Span(*sorted(place)), new)
        for place, new in draw(
            st.lists(
                st.tuples(st.tuples(places, places), st.sampled_from(NEW) | hostile_documents()),
                min_size=1,
                max_size=3,
            )
        )
    ]
    found = EditList.of(edits)
    return text, found if isinstance(found, EditList) else EditList((edits[0],))


@pytest.mark.requirement("rescan-1")
@given(documents_and_edits(), st.booleans())
def test_outline_after_edits_equals_a_full_parse(case: tuple[str, EditList], looks_first: bool) -> None:
    assert is_rescanned_alike(*case, looks_first=looks_first)


def test_edited_documents_have_the_outlines_of_their_results() -> None:
    dice = Random(0)
    for number in range(3_000 if FULL else 600):
        between = dice.choice(("\n# A\n\n", "# A\n", "\n"))
        documents = (random_document(dice) for _ in range(dice.randint(1, 5)))
        text = between.join(document.replace("\r\n", "\n").replace("\r", "\n") for document in documents)
        edits = random_edits(dice, text)
        assert is_rescanned_alike(text, edits, looks_first=number % 2 == 0), (text, edits)


@pytest.mark.parametrize(
    ("text", "start", "end", "new"),
    [
        ("", 0, 0, "# A"),
        ("# A", 3, 3, " B"),
        ("# A\n", 4, 4, "# B\n"),
        ("# A\n\na\n\n# B\n", 5, 7, ""),
        ("# A\n\na\n\n# B\n\nc\n", 5, 5, "```\n"),
        ("# A\n\n```\n\n# B\n\n```\n\n# C\n", 5, 9, ""),
        ("# A\n\na\n# B\n\nb\n# C\n", 6, 7, ""),
        ("# A\n\na\n# B\n", 3, 4, ""),
        ("---\na: 1\n---\n# A\n\nb\n\n# C\n", 18, 18, "x"),
        ("---\na: 1\n---\n# A\n\nb\n\n# C\n", 0, 4, ""),
        ("# A\n\na\n\n# B\n", 0, 0, "---\na: 1\n---\n"),
        ("---\na: 1\n---\n# A\n\nb\n\n> # C\n", 4, 4, "b: 2\nc: 3\n"),
        ("---\na: 1\n---\nA\n=\n\n%%\n# B\n%%\n\n[a]: b\n", 4, 8, ""),
        ("# A\r\n\r\na\r\n\r\n# B\r\n", 7, 8, "c"),
        ("# A\n\na\n\n# B\n", 5, 6, "c\r"),
        ("# A\n\na\n\n# B\n", 5, 6, "> " * 250 + "c"),
        ("# A\n\n" + "> " * 250 + "a\n\n# B\n", 5, 6, "c"),
        ("# A\n\na\n\n# A\n", 4, 4, "{: #b}\n"),
        ("# A\n{: #b}\n\na\n\n# A\n", 4, 12, ""),
        ("# A\n\na\n\n# A\n", 5, 6, '<a id="b"></a>'),
        ("# A\n\na\n\n# A\n", 3, 3, " {#b}"),
        ("[a]: b\n", 0, 7, ""),
        ("# A\n\na\n\n# B\n\n[a]: b\n", 5, 6, "c"),
        ("# A\n\na\n\n# B\n\n[a]: b\n", 5, 6, "c\n\n[d]: e\n\n```"),
    ],
)
def test_edits_at_the_edges_of_headings_are_detected(text: str, start: int, end: int, new: str) -> None:
    assert is_rescanned_alike(text, EditList((TextEdit(Span(start, end), new),)))


@pytest.mark.parametrize(
    ("first", "last"), [("x", "y"), ("```\n", "\n```\n"), ("\n# N\n\n", ""), ("", "> # M\n")]
)
def test_edits_of_distant_sections_are_detected(first: str, last: str) -> None:
    text = "".join(f"# {number}\n\na\n\n> ## N\n\nb\n\n" for number in range(9))
    places = [text.index("# 2") + 5, text.index("# 6") + 5]
    edits = [TextEdit(Span(place, place + 1), new) for place, new in zip(places, (first, last), strict=True)]
    assert is_rescanned_alike(text, EditList(tuple(edits)))


def test_only_the_sections_of_the_edits_are_rescanned() -> None:
    text = "".join(f"# {number}\n\n{'text ' * 20}\n\n" for number in range(1_000))
    before = Outline(source_of(text))
    first, last = text.index("# 300") + 8, text.index("# 302") + 8
    edits = EditList((TextEdit.insert(first, "x"), TextEdit.insert(last, "y")))
    heading = before.tree.root_at(before.sections[300].span.start)

    edited = before.edited(edits, source_of(edits.apply(text)))

    assert edited.changed is not None
    assert [len(new) < 220 for _, new in edited.changed] == [True, True]
    assert edited.tree.root_at(edited.sections[300].span.start) is heading


COUNT = 1_000 if FULL else 250


def test_every_link_to_a_fragment_is_found_in_the_text() -> None:
    dice = Random(1)
    found = 0
    for _ in range(COUNT):
        pieces = (dice.choice((*NAMES, random_document(dice))) for _ in range(dice.randint(2, 9)))
        outline = Outline(source_of("".join(pieces)))
        text = outline.source.text
        for link in destinations(outline, [Span(0, len(text))]):
            # No anchor of a heading has more than one line.
            if link.path or not link.fragment or set("\r\n") & set(link.fragment):
                continue
            places = places_of_fragments(possible_links(text), {target_key(link.fragment)})
            blocks = [outline.tree.leaf_at(place) for place in places]
            assert any(block and block.span.contains(link.span) for block in blocks), (text, link)
            found += 1
    assert found > 300


def test_every_anchor_of_html_is_found_in_the_text() -> None:
    dice = Random(2)
    found = 0
    for _ in range(COUNT):
        pieces = (dice.choice((*NAMES, random_document(dice))) for _ in range(dice.randint(2, 9)))
        outline = Outline(source_of("".join(pieces)))
        keys = keys_in_html(outline.source.text)
        for anchor, _ in explicit_anchors(outline):
            assert target_key(anchor) in keys or set("\"'<>\n\r") & set(anchor), (outline.source.text, anchor)
            found += 1
    assert found > 300
