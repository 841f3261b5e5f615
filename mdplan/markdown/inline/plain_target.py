"""Destination and title of a link or image, as written behind its parenthesis (CommonMark 0.31.2, 6.3)."""

import re
from typing import Final, NamedTuple

from mdplan.markdown.blocks.undecided import Undecided
from mdplan.text.span import Span

_WHITE: Final = re.compile(r"[ \t\n]*")
_ANGLE_SIGN: Final = re.compile(r"[<>\n\\]")
_BARE_SIGN: Final = re.compile(r"[\x00-\x20\x7f\\()]")
_MOST_PARENTHESES: Final = 32
_TITLE_ENDS: Final = {'"': '"', "'": "'", "(": ")"}
# These are compiled where they are needed, which is seldom.
_ESCAPE: Final = r"\\([!-/:-@\[-`{-~])"
_ENTITY: Final = r"&[A-Za-z#][A-Za-z0-9]{1,31};"


class PlainTarget(NamedTuple):
    """Destination and title as written, the destination as understood, and where both end, with blanks."""

    destination: Span
    title: Span | None
    href: str
    end: int


def plain_target(source: str, at: int, stop: int) -> PlainTarget | None:
    """What `source` has behind the parenthesis before `at`; None where nothing stands there before `stop`.

    One that is no destination is empty, and ends where it begins. Raises `Undecided` for
    character references.
    """
    at = _behind_white(source, at, stop)
    if at >= stop:
        return None
    end = _angle_end(source, at, stop) if source[at] == "<" else _bare_end(source, at, stop)
    if end is None:
        return PlainTarget(Span(at, at), None, "", at)
    is_angle = source[at] == "<"
    href = understood(source[at + is_angle : end - is_angle])
    destination = Span(at, end)
    at = _behind_white(source, end, stop)
    title = _title_end(source, at, stop) if at > end else None
    if title is None:
        return PlainTarget(destination, None, href, at)
    understood(source[at:title])
    return PlainTarget(destination, Span(at, title), href, _behind_white(source, title, stop))


def understood(written: str) -> str:
    """What is `written` as a destination or title, without the backslashes of escapes.

    Raises `Undecided` for character references, of which the parser has tables.
    """
    if "&" in written and re.search(_ENTITY, written):
        raise Undecided
    return re.sub(_ESCAPE, r"\1", written) if "\\" in written else written


def _behind_white(source: str, at: int, stop: int) -> int:
    white = _WHITE.match(source, at, stop)
    return white.end() if white else at


def _angle_end(source: str, at: int, stop: int) -> int | None:
    """Where the destination in angle brackets ends that begins at `at`."""
    sign = _ANGLE_SIGN.search(source, at + 1, stop)
    if sign is not None and sign[0] == "\\":
        raise Undecided
    return sign.end() if sign is not None and sign[0] == ">" else None


def _bare_end(source: str, start: int, stop: int) -> int | None:
    """Where the destination without brackets ends that begins at `start`; parentheses in it are balanced."""
    at, level, end = start, 0, stop
    while (sign := _BARE_SIGN.search(source, at, stop)) is not None:
        at = sign.end()
        if sign[0] == "\\" and at >= stop:
            raise Undecided
        if sign[0] == "\\" and source[at] != " ":
            at += 1
        elif sign[0] == "(" and level < _MOST_PARENTHESES:
            level += 1
        elif sign[0] == ")" and level:
            level -= 1
        else:
            end = sign.start()
            level += sign[0] == "("
            break
    return None if end == start or level else end


def _title_end(source: str, at: int, stop: int) -> int | None:
    closing = _TITLE_ENDS.get(source[at : at + 1]) if at < stop else None
    if closing is None:
        return None
    at += 1
    while at < stop:
        sign = source[at]
        if sign == closing:
            return at + 1
        if sign == "(" and closing == ")":
            return None
        at += 2 if sign == "\\" else 1
    return None
