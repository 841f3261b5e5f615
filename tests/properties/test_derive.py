"""A derived batch makes the new version to the byte, whatever the two versions are."""

from hypothesis import given
from hypothesis import strategies as st

from mdplan.derive.derivation import Derivation, derive_batch
from mdplan.markdown.outline.outline import Outline
from mdplan.memory.memory_planner import RequestedFile, plan_in_memory
from mdplan.planning.replan.plan_result import PlannedBatch
from mdplan.planning.replan.replanning import missing_preconditions
from mdplan.requests.batch_reader import read_batch
from mdplan.text.source import Source
from tests.properties.hostile_markdown import hostile_documents

LINES = (
    "# A\n",
    "## B\n",
    "\n",
    "text\n",
    "- [ ] task\n",
    "- [x] task\n",
    "```\n",
    "- item\n",
    "| a | b |\n",
    "|---|---|\n",
    "| c | d |\n",
    "---\n",
    "key: value\n",
    "ä\r\n",
    "end",
)


def versions() -> st.SearchStrategy[tuple[str, str]]:
    lines = st.lists(st.sampled_from(LINES), max_size=12).map("".join)
    hostile = hostile_documents().filter(_is_unicode)
    return st.tuples(lines, lines) | st.tuples(hostile, hostile)


def _is_unicode(text: str) -> bool:
    """Whether a file in UTF-8 can have this text: lone surrogates stand for bytes of other encodings."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


@given(versions(), st.booleans())
def test_derived_batch_makes_the_new_version(pair: tuple[str, str], prefers_structure: bool) -> None:
    old, new = (Source.from_text(text) for text in pair)
    requested = RequestedFile("a.md", None, None)
    derived = derive_batch(Outline(old), Outline(new), requested, prefers_structure=prefers_structure)

    if not isinstance(derived, Derivation):
        return
    if derived.batch is None:
        assert old.data == new.data
        return
    planned = plan_in_memory(read_batch(derived.batch), Outline(old))
    assert isinstance(planned, PlannedBatch)
    assert planned.files[0].result.source.data == new.data
    assert missing_preconditions(planned.files) == ()
