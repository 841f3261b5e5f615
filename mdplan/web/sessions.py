"""Who may see the page: links that open it, and the visits that they start.

A link is printed for a person and works once; opening it gives the browser a cookie, and that is the visit.
The standing link does not wear out: it lies in the user's state directory for servers of agents, which hand
it to people alone. All of it is forgotten with the process.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from hmac import compare_digest
from threading import Lock
from typing import Final

from mdplan.diagnostics import Problems

_TOKEN_BYTES: Final = 32
_MOST_VISITS: Final = 100


@dataclass(frozen=True, slots=True)
class Mark:
    """What a person thinks of one edit before deciding on the plan."""

    is_rejected: bool = False
    comment: str = ""


def verdicts_key(marks: Mapping[int, Mark]) -> str:
    """A short text that stands for the rejected edits: what a page shows, told by the form that decides."""
    rejected = sorted(index for index, mark in marks.items() if mark.is_rejected)
    return hashlib.sha256(repr(rejected).encode("ascii")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Notice:
    """What came of the last thing that was asked: shown once, on the next page."""

    text: str
    problems: Problems = ()


@dataclass(frozen=True, slots=True)
class Visit:
    """One browser. `form_token` stands in every form; `marks` and `notices` are by plan ID."""

    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(_TOKEN_BYTES))
    marks: dict[str, dict[int, Mark]] = field(default_factory=dict)
    notices: dict[str, Notice] = field(default_factory=dict)

    def owns(self, form_token: str) -> bool:
        """Whether a form with that token comes from a page of this visit."""
        return _equal(form_token, self.form_token)


class Visits:
    """The links and visits of one server."""

    def __init__(self) -> None:
        self.standing_token = secrets.token_urlsafe(_TOKEN_BYTES)
        # Cookies are shared by all servers of a host, whatever their ports: each has a name of its own.
        self.cookie = f"mdplan_review_{secrets.token_hex(4)}"
        self._links: set[str] = set()
        self._visits: dict[str, Visit] = {}
        self._lock = Lock()

    def new_link(self) -> str:
        """Token of a link that works once."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._links.add(token)
        return token

    def is_link(self, token: str) -> bool:
        """Whether a link with that token would start a visit."""
        with self._lock:
            return self._found(token) is not None

    def start(self, token: str) -> str | None:
        """Start a visit by the link with that token, which is used up; the value of its cookie."""
        with self._lock:
            found = self._found(token)
            if found is None:
                return None
            self._links.discard(found)
            value = secrets.token_urlsafe(_TOKEN_BYTES)
            self._visits[value] = Visit()
            while len(self._visits) > _MOST_VISITS:
                del self._visits[next(iter(self._visits))]
            return value

    def of(self, cookies: Mapping[str, str]) -> Visit | None:
        """The visit of a browser that sends those cookies."""
        return self._visits.get(cookies.get(self.cookie, ""))

    def _found(self, token: str) -> str | None:
        return next((each for each in (*self._links, self.standing_token) if _equal(token, each)), None)


def _equal(given: str, expected: str) -> bool:
    return compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())
