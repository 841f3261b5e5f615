"""Cases 57 to 59, 61 and 64: odd bytes, odd Markdown, and edits that touch each other."""

from collections.abc import Callable
from typing import Any

import pytest

from mdplan.diagnostics import Code
from mdplan.settings import DEFAULT_SETTINGS
from tests.hostile.tally import Record
from tests.hostile.trial import Place, check_accepted, check_refused, problems_of, stat_verb, timed


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
def test_bytes_outside_the_edit_stay(place: Place, record: Record, case: str) -> None:
    data, encoding = BYTES[case]
    (place.root / "a.md").write_bytes(data)
    edit = {"op": "replace_match", "pattern": OLD, "replacement": NEW}
    batch = {"file": "a.md", "edits": [edit], **({"encoding": encoding} if encoding else {})}
    wide = "utf-16-le" if data[:2] == b"\xff\xfe" else "utf-16-be" if data[:2] == b"\xfe\xff" else "ascii"
    wanted = data.replace(OLD.encode(wide), NEW.encode(wide))

    check_accepted(
        record,
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
def test_binary_content_is_refused(place: Place, record: Record, case: str) -> None:
    data, encoding, code = NO_TEXT[case]
    (place.root / "a.md").write_bytes(data)
    edit = {"op": "replace_match", "pattern": OLD, "replacement": NEW}
    batch = {"file": "a.md", "edits": [edit], **({"encoding": encoding} if encoding else {})}

    codes = {code, Code.NOT_A_TEXT_FILE}
    check_refused(record, f"57 {case}", lambda: place.engine.write(batch), codes, place.folder)


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
    place: Place, record: Record, case: str, size: int
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
        outcome = "escaped" if not is_expected else "refused" if problems else "accepted as expected"
        record(f"58 {case}, {size // 1024} KiB: {name}", outcome, seconds)
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
def test_deeply_nested_heading_is_found_or_the_limit_is_reported(
    place: Place, record: Record, case: str
) -> None:
    text, title = NESTED[case]
    (place.root / "a.md").write_text(text)

    def is_found_or_told(report: Any) -> bool:
        titles = [section.heading_path[-1] for section in report.sections if section.heading_path]
        return title in titles or Code.NESTING_LIMIT in [warning.code for warning in report.warnings]

    check_accepted(record, f"59 {case}", lambda: stat_verb(place.engine, "a.md"), is_found_or_told)


FRONT_MATTER = {
    "without an end": ("---\ntitle: a\n\n# A\n", False),
    "two blocks": ("---\na: 1\n---\n---\nb: 2\n---\n# A\n", True),
    "in a fence": ("```\n---\na: 1\n---\n```\n\n# A\n", False),
    "behind a blank line": ("\n---\na: 1\n---\n\n# A\n", False),
    "a thematic break": ("---\n\n# A\n\n---\n", False),
    "end that is indented": ("---\na: |\n  x\n  ---\n  y\n---\n# A\n", True),
    "end in TOML of YAML": ("---\na: 1\n+++\n# A\n", False),
    "behind a BOM": ("\ufeff---\na: 1\n---\n# A\n", True),
}


@pytest.mark.parametrize("case", FRONT_MATTER, ids=ids_of("61"))
def test_front_matter_is_recognized_by_the_documented_rule(place: Place, record: Record, case: str) -> None:
    text, is_there = FRONT_MATTER[case]
    (place.root / "a.md").write_text(text, encoding="utf-8")

    check_accepted(
        record,
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
def test_touching_edits_have_a_defined_result_or_conflict(place: Place, record: Record, case: str) -> None:
    edits, wanted = TOUCHING[case]
    (place.root / "a.md").write_text(TEXT)
    batch = {"file": "a.md", "edits": edits, "allowOutlineChange": True}
    if wanted is None:
        act = lambda: place.engine.write(batch)  # noqa: E731
        check_refused(record, f"64 {case}", act, {Code.CONFLICTING_EDITS}, place.folder)
        return
    check_accepted(
        record,
        f"64 {case}",
        lambda: place.engine.write(batch),
        lambda _: (place.root / "a.md").read_text() == wanted,
    )


@pytest.mark.hostile_case(64)
def test_position_after_the_end_is_refused(place: Place, record: Record) -> None:
    (place.root / "a.md").write_text(TEXT)
    for edit in (
        place_of(8, 8, "X"),
        {"op": "delete_lines", "lines": {"start": 4, "end": 4}},
        {"op": "insert_lines", "line": 9, "position": "after", "markdown": "x"},
    ):
        act = lambda edit=edit: place.engine.write({"file": "a.md", "edits": [edit]})  # noqa: E731
        check_refused(record, "64 behind the end", act, {Code.RANGE_OUT_OF_BOUNDS}, place.folder)
