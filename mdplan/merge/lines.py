"""Line-based three-way merge, like diff3: overlapping changes of both sides are a conflict."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from operator import eq
from typing import Any, Final, NamedTuple, TypeVar

from mdplan.text import diff
from mdplan.text.diff import ChangedLines, LineComparison
from mdplan.values import Struct, replace

# The limit of line pairs for one comparison, beyond unique lines.
_COMPARISONS: Final = 400_000


class Origin(StrEnum):
    """The source of the lines of a piece."""

    BOTH = "both"
    OURS = "ours"
    THEIRS = "theirs"
    MERGED = "merged"
    CONFLICT = "conflict"


Version = TypeVar("Version")


def origin_of(
    base: Version, ours: Version, theirs: Version, *, same: Callable[[Any, Any], bool] = eq
) -> Origin:
    """Return which side changed `base`, or CONFLICT if both changed it differently."""
    if same(ours, theirs):
        return Origin.BOTH
    if same(ours, base):
        return Origin.THEIRS
    return Origin.OURS if same(theirs, base) else Origin.CONFLICT


def changed_version(base: Version, ours: Version, theirs: Version) -> Version:
    """Return the version of the side that changed `base`; ours if both did."""
    return theirs if origin_of(base, ours, theirs) is Origin.THEIRS else ours


class Piece(Struct, kw_only=True):
    """0-based half-open line ranges of a part of the merge, and the `origin` of its result.

    A merged piece has its own `merged` lines. `reason` explains a conflict, `note` an automatic decision.
    """

    origin: Origin
    base: range
    ours: range
    theirs: range
    merged: tuple[str, ...] = ()
    reason: str = ""
    note: str = ""

    @property
    def ranges(self) -> tuple[range, range, range]:
        """Its lines in base, ours and theirs."""
        return self.base, self.ours, self.theirs


class Texts(NamedTuple):
    """Lines of the three texts, each with its LF."""

    base: Sequence[str]
    ours: Sequence[str]
    theirs: Sequence[str]

    def parts(self, base: range, ours: range, theirs: range) -> tuple[list[str], list[str], list[str]]:
        """Return these lines of each text."""
        return (
            list(self.base[base.start : base.stop]),
            list(self.ours[ours.start : ours.stop]),
            list(self.theirs[theirs.start : theirs.stop]),
        )


def merge_lines(texts: Texts, base: range, ours: range, theirs: range) -> list[Piece]:
    """Return the merged pieces of these line ranges, in order; adjacent changes conflict."""
    old, *sides = texts.parts(base, ours, theirs)
    own_changes, other_changes = (_changes(old, side) for side in sides)
    pieces: list[Piece] = []
    at, ours_at, theirs_at = base.start, ours.start, theirs.start
    for own_group, other_group in _groups(own_changes, other_changes):
        start = base.start + min(block.old_start for block in (*own_group, *other_group))
        end = base.start + max(block.old_end for block in (*own_group, *other_group))
        if start > at:
            length = start - at
            pieces.append(_kept(range(at, start), ours_at, theirs_at))
            ours_at, theirs_at = ours_at + length, theirs_at + length
        own, other = (
            end - start - sum(block.shrinks_by for block in group) for group in (own_group, other_group)
        )
        ours_range, theirs_range = range(ours_at, ours_at + own), range(theirs_at, theirs_at + other)
        pieces.append(_changed(texts, range(start, end), ours_range, theirs_range))
        at, ours_at, theirs_at = end, ours_range.stop, theirs_range.stop
    if at < base.stop:
        pieces.append(_kept(range(at, base.stop), ours_at, theirs_at))
    return pieces


def _changes(old: list[str], new: list[str]) -> list[ChangedLines]:
    """Return the changed blocks, shifted down as far as possible among equal lines.

    So two sides that add the same lines add them at the same place.
    """
    blocks = list(LineComparison(_COMPARISONS).differing(old, new))
    changes: list[ChangedLines] = []
    following = [*((each.old_start, each.new_start) for each in blocks[1:]), (len(old), len(new))]
    for block, (end, new_end) in zip(blocks, following, strict=False):
        at, stop, new_at, new_stop = block
        is_added, is_deleted = at == stop, new_at == new_stop
        while stop < end and new_stop < new_end and is_added != is_deleted:
            if (new[new_at] != new[new_stop]) if is_added else (old[at] != old[stop]):
                break
            at, stop, new_at, new_stop = at + 1, stop + 1, new_at + 1, new_stop + 1
        changes.append(ChangedLines(at, stop, new_at, new_stop))
    return changes


def kept_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the kept lines of `old` with their position in `new`."""
    changes = LineComparison().differing(list(old), list(new))
    for start, end, shift in diff.kept_lines(changes, len(old), start=0):
        yield from ((line, line + shift) for line in range(start, end))


def _kept(base: range, ours: int, theirs: int) -> Piece:
    return Piece(
        origin=Origin.BOTH,
        base=base,
        ours=range(ours, ours + len(base)),
        theirs=range(theirs, theirs + len(base)),
    )


def _groups(
    ours: Sequence[ChangedLines], theirs: Sequence[ChangedLines]
) -> Iterator[tuple[list[ChangedLines], list[ChangedLines]]]:
    """Yield groups of changes that touch each other in the base."""
    group: tuple[list[ChangedLines], list[ChangedLines]] = ([], [])
    end = -1
    for block, side in sorted([*((each, 0) for each in ours), *((each, 1) for each in theirs)]):
        if block.old_start > end and (group[0] or group[1]):
            yield group
            group = ([], [])
        group[side].append(block)
        end = max(end, block.old_end)
    if group[0] or group[1]:
        yield group


def _changed(texts: Texts, base: range, ours: range, theirs: range) -> Piece:
    origin = origin_of(*texts.parts(base, ours, theirs))
    reason = BOTH_CHANGED if origin is Origin.CONFLICT else ""
    return Piece(origin=origin, base=base, ours=ours, theirs=theirs, reason=reason)


def split_conflict(texts: Texts, piece: Piece) -> Iterator[Piece]:
    """Split off equal lines from a conflict, as git does; other pieces stay whole."""
    if piece.origin is not Origin.CONFLICT or not piece.ours or not piece.theirs:
        yield piece
        return
    _, own, other = texts.parts(*piece.ranges)
    at, other_at = piece.ours.start, piece.theirs.start
    base, nothing = piece.base, range(piece.base.stop, piece.base.stop)
    # Compare in a fixed order, so that swapped sides conflict in the same lines.
    is_swapped = other < own
    pair = (other, own) if is_swapped else (own, other)
    for block in LineComparison(_COMPARISONS).differing(*pair):
        here, there = range(block.old_start, block.old_end), range(block.new_start, block.new_end)
        here, there = (there, here) if is_swapped else (here, there)
        start, other_start = piece.ours.start + here.start, piece.theirs.start + there.start
        if start > at:
            yield _common(nothing, range(at, start), range(other_at, other_start))
        at, other_at = piece.ours.start + here.stop, piece.theirs.start + there.stop
        yield Piece(
            origin=Origin.CONFLICT,
            base=base,
            ours=range(start, at),
            theirs=range(other_start, other_at),
            reason=piece.reason,
        )
        base = nothing
    if at < piece.ours.stop:
        yield _common(nothing, range(at, piece.ours.stop), range(other_at, piece.theirs.stop))


def _common(base: range, ours: range, theirs: range) -> Piece:
    return Piece(origin=Origin.BOTH, base=base, ours=ours, theirs=theirs)


# --- The result of a merge, piece by piece

# The reason of a conflict without a Markdown rule.
BOTH_CHANGED: Final = "both sides changed these lines"


class ResultLine(NamedTuple):
    """A line of the result, its piece, and its line in each side, or None."""

    text: str
    piece: int
    ours: int | None
    theirs: int | None


def result_lines(texts: Texts, pieces: Iterable[Piece]) -> Iterator[ResultLine]:
    """Yield the lines of a result, except conflicts."""
    for number, piece in enumerate(pieces):
        if piece.origin is Origin.BOTH:
            for ours, theirs in zip(piece.ours, piece.theirs, strict=True):
                yield ResultLine(texts.ours[ours], number, ours, theirs)
        elif piece.origin is Origin.OURS:
            yield from (ResultLine(texts.ours[at], number, at, None) for at in piece.ours)
        elif piece.origin is Origin.THEIRS:
            yield from (ResultLine(texts.theirs[at], number, None, at) for at in piece.theirs)
        elif piece.origin is Origin.MERGED:
            for index, line in enumerate(piece.merged):
                yield ResultLine(line, number, _nth(piece.ours, index), _nth(piece.theirs, index))


def _nth(where: range, index: int) -> int | None:
    return where[min(index, len(where) - 1)] if where else None


def is_conflict(piece: Piece) -> bool:
    """Return True if `piece` needs a decision."""
    return piece.origin is Origin.CONFLICT


def marked_lines(pieces: Iterable[Piece]) -> int:
    """Count the lines of both sides in conflicts."""
    return sum(len(piece.ours) + len(piece.theirs) for piece in pieces if is_conflict(piece))


def conflict(piece: Piece, reason: str) -> Piece:
    """Return `piece` as a conflict."""
    return replace(piece, origin=Origin.CONFLICT, merged=(), reason=reason, note="")


_SWAPPED: Final = {Origin.OURS: Origin.THEIRS, Origin.THEIRS: Origin.OURS}


def swapped(piece: Piece) -> Piece:
    """Return `piece` with ours and theirs swapped."""
    origin = _SWAPPED.get(piece.origin, piece.origin)
    return replace(piece, origin=origin, ours=piece.theirs, theirs=piece.ours)


def lost_or_doubled(texts: Iterable[Iterable[str]], result: Iterable[str]) -> Iterator[str]:
    """Yield lines whose count in `result` differs from what the changes of both sides add up to."""
    base, ours, theirs = map(Counter, texts)
    counts = Counter(result)
    for text in {*base, *ours, *theirs, *counts}:
        own, other = ours[text] - base[text], theirs[text] - base[text]
        together = base[text] + own + other
        apart = base[text] + (max(own, other) if min(own, other) > 0 else min(own, other))
        low, high = sorted((together, apart)) if own * other > 0 else (together, together)
        if text.strip() and not low <= counts[text] <= high:
            yield text


# --- The result as text, with conflict markers

# Returns the path of the section or key around a 0-based line of ours.
PathAt = Callable[[int], tuple[str, ...]]


class Conflict(Struct):
    """A conflict: the path of its section, the reason, and the text of each side.

    `line` is the 1-based line of ours.
    """

    path: tuple[str, ...]
    reason: str
    line: int
    base: str
    ours: str
    theirs: str


class MergedText(Struct):
    """Lines that neither side has: `what` the merge did, in which section, and the new text."""

    path: tuple[str, ...]
    what: str
    text: str


class Merge(Struct):
    """A merged `text`, with markers for `conflicts`; `note` says why git's result is used, if so.

    `decisions` are the lines that neither side has.
    """

    text: str
    conflicts: tuple[Conflict, ...]
    note: str = ""
    decisions: tuple[MergedText, ...] = ()

    @property
    def is_clean(self) -> bool:
        """True without conflicts."""
        return not self.conflicts


class MarkerStyle(Struct):
    """The length of conflict markers, and the names of the sides."""

    size: int = 7
    ours: str = "ours"
    theirs: str = "theirs"


def lines_of(text: str) -> list[str]:
    """Return the lines of `text`, each with LF, including the last."""
    return [line + "\n" for line in text.removesuffix("\n").split("\n")] if text else []


def final_end(base: str, ours: str, theirs: str) -> bool:
    """Return whether the result ends with a newline, following the side that changed this."""
    return changed_version(*(text.endswith("\n") or not text for text in (base, ours, theirs)))


def rendered(
    texts: Texts, pieces: Sequence[Piece], path_at: PathAt, style: MarkerStyle, *, has_final_end: bool
) -> Merge:
    """Return `pieces` as one text with conflict markers."""
    parts: list[str] = []
    conflicts: list[Conflict] = []
    decisions: list[MergedText] = []
    for piece in pieces:
        if piece.note:
            decisions.append(MergedText(path_at(piece.ours.start), piece.note, "".join(piece.merged)))
        if piece.origin is not Origin.CONFLICT:
            parts += (line.text for line in result_lines(texts, [piece]))
            continue
        conflicts.append(_conflict(texts, piece, path_at))
        parts += _marked(conflicts[-1], style)
    text = "".join(parts)
    text = text if has_final_end or conflicts else text.removesuffix("\n")
    return Merge(text, tuple(conflicts), decisions=tuple(decisions))


def _conflict(texts: Texts, piece: Piece, path_at: PathAt) -> Conflict:
    base, own, other = map("".join, texts.parts(*piece.ranges))
    line = min(piece.ours.start, max(len(texts.ours) - 1, 0))
    return Conflict(path_at(piece.ours.start), piece.reason, line + 1, base, own, other)


def _marked(place: Conflict, style: MarkerStyle) -> Iterator[str]:
    where = f": {' / '.join(place.path)}" if place.path else ""
    yield f"{'<' * style.size} {style.ours}{where}\n"
    yield place.ours
    yield f"{'=' * style.size}\n"
    yield place.theirs
    yield f"{'>' * style.size} {style.theirs}{where}\n"


class GitResult(Struct):
    """The result of `git merge-file`; `is_clean` without conflicts."""

    text: str
    is_clean: bool
