"""Inline nodes of real documents agree with the parser, and hardly any is undecided."""

from pathlib import Path

import pytest

from tests.conftest import FULL
from tests.inline_oracle import all_nodes, disagreements

# Every so many files, so that the sample has all kinds of documents and takes seconds.
STEP = 1 if FULL else 12
MAX_UNDECIDED = 1 / 1000


@pytest.mark.requirement("inline-1")
def test_nodes_of_real_documents_agree_with_the_parser(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    n_nodes = n_undecided = 0
    differing: dict[str, object] = {}
    files = sorted(corpus.rglob("*.md"))[::STEP]

    for path in files:
        text = path.read_bytes().decode("utf-8", "surrogateescape").removeprefix("\ufeff")
        nodes, undecided = all_nodes(text)
        n_nodes += len(nodes)
        n_undecided += len(undecided)
        if not undecided and (different := disagreements(text, nodes)):
            differing[str(path.relative_to(corpus))] = different[0]

    with capsys.disabled():
        print(f"\n{len(files)} documents, {n_nodes} inline nodes, {n_undecided} undecided")  # noqa: T201
    assert n_nodes > len(files)
    assert differing == {}
    assert n_undecided <= n_nodes * MAX_UNDECIDED
