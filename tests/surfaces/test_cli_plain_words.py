"""What is read without click is what click reads, and click has the word where something is to be said."""

import subprocess
import sys
from itertools import chain
from pathlib import Path

import click
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdplan.cli.looking import LOOKING, load_looking, plain_call
from mdplan.cli.parameters import Argument, OneOf, Parameter
from mdplan.cli.plain_words import read_words
from mdplan.cli.program import COMMANDS
from tests.surfaces.command_line import GUIDE, mdplan

PARAMETERS = {name: load_looking(name).parameters for name in sorted(LOOKING)}
TEXTS = [
    "a.md",
    "",
    "-",
    "--",
    "-x",
    "=",
    "a=b",
    "0",
    "1",
    "7",
    "050",
    "51",
    "1_0",
    " 1",
    "+1",
    "-1",
    "٣",
    "1.5",
]
TEXTS += [
    "9" * 16,
    "nan",
    "inf",
    "1e400",
    "\udcff",
    "漢",
    "--help",
    "-h",
    "-i7",
    "-C3",
    "-iC3",
    "--json=1",
    "*",
]
# No word of a command line has a NUL.
ODD = st.sampled_from(TEXTS) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)
ENVIRONMENTS = st.sampled_from(
    [{}, {}, {"MDPLAN_MAX_LINES": ""}, {"MDPLAN_MAX_LINES": "5"}, {"MDPLAN_MAX_LINES": "x"}]
)


def words_for(each: Parameter) -> st.SearchStrategy[list[str]]:
    """Words that give one parameter a value, which mostly fits."""
    if isinstance(each, Argument):
        return ODD.map(lambda text: [text])
    flags = st.sampled_from([flag for flag in (each.flag, each.short) if flag])
    if each.kind is None:
        return flags.map(lambda flag: [flag])
    fitting = st.sampled_from(each.kind.choices if isinstance(each.kind, OneOf) else ("7", "1", "30"))
    pairs = st.tuples(flags, fitting | fitting | ODD)
    return pairs.map(list) | pairs.map(lambda pair: ["=".join(pair)])


def words_of(name: str) -> st.SearchStrategy[tuple[str, list[str]]]:
    """A command, and words behind its name."""
    chunks = st.sampled_from(PARAMETERS[name]).flatmap(words_for) | ODD.map(lambda text: [text])
    words = st.lists(chunks, max_size=5).map(lambda lists: list(chain.from_iterable(lists)))
    return st.tuples(st.just(name), words)


def read_by_click(name: str, words: list[str], environment: dict[str, str]) -> object:
    with pytest.MonkeyPatch.context() as patch:
        for variable, text in environment.items():
            patch.setenv(variable, text)
        return load_looking(name).with_click().make_context(name, list(words)).params


@given(call=st.sampled_from(sorted(LOOKING)).flatmap(words_of), environment=ENVIRONMENTS)
@example(call=("stat", ["--under", "--", "--under=", "--", "--x"]), environment={})
@example(call=("search", ["-C", "3", "-i", "--", "-C", "a.md"]), environment={})
@example(call=("read", ["a.md", "--section=A", "--section", "B", "--cursor", "-x"]), environment={})
def test_words_read_without_click_are_those_that_click_reads(
    call: tuple[str, list[str]], environment: dict[str, str]
) -> None:
    name, words = call
    plain = read_words(PARAMETERS[name], words, environment)

    if plain is not None:
        assert plain == read_by_click(name, words, environment)


@pytest.mark.parametrize(
    ("words", "differing"),
    [
        ("stat", {}),
        ("stat a.md --json", {"file": "a.md", "as_json": True}),
        ("stat --under A --under=B=C -- --x", {"file": "--x", "under": ("A", "B=C")}),
        ("stat --detail brief --max-lines 7 --max-lines=8", {"detail": "brief", "max_lines": 8}),
        ("stat --root one --root=two=2", {"roots": ("one", "two=2")}),
        ("search the -i -C 3", {"pattern": "the", "ignore_case": True, "context": 3}),
        ("search a --exclude HTML --exclude=IMAGES", {"pattern": "a", "exclude": ("HTML", "IMAGES")}),
        ("read a.md --own-body --section -", {"file": "a.md", "own_body": True, "section": ("-",)}),
        ("read - --until -x --max-parse-seconds 2", {"file": "-", "until": "-x", "max_parse_seconds": 2.0}),
    ],
)
def test_well_formed_words_take_no_click(words: str, differing: dict[str, object]) -> None:
    name, *rest = words.split()
    usual = {
        each.parameter: each.default if isinstance(each, Argument) else each.if_absent
        for each in PARAMETERS[name]
    }

    assert read_words(PARAMETERS[name], rest, {}) == {**usual, **differing}


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--help",
        "stat --help",
        "stat -h",
        "stat --lines 1",
        "stat a b",
        "stat --det brief",
        "stat --detail",
        "stat --detail Brief",
        "stat --depth 0",
        "stat --depth x",
        "stat --json=1",
        "stat -q",
        "read",
        "search",
        "search a -C3",
        "search a -C=3",
        "search a --context 51",
        "search a -iC 3",
        "plan",
        "status",
        "--version x",
    ],
)
def test_what_needs_words_of_click_is_left_to_it(words: str) -> None:
    assert plain_call(words.split(), {}) is None


def test_variables_of_limits_and_of_completion_are_left_to_click() -> None:
    assert plain_call(["stat"], {"MDPLAN_MAX_LINES": ""}) is not None
    assert plain_call(["stat"], {"MDPLAN_MAX_LINES": "5"}) is None
    assert plain_call(["stat"], {"_MDPLAN_COMPLETE": "bash_complete"}) is None


def test_commands_that_look_are_commands_of_the_program() -> None:
    assert set(COMMANDS) > LOOKING
    assert {name: type(COMMANDS[name].load()) for name in LOOKING} == dict.fromkeys(LOOKING, click.Command)


@pytest.mark.parametrize(
    "words",
    [
        ["stat", "--json", "guide.md"],
        ["stat", "missing.md"],
        ["read", "guide.md", "--lines", "x"],
        ["read", "guide.md", "--section", "Use"],
        ["search", "nightly"],
        ["stat", "--detail", "none"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_process_answers_as_click_does(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "guide.md").write_text(GUIDE)
    monkeypatch.chdir(tmp_path)

    done = subprocess.run(
        [sys.executable, "-m", "mdplan", *words], capture_output=True, check=False, timeout=60
    )
    by_click = mdplan(*words)

    assert (done.returncode, done.stdout, done.stderr.decode()) == (by_click.code, by_click.out, by_click.err)
