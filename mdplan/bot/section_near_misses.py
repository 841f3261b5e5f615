"""Sections to delete that a file does not have, while it has one with nearly the same name.

Such an edit is already satisfied: the section is gone. But the name in the manifest may be mistyped, and then
the mistake would go unnoticed. Likeness is strict here: `Instalation` for `Installation`, and not `Step 1`
for `Step 2`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.bot.manifest.loading import LoadedManifest
from mdplan.bot.manifest.source_map import Path
from mdplan.diagnostics import Code, Diagnostic
from mdplan.operations.base import Operation

_LEAST: Final = 0.85
_DIGITS: Final = re.compile(r"[0-9]+")
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedNearMiss:
    """A section nearly of the name that the edit at `asked` of a manifest gives: in `file`, on `line`."""

    asked: Path
    file: str
    line: int
    wanted: tuple[str, ...]
    found: tuple[str, ...]


def near_miss(operation: Operation, problem: Diagnostic, asked: Path, file: str) -> SkippedNearMiss | None:
    """What `problem`, which says that the section of `operation` is not there, knows of a similar one."""
    # The problem means that there is no such section to remove; for other edits it is an error.
    if Code.SECTION_NOT_FOUND not in operation.satisfied_by or problem.code is not Code.SECTION_NOT_FOUND:
        return None
    heading = getattr(operation, "heading", None)
    wanted = getattr(operation, "heading_path", None) or ((heading,) if heading else ())
    for candidate in problem.candidates:
        found = candidate.heading_path[-len(wanted) :]
        if wanted and _is_like(wanted, found):
            return SkippedNearMiss(
                asked=asked, file=file, line=candidate.start_line, wanted=wanted, found=found
            )
    return None


def near_miss_warnings(misses: Iterable[SkippedNearMiss], loaded: LoadedManifest) -> list[Diagnostic]:
    """A warning for each edit of the manifest that has `misses`, about the first of them and their number."""
    of_edits: dict[Path, list[SkippedNearMiss]] = {}
    for miss in misses:
        of_edits.setdefault(miss.asked, []).append(miss)
    return [
        Diagnostic.warning(
            Code.SECTION_NOT_FOUND,
            f"no section {_shown(first.wanted)} to delete, but `{first.file}` has {_shown(first.found)}"
            f" at line {first.line}{_and_more(len(found) - 1)}",
            f"if that is meant, write {_shown(first.found)}; otherwise there is nothing to do",
            place=loaded.located.place(asked),
        ).at(file=loaded.name)
        for asked, found in of_edits.items()
        for first in found[:1]
    ]


def _is_like(wanted: Sequence[str], found: Sequence[str]) -> bool:
    from difflib import SequenceMatcher

    one, other = (" / ".join(title.lstrip("# \t").casefold() for title in path) for path in (wanted, found))
    if len(wanted) != len(found) or _DIGITS.findall(one) != _DIGITS.findall(other):
        return False
    return SequenceMatcher(None, one, other).ratio() >= _LEAST


def _and_more(number: int) -> str:
    return f", and so have {number} more files" if number > 1 else ", and so has another file" * number


def _shown(path: Sequence[str]) -> str:
    text = " / ".join(path)
    return f"`{text if len(text) <= _SHOWN else f'{text[: _SHOWN - 1]}…'}`"
