"""The inverse of a plan as a plan: proven by hashes, carried over what others changed, refused otherwise."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.diagnostics import Code, Diagnostic
from mdplan.engine.engine import Engine
from mdplan.plan import FileChange
from mdplan.planning.plan_document import read_document, write_document
from mdplan.planning.replan import UndoneFile, rebase_undone, undo_file, undo_plan
from mdplan.planning.replay import FoundFile, Replay, bases_of, replay
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.diff import LineDrift
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source, sha256_hex, splice

TRANSACTION = "0123456789abcdef"
BASE = b"# A\n\none\ntwo\nthree\nfour\nfive\n"


def decoded(data: bytes, encoding: str | None = None) -> Source:
    source = Source.decode(data, encoding)
    assert isinstance(source, Source)
    return source


def change_of(
    before: bytes | None, edits: EditList, *, encoding: str | None = None, deletes: bool = False
) -> tuple[FileChange, bytes | None]:
    """The change that `edits` make of `before`, and what they leave."""
    base = decoded(before or b"", encoding)
    result = None if deletes else splice(base.data, base.planned_byte_edits(edits))
    change = FileChange(
        path="a.md",
        encoding=encoding,
        format=None,
        base_sha256=None if before is None else base.sha256,
        result_sha256=None if result is None else sha256_hex(result),
        edits=edits,
        lines_added=0,
        lines_removed=0,
        base_sections={},
    )
    return change, result


def line_edit(data: bytes, old: str, new: str) -> EditList:
    at = data.decode().index(old)
    return EditList((TextEdit(Span(at, at + len(old)), new),))


def undone(change: FileChange, before: bytes | None) -> UndoneFile:
    found = undo_file(change, before)
    assert isinstance(found, UndoneFile), found
    return found


def applied(file: UndoneFile, current: bytes | None) -> bytes | None:
    """Apply the undo plan to `current`, after writing and reading its document."""
    plan = read_document(write_document(undo_plan(TRANSACTION, [file], is_part=False)))
    assert not isinstance(plan, Diagnostic), plan
    source = None if current is None else decoded(current, file.change.encoding)
    replayed = replay(plan, [("a.md", None)], bases_of(plan, [FoundFile.of(source)]))
    assert isinstance(replayed, Replay), replayed
    return replayed.results[0]


@st.composite
def edit_lists(draw: st.DrawFn, text: str) -> EditList:
    """Edits of `text`, some of which touch each other."""
    bounds = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8).map(lambda at: at[: len(at) & ~1])))
    texts = st.text(st.sampled_from("ab\r\n\u00e9"), max_size=4)
    return EditList(
        tuple(
            TextEdit(Span(start, end), draw(texts))
            for start, end in zip(bounds[::2], bounds[1::2], strict=True)
        )
    )


@given(st.data(), st.binary(max_size=30).filter(lambda data: b"\0" not in data))
def test_edits_and_their_undo_give_the_same_bytes(data: st.DataObject, base: bytes) -> None:
    source = Source.decode(base)
    if not isinstance(source, Source):
        return
    edits = data.draw(edit_lists(source.text))
    change, result = change_of(base, edits)
    left = Source.decode(result)
    if not isinstance(left, Source) or left.text != edits.apply(source.text):
        return  # Such a result is refused when it is planned.

    assert applied(undone(change, base), result) == base


@pytest.mark.parametrize(
    ("base", "encoding"),
    [
        (b"", None),
        (BASE, None),
        (BASE.replace(b"\n", b"\r\n"), None),
        (b"no final newline", None),
        (b"\xef\xbb\xbf# A\n", None),
        (b"\xff\xfe" + "# \u00c4\n".encode("utf-16-le"), None),
        (b"\xfe\xff" + "# \u00c4\n".encode("utf-16-be"), None),
        ("# \u00c4\n".encode("latin-1"), "latin-1"),
        (b"bytes \xff\xfe that are no text \xc3\n", None),
        (b"\xef\xbb\xbf# A\n", "utf-8"),
        (b"\xef\xbb\xbf# A\n", "latin-1"),
    ],
)
def test_undo_and_redo_of_a_deletion_restore_and_delete_the_file(base: bytes, encoding: str | None) -> None:
    text = decoded(base, encoding).text
    edits = EditList((TextEdit(Span(0, len(text)), ""),) if text else ())
    change, _ = change_of(base, edits, encoding=encoding, deletes=True)

    back = undone(change, base)
    assert applied(back, None) == base
    assert applied(undone(back.change, None), base) is None


def test_undo_is_a_plan_that_says_what_it_undoes() -> None:
    change, _ = change_of(BASE, line_edit(BASE, "two\n", "2\n2\n"))
    plan = undo_plan(TRANSACTION, [undone(change, BASE)], is_part=False)

    assert plan.undoes == TRANSACTION
    assert plan.requested == (({"op": "undo", "transaction": TRANSACTION},),)
    assert (plan.files[0].lines_added, plan.files[0].lines_removed) == (1, 2)
    assert [(lines.start, lines.end) for lines in plan.results[0].result_lines] == [(4, 4)]
    assert undo_plan("another", [undone(change, BASE)], is_part=False).plan_id != plan.plan_id


@pytest.mark.parametrize("before", [None, b"", BASE + b"more\n"], ids=["missing", "empty", "another"])
def test_wrong_old_content_is_refused_as_base(before: bytes | None) -> None:
    change, _ = change_of(BASE, line_edit(BASE, "two", "2"))

    found = undo_file(change, before)

    assert isinstance(found, Diagnostic)
    assert (found.code, found.file) == (Code.NOT_UNDOABLE, "a.md")


def test_history_entry_with_wrong_edits_is_refused() -> None:
    change, _ = change_of(BASE, line_edit(BASE, "two", "2"))
    forged = FileChange(
        **{name: getattr(change, name) for name in FileChange.__slots__}
        | {"edits": EditList((TextEdit(Span(0, 9_999), "x"),))}
    )

    assert undo_file(forged, BASE).code is Code.NOT_UNDOABLE


CARRIED = [
    ("elsewhere", b"# A\n\none\ntwo\n3\nfour\n5\n", b"# A\n\none\ntwo\nthree\nfour\n5\n"),
    (
        "inserted above",
        b"# A\n\nzero\none\ntwo\n3\nfour\nfive\n",
        b"# A\n\nzero\none\ntwo\nthree\nfour\nfive\n",
    ),
    ("deleted above", b"# A\n\ntwo\n3\nfour\nfive\n", b"# A\n\ntwo\nthree\nfour\nfive\n"),
]

TOUCHED = [
    ("the line itself", b"# A\n\none\ntwo\n33\nfour\nfive\n", "line 5"),
    ("the line before", b"# A\n\none\n2\n3\nfour\nfive\n", "line 4"),
    ("the line behind", b"# A\n\none\ntwo\n3\n4\nfive\n", "line 6"),
    ("a line between", b"# A\n\none\ntwo\nand\n3\nfour\nfive\n", "line 5"),
    ("the line is gone", b"# A\n\none\ntwo\nfour\nfive\n", "line 4 (deleted there)"),
    ("its line end", b"# A\n\none\ntwo\n3\r\nfour\nfive\n", "line 5"),
    ("everything", b"", "line 1 (deleted there)"),
]


@pytest.mark.parametrize(
    ("current", "expected"), [row[1:] for row in CARRIED], ids=[row[0] for row in CARRIED]
)
def test_undo_keeps_changes_elsewhere(current: bytes, expected: bytes) -> None:
    change, _ = change_of(BASE, line_edit(BASE, "three", "3"))

    carried = rebase_undone(undone(change, BASE), decoded(current))

    assert isinstance(carried, UndoneFile), carried
    assert applied(carried, current) == expected


@pytest.mark.parametrize(("current", "lines"), [row[1:] for row in TOUCHED], ids=[row[0] for row in TOUCHED])
def test_undo_next_to_later_changes_is_refused(current: bytes, lines: str) -> None:
    change, _ = change_of(BASE, line_edit(BASE, "three", "3"))

    (problem,) = rebase_undone(undone(change, BASE), decoded(current))

    assert problem.code is Code.STALE_BASE
    assert problem.message == (
        f"`a.md` was changed at {lines} since, where the undo would change it, or next to that"
    )


@pytest.mark.parametrize(
    ("old", "new", "current", "is_carried"),
    [
        ("# A\n", "", b"\none\ntwo\nthree\nfour\n5\n", True),
        ("# A\n", "", b"new\n\none\ntwo\nthree\nfour\nfive\n", False),
        ("five\n", "", b"# B\n\none\ntwo\nthree\nfour\n", True),
        ("five\n", "", b"# A\n\none\ntwo\nthree\nfour\nfive and a half\n", False),
        ("five\n", "five\nsix\n", b"# B\n\none\ntwo\nthree\nfour\nfive\nsix\n", True),
        ("five\n", "five\nsix\n", b"# A\n\none\ntwo\nthree\nfour\nfive\nsix\nseven\n", False),
    ],
    ids=["top", "new top", "end", "new end", "last line", "behind the last line"],
)
def test_edges_of_the_file_count_as_lines(old: str, new: str, current: bytes, is_carried: bool) -> None:
    change, _ = change_of(BASE, line_edit(BASE, old, new))

    assert isinstance(rebase_undone(undone(change, BASE), decoded(current)), UndoneFile) is is_carried


def test_text_missing_in_the_new_encoding_is_refused() -> None:
    base = "# A\n\none\n\u20ac\nthree\n".encode()
    change, _ = change_of(base, line_edit(base, "\u20ac", "euro"))
    carried = rebase_undone(undone(change, base), decoded(b"# B\n\none\neuro\nthree\n", "ascii"))

    assert [problem.code for problem in carried] == [Code.UNENCODABLE_TEXT]


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d"]), max_size=12).map("".join)


@given(LINES, LINES)
def test_drift_turns_the_old_text_into_the_new(old: str, new: str) -> None:
    drift = LineDrift.between(old, new)

    assert drift.edits.apply(old) == new


@given(LINES, LINES, st.data())
def test_moved_span_has_the_same_text_and_neighbouring_lines(old: str, new: str, data: st.DataObject) -> None:
    drift, lines = LineDrift.between(old, new), LineIndex(old)
    start = data.draw(st.integers(0, len(old)))
    span = Span(start, data.draw(st.integers(start, len(old))))
    if drift.block_near(lines, span) is not None:
        return
    carried = drift.carried(span)
    before = old[lines.start(max(lines.position(span.start).line - 1, 1)) : span.start]
    behind = old[span.end : lines.end(lines.position(span.end).line)]

    assert new[carried.start : carried.end] == old[span.start : span.end]
    assert new[: carried.start].endswith(before)
    assert new[carried.end :].startswith(behind)


# --- `onStale: "rebase"` beside a plan ID: a plan goes on where its edits still do the same to the same
# text.

INSTALL = b"## Install\n\nRun it.\n\n"
USE = b"## Use\n\nUse it.\n\n### Deep\n\nDig.\n\n"
GUIDE = b"# Guide\n\nIntro.\n\n" + INSTALL + USE + b"## Help\n\nAsk.\n"
Edit = dict[str, Any]


def on(section: str, op: str, **fields: object) -> Edit:
    return {"op": op, "headingPath": [section], **fields}


def swapped(text: bytes, *pairs: tuple[bytes, bytes]) -> bytes:
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


APPEND = on("Use", "append_to_section", markdown="Rest.")
IN_OTHER_SECTION = (b"Ask.", b"Ask us.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "a.md").write_bytes(GUIDE)
    return tmp_path / "root"


@pytest.fixture
def engine(folder: Path) -> Engine:
    return Engine.open([folder], settings=Settings(durability=Durability.PROCESS))


def planned(engine: Engine, *edits: Mapping[str, Any], **fields: object) -> PlanReport:
    report = engine.plan({"file": "a.md", "edits": list(edits), **fields})
    assert report.ok, report.diagnostics
    return report


def rebased(engine: Engine, plan: PlanReport) -> ApplyReport:
    return engine.apply({"planId": plan.plan_id, "onStale": "rebase"})


def codes(report: ApplyReport) -> set[Code]:
    return {problem.code for problem in report.diagnostics}


def check_goes_on(engine: Engine, folder: Path, edit: Edit, changed: bytes, expected: bytes) -> None:
    plan = planned(engine, edit)
    (folder / "a.md").write_bytes(changed)

    report = rebased(engine, plan)

    assert (report.ok, report.applied, report.rebased) == (True, True, True), report.diagnostics
    assert report.plan_id != plan.plan_id
    assert (folder / "a.md").read_bytes() == expected


def check_refused(engine: Engine, folder: Path, edit: Edit, changed: bytes, *others: Code) -> None:
    plan = planned(engine, edit)
    (folder / "a.md").write_bytes(changed)

    report = rebased(engine, plan)

    assert (report.ok, report.applied, report.rebased) == (False, False, None)
    assert codes(report) == {Code.STALE_BASE, *others}
    assert (folder / "a.md").read_bytes() == changed


@pytest.mark.parametrize(
    ("edit", "change"),
    [
        (APPEND, (b"Use it.\n", b"Use it.\n\nRest.\n")),
        (on("Use", "prepend_to_section", markdown="Rest."), (b"## Use\n", b"## Use\n\nRest.\n")),
        (on("Use", "replace_section", markdown="Rest."), (b"Use it.", b"Rest.")),
        (on("Use", "rename_heading", newTitle="Usage"), (b"## Use", b"## Usage")),
        (on("Deep", "set_heading_level", level=4), (b"### Deep", b"#### Deep")),
        (on("Use", "delete_section"), (USE, b"")),
        (on("Use", "delete_section", part="body"), (b"Use it.\n\n", b"")),
        (
            on("Use", "insert_section", position="after", markdown="## New"),
            (b"## Help", b"## New\n\n## Help"),
        ),
        (on("Guide", "upsert_section", mode="append", markdown="Rest."), (b"Intro.\n", b"Intro.\n\nRest.\n")),
        ({"op": "replace_match", "pattern": "Use it", "replacement": "Use this"}, (b"Use it", b"Use this")),
    ],
    ids=lambda value: value.get("op") if isinstance(value, dict) else "",
)
def test_plan_is_rebased_when_only_another_section_changed(
    engine: Engine, folder: Path, edit: Edit, change: tuple[bytes, bytes]
) -> None:
    check_goes_on(
        engine, folder, edit, swapped(GUIDE, IN_OTHER_SECTION), swapped(GUIDE, change, IN_OTHER_SECTION)
    )


def test_plan_is_rebased_when_a_moved_section_and_its_place_are_unchanged(
    engine: Engine, folder: Path
) -> None:
    edit = on("Install", "move_section", toHeadingPath=["Help"], position="after")
    changed = swapped(GUIDE, (b"Dig.", b"Dig deeper."))

    check_goes_on(engine, folder, edit, changed, changed.replace(INSTALL, b"") + b"\n" + INSTALL[:-1])


def test_edits_of_a_sequential_batch_are_rebased_in_sequence(engine: Engine, folder: Path) -> None:
    rename = on("Use", "rename_heading", newTitle="Usage")
    plan = planned(engine, rename, on("Usage", "append_to_section", markdown="Rest."), sequential=True)
    (folder / "a.md").write_bytes(swapped(GUIDE, IN_OTHER_SECTION))

    assert rebased(engine, plan).rebased
    changes = (b"## Use", b"## Usage"), (b"Use it.\n", b"Use it.\n\nRest.\n")
    assert (folder / "a.md").read_bytes() == swapped(GUIDE, IN_OTHER_SECTION, *changes)


@pytest.mark.parametrize(
    ("edit", "change"),
    [
        (APPEND, (b"Use it.", b"Use that.")),
        (APPEND, (b"### Deep", b"More.\n\n### Deep")),
        (on("Use", "prepend_to_section", markdown="Rest."), (b"Use it.", b"Use that.")),
        (on("Use", "replace_section", markdown="Rest."), (b"Use it.", b"Use that.")),
        (on("Use", "delete_section"), (b"Dig.", b"Dig deeper.")),
        (on("Install", "move_section", toHeadingPath=["Help"], position="after"), (b"Ask.", b"Ask us.")),
        (on("Install", "move_section", toHeadingPath=["Help"], position="after"), (b"Run it.", b"Run.")),
        (
            on("Use", "insert_section", position="before", markdown="## New"),
            (b"it.\n\n## Use", b"it.\n## Use"),
        ),
        (on("Install", "insert_section", position="after", markdown="## New"), (b"Run it.", b"Run.")),
        (
            {"op": "replace_match", "pattern": "[A-Z]sk", "replacement": "x", "matchType": "regex"},
            (b"Ask", b"Bsk"),
        ),
        (
            {"op": "replace_match", "pattern": "it", "replacement": "x", "matchSelection": "all"},
            (b"Ask.", b"Ask it."),
        ),
    ],
    ids=lambda value: value.get("op") if isinstance(value, dict) else "",
)
def test_plan_is_refused_when_the_text_that_it_touches_changed(
    engine: Engine, folder: Path, edit: Edit, change: tuple[bytes, bytes]
) -> None:
    check_refused(engine, folder, edit, swapped(GUIDE, change))


def test_section_hash_must_match_the_new_base(engine: Engine, folder: Path) -> None:
    stat = engine.plan({"file": "a.md", "edits": [APPEND]})
    section_hash = stat.edit_results[0].new_section_sha256
    (folder / "a.md").write_bytes(swapped(GUIDE, (b"Use it.\n", b"Use it.\n\nRest.\n")))
    edit = on("Use", "append_to_section", markdown="More.", sectionSha256=section_hash)

    changed = swapped(GUIDE, (b"Use it.\n", b"Use it.\n\nRest.\n"), (b"Dig.", b"Dig deeper."))
    check_refused(engine, folder, edit, changed, Code.SECTION_CHANGED)


def test_all_files_of_a_stale_plan_are_rebased_or_none(engine: Engine, folder: Path) -> None:
    (folder / "b.md").write_bytes(GUIDE)
    files = [{"file": name, "edits": [APPEND]} for name in ("a.md", "b.md")]
    plan = engine.plan({"files": files})
    (folder / "a.md").write_bytes(swapped(GUIDE, IN_OTHER_SECTION))
    (folder / "b.md").write_bytes(swapped(GUIDE, (b"Use it.", b"Use that.")))
    changed = {name: (folder / name).read_bytes() for name in ("a.md", "b.md")}

    assert not rebased(engine, plan).ok
    assert {name: (folder / name).read_bytes() for name in changed} == changed

    (folder / "b.md").write_bytes(GUIDE)
    assert rebased(engine, plan).rebased
    assert all(b"Use it.\n\nRest.\n" in (folder / name).read_bytes() for name in changed)
