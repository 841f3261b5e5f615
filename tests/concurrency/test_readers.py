"""Programs that only read, without any lock, while others commit: no file is ever missing or torn."""

import json
import subprocess
import sys

import pytest

from tests.concurrency.attempts import START, digest
from tests.concurrency.crowd import REPOSITORY, Crowd, in_processes
from tests.crash.aftermath import in_memory


@pytest.mark.parametrize(
    ("workers", "edits"), [(2, 8), pytest.param(4, 60, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_readers_see_only_committed_contents(workers: int, edits: int) -> None:
    with in_memory() as folder:
        crowd = Crowd.of(folder, 4)
        stop = folder / "stop"
        command = [sys.executable, "-m", "tests.concurrency.reader", crowd.folder, stop, *crowd.names]
        readers = [
            subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]
        in_processes([crowd.job(number, edits, at_once=4) for number in range(workers)])
        stop.touch()
        seen = [json.loads(reader.communicate()[0]) for reader in readers]

        crowd.check(applied=workers * edits)
        applied = [attempt for attempt in crowd.attempts() if attempt.is_applied]
        for name in crowd.names:
            committed = {digest(START)} | {attempt.edges[name][1] for attempt in applied}
            assert [set(each[name]) - committed for each in seen] == [set(), set()]
            # The last content at least, which was there when they were told to end.
            assert all(each[name] for each in seen)
