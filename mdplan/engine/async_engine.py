"""The engine for asynchronous callers, on asyncio or trio."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from mdplan.engine.engine import Engine
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.requests.batch import OnStale

if TYPE_CHECKING:
    from mdplan.reports.history import DoctorReport, HistoryReport, RecoverReport
    from mdplan.reports.read import ReadReport, SearchReport
    from mdplan.reports.stat import StatReport

_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")


class AsyncEngine:
    """The verbs of an `Engine` as coroutines: each runs in a worker thread, and the event loop goes on.

    A cancelled call runs to its end in its thread: a commit is whole or not there at all, and a caller that
    gave up finds it in the history.

    >>> import asyncio
    >>> async def rename():
    ...     async with AsyncEngine.open(["."]) as engine:
    ...         batch = edits.FileEdits("guide.md", [edits.RenameHeading(heading="Brew", new_title="Make")])
    ...         return await engine.plan(batch)
    >>> asyncio.run(rename()).ok
    True
    """

    def __init__(self, engine: Engine) -> None:
        """Run the verbs of `engine`, which this one closes."""
        self.engine = engine

    @classmethod
    def open(
        cls,
        roots: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
        **options: Any,  # noqa: ANN401 (of `Engine.open`)
    ) -> "AsyncEngine":
        """An engine over `roots`; `options` are those of `Engine.open`, and so are the errors."""
        return cls(Engine.open(roots, **options))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the roots, as the end of an `async with` block does."""
        await _in_thread(self.engine.close)

    async def stat(self, request: Mapping[str, Any]) -> "StatReport":
        """As `Engine.stat`."""
        return await _in_thread(self.engine.stat, request)

    async def read(self, request: Mapping[str, Any]) -> "ReadReport":
        """As `Engine.read`."""
        return await _in_thread(self.engine.read, request)

    async def search(self, request: Mapping[str, Any]) -> "SearchReport":
        """As `Engine.search`."""
        return await _in_thread(self.engine.search, request)

    async def plan(self, data: object) -> PlanReport:
        """As `Engine.plan`."""
        return await _in_thread(self.engine.plan, data)

    async def show(self, plan_id: str) -> PlanReport:
        """As `Engine.show`."""
        return await _in_thread(self.engine.show, plan_id)

    async def replan(self, plan_id: str) -> PlanReport:
        """As `Engine.replan`."""
        return await _in_thread(self.engine.replan, plan_id)

    async def apply(self, data: object) -> ApplyReport:
        """As `Engine.apply`."""
        return await _in_thread(self.engine.apply, data)

    async def undo(
        self, transaction: str | None = None, *, dry_run: bool = False, on_stale: OnStale = "refuse"
    ) -> ApplyReport:
        """As `Engine.undo`."""
        return await _in_thread(self.engine.undo, transaction, dry_run=dry_run, on_stale=on_stale)

    async def history(self, limit: int = 20, file: str | None = None) -> "HistoryReport":
        """As `Engine.history`."""
        return await _in_thread(self.engine.history, limit, file)

    async def recover(self) -> "RecoverReport":
        """As `Engine.recover`, for this user's interrupted commits."""
        return await _in_thread(self.engine.recover)

    async def doctor(self) -> "DoctorReport":
        """As `Engine.doctor`."""
        return await _in_thread(self.engine.doctor)


async def _in_thread(
    verb: Callable[_Given, _Found], *arguments: _Given.args, **named: _Given.kwargs
) -> _Found:
    from anyio import to_thread

    return await to_thread.run_sync(partial(verb, *arguments, **named))
