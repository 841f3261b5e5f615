"""Words and numbers as people read them on the page. None of this is HTML: the templates escape it."""

from datetime import datetime

from mdplan.plan import PREFIX
from mdplan.text.source import visible
from mdplan.text.visible import escaped

_SHORT_DIGITS = 12


def shown(text: str) -> str:
    """Text of a file, a path or a comment, in which nothing hides and nothing steers."""
    return escaped(visible(text))


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 file``, ``1,000 files``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def short(sha256: str) -> str:
    """The first digits of a plan ID or hash, enough to know it again."""
    return sha256.removeprefix(PREFIX)[:_SHORT_DIGITS]


def date_of(seconds: float) -> datetime:
    """The time `seconds` since the epoch, in the time zone of this machine."""
    return datetime.fromtimestamp(seconds).astimezone()


def day_and_time(moment: datetime) -> str:
    """``21 Nov 2026, 09:15``."""
    return f"{moment.day} {moment:%b %Y, %H:%M}"


def title_of(edits: int, paths: list[str]) -> str:
    """What a plan does, in a line: ``3 edits in guide.md and 2 more files``."""
    more = f" and {counted(len(paths) - 1, 'more file')}" if len(paths) > 1 else ""
    return f"{counted(edits, 'edit')} in {shown(paths[0])}{more}"
