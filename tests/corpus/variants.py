"""Real documents, the examples of the specification, and what becomes of them."""

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.properties.hostile_markdown import random_document
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)


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
SPLICES = CASE_TABLES.value("SPLICES", tuples=True)


def documents(corpus: Path) -> list[tuple[str, str]]:
    return [
        (path.relative_to(corpus).as_posix(), path.read_bytes().decode("utf-8-sig"))
        for path in sorted(corpus.rglob("*.md"))
    ]


def examples_in(corpus: Path) -> list[str]:
    """The examples of the specification."""
    specification = (corpus / "commonmark-spec-0.31.2.md").read_text(encoding="utf-8")
    return [match["markdown"].replace("→", "\t") for match in EXAMPLE.finditer(specification)]


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
