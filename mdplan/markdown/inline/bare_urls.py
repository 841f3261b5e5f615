"""Where bare URLs and mail addresses begin and end in text (GFM, autolinks extension; as on GitHub).

These are the rules of the parser of record, which it is compared with. A domain beyond ASCII is left to it.
"""

import re
from typing import Final

from mdplan.markdown.blocks.undecided import Undecided

# What may stand before a bare URL, if anything does.
_BEFORE: Final = frozenset(" \t\r\n*_~(")
_WHITE: Final = re.compile(r"[ \t\r\n\0\x0b\x0c]")
# What ends the search for a bare URL, itself included.
SEARCH_END: Final = re.compile(r"[ \t\n\r\x0b\x0c]")
_LONGEST: Final = 2_000
_DOMAIN: Final = re.compile(r"""[^\s!"#%&'()*,/:;?@\[\\\]{}]*""")
PROTOCOLS: Final = ("http", "https", "mailto", "xmpp")
_LOCAL_OF_PROTOCOL: Final = re.compile(r"[A-Za-z0-9.+_-]+@")
_AT_END: Final = frozenset("?!.,:*_~'\"[]")
_MANY_DOTS: Final = 10


def bare_url(source: str, at: int, stop: int) -> tuple[int, int, str] | None:
    """Start, end and destination of the bare URL or address that is noticed at `at`; None for no such.

    That is at its ``w``, at the ``:`` behind its protocol, or at its ``@``; it ends before `stop`. Raises
    `Undecided` for what is too long, or not ASCII.
    """
    sign = source[at]
    if sign == "w":
        return _www(source, at, stop)
    return _mail(source, at, stop) if sign == "@" else _with_protocol(source, at, stop)


def _www(source: str, at: int, stop: int) -> tuple[int, int, str] | None:
    if not source.startswith("www.", at, stop) or not _may_begin(source, at):
        return None
    last = _url_end(source, at, at + 4, stop, needs_dot=True)
    return None if last is None else (at, last, f"http://{source[at:last]}")


def _with_protocol(source: str, at: int, stop: int) -> tuple[int, int, str] | None:
    start = next((at - len(name) for name in PROTOCOLS if source.endswith(name, 0, at)), -1)
    if start < 0 or not _may_begin(source, start):
        return None
    if source[start] != "h":
        return _mail_with_protocol(source, start, at + 1, stop)
    # Something stands behind the slashes.
    if not source.startswith("://", at, stop) or at + 3 == stop:
        return None
    last = _url_end(source, start, at + 3, stop, needs_dot=False)
    return None if last is None else (start, last, source[start:last])


def _mail_with_protocol(source: str, start: int, at: int, end: int) -> tuple[int, int, str] | None:
    local = _LOCAL_OF_PROTOCOL.match(source, at, end)
    if local is None:
        return None
    is_xmpp = source[start] == "x"
    last, dots = _mail_domain(source, local.end(), end, is_xmpp=is_xmpp)
    if not dots or not (
        (source[last - 1].isascii() and source[last - 1].isalpha()) or source[last - 1] == "."
    ):
        return None
    return start, last, source[start:last]


def _mail(source: str, at: int, end: int) -> tuple[int, int, str] | None:
    start = at
    # An underscore is a mark of emphasis, and no part of what stands before it.
    while start and (_is_name(source[start - 1]) or source[start - 1] in ".+-"):
        start -= 1
        if at - start > _LONGEST:
            raise Undecided
    if start == at or not _may_begin(source, start):
        return None
    last, dots = _mail_domain(source, at + 1, end, is_xmpp=False)
    if not dots or not (_is_name(source[last - 1]) or source[last - 1] == "."):
        return None
    return start, last, f"mailto:{source[start:last]}"


def _mail_domain(source: str, at: int, end: int, *, is_xmpp: bool) -> tuple[int, int]:
    """Where the domain of an address ends that begins at `at`, and how many dots it has; 0 for no domain."""
    dots = slashes = 0
    while at < end:
        sign = source[at]
        if sign == "@":
            if not is_xmpp:
                return at, 0
        elif sign == "." and at + 1 < end and _is_name(source[at + 1]):
            dots += 1
        elif sign == "/" and is_xmpp and not slashes:
            slashes = 1
        elif not _is_name(sign) and sign not in "-_":
            break
        at += 1
    return at, dots


def _is_name(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def _may_begin(source: str, at: int) -> bool:
    return at <= 0 or source[at - 1] in _BEFORE


def _url_end(source: str, start: int, domain: int, stop: int, *, needs_dot: bool) -> int | None:
    """Where the URL ends that begins at `start`, with its domain at `domain`; None where that is none."""
    # The search ends behind the next white space.
    white = SEARCH_END.search(source, start, min(stop, start + _LONGEST))
    if white is None and stop > start + _LONGEST:
        raise Undecided
    end = white.end() if white else stop
    last = _domain_end(source, domain, end, needs_dot=needs_dot)
    return None if last is None else _trimmed(source, start, _up_to_white(source, last, end))


def _domain_end(source: str, at: int, end: int, *, needs_dot: bool) -> int | None:
    """Where the domain ends that begins at `at`; None where it is none."""
    found = _DOMAIN.match(source, at, end)
    assert found is not None, "it matches nothing too"
    domain = found[0]
    if at >= end:
        return None
    if not domain.isascii() or (found.end() < end and not source[found.end()].isascii()):
        raise Undecided
    # No underscore may stand in what is between the last two dots, and behind them.
    has_lines = any("_" in part for part in domain.split(".")[-2:])
    is_whole = found.end() == end
    if has_lines and (not is_whole or domain.count(".") <= _MANY_DOTS):
        return None
    return found.end() if "." in domain or not needs_dot else None


def _up_to_white(source: str, at: int, end: int) -> int:
    white = _WHITE.search(source, at, end)
    return white.start() if white else end


def _trimmed(source: str, start: int, end: int) -> int:
    """`end` of a URL without the punctuation that belongs to the sentence around it."""
    angle = source.find("<", start, end)
    if angle >= 0:
        end = angle
    while end > start:
        last = source[end - 1]
        if last in _AT_END:
            end -= 1
        elif last == ";":
            entity = end - 2
            while entity > start and source[entity].isalpha():
                entity -= 1
            end = entity if start <= entity < end - 2 and source[entity] == "&" else end - 1
        elif last == ")" and source.count(")", start, end) > source.count("(", start, end):
            end -= 1
        else:
            break
    return end
