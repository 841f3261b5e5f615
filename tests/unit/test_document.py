"""Documents in memory do what the engine does on files, and need nothing of the shell."""

import json
import pickle
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mdplan import Code, Document, Engine, Refused, edits, plan_text, to_wire
from tests.conftest import FULL, REPOSITORY
from tests.docs.pages import blocks_of
from tests.support.case_tables import CaseTables
from tests.support.golden_cases import Case, find_cases

CASE_TABLES = CaseTables(__file__)


GUIDE = CASE_TABLES.value("GUIDE")
OF_FILES = {"file", "path", "filePath", "edits", "baseSha256", "encoding", "format"}
# Refusals that only files can get: the base of a document in memory is the document itself.
FILE_CODES = {
    Code.PRECONDITION_REQUIRED,
    Code.STALE_BASE,
    Code.FILE_NOT_FOUND,
    Code.FILE_TOO_LARGE,
    Code.BATCH_TOO_LARGE,
    Code.PATH_INVALID,
    Code.SCHEMA_VIOLATION,
}
# Options that say something of files: what they were, or a schema that lies in one.
NEED_FILES = {"onStale", "jsonSchema"}


def batch_of(case: Case) -> dict[str, Any] | None:
    """The batch of a case on one file and nothing else; None for other cases."""
    batch = case.request("batch") if case.text.find("batch") and not case.settings else None
    if not isinstance(batch, dict) or set(case.before) != {batch.get("file")} or "diff" in batch:
        return None
    if not isinstance(batch.get("edits"), list) or batch.get("updateReferences") == "workspace":
        return None
    if NEED_FILES & set(batch) or case.text.find("concurrent"):
        return None
    return batch


IN_MEMORY = [case for case in find_cases() if batch_of(case) is not None]


@pytest.mark.parametrize("case", IN_MEMORY if FULL else IN_MEMORY[::8], ids=str)
def test_golden_case_gives_the_same_result_in_memory(case: Case) -> None:
    batch = batch_of(case)
    assert batch is not None
    name = batch["file"]
    options = {key: value for key, value in batch.items() if key not in OF_FILES}
    try:
        document = Document.from_bytes(
            case.before[name], batch.get("format"), encoding=batch.get("encoding"), name=name
        )
    except Refused as refused:
        codes = [each.code for each in refused.diagnostics]
        assert codes == [each["code"] for each in case.diagnostics or []]
        return
    report = document.apply(batch["edits"], **options)

    codes = [each.code.value for each in report.diagnostics]
    if "needs files" in (report.error.message if report.error else ""):
        pytest.skip("it needs files")
    if case.diagnostics is not None:
        expected = [each["code"] for each in case.diagnostics]
        if not FILE_CODES & set(expected):
            assert codes == expected
    # An ID that counts equal headings needs a guard, and this call has no hash of the file.
    elif codes != [Code.PRECONDITION_REQUIRED] or "baseSha256" not in batch:
        assert codes == []
        assert report.data == case.after[name]


def test_most_golden_cases_run_in_memory() -> None:
    assert len(IN_MEMORY) > 1_000


def test_collected_edits_equal_typed_edits() -> None:
    document = Document.from_text(GUIDE)
    document.section("Install").append("Then stop it.").rename("Setup")
    document.section("Linux").delete()
    document.front_matter["status"] = "final"
    typed = [
        edits.AppendToSection(section=edits.Section("Guide", "Install"), markdown="Then stop it."),
        edits.RenameHeading(section=edits.Section("Guide", "Install"), new_title="Setup"),
        edits.DeleteSection(section=edits.Section("Guide", "Install", "Linux")),
        edits.SetValue(key=["status"], value="final", create_if_missing=True),
    ]

    assert document.edits == tuple(typed)
    assert document.apply().data == Document.from_text(GUIDE).apply(typed).data
    assert document.text == GUIDE
    assert document.diff() == document.plan().diff


def test_changes_of_the_front_matter_mapping_become_edits() -> None:
    document = Document.from_text(GUIDE)
    matter = document.front_matter
    matter["status"] = "review"
    matter["status"] = "final"
    matter["owner"] = "ann"
    del matter["tags"], matter["owner"]

    assert dict(matter) == {"status": "final"}
    assert [each["op"] for each in document.edits] == ["set_value", "delete_value"]
    assert dict(document.apply().document.front_matter) == {"status": "final"}
    with pytest.raises(KeyError):
        _ = matter["tags"]


def test_unhandled_refusal_raises(tmp_path: Path) -> None:
    document = Document.from_text(GUIDE)
    report = document.apply([edits.DeleteSection(heading="Nowhere")])

    assert not report.ok
    with pytest.raises(Refused, match="SECTION_NOT_FOUND"):
        _ = report.text
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(report)
    (tmp_path / "a.md").write_text(GUIDE)
    with (
        Engine.open([tmp_path], raise_on_refusal=True) as engine,
        pytest.raises(Refused, match="SECTION_NOT_FOUND") as raised,
    ):
        engine.plan(edits.FileEdits("a.md", [edits.DeleteSection(heading="Nowhere")]))
    assert [each.code for each in raised.value.diagnostics] == [Code.SECTION_NOT_FOUND]
    with Engine.open([tmp_path], raise_on_refusal=True) as engine:
        for verb in (engine.stat, engine.read, engine.search, engine.reviews, partial(engine.compare, "a")):
            with pytest.raises(Refused):
                verb("a.md")  # type: ignore[arg-type, operator]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: edits.RenameHeading(heading="A", title="B"), TypeError, "did you mean 'new_title'?"),
        (lambda: edits.RenameHeading(heading="A"), TypeError, "needs 'new_title'"),
        (lambda: edits.RenameHeading("A", new_title="B"), TypeError, "keyword arguments alone"),
        (lambda: edits.RenameHeading(new_title="B"), Refused, "give a target"),
        (lambda: edits.SetHeadingLevel(heading="A", level="two"), Refused, "level"),
        (lambda: edits.Lines(4, 3), Refused, "end is before start"),
        (edits.Section, TypeError, "one address"),
        (
            lambda: edits.DeleteSection(section="A", heading="B"),
            TypeError,
            "'section' or 'heading', and not both",
        ),
        (lambda: edits.FileEdits("a.md", []), Refused, "`edits` is empty"),
        (lambda: edits.Frobnicate, AttributeError, "has no attribute"),
    ],
)
def test_invalid_edit_raises_at_construction(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        make()
    assert message in str(raised.value)


def test_edit_is_immutable_and_copyable() -> None:
    edit = edits.ReplaceLines(lines=edits.Lines(1, 2), markdown="x", expected_text="y")

    assert json.loads(json.dumps(edit)) == edit == pickle.loads(pickle.dumps(edit))
    with pytest.raises(TypeError, match="cannot be changed"):
        edit["op"] = "delete_lines"


def test_wire_report_omits_the_document() -> None:
    wire = to_wire(Document.from_text(GUIDE).apply([edits.DeleteSection(heading="Use")]))

    assert json.loads(json.dumps(wire))["editsApplied"] == 1
    assert "result" not in wire


def test_notebook_shows_the_diff_escaped() -> None:
    report = Document.from_text("# A\n\n<b>\n").plan([edits.RenameHeading(heading="A", new_title="<i>")])

    shown = report._repr_html_()

    assert "&lt;i&gt;" in shown
    assert "<i>" not in shown
    assert repr(report) in shown.replace("&lt;", "<").replace("&gt;", ">")


def test_threads_share_a_document() -> None:
    document = Document.from_text(GUIDE)
    wanted = document.apply([edits.RenameHeading(heading="Use", new_title="Run")]).text
    found: list[str] = []

    def run() -> None:
        found.append(document.apply([edits.RenameHeading(heading="Use", new_title="Run")]).text)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 8


BLOCKED = [
    *("mdplan.storage", "mdplan.engine", "mdplan.documents", "mdplan.cli", "mdplan.mcp", "mdplan.web"),
    *("click", "mcp", "anyio", "platformdirs", "jinja2", "subprocess"),
    *("multiprocessing", "asyncio", "fcntl", "sqlite3"),
]
PROGRAM = CASE_TABLES.value("PROGRAM")


def test_document_imports_no_shell_packages() -> None:
    program = PROGRAM.format(blocked=BLOCKED, text=GUIDE)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)

    assert run.returncode == 0, run.stderr


def test_front_matter_changed_in_place_is_an_edit() -> None:
    document = Document.from_text("---\ntags: [a]\nn: {x: {y: 1}}\nlast: 2026-01-01\n---\n# A\n")
    document.front_matter["tags"].append("b")
    document.front_matter["n"]["x"]["y"] = True
    document.front_matter["last"] = None

    assert len(document.edits) == 3
    assert document.apply().text == "---\ntags: [a, b]\nn: {x: {y: true}}\nlast: null\n---\n# A\n"
    assert pickle.loads(pickle.dumps(document)).apply().text == document.apply().text

    document.front_matter["tags"].remove("b")
    del document.front_matter["last"]
    assert document.apply().text == "---\ntags: [a]\nn: {x: {y: true}}\n---\n# A\n"


def test_document_without_edits_is_its_own_result() -> None:
    document = Document.from_text(GUIDE)

    assert document.apply().text == GUIDE
    assert document.front_matter["tags"] == ["a"]
    assert document.apply([]).document is document


def test_one_edit_needs_no_list() -> None:
    document = Document.from_text("# A\n")

    assert document.apply(edits.RenameHeading(heading="A", new_title="B")).text == "# B\n"
    assert document.plan({"op": "rename_heading", "heading": "A", "newTitle": "B"}).ok


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Document.from_text(b"# A"), TypeError, "from_bytes"),  # type: ignore[arg-type]
        (lambda: Document.from_bytes("# A"), TypeError, "from_text"),  # type: ignore[arg-type]
        (lambda: Document.from_text("# A", "html"), ValueError, "markdown, ini, text"),  # type: ignore[arg-type]
        (lambda: Document.from_text("a\0"), Refused, "Document.from_bytes"),
        (lambda: edits.SetValue(key="a", value=[b"x"]), Refused, "contains bytes"),
        (lambda: edits.AppendToFile(markdown=b"x"), Refused, "decode them"),  # type: ignore[arg-type]
    ],
)
def test_wrong_argument_type_names_the_right_method(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_hints_name_methods_of_the_document() -> None:
    document = Document.from_text("# A\n", name="a.md")
    with pytest.raises(Refused, match=r"document\.stat\(\)"):
        document.section("B")
    refused = document.plan([edits.DeleteSection(heading="B")])

    assert refused.error is not None
    assert refused.error.hint == "see `document.stat()` for the headings of this file"
    with pytest.raises(Refused, match=r"a\.md"):
        Document.from_text("---\na: [\n---\n", name="a.md").front_matter["a"]


def test_create_file_is_refused_in_memory_with_the_reason() -> None:
    refused = Document.from_text("# A\n").apply([edits.CreateFile(markdown="x")])

    assert refused.error is not None
    assert refused.error.message == "create_file needs files, and a document in memory is none"


def test_values_of_a_set_are_sorted() -> None:
    edit = edits.SetValue(key=["tags"], value={"b", "c", "a"}, create_if_missing=True)

    assert edit["value"] == ["a", "b", "c"]
    with pytest.raises(TypeError, match="give a list"):
        edits.SetValue(key=["tags"], value={1, "a"})


ROWS = [
    edits.ReplaceMatch(pattern="nightly", replacement="stable"),
    edits.SetValue(key=["status"], value="final", create_if_missing=True),
]


@CASE_TABLES.parametrize("text", "expected")
def test_row_of_a_corpus_gets_the_edits_that_do_not_hold_yet(text: str, expected: str) -> None:
    given = pickle.loads(pickle.dumps((text, ROWS)))
    report = pickle.loads(pickle.dumps(plan_text(*given)))
    again = plan_text(report.text, ROWS)

    assert report.text == expected
    assert (again.ok, again.no_op, again.text) == (True, True, expected)


@CASE_TABLES.parametrize("text", "edit", "code", "index")
def test_wrong_row_is_a_report(text: str, edit: Any, code: str, index: int | None) -> None:
    error = plan_text(text, [ROWS[0], edit]).error

    assert error is not None
    assert (error.code, error.edit_index) == (code, index)


def test_documented_program_edits_rows_in_processes_of_dask(tmp_path: Path) -> None:
    """The program of use-from-python.md."""
    pytest.importorskip("dask.bag")
    page = REPOSITORY / "docs" / "how-to" / "use-from-python.md"
    (block,) = [each for each in blocks_of(page) if each.info[-1] == "corpus.py"]
    (tmp_path / "corpus.py").write_text(block.text)
    done = subprocess.run(
        [sys.executable, "corpus.py"], check=False, cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("a '# A\\n\\nThe stable build.\\n' None\nb '\\x00' NOT_A_TEXT_FILE")
