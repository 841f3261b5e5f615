"""Stream the signals that stop a server."""

import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import anyio


@contextmanager
def stop_signals() -> Iterator[AsyncIterator[int]]:
    """Yield a stream of Ctrl-C and SIGTERM."""
    if sys.platform == "win32":
        # Event loops of Windows have no signal handlers; those of Python run in the thread of the loop.
        import asyncio

        send, receive = anyio.create_memory_object_stream[int](8)
        loop = asyncio.get_running_loop()

        def deliver(number: int, _: object) -> None:
            loop.call_soon_threadsafe(send.send_nowait, number)

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
        before = [signal.signal(number, deliver) for number in numbers]
        try:
            yield receive
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)
    else:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            yield signals
