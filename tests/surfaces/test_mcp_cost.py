"""Token cost of a small edit of a large document, at four characters a token."""

from pathlib import Path

import pytest

from mdplan.engine.engine import Engine
from mdplan.mcp.answers import MOST_CHARACTERS
from mdplan.mcp.server import build_server
from tests.surfaces.mcp_calls import calls_to, compact

CHARACTERS_PER_TOKEN = 4
SECTIONS = 300


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    """A document of 200 KB with 300 sections and one more for its title."""
    filler = "This text has the length that paragraphs have in a manual of that size. " * 9
    parts = [
        f"## Section {number}\n\n{filler}\n\nThe limit of part {number} is {number} units.\n"
        for number in range(SECTIONS)
    ]
    path = tmp_path / "manual.md"
    path.write_text("# Manual\n\n" + "\n".join(parts))
    assert path.stat().st_size > 200_000
    return path


def test_changing_one_sentence_costs_few_tokens(manual: Path) -> None:
    with calls_to(build_server(Engine.open([manual.parent])), "auto") as calls:
        found = calls.call("md_search", {"pattern": "limit of part 137", "file": "manual.md"})
        assert found.data is not None
        section = found.data["files"][0]["hits"].split("\n")[0].split()[-1]
        edit = {
            "op": "replace_match",
            "sectionId": section,
            "pattern": "is 137 units",
            "replacement": "is 138 units",
            "expectedMatchCount": 1,
        }
        written = calls.call("md_apply", {"file": "manual.md", "edits": [edit]})

    assert not written.is_error, written.text
    assert "The limit of part 137 is 138 units." in manual.read_text()
    for answers in ([found.text, written.text], [compact(found.data), compact(written.data)]):
        assert sum(map(len, answers)) / CHARACTERS_PER_TOKEN <= 1_500


def test_brief_structure_of_a_large_document_costs_few_tokens(manual: Path) -> None:
    with calls_to(build_server(Engine.open([manual.parent])), "auto") as calls:
        stat = calls.call("md_stat", {"file": "manual.md", "detail": "brief"})

    assert stat.text.count(" ## Section ") == SECTIONS
    assert len(stat.text) / CHARACTERS_PER_TOKEN <= 3_000


def test_large_outline_is_paged_within_client_limits(manual: Path) -> None:
    with calls_to(build_server(Engine.open([manual.parent])), "auto") as calls:
        request: dict[str, object] = {"file": "manual.md", "detail": "full", "limit": 1_000}
        pages = [calls.call("md_stat", request)]
        while pages[-1].data is not None and "nextCursor" in pages[-1].data:
            pages.append(calls.call("md_stat", request | {"cursor": pages[-1].data["nextCursor"]}))

    assert len(pages) > 1
    assert all(len(compact(page.data)) <= MOST_CHARACTERS for page in pages)
    assert sum(len(page.data["sections"]) for page in pages if page.data) == SECTIONS + 1
