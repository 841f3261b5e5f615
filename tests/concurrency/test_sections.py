"""Batches that touch different sections of one file, each pinned by its own evidence: all of them land."""

from pathlib import Path
from typing import Any

import pytest

from mdplan.engine.plans import Planner
from mdplan.requests.batch import Batch
from tests.concurrency.crowd import in_processes
from tests.concurrency.worker import SectionJob, count, open_engine
from tests.crash.aftermath import in_memory, unclean

NAME = "shared.md"


def document(sections: int, value: int) -> str:
    return "# Shared\n" + "".join(f"\n## Section {number}\n\nValue: {value}.\n" for number in range(sections))


def change(number: int) -> dict[str, Any]:
    return {"file": NAME, "edits": [count(number, 0)]}


@pytest.mark.parametrize(
    ("workers", "edits"), [(3, 4), pytest.param(8, 40, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_concurrent_counters_in_separate_sections_lose_no_increment(workers: int, edits: int) -> None:
    """None of them is refused, not even once."""
    with in_memory() as folder:
        (folder / NAME).write_text(document(workers, 0))
        in_processes(
            [
                SectionJob(number=number, folder=str(folder), name=NAME, last=edits)
                for number in range(workers)
            ]
        )

        assert (folder / NAME).read_text() == document(workers, edits)
        assert list(unclean(folder)) == []


def test_batch_overtaken_after_planning_is_committed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / NAME).write_text(document(2, 0))
    slow, fast = open_engine(str(tmp_path)), open_engine(str(tmp_path))
    plan, planned = Planner.plan, []

    def overtaken(planner: Planner, batch: Batch, *more: Any) -> object:
        found = plan(planner, batch, *more)
        if planner is slow.planner:
            planned.append(batch)
            if len(planned) == 1:
                assert fast.apply(change(1)).applied
        return found

    monkeypatch.setattr(Planner, "plan", overtaken)
    with slow.workspace, fast.workspace:
        report = slow.apply(change(0))

    assert report.applied
    assert len(planned) == 2
    assert (tmp_path / NAME).read_text() == document(2, 1)
