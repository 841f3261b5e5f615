"""From two versions of several files to one batch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from mdplan.derive.derivation import derive_batch
from mdplan.diagnostics import Diagnostic, Problems
from mdplan.markdown.outline.outline import Outline
from mdplan.memory.memory_planner import RequestedFile

_OF_FILE: Final = ("file", "baseSha256", "encoding", "format")
_OVERRIDES: Final = ("allowOutlineChange", "allowDuplicateHeadings")
_BASE_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Versions:
    """Both versions of the file `name`; None where there is none."""

    name: str
    old: Outline | None
    new: Outline | None


@dataclass(frozen=True, slots=True)
class FilesDerivation:
    """A batch of several files; None where nothing differs. `hunks` counts the places that do."""

    batch: dict[str, Any] | None
    hunks: int


def derive_files(
    files: Iterable[Versions], encoding: str | None = None, *, prefers_structure: bool = False
) -> FilesDerivation | Problems:
    """The batch that turns the old versions of `files` into the new ones; it creates and deletes files too.

    It `prefers_structure` as `derive_batch` does.

    Errors: those of `derive_batch`; INVALID_ARGUMENT for a new file whose bytes no text stands for.
    """
    batches: list[dict[str, Any]] = []
    problems: list[Diagnostic] = []
    hunks = 0
    for each in files:
        found = _derived(each, encoding, prefers_structure=prefers_structure)
        if isinstance(found, Diagnostic):
            problems.append(found)
        elif found.batch is not None:
            batches.append(found.batch)
            hunks += found.hunks
    return tuple(problems) or FilesDerivation(joined(batches) if batches else None, hunks)


def joined(batches: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One batch of `batches` of one file each; what one of them allows, it allows for all."""
    entries = []
    overrides: dict[str, Any] = {}
    for batch in batches:
        of_file: dict[str, Any] = {name: batch[name] for name in _OF_FILE if name in batch}
        overrides |= {name: batch[name] for name in _OVERRIDES if name in batch}
        rest = {name: value for name, value in batch.items() if name not in (*_OF_FILE, *_OVERRIDES)}
        entries.append({**of_file, "edits": rest.get("edits", [rest])})
    return {**overrides, "files": entries}


def _derived(
    files: Versions, encoding: str | None, *, prefers_structure: bool
) -> FilesDerivation | Diagnostic:
    named: dict[str, Any] = {"file": files.name}
    if encoding is not None:
        named["encoding"] = encoding
    match files:
        case Versions(old=None, new=Outline() as new):
            source = new.source
            if source.data != source.text.encode(encoding or "utf-8", "surrogateescape"):
                return Diagnostic.invalid(
                    f"`{files.name}` is new, and has a byte order mark or another encoding than UTF-8",
                    "give its `--encoding`, or make the file another way",
                )
            return FilesDerivation({**named, "op": "create_file", "markdown": source.text}, 1)
        case Versions(old=Outline() as old, new=None):
            base = {"baseSha256": old.source.sha256[:_BASE_DIGITS]}
            return FilesDerivation({**named, **base, "op": "delete_file"}, 1)
        case Versions(old=Outline() as old, new=Outline() as new):
            requested = RequestedFile(files.name, None, encoding)
            derived = derive_batch(old, new, requested, prefers_structure=prefers_structure)
            if isinstance(derived, tuple):
                return derived[0].at(file=files.name)
            return FilesDerivation(derived.batch, derived.hunks)
        case _:
            return FilesDerivation(None, 0)
