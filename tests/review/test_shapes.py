"""Equal changes are one class, and what differs in anything that a person would judge is another."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mdplan.engine.engine import Engine
from mdplan.engine.reviews import OpenPlan, ReviewService
from mdplan.plan import EditResult, FileChange, Plan, PlanId
from mdplan.review.lines import FileSides, as_utf8
from mdplan.review.shapes import ChangeClass, PlacedShape, PlanShapes, classes_of
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import Span
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)

# Where an edit changes `«old|new»`, and the rest stays.
USUAL = "Uses the «nightly|stable» build.\n"
KEY = "---\nstatus: «draft|done»\n---\n"


def shapes(texts: Sequence[str], key: str | None = None) -> tuple[Plan, list[PlacedShape]]:
    """The shapes of a plan with one edit for each of `texts`, which is a file."""
    sides, results, requested = [], [], []
    for index, marked in enumerate(texts):
        base, edits = "", []
        for number, part in enumerate(marked.replace("»", "«").split("«")):
            old, _, new = part.partition("|")
            if number % 2:
                edits.append(TextEdit(Span(len(base), len(base) + len(old)), new))
            base += old
        change = FileChange(
            path=f"{index}.md",
            encoding=None,
            format=None,
            base_sha256="0",
            result_sha256="1",
            edits=EditList(tuple(edits)),
            lines_added=1,
            lines_removed=1,
            base_sections={},
        )
        sides.append(FileSides(change, as_utf8(base)))
        results.append(EditResult(edit_index=index, op="replace_match", file=change.path, no_op=False))
        requested.append(({"op": "replace_match"} | ({"key": key} if key else {}),))
    plan = Plan(
        plan_id=PlanId("sha256-0"),
        engine="",
        files=[each.change for each in sides],
        requested=requested,
        options={},
        effects=(),
        results=results,
        warnings=(),
    )
    of_plan = PlanShapes(plan)
    return plan, [shape for each in sides for shape in of_plan.of_file(each)]


LETTERS = {"s": "ѕ", "a": "а", "e": "е", "b": "Ь", "l": "1"}

CONTEXTS = (
    *("fort«nightly|stable»", "«nightly|stable»s", "a_«nightly|stable»", "«nightly|stable»2"),
    *("`«nightly|stable»`", "<b id='«nightly|stable»'>x</b> b", "$«nightly|stable»$"),
    *("[a](«nightly|stable».md)", "![a](«nightly|stable».png)", "<https://x.org/«nightly|stable»>"),
    *("[«nightly|stable»][]", "[«nightly|stable»]", "[a][«nightly|stable»]"),
)
BLOCKS = ("# «nightly|stable»", "```\n«nightly|stable»\n```", "    «nightly|stable»")


def odd_ones() -> Iterator[tuple[str, bool]]:
    """Texts that differ from `USUAL` in one thing, and whether that has to be pointed out."""
    word = "stable"
    for at, letter in enumerate(word):
        for other in "xqzXQZ-.'7":
            yield USUAL.replace(word, word[:at] + other + word[at:]), False
            yield USUAL.replace(word, word[:at] + other + word[at + 1 :]), False
        yield USUAL.replace(word, word[:at] + word[at + 1 :]), False
        yield USUAL.replace(word, word[:at] + letter.upper() + word[at + 1 :]), False
        yield USUAL.replace(word, word[:at] + "\u200b" + word[at:]), True
        if letter in LETTERS:
            yield USUAL.replace(word, word[:at] + LETTERS[letter] + word[at + 1 :]), True
    for removed in ("nightly ", " nightly", "the nightly", "nightly build", "nightly build.\n", "Nightly"):
        yield USUAL.replace("nightly", removed), False
    yield from ((f"Uses {text} here.\n\n[nightly]: a.md\n", text[-1] in ")]>") for text in CONTEXTS)
    yield from ((f"{text}\n", False) for text in BLOCKS)
    for number in range(40):
        yield USUAL.replace(word, f"{word} {number}"), False


@pytest.mark.requirement("review-1")
def test_one_odd_edit_among_three_thousand_is_a_class_of_its_own() -> None:
    plan, usual = shapes([USUAL * 30] * 100)
    odd = list(odd_ones())

    _, found = shapes([text for text, _ in odd])

    assert len(odd) >= 200
    assert len({shape.key for shape in usual}) == 1
    for shape, (text, is_first) in zip(found, odd, strict=True):
        classes = classes_of(plan, [*usual[1:], shape._replace(place=usual[0].place)])
        own = [each for each in classes if each.key == shape.key]
        assert [len(each.places) for each in own] == [1], text
        if is_first:
            assert classes[0] is own[0], text
            assert own[0].reasons, text


@CASE_TABLES.parametrize("texts", "key", "expected")
def test_values_of_a_class_are_listed_with_their_counts(
    texts: Mapping[str, int], key: str | None, expected: list[Any]
) -> None:
    plan, found = shapes([text for text, count in texts.items() for _ in range(count)], key)

    assert [told(each) for each in classes_of(plan, found)] == expected


def told(one: ChangeClass) -> dict[str, Any]:
    values = {"values": dict(one.values)} if one.values else {"removed": one.removed}
    reasons = {"reasons": list(one.reasons)} if one.reasons else {}
    return {"places": len(one.places), **values, "added": one.added, **reasons}


@CASE_TABLES.parametrize("pages", "edits", "expected")
def test_real_work_needs_few_decisions(
    tmp_path: Path, pages: Mapping[str, int], edits: list[Any], expected: list[Any]
) -> None:
    files = []
    for text, count in pages.items():
        for number in range(count):
            path = tmp_path / f"page-{len(files):03}.md"
            path.write_text(text.replace("{n}", str(number)))
            files.append(path.name)
    engine = Engine.open([tmp_path])
    batch = {"updateReferences": "workspace", "files": [{"file": file, "edits": edits} for file in files]}
    if edits[0]["op"] == "rename_heading":
        batch["files"] = batch["files"][:1]
    report = engine.plan(batch)
    opened = ReviewService(engine).open(report.plan_id or "")

    assert isinstance(opened, OpenPlan), report.diagnostics
    assert [told(each) for each in opened.classes] == expected
