"""Case 58: documents that cost parsers as much as they can, at the limits of a file, and the deadline."""

from collections.abc import Callable

import pytest

from mdplan.diagnostics import Code
from mdplan.engine.engine import Engine
from mdplan.requests.queries import INVENTORIES, StatRequest
from mdplan.settings import DEFAULT_SETTINGS, Settings
from tests.hostile.tally import Outcome, Record
from tests.hostile.trial import Place, check_refused, problems_of, timed

LINES = DEFAULT_SETTINGS.max_lines
BYTES = DEFAULT_SETTINGS.max_file_bytes
# What comes before lines that are repeated, and these.
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
    """As many of these lines as fit into a file of so many bytes."""
    count = (size - len(start)) // len(line)
    most = (LINES - 2) // line.count("\n") if "\n" in line else count
    return start + line * min(count, most)


def wide_table(size: int) -> str:
    return "\n".join(pattern * (size // 8) for pattern in ("|x", "|-", "|x"))


def check(place: Place, record: Record, name: str, text: str) -> None:
    (place.root / "hard.md").write_text(text, encoding="ascii")
    edit = {"op": "replace_match", "pattern": "a", "replacement": "b", "matchSelection": "1"}
    verbs: dict[str, Callable[[], object]] = {
        "brief": lambda: place.engine.stat(StatRequest(file="hard.md", detail="brief")),
        "full": lambda: place.engine.stat(StatRequest(file="hard.md", detail="full", include=INVENTORIES)),
        "plan": lambda: place.engine.plan({"file": "hard.md", "edits": [edit]}),
    }
    taken: dict[str, float] = {}
    for verb, act in verbs.items():
        found, taken[verb] = timed(act)
        outcome: Outcome = "refused" if problems_of(found) else "accepted as expected"
        record(f"58 {name}", outcome, taken[verb])
    assert max(taken.values()) < 2 * DEFAULT_SETTINGS.parse_seconds, taken


@pytest.mark.hostile_case(58)
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", SHAPES)
def test_hostile_document_is_answered_within_twice_the_deadline(
    place: Place, record: Record, name: str
) -> None:
    check(place, record, name, hostile(*SHAPES[name], BYTES))


@pytest.mark.hostile_case(58)
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_wide_table_is_answered_within_twice_the_deadline(place: Place, record: Record) -> None:
    check(place, record, "wide table", wide_table(BYTES))


@pytest.mark.hostile_case(58)
@pytest.mark.parametrize("name", ["label without end", "items with lazy lines", "table rows", "ATX headings"])
def test_exceeded_deadline_is_reported_clearly(place: Place, record: Record, name: str) -> None:
    (place.root / "hard.md").write_text(hostile(*SHAPES[name], 100_000), encoding="ascii")
    engine = Engine(place.engine.workspace, Settings(parse_seconds=0.001))
    request = StatRequest(file="hard.md", detail="full", include=INVENTORIES)
    problems = check_refused(
        record, f"58 {name}", lambda: engine.stat(request), {Code.PARSE_TIMEOUT}, place.folder
    )

    assert "--max-parse-seconds" in problems[0].hint
