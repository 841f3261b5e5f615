"""Run every operation on real documents: the result is the base except for the requested change.

The judges are cmark-gfm, which renders pages, and plain Python, which replaces text. `make test` takes a
sample of files, `make corpus` all of them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest

from mdplan.markdown.lists import MarkdownList
from mdplan.operations import OPERATIONS
from mdplan.planning.build import BuiltFile
from tests.conftest import FULL, REPOSITORY
from tests.corpus.sample import files_of, spread
from tests.corpus.text_trials import WORD, TextTrial, text_trials
from tests.support.case_tables import CaseTables
from tests.support.edit_trials import Document
from tests.support.pages import Page

CASE_TABLES = CaseTables(__file__)


pytestmark = pytest.mark.timeout(3600 if FULL else 120)
TESTS = REPOSITORY / "tests"

# The number of sections, lists, tables and so on per document: all of them take hours.
MOST = 6 if FULL else 2

# Where operations are tried on real documents, or random ones, that are not tried here, by which judge.
ELSEWHERE = CASE_TABLES.value("ELSEWHERE")

# Refusals that a document can deserve, by operation. Ten of each were read.
EXCUSED: dict[str, dict[str, str]] = CASE_TABLES.value("EXCUSED")

# Tags, autolinks with their addresses, and code, in which nothing is replaced unasked.
_NO_TEXT = re.compile(r"<a [^>]*>https?:.*?</a>|<code.*?</code>|<[^>]*>", re.DOTALL)

# Uses of footnotes are counted in their order.
_FOOTNOTE_USE = re.compile(r' id="fnref-[^"]*"')
Check = Callable[[str, str], bool]


@dataclass(frozen=True)
class Trial:
    """An edit, and what the pages of base and result must be."""

    edit: dict[str, object]
    check: Check


def middle(short: str, long: str) -> str | None:
    """Return the text that `long` has in addition to `short` at one place; None if they differ otherwise."""
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
        return more is not None and count(tag, new) == count(tag, old) + 1 and new.count(WORD) == 1

    return check


def count(tag: str, page: str) -> int:
    """How many elements `tag` the page has."""
    return len(re.findall(rf"<{tag}[ >]", page))


def removes(tag: str) -> Check:
    """The page has one element `tag` less, and perhaps some inside of it, and nothing else changes."""

    def check(old: str, new: str) -> bool:
        less = middle(without_body(new), without_body(old))
        return less is not None and count(tag, new) < count(tag, old)

    return check


def leaves_one_item(old: str, new: str) -> bool:
    """Check the same for one of two items: the other may become tight, since no blank line remains."""
    return removes("li")(tight(old), tight(new))


def without_body(page: str) -> str:
    """Return `page` without the tags around the rows of a table, which appear with its first row."""
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
    """Check that the page has the same lines, and that all moved lines are in one list."""
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
        more = {"mode": "append", "markdown": f"{WORD}."}
        yield Trial({"op": "upsert_section", **named, **more}, adds("p"))
    new = {"headingPath": [WORD], "parentPath": [], "createIfMissing": True, "markdown": "New text."}
    yield Trial({"op": "upsert_section", **new}, adds("h[1-6]"))


def siblings_of(document: Document) -> Iterator[Trial]:
    """Two sections that follow each other change places, with all headings below them."""
    outline, numbers = document.outline, document.heading_numbers
    pairs = [
        (first, second)
        for first, second in pairwise(outline.sections[1:])
        if first.level == second.level and first.title != second.title
    ]
    for first, second in spread(pairs, MOST):
        parent = outline.parent(first)
        following = next(iter(outline.sections[second.index + 1 :]), None)
        titles = [] if parent is None else [each.title for each in outline.children(parent)]
        if following is None or following.level != second.level:
            continue
        if parent is None or parent.is_root or len(set(titles)) < len(titles):
            continue
        at, then = numbers[first.heading_line], numbers[second.heading_line]
        # Headings in quotes and lists are on the page, too.
        if then != at + 1 or numbers[following.heading_line] != then + 1:
            continue
        named = {"sectionId": parent.section_id, "order": [second.title, first.title]}
        yield Trial({"op": "order_sections", **named}, swaps_headings(at))


def swaps_headings(at: int) -> Check:
    """The headings number `at` and the one behind it change places, and all lines of the page stay."""

    def check(old: str, new: str) -> bool:
        was, now = (re.findall(r"<h[1-6]>.*?</h[1-6]>", page, re.DOTALL) for page in (old, new))
        was[at : at + 2] = was[at : at + 2][::-1]
        lines, lines_now = (Counter(_FOOTNOTE_USE.sub("", page).split("\n")) for page in (old, new))
        return was == now and lines == lines_now

    return check


def files_and_lines_of(document: Document) -> Iterator[Trial]:
    text = document.outline.source.text
    yield Trial({"op": "append_to_file", "markdown": f"\n{WORD}.\n"}, adds("p"))
    words = re.findall(r"(?<![\w-])[A-Za-z]{7,}(?![\w-])", _NO_TEXT.sub("", document.page.body))
    # The page has "raw HTML omitted" in its place.
    counts = Counter(word for word in words if word != "omitted")
    once = [word for word, count in counts.items() if count == 1 and text.count(word) == 1]
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

        yield from columns_of(table.index, len(table.columns), named["table"])


def columns_of(index: int, count: int, table: object) -> Iterator[Trial]:
    """A column that comes, goes, or changes its place."""
    first, *rest = range(count)
    named = {"table": table, "column": "1"}
    added = {"op": "add_table_column", "table": table, "column": WORD, "before": "1"}
    yield Trial(added, has_columns(index, [None, first, *rest]))
    if rest:
        yield Trial({"op": "delete_table_column", **named}, has_columns(index, rest))
        moved = {"op": "set_table_column", **named, "after": str(count)}
        yield Trial(moved, has_columns(index, [*rest, first]))


def has_columns(index: int, order: list[int | None]) -> Check:
    """The table with this index has the columns of `order`, None for the new word, and all else stays."""

    def check(old: str, new: str) -> bool:
        was, now = map(_table_rows, (old, new))
        new_cells = [f"<th>{WORD}</th>", *["<td></td>"] * len(was[index])]
        was[index] = [
            [added if column is None else row[column] for column in order]
            for row, added in zip(was[index], new_cells, strict=False)
        ]
        return was == now and _TABLE.sub("", old) == _TABLE.sub("", new)

    return check


_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)


def _table_rows(page: str) -> list[list[list[str]]]:
    """The cells of each table of `page`, by rows."""
    return [
        [re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL) for row in table.split("<tr>")[1:]]
        for table in _TABLE.findall(page)
    ]


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
            check = leaves_one_item if len(found.items) == 2 else removes("li")
            yield Trial({"op": "remove_list_item", **named, "item": item.text}, check)
        if item.text and item.mark is not None:
            is_done = item.mark in "xX"
            yield Trial({"op": "set_task", **named, "item": item.text, "done": not is_done}, checks_a_box)


def code_of(document: Document) -> Iterator[Trial]:
    for index in spread(range(len(document.outline.tree.fences)), MOST):
        yield Trial(
            {"op": "replace_code_block", "codeBlock": {"index": index}, "markdown": WORD}, has_new_code
        )


KINDS = (sections_of, siblings_of, files_and_lines_of, tables_of, lists_of, code_of)


@dataclass
class Outcomes:
    """The outcome of all trials: plans per operation, reasons of refusals, and faults."""

    planned: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    problems: list[str] = field(default_factory=list)

    def try_page(self, document: Document, trial: Trial) -> None:
        """Plan the edit of `trial`; its page must be right."""
        built = self._plan(document, trial.edit)
        if built and not trial.check(document.page.body, Page.of(built.result.source.data).body):
            self.problems.append(f"{document.name}: {trial.edit}: another page")

    def try_text(self, document: Document, trial: TextTrial) -> None:
        """Plan the edit of `trial`; its text must be right."""
        built = self._plan(Document(document.name, trial.base.encode()), trial.edit)
        if built and not trial.is_right(trial.base, built.result.source.text):
            self.problems.append(f"{document.name}: {trial.edit}: another text")

    def _plan(self, document: Document, edit: dict[str, object]) -> BuiltFile | None:
        built, op = document.plan(edit), str(edit["op"])
        if isinstance(built, BuiltFile):
            self.planned[op] += 1
            return built
        code = str(built[0].code)
        self.refused[f"{op} {code}"] += 1
        self.examples[f"{op} {code}"].append(f"{document.name}: {edit}: {built[0].message}")
        if code not in EXCUSED.get(op, {}):
            self.problems.append(f"{document.name}: {edit} is refused: {built[0]}")
        return None


def outcomes_of(documents: Iterable[Document]) -> Outcomes:
    found = Outcomes()
    for document in documents:
        for trial in (trial for kind in KINDS for trial in kind(document)):
            found.try_page(document, trial)
        for text_trial in text_trials(document, MOST):
            found.try_text(document, text_trial)
    return found


def test_operations_change_only_the_requested_text(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = files_of(corpus, first=7, step=40)
    found = outcomes_of(Document(path.name, path.read_bytes()) for path in files)
    if FULL:
        with capsys.disabled():
            print(dict(found.planned), dict(found.refused))  # noqa: T201
            for name, examples in found.examples.items():
                print(name, *spread(examples, 10), sep="\n  ")  # noqa: T201

    assert found.planned["append_to_section"]
    assert found.problems == []


SMALL = CASE_TABLES.value("SMALL")


def test_every_operation_has_a_corpus_check() -> None:
    found = outcomes_of([Document("small.md", SMALL.encode())])

    assert set(OPERATIONS) - set(found.planned) == set(ELSEWHERE)
    assert found.problems == []


@pytest.mark.parametrize("op", ELSEWHERE)
def test_operation_without_check_here_has_one_elsewhere(op: str) -> None:
    assert f'"{op}"' in (TESTS / ELSEWHERE[op]).read_text(encoding="utf-8")
