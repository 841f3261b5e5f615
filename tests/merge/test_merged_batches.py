"""Two batches on different sections, merged: the text that both batches make, whichever side is ours."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from mdplan import Document
from mdplan.merge.documents import merge_documents

SECTION = """\
## Section {0}

Text of {0}.

- [ ] task {0}
- item {0}

| Number | State |
|---|---|
| {0} | old |
"""
BASE = "# Document\n\n" + "\n".join(map(SECTION.format, range(6)))
# What an agent does to one section, by the number of it.
INTENTS = {
    "append": lambda n: {"op": "append_to_section", "heading": f"Section {n}", "markdown": f"More of {n}."},
    "prepend": lambda n: {
        "op": "prepend_to_section",
        "heading": f"Section {n}",
        "markdown": f"First of {n}.",
    },
    "item": lambda n: {"op": "add_list_item", "heading": f"Section {n}", "item": f"new of {n}"},
    "task": lambda n: {"op": "set_task", "item": f"task {n}", "done": True},
    "row": lambda n: {
        "op": "upsert_table_row",
        "heading": f"Section {n}",
        "keyColumn": "Number",
        "key": str(n),
        "row": {"Number": str(n), "State": "new"},
    },
    "text": lambda n: {"op": "replace_match", "pattern": f"Text of {n}", "replacement": f"Words of {n}"},
    "rename": lambda n: {"op": "rename_heading", "heading": f"Section {n}", "newTitle": f"Part {n}"},
    "delete": lambda n: {"op": "delete_section", "heading": f"Section {n}"},
    "insert": lambda n: {
        "op": "insert_section",
        "heading": f"Section {n}",
        "markdown": f"### Below {n}\n\nNew.\n",
        "position": "after",
    },
}


def _after(text: str, edits: list[dict[str, Any]]) -> str:
    if not edits:
        return text
    report = Document.from_text(text).apply(edits)
    assert report.text is not None
    return report.text


@given(st.dictionaries(st.integers(0, 5), st.sampled_from(sorted(INTENTS))), st.sets(st.integers(0, 5)))
@example({4: "delete", 5: "delete"}, {4})
def test_merge_of_two_batches_is_the_text_of_both(asked: dict[int, str], ours: set[int]) -> None:
    own = [INTENTS[kind](number) for number, kind in asked.items() if number in ours]
    other = [INTENTS[kind](number) for number, kind in asked.items() if number not in ours]
    both = _after(BASE, own + other)
    sides = _after(BASE, own), _after(BASE, other)
    for left, right in (sides, sides[::-1]):
        found = merge_documents(BASE, left, right)
        assert (found.text, found.conflicts) == (both, ())
