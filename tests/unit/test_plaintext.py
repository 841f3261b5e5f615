"""The structure of INI files and plain text."""

from textwrap import dedent

import pytest

from mdplan.data.ini import IniOutline
from mdplan.text.plain import TextOutline
from mdplan.text.source import Source

SETTINGS = dedent("""\
    ; For all.
    name = "a ; b"

    # Where data is.
    [db]  ; first
    host : x   ; local
    hosts =
        one

        # not this one
        two # but this one
    compress
    = nothing
    [cache]

    ; The last one.
    [db]
    Host=y
    """)


def ini(text: str) -> IniOutline:
    return IniOutline(Source.from_text(text))


def text_outline(text: str) -> TextOutline:
    return TextOutline(Source.from_text(text))


def test_sections_have_their_lines_and_bodies() -> None:
    outline = ini(SETTINGS)

    assert [(each.name, each.first_line, each.last_line) for each in outline.sections] == [
        (None, 1, 4),
        ("db", 5, 13),
        ("cache", 14, 16),
        ("db", 17, 18),
    ]
    bodies = [outline.text_of(each.body) for each in outline.sections]
    assert bodies[0] == '; For all.\nname = "a ; b"\n'
    assert bodies[1].startswith("host : x")
    assert bodies[1].endswith("= nothing\n")
    assert bodies[2:] == ["", "Host=y\n"]


def test_keys_have_their_lines_values_and_comments() -> None:
    outline = ini(SETTINGS)
    found = [
        (key.name, key.value, key.lines, outline.text_of(key.comment) if key.comment else None)
        for key in outline.every_key()
    ]

    assert found == [
        ("name", '"a', (2,), '; b"'),
        ("host", "x", (6,), "; local"),
        ("hosts", "\none\n\ntwo", (7, 8, 9, 11), None),
        ("compress", None, (12,), None),
        ("Host", "y", (18,), None),
    ]


@pytest.mark.parametrize(
    ("section", "key", "lines"),
    [
        ("db", "host", [6]),
        ("db", "Host", [18]),
        ("db", "HOST", [6, 18]),
        ("DB", "host", []),
        ("cache", "host", []),
        (None, "NAME", [2]),
    ],
)
def test_exact_key_takes_precedence_over_another_case(
    section: str | None, key: str, lines: list[int]
) -> None:
    assert [found.first_line for found in ini(SETTINGS).keys_named(section, key)] == lines


def test_hash_of_a_section_is_that_of_its_bytes() -> None:
    source = Source.decode(b"\xef\xbb\xbf[a]\r\nx = \xc3\xa9\r\n[b]\r\n")
    assert isinstance(source, Source)
    outline = IniOutline(source)

    assert outline.section_sha256(outline.sections[1]) == ini("[a]\r\nx = é\r\n").section_sha256(
        ini("[a]\r\nx = é\r\n").sections[1]
    )


def test_sections_of_a_text_go_from_marker_to_marker() -> None:
    outline = text_outline("Intro\n[one]\na\n\n[two] ; note\n[no marker] text\n  [nor this]\n[[nor this]]\n")

    assert [(each.marker, each.first_line, each.last_line) for each in outline.sections] == [
        ("[one]", 2, 4),
        ("[two]", 5, 8),
    ]


def test_comments_with_the_same_sign_are_one_block() -> None:
    outline = text_outline("# a\n  # b\n; c\n\n// d\nx // e\n-- f\n---\n")

    assert [(each.prefix, each.first_line, each.last_line) for each in outline.comment_blocks] == [
        ("#", 1, 2),
        (";", 3, 3),
        ("//", 5, 5),
        ("--", 7, 7),
    ]


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("", []),
        ("a\n", []),
        ("\n", [(1, 1)]),
        ("a\n\n \t\nb\n\n", [(2, 3), (5, 5)]),
        ("\r\n\r\na\r\rb", [(1, 2), (4, 4)]),
        ("\x0c\n", []),
    ],
)
def test_successive_blank_lines_are_a_group(text: str, groups: list[tuple[int, int]]) -> None:
    assert [(each.first_line, each.last_line) for each in text_outline(text).blank_lines] == groups
