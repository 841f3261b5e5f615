"""A commit that its user stops, by Ctrl-C or by a termination: undone at once, or recovered later."""

from collections.abc import Callable, Iterator
from signal import SIGINT, SIGTERM

import pytest

from mdplan.diagnostics import Exit
from tests.crash.aftermath import OLD, in_memory, make_with_history
from tests.crash.commands import Commands
from tests.crash.trial import RECOVER, Trial, changing


@pytest.fixture
def trial(mdplan: Commands) -> Iterator[Trial]:
    with in_memory() as folder:
        yield Trial.of(mdplan, folder, make_with_history)


def after_interrupt(trial: Trial, point: int) -> Iterator[str]:
    """Return faults after a Ctrl-C before that operation; recovery must not be needed."""
    ended = trial.run(signals={point: SIGINT})
    promised = trial.promised()
    if ended.code not in {Exit.INTERRUPTED, Exit.DONE} or (ended.code == Exit.DONE and promised == OLD):
        yield f"it ended otherwise: {ended}"
    if (found := trial.outcome()) != promised:
        yield f"all is {found} and not {promised}"
    yield from recovered(trial, promised)


def after_two_interrupts(trial: Trial, point: int) -> Iterator[str]:
    """The second one hits the undoing, a few operations later."""
    trial.run(signals={point: SIGINT, point + 3 + point % 20: SIGINT})
    yield from trial.torn()
    yield from recovered(trial, trial.promised())


def after_termination(trial: Trial, point: int) -> Iterator[str]:
    """To the files that is a kill."""
    if not trial.run(signals={point: SIGTERM}).killed:
        yield "it was not terminated"
    yield from trial.torn()
    yield from recovered(trial, trial.promised())


def recovered(trial: Trial, promised: str) -> Iterator[str]:
    again = trial.mdplan.run(trial.folder, *RECOVER)
    if again.code != Exit.DONE:
        yield f"recovered: {again}"
    yield from trial.left(promised)


@pytest.mark.parametrize("stop", [after_interrupt, after_two_interrupts, after_termination])
@pytest.mark.parametrize("every", [9, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_commit_ended_by_a_signal_is_all_old_or_all_new(
    trial: Trial, stop: Callable[[Trial, int], Iterator[str]], every: int
) -> None:
    points = [*range(1, len(trial.steps) + 1)][::every] if every == 1 else changing(trial.steps)[::every]
    violations = [
        f"before {trial.steps[point - 1]}, {point} of {len(trial.steps)}: {problem}"
        for point in points
        for problem in stop(trial, point)
    ]
    assert violations == []
