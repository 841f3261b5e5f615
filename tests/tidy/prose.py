"""A check of the words that users read: `python -m tests.tidy.prose`, which `make lint` runs.

It reads the documents, the templates of the review page and the texts in the code, such as messages and help.
For a word of `WORDS` it names a better one, and it finds sentences that are too long to read once.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[2]
MOST_WORDS: Final = 45
# What not to write, and what to write instead. A sentence needs a subject that acts: mdplan, a command, you.
WORDS: Final = {
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"(?:is|are|was|were|be|been) told": "learns, gets a message",
    r"tells": "shows, says",
    r"(?:stands|stood)(?! for)": "is",
    r"stand (?:in|on|at|there|before|behind|after|below|outside|inside|between)": "are",
    r"holds?|held(?! by)": "contains, has, keeps",
    r"pin(?:s|ned|ning)?": "guard",
    r"(?:left|leaves?|leaving) out": "skip, omit",
    r"wait(?:s|ing)? for (?:a person|approval|somebody)": "pending",
    r"meanwhile": "in the meantime, since then",
    r"anew": "again",
    r"(?<!the )(?:in|out)side of": "inside, outside",
    r"in place of": "instead of",
    r"besides?": "next to, with, also",
    r"(?<!left )behind(?! a proxy)": "after",
    r"of (?:its|their) own": "separate, its own …",
    r"seen from": "relative to",
    r"tak(?:e|es|en|ing) back": "undo",
    r"(?:it|they) (?:is|are) there for": "is for",
    r"nothing but": "only",
    r"com(?:e|es|ing) to (?:the same|this|nothing)": "results in",
    r"made true|make true|makes true": "apply, bring into line",
    r"who asked for (?:it|this)": "the author",
    r"let (?:it|them) be": "leave",
    r"not be (?:seen|found) there": "is missing",
}
_WORD: Final = re.compile(
    "|".join(rf"(?P<w{number}>\b(?:{word})\b)" for number, word in enumerate(WORDS)), re.IGNORECASE
)
_FENCE: Final = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2", re.MULTILINE | re.DOTALL)
_NO_PROSE: Final = re.compile(
    r"`[^`\n]*`|<[^>\n]*>|\{[{%].*?[%}]\}|\]\([^)\n]*\)|^#.*|^.*\|.*\|.*$", re.MULTILINE
)
# Items of a list and rows of keys, such as "y - accept", are sentences as well.
_SENTENCE_END: Final = re.compile(r"[.!?:;](?=\s)|\n\s*(?:[-*]|\d+\.|\S - )|\n\s*\n")


def findings() -> Iterator[str]:
    """What to rewrite in the texts of this repository: path, line (1-based) and problem."""
    for path, line, text in texts():
        name = path.relative_to(REPOSITORY).as_posix()
        yield from (f"{name}:{line + at}: {problem}" for at, problem in problems(text))


def texts() -> Iterator[tuple[Path, int, str]]:
    """Texts that users read, each with its file and the line where it begins."""
    documents = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    templates = sorted((REPOSITORY / "mdplan" / "web" / "templates").glob("*.html"))
    for path in (*documents, *templates):
        if "samples" not in path.parts:
            yield path, 1, path.read_text(encoding="utf-8")
    for path in sorted((REPOSITORY / "mdplan").rglob("*.py")):
        if "codegen" not in path.parts:
            yield from ((path, line, text) for line, text in _texts_of(ast.parse(path.read_bytes())))


def _texts_of(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts with at least three words, but for docstrings, which readers of the code see."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings and text.count(" ") > 1:
                yield node.lineno, text
            case _:
                pass


def problems(text: str) -> Iterator[tuple[int, str]]:
    """Words and sentences of `text` to rewrite, with their lines (0-based)."""
    prose = _FENCE.sub(_blank, text)
    words = _NO_PROSE.sub(_blank_code, prose)
    for found in _WORD.finditer(words):
        better = list(WORDS.values())[int((found.lastgroup or "w0")[1:])]
        yield words.count("\n", 0, found.start()), f"write another word than `{found[0]}`: {better}"
    sentences = _NO_PROSE.sub(lambda found: _blank(found, "x" if found[0][0] == "`" else ""), prose)
    at = 0
    for end in [*(found.end() for found in _SENTENCE_END.finditer(sentences)), len(sentences)]:
        count = len(sentences[at:end].split())
        if count > MOST_WORDS:
            line = sentences.count("\n", 0, end - len(sentences[at:end].lstrip()))
            yield line, f"a sentence has {count} words, more than {MOST_WORDS}"
        at = end


def _blank(found: re.Match[str], mark: str = "") -> str:
    return mark + "\n" * found[0].count("\n")


def _blank_code(found: re.Match[str]) -> str:
    return found[0] if found[0][:1] in "#|" else " " * len(found[0])


if __name__ == "__main__":
    found = list(findings())
    print(*found, sep="\n")
    sys.exit(bool(found))
