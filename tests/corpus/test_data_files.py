"""Edits of real files of keys and values: those that come with installed packages."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from mdplan.text.source import Source
from tests.corpus.data_laws import LANGUAGES, LONGEST, check_text

# How many files of each language; the slow test takes all.
_FEW = 12


def _files(suffixes: set[str]) -> list[Path]:
    found = (path for path in Path(sys.prefix).rglob("*") if path.suffix in suffixes)
    return sorted(path for path in found if path.is_file() and path.stat().st_size < LONGEST)


def _checked(files: list[Path]) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for path in files:
        source = Source.decode(path.read_bytes())
        if isinstance(source, Source):
            outcomes += check_text(LANGUAGES[path.suffix], source.text, keys=3, seed=len(source.text))
    return outcomes


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_edits_of_some_real_files_change_what_was_asked_alone(language: str) -> None:
    files = _files({suffix for suffix, each in LANGUAGES.items() if each == language})
    if not files:
        pytest.skip(f"no installed package has {language} files")
    outcomes = _checked(files[:: max(len(files) // _FEW, 1)][:_FEW])
    assert outcomes["set done"] or outcomes["delete done"]


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_edits_of_all_real_files_change_what_was_asked_alone() -> None:
    outcomes = _checked(_files(set(LANGUAGES)))
    assert outcomes["set done"] > outcomes["keys"] // 2
