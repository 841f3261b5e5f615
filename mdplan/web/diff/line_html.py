"""Lines of files as HTML. This is the one place where text of files becomes markup; all of it is escaped.

Blanks that matter can be seen: those that changed alone, those at the end of a changed line, and all of them
where the reader asks. They stay in the text, so that what is copied from the page is what is in the file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from markupsafe import Markup, escape

from mdplan.review.lines import MarkedText, Pieces
from mdplan.review.plan_review import ReviewedLine
from mdplan.text.visible import escaped, is_hidden

# Characters of one line: more than prose has in a paragraph, and not so much that a browser stops.
MOST_SHOWN: Final = 20_000
_BLANKS: Final = re.compile(r"( +|\t)")
_TRAILING: Final = re.compile(r"[ \t]+\Z")
_TAB: Final = "\t"
_MARKS: Final = {"-": ("<del>", "</del>"), "+": ("<ins>", "</ins>")}
_ENDS: Final = {"\n": "LF", "\r\n": "CRLF", "": "no line end"}


def line_html(line: ReviewedLine, *, shows_blanks: bool, shows_end: bool) -> Markup:
    """`line` with its changed words marked; its end is named where `shows_end`, or where it has none.

    Of a line that is very long the beginning is shown, and how much is not.
    """
    shown, n_left = _beginning(line.pieces)
    parts = list(_pieces(replace(line, pieces=shown), shows_blanks=shows_blanks))
    if n_left:
        parts.append(f'<b class="end">and {n_left:,} more characters, which are in the patch</b>')
    if shows_end or not line.line_end:
        parts.append(f'<b class="end">{_ENDS[line.line_end]}</b>')
    return Markup("".join(parts))  # noqa: S704 (made of escaped text above)


def _beginning(pieces: Pieces) -> tuple[Pieces, int]:
    """As much of `pieces` as is shown, and how many characters are left."""
    length = sum(len(piece.text) for piece in pieces)
    if length <= MOST_SHOWN:
        return pieces, 0
    shown: list[MarkedText] = []
    room = MOST_SHOWN
    for piece in pieces:
        shown.append(MarkedText(piece.text[:room], piece.changed))
        room -= len(shown[-1].text)
        if not room:
            break
    return tuple(shown), length - MOST_SHOWN


def _pieces(line: ReviewedLine, *, shows_blanks: bool) -> Iterator[str]:
    is_mixed = len({piece.changed for piece in line.pieces}) == 2
    trailing = _trailing(line.pieces) if line.sign != " " else 0
    last = len(line.pieces) - 1
    for number, piece in enumerate(line.pieces):
        if shows_blanks or (is_mixed and piece.changed and piece.text.isspace()):
            html = _with_blanks(piece.text)
        elif number == last and trailing:
            kept = piece.text[: len(piece.text) - trailing]
            html = _plain(kept) + _with_blanks(piece.text[len(kept) :])
        else:
            html = _plain(piece.text)
        start, end = _MARKS[line.sign] if is_mixed and piece.changed else ("", "")
        yield f"{start}{html}{end}"


def _trailing(pieces: Sequence[MarkedText]) -> int:
    """How many blanks end the line."""
    found = _TRAILING.search(pieces[-1].text) if pieces else None
    return len(found[0]) if found else 0


def _with_blanks(text: str) -> str:
    return "".join(
        _plain(part) if number % 2 == 0 else f'<i class="{"tab" if part == _TAB else "blank"}">{part}</i>'
        for number, part in enumerate(_BLANKS.split(text))
        if part
    )


def _plain(text: str) -> str:
    """`text` escaped, with what hides or steers in a box of its own."""
    if text.replace("\t", "").isprintable() and not any(map(is_hidden, text)):
        return str(escape(text))
    return "".join(
        f'<b class="hidden">{escape(escaped(character))}</b>'
        if is_hidden(character)
        else str(escape(character))
        for character in text
    )
