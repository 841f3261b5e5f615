"""The law of every merge: what both sides replaced, not alike, or one deleted, is a conflict."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from configparser import ConfigParser
from itertools import islice

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mdplan.merge.documents import merge_texts
from mdplan.merge.lines import Merge
from mdplan.text.source import DocumentFormat
from tests.support.case_tables import CaseTables

CASE_TABLES = CaseTables(__file__)
_OLD = ("alpha", "bottle", "Sherry", "dune")
_NEW = ("xylophone", "kick", "Murmur", "fjord", "gazpacho", "lobby")
_WORD = re.compile("|".join((*_OLD, *_NEW)))
_READERS = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "ini": lambda text: ConfigParser().read_string(text),
}


def _merged(file_format: str, *texts: str) -> Merge:
    found = merge_texts(DocumentFormat(file_format), texts)
    assert found is not None
    return found


@st.composite
def _sides(draw: st.DrawFn) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """A base, and two sides that each keep or delete every entry of it, and add some between them."""
    base = _OLD[: draw(st.integers(1, len(_OLD)))]
    sides: list[list[str]] = []
    for _ in range(2):
        new = iter(draw(st.permutations(_NEW)))
        counts = [draw(st.sampled_from((0, 0, 0, 1, 1, 2))) for _ in (*base, "")]
        kept = [draw(st.booleans()) for _ in base] + [False]
        side: list[str] = []
        for name, count, is_kept in zip((*base, ""), counts, kept, strict=True):
            side += [*islice(new, count), *([name] if is_kept else ())]
        sides.append(side)
    return base, sides[0], sides[1]


def _in_place(base: Sequence[str], side: Sequence[str], name: str) -> Sequence[str]:
    """What `side` has between the entries around `name` that it kept."""
    at = base.index(name)
    start = max((side.index(each) + 1 for each in base[:at] if each in side), default=0)
    stop = min((side.index(each) for each in base[at:] if each in side), default=len(side))
    return side[start:stop]


@CASE_TABLES.parametrize("file_format", "start", "entry", "between", "end")
@settings(max_examples=25)
@given(sides=_sides())
def test_entries_replaced_by_both_conflict_and_all_others_are_merged(
    file_format: str, start: str, entry: str, between: str, end: str, sides: tuple[Sequence[str], ...]
) -> None:
    base, ours, theirs = sides
    texts = [start + between.join(entry.replace("WORD", each) for each in side) + end for side in sides]
    found = _merged(file_format, *texts)
    gone = [name for name in base if name not in ours and name not in theirs]
    is_disputed = any(_in_place(base, ours, name) != _in_place(base, theirs, name) for name in gone)
    assert found.is_clean == _merged(file_format, texts[0], texts[2], texts[1]).is_clean
    # A new item that both have may be what each made of an old one.
    if not ({*ours} & {*theirs}.difference(base)):
        assert not (found.is_clean and is_disputed)
        # Lines that touch conflict.
        assert found.is_clean or is_disputed or file_format == "text"
    if found.is_clean and file_format != "text":
        kept = {name for name in base if name in ours and name in theirs}
        assert Counter(_WORD.findall(found.text)) == Counter(kept | {*ours, *theirs}.difference(base))
        assert file_format != "markdown" or not re.search(r"\n\n[-|\[]", found.text.removeprefix(start))
        _READERS.get(file_format, str)(found.text)


@CASE_TABLES.parametrize("file_format", "base", "ours", "theirs")
def test_both_cannot_be_right(file_format: str, base: str, ours: str, theirs: str) -> None:
    assert not _merged(file_format, base, ours, theirs).is_clean
    assert not _merged(file_format, base, theirs, ours).is_clean


@CASE_TABLES.parametrize("file_format", "base", "ours", "theirs", "result")
def test_changes_of_both_are_merged(file_format: str, base: str, ours: str, theirs: str, result: str) -> None:
    found = _merged(file_format, base, ours, theirs)
    assert (found.text, found.conflicts) == (result, ())
