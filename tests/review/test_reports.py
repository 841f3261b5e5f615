"""Warnings and refusals as SARIF: complete, in place, and valid by the official schema where there is one."""

import html.parser
import json
import os
from pathlib import Path
from typing import Any

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from mdplan.cli.views import markdown_comment
from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.engine.reviews import OpenPlan, ReviewService
from mdplan.review.sarif import fixes_of, sarif_log
from mdplan.text.lines import Position
from mdplan.text.source import ByteEdit
from tests.support.case_tables import CaseTables
from tests.support.patches import creation_diff, deletion_diff, unified_diff

CASE_TABLES = CaseTables(__file__)


PROBLEMS = [
    Diagnostic.warning(Code.BROKEN_LINK, "the link resolves to nothing", "mend it", place=Position(3, 7)).at(
        file="docs/a b%é.md", edit_index=2
    ),
    Diagnostic(code=Code.STALE_BASE, message="moved on", file="name:b.md"),
    Diagnostic(code=Code.BATCH_TOO_LARGE, message="too much \udcff"),
]


def test_each_problem_is_a_result_at_its_place() -> None:
    (run,) = sarif_log(PROBLEMS, "bot.yml")["runs"]

    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "BATCH_TOO_LARGE",
        "BROKEN_LINK",
        "STALE_BASE",
    ]
    assert [(result["ruleId"], result["ruleIndex"], result["level"]) for result in run["results"]] == [
        ("BROKEN_LINK", 1, "warning"),
        ("STALE_BASE", 2, "error"),
        ("BATCH_TOO_LARGE", 0, "error"),
    ]
    assert run["results"][0]["locations"] == CASE_TABLES.value("test_each_problem_is_a_result_at_its_place")
    assert run["results"][0]["properties"] == {"editIndex": 2}
    assert run["results"][0]["message"]["text"] == "the link resolves to nothing. mend it"
    assert run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "name%3Ab.md"
    assert run["results"][2]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "bot.yml", "uriBaseId": "ROOT"},
        "region": {"startLine": 1},
    }


def test_sarif_log_encodes_as_utf_8() -> None:
    text = json.dumps(sarif_log(PROBLEMS, "bot.yml"), ensure_ascii=False)

    assert json.loads(text.encode("utf-8"))["version"] == "2.1.0"


def test_no_problems_give_an_empty_run() -> None:
    assert sarif_log([], "bot.yml")["runs"][0]["results"] == []


def results_of(diff: bytes) -> list[dict[str, Any]]:
    fixes = fixes_of(diff.decode("utf-8", "surrogateescape"))
    results: list[dict[str, Any]] = sarif_log([], "bot.yml", fixes)["runs"][0]["results"]
    return results


def fixed(text: str, results: list[dict[str, Any]]) -> str:
    """`text` with all fixes of `results`, as a reader of SARIF makes them."""
    lines = text.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines) + 1)]
    for result in reversed(results):
        (replacement,) = result["fixes"][0]["artifactChanges"][0]["replacements"]
        region = replacement["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:start] + replacement["insertedContent"]["text"] + text[end:]
    return text


LINES = st.lists(st.sampled_from(["a", "b", "", "é🙂", "x\r", "```"]), max_size=12)


@given(LINES, LINES, LINES, LINES, st.sampled_from(["", "\n"]), st.sampled_from(["", "\n"]))
def test_sarif_fixes_give_the_planned_result(
    head: list[str], old: list[str], new: list[str], tail: list[str], end: str, new_end: str
) -> None:
    before, after = "\n".join([*head, *old, *tail]) + end, "\n".join([*head, *new, *tail]) + new_end
    data, result = before.encode(), after.encode()
    start = len("".join(f"{line}\n" for line in head).encode()) if old and new else 0
    kept = len("".join(f"\n{line}" for line in tail).encode()) if start and end == new_end == "" else 0
    edit = ByteEdit(start, len(data) - kept, result[start : len(result) - kept])
    results = results_of(unified_diff("docs/a.md", data, [edit])) if data and data != result else []

    assert data == b"" or fixed(before, results) == after
    for found in results:
        region = found["locations"][0]["physicalLocation"]["region"]
        assert 1 <= region["startLine"] <= region["endLine"] <= before.removesuffix("\n").count("\n") + 1


def test_fix_that_inserts_lines_includes_a_neighbouring_line() -> None:
    (first,) = results_of(unified_diff("a.md", b"one\n", [ByteEdit(0, 0, b"zero\n")]))
    (last,) = results_of(unified_diff("a.md", b"one\n", [ByteEdit(4, 4, b"two\n")]))

    made = [each["fixes"][0]["artifactChanges"][0]["replacements"][0] for each in (first, last)]
    assert [each["insertedContent"]["text"] for each in made] == ["zero\none\n", "one\ntwo\n"]
    assert [each["deletedRegion"]["startLine"] for each in made] == [1, 1]


def test_created_deleted_and_binary_files_have_no_fix() -> None:
    (invalid,) = results_of(unified_diff("a.md", b"one\n", [ByteEdit(0, 0, b"\xff")]))

    assert results_of(creation_diff("a.md", b"x\n") + deletion_diff("b.md", b"x\n")) == []
    assert "fixes" not in invalid


CHANGES = list(fixes_of(unified_diff("a b.md", b"one\ntwo", [ByteEdit(4, 7, b"2\n3")]).decode()))


@pytest.mark.parametrize("problems", [PROBLEMS, []])
def test_sarif_log_matches_the_official_schema(problems: list[Diagnostic]) -> None:
    path = os.environ.get("MDPLAN_SARIF_SCHEMA")
    if not path:
        pytest.skip("MDPLAN_SARIF_SCHEMA names no copy of the SARIF 2.1.0 schema: it is not validated")
    Draft7Validator(json.loads(Path(path).read_bytes())).validate(sarif_log(problems, "bot.yml", CHANGES))


# --- A plan as a comment on a pull request: it fits, folds, and nothing in it breaks out of its code.

GOLDEN = Path(__file__).parent / "comments"
GITHUB_LIMIT = 65_536

TAGS = {
    "code", "details", "h3", "li", "p", "pre", "strong", "summary", "table", "tbody", "td", "th", "thead",
    "tr", "ul",
}  # fmt: skip

# Each stands in the place of EVIL@x: it tries to end its block, to link, to mention, to run.


class Outside(html.parser.HTMLParser):
    """Collects the tags of a page, and the text that stands in no code."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.depth += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "code"

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.text += data


def outside_of_code(comment: str) -> Outside:
    """Return the text outside code in `comment` as rendered by cmark-gfm, GitHub's parser."""
    page = Outside()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(comment, Options.CMARK_OPT_UNSAFE))
    return page


def opened(root: Path, *files: object, **options: object) -> OpenPlan:
    engine = Engine.open([root])
    report = engine.plan({"files": list(files), **options})
    assert report.ok, report.error
    found = ReviewService(engine).open(report.plan_id)
    assert isinstance(found, OpenPlan)
    return found


def comment_of(plan: OpenPlan) -> str:
    return markdown_comment(plan.review, plan.file)


def hostile_plan(root: Path, text: str) -> OpenPlan:
    """Return a plan with `text` as base, search text, new text and heading."""
    title = " ".join(text.split("\n"))
    (root / "a.md").write_bytes(f"# {title}\n\nold {text}\n\nlast".encode())
    edits = [
        {"op": "replace_match", "pattern": "old", "replacement": text},
        {"op": "replace_match", "pattern": text, "replacement": "gone", "matchSelection": "all",
         "include": ["html", "linkDestinations", "codeBlocks", "inlineCode", "images"], "minMatches": 0},
        {"op": "append_to_file", "markdown": text},
    ]  # fmt: skip
    files = [
        {"file": "a.md", "edits": edits},
        {"file": "b.md", "edits": [{"op": "create_file", "markdown": "b"}]},
    ]
    return opened(root, *files, allowOutlineChange=True, allowDuplicateHeadings=True, sequential=True)


@pytest.mark.requirement("review-3")
@CASE_TABLES.parametrize("text")
def test_text_of_files_and_callers_stays_in_code(tmp_path: Path, text: str) -> None:
    comment = comment_of(hostile_plan(tmp_path, text))

    page = outside_of_code(comment)
    assert "EVIL" in comment
    assert "EVIL" not in page.text
    assert page.tags <= TAGS
    assert page.attributes <= {"open", "lang", "class"}
    assert not {character for character in comment if ord(character) < 32} - {"\n", "\t"}
    assert not set("\u202e\u2028\x07\x1b") & set(comment)


@pytest.mark.parametrize(
    "name", ["a`b``c.md", "a|b.md", "@EVIL.md", "a]EVIL(x.md", "a&amp;EVIL.md", "<EVIL>.md"]
)
def test_names_of_files_stay_in_code(tmp_path: Path, name: str) -> None:
    create = {"op": "create_file", "markdown": "x"}
    comment = comment_of(
        opened(tmp_path, {"file": name, "edits": [create]}, {"file": "b.md", "edits": [create]})
    )

    page = outside_of_code(comment)
    assert "EVIL" not in page.text
    assert page.tags <= TAGS


@given(text=st.text(alphabet="`~\\<>&|@#[]()*_\n !ab-", min_size=1, max_size=40))
def test_any_text_stays_in_code(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    root = tmp_path_factory.mktemp("root")
    (root / "a.md").write_text("old\n")
    edit = {"op": "replace_range", "range": {"start": {"line": 1, "col": 1}, "end": {"line": 1, "col": 4}},
            "expectedText": "old", "replacement": f"EVIL{text}EVIL"}  # fmt: skip
    plan = opened(root, {"file": "a.md", "edits": [edit]}, allowOutlineChange=True)

    page = outside_of_code(comment_of(plan))
    assert "EVIL" not in page.text
    assert page.tags <= TAGS


@pytest.mark.slow
def test_long_plan_is_shortened_and_names_omitted_files(tmp_path: Path) -> None:
    files = []
    for number in range(300):
        (tmp_path / f"{number}.md").write_text("old 😀 text\n" * 50)
        edit = {"op": "replace_match", "pattern": "old", "replacement": "new", "matchSelection": "all"}
        files.append({"file": f"{number}.md", "edits": [edit]})

    comment = comment_of(opened(tmp_path, *files))

    assert len(comment.encode("utf-16-le")) // 2 <= GITHUB_LIMIT
    assert len(comment) > GITHUB_LIMIT * 0.7
    assert "| and 200 more | | | |" in comment
    assert "files not shown: `mdplan show sha256-" in comment
    assert comment.count("<details") == comment.count("</details>") > 5
    assert comment.count("```") % 2 == 0


def test_small_files_are_shown_after_one_that_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"old {'x' * GITHUB_LIMIT}\n")
    (tmp_path / "b.md").write_text("old\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}

    comment = comment_of(opened(tmp_path, *({"file": name, "edits": [edit]} for name in ("a.md", "b.md"))))

    assert len(comment) <= GITHUB_LIMIT
    assert "<summary><code>b.md</code>" in comment
    assert "1 file not shown: `mdplan show sha256-" in comment
    assert comment.endswith("\n\n- `a.md`\n")


def test_list_of_omitted_files_ends_with_their_number(tmp_path: Path) -> None:
    text = "x" * 9_000
    names = [f"{number:03}-{'n' * 80}.md" for number in range(60)]
    for name in names:
        (tmp_path / name).write_text(f"old {text}\n")
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new"}

    comment = comment_of(opened(tmp_path, *({"file": name, "edits": [edit]} for name in names)))

    assert len(comment) <= GITHUB_LIMIT
    shown, listed = comment.count("<summary>"), comment.partition("files not shown")[2].count("- `")
    assert f"\n- and {len(names) - shown - listed} more\n" in comment


@pytest.mark.slow
def test_long_file_is_folded_and_cut_between_hunks(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("".join(f"old {number}\n\n" + "same\n\n" * 8 for number in range(2000)))
    edit = {"op": "replace_match", "pattern": "old", "replacement": "new", "matchSelection": "all"}

    comment = comment_of(opened(tmp_path, {"file": "a.md", "edits": [edit]}))

    assert len(comment) <= GITHUB_LIMIT
    assert "<details>\n<summary><code>a.md</code>" in comment
    assert "hunks not shown" in comment
    assert outside_of_code(comment).tags <= TAGS


@pytest.mark.parametrize("name", ["small"])
def test_comment_matches_its_snapshot(tmp_path: Path, name: str, update_cases: bool) -> None:
    (tmp_path / "guide.md").write_bytes(
        b"# Guide\n\nThe nightly build.\n\n[use](#use)\n\n## Use\n\nUse it.\n"
    )
    edits = [
        {"op": "replace_match", "pattern": "nightly", "replacement": "stable"},
        {"op": "rename_heading", "headingPath": ["Use"], "newTitle": "Usage"},
    ]
    create = {"op": "create_file", "markdown": "# New | `page`"}
    plan = opened(tmp_path, {"file": "guide.md", "edits": edits}, {"file": "new.md", "edits": [create]})
    path = GOLDEN / f"{name}.md"
    if update_cases:
        path.parent.mkdir(exist_ok=True)
        path.write_text(comment_of(plan))

    assert comment_of(plan) == path.read_text()
