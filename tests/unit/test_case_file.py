"""Golden cases as Markdown: any file can be written and read back, and an update changes one block."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from docs.codegen.cases import CaseBlock, CaseText, read_cases
from tests.support.case_tables import CaseTables
from tests.support.golden_cases import CASES, compact_json, with_blocks, written_file, written_json

CASE_TABLES = CaseTables(__file__)


TEXTS = st.text(st.sampled_from("ab`\\# \t\r\n\0é€😀\u2028\u200b\ufeff"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)
# Numbered lines, and what looks like the short form of them.
RUNS = st.builds(
    lambda before, first, count, after: "".join(f"{before}{first + n}{after}\n" for n in range(count)),
    *(st.sampled_from(["", "a ", "0", "{"]), st.integers(0, 120), st.integers(15, 40), TEXTS),
)
NUMBERED = st.lists(RUNS | TEXTS | st.just("a{1..3}\n")).map("".join)
PATHS = st.text(st.characters(blacklist_categories=["C", "Z"], blacklist_characters="`"), min_size=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a law."""
    return tmp_path_factory.mktemp("case")


def read_back(block: CaseBlock, folder: Path) -> CaseBlock:
    path = folder / "case.md"
    path.write_text(f"# Cases\n\n## One\n\n{block.markdown}", encoding="utf-8")
    (case,) = read_cases(path)
    (found,) = case.blocks
    return found


@given(
    data=st.binary()
    | TEXTS.map(str.encode)
    | NUMBERED.map(str.encode)
    | TEXTS.map(lambda text: text.encode("utf-16"))
)
def test_case_block_has_the_bytes_of_its_file(data: bytes, folder: Path) -> None:
    block = written_file("before", "a.md", data, name="a.md")

    assert block.data == data
    assert read_back(block, folder).data == data


@given(path=PATHS.map(lambda name: f"docs/{name} x.md"))
def test_case_block_has_the_path_of_its_file(path: str, folder: Path) -> None:
    block = written_file("before", path, b"# A\n", name=path)

    assert read_back(block, folder).path == path


@given(value=JSON)
def test_json_case_block_has_its_value(value: object, folder: Path) -> None:
    found = read_back(written_json("report", value), folder)

    assert json.dumps(found.json) == json.dumps(value)


@pytest.mark.parametrize(
    ("data", "info", "text"),
    [
        (b"", "md before", ""),
        (b"a\n", "md before", "a\n"),
        (b"\n", "md before", "\n"),
        (b"a", "md before final-newline=no", "a\n"),
        (b"a\r\nb\r\n", "md before eol=crlf", "a\nb\n"),
        (b"a\rb\r", "md before eol=cr", "a\nb\n"),
        (b"a\r\nb\n", "md before escapes", "a\\r\nb\n"),
        (b"a  \n", "md before escapes", "a \\s\n"),
        (b"\\a\xff\n", "md before escapes", "\\\\a\\xff\n"),
        (b"\xef\xbb\xbfa\n", "md before bom", "a\n"),
        (b"".join(b"- %d!\n" % n for n in range(9, 40)), "md before repeat", "- {9..39}!\n"),
        (
            b"".join(b"%d" % n for n in range(40)),
            "md before final-newline=no",
            "".join(map(str, range(40))) + "\n",
        ),
        ("\ufeffé\n".encode("utf-16-be"), "md before encoding=utf-16-be bom", "é\n"),
    ],
)
def test_case_block_uses_the_shortest_form(data: bytes, info: str, text: str) -> None:
    assert written_file("before", "a.md", data).markdown == f"```{info}\n{text}```\n"


def test_fence_is_longer_than_any_in_the_file() -> None:
    assert written_file("before", "a.md", b"````sh\n````\n").markdown.startswith("`````md before\n````sh\n")


def test_short_json_is_written_on_one_line() -> None:
    short = {"op": "set_task", "done": True}

    assert compact_json(short) == '{"op": "set_task", "done": true}'
    assert compact_json([short, short], width=40) == (
        '[\n  {"op": "set_task", "done": true},\n  {"op": "set_task", "done": true}\n]'
    )


PAGE = CASE_TABLES.value("PAGE")


def case_named(title: str, folder: Path) -> CaseText:
    path = folder / "tasks.md"
    if not path.exists():
        path.write_text(PAGE, encoding="utf-8")
    return next(case for case in read_cases(path) if case.title == title)


def test_update_changes_one_block_and_nothing_else(tmp_path: Path) -> None:
    case = case_named("Changes", tmp_path)
    with_blocks(case, [written_file("after", "a.md", b"# C\r\n")], is_stale=lambda _: False)

    assert case.path.read_text() == PAGE.replace("```md after\n# B, done\n", "```md after eol=crlf\n# C\n")


def test_update_removes_stale_blocks_and_appends_new_ones(tmp_path: Path) -> None:
    case = case_named("Changes", tmp_path)
    with_blocks(
        case, [written_json("diagnostics", [])], is_stale=lambda block: block.role in {"after", "report"}
    )

    start, end = PAGE.index("```md after\n# B"), PAGE.index("## Stays too")
    assert case.path.read_text() == PAGE[:start] + "```json diagnostics\n[]\n```\n\n" + PAGE[end:]


def test_sequential_updates_keep_the_order_of_cases(tmp_path: Path) -> None:
    first, second = case_named("Stays", tmp_path), case_named("Changes", tmp_path)
    with_blocks(first, [written_json("report", [0] * 100)], is_stale=lambda _: False)
    with_blocks(second, [written_file("after", "a.md", b"# D\n")], is_stale=lambda _: False)

    assert case_named("Stays", tmp_path).json("report") == [0] * 100
    assert [block.text for block in case_named("Changes", tmp_path).find("after")] == ["# D\n"]
    assert case_named("Stays too", tmp_path).blocks[0].text == "# C\n"


@CASE_TABLES.parametrize("text", "problem")
def test_mistake_in_a_block_is_reported_with_its_line(text: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(text)

    with pytest.raises(ValueError, match=problem.replace(".", r"\.")):
        read_cases(path)


@pytest.mark.parametrize("path", sorted(CASES.rglob("*.md")), ids=lambda path: path.name)
def test_markdown_parser_finds_the_same_blocks(path: Path) -> None:
    tokens = MarkdownIt().parse(path.read_text(encoding="utf-8"))
    fences = [(token.map[0], token.content) for token in tokens if token.type == "fence" and token.map]

    assert [(block.first_line, block.text) for case in read_cases(path) for block in case.blocks] == fences
