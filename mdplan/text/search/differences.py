"""Differences between two texts that are equal when folded, by kind and position."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from mdplan.text.diff.common_edges import common_edges, common_start
from mdplan.text.search.folded_text import Dropped, Folding, dropped_kind
from mdplan.text.span import Span

_CODES_SHOWN: Final = 3
_CHUNK: Final = 64
# A mark after a chunk belongs to the character before it, so a little more must be the same.
_OVERLAP: Final = 8
_MARKS: Final = tuple(kind for kind in Dropped if kind is not Dropped.BLANK)
_CURLY: Final = frozenset(map(chr, range(0x2018, 0x2020)))
_IN_LINE: Final = frozenset(" \t")
_PLAIN_BLANKS: Final = _IN_LINE | {"\n"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference, at `offset` of the text. `detail` says what is there, and what does not."""

    kind: str
    detail: str
    offset: int


def find_differences(folding: Folding, text: str, span: Span, wanted: str) -> Iterator[Difference]:
    """Differences between `span` of `text` and `wanted`, in order; both have LF line ends and fold alike.

    No text of the file is in them: characters are told by their code points, white space by its amount.
    """
    here, there = span.start, 0
    while here < span.end or there < len(wanted):
        while _starts_the_same(text, here, span.end, wanted, there):
            here, there = here + _CHUNK, there + _CHUNK
        gap = Span(here, _gap_end(folding, text, here, span.end))
        gap_of_wanted = Span(there, _gap_end(folding, wanted, there, len(wanted)))
        yield from _in_gap(text, gap, _cut(wanted, gap_of_wanted))
        there = gap_of_wanted.end
        here = gap.end
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


def _cut(text: str, span: Span) -> str:
    return text[span.start : span.end]


def _gap_end(folding: Folding, text: str, at: int, end: int) -> int:
    """Where the characters at `at` that folding drops end."""
    while at < end and folding.drops(text[at]):
        at += 1
    return at


def _character_ends(
    folding: Folding, text: tuple[str, int, int], wanted: tuple[str, int, int]
) -> tuple[int, int]:
    """Ends of the next characters of both that fold to the same, with the accents after them."""
    (left, here, left_end), (right, there, right_end) = text, wanted
    ahead = 0
    while here < left_end or there < right_end:
        # A ligature folds to several characters, for which the other side may need as many.
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
    """Where the accents that belong to the character before `at` end, `end` at the latest."""
    while at < end and dropped_kind(text[at]) is Dropped.ACCENT:
        at += 1
    return at


def _of_characters(have: str, given: str, offset: int) -> Difference:
    """The difference between two forms of what is the same letter or sign to the fold."""
    composed = unicodedata.normalize("NFC", have), unicodedata.normalize("NFC", given)
    if composed[0] == composed[1]:
        detail = "composed, not decomposed" if have == composed[0] else "decomposed, not composed"
        return Difference("Unicode normalization", detail, offset)
    # Of other lengths they are no upper and lower case of one letter, but a ligature and its letters.
    if len(composed[0]) == len(composed[1]) and composed[0].casefold() == composed[1].casefold():
        return Difference("case", "", offset)
    if _without_accents(have) == _without_accents(given):
        return Difference("accents", "", offset)
    return Difference("another form of a character", f"{_codes(have)}, not {_codes(given)}", offset)


def _without_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return "".join(part for part in parts if dropped_kind(part) is not Dropped.ACCENT).lower()


def _in_gap(text: str, gap: Span, given: str) -> Iterator[Difference]:
    """Differences between what folding drops at one place: one for each kind of character, in order."""
    have = _cut(text, gap)
    if have == given:
        return
    kinds = {character: dropped_kind(character) or Dropped.ACCENT for character in have + given}
    if {kinds[each] for each in have} ^ {kinds[each] for each in given} == {Dropped.DASH, Dropped.MARKUP}:
        # The same mark of a list or rule, written otherwise.
        kinds = {each: Dropped.MARKUP if kind is Dropped.DASH else kind for each, kind in kinds.items()}
    found = list(_in_blanks(text, gap, given))
    for kind in _MARKS:
        places = [gap.start + at for at, character in enumerate(have) if kinds[character] is kind]
        ours = "".join(text[place] for place in places)
        theirs = "".join(character for character in given if kinds[character] is kind)
        if ours != theirs:
            name, detail = _of_marks(kind, *_apart(ours, theirs))
            found.append(Difference(name, detail, _first_apart(places, gap, common_start(ours, theirs))))
    if not found:
        found.append(Difference("the order of blanks and marks", "", gap.start))
    yield from sorted(found, key=lambda difference: difference.offset)


def _in_blanks(text: str, gap: Span, given: str) -> Iterator[Difference]:
    """Differences between the white space at one place: around each mark, where there are as many of them."""
    ours, theirs = _blank_runs(_cut(text, gap)), _blank_runs(given)
    if len(ours) != len(theirs):
        ours, theirs = [[at for run in ours for at in run]], [[at for run in theirs for at in run]]
    for run, given_run in zip(ours, theirs, strict=True):
        places = [gap.start + at for at in run]
        blanks, given_blanks = "".join(text[at] for at in places), "".join(given[at] for at in given_run)
        if blanks != given_blanks:
            yield from _of_blanks(text, gap, places, given_blanks)


def _blank_runs(dropped: str) -> list[list[int]]:
    """Offsets of the white space before, between and after the other characters of `dropped`."""
    runs: list[list[int]] = [[]]
    for at, character in enumerate(dropped):
        if dropped_kind(character) is Dropped.BLANK:
            runs[-1].append(at)
        else:
            runs.append([])
    return runs


def _first_apart(places: Sequence[int], gap: Span, skipped: int) -> int:
    """The one of `places` after the `skipped` ones, or where it would be."""
    if skipped < len(places):
        return places[skipped]
    return places[-1] + 1 if places else gap.end


def _of_marks(kind: Dropped, ours: str, theirs: str) -> tuple[str, str]:
    """Name and detail of other differences than those of blanks."""
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
    """Differences between the white space at `places` and what was `given`."""
    have = "".join(text[at] for at in places)
    first = _first_apart(places, gap, common_start(have, given))
    special = [[each for each in blanks if each not in _PLAIN_BLANKS] for blanks in (have, given)]
    line_ends = have.count("\n"), given.count("\n")
    if special[0] != special[1]:
        ours, theirs = _apart(have, given)
        character = next(each for each in (*special[0], *special[1]) if each in ours + theirs)
        yield Difference(_named(character), f"{_codes(ours)}, not {_codes(theirs)}", first)
    elif line_ends[0] != line_ends[1]:
        # Lines that only follow each other have one line end between them, and no blank line.
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
    """What blanks at `offset` are by their place in a line."""
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
    """The two without what they have in common at the start and at the end."""
    start, end = common_edges(ours, theirs)
    return ours[start : len(ours) - end], theirs[start : len(theirs) - end]


def _codes(text: str) -> str:
    """Code points of `text`, at most so many."""
    codes = [f"U+{ord(character):04X}" for character in text[:_CODES_SHOWN]]
    if len(text) > _CODES_SHOWN:
        codes.append("…")
    return " ".join(codes) or "nothing"


def _named(character: str) -> str:
    """Name of a character that shows as nothing or as a blank."""
    if character == "\N{NO-BREAK SPACE}":
        return "a non-breaking space"
    name = unicodedata.name(character, "control character").lower()
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"
