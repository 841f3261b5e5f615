"""The page on which a person decides the conflicts of a stale plan: base, file and plan side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mdplan.engine.engine import Engine
from mdplan.engine.open_merge import OpenMerge, open_merge, plan_merge
from mdplan.merge.documents import Choice, ConflictPlace
from mdplan.web.labels import shown
from mdplan.web.sessions import FlashMessage, ReviewSession

_FIELD = "choice-{}-{}"


@dataclass(frozen=True, slots=True)
class ShownConflict:
    """A conflict with the name of its `field`, the section that it is in, and the lines of each column.

    `base` is None where the lines of before are not known for this place alone.
    """

    field: str
    where: str
    reason: str
    base: str | None
    now: str
    plan: str


@dataclass(frozen=True, slots=True)
class MergePage:
    """A merge that waits for choices: files by their path, with their conflicts."""

    title: str
    version: str
    files: Sequence[tuple[str, Sequence[ShownConflict]]]
    count: int


def merge_page(opened: OpenMerge, title: str) -> MergePage:
    """The page of `opened`, of a plan with this `title`."""
    files = [
        (each.path, [_shown(number, index, place) for index, place in enumerate(each.places)])
        for number, each in enumerate(opened.files)
        if each.places
    ]
    return MergePage(title, opened.version, files, opened.places)


def _shown(file: int, index: int, place: ConflictPlace) -> ShownConflict:
    known = place.known
    return ShownConflict(
        field=_FIELD.format(file, index),
        where=" / ".join(map(shown, known.path)) if known else "",
        reason=known.reason if known else "",
        base=known.base if known else None,
        now=place.ours,
        plan=place.theirs,
    )


def opened_merge(engine: Engine, plan_id: str) -> "OpenMerge | FlashMessage":
    """The merge of a plan; a message where it cannot be merged."""
    found = open_merge(engine, plan_id)
    return found if isinstance(found, OpenMerge) else FlashMessage("The plan cannot be merged.", found)


def merge_chosen(engine: Engine, session: ReviewSession, plan_id: str, form: Mapping[str, str]) -> str | None:
    """Make the plan of the choices in `form`; its ID, or None where there is none, with a notice."""
    found = opened_merge(engine, plan_id)
    if isinstance(found, FlashMessage):
        session.notices[plan_id] = found
        return None
    choices = dict(_choices(found, form))
    if sum(map(len, choices.values())) < found.places:
        session.notices[plan_id] = FlashMessage("Choose a text for each conflict.")
        return None
    merged = plan_merge(engine, plan_id, choices, form.get("version", ""))
    if not isinstance(merged, str):
        session.notices[plan_id] = FlashMessage("The plan was not merged.", merged)
        return None
    session.notices[merged] = FlashMessage("Merged with the current files, as a new plan.")
    return merged


def _choices(found: OpenMerge, form: Mapping[str, str]) -> Iterator[tuple[str, list[Choice]]]:
    known = set(Choice)
    for number, file in enumerate(found.files):
        given = [form.get(_FIELD.format(number, index), "") for index in range(len(file.places))]
        yield file.path, [Choice(each) for each in given if each in known]
