"""The contents of a disk: visible to programs, certainly stored, and possible after a crash.

The actions of programs are a sequence of events. A change of names (one create, rename, exchange, …) is one
set of assignments that reaches the disk whole or not at all: ext4, xfs, btrfs, zfs and APFS write a rename as
one transaction, also between two folders, so syncing either folder keeps both halves. File systems without a
journal (FAT, ext2) promise less; `torn_moves` represents them. Beyond that there is no order: any unsynced
set may be on the disk without earlier ones, as POSIX allows. The file systems above keep more order, so what
survives here survives there.
"""

import itertools
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

ROOT = 0
SUBSETS_UP_TO = 8
CONTENTS_UP_TO = 125
RANDOM_SUBSETS = 200


class Content(NamedTuple):
    """The content and attributes of a file or folder. `mode` includes the bits of the kind."""

    data: bytes
    mode: int
    owner: tuple[int, int]
    attributes: tuple[tuple[str, bytes], ...] = ()


class Node(NamedTuple):
    """A file, or a folder that maps names, in order, to numbers of nodes."""

    content: Content
    names: tuple[tuple[str, int], ...] | None


# All that can be reached from the root, numbered as it is reached; equal exactly when a program sees no
# difference. The root is number 0.
Image = tuple[Node, ...]
# A name in a folder and the number of its new node.
Assignment = tuple[int, str, int | None]
NameSet = tuple[Assignment, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """There is a new file or folder, without a name yet."""

    number: int
    content: Content
    is_folder: bool


@dataclass(frozen=True, slots=True)
class Named:
    """Names changed, all at once."""

    names: NameSet


@dataclass(frozen=True, slots=True)
class Changed:
    """A file or folder has other content."""

    number: int
    content: Content


@dataclass(frozen=True, slots=True)
class Synced:
    """The content of a file or folder, and a folder's names, are on the disk."""

    number: int


@dataclass(frozen=True, slots=True)
class Stored:
    """A database has other content, at once and for good, or only at once."""

    number: int
    content: Content
    lasts: bool


Event = Made | Named | Changed | Synced | Stored


class Volume:
    """Files and folders by number: `names` and `content` as programs see them, and what of it is kept."""

    def __init__(self, image: Image, torn_moves: bool = False) -> None:
        self.torn_moves = torn_moves
        self.content = {number: node.content for number, node in enumerate(image)}
        self.kept = dict(self.content)
        self.names = {number: dict(node.names) for number, node in enumerate(image) if node.names is not None}
        # The names on the disk are those of `base` plus all `settled` `sets`.
        self.base = {number: dict(names) for number, names in self.names.items()}
        self.sets: list[NameSet] = []
        self.settled: list[bool] = []
        # What changes as a whole.
        self.databases: frozenset[int] = frozenset()

    def copy(self) -> "Volume":
        """The same disk once more."""
        other = Volume((), self.torn_moves)
        other.content, other.kept = dict(self.content), dict(self.kept)
        other.names = {number: dict(names) for number, names in self.names.items()}
        other.base = {number: dict(names) for number, names in self.base.items()}
        other.sets, other.settled = list(self.sets), list(self.settled)
        other.databases = self.databases
        return other

    def apply(self, event: Event) -> None:
        """Let the event happen."""
        match event:
            case Made(number, content, is_folder):
                self.content[number] = content
                # A file that was never synced is empty, with its original mode.
                self.kept[number] = content
                if is_folder:
                    self.names[number] = {}
                    self.base[number] = {}
            case Changed(number, content):
                self.content[number] = content
            case Stored(number, content, lasts):
                self.content[number] = content
                self.databases |= {number}
                if lasts:
                    self.kept[number] = content
            case Named(names):
                assign(self.names, names)
                self._add(names)
            case Synced(number):
                self.kept[number] = self.content[number]
                if number in self.names:
                    self._settle(number)

    def _add(self, names: NameSet) -> None:
        parts = [names]
        if self.torn_moves:
            parts = [
                tuple(part) for _, part in itertools.groupby(names, key=lambda assignment: assignment[0])
            ]
        self.sets.extend(parts)
        self.settled.extend(False for _ in parts)

    def _settle(self, folder: int) -> None:
        for index, names in enumerate(self.sets):
            if any(assignment[0] == folder for assignment in names):
                self.settled[index] = True
        while self.settled and self.settled[0]:
            assign(self.base, self.sets.pop(0))
            self.settled.pop(0)

    def image(self) -> Image:
        """What programs see."""
        return image_of(self.names, self.content)

    def key(self) -> tuple[object, ...]:
        """Equal for two disks that no program and no crash can tell apart."""
        if not self.sets and self.kept == self.content:
            return self.image()
        number_of = {number: place for place, number in enumerate(numbered(self.names))}
        for number in [below for names in self.base.values() for below in names.values()]:
            number_of.setdefault(number, len(number_of))
        for folder, _, file in itertools.chain.from_iterable(self.sets):
            number_of.setdefault(folder, len(number_of))
            if file is not None:
                number_of.setdefault(file, len(number_of))
        ordered = list(number_of)
        return (
            self.image(),
            tuple((self.content[number], self.kept[number]) for number in ordered),
            tuple(
                (
                    number_of[folder],
                    tuple(sorted((name, number_of[number]) for name, number in names.items())),
                )
                for folder, names in self.base.items()
                if folder in number_of
            ),
            tuple(
                tuple(
                    (number_of[folder], name, None if file is None else number_of.get(file))
                    for folder, name, file in names
                )
                for names in self.sets
            ),
            tuple(self.settled),
        )

    def crash_images(self, latest: Event | None = None) -> Iterator[Image]:
        """Everything that the disk may hold after the power is lost now.

        With `latest`, the event that happened last, only what that event has made possible.
        """
        if isinstance(latest, Made | Synced):
            return
        pending = [index for index, settled in enumerate(self.settled) if not settled]
        newest: set[int] = set()
        if isinstance(latest, Named):
            parts = len({folder for folder, _, _ in latest.names}) if self.torn_moves else 1
            newest = set(range(len(self.sets) - parts, len(self.sets)))
        changed = latest.number if isinstance(latest, Changed) else None
        for chosen in subsets(pending):
            if newest and newest.isdisjoint(chosen):
                continue
            yield from self._images_with(chosen, changed)

    def _images_with(self, chosen: frozenset[int], changed: int | None) -> Iterator[Image]:
        """Yield the images with exactly the `chosen` sets on the disk, only those with `changed` if given."""
        names = {number: dict(below) for number, below in self.base.items()}
        for index, assignments in enumerate(self.sets):
            if self.settled[index] or index in chosen:
                assign(names, assignments)
        reached = numbered(names)
        if changed is not None and changed not in reached:
            return
        dirty = {
            number: (self.kept[number], self.content[number])
            if number in self.databases
            else written(self.kept[number], self.content[number])
            for number in reached
            if self.kept[number] != self.content[number]
        }
        for variant in variants(dirty):
            yield image_of(names, {**self.kept, **variant})


def written(kept: Content, wanted: Content) -> tuple[Content, ...]:
    """Yield what may be on the disk of a change: nothing, everything, half of the data, or all but the data.

    The last is the effect of delayed allocation: a new mode is in the next transaction, data is written
    later.
    """
    half = wanted.data[: len(wanted.data) // 2]
    found = (
        kept,
        wanted,
        kept._replace(data=half),
        wanted._replace(data=half),
        wanted._replace(data=kept.data),
    )
    return tuple(dict.fromkeys(found))


def variants(dirty: dict[int, tuple[Content, ...]]) -> Iterator[dict[int, Content]]:
    """What of each changed file may be on the disk: all combinations of a few, else one odd one out."""
    if math.prod(map(len, dirty.values())) <= CONTENTS_UP_TO:
        for combination in itertools.product(*dirty.values()):
            yield dict(zip(dirty, combination, strict=True))
        return
    for place in range(max(map(len, dirty.values()))):
        usual = {number: choices[min(place, len(choices) - 1)] for number, choices in dirty.items()}
        yield usual
        for number, choices in dirty.items():
            yield from ({**usual, number: choice} for choice in choices)


def subsets(pending: list[int]) -> Iterator[frozenset[int]]:
    """All subsets of a few; of many the prefixes, those without one, and some chosen at random."""
    if len(pending) <= SUBSETS_UP_TO:
        for size in range(len(pending) + 1):
            yield from map(frozenset, itertools.combinations(pending, size))
        return
    yield from (frozenset(pending[:size]) for size in range(len(pending) + 1))
    yield from (frozenset(pending) - {index} for index in pending)
    # The same pending sets give the same choice in every run.
    choice = random.Random(len(pending))
    for _ in range(RANDOM_SUBSETS):
        yield frozenset(index for index in pending if choice.random() < 0.5)


def assign(names: dict[int, dict[str, int]], assignments: Iterable[Assignment]) -> None:
    """Give the names their new meaning."""
    for folder, name, number in assignments:
        if number is None:
            names[folder].pop(name, None)
        else:
            names[folder][name] = number


def numbered(names: dict[int, dict[str, int]], start: int = ROOT) -> list[int]:
    """All that can be reached from `start`, by the order of names, each once."""
    reached = {start: None}
    waiting = [start]
    while waiting:
        below = names.get(waiting.pop())
        for _, number in sorted(below.items()) if below else ():
            if number not in reached:
                reached[number] = None
                waiting.append(number)
    return list(reached)


def image_of(names: dict[int, dict[str, int]], content: dict[int, Content]) -> Image:
    """What can be reached from the root."""
    reached = numbered(names)
    place = {number: index for index, number in enumerate(reached)}
    return tuple(
        Node(
            content[number],
            tuple((name, place[below]) for name, below in sorted(names[number].items()))
            if number in names
            else None,
        )
        for number in reached
    )


def tree_of(image: Image, at: int = ROOT, path: str = "") -> dict[str, Content]:
    """Return every path except the root with its content; a folder's path ends in `/`."""
    found: dict[str, Content] = {}
    for name, number in image[at].names or ():
        node = image[number]
        if node.names is None:
            found[path + name] = node.content
        else:
            found[f"{path}{name}/"] = node.content
            found.update(tree_of(image, number, f"{path}{name}/"))
    return found


def image_from(tree: dict[str, Content], root: Content) -> Image:
    """Return the image of those paths, each after its folder; folders end in `/`."""
    names: dict[int, dict[str, int]] = {ROOT: {}}
    content = {ROOT: root}
    folders = {"": ROOT}
    for number, (path, given) in enumerate(tree.items(), start=1):
        parent, _, name = path.rstrip("/").rpartition("/")
        names[folders[f"{parent}/" if parent else ""]][name] = number
        content[number] = given
        if path.endswith("/"):
            folders[path] = number
            names[number] = {}
    return image_of(names, content)


def numbers_of(volume: Volume, at: int = ROOT, path: str = "") -> dict[str, int]:
    """Return every path, with the root as the empty one, and the number of its node."""
    found = {path: at}
    for name, number in volume.names[at].items():
        if number in volume.names:
            found.update(numbers_of(volume, number, f"{path}{name}/"))
        else:
            found[path + name] = number
    return found
