"""A newcomer needs at most the calls in `docs/contributing/first-use.md`, and gets the results shown."""

import re
import shutil
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.first_use.tasks import PAGE, Attempt, Task, difference, read_tasks

TASKS = read_tasks()
OUTCOMES = {("diff",), ("text",)}


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a copy of the sample documents, with a `.git` that makes it a root."""
    folder = tmp_path / "kettle"
    shutil.copytree(REPOSITORY / "docs" / "samples", folder, ignore=shutil.ignore_patterns("batches", "*.sh"))
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder)
    for name in ("NO_COLOR", "FORCE_COLOR", "MDPLAN_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    return folder


def test_ten_tasks_cover_all_surfaces() -> None:
    words = [{word for block in task.blocks for word in block.info} for task in TASKS]

    assert len(TASKS) == 10
    assert len({task.name for task in TASKS}) == 10
    assert sum("md_apply" in each for each in words) == 4
    assert sum("python" in each for each in words) == 1
    assert sum("yaml" in each for each in words) == 1
    assert sum("sh" in each for each in words) == 5


@pytest.mark.requirement("first-use-1")
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_task_is_completed_by_its_calls(task: Task, samples: Path, *, update_cases: bool) -> None:
    attempt = Attempt(task, samples)
    shown = attempt.run()
    if update_cases:
        write_outcomes(task, shown)
        task = next(each for each in read_tasks() if each.name == task.name)

    assert attempt.calls == task.calls
    assert shown == [block.text for block in task.blocks if block.info in OUTCOMES]


def write_outcomes(task: Task, shown: list[str]) -> None:
    """Put what the calls of `task` came to into its blocks."""
    before, heading, rest = PAGE.read_text(encoding="utf-8").partition(f"## {task.name}\n")
    own, next_heading, others = rest.partition("\n## ")
    waiting = iter(shown)
    own = re.sub(
        r"^```(diff|text)\n.*?^```$",
        lambda block: f"```{block[1]}\n{next(waiting)}```",
        own,
        flags=re.MULTILINE | re.DOTALL,
    )
    PAGE.write_text(before + heading + own + next_heading + others, encoding="utf-8")


def test_difference_shows_line_ends() -> None:
    """Else a task could lose them without a word."""
    lines = list(difference({"a.md": b"one\r\ntwo"}, {"a.md": b"one\ntwo\n", "b.md": b""}))

    assert lines[3:] == ["-one␍\n", "-two (no line end)\n", "+one\n", "+two\n"]
