"""Texts of the corpus: real documents, pieces of them with small damage, and examples of CommonMark."""

import re
from pathlib import Path
from random import Random

from tests.properties.hostile_markdown import random_document

_EXAMPLE = re.compile(r"^`{32} example\n(?P<markdown>.*?)^\.\n.*?^`{32}$", re.DOTALL | re.MULTILINE)
_SPLICES = (
    *("\n", "\n\n", " ", "    ", "\t", "- ", "> ", "1. ", "2. ", "-", "=", "#", "`", "```\n", "~~~\n"),
    *("|", "<", "-->"),
)


def texts_of(corpus: Path) -> list[tuple[str, str]]:
    """Path and text of each document."""
    return [
        (path.relative_to(corpus).as_posix(), path.read_bytes().decode("utf-8-sig"))
        for path in sorted(corpus.rglob("*.md"))
    ]


def examples_of(corpus: Path) -> list[str]:
    """The examples of CommonMark 0.31.2."""
    specification = (corpus / "commonmark-spec-0.31.2.md").read_text(encoding="utf-8")
    return [match["markdown"].replace("→", "\t") for match in _EXAMPLE.finditer(specification)]


def mutated(dice: Random, texts: list[str]) -> str:
    """Some lines of one of `texts`, of which some are gone, repeated or changed, or between hostile ones."""
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
                lines[at] = dice.choice(_SPLICES) + lines[at]
            case 3:
                cut = dice.randint(0, len(lines[at]))
                lines[at] = lines[at][:cut] + dice.choice(_SPLICES) + lines[at][cut:]
            case _:
                lines[at:at] = random_document(dice).split("\n")[:3]
        if not lines:
            return ""
    return "\n".join(lines) + dice.choice(("\n", ""))
