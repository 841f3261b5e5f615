"""What the outline of a document costs: against other parsers, in long documents, and in hostile ones."""

import hashlib
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from documents import MEGABYTE, SEED
from measure import Measure, Part, against, cpu
from rivals import Missing, Rival, Worker

from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source

MOST_PER_DOUBLING = 2.5
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

RIVALS = {
    "full": "markdown-it-py `gfm-like`, full",
    "block": "its block pass",
    "cmarkgfm": "cmarkgfm with source positions",
    "mistune": "mistune, which has no positions",
}
HOW = "processor time; whole outlines, from bytes to sections with IDs; each rival in a process of its own"


def structure_parts(text: str, rival: Rival | Missing) -> Iterator[Part]:
    """Everything about outlines; `text` is a mixed document of a megabyte."""
    mixed = ("an outline of a mixed document of 1 MB", text, {"cmarkgfm": 1.5})
    changes: tuple[str, str, dict[str, float]] = (
        "an outline of a changelog of 1.2 MB, lists alone",
        changelog(6 * MEGABYTE // 5),
        {},
    )
    for what, document, bars in (mixed, changes):
        yield Part(what[0].upper() + what[1:], HOW, tuple(against_rivals(what, document, bars, rival)))
    yield Part("An outline of 10 MB", "processor time", (length(text),))
    yield Part("Twice a hostile document, from 100 kB", "processor time, 5 rounds", tuple(hostile()))


def against_rivals(what: str, text: str, bars: dict[str, float], rival: Rival | Missing) -> Iterator[Measure]:
    data = text.encode()
    actions = {
        "outline": cpu(lambda: outline(data)),
        "tree": cpu(lambda: parsed(data)),
        "structure": cpu(lambda: structure(text)),
        "hash": cpu(lambda: hashlib.sha256(data).digest()),
    }
    if isinstance(rival, Missing):
        for name, shown in RIVALS.items():
            yield Measure(what=f"{what} against {shown}", bar=bars.get(name), missing=rival.reason)
    else:
        with tempfile.NamedTemporaryFile(suffix=".md") as file:
            Path(file.name).write_bytes(data)
            worker = Worker(rival.command, Path(file.name))
            try:
                for name, shown in RIVALS.items():
                    costs = against(name, {name: worker.timed(name), **actions})
                    yield Measure(what=f"{what} against {shown}", ratio=costs["outline"], bar=bars.get(name))
                    if name == "block":
                        yield Measure(
                            what="its tree of headings, before anybody looks at a section",
                            ratio=costs["tree"],
                        )
                        yield Measure(what="its headings alone", ratio=costs["structure"])
            finally:
                worker.close()
    costs = against("hash", {name: actions[name] for name in ("hash", "outline")})
    yield Measure(what=f"{what} against SHA-256 of it", ratio=costs["outline"])


def length(text: str) -> Measure:
    short, long = text.encode(), text.encode() * 10
    costs = against(
        "short", {"short": cpu(lambda: outline(short)), "long": cpu(lambda: outline(long))}, rounds=5
    )
    return Measure(what="an outline of 10 MB against one of 1 MB", ratio=costs["long"])


def hostile() -> Iterator[Measure]:
    """Return shapes to measure at two lengths; those that cost more than twice as much are listed first."""
    found: list[Measure] = []
    for name, (start, line) in SHAPES.items():
        texts = [start + line * (size // len(line)) + "\n" for size in (MEGABYTE // 10, MEGABYTE // 5)]
        short, long = (cpu(structure_of(text)) for text in texts)
        costs = against("short", {"short": short, "long": long}, rounds=5)
        found.append(Measure(what=f"twice: {name}", ratio=costs["long"], bar=MOST_PER_DOUBLING))
    yield from sorted(found, key=lambda measure: measure.ratio or 0, reverse=True)


def structure_of(text: str) -> Callable[[], object]:
    return lambda: structure(text)


def structure(text: str) -> object:
    return parse_blocks(text, LineIndex(text)).headings


def outline(data: bytes) -> list[Section]:
    """Return all sections, which are computed on access."""
    return list(parsed(data).in_order)


def parsed(data: bytes) -> Outline:
    """As the engine makes it: without collections of garbage in between."""
    source = Source.decode(data)
    assert isinstance(source, Source)
    return Outline(source)


def changelog(size: int) -> str:
    """Return versions with lists of changes, some with several lines or nested lists."""
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
