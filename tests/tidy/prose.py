"""A check of the words that users read: `python -m tests.tidy.prose`, which `make lint` runs.

It reads the documents, the templates of the review page and the texts in the code, such as messages and help.
For a word of `WORDS` it names a better one, for one of `TERMS` the term of the glossary. It finds sentences
that are too long to read once, and pages for users in which too many sentences name nobody who acts.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[2]
MOST_WORDS: Final = 30
# The share of sentences of a page for users that may be passive without an actor ("the file is refused").
MOST_PASSIVE: Final = 0.25
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
# Other words for what the glossary (docs/reference/glossary.md) has a term for.
TERMS: Final = {
    r"chapters?": "section",
    r"patch ?sets?|change ?sets?": "plan",
    r"checksums?": "hash",
    r"instructions? of a batch": "edit",
    r"precondition on|optimistic lock(?:s|ing)?": "guard",
    r"table of sections": "outline",
    r"awaiting|unapplied": "pending",
    r"work(?:space|ing) folder|base folder": "root",
    r"outdated plan|expired plan": "stale",
}
_BETTER: Final = [*WORDS.values(), *(f"{term} (glossary)" for term in TERMS.values())]
_WORD: Final = re.compile(
    "|".join(rf"(?P<w{number}>\b(?:{word})\b)" for number, word in enumerate([*WORDS, *TERMS])), re.IGNORECASE
)
_PASSIVE: Final = re.compile(
    r"\b(?:is|are|was|were|be|been|being)\s+(?:\w+ly\s+|not\s+|never\s+|always\s+|also\s+|then\s+|only\s+)*"
    r"(?:\w+ed|written|read|made|given|shown|found|kept|put|cut|taken|known|begun|done|undone|sent|built)\b"
    r"(?!\s+by\b)",
    re.IGNORECASE,
)
_FENCE: Final = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2", re.MULTILINE | re.DOTALL)
_NO_PROSE: Final = re.compile(
    r"`[^`\n]*`|<[^>\n]*>|\{[{%].*?[%}]\}|\]\([^)\n]*\)|^#.*|^.*\|.*\|.*$", re.MULTILINE
)
_END_OF_ELEMENT: Final = re.compile(r"</(?:dd|li|p|h\d|button|label)>")
# Items of a list, examples of commands and rows of keys, such as "y - accept", are sentences as well.
_SENTENCE_END: Final = re.compile(r"[.!?:;](?=\s)|\n\s*(?:[-*]|\d+\.|\S - |mdplan )|\n\s*\n")


def findings() -> Iterator[str]:
    """What to rewrite in the texts of this repository: path, line (1-based) and problem."""
    for path, line, text in texts():
        name = path.relative_to(REPOSITORY).as_posix()
        is_for_users = name == "README.md" or name.startswith(
            ("docs/how-to/", "docs/tutorial/", "docs/index")
        )
        found = [*problems(text), *(passive_problems(text) if is_for_users else ())]
        yield from (f"{name}:{line + at}: {problem}" for at, problem in found)


def texts() -> Iterator[tuple[Path, int, str]]:
    """Texts that users read, each with its file and the line where it begins."""
    folders = (REPOSITORY / "docs", REPOSITORY / "packaging", REPOSITORY / ".github")
    documents = [path for path in sorted(REPOSITORY.glob("*.md")) if path.name != "CHANGELOG.md"]
    documents += [path for folder in folders for path in sorted(folder.rglob("*.md"))]
    templates = sorted((REPOSITORY / "mdplan" / "web" / "templates").glob("*.html"))
    for path in (*documents, *templates):
        if "samples" not in path.parts:
            yield path, 1, path.read_text(encoding="utf-8")
    described = [REPOSITORY / name for name in ("action.yml", ".pre-commit-hooks.yaml")]
    for path in (*described, *sorted((REPOSITORY / "packaging").rglob("*.json"))):
        yield path, 1, path.read_text(encoding="utf-8").replace('"', " ")
    for path in sorted((REPOSITORY / "mdplan").rglob("*.py")):
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
    words = _NO_PROSE.sub(_blank_code, _FENCE.sub(_blank, text))
    for found in _WORD.finditer(words):
        better = _BETTER[int((found.lastgroup or "w0")[1:])]
        yield words.count("\n", 0, found.start()), f"write another word than `{found[0]}`: {better}"
    for line, sentence in _sentences(text):
        # Names in code, and links of nothing else, are read at a glance.
        count = len(re.findall(r"\S*[A-Za-z]{2}\S*|\b[aI]\b", sentence))
        if count > MOST_WORDS:
            yield line, f"a sentence has {count} words, more than {MOST_WORDS}"


def passive_problems(text: str) -> list[tuple[int, str]]:
    """Sentences that name nobody who acts, with their lines (0-based), where `text` has too many of them."""
    sentences = list(_sentences(text))
    passive = [(line, found[0]) for line, sentence in sentences if (found := _PASSIVE.search(sentence))]
    if len(passive) <= MOST_PASSIVE * len(sentences):
        return []
    return [(line, f"say who does it: `{words}`") for line, words in passive]


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of `text`, each with the line where it begins (0-based)."""
    prose = _END_OF_ELEMENT.sub(". ", _FENCE.sub(_blank, text))
    sentences = _NO_PROSE.sub(lambda found: _blank(found, "x" if found[0][0] == "`" else ""), prose)
    at = 0
    for end in [*(found.end() for found in _SENTENCE_END.finditer(sentences)), len(sentences)]:
        sentence = sentences[at:end]
        if sentence.strip():
            yield sentences.count("\n", 0, end - len(sentence.lstrip())), sentence
        at = end


def _blank(found: re.Match[str], mark: str = "") -> str:
    return mark + "\n" * found[0].count("\n")


def _blank_code(found: re.Match[str]) -> str:
    return found[0] if found[0][:1] in "#|" else " " * len(found[0])


if __name__ == "__main__":
    found = list(findings())
    print(*found, sep="\n")
    sys.exit(bool(found))
