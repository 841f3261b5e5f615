"""What a document holds beside its sections: code, tables, tasks, regions, anchors and links."""

from textwrap import dedent

import pytest

from mdplan.markdown.blocks import is_done
from mdplan.markdown.enclosure_search import find_regions
from mdplan.markdown.format_detection import document_format
from mdplan.markdown.links import (
    count_links,
    definitions,
    find_anchors,
    local_links,
    reference_uses,
    resolvable_targets,
)
from mdplan.markdown.outline import Outline, find_tables, find_tasks
from mdplan.text.lines import Span
from mdplan.text.source import Source
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


def outline(text: str) -> Outline:
    return Outline(Source.from_text(dedent(text)))


# Formats.


@CASE_TABLES.parametrize("path", "text", "given", "expected")
def test_format_comes_from_the_option_then_the_name_then_the_content(
    path: str, text: str, given: str | None, expected: str
) -> None:
    assert document_format(path, text, given) == expected


# Code blocks, tables, tasks.


def test_line_of_one_pipe_alone_ends_a_table() -> None:
    (table,) = find_tables(outline("| a |\n|---|\n| b |\n||\n| |\n |\t\n| c |\n"))

    assert table.last_line == 5


def test_tasks_are_items_that_begin_with_a_box() -> None:
    found = find_tasks(
        outline("""\
            - [ ] open
            - [x] done
              1. [X] done below
            - [x]no space
            - [ ]
            - text [x] later
            - [/] begun
            - [--] no box
            - > [x] a quote comes first
            - [ ] # no heading

            [x] no item
            """)
    )

    assert [(item.first_line, is_done(mark)) for item, mark in found] == [
        (1, False),
        (2, True),
        (3, True),
        (7, False),
        (10, False),
    ]


# Regions.


def regions(text: str) -> tuple[list[tuple[str, int, int]], list[tuple[str, bool, int]]]:
    found = find_regions(outline(text))
    return (
        [(region.name, region.start.line, region.end.line) for region in found.pairs],
        [(marker.name, marker.is_start, marker.line) for marker in found.unpaired],
    )


def test_regions_are_found_at_every_depth_and_in_each_other() -> None:
    pairs, unpaired = regions("""\
        <!-- toc:start -->
        - <!--inner.1:start-->
          x
          <!-- inner.1:end -->
        <!-- toc:end -->

        a <!-- b-c:start --> b <!-- b-c:end -->

        <div>
        <!-- toc:start -->
        <!-- toc:end -->
        </div>
        """)

    assert pairs == [("toc", 1, 5), ("inner.1", 2, 4), ("b-c", 7, 7), ("toc", 10, 11)]
    assert unpaired == []


@CASE_TABLES.parametrize("text")
def test_marker_look_alike_is_text(text: str) -> None:
    assert regions(text) == ([], [])


@CASE_TABLES.parametrize("markers", "pairs", "unpaired", tuples=True)
def test_unpaired_markers_are_reported(
    markers: str, pairs: tuple[tuple[str, int, int], ...], unpaired: tuple[tuple[str, bool, int], ...]
) -> None:
    found = regions("".join(f"<!-- {marker} -->\n" for marker in markers.split()))

    assert found == ([*pairs], [*unpaired])


# Anchors and links.


def test_anchors_come_from_headings_and_from_html() -> None:
    found = find_anchors(
        outline("""\
            # A B <a name="one"></a>

            text <span ID='two'>x</span> `<a id="no">`

            <div id="three"
                 class="x"><input name="no"></div>

            <!-- <a id="no"></a> -->

            > ## A B

            ## A B
            ## ?
            """)
    )

    assert [(anchor.id, anchor.line, anchor.explicit) for anchor in found] == [
        ("a-b-", 1, False),
        ("one", 1, True),
        ("two", 3, True),
        ("three", 5, True),
        ("a-b", 10, False),
        ("a-b-1", 12, False),
    ]


def test_targets_are_compared_without_case_and_prefix() -> None:
    targets = resolvable_targets(outline('# Foo Bar\n<a id="user-content-X%C3%A4"></a>\n'))

    assert targets == {"foo-bar", "#foo bar", "xä"}


def test_span_after_the_last_link_has_no_links() -> None:
    document = outline("[a](b) [r]\n\n[r]: /u\n")
    end = len(document.source.text)

    assert not any(count_links(document, Span(end, end)).values())
    assert reference_uses(document, Span(end, end)) == ()


@CASE_TABLES.parametrize("link")
def test_link_to_a_place_of_the_same_file_resolves(link: str) -> None:
    document = outline(f'# Foo Bar\n\n<b id="HERE"></b> {link}\n\n[^n]: note\n')

    assert [found.resolves for found in local_links(document)] == [True]


@pytest.mark.requirement("toolset-text-17")
@CASE_TABLES.parametrize("link", "target")
def test_link_to_a_missing_anchor_of_the_same_file_is_broken(link: str, target: str) -> None:
    document = outline(f"# Foo Bar\n\n{link}\n\n[^n]: note\n")

    found = local_links(document)
    assert [(each.target, each.resolves) for each in found] == [(target, False)]
    assert document.text_of(found[0].span).strip("<>") in target
    assert document.source.lines.line_at(found[0].span.start) == found[0].line


@CASE_TABLES.parametrize("text")
def test_links_to_other_files_are_not_checked(text: str) -> None:
    assert local_links(outline(f"# Foo\n\n{text}\n")) == ()


def test_local_links_of_a_span_are_those_that_touch_it() -> None:
    document = outline("[a](#a)\n\n[b](#b) [^c]\n\n<a href='#d'>\n")
    start = document.source.text.index("[b]")

    assert [link.target for link in local_links(document, [Span(start, start + 1)])] == ["#b"]
    assert [link.target for link in local_links(document, [Span(start + 3, start + 12)])] == ["#b", "[^c]"]


def test_labels_are_normalized_alike_in_definitions_and_uses() -> None:
    document = outline("""\
        > [One
        > Two] ![i][ß]

        | [a \\| b] |
        |---|

        [one  two]: /1
        [SS]: /2
        [a | b]: /3
        [unused]: /4
        [^note]: 5
        """)

    labels = definitions(document).keys()
    uses = reference_uses(document)
    assert labels == {"ONE TWO", "SS", "A | B", "UNUSED"}
    assert [(use.label, use.line) for use in uses] == [("ONE TWO", 1), ("SS", 2), ("A | B", 4)]
    assert document.text_of(uses[1].span) == "ß"
