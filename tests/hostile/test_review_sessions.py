"""S15 and S17: links and sessions of the review page."""

import re
from pathlib import Path

import pytest

from mdplan.engine.approval import approved_only
from mdplan.engine.engine import Engine
from mdplan.storage.plans import address_of
from mdplan.web.sessions import ReviewSessions
from tests.surfaces.review_calls import HOST, ReviewCalls


@pytest.fixture
def calls(tmp_path: Path) -> ReviewCalls:
    (tmp_path / "guide.md").write_text("# Guide\n", encoding="utf-8")
    return ReviewCalls(Engine.open([tmp_path], approval=approved_only))


# S15


def test_servers_never_share_a_cookie_name() -> None:
    """Browsers send a cookie to all ports of a host: one server must not overwrite that of another."""
    kinds = [kind for each in [ReviewSessions() for _ in range(50)] for kind in (each.deciding, each.viewing)]

    assert len({kind.cookie for kind in kinds}) == 100


def test_cookie_path_is_unknown_to_clients_and_other_servers(calls: ReviewCalls) -> None:
    """Browsers send a cookie to all ports of a host, but below its path alone."""
    opened = calls.get(calls.link).headers["set-cookie"]
    path = next(part.strip()[5:] for part in opened.split(";") if part.strip().startswith("Path="))
    viewing = address_of(calls.root, "ID") or ""

    assert path + "/" == calls.base
    assert re.fullmatch(r"/review/[\w-]{22}", path)
    assert path not in viewing
    kinds = [kind for each in (ReviewSessions(), ReviewSessions()) for kind in (each.deciding, each.viewing)]
    assert len({kind.base for kind in kinds}) == 4


def test_session_is_rejected_at_the_path_of_the_other_kind(calls: ReviewCalls) -> None:
    calls.visit()
    viewing = (address_of(calls.root, "ID") or "").removeprefix(f"http://{HOST}").partition("view?")[0]

    assert calls.get(calls.base).status == 200
    assert calls.get(viewing).status == 401
    assert calls.get("/review/").status == 401


# S17


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "OPTIONS"])
def test_link_is_only_consumed_by_get(calls: ReviewCalls, method: str) -> None:
    assert calls.ask(method, calls.link, b"", {}).status == 405

    assert calls.get(calls.link).status == 200


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_idle_session_expires() -> None:
    clock = Clock()
    visits = ReviewSessions(clock)
    cookies = {visits.deciding.cookie: visits.start(visits.new_link()) or ""}
    for _ in range(10):
        clock.now += 7 * 3600
        assert visits.deciding.of(cookies) is not None
    clock.now += 9 * 3600

    assert visits.deciding.of(cookies) is None


def test_at_most_a_hundred_sessions_of_each_kind_exist() -> None:
    visits = ReviewSessions(Clock())
    cookies = [{visits.deciding.cookie: visits.start(visits.new_link()) or ""} for _ in range(1000)]

    assert sum(visits.deciding.of(each) is not None for each in cookies) == 100


def test_session_in_use_is_never_evicted() -> None:
    visits = ReviewSessions(Clock())
    used = {visits.deciding.cookie: visits.start(visits.new_link()) or ""}
    for _ in range(1000):
        visits.start(visits.new_link())
        assert visits.deciding.of(used) is not None
