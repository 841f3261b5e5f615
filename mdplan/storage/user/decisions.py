"""What people decided about plans: who, when, what for, bound to the ID of the plan.

Decisions lie in the user's state directory, outside of every root. Each is sealed with the user's key for the
root that it is about (see `user_state`): a file that was put or changed there by somebody who lacks the key
is no decision. A program that runs as the same user can read the key; approval is a guard rail and a record
against those, and a boundary only where they run as somebody else.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from mdplan.diagnostics import Diagnostic
from mdplan.storage.fs.filesystem import FileSystem
from mdplan.storage.fs.regular_file import read_leaf
from mdplan.storage.user.private_folder import PrivateFolder
from mdplan.storage.user.user_state import is_sealed, seal

# Longer than any comment that an agent should have to read.
MOST_COMMENT_CHARACTERS: Final = 2000
_FOLDER: Final = "decisions"
_PLAN_ID: Final = re.compile(r"sha256-([0-9a-f]{64})")
_STORED: Final = re.compile(r"[0-9a-f]{64}\.json")
_MOST_BYTES: Final = 16 << 20
# Sets what is sealed here apart from the records of the journal.
_KIND: Final = b"decision\0"
_OPEN_TO_OTHERS: Final = 0o077


class Verdict(StrEnum):
    """What was decided."""

    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision on the plan `plan_id`. `decided_at` is in seconds since the epoch.

    Of a plan that was approved in part, `rejected` are the indexes of the other edits, and
    `approved_plan_id` is the plan of the accepted ones; of one that was approved whole it is `plan_id`, of
    one that was rejected None. `part_of` is, in the decision on such a part, the plan that was looked at.
    `comment` is on the whole, `edit_comments` on edits, by index.
    """

    plan_id: str
    verdict: Verdict
    decided_by: str
    decided_at: float
    approved_plan_id: str | None
    comment: str = ""
    rejected: tuple[int, ...] = ()
    edit_comments: Mapping[int, str] = field(default_factory=dict)
    part_of: str | None = None

    @property
    def approves(self) -> bool:
        """Whether its plan may be committed as it is."""
        return self.verdict is Verdict.APPROVED and self.approved_plan_id == self.plan_id


class DecisionStore:
    """The decisions on plans of the root whose real path is `root_path`; the latest on each plan counts."""

    def __init__(
        self, root_path: str, directory: str | None = None, filesystem: FileSystem | None = None
    ) -> None:
        self._root_path = root_path
        self._place = PrivateFolder(root_path, _FOLDER, directory, filesystem)

    def record(self, decision: Decision) -> bool:
        """Store `decision`; False when it cannot be stored, or not so that nobody else could have."""
        named = _PLAN_ID.fullmatch(decision.plan_id)
        body = _canonical(asdict(decision))
        mark = seal(self._root_path, _KIND + body) if named is not None else ""
        if named is None or not mark:
            return False
        data = _canonical({"decision": body.decode("ascii"), "seal": mark})
        try:
            with self._place.open(makes=True) as folder:
                self._place.write(folder, f"{named[1]}.json", data)
        except OSError:
            return False
        return True

    def of(self, plan_id: str) -> Decision | None:
        """The decision on the plan of that full ID; None where there is none that can be trusted."""
        named = _PLAN_ID.fullmatch(plan_id)
        if named is None:
            return None
        try:
            with self._place.open() as folder:
                return self._read(folder, f"{named[1]}.json")
        except OSError:
            return None

    def all(self) -> tuple[Decision, ...]:
        """All decisions that can be trusted, the newest first."""
        try:
            with self._place.open() as folder:
                names = [entry.name for entry in self._place.filesystem.list(folder)]
                found = [self._read(folder, name) for name in names if _STORED.fullmatch(name)]
        except OSError:
            return ()
        decisions = (decision for decision in found if decision is not None)
        return tuple(sorted(decisions, key=lambda decision: (-decision.decided_at, decision.plan_id)))

    def changed_at(self) -> int | None:
        """When a decision was last stored or forgotten, in nanoseconds since the epoch; None for never."""
        try:
            with self._place.open() as folder:
                return self._place.filesystem.status(folder).st_mtime_ns
        except OSError:
            return None

    def forget_older(self, oldest: float) -> None:
        """Remove decisions that were stored before `oldest`, in seconds since the epoch."""
        try:
            with self._place.open() as folder:
                self._place.remove_older(folder, oldest)
        except OSError:
            return

    def _read(self, folder: int, name: str) -> Decision | None:
        found = read_leaf(self._place.filesystem, folder, name, name, _MOST_BYTES)
        if isinstance(found, Diagnostic) or found.status.st_mode & _OPEN_TO_OTHERS:
            return None
        try:
            stored = json.loads(found.data)
            body, mark = stored["decision"], stored["seal"]
            if not is_sealed(self._root_path, _KIND + body.encode("ascii"), mark):
                return None
            decision = _decision(json.loads(body))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return decision if decision.plan_id == f"sha256-{name.removesuffix('.json')}" else None


def _decision(body: Mapping[str, Any]) -> Decision:
    return Decision(
        plan_id=str(body["plan_id"]),
        verdict=Verdict(body["verdict"]),
        decided_by=str(body["decided_by"]),
        decided_at=float(body["decided_at"]),
        approved_plan_id=body["approved_plan_id"],
        comment=str(body["comment"]),
        rejected=tuple(map(int, body["rejected"])),
        edit_comments={int(index): str(comment) for index, comment in body["edit_comments"].items()},
        part_of=body["part_of"],
    )


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
