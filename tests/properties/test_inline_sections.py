"""Sections of a document can be parsed alone: their inline nodes are those of one parse of all of it."""

from hypothesis import given

from tests.inline_sections_check import sections_differ
from tests.properties.hostile_markdown import hostile_documents
from tests.properties.test_inline_nodes import documents


@given(hostile_documents() | documents)
def test_sections_of_hostile_documents_have_the_same_nodes(text: str) -> None:
    assert sections_differ(text) is None
