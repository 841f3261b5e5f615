"""Sessions of the review page, and the links that open them.

There are two kinds of links. A one-time link is printed in the terminal of the person who started the server,
and opens a session that may decide. A view link shows one plan and cannot decide: servers of agents send it
to clients, so it is no secret. Nothing turns one kind into the other. All sessions end with the process.

Each kind has pages below a random path of its own. Browsers send a cookie to every port of a host, but only
below the path of the cookie (RFC 6265 section 5.1.4): no one can lure a browser to a path that is secret.
"""

import dataclasses
import hashlib
import hmac
import os
import secrets
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
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.store import Store
from mdplan.values import Struct, field

_TOKEN_BYTES: Final = 32
_PATH_BYTES: Final = 16
_MAX_SESSIONS: Final = 100
# A person who went away for longer opens the page again.
_IDLE_SECONDS: Final = 8 * 3600.0


class EditChoice(StrEnum):
    """The choice of a person for one edit. Nothing is accepted by default."""

    NONE = "none"
    ACCEPT = "accept"
    REJECT = "reject"


class Mark(Struct):
    """The mark of a person on one edit before the decision on the plan."""

    choice: EditChoice = EditChoice.NONE
    comment: str = ""

    @property
    def is_rejected(self) -> bool:
        """Whether a decision on the plan rejects the edit."""
        return self.choice is EditChoice.REJECT


def verdicts_key(marks: Mapping[int, Mark]) -> str:
    """A short text that stands for the rejected edits: what a page shows, told by the form that decides."""
    rejected = sorted(index for index, mark in marks.items() if mark.is_rejected)
    return hashlib.sha256(repr(rejected).encode("ascii")).hexdigest()[:16]


@dataclasses.dataclass(slots=True)
class PlanNotes:
    """The notes of one browser on one plan: `marks` by edit, `viewed` files, comments by number.

    `version` grows with every change, so that other windows of the browser learn of it.
    """

    marks: dict[int, Mark] | None = None
    viewed: set[int] = dataclasses.field(default_factory=set)
    comments: dict[int, LineComment] = dataclasses.field(default_factory=dict)
    version: int = 0

    def add_comment(self, comment: LineComment) -> int:
        """Add a comment; its number."""
        number = max(self.comments, default=0) + 1
        self.comments[number] = comment
        return number


class FlashMessage(Struct):
    """The outcome of the last action, shown once on the next page."""

    text: str
    problems: Problems = ()


class ReviewSession(Struct):
    """One browser, with all its windows. Notes and notices are by plan ID.

    A session that may decide sees all plans, and has a `form_token`, which is in every form. A session of a
    view link sees `only_plan`, and has no token, so no form that it sends is valid.
    """

    only_plan: str | None = None
    form_token: str | None = None
    notes: dict[str, PlanNotes] = field(default_factory=dict)
    notices: dict[str, FlashMessage] = field(default_factory=dict)

    @property
    def may_decide(self) -> bool:
        """Whether this session was opened by a one-time link."""
        return self.only_plan is None

    def may_see(self, plan_id: str) -> bool:
        """Whether this session shows the plan of that full ID."""
        return self.only_plan in (None, plan_id)

    def notes_on(self, plan_id: str) -> PlanNotes:
        """What this browser noted about the plan of that full ID."""
        return self.notes.setdefault(plan_id, PlanNotes())

    def owns(self, form_token: str) -> bool:
        """Return True if a form with that token comes from a page of this session."""
        return self.form_token is not None and _equal(form_token, self.form_token)


class SessionStore:
    """Sessions of one kind by the value of their cookie, the last used at the end; the longest idle ones end.

    `base` is the path of their pages, with a slash at its end, and `cookie` the name of their cookie. Both
    are random: no server on the same host can ask for the cookie, or overwrites it.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.base: Final = f"/review/{secrets.token_urlsafe(_PATH_BYTES)}/"
        self.cookie: Final = f"mdplan_{secrets.token_hex(4)}"
        self._clock = clock
        self._used: dict[str, tuple[ReviewSession, float]] = {}
        self._lock = Lock()

    def add(self, session: ReviewSession) -> str:
        """Add `session`; the value of its cookie."""
        value = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._used[value] = (session, self._clock())
            while len(self._used) > _MAX_SESSIONS:
                del self._used[next(iter(self._used))]
        return value

    def of(self, cookies: Mapping[str, str]) -> ReviewSession | None:
        """The session of a browser that sends those cookies, which is used now."""
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
        """Whether a page of these sessions may be at that path."""
        return path.startswith(self.base) or path == self.base.rstrip("/")


class ReviewSessions:
    """The links and sessions of one server. `clock` gives seconds that only grow.

    `deciding` are the sessions that may decide, `viewing` those that show one plan. They are separate: an
    agent that opens many view links ends no session of a person, and learns no path of theirs.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.view_key = secrets.token_hex(_TOKEN_BYTES)
        self.deciding: Final = SessionStore(clock)
        self.viewing: Final = SessionStore(clock)
        self._links: set[str] = set()
        self._lock = Lock()

    def new_link(self) -> str:
        """Token of a link that works once."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        with self._lock:
            self._links.add(token)
        return token

    def is_link(self, token: str) -> bool:
        """Whether a link with that token would start a session."""
        with self._lock:
            return self._matching_link(token) is not None

    def start(self, token: str) -> str | None:
        """Start a session by the link with that token, which is used up; the value of its cookie."""
        with self._lock:
            link = self._matching_link(token)
            if link is None:
                return None
            self._links.discard(link)
        return self.deciding.add(ReviewSession(form_token=secrets.token_urlsafe(_TOKEN_BYTES)))

    def start_view(self, plan_id: str, token: str) -> str | None:
        """Start a session that shows the plan of that full ID by its view link; the value of its cookie."""
        if not self.is_view_link(plan_id, token):
            return None
        return self.viewing.add(ReviewSession(only_plan=plan_id))

    def is_view_link(self, plan_id: str, token: str) -> bool:
        """Whether a view link with that token shows the plan of that full ID."""
        return _equal(token, view_token(self.view_key, plan_id))

    def _matching_link(self, token: str) -> str | None:
        return next((each for each in self._links if _equal(token, each)), None)


def _equal(given: str, expected: str) -> bool:
    return compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


# --- Where the review page of a root is served, so that a server of agents can show a plan to people.
#
# The address is for viewing: clients receive it, and it opens a page that shows one plan and cannot decide.


def view_token(view_key: str, plan_id: str) -> str:
    """The token of the link that shows one plan, for the server with that key."""
    return hmac.new(view_key.encode(), plan_id.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def announce(root_path: str, address: str, view_key: str) -> bool:
    """Record that this process serves the review of the root; False where that cannot be stored.

    `root_path` is the root's real path, `address` the URL that takes the query `plan` and `token`.
    """
    try:
        with Store(root_path).write(syncs=False) as database:
            database.execute("DELETE FROM review")
            database.execute("INSERT INTO review VALUES (?, ?, ?)", (address, view_key, os.getpid()))
    except StorageRefused:
        return False
    return True


def withdraw(root_path: str) -> None:
    """Remove the record of this process; the record of another process stays."""
    with suppress(StorageRefused), Store(root_path).write(syncs=False) as database:
        database.execute("DELETE FROM review WHERE process = ?", (os.getpid(),))


def address_of(root_path: str, plan_id: str) -> str | None:
    """The URL that shows the plan of the root, and cannot decide; None where no process serves one."""
    row = None
    with suppress(StorageRefused), Store(root_path).read() as database:
        if database is not None:
            row = database.execute("SELECT address, view_key, process FROM review").fetchone()
    if row is None or not _is_running(row[2]):
        return None
    return f"{row[0]}?{urlencode({'plan': plan_id, 'token': view_token(row[1], plan_id)})}"


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
