"""Cases 60 and 63, and bombs beside them: little input that asks for much time or memory."""

import importlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from mdplan.diagnostics import MOST_PROBLEMS, Code, Exit
from mdplan.engine.engine import Engine
from mdplan.requests.query_reader import read_read_request, read_search_request
from mdplan.settings import Settings
from tests.hostile.trial import HERE, Place, check_accepted, check_refused, stat_verb, timed
from tests.surfaces.command_line import mdplan

# CPU seconds, far above the usual time (0.1 s) and far below that of a bomb: in a process that has run
# thousands of tests, the garbage collector can take a second.
FRONT_MATTER_SECONDS = 5.0
PATTERN_SECONDS = 8.0
PAYLOAD_SECONDS = 20.0
ALIASES = zip("abcdefgh", "bcdefghi", strict=True)
YAML = {
    "alias bomb": "a: &a [x,x,x]\n" + "".join(f"{b}: &{b} [*{a},*{a},*{a}]\n" for a, b in ALIASES),
    "merge key": "a: &a {x: 1}\nb:\n  <<: *a\n",
    "merge key without alias": "b:\n  <<: {x: 1}\n",
    "alias of itself": "a: &a [*a]\n",
    "deep list": "a: " + "[" * 30_000 + "]" * 30_000 + "\n",
    "deep list without end": "a: " + "[" * 60_000 + "\n",
    "deep map": "".join(" " * depth + "a:\n" for depth in range(300)),
    "deep questions": "? " * 20_000 + "a\n",
    "deep dashes": "- " * 30_000 + "\n",
    "tag of an object": 'a: !!python/object/apply:os.system ["touch owned"]\n',
    "unknown tag": "a: !other b\n",
    "number of 50,000 digits": "a: " + "9" * 50_000 + "\n",
    "repeated key": "a: 1\na: 2\n",
    "many anchors": "a: " + "&a " * 10_000 + "x\n",
    "many values": "".join(f"k{number}: 1\n" for number in range(5_400)),
    "open quote": 'a: "' + "\n" * 60_000,
    "control character": "a: \x01\n",
    "date that is none": "a: 2020-99-99\n",
    "more than 64 KiB": "a: " + "x" * 70_000 + "\n",
}
TOML = {
    "deep array": "a = " + "[" * 30_000 + "]" * 30_000 + "\n",
    "deep inline table": "a = " + "{a = " * 10_000 + "1" + "}" * 10_000 + "\n",
    "deep dotted key": ".".join("a" * 20_000) + " = 1\n",
    "deep quoted key": ".".join(['"a"'] * 10_000) + " = 1\n",
    "deep table": "[" + ".".join("a" * 30_000) + "]\n",
    "number of 60,000 digits": "a = " + "9" * 60_000 + "\n",
    "repeated key": "a = 1\na = 2\n",
    "quotes": "a = " + '"' * 60_001 + "\n",
    "date that is none": "a = 2020-99-99\n",
    "more than 64 KiB": "a = '" + "x" * 70_000 + "'\n",
}
FRONT_MATTER = {f"60 YAML {name}": f"---\n{text}---\n" for name, text in YAML.items()}
FRONT_MATTER |= {f"60 TOML {name}": f"+++\n{text}+++\n" for name, text in TOML.items()}


def case_id(value: object) -> str:
    return f"case_{str(value).replace(' ', '_')}" if isinstance(value, str) else ""


@pytest.fixture(scope="module")
def parsers() -> None:
    """The parsers of front matter, which load when a document needs them: that is not timed."""
    importlib.import_module("mdplan.markdown.front_matter")


@pytest.mark.usefixtures("parsers")
@pytest.mark.parametrize("case", FRONT_MATTER, ids=case_id)
def test_front_matter_bomb_is_rejected_quickly_and_the_rest_stays_editable(place: Place, case: str) -> None:
    text = FRONT_MATTER[case] + "# A\n\nold\n"
    (place.root / "a.md").write_text(text)
    set_key = {"file": "a.md", "edits": [{"op": "set_front_matter", "key": "k", "value": 1}]}
    replace = {"file": "a.md", "edits": [{"op": "replace_match", "pattern": "old", "replacement": "new"}]}

    check_refused(
        f"{case}: set a key",
        lambda: place.engine.write(set_key),
        {Code.FRONT_MATTER_INVALID},
        place.folder,
        within=FRONT_MATTER_SECONDS,
    )
    check_accepted(
        f"{case}: look",
        lambda: stat_verb(place.engine, "a.md"),
        lambda report: report.front_matter.keys is None,
        within=FRONT_MATTER_SECONDS,
    )
    check_accepted(
        f"{case}: edit around it",
        lambda: place.engine.write(replace),
        lambda _: (place.root / "a.md").read_text() == text.replace("old", "new"),
        within=FRONT_MATTER_SECONDS,
    )
    assert not Path("owned").exists()


def quick_and_slow(cases: Collection[str], slow: Collection[str]) -> list[Any]:
    """Return the names of `cases`; a quick run omits `slow` ones."""
    return [pytest.param(case, marks=pytest.mark.slow) if case in slow else case for case in cases]


TIMEOUT, PATTERN, MANY = Code.REGEX_TIMEOUT, Code.INVALID_REGEX, Code.BATCH_TOO_LARGE
PATTERNS = {
    "nested plus": (r"(a+)+$", ("a" * 5_000 + "!\n") * 20, TIMEOUT),
    "alternation": (r"(a|aa)+$", "a" * 100 + "!", TIMEOUT),
    "nested counts": (r"((a{1,100}){1,100}){1,100}b", "a" * 200, TIMEOUT),
    "fuzzy": (r"(?:abcdefghij){e<=9}", "xyz" * 3_000, TIMEOUT),
    "best fuzzy": (r"(?b)(?:abcdefghijklmnop){e<=15}", "xyz" * 3_000, TIMEOUT),
    "case folding": (r"(?i)ſ+ß", "s" * 100_000, TIMEOUT),
    "three thousand alternatives": ("|".join(f"a{n}b" for n in range(3_000)) + "|x", "a" * 100_000, TIMEOUT),
    "matches without end": (r"(?:)*", "a" * 150_000, MANY),
    "counts of counts": (r"(?:a{1000}){1000}", "a", PATTERN),
    "count of a thousand million": (r"a{1000000000}", "a", PATTERN),
    "five thousand groups": ("(" * 5_000 + ")" * 5_000, "a", PATTERN),
    "sets of sets": ("[" * 5_000, "a", PATTERN),
}


QUICK_PATTERNS = {"nested plus", "counts of counts", "count of a thousand million", "five thousand groups"}
SLOW_PATTERNS = [case for case in PATTERNS if case not in QUICK_PATTERNS]


@pytest.mark.parametrize("case", quick_and_slow(PATTERNS, SLOW_PATTERNS), ids=case_id)
def test_catastrophic_pattern_stops_soon_after_the_time_limit(place: Place, case: str) -> None:
    """Applies to every verb with a pattern; a batch has one limit for all its edits."""
    pattern, text, code = PATTERNS[case]
    (place.root / "a.md").write_text(f"# A\n\n{text}\n")
    regex = {"file": "a.md", "pattern": pattern, "matchType": "regex"}
    edit = {**regex, "op": "replace_match", "replacement": "", "matchSelection": "all"}
    del edit["file"]
    engine = Engine(place.engine.workspace, Settings(pattern_seconds=0.2))
    verbs = {
        "search": lambda: engine.search(_read(read_search_request(regex))),
        "read": lambda: engine.read(
            _read(read_read_request({"file": "a.md", "match": pattern, "matchType": "regex"}))
        ),
        "write": lambda: engine.write({"file": "a.md", "edits": [edit] * 20}),
        "write in sequence": lambda: engine.write({"file": "a.md", "edits": [edit] * 20, "sequential": True}),
    }
    for name, verb in verbs.items():
        check_refused(f"60 pattern, {case}: {name}", verb, {code}, place.folder, within=PATTERN_SECONDS)


def _read(request: Any) -> Any:
    assert not isinstance(request, tuple), request
    return request


def nested(depth: int) -> object:
    value: object = "x"
    for _ in range(depth):
        value = [value]
    return value


APPEND = {"op": "append_to_file", "markdown": "x"}
MEGABYTE = "x" * 1_000_000
EVERY = {"matchSelection": "all", "matchType": "regex"}
PAYLOADS: dict[str, tuple[dict[str, Any], Code]] = {
    "63 ten thousand megabytes": (
        {"file": "here.md", "edits": [{"op": "append_to_file", "markdown": MEGABYTE}] * 10_000},
        Code.BATCH_TOO_LARGE,
    ),
    "63 too many edits": ({"file": "here.md", "edits": [APPEND] * 100_001}, Code.BATCH_TOO_LARGE),
    "63 too many files": (
        {
            "files": [
                {"file": f"{n}.md", "edits": [{"op": "create_file", "markdown": ""}]} for n in range(10_001)
            ]
        },
        Code.BATCH_TOO_LARGE,
    ),
    "63 too many hunks": (
        {"diff": "--- a/here.md\n+++ b/here.md\n" + "@@ -1,1 +1,1 @@\n-x\n+y\n" * 100_001},
        Code.BATCH_TOO_LARGE,
    ),
    "63 file that would be too large": (
        {"file": "new.md", "edits": [{"op": "create_file", "markdown": MEGABYTE * 20}]},
        Code.FILE_TOO_LARGE,
    ),
    "63 file that would have too many lines": (
        {"file": "new.md", "edits": [{"op": "create_file", "markdown": "\n" * 400_001}]},
        Code.FILE_TOO_LARGE,
    ),
    "63 a megabyte for each letter": (
        {
            "file": "many.md",
            "edits": [{"op": "replace_match", "pattern": "a", "replacement": MEGABYTE, **EVERY}],
        },
        Code.BATCH_TOO_LARGE,
    ),
    "63 groups without end": (
        {
            "file": "many.md",
            "edits": [{"op": "replace_match", "pattern": "(a)", "replacement": r"\1" * 100_000, **EVERY}],
        },
        Code.BATCH_TOO_LARGE,
    ),
    "63 groups of many edits": (
        {
            "file": "many.md",
            "edits": [{"op": "replace_match", "pattern": "(a)", "replacement": r"\1" * 300, **EVERY}] * 100,
        },
        Code.FILE_TOO_LARGE,
    ),
    "63 text that doubles": (
        {
            "file": "many.md",
            "sequential": True,
            "edits": [{"op": "replace_match", "pattern": "(x.*)", "replacement": r"\1\1", **EVERY}] * 60,
        },
        Code.BATCH_TOO_LARGE,
    ),
    "63 lines that double": (
        {
            "file": "lines.md",
            "sequential": True,
            "edits": [{"op": "replace_match", "pattern": "(?s)(x.*)", "replacement": r"\1\1", **EVERY}] * 60,
        },
        Code.FILE_TOO_LARGE,
    ),
    "63 diff that claims a thousand million lines": (
        {"diff": "--- a/here.md\n+++ b/here.md\n@@ -1,999999999 +1,999999999 @@\n-# Here\n+y\n"},
        Code.INVALID_ARGUMENT,
    ),
    "63 unknown operations": (
        {"file": "here.md", "edits": [{"op": f"no{n}"} for n in range(50_000)]},
        Code.INVALID_ARGUMENT,
    ),
    "63 unknown sections": (
        {
            "file": "here.md",
            "edits": [{"op": "delete_section", "headingPath": [f"q{n}"]} for n in range(50_000)],
        },
        Code.SECTION_NOT_FOUND,
    ),
    "63 unknown fields": (
        {"file": "here.md", "edits": [{**APPEND, **{f"field{n}": 1 for n in range(10_000)}}]},
        Code.UNKNOWN_FIELD,
    ),
    "60 JSON nested 100,000 deep": ({"file": "here.md", "edits": nested(100_000)}, Code.INVALID_ARGUMENT),
    "60 JSON text nested 100,000 deep": (
        {"file": "here.md", "edits": "[" * 100_000 + "]" * 100_000},
        Code.INVALID_ARGUMENT,
    ),
    "60 value nested 5,000 deep": (
        {"file": "here.md", "edits": [{"op": "set_front_matter", "key": "k", "value": nested(5_000)}]},
        Code.INVALID_ARGUMENT,
    ),
    "60 number of 5,000 digits": (
        {
            "file": "here.md",
            "edits": [{"op": "delete_lines", "lines": {"start": 10**5_000, "end": 10**5_000}}],
        },
        Code.INVALID_ARGUMENT,
    ),
    "60 infinite number": (
        {"file": "here.md", "edits": [{"op": "delete_lines", "lines": {"start": 1, "end": float("inf")}}]},
        Code.INVALID_ARGUMENT,
    ),
    "60 no number": (
        {"file": "here.md", "edits": [{"op": "set_front_matter", "key": "k", "value": float("nan")}]},
        Code.INVALID_ARGUMENT,
    ),
    "60 heading path of 100,000 names": (
        {"file": "here.md", "edits": [{"op": "delete_section", "headingPath": ["a"] * 100_000}]},
        Code.INVALID_HEADING_PATH,
    ),
}


SLOW_PAYLOADS = [
    "63 groups without end",
    "63 groups of many edits",
    "63 lines that double",
    "63 file that would be too large",
]


@pytest.mark.parametrize("case", quick_and_slow(PAYLOADS, SLOW_PAYLOADS), ids=case_id)
@pytest.mark.parametrize("verb", ["plan", "write"])
def test_batch_bomb_is_rejected_before_any_write(place: Place, case: str, verb: str) -> None:
    """If the text grows with each edit, the parse deadline may come first."""
    (place.root / "many.md").write_bytes(b"# A\n\nx" + b"a " * 50_000 + b"\n")
    (place.root / "lines.md").write_bytes(b"# A\n\nx\n" + b"y\n" * 60_000)
    batch, code = PAYLOADS[case]
    act = lambda: getattr(place.engine, verb)(batch)  # noqa: E731
    problems = check_refused(
        f"{case}: {verb}", act, {code, Code.PARSE_TIMEOUT}, place.folder, within=PAYLOAD_SECONDS
    )

    assert len(problems) <= MOST_PROBLEMS + 1


@pytest.mark.hostile_case(63)
def test_many_small_files_are_accepted(place: Place) -> None:
    """Large batches within the limits are accepted."""
    edits = [{"op": "create_file", "markdown": HERE.decode()}]
    batch = {"files": [{"file": f"d/{number}.md", "edits": edits} for number in range(300)]}
    check_accepted(
        "63 three hundred files",
        lambda: place.engine.write(batch),
        lambda _: len(list((place.root / "d").iterdir())) == 300,
    )


@pytest.mark.hostile_case(60)
def test_batch_as_json_text_counts_towards_the_limits(place: Place) -> None:
    batch = {"file": "here.md", "edits": json.dumps([{"op": "append_to_file", "markdown": MEGABYTE}] * 65)}

    act = lambda: place.engine.write(batch)  # noqa: E731
    codes = {Code.BATCH_TOO_LARGE, Code.FILE_TOO_LARGE}
    check_refused("60 batch as JSON text", act, codes, place.folder, within=PAYLOAD_SECONDS)


JSON_TEXTS = {
    "60 JSON lists without end": b"[" * 200_000,
    "60 JSON objects without end": b'{"a":' * 100_000,
    "60 JSON number of 5,000 digits": b'{"file": "here.md", "edits": [' + b"9" * 5_000 + b"]}",
    "60 JSON number beyond floats": b'{"file": "here.md", "edits": [{"op": "delete_lines", "lines": 1e400}]}',
    "60 JSON NaN": b'{"file": "here.md", "edits": [{"op": "set_front_matter", "key": "k", "value": NaN}]}',
    "60 JSON lone surrogate": rb'{"file": "\ud800", "edits": [{"op": "append_to_file", "markdown": "x"}]}',
    "60 JSON of blanks": b" " * 20_000_000,
    "60 JSON that is no UTF-8": b'{"file": "\xff"}',
    "60 JSON and more": b'{"file": "here.md", "edits": []}{}',
}


@pytest.mark.parametrize("case", JSON_TEXTS, ids=case_id)
@pytest.mark.parametrize("verb", ["plan", "apply", "validate"])
def test_command_line_rejects_a_json_bomb(place: Place, case: str, verb: str) -> None:
    run, seconds = timed(lambda: mdplan(verb, "--json", "--root", str(place.root), stdin=JSON_TEXTS[case]))
    is_refused = run.code == Exit.INVALID and (place.root / "here.md").read_bytes() == HERE

    assert is_refused, run
    assert seconds < PAYLOAD_SECONDS
    assert len(run.out) < 2_000
