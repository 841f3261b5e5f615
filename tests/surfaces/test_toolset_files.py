"""The toolset `files` through a client: requirement 03."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.case_tables import CaseTables
from tests.surfaces.mcp_calls import Calls, calls_to, process
from tests.surfaces.tool_case import cases_of, check_case, lay_out, served

CASE_TABLES = CaseTables(__file__)


def numbered(count: int, starts: dict[int, str]) -> str:
    """Return a text of `count` lines, some with their numbers."""
    return "".join(starts.get(number, f"line {number}") + "\n" for number in range(1, count + 1))


# As the examples of the requirement have them.
WORK = numbered(
    210,
    {
        1: "## 1. Current understanding",
        31: "## 2. Key Events Index",
        100: "[LOG-014] - [NOTE]",
        120: "[LOG-015] - [2026-01-27 10:00] - [DECISION] - Task: MODEL-A",
        145: "[LOG-016] - [NOTE]",
        170: "[LOG-017] - [NOTE]",
        200: "[LOG-018] - [NOTE]",
    },
)
CONTEXT = numbered(
    200, {1: "# Context", 7: "## Phase Boundary", 15: "### Within", 23: "## Next", 189: "## Deferred Ideas"}
)
README = numbered(40, {1: "# Readme", 9: "", 13: "", 20: "## Use"})


@pytest.mark.parametrize("case", cases_of("files"))
def test_response_matches_its_case(case: str, tmp_path: Path) -> None:
    check_case("files", case, tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    texts = {"WORK.md": WORK, "CONTEXT.md": CONTEXT, "README.md": README}
    lay_out(tmp_path, {name: text.encode() for name, text in texts.items()})
    return tmp_path


@pytest.fixture
def calls(root: Path) -> Iterator[Calls]:
    with served(root, "files") as connected:
        yield connected


def lines_of(text: str, first: int, last: int) -> str:
    return "\n".join(text.split("\n")[first - 1 : last])


def read(calls: Calls, path: str, **fields: object) -> tuple[int, int]:
    """Read lines, compare them with the file, and return the first and the last one."""
    answer = calls.call("read_files", {"files": [{"path": path, **fields}]})
    assert not answer.is_error, answer.text
    header, content = answer.text.removesuffix("\n---").split("\n---\n", 1)
    found = re.fullmatch(rf"File: {re.escape(path)}, Lines: (\d+)-(\d+) of \d+", header)
    assert found is not None, header
    first, last = int(found[1]), int(found[2])
    text = {"WORK.md": WORK, "CONTEXT.md": CONTEXT, "README.md": README}[path]
    assert content == lines_of(text, first, last)
    return first, last


@pytest.mark.requirement("toolset-files-1")
@CASE_TABLES.parametrize("path", "start", "pattern", "lines", tuples=True)
def test_section_is_read_up_to_the_next_match(
    calls: Calls, path: str, start: int, pattern: str, lines: tuple[int, int]
) -> None:
    assert read(calls, path, start_line=start, read_to_next_pattern=pattern) == lines


@pytest.mark.requirement("toolset-files-2")
@CASE_TABLES.parametrize("fields", "message")
def test_fields_incompatible_with_a_pattern_are_refused(
    calls: Calls, fields: dict[str, Any], message: str
) -> None:
    request = {"path": "WORK.md", "read_to_next_pattern": "^## ", **fields}
    refused = calls.call("read_files", {"files": [request]})

    assert refused.is_error
    assert message in refused.text


@pytest.mark.requirement("toolset-files-7")
def test_search_then_read_takes_two_calls(calls: Calls) -> None:
    found = calls.call("grep_content", {"pattern": r"\[DECISION\]", "search_path": "WORK.md"})
    line = int(re.search(r"Line: (\d+)", found.text)[1])

    assert found.text == (
        "File: WORK.md, Line: 120, Section-End-Hint: 144 (next: ^\\[LOG-)\n---\n"
        "[LOG-015] - [2026-01-27 10:00] - [DECISION] - Task: MODEL-A\n---"
    )
    assert read(calls, "WORK.md", start_line=line, read_to_next_pattern=r"^\[LOG-") == (120, 144)
    assert read(calls, "WORK.md", start_line=line, end_line=144) == (120, 144)


@pytest.mark.requirement("toolset-files-6")
def test_hint_uses_the_first_pattern_that_matches_later(calls: Calls) -> None:
    within = calls.call("grep_content", {"pattern": "^### Within", "search_path": "CONTEXT.md"})
    last = calls.call("grep_content", {"pattern": "^## Deferred", "search_path": "CONTEXT.md"})

    assert "Section-End-Hint: 22 (next: ^## )" in within.text
    assert "Section-End-Hint" not in last.text


@pytest.mark.requirement("toolset-files-8")
def test_read_without_a_pattern_falls_back_to_lines(calls: Calls) -> None:
    assert read(calls, "WORK.md", start_line=120, end_line=170) == (120, 170)
    assert read(calls, "WORK.md", start_line=120) == (120, 210)
    assert read(calls, "WORK.md", head=3) == (1, 3)
    assert read(calls, "WORK.md", tail=3) == (208, 210)


@pytest.mark.requirement("toolset-files-5")
@pytest.mark.parametrize("name", ["data.json", "data.YAML", "data.yml"])
def test_large_data_file_is_not_read_whole_unless_asked(calls: Calls, root: Path, name: str) -> None:
    (root / name).write_text("# 1234567\n" * 10_001)
    refused = calls.call("read_files", {"files": [{"path": name}]})
    whole = calls.call("read_files", {"files": [{"path": name}], "large_file_passthrough": True})
    part = calls.call("read_files", {"files": [{"path": name, "head": 2}]})

    assert refused.is_error
    assert '"large_file_passthrough": true' in refused.text
    assert whole.text.startswith(f"File: {name}, Lines: 1-")
    assert part.text == f"File: {name}, Lines: 1-2 of 10001\n---\n# 1234567\n# 1234567\n---"


def test_long_file_is_cut_with_a_cursor(calls: Calls, root: Path) -> None:
    (root / "long.md").write_text("word " * 10 + "\n" + ("word " * 10 + "\n") * 2_000)
    answer = calls.call("read_files", {"files": [{"path": "long.md"}]})
    cursor = re.search(r"read on with cursor (\S+)\)", answer.text)[1]
    more = calls.call("read_files", {"files": [{"path": "long.md"}], "cursor": cursor})
    end = answer.data["results"][0]["endLine"]

    assert len(answer.text) < 51_000
    assert f"Lines: 1-{end} of 2001\n" in answer.text
    assert f"Lines: {end + 1}-" in more.text


def test_too_long_line_is_cut_within_the_line(calls: Calls, root: Path) -> None:
    (root / "one.txt").write_text("x" * 60_000)

    assert "cut inside line 1" in calls.call("read_files", {"files": [{"path": "one.txt"}]}).text


@pytest.mark.requirement("toolset-files-7")
def test_descriptions_lead_from_grep_to_read(calls: Calls) -> None:
    described = {tool["name"]: tool["description"] for tool in calls.tools()}

    assert "grep -> read" in described["read_files"]
    assert "grep -> read" in described["grep_content"]
    for pattern in ("^#+ ", "^## ", "^\\[LOG-", "</section>", "^$"):
        assert json.dumps(pattern) in described["read_files"]


@pytest.mark.requirement("toolsets-4")
def test_common_misspellings_of_fields_are_accepted(calls: Calls) -> None:
    as_text = calls.call("read_files", {"files": '[{"file_path": "WORK.md", "startLine": 1, "endLine": 1}]'})
    one = calls.call("grep_content", {"pattern": "Task", "path": "WORK.md", "section_patterns": "^## "})

    assert "Lines: 1-1 of 210" in as_text.text
    assert "Line: 120" in one.text


@pytest.mark.requirement("toolsets-2")
def test_read_only_files_toolset_has_both_tools(root: Path) -> None:
    options = ("--root", str(root), "--toolsets", "files", "--read-only", "--deny", "CONTEXT*")
    with calls_to(process(*options), "auto") as calls:
        names = [tool["name"] for tool in calls.tools()]
        denied = calls.call("read_files", {"files": [{"path": "CONTEXT.md"}]})
        found = calls.call("grep_content", {"pattern": "^## "})

    assert names == ["read_files", "grep_content"]
    assert "CONTEXT*" in denied.text
    assert "WORK.md" in found.text
    assert "CONTEXT.md" not in found.text
