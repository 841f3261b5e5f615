"""Every limit of DESIGN section 14 is an option and a variable, and its refusal names them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

from mdplan import limits as limit_options
from mdplan.cli.program import build_program
from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.limits import LimitOption, in_words
from mdplan.mcp.tool import INTRODUCTIONS, ToolDefinition, ToolResult
from mdplan.mcp.toolsets import chosen_tools
from mdplan.settings import DEFAULT_SETTINGS, Settings
from mdplan.storage.filesystem import Durability
from mdplan.storage.store import Store
from tests.conftest import REPOSITORY
from tests.hostile.documents import DOCUMENTS, LONG
from tests.hostile.trial import timed
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import GUIDE, mdplan

CASE_TABLES = CaseTables(__file__)


GROUPS = ("FILES", "PATTERNS", "BATCHES", "GLOBS", "COMMITS", "HISTORY", "REPORTS")
LIMITS: list[LimitOption] = [limit for group in GROUPS for limit in getattr(limit_options, group)]

# What is a choice and no limit.
NO_LIMITS = {"durability", "require_approval", "batch.keep"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a document of 11 lines."""
    (tmp_path / "guide.md").write_text(f"---\ntitle: {'x' * 50}\n---\n{GUIDE}{'a' * 40}!\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def value_of(settings: Settings, limit: LimitOption) -> float:
    value: Any = settings
    for name in limit.setting.split("."):
        value = getattr(value, name)
    return value


def test_defaults_of_options_are_those_of_the_settings() -> None:
    assert {limit.name: limit.default for limit in LIMITS} == {
        limit.name: value_of(DEFAULT_SETTINGS, limit) for limit in LIMITS
    }


def test_every_setting_has_an_option() -> None:
    settings = set(Settings.__struct_fields__) - {"batch"} - NO_LIMITS
    settings |= {f"batch.{name}" for name in DEFAULT_SETTINGS.batch.__struct_fields__} - NO_LIMITS

    assert {limit.setting for limit in LIMITS} == settings


def test_option_changes_its_setting_alone() -> None:
    for limit in LIMITS:
        changed = DEFAULT_SETTINGS.limited(
            {limit: 7, **{other: None for other in LIMITS if other is not limit}}
        )
        assert [other.name for other in LIMITS if value_of(changed, other) != other.default] == [limit.name]


def options_of(command: click.Command) -> dict[str, click.Option]:
    return {
        name.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for name in option.opts
    }


def test_serve_has_every_limit_and_each_has_its_variable() -> None:
    group = build_program()
    assert isinstance(group, click.Group)
    serve = group.get_command(click.Context(group), "serve")
    assert serve is not None
    options = options_of(serve)

    for limit in LIMITS:
        assert options[limit.name].envvar == limit.variable
        assert limit.variable in (options[limit.name].help or "")


def test_page_on_limits_has_each_with_its_variable_and_default() -> None:
    page = (REPOSITORY / "docs" / "reference" / "limits.md").read_text(encoding="utf-8")
    table = page[page.index("## Options") : page.index("## Commands")]
    rows = [line.split(" | ") for line in table.split("\n") if line.startswith("| `--")]

    assert sorted([row[0].split()[1], row[1], row[3]] for row in rows) == sorted(
        [f"`--{limit.name}", f"`{limit.variable}`", in_words(limit.default)] for limit in LIMITS
    )


BATCH = CASE_TABLES.value("BATCH")
CATASTROPHE = ["search", "--regex", r"(a|aa)+$", "guide.md"]
FRONT_MATTER = {"file": "guide.md", "edits": [{"op": "set_front_matter", "key": "k", "value": 1}]}
GROWTH = {"file": "guide.md", "edits": [{"op": "append_to_file", "markdown": "x\n" * 300}]}

TWO_FILES = {
    "files": [{"file": f"{n}.md", "edits": [{"op": "create_file", "markdown": "x"}]} for n in range(2)]
}

MET: dict[str, tuple[list[str], Mapping[str, Any] | bytes, Code]] = {
    "max-file-bytes=20": (["stat", "guide.md"], b"", Code.FILE_TOO_LARGE),
    "max-file-bytes=500": (["plan"], GROWTH, Code.FILE_TOO_LARGE),
    "max-lines=5": (["read", "guide.md"], b"", Code.FILE_TOO_LARGE),
    "max-lines=100": (["plan"], GROWTH, Code.FILE_TOO_LARGE),
    "max-front-matter=30": (["plan"], FRONT_MATTER, Code.FRONT_MATTER_INVALID),
    "max-regex-seconds=0.05": (CATASTROPHE, b"", Code.REGEX_TIMEOUT),
    "max-files=1": (["plan"], TWO_FILES, Code.BATCH_TOO_LARGE),
    "max-edits=1": (["apply"], BATCH, Code.BATCH_TOO_LARGE),
    "max-payload=30": (["validate"], BATCH, Code.BATCH_TOO_LARGE),
}


@pytest.mark.requirement("hostile-1")
@pytest.mark.parametrize("form", ["option", "variable"])
@pytest.mark.parametrize("given", MET)
def test_exceeded_limit_is_reported_with_its_option(folder: Path, given: str, form: str) -> None:
    name, value = given.split("=")
    arguments, stdin, code = MET[given]
    before = (folder / "guide.md").read_bytes()
    limit = next(each for each in LIMITS if each.name == name)
    options = [f"--{name}", value] if form == "option" else []
    environment = {limit.variable: value} if form == "variable" else {}

    run = mdplan(*arguments, "--json", *options, stdin=stdin, environment=environment)

    error = run.json["error"]
    is_refused = error["code"] == code and (folder / "guide.md").read_bytes() == before
    assert is_refused, run.json
    assert run.code == code.exit
    if code is not Code.FRONT_MATTER_INVALID:
        assert f"--{name}" in error["hint"]
    assert not (folder / ".mdplan").exists()


@pytest.mark.parametrize("given", MET)
def test_raised_limit_allows_the_same_request(folder: Path, given: str) -> None:
    """But for the pattern, which would take for ever."""
    arguments, stdin, code = MET[given]
    run = mdplan(*arguments, "--json", stdin=stdin)

    if code is Code.REGEX_TIMEOUT:
        assert "more than 1 s" in run.json["error"]["message"]
    else:
        assert (
            run.json["error"]["code"] == Code.PRECONDITION_REQUIRED
            if arguments == ["apply"]
            else run.json["ok"]
        )


@pytest.mark.parametrize("value", ["0", "-1", "x", "nan", "inf", "1e400", "9" * 5000 + "x"])
@pytest.mark.parametrize("name", ["max-lines", "max-regex-seconds"])
def test_invalid_limit_is_a_usage_error(folder: Path, name: str, value: str) -> None:
    run = mdplan("search", f"--{name}", value, "x", "guide.md")

    assert run.code == 2
    assert f"--{name}" in run.err


def test_expired_plans_are_deleted(folder: Path) -> None:
    plan_id = mdplan("plan", "--json", stdin=BATCH).json["planId"]
    with Store(str(folder)).write() as database:
        database.execute("UPDATE plans SET saved_at = 1")
    mdplan("plan", "--json", "--keep-plans", "1", stdin=TWO_FILES)

    run = mdplan("show", plan_id, "--json")
    assert run.json["error"]["code"] == Code.PLAN_NOT_FOUND
    assert "--keep-plans" in run.json["error"]["hint"]


@CASE_TABLES.parametrize("options", "path", "glob")
def test_file_outside_the_globs_is_refused_naming_the_option(
    folder: Path, options: list[str], path: str, glob: str
) -> None:
    """To be read, looked at, searched, edited, made and moved to."""
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_text("# Secret\n")
    edit = {"file": path, "edits": [{"op": "append_to_file", "markdown": "x"}]}
    make = {"file": path, "edits": [{"op": "create_file", "markdown": "x"}]}
    for arguments, stdin in (
        (["read", path], b""),
        (["stat", path], b""),
        (["search", "Secret", path], b""),
        (["plan"], edit),
        (["plan"], make),
    ):
        run = mdplan(*arguments, "--json", *options, stdin=stdin)
        error = run.json["error"] or {}
        is_refused = error.get("code") == Code.PATH_OUTSIDE_ROOT and f"`{glob}`" in error["message"]
        assert is_refused, run.json
    assert "Secret" not in json.dumps(mdplan("search", "Secret", ".", "--json", *options).json["files"])


def test_limit_names_are_unique() -> None:
    assert len({limit.name for limit in LIMITS}) == len(LIMITS)


# --- No answer to an agent is longer than the limit on reports, whatever a document holds or a batch
# does.

MOST = Settings().report_characters
LINES_AROUND = 20


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "d").mkdir()
    for number in range(600):
        text = f"# {LONG}\n\nneedle {LONG}\n[a](gone{LONG})\n"
        (folder / "d" / f"{'f' * 200}{number}.md").write_text(text)
    return folder


@pytest.fixture
def tools(root: Path) -> Iterator[dict[str, ToolDefinition]]:
    engine = Engine.open([root], settings=Settings(durability=Durability.PROCESS))
    yield tools_of(engine)
    engine.workspace.close()


def tools_of(engine: Engine) -> dict[str, ToolDefinition]:
    return {tool.name: tool for tool in chosen_tools(engine, list(INTRODUCTIONS), [], read_only=False)}


def check_short(tool: ToolDefinition, arguments: dict[str, Any], most: int = MOST) -> ToolResult:
    answer, _seconds = timed(lambda: tool.call(arguments))
    longest = max(len(json.dumps(answer.structured, ensure_ascii=False)), len(answer.text))
    is_short = longest <= most
    assert is_short, (tool.name, arguments, longest)
    return answer


def calls_on(file: str) -> list[tuple[str, dict[str, Any]]]:
    """Calls that ask for as much as they can."""
    return [
        ("md_stat", {"file": file}),
        ("md_stat", {"file": file, "detail": "brief"}),
        ("md_stat", {"file": file, "detail": "full", "limit": 100_000, "links": True}),
        ("md_read", {"file": file}),
        ("md_read", {"file": file, "maxCharacters": 1_000_000}),
        ("md_read", {"targets": [{"file": file, "startLine": line} for line in (1, 2, 3)] * 30}),
        ("md_search", {"file": file, "pattern": "a", "limit": 1000, "context": LINES_AROUND}),
        ("md_search", {"file": file, "pattern": ".", "matchType": "regex", "limit": 1000}),
        ("TextInspect", {"filePath": file, "mode": "structure"}),
        ("TextInspect", {"filePath": file, "mode": "search", "query": "a", "context": 5}),
        ("TextInspect", {"filePath": file, "mode": "lines", "query": "1-100000"}),
        ("TextRead", {"filePath": file, "target": {"lines": {"start": 1, "end": 3}}}),
        ("TextRead", {"filePath": file, "target": {"section": "none"}}),
        ("read_files", {"files": [{"path": file}] * 5}),
        ("grep_content", {"pattern": "a", "search_path": file, "context_lines": LINES_AROUND}),
    ]


QUICK = ("levels.md", "controls.md", "regions.md")


@pytest.mark.requirement("hostile-3")
@pytest.mark.parametrize(
    "file", [file if file in QUICK else pytest.param(file, marks=pytest.mark.slow) for file in DOCUMENTS]
)
def test_read_output_of_a_document_never_exceeds_the_limit(
    tools: dict[str, ToolDefinition], file: str
) -> None:
    for name, arguments in calls_on(file):
        check_short(tools[name], arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("md_stat", {"file": "d"}),
        ("md_stat", {"file": "d", "limit": 5000, "links": True}),
        ("md_stat", {"file": "**/*.md", "limit": 5000}),
        ("md_search", {"file": "d", "pattern": "needle", "limit": 1000, "context": 50}),
        ("grep_content", {"pattern": "needle", "search_path": "d", "context_lines": 50}),
        ("read_files", {"files": [{"path": f"d/{'f' * 200}{number}.md"} for number in range(100)]}),
    ],
)
def test_read_output_of_a_folder_never_exceeds_the_limit(
    tools: dict[str, ToolDefinition], name: str, arguments: dict[str, Any]
) -> None:
    check_short(tools[name], arguments)


def test_output_limit_is_an_option(root: Path) -> None:
    settings = Settings(durability=Durability.PROCESS, report_characters=8_000)
    engine = Engine.open([root], settings=settings)
    tools = tools_of(engine)
    for name, arguments in calls_on("levels.md"):
        check_short(tools[name], arguments, most=8_000)
    engine.workspace.close()


def test_truncated_search_continues_at_its_cursor(tools: dict[str, ToolDefinition]) -> None:
    """All matches are listed, each once."""
    lines: list[int] = []
    cursor: dict[str, str] = {}
    for _ in range(100):
        asked = {"file": "wide.md", "pattern": "ab", "limit": 1000, "context": LINES_AROUND}
        arguments = {**asked, "verbosity": "full", **cursor}
        report = check_short(tools["md_search"], arguments).structured
        lines += [
            hit["line"] for found in report["files"] for group in found["groups"] for hit in group["hits"]
        ]
        if "nextCursor" not in report:
            break
        cursor = {"cursor": report["nextCursor"]}

    assert lines == list(range(3, 203))


def test_truncated_text_continues_at_its_cursor(tools: dict[str, ToolDefinition]) -> None:
    content = ""
    cursor: dict[str, str] = {}
    for _ in range(100):
        arguments = {"file": "quotes.md", "maxCharacters": 1_000_000, **cursor}
        (result,) = check_short(tools["md_read"], arguments).structured["results"]
        content += result["content"]
        if "nextCursor" not in result:
            break
        cursor = {"cursor": result["nextCursor"]}

    assert content == DOCUMENTS["quotes.md"]


@pytest.fixture
def writing(tmp_path: Path) -> Iterator[dict[str, ToolDefinition]]:
    """Tools over a folder with a file of two thousand long sections, and two thousand files."""
    text = "".join(f"# {LONG}{number}\n\nold {number}\n\n" for number in range(2_000))
    (tmp_path / "a.md").write_text(text)
    engine = Engine.open([tmp_path], settings=Settings(durability=Durability.PROCESS))
    yield tools_of(engine)
    engine.workspace.close()


def huge_batches() -> dict[str, dict[str, Any]]:
    sections = [f"{LONG}{number}" for number in range(2_000)]
    many = {"op": "replace_match", "pattern": "old", "replacement": "new", "matchSelection": "all"}
    return {
        "an edit a section": {
            "file": "a.md",
            "edits": [
                {"op": "append_to_section", "headingPath": [name], "markdown": "x"} for name in sections
            ],
        },
        "matches": {"file": "a.md", "edits": [many]},
        "matches that are only looked at": {
            "file": "a.md",
            "edits": [{"op": "preview_match", "pattern": "n", "matchSelection": "all"}],
        },
        "files": {
            "files": [
                {
                    "file": f"d/{'f' * 150}{number}.md",
                    "edits": [{"op": "create_file", "markdown": "x\n" * 20}],
                }
                for number in range(500)
            ]
        },
        "one long line": {"file": "b.md", "edits": [{"op": "create_file", "markdown": "x" * 1_000_000}]},
        "deletions": {"file": "a.md", "edits": [{"op": "delete_section", "headingPath": [sections[0]]}]},
        "problems": {
            "file": "a.md",
            "edits": [{"op": "delete_section", "headingPath": [f"{name}?"]} for name in sections[:900]],
        },
        "unknown fields": {
            "file": "a.md",
            "edits": [
                {"op": "delete_section", "headingPath": ["x"], **{f"{LONG}{n}": 1 for n in range(800)}}
            ],
        },
    }


@pytest.mark.slow
@pytest.mark.parametrize("case", huge_batches())
@pytest.mark.parametrize("name", ["md_validate", "md_apply"])
def test_report_of_a_huge_batch_never_exceeds_the_limit(
    writing: dict[str, ToolDefinition], case: str, name: str
) -> None:
    """Editing and undoing, and the history of it."""
    check_short(writing[name], huge_batches()[case])
    check_short(writing["md_apply"], {**huge_batches()[case], "dryRun": True})
    for arguments in ({}, {"action": "undo"}, {"limit": 100}):
        check_short(writing["md_history"], arguments)


def test_report_counts_its_omitted_entries(writing: dict[str, ToolDefinition]) -> None:
    batch = huge_batches()["an edit a section"]
    report = check_short(
        writing["md_validate"], {**batch, "edits": batch["edits"][:900], "verbosity": "full"}
    ).structured

    assert len(report["editResults"]) + report["leftOut"]["editResults"] == 900
    assert report["diffTruncated"]


def test_listings_say_how_many_rows_they_omit(tmp_path: Path) -> None:
    most, count = 8_000, 60
    settings = Settings(durability=Durability.PROCESS, report_characters=most)
    engine = Engine.open([tmp_path], settings=settings)
    tools = tools_of(engine)
    names = [f"d/{'f' * 200}{number}.md" for number in range(count)]
    for text in ("a", "b"):
        edit = {"op": "create_file", "markdown": text}
        made = {"files": [{"file": f"{text}/{name}", "edits": [edit]} for name in names]}
        check_short(tools["md_validate"], made, most)
        applied = check_short(tools["md_apply"], made, most)
        assert rows_of(applied.structured, "files") == count

    for number in range(count):
        edit = {"op": "create_file", "markdown": "x"}
        tools["md_apply"].call({"file": f"c/{'f' * 200}{number}.md", "edits": [edit]})
    history = check_short(tools["md_history"], {"limit": 200}, most)
    assert rows_of(history.structured, "transactions") == count + 2
    engine.close()


def rows_of(data: dict[str, Any], what: str) -> int:
    """Return the number of listed and omitted rows."""
    return len(data[what]) + int(data["leftOut"][what])
