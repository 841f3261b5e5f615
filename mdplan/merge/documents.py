"""Merge three documents: lines first, structured parts where lines conflict, then checks."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import StrEnum
from functools import cached_property, partial
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple

from mdplan.data.tree import Language
from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.blocks import CONTAINERS, BlockKind, with_deadline
from mdplan.markdown.format_detection import find_front_matter
from mdplan.markdown.links import local_links
from mdplan.markdown.sections import Section
from mdplan.merge.lines import (
    Conflict,
    GitResult,
    MarkerStyle,
    Merge,
    Origin,
    Piece,
    ResultLine,
    Texts,
    Version,
    changed_version,
    conflict,
    final_end,
    is_conflict,
    kept_lines,
    lines_of,
    lost_or_doubled,
    marked_lines,
    origin_of,
    rendered,
    result_lines,
    split_conflict,
    swapped,
)
from mdplan.merge.trees import (
    MEMBERS,
    SETS,
    DocumentTree,
    MergeNode,
    MergeNodeKind,
    TreeMerge,
    joined,
    row_text,
    with_gaps,
)
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, text_range
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct, replace

_ROUNDS: Final = 4
_STRICT: Final = "only a merge that is not strict decides this: {}"


@with_deadline
def merge_documents(
    base: str, ours: str, theirs: str, style: MarkerStyle | None = None, *, is_strict: bool = False
) -> Merge:
    """Merge the Markdown texts `ours` and `theirs`, both derived from `base`.

    All have LF newlines. Without line conflicts the result has the lines of both sides; otherwise items,
    table rows, definitions, new sections and sentences are merged. A failed check is a conflict. `is_strict`
    also makes conflicts of lines that neither side has.
    """
    if origin_of(base, ours, theirs) is not Origin.CONFLICT:
        return Merge(changed_version(base, ours, theirs), ())
    short = shortened(Texts(*[lines_of(text) for text in (base, ours, theirs)]))
    texts = short.texts
    documents = [DocumentTree(lines) for lines in texts]
    pieces = _merged(texts, documents, is_strict=is_strict)
    if any(is_conflict(piece) for piece in pieces):
        # The merge is symmetric: a clean result with swapped sides counts.
        reversed_texts = Texts(texts.base, texts.theirs, texts.ours)
        other = _merged(reversed_texts, [documents[at] for at in (0, 2, 1)], is_strict=is_strict)
        if not any(is_conflict(piece) for piece in other):
            pieces = [swapped(piece) for piece in other]
    pieces = [part for piece in joined(texts, pieces) for part in split_conflict(texts, piece)]
    merge = rendered(
        texts,
        pieces,
        partial(_path, documents[1]),
        style or MarkerStyle(),
        has_final_end=final_end(base, ours, theirs),
    )
    conflicts = (
        replace(
            each,
            line=short.ours[each.line - 1] + 1 if each.line <= len(short.ours) else each.line,
            base=short.whole(each.base),
            ours=short.whole(each.ours),
            theirs=short.whole(each.theirs),
        )
        for each in merge.conflicts
    )
    return replace(merge, text=short.whole(merge.text), conflicts=tuple(conflicts))


def _merged(texts: Texts, documents: Sequence[DocumentTree], *, is_strict: bool) -> list[Piece]:
    """Return the merged pieces: by lines if that is clean, else the merge with the fewest conflict lines."""
    sides = _sides(documents)
    merged: list[list[Piece]] = []
    for lines_first in (True, False):
        pieces = TreeMerge(texts, documents, lines_first=lines_first).pieces()
        if is_strict:
            pieces = [conflict(each, _STRICT.format(each.note)) if each.note else each for each in pieces]
        merged.append(_guarded(texts, sides, with_gaps(texts, documents, pieces)))
        if not any(is_conflict(piece) for piece in merged[-1]):
            break
    return min(merged, key=marked_lines)


def first_flaw(base: str, ours: str, theirs: str, result: str) -> str:
    """Return why the conflict-free merge `result` must not be used, or an empty string."""
    texts = Texts(*[lines_of(text) for text in (base, ours, theirs)])
    found = lines_of(result)
    own, other = ({new: old for old, new in kept_lines(side, found)} for side in (texts.ours, texts.theirs))
    lines = [ResultLine(line, 0, own.get(at), other.get(at)) for at, line in enumerate(found)]
    wrong = flaws(texts, _sides([DocumentTree(each) for each in texts]), lines)
    return next((flaw.reason for flaw in wrong), "")


# Identifies a section across texts: its path and number of earlier occurrences, in the base if present.
Identity = tuple[object, ...]


class MatchedSide:
    """A side with its sections matched to the base."""

    def __init__(self, base: DocumentTree, side: DocumentTree) -> None:
        self.units = side
        self.identities = _identities(base, side)

    def identity(self, section: Section) -> Identity:
        """Return the identity of `section` across texts."""
        return self.identities[section.index]

    def parent(self, section: Section) -> Identity:
        """Return the identity of the parent of `section`."""
        return self.identities[section.parent or 0]

    @cached_property
    def headings(self) -> dict[int, Section]:
        """Sections by the 0-based line of their heading."""
        return {each.heading_line - 1: each for each in self.units.outline.sections[1:]}


def _sides(documents: Sequence[DocumentTree]) -> tuple[DocumentTree, MatchedSide, MatchedSide]:
    base, ours, theirs = documents
    return base, MatchedSide(base, ours), MatchedSide(base, theirs)


def _guarded(
    texts: Texts, sides: tuple[DocumentTree, MatchedSide, MatchedSide], pieces: list[Piece]
) -> list[Piece]:
    """Return `pieces` with a conflict for each failed check."""
    for _ in range(_ROUNDS):
        lines = list(result_lines(texts, pieces))
        refused: dict[int, str] = {}
        blamed = _blamed(texts, pieces)
        for flaw in flaws(texts, sides, lines, _declared(texts, pieces)):
            number = blamed(lines[flaw.line].piece if lines else 0, flaw.lost)
            if number is not None:
                refused.setdefault(number, flaw.reason)
        if not refused:
            return pieces
        pieces = [
            conflict(piece, refused[number]) if number in refused else piece
            for number, piece in enumerate(pieces)
        ]
    return [
        piece if piece.origin is Origin.BOTH else conflict(piece, "the merge cannot be proven")
        for piece in pieces
    ]


def _declared(texts: Texts, pieces: Sequence[Piece]) -> frozenset[str] | None:
    """Return the lines that merged pieces contain or replace; None if conflicts prevent counting lines."""
    if any(is_conflict(piece) for piece in pieces):
        return None
    merged = [piece for piece in pieces if piece.origin is Origin.MERGED]
    return frozenset(
        line for piece in merged for lines in (piece.merged, *texts.parts(*piece.ranges)) for line in lines
    )


def _blamed(texts: Texts, pieces: Sequence[Piece]) -> Callable[[int, str], int | None]:
    """Return a function that finds the changed piece with a lost line, or the nearest one, by index."""
    changed = [
        number
        for number, piece in enumerate(pieces)
        if piece.origin not in {Origin.BOTH, Origin.CONFLICT} and (piece.ours or piece.theirs)
    ]
    with_line: dict[str, int] = {}
    for number in changed:
        for part in texts.parts(*pieces[number].ranges):
            for line in part:
                with_line.setdefault(unpadded(line), number)
    has_conflict = any(map(is_conflict, pieces))

    def blamed(number: int, lost: str) -> int | None:
        if pieces[number].origin is Origin.BOTH and not lost and has_conflict:
            # The conflict explains it: without a decision the text is incomplete.
            return None
        above = bisect_right(changed, number)
        nearest = changed[max(above - 1, 0)] if changed else None
        return with_line.get(lost, nearest)

    return blamed


def _path(ours: DocumentTree, line: int) -> tuple[str, ...]:
    return ours.section_at(min(line, len(ours.lines) - 1)).path if ours.lines else ()


# --- Merging texts of any format, with their newlines

_MARKERS: Final = ("<<<<<<< ", ">>>>>>> ")


def merge_texts(
    file_format: DocumentFormat,
    texts: Sequence[str],
    style: MarkerStyle | None = None,
    *,
    is_strict: bool = False,
    by_git: Callable[[], GitResult] | None = None,
) -> Merge | None:
    """Merge base, ours and theirs, the BOM-less `texts`; None for texts that only git can merge.

    Those have mixed newlines or conflict markers. `by_git` supplies git's result, used unless a check fails.
    The newlines are those of the side that changed them.
    """
    style = style or MarkerStyle()
    if not all(_can_be_merged(text, style) for text in texts):
        return None
    has_crlf = ["\r\n" in text for text in texts]
    base, ours, theirs = (text.replace("\r\n", "\n") for text in texts)
    if file_format is DocumentFormat.MARKDOWN:
        merge = merge_documents(base, ours, theirs, style, is_strict=is_strict)
        why_not = partial(first_flaw, base, ours, theirs)
    else:
        # Most files are Markdown; load other formats on demand.
        from mdplan.merge.data import merge_data, merge_text_lines

        if file_format is DocumentFormat.TEXT:
            return _with_ends(merge_text_lines(base, ours, theirs, style), has_crlf)
        merge = merge_data(Language(file_format), base, ours, theirs, style, is_strict=is_strict)
        why_not = partial(_why_not, merge)
    if by_git is not None and len(set(has_crlf)) == 1:
        result = by_git()
        result = replace(result, text=result.text.removeprefix("\ufeff").replace("\r\n", "\n"))
        merge = _compared_with_git(merge, result, why_not, style)
    return _with_ends(merge, has_crlf)


def _why_not(found: Merge, _: str) -> str:
    """Return why git's result for a data file is not used: a similar line merge gave other values."""
    if not found.is_clean:
        return found.conflicts[0].reason
    return "the keys would not have the values of both sides" if found.decisions else ""


def _can_be_merged(text: str, style: MarkerStyle) -> bool:
    markers = *_MARKERS, f"{'<' * style.size} "
    ends = text.count("\r\n")
    return (
        "\0" not in text
        and text.count("\r") == ends
        and ends in {0, text.count("\n")}
        and not any(line.startswith(markers) for line in text.split("\n"))
    )


def _with_ends(found: Merge, has_crlf: Sequence[bool]) -> Merge:
    has_ends = changed_version(*has_crlf)
    return replace(found, text=found.text.replace("\n", "\r\n")) if has_ends else found


# --- Using git's merge of the same texts instead

_GIT_IS_CLEAN: Final = "git's result is used: no rule for Markdown asks for another one"
_GIT_IS_WRONG: Final = "git's result is not used: {}"
_GIT_IS_SMALLER: Final = "git's conflict markers are used: they mark fewer lines"


def _compared_with_git(
    own: Merge, git: GitResult, why_not: Callable[[str], str], style: MarkerStyle
) -> Merge:
    """Return `own`, or git's result for the same texts if it is acceptable and better.

    `why_not` checks a clean result of git. If both conflict, git's markers are used if they mark fewer lines,
    but with the `conflicts` of `own`.
    """
    if git.text == own.text:
        return own
    if git.is_clean:
        reason = why_not(git.text)
        if reason:
            return replace(own, note=_GIT_IS_WRONG.format(reason))
        return Merge(git.text, (), _GIT_IS_CLEAN)
    if marked_in(own.text, style) > marked_in(git.text, style):
        return Merge(git.text, own.conflicts, _GIT_IS_SMALLER)
    return own


# --- Checks of a merged text: errors of a line merge without conflict
#
# Each check yields lines of the result that need a decision.

_UNRELEASED: Final = lazy_pattern(
    r"\W*(?:unreleased|master|main|trunk|head|next|dev(?:elop(?:ment)?)?|upcoming|in progress)\b",
    re.IGNORECASE,
)

_VERSION: Final = lazy_pattern(r"\d")

# An item that says that the list is empty.
_NOTHING: Final = lazy_pattern(r"[\s>]*[-+*]\s+\W*(?:none|nothing|n/a|no changes)\b\W*$", re.IGNORECASE)


class Flaw(Struct):
    """The 0-based `line` of a result that a check rejects, and the `reason`.

    `lost` is a missing or duplicated line, which may have been anywhere.
    """

    line: int
    reason: str
    lost: str = ""


def flaws(
    texts: Texts,
    sides: tuple[DocumentTree, MatchedSide, MatchedSide],
    lines: Sequence[ResultLine],
    declared: frozenset[str] | None = frozenset(),
) -> Iterator[Flaw]:
    """Yield the detectable errors in the result `lines`.

    Lines in `declared` may be lost or new; None disables counting.
    """
    base, ours, theirs = sides
    result = DocumentTree([line.text for line in lines])
    yield from _misplaced(ours, theirs, base, result, lines)
    yield from _reshaped(ours, theirs, result, lines)
    yield from _repeated(base, ours, theirs, result)
    if declared is not None:
        known = {unpadded(line) for line in declared}
        plain = [map(unpadded, side) for side in texts]
        for text in lost_or_doubled(plain, (unpadded(line.text) for line in lines)):
            if text not in known:
                yield Flaw(0, "a line would be lost or doubled", text)
    yield from _broken(ours, theirs, result)
    yield from _contradicted(ours, theirs, result, lines)


def _name(section: Section) -> Identity:
    return (*section.canonical_path, section.ordinal)


def _identities(base: DocumentTree, side: DocumentTree) -> list[Identity]:
    old, new = base.outline.sections, side.outline.sections
    pairs = list(kept_lines(base.lines, side.lines))
    kept = _kept_headings(base, side, pairs)
    names = {_name(each) for each in old}.difference(kept.values())
    taken = {*kept.values(), *({_name(each) for each in new} & names)}
    identities: list[Identity] = []
    moved = _lines_from(base, side, pairs)
    for section in new:
        name = _name(section)
        is_known = section.index in kept or name in names
        identity: Identity = kept.get(section.index) or (name if is_known else ("new", *name))
        candidates = Counter[int]() if is_known else moved.get(section.index, Counter())
        for index, count in candidates.most_common(1):
            size = sum(1 for line in _own_lines(base, index) if base.lines[line].strip())
            if _name(old[index]) not in taken and 2 * count >= size:
                identity = _name(old[index])
                taken.add(identity)
        identities.append(identity)
    return identities


def _kept_headings(
    base: DocumentTree, side: DocumentTree, pairs: Sequence[tuple[int, int]]
) -> dict[int, Identity]:
    """Map section indexes of `side` to base sections with the same heading line and path.

    Additions or removals of other sections with this path do not matter.
    """
    old = {each.heading_line - 1: each for each in base.outline.sections[1:]}
    new = {each.heading_line - 1: each for each in side.outline.sections[1:]}
    kept: dict[int, Identity] = {}
    for line, new_line in pairs:
        if line in old and new_line in new:
            before, section = old[line], new[new_line]
            parent = kept.get(section.parent or 0, _name(side.outline.sections[section.parent or 0]))
            if before.canonical_path == section.canonical_path and parent == _parent_name(base, before):
                kept[section.index] = _name(before)
    return kept


def _own_lines(units: DocumentTree, index: int) -> range:
    section, lines = units.outline.sections[index], units.outline.source.lines
    if not len(section.body):
        return range(0)
    return range(lines.line_at(section.body.start) - 1, lines.line_at(section.body.end - 1))


def _lines_from(
    base: DocumentTree, side: DocumentTree, pairs: Sequence[tuple[int, int]]
) -> dict[int, Counter[int]]:
    """Count, by section index of `side`, the base sections from which its lines come."""
    sources: dict[int, Counter[int]] = {}
    for line, new_line in pairs:
        if base.lines[line].strip():
            come = sources.setdefault(side.section_at(new_line).index, Counter())
            come[base.section_at(line).index] += 1
    return sources


def _origins(line: ResultLine, ours: Version, theirs: Version) -> list[tuple[Version, int]]:
    """Return the sides that have `line`, and where."""
    places = (ours, line.ours), (theirs, line.theirs)
    return [(side, at) for side, at in places if at is not None]


def _misplaced(
    ours: MatchedSide,
    theirs: MatchedSide,
    base: DocumentTree,
    result: DocumentTree,
    lines: Sequence[ResultLine],
) -> Iterator[Flaw]:
    """Yield lines under another heading than their author saw, and sections with another parent."""
    of_base = {_name(each): _parent_name(base, each) for each in base.outline.sections}
    identities: list[Identity] = [()]
    for section in result.outline.sections[1:]:
        line = lines[section.heading_line - 1]
        found = [
            (side, side.headings[at]) for side, at in _origins(line, ours, theirs) if at in side.headings
        ]
        if not found:
            yield Flaw(section.heading_line - 1, "it became a heading")
            identities.append(("new",))
            continue
        names = [side.identity(each) for side, each in found]
        identity = names[0] if names[0][:1] != ("new",) else names[-1]
        identities.append(identity)
        parents = {side.parent(each) for side, each in found}
        if len(parents) > 1:
            parents.discard(of_base.get(identity, ()))
        if section.parent and identities[section.parent] not in parents:
            yield Flaw(section.heading_line - 1, "it would be under another heading")
    identities[0] = ours.identities[0]
    # Definitions apply to the whole document, wherever they are.
    defined = {line for node in _definitions(result) for line in node.lines}
    for number, line in enumerate(lines):
        if not line.text.strip() or number in defined:
            continue
        origins = _origins(line, ours, theirs)
        allowed = {side.identity(side.units.section_at(at)) for side, at in origins}
        index = result.section_at(number).index
        if len(origins) == 1:
            ((side, at),) = origins
            if _is_released(side.units.section_at(at), result.outline.sections[index]):
                yield Flaw(number, "it would be in a version that the other side released")
        if identities[index] not in allowed and identities[index] != ("new",):
            yield Flaw(number, "it would be under another heading")


def _is_released(before: Section, section: Section) -> bool:
    """Return True if unreleased text of `before` would move into a released version."""
    return (
        any(_UNRELEASED.match(title) for title in before.path)
        and not any(_UNRELEASED.match(title) for title in section.path)
        and any(_VERSION.search(title) for title in section.path)
    )


def _parent_name(units: DocumentTree, section: Section) -> Identity:
    return _name(units.outline.sections[section.parent or 0])


def _shapes(units: DocumentTree) -> list[tuple[str, ...]]:
    """Return, for each line, the kinds of blocks around it, marking the first line of a block."""
    shapes: list[tuple[str, ...]] = [()] * len(units.lines)
    around: list[str] = []
    for block in units.outline.blocks:
        del around[block.depth :]
        if block.kind in CONTAINERS:
            around.append(block.kind)
            continue
        kind = _LOOSE.get(block.kind, block.kind)
        for line in range(block.first_line - 1, block.last_line):
            is_first = line == block.first_line - 1
            shapes[line] = (*around, kind, "first" if is_first else "")
    return shapes


# Kinds that differ only by context.
_LOOSE: Final = {BlockKind.INDENTED_CODE: BlockKind.FENCE}


def _reshaped(
    ours: MatchedSide, theirs: MatchedSide, result: DocumentTree, lines: Sequence[ResultLine]
) -> Iterator[Flaw]:
    """Yield lines that change to another kind of block."""
    shapes, own, other = _shapes(result), _shapes(ours.units), _shapes(theirs.units)
    for number, line in enumerate(lines):
        if not line.text.strip():
            continue
        before = [shape[at] for shape, at in _origins(line, own, other)]
        if not any(each[:-1] == shapes[number][:-1] for each in before):
            yield Flaw(number, "it would be another kind of block")
        elif all(each[-1:] == ("first",) for each in before) and shapes[number][-1] != "first":
            yield Flaw(number, "it would become a part of the block above it")


def _repeated(
    base: DocumentTree, ours: MatchedSide, theirs: MatchedSide, result: DocumentTree
) -> Iterator[Flaw]:
    """Yield headings, labels, items and rows that occur more often than in either side."""
    most = Counter(each.canonical_path for each in ours.units.outline.sections)
    most |= Counter(each.canonical_path for each in theirs.units.outline.sections)
    for section in reversed(result.outline.sections[1:]):
        path = section.canonical_path
        if section.ordinal > most[path]:
            yield Flaw(section.heading_line - 1, "the heading would be repeated")
    own, other = (Counter(node.label for node in _definitions(side.units)) for side in (ours, theirs))
    labels = own | other
    seen: Counter[Hashable] = Counter()
    for node in _definitions(result):
        seen[node.label] += 1
        if seen[node.label] > labels[node.label]:
            yield Flaw(node.lines.start, "the label would be repeated")
    old, own_names, other_names = (
        Counter(name for name, _ in _entries(each.root)) for each in (base, ours.units, theirs.units)
    )
    by_both = (own_names - old) & (other_names - old)
    for name, line in _entries(result.root) if by_both else ():
        seen[name] += 1
        if name in by_both and seen[name] > max(own_names[name], other_names[name]):
            yield Flaw(line, "an entry that both sides added would be repeated")


def _entries(node: MergeNode, path: tuple[str, ...] = ()) -> Iterator[tuple[Hashable, int]]:
    """Yield the items and rows below `node` with their context, and their lines."""
    for child in node.children:
        if child.kind in MEMBERS and child.kind is not MergeNodeKind.DEFINITION:
            yield (path, child.text), child.lines.start
        name = child.label or child.text.partition("\n")[0]
        yield from _entries(child, path if child.kind in SETS else (*path, name))


def _definitions(document: DocumentTree) -> Iterator[MergeNode]:
    return (node for node in document.root.walk() if node.kind is MergeNodeKind.DEFINITION)


def unpadded(line: str) -> str:
    """Return `line`, without padding if it is a table row."""
    return row_text(line) + "\n" if line.lstrip().startswith("|") else line


def _broken(ours: MatchedSide, theirs: MatchedSide, result: DocumentTree) -> Iterator[Flaw]:
    """Yield local links that are broken in the result but not in the sides that have them."""
    bad = [each for each in local_links(result.outline) if not each.resolves]
    if not bad:
        return
    known = [
        (link.target, link.resolves) for side in (ours, theirs) for link in local_links(side.units.outline)
    ]
    good = {target for target, resolves in known if resolves} - {
        target for target, resolves in known if not resolves
    }
    for link in bad:
        if link.target in good:
            yield Flaw(link.line - 1, f"the link to {link.target} would be broken")


def _contradicted(
    ours: MatchedSide, theirs: MatchedSide, result: DocumentTree, lines: Sequence[ResultLine]
) -> Iterator[Flaw]:
    """Yield items such as "None." that would get neighbours."""
    for number, line in enumerate(lines):
        if not _NOTHING.match(line.text) or _is_only_item(result, number):
            continue
        origins = _origins(line, ours, theirs)
        if all(_is_only_item(side.units, at) for side, at in origins):
            yield Flaw(number, "it says that there is nothing, next to items of the other side")


def _is_only_item(document: DocumentTree, line: int) -> bool:
    """Return True if the section of `line` has no other item."""
    around = _own_lines(document, document.section_at(line).index)
    first, last = (bisect_left(document.item_starts, at) for at in (around.start, around.stop))
    return last - first == 1


# --- Shortening: cut unchanged sections, so that the time depends only on changed ones

# Local links, which a changed heading may break, and definitions.
_LOCAL: Final = lazy_pattern(r"\(<?#|\[\^|\[\[|\]:|href", re.IGNORECASE)
_MARK: Final = "mdplan-left-out-"


class Shortened(Struct):
    """`texts` with unchanged sections or bodies replaced by placeholder lines.

    `left_out` maps placeholders to their text; `ours` maps short line numbers to those of the whole text.
    """

    texts: Texts
    left_out: dict[str, str]
    ours: Sequence[int]

    def whole(self, text: str) -> str:
        """Return `text` with placeholders expanded."""
        if not self.left_out:
            return text
        return "".join(self.left_out.get(line, line) for line in text.splitlines(keepends=True))


class _Part(NamedTuple):
    """A heading of the base with its own text, up to line `stop`.

    `shifts` is its displacement in each text, or None if it changed.
    """

    level: int
    start: int
    stop: int
    shifts: tuple[int, ...] | None


def shortened(texts: Texts) -> Shortened:
    """Return `texts` without sections and bodies that no side changed and that have no local links."""
    short: list[list[str]] = [[], [], []]
    ours: list[int] = []
    left_out: dict[str, str] = {}
    at = [0, 0, 0]
    for where, shifts, level in [] if _MARK in "".join(texts.base) else _cuts(texts):
        line = "#" * level + " " * bool(level) + f"{_MARK}{len(left_out)}\n"
        left_out[line] = "".join(texts.base[where.start : where.stop])
        for side, (lines, shift) in enumerate(zip(texts, shifts, strict=True)):
            short[side] += [*lines[at[side] : where.start + shift], line]
        ours += range(at[1], where.start + shifts[1] + 1)
        at = [where.stop + shift for shift in shifts]
    for side, lines in enumerate(texts):
        short[side] += lines[at[side] :]
    ours += range(at[1], len(texts.ours))
    return Shortened(Texts(*short), left_out, ours)


def _cuts(texts: Texts) -> Iterator[tuple[range, tuple[int, ...], int]]:
    """Yield line ranges of the base to cut, their shifts in each text, and a heading level."""
    parts = _unchanged_parts(texts)
    index = 0
    while index < len(parts):
        level, start, stop, shifts = parts[index]
        behind, at = index, index + 1
        while shifts is not None and at < len(parts) and parts[at - 1].shifts == shifts:
            behind = at if parts[at].level <= level else behind
            if parts[at].level < level:
                break
            at += 1
        if shifts is not None and behind > index:
            yield _written(texts.base, range(start, parts[behind - 1].stop)), shifts, level
            index = behind
            continue
        body = _written(texts.base, range(start + 1, stop))
        # The line below may be the underline of a setext heading.
        if shifts is not None and len(body) > 1 and not texts.base[start + 1].strip():
            yield body, shifts, 0
        index += 1


def _unchanged_parts(texts: Texts) -> list[_Part]:
    """Return the headings of the base; the last one counts as changed."""
    kept = [{line: line for line in range(len(texts.base))}]
    kept += [dict(kept_lines(texts.base, side)) for side in texts[1:]]
    headings = [_headings(lines) for lines in texts]
    parts: list[_Part] = []
    for start, stop in pairwise(headings[0]):
        shifts = tuple(_shift(range(start, stop + 1), each) for each in kept)
        is_same = all(
            shift is not None and levels.get(start + shift) == headings[0][start] and stop + shift in levels
            for shift, levels in zip(shifts, headings, strict=True)
        ) and not any(_LOCAL.search(texts.base[line]) for line in range(start, stop))
        numbers = tuple(shift or 0 for shift in shifts) if is_same else None
        parts.append(_Part(headings[0][start], start, stop, numbers))
    # Definitions for the whole document may follow the last heading.
    return [*parts, *(_Part(level, line, line, None) for line, level in [*headings[0].items()][-1:])]


def _headings(lines: Sequence[str]) -> dict[int, int]:
    """Return the levels of top-level headings by line."""
    text = "".join(lines)
    front_matter = find_front_matter(text)
    start = front_matter.span.end if front_matter else 0
    blocks = parse_blocks(text, LineIndex(text), start).headings
    return {each.first_line - 1: each.level for each in blocks if not each.depth}


def _written(lines: Sequence[str], where: range) -> range:
    """Return `where` without surrounding blank lines."""
    text = text_range(lines[where.start : where.stop])
    return range(where.start + text.start, where.start + text.stop) if text else range(0)


def _shift(where: range, kept: dict[int, int]) -> int | None:
    """Return the common shift of the lines `where`; None if one is gone or others were inserted."""
    new = [kept.get(line) for line in where]
    first = new[0]
    return None if first is None or new != [*range(first, first + len(new))] else first - where.start


# --- Conflicts in a merged text, and their resolution

# Other line separators of Python are text.
_LINE: Final = lazy_pattern(r"[^\n]*\n|[^\n]+\Z")
_RUN: Final = lazy_pattern(r"^(?:<+|=+|>+|\|+)", re.MULTILINE)


class Choice(StrEnum):
    """The resolution of a conflict: one side, or ours followed by theirs."""

    OURS = "ours"
    THEIRS = "theirs"
    BOTH = "both"


class ConflictPlace(Struct):
    """The lines of both sides at a conflict; `known` is its description, if available."""

    ours: str
    theirs: str
    known: Conflict | None = None

    def chosen(self, choice: Choice) -> str:
        """Return the text for `choice`."""
        match choice:
            case Choice.OURS:
                return self.ours
            case Choice.THEIRS:
                return self.theirs
            case Choice.BOTH:
                return self.ours + self.theirs


def marker_style(texts: Sequence[str]) -> MarkerStyle:
    """Return a marker size that does not occur in `texts`."""
    longest = max((len(run) for text in texts for run in _RUN.findall(text)), default=0)
    return MarkerStyle(max(longest + 1, MarkerStyle().size))


def places(found: Merge, style: MarkerStyle) -> tuple[ConflictPlace, ...]:
    """Return the conflicts marked in `found`, in order."""
    marked = [each for each in _lines_and_conflicts(found.text, style) if isinstance(each, ConflictPlace)]
    # Conflicts of data files are listed by key but marked by line.
    known = found.conflicts if len(marked) == len(found.conflicts) else ()
    return tuple(
        ConflictPlace(each.ours, each.theirs, conflict)
        for each, conflict in zip_longest(marked, known)
        if each
    )


def marked_in(text: str, style: MarkerStyle) -> int:
    """Count the lines of both sides between the markers of `text`."""
    parts = _lines_and_conflicts(text, style)
    return sum((each.ours + each.theirs).count("\n") for each in parts if isinstance(each, ConflictPlace))


def resolved(found: Merge, style: MarkerStyle, texts: Sequence[str]) -> str:
    """Return the text of `found` with one of `texts` at each place."""
    waiting = iter(texts)
    return "".join(
        next(waiting) if isinstance(each, ConflictPlace) else each
        for each in _lines_and_conflicts(found.text, style)
    )


def _lines_and_conflicts(text: str, style: MarkerStyle) -> Iterator[str | ConflictPlace]:
    """Yield the lines of `text` and the conflicts between them."""
    start, base, middle, end = (sign * style.size for sign in "<|=>")
    sides: list[list[str]] | None = None
    for line in _LINE.findall(text):
        if line.startswith(f"{start} "):
            sides = [[]]
        elif sides is None:
            yield line
        elif line.rstrip("\r\n") in {base, middle} or line.startswith(f"{base} "):
            sides.append([])
        elif line.startswith(f"{end} "):
            yield ConflictPlace("".join(sides[0]), "".join(sides[-1]))
            sides = None
        else:
            sides[-1].append(line)
