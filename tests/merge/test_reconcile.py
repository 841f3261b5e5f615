"""Rewritten whole files: the changes of the original, and refusals."""

import mdformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.markdown.parser import html_of
from mdplan.merge.reconcile import Unproven, reconcile
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)

_BLOCKS = (
    "# Title",
    "Setext *x*\n---",
    "Some _words_ in\ntwo lines.",
    "A [link][r] and `code`.",
    "[r]: https://example.com/a",
    "* one\n* two\n\n  more",
    "1) a\n2) b",
    "> quoted\n> text",
    "|a|b|\n|-|-|\n|x|y|",
    "~~~py\nx = 1\n~~~",
    "<!-- note -->",
    "***",
)
_DOCUMENTS = st.lists(st.sampled_from(_BLOCKS), max_size=7).map(lambda blocks: "\n\n".join(blocks) + "\n")


def _serialized(text: str) -> str:
    return mdformat.text(text, extensions={"gfm"})


def _says(text: str) -> str:
    return html_of(text, lambda _: None)


@CASE_TABLES.parametrize("original", "edited", "result")
def test_meaning_changes_and_style_stays(original: str, edited: str, result: str) -> None:
    assert reconcile(original, edited).text == result


@CASE_TABLES.parametrize("original", "serialized", "edited", "result")
def test_what_the_editor_drops_stays(original: str, serialized: str, edited: str, result: str) -> None:
    assert reconcile(original, edited, serialized).text == result


@CASE_TABLES.parametrize("original", "edited", "losses")
def test_losses_are_named(original: str, edited: str, losses: list[str]) -> None:
    assert list(reconcile(original, edited).losses) == losses


@CASE_TABLES.parametrize("original", "edited", "style")
def test_style_is_named(original: str, edited: str, style: list[str]) -> None:
    assert list(reconcile(original, edited).style) == style


@given(_DOCUMENTS)
def test_save_without_a_change_changes_nothing(original: str) -> None:
    saved = _serialized(original)
    assert reconcile(original, original).text == original
    assert reconcile(original, saved, saved).text == original
    if _says(saved) == _says(original):
        assert reconcile(original, saved).text == original


@given(_DOCUMENTS, _DOCUMENTS)
def test_result_means_what_the_edited_text_means(original: str, edited: str) -> None:
    saved = _serialized(edited)
    try:
        found = reconcile(original, saved)
    except Unproven:
        return
    assert _says(found.text) == _says(saved)


@given(_DOCUMENTS, st.integers(0, 6), st.sampled_from(_BLOCKS))
def test_inserted_block_is_the_only_change(original: str, place: int, block: str) -> None:
    blocks = original.rstrip("\n").split("\n\n")
    blocks.insert(place, block)
    wanted = "\n\n".join(blocks).lstrip("\n") + "\n"
    saved = _serialized(original), _serialized(wanted)
    if any(_says(one) != _says(other) for one, other in zip(saved, (original, wanted), strict=True)):
        return
    try:
        found = reconcile(original, saved[1], saved[0])
    except Unproven:
        return
    assert _says(found.text) == _says(wanted)


@pytest.mark.parametrize("serialized", [None, "A [link] to it.\n"])
def test_change_in_front_matter_keeps_its_style(serialized: str | None) -> None:
    original = "---\ntitle: 'Tea'  # a name\ntags:\n- a\n---\n\nA [link] to it.\n"
    edited = '---\ntitle: Black tea\ntags: ["a"]\n---\nA [link] to it.\n'
    before = None if serialized is None else f'---\ntitle: "Tea"\ntags: ["a"]\n---\n{serialized}'
    assert reconcile(original, edited, before).text == original.replace("'Tea'", "'Black tea'")
