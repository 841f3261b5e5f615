"""Which plan was derived from which, and which its author made in place of which.

Derived are parts, rebased plans, and plans that were planned again.
Each link is an empty file in the user's state directory, named by both plans.
"""

import re
from typing import ClassVar, Final

from mdplan.storage.fs.filesystem import FileSystem
from mdplan.storage.user.private_folder import PrivateFolder

_PLAN_ID: Final = re.compile(r"sha256-([0-9a-f]{64})")
_LINK: Final = re.compile(r"([0-9a-f]{64})-from-([0-9a-f]{64})")


class Origins:
    """The links between plans of the root whose real path is `root_path`."""

    folder: ClassVar[str] = "origins"

    def __init__(
        self, root_path: str, directory: str | None = None, filesystem: FileSystem | None = None
    ) -> None:
        self._place = PrivateFolder(root_path, self.folder, directory, filesystem)

    def add(self, plan_id: str, origin: str) -> bool:
        """Record that the plan `plan_id` was derived from `origin`; False where nothing is stored."""
        child, parent = _PLAN_ID.fullmatch(plan_id), _PLAN_ID.fullmatch(origin)
        if child is None or parent is None:
            return False
        if plan_id == origin:
            return True
        try:
            with self._place.open(makes=True) as folder:
                self._place.write(folder, f"{child[1]}-from-{parent[1]}", b"")
        except OSError:
            return False
        return True

    def of(self, plan_id: str) -> frozenset[str]:
        """The plans that `plan_id` was derived from, at any distance."""
        return self._reached(plan_id, [(child, parent) for child, parent in self._links()])

    def derived_from(self, plan_id: str) -> frozenset[str]:
        """The plans that were derived from `plan_id`, at any distance."""
        return self._reached(plan_id, [(parent, child) for child, parent in self._links()])

    def _links(self) -> list[tuple[str, str]]:
        """Each derived plan with one that it was derived from."""
        try:
            with self._place.open() as folder:
                found = [_LINK.fullmatch(entry.name) for entry in self._place.filesystem.list(folder)]
        except OSError:
            return []
        return [(f"sha256-{link[1]}", f"sha256-{link[2]}") for link in found if link is not None]

    def _reached(self, plan_id: str, steps: list[tuple[str, str]]) -> frozenset[str]:
        reached: set[str] = set()
        waiting = [plan_id]
        while waiting:
            at = waiting.pop()
            new = {end for start, end in steps if start == at} - reached
            reached |= new
            waiting += new
        return frozenset(reached - {plan_id})


class Revisions(Origins):
    """Which plan its author made in place of which: a decision on one says nothing of the other."""

    folder: ClassVar[str] = "revisions"

    def last_of(self, plan_id: str) -> str | None:
        """The plan in whose place `plan_id` was made, as it was said last."""
        digits = plan_id.partition("-")[2]
        try:
            with self._place.open() as folder:
                links = [
                    (self._place.filesystem.status_of(folder, entry.name).st_mtime_ns, link[2])
                    for entry in self._place.filesystem.list(folder)
                    if (link := _LINK.fullmatch(entry.name)) and link[1] == digits
                ]
        except OSError:
            return None
        return f"sha256-{max(links)[1]}" if links else None
