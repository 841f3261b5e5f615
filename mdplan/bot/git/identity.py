"""Who makes a commit, when, and what it says: as git finds it out, from variables and its configuration."""

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final, Literal

from mdplan.client import Client
from mdplan.diagnostics import Diagnostic
from mdplan.git.repository import CLIENT_TRAILER, PLAN_TRAILER, TITLE_TRAILER
from mdplan.plan import NO_INTENT, Intent
from mdplan.storage.names import visible
from mdplan.text.visible import escaped

_GIVEN: Final = re.compile(r"([^<>\0\r\n]*[^<>\s\0])\s*<([^<>\0\r\n]+)>")
_STAMP: Final = re.compile(r"@?(\d{1,12})(?:\s+([+-])(\d\d)(\d\d))?")
_TRAILER_LINE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*: \S.*")
# What git takes away at both ends of a name, besides blanks and controls.
_CRUD: Final = ".,:;<>\"\\'" + "".join(map(chr, range(33)))
_INSIDE: Final = {ord(character): None for character in "<>\n\0"}


@dataclass(frozen=True, slots=True)
class Signature:
    """Who and when: a name with an address, seconds since the epoch, and seconds east of Greenwich."""

    who: bytes
    seconds: int
    offset: int


def signature(
    role: Literal["author", "committer"],
    config: Mapping[str, str],
    now: float,
    given: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Signature | Diagnostic:
    """Who is the `role` of a commit that is made `now`, in seconds since the epoch.

    It is `given` (``Name <address>``), else the `environment` (GIT_AUTHOR_NAME and its like), else `config`
    (`author.name`, then `user.name`). Never guessed. Errors: INVALID_ARGUMENT.
    """
    variables = f"GIT_{role.upper()}_"
    when = _moment(environment.get(f"{variables}DATE"), now)
    if when is None:
        message = f"`{variables}DATE` is not a time"
        return Diagnostic.invalid(
            message, "write it as 2026-01-31T12:00:00+01:00, or as seconds since the epoch"
        )
    if given is not None:
        written = _GIVEN.fullmatch(given.strip())
        if written is None:
            return Diagnostic.invalid(f"`{visible(given)}` is not an author", "write it as `Name <address>`")
        name, address = _clean(written[1]), _clean(written[2])
    else:
        name = _clean(
            environment.get(f"{variables}NAME") or config.get(f"{role}.name") or config.get("user.name", "")
        )
        address = _clean(
            environment.get(f"{variables}EMAIL")
            or config.get(f"{role}.email")
            or config.get("user.email")
            or environment.get("EMAIL", "")
        )
    if not name or not address:
        missing = "email" if name else "name"
        hint = f"set {variables}{missing.upper()}, or `git config user.{missing}`"
        return Diagnostic.invalid(f"the {role} has no {missing}", hint)
    return Signature(f"{name} <{address}>".encode("utf-8", "surrogateescape"), *when)


def commit_message(
    given: str | None,
    manifest: str,
    plan_id: str,
    intent: Intent = NO_INTENT,
    client: Client | None = None,
) -> bytes:
    """What a commit says: what was `given`, else what it is for, else that it is of `manifest`.

    The plan is its last trailer, after the `client` that made it and a title that is not the subject.
    """
    name = manifest.replace("\\", "/").rpartition("/")[2]
    purpose = "\n\n".join(filter(None, (intent.title, intent.description)))
    text = (given or "").replace("\r\n", "\n").strip() or purpose or f"Apply {visible(name)}"
    lines = [line.rstrip() for line in text.split("\n")]
    last = lines[max((index for index, line in enumerate(lines) if not line), default=len(lines)) + 1 :]
    # A trailer is with others that are there, else in a paragraph of its own.
    between = "" if last and all(map(_TRAILER_LINE.fullmatch, last)) else "\n"
    trailers = [f"{TITLE_TRAILER}: {intent.title}"] if intent.title not in ("", lines[0]) else []
    trailers += [f"{CLIENT_TRAILER}: {escaped(str(client))}"] if client is not None else []
    trailers.append(f"{PLAN_TRAILER}: {plan_id}")
    message = "\n".join(lines) + f"\n{between}" + "\n".join(trailers) + "\n"
    return message.encode("utf-8", "surrogateescape").replace(b"\0", b"")


def plan_of(message: bytes) -> str | None:
    """The plan that a commit with this `message` was made of; None for a commit of others."""
    last = message.decode("utf-8", "surrogateescape").rstrip("\n").rpartition("\n")[2]
    name, colon, plan_id = last.partition(": ")
    return plan_id if colon and name == PLAN_TRAILER else None


def _clean(text: str) -> str:
    """`text` without what git takes out of names and addresses."""
    return text.strip(_CRUD).translate(_INSIDE)


def _moment(given: str | None, now: float) -> tuple[int, int] | None:
    """Seconds since the epoch and the offset, of a time as git writes it; None for what is none."""
    if not given:
        return int(now), _local_offset(int(now))
    stamp = _STAMP.fullmatch(given.strip())
    if stamp is not None:
        seconds = int(stamp[1])
        if stamp[2] is None:
            return seconds, _local_offset(seconds)
        offset = int(stamp[3]) * 3600 + int(stamp[4]) * 60
        return seconds, offset if stamp[2] == "+" else -offset
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(given.strip()).astimezone()
        except (ValueError, OverflowError, OSError):
            continue
        zone = read(given.strip()).utcoffset()
        seconds = int(moment.timestamp())
        return seconds, int(zone.total_seconds()) if zone is not None else _local_offset(seconds)
    return None


def _local_offset(seconds: int) -> int:
    return time.localtime(seconds).tm_gmtoff
