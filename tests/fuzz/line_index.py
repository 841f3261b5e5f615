"""Target: the line index, against a splitter that only knows line ends."""

import re
from typing import Final

from mdplan.text.lines import LineIndex, Position
from tests.fuzz.mutation import mutated_text
from tests.fuzz.seeds import documents
from tests.fuzz.target import Target

_BEHIND_A_LINE: Final = re.compile(r"(?<=\n)|(?<=\r)(?!\n)")


def check(data: bytes) -> None:
    """Lines join to the text, end where they may and nowhere else, and places are found again."""
    text = data.decode("utf-8", "surrogateescape")
    index = LineIndex(text)
    _check_lines(text, index)
    _check_places(text, index)


def _check_lines(text: str, index: LineIndex) -> None:
    lines = [line for line in _BEHIND_A_LINE.split(text) if line]
    numbers = range(1, index.count + 1)
    assert [text[index.start(n) : index.end(n)] for n in numbers] == lines, "other lines"
    assert [index.content(n) + index.ending(n) for n in numbers] == lines, "a line in pieces is another"
    assert all(index.ending(n) in {"\n", "\r\n", "\r"} for n in numbers[:-1]), "a line has no end"
    assert not any(set(index.content(n)) & set("\r\n") for n in numbers), "a line end inside of a line"
    counted = {end: sum(index.ending(n) == end for n in numbers) for end in ("\n", "\r\n", "\r")}
    assert index.line_ends == {end: count for end, count in counted.items() if count}, "line ends miscounted"


def _check_places(text: str, index: LineIndex) -> None:
    seen: set[Position] = set()
    for offset in range(len(text) + 1):
        position = index.position(offset)
        is_between = text[offset - 1 : offset + 1] == "\r\n" and offset > 0
        assert index.offset(position) == (None if is_between else offset), f"{offset} is lost"
        assert position not in seen, f"{position} names two places"
        seen.add(position)
        if offset < len(text):
            line = index.line_at(offset)
            assert index.start(line) <= offset < index.end(line), f"{offset} is in another line"
    beyond = index.count + 2
    for position in (Position(0, 1), Position(1, 0), Position(beyond, 1), Position(1, len(text) + 2)):
        assert index.offset(position) is None, f"{position} is no place"


TARGET: Final = Target(name="line_index", check=check, seeds=documents, mutated=mutated_text, most_bytes=300)
