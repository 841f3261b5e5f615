"""Edits of code blocks and regions, and diffs, whose places mostly exist."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from mdplan.markdown.block_edits import KINDS, placed_blocks
from mdplan.markdown.enclosure_search import find_regions
from mdplan.markdown.outline import Outline
from mdplan.text.diff import find_hunks
from tests.properties.markdown_documents import payloads
from tests.properties.strategies import edit_lists

Edit = dict[str, Any]
_CODE = ("", "new", "new\nlines\n", "```\nin\n```", "~~~~", "\n\n", "\tx\n  y", "# no heading", "> q\n- l")


@st.composite
def code_block_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """New code for a block by index, some of it what stands there."""
    del op
    fences = outline.tree.fences
    index = draw(st.integers(0, max(len(fences) - 1, 0)))
    own = [fence.code for fence in fences[index : index + 1]]
    edit = {"codeBlock": {"index": index}, "markdown": draw(st.sampled_from([*_CODE, *own]))}
    return edit | draw(st.sampled_from([{}, {}, *({"expectedText": code} for code in own)]))


@st.composite
def block_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """A block by some of its text, mostly there once, and another one to move it to."""
    placed = [each for each in placed_blocks(outline) if each.text and "\0" not in each.text]
    names = st.sampled_from([*(_words_of(each.text) for each in placed), "no such block"])
    edit: Edit = {"block": draw(names)}
    if draw(st.booleans()):
        edit["kind"] = draw(st.sampled_from(list(KINDS)))
    if op in {"insert_block", "replace_block"}:
        edit["markdown"] = draw(payloads)
    if op in {"insert_block", "move_block"}:
        edit["position"] = draw(st.sampled_from(["before", "after"]))
    return edit | ({"toBlock": draw(names)} if op == "move_block" else {})


def _words_of(text: str) -> str:
    return text[:40].encode("utf-8", "replace").decode()


@st.composite
def region_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """New text for a region by name, or its deletion."""
    name = draw(st.sampled_from([*find_regions(outline).by_name, "no-such-region"]))
    new = {"markdown": draw(payloads | st.just(""))} if op == "replace_region" else {}
    return {"region": name} | new


def toc_edits(outline: Outline, op: str) -> SearchStrategy[Edit]:
    """The list of headings in a region by name."""
    del op
    names = st.sampled_from([*find_regions(outline).by_name, "no-such-region"])
    levels = {"minLevel": st.integers(1, 3), "maxLevel": st.integers(3, 6)}
    bullets = st.sampled_from(["-", "*", "+", "1."])
    return st.fixed_dictionaries({"region": names}, optional={"bullet": bullets, **levels})


@st.composite
def diff_edits(draw: DrawFn, outline: Outline, op: str) -> Edit:
    """Draw the diff of random changes; for a file whose diff is not text, one that does not apply."""
    del op
    source = outline.source
    edits = source.byte_edits(draw(edit_lists(source.text, payloads)))
    hunks = find_hunks(source.data, edits) if isinstance(edits, tuple) else ()
    try:
        return {"diff": b"".join(map(bytes, hunks)).decode() or _NOTHING_LIKE_IT}
    except UnicodeDecodeError:
        return {"diff": _NOTHING_LIKE_IT}


_NOTHING_LIKE_IT = "@@ -1 +1 @@\n-nothing like it\n+new\n"
