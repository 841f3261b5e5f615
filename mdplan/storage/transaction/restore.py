"""Put files back as they were before a transaction: the one way back, after a failure and after a crash.

What is there under the three names of a place shows how far its file came, and so what to do. All places are
examined before anything is changed, and every step can be repeated: who is stopped on the way back
starts over.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Literal

from mdplan.diagnostics import Code, Diagnostic
from mdplan.storage.fs.errors import of_error
from mdplan.storage.fs.regular_file import UNFINISHED
from mdplan.storage.journal.journal_record import JournalEntry
from mdplan.storage.transaction.file_place import FoundContents, StagedPlace

Keep = Literal["current", "base"]
# Another program that writes in a loop is followed this often; then both versions are left for a person.
_MOST_EXCHANGES: Final = 50


class RestoreAction(Enum):
    """The action that restores a file."""

    NOTHING = auto()
    PUT_BACK = auto()
    RESTORE = auto()
    TAKE_AWAY = auto()
    CONFLICT = auto()


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The places that were put back, those where a person has to choose, and what was not possible."""

    restored: tuple[StagedPlace, ...]
    conflicts: tuple[StagedPlace, ...]
    problems: tuple[Diagnostic, ...]


def restore(places: Sequence[StagedPlace], keep: Keep | None = None) -> RestoreResult:
    """Put all of `places` back, the last first; `keep` chooses for those that someone changed concurrently.

    Nothing is thrown away: what was in place is under one of the other two names after that.
    """
    restored: list[StagedPlace] = []
    conflicts: list[StagedPlace] = []
    problems: list[Diagnostic] = []
    inspected: list[tuple[StagedPlace, FoundContents]] = []
    for place in places:
        try:
            inspected.append((place, place.found()))
        except OSError as error:
            problems.append(_failed(error, place))
    for place, found in reversed(inspected):
        way = plan_restore(place.entry, found, known=place.known)
        if way is RestoreAction.NOTHING or (way is RestoreAction.CONFLICT and keep == "current"):
            continue
        try:
            went = (
                _force_back(place, found)
                if way is RestoreAction.CONFLICT and keep
                else _run_action(place, found, way)
            )
        except OSError as error:
            problems.append(_failed(error, place))
        else:
            (restored if went else conflicts).append(place)
    return RestoreResult(tuple(restored), tuple(conflicts), tuple(problems))


def plan_restore(entry: JournalEntry, found: FoundContents, *, known: bool = True) -> RestoreAction:
    """The way back for a file of which `found` is there.

    A file that someone changed on top of the transaction, so that neither that nor the old content may be
    thrown away, is a conflict. So is one that would get other content than its base, where the transaction
    is not `known` to be this user's: a stranger could have put that there.
    """
    if entry.base is None:
        return _plan_for_created(entry, found)
    way = _plan_for_deleted(found) if entry.result is None else _plan_for_replaced(entry, found)
    if way in (RestoreAction.PUT_BACK, RestoreAction.RESTORE) and not (
        known or _displaced_content(entry, found) == entry.base
    ):
        return RestoreAction.CONFLICT
    return way


def exchange_back(place: StagedPlace, source: str) -> bool:
    """Exchange the target, which should be the result, with what was displaced to `source`.

    If another program wrote the target concurrently, its newest version ends up in place; False when it never
    stops. Raises `OSError`.
    """
    disk = place.folders.root.filesystem
    expected, placed = place.entry.result, place.content(source)
    for _ in range(_MOST_EXCHANGES):
        disk.exchange(place.folder, source, place.leaf)
        taken = place.content(source)
        if taken == expected:
            return True
        expected, placed = placed, taken
    return False


def _plan_for_replaced(entry: JournalEntry, found: FoundContents) -> RestoreAction:
    if found.target == entry.base:
        return RestoreAction.NOTHING
    source = _displaced(entry, found)
    if source is None:
        # The result waits, or was never written: the target was not replaced, and is someone's own. But a
        # result in place whose old content is gone is no work of ours, and cannot be put back.
        is_staged = found.temporary is not None
        return RestoreAction.NOTHING if is_staged or found.target != entry.result else RestoreAction.CONFLICT
    # What was displaced goes back also where it is not the base: someone wrote it at the last moment.
    if found.target == entry.result:
        return RestoreAction.PUT_BACK
    return RestoreAction.NOTHING if found.temporary == entry.result else RestoreAction.CONFLICT


def _plan_for_created(entry: JournalEntry, found: FoundContents) -> RestoreAction:
    if found.target is None:
        return RestoreAction.NOTHING
    if found.target == entry.result and found.temporary in (None, entry.result):
        return RestoreAction.TAKE_AWAY
    return RestoreAction.CONFLICT if found.temporary is None else RestoreAction.NOTHING


def _plan_for_deleted(found: FoundContents) -> RestoreAction:
    if found.aside is None or found.target == found.aside:
        return RestoreAction.NOTHING
    return RestoreAction.RESTORE if found.target is None else RestoreAction.CONFLICT


def _displaced(entry: JournalEntry, found: FoundContents) -> Literal["aside", "temporary"] | None:
    """Under which of the two names the old content of a replaced file is."""
    if found.aside not in (None, entry.result):
        return "aside"
    return None if found.temporary in (None, entry.result, UNFINISHED) else "temporary"


def _displaced_content(entry: JournalEntry, found: FoundContents) -> str | None:
    if entry.result is None or _displaced(entry, found) == "aside":
        return found.aside
    return found.temporary


def _run_action(place: StagedPlace, found: FoundContents, way: RestoreAction) -> bool:
    """Put a file back; False where that turns out to be a conflict. Raises `OSError`."""
    match way:
        case RestoreAction.PUT_BACK if _displaced(place.entry, found) == "temporary" and place.exchanges:
            return exchange_back(place, place.temporary)
        case RestoreAction.PUT_BACK:
            _rename_back(place, found)
            return True
        case RestoreAction.RESTORE:
            return _restore(place, place.aside)
        case RestoreAction.TAKE_AWAY:
            return _take_away(place, found)
        case RestoreAction.CONFLICT | RestoreAction.NOTHING:
            return way is RestoreAction.NOTHING


def _rename_back(place: StagedPlace, found: FoundContents) -> None:
    """Put the displaced content of a replaced file back where two files cannot change places."""
    disk = place.folders.root.filesystem
    source, other = _names(place, found)
    # The result keeps a second name where it can have one; its plan is in the record in any case.
    with suppress(OSError):
        disk.link(place.folder, place.leaf, other)
    disk.rename(place.folder, source, place.leaf)


def _restore(place: StagedPlace, source: str) -> bool:
    """Give `source` the name of the file; False when somebody made one of that name."""
    try:
        place.folders.root.filesystem.rename_new(place.folder, source, place.folder, place.leaf)
    except FileExistsError:
        return False
    return True


def _names(place: StagedPlace, found: FoundContents) -> tuple[str, str]:
    """The name under which the old content is, and the other one."""
    if place.entry.result is None or _displaced(place.entry, found) == "aside":
        return place.aside, place.temporary
    return place.temporary, place.aside


def _take_away(place: StagedPlace, found: FoundContents) -> bool:
    """Let a created file disappear to the name `temporary`; False when it was changed at the last moment."""
    disk = place.folders.root.filesystem
    if found.temporary is not None:
        # Two names mean a rename that was stopped halfway, or another file of the same content.
        names = [disk.status_of(place.folder, name) for name in (place.leaf, place.temporary)]
        if os.path.samestat(*names):
            disk.unlink(place.folder, place.leaf)
        return True
    disk.rename(place.folder, place.leaf, place.temporary)
    if place.content(place.temporary) == place.entry.result:
        return True
    disk.rename_new(place.folder, place.temporary, place.folder, place.leaf)
    return False


def _force_back(place: StagedPlace, found: FoundContents) -> bool:
    """Put the base in the place of what someone wrote on top; that goes to one of the other names.

    False where the base is gone, or someone writes on.
    """
    disk = place.folders.root.filesystem
    if place.entry.base is None:
        disk.rename(place.folder, place.leaf, place.temporary)
        return True
    if place.entry.result is not None and _displaced(place.entry, found) is None:
        return False
    if not place.known and _displaced_content(place.entry, found) != place.entry.base:
        return False
    source, other = _names(place, found)
    if found.target is not None:
        disk.rename(place.folder, place.leaf, other)
    return _restore(place, source)


def _failed(error: OSError, place: StagedPlace) -> Diagnostic:
    reason = of_error(error, place.shown, "putting back")
    return Diagnostic(
        code=Code.RECOVERY_REQUIRED,
        message=reason.message,
        hint=f"{reason.hint}; then run `mdplan recover`",
        file=place.shown,
    )
