"""Parsing one section gives the same inline nodes as parsing the whole document."""

from hypothesis import given

from tests.properties.hostile_markdown import hostile_documents
from tests.properties.test_blocks import documents
from tests.support.oracles import sections_differ


@given(hostile_documents() | documents)
def test_sections_of_hostile_documents_have_the_same_nodes(text: str) -> None:
    assert sections_differ(text) is None
