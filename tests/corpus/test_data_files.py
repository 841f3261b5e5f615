"""Edit real data files: those of installed packages and the system."""

import random
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from mdplan.text.source import Source
from tests.corpus.data_laws import LANGUAGES, LONGEST, check_text

# The number of files per language; the slow test takes more from the whole system.
_FEW = 12
_MANY = 2_000
_OF_THE_SYSTEM = ("/usr/lib", "/usr/share", "/etc")


def _files(suffixes: set[str], folders: Iterable[str] = (sys.prefix,)) -> list[Path]:
    found = (path for folder in folders for path in Path(folder).rglob("*") if path.suffix in suffixes)
    return sorted({path for path in found if path.is_file() and 0 < path.stat().st_size < LONGEST})


def _checked(files: list[Path], keys: int) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    for path in files:
        source = Source.decode(path.read_bytes())
        if isinstance(source, Source):
            language, seed = LANGUAGES[path.suffix], len(source.text)
            outcomes += check_text(language, source.text, keys=keys, seed=seed, seconds=0.5)
    return outcomes


@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_edits_of_sampled_data_files_change_only_the_requested_values(language: str) -> None:
    files = _files({suffix for suffix, each in LANGUAGES.items() if each == language})
    if not files:
        pytest.skip(f"no installed package has {language} files")
    outcomes = _checked(files[:: max(len(files) // _FEW, 1)][:_FEW], keys=3)
    assert outcomes["set done"] or outcomes["delete done"]


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_edits_of_many_data_files_change_only_the_requested_values(language: str) -> None:
    suffixes = {suffix for suffix, each in LANGUAGES.items() if each == language}
    files = _files(suffixes, (sys.prefix, sys.base_prefix, *_OF_THE_SYSTEM))
    outcomes = _checked(random.Random(1).sample(files, min(len(files), _MANY)), keys=20)
    assert outcomes["set done"] > outcomes["keys"] // 2
