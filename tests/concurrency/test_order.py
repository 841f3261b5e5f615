"""The order checker detects planted disorder."""

from pathlib import Path

import pytest

from tests.concurrency.attempts import Attempt, Log, Moments
from tests.concurrency.order import chain_of, contradictions, disorder


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
