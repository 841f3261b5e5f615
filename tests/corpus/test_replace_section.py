"""Read a section, change a word or nothing, send it back: real documents change there or not at all.

`make test` takes a sample of files and sections, MDPLAN_FULL=1 all of them.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.markdown.blocks import BlockKind
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import read_payload
from mdplan.markdown.sections import Section
from mdplan.operations.base import Resolution
from mdplan.operations.sections import ReplaceSection
from mdplan.planning.build import BuiltFile
from mdplan.text.edit import EditList
from tests.conftest import FULL
from tests.corpus.sample import as_it_is, files_of, in_all, spread, with_crlf
from tests.support.edit_trials import Document

pytestmark = pytest.mark.timeout(3600 if FULL else 120)
SHARDS = 16 if FULL else 2
# The number of sections per document without MDPLAN_FULL=1.
SECTIONS = 12
WORD = re.compile(r"\b[A-Za-z]{4,}\b")
NEW_WORD = "Changed"


def documents(corpus: Path, shard: int) -> Iterator[Document]:
    return in_all(corpus, files_of(corpus, first=4, step=30)[shard::SHARDS], (as_it_is, with_crlf))


def some(document: Document) -> Sequence[Section]:
    sections = document.outline.sections
    return sections if FULL else spread(sections, SECTIONS)


def replaced(outline: Outline, section: Section, markdown: str) -> Resolution | str:
    """What `replace_section` does to `section`, or the code of its refusal."""
    edit = {"op": "replace_section", "sectionId": section.section_id, "markdown": markdown}
    outcome = ReplaceSection.model_validate(edit).resolved(outline)
    return outcome if isinstance(outcome, Resolution) else str(outcome[0].code)


def may_be_refused(markdown: str, code: str) -> bool:
    """Return True if the text explains a refusal: it is blank, or leaves a fence or comment open."""
    payload = read_payload(markdown)
    return (code == Code.EMPTY_CONTENT and payload.is_blank) or (
        code == Code.OUTLINE_CHANGED and payload.left_open is not None
    )


def word_to_change(outline: Outline, section: Section) -> re.Match[str] | None:
    """A word of the text of `section`, from about its middle; none of a heading and none of HTML."""
    text = outline.source.text
    avoided = [block.span for block in outline.blocks if block.kind in {BlockKind.HEADING, BlockKind.HTML}]
    lines = outline.source.lines
    count = section.last_line - section.first_line + 1 if len(section.span) else 0
    for step in range(count):
        line = section.first_line + (count // 2 + step) % count
        word = WORD.search(text, lines.start(line), lines.content_end(line))
        if word and not any(span.start <= word.start() < span.end for span in avoided):
            return word
    return None


each_shard = pytest.mark.parametrize("shard", range(SHARDS))


@each_shard
def test_own_text_sent_back_changes_nothing(
    corpus: Path, shard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for document in documents(corpus, shard):
        outline = document.outline
        for section in some(document):
            own = outline.text_of(section.span)
            outcome = replaced(outline, section, own)
            is_refused = isinstance(outcome, str)
            counts[outcome if isinstance(outcome, str) else "nothing changed"] += 1
            if is_refused and not may_be_refused(own, outcome):
                problems.append(f"{document.name}, {section.path}: {outcome}")
            elif not is_refused and (outcome.edits or outcome.insertions):
                problems.append(f"{document.name}, {section.path}: {outcome.edits[:1]}")

    with capsys.disabled():
        sys.stderr.write(f"\nown text, shard {shard}: {dict(counts)}\n")
    assert counts["nothing changed"]
    assert problems[:10] == []


@each_shard
def test_one_changed_word_changes_its_line_alone(
    corpus: Path, shard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for document in documents(corpus, shard):
        outline = document.outline
        text = outline.source.text
        for section in some(document):
            word = word_to_change(outline, section)
            if word is None:
                continue
            start, end = section.span.start, section.span.end
            sent = text[start : word.start()] + NEW_WORD + text[word.end() : end]
            outcome = replaced(outline, section, sent)
            counts[outcome if isinstance(outcome, str) else "changed"] += 1
            if isinstance(outcome, str):
                if not may_be_refused(sent, outcome):
                    problems.append(f"{document.name}, {section.path}: {outcome}")
                continue
            result = EditList(outcome.edits).apply(text)
            lines = outline.source.lines
            line = lines.span(lines.line_at(word.start()), lines.line_at(word.start()))
            if result != text[:start] + sent + text[end:]:
                problems.append(f"{document.name}, {section.path}: other text, {outcome.edits}")
            elif not all(line.contains(edit.span) for edit in outcome.edits):
                problems.append(f"{document.name}, {section.path}: another line, {outcome.edits}")

    with capsys.disabled():
        sys.stderr.write(f"\none word, shard {shard}: {dict(counts)}\n")
    assert counts["changed"]
    assert problems[:10] == []


@each_shard
def test_one_changed_word_passes_all_checks_of_a_plan(corpus: Path, shard: int) -> None:
    problems: list[str] = []
    planned = 0
    for document in documents(corpus, shard):
        outline = document.outline
        for section in outline.sections[1 :: 40 if FULL else 60]:
            word = word_to_change(outline, section)
            if word is None:
                continue
            text = outline.source.text
            sent = text[section.span.start : word.start()] + NEW_WORD + text[word.end() : section.span.end]
            if read_payload(sent).left_open:
                continue
            edit = {"op": "replace_section", "sectionId": section.section_id, "markdown": sent}
            outcome = document.plan(edit)
            planned += 1
            if not isinstance(outcome, BuiltFile):
                problems.append(f"{document.name}, {section.path}: {outcome[0]}")

    assert planned
    assert problems[:10] == []
