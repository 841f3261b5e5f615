"""Outlines of edited documents, parsed around the edits, against those of all of their text."""

from random import Random

from mdplan.markdown.outline import Outline
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source
from tests.properties.hostile_markdown import random_document

# What edits write: much that changes what the lines behind it are.
NEW = (
    *("", "x", "\n", "\n\n", " ", "    ", "# H\n", "\n# N\n\n", "## ", "a\nb\n", "---\n", "===\n"),
    *(
        "```\n",
        "\n```\n",
        "~~~",
        "> ",
        "- ",
        "1. ",
        "<!--",
        "-->",
        "<div>\n",
        "[a]: /u\n",
        "|-|-|\n",
        "+++\n",
        " {#own}",
        "{: #own}\n",
        '<a id="own"></a>\n',
    ),
)


def random_edits(dice: Random, text: str) -> EditList:
    """Some edits of `text`, most of them small."""
    edits: list[TextEdit] = []
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        start = dice.randrange(len(text) + 1)
        end = min(start + dice.choice((0, 0, 1, 2, 5, 20)), len(text))
        new = dice.choice((*NEW, random_document(dice)[:30]))
        edits.append(TextEdit(Span(start, end), new))
    found = EditList.of(edits)
    return found if isinstance(found, EditList) else EditList((edits[0],))


def is_rescanned_alike(text: str, edits: EditList, *, looks_first: bool = True) -> bool:
    """Whether the outline after `edits` of `text` is that of the result; True if it is.

    With `looks_first` all blocks of the text are made before, so that those that stay are taken over.
    """
    before = Outline(source_of(text))
    if looks_first:
        assert before.blocks is before.tree.blocks
    source = source_of(edits.apply(text))
    edited, whole = before.edited(edits, source), Outline(source)
    lines = LineIndex(source.text)
    return (
        edited.source.lines.starts == lines.starts
        and list(edited.tree.part_starts) == list(whole.tree.part_starts)
        and edited.tree.nesting_limit == whole.tree.nesting_limit
        and edited.content_end == whole.content_end
        # Sections are equal where all their fields are; the preamble and nested ones are among these.
        and edited.in_order == whole.in_order
        and edited.blocks == whole.blocks
    )


def source_of(text: str) -> Source:
    """`text` as a file has it, in UTF-8 or with bytes that are none."""
    invalid = sum("\udc80" <= character <= "\udcff" for character in text)
    return Source(text.encode("utf-8", "surrogateescape"), text, "utf-8", b"", "", invalid)
