"""The inverse of a plan as a plan: proven by hashes, carried over what others changed, refused otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.diagnostics import Code, Diagnostic
from mdplan.plan import FileChange
from mdplan.planning.plan_document import read_document, write_document
from mdplan.planning.replan import UndoneFile, rebase_undone, undo_file, undo_plan
from mdplan.planning.replay import FoundFile, Replay, bases_of, replay
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
    """What the plan of the undo makes of `current`, after its document was written and read."""
    plan = read_document(write_document(undo_plan(TRANSACTION, [file])))
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
    plan = undo_plan(TRANSACTION, [undone(change, BASE)])

    assert plan.undoes == TRANSACTION
    assert plan.requested == (({"op": "undo", "transaction": TRANSACTION},),)
    assert (plan.files[0].lines_added, plan.files[0].lines_removed) == (1, 2)
    assert [(lines.start, lines.end) for lines in plan.results[0].result_lines] == [(4, 4)]
    assert undo_plan("another", [undone(change, BASE)]).plan_id != plan.plan_id


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


def test_created_file_that_was_changed_since_is_not_deleted() -> None:
    for text in ("# New\n", ""):
        change, _ = change_of(None, EditList((TextEdit.insert(0, text),) if text else ()))

        (problem,) = rebase_undone(undone(change, None), decoded(b"# New\n\nmore\n"))

        assert problem.code is Code.STALE_BASE


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
