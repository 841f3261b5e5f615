"""Many workers on one folder, and what has to hold when they are done."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from mdplan.storage.filesystem import FAILPOINT_VARIABLE
from mdplan.storage.store import Store
from tests.concurrency.attempts import START, Attempt, Log, digest, lines_of
from tests.concurrency.order import chain_of, contradictions, disorder
from tests.concurrency.worker import Job, SectionJob
from tests.crash.aftermath import unclean

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Crowd:
    """Files of one folder that are edited at the same time."""

    folder: Path
    logs: Path
    names: tuple[str, ...]

    @classmethod
    def of(cls, parent: Path, files: int) -> "Crowd":
        crowd = cls(parent / "root", parent / "logs", tuple(f"file-{number}.md" for number in range(files)))
        crowd.folder.mkdir()
        crowd.logs.mkdir()
        for name in crowd.names:
            (crowd.folder / name).write_text(START)
        return crowd

    def job(self, number: int, edits: int, at_once: int = 1, first: int = 0) -> Job:
        return Job(
            number=number,
            folder=str(self.folder),
            logs=str(self.logs),
            names=list(self.names),
            at_once=at_once,
            first=first,
            last=edits,
        )

    def attempts(self) -> list[Attempt]:
        return [attempt for file in sorted(self.logs.glob("*.log")) for attempt in Log(file).read()]

    def check(self, applied: int | None = None) -> None:
        """One chain for every file, one order for all, nothing lost and nothing left behind.

        `applied` is how many attempts should have been applied.
        """
        attempts = self.attempts()
        assert applied in (None, sum(attempt.is_applied for attempt in attempts))
        chains = {}
        for name in self.names:
            text = (self.folder / name).read_text()
            chains[name] = chain_of(name, digest(START), digest(text), attempts)
            lines = lines_of(text)
            assert len(lines) == len(set(lines)) == len(chains[name])
            assert list(disorder(name, digest(START), chains[name], attempts)) == []
        assert list(contradictions(chains)) == []
        assert list(unclean(self.folder)) == []
        self._check_history(chains)

    def _check_history(self, chains: dict[str, list[Attempt]]) -> None:
        """Check that the history has the ends of the same chains, as far as it goes back."""
        edges: dict[str, list[tuple[str, str]]] = {name: [] for name in self.names}
        for found in Store(os.path.realpath(self.folder)).transactions():
            for file in found.record.entries if found.state == "committed" else ():
                edges[file.path].insert(0, (file.base or "", file.result or ""))
        for name, chain in chains.items():
            kept = edges[name]
            assert kept == [attempt.edges[name] for attempt in chain][len(chain) - len(kept) :]


def started(job: Job | SectionJob, failpoint: str = "") -> subprocess.Popen[bytes]:
    """A process that does the job, or is killed at that failpoint."""
    module = "tests.concurrency.worker"
    command = [sys.executable, "-m", module, type(job).__name__, json.dumps(asdict(job))]
    return subprocess.Popen(command, cwd=REPOSITORY, env={**os.environ, FAILPOINT_VARIABLE: failpoint})


def in_processes(jobs: Sequence[Job | SectionJob]) -> None:
    """Run all jobs at once, each in a separate process."""
    with ExitStack() as stack:
        processes = [stack.enter_context(started(job)) for job in jobs]
    assert [process.returncode for process in processes] == [0] * len(jobs)
