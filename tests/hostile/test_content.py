"""Cases 57 to 59, 61 and 64: odd bytes, odd Markdown, and edits that touch each other."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mdplan.diagnostics import Code, Exit
from mdplan.engine.engine import Engine
from mdplan.requests.queries import INVENTORIES, StatRequest
from mdplan.settings import DEFAULT_SETTINGS, Settings
from tests.hostile.trial import Place, check_accepted, check_refused, problems_of, stat_verb, timed
from tests.support.case_tables import CaseTables
from tests.surfaces.command_line import mdplan
from tests.surfaces.tool_case import served

CASE_TABLES = CaseTables(__file__)


def ids_of(number: str) -> Callable[[object], str]:
    """Names of tests: the number of the case, and what it is."""
    return lambda case: f"case_{number}_{str(case).replace(' ', '_').replace(',', '')}"


OLD, NEW = "target", "replaced"

BYTES: dict[str, tuple[bytes, str | None]] = {
    "BOM": (b"\xef\xbb\xbf# A\n\ntarget\n", None),
    "UTF-16": ("\ufeff# A\r\n\r\ntarget\r\n".encode("utf-16-le"), None),
    "UTF-16 of the other order": ("\ufeff# A\n\ntarget €\n".encode("utf-16-be"), None),
    "latin-1 that is told": (b"# A\n\ncaf\xe9 target\n", "latin-1"),
    "latin-1 that is not": (b"# A\n\ncaf\xe9 target\n", None),
    "lone CR": (b"# A\r\rtarget\rmore\r", None),
    "mixed line ends": (b"# A\n\nx\r\ntarget\ry\n", None),
    "no final newline": (b"# A\n\ntarget", None),
    "line separators": ("# A\n\nx\u2028y\u2029z\x85\x0b\x0c\x1c target\n".encode(), None),
    "bytes that are no text": (b"# A\n\n\xff\xfe\xc0\x80 target\n", None),
    "control characters": (b"# A\n\n\x01\x02\x1b[31m target\n", None),
    "NUL in what is told to be text": (b"# A\n\n\0 target\n", "latin-1"),
}


@pytest.mark.parametrize("case", BYTES, ids=ids_of("57"))
def test_bytes_outside_the_edit_stay(place: Place, case: str) -> None:
    data, encoding = BYTES[case]
    (place.root / "a.md").write_bytes(data)
    edit = {"op": "replace_match", "pattern": OLD, "replacement": NEW}
    batch = {"file": "a.md", "edits": [edit], **({"encoding": encoding} if encoding else {})}
    wide = "utf-16-le" if data[:2] == b"\xff\xfe" else "utf-16-be" if data[:2] == b"\xfe\xff" else "ascii"
    wanted = data.replace(OLD.encode(wide), NEW.encode(wide))

    check_accepted(
        f"57 {case}",
        lambda: place.engine.write(batch),
        lambda _: (place.root / "a.md").read_bytes() == wanted,
    )


NO_TEXT = {
    "NUL": (b"# A\n\n\0 target\n", None, Code.NOT_A_TEXT_FILE),
    "UTF-16 that does not decode": (b"\xff\xfea", None, Code.NOT_A_TEXT_FILE),
    "stateful encoding": (b"# A target\n", "utf-7", Code.INVALID_ARGUMENT),
    "encoding that does not fit": (b"# A\n\xe9 target\n", "utf-8", Code.ENCODING_UNKNOWN),
    "encoding that there is not": (b"# A target\n", "klingon", Code.INVALID_ARGUMENT),
    "codec that is no encoding": (b"# A target\n", "zlib", Code.INVALID_ARGUMENT),
}


@pytest.mark.parametrize("case", NO_TEXT, ids=ids_of("57"))
def test_binary_content_is_refused(place: Place, case: str) -> None:
    data, encoding, code = NO_TEXT[case]
    (place.root / "a.md").write_bytes(data)
    edit = {"op": "replace_match", "pattern": OLD, "replacement": NEW}
    batch = {"file": "a.md", "edits": [edit], **({"encoding": encoding} if encoding else {})}

    codes = {code, Code.NOT_A_TEXT_FILE}
    check_refused(f"57 {case}", lambda: place.engine.write(batch), codes, place.folder)


def filled(unit: str, size: int) -> str:
    return unit * (size // len(unit.encode()))


GENERATORS: dict[str, Callable[[int], str]] = {
    "unclosed label": lambda size: "[\n" + filled("a\n", size),
    "list items": lambda size: filled("- a\n", size),
    "lazy items": lambda size: filled("- a\nb\n", size),
    "table rows": lambda size: "|a|b|\n|-|-|\n" + filled("|a|b|\n", size),
    "setext headings": lambda size: filled("a\n=\n", size),
    "headings": lambda size: filled("# a\n", size),
    "open tags": lambda size: filled("<a\n", size),
    "short lines": lambda size: filled("a\n", size),
    "definitions": lambda size: filled("[i]: u\n", size),
    "wide table": lambda size: filled("|x", size // 2) + "\n" + filled("|-", size // 2),
    "open images": lambda size: filled("![[]()", size),
    "open links": lambda size: filled("[a", size),
    "links and emphasis": lambda size: filled("[ a_", size),
    "nested brackets": lambda size: filled("[", size // 2) + "a" + filled("]", size // 2),
    "emphasis": lambda size: filled("**_* ", size),
    "open emphasis": lambda size: filled("*a_ ", size),
    "many stars": lambda size: filled("*", size // 2) + "a" + filled("*", size // 2),
    "angle brackets": lambda size: filled("<", size) + ">",
    "entities": lambda size: filled("&", size),
    "backslashes": lambda size: filled("\\", size),
    "backticks": lambda size: "".join("`" * run + " " for run in range(1, int((2 * size) ** 0.5))),
    "quotes": lambda size: filled("> ", size) + "a\n",
    "ordered markers": lambda size: filled("1. ", size) + "a\n",
    "deep lists": lambda size: "".join("  " * (n % 400) + "- a\n" for n in range(size // 400)),
    "comments": lambda size: filled("<!-- ", size),
    "front matter": lambda size: "---\n" + filled("a: b\n", size),
    "fences": lambda size: filled("```\n", size),
    "autolinks": lambda size: filled("www.a.b ", size),
    "footnotes": lambda size: filled("[^a]", size),
    "regions": lambda size: filled("<!-- r:start -->\n", size),
}

QUICK = 16 * 1024
MEDIUM = 64 * 1024
LARGE = 2 * 1024 * 1024


@pytest.mark.parametrize(
    "size",
    [
        QUICK,
        pytest.param(MEDIUM, marks=pytest.mark.slow),
        pytest.param(LARGE, marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
    ],
    ids=["16K", "64K", "2M"],
)
@pytest.mark.parametrize("case", GENERATORS, ids=ids_of("58"))
def test_pathological_markdown_is_answered_within_twice_the_deadline(
    place: Place, case: str, size: int
) -> None:
    """Its outline, and an edit, which looks at the outline before and after."""
    (place.root / "a.md").write_text(GENERATORS[case](size))
    edit = {"file": "a.md", "edits": [{"op": "append_to_file", "markdown": "end"}]}
    verbs: dict[str, Callable[[], Any]] = {
        "stat": lambda: stat_verb(place.engine, "a.md"),
        "plan": lambda: place.engine.plan(edit),
    }
    for name, verb in verbs.items():
        found, seconds = timed(verb)
        problems = problems_of(found)
        expected = {Code.PARSE_TIMEOUT, Code.FILE_TOO_LARGE, Code.OUTLINE_CHANGED}
        is_expected = not problems or {problem.code for problem in problems} <= expected
        is_expected = is_expected and seconds < 2 * DEFAULT_SETTINGS.parse_seconds
        assert is_expected, (case, name, seconds, problems[:3])


NESTED = {
    "heading 30 quotes deep": ("> " * 30 + "# Deep\n\ntext\n", "Deep"),
    "heading 10 items deep": (
        "".join("  " * level + "- a\n" for level in range(10)) + "  " * 10 + "# Deep\n",
        "Deep",
    ),
    "heading 399 quotes deep": ("> " * 399 + "# Deep\n", "Deep"),
    "heading 500 quotes deep": ("> " * 500 + "# Deep\n", "Deep"),
    "heading 5,000 quotes deep": (">" * 5_000 + "# Deep\n", "Deep"),
}


@pytest.mark.parametrize("case", NESTED, ids=ids_of("59"))
def test_deeply_nested_heading_is_found_or_the_limit_is_reported(place: Place, case: str) -> None:
    text, title = NESTED[case]
    (place.root / "a.md").write_text(text)

    def is_found_or_told(report: Any) -> bool:
        titles = [section.heading_path[-1] for section in report.sections if section.heading_path]
        return title in titles or Code.NESTING_LIMIT in [warning.code for warning in report.warnings]

    check_accepted(f"59 {case}", lambda: stat_verb(place.engine, "a.md"), is_found_or_told)


FRONT_MATTER = CASE_TABLES.value("FRONT_MATTER", tuples=True)


@pytest.mark.parametrize("case", FRONT_MATTER, ids=ids_of("61"))
def test_front_matter_is_recognized_by_the_documented_rule(place: Place, case: str) -> None:
    text, is_there = FRONT_MATTER[case]
    (place.root / "a.md").write_text(text, encoding="utf-8")

    check_accepted(
        f"61 {case}",
        lambda: stat_verb(place.engine, "a.md"),
        lambda report: (report.front_matter is not None) == is_there,
    )


def place_of(col: int, end: int, text: str) -> dict[str, Any]:
    span = {"start": {"line": 3, "col": col}, "end": {"line": 3, "col": end}}
    expected = "abcdef"[col - 1 : end - 1]
    return {"op": "replace_range", "range": span, "expectedText": expected, "replacement": text}


TEXT = "# A\n\nabcdef\n"

TOUCHING: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "overlapping": ([place_of(1, 4, "X"), place_of(3, 6, "Y")], None),
    "one inside the other": ([place_of(1, 6, "X"), place_of(2, 3, "Y")], None),
    "equal": ([place_of(1, 3, "X"), place_of(1, 3, "X")], None),
    "adjacent": ([place_of(1, 3, "X"), place_of(3, 5, "Y")], "# A\n\nXYef\n"),
    "adjacent, the other way round": ([place_of(3, 5, "Y"), place_of(1, 3, "X")], "# A\n\nXYef\n"),
    "empty beside a replacement": ([place_of(1, 3, "X"), place_of(3, 3, "Y")], "# A\n\nXYcdef\n"),
    "two that are empty": ([place_of(2, 2, "X"), place_of(2, 2, "Y")], "# A\n\naXYbcdef\n"),
    "empty inside a replacement": ([place_of(1, 4, "X"), place_of(2, 2, "Y")], None),
    "end of the file": (
        [place_of(7, 7, "X"), {"op": "append_to_file", "markdown": "Y"}],
        "# A\n\nabcdefX\nY\n",
    ),
    "all of it": ([{"op": "delete_lines", "lines": {"start": 1, "end": 3}}], ""),
}


@pytest.mark.parametrize("case", TOUCHING, ids=ids_of("64"))
def test_touching_edits_have_a_defined_result_or_conflict(place: Place, case: str) -> None:
    edits, wanted = TOUCHING[case]
    (place.root / "a.md").write_text(TEXT)
    batch = {"file": "a.md", "edits": edits, "allowOutlineChange": True}
    if wanted is None:
        act = lambda: place.engine.write(batch)  # noqa: E731
        check_refused(f"64 {case}", act, {Code.CONFLICTING_EDITS}, place.folder)
        return
    check_accepted(
        f"64 {case}", lambda: place.engine.write(batch), lambda _: (place.root / "a.md").read_text() == wanted
    )


@pytest.mark.hostile_case(64)
def test_position_after_the_end_is_refused(place: Place) -> None:
    (place.root / "a.md").write_text(TEXT)
    for edit in (
        place_of(8, 8, "X"),
        {"op": "delete_lines", "lines": {"start": 4, "end": 4}},
        {"op": "insert_lines", "line": 9, "position": "after", "markdown": "x"},
    ):
        act = lambda edit=edit: place.engine.write({"file": "a.md", "edits": [edit]})  # noqa: E731
        check_refused("64 behind the end", act, {Code.RANGE_OUT_OF_BOUNDS}, place.folder)


# --- Case 58: documents that cost parsers as much as they can, at the limits of a file, and the
# deadline.

LINES = DEFAULT_SETTINGS.max_lines
PARSED_BYTES = DEFAULT_SETTINGS.max_file_bytes

# The lines before the repeated lines, and the repeated lines.
SHAPES = {
    "label without end": ("[\n", "a\n"),
    "items": ("", "- a\n"),
    "items with lazy lines": ("", "- a\nb\n"),
    "items of open fences": ("", "- ```\nb\n" + "x" * 60 + "\n"),
    "quotes with lazy lines": ("", "> a\nb\n- c\n" + "x" * 50 + "\n"),
    "table rows": ("|a|b|\n|-|-|\n", "|a|b|\n"),
    "setext headings": ("", "a\n=\n"),
    "ATX headings": ("", "# a\n"),
    "long headings": ("", "# " + "[a](b) *c* `d` " * 8 + "\n"),
    "open tags": ("", "<a\n"),
    "text": ("", "a\n"),
    "text with links": ("", "word " * 20 + "[a](b) *c* `d`\n"),
    "definitions": ("", "[a]: u\n"),
    "images": ("", "![[]()"),
    "brackets": ("", "[a"),
    "brackets and lines": ("", "[ a_"),
    "stars": ("", "*a **a "),
    "stars and lines": ("", "**_* "),
    "less-than signs": ("", "<"),
    "ampersands": ("", "&"),
    "backslashes": ("", "\\"),
    "backticks": ("", "``\\ "),
    "comments": ("", "</<!--"),
    "CDATA": ("", "<![CDATA["),
    "instructions": ("", "<?"),
}


def hostile(start: str, line: str, size: int) -> str:
    """Repeat these lines up to a file size."""
    count = (size - len(start)) // len(line)
    most = (LINES - 2) // line.count("\n") if "\n" in line else count
    return start + line * min(count, most)


def wide_table(size: int) -> str:
    return "\n".join(pattern * (size // 8) for pattern in ("|x", "|-", "|x"))


def check(place: Place, name: str, text: str) -> None:
    (place.root / "hard.md").write_text(text, encoding="ascii")
    edit = {"op": "replace_match", "pattern": "a", "replacement": "b", "matchSelection": "1"}
    verbs: dict[str, Callable[[], object]] = {
        "brief": lambda: place.engine.stat(StatRequest(file="hard.md", detail="brief")),
        "full": lambda: place.engine.stat(StatRequest(file="hard.md", detail="full", include=INVENTORIES)),
        "plan": lambda: place.engine.plan({"file": "hard.md", "edits": [edit]}),
    }
    taken: dict[str, float] = {}
    for verb, act in verbs.items():
        _found, taken[verb] = timed(act)
    assert max(taken.values()) < 2 * DEFAULT_SETTINGS.parse_seconds, taken


@pytest.mark.hostile_case(58)
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", SHAPES)
def test_hostile_document_is_answered_within_twice_the_deadline(place: Place, name: str) -> None:
    check(place, name, hostile(*SHAPES[name], PARSED_BYTES))


@pytest.mark.hostile_case(58)
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_wide_table_is_answered_within_twice_the_deadline(place: Place) -> None:
    check(place, "wide table", wide_table(PARSED_BYTES))


@pytest.mark.hostile_case(58)
@pytest.mark.parametrize("name", ["label without end", "items with lazy lines", "table rows", "ATX headings"])
def test_exceeded_deadline_is_reported_clearly(place: Place, name: str) -> None:
    (place.root / "hard.md").write_text(hostile(*SHAPES[name], 100_000), encoding="ascii")
    engine = Engine(place.engine.workspace, Settings(parse_seconds=0.001))
    request = StatRequest(file="hard.md", detail="full", include=INVENTORIES)
    problems = check_refused(f"58 {name}", lambda: engine.stat(request), {Code.PARSE_TIMEOUT}, place.folder)

    assert "--max-parse-seconds" in problems[0].hint


# --- S13: values of the wrong kind in plans, batches and arguments of tools are problems, never a
# traceback.

WRONG = ("1e999", "-1e999", "NaN", "12345678901234567890123", "{}", "[]", '"\\ud800"', "[" * 300 + "]" * 300)
EDIT = {"op": "append_to_section", "headingPath": ["Here"], "occurrence": 1, "markdown": "x"}
BATCH = {"files": [{"file": "here.md", "edits": [EDIT]}], "backup": True}
_HOLE = "\x00hole"


def holes(value: Any) -> Iterator[Any]:
    """Yield `value` with each inner value replaced in turn."""
    yield _HOLE
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    )
    for name, entry in entries:
        for holed in holes(entry):
            if isinstance(value, dict):
                yield {**value, name: holed}
            else:
                yield [*value[:name], holed, *value[name + 1 :]]


def texts(value: object, wrong: str) -> Iterator[bytes]:
    for holed in holes(value):
        yield json.dumps(holed).replace(json.dumps(_HOLE), wrong).encode()


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong[:24])
@pytest.mark.parametrize("what", ["plan", "batch"])
def test_wrong_value_in_a_plan_or_batch_never_ends_in_a_traceback(
    place: Place, what: str, wrong: str
) -> None:
    document = place.engine.export(place.engine.plan(BATCH).plan_id or "")
    assert isinstance(document, bytes)
    for text in texts(json.loads(document) if what == "plan" else BATCH, wrong):
        for verb in ("apply", "validate"):
            assert mdplan(verb, "--root", str(place.root), stdin=text).code != Exit.BUG, text


@pytest.mark.parametrize("wrong", [1e999, -1e999, 10**25, float("nan"), {}, [], "\ud800"], ids=repr)
def test_wrong_value_in_an_argument_of_a_tool_never_ends_in_a_traceback(place: Place, wrong: object) -> None:
    with served(place.root, "md") as calls:
        for arguments in (
            {"limit": wrong},
            {"transaction": wrong},
            {"action": wrong},
            {"action": "undo", "onStale": wrong},
            {"action": "undo", "dryRun": wrong},
        ):
            try:
                result = calls.call("md_history", arguments)
            except (ValueError, UnicodeEncodeError):
                # No message of the protocol can have that value.
                continue
            assert "Traceback" not in result.text
            assert "bug" not in result.text.lower()
        assert calls.is_alive()
