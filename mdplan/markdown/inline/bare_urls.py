"""Bare URLs and mail addresses in text (GFM, section 6.9): the rules of cmark-gfm, which GitHub uses."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from mdplan.markdown.blocks.deadline import check_deadline

# Where a bare URL is noticed: after its protocol, or at its start.
URL_SIGN: Final = re.compile(r"://|www\.")

_PROTOCOLS: Final = ("https", "http", "ftp")
# What may be before `www.`, if anything does.
_BEFORE: Final = frozenset(" \t\r\n\f*_~(")
_END: Final = re.compile(r"[ \t\r\n\f<]")
# Unicode's other punctuation also ends a domain.
_NOT_IN_DOMAIN: Final = re.compile(r"""[\s!-,/:-@\[\]^`{-~]|[^\x00-\x7f]""")
_MAX_DOTS: Final = 10
_AT_END: Final = frozenset("?!.,:*_~'\"")
_LOCAL_PART: Final = frozenset(".+-_")
_MAIL_PROTOCOLS: Final = ("mailto", "xmpp")


def bare_url(text: str, sign: int, begin: int, stop: int) -> tuple[int, int, str] | None:
    """Start, end and destination of the bare URL that has its sign at the offset `sign`, or None.

    It lies in inline content, the line of which begins at the offset `begin` and ends before `stop`.
    """
    if text[sign] == "w":
        start, domain = sign, sign
        if sign > begin and text[sign - 1] not in _BEFORE:
            return None
    else:
        before = text[max(begin, sign - len("https")) : sign].lower()
        protocol = next((each for each in _PROTOCOLS if before.endswith(each)), "")
        start, domain = sign - len(protocol), sign + len("://")
        if not protocol or (start > begin and _is_letter(text[start - 1])):
            return None
    end = _domain_end(text, domain, stop, needs_dot=start == domain)
    if end is None:
        return None
    white = _END.search(text, end, stop)
    end = _without_punctuation(text, start, white.start() if white else stop)
    prefix = "http://" if start == domain else ""
    return (start, end, prefix + text[start:end]) if end > domain else None


def mail_addresses(text: str, start: int, stop: int) -> Iterator[tuple[int, int, str]]:
    """Start, end and destination of each bare mail or XMPP address between two offsets of a run of text."""
    at = text.find("@", start, stop)
    while at >= 0:
        check_deadline()
        behind = at + 1
        first, protocol = _local_part(text, start, at)
        end = _mail_domain_end(text, at, stop, is_xmpp=protocol == "xmpp") if first < at else None
        if end is not None:
            yield first, end, text[first:end] if protocol else f"mailto:{text[first:end]}"
            start = behind = end
        at = text.find("@", behind, stop)


def _domain_end(text: str, start: int, stop: int, *, needs_dot: bool) -> int | None:
    """Where the domain from `start` on ends; None where it is none."""
    at = start + 1
    while found := _NOT_IN_DOMAIN.search(text, at, stop):
        at = found.start()
        if found[0].isascii() or found[0].isspace() or unicodedata.category(found[0]).startswith("P"):
            break
        at += 1
    else:
        at = stop
    if start >= stop:
        return None
    parts = text[start:at].split(".")
    # In a long domain GitHub ignores underscores, in others those before the last two dots.
    has_underscore = any("_" in part for part in parts[-2:])
    if (has_underscore and len(parts) - 1 <= _MAX_DOTS) or (needs_dot and len(parts) == 1):
        return None
    return at


def _without_punctuation(text: str, start: int, end: int) -> int:
    """`end` of a URL without the punctuation that belongs to the sentence around it."""
    opening, closing = text.count("(", start, end), text.count(")", start, end)
    while end > start:
        last = text[end - 1]
        if last in _AT_END:
            end -= 1
        elif last == ";":
            entity = end - 2
            while entity > start and _is_letter(text[entity]):
                entity -= 1
            end = entity if entity < end - 2 and text[entity] == "&" else end - 1
        elif last == ")" and closing > opening:
            closing -= 1
            end -= 1
        else:
            break
    return end


def _local_part(text: str, start: int, at: int) -> tuple[int, str]:
    """Where the part of an address before its ``@`` starts, and its protocol, if it has one."""
    first, protocol = at, ""
    while first > start:
        sign = text[first - 1]
        if sign == ":" and not protocol:
            protocol = next((each for each in _MAIL_PROTOCOLS if text.endswith(each, start, first - 1)), "")
            before = first - 1 - len(protocol)
            if not protocol or (before > start and _is_letter_or_digit(text[before - 1])):
                return first, ""
            first = before
        elif _is_letter_or_digit(sign) or sign in _LOCAL_PART:
            first -= 1
        else:
            break
    return first, protocol


def _mail_domain_end(text: str, at: int, stop: int, *, is_xmpp: bool) -> int | None:
    end, dots = at + 1, 0
    while end < stop:
        sign = text[end]
        if sign == "@":
            return None
        if sign == "." and end + 1 < stop and _is_letter_or_digit(text[end + 1]):
            dots += 1
        elif not (_is_letter_or_digit(sign) or sign in "-_" or (sign == "/" and is_xmpp)):
            break
        end += 1
    if not dots or not (_is_letter(text[end - 1]) or text[end - 1] == "."):
        return None
    return _without_punctuation(text, at, end)


def _is_letter(sign: str) -> bool:
    return sign.isascii() and sign.isalpha()


def _is_letter_or_digit(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()
