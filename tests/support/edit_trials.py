"""Edits of real documents, and checks that nothing else changed.

cmark-gfm, independent of mdplan, renders base and result: the pages must be equal except for the new text.
"""

import html
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import unquote

import pytest

from mdplan.diagnostics import Code, Problems
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.planning.batch import build_files
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile
from mdplan.planning.links import derive_link_edits
from mdplan.requests.batch import Batch, read_batch
from mdplan.text.diff import file_diff
from mdplan.text.source import Source
from tests.support.files import NoOtherFiles
from tests.support.pages import Page
from tests.support.strict_patch import NamedDiff, apply_strictly, changed_lines

NEW_TEXT = "Text that a test appends\nto section {}."
NEW_PARAGRAPH = re.compile(r"<p>Text that a test appends\nto section (\d+)\.</p>\n")
HEADING = re.compile(r"<h[1-6]>")
NEW_TITLE = "Title that a test gives to section {}"

# The valid reasons for refusing an edit in these tests.
REASONS = {
    "open end": "the file ends in a fence, comment or tag that is not closed, and would swallow new text"
}


@dataclass
class Document:
    """A variant of a file of the corpus."""

    name: str
    data: bytes

    @cached_property
    def outline(self) -> Outline:
        source = Source.decode(self.data)
        assert isinstance(source, Source)
        return Outline(source)

    @cached_property
    def page(self) -> Page:
        return Page.of(self.data)

    @cached_property
    def heading_numbers(self) -> dict[int, int]:
        """The number of headings before the heading at each line, by cmark-gfm."""
        return {line: number for number, line in enumerate(self.page.heading_lines)}

    def headings_before_end(self, section: Section) -> range:
        """Return the possible numbers of headings before a place in the own body of `section`."""
        first = self.heading_numbers[section.heading_line] + 1 if section.heading else 0
        after = self.outline.sections[section.index + 1 : section.index + 2]
        last = self.heading_numbers[after[0].heading_line] if after else len(self.page.headings)
        return range(first, last + 1)

    def heading_lines(self, first_lines: Iterable[int]) -> set[bytes]:
        """Return the lines of the headings that start at `first_lines`."""
        wanted = set(first_lines)
        text = self.outline.text_of
        blocks = (each.heading for each in self.headings if each.heading_line in wanted)
        found = (text(block.span) for block in blocks if block is not None)
        return {line.encode() for lines in found for line in re.split(r"\r\n|\n", lines)}

    @property
    def headings(self) -> list[Section]:
        return [section for section in self.outline.every_section() if section.heading]

    def plan(self, *edits: dict[str, object]) -> BuiltFile | Problems:
        """Plan `edits` as the engine does, without opening files or storing plans."""
        entry = {"file": self.name, "baseSha256": self.outline.source.sha256, "edits": list(edits)}
        batch = read_batch({"files": [entry]})
        assert isinstance(batch, Batch)
        file = SnapshotFile(
            path=self.name, relative=self.name, requested=batch.files[0], outline=self.outline, first_edit=0
        )
        *_, outcome = build_files([file], batch, NoOtherFiles())
        return outcome


@dataclass
class Trials:
    """The results of the edits in one shard."""

    planned: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    diffs: list[NamedDiff] = field(default_factory=list)

    def add(
        self, document: Document, outcome: BuiltFile | Problems, op: str, where: object
    ) -> Iterator[BuiltFile]:
        """Yield a plan for further checks; count a refusal."""
        if not isinstance(outcome, BuiltFile):
            reason = reason_of_refusal(document, outcome)
            self.refused[reason] += 1
            if reason not in REASONS:
                self.problems.append(f"{document.name}, {op} {where}: refused, {outcome[0]}")
            return
        self.planned += 1
        result = outcome.result.source.data
        name = f"{len(self.diffs)}.md"
        diff = file_diff(name, name, outcome.hunks)
        self.diffs.append(NamedDiff(name, document.data, diff))
        self.expect(
            apply_strictly(document.data, diff) == result, document, op, where, "diff gives other bytes"
        )
        yield outcome

    def expect(self, holds: bool, document: Document, op: str, where: object, otherwise: object) -> None:
        if not holds:
            self.problems.append(f"{document.name}, {op} {where}: {otherwise}")

    def judge(self, capsys: pytest.CaptureFixture[str], what: str) -> None:
        """Print the counts, and fail on problems."""
        refused = [f"{count} because {REASONS.get(key, key)}" for key, count in self.refused.items()]
        with capsys.disabled():
            sys.stderr.write(f"\n{what}: {self.planned} planned, refused: {'; '.join(refused) or 'none'}\n")
        assert self.planned
        assert not self.problems, "\n".join(self.problems[:10])


def reason_of_refusal(document: Document, problems: Problems) -> str:
    """Return a key of `REASONS` if the document proves it, else the codes."""
    codes = sorted({str(problem.code) for problem in problems})
    if codes == [Code.OUTLINE_CHANGED] and has_open_end(document.page.text):
        return "open end"
    return ", ".join(codes)


def has_open_end(text: str) -> bool:
    """Return True if a paragraph appended to `text` does not render as one."""
    appended = Page.of(f"{text}\n\n{NEW_TEXT.format(0)}\n".encode())
    return NEW_PARAGRAPH.search(appended.body) is None


def append(section: Section) -> dict[str, object]:
    return {
        "op": "append_to_section",
        "sectionId": section.section_id,
        "markdown": NEW_TEXT.format(section.index),
    }


def rename(section: Section, number: int) -> dict[str, object]:
    return {"op": "rename_heading", "sectionId": section.section_id, "newTitle": NEW_TITLE.format(number)}


def check_appended(trials: Trials, document: Document, built: BuiltFile, sections: Sequence[Section]) -> None:
    """Check that the page has one new paragraph in each section, and is otherwise the same."""

    def expect(holds: bool, otherwise: object, where: object = sections[0].path) -> None:
        trials.expect(holds, document, "append", where, otherwise)

    result = built.result.source.data
    page = Page.of(result)
    found = list(NEW_PARAGRAPH.finditer(page.body))
    removed, added = changed_lines(file_diff("a.md", "a.md", built.hunks))
    new_lines = {
        line for section in sections for line in NEW_TEXT.format(section.index).encode().split(b"\n")
    }
    expect({int(match[1]) for match in found} == {section.index for section in sections}, "no new paragraph")
    expect(NEW_PARAGRAPH.sub("", page.body) == document.page.body, "the page changed elsewhere")
    expect(not removed and added.keys() - {b""} == new_lines, "the diff has other lines")
    expect(are_ended_alike(document.data, result), "line ends, byte order mark or final newline changed")
    expect(link_warnings(built) == (), "a warning of links")
    by_number = {section.index: section for section in sections}
    for number, match in enumerate(found):
        section = by_number[int(match[1])]
        headings = len(HEADING.findall(page.body, 0, match.start()))
        expect(
            headings in document.headings_before_end(section), "it stands in another section", section.path
        )
        expect(number == section.index or len(found) == 1, "the order is another", section.path)


def check_renamed(
    trials: Trials, document: Document, built: BuiltFile, page: Page, numbers: dict[int, int]
) -> None:
    """Check that the page has new titles at the lines `numbers`, and is otherwise the same."""

    def expect(holds: bool, otherwise: object) -> None:
        trials.expect(holds, document, "rename", list(numbers)[:3], otherwise)

    result = built.result.source.data
    titles = {document.heading_numbers[line]: NEW_TITLE.format(number) for line, number in numbers.items()}
    removed, added = changed_lines(file_diff("a.md", "a.md", built.hunks))
    expect(page.body == document.page.with_titles(titles), "the page changed elsewhere")
    expect(removed.keys() <= document.heading_lines(numbers), "the diff takes other lines")
    expect(all(NEW_TITLE.format("").encode() in line for line in added), "the diff brings other lines")
    expect(are_ended_alike(document.data, result), "line ends, byte order mark or final newline changed")


def check_warnings(
    trials: Trials, document: Document, built: BuiltFile, page: Page, section: Section
) -> None:
    """Check that the plan warns exactly of links that break or name another heading."""
    before, after = document.page.places, page.places
    folded = {html.unescape(fragment).lower() for fragment in page.fragments}
    taken = {each for each in folded if each in before and each in after and before[each] != after[each]}
    expected = {
        Code.BROKEN_LINK: Counter(page.unresolved) - Counter(document.page.unresolved),
        Code.LINK_RETARGETED: taken,
    }
    warnings = link_warnings(built)
    codes = {warning.code for warning in warnings}
    trials.expect(codes <= expected.keys(), document, "rename", section.path, f"warnings of kinds {codes}")
    for code, worse in expected.items():
        fragments = {f"#{readable(fragment)}" for fragment in worse}
        lines = [each.place.line for each in warnings if each.code is code and each.place]
        warned = [readable(built.result.source.lines.content(line)) for line in lines]
        unnamed = [fragment for fragment in fragments if not any(fragment in line for line in warned)]
        # Raw HTML and its links are not rendered.
        wrong = [
            line for line in warned if "<a" not in line and not any(found in line for found in fragments)
        ]
        trials.expect(not unnamed, document, "rename", section.path, f"no {code} of {unnamed}")
        trials.expect(not wrong, document, "rename", section.path, f"{code} of {wrong}")


def link_warnings(built: BuiltFile) -> Problems:
    """Return warnings about links that the plan of this file breaks."""
    made = derive_link_edits([built], "none", NoOtherFiles())
    assert isinstance(made, BuildResult)
    return made.files[0].warnings


def readable(fragment: str) -> str:
    return unquote(html.unescape(fragment)).lower()


def are_ended_alike(base: bytes, result: bytes) -> bool:
    """Return True if both have the same newlines, BOM and final newline."""
    return line_end_facts(base) == line_end_facts(result)


def line_end_facts(data: bytes) -> tuple[bool, ...]:
    crlf = data.count(b"\r\n")
    ended = data.endswith((b"\r", b"\n"))
    return (
        crlf < data.count(b"\n"),
        crlf > 0,
        crlf < data.count(b"\r"),
        ended,
        data.startswith(b"\xef\xbb\xbf"),
    )
