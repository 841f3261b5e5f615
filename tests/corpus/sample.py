"""The documents of the corpus that a test takes, their variants, and the part of each.

`make test` samples the files and takes a small part of each. MDPLAN_FULL=1 takes all files. A test that plans
for each section or block takes each file in one variant, in turn, and fewer pieces of a large file: the cost
of a plan grows with the length of its file.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from tests.conftest import FULL
from tests.support.edit_trials import Document

Variant = Callable[[bytes], bytes]
_Item = TypeVar("_Item")

# How many bytes of one document may be planned on, all plans together, and how many plans it gets at least.
_PLANNED_BYTES = 300_000
_FEWEST = 4


def as_it_is(data: bytes) -> bytes:
    return data


def with_crlf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def with_bom(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf")


def without_final_newline(data: bytes) -> bytes:
    return data.rstrip(b"\r\n")


VARIANTS: Sequence[Variant] = (as_it_is, with_crlf, with_bom, without_final_newline)


def files_of(corpus: Path, first: int, step: int) -> list[Path]:
    """Return all files, largest first to balance shards; in a short run every `step`-th one, from `first`."""
    files = sorted(corpus.rglob("*.md"), key=lambda path: (-path.stat().st_size, path))
    return files if FULL else files[first::step]


def in_all(corpus: Path, files: Sequence[Path], variants: Sequence[Variant] = VARIANTS) -> Iterator[Document]:
    """Each of `files` in each of the `variants`."""
    for path in files:
        for variant in variants:
            yield _document(corpus, path, variant)


def in_turn(
    corpus: Path, files: Sequence[Path], variants: Sequence[Variant] = VARIANTS
) -> Iterator[Document]:
    """Return each of `files` in one of the `variants`; in a short run, with few files, in all of them."""
    if not FULL:
        yield from in_all(corpus, files, variants)
        return
    for number, path in enumerate(files):
        yield _document(corpus, path, variants[number % len(variants)])


def affordable(document: Document, most: int) -> int:
    """How many plans `document` gets: `most`, or fewer of a large one."""
    return max(_FEWEST, min(most, _PLANNED_BYTES // (len(document.data) + 1))) if FULL else most


def spread(items: Sequence[_Item], most: int) -> Sequence[_Item]:
    """All of `items`, or the first, the last and others evenly between; `most` is 2 or more."""
    if len(items) <= most:
        return items
    return [items[index * (len(items) - 1) // (most - 1)] for index in range(most)]


def _document(corpus: Path, path: Path, variant: Variant) -> Document:
    return Document(f"{path.relative_to(corpus)} {variant.__name__}", variant(path.read_bytes()))
