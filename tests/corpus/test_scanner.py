"""The scanner gives the blocks of the reference pass, on real documents and on what becomes of them."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from mdplan.markdown.front_matter.block import find_front_matter
from tests.properties.hostile_markdown import random_document
from tests.scanner_check import difference, differs

EXAMPLE = re.compile(r"^`{32} example\n(?P<markdown>.*?)^\.\n.*?^`{32}$", re.DOTALL | re.MULTILINE)
WRAPPINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "in a list": lambda text: "- " + text.replace("\n", "\n  "),
    "in an ordered list": lambda text: "10. " + text.replace("\n", "\n    "),
    "in a quote": lambda text: "> " + text.replace("\n", "\n> "),
    "lazily in a quote": lambda text: "> " + text,
    "indented": lambda text: "  " + text.replace("\n", "\n  "),
    "behind a paragraph": lambda text: "a\n" + text,
    "in CRLF": lambda text: text.replace("\n", "\r\n"),
    "cut off": lambda text: text[:-1],
}
SPLICES = (
    "\n",
    "\n\n",
    " ",
    "    ",
    "\t",
    "- ",
    "> ",
    "1. ",
    "2. ",
    "-",
    "=",
    "#",
    "`",
    "```\n",
    "~~~\n",
    "|",
    "<",
    "-->",
)


def documents(corpus: Path) -> list[tuple[str, str]]:
    return [
        (path.relative_to(corpus).as_posix(), path.read_bytes().decode("utf-8-sig"))
        for path in sorted(corpus.rglob("*.md"))
    ]


def test_real_documents_have_the_same_blocks(corpus: Path) -> None:
    found = documents(corpus)

    def starts_differ(text: str) -> bool:
        front_matter = find_front_matter(text)
        return differs(text, front_matter.span.end if front_matter else 0)

    assert len(found) > 500
    assert [name for name, text in found if starts_differ(text)] == []


def examples_in(corpus: Path) -> list[str]:
    """The examples of the specification."""
    specification = (corpus / "commonmark-spec-0.31.2.md").read_text(encoding="utf-8")
    return [match["markdown"].replace("→", "\t") for match in EXAMPLE.finditer(specification)]


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_the_examples_of_the_specification_have_the_same_blocks(corpus: Path, wrapping: str) -> None:
    examples = examples_in(corpus)

    assert len(examples) == 652
    assert [text for text in map(WRAPPINGS[wrapping], examples) if differs(text)] == []


def mutated(dice: Random, texts: list[str]) -> str:
    """A piece of a real document in which lines go, come twice or change, or that hostile ones come into."""
    lines = dice.choice(texts).split("\n")
    first = dice.randrange(len(lines))
    lines = lines[first : first + dice.randint(2, 30)]
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(lines))
        match dice.randrange(5):
            case 0:
                del lines[at]
            case 1:
                lines.insert(dice.randrange(len(lines)), lines[at])
            case 2:
                lines[at] = dice.choice(SPLICES) + lines[at]
            case 3:
                cut = dice.randint(0, len(lines[at]))
                lines[at] = lines[at][:cut] + dice.choice(SPLICES) + lines[at][cut:]
            case _:
                lines[at:at] = random_document(dice).split("\n")[:3]
        if not lines:
            return ""
    return "\n".join(lines) + dice.choice(("\n", ""))


def check_mutated(corpus: Path, seed: int, count: int) -> None:
    dice = Random(seed)
    texts = [text for _, text in documents(corpus)]
    for _ in range(count):
        assert difference(mutated(dice, texts)) is None


def test_mutated_pieces_of_real_documents_have_the_same_blocks(corpus: Path) -> None:
    check_mutated(corpus, seed=0, count=2_000)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(1, 11))
def test_two_hundred_thousand_mutated_pieces_have_the_same_blocks(corpus: Path, seed: int) -> None:
    check_mutated(corpus, seed, 20_000)
