"""The pages of the documentation, and their code blocks as markdown-it reads them, at every depth."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from tests.conftest import REPOSITORY

DOCS = REPOSITORY / "docs"
_PARSER = MarkdownIt("commonmark").enable("table")
_FENCED = re.compile(
    r"^(?P<fence>`{3,})(?P<info>\S[^\n]*)\n(?P<text>.*?)^(?P=fence)$|^(?P<mark><!-- tests: .*? -->)$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A code block: the words of its info string, its text, and the line (1-based) where it begins."""

    info: tuple[str, ...]
    text: str
    line: int


def pages() -> list[Path]:
    """Return README and all pages except the samples, which are not documentation."""
    below = (path for path in DOCS.rglob("*.md") if DOCS / "samples" not in path.parents)
    return [REPOSITORY / "README.md", *sorted(below)]


def name_of(page: Path) -> str:
    """The path of `page` in the repository."""
    return page.relative_to(REPOSITORY).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """All code blocks of `page`; an indented one, and a fence without info, have no words of info."""
    tokens = _PARSER.parse(page.read_text(encoding="utf-8"))
    return [
        Block(tuple(token.info.split()), token.content, (token.map or [0])[0] + 1)
        for token in tokens
        if token.type in {"fence", "code_block"}
    ]


def prose_of(page: Path) -> str:
    """The text of `page` without its code blocks."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for token in _PARSER.parse("\n".join(lines)):
        if token.type in {"fence", "code_block"} and token.map:
            first, end = token.map
            lines[first:end] = [""] * (end - first)
    return "\n".join(lines)


def fenced(text: str) -> Sequence[re.Match[str]]:
    """Fences at the margin of `text` with their `info`, and marks for the tests, each where it stands."""
    return list(_FENCED.finditer(text))
