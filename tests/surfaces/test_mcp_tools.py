"""The toolset `md` through the SDK's client, in memory, in both protocol generations."""

import base64
import hashlib
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import anyio
import pytest
import unidiff
from mcp import MCPError
from mcp.client.subscriptions import ResourceUpdated

from mdplan.engine.engine import Engine
from mdplan.mcp import adapter
from mdplan.mcp.tool import INTRODUCTIONS
from mdplan.operations import OPERATIONS
from mdplan.reports.stat import StatReport
from mdplan.requests.queries import StatRequest
from tests.support.case_tables import CaseTables
from tests.support.servers import build_server
from tests.surfaces.mcp_calls import GENERATIONS, Calls, calls_to, compact
from tests.surfaces.tool_case import served

CASE_TABLES = CaseTables(__file__)


GUIDE = CASE_TABLES.value("GUIDE")
LIMIT = 50_000


FILES = {"guide.md": GUIDE}


@pytest.fixture
def engine(root: Path) -> Engine:
    return Engine.open([root])


@pytest.fixture(params=GENERATIONS)
def calls(request: pytest.FixtureRequest, engine: Engine) -> Iterator[Calls]:
    with calls_to(build_server(engine), request.param) as connected:
        yield connected


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def match(**fields: object) -> dict[str, Any]:
    return {"op": "replace_match", "pattern": "v1.0.0", "replacement": "v2.0.0", **fields}


@pytest.mark.requirement("mcp-1", "toolset-text-17")
def test_preview_is_applied_when_sent_back(calls: Calls, root: Path) -> None:
    stat = calls.call("md_stat", {"file": "guide.md"}).data
    section = next(each for each in stat["sections"] if each["headingPath"][-1] == "Install")
    preview = calls.call(
        "md_apply",
        {
            "file": "guide.md",
            "baseSha256": stat["baseSha256"],
            "dryRun": True,
            "edits": [
                {
                    "op": "replace_match",
                    "sectionId": section["sectionId"],
                    "pattern": "v1.0.0",
                    "matchType": "literal",
                    "expectedMatchCount": {"min": 1, "max": 3},
                    "nodeExclusions": {"codeBlocks": "exclude"},
                    "replacement": "v2.0.0",
                }
            ],
        },
    )
    assert preview.data["matchesFound"] == 1
    assert not preview.data["applied"]
    assert (root / "guide.md").read_text() == GUIDE

    applied = calls.call("md_apply", {**preview.data, "dryRun": False})

    assert applied.data["applied"]
    assert applied.data["planId"] == preview.data["planId"]
    assert (root / "guide.md").read_text() == GUIDE.replace("Get v1.0.0", "Get v2.0.0")
    assert sha256(root / "guide.md").startswith(applied.data["files"][0]["resultSha256"])


@pytest.mark.requirement("mcp-3")
def test_success_is_complete_as_data_and_as_text(calls: Calls) -> None:
    request = {"file": "guide.md", "edits": [match(heading="Use")]}
    preview = calls.call("md_validate", request)

    assert not preview.is_error
    assert preview.data["diff"].count("\n+") == 2
    for part in (preview.data["planId"], preview.data["baseSha256"][:16], preview.data["diff"].rstrip("\n")):
        assert part in preview.text
    full = calls.call("md_validate", {**request, "verbosity": "full"})
    assert "matchesFound 1, matchesReplaced 1" in full.text
    assert full.data["planId"].startswith(preview.data["planId"])


def test_stale_plan_is_refused_with_the_section_that_changed(calls: Calls, root: Path) -> None:
    preview = calls.call("md_validate", {"file": "guide.md", "edits": [match(heading="Use")]}).data
    changed = GUIDE.replace("Of plugins", "Of all plugins")
    (root / "guide.md").write_text(changed)

    refused = calls.call("md_apply", {"planId": preview["planId"]})

    assert refused.is_error
    assert refused.data["error"]["code"] == "STALE_BASE"
    for part in ("STALE_BASE (guide.md", "\n  hint: ", "Nothing was written.", "Install"):
        assert part in refused.text
    assert (root / "guide.md").read_text() == changed


def test_part_of_a_plan_can_be_accepted(calls: Calls, root: Path) -> None:
    edits = [match(heading="Use"), match(pattern="1.0 of", replacement="3.0 of")]
    preview = calls.call("md_validate", {"file": "guide.md", "edits": edits}).data
    part = calls.call("md_validate", {"file": "guide.md", "edits": edits, "accept": [1]})

    applied = calls.call("md_apply", {**preview, "accept": [1], "dryRun": False})

    assert "rejected 0" in part.text
    assert applied.data["planId"] == part.data["planId"] != preview["planId"]
    assert (root / "guide.md").read_text() == GUIDE.replace("1.0 of", "3.0 of")


def test_rebased_plan_is_reported_as_rebased(calls: Calls, root: Path) -> None:
    preview = calls.call("md_validate", {"file": "guide.md", "edits": [match(heading="Use")]}).data
    (root / "guide.md").write_text("New.\n\n" + GUIDE)

    applied = calls.call("md_apply", {"planId": preview["planId"], "onStale": "rebase"})

    assert applied.data["rebased"]
    assert applied.text.startswith("Applied. The files had changed")
    assert (root / "guide.md").read_text() == "New.\n\n" + GUIDE.replace("Run v1", "Run v2")


EDIT = match(heading="Use")

REFUSALS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("md_apply", {"planId": "sha256-0", "dryrun": False}, ["UNKNOWN_FIELD", "dryRun"]),
    ("md_apply", {"planId": "sha256-0", "edits": [EDIT]}, ["INVALID_ARGUMENT", "planId"]),
    ("md_apply", {"planId": "sha256-" + "0" * 64}, ["PLAN_NOT_FOUND"]),
    ("md_apply", {}, ["INVALID_ARGUMENT", "`file` is missing", "`edits` is missing"]),
    ("md_apply", {"file": "guide.md", "edits": [match(heading="Use", minMatches=1)]}, ["baseSha256"]),
    (
        "md_validate",
        {"file": "guide.md", "edits": [match(heading="Install")]},
        ["AMBIGUOUS_HEADING", "editIndex 0", "Install, 5-8", "Install, 13-15"],
    ),
    ("md_validate", {"file": "guide.md", "edits": [match()]}, ["MATCH_COUNT_MISMATCH", "7:5", "11:5"]),
    (
        "md_validate",
        {"file": "guide.md", "edits": [EDIT, {"op": "rename"}]},
        ["editIndex 1", "rename_heading"],
    ),
    ("md_validate", {"planIds": ["sha256-0"]}, ["PLAN_NOT_FOUND"]),
    ("md_stat", {"file": "gone.md"}, ["FILE_NOT_FOUND", "gone.md"]),
    ("md_stat", {"fiel": "guide.md"}, ["UNKNOWN_FIELD", "`file`"]),
]


@pytest.mark.requirement("mcp-3")
@pytest.mark.parametrize(("tool", "arguments", "parts"), REFUSALS, ids=lambda value: compact(value)[:60])
def test_refusal_is_complete_in_its_text(
    calls: Calls, root: Path, tool: str, arguments: dict[str, Any], parts: list[str]
) -> None:
    """The client holds each refusal against the output schema as well."""
    refused = calls.call(tool, arguments)

    assert refused.is_error
    assert refused.data["ok"] is False
    assert refused.text.startswith(refused.data["error"]["code"])
    assert [part for part in (*parts, "  hint: ") if part not in refused.text] == []
    assert ("Nothing was written." in refused.text) == (tool != "md_stat")
    assert (root / "guide.md").read_text() == GUIDE
    assert calls.is_alive()


def test_binary_resource_is_a_blob(calls: Calls, root: Path) -> None:
    (root / "latin.md").write_bytes(b"# A\n\n\xff old\n")

    preview = calls.call(
        "md_validate", {"file": "latin.md", "edits": [match(pattern="old", replacement="new")]}
    )
    resource = calls.read(f"mdplan://plans/{preview.data['planId']}/diff")

    assert preview.data["diffExact"] is False
    assert "\\xff new" in preview.data["diff"]
    assert b"+\xff new\n" in base64.b64decode(resource.blob)


def test_long_diff_is_cut_between_hunks_and_complete_as_a_resource(calls: Calls, root: Path) -> None:
    (root / "long.md").write_text("".join(f"old {n} {'x' * 60}\n{chr(10) * 9}" for n in range(600)))
    edits = [match(pattern="old", replacement="new", matchSelection="all")]

    preview = calls.call("md_validate", {"file": "long.md", "edits": edits, "verbosity": "full"})
    uri = f"mdplan://plans/{preview.data['planId']}/diff"
    whole = calls.read(uri).text

    assert preview.data["diffTruncated"] is True
    assert len(json.dumps(preview.data["diff"])) <= LIMIT
    assert uri in preview.text
    assert whole.startswith(preview.data["diff"])
    assert str(unidiff.PatchSet(preview.data["diff"])) == preview.data["diff"]
    assert [len(file) for file in unidiff.PatchSet(whole)] == [600]
    assert 0 < len(unidiff.PatchSet(preview.data["diff"])[0]) < 600


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("md_stat", {"file": "x" * 5_000_000}),
        ("md_stat", {"y" * 5_000_000: 1}),
        ("md_validate", {"file": "guide.md", "edits": [match(pattern="x" * 5_000_000)]}),
        ("md_validate", {"file": "guide.md", "edits": [match(heading="x" * 5_000_000)]}),
        ("md_apply", {"planId": "x" * 5_000_000}),
        ("md_apply", {"planId": "x", "y" * 5_000_000: 1}),
    ],
    ids=["path", "unknown field", "pattern", "heading", "plan", "unknown field beside a plan"],
)
def test_huge_argument_gets_a_short_refusal(calls: Calls, tool: str, arguments: dict[str, Any]) -> None:
    refused = calls.call(tool, arguments)

    assert refused.is_error
    assert len(refused.text) < 2_000
    assert len(json.dumps(refused.data)) < 10_000
    assert calls.is_alive()


def test_diff_of_an_unknown_plan_is_an_error(calls: Calls) -> None:
    with pytest.raises(MCPError):
        calls.read(f"mdplan://plans/sha256-{'0' * 64}/diff")
    assert calls.is_alive()


@pytest.mark.parametrize("mode", GENERATIONS)
def test_read_only_server_has_no_tool_that_writes(engine: Engine, root: Path, mode: str) -> None:
    with calls_to(build_server(engine, read_only=True), mode) as calls:
        fields = {tool["name"]: tool["inputSchema"]["properties"] for tool in calls.tools()}
        preview = calls.call("md_validate", {"file": "guide.md", "edits": [EDIT]})
        with pytest.raises(MCPError, match="Unknown tool: md_apply"):
            calls.call("md_apply", {"planId": preview.data["planId"]})
        undo = calls.call("md_history", {"action": "undo"})

        assert list(fields) == ["md_stat", "md_read", "md_search", "md_validate", "md_history"]
        assert "action" not in fields["md_history"], "it only lists"
        assert "read-only" in calls.client.instructions
        assert undo.data["error"]["code"] == "INVALID_ARGUMENT"
        assert (root / "guide.md").read_text() == GUIDE


def test_broken_links_with_one_cause_are_one_warning(calls: Calls, root: Path) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (root / name).write_text("# A\n")
    edit = {"op": "append_to_section", "heading": "A", "markdown": "See [it](gone.md)."}
    batch = {"files": ["a.md", "b.md", "c.md"], "edits": [edit]}
    planned = calls.call("md_validate", batch)
    full = calls.call("md_validate", {**batch, "verbosity": "full"})

    (warning,) = planned.data["warnings"]
    assert warning["message"] == (
        "the link to `gone.md` at line 3 leads to nothing: there is no file `gone.md`; also b.md:3, c.md:3"
    )
    assert len(full.data["warnings"]) == 3


def test_warning_names_the_folder_of_many_files_once(calls: Calls, root: Path) -> None:
    folder = root / "a-folder-with-a-long-name" / "and-another-one-below-it-of-the-same-length"
    folder.mkdir(parents=True)
    for name in ("a", "b", "c", "d"):
        (folder / f"{name}.md").write_text("# A\n")
    edit = {"op": "append_to_section", "heading": "A", "markdown": "See [it](gone.md)."}

    (warning,) = calls.call("md_validate", {"files": "a*/**/*.md", "edits": [edit]}).data["warnings"]

    below = folder.relative_to(root).as_posix()
    assert warning["message"].endswith(f"no file `{below}/gone.md`; also in {below}/: b.md:3, c.md:3, d.md:3")


def test_many_written_files_are_listed_without_hashes(engine: Engine, root: Path) -> None:
    names = [f"docs/file-{number}.md" for number in range(5)]
    (root / "docs").mkdir()
    for name in names:
        (root / name).write_text("old\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}

    with calls_to(build_server(engine), "legacy") as calls:
        written = calls.call("md_apply", {"files": names, "edits": [edit]})

    assert written.data["files"] == [{"file": name, "linesAdded": 1, "linesRemoved": 1} for name in names]


def test_subscriber_is_notified_of_a_changed_outline(engine: Engine, root: Path) -> None:
    (root / "a b.md").write_text("# A\n")
    edit = {"op": "replace_match", "pattern": "A", "replacement": "B"}
    uri = "mdplan://outline/a%20b.md"

    async def listened(calls: Calls) -> Any:
        async with calls.client.listen(resource_subscriptions=[uri]) as events:
            await calls.client.call_tool("md_stat", {"file": "a b.md"})
            await calls.client.call_tool("md_apply", {"file": "a b.md", "edits": [edit]})
            with anyio.fail_after(10):
                return await anext(events)

    with calls_to(build_server(engine), "auto") as calls:
        if not hasattr(calls.client, "listen"):
            pytest.skip("this SDK has no subscriptions/listen")
        event = calls.portal.call(listened, calls)

    assert event == ResourceUpdated(uri=uri)
    assert (root / "a b.md").read_text() == "# B\n"


def test_server_has_an_icon_and_every_tool_a_title(engine: Engine) -> None:
    with calls_to(build_server(engine), "auto") as calls:
        (icon,) = calls.client.server_info.icons
        titles = [tool["title"] for tool in calls.tools()]

    assert icon.src.startswith("data:image/svg+xml,")
    ET.fromstring(unquote(icon.src.partition(",")[2]))
    assert all(titles)


@pytest.mark.parametrize("toolset", ["text", "editor", "files"])
def test_tools_of_every_toolset_have_a_hint_for_their_search(engine: Engine, toolset: str) -> None:
    with calls_to(build_server(engine, toolsets=[toolset]), "auto") as calls:
        hints = [(tool.get("_meta") or {}).get("anthropic/searchHint") for tool in calls.tools()]

    assert all(hints)
    assert len(set(hints)) == len(hints)


@pytest.mark.parametrize("kind", ["codeBlocks", "code_blocks", "CODE_BLOCKS", "code-blocks"])
def test_kinds_of_nodes_may_be_spelled_as_on_other_surfaces(calls: Calls, root: Path, kind: str) -> None:
    (root / "code.md").write_text("# A\n\n```\nmake\n```\n")
    edit = {"op": "replace_match", "pattern": "make", "replacement": "just", "include": [kind]}

    for include in (kind, [kind]):
        assert "code blocks: 0" in calls.call("md_stat", {"file": "code.md", "include": include}).text

    assert calls.call("md_validate", {"file": "code.md", "edits": [edit]}).data["ok"]
    found = calls.call("md_search", {"pattern": "make", "file": "code.md", "exclude": [kind]})
    assert found.text == "totalMatches 0, searchedFiles 1"


def test_near_sections_are_named_once(calls: Calls) -> None:
    refused = calls.call("md_read", {"file": "guide.md", "heading": "Instal"})

    assert refused.text.count("Install") == 2, "one line for each of the two"
    assert "results" not in refused.data


@pytest.mark.parametrize("mode", GENERATIONS)
def test_bug_is_masked_and_logged(
    engine: Engine, mode: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(request: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(engine, "stat", broken)
    with calls_to(build_server(engine), mode) as calls, caplog.at_level(logging.ERROR):
        result = calls.call("md_stat", {"file": "guide.md"})

        assert result.is_error
        assert "secret" not in result.text
        assert "RuntimeError: secret" in caplog.text
        assert calls.call("md_validate", {"file": "guide.md", "edits": [EDIT]}).data["ok"]


@pytest.mark.parametrize("mode", GENERATIONS)
def test_long_call_does_not_block_others(engine: Engine, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    started, may_end = threading.Event(), threading.Event()
    stat = engine.stat

    def slow(request: StatRequest) -> StatReport:
        started.set()
        assert may_end.wait(20)
        return stat(request)

    monkeypatch.setattr(engine, "stat", slow)
    with calls_to(build_server(engine), mode) as calls:
        pending = calls.portal.start_task_soon(calls.client.call_tool, "md_stat", {"file": "guide.md"})
        assert started.wait(20)
        other = calls.call("md_validate", {"file": "guide.md", "edits": [EDIT]})
        assert not pending.done()
        may_end.set()

        assert other.data["ok"]
        assert not pending.result(20).is_error


# --- Token cost of a small edit of a large document, at four characters a token.

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


# --- The way of working, as instructions, as a resource and as a prompt: a paragraph for each active
# toolset.

MOST_TOKENS = 1_000

# Required parts of the paragraph of a toolset.
ADVICE = CASE_TABLES.value("ADVICE")


@pytest.mark.requirement("toolset-text-26")
@pytest.mark.parametrize("toolset", INTRODUCTIONS)
def test_toolset_paragraph_names_its_tools(tmp_path: Path, toolset: str) -> None:
    with served(tmp_path, toolset) as calls:
        instructions = calls.client.instructions
        tools = [tool["name"] for tool in calls.tools()]

    assert [advice for advice in ADVICE[toolset] if advice not in instructions] == []
    assert any(tool in instructions for tool in tools)
    assert "\n" not in instructions


@pytest.mark.requirement("toolsets-5")
def test_each_active_toolset_has_its_paragraph_everywhere(tmp_path: Path) -> None:
    with served(tmp_path, *INTRODUCTIONS) as calls:
        paragraphs = calls.client.instructions.split("\n\n")
        prompt, guide = calls.prompt("way-of-working"), calls.read("mdplan://guide").text

    assert len(paragraphs) == len(INTRODUCTIONS)
    assert [part for part in paragraphs if part not in prompt or part not in guide] == []
    assert len("".join(paragraphs)) / CHARACTERS_PER_TOKEN <= MOST_TOKENS


@pytest.mark.requirement("toolsets-5")
def test_prompt_contains_the_instructions(tmp_path: Path) -> None:
    with served(tmp_path, "text") as calls:
        assert calls.prompts() == ["way-of-working"]
        prompt = calls.prompt("way-of-working")

    for advice in (
        "Look before you edit",
        "by its section",
        "Guard each edit",
        "in one call",
        "In doubt preview",
    ):
        assert advice in prompt
    assert "md_apply" not in prompt, "a server says nothing of tools that it does not have"


def test_guide_lists_operations_only_for_toolsets_that_have_them(tmp_path: Path) -> None:
    with served(tmp_path, "md") as calls:
        guide = calls.read("mdplan://guide").text
        assert json.loads(calls.read("mdplan://schema/batch").text)["properties"]["edits"]["items"]["oneOf"]
    with served(tmp_path, "files") as calls:
        other = calls.read("mdplan://guide").text

    assert [op for op in OPERATIONS if f"### {op}\n" not in guide] == []
    assert "### " not in other


# --- Long calls tell how far they are, to a client that asks.

PROGRESS_FILES = [f"{number}.md" for number in range(5)]
PROGRESS_EDIT = {"op": "replace_match", "pattern": "old", "replacement": "new"}
BATCH = {"files": [{"file": name, "edits": [PROGRESS_EDIT]} for name in PROGRESS_FILES]}


@pytest.fixture
def many_files(tmp_path: Path) -> Path:
    for name in PROGRESS_FILES:
        (tmp_path / name).write_text("# A\n\nold\n")
    return tmp_path


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report every step, as if each were slow."""
    monkeypatch.setattr(adapter, "PROGRESS_SECONDS", 0.0)


@pytest.mark.requirement("toolsets-6")
@pytest.mark.usefixtures("impatient")
def test_search_reports_progress_for_each_file(many_files: Path) -> None:
    with served(many_files, "md") as calls:
        result, told = calls.call_with_progress("md_search", {"pattern": "old"})

    assert result.data["totalMatches"] == 5
    assert told == [(1, None), (2, None), (3, None), (4, None), (5, None)]


@pytest.mark.requirement("toolsets-6")
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("tool", ["md_validate", "md_apply"])
def test_plan_reports_progress_for_each_file_read_and_planned(many_files: Path, tool: str) -> None:
    with served(many_files, "md") as calls:
        result, told = calls.call_with_progress(tool, BATCH)

    assert result.data["ok"]
    assert told == sorted(set(told)), "numbers grow"
    assert {total for _, total in told} == {10}
    assert told[-1][0] >= 9


def test_short_call_reports_no_progress(many_files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "PROGRESS_SECONDS", 3600.0)
    with served(many_files, "md") as calls:
        result, told = calls.call_with_progress("md_apply", BATCH)

    assert result.data["applied"]
    assert told == []
