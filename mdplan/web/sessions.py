"""Sessions of the review page, and the links that open them.

A one-time link is printed in the terminal of the person who started the server, and opens a session that may
decide. A view link shows one plan and cannot decide: agents' servers send it to clients, so it is not secret.
Neither can be converted to the other. All sessions end with the process.

Each kind has pages below its own random path. Browsers send a cookie to every port of a host, but only below
its path (RFC 6265 section 5.1.4), and no attacker can lure them to a secret path.
"""

import dataclasses
import hashlib
import hmac
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from hmac import compare_digest
from threading import Lock
from typing import Final
from urllib.parse import urlencode

from mdplan.decisions import LineComment
from mdplan.diagnostics import Problems
from mdplan.review.shapes import Place
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.store import Store
from mdplan.values import Struct, field

_TOKEN_BYTES: Final = 32
_PATH_BYTES: Final = 16
_MAX_SESSIONS: Final = 100
# After this time the page must be opened again.
_IDLE_SECONDS: Final = 8 * 3600.0


class EditChoice(StrEnum):
    """What was chosen for an edit, by itself or as part of more. Nothing is accepted by default."""

    NONE = "none"
    ACCEPT = "accept"
    REJECT = "reject"
    PART = "part"


class Mark(Struct):
    """What a card shows of a person's choice for an edit before the decision on the plan."""

    choice: EditChoice = EditChoice.NONE
    comment: str = ""
    is_rewritten: bool = False


# The texts that a reader wrote in place of those of a plan, by edit and place.
OwnTexts = Mapping[int, Mapping[Place, str]]


@dataclasses.dataclass(slots=True)
class PlanNotes:
    """A browser's notes on a plan: `choices` by part, comments on edits in `said`, `viewed` files.

    `texts` replace those of the plan where these are accepted. `comments` are on lines, by number. Without
    `choices`, nothing was chosen yet. `version` increases with every change, so that other windows notice.
    """

    choices: dict[str, bool] | None = None
    said: dict[int, str] = dataclasses.field(default_factory=dict)
    viewed: set[int] = dataclasses.field(default_factory=set)
    comments: dict[int, LineComment] = dataclasses.field(default_factory=dict)
    texts: dict[int, Mapping[Place, str]] = dataclasses.field(default_factory=dict)
    version: int = 0

    @property
    def key(self) -> str:
        """A key for the choices and texts, to compare a form with its page."""
        texts = sorted((index, sorted(own.items())) for index, own in self.texts.items())
        chosen = sorted((self.choices or {}).items()), texts
        return hashlib.sha256(repr(chosen).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class FlashMessage(Struct):
    """The outcome of the last action, shown once on the next page."""

    text: str
    problems: Problems = ()


class ReviewSession(Struct):
    """A browser with all its windows; notes and notices are by plan ID.

    A deciding session sees all plans and has a `form_token` for its forms. A view session sees `only_plan`
    and has no token, so it cannot submit forms.
    """

    only_plan: str | None = None
    form_token: str | None = None
    notes: dict[str, PlanNotes] = field(default_factory=dict)
    notices: dict[str, FlashMessage] = field(default_factory=dict)

    @property
    def may_decide(self) -> bool:
        """True if a one-time link opened this session."""
        return self.only_plan is None

    def may_see(self, plan_id: str) -> bool:
        """Return True if this session shows the plan with that full ID."""
        return self.only_plan in (None, plan_id)

    def notes_on(self, plan_id: str) -> PlanNotes:
        """Return this browser's notes on the plan with that full ID."""
        return self.notes.setdefault(plan_id, PlanNotes())

    def owns(self, form_token: str) -> bool:
        """Return True if the token belongs to this session."""
        return self.form_token is not None and _equal(form_token, self.form_token)


class SessionStore:
    """Sessions of one kind by cookie value, in order of last use; the longest idle end first.

    `base` is the path of their pages, with a trailing slash, `cookie` the cookie's name. Both are random, so
    that no other server on the host can request or overwrite the cookie.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.base: Final = f"/review/{secrets.token_urlsafe(_PATH_BYTES)}/"
        self.cookie: Final = f"mdplan_{secrets.token_hex(4)}"
        self._clock = clock
        self._used: dict[str, tuple[ReviewSession, float]] = {}
        self._lock = Lock()

    def add(self, session: ReviewSession) -> str:
        """Add `session` and return its cookie value."""
        value = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._used[value] = (session, self._clock())
            while len(self._used) > _MAX_SESSIONS:
                del self._used[next(iter(self._used))]
        return value

    def of(self, cookies: Mapping[str, str]) -> ReviewSession | None:
        """Return the session for these cookies, marking it as used."""
        value = cookies.get(self.cookie, "")
        with self._lock:
            now = self._clock()
            while self._used and now - next(iter(self._used.values()))[1] > _IDLE_SECONDS:
                del self._used[next(iter(self._used))]
            session, _ = self._used.pop(value, (None, now))
            if session is not None:
                self._used[value] = (session, now)
            return session

    def covers(self, path: str) -> bool:
        """Return True if `path` is within the pages of these sessions."""
        return path.startswith(self.base) or path == self.base.rstrip("/")


class ReviewSessions:
    """The links and sessions of a server; `clock` is monotonic, in seconds.

    Deciding and viewing sessions are separate: an agent opening many view links cannot end a person's session
    or learn its path.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.view_key = secrets.token_hex(_TOKEN_BYTES)
        self.deciding: Final = SessionStore(clock)
        self.viewing: Final = SessionStore(clock)
        self._links: set[str] = set()
        self._lock = Lock()

    def new_link(self) -> str:
        """Return the token of a new one-time link."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._links.add(token)
        return token

    def is_link(self, token: str) -> bool:
        """Return True if `token` would start a session."""
        with self._lock:
            return self._matching_link(token) is not None

    def start(self, token: str) -> str | None:
        """Start a session from a one-time link, using it up; return its cookie value."""
        with self._lock:
            link = self._matching_link(token)
            if link is None:
                return None
            self._links.discard(link)
        return self.deciding.add(ReviewSession(form_token=secrets.token_urlsafe(_TOKEN_BYTES)))

    def start_view(self, plan_id: str, token: str) -> str | None:
        """Start a session from a view link of the plan with that full ID; return its cookie value."""
        if not self.is_view_link(plan_id, token):
            return None
        return self.viewing.add(ReviewSession(only_plan=plan_id))

    def is_view_link(self, plan_id: str, token: str) -> bool:
        """Return True if `token` is a view link of the plan with that full ID."""
        return _equal(token, view_token(self.view_key, plan_id))

    def _matching_link(self, token: str) -> str | None:
        return next((each for each in self._links if _equal(token, each)), None)


def _equal(given: str, expected: str) -> bool:
    return compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


# --- Where the review page of a root is served, so that an agent's server can show a plan to people
#
# The address is for viewing: it opens a page that shows one plan and cannot decide.


def view_token(view_key: str, plan_id: str) -> str:
    """Return the token of the view link for a plan."""
    return hmac.new(view_key.encode(), plan_id.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def announce(root_path: str, address: str, view_key: str) -> bool:
    """Record that this process serves the review of the root; return False if it cannot be stored.

    `root_path` is the root's real path; `address` is a URL that takes the query `plan` and `token`.
    """
    try:
        with Store(root_path).write(syncs=False) as database:
            database.execute("DELETE FROM review")
            database.execute("INSERT INTO review VALUES (?, ?, ?)", (address, view_key, os.getpid()))
    except StorageRefused:
        return False
    return True


def withdraw(root_path: str) -> None:
    """Remove the record of this process, if any."""
    with suppress(StorageRefused), Store(root_path).write(syncs=False) as database:
        database.execute("DELETE FROM review WHERE process = ?", (os.getpid(),))


def address_of(root_path: str, plan_id: str) -> str | None:
    """Return the view URL for a plan of the root; None if no process serves it."""
    row = None
    with suppress(StorageRefused), Store(root_path).read() as database:
        if database is not None:
            row = database.execute("SELECT address, view_key, process FROM review").fetchone()
    if row is None or not _is_running(row[2]):
        return None
    return f"{row[0]}?{urlencode({'plan': plan_id, 'token': view_token(row[1], plan_id)})}"


def _is_running(process: int) -> bool:
    if sys.platform == "win32":
        # There, `os.kill` would end it.
        from mdplan.storage.windows import is_running

        return is_running(process)
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
