"""mdplan agrees with another parser on all real documents, and on nearly all hostile ones."""

from pathlib import Path

import pytest

from tests.conftest import FULL
from tests.corpus.variants import documents, examples_in
from tests.support.case_tables import CaseTables
from tests.support.oracles import Verdict, compare
from tests.support.parser_comparison import NOT_COMPARED, classes, count_classes, hostile_texts

CASE_TABLES = CaseTables(__file__)


# Every n-th file, so that the sample has all kinds of documents and takes seconds.
STEP = 1 if FULL else 24
# cmark-gfm gives a heading behind a definition the line of the definition (example 215); markdown-it-py reads
# no bare URL behind `<`; and a mail address behind a backslash is undecided.
EXAMPLES = {
    ("blocks", Verdict.CMARK, "heading"): 1,
    ("inline nodes", Verdict.MARKDOWN_IT, "link"): 1,
    ("inline nodes", NOT_COMPARED, ""): 1,
}
ALONE = {Verdict.MDPLAN, Verdict.NONE}


def test_mdplan_never_differs_from_both_parsers_on_real_documents(corpus: Path) -> None:
    found = {name: compare(text) for name, text in documents(corpus)[::STEP]}

    assert [name for name, each in found.items() if each.headings.verdict is not Verdict.AGREED] == []
    assert [
        name for name, each in found.items() if ALONE & {verdict for _, verdict, _ in classes(each)}
    ] == []


@CASE_TABLES.parametrize("text")
def test_mdplan_reads_the_extensions_of_github_as_cmark_gfm_does(text: str) -> None:
    found = compare(text)

    # markdown-it-py reads some bare URLs otherwise.
    assert found.inline is not None
    assert {found.blocks.verdict, found.inline.verdict} <= {Verdict.AGREED, Verdict.MARKDOWN_IT}


def test_examples_of_the_specification_differ_in_known_classes(corpus: Path) -> None:
    assert count_classes(examples_in(corpus)) == EXAMPLES


def test_mdplan_differs_from_both_parsers_in_few_hostile_documents() -> None:
    found = count_classes(hostile_texts(1_000))

    assert sum(count for (_, verdict, _), count in found.items() if verdict in ALONE) <= 10


@pytest.mark.slow
def test_mdplan_differs_from_both_parsers_in_few_of_20_000_hostile_documents() -> None:
    found = count_classes(hostile_texts(20_000))

    assert sum(count for (_, verdict, _), count in found.items() if verdict is Verdict.MDPLAN) <= 60
