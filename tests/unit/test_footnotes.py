"""Footnote definitions contain blocks, as on GitHub, and these can be edited."""

from typing import Any

import pytest

from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile
from mdplan.text.source import Source
from tests.edit_trials import Document

TEXT = """# A

Text[^1] and[^2].

[^1]: Note

    - one
    - [ ] two

    | k | v |
    |---|---|
    | a | 1 |

[^2]: - three
    - four

[a]: /u
"""


@pytest.mark.parametrize(
    ("edit", "old", "new"),
    [
        (
            {"op": "add_list_item", "list": {"index": 0}, "item": "new", "position": "end"},
            "    - [ ] two\n",
            "    - [ ] two\n    - new\n",
        ),
        ({"op": "remove_list_item", "item": "one"}, "    - one\n", ""),
        ({"op": "set_task", "item": "two", "done": True}, "[ ] two", "[x] two"),
        (
            {
                "op": "upsert_table_row",
                "table": {"index": 0},
                "keyColumn": "k",
                "key": "b",
                "row": {"v": "2"},
            },
            "    | a | 1 |\n",
            "    | a | 1 |\n    | b | 2 |\n",
        ),
        (
            {"op": "add_list_item", "list": {"index": 1}, "item": "new", "position": "end"},
            "    - four\n",
            "    - four\n    - new\n",
        ),
        ({"op": "remove_list_item", "item": "four"}, "    - four\n", ""),
    ],
)
def test_blocks_in_footnotes_are_edited(edit: dict[str, Any], old: str, new: str) -> None:
    built = Document("a.md", TEXT.encode()).plan(edit)

    assert isinstance(built, BuiltFile), built
    assert built.result.source.text == TEXT.replace(old, new)


def test_item_in_the_line_of_a_footnote_marker_is_not_removed() -> None:
    text = "[^1]: - three\n"
    problems = Document("a.md", text.encode()).plan({"op": "remove_list_item", "item": "three"})

    assert not isinstance(problems, BuiltFile)


def test_definitions_and_footnotes_at_the_end_belong_to_no_section() -> None:
    outline = Outline(Source.from_text(TEXT))

    assert outline.content_end == TEXT.index("[^1]: Note")
    assert [block.kind.value for block in outline.tree.roots[2:]] == [
        "footnote definition",
        "footnote definition",
        "definition",
    ]


def test_heading_in_a_footnote_is_nested() -> None:
    outline = Outline(Source.from_text("# A\n\n[^1]:\n    # B\n"))

    assert [(section.title, section.nested) for section in outline.headings] == [("A", False), ("B", True)]


def test_footnotes_in_one_line_do_not_overlap() -> None:
    roots = Outline(Source.from_text("[^1]: [^2]: # A\n\nText.\n")).tree.roots

    assert [(block.first_line, block.last_line) for block in roots] == [(1, 1), (3, 3)]
