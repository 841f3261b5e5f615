"""Edit files in a separate process and engine: `python -m tests.concurrency.worker KIND JSON`."""

import json
import random
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mdplan.engine.engine import Engine
from mdplan.settings import Settings
from tests.concurrency.attempts import PATIENCE, Apply, Log, Moments, Worker


@dataclass(frozen=True, kw_only=True)
class Job:
    """The job of a worker: its lines `first` to `last`, each written into `at_once` of the files `names`."""

    number: int
    folder: str
    logs: str
    names: list[str] = field(default_factory=list)
    at_once: int = 1
    first: int = 0
    last: int = 0

    def worker(self, apply: Apply) -> Worker:
        logs = Path(self.logs)
        return Worker(
            number=self.number,
            folder=Path(self.folder),
            apply=apply,
            log=Log(logs / f"{self.number}.log"),
            moments=Moments(logs / "moments"),
        )

    def run(self, apply: Apply) -> None:
        """Do it all."""
        worker, draw = self.worker(apply), random.Random(f"{self.number} {self.first}")
        for number in range(self.first, self.last):
            worker.edit(draw.sample(self.names, self.at_once), number)
        worker.moments.close()


def count(section: int, value: int) -> dict[str, Any]:
    """Return an edit that increments the counter of a section, pinned by its current value."""
    return {
        "op": "replace_match",
        "headingPath": [f"Section {section}"],
        "pattern": f"Value: {value}.",
        "replacement": f"Value: {value + 1}.",
        "expectedMatchCount": 1,
    }


@dataclass(frozen=True, kw_only=True)
class SectionJob:
    """The job of a worker that counts in its own section, and ignores the rest of the file."""

    number: int
    folder: str
    name: str
    last: int

    def run(self, apply: Apply) -> None:
        """Count from 0 to `last`; each time at the first attempt."""
        for value in range(self.last):
            code = apply({"file": self.name, "edits": [count(self.number, value)]})
            assert code is None, code


def open_engine(folder: str) -> Engine:
    return Engine.open([folder], settings=Settings(lock_timeout=PATIENCE))


def through(engine: Engine) -> Apply:
    def apply(batch: dict[str, Any]) -> str | None:
        report = engine.apply(batch)
        return None if report.ok else str(report.diagnostics[0].code)

    return apply


def in_threads(jobs: list[Job], applies: list[Apply]) -> None:
    """Run all jobs at once, and fail if one of them fails."""
    failures: list[BaseException] = []

    def run(job: Job, apply: Apply) -> None:
        try:
            job.run(apply)
        except BaseException as failure:  # noqa: BLE001 - It is raised again below.
            failures.append(failure)

    threads = [threading.Thread(target=run, args=pair) for pair in zip(jobs, applies, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures:
        raise failure


if __name__ == "__main__":
    kind = {"Job": Job, "SectionJob": SectionJob}[sys.argv[1]]
    job = kind(**json.loads(sys.argv[2]))
    job.run(through(open_engine(job.folder)))
