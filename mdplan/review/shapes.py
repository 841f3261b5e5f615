"""Group the places of a plan by shape, so that a person judges equal changes once.

A place is one text edit of a file, or the file's new path. Places have one shape if they remove the same
text, add the same text, and stand in the same kind of text. Whole words are compared: `cat` in `concatenate`
is another shape. Removed values may differ within a class, and the class lists them.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from mdplan.diagnostics import Code
from mdplan.markdown.matches import exclusion_of
from mdplan.markdown.outline import Outline
from mdplan.markdown.tables import NodeKind
from mdplan.plan import EditResult, FileChange, Plan
from mdplan.review.lines import FileSides, Owners, as_utf8, places_of
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span, to_lf
from mdplan.text.source import DocumentFormat, visible
from mdplan.text.visible import counted, is_hidden, skeleton
from mdplan.values import Struct, replace

# Texts of a class are shown, not compared: their hashes are.
_MOST_SHOWN: Final = 2_000
_LONGEST_VALUE: Final = 200

# The number of a place that is a file's path, or its existence.
WHOLE_FILE: Final = -1


class Place(NamedTuple):
    """The text edit `number` of the file at index `file` of a plan, or `WHOLE_FILE`."""

    file: int
    number: int


class PlacedShape(NamedTuple):
    """The effect of one place, made by the edits `owners`; a derived link has none.

    `key` names the shape. `varies`: `removed` is only a value. `loss` describes dropped content.
    """

    place: Place
    owners: Owners
    key: str
    removed: str
    added: str
    context: str
    varies: bool
    loss: str = ""


class ChangeClass(Struct, kw_only=True):
    """Places of one shape, in the order of the plan; `key` is the same in every plan.

    - `removed`, `added`: the texts, truncated. If the removed text varies, `removed` is empty, and `values`
      has each removed text with its count, the rarest first.
    - `context`: the kind of text around it, such as ``headings``; empty for prose.
    - `reasons`: why a person should look at it first.
    - `owners`: the edits that made each of `places`.
    - `edits`, `files`: indexes; without edits, mdplan updated links.
    - `members`: a hash of the list of its places, to tell whether another plan has the same.
    """

    key: str
    removed: str
    added: str
    values: tuple[tuple[str, int], ...] = ()
    context: str = ""
    reasons: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    owners: tuple[Owners, ...] = ()
    edits: tuple[int, ...] = ()
    files: tuple[int, ...] = ()
    members: str = ""

    @property
    def is_derived(self) -> bool:
        """True if no edit asked for it: links that follow."""
        return not self.edits

    @property
    def where(self) -> str:
        """``12 places in 3 files, in headings``."""
        counts = f"{counted(len(self.places), 'place')} in {counted(len(self.files), 'file')}"
        return ", ".join(filter(None, (counts, CONTEXT_WORDS.get(self.context, ""))))


class PlanShapes:
    """The shapes of the places of `plan`, file by file."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._indexes = {change.path: index for index, change in enumerate(plan.files)}
        self._requested = [edit for edits in plan.requested for edit in edits]
        self._by_file: defaultdict[str, list[EditResult]] = defaultdict(list)
        for result in plan.results:
            for path in {result.file, result.to_file or result.file}:
                self._by_file[path].append(result)

    def of_file(self, sides: FileSides) -> list[PlacedShape]:
        """Return the shapes of the file with `sides`."""
        change, results = sides.change, self._by_file.get(sides.change.path, [])
        index, shapes = self._indexes[change.path], []
        if change.new_path is not None or not (sides.edits.edits or change.is_no_op):
            shapes.append(_of_path(index, change, results))
        made = places_of(sides, results, sequential=bool(self._plan.options.get("sequential")))
        losses = {result.edit_index: _lost(result) for result in results}
        for number, (edit, owners) in enumerate(zip(sides.edits, made.owners, strict=True)):
            loss = next(filter(None, (losses.get(owner) for owner in owners)), _NO_LOSS)
            requested = self._requested[owners[0]] if len(owners) == 1 else {}
            shapes.append(_of_text(Place(index, number), sides, edit, owners, loss, requested.get("key")))
        return shapes


def _of_path(index: int, change: FileChange, results: Sequence[EditResult]) -> PlacedShape:
    """Return the shape of a new path, without the folders that both paths share."""
    old = change.path if change.base_sha256 is not None else ""
    new = (change.new_path or change.path) if change.result_sha256 is not None else ""
    parts, new_parts = old.split("/"), new.split("/")
    while len(parts) > 1 and len(new_parts) > 1 and parts[-1] == new_parts[-1]:
        parts, new_parts = parts[:-1], new_parts[:-1]
    while len(parts) > 1 and len(new_parts) > 1 and parts[0] == new_parts[0]:
        parts, new_parts = parts[1:], new_parts[1:]
    removed, added = "/".join(parts), "/".join(new_parts)
    movers = tuple(sorted(result.edit_index for result in results if result.op.endswith("_file")))
    return PlacedShape(
        Place(index, WHOLE_FILE), movers, _key("path", removed, added), removed, added, "paths", varies=False
    )


def _of_text(
    place: Place, sides: FileSides, edit: TextEdit, owners: Owners, loss: "_Loss", data_key: object
) -> PlacedShape:
    text = sides.base.text
    span = _whole_words(text, edit)
    before, after = text[span.start : edit.span.start], text[edit.span.end : span.end]
    removed, added = to_lf(text[span.start : span.end]), to_lf(before + edit.new_text + after)
    if not (removed and added):
        # Blank lines around blocks depend on what stands next to them.
        removed, added = removed.strip("\n"), added.strip("\n")
    context = _context(sides, place.number, Span(span.start, span.end), removed, added)
    kept, varies = removed, False
    if added and owners and len(removed) <= _LONGEST_VALUE and _SCALAR.fullmatch(removed):
        if data_key is not None:
            kept, varies = f"key {data_key}", True
        elif _NUMBER.search(removed):
            kept, varies = _NUMBER.sub("0", removed), True
    key = _key("link" if not owners else "text", kept, added, context, str(varies), loss.key)
    return PlacedShape(place, owners, key, removed, added, context, varies, loss.message)


# A value is one line without markup.
_SCALAR: Final = lazy_pattern(r"[^\n\[\]{}<>`|]+")
_NUMBER: Final = lazy_pattern(r"\d+(?:[.,]\d+)*")


def _key(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()[:16]


class _Loss(NamedTuple):
    """Content that an edit drops: a key of the texts, and the message of the warnings."""

    key: str
    message: str


_NO_LOSS: Final = _Loss("", "")


def _lost(result: EditResult) -> _Loss | None:
    said = [warning for warning in result.warnings if warning.code is Code.CONTENT_DROPPED]
    lost = [(part.kind, part.text, part.became) for warning in said for part in warning.lost or ()]
    return _Loss(json.dumps(lost), "; ".join(str(warning.message) for warning in said)) if said else None


# --- The words and the kind of text that a place is in


def _whole_words(text: str, edit: TextEdit) -> Span:
    """Return the span of `edit` with the rest of the words and numbers that it changes a part of."""
    start, end = edit.span.start, edit.span.end
    firsts = {text[start : start + 1] if edit.span else "", edit.new_text[:1]}
    lasts = {text[end - 1 : end] if edit.span else "", edit.new_text[-1:]}
    if any(map(_is_word, firsts)):
        while start and (_is_word(text[start - 1]) or _is_point(text, start - 1)):
            start -= 1
    if any(map(_is_word, lasts)):
        while end < len(text) and (_is_word(text[end]) or _is_point(text, end)):
            end += 1
    return Span(start, end)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_point(text: str, at: int) -> bool:
    """Return True for a point within a number such as ``1.2.3``."""
    return text[at] in ".," and text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()


_KINDS: Final = frozenset(NodeKind) - {NodeKind.TABLES}
_DESTINATIONS: Final = frozenset({NodeKind.LINK_DESTINATIONS, NodeKind.IMAGES})
_LINKING: Final = frozenset({*_DESTINATIONS, "link labels"})
_MAY_LINK: Final = lazy_pattern(r"[\[\]()<>]|://|www\.|@")


def _context(sides: FileSides, number: int, span: Span, removed: str, added: str) -> str:
    """Return the kind of text that a place is in; empty for prose, whole lines and blocks."""
    if _is_whole_lines(sides.base.text, span, added):
        return ""
    outline = sides.base_outline
    if outline.format is not DocumentFormat.MARKDOWN:
        return ""
    kind = exclusion_of(outline, span, _DESTINATIONS) or exclusion_of(outline, span, _KINDS)
    if kind is not None:
        return kind
    if any(node.label is not None and node.label.overlaps(span) for node in outline.inline.nodes_in(span)):
        return "link labels"
    if not (_MAY_LINK.search(removed) or _MAY_LINK.search(added)):
        return ""
    result = sides.result_outline
    now = sides.edits.result_spans[number]
    is_same = _targets(outline, span) == _targets(result, now)
    return "" if is_same else NodeKind.LINK_DESTINATIONS.value


def _is_whole_lines(text: str, span: Span, added: str) -> bool:
    starts = span.start == 0 or text[span.start - 1] in "\r\n" or added.startswith("\n")
    ends = span.end == len(text) or text[span.end] in "\r\n" or text[span.end - 1 : span.end] in "\r\n"
    return starts and ends and (span.start == span.end or "\n" in text[span.start : span.end])


def _targets(outline: Outline, span: Span) -> Counter[str]:
    """Return where the links on the lines of `span` lead."""
    lines = outline.source.lines
    whole = lines.span(lines.line_at(span.start), lines.line_at(max(span.end - 1, span.start)))
    return Counter(node.href for node in outline.inline.nodes_in(whole) if node.href)


# --- Classes

# Names of `context` for people.
CONTEXT_WORDS: Final = {
    "paths": "file names",
    "link labels": "in labels of links",
    NodeKind.CODE_BLOCKS.value: "in code blocks",
    NodeKind.INLINE_CODE.value: "in code",
    NodeKind.LINK_DESTINATIONS.value: "in link targets",
    NodeKind.IMAGES.value: "in images",
    NodeKind.FRONT_MATTER.value: "in front matter",
    NodeKind.HTML.value: "in HTML",
    NodeKind.HEADINGS.value: "in headings",
    NodeKind.TEMPLATES.value: "in templates",
    NodeKind.MATH.value: "in formulas",
    NodeKind.MDX.value: "in MDX",
    NodeKind.MARKUP.value: "in markup",
}


class _Group(NamedTuple):
    """The first place of a shape, and the places by what they remove."""

    first: PlacedShape
    places: dict[str, list[tuple[Place, Owners]]]


def classes_of(plan: Plan, shapes: Iterable[PlacedShape]) -> tuple[ChangeClass, ...]:
    """Return the classes of the `shapes` of `plan`: first any with reasons, then the largest."""
    groups: dict[str, _Group] = {}
    for shape in shapes:
        group = groups.setdefault(shape.key, _Group(shape, {}))
        removed = shape.removed if shape.varies else ""
        group.places.setdefault(removed, []).append((shape.place, shape.owners))
    paths = [change.path for change in plan.files]
    classes = [made for group in groups.values() for made in _classes(group, paths)]
    return tuple(sorted(_with_lookalikes(classes), key=_rank))


def _rank(one: ChangeClass) -> tuple[bool, int, Place]:
    # With a reason, the rarest is the oddest.
    count = len(one.places)
    return not one.reasons, count if one.reasons else -count, one.places[0]


def _classes(group: _Group, paths: Sequence[str]) -> Iterator[ChangeClass]:
    """Yield the class of `group`, and a separate class for each value that imitates a more frequent one."""
    shape = group.first
    by_look: defaultdict[str, list[str]] = defaultdict(list)
    for removed in sorted(group.places, key=lambda text: -len(group.places[text])):
        by_look[skeleton(removed)].append(removed)
    alike = {text: like for like, *others in by_look.values() for text in others}
    usual = {text: places for text, places in group.places.items() if text not in alike}
    yield _class(shape, usual, paths)
    for text, like in alike.items():
        reason = f"removes {visible(text)!r}, which only looks like {visible(like)!r}"
        yield _class(shape._replace(key=_key(shape.key, text)), {text: group.places[text]}, paths, (reason,))


def _class(
    shape: PlacedShape,
    by_removed: Mapping[str, Sequence[tuple[Place, Owners]]],
    paths: Sequence[str],
    reasons: Sequence[str] = (),
) -> ChangeClass:
    placed = sorted(each for places in by_removed.values() for each in places)
    places = tuple(place for place, _ in placed)
    values: list[tuple[str, int]] = []
    if shape.varies:
        values = sorted(((text, len(found)) for text, found in by_removed.items()), key=lambda each: each[1])
    is_one = len(values) == 1
    counts = Counter(paths[place.file] for place in places)
    return ChangeClass(
        key=shape.key,
        removed=visible((values[0][0] if is_one else "" if values else shape.removed)[:_MOST_SHOWN]),
        added=visible(shape.added[:_MOST_SHOWN]),
        values=() if is_one else tuple((visible(text), count) for text, count in values),
        context=shape.context,
        reasons=(*reasons, *_reasons(shape)),
        places=places,
        owners=tuple(owners for _, owners in placed),
        edits=tuple(sorted({owner for _, owners in placed for owner in owners})),
        files=tuple(sorted({place.file for place in places})),
        members=_key(shape.key, json.dumps([sorted(counts.items()), values])),
    )


def _reasons(shape: PlacedShape) -> Iterator[str]:
    if shape.loss:
        yield shape.loss
    if shape.owners and _changes_target(shape):
        yield "changes where a link leads"
    if shape.removed != shape.added and skeleton(shape.removed) == skeleton(shape.added):
        yield f"adds what looks like the old text: {_odd(shape.added, shape.removed)}"
    elif any(map(is_hidden, set(shape.added) - set(shape.removed))):
        yield "adds characters that are not visible"


def _changes_target(shape: PlacedShape) -> bool:
    if shape.context in _LINKING:
        return True
    if not (_MAY_LINK.search(shape.removed) and shape.removed.strip()):
        return False
    old, new = (
        _targets(Outline(as_utf8(text), DocumentFormat.MARKDOWN), Span(0, len(text)))
        for text in (shape.removed, shape.added)
    )
    return not old <= new


def _with_lookalikes(classes: Sequence[ChangeClass]) -> Iterator[ChangeClass]:
    """Yield `classes`, adding a reason if the new text only looks like the text of a larger class."""
    largest: dict[str, ChangeClass] = {}
    looks = [skeleton(one.added) for one in classes]
    for one, look in sorted(zip(classes, looks, strict=True), key=lambda each: -len(each[0].places)):
        largest.setdefault(look, one)
    for one, look in zip(classes, looks, strict=True):
        other = largest[look].added
        if one.added and other != one.added:
            reason = f"adds what looks like the text of a larger class: {_odd(one.added, other)}"
            yield replace(one, reasons=(*one.reasons, reason))
        else:
            yield one


def _odd(text: str, other: str) -> str:
    """Name a character that only `text` has: ``U+0430 in 'st…'``."""
    odd = next((character for character in text if character not in other), "")
    return f"{f'U+{ord(odd):04X} in ' if odd else ''}{text[:40]!r}"


# --- A person's choices for parts of a plan: the smallest part wins
#
# A choice is on the plan, a class, a file, an edit, or a place, which are named ``plan``, ``class 3f…``,
# ``file 2``, ``edit 5`` and ``place 2 7``. A place without any choice is not accepted.

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
