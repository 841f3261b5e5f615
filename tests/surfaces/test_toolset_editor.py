"""The toolset `editor` through a client: requirement 04."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from mdplan.engine.engine import Engine
from mdplan.text.source import Source
from tests.support.case_tables import CaseTables
from tests.support.servers import build_server
from tests.surfaces.awkward_files import AWKWARD, NEW, TARGET, AwkwardFile
from tests.surfaces.mcp_calls import Calls, calls_to, process
from tests.surfaces.tool_case import cases_of, check_case, lay_out, served, tree_of

CASE_TABLES = CaseTables(__file__)


NOT_APPLIED = "Nothing was applied, because another file of this call failed"
TOOLS = CASE_TABLES.value("TOOLS")


@pytest.mark.requirement("toolsets-1")
@pytest.mark.parametrize("case", cases_of("editor"))
def test_response_matches_its_case(case: str, tmp_path: Path) -> None:
    check_case("editor", case, tmp_path)


# The usage examples of the requirement, on files that they fit.
APP = "".join(f"line {number}\n" for number in range(1, 10)) + "debug = False\n"
CONFIG = "".join(f"line {number}\n" for number in range(1, 15)) + 'def old_function():\n    return "old"\n'
LOG = "Started\nPrevious log entry here"
FUNCTIONS = "".join(f"line {number}\n" for number in range(1, 25)) + "# End of existing functions\n"
OLD = (
    "".join(f"line {number}\n" for number in range(1, 50))
    + "def deprecated_function():\n    # This function is no longer used\n    pass\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    texts = {"app.py": APP, "config.py": CONFIG, "log.txt": LOG, "functions.py": FUNCTIONS, "old.py": OLD}
    lay_out(tmp_path, {name: text.encode() for name, text in texts.items()})
    return tmp_path


@pytest.fixture
def calls(root: Path) -> Iterator[Calls]:
    with served(root, "editor") as connected:
        yield connected


def patched(path: str, old: str, new: str, *ranges: tuple[int, int]) -> dict[str, Any]:
    lines = [{"start": start, "end": end} for start, end in ranges]
    return {"file_path": path, "patches": [{"old_string": old, "new_string": new, "ranges": lines}]}


@pytest.mark.requirement("toolset-editor-1")
def test_whole_file_is_read_by_its_absolute_path(calls: Calls, root: Path) -> None:
    path = str(root / "config.py")
    request = {"file_path": path, "ranges": [{"start": 1, "end": None}]}

    assert calls.call("get_text_file_contents", {"files": [request]}).data == {
        path: {
            "ranges": [
                {"content": CONFIG, "start": 1, "end": 16, "total_lines": 16, "content_size": len(CONFIG)}
            ]
        }
    }


@pytest.mark.requirement("toolset-editor-5")
def test_files_change_together_or_not_at_all(calls: Calls, root: Path) -> None:
    before = tree_of(root)
    files = [
        patched("app.py", "debug = False", "debug = True", (10, 10)),
        patched("config.py", "no such line", "x", (1, 1)),
        patched("old.py", "line 1", "first", (1, 1)),
    ]
    refused = calls.call("patch_text_file_contents", {"files": files})

    assert refused.is_error
    assert refused.data["app.py"] == refused.data["old.py"] == {"result": "error", "reason": NOT_APPLIED}
    assert refused.data["config.py"]["reason"] == "Content mismatch at lines 1-1"
    assert tree_of(root) == before


@pytest.mark.requirement("toolset-editor-5")
def test_file_that_changes_between_check_and_write_keeps_all_from_being_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine.open([root])
    source = engine.source

    def read_then_change(file: str, encoding: str | None = None) -> Source:
        found = source(file, encoding)
        if file == "app.py":
            (root / file).write_text("changed meanwhile\n")
        return found

    monkeypatch.setattr(engine, "source", read_then_change)
    files = [
        patched("app.py", "debug = False", "debug = True", (10, 10)),
        patched("old.py", "line 1", "first", (1, 1)),
    ]
    with calls_to(build_server(engine, toolsets=["editor"]), "auto") as calls:
        refused = calls.call("patch_text_file_contents", {"files": files})

    assert refused.data == {
        "app.py": {
            "result": "error",
            "reason": "Content validation failed - file was modified",
            "suggestion": "check_content",
            "hint": "Use get_text_file_contents to verify current content",
        },
        "old.py": {"result": "error", "reason": NOT_APPLIED},
    }
    assert (root / "app.py").read_text() == "changed meanwhile\n"
    assert (root / "old.py").read_text() == OLD


@pytest.mark.requirement("toolset-editor-5")
def test_all_files_of_a_call_are_one_transaction(root: Path) -> None:
    engine = Engine.open([root])
    before = tree_of(root)
    files = [
        patched("app.py", "debug = False", "debug = True", (10, 10)),
        patched("old.py", "line 1", "first", (1, 1)),
    ]
    with calls_to(build_server(engine, toolsets=["editor"]), "auto") as calls:
        assert not calls.call("patch_text_file_contents", {"files": files}).is_error
    (transaction,) = engine.history().transactions

    assert [file.file for file in transaction.files] == ["app.py", "old.py"]
    assert engine.undo().ok
    assert tree_of(root) == before


@pytest.mark.requirement("toolset-editor-4")
def test_patches_of_one_call_do_not_shift_each_other(calls: Calls, root: Path) -> None:
    patches = [
        {"old_string": f"line {n}", "new_string": f"line {n}\nmore\nmore", "ranges": [{"start": n, "end": n}]}
        for n in (2, 9, 5)
    ]
    calls.call("patch_text_file_contents", {"files": [{"file_path": "app.py", "patches": patches}]})
    expected = APP
    for n in (2, 9, 5):
        expected = expected.replace(f"line {n}\n", f"line {n}\nmore\nmore\n")

    assert (root / "app.py").read_text() == expected


@pytest.mark.requirement("toolset-editor-11")
def test_read_output_is_accepted_as_patch_input(calls: Calls, root: Path) -> None:
    data = "one  \r\ntwo\u2028more\r\nthree".encode()
    (root / "x.txt").write_bytes(data)
    read = calls.call(
        "get_text_file_contents", {"files": [{"file_path": "x.txt", "ranges": [{"start": 1, "end": 2}]}]}
    )
    content = read.data["x.txt"]["ranges"][0]["content"]
    answer = calls.call(
        "patch_text_file_contents",
        {"files": [{**patched("x.txt", content, "new\n", (1, 2)), "require_exact_match": True}]},
    )

    assert not answer.is_error, answer.text
    assert (root / "x.txt").read_bytes() == b"new\r\nthree"


@pytest.mark.requirement("toolset-editor-6")
def test_undo_removes_created_folders(root: Path) -> None:
    engine = Engine.open([root])
    with calls_to(build_server(engine, toolsets=["editor"]), "auto") as calls:
        calls.call("create_text_file", {"file_path": "a/b/c.txt", "contents": "x"})
    assert (root / "a" / "b" / "c.txt").read_text() == "x"

    assert engine.undo().ok
    assert not (root / "a").exists()


@pytest.mark.requirement("toolsets-4")
@CASE_TABLES.parametrize("tool", "request_")
def test_common_misspellings_of_fields_are_accepted(
    calls: Calls, tool: str, request_: dict[str, Any]
) -> None:
    answer = calls.call(tool, request_)

    assert not answer.is_error, answer.text


@pytest.mark.requirement("toolset-editor-10")
def test_claude_code_mode_has_only_the_patch_tool(root: Path) -> None:
    with calls_to(process("--root", str(root), "--mode", "claude-code"), "auto") as calls:
        names = [tool["name"] for tool in calls.tools()]
        answer = calls.call(
            "patch_text_file_contents", {"files": [patched("app.py", "line 1", "\u2028", (1, 1))]}
        )

    assert names == ["patch_text_file_contents"]
    assert answer.data == {"app.py": {"result": "ok"}}
    assert (root / "app.py").read_text().startswith("\u2028\nline 2\n")


@pytest.mark.requirement("toolsets-2")
def test_read_only_editor_toolset_omits_writing_tools(root: Path) -> None:
    with served(root, "editor") as calls:
        assert [tool["name"] for tool in calls.tools()] == TOOLS
    with served(root, "editor", read_only=True) as calls:
        assert [tool["name"] for tool in calls.tools()] == TOOLS[:1]
        with pytest.raises(MCPError, match="Unknown tool: create_text_file"):
            calls.call("create_text_file", {"file_path": "x", "contents": ""})
    assert not (root / "x").exists()


@pytest.mark.requirement("toolsets-2")
def test_denied_file_is_neither_read_nor_written(root: Path) -> None:
    before = tree_of(root)
    append = {"file_path": "log.txt", "content_to_append": "x", "expected_file_ending": "x"}
    with served(root, "editor", deny=["*.txt"]) as calls:
        answers = [
            calls.call("get_text_file_contents", {"files": [{"file_path": "log.txt"}]}),
            calls.call("patch_text_file_contents", {"files": [patched("log.txt", "Started", "x", (1, 1))]}),
            calls.call("create_text_file", {"file_path": "new.txt", "contents": "x"}),
            calls.call("append_text_file_contents", append),
        ]

    assert [answer.is_error for answer in answers] == [True] * 4
    assert all("*.txt" in answer.text for answer in answers)
    assert tree_of(root) == before


Edit = Callable[[AwkwardFile], tuple[str, dict[str, Any], bytes]]


def patch(file: AwkwardFile) -> tuple[str, dict[str, Any], bytes]:
    files = [patched("a.txt", TARGET, NEW, (file.line, file.line))]
    return "patch_text_file_contents", {"files": files}, file.with_line(NEW)


def insert(file: AwkwardFile) -> tuple[str, dict[str, Any], bytes]:
    insertion = {
        "content_to_insert": NEW + "\n",
        "position": "before",
        "context_line": TARGET,
        "line_number": file.line,
    }
    after = file.with_line(NEW + file.line_end + TARGET)
    return "insert_text_file_contents", {"file_path": "a.txt", "insertions": [insertion]}, after


def delete(file: AwkwardFile) -> tuple[str, dict[str, Any], bytes]:
    ranges = [{"start": file.line, "end": file.line}]
    deletions = [{"expected_content": TARGET, "ranges": ranges}]
    request = {"file_path": "a.txt", "deletions": deletions}
    return "delete_text_file_contents", request, file.without_line()


@pytest.mark.requirement("toolset-editor-11")
@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("edit", [patch, insert, delete])
def test_no_byte_outside_the_edit_changes(tmp_path: Path, edit: Edit, name: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(AWKWARD[name].data)
    path.chmod(0o755)
    tool, request, after = edit(AWKWARD[name])
    with served(tmp_path, "editor") as calls:
        answer = calls.call(tool, request)

    assert not answer.is_error, answer.text
    assert path.read_bytes() == after
    assert path.stat().st_mode & 0o777 == 0o755


@pytest.mark.requirement("toolset-editor-11")
@pytest.mark.parametrize("name", AWKWARD)
def test_text_is_appended_and_nothing_before_it_changes(tmp_path: Path, name: str) -> None:
    file = AWKWARD[name]
    path = tmp_path / "a.txt"
    path.write_bytes(file.data)
    with served(tmp_path, "editor") as calls:
        read = calls.call("get_text_file_contents", {"files": [{"file_path": "a.txt"}]}).data["a.txt"]
        exact = "ranges" in read
        content = read["ranges"][0]["content"] if exact else TARGET
        lines = content.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        ending = lines[-1] or lines[-2]
        request = {"file_path": "a.txt", "content_to_append": f"{NEW}\n", "expected_file_ending": ending}
        answer = calls.call("append_text_file_contents", request)

    after = path.read_bytes()
    if exact:
        assert not answer.is_error, answer.text
        assert after.startswith(file.data)
        line_end = after.removeprefix(file.data).decode(file.encoding.replace("16", "16-le"))
        assert line_end.strip("\r\n") == NEW
    else:
        assert answer.is_error, "what could not be read is no evidence"
        assert after == file.data
