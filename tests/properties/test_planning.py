"""Laws of planning: what a plan depends on, and what it does not."""

import json
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from hypothesis import assume, event, example, given, note, settings
from hypothesis import strategies as st

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.markdown.outline import Outline
from mdplan.operations import OPERATIONS
from mdplan.planning.plan_document import read_document, write_document
from mdplan.reports.base import to_wire
from mdplan.reports.plan import PlanReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.lines import to_lf
from mdplan.text.source import Source, sha256_hex
from tests.conftest import FULL
from tests.properties.batches import DRAWN, batches
from tests.properties.markdown_documents import documents
from tests.properties.strategies import characters
from tests.support.golden_cases import Tree, read_tree

NAME = "doc.md"

# Each example opens folders and stores plans.
LESS = settings(max_examples=1000 if FULL else 12)
Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"
Batch: TypeAlias = dict[str, Json]


@dataclass(frozen=True)
class Place:
    """A folder with one file, and an engine over it."""

    engine: Engine
    path: Path

    def plan(self, batch: Json) -> PlanReport:
        return self.engine.plan(batch)

    def result_of(self, batch: Batch) -> bytes | list[tuple[Code, int | None]]:
        """Bytes that `batch` makes of the file, or why it does not, in short; pinned to the file as it is."""
        report = self.engine.apply(batch | {"baseSha256": sha256_hex(self.path.read_bytes())})
        event("accepted" if report.ok else f"refused: {report.error.code}")
        if report.ok:
            return self.path.read_bytes()
        return [(problem.code, problem.edit_index) for problem in report.diagnostics]


@contextmanager
def place(*files: bytes) -> Iterator[Place]:
    """A place with the first of `files` as `NAME`, the others as `1.md` and so on."""
    with tempfile.TemporaryDirectory() as folder:
        for number, data in enumerate(files):
            (Path(folder) / (NAME if not number else f"{number}.md")).write_bytes(data)
        engine = Engine.open([folder], settings=Settings(durability=Durability.PROCESS))
        with engine.workspace:
            yield Place(engine, Path(folder) / NAME)


def unicode_text(text: str) -> str:
    """`text` in LF, and without bytes that are no characters."""
    return to_lf(text).encode("utf-8", "replace").decode().replace("\0", "!")


@st.composite
def texts_and_batches(draw: st.DrawFn) -> tuple[str, Batch]:
    """A document in LF and valid Unicode, and a batch on it without hashes."""
    text = unicode_text(draw(documents()))
    batch = draw(batches(Outline(Source.from_text(text)), NAME))
    del batch["baseSha256"]
    edits = [
        {name: value for name, value in edit.items() if name != "sectionSha256"} for edit in batch["edits"]
    ]
    note(repr(text))
    return text, batch | {"edits": edits}


def shuffled(value: Json, order: random.Random) -> Json:
    """`value` with the keys of its objects in another order; new values are written in the order given."""
    match value:
        case dict():
            keys = list(value)
            order.shuffle(keys)
            return {
                key: value[key] if key in {"value", "values"} else shuffled(value[key], order) for key in keys
            }
        case list():
            return [shuffled(item, order) for item in value]
        case _:
            return value


@example(  # The warning names the file of the edits.
    (
        "",
        {
            "file": NAME,
            "sequential": True,
            "edits": [
                {"op": "insert_lines", "line": 1, "position": "before", "markdown": "Text.\n"},
                {"op": "add_to_front_matter_list", "key": ["k"], "value": "a", "createIfMissing": True},
                {"op": "delete_front_matter", "wholeBlock": True},
            ],
        },
    ),
    random.Random(0),
)
@LESS
@given(texts_and_batches(), st.randoms(use_true_random=False))
def test_same_request_gives_the_same_plan_whatever_its_spelling(
    drawn: tuple[str, Batch], order: random.Random
) -> None:
    text, batch = drawn
    listed = {name: value for name, value in batch.items() if name not in {"file", "edits"}}
    listed |= {"files": [{"file": f"./{NAME}", "edits": json.dumps(batch["edits"])}]}
    with place(text.encode()) as here, place(text.encode()) as there:
        first = here.plan(batch)
        others = [here.plan(batch), there.plan(shuffled(batch, order)), there.plan(shuffled(listed, order))]

    for other in others:
        assert (other.plan_id, other.diff) == (first.plan_id, first.diff)
        assert [found.code for found in other.diagnostics] == [found.code for found in first.diagnostics]


NAMES = sorted(
    {field.alias or name for model in OPERATIONS.values() for name, field in model.model_fields.items()}
    | {"scope", "flags", "literal", "nodeExclusions", "expectedMatches", "text", "content", "new_title", "x"}
)

FIELDS = ("start", "end", "line", "col", "min", "max", "index", "range", "html", "heading", "lines")

VALUES = st.one_of(
    st.none() | st.booleans() | st.integers(-1, 4) | st.floats() | st.text(characters(), max_size=3),
    st.sampled_from(["", "all", "1", "# A", "A", "include", "exclude", "html", "i", "regex", "[", "\udc80"]),
    st.sampled_from(['{"html": "include"}', "[1]", '["A"]', '{"start": 1, "end": 1}', '{"min": 1}', "{}"]),
)

JSON_VALUES = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
)

ANY_FIELDS = st.dictionaries(st.sampled_from(NAMES), JSON_VALUES, max_size=6)
ANY_EDITS = ANY_FIELDS | st.builds(dict, ANY_FIELDS, op=st.sampled_from(sorted(OPERATIONS)))
BATCH_FIELDS = ("file", "files", "edits", "dryRun", "accept", "baseSha256", "encoding", "sequential")


@LESS
@given(
    st.lists(ANY_EDITS, max_size=3), st.dictionaries(st.sampled_from(BATCH_FIELDS), JSON_VALUES, max_size=2)
)
def test_any_request_gives_a_plan_or_diagnostics(edits: list[Json], others: Batch) -> None:
    with place(b"# A\n\ntext A\n") as here:
        report = here.plan({"file": NAME, "edits": edits} | others)
        assert here.path.read_bytes() == b"# A\n\ntext A\n"

    json.dumps(to_wire(report), ensure_ascii=False).encode()
    assert report.ok is (report.error is None)


def empties(text: str, batch: Batch) -> bool:
    """Return True if sequential edits leave an empty file on the way, whose line end is unknown."""
    starts = range(1, len(batch["edits"])) if batch.get("sequential") else ()
    for stop in starts:
        with place(text.encode()) as here:
            if here.result_of(batch | {"edits": batch["edits"][:stop]}) == b"":
                return True
    return False


@LESS
@given(texts_and_batches(), st.sampled_from(["\r\n", "\r"]))
@example(
    (
        "# Guide\n",
        {
            "file": NAME,
            "edits": [
                {"op": "delete_lines", "lines": {"start": 1, "end": 1}},
                {"op": "add_to_front_matter_list", "key": ["new"], "value": "a", "createIfMissing": True},
            ],
            "sequential": True,
        },
    ),
    "\r\n",
)
def test_line_ends_make_no_difference(drawn: tuple[str, Batch], line_end: str) -> None:
    text, batch = drawn
    # A diff that fits to the byte keeps the line ends that it writes; its headers count lines that end at LF.
    diffs = [edit["diff"] for edit in batch["edits"] if edit["op"] == "apply_diff"]
    assume(not diffs or (line_end == "\r\n" and not any("\r" in diff for diff in diffs)))
    with place(text.encode()) as in_lf, place(text.replace("\n", line_end).encode()) as other:
        expected, result = in_lf.result_of(batch), other.result_of(batch)

    if isinstance(expected, bytes) and "\n" in text:
        expected = expected.replace(b"\n", line_end.encode())
    assert result == expected or empties(text, batch)


@LESS
@given(texts_and_batches(), st.sampled_from(["utf-16-le", "utf-16-be", "gb18030", "utf-8"]), st.booleans())
def test_encoding_makes_no_difference(drawn: tuple[str, Batch], encoding: str, has_mark: bool) -> None:
    text, batch = drawn
    assume(not text.startswith("\ufeff"))
    mark = "\ufeff" if has_mark and encoding != "gb18030" else ""
    with place(text.encode()) as in_utf8, place((mark + text).encode(encoding)) as other:
        expected = in_utf8.result_of(batch)
        result = other.result_of(batch | ({} if mark else {"encoding": encoding}))

    if isinstance(expected, bytes) and isinstance(result, bytes):
        assert result.decode(encoding) == mark + expected.decode()
    else:
        assert result == expected


@LESS
@given(texts_and_batches(), texts_and_batches())
def test_files_of_a_batch_do_not_touch_each_other(
    first: tuple[str, Batch], second: tuple[str, Batch]
) -> None:
    files = [{"file": NAME, "edits": first[1]["edits"]}, {"file": "1.md", "edits": second[1]["edits"]}]
    data = [text.encode() for text, _ in (first, second)]
    for file, content in zip(files, data, strict=True):
        file["baseSha256"] = sha256_hex(content)
    with place(*data) as both:
        alone = [both.plan(file) for file in files]
        together = both.plan({"files": files})
        report = both.engine.apply({"files": files})
        after = [both.path.read_bytes(), both.path.with_name("1.md").read_bytes()]

    codes = [problem.code for plan in alone for problem in plan.diagnostics]
    assert sorted(problem.code for problem in together.diagnostics) == sorted(codes)
    assert together.ok is report.ok is all(plan.ok for plan in alone)
    if together.ok:
        assert together.diff == "".join(plan.diff for plan in alone)
        assert [sha256_hex(content) for content in after] == [plan.files[0].result_sha256 for plan in alone]
    else:
        assert after == data


def sound_plan(here: Place, batch: Batch) -> PlanReport:
    """Plan the faultless edits of `batch`; no edits if some problem always remains."""
    batch = batch | {"allowOutlineChange": True, "allowDuplicateHeadings": True}
    report = here.plan(batch)
    while not report.ok:
        wrong = {problem.edit_index for problem in report.diagnostics}
        edits = [edit for index, edit in enumerate(batch["edits"]) if index not in wrong]
        batch = batch | {"edits": edits if 0 < len(edits) < len(batch["edits"]) else [NOTHING]}
        report = here.plan(batch)
    return report


NOTHING = {"op": "replace_match", "pattern": "nothing like it", "replacement": "", "minMatches": 0}


@LESS
@given(texts_and_batches())
def test_plan_round_trips_through_its_document(drawn: tuple[str, Batch]) -> None:
    with place(drawn[0].encode()) as here:
        report = sound_plan(here, drawn[1])
        document = here.engine.export(report.plan_id)
        shown = here.engine.show(report.plan_id)

    assert write_document(read_document(document)) == document
    assert json.loads(document)["editResults"] == to_wire(report.edit_results)
    assert (shown.plan_id, shown.diff) == (report.plan_id, report.diff)
    assert (shown.edit_results, shown.warnings) == (report.edit_results, report.warnings)


@LESS
@given(texts_and_batches(), st.data())
def test_tampered_plan_does_the_same_or_nothing(drawn: tuple[str, Batch], data: st.DataObject) -> None:
    base = drawn[0].encode()
    with place(base) as here:
        report = sound_plan(here, drawn[1])
        result = report.files[0].result_sha256
        document = here.engine.export(report.plan_id).decode()
        tampered = data.draw(with_another_character(document) | with_another_value(document))
        applied = here.engine.apply(tampered)
        after = here.path.read_bytes()

    event("done" if applied.ok else f"refused: {applied.error.code}")
    assert sha256_hex(after) == result if applied.ok else after == base


@st.composite
def with_another_character(draw: st.DrawFn, document: str) -> Json:
    """`document` with one character replaced, decoded where it still is JSON."""
    at = draw(st.integers(0, len(document) - 1))
    changed = document[:at] + draw(st.sampled_from('0123456789abcdef"{}[],:-. xé')) + document[at + 1 :]
    try:
        return json.loads(changed)
    except ValueError:
        return changed


@st.composite
def with_another_value(draw: st.DrawFn, document: str) -> Json:
    """`document`, decoded, with one value replaced at any depth, or gone."""
    parent = json.loads(document)
    whole, key = parent, draw(st.sampled_from(sorted(parent)))
    while isinstance(parent[key], dict | list) and parent[key] and draw(st.integers(0, 4)):
        parent = parent[key]
        key = draw(st.sampled_from(sorted(parent) if isinstance(parent, dict) else range(len(parent))))
    values = (None, True, -1, 0, 3, 10**30, 1.5, "", "x", "../x.md", "\udc80", [], {}, [[]], [0, 1, "y"])
    new = draw(st.sampled_from([*values, "gone"]))
    if new == "gone":
        del parent[key]
    else:
        parent[key] = new
    return whole


# --- Random batches hold edits of every operation.


@pytest.mark.parametrize("operation", OPERATIONS)
def test_strategies_draw_every_operation(operation: str) -> None:
    assert operation in DRAWN, f"tests/properties/batches.py does not draw {operation}: give it a strategy"


def test_strategies_draw_only_existing_operations() -> None:
    assert set(DRAWN) - set(OPERATIONS) == set()


# --- Any batch, then its undo, gives the same bytes; then the undo of that, the result.

SETTINGS = Settings(durability=Durability.PROCESS)
FILE_NAMES = ("a.md", "b.txt", "docs/c.md", "new/d.md")
LINES = st.sampled_from(["# A", "## B", "one", "", "  two", "caf\u00e9", "\u2028", "- x"])
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    text = "".join(draw(st.lists(st.tuples(LINES, LINE_ENDS).map("".join), max_size=6))) + draw(LINES)
    # Files with a byte order mark must decode; others may contain invalid bytes.
    return draw(
        st.sampled_from([text.encode(), b"\xef\xbb\xbf" + text.encode(), text.encode() + b"\xff\xfe\n"])
    )


@st.composite
def file_edits(draw: st.DrawFn, name: str, data: bytes | None, free: list[str]) -> dict[str, Any] | None:
    """Edits of one file, or the operation on it as a whole; `free` are names that no file has."""
    if data is None:
        return {"file": name, "edits": [{"op": "create_file", "markdown": draw(LINES)}]}
    kind = draw(st.sampled_from(["lines", "lines", "delete", "rename", "append"]))
    if kind == "delete":
        return {"file": name, "edits": [{"op": "delete_file"}]}
    count = len(data.decode("utf-8", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    first = draw(st.integers(1, count))
    edits: list[dict[str, Any]] = [
        {
            "op": "replace_lines",
            "lines": {"start": first, "end": draw(st.integers(first, count))},
            "markdown": "\n".join(draw(st.lists(st.sampled_from(["x", "y", "# Y"]), min_size=1, max_size=3))),
        }
    ]
    if kind == "append":
        edits = [{"op": "append_to_file", "markdown": draw(st.sampled_from(["tail", "# T\n\nx\n"]))}]
    if kind == "rename" and free:
        edits = [{"op": "rename_file", "newFile": free.pop()}, *edits[: draw(st.integers(0, 1))]]
    return {"file": name, "edits": edits}


@pytest.mark.requirement("undo-1")
@given(st.data())
def test_batch_and_undo_give_the_same_bytes_and_redo_the_result(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "docs").mkdir()
        there = {name: data.draw(contents()) for name in FILE_NAMES[:3]}
        for name, content in there.items():
            (root / name).write_bytes(content)
        free = ["moved.md", "new/deep/moved.md"]
        chosen = data.draw(st.lists(st.sampled_from(FILE_NAMES), min_size=1, unique=True))
        files = [data.draw(file_edits(name, there.get(name), free)) for name in chosen]
        check(root, {"files": files, "allowOutlineChange": True, "allowDuplicateHeadings": True})


def check(root: Path, batch: dict[str, Any]) -> None:
    with Engine.open([root], settings=SETTINGS).workspace as workspace:
        engine = Engine(workspace, SETTINGS)
        before = read_tree(root)
        report = engine.apply({"planId": engine.plan(batch).plan_id or "none"})
        if not report.ok or report.no_op:
            return
        after = read_tree(root)
        undone = engine.undo(report.receipt.transaction)
        assert undone.ok, undone.diagnostics
        expect(root, before)
        redone = engine.undo(undone.receipt.transaction)
        assert redone.ok, redone.diagnostics
        expect(root, after)


def expect(root: Path, tree: Tree) -> None:
    assert read_tree(root) == tree
    folders = {path for path in root.rglob("*") if path.is_dir() and ".mdplan" not in path.parts}
    assert folders <= {root / "docs"} | {(root / name).parent for name in tree} | {
        (root / name).parent.parent for name in tree
    }
