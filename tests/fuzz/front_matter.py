"""Target: front matter, read and edited, against PyYAML and tomlkit and by comparing bytes."""

from collections.abc import Iterator
from random import Random
from typing import Final
from zlib import crc32

from mdplan.data.content import DataContent
from mdplan.markdown.front_matter import Unreadable
from mdplan.planning.build import BuiltFile
from mdplan.text.source import Source, splice
from tests.fuzz.mutation import mutated_text
from tests.fuzz.seeds import documents
from tests.fuzz.target import Target
from tests.support.edit_trials import Document
from tests.support.front_matter_trials import VALUES, Block, Tally, try_key, written_key

_MOST_KEYS: Final = 4


def check(data: bytes) -> None:
    """Check that it is read or refused, and that an edit of one key keeps the others and all other bytes."""
    if not isinstance(Source.decode(data), Source):
        return
    document = Document("fuzzed.md", data)
    outline = document.outline
    assert outline.source.data == data
    content = outline.front_matter_content
    if outline.front_matter is None:
        assert content is None
    elif isinstance(content, Unreadable):
        assert content.reason
        assert content.offset is None or 0 <= content.offset <= len(outline.front_matter.content)
    else:
        assert isinstance(content, DataContent)
    dice = Random(crc32(data))
    _check_new_key(document, dice)
    if isinstance(content, DataContent) and Block.of(document).values:
        tally = Tally()
        block = Block.of(document)
        # A name with nothing between its dots is no path of keys; such keys are addressed otherwise.
        names = [*(written_key(block, name) for name in block.values), "new"]
        keys = [at for at, name in enumerate(names) if all(name.split("."))]
        for number in dice.sample(keys, min(len(keys), _MOST_KEYS)):
            try_key(document, tally, number, dice.randrange(len(VALUES)))
        assert not tally.problems, tally.problems


def _check_new_key(document: Document, dice: Random) -> None:
    """What is behind the block stays, byte for byte, and the value reads back."""
    value = dice.choice(VALUES)
    outcome = document.plan({"op": "set_front_matter", "values": {"zz new": value}})
    if not isinstance(outcome, BuiltFile):
        assert all(problem.message and problem.hint for problem in outcome)
        return
    source, front_matter = document.outline.source, document.outline.front_matter
    result = outcome.result.source.data
    assert splice(source.data, outcome.byte_edits) == result
    behind = len(front_matter.span) if front_matter else 0
    (kept,) = source.byte_offsets([behind])
    assert result.endswith(source.data[kept:]), "bytes behind the front matter changed"
    assert result.startswith(source.bom)
    read = outcome.result.front_matter_content
    assert isinstance(read, DataContent), "the result cannot be read"
    assert read.values["zz new"] == value


def _seeds() -> Iterator[bytes]:
    for data in documents():
        if data.removeprefix(b"\xef\xbb\xbf").startswith((b"---", b"+++")):
            yield data


def _mutated(data: bytes, dice: Random) -> bytes:
    """Changes are mostly in the block, between fences that stay."""
    end = max(data.find(b"\n---", 4), data.find(b"\n+++", 4))
    if end < 0 or dice.random() < 0.1:
        return mutated_text(data, dice)
    return data[:4] + mutated_text(data[4 : end + 1], dice) + data[end + 1 :]


TARGET: Final = Target(name="front_matter", check=check, seeds=_seeds, mutated=_mutated, most_bytes=600)
