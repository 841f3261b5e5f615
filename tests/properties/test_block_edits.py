"""Laws of edits that name a block by its text."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from mdplan.markdown.block_edits import placed_blocks
from mdplan.markdown.outline import Outline
from mdplan.memory import Document
from mdplan.text.source import Source
from tests.properties.markdown_documents import documents
from tests.support.block_tokens import facts_of, is_base_with

_NEW = ("Zebra.", "```\nZebra.\n```", "> Zebra.", "| Zebra. |\n|---|")


@given(documents(), st.sampled_from(_NEW), st.sampled_from(["before", "after"]), st.data())
def test_block_that_comes_and_goes_leaves_the_document_as_it_was(
    text: str, new: str, side: str, data: st.DataObject
) -> None:
    assume("\0" not in text)
    document = Document.from_bytes(text.encode("utf-8", "surrogateescape"))
    outline = Outline(Source.from_text(document.text))
    names = {each.text for each in placed_blocks(outline)} - {""}
    assume(names)
    name = data.draw(st.sampled_from(sorted(names)))
    inserted = document.apply({"op": "insert_block", "block": name, "position": side, "markdown": new})
    assume(inserted.ok)

    # It knows no lone CR, no footnotes and formulas, and counts tabs after quotes otherwise than CommonMark.
    if not any(sign in text for sign in ("\r", "\t", "[^", "$$")):
        body, now = (each[outline.body_start :] for each in (document.text, inserted.text))
        assert is_base_with(facts_of(body), facts_of(now), facts_of(new))

    deleted = inserted.document.apply({"op": "delete_block", "block": new})

    assert deleted.ok
    assert _lines_with_text(deleted.text) == _lines_with_text(document.text)
    # A blank line that was missing between two blocks stays; of several there, one does.
    added = len(_lines(inserted.text)) - len(_lines(document.text)) - len(new.split("\n"))
    assert _with_single_blanks(deleted.text) == _with_single_blanks(document.text) or added > 1


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _with_single_blanks(text: str) -> str:
    return re.sub(r"(\r\n|\r|\n)[ \t]*\1(?:[ \t]*\1)+", r"\1\1", text).rstrip()


def _lines_with_text(text: str) -> list[str]:
    return [line for line in _lines(text) if line.strip(" \t>")]
