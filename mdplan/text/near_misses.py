"""Find text similar to a search term that was not found, and describe the difference.

Used for hints, never for edits.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from heapq import merge
from itertools import accumulate, groupby, islice, takewhile, zip_longest
from typing import Final

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, NearMiss, Span, common_start
from mdplan.values import Struct, replace

_MOST_SHOWN: Final = 3
_BLOCK: Final = 128
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

    def span_in_text(self, start: int, end: int) -> Span:
        """Return the span of the characters that produced ``folded[start:end]``, with their accents."""
        last = self._offset(end - 1) + 1
        while dropped_kind(self.text[last : last + 1] or " ") is Dropped.ACCENT:
            last += 1
        return Span(self._offset(start), last)

    def _offset(self, index: int) -> int:
        block = bisect_right(self._starts, index) - 1
        at, left = block * _BLOCK, index - self._starts[block]
        while left >= (length := len(self.folding[ord(self.text[at])] or "")):
            left -= length
            at += 1
        return at

    def index_at(self, offset: int) -> int:
        """Return the folded length of the text before `offset`."""
        block = min(offset, len(self.text)) // _BLOCK
        return self._starts[block] + len(self.text[block * _BLOCK : offset].translate(self.folding))


def find_near_misses(
    folded: FoldedText, wanted: SearchTerm, within: Span, remark: Callable[[Span], str] = lambda _: ""
) -> tuple[NearMiss, ...]:
    """Return up to three near misses of `wanted` in `within`, best first.

    They are equal when folded, or else the one that differs in few characters. `remark` adds a short note
    about a place; places with a note come last. Spans refer to the text of `folded`. The work is bounded,
    growing linearly with the text.
    """
    if len(wanted.text) > _LONGEST_TEXT:
        return ()
    search = _Search(folded, wanted, within)
    places = [(place, remark(place.span)) for place in search.places()]
    places.sort(key=lambda remarked: (remarked[1] != "", search.rank(remarked[0])))
    return tuple(_near_miss(folded.lines, wanted, *remarked) for remarked in places[:_MOST_SHOWN])


def describe_near_misses(near: Sequence[NearMiss]) -> str:
    """Return `near` as a hint, or an empty string."""
    return f"nearest: {'; '.join(map(_describe, near))}" if near else ""


class _Place(Struct):
    """A near miss, its description, and the number of differences or characters."""

    span: Span
    differs: str
    weight: int


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
_FARTHEST: Final = 200


class _Search:
    """One search for `wanted` in the span `within` of `folded`."""

    def __init__(self, folded: FoldedText, wanted: SearchTerm, within: Span) -> None:
        self._folded = folded
        self._wanted = wanted
        self._within = within
        self._near = wanted.addressed.start if wanted.addressed else within.start

    def rank(self, place: _Place) -> tuple[bool, int, int]:
        """Return the sort key of `place`: the addressed one first, then by weight and distance."""
        is_addressed = self._is_addressed(place.span)
        return not is_addressed, place.weight, abs(place.span.start - self._near)

    def places(self) -> Iterator[_Place]:
        """Yield the results of the first search that finds any."""
        text = self._wanted.text
        unescaped = _ESCAPE.sub(lambda match: _ESCAPED[match[1]], text)
        for wanted in dict.fromkeys((text, unescaped)):
            key = wanted.translate(self._folded.folding)
            cores = list(islice(self._cores(wanted, key), _MOST_COMPARED))
            for core in cores:
                span, differences = self._compared(core, wanted) if key else (core, [])
                names = [_names(self._folded.lines, span, differences)] if differences else []
                if wanted != text:
                    names.insert(0, "escapes (given as a backslash and a letter)")
                if names or self._wanted.or_exact:
                    yield _Place(span, ", ".join(names), len(differences))
            if cores:
                return
        yield from self._similar(text.translate(self._folded.folding))

    def _cores(self, wanted: str, key: str) -> Iterator[Span]:
        """Yield the places of `key`, the folded form of `wanted`, closest first.

        They lack the dropped characters around them. Text that folding drops must be there exactly.
        """
        folded, within = self._folded, self._within
        if key:
            bounds = map(folded.index_at, (within.start, within.end, self._near))
            for index in islice(_occurrences(folded.folded, key, *bounds), _MOST_FOLDED_PLACES):
                core = folded.span_in_text(index, index + len(key))
                if len(key) >= _SHORT or self._is_addressed(core) or self._is_whole_words(core):
                    yield core
        elif wanted.strip():
            places = _occurrences(folded.text, wanted, within.start, within.end, self._near)
            for start in islice(places, _MOST_FOLDED_PLACES):
                span = Span(start, start + len(wanted))
                if not self._wanted.whole_lines or span == self._whole_lines(span):
                    yield span

    def _is_addressed(self, span: Span) -> bool:
        addressed = self._wanted.addressed
        return addressed is not None and (addressed.overlaps(span) or addressed.start == span.start)

    def _is_whole_words(self, core: Span) -> bool:
        text = self._folded.text
        return not any(
            _is_word(text[at - 1 : at]) and _is_word(text[at : at + 1]) for at in (core.start, core.end)
        )

    def _compared(self, core: Span, wanted: str) -> tuple[Span, list["Difference"]]:
        """Extend `core` by corresponding dropped characters around it; return the differences too."""
        text, within, folding = self._folded.text, self._within, self._folded.folding
        before = folding.start_of(text[max(within.start, core.start - _FARTHEST) : core.start][::-1])
        after = folding.start_of(text[core.end : min(within.end, core.end + _FARTHEST)])
        lead, trail = folding.start_of(wanted), folding.start_of(wanted[::-1])[::-1]
        start = core.start - _counterpart(before, lead[::-1])
        end = core.end + _counterpart(after, trail)
        more: list[Difference] = []
        if self._wanted.whole_lines:
            lines = self._whole_lines(Span(start, end))
            if text[lines.start : core.start].translate(folding):
                more.append(Difference(_MORE_TEXT[0], "", "", lines.start))
            else:
                start = lines.start
            if text[core.end : lines.end].translate(folding):
                more.append(Difference(_MORE_TEXT[1], "", "", core.end))
            else:
                end = lines.end
        found = find_differences(text, Span(start, end), wanted)
        if self._wanted.any_case:
            found = [difference for difference in found if difference.kind != "case"]
        return Span(start, end), more + found

    def _similar(self, key: str) -> Iterator[_Place]:
        """Yield the addressed place or the best one if it differs from `key` in few characters."""
        folded, lines = self._folded, self._folded.lines
        start, end, near = map(folded.index_at, (self._within.start, self._within.end, self._near))
        around = Span(max(start, near - len(key)), max(start, min(end, near + 2 * len(key))))
        similar = find_similar(folded.folded, key, around) if self._wanted.addressed else None
        similar = similar or find_similar(folded.folded, key, Span(start, end))
        if similar is None:
            return
        part, errors = similar
        span = folded.span_in_text(part.start, part.end)
        differing = part.start + common_start(folded.folded[part.start : part.end], key)
        offset = folded.span_in_text(differing, part.end).start if differing < part.end else span.end
        span = self._whole_lines(span) if self._wanted.whole_lines else span
        place = _at(lines, offset, span)
        yield _Place(span, f"about {errors} of {len(key)} characters, from {place} on", errors)

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
    kinds |= _DASH_AND_MARKUP if kinds & _DASH_AND_MARKUP else set()
    same = "".join(takewhile(lambda each: dropped_kind(each) in kinds, dropped))
    rows = same.split("\n")[: given.count("\n") + 1]
    if given.endswith("\n") and len(rows) > given.count("\n"):
        rows[-1] = ""
    return len("\n".join(rows))


def _is_word(character: str) -> bool:
    """Return True for letters and digits, except in scripts without case, which may not separate words."""
    return character.isalnum() and (character.isdecimal() or character.lower() != character.upper())


# --- Folding makes texts that look the same equal, so that `str.find` matches them
#
# Folded text has no whitespace, dashes, quotes, accents, invisible characters, light markup, case or
# compatibility forms.


class Dropped(StrEnum):
    """Kinds of characters that folding drops."""

    BLANK = "blanks"
    DASH = "dashes"
    QUOTE = "quotes"
    INVISIBLE = "invisible"
    ACCENT = "accent"
    MARKUP = "markup"


# The same list marker or rule with another character.
_DASH_AND_MARKUP: Final = {Dropped.DASH, Dropped.MARKUP}
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

# Characters of other kinds than their categories say.
_KINDS: Final = {
    character: kind
    for kind, characters in {
        # Straight and low quotes, and substitutes: acute accents, apostrophe letters, primes.
        Dropped.QUOTE: "\"'\u201a\u201e\u00b4\u02b9\u02ba\u02bb\u02bc\u02c8\u2032\u2033\u2034\u2035\u2036"
        "\uff02\uff07",
        Dropped.MARKUP: "*_`\\",
        Dropped.DASH: "\N{MINUS SIGN}",
        Dropped.BLANK: "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85",
        # Fillers, and variation selectors, which are marks.
        Dropped.INVISIBLE: "\u034f\u115f\u1160\u3164\uffa0" + "".join(map(chr, range(0xFE00, 0xFE10))),
    }.items()
    for character in characters
}


def dropped_kind(character: str) -> Dropped | None:
    """Return the kind of a `character` that folding drops, or None."""
    return _KINDS.get(character) or _CATEGORIES.get(unicodedata.category(character))


class Folding(dict[int, str | None]):
    """A table for `str.translate` that folds text, filled on demand."""

    def __missing__(self, code: int) -> str | None:
        """Fold the character `code`; None drops it."""
        character, folded = chr(code), None
        if dropped_kind(character) is None:
            plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
            folded = "".join(part for part in plain if dropped_kind(part) is None) or None
        self[code] = folded
        return folded

    def start_of(self, text: str) -> str:
        """Return the characters at the start of `text` that folding drops."""
        return text[: next((at for at, character in enumerate(text) if self[ord(character)]), len(text))]


# --- Describing the differences of texts that are equal when folded

_CODES_SHOWN: Final = 3
_MORE_TEXT: Final = "more text before it", "more text after it"
_MOST_DIFFERENCES: Final = 100


_TOKEN: Final = lazy_pattern(r"[ \t]+|\n+|.", re.DOTALL)


class Difference(Struct):
    """A text has `ours` at `offset`, where `theirs` was wanted."""

    kind: str
    ours: str
    theirs: str
    offset: int

    @property
    def detail(self) -> str:
        """Both texts as code points or amounts of whitespace."""
        pair = self.ours, self.theirs
        if self.kind == "line breaks":
            return "{}, not {}".format(*(each.count("\n") or "none" for each in pair))
        if self.kind == Dropped.BLANK and "\t" not in "".join(pair):
            return "{}, not {}".format(*(len(each) or "none" for each in pair))
        return "" if self.kind in {"case", *_MORE_TEXT} else "{}, not {}".format(*map(_codes, pair))


def find_differences(text: str, span: Span, wanted: str) -> list[Difference]:
    """Return the differences between `span` of `text` and `wanted`, which are equal when folded."""
    from rapidfuzz.distance import Levenshtein

    have, at = text[span.start : span.end], span.start
    found: list[Difference] = []
    pairs = [(have, wanted)]
    if have.count("\n") == wanted.count("\n"):
        pairs = list(zip(have.split("\n"), wanted.split("\n"), strict=True))
    for pair in pairs:
        left, right = map(_TOKEN.findall, pair)
        joins = False
        for part in Levenshtein.opcodes([*map(str.lower, left)], [*map(str.lower, right)]):
            tokens = left[part.src_start : part.src_end], right[part.dest_start : part.dest_end]
            for ours, theirs in zip_longest(*tokens, fillvalue=""):
                if ours != theirs:
                    new = Difference(_kind(ours, theirs), ours, theirs, at + common_start(ours, theirs))
                    if joins and (last := found[-1]).kind == new.kind:
                        found[-1] = replace(last, ours=last.ours + ours, theirs=last.theirs + theirs)
                    else:
                        found.append(new)
                joins = ours != theirs
                at += len(ours)
        at += 1
    return found[:_MOST_DIFFERENCES]


def _kind(ours: str, theirs: str) -> str:
    """Name the difference between two tokens, at most one of which is empty."""
    kinds = {dropped_kind(each[0]): each[0] for each in (theirs, ours) if each.strip(" \t")}
    if "\n" in kinds.values():
        return "line breaks"
    kind = next(iter(kinds), Dropped.BLANK)
    if kind in {Dropped.INVISIBLE, Dropped.BLANK} and kinds:
        return _named(kinds[kind])
    if kind is None or kind is Dropped.ACCENT:
        return "case" if ours.casefold() == theirs.casefold() else "characters"
    return str(kind)


def _named(character: str) -> str:
    """Return the name of an invisible or space-like character."""
    if character == "\N{NO-BREAK SPACE}":
        return "a non-breaking space"
    name = unicodedata.name(character, "control character").lower()
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _codes(text: str) -> str:
    """List up to three different code points of `text`, with the lengths of their runs."""
    runs = [(character, len(list(run))) for character, run in groupby(text)]
    codes = [(f"{count} " if count > 1 else "") + f"U+{ord(each):04X}" for each, count in runs[:_CODES_SHOWN]]
    return " ".join([*codes, "…"] if len(runs) > _CODES_SHOWN else codes) or "nothing"


def _names(lines: LineIndex, span: Span, differences: Sequence[Difference]) -> str:
    """Describe `differences` in `span` by kind, each with its first position."""
    kinds: dict[str, list[Difference]] = {}
    for difference in differences:
        kind = difference.kind
        kind = _place_of_blanks(lines, difference.offset) if kind == Dropped.BLANK else kind
        kinds.setdefault(kind, []).append(difference)
    names = [
        f"{kind}{f' ({same[0].detail})' if same[0].detail else ''} at {_at(lines, same[0].offset, span)}"
        + (f" and {len(same) - 1} more" if len(same) > 1 else "")
        for kind, same in kinds.items()
    ]
    return ", ".join(names[:_KINDS_SHOWN]) + (", and more" if len(names) > _KINDS_SHOWN else "")


def _place_of_blanks(lines: LineIndex, offset: int) -> str:
    line = lines.line_at(offset)
    content, col = lines.content(line), offset - lines.start(line)
    if not content[col:].strip(" \t"):
        return "trailing blanks"
    return "blanks" if content[:col].strip(" \t") else "indentation"


def _at(lines: LineIndex, offset: int, span: Span) -> str:
    """Describe the position of `offset`, without the line if it is the first of `span`."""
    position = lines.position(offset)
    if position.line == lines.line_at(span.start):
        return f"column {position.col}"
    return f"{position.line}:{position.col}"


# --- Searching for similar text

_SHORTEST: Final = 8
_LONGEST_PATTERN: Final = 4_000

# Search only for the start of a longer text: the cost is the product of both lengths.
_LONGEST_START: Final = 256

# One allowed difference per this many characters, after the first few.
_PER_ERROR: Final = 4
_EXACT: Final = 4
_MOST_ERRORS: Final = 64


def find_similar(text: str, wanted: str, region: Span) -> tuple[Span, int] | None:
    """Return the part of `region` most similar to `wanted`, and its edit distance.

    Very long and very short terms have no similar text.
    """
    from rapidfuzz import fuzz
    from rapidfuzz.distance import Levenshtein

    if not _SHORTEST <= len(wanted) <= _LONGEST_PATTERN:
        return None
    most = min((len(wanted) - _EXACT) // _PER_ERROR, _MOST_ERRORS)
    searched = wanted[:_LONGEST_START]
    cutoff = max(100 * (1 - 2 * most / len(searched)), 1)
    part = fuzz.partial_ratio_alignment(searched, text[region.start : region.end], score_cutoff=cutoff)
    if part is None or len(region) < len(wanted) - most:
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
    return (Span(first, last), errors) if errors <= most else None
