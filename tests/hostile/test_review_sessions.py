"""S17: links and sessions of the review page."""

from pathlib import Path

import pytest

from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.web.sessions import ReviewSessions
from tests.surfaces.review_calls import ReviewCalls

# S15


def test_servers_never_share_the_name_of_a_cookie() -> None:
    """Browsers send a cookie to all ports of a host: one server must not overwrite that of another."""
    servers = [ReviewSessions() for _ in range(50)]

    assert len({name for each in servers for name in (each.cookie, each.view_cookie)}) == 100


# S17


@pytest.fixture
def calls(tmp_path: Path) -> ReviewCalls:
    (tmp_path / "guide.md").write_text("# Guide\n", encoding="utf-8")
    return ReviewCalls(Engine.open([tmp_path], approval=approved_only))


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "OPTIONS"])
def test_link_is_never_used_up_by_another_method(calls: ReviewCalls, method: str) -> None:
    assert calls.ask(method, calls.link, b"", {}).status == 405

    assert calls.get(calls.link).status == 200


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_idle_session_never_lives_for_ever() -> None:
    clock = Clock()
    visits = ReviewSessions(clock)
    cookies = {visits.cookie: visits.start(visits.new_link()) or ""}
    for _ in range(10):
        clock.now += 7 * 3600
        assert visits.of(cookies) is not None
    clock.now += 9 * 3600

    assert visits.of(cookies) is None


def test_sessions_are_never_more_than_a_hundred_of_each_kind() -> None:
    visits = ReviewSessions(Clock())
    cookies = [{visits.cookie: visits.start(visits.new_link()) or ""} for _ in range(1000)]

    assert sum(visits.of(each) is not None for each in cookies) == 100


def test_many_sessions_never_end_the_one_that_is_used() -> None:
    visits = ReviewSessions(Clock())
    used = {visits.cookie: visits.start(visits.new_link()) or ""}
    for _ in range(1000):
        visits.start(visits.new_link())
        assert visits.of(used) is not None
