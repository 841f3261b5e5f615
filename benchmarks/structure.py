"""What the structure of a document costs: against other parsers, in long documents, and in hostile ones."""

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

from cmarkgfm import cmark
from documents import MEGABYTE, SEED
from markdown_it import MarkdownIt
from measure import in_turns, times

from mdplan.markdown.blocks import parse_blocks
from mdplan.markdown.outline import Outline
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source

MOST_PER_DOUBLING = 2.5
EXTENSIONS = ["table", "tasklist", "strikethrough", "autolink"]
WORDS = "fix parser when value is empty and option given for output of tables with links in lists"
# Lines that are repeated; each is hard for some parser.
SHAPES = {
    "an open label": ("[\n", "a\n"),
    "items": ("", "- a\n"),
    "items with lazy lines": ("", "- a\nb\n"),
    "items of open fences": ("", "- ```\nb\n"),
    "empty items": ("", "-\n\n"),
    "wide items": ("", "100. a\n    b\n"),
    "nested items": ("", "- a\n  1. b\n     > c\n\n"),
    "quotes with lazy lines": ("", "> a\nb\n- c\n"),
    "quotes of open fences": ("", "> ```\nb\n"),
    "table rows": ("|a|b|\n|-|-|\n", "|a|b|\n"),
    "tables": ("", "a|b\n-|-\n1. c\n"),
    "one wide table row": ("|a|\n|-|\n", "|x"),
    "setext headings": ("", "a\n=\n"),
    "ATX headings": ("", "# a\n"),
    "dashes": ("", "--\n"),
    "definitions": ("", "[a]: /u\n"),
    "definitions and items": ("", "[a]: /u\n2. b\n"),
    "text with indented lines": ("", "a\n    b\n"),
    "text with tags": ("", "a\n<b>\n"),
    "open tags": ("", "<a\n"),
    "open comments": ("", "<!--\n"),
    "fences": ("", "```\n"),
    "blank lines": ("", " \n"),
    "marks of items on one line": ("", "- "),
    "marks of quotes on one line": ("", "> "),
    "stars on one line": ("", "* "),
}

Row = tuple[str, str]


def structure_sections(text: str) -> Iterator[tuple[str, list[Row]]]:
    """Titles and rows, for the page of all benchmarks; `text` is a mixed document of a megabyte."""
    yield "The structure of 1 MB: blocks at the root, and all headings", rivals(text)
    yield "The structure of a changelog of 1.2 MB, lists only", rivals(changelog(6 * MEGABYTE // 5))
    yield "The structure of 10 MB", length_rows(text)
    yield "Twice a hostile document, from 100 kB", list(hostile_rows())


def rivals(text: str) -> list[Row]:
    data = text.encode()
    block = MarkdownIt("commonmark").enable("table")
    block.core.ruler.enableOnly(["normalize", "block"])
    full = MarkdownIt("gfm-like", {"linkify": False})
    taken = in_turns(
        {
            "structure": lambda: structure(text),
            "outline": lambda: Outline(Source.decode(data)),
            "full": lambda: full.parse(text),
            "block": lambda: block.parse(text),
            "cmark": lambda: cmark.markdown_to_html_with_extensions(
                text, cmark.Options.CMARK_OPT_SOURCEPOS, extensions=EXTENSIONS
            ),
        }
    )
    others = {
        "full": "markdown-it-py `gfm-like`, full",
        "block": "its block pass",
        "cmark": "cmarkgfm with source positions",
    }
    return [
        (f"{what} against {name}", times(taken[key] / taken[other]))
        for key, what in (
            ("structure", "structure"),
            ("outline", "whole outline, from bytes to section IDs,"),
        )
        for other, name in others.items()
    ]


def length_rows(text: str) -> list[Row]:
    long = text * 10
    taken = in_turns({"short": lambda: structure(text), "long": lambda: structure(long)}, rounds=5)
    return [("against 1 MB", times(taken["long"] / taken["short"]))]


def hostile_rows() -> Iterator[Row]:
    """Shapes of which two lengths are measured; those that cost more than twice as much come first."""
    rows: list[tuple[float, Row]] = []
    for name, (start, line) in SHAPES.items():
        texts = [start + line * (size // len(line)) + "\n" for size in (MEGABYTE // 10, MEGABYTE // 5)]
        actions: dict[str, Callable[[], object]] = {
            str(len(text)): (lambda text=text: structure(text)) for text in texts
        }
        taken = in_turns(actions, rounds=3)
        (ratio,) = (taken[after] / taken[before] for before, after in pairwise(actions))
        rows.append((ratio, (name, times(ratio) + (" (too much)" if ratio > MOST_PER_DOUBLING else ""))))
    yield from (row for _, row in sorted(rows, reverse=True))


def structure(text: str) -> object:
    return parse_blocks(text, LineIndex(text)).headings


def changelog(size: int) -> str:
    """Versions with a list of changes each, some of them of several lines or with lists of their own."""
    dice, vocabulary = random.Random(SEED), WORDS.split()

    def words(count: int) -> str:
        return " ".join(dice.choices(vocabulary, k=count))

    pieces: list[str] = []
    length = 0
    while length < size:
        piece = f"## {dice.randint(1, 9)}.{dice.randint(0, 99)} - 2024-0{dice.randint(1, 9)}-1\n\n"
        for _ in range(dice.randint(3, 60)):
            piece += f"* {words(dice.randint(4, 14))} ([#{dice.randint(1, 9999)}](https://example.com/x))\n"
            piece += f"  {words(9)}\n" if dice.random() < 0.2 else ""
            piece += f"    * {words(6)}\n" if dice.random() < 0.15 else ""
        pieces.append(piece + "\n")
        length += len(pieces[-1])
    return "".join(pieces)
