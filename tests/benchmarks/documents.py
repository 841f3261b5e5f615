"""Documents and edits of any size, the same in every run."""

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mdplan.markdown.outline import Outline
from mdplan.text.source import Source

SEED = 2024
MEGABYTE = 1_000_000
_FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_PLAIN_WORDS = re.compile(r"^[A-Za-z]+(?: [a-z]+){3,5}(?=[ .,\n])", re.MULTILINE)
_PROSE = (
    "a plan is made of edits and each edit names its place in the document so that what was seen and what "
    "is changed are the same thing to every reader who looks at it before it is written to the disk"
)

Edit = dict[str, Any]


def corpus() -> Path | None:
    """Return the folder of real documents, or None."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "corpus"
    folder = Path(os.environ.get("MDPLAN_CORPUS") or beside)
    return folder if folder.is_dir() else None


def document(size: int) -> str:
    """Markdown of about `size` bytes: real documents, joined, else generated prose; all start alike."""
    pieces: list[str] = []
    length = 0
    for piece in _real_documents() if corpus() else _prose():
        pieces.append(piece)
        length += len(piece.encode()) + 1
        if length >= size:
            break
    return "\n".join(pieces).encode()[:size].decode("utf-8", "ignore").rpartition("\n")[0] + "\n"


def edits(text: str, count: int) -> list[Edit]:
    """`count` edits of four operations, a quarter each, spread over the whole of `text`."""
    outline = Outline(Source.from_text(text))
    sections = outline.sections[1:]
    matches: list[Edit] = []
    ranges: list[Edit] = []
    for number, (line, words, section) in enumerate(_plain_lines(outline)):
        if number % 2 and text.count(words, section.span.start, section.span.end) == 1:
            matches.append(
                {
                    "op": "replace_match",
                    "sectionId": section.section_id,
                    "pattern": words,
                    "replacement": words.upper(),
                }
            )
        elif not number % 2:
            place = {"start": {"line": line, "col": 1}, "end": {"line": line, "col": 1 + len(words)}}
            ranges.append(
                {"op": "replace_range", "range": place, "expectedText": words, "replacement": words.upper()}
            )
    appends = [
        {"op": "append_to_section", "sectionId": section.section_id, "markdown": "One more *paragraph*."}
        for section in sections
    ]
    renames = [
        {"op": "rename_heading", "sectionId": section.section_id, "newTitle": f"Title {number}"}
        for number, section in enumerate(sections)
    ]
    kinds = (matches, ranges, appends, renames)
    return [
        edit for number, kind in enumerate(kinds) for edit in _spread(kind, (count + number) // len(kinds))
    ]


def _plain_lines(outline: Outline) -> Iterator[tuple[int, str, Any]]:
    """Lines of paragraphs: their number, their first words, and the section that they stand in."""
    text = outline.source.text
    for match in _PLAIN_WORDS.finditer(text):
        block = outline.tree.root_at(match.start())
        if block is not None and block.kind == "paragraph":
            yield outline.source.lines.line_at(match.start()), match[0], outline.section_at(match.start())


def _spread(kind: list[Edit], count: int) -> list[Edit]:
    """`count` of `kind`, evenly from start to end."""
    assert len(kind) >= count, f"the document has room for {len(kind)} edits of one kind, not for {count}"
    return [kind[index * len(kind) // count] for index in range(count)]


def _real_documents() -> Iterator[str]:
    folder = corpus()
    assert folder is not None
    paths = sorted(folder.rglob("*.md"))
    random.Random(SEED).shuffle(paths)
    for path in paths:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        text = _FRONT_MATTER.sub("", text)
        if len(_FENCE.findall(text)) % 2 == 0:
            yield text


def _prose() -> Iterator[str]:
    dice = random.Random(SEED)
    vocabulary = _PROSE.split()
    number = 0
    while True:
        number += 1
        yield f"{'#' * dice.randint(1, 3)} Section {number}\n"
        for _ in range(dice.randint(1, 5)):
            words = " ".join(dice.choices(vocabulary, k=dice.randint(12, 60)))
            lines = re.findall(r".{1,90}(?: |$)", words)
            yield "\n".join(line.strip().capitalize() for line in lines) + f" {number}.\n"
        if dice.random() < 0.3:
            yield "```python\n" + "value = 1\n" * dice.randint(1, 8) + "```\n"
        if dice.random() < 0.3:
            yield (
                "\n".join(
                    f"- {' '.join(dice.choices(vocabulary, k=6))} [link](#section-{number})" for _ in range(4)
                )
                + "\n"
            )
