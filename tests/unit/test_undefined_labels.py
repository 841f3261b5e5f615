"""Which links a plan reports as left without a definition."""

import pytest

from mdplan.diagnostics import Code
from mdplan.memory import Document

TEXT = """[a] and [see][a], ![a][]

`[a]` and [b]

[a]: one.html
[b]: two.html
"""


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("[a] and", "[c] and", [1]),
        ("[a] and", "[b] and", []),
        ("[a] and", "[a](x.md) and", []),
        ("[a] and", r"\[a] and", []),
        ("[a] and", "a and", []),
        ("[see][a]", "[other][a]", []),
        ("[see][a]", "[see][ax]", [1]),
        ("![a][]", "![xa][]", [1]),
        ("`[a]`", "`[c]`", []),
        ("[a]: one.html", "[a]: three.html", []),
        ("[a]: one.html", "[A]: one.html", []),
        ("[a]: one.html", "[c]: one.html", [1, 1, 1]),
        ("[b]: two.html", "[b]\n", [3]),
        ("[a] and [see][a], ![a][]", "[c] and [see][c], ![c][]", []),
    ],
)
def test_links_that_lose_their_definition_are_reported(old: str, new: str, lines: list[int]) -> None:
    edit = {"op": "replace_match", "pattern": old, "replacement": new}
    plan = Document.from_text(TEXT).plan([edit])

    assert plan.ok, plan.diagnostics
    broken = [each for each in plan.warnings if each.code is Code.BROKEN_LINK]
    assert [each.place.line for each in broken if each.place] == lines
