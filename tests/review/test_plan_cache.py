"""Cached plans are not read again, and the cache is bounded."""

from pathlib import Path

import pytest

from mdplan.diagnostics import Code
from mdplan.engine import plans as plan_library
from mdplan.engine.engine import Engine
from mdplan.engine.plans import PlanCache, PlanLibrary


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "a.md").write_text("one two\n")
    return Engine.open([tmp_path])


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The IDs by which plans are read from the store."""
    asked: list[str] = []
    load = PlanLibrary.load

    def noted(library: PlanLibrary, plan_id: str) -> object:
        asked.append(plan_id)
        return load(library, plan_id)

    monkeypatch.setattr(PlanLibrary, "load", noted)
    return asked


def plan(engine: Engine, replacement: str) -> str:
    edit = {"op": "replace_match", "pattern": "one", "replacement": replacement}
    return engine.plan({"file": "a.md", "edits": [edit]}).plan_id


def test_plan_is_read_once(engine: Engine, read: list[str]) -> None:
    plan_id = plan(engine, "1")
    cache = PlanCache(engine.library)

    by_prefix, first, second = cache.load(plan_id[:23]), cache.load(plan_id), cache.load(plan_id)

    assert by_prefix == first
    assert first is second
    assert read == [plan_id[:23]]


def test_least_recent_plans_are_evicted(
    engine: Engine, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = [plan(engine, str(number)) for number in range(3)]
    cache = PlanCache(engine.library)
    size = plan_library._size(cache.load(plans[0])[0])  # noqa: SLF001
    monkeypatch.setattr(plan_library, "_MOST", 2 * size)
    read.clear()

    for plan_id in (plans[1], plans[0], plans[2], plans[0], plans[1]):
        cache.load(plan_id)

    assert read == [plans[1], plans[2], plans[1]]


def test_plan_larger_than_the_cache_is_not_cached(
    engine: Engine, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_library, "_MOST", 1)
    plan_id = plan(engine, "1")
    cache = PlanCache(engine.library)

    assert cache.load(plan_id) == cache.load(plan_id)
    assert read == [plan_id, plan_id]


def test_unknown_plan_is_looked_up_again(engine: Engine, read: list[str]) -> None:
    cache = PlanCache(engine.library)

    assert [cache.load("0" * 64).code for _ in range(2)] == [Code.PLAN_NOT_FOUND] * 2
    assert len(read) == 2
