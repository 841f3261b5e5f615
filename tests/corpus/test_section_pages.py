"""An edit of a section changes only the page of that section.

The judges are cmark-gfm and cutting of lines: the rendered result equals the rendered document with the lines
of the section removed, written or moved by hand, between blank lines.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.markdown.sections import Section
from mdplan.planning.build import BuiltFile
from tests.corpus.sample import files_of, spread
from tests.support.edit_trials import Document
from tests.support.pages import Page

# Definitions at the end, with comments that are about links or right above.
_DEFINITIONS = re.compile(
    r"(?:^<!--(?:.*\b(?:link|reference)s?\b.*-->\n\s*|.*-->\n(?=\[))"
    r"|^ {0,3}\[[^\]\n]+\]:.*\n(?:[ \t]+\S.*\n|[ \t]*\n)*)+\Z",
    re.MULTILINE,
)
# An HTML anchor, or the label of a MyST target.
_ANCHOR = re.compile(r"\s*(?:<a (?:id|name) *=[^<>]*></a>|\([^()\n]+\)=)\s*")
_OPENING, _CLOSING = (
    re.compile(r"^(?::{3,}[ {\w]|<div)", re.MULTILINE),
    re.compile(r"^(?::{3,}$|</div>)", re.MULTILINE),
)
# Separates the parts above and below.
_RULE = re.compile(r"(?:[ \t]*\n)*[ \t]*(?:-{3,}|\*{3,}|_{3,})[ \t]*\Z")
NEW = "## New section\n\nNew text.\n"

# Refusals that a document can deserve; each was read.
EXCUSED = {
    Code.OUTLINE_CHANGED: "a fence, comment or table would swallow or lose what is around the section",
    Code.HEADING_LEVEL_OVERFLOW: "the new heading would be below level 6",
    Code.DUPLICATE_HEADING: "the section would come next to one of the same name",
}


@dataclass
class Lines:
    """The lines of a document, cut at the sections that cmark-gfm sees; indexes are 0-based."""

    lines: list[str]
    end: int
    starts: list[int]
    levels: list[int]

    @classmethod
    def of(cls, document: Document) -> "Lines":
        text = document.outline.source.text
        found = _DEFINITIONS.search(text)
        lines = text.splitlines(keepends=True)
        end = text[: found.start()].count("\n") if found else len(lines)
        nested = {section.heading_line for section in document.outline.nested}
        pairs = zip(document.page.heading_lines, document.page.headings, strict=True)
        headings = [(line, level) for line, (level, _) in pairs if line not in nested]
        starts = [cls._with_anchors(lines, line - 1) for line, _ in headings]
        return cls(lines, end, starts, [level for _, level in headings])

    @staticmethod
    def _with_anchors(lines: list[str], start: int) -> int:
        first = at = start
        while at and (not lines[at - 1].strip() or _ANCHOR.fullmatch(lines[at - 1])):
            at -= 1
            first = at if lines[at].strip() else first
        return first

    def stop(self, number: int) -> int:
        """Return the end of the section: the next heading of its level or above."""
        later = range(number + 1, len(self.starts))
        return next(
            (self.starts[each] for each in later if self.levels[each] <= self.levels[number]), self.end
        )

    def crosses_container(self, number: int) -> bool:
        """Return True if the section contains only one half of a container, which an edit keeps whole."""
        text = "".join(self.lines[self.starts[number] : self.stop(number)])
        return len(_OPENING.findall(text)) != len(_CLOSING.findall(text))

    def joined(self, *pieces: tuple[int, int] | str) -> str:
        texts = [each if isinstance(each, str) else "".join(self.lines[slice(*each)]) for each in pieces]
        return "\n\n".join(text.strip("\n") for text in texts if text.strip()) + "\n"


def deleted(cut: Lines, number: int) -> str:
    above = "".join(cut.lines[: cut.starts[number]]).rstrip()
    is_last = number and cut.stop(number) == cut.end
    return cut.joined(_RULE.sub("", above) if is_last else above, (cut.stop(number), len(cut.lines)))


def inserted_before(cut: Lines, number: int) -> str:
    new = "#" * cut.levels[number] + NEW.lstrip("#")
    return cut.joined((0, cut.starts[number]), new, (cut.starts[number], len(cut.lines)))


def inserted_after(cut: Lines, number: int) -> str:
    new = "#" * cut.levels[number] + NEW.lstrip("#")
    return cut.joined((0, cut.stop(number)), new, (cut.stop(number), len(cut.lines)))


def moved_up(cut: Lines, number: int) -> str | None:
    """Move a section before the sibling above; return None if it is the first."""
    for other in range(number - 1, -1, -1):
        if cut.levels[other] < cut.levels[number]:
            return None
        if cut.levels[other] == cut.levels[number]:
            first, stop = cut.starts[number], cut.stop(number)
            before = cut.starts[other]
            return cut.joined((0, before), (first, stop), (before, first), (stop, len(cut.lines)))
    return None


Model = Callable[[Lines, int], str | None]


def edits_of(document: Document, section: Section) -> Iterator[tuple[dict[str, object], Model]]:
    named = {"sectionId": section.section_id}
    yield {"op": "delete_section", **named}, deleted
    for position, model in (("before", inserted_before), ("after", inserted_after)):
        markdown = "#" * section.level + NEW.lstrip("#")
        yield {"op": "insert_section", **named, "position": position, "markdown": markdown}, model
    above = [
        each
        for each in document.outline.children(document.outline.parent(section) or section)
        if each.index < section.index and each.level == section.level
    ]
    if above:
        to = above[-1].section_id
        yield {"op": "move_section", **named, "position": "before", "toSectionId": to}, moved_up


def trial(document: Document, most: int, refused: Counter[str]) -> Iterator[str]:
    cut = Lines.of(document)
    tops = document.outline.sections[1:]
    if len(tops) != len(cut.starts):
        yield f"{document.name}: other headings"
        return
    for section in spread(tops, most):
        for edit, model in edits_of(document, section):
            wanted = model(cut, section.index - 1)
            if wanted is None or cut.crosses_container(section.index - 1):
                continue
            where = f"{document.name}, {edit['op']} {section.path}"
            built = document.plan(edit)
            if not isinstance(built, BuiltFile):
                refused[f"{built[0].code}: {where}"] += 1
                if built[0].code not in EXCUSED:
                    yield f"{where}: refused, {built[0]}"
                continue
            page = Page.of(built.result.source.data)
            if page.body != Page.of(wanted.encode()).body:
                yield f"{where}: another page"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_edit_of_each_section_changes_only_its_page(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused: Counter[str] = Counter()
    problems = [
        problem
        for path in sorted(corpus.rglob("*.md"))
        for problem in trial(Document(path.name, path.read_bytes()), 12, refused)
    ]

    with capsys.disabled():
        codes = Counter(name.split(":")[0] for name in refused)
        examples = "\n".join(sorted(refused)[:40])
        print(f"refused: {dict(codes)}\n{examples}")  # noqa: T201 (read by people)
    assert problems == []


def test_edit_of_sampled_sections_changes_only_their_page(corpus: Path) -> None:
    files = files_of(corpus, first=3, step=60)[:12]
    problems = [
        problem for path in files for problem in trial(Document(path.name, path.read_bytes()), 2, Counter())
    ]

    assert problems == []
