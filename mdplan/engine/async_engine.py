"""The engine for asynchronous callers, on asyncio or trio."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from mdplan.engine.engine import Engine

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _as_coroutine(
    verb: Callable[Concatenate[Engine, _Arguments], _Result],
) -> Callable[Concatenate["AsyncEngine", _Arguments], Coroutine[Any, Any, _Result]]:
    """Return `verb` as a method of `AsyncEngine`, which calls it in a worker thread."""

    @wraps(verb)
    async def call(
        engine: "AsyncEngine", /, *arguments: _Arguments.args, **named: _Arguments.kwargs
    ) -> _Result:
        from anyio import to_thread

        # An engine that raises refusals overrides its verbs.
        bound: Callable[_Arguments, _Result] = getattr(engine.engine, verb.__name__)
        return await to_thread.run_sync(partial(bound, *arguments, **named))

    return call


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
        """Open an engine over `roots`, with the options and errors of `Engine.open`."""
        return cls(Engine.open(roots, **options))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    stat = _as_coroutine(Engine.stat)
    read = _as_coroutine(Engine.read)
    search = _as_coroutine(Engine.search)
    links = _as_coroutine(Engine.links)
    plan = _as_coroutine(Engine.plan)
    show = _as_coroutine(Engine.show)
    replan = _as_coroutine(Engine.replan)
    export = _as_coroutine(Engine.export)
    diff_bytes = _as_coroutine(Engine.diff_bytes)
    apply = _as_coroutine(Engine.apply)
    write = _as_coroutine(Engine.write)
    undo = _as_coroutine(Engine.undo)
    history = _as_coroutine(Engine.history)
    transaction = _as_coroutine(Engine.transaction)
    transaction_diff = _as_coroutine(Engine.transaction_diff)
    compare = _as_coroutine(Engine.compare)
    reviews = _as_coroutine(Engine.reviews)
    prune = _as_coroutine(Engine.prune)
    recover = _as_coroutine(Engine.recover)
    doctor = _as_coroutine(Engine.doctor)
    close = _as_coroutine(Engine.close)
