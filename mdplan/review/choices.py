"""Combine a person's choices for parts of a plan: the smallest part wins.

A choice is on the plan, a class, a file, an edit, or a place, which are named ``plan``, ``class 3f…``,
``file 2``, ``edit 5`` and ``place 2 7``. A place without any choice is not accepted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from mdplan.review.lines import Owners
from mdplan.review.shapes import ChangeClass, Place
from mdplan.values import Struct

PLAN: Final = "plan"

# By the name of a part: accepted, or rejected.
Choices = Mapping[str, bool]


class ChosenEdits(Struct, kw_only=True):
    """The edits of a plan by choice; `in_part` has the choice for each place of partly accepted edits."""

    accepted: frozenset[int]
    rejected: frozenset[int]
    undecided: frozenset[int]
    in_part: Mapping[int, Mapping[Place, bool | None]]

    @property
    def left_out(self) -> frozenset[int]:
        """The edits that an approval leaves out completely."""
        return self.rejected | self.undecided

    @property
    def rejected_places(self) -> tuple[Place, ...]:
        """The places that an approval leaves out of partly accepted edits."""
        return tuple(
            sorted(place for places in self.in_part.values() for place, kept in places.items() if not kept)
        )


def place_name(place: Place) -> str:
    """Return the name of `place` in choices."""
    return f"place {place.file} {place.number}"


def approved_choices(choices: Choices) -> Choices:
    """Return the choices of an approval: the accepted parts if any, else everything that was not rejected."""
    return choices if any(choices.values()) else {PLAN: True, **choices}


def choice_of(choices: Choices, place: Place, owners: Owners, key: str) -> bool | None:
    """Return the choice for `place` of the edits `owners` in the class `key`, or None."""
    on_edits = {choices.get(f"edit {owner}") for owner in owners}
    # A place of several edits is accepted with all of them, and rejected with one.
    on_edit = False if False in on_edits else None if None in on_edits else bool(owners) or None
    for chosen in (choices.get(place_name(place)), on_edit, choices.get(f"file {place.file}")):
        if chosen is not None:
            return chosen
    on_class = choices.get(f"class {key}")
    return choices.get(PLAN) if on_class is None else on_class


def chosen_edits(
    choices: Choices, classes: Iterable[ChangeClass], edits: Mapping[int, Sequence[int]]
) -> ChosenEdits:
    """Apply `choices` to `edits`, which map each edit to the indexes of its files."""
    by_edit: dict[int, dict[Place, bool | None]] = {}
    for one in classes:
        for place, owners in zip(one.places, one.owners, strict=True):
            for owner in owners:
                by_edit.setdefault(owner, {})[place] = choice_of(choices, place, owners, one.key)
    sets: dict[bool | None, set[int]] = {True: set(), False: set(), None: set()}
    in_part: dict[int, Mapping[Place, bool | None]] = {}
    for index, files in edits.items():
        places = by_edit.get(index, {})
        kept = set(places.values()) or {_without_places(choices, index, files)}
        if len(kept) > 1 and True in kept:
            in_part[index] = places
        else:
            sets[kept.pop() if len(kept) == 1 else None].add(index)
    return ChosenEdits(
        accepted=frozenset(sets[True]),
        rejected=frozenset(sets[False]),
        undecided=frozenset(sets[None]),
        in_part=in_part,
    )


def _without_places(choices: Choices, index: int, files: Collection[int]) -> bool | None:
    names = (f"edit {index}", *(f"file {file}" for file in files), PLAN)
    return next((choices[name] for name in names if name in choices), None)


def parts_of(classes: Iterable[ChangeClass], edits: Mapping[int, Sequence[int]]) -> Iterator[str]:
    """Yield the names of all parts of a plan that a choice can be on."""
    yield PLAN
    yield from (f"edit {index}" for index in edits)
    files = {file for of_edit in edits.values() for file in of_edit}
    for one in classes:
        yield f"class {one.key}"
        files.update(one.files)
        yield from map(place_name, one.places)
    yield from (f"file {file}" for file in sorted(files))
