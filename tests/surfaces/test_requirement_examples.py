"""The calls that the requirement documents show, word for word, held against the published input schemas.

Only folders of paths differ: the documents write `/docs`, `/config`, `/home/user` or `/absolute/path/to` for
the folder that the server has.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.surfaces.mcp_calls import Calls, Result
from tests.surfaces.tool_case import lay_out, served

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
FILES = {
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
def calls(tmp_path: Path) -> Iterator[Calls]:
    lay_out(tmp_path, {name: text.encode() for name, text in FILES.items()})
    with served(tmp_path, "md", "text", "files", "editor") as connected:
        yield connected


def validate(calls: Calls, tool: str, arguments: dict[str, Any]) -> None:
    (published,) = (each["inputSchema"] for each in calls.tools() if each["name"] == tool)
    Draft202012Validator(published).validate(arguments)


def shown(calls: Calls, case: dict[str, Any]) -> Result:
    """The answer to a call as a document shows it, which the client checks before it is sent."""
    text = json.dumps(case["arguments"])
    for folder in FOLDERS:
        text = text.replace(f'"{folder}', '"')
    arguments = json.loads(text)
    if case["tool"].startswith("Text"):
        arguments.setdefault("filePath", "README.md")
    validate(calls, case["tool"], arguments)
    return calls.call(case["tool"], arguments)


@examples("reads")
def test_reading_example_gives_its_result(calls: Calls, case: dict[str, Any]) -> None:
    result = shown(calls, case)

    assert not result.is_error, result.text
    assert case["answer"] in json.dumps(result.data)


@examples("writes")
def test_writing_example_gives_its_result(calls: Calls, tmp_path: Path, case: dict[str, Any]) -> None:
    result = shown(calls, case)

    assert result.data["status"] == "success", result.text
    assert case["answer"] in (tmp_path / "README.md").read_text()


@examples("removed")
def test_removed_fields_of_document_02_name_their_successor(
    calls: Calls, tmp_path: Path, case: dict[str, Any]
) -> None:
    result = calls.call("TextPatch", {"filePath": "README.md", **case["arguments"]})

    assert result.is_error
    assert case["answer"] in result.text
    assert (tmp_path / "README.md").read_text() == README


@examples("files")
def test_read_files_example_gives_its_result(calls: Calls, case: dict[str, Any]) -> None:
    assert case["answer"] in shown(calls, case).text


@pytest.mark.requirement("toolset-editor-2", "toolset-editor-7")
@examples("editor")
def test_editor_example_gives_its_result(calls: Calls, tmp_path: Path, case: dict[str, Any]) -> None:
    result = shown(calls, case)

    assert not result.is_error, result.text
    file, text = case["file"], case["answer"]
    if case["tool"].startswith("get"):
        assert text in "".join(each["content"] for each in result.data[file]["ranges"])
    else:
        assert result.data in ({"result": "ok"}, {file: {"result": "ok"}})
        assert (tmp_path / file).read_text().endswith(text)


@examples("edits")
def test_edit_of_document_05_passes_the_published_schema(calls: Calls, case: dict[str, Any]) -> None:
    validate(calls, "md_apply", {"file": "README.md", "edits": [case["edit"]]})
