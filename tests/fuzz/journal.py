"""Target: the decoder of journal records, which reads what a crash or a stranger left."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Final
from zlib import crc32

from mdplan.storage.journal import (
    JournalEntry,
    JournalRecord,
    RecordBinding,
    decode_record,
    encode_note,
    encode_record,
)
from tests.fuzz.mutation import mutated_json, mutated_text
from tests.fuzz.target import Target

ROOT: Final = RecordBinding("/some/root", 12, 3)
_OTHER_ROOT: Final = RecordBinding("/elsewhere/documents", 13, 3)


def check(data: bytes) -> None:
    """Any bytes are a record or none; what is written is read; no seal is on what nobody sealed."""
    for each in (data, _proven(data)):
        record = decode_record(each, ROOT)
        if record is None:
            continue
        assert not record.known, "a record that nobody sealed is known"
        assert isinstance(record.decoded_note(), dict)
        _check_written(record, Random(crc32(data)))


def _check_written(record: JournalRecord, dice: Random) -> None:
    sealed = encode_record(record, ROOT)
    assert decode_record(sealed, ROOT) == replace(record, known=True), "what is read is not what was written"
    other_root = decode_record(sealed, _OTHER_ROOT)
    assert other_root is not None
    assert not other_root.known, "a seal holds for another root"
    head, _, body = sealed.partition(b"\n")
    for tampered in (mutated_text(sealed, dice), _proven(head + b"\n" + mutated_text(body, dice))):
        found = decode_record(tampered, ROOT)
        assert found is None or not found.known or found == replace(record, known=True), (
            "another record has the seal"
        )


def _proven(data: bytes) -> bytes:
    """`data` with the size and the hash of its body in its head, which chance would never put there."""
    line, _, body = data.partition(b"\n")
    try:
        head = json.loads(line)
    except (ValueError, RecursionError):
        head = None
    head = head if isinstance(head, dict) else {"format": 2, "seal": "", "folderSeal": ""}
    proof = {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    return json.dumps(head | proof).encode() + b"\n" + body


def _seeds() -> Iterator[bytes]:
    digests = [hashlib.sha256(bytes([number])).hexdigest() for number in range(4)]
    entries = (
        JournalEntry(path="a.md", base=digests[0], base_bytes=1, result=digests[1], result_bytes=2),
        JournalEntry(path="b/é.md", base=None, base_bytes=0, result=digests[2], result_bytes=1 << 50),
        JournalEntry(path="c.md", base=digests[3], base_bytes=7, result=None, result_bytes=0),
    )
    for count in range(len(entries) + 1):
        record = JournalRecord(
            transaction="ab" * (4 + 4 * count),
            entries=entries[:count],
            made_folders=("b", "b/c")[:count],
            removed_folders=("d",)[:count],
            note=encode_note({"plan": {"files": [1, "x"]}, "at": 1.5}) * min(count, 1),
        )
        # The seeds must be the same for everyone, and a seal is of one user.
        head, _, body = encode_record(record, ROOT).partition(b"\n")
        yield json.dumps(json.loads(head) | {"seal": "0" * 64, "folderSeal": ""}).encode() + b"\n" + body


def _mutated(data: bytes, dice: Random) -> bytes:
    lines = data.split(b"\n")
    at = dice.randrange(len(lines))
    try:
        value = json.loads(lines[at])
    except (ValueError, RecursionError):
        return mutated_text(data, dice)
    lines[at] = json.dumps(mutated_json(value, dice, [])).encode()
    return b"\n".join(lines)


TARGET: Final = Target(name="journal", check=check, seeds=_seeds, mutated=_mutated)
