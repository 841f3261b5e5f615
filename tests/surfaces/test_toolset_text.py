"""The toolset `text` through a client: requirements 01 and 02."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError

from mdplan.text.source import sha256_hex
from tests.support.case_tables import CaseTables
from tests.surfaces.awkward_files import AWKWARD, NEW, TARGET, AwkwardFile
from tests.surfaces.mcp_calls import Calls, calls_to, process
from tests.surfaces.tool_case import cases_of, check_case, lay_out, served

CASE_TABLES = CaseTables(__file__)


API = CASE_TABLES.value("API")
GUIDE = "# Guide\n\nHow you recieve mail.\n\nYou recieve it.\n"
CONF = "[server]\nhost = a\n\n[database]\nhost = localhost\nport = 5432\n"


@pytest.mark.requirement("toolsets-1")
@pytest.mark.parametrize("case", cases_of("text"))
def test_response_matches_its_case(case: str, tmp_path: Path) -> None:
    check_case("text", case, tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay_out(tmp_path, {"API.md": API.encode(), "guide.md": GUIDE.encode(), "app.conf": CONF.encode()})
    return tmp_path


@pytest.fixture
def calls(root: Path) -> Iterator[Calls]:
    with served(root, "text", "md") as connected:
        yield connected


def headings_of(answer: dict[str, Any]) -> dict[str, int]:
    """Line of each heading of a structure, by its text."""
    waiting, found = list(answer["structure"]["headings"]), {}
    while waiting:
        heading = waiting.pop(0)
        found[heading["text"]] = heading["line"]
        waiting += heading.get("children", [])
    return found


@pytest.mark.requirement("toolset-text-11", "toolset-text-18")
def test_example_1_adds_a_section(calls: Calls, root: Path) -> None:
    structure = calls.call("TextInspect", {"filePath": "API.md", "mode": "structure"}).data
    section = "## Troubleshooting\n\nCommon issues and solutions:\n\n### Build Errors\n\nNone."
    patched = calls.call(
        "TextPatch",
        {
            "filePath": "API.md",
            "operation": "insert",
            "target": {"beforeHeading": "## Contributing"},
            "content": section,
        },
    ).data

    assert headings_of(structure)["Contributing"] == 23
    assert (patched["status"], patched["linesChanged"], patched["linesDelta"]) == ("success", 0, 8)
    assert (root / "API.md").read_text() == API.replace("## Contri", f"{section}\n\n## Contri")


@pytest.mark.requirement("toolset-text-18")
def test_example_2_updates_a_code_example(calls: Calls, root: Path) -> None:
    blocks = calls.call("TextInspect", {"filePath": "API.md"}).data["structure"]["codeBlocks"]
    target = {"codeBlock": {"index": 3}}
    read = calls.call("TextRead", {"filePath": "API.md", "target": target}).data
    new = "const client = new ApiClient({\n  baseUrl: 'https://api.example.com',\n  timeout: 5000\n});"
    patched = calls.call(
        "TextPatch", {"filePath": "API.md", "operation": "replace", "target": target, "content": new}
    ).data

    assert blocks[3] == {"language": "typescript", "startLine": 19, "endLine": 21}
    assert read["content"] == "const client = new ApiClient();\n"
    assert patched["status"] == "success"
    assert (root / "API.md").read_text() == API.replace("const client = new ApiClient();", new)


@pytest.mark.requirement("toolset-text-19")
def test_example_3_fixes_a_typo_through_text_replace(calls: Calls, root: Path) -> None:
    found = calls.call("TextInspect", {"filePath": "guide.md", "mode": "search", "query": "recieve"}).data
    old = calls.call(
        "TextPatch",
        {"filePath": "guide.md", "operation": "replace", "target": {"text": "recieve"}, "content": "receive"},
    )
    replaced = calls.call(
        "TextReplace", {"filePath": "guide.md", "oldText": "recieve", "newText": "receive"}
    ).data

    assert [(each["line"], each["column"]) for each in found["matches"]] == [(3, 9), (5, 5)]
    assert old.is_error
    assert "TextReplace" in old.text
    assert (replaced["status"], replaced["affectedLines"]) == ("success", {"start": 3, "end": 3})
    assert (root / "guide.md").read_text() == GUIDE.replace("recieve", "receive", 1)


@pytest.mark.requirement("toolset-text-19")
def test_example_4_updates_a_setting_through_set_ini_key(calls: Calls, root: Path) -> None:
    sections = calls.call("TextInspect", {"filePath": "app.conf"}).data["structure"]["sections"]
    read = calls.call("TextRead", {"filePath": "app.conf", "target": {"section": "[database]"}}).data
    old = calls.call(
        "TextPatch",
        {
            "filePath": "app.conf",
            "operation": "replace",
            "target": {"section": "[database]", "key": "host"},
            "content": "host = production.db.example.com",
        },
    )
    edit = {"op": "set_ini_key", "section": "database", "key": "host", "value": "production.db.example.com"}
    base = sha256_hex(CONF.encode())
    applied = calls.call("md_apply", {"file": "app.conf", "baseSha256": base, "edits": [edit]}).data

    assert {"marker": "[database]", "line": 4} in sections
    assert read["content"] == "[database]\nhost = localhost\nport = 5432\n"
    assert old.is_error
    # Another toolset may be off: the next step must be in this toolset.
    assert "TextReplace" in old.text
    assert "md_apply" not in old.text
    assert applied["applied"]
    assert (root / "app.conf").read_text() == CONF.replace("localhost", "production.db.example.com")


def patch(calls: Calls, target: dict[str, Any], content: str, **fields: object) -> dict[str, Any]:
    request = {"filePath": "API.md", "operation": "insert", "target": target, "content": content, **fields}
    return calls.call("TextPatch", request).data


@pytest.mark.requirement("toolset-text-18")
def test_example_5_inspects_again_between_two_edits(calls: Calls, root: Path) -> None:
    calls.call("TextInspect", {"filePath": "API.md"})
    patch(calls, {"beforeHeading": "## Calls"}, "## News\n\n" + "line\n" * 20)
    fresh = headings_of(calls.call("TextInspect", {"filePath": "API.md"}).data)["Client"]
    patch(calls, {"lines": {"start": fresh, "end": fresh}}, "Here it comes.\n")

    assert fresh == 17 + 23
    assert "Here it comes.\n### Client\n" in (root / "API.md").read_text()


@pytest.mark.requirement("toolset-text-25")
def test_hash_of_each_answer_guards_the_next_edit(calls: Calls, root: Path) -> None:
    first = calls.call("TextInspect", {"filePath": "API.md"}).data["fileHash"]
    read = calls.call("TextRead", {"filePath": "API.md", "target": {"heading": {"text": "Client"}}}).data
    second = patch(calls, {"appendToSection": "## Calls"}, "More.", expectedHash=first)["fileHash"]
    third = calls.call(
        "TextReplace", {"filePath": "API.md", "oldText": "More.", "newText": "Less.", "expectedHash": second}
    ).data["fileHash"]
    stale = patch(calls, {"appendToSection": "## Calls"}, "Again.", expectedHash=second)

    assert read["fileHash"] == first == sha256_hex(API.encode())[:16]
    assert third == sha256_hex((root / "API.md").read_bytes())[:16]
    assert stale["status"] == "error"
    assert third in stale["message"]


@pytest.mark.requirement("toolset-text-24")
def test_context_is_of_the_file_as_it_is_now(calls: Calls, root: Path) -> None:
    answer = patch(calls, {"appendToSection": "## Calls"}, "one\ntwo\nthree\nfour")
    lines = (root / "API.md").read_text().split("\n")
    around = [*answer["context"]["beforeLines"], *answer["context"]["afterLines"]]

    assert [lines[line["number"] - 1] for line in around] == [line["text"] for line in around]
    assert [line["number"] for line in around] == [20, 21, 22, 27, 28, 29]
    assert answer["affectedLines"] == {"start": 23, "end": 26}


@pytest.mark.requirement("toolset-text-7")
def test_long_section_is_cut_and_reports_the_rest(calls: Calls, root: Path) -> None:
    part = "## Part\n\n" + "word " * 200 + "\n\n"
    (root / "long.md").write_text("# Top\n\n" + part * 40)
    answer = calls.call("TextRead", {"filePath": "long.md", "target": {"heading": {"text": "Top"}}}).data
    shown = answer["content"].count("\n")

    assert answer["truncated"] is True
    assert answer["range"] == {"startLine": 1, "endLine": 162}
    assert answer["totalLines"] == 162
    assert 0 < shown < 162
    assert answer["suggestion"].startswith("Use TextInspect to find specific subsections")
    assert f"lines {shown + 1}-162 are omitted" in answer["suggestion"]


@pytest.mark.requirement("toolset-text-7")
def test_structure_of_a_huge_document_is_short(calls: Calls, root: Path) -> None:
    (root / "huge.md").write_text("".join(f"## Heading {n}\n\ntext\n\n" for n in range(5_000)))
    answer = calls.call("TextInspect", {"filePath": "huge.md"})

    assert len(answer.text) < 50_000
    assert answer.data["truncated"] is True
    assert "5000 headings" in answer.data["suggestion"]


@pytest.mark.requirement("toolset-text-1")
def test_structure_never_returns_content(calls: Calls, root: Path) -> None:
    (root / "secret.md").write_text("# Title\n\nsecret\n\n```py\nsecret\n```\n")

    assert "secret" not in calls.call("TextInspect", {"filePath": "secret.md"}).text.replace("secret.md", "")


@pytest.mark.requirement("toolset-text-8", "toolsets-4")
@CASE_TABLES.parametrize("tool", "request_")
def test_common_misspellings_of_fields_are_accepted(
    calls: Calls, tool: str, request_: dict[str, Any]
) -> None:
    answer = calls.call(tool, request_)

    assert not answer.is_error, answer.text


@pytest.mark.requirement("toolsets-4")
def test_absolute_path_inside_a_root_is_understood(calls: Calls, root: Path) -> None:
    path = str(root / "guide.md")
    answer = calls.call("TextReplace", {"filePath": path, "oldText": "mail", "newText": "post"}).data

    assert answer["filePath"] == path
    assert "post" in (root / "guide.md").read_text()


def test_server_passes_text_verbatim(root: Path) -> None:
    with calls_to(process("--root", str(root), "--toolsets", "text"), "auto") as calls:
        assert [tool["name"] for tool in calls.tools()] == [
            "TextInspect",
            "TextRead",
            "TextPatch",
            "TextReplace",
        ]
        answer = calls.call("TextReplace", {"filePath": "guide.md", "oldText": "mail", "newText": "\u2028"})
        read = calls.call("TextRead", {"filePath": "guide.md", "target": {"lines": {"start": 3, "end": 3}}})

    assert not answer.is_error
    assert read.data["content"] == "How you recieve \u2028.\n"


@pytest.mark.requirement("toolsets-2")
@pytest.mark.parametrize("tool", ["TextPatch", "TextReplace"])
def test_read_only_server_does_not_write(root: Path, tool: str) -> None:
    with served(root, "text", read_only=True) as calls:
        names = [each["name"] for each in calls.tools()]
        with pytest.raises(MCPError, match=f"Unknown tool: {tool}"):
            calls.call(
                tool,
                {
                    "TextPatch": {
                        "filePath": "guide.md",
                        "operation": "delete",
                        "target": {"lines": {"start": 1, "end": 1}},
                    },
                    "TextReplace": {"filePath": "guide.md", "oldText": "mail", "newText": "post"},
                }[tool],
            )

    assert names == ["TextInspect", "TextRead"]
    assert (root / "guide.md").read_text() == GUIDE


@pytest.mark.requirement("toolsets-2")
def test_denied_file_is_neither_read_nor_written(root: Path) -> None:
    with served(root, "text", deny=["*.conf"]) as calls:
        answers = [
            calls.call("TextInspect", {"filePath": "app.conf"}),
            calls.call("TextRead", {"filePath": "app.conf", "target": {"section": "[server]"}}),
            calls.call("TextReplace", {"filePath": "app.conf", "oldText": "host", "newText": "x"}),
        ]

    assert [answer.is_error for answer in answers] == [True, True, True]
    assert all("*.conf" in answer.text for answer in answers)
    assert (root / "app.conf").read_text() == CONF


def replace_text(file: AwkwardFile) -> tuple[str, dict[str, Any], bytes]:
    return "TextReplace", {"oldText": TARGET, "newText": NEW}, file.with_line(NEW)


def replace_line(file: AwkwardFile) -> tuple[str, dict[str, Any], bytes]:
    target = {"lines": {"start": file.line, "end": file.line}}
    return "TextPatch", {"operation": "replace", "target": target, "content": NEW}, file.with_line(NEW)


def insert_line(file: AwkwardFile) -> tuple[str, dict[str, Any], bytes]:
    target = {"lines": {"start": file.line, "end": file.line}}
    after = file.with_line(NEW + file.line_end + TARGET)
    return "TextPatch", {"operation": "insert", "target": target, "content": NEW}, after


def delete_line(file: AwkwardFile) -> tuple[str, dict[str, Any], bytes]:
    target = {"lines": {"start": file.line, "end": file.line}}
    return "TextPatch", {"operation": "delete", "target": target}, file.without_line()


@pytest.mark.requirement("toolset-text-28")
@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("edit", [replace_text, replace_line, insert_line, delete_line])
def test_no_byte_outside_the_edit_changes(
    tmp_path: Path, edit: Callable[[AwkwardFile], tuple[str, dict[str, Any], bytes]], name: str
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(AWKWARD[name].data)
    path.chmod(0o755)
    tool, request, after = edit(AWKWARD[name])
    with served(tmp_path, "text") as calls:
        answer = calls.call(tool, {"filePath": "a.txt", **request})

    assert not answer.is_error, answer.text
    assert path.read_bytes() == after
    assert path.stat().st_mode & 0o777 == 0o755


@pytest.mark.requirement("toolset-text-28")
@pytest.mark.parametrize("tool", ["TextPatch", "TextReplace"])
def test_link_is_not_followed_and_stays(tmp_path: Path, tool: str) -> None:
    (tmp_path / "real.md").write_text("# A\n")
    (tmp_path / "link.md").symlink_to("real.md")
    request = {"TextPatch": {"operation": "delete", "target": {"lines": {"start": 1, "end": 1}}}}
    with served(tmp_path, "text") as calls:
        refused = calls.call(
            tool, {"filePath": "link.md", **request.get(tool, {"oldText": "A", "newText": "B"})}
        )

    assert refused.is_error
    assert "real.md" in refused.text
    assert (tmp_path / "real.md").read_text() == "# A\n"
    assert (tmp_path / "link.md").is_symlink()
