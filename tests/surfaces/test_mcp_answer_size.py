"""Answers are short: each fact once, in data as in text."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from mdplan.mcp.server import build_server
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from tests.conftest import FULL
from tests.surfaces.mcp_calls import Calls, Result, calls_to, compact

MOST_OF_17_EDITS = 6_000
MOST_OF_A_CELL = 1_200
MOST_OF_290_SECTIONS = 12_500
RATIO, BESIDE = 1.3, 200
CALLS = 200 if FULL else 60
WORDS = (
    "kettle",
    "water",
    "boils",
    "before",
    "the",
    "tea",
    "is",
    "poured",
    "and",
    "steeped",
    "for",
    "minutes",
)


def prose(number: int, length: int = 90) -> str:
    """A line of words, another one for each number."""
    words = random.Random(number).choices(WORDS, k=length)
    return " ".join(words)[:length].rstrip()


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    engine = Engine.open([tmp_path], settings=Settings(durability=Durability.PROCESS))
    with calls_to(build_server(engine), "legacy") as connected:
        yield connected


def length(result: Result) -> int:
    """Characters of the longer of the two forms."""
    assert not result.is_error, result.text
    return max(len(compact(result.data)), len(result.text))


def test_answer_to_seventeen_edits_is_short(calls: Calls, tmp_path: Path) -> None:
    files = []
    for number in range(17):
        name = f"docs/guide/chapter-{number:02}-of-the-guide.md"
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [prose(100 * number + line) for line in range(20)]
        path.write_text("# Guide\n\n" + "\n\n".join(lines) + "\n")
        edit = {"op": "replace_match", "pattern": lines[9], "replacement": prose(9_000 + number)}
        files.append({"file": name, "edits": [edit]})

    applied = calls.call("md_apply", {"files": files})

    assert length(applied) <= MOST_OF_17_EDITS
    assert all(entry["file"].rpartition("/")[2] in compact(applied.data) for entry in files)


def test_answer_to_an_edited_table_cell_is_short(calls: Calls, tmp_path: Path) -> None:
    rows = [f"| key-{number} | {prose(number, 380)} | old |" for number in range(12)]
    (tmp_path / "wide.md").write_text(
        "\n".join(["# Wide", "", "| Key | Text | State |", "|---|---|---|", *rows, ""])
    )
    edit = {"op": "upsert_table_row", "keyColumn": "Key", "key": "key-5", "row": {"State": "new"}}
    calls.call("md_read", {"file": "wide.md", "lines": {"start": 1, "end": 4}})

    applied = calls.call("md_apply", {"file": "wide.md", "edits": [edit]})

    assert length(applied) <= MOST_OF_A_CELL
    assert "new |" in applied.data["diff"]
    assert applied.data["diffExact"] is False
    assert calls.read(f"mdplan://plans/{applied.data['planId']}/diff").text.count(rows[5]) == 1


@pytest.mark.parametrize("words", [1, 2, 4])
def test_outline_of_a_long_guide_is_short_and_whole(calls: Calls, tmp_path: Path, words: int) -> None:
    chosen = random.Random(words)
    titles = [f"{' '.join(chosen.choices(WORDS, k=words)).title()} {number}" for number in range(290)]
    parts = [
        f"{'##' if number % 5 else '#'} {title}\n\n{prose(number, 144 - len(title))}\n"
        for number, title in enumerate(titles)
    ]
    (tmp_path / "guide.md").write_text("\n".join(parts))
    assert 40_000 < (tmp_path / "guide.md").stat().st_size < 44_000

    stat = calls.call("md_stat", {"file": "guide.md"})

    assert length(stat) <= MOST_OF_290_SECTIONS
    assert len(stat.data["outline"].split("\n")) == 290
    assert all(f" {title}\n" in stat.data["outline"] + "\n" for title in titles)
    assert "nextCursor" not in stat.data


def test_outline_row_names_its_section_by_heading_or_id(calls: Calls, tmp_path: Path) -> None:
    odd = ("`a` and *b*", "A / B", "[1.2.0] - 2020", "C#", '["json"]', "deadbeef", "a\\_b", "&amp;", "Ü {#x}")
    titles = [*odd, "Twice", "Twice", *(f"Part {number}" for number in range(40))]
    (tmp_path / "odd.md").write_text("\n".join(f"## {title}\n\nText.\n" for title in titles))

    rows = calls.call("md_stat", {"file": "odd.md"}).data["outline"].split("\n")

    assert len(rows) == len(titles)
    for row in rows:
        line, heading = row.split(" ## ")
        section_id = heading.removeprefix("Twice ") if heading.startswith("Twice ") else None
        place = {"sectionId": section_id} if section_id else {"heading": heading}
        found = calls.call("md_read", {"file": "odd.md", **place})
        assert not found.is_error, (row, found.text)
        assert found.data["results"][0]["startLine"] == int(line)


def test_full_answer_has_every_field(calls: Calls, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\none two\n")
    request = {"file": "a.md", "edits": [{"op": "replace_match", "pattern": "one", "replacement": "1"}]}

    full = calls.call("md_apply", {**request, "verbosity": "full"}).data

    assert len(full["planId"]) == len("sha256-") + 64
    assert full["receipt"]["files"] == full["files"]
    assert full["written"][0]["context"][0]["text"] == "# A\n\n1 two\n"
    assert full["editResults"][0]["matches"][0]["text"] == "one"


def requests(root: Path, seed: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls as an agent makes them, on all documents below `root`, right ones and wrong ones."""
    for number, path in enumerate(sorted(root.glob("*.md"))):
        text = path.read_text()
        words = [word for word in text.split() if word.isalpha() and len(word) > 4]
        word, other = seed.choice(words), seed.choice(words)
        edit = {"op": "replace_match", "pattern": word, "replacement": "changed", "matchSelection": "all"}
        file = path.name
        yield "md_stat", {"file": file}
        yield "md_stat", {"file": file, "detail": "brief"}
        yield "md_read", {"file": file, "lines": {"start": 1, "end": 40}}
        yield "md_search", {"pattern": word, "file": file, "limit": 20}
        yield "md_search", {"pattern": other, "limit": 20}
        yield "md_search", {"pattern": other, "filesOnly": True}
        yield "md_validate", {"file": file, "edits": [edit]}
        yield "md_apply", {"file": file, "edits": [edit]}
        yield "md_apply", {"file": file, "edits": [{"op": "delete_section", "heading": f"Missing {number}"}]}
        yield "md_history", {"file": file}


def test_structured_content_repeats_only_the_text(calls: Calls, tmp_path: Path) -> None:
    for number in range(CALLS // 10):
        sections = (
            f"## Part {part} of {number}\n\n"
            + "\n".join(prose(number * 99 + part * 9 + line) for line in range(9))
            for part in range(3 * number + 2)
        )
        (tmp_path / f"document-{number}.md").write_text("# Document\n\n" + "\n\n".join(sections) + "\n")

    made = 0
    for tool, arguments in requests(tmp_path, random.Random(7)):
        result = calls.call(tool, arguments)
        made += 1
        has_objects = tool == "md_stat" and "sections" in (result.data or {})
        if not has_objects:
            assert len(compact(result.data)) <= RATIO * len(result.text) + BESIDE, (tool, arguments, result)
    assert made == CALLS
