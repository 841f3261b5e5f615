"""Set and delete every key of the front matter of real documents; nothing else about it changes.

`make test` takes a sample of files, each in one of the variants; MDPLAN_FULL=1 all of them in all variants.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import FULL
from tests.corpus.sample import VARIANTS
from tests.support.edit_trials import Document
from tests.support.front_matter_trials import Tally, try_every_key

pytestmark = pytest.mark.timeout(3600 if FULL else 300)
SHARDS = 16 if FULL else 2
# Without MDPLAN_FULL=1: every n-th file.
FILES = 20


def documents(corpus: Path, shard: int) -> Iterator[tuple[int, Document]]:
    """Documents with front matter of one shard, numbered so that each gets other values."""
    files = sorted(corpus.rglob("*.md"))
    chosen = files if FULL else files[7::FILES]
    for number, path in enumerate(chosen[shard::SHARDS]):
        data = path.read_bytes()
        if data.removeprefix(b"\xef\xbb\xbf").startswith((b"---", b"+++")):
            first = number % len(VARIANTS)
            for offset, variant in enumerate(VARIANTS if FULL else VARIANTS[first : first + 1]):
                document = Document(f"{path.relative_to(corpus)} {variant.__name__}", variant(front_of(data)))
                if document.outline.front_matter is not None:
                    yield number + offset, document


def front_of(data: bytes) -> bytes:
    """The front matter and a little behind it: the rest plays no part, and costs."""
    lines = data.split(b"\n")
    ends = [number for number, line in enumerate(lines) if line.strip() in {b"---", b"+++"}]
    return b"\n".join(lines[: ends[1] + 3]) + b"\n" if len(ends) > 1 else data


@pytest.mark.requirement("front-matter-1")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_only_the_text_of_the_edited_key_changes(
    corpus: Path, shard: int, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    for number, document in documents(corpus, shard):
        try_every_key(document, tally, number)

    with capsys.disabled():
        tally.judge(sys.stderr.write, f"front matter, shard {shard}")
