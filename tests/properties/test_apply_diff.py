"""The diff of a plan, sent back as an edit, makes the same file from the same base, even if moved."""

import codecs
from collections import Counter

import pytest
from hypothesis import assume, event, example, given, note
from hypothesis import strategies as st

from mdplan.diagnostics import Code
from mdplan.markdown.outline import Outline
from mdplan.operations.base import Resolution
from mdplan.operations.diffs import ApplyDiff
from mdplan.text.edit import EditList
from mdplan.text.source import ByteEdit, Source, splice
from tests.properties.batches import batches
from tests.properties.markdown_documents import documents
from tests.properties.strategies import edit_lists, many_lines, texts
from tests.properties.test_planning import LESS, NAME, place, unicode_text
from tests.support.patches import unified_diff
from tests.support.strict_patch import apply_strictly

_FILLER = b"Something else.\n"
_MARK = codecs.BOM_UTF8


def made_of(base: bytes, diff: bytes) -> bytes | list[Code]:
    """What `diff` makes of `base`, or why it makes nothing."""
    source = Source.decode(base)
    assert isinstance(source, Source)
    outcome = ApplyDiff(op="apply_diff", diff=diff.decode()).resolved(Outline(source))
    if not isinstance(outcome, Resolution):
        note(repr(outcome))
        return [problem.code for problem in outcome]
    edits = EditList.of(outcome.edits)
    assert isinstance(edits, EditList)
    byte_edits = source.byte_edits(edits)
    assert isinstance(byte_edits, tuple)
    return splice(base, byte_edits)


@st.composite
def changed_texts(draw: st.DrawFn) -> tuple[bytes, list[ByteEdit]]:
    """A file in UTF-8, some with a byte order mark, and edits that change it."""
    text = draw(_files)
    bom = draw(st.sampled_from([b"", b"", codecs.BOM_UTF8]))
    source = Source.decode(bom + text.encode())
    assert isinstance(source, Source)
    edits = source.byte_edits(draw(edit_lists(text, _new_texts)))
    assert isinstance(edits, tuple)
    result = splice(source.data, edits)
    assume(result != source.data)
    # A mark is no part of a text, so that no edit can add one.
    assume(bool(bom) or not result.startswith(codecs.BOM_UTF8))
    return source.data, list(edits)


_plain = st.builds(lambda text: text.replace("\0", "!"), texts())
_files = _plain.filter(lambda text: not text.startswith("\ufeff")) | many_lines().map(bytes.decode)
_new_texts = _plain | st.sampled_from(["", "\n", "x", "b\n"])


def diff_of(base: bytes, edits: list[ByteEdit], context: int = 3) -> bytes:
    diff = unified_diff(NAME, base, edits, context=context)
    note(diff.decode())
    return diff


@pytest.mark.requirement("diff-1")
@given(changed_texts(), st.integers(1, 3))
@example((_MARK, [ByteEdit(3, 3, b"\n" + _MARK)]), 1)
@example((_MARK + b"x\n" + _MARK + b"y\n", [ByteEdit(3, 8, b"")]), 1)
@example((_MARK + b"x\n" + _MARK + b"y\n", [ByteEdit(0, 5, b"")]), 1)
def test_diff_of_a_base_makes_its_result(edited: tuple[bytes, list[ByteEdit]], context: int) -> None:
    base, edits = edited

    assert made_of(base, diff_of(base, edits, context)) == splice(base, edits)


@given(changed_texts(), st.integers(1, 5))
def test_diff_applies_after_lines_moved_down_or_fails(
    edited: tuple[bytes, list[ByteEdit]], moved: int
) -> None:
    """It is refused where its lines stand at several places, or seem to be changed already."""
    base, edits = edited
    assume(base and not base.startswith(codecs.BOM_UTF8))
    above = _FILLER * moved

    made = made_of(above + base, diff_of(base, edits))

    if isinstance(made, list):
        event("refused")
        assert set(made) == {Code.DIFF_DOES_NOT_APPLY}
    elif made == above + splice(base, edits):
        event("applied")
    else:
        event("applied where its lines stand too")
        assert made.startswith(above)


@given(changed_texts())
def test_diff_on_another_base_changes_only_what_it_shows(edited: tuple[bytes, list[ByteEdit]]) -> None:
    """On its own result a diff is refused, unless every line that it removes occurs again."""
    base, edits = edited
    result, diff = splice(base, edits), diff_of(base, edits)
    assume(not b"".join((result, base)).count(b"\r"))

    made = made_of(result, diff)

    event("refused" if isinstance(made, list) else "applied")
    if not isinstance(made, list):
        removed = [line[1:] for line in diff.split(b"\n")[3:] if line.startswith(b"-")]
        first, *others = result.split(b"\n")
        # The mark belongs to the first line in a diff of git's form, and to the file in another.
        marked = Counter([first, *others])
        plain = Counter([first.removeprefix(codecs.BOM_UTF8), *others])
        text = Counter(line.removeprefix(codecs.BOM_UTF8) for line in removed)
        assert Counter(removed) <= marked or text <= plain


@LESS
@given(st.data(), documents())
def test_diff_of_a_plan_applied_as_an_edit_gives_the_same_result(data: st.DataObject, text: str) -> None:
    text = unicode_text(text)
    base = text.encode()
    with place(base) as here:
        draft = here.engine.draft(data.draw(batches(Outline(Source.from_text(text)), NAME)))
        event("planned" if draft.diff else "refused, or changes nothing")
        # Pinned by its ID: where blank lines are all that a diff shows of the file, it is no evidence.
        plan = here.engine.plan({"diff": draft.diff.decode(), **_ALL_ALLOWED}) if draft.diff else None
        assert plan is None or plan.ok, plan.diagnostics
        report = here.engine.apply({"planId": plan.plan_id}) if plan is not None else None

        assert report is None or report.ok, report.diagnostics
        assert here.path.read_bytes() == apply_strictly(base, draft.diff)


_ALL_ALLOWED = {"allowOutlineChange": True, "allowDuplicateHeadings": True}
