"""What `mdplan check` finds in one document: code and line, for an old and a new version of it."""

import pytest

from mdplan.checks import check_documents
from mdplan.diagnostics import Code
from mdplan.markdown.outline import Outline
from mdplan.text.source import DocumentFormat, Source

TABLE = "# T\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
FOUND = [
    ("no change", "# A\n", "# A\n", []),
    ("text changes", "# A\n\nold\n", "# A\n\nnew\n", []),
    ("section is deleted", "# A\n\n## B\n\nb\n", "# A\n", []),
    ("section is moved", "# A\n\n## B\n\n## C\n", "# A\n\n## C\n\n## B\n", []),
    ("line ends", "a\nb\n", "a\r\nb\r\n", [(Code.LINE_ENDS_CHANGED, None)]),
    ("some line ends", "a\nb\n", "a\nb\r\n", [(Code.LINE_ENDS_CHANGED, None)]),
    ("mixed before", "a\nb\r\n", "a\r\nb\r\n", []),
    ("byte order mark appears", "a\n", "\ufeffa\n", [(Code.ENCODING_CHANGED, None)]),
    ("fence opens", "# A\n\n## B\n", "# A\n\n```\n\n## B\n", [(Code.BLOCK_UNCLOSED, 3)]),
    ("container is not closed", "# A\n", "# A\n\n:::note\n\nb\n", [(Code.UNBALANCED_TAG, 3)]),
    (
        "container loses its opening",
        "<details>\n\nb\n\n</details>\n",
        "b\n\n</details>\n",
        [(Code.UNBALANCED_TAG, 3)],
    ),
    ("container was open", ":::note\n\nb\n", ":::note\n\nc\n", []),
    ("container is new and closed", "# A\n", "# A\n\n:::note\n\nb\n\n:::\n", []),
    ("fence was open", "# A\n\n```\nx\n", "# A\n\n```\ny\n", []),
    ("comment opens", "# A\n\nb\n", "# A\n\n<!-- x\n\nb\n", [(Code.BLOCK_UNCLOSED, 3)]),
    ("heading becomes text", "a\n\n## B\n", "a\n\n    ## B\n", [(Code.HEADING_LOST, 3)]),
    ("heading loses its space", "# A\n\n## B\n", "# A\n\n##B\n", [(Code.HEADING_LOST, 3)]),
    ("text had no space", "# A\n\n## B\n\n##B\n", "# A\n\n## B\n\n##B\n\nx\n", []),
    ("heading is quoted in code", "# A\n\n## B\n", "# A\n\n```\n##B\n```\n", []),
    ("fence loses a mark", "a\n\n```sh\nx\n```\n", "a\n\n``sh\nx\n```\n", [(Code.BLOCK_UNCLOSED, 3)]),
    (
        "fence before another one loses a mark",
        "~~~sh\nx\n~~~\n\na\n\n~~~sh\ny\n~~~\n",
        "~~sh\nx\n~~~\n\na\n\n~~~sh\ny\n~~~\n",
        [(Code.BLOCK_UNCLOSED, 1)],
    ),
    ("fence becomes code in text", "```sh\nx\n```\n", "``sh\nx``\n", []),
    ("task loses a space", "- [ ] a\n- [x] b\n", "- [ ] a\n\n-[x] b\n", [(Code.TASK_LOST, 3)]),
    ("box loses its space", "- [ ] a\n- [x] b\n", "- [] a\n- [x] b\n", [(Code.TASK_LOST, 1)]),
    ("task is done", "- [ ] a\n- [x] b\n", "- [x] a\n- [x] b\n", []),
    ("task becomes an item", "- [ ] a\n", "- a\n", []),
    ("row loses a pipe", TABLE, TABLE.replace("| 1 | 2", "| 1  2"), [(Code.TABLE_TORN, 5)]),
    ("row loses a cell", TABLE, TABLE.replace("| 1 | 2", "| 1"), []),
    ("row is torn off", TABLE, TABLE.replace("| 3", "\n| 3"), [(Code.TABLE_TORN, 7)]),
    ("header is torn off", TABLE, TABLE.replace("|---|---|", "|---|"), [(Code.TABLE_TORN, 3)]),
    ("row is deleted", TABLE, TABLE.replace("| 3 | 4 |\n", ""), []),
    ("row has a pipe in text", TABLE, TABLE.replace("| 4 |", "| a|b |"), [(Code.TABLE_TORN, 6)]),
    ("front matter breaks", "---\na: 1\n---\n", "---\na: [1\n---\n", [(Code.FRONT_MATTER_INVALID, 3)]),
    ("front matter opens", "---\na: 1\n---\nx\n", "---\na: 1\nx\n", [(Code.FRONT_MATTER_INVALID, 1)]),
    ("number was text", '---\na: "1"\n---\n', "---\na: 1\n---\n", [(Code.FRONT_MATTER_TYPE, 1)]),
    ("date is filled in", "---\na:\n---\n", "---\na: 2026-01-01\n---\n", []),
    (
        "region loses its end",
        "<!-- x:start -->\n\n<!-- x:end -->\n",
        "<!-- x:start -->\n\n",
        [(Code.REGION_UNBALANCED, 1)],
    ),
    ("link breaks", "[a](#b)\n\n# B\n", "[a](#b)\n\n# C\n", [(Code.BROKEN_LINK, 1)]),
    ("link was broken", "[a](#x)\n\n# B\n", "[a](#x)\n\n# C\n", []),
    (
        "label gets another first definition",
        "[a][r]\n\n[r]: x.md\n",
        "[r]: y.md\n\n[a][r]\n\n[r]: x.md\n",
        [(Code.LINK_RETARGETED, 3)],
    ),
    (
        "first definition of a label is deleted",
        "[r]\n\n[r]: x\n[r]: y\n",
        "[r]\n\n[r]: y\n",
        [(Code.LINK_RETARGETED, 1)],
    ),
    ("definition is edited", "[r]\n\n[r]: x.md\n", "[r]\n\n[r]: y.md\n", []),
    (
        "footnote gets another first definition",
        "a[^1]\n\n[^1]: one\n",
        "a[^1] b\n\n[^1]: two\n\n[^1]: one\n",
        [(Code.LINK_RETARGETED, 1)],
    ),
    (
        "equal heading is put before the one of a link",
        "[a](#b)\n\n## B\n\nold\n",
        "[a](#b)\n\n## B\n\nnew\n\n## B\n\nold\n",
        [(Code.LINK_RETARGETED, 1)],
    ),
    (
        "first of two equal headings is deleted",
        "[a](#b)\n\n## B\n\none\n\n## B\n\ntwo\n",
        "[a](#b)\n\n## B\n\ntwo\n",
        [(Code.LINK_RETARGETED, 1)],
    ),
    (
        "text of equal headings is edited",
        "[a](#b)\n\n## B\n\none\n\n## B\n\ntwo\n",
        "[a](#b)\n\n## B\n\n1\n\n## B\n\n2\n",
        [],
    ),
    (
        "link names another heading",
        "# T\n\n[a](#foo)\n\n## A\n\n### foo\n\n## B\n",
        "# T\n\n[a](#foo)\n\n## B\n\n### foo\n\n## A\n\n### foo\n",
        [(Code.LINK_RETARGETED, 3)],
    ),
]


@pytest.mark.parametrize(
    ("old", "new", "expected"), [row[1:] for row in FOUND], ids=[row[0] for row in FOUND]
)
def test_change_is_reported_once_with_its_line(old: str, new: str, expected: list[tuple[Code, int]]) -> None:
    report = check_documents("a.md", outline_of(old), outline_of(new))

    found = [(each.code, each.place.line if each.place else None) for each in report.warnings]
    assert found == expected


def outline_of(text: str) -> Outline:
    source = Source.decode(text.encode())
    assert isinstance(source, Source)
    return Outline(source, DocumentFormat.MARKDOWN)
