"""Target: batches of all operations on files of any kind, planned by the engine.

The input is JSON: `files` has the bytes of each as Latin-1 text, `batch` is what a caller sends.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any, Final

from mdplan.engine.engine import Engine
from mdplan.markdown.outline import Outline
from mdplan.plan import FileChange
from mdplan.planning.build import BuiltFile
from mdplan.planning.plan_document import read_document, write_document
from mdplan.planning.replay import PlannedBatch
from mdplan.requests.batch import Batch, read_batch
from mdplan.settings import Settings
from mdplan.storage.filesystem import Durability
from mdplan.text.diff import file_diff
from mdplan.text.source import DocumentFormat, Source, sha256_hex
from mdplan.text.unified_diff import NotADiff, read_diff
from tests.fuzz.batch_reader import check_problems
from tests.fuzz.mutation import Json, mutated_json, mutated_text, other_scalar
from tests.fuzz.seeds import cases, documents, edits, edits_of
from tests.fuzz.target import Target
from tests.properties.outline_law import check_outline
from tests.support.strict_patch import apply_strictly

_NAME: Final = re.compile(r"[\w-]{1,20}(?:/[\w-]{1,20}){0,2}\.[a-z]{1,5}")
_MOST_FILES: Final = 5
_HEADING: Final = re.compile(r"^#{1,6} (.+?)[ #]*$", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")
_SETTINGS: Final = Settings(durability=Durability.PROCESS, pattern_seconds=0.5)
_OPTIONS: Final = {
    "sequential": (True, False),
    "allowOutlineChange": (True, True, False),
    "allowDuplicateHeadings": (True, True, False),
    "updateReferences": ("none", "file", "workspace"),
    "accept": ([0], [1], [0, 1]),
}
_GUARDS: Final = ("expectedText", "sectionSha256", "bodySha256", "baseSha256")


def check(data: bytes) -> None:
    """Diagnostics, or a plan whose edits and whose diff both make the result, and nothing else."""
    case = _decoded(data)
    if case is None:
        return
    files, batch = case
    read = read_batch(batch)
    if not isinstance(read, Batch):
        check_problems(read)
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        engine = Engine.open([folder], settings=_SETTINGS)
        with engine.workspace:
            planned = engine.planner.plan(read)
    if isinstance(planned, PlannedBatch):
        _check_plan(planned, read, files)
    else:
        check_problems(planned)


def _decoded(data: bytes) -> tuple[dict[str, bytes], Json] | None:
    """Files and batch of an input, if it has some that can be laid out."""
    try:
        case = json.loads(data)
        files = {name: text.encode("latin-1") for name, text in case["files"].items()}
        folders = {name.rpartition("/")[0] for name in files}
        is_sound = all(map(_NAME.fullmatch, files)) and not folders & files.keys()
        return (files, case["batch"]) if is_sound and 0 < len(files) <= _MOST_FILES else None
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None


def _check_plan(planned: PlannedBatch, batch: Batch, files: Mapping[str, bytes]) -> None:
    plan = planned.plan
    assert read_document(write_document(plan)) == plan, "the plan does not survive its document"
    ops = frozenset(edit.op for file in batch.files for edit in file.edits)
    for change, built in zip(plan.files, planned.files, strict=True):
        base = files.get(change.path, b"")
        assert change.base_sha256 == (sha256_hex(base) if built.file.exists else None), "another base"
        result = _spliced(built.base.source, change)
        if change.result_sha256 is not None:
            assert sha256_hex(result) == change.result_sha256, "bytes outside of the edits changed"
            assert built.result.source.data == result
        judged = b"" if built.file.is_deleted else result
        assert apply_strictly(base, file_diff("x", "x", built.hunks)) == judged, "the diff makes other bytes"
        if built.base.format is DocumentFormat.MARKDOWN and not built.file.is_deleted:
            _check_outline(built, batch, ops)
    _check_diff(planned)


def _spliced(source: Source, change: FileChange) -> bytes:
    """The base with the edits done character by character; all else is copied."""
    pieces, at = [source.bom], 0
    for edit in change.edits:
        kept = source.text[at : edit.span.start]
        pieces += [_encoded(kept, source.encoding), _encoded(edit.new_text, source.encoding)]
        at = edit.span.end
    return b"".join([*pieces, _encoded(source.text[at:], source.encoding)])


def _encoded(text: str, encoding: str) -> bytes:
    return text.encode(encoding, "surrogateescape" if encoding == "utf-8" else "strict")


def _check_outline(built: BuiltFile, batch: Batch, ops: frozenset[str]) -> None:
    """Check that partial scans match a full one, and that headings without edits stay unchanged."""
    result = Outline(built.result.source, slugs=built.result.slugs)
    assert (result.sections, result.nested) == (built.result.sections, built.result.nested), "other sections"
    assert result.blocks == built.result.blocks, "other blocks"
    if built.file.exists and not batch.allow_outline_change:
        check_outline(built.base, result, built.edits, ops)


def _check_diff(planned: PlannedBatch) -> None:
    """Our own reader of diffs finds the files that the plan changes."""
    try:
        diff = planned.diff.decode()
    except UnicodeDecodeError:
        return
    if not diff:
        assert planned.plan.is_no_op, "a plan that does something has no diff"
        return
    read = read_diff(diff)
    assert not isinstance(read, NotADiff), read
    names = [file.new_name or file.old_name for file in read]
    changed = [change.new_path or change.path for change in planned.plan.files if not change.is_no_op]
    assert sorted(map(str, names)) == sorted(changed), "the diff is of other files"


# Inputs.


def _seeds() -> Iterator[bytes]:
    for case, batch in cases():
        tree = case.before
        if len(tree) <= _MOST_FILES and sum(map(len, tree.values())) < 2_000:
            yield _encoded_case({name: data.decode("latin-1") for name, data in tree.items()}, batch)


def _encoded_case(files: Mapping[str, str], batch: Json) -> bytes:
    return json.dumps({"files": files, "batch": batch}).encode()


def _mutated(data: bytes, dice: Random) -> bytes:
    try:
        case = json.loads(data)
        files, batch = case["files"], case["batch"]
        name = dice.choice(sorted(files))
        text = files[name].encode("latin-1")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return data
    if not isinstance(batch, dict):
        return data
    for _ in range(dice.choice((1, 1, 2, 3))):
        if dice.random() < 0.4:
            text = dice.choice(documents()) if dice.random() < 0.3 else mutated_text(text, dice)
        else:
            _change(batch, text, dice)
    _unpin(batch, dice)
    files[name] = text.decode("latin-1")
    return _encoded_case(files, batch)


def _change(batch: dict[str, Json], text: bytes, dice: Random) -> None:
    """Another edit, another option, or another part of an edit; addresses are fitted to `text`."""
    match dice.randrange(5):
        case 0 | 1:
            _add_edit(batch, text, dice)
        case 2:
            option = dice.choice(sorted(_OPTIONS))
            batch[option] = dice.choice(_OPTIONS[option])
        case 3:
            for edit in edits_of(batch):
                _fit(edit, text, dice)
        case _:
            some = dice.choice(list(edits_of(batch)) or [batch])
            mutated_json(some, dice, [*dice.choice(edits()).values()])


def _unpin(batch: dict[str, Json], dice: Random) -> None:
    """Take away, mostly, what pins a file to its old bytes: every other text would be refused."""
    entries = batch.get("files")
    for entry in [batch, *(entries if isinstance(entries, list) else [])]:
        if isinstance(entry, dict) and dice.random() < 0.95:
            entry.pop("baseSha256", None)


def _add_edit(batch: dict[str, Json], text: bytes, dice: Random) -> None:
    """One more edit, of a golden case, whose address is fitted to the text; or it takes the place of one."""
    entries = batch.get("files", [batch])
    entry = dice.choice(entries) if isinstance(entries, list) and entries else None
    found = entry.get("edits") if isinstance(entry, dict) else None
    if not isinstance(found, list):
        return
    edit = deepcopy(dice.choice(edits()))
    _fit(edit, text, dice)
    if found and dice.random() < 0.4:
        found[dice.randrange(len(found))] = edit
    else:
        found.insert(dice.randint(0, len(found)), edit)


def _fit(edit: dict[str, Any], text: bytes, dice: Random) -> None:
    """Let `edit` name something that is in `text`, where chance wants so."""
    places = _Places(text, dice)
    for name in _GUARDS:
        edit.pop(name, None)
    for name, value in list(edit.items()):
        if name in _NAMED:
            edit[name] = _NAMED[name](places)
        elif name in _WORDS:
            edit[name] = dice.choice((value, places.word()))
        elif isinstance(value, str | int) and name != "op" and dice.random() < 0.2:
            edit[name] = other_scalar(value, dice)


class _Places:
    """Addresses for edits of a text."""

    def __init__(self, text: bytes, dice: Random) -> None:
        self._dice = dice
        self._data = text
        self._text = text.decode("utf-8", "ignore")
        self._count = self._text.count("\n") + 1

    def heading(self) -> str:
        return self._dice.choice(_HEADING.findall(self._text) or ["A"])

    def word(self) -> str:
        return self._dice.choice(_WORD.findall(self._text) or ["a"])

    def section_id(self) -> str:
        source = Source.decode(self._data)
        return self._dice.choice(Outline(source).sections).section_id if isinstance(source, Source) else ""

    def line(self) -> int:
        return self._dice.randint(1, self._count)

    def lines(self) -> dict[str, int]:
        start = self.line()
        return {"start": start, "end": min(start + self._dice.randrange(3), self._count)}

    def range(self) -> dict[str, dict[str, int]]:
        start, col = self.line(), self._dice.randint(1, 8)
        return {"start": {"line": start, "col": col}, "end": {"line": start, "col": col + 2}}


_NAMED: Final[dict[str, Callable[[_Places], Json]]] = {
    "heading": _Places.heading,
    "headingPath": lambda places: [places.heading()],
    "sectionId": _Places.section_id,
    "lines": _Places.lines,
    "line": _Places.line,
    "range": _Places.range,
}
_WORDS: Final = frozenset({"pattern", "item", "key", "keyColumn", "language", "region", "section"})


TARGET: Final = Target(name="edit_resolver", check=check, seeds=_seeds, mutated=_mutated, most_bytes=6_000)
