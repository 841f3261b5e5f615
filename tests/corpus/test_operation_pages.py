"""Every operation on real documents: the page of the result is that of the base, but for what was asked.

The judge is cmark-gfm. `make test` takes a sample of files, MDPLAN_FULL=1 all of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mdplan.markdown.elements.lists import MarkdownList
from mdplan.planning.build import BuiltFile
from tests.conftest import FULL
from tests.corpus.sample import files_of, spread
from tests.edit_trials import Document
from tests.rendered_page import Page

pytestmark = pytest.mark.timeout(3600 if FULL else 120)

WORD = "Zqxword"
# Of each document so many sections, lists, tables and so on: all of them cost hours.
MOST = 6 if FULL else 2

# Refusals that a document can deserve. Of each code ten were read.
EXCUSED = frozenset(
    {
        "AMBIGUOUS_MATCH",
        "AMBIGUOUS_ROW",
        "AMBIGUOUS_TABLE",
        "AMBIGUOUS_ITEM",
        "HEADING_LEVEL_OVERFLOW",
        "INVALID_ARGUMENT",
        "MATCH_COUNT_MISMATCH",
        "OUTLINE_CHANGED",
        "TABLE_SHAPE",
    }
)

Check = Callable[[str, str], bool]


@dataclass(frozen=True)
class Trial:
    """An edit, and what the pages of base and result must be."""

    edit: dict[str, object]
    check: Check


def middle(short: str, long: str) -> str | None:
    """What `long` has more than `short` at one place; None where they differ in more than that."""
    start = shared_start(short, long)
    end = shared_start(short[start:][::-1], long[start:][::-1])
    return long[start : len(long) - end] if start + end == len(short) else None


def shared_start(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def adds(tag: str) -> Check:
    """The page has one element `tag` more, with the new word, and nothing else changes."""

    def check(old: str, new: str) -> bool:
        more = middle(without_body(old), without_body(new))
        return more is not None and count(tag, new) == count(tag, old) + 1 and more.count(WORD) == 1

    return check


def count(tag: str, page: str) -> int:
    """How many elements `tag` the page has."""
    return len(re.findall(rf"<{tag}[ >]", page))


def removes(tag: str) -> Check:
    """The page has one element `tag` less, and perhaps some inside of it, and nothing else changes.

    A list may become tight: its blank lines may go with the item.
    """

    def check(old: str, new: str) -> bool:
        less = middle(tight(without_body(new)), tight(without_body(old)))
        return less is not None and count(tag, new) < count(tag, old)

    return check


def without_body(page: str) -> str:
    """`page` without the tags around the rows of a table, which come with its first row."""
    return re.sub(r"</?tbody>\n?", "", page)


def tight(page: str) -> str:
    """`page` with all lists tight."""
    return re.sub(r"\n?</?(?:p|li|ul)>\n?", lambda tag: "" if "p>" in tag[0] else tag[0].strip(), page)


def is_shown_alike(old: str, new: str) -> bool:
    """Readers see the same: several blanks outside of code are one."""
    return _without_blanks(old) == _without_blanks(new)


def _without_blanks(page: str) -> str:
    pieces = re.split(r"(<pre>.*?</pre>)", page, flags=re.DOTALL)
    return "".join(each if each.startswith("<pre>") else re.sub(" +", " ", each) for each in pieces)


def replaces(word: str) -> Check:
    whole = re.compile(rf"(?<![\w-]){word}(?![\w-])")
    return lambda old, new: whole.sub(WORD, old) == new


def changes_heading(level: int) -> Check:
    """One heading has the level `level`, and nothing else changes."""

    def check(old: str, new: str) -> bool:
        was, now = re.findall(r"<h([1-6])>", old), re.findall(r"<h([1-6])>", new)
        changed = [pair for pair in zip(was, now, strict=False) if pair[0] != pair[1]]
        strip = re.compile(r"<(/?)h[1-6]>")
        return (
            len(was) == len(now)
            and len(changed) == 1
            and changed[0][1] == str(level)
            and strip.sub(r"<\1h>", old) == strip.sub(r"<\1h>", new)
        )

    return check


def checks_a_box(old: str, new: str) -> bool:
    """One box more or less is checked, and nothing else changes."""
    more = middle(old, new) if len(new) > len(old) else middle(new, old)
    return more is not None and more.replace('""', "").count("checked=") == 1


def sorts(old: str, new: str) -> bool:
    """The page has the same lines, and those that changed their place are in one list."""
    start = shared_start(old, new)
    before = old[:start]
    return Counter(old.split("\n")) == Counter(new.split("\n")) and (
        old == new
        or before.count("<ul>") + before.count("<ol") > before.count("</ul>") + before.count("</ol>")
    )


def has_new_code(old: str, new: str) -> bool:
    """The code of one block is the new word, and nothing else changes."""
    code = re.compile(r"(<pre><code[^>]*>).*?(?=</code></pre>)", re.DOTALL)
    was, now = code.findall(old), code.findall(new)
    return (
        len(was) == len(now)
        and code.sub(r"\1", old) == code.sub(r"\1", new)
        and new.count(f">{WORD}\n<") == 1
    )


def sections_of(document: Document) -> Iterator[Trial]:
    for section in spread(document.outline.sections[1:], MOST):
        named: dict[str, object] = {"sectionId": section.section_id}
        yield Trial({"op": "append_to_section", **named, "markdown": f"{WORD}."}, adds("p"))
        yield Trial({"op": "prepend_to_section", **named, "markdown": f"{WORD}."}, adds("p"))
        yield Trial({"op": "format_section", **named}, is_shown_alike)
        lone = next(document.outline.children(section), None) is None
        if lone and section.level < 6:
            level = section.level + 1
            yield Trial({"op": "set_heading_level", **named, "level": level}, changes_heading(level))
        below = {"position": "lastChild", "markdown": f"# {WORD}"}
        yield Trial({"op": "insert_section", **named, **below}, adds("h[1-6]"))


def files_and_lines_of(document: Document) -> Iterator[Trial]:
    text = document.outline.source.text
    yield Trial({"op": "append_to_file", "markdown": f"\n{WORD}.\n"}, adds("p"))
    words = re.findall(r"(?<![\w-])[A-Za-z]{7,}(?![\w-])", document.page.body)
    once = [word for word, count in Counter(words).items() if count == 1 and text.count(word) == 1]
    for word in spread(once, MOST):
        edit = {"op": "replace_match", "pattern": word, "replacement": WORD}
        yield Trial(edit, replaces(word))


def tables_of(document: Document) -> Iterator[Trial]:
    for table in spread(document.outline.tables, MOST):
        named = {"table": {"index": table.index}, "keyColumn": table.columns[0].strip() or "1"}
        yield Trial({"op": "upsert_table_row", **named, "key": WORD, "row": {}}, adds("tr"))
        for row in spread(table.rows, 2):
            key = document.outline.text_of(row.cells[0]).strip() if row.cells else ""
            if key:
                yield Trial({"op": "delete_table_row", **named, "key": key}, removes("tr"))


def lists_of(document: Document) -> Iterator[Trial]:
    for found in spread(document.outline.lists.outermost, MOST):
        named: dict[str, object] = {"list": {"index": found.index}}
        for position in ("start", "end"):
            yield Trial({"op": "add_list_item", **named, "position": position, "item": WORD}, adds("li"))
        yield from items_of(found, named)
        yield Trial({"op": "sort_list", **named}, sorts)


def items_of(found: MarkdownList, named: dict[str, object]) -> Iterator[Trial]:
    for item in spread(found.items, 2):
        if item.text and len(found.items) > 1:
            yield Trial({"op": "remove_list_item", **named, "item": item.text}, removes("li"))
        if item.text and item.mark is not None:
            is_done = item.mark in "xX"
            yield Trial({"op": "set_task", **named, "item": item.text, "done": not is_done}, checks_a_box)


def code_of(document: Document) -> Iterator[Trial]:
    for index in spread(range(len(document.outline.tree.fences)), MOST):
        yield Trial(
            {"op": "replace_code_block", "codeBlock": {"index": index}, "markdown": WORD}, has_new_code
        )


KINDS = (sections_of, files_and_lines_of, tables_of, lists_of, code_of)


def wrong_pages(document: Document, refused: Counter[str], planned: Counter[str]) -> Iterator[str]:
    old = document.page.body
    for trial in (trial for kind in KINDS for trial in kind(document)):
        outcome = document.plan(trial.edit)
        if not isinstance(outcome, BuiltFile):
            refused[f"{outcome[0].code}: {trial.edit['op']} {document.name}: {outcome[0].message}"] += 1
            if str(outcome[0].code) not in EXCUSED:
                yield f"{document.name}: {trial.edit} is refused: {outcome[0]}"
            continue
        planned[str(trial.edit["op"])] += 1
        if not trial.check(old, Page.of(outcome.result.source.data).body):
            yield f"{document.name}: {trial.edit}: another page"


def test_operations_change_what_was_asked_alone(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused: Counter[str] = Counter()
    planned: Counter[str] = Counter()
    problems = [
        problem
        for path in files_of(corpus, first=7, step=40)
        for problem in wrong_pages(Document(path.name, path.read_bytes()), refused, planned)
    ]
    if FULL:
        with capsys.disabled():
            print(dict(planned), Counter(each.split(":")[0] for each in refused.elements()))  # noqa: T201

    assert set(planned) >= {"append_to_section", "format_section", "add_list_item", "upsert_table_row"}
    assert problems == []
