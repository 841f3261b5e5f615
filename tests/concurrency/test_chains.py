"""Many writers at once make edits pinned to what they saw: no edit is lost."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.concurrency.attempts import Apply, Attempt, Log, Moments
from tests.concurrency.crowd import Crowd, in_processes
from tests.concurrency.order import chain_of, contradictions, disorder
from tests.concurrency.worker import in_threads, open_engine, through
from tests.crash.aftermath import in_memory
from tests.crash.commands import Commands, commands
from tests.surfaces.mcp_calls import Calls, calls_to, process


@pytest.fixture
def crowd(request: pytest.FixtureRequest) -> Iterator[Crowd]:
    with in_memory() as folder:
        yield Crowd.of(folder, request.param)


SLOW = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize("crowd", [1], indirect=True)
@pytest.mark.parametrize(("workers", "edits"), [(3, 6), pytest.param(8, 50, marks=SLOW)])
def test_edits_of_many_processes_form_one_chain(crowd: Crowd, workers: int, edits: int) -> None:
    in_processes([crowd.job(number, edits) for number in range(workers)])

    crowd.check(applied=workers * edits)


@pytest.mark.parametrize("crowd", [12], indirect=True)
@pytest.mark.parametrize(("workers", "edits"), [(3, 4), pytest.param(8, 40, marks=SLOW)])
def test_batches_over_random_files_have_one_order(crowd: Crowd, workers: int, edits: int) -> None:
    in_processes([crowd.job(number, edits, at_once=5) for number in range(workers)])

    crowd.check(applied=workers * edits)


@pytest.mark.parametrize("crowd", [3], indirect=True)
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("threads", "edits"), [(4, 8), pytest.param(8, 25, marks=SLOW)])
def test_edits_of_many_threads_form_one_chain(crowd: Crowd, threads: int, edits: int, shared: bool) -> None:
    """Test with a shared engine, and with one engine per thread."""
    jobs = [crowd.job(number, edits, at_once=2) for number in range(threads)]
    with ExitStack() as stack:
        engines = [open_engine(str(crowd.folder)) for _ in range(1 if shared else threads)]
        for engine in engines:
            stack.enter_context(engine.workspace)
        in_threads(jobs, [through(engine) for engine in engines * (threads // len(engines))])

    crowd.check(applied=threads * edits)


# --- The order checker detects planted disorder.


def attempt(began: int, ended: int, base: str, result: str, code: str | None = None, **more: str) -> Attempt:
    edges = {"a": (base, result)} | {name: tuple(edge) for name, edge in more.items()}
    return Attempt(1, began, ended, edges, code)


def test_chain_is_found_in_a_log_of_any_order() -> None:
    first, second = attempt(1, 4, "0", "1"), attempt(2, 5, "1", "2")

    assert chain_of("a", "0", "2", [second, first]) == [first, second]


def test_commit_with_unknown_outcome_joins_the_chain_if_its_content_was_seen() -> None:
    first, lost, last = attempt(1, 2, "0", "1"), attempt(3, 0, "1", "x"), attempt(4, 5, "1", "2")

    assert chain_of("a", "0", "2", [first, lost, last]) == [first, last]
    assert chain_of("a", "0", "x", [first, lost]) == [first, lost]


def test_checker_detects_a_lost_edit() -> None:
    """Two were applied to one base."""
    with pytest.raises(AssertionError, match="1 edits of a were applied and are lost"):
        chain_of("a", "0", "2", [attempt(1, 3, "0", "1"), attempt(2, 4, "0", "2")])


def test_checker_detects_content_that_nobody_wrote() -> None:
    with pytest.raises(AssertionError, match="nobody wrote"):
        chain_of("a", "0", "torn", [attempt(1, 3, "0", "1")])


@pytest.mark.parametrize(
    ("attempts", "count"),
    [
        ([attempt(1, 4, "0", "1"), attempt(2, 3, "1", "2")], 0),
        ([attempt(5, 6, "0", "1"), attempt(3, 4, "1", "2")], 1),
        ([attempt(1, 2, "0", "1"), attempt(5, 6, "1", "2"), attempt(3, 4, "1", "3", "STALE_BASE")], 1),
        ([attempt(1, 2, "0", "1"), attempt(3, 6, "1", "2"), attempt(4, 5, "1", "3", "STALE_BASE")], 0),
        ([attempt(1, 2, "0", "1"), attempt(3, 4, "1", "3", "STALE_BASE")], 1),
        ([attempt(1, 2, "0", "1"), attempt(3, 4, "0", "3", "STALE_BASE")], 0),
        ([attempt(1, 2, "0", "1"), attempt(3, 0, "1", "2"), attempt(4, 5, "1", "3", "STALE_BASE")], 0),
        ([attempt(1, 2, "never", "3", "STALE_BASE")], 0),
    ],
)
def test_checker_detects_commits_out_of_order(attempts: list[Attempt], count: int) -> None:
    chain = [each for each in attempts if each.is_applied]

    assert len(list(disorder("a", "0", chain, attempts))) == count


def test_checker_detects_files_with_contradicting_orders() -> None:
    first, second = attempt(1, 4, "0", "1", b=("1", "2")), attempt(2, 5, "1", "2", b=("0", "1"))

    assert list(contradictions({"a": [first, second]})) == []
    assert len(list(contradictions({"a": [first, second], "b": [second, first]}))) == 1


def test_log_distinguishes_exits_from_kills(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    done, killed = attempt(1, 2, "0", "1"), attempt(3, 0, "1", "2")
    for each in (attempt(1, 0, "0", "1"), done, killed):
        log.write(each)

    assert log.read() == [done, killed]


def test_timestamps_of_two_clocks_on_one_file_increase(tmp_path: Path) -> None:
    one, other = Moments(tmp_path / "moments"), Moments(tmp_path / "moments")

    assert [one.next(), other.next(), other.next(), one.next()] == [1, 2, 3, 4]
    one.close()
    other.close()


# --- Two servers and two command lines on one root (case 72): one chain.


def through_mcp(calls: Calls) -> Apply:
    def apply(batch: dict[str, Any]) -> str | None:
        result = calls.call("md_apply", batch)
        return result.text.partition(" ")[0].rstrip(":") if result.is_error else None

    return apply


def through_command_line(mdplan: Commands, folder: Path) -> Apply:
    def apply(batch: dict[str, Any]) -> str | None:
        ended = mdplan.run(folder, "apply", "-", "--json", stdin=batch)
        return str(ended.json["error"]["code"]) if ended.code else None

    return apply


@pytest.mark.slow
@pytest.mark.parametrize("edits", [6, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(600)])])
def test_servers_and_command_lines_form_one_chain(edits: int) -> None:
    with in_memory() as folder, ExitStack() as stack:
        crowd = Crowd.of(folder, 3)
        opened: list[Callable[[], Apply]] = [
            lambda: through_mcp(stack.enter_context(calls_to(process("--root", str(crowd.folder)), "auto"))),
            lambda: through_command_line(stack.enter_context(commands()), crowd.folder),
        ]
        applies = [each() for each in opened * 2]
        in_threads([crowd.job(number, edits, at_once=2) for number in range(4)], applies)

        crowd.check(applied=4 * edits)
