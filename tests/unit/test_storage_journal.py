"""Records prove themselves: what is not what it was when it was written is no record."""

import hashlib
import json
import string
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdplan.storage.journal import (
    JournalEntry,
    JournalRecord,
    RecordBinding,
    decode_record,
    encode_note,
    encode_record,
)

ROOT = RecordBinding("/some/root", 12, 3)
digests = st.none() | st.text("0123456789abcdef", min_size=64, max_size=64)
sizes = st.integers(0, 1 << 50)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
entries = st.builds(
    JournalEntry, path=texts, base=digests, base_bytes=sizes, result=digests, result_bytes=sizes
).filter(lambda entry: entry.base != entry.result)
notes = st.dictionaries(
    texts, st.none() | st.integers(-(1 << 60), 1 << 60) | texts | st.lists(texts), max_size=3
)
records = st.builds(
    JournalRecord,
    transaction=st.text("0123456789abcdef", min_size=8, max_size=32),
    entries=st.lists(entries, max_size=4).map(tuple),
    made_folders=st.lists(texts, max_size=2).map(tuple),
    removed_folders=st.lists(texts, max_size=2).map(tuple),
    note=notes.map(encode_note),
)


@given(record=records)
def test_written_record_is_read_back(record: JournalRecord) -> None:
    assert decode_record(encode_record(record, ROOT), ROOT) == record


@given(record=records, data=st.data())
def test_record_with_a_changed_byte_is_invalid_or_foreign(record: JournalRecord, data: st.DataObject) -> None:
    written = encode_record(record, ROOT)
    at = data.draw(st.integers(0, len(written) - 1))
    changed = written[:at] + bytes([written[at] ^ data.draw(st.integers(1, 255))]) + written[at + 1 :]
    found = decode_record(changed, ROOT)

    assert found is None or (not found.known and found.entries == record.entries) or found == record


@pytest.mark.parametrize(
    ("binding", "known"),
    [
        (replace(ROOT, root_path="/moved"), True),
        (replace(ROOT, folder=13), True),
        (replace(ROOT, root_path="/copied", folder=13), False),
        (replace(ROOT, sequence=999_999_999_999_999), False),
    ],
    ids=["moved", "restored", "copied", "renamed"],
)
def test_record_in_another_root_is_foreign(binding: RecordBinding, known: bool) -> None:
    record = JournalRecord(transaction="ab" * 8, entries=())
    found = decode_record(encode_record(record, ROOT), binding)

    assert found is not None
    assert found.known is known


@given(record=records, data=st.data())
def test_truncated_record_is_invalid(record: JournalRecord, data: st.DataObject) -> None:
    written = encode_record(record, ROOT)

    assert decode_record(written[: data.draw(st.integers(0, len(written) - 1))], ROOT) is None


@given(junk=st.binary(max_size=200))
def test_random_bytes_are_not_a_record(junk: bytes) -> None:
    assert decode_record(junk, ROOT) is None


GOOD: dict[str, Any] = {
    "transaction": "ab" * 8,
    "entries": [{"path": "a", "base": None, "baseBytes": 0, "result": "0" * 64, "resultBytes": 1}],
    "madeFolders": [],
    "removedFolders": [],
}
ENTRY = GOOD["entries"][0]
BAD = {
    "list": [],
    "no-transaction": GOOD | {"transaction": None},
    "transaction-with-a-slash": GOOD | {"transaction": "../" * 4},
    "no-entries": GOOD | {"entries": None},
    "entry-is-a-list": GOOD | {"entries": [[]]},
    "path-is-a-number": GOOD | {"entries": [ENTRY | {"path": 1}]},
    "base-is-short": GOOD | {"entries": [ENTRY | {"base": "0" * 63}]},
    "base-is-upper-case": GOOD | {"entries": [ENTRY | {"base": "A" * 64}]},
    "nothing-changes": GOOD | {"entries": [ENTRY | {"base": "0" * 64}]},
    "size-is-negative": GOOD | {"entries": [ENTRY | {"baseBytes": -1}]},
    "size-is-a-bool": GOOD | {"entries": [ENTRY | {"baseBytes": True}]},
    "size-is-huge": GOOD | {"entries": [ENTRY | {"baseBytes": 1 << 60}]},
    "folders-are-a-text": GOOD | {"madeFolders": "a"},
    "folder-is-a-number": GOOD | {"removedFolders": [1]},
}


def encoded(changes: object, **others: object) -> bytes:
    """A record of those changes that nobody sealed, with `others` in its head."""
    body = json.dumps(changes).encode() + b"\n{}\n"
    head = {
        "format": 2,
        "bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
        "seal": "",
        "folderSeal": "",
    }
    return json.dumps(head | others).encode() + b"\n" + body


@pytest.mark.parametrize("changes", BAD.values(), ids=BAD)
def test_record_with_wrong_fields_is_invalid(changes: object) -> None:
    assert decode_record(encoded(changes), ROOT) is None


@pytest.mark.parametrize(
    "others",
    [{"format": 1}, {"format": "2"}, {"bytes": 1}, {"bytes": None}, {"sha256": "0"}, {"seal": None}],
    ids=str,
)
def test_record_with_a_wrong_head_is_invalid(others: dict[str, object]) -> None:
    assert decode_record(encoded(GOOD, **others), ROOT) is None


def test_record_with_the_right_fields_is_valid() -> None:
    found = decode_record(encoded(GOOD), ROOT)

    assert found is not None
    assert not found.known


def test_note_that_is_not_an_object_is_empty() -> None:
    assert JournalRecord(transaction="ab" * 8, entries=(), note=b"[1]").decoded_note() == {}
    assert JournalRecord(transaction="ab" * 8, entries=(), note=b"nonsense").decoded_note() == {}


def test_note_is_plain_text(tmp_path: Path) -> None:
    """One line, so that it can be told from the line before it; no character that looks like another."""
    note = encode_note({"text": "line\nline\u2028\udc80é"})

    assert set(note.decode()) <= set(string.printable) - set("\n\r")
    with pytest.raises(ValueError, match="JSON"):
        encode_note({"number": float("nan")})
