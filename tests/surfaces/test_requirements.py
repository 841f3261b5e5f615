"""Findings about the requirement documents: each one a call as its author would make it, and its answer."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.case_tables import CaseTables
from tests.surfaces.mcp_calls import Calls, Result
from tests.surfaces.tool_case import lay_out, served

CASE_TABLES = CaseTables(__file__)


LATIN = "# Bar\n\n## Menu\n\nOne café.\n\n## Next\n\nA crème.\n".encode("latin-1")
FILES = {"bar.md": LATIN}
BARE = r"A caf\xe9."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay_out(tmp_path, FILES)
    return tmp_path


@pytest.fixture
def calls(root: Path) -> Iterator[Calls]:
    with served(root, "text", "md", "editor", "files") as connected:
        yield connected


LINES = {"start": 5, "end": 5}

# Text that was shown with an escape, sent back by each way there is to write it.
SHOWN_TEXT = {
    "TextPatch": ("TextPatch", {"operation": "replace", "target": {"lines": LINES}, "content": BARE}),
    "TextPatch elsewhere": (
        "TextPatch",
        {"operation": "insert", "target": {"appendToSection": "## Next"}, "content": BARE},
    ),
    "TextReplace": ("TextReplace", {"oldText": "One", "newText": BARE}),
    "replace_lines": ("md_apply", {"op": "replace_lines", "lines": LINES, "markdown": BARE}),
    "replace_section": ("md_apply", {"op": "replace_section", "headingPath": ["Menu"], "markdown": BARE}),
    "append_to_section": ("md_apply", {"op": "append_to_section", "headingPath": ["Next"], "markdown": BARE}),
}


def request_of(calls: Calls, tool: str, fields: dict[str, Any]) -> dict[str, Any]:
    if tool != "md_apply":
        return {"filePath": "bar.md", **fields}
    base = calls.call("md_stat", {"file": "bar.md"}).data["baseSha256"]
    return {"file": "bar.md", "baseSha256": base, "edits": [fields]}


@pytest.mark.parametrize("way", SHOWN_TEXT)
def test_escaped_byte_is_not_written_literally(calls: Calls, root: Path, way: str) -> None:
    tool, fields = SHOWN_TEXT[way]
    request = request_of(calls, tool, fields)

    refused = calls.call(tool, request)

    assert refused.is_error
    assert "ENCODING_UNKNOWN" in refused.text
    assert r"\xe9" in refused.text.replace("\\\\", "\\")
    assert "`encoding`" in refused.text.replace('\\"', '"')
    assert (root / "bar.md").read_bytes() == LATIN
    # The hint works, and who means the four characters can have them.
    assert not calls.call(tool, {**request, "encoding": "latin-1"}).is_error
    assert BARE.encode() in (root / "bar.md").read_bytes()


@pytest.mark.parametrize(
    ("tool", "request_"),
    [
        ("TextRead", {"target": {"lines": LINES}}),
        ("TextRead", {"target": {"heading": {"text": "Menu"}}}),
        ("TextInspect", {"mode": "lines", "query": "5"}),
        ("TextInspect", {"mode": "search", "query": "caf"}),
        ("TextInspect", {"mode": "search", "query": "Menu", "context": 2}),
    ],
)
def test_answer_says_that_bytes_are_escaped(calls: Calls, tool: str, request_: dict[str, Any]) -> None:
    escaped = calls.call(tool, {"filePath": "bar.md", **request_}).data
    exact = calls.call(tool, {"filePath": "bar.md", "encoding": "latin-1", **request_}).data

    assert escaped["contentExact"] is False
    assert "encoding" in escaped["note"]
    assert r"\\xe9" in str(escaped)
    assert "contentExact" not in exact
    assert "café" in str(exact)


def test_escape_that_the_file_has_itself_may_stay(calls: Calls, root: Path) -> None:
    (root / "bar.md").write_bytes(b"Caf\xe9 is b'caf\\xe9'.\n")

    done = calls.call(
        "TextReplace", {"filePath": "bar.md", "oldText": r"is b'caf\xe9'", "newText": r"was b'caf\xe9'"}
    )

    assert not done.is_error, done.text
    assert (root / "bar.md").read_bytes() == b"Caf\xe9 was b'caf\\xe9'.\n"


def test_other_matches_are_named_by_their_lines_after_the_write(calls: Calls, root: Path) -> None:
    (root / "a.md").write_text("foo\n\nfoo\n\nfoo\n")
    request = {"filePath": "a.md", "oldText": "foo", "newText": "1\n2\n3\n4", "occurrence": 2}

    done = calls.call("TextReplace", request).data

    assert done["note"].startswith("2 other occurrences found at lines 1, 8")
    assert (root / "a.md").read_text().splitlines()[7] == "foo"


def test_text_read_reports_a_range_beyond_the_file(calls: Calls) -> None:
    def note(end: int) -> str | None:
        request = {"filePath": "bar.md", "encoding": "latin-1", "target": {"lines": {"start": 8, "end": end}}}
        return calls.call("TextRead", request).data.get("note")

    assert note(99) == "The file ends at line 9"
    assert note(9) is None


@pytest.mark.parametrize(
    ("lines", "hint"), [((4, 99), True), ((50, 60), True), ((4, 9), False), ((4, None), False)]
)
def test_editor_reports_a_range_beyond_the_file(
    calls: Calls, lines: tuple[int, int | None], hint: bool
) -> None:
    ranges = [{"start": lines[0], "end": lines[1]}]
    request = {"files": [{"file_path": "bar.md", "ranges": ranges, "encoding": "latin-1"}]}

    (found,) = calls.call("get_text_file_contents", request).data["bar.md"]["ranges"]

    assert found.get("hint") == ("The file has 9 lines" if hint else None)


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("TextPatch", {"operation": "delete", "target": {"lines": LINES}}),
        ("TextReplace", {"oldText": "One", "newText": "Two"}),
    ],
)
def test_backup_keeps_the_old_file(calls: Calls, root: Path, tool: str, fields: dict[str, Any]) -> None:
    done = calls.call(tool, {"filePath": "bar.md", "backup": True, **fields})

    assert not done.is_error, done.text
    assert (root / "bar.md.bak").read_bytes() == LATIN
    assert (root / "bar.md").read_bytes() != LATIN


def test_file_beyond_the_output_limit_is_reported(calls: Calls, root: Path) -> None:
    (root / "long.txt").write_text("word " * 20_000)
    (root / "short.txt").write_text("short\n")

    read = calls.call("read_files", {"files": [{"path": "long.txt"}, {"path": "short.txt"}]})

    assert not read.is_error
    first, second = read.data["results"]
    assert first["content"]
    assert second["problem"]["code"] == "BATCH_TOO_LARGE"
    assert "content" not in second
    assert "Error: BATCH_TOO_LARGE: the files before `short.txt` fill the answer" in read.text


NULLS = {
    "04": (
        "get_text_file_contents",
        {"files": [{"file_path": "n.md", "ranges": [{"start": 1, "end": None}]}]},
    ),
    "03": (
        "read_files",
        {
            "files": [
                {
                    "path": "n.md",
                    "head": None,
                    "tail": None,
                    "start_line": 1,
                    "end_line": None,
                    "read_to_next_pattern": None,
                }
            ]
        },
    ),
    "02": ("TextReplace", {"filePath": "n.md", "oldText": "b", "newText": "c", "expectedHash": None}),
}


@pytest.mark.parametrize("document", NULLS)
def test_null_of_a_document_passes_the_published_schema(calls: Calls, root: Path, document: str) -> None:
    (root / "n.md").write_text("a b\n")
    tool, request = NULLS[document]
    published = next(each for each in calls.tools() if each["name"] == tool)["inputSchema"]

    Draft202012Validator(published).validate(request)
    assert not calls.call(tool, request).is_error


@CASE_TABLES.parametrize("target")
def test_hints_name_only_available_tools(root: Path, target: dict[str, str]) -> None:
    request = {"filePath": "bar.md", "operation": "replace", "target": target, "content": "x"}
    with served(root, "text") as calls:
        refused = calls.call("TextPatch", request)

    assert refused.is_error
    assert "md_" not in refused.text
    assert "TextRe" in refused.text


def test_one_edit_of_many_files_is_in_the_published_schema(calls: Calls, root: Path) -> None:
    (root / "g1.md").write_text("foo\n")
    (root / "g2.md").write_text("foo\n")
    edit = {"op": "replace_match", "pattern": "foo", "replacement": "bar", "expectedMatchCount": 1}
    request = {"files": [{"glob": "g*.md", "edits": [edit]}]}
    published = next(each for each in calls.tools() if each["name"] == "md_apply")["inputSchema"]

    Draft202012Validator(published).validate(request)
    as_file = calls.call("md_apply", {"file": "g*.md", "edits": [edit]})
    done = calls.call("md_apply", request)

    assert as_file.is_error
    assert '"files": "g*.md"' in as_file.text
    assert not done.is_error, done.text
    assert [(root / name).read_text() for name in ("g1.md", "g2.md")] == ["bar\n", "bar\n"]


# --- The calls that the requirement documents show, word for word, held against the published input
# schemas.
#
# Only folders of paths differ: the documents write `/docs`, `/config`, `/home/user` or
# `/absolute/path/to` for
# the folder that the server has.

FOLDERS = ("/docs/", "/config/", "/home/user/", "/absolute/path/to/")


def numbered(count: int, lines: dict[int, str]) -> str:
    return "".join(lines.get(number, f"line {number}") + "\n" for number in range(1, count + 1))


README = (
    numbered(
        80,
        {
            4: "v1.0.0, a TODO: teh quick fox, another TODO",
            15: "## Installation",
            20: "### Quick Start",
            30: "## Old",
            34: "## Intro",
            45: "## Implementation",
            52: "## Next",
            58: "DATABASE_URL is the config",
            60: '<a id="config-options"></a>',
            66: "## Section Name",
        },
    )
    + "\n```sh\nzero\n```\n\n```sh\none\n```\n\n```sh\ntwo\n```\n"
    + "\nOld paragraph\ntext here\n\n## Contributing\n\nEnd.\n"
)

EXAMPLE_FILES = {
    "README.md": README,
    "app.conf": "[server]\nhost = a\n\n[database]\nhost = b\n\n[cache]\nsize = 1\n",
    "guide.md": "# Guide\n\nYou recieve it.\n",
    "WORK.md": numbered(210, {31: "## 2. Key Events Index", 120: "[LOG-015] - [DECISION]", 145: "[LOG-016]"}),
    "CONTEXT.md": numbered(200, {7: "## Phase Boundary", 23: "## Next", 189: "## Deferred Ideas"}),
    "file.txt": numbered(50, {}),
    "config.py": numbered(14, {}) + 'def old_function():\n    return "old"\n',
    "app.py": numbered(9, {}) + "debug = False\n",
    "log.txt": "Started\nPrevious log entry here",
    "functions.py": numbered(24, {}) + "# End of existing functions\n",
    "old_code.py": numbered(49, {})
    + "def deprecated_function():\n    # This function is no longer used\n    pass\n",
}

# Each has its document and section, and a text that is in the answer; for a write, in the file after it.
EXAMPLES = json.loads(Path(__file__).with_name("requirement_examples.json").read_text(encoding="utf-8"))


def examples(group: str) -> pytest.MarkDecorator:
    """Run a test for each example of a group."""
    return pytest.mark.parametrize("case", EXAMPLES[group], ids=lambda case: case["example"])


@pytest.fixture
def example_calls(tmp_path: Path) -> Iterator[Calls]:
    lay_out(tmp_path, {name: text.encode() for name, text in EXAMPLE_FILES.items()})
    with served(tmp_path, "md", "text", "files", "editor") as connected:
        yield connected


def validate(example_calls: Calls, tool: str, arguments: dict[str, Any]) -> None:
    (published,) = (each["inputSchema"] for each in example_calls.tools() if each["name"] == tool)
    Draft202012Validator(published).validate(arguments)


def shown(example_calls: Calls, case: dict[str, Any]) -> Result:
    """The answer to a call as a document shows it, which the client checks before it is sent."""
    text = json.dumps(case["arguments"])
    for folder in FOLDERS:
        text = text.replace(f'"{folder}', '"')
    arguments = json.loads(text)
    if case["tool"].startswith("Text"):
        arguments.setdefault("filePath", "README.md")
    validate(example_calls, case["tool"], arguments)
    return example_calls.call(case["tool"], arguments)


@examples("reads")
def test_reading_example_gives_its_result(example_calls: Calls, case: dict[str, Any]) -> None:
    result = shown(example_calls, case)

    assert not result.is_error, result.text
    assert case["answer"] in json.dumps(result.data)


@examples("writes")
def test_writing_example_gives_its_result(example_calls: Calls, tmp_path: Path, case: dict[str, Any]) -> None:
    result = shown(example_calls, case)

    assert result.data["status"] == "success", result.text
    assert case["answer"] in (tmp_path / "README.md").read_text()


@examples("removed")
def test_removed_fields_of_document_02_name_their_successor(
    example_calls: Calls, tmp_path: Path, case: dict[str, Any]
) -> None:
    result = example_calls.call("TextPatch", {"filePath": "README.md", **case["arguments"]})

    assert result.is_error
    assert case["answer"] in result.text
    assert (tmp_path / "README.md").read_text() == README


@examples("files")
def test_read_files_example_gives_its_result(example_calls: Calls, case: dict[str, Any]) -> None:
    assert case["answer"] in shown(example_calls, case).text


@pytest.mark.requirement("toolset-editor-2", "toolset-editor-7")
@examples("editor")
def test_editor_example_gives_its_result(example_calls: Calls, tmp_path: Path, case: dict[str, Any]) -> None:
    result = shown(example_calls, case)

    assert not result.is_error, result.text
    file, text = case["file"], case["answer"]
    if case["tool"].startswith("get"):
        assert text in "".join(each["content"] for each in result.data[file]["ranges"])
    else:
        assert result.data in ({"result": "ok"}, {file: {"result": "ok"}})
        assert (tmp_path / file).read_text().endswith(text)


@examples("edits")
def test_edit_of_document_05_passes_the_published_schema(example_calls: Calls, case: dict[str, Any]) -> None:
    validate(example_calls, "md_apply", {"file": "README.md", "edits": [case["edit"]]})
