"""One commit through the command line, from the same start again and again, and what is wrong after it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL

from mdplan.storage.filesystem import Step
from tests.crash.aftermath import (
    BEFORE,
    ELSEWHERE,
    NEW,
    OLD,
    Saved,
    Tree,
    batch,
    committed,
    doctor_problems,
    history_problems,
    outcome,
    result_of,
    torn,
    unclean,
)
from tests.crash.commands import Commands, Ended, Watch
from tests.support.files import tree

APPLY, RECOVER = ("apply", "-", "--json"), ("recover", "--json")
# They do not change the disk, so a kill before one of them is like a kill before the next operation.
LOOKING = frozenset(
    {
        *(Step.OPEN_ROOT, Step.OPEN_DIRECTORY, Step.OPEN_FILE, Step.STATUS, Step.READ, Step.READ_LINK),
        *(Step.LIST, Step.MAY_WRITE, Step.READ_ATTRIBUTES, Step.CLOSE, Step.SYNC, Step.SYNC_DIRECTORY),
        *(Step.LOCK, Step.STORE_READ, Step.STORE_BEGIN),
    }
)


@dataclass(frozen=True)
class Trial:
    """One commit of the batch, from the same start again and again. `steps` are its disk operations."""

    mdplan: Commands
    start: Saved
    old: Tree
    new: Tree
    steps: tuple[Step, ...]
    earlier: int

    @classmethod
    def of(cls, mdplan: Commands, parent: Path, make: Callable[[Path], None]) -> "Trial":
        folder = parent / "root"
        folder.mkdir()
        make(folder)
        start, old, earlier = Saved.of(folder, parent / "start"), tree(folder), committed(folder)
        ended = mdplan.run(folder, *APPLY, stdin=batch())
        new = tree(folder)
        assert (ended.code, ended.json["applied"], new) == (0, True, result_of(old)), ended
        return cls(mdplan, start, old, new, ended.steps, earlier)

    @property
    def folder(self) -> Path:
        return self.start.folder

    def run(self, *, signals: Mapping[int, int] | None = None, watch: Watch | None = None) -> Ended:
        """Bring the start back and commit the batch, disturbed or watched as `Commands.run` does it."""
        self.start.bring_back()
        return self.mdplan.run(self.folder, *APPLY, stdin=batch(), signals=signals, watch=watch)

    def kill(self, point: int) -> list[str]:
        """Kill the commit before that disk operation, and check what readers see afterwards."""
        assert self.run(signals={point: SIGKILL}).killed, f"the operation {point} was not reached"
        return self.torn()

    def torn(self) -> list[str]:
        """Return what no reader may see, even before recovery."""
        return list(torn(self.folder, self.old, self.new))

    def outcome(self) -> str:
        """Return whether all files are old, all are new, or they are mixed."""
        return outcome(tree(self.folder), self.old, self.new)

    def promised(self) -> str:
        """Return the required result of recovery: all new once the record says committed."""
        return NEW if committed(self.folder) > self.earlier else OLD

    def left(self, promised: str) -> Iterator[str]:
        """Return differences from the `promised` state."""
        if (found := self.outcome()) != promised:
            yield f"all is {found} and not {promised}"
        yield from unclean(self.folder)
        new = int(promised == NEW)
        paths = {"new/deep/made.md": new, "docs/name.md": new, "a.md": self.earlier + new}
        yield from history_problems(self.folder, paths)
        yield from doctor_problems(self.folder)

    def apply(self, promised: str) -> Iterator[str]:
        """Send the batch once more; what is wrong afterwards."""
        ended = self.mdplan.run(self.folder, *APPLY, stdin=batch())
        if ended.code != 0 or ended.json.get("alreadyApplied", False) is not (promised == NEW):
            yield f"applied again: {ended}"
        yield from self.left(NEW)

    def change_another(self) -> Iterator[str]:
        """Commit a change of another file, and take it back without a commit."""
        ended = self.mdplan.run(self.folder, *APPLY, stdin=ELSEWHERE)
        if ended.code != 0:
            yield f"another commit: {ended}"
        (self.folder / "other.md").write_text(BEFORE["other.md"])


def changing(steps: tuple[Step, ...]) -> list[int]:
    """The operations (from 1) that change what is on the disk."""
    return [number for number, step in enumerate(steps, 1) if step not in LOOKING]
