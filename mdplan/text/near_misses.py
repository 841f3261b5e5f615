"""Find text similar to a search term that was not found, and describe the difference.

Used for hints, never for edits.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from heapq import heappop, heappush, merge
from itertools import accumulate, islice
from typing import Final

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, NearMiss, Span, common_edges, common_start
from mdplan.values import Struct, replace

_MOST_SHOWN: Final = 3
_KINDS_SHOWN: Final = 4
_LONGEST_TEXT: Final = 20_000
_ESCAPE: Final = lazy_pattern(r"\\([nt])")
_ESCAPED: Final = {"n": "\n", "t": "\t"}


class SearchTerm(Struct, kw_only=True):
    """A `text` (LF newlines) that was not found.

    - `whole_lines`: it is whole lines.
    - `addressed`: where it was expected; the search starts there.
    - `any_case`: ignore case.
    - `or_exact`: exact matches count too.
    """

    text: str
    whole_lines: bool = False
    addressed: Span | None = None
    any_case: bool = False
    or_exact: bool = True


class FoldedText:
    """A `text` with LF newlines and its folded form."""

    def __init__(self, text: str) -> None:
        """Fold `text`."""
        self.text = text
        self.lines = LineIndex(text)
        self.folding = Folding()
        blocks = [text[at : at + _BLOCK].translate(self.folding) for at in range(0, len(text), _BLOCK)]
        self.folded = "".join(blocks)
        # The start of each block in the folded text; offsets are counted from there on demand.
        self._starts = [0, *accumulate(map(len, blocks))]

    def start_in_text(self, index: int) -> int:
        """Return the offset of the character that produced ``folded[index]``."""
        block = bisect_right(self._starts, index) - 1
        at, left = block * _BLOCK, index - self._starts[block]
        while left >= (length := len(self.folding[ord(self.text[at])] or "")):
            left -= length
            at += 1
        return at

    def end_in_text(self, index: int) -> int:
        """Return the offset after the character that produced ``folded[index - 1]``."""
        return self.start_in_text(index - 1) + 1

    def index_at(self, offset: int) -> int:
        """Return the folded length of the text before `offset`."""
        block = min(offset, len(self.text)) // _BLOCK
        return self._starts[block] + len(self.text[block * _BLOCK : offset].translate(self.folding))


def find_near_misses(
    folded: FoldedText, wanted: SearchTerm, within: Span, remark: Callable[[Span], str] = lambda _: ""
) -> tuple[NearMiss, ...]:
    """Return up to three near misses of `wanted` in `within`, best first.

    They are equal when folded, or else differ in few characters. `remark` adds a short note about a place;
    places with a note come last. Spans refer to the text of `folded`. The work is bounded, growing linearly
    with the text.
    """
    if len(wanted.text) > _LONGEST_TEXT:
        return ()
    places = [(place, remark(place.span)) for place in _places(folded, wanted, within)]
    places.sort(key=lambda remarked: (remarked[1] != "", _rank(remarked[0], wanted)))
    return tuple(_near_miss(folded.lines, wanted, *remarked) for remarked in places[:_MOST_SHOWN])


def describe_near_misses(near: Sequence[NearMiss]) -> str:
    """Return `near` as a hint, or an empty string."""
    return f"nearest: {'; '.join(map(_describe, near))}" if near else ""


class _Place(Struct):
    """A near miss, its description, and the number of differences or characters."""

    span: Span
    differs: str
    weight: int


def _places(folded: FoldedText, wanted: SearchTerm, within: Span) -> Iterator[_Place]:
    """Yield the results of the first search that finds any."""
    lines = folded.lines
    search = FoldedSearch(folded, wanted, within)
    if search.finds_same:
        for span, differences in search.same():
            yield _Place(span, _names(lines, span, differences), len(differences))
        return
    unescaped = _ESCAPE.sub(lambda match: _ESCAPED[match[1]], wanted.text)
    if unescaped != wanted.text:
        second = FoldedSearch(folded, replace(wanted, text=unescaped, or_exact=True), within)
        for span, differences in second.same():
            names = ["escapes (given as a backslash and a letter)"]
            names += [_names(lines, span, differences)] if differences else []
            yield _Place(span, ", ".join(names), len(differences))
        if second.finds_same:
            return
    for similar in search.similar():
        place = _at(lines, similar.offset, similar.span)
        differs = f"about {similar.errors} of {len(search.key)} characters, from {place} on"
        yield _Place(similar.span, differs, similar.errors)


def _rank(place: _Place, wanted: SearchTerm) -> tuple[bool, int, int]:
    """Return the sort key of `place`: the addressed one first, then by weight and distance."""
    addressed = wanted.addressed
    if addressed is None:
        return False, place.weight, place.span.start
    is_addressed = addressed.overlaps(place.span) or addressed.start == place.span.start
    return not is_addressed, place.weight, abs(place.span.start - addressed.start)


def _near_miss(lines: LineIndex, wanted: SearchTerm, place: _Place, remark: str) -> NearMiss:
    start = lines.position(place.span.start)
    # Text that ends in a newline does not extend to the next line, unless it is whole lines.
    last = place.span.end if wanted.whole_lines else max(place.span.end - 1, place.span.start)
    differs = place.differs or "the place only"
    return NearMiss(
        line=start.line,
        col=start.col,
        end_line=lines.line_at(last),
        differs=f"{differs} ({remark})" if remark else differs,
    )


class Difference(Struct):
    """A difference at `offset`; `detail` says what the text has instead."""

    kind: str
    detail: str
    offset: int


def _names(lines: LineIndex, span: Span, differences: Iterable[Difference]) -> str:
    """Describe `differences` in `span` by kind, each with its first position."""
    kinds: dict[str, list[Difference]] = {}
    for difference in differences:
        kinds.setdefault(difference.kind, []).append(difference)
    names = [_name(lines, span, same) for same in kinds.values()]
    return ", ".join(names[:_KINDS_SHOWN]) + (", and more" if len(names) > _KINDS_SHOWN else "")


def _name(lines: LineIndex, span: Span, same: Sequence[Difference]) -> str:
    detail = f" ({same[0].detail})" if same[0].detail else ""
    name = f"{same[0].kind}{detail} at {_at(lines, same[0].offset, span)}"
    others = len(same) - 1
    return f"{name} and {others} other {'place' if others == 1 else 'places'}" if others else name


def _at(lines: LineIndex, offset: int, span: Span) -> str:
    """Describe the position of `offset`, without the line if it is the first of `span`."""
    position = lines.position(offset)
    if position.line == lines.line_at(span.start):
        return f"column {position.col}"
    return f"{position.line}:{position.col}"


def _describe(near: NearMiss) -> str:
    start = f"{near.line}:{near.col}" if near.col > 1 else str(near.line)
    if near.end_line > near.line:
        return f"lines {start}-{near.end_line} differ in {near.differs}"
    return f"line {start} differs in {near.differs}"


# --- Searching in folded text

# A shorter folded text occurs in many words, so it must match a whole word.
_SHORT: Final = 8
_MOST_FOLDED_PLACES: Final = 64
_MOST_COMPARED: Final = 12
_MOST_DIFFERENCES: Final = 100
_FARTHEST: Final = 200


class Dropped(StrEnum):
    """Kinds of characters that folding drops."""

    BLANK = "blank"
    DASH = "dash"
    QUOTE = "quote"
    INVISIBLE = "invisible"
    ACCENT = "accent"
    MARKUP = "markup"


_DASH_AND_MARKUP: Final = frozenset({Dropped.DASH, Dropped.MARKUP})


class SimilarSpan(Struct):
    """A `span` about `errors` characters from the search term, the first at `offset`."""

    span: Span
    errors: int
    offset: int


class FoldedSearch:
    """One search for one text; spans refer to the text of `folded`."""

    def __init__(self, folded: FoldedText, wanted: SearchTerm, within: Span) -> None:
        """Search `folded` for `wanted` in the span `within`."""
        self._folded = folded
        self._wanted = wanted
        self._within = within
        self._near = wanted.addressed.start if wanted.addressed else within.start
        self.key = wanted.text.translate(folded.folding)
        self.cores = list(islice(self._folded_spans() if self.key else self._exact_spans(), _MOST_COMPARED))

    @property
    def finds_same(self) -> bool:
        """True if any place matches when folded, including exact matches."""
        return bool(self.cores)

    def same(self) -> Iterator[tuple[Span, list[Difference]]]:
        """Yield folded matches with their differences, in no order."""
        for core in self.cores:
            span, differences = self._fitted(core) if self.key else (core, [])
            if self._wanted.any_case:
                differences = [difference for difference in differences if difference.kind != "case"]
            if differences or self._wanted.or_exact:
                yield span, differences

    def similar(self) -> Iterator[SimilarSpan]:
        """Yield places that differ in few characters."""
        start, end, near = self._folded_bounds()
        for similar in find_similar(self._folded.folded, self.key, Span(start, end), near):
            part = similar.span
            differing = part.start + common_start(self._folded.folded[part.start : part.end], self.key)
            span = Span(self._folded.start_in_text(part.start), self._folded.end_in_text(part.end))
            offset = self._folded.start_in_text(differing) if differing < part.end else span.end
            if self._wanted.whole_lines:
                span = self._whole_lines(span)
            yield SimilarSpan(span, similar.errors, offset)

    def _folded_bounds(self) -> tuple[int, int, int]:
        """Return start and end of the searched part, and the starting point, as folded offsets."""
        index_at = self._folded.index_at
        return index_at(self._within.start), index_at(self._within.end), index_at(self._near)

    def _folded_spans(self) -> Iterator[Span]:
        """Yield folded matches, without dropped characters around them, closest first."""
        places = _occurrences(self._folded.folded, self.key, *self._folded_bounds())
        for index in islice(places, _MOST_FOLDED_PLACES):
            core = Span(self._folded.start_in_text(index), self._folded.end_in_text(index + len(self.key)))
            if len(self.key) >= _SHORT or self._is_addressed(core) or self._is_whole_words(core):
                yield core

    def _exact_spans(self) -> Iterator[Span]:
        """Yield exact matches of a non-blank text that folding drops."""
        wanted = self._wanted.text
        if not wanted.strip():
            return
        places = _occurrences(self._folded.text, wanted, self._within.start, self._within.end, self._near)
        for start in islice(places, _MOST_FOLDED_PLACES):
            span = Span(start, start + len(wanted))
            if not self._wanted.whole_lines or span == self._whole_lines(span):
                yield span

    def _is_addressed(self, core: Span) -> bool:
        """Return True if `core` is at the place that was addressed."""
        return self._wanted.addressed is not None and self._wanted.addressed.overlaps(core)

    def _is_whole_words(self, core: Span) -> bool:
        """Return True if `core` starts and ends at word boundaries."""
        text = self._folded.text
        cuts_start = _is_word(text[core.start - 1 : core.start]) and _is_word(text[core.start])
        return not cuts_start and not (
            _is_word(text[core.end : core.end + 1]) and _is_word(text[core.end - 1])
        )

    def _fitted(self, core: Span) -> tuple[Span, list[Difference]]:
        """Extend `core` by corresponding dropped characters around it; return the differences too."""
        text, within, folding = self._folded.text, self._within, self._folded.folding
        before = folding.start_of(text[max(within.start, core.start - _FARTHEST) : core.start][::-1])
        core_end = accents_end(text, core.end, within.end)
        after = folding.start_of(text[core_end : min(within.end, core_end + _FARTHEST)])
        wanted = self._wanted.text
        lead, trail = folding.start_of(wanted), folding.start_of(wanted[::-1])[::-1]
        start = core.start - _counterpart(before, lead[::-1])
        end = core_end + _counterpart(after, trail[accents_end(trail, 0, len(trail)) :])
        more: list[Difference] = []
        if self._wanted.whole_lines:
            lines = self._whole_lines(Span(start, end))
            if not folding.drops_all(text[lines.start : core.start]):
                more.append(Difference("more text before it", "", lines.start))
            else:
                start = lines.start
            if not folding.drops_all(text[core.end : lines.end]):
                more.append(Difference("more text after it", "", core.end))
            else:
                end = lines.end
        span = Span(start, end)
        differences = find_differences(folding, text, span, self._wanted.text)
        return span, [*more, *islice(_without_neighbours(differences), _MOST_DIFFERENCES)]

    def _whole_lines(self, span: Span) -> Span:
        """Return the whole lines around `span`, without the last newline."""
        lines = self._folded.lines
        return Span(lines.start(lines.line_at(span.start)), lines.content_end(lines.line_at(span.end)))


def _occurrences(text: str, wanted: str, start: int, end: int, near: int) -> Iterator[int]:
    """Yield the offsets of `wanted` in ``text[start:end]``, closest to `near` first."""

    def ahead() -> Iterator[int]:
        at = text.find(wanted, max(near, start), end)
        while at >= 0:
            yield at
            at = text.find(wanted, at + 1, end)

    def behind() -> Iterator[int]:
        at = text.rfind(wanted, start, min(near + len(wanted) - 1, end))
        while at >= 0:
            yield at
            at = text.rfind(wanted, start, at + len(wanted) - 1)

    return merge(ahead(), behind(), key=lambda at: abs(at - near))


def _counterpart(dropped: str, given: str) -> int:
    """Return how much of `dropped` corresponds to `given`, reading outwards."""
    if dropped.startswith(given):
        return len(given)
    kinds = {dropped_kind(character) for character in given}
    if kinds & _DASH_AND_MARKUP:
        kinds |= _DASH_AND_MARKUP
    line_ends = given.count("\n")
    for at, character in enumerate(dropped):
        if dropped_kind(character) not in kinds or (character == "\n" and not line_ends):
            return at
        line_ends -= character == "\n"
        if character == "\n" and not line_ends and given.endswith("\n"):
            return at + 1
    return len(dropped)


def _without_neighbours(differences: Iterator[Difference]) -> Iterator[Difference]:
    """Yield `differences`, skipping those adjacent to one of the same kind."""
    last: Difference | None = None
    for difference in differences:
        if last is None or (last.kind, last.offset + 1) != (difference.kind, difference.offset):
            yield difference
        last = difference


def _is_word(character: str) -> bool:
    """Return True for letters and digits, except in scripts without case, which may not separate words."""
    return character.isalnum() and (character.isdecimal() or character.lower() != character.upper())


# --- Folding makes texts that look the same equal, so that `str.find` matches them
#
# Folded text has no whitespace, dashes, quotes, accents, invisible characters, light markup, case or
# compatibility forms.

# Straight and low quotes, and substitutes: acute accents, apostrophe letters, primes.
_QUOTES: Final = frozenset(
    "\"'\u201a\u201e\u00b4\u02b9\u02ba\u02bb\u02bc\u02c8\u2032\u2033\u2034\u2035\u2036\uff02\uff07"
)

_MARKUP: Final = frozenset("*_`\\")
_FILLERS: Final = frozenset("\u034f\u115f\u1160\u3164\uffa0")
_BLANKS: Final = frozenset("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85")
_BLOCK: Final = 128

_CATEGORIES: Final = {
    "Zs": Dropped.BLANK,
    "Zl": Dropped.BLANK,
    "Zp": Dropped.BLANK,
    "Pd": Dropped.DASH,
    "Pi": Dropped.QUOTE,
    "Pf": Dropped.QUOTE,
    "Cf": Dropped.INVISIBLE,
    "Cc": Dropped.INVISIBLE,
    "Mn": Dropped.ACCENT,
    "Me": Dropped.ACCENT,
}


def dropped_kind(character: str) -> Dropped | None:
    """Return the kind of a `character` that folding drops, or None."""
    if character in _QUOTES:
        return Dropped.QUOTE
    if character in _MARKUP:
        return Dropped.MARKUP
    if character == "\N{MINUS SIGN}":
        return Dropped.DASH
    if character in _BLANKS:
        return Dropped.BLANK
    # Variation selectors are marks by category, but invisible.
    if character in _FILLERS or "\ufe00" <= character <= "\ufe0f":
        return Dropped.INVISIBLE
    return _CATEGORIES.get(unicodedata.category(character))


class Folding(dict[int, str | None]):
    """A table for `str.translate` that folds text, filled on demand."""

    def __missing__(self, code: int) -> str | None:
        """Fold the character `code`; None drops it."""
        character = chr(code)
        folded = None
        if dropped_kind(character) is None:
            plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
            folded = "".join(part for part in plain if dropped_kind(part) is None) or None
        self[code] = folded
        return folded

    def drops(self, character: str) -> bool:
        """Return True if folding drops `character`."""
        return self[ord(character)] is None

    def start_of(self, text: str) -> str:
        """Return the characters at the start of `text` that folding drops."""
        return text[: next((at for at, character in enumerate(text) if not self.drops(character)), len(text))]

    def drops_all(self, text: str) -> bool:
        """Return True if folding drops all of `text`."""
        return not text.translate(self)


# --- Describing the differences of texts that are equal when folded

_CODES_SHOWN: Final = 3
_CHUNK: Final = 64

# A mark after a chunk belongs to the character before it, so compare a little more.
_OVERLAP: Final = 8
_ALL_BUT_BLANKS: Final = tuple(kind for kind in Dropped if kind is not Dropped.BLANK)
_CURLY: Final = frozenset(map(chr, range(0x2018, 0x2020)))
_IN_LINE: Final = frozenset(" \t")
_PLAIN_BLANKS: Final = _IN_LINE | {"\n"}


def find_differences(folding: Folding, text: str, span: Span, wanted: str) -> Iterator[Difference]:
    """Yield the differences between `span` of `text` and `wanted`, which are equal when folded.

    Both have LF newlines. The descriptions contain no text of the file, only code points and amounts of
    whitespace.
    """
    here, there = span.start, 0
    while here < span.end or there < len(wanted):
        while _starts_the_same(text, here, span.end, wanted, there):
            here, there = here + _CHUNK, there + _CHUNK
        gap = Span(here, _gap_end(folding, text, here, span.end))
        wanted_end = _gap_end(folding, wanted, there, len(wanted))
        yield from _in_gap(text, gap, wanted[there:wanted_end])
        here, there = gap.end, wanted_end
        end, wanted_end = _character_ends(folding, (text, here, span.end), (wanted, there, len(wanted)))
        if text[here:end] != wanted[there:wanted_end]:
            yield _of_characters(text[here:end], wanted[there:wanted_end], here)
        here, there = end, wanted_end


def _starts_the_same(text: str, here: int, end: int, wanted: str, there: int) -> bool:
    length = _CHUNK + _OVERLAP
    return (
        here + length <= end
        and there + length <= len(wanted)
        and text[here : here + length] == wanted[there : there + length]
    )


def _gap_end(folding: Folding, text: str, at: int, end: int) -> int:
    """Return the end of the dropped characters from `at`."""
    while at < end and folding.drops(text[at]):
        at += 1
    return at


def _character_ends(
    folding: Folding, text: tuple[str, int, int], wanted: tuple[str, int, int]
) -> tuple[int, int]:
    """Return the ends of the next characters that fold alike on both sides, with their accents."""
    (left, here, left_end), (right, there, right_end) = text, wanted
    ahead = 0
    while here < left_end or there < right_end:
        # A ligature folds to several characters, so the other side may need as many.
        if here < left_end and (ahead <= 0 or there == right_end):
            ahead += len(folding[ord(left[here])] or "")
            here += 1
        else:
            ahead -= len(folding[ord(right[there])] or "")
            there += 1
        if ahead == 0:
            break
    return accents_end(left, here, left_end), accents_end(right, there, right_end)


def accents_end(text: str, at: int, end: int) -> int:
    """Return the end of the accents after the character before `at`, at most `end`."""
    while at < end and dropped_kind(text[at]) is Dropped.ACCENT:
        at += 1
    return at


def _of_characters(have: str, given: str, offset: int) -> Difference:
    """Describe the difference between two forms of a character that fold alike."""
    composed = unicodedata.normalize("NFC", have), unicodedata.normalize("NFC", given)
    if composed[0] == composed[1]:
        detail = "composed, not decomposed" if have == composed[0] else "decomposed, not composed"
        return Difference("Unicode normalization", detail, offset)
    # Different lengths mean a ligature and its letters, not two cases.
    if len(composed[0]) == len(composed[1]) and composed[0].casefold() == composed[1].casefold():
        return Difference("case", "", offset)
    if _without_accents(have) == _without_accents(given):
        return Difference("accents", "", offset)
    return Difference("another form of a character", f"{_codes(have)}, not {_codes(given)}", offset)


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return "".join(part for part in parts if dropped_kind(part) is not Dropped.ACCENT).lower()


def _in_gap(text: str, gap: Span, given: str) -> Iterator[Difference]:
    """Yield the differences between dropped characters at one place, one per kind."""
    have = text[gap.start : gap.end]
    if have == given:
        return
    kinds = {character: dropped_kind(character) or Dropped.ACCENT for character in have + given}
    if {kinds[each] for each in have} ^ {kinds[each] for each in given} == _DASH_AND_MARKUP:
        # The same list marker or rule with another character.
        kinds = {each: Dropped.MARKUP if kind is Dropped.DASH else kind for each, kind in kinds.items()}
    differences = list(_in_blanks(text, gap, given))
    for kind in _ALL_BUT_BLANKS:
        places = [gap.start + at for at, character in enumerate(have) if kinds[character] is kind]
        ours = "".join(text[place] for place in places)
        theirs = "".join(character for character in given if kinds[character] is kind)
        if ours != theirs:
            name, detail = _of_marks(kind, *_apart(ours, theirs))
            offset = _first_apart(places, gap, common_start(ours, theirs))
            differences.append(Difference(name, detail, offset))
    if not differences:
        differences.append(Difference("the order of blanks and marks", "", gap.start))
    yield from sorted(differences, key=lambda difference: difference.offset)


def _in_blanks(text: str, gap: Span, given: str) -> Iterator[Difference]:
    """Yield whitespace differences at one place, around each mark if both sides have as many."""
    ours, theirs = _blank_runs(text[gap.start : gap.end]), _blank_runs(given)
    if len(ours) != len(theirs):
        ours, theirs = [[at for run in ours for at in run]], [[at for run in theirs for at in run]]
    for run, given_run in zip(ours, theirs, strict=True):
        places = [gap.start + at for at in run]
        blanks, given_blanks = "".join(text[at] for at in places), "".join(given[at] for at in given_run)
        if blanks != given_blanks:
            yield from _of_blanks(text, gap, places, given_blanks)


def _blank_runs(dropped: str) -> list[list[int]]:
    """Return the offsets of whitespace before, between and after the other characters."""
    runs: list[list[int]] = [[]]
    for at, character in enumerate(dropped):
        if dropped_kind(character) is Dropped.BLANK:
            runs[-1].append(at)
        else:
            runs.append([])
    return runs


def _first_apart(places: Sequence[int], gap: Span, skipped: int) -> int:
    """Return the offset after `skipped` of the `places`, or where it would be."""
    if skipped < len(places):
        return places[skipped]
    return places[-1] + 1 if places else gap.end


def _of_marks(kind: Dropped, ours: str, theirs: str) -> tuple[str, str]:
    """Return name and detail of a difference other than whitespace."""
    detail = f"{_codes(ours)}, not {_codes(theirs)}"
    match kind:
        case Dropped.QUOTE:
            return ("curly quotes" if _CURLY & {*ours, *theirs} else "quotes"), detail
        case Dropped.DASH:
            return "dashes", detail
        case Dropped.MARKUP if len(ours) != len(theirs):
            return "markup", f"{_count(ours, 'character')}, not {len(theirs) or 'none'}"
        case Dropped.MARKUP:
            return "markup", detail
        case Dropped.ACCENT:
            return "accents", detail
        case _:
            return _named((ours or theirs)[0]), detail


def _of_blanks(text: str, gap: Span, places: Sequence[int], given: str) -> Iterator[Difference]:
    """Yield the differences between the whitespace at `places` and `given`."""
    have = "".join(text[at] for at in places)
    first = _first_apart(places, gap, common_start(have, given))
    special = [[each for each in blanks if each not in _PLAIN_BLANKS] for blanks in (have, given)]
    line_ends = have.count("\n"), given.count("\n")
    if special[0] != special[1]:
        ours, theirs = _apart(have, given)
        character = next(each for each in (*special[0], *special[1]) if each in ours + theirs)
        yield Difference(_named(character), f"{_codes(ours)}, not {_codes(theirs)}", first)
    elif line_ends[0] != line_ends[1]:
        # Adjacent lines without a blank line have one newline between them.
        name, line_end = ("line breaks", 0) if min(line_ends) == 0 else ("blank lines", 1)
        amounts = [str(count - line_end or "none") for count in line_ends]
        yield Difference(name, f"{amounts[0]}, not {amounts[1]}", first)
    else:
        start = 0
        for ours, theirs in zip(have.split("\n"), given.split("\n"), strict=True):
            if ours != theirs:
                offset = _first_apart(places, gap, start + common_start(ours, theirs))
                with_unit = "\t" in ours + theirs
                amounts = [_amount(blanks, with_unit=with_unit) for blanks in (ours, theirs)]
                yield Difference(_place_of_blanks(text, offset), f"{amounts[0]}, not {amounts[1]}", offset)
            start += len(ours) + 1


def _place_of_blanks(text: str, offset: int) -> str:
    """Describe the position of the whitespace at `offset` in its line."""
    start = end = offset
    while start > 0 and text[start - 1] in _IN_LINE:
        start -= 1
    while end < len(text) and text[end] in _IN_LINE:
        end += 1
    starts_line = start == 0 or text[start - 1] == "\n"
    ends_line = end == len(text) or text[end] == "\n"
    if starts_line and ends_line:
        return "blanks on an empty line"
    if starts_line:
        return "indentation"
    return "trailing blanks" if ends_line else "blanks"


def _amount(blanks: str, *, with_unit: bool) -> str:
    if not with_unit:
        return str(len(blanks) or "none")
    amounts = [_count("\t" * blanks.count("\t"), "tab"), _count(" " * blanks.count(" "), "blank")]
    return " and ".join(amount for amount in amounts if amount != "none") or "none"


def _count(things: Sequence[str], name: str) -> str:
    if not things:
        return "none"
    return f"1 {name}" if len(things) == 1 else f"{len(things)} {name}s"


def _apart(ours: str, theirs: str) -> tuple[str, str]:
    """Return both texts without common prefix and suffix."""
    start, end = common_edges(ours, theirs)
    return ours[start : len(ours) - end], theirs[start : len(theirs) - end]


def _codes(text: str) -> str:
    """List up to three code points of `text`."""
    codes = [f"U+{ord(character):04X}" for character in text[:_CODES_SHOWN]]
    if len(text) > _CODES_SHOWN:
        codes.append("…")
    return " ".join(codes) or "nothing"


def _named(character: str) -> str:
    """Return the name of an invisible or space-like character."""
    if character == "\N{NO-BREAK SPACE}":
        return "a non-breaking space"
    name = unicodedata.name(character, "control character").lower()
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


# --- Searching for similar text

_SHORTEST: Final = 8
_LONGEST_PATTERN: Final = 4_000

# Search only for the start of a longer text: the cost is the product of both lengths.
_LONGEST_START: Final = 256

# One allowed difference per this many characters, after the first few.
_PER_ERROR: Final = 4
_EXACT: Final = 4
_MOST_ERRORS: Final = 64
_MOST_SIMILAR_PLACES: Final = 3
_MOST_SEARCHES: Final = 8


class SimilarMatch(Struct, order=True):
    """A `span` of a text and its minimum edit distance."""

    span: Span
    errors: int


def find_similar(text: str, wanted: str, within: Span, near: int) -> list[SimilarMatch]:
    """Return the three parts of `within` most similar to `wanted`, and the one at `near`.

    They are disjoint; ties go to the part closest to `near`. Very long and very short terms have no similar
    text.
    """
    if not _SHORTEST <= len(wanted) <= _LONGEST_PATTERN:
        return []
    most = min((len(wanted) - _EXACT) // _PER_ERROR, _MOST_ERRORS)
    matches: list[SimilarMatch] = []
    best: list[tuple[int, int, SimilarMatch, Span]] = []

    def search(region: Span) -> None:
        similar = _best(text, wanted, region, most)
        if similar is not None:
            heappush(best, (similar.errors, abs(similar.span.start - near), similar, region))

    search(within)
    for _ in range(_MOST_SEARCHES):
        if not best or len(matches) == _MOST_SIMILAR_PLACES:
            break
        _, _, similar, region = heappop(best)
        if similar.errors <= most:
            matches.append(similar)
        search(Span(region.start, similar.span.start))
        search(Span(similar.span.end, region.end))
    around = Span(max(within.start, near - most), min(within.end, near + len(wanted) + most))
    here = _best(text, wanted, around, most)
    if here is not None and here.errors <= most and not any(here.span.overlaps(one.span) for one in matches):
        matches.append(here)
    return matches


def _best(text: str, wanted: str, region: Span, most: int) -> SimilarMatch | None:
    """Return the part of `region` most similar to `wanted`, or None if it differs far more than `most`."""
    from rapidfuzz import fuzz
    from rapidfuzz.distance import Levenshtein

    if region.end - region.start < len(wanted) - most:
        return None
    searched = wanted[:_LONGEST_START]
    cutoff = max(100 * (1 - 2 * most / len(searched)), 1)
    part = fuzz.partial_ratio_alignment(searched, text[region.start : region.end], score_cutoff=cutoff)
    if part is None:
        return None
    first = region.start + part.dest_start
    last = min(first + len(wanted), region.end)

    # The aligned part is as long as `wanted`; after insertions or deletions its true ends differ.
    def cost(start: int, end: int) -> tuple[int, int]:
        return Levenshtein.distance(wanted, text[start:end]), abs(end - start - len(wanted))

    ends = range(max(first, last - most), min(region.end, last + most) + 1)
    last = min(ends, key=lambda end: cost(first, end))
    starts = range(max(region.start, first - most), min(last, first + most) + 1)
    first = min(starts, key=lambda start: cost(start, last))
    errors, _ = cost(first, last)
    return SimilarMatch(Span(first, last), errors)
