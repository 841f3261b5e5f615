"""Commands and programs on the pages run in order and give the shown output."""

import ast
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdplan.diagnostics import Exit
from mdplan.engine.engine import Engine
from mdplan.field_names import BATCH_SYNONYMS, EDIT_SYNONYMS
from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.headings import canonical_heading, heading_title
from mdplan.markdown.matches import EXCLUDED_BY_DEFAULT
from mdplan.markdown.outline import Outline
from mdplan.markdown.tables import NodeKind
from mdplan.planning.results import MOST_MATCHES as LISTED
from mdplan.text.pattern import MOST_MATCHES, MOST_PARTS
from mdplan.text.source import Source
from tests.conftest import REPOSITORY
from tests.docs.pages import DOCS, blocks_of, name_of, pages, prose_of
from tests.docs.semantics import Example, examples_of, outcome_of
from tests.docs.shown import COMMITTER, masked, remade
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import Run, mdplan

CASE_TABLES = CaseTables(__file__)


# These have other tests: test_architecture.py and test_semantics.py.
_OTHERWISE = {DOCS / "explanation" / "architecture.md", DOCS / "explanation" / "semantics.md"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is empty."""
    folder = tmp_path / "samples"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, value in COMMITTER.items():
        monkeypatch.setenv(name, value)
    return folder


SHOWN = [
    page
    for folder in ("how-to", "explanation")
    for page in sorted((DOCS / folder).glob("*.md"))
    if page not in _OTHERWISE
]


@pytest.mark.requirement("bot-3")
@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.stem)
def test_examples_of_the_page_give_the_shown_output(page: Path, folder: Path, *, update_cases: bool) -> None:
    """Pages begin with the samples; --update-cases writes a page anew."""
    text = page.read_text(encoding="utf-8")
    if "\n$ git " in text and shutil.which("git") is None:
        pytest.skip("git is not installed")
    ignored = shutil.ignore_patterns("batches", "*.sh")
    shutil.copytree(DOCS / "samples", folder, ignore=ignored, dirs_exist_ok=True)
    (folder / ".git").mkdir()
    now = remade(text, folder)
    if update_cases and masked(now) != masked(text):
        page.write_text(now, encoding="utf-8")
        text = now

    assert masked(now) == masked(text)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_page_has_one_title_and_no_broken_links(page: Path) -> None:
    prose = prose_of(page)
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", prose)

    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
    assert [target for target in targets if not (page.parent / target).exists()] == []
    assert str(REPOSITORY) not in prose


# --- Our own documents match `.ci/documents.yaml`, and the check names those that do not.

MANIFEST = REPOSITORY / ".ci" / "documents.yaml"

# File, old text and new text: each breaks another line of the manifest.
WRONG = CASE_TABLES.value("WRONG", tuples=True)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all that the manifest is about."""
    folder = tmp_path_factory.mktemp("documents")
    for name in ("README.md", "CHANGELOG.md"):
        shutil.copy(REPOSITORY / name, folder)
    ignored = shutil.ignore_patterns("reference", "samples", "__pycache__")
    shutil.copytree(REPOSITORY / "docs", folder / "docs", ignore=ignored)
    return folder


def check(folder: Path) -> Run:
    return mdplan("bot", "check", str(MANIFEST), "--root", str(folder), "--jobs", "1", "--json")


@pytest.mark.requirement("docs-6")
def test_documents_pass_their_manifest(documents: Path) -> None:
    run = check(documents)

    assert run.code == Exit.DONE, run.out.decode() + run.err


@pytest.mark.requirement("docs-6")
@pytest.mark.parametrize("fault", WRONG)
def test_changed_document_is_reported(fault: str, documents: Path) -> None:
    name, pattern, replacement = WRONG[fault]
    text = (documents / name).read_text(encoding="utf-8")
    wrong = re.sub(pattern, replacement, text, count=1)
    assert wrong != text
    (documents / name).write_text(wrong, encoding="utf-8")
    run = check(documents)
    (documents / name).write_text(text, encoding="utf-8")

    assert run.code == Exit.WOULD_CHANGE
    assert [file["file"] for file in run.json["files"] if file["changed"]] == [name]


def test_lint_checks_the_documents() -> None:
    shown = subprocess.run(
        ["make", "--dry-run", "lint"], capture_output=True, check=True, cwd=REPOSITORY, encoding="utf-8"
    )

    assert "mdplan bot check .ci/documents.yaml" in shown.stdout


# --- Generated reference pages are complete.

REFERENCE = REPOSITORY / "docs" / "reference"
PACKAGE = REPOSITORY / "mdplan"


def variables() -> Iterator[str]:
    """Names of variables of our own that stand in the code as texts."""
    for module in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_bytes())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r"^MDPLAN_[A-Z_]+$", node.value)


def test_every_variable_is_on_its_page() -> None:
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    found = set(variables())

    assert "MDPLAN_STATE_DIR" in found
    assert sorted(name for name in found if f"| `{name}` |" not in page) == []


def test_pages_contain_no_text_that_browsers_read_as_a_tag() -> None:
    """Text outside code would be HTML; the note at the top consists of it."""
    for page in REFERENCE.rglob("*.md"):
        text = re.sub(
            r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        tags = re.findall(r"<[^>\n]*>", re.sub(r"(`+)[^`].*?\1", "", text))

        assert [
            tag for tag in tags if "Generated by" not in tag and not tag.startswith("<!-- Generated")
        ] == [], page


# --- Each row of the table in `docs/explanation/section-ids.md` says what happens to the ID.

PAGE = (REPOSITORY / "docs" / "explanation" / "section-ids.md").read_text(encoding="utf-8")
BEFORE = "# Guide\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"

# The document after the change of each row, and the heading path of the section then.
AFTER = {
    "text of the section": (BEFORE.replace("Run it.", "Run it twice."), ["Install"]),
    "lines are added": (BEFORE.replace("# Guide\n", "# Guide\n\nHello.\n"), ["Install"]),
    "another section is added": (BEFORE.replace("## Install", "## New\n\n## Install"), ["Install"]),
    "the level of the heading": (BEFORE.replace("## Install", "### Install"), ["Install"]),
    "the heading is marked": (BEFORE.replace("## Install", "## *Install*"), ["Install"]),
    "letters of the heading": (BEFORE.replace("## Install", "## INSTALL"), ["INSTALL"]),
    "`#` becomes an underline": (BEFORE.replace("## Install", "Install\n-------"), ["Install"]),
    "the heading is renamed": (BEFORE.replace("## Install", "## Set up"), ["Set up"]),
    "punctuation of the heading": (BEFORE.replace("## Install", "## Install++"), ["Install++"]),
    "a heading above it": (BEFORE.replace("# Guide", "# Manual"), ["Install"]),
    "it moves below": (BEFORE.replace("## Install", "## First\n\n### Install"), ["Install"]),
    "an equal section": (BEFORE.replace("## Install", "## Install\n\n## Install"), ["Install"]),
}

ROWS = re.findall(r"^\| ([^|]+) \| (stays|changes) \|$", PAGE, re.MULTILINE)


def id_of(text: str, path: list[str]) -> str:
    source = Source.decode(text.encode())
    assert isinstance(source, Source)
    outline = Outline(source)
    occurrence = 2 if text.count("## Install\n") > 1 else None
    section = find_by_path(outline, path, occurrence)
    return section.section_id


@pytest.mark.parametrize(("change", "told"), ROWS)
def test_documented_row_matches_what_happens_to_the_section_id(change: str, told: str) -> None:
    (after,) = [after for begin, after in AFTER.items() if change.startswith(begin)]

    assert (id_of(*after) == id_of(BEFORE, ["Install"])) is (told == "stays")


def test_each_kind_of_change_has_a_row() -> None:
    assert len(ROWS) == len(AFTER)


# --- The page on semantics says what the engine does, to the byte.

SEMANTICS_PAGE = (REPOSITORY / "docs" / "explanation" / "semantics.md").read_text(encoding="utf-8")
EXAMPLES = list(examples_of(SEMANTICS_PAGE))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.title)
def test_semantics_example_has_the_documented_result(example: Example, tmp_path: Path) -> None:
    diff, said = outcome_of(example.document, json.loads(example.batch), example.verb, tmp_path)

    assert diff == example.diff
    assert said == example.said


def test_ten_documents_have_several_examples_each() -> None:
    counts = Counter(example.document.shown for example in EXAMPLES)

    assert len(counts) == 10
    assert min(counts.values()) >= 5


def test_every_block_is_part_of_an_example() -> None:
    path = REPOSITORY / "docs" / "explanation" / "semantics.md"
    kinds = Counter(block.info[0] if block.info else "" for block in blocks_of(path))
    shown = Counter(
        kind for each in EXAMPLES for kind, text in (("diff", each.diff), ("text", each.said)) if text
    )

    assert kinds == {"markdown": 10, "json": len(EXAMPLES), **shown}


# --- The page of rules agrees with the code.

RULES_PAGE = (REPOSITORY / "docs" / "reference" / "semantics-rules.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """Cells of the first table below `heading`, as they stand there."""
    _, _, text = RULES_PAGE.partition(f"# {heading}\n")
    table = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


def code(cell: str) -> str:
    """The text of a cell that is one code span."""
    found = re.fullmatch(r"(`+) ?(.*?) ?\1", cell)
    assert found is not None, cell
    return found[2]


def test_canonical_headings_match_the_documented_table() -> None:
    for heading, canonical in rows("Canonical headings"):
        assert canonical_heading(heading_title(code(heading))) == code(canonical)


def test_skipped_node_kinds_are_the_documented_ones() -> None:
    told = {code(kind): default for kind, _, default in rows("What matches skip")}

    assert told == {kind: "skipped" if kind in EXCLUDED_BY_DEFAULT else "searched" for kind in NodeKind}


def test_limits_match_the_documented_numbers() -> None:
    assert f"more than {MOST_PARTS:,} parts" in RULES_PAGE
    assert f"more than {MOST_MATCHES:,} times" in RULES_PAGE
    assert f"the first {LISTED}, each" in RULES_PAGE


def test_documented_field_synonyms_are_accepted() -> None:
    told = {
        sent: code(meant)
        for cell, meant in rows("Other spellings")
        if meant.count("`") == 2
        for sent in re.findall(r"`(\w+)`", cell)
    }

    assert told == {**BATCH_SYNONYMS, **EDIT_SYNONYMS}


@pytest.mark.parametrize(
    ("edit", "places"),
    [
        ({"pattern": "x"}, ["3:5"]),
        ({"pattern": "`old`"}, ["3:7"]),
        ({"pattern": "old"}, ["3:13"]),
        ({"pattern": "old", "include": ["inlineCode", "linkDestinations"]}, ["3:8", "3:13", "5:5"]),
        ({"pattern": "(?<=u.*)x", "matchType": "regex"}, []),
        ({"pattern": "(?<=ü.*)x", "matchType": "regex"}, ["3:5"]),
        ({"pattern": "gone"}, []),
    ],
    ids=json.dumps,
)
def test_match_counts_follow_the_documented_rules(
    edit: dict[str, object], places: list[str], tmp_path: Path
) -> None:
    """Line 3 is an umlaut, an emoji of two code points, a tab, x, code, a word."""
    (tmp_path / "a.md").write_text("# A\n\nü👍🏽\tx `old` old\n\n[l](old)\n", encoding="utf-8")
    with Engine.open([tmp_path]) as engine:
        report = engine.plan({"file": "a.md", "edits": [{"op": "preview_match", **edit}]})

    assert [f"{match.line}:{match.col}" for match in report.edit_results[0].matches] == places
