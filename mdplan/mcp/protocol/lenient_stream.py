"""Incoming messages that the SDK cannot read, and our own refusals can answer."""

import json
from types import TracebackType
from typing import Any, Self

from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter
from pydantic import ValidationError


class LenientStream:
    """Incoming messages, of which calls with lone surrogates in their arguments are let through.

    The SDK's JSON reader refuses such a line, and a refused line gets no reply: the caller would wait for
    ever. Let through, it reaches our own refusal, which says what is wrong.
    """

    def __init__(self, inner: Any) -> None:  # noqa: ANN401 (the SDK has no public name for its streams)
        self._inner = inner

    @property
    def last_context(self) -> Any:  # noqa: ANN401 (passed on)
        """That of the messages."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        return _read_again(await self._inner.receive())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return _read_again(await self._inner.__anext__())

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self._inner.__aexit__(exc_type, exc_val, exc_tb)


def _read_again(item: SessionMessage | Exception) -> SessionMessage | Exception:
    """`item`, or the tool call in it that Python's JSON reader can read and the SDK's cannot.

    Only the arguments may hold what is no Unicode: our tools never give it back, but the SDK repeats other
    parts of a request, and a reply that cannot be encoded ends the server.
    """
    if not isinstance(item, ValidationError):
        return item
    try:
        request = json.loads(item.errors(include_url=False)[0]["input"])
        arguments = request["params"].pop("arguments")
        json.dumps(request, ensure_ascii=False).encode("utf-8")
        request["params"]["arguments"] = arguments
        if request["method"] != "tools/call":
            return item
        return SessionMessage(jsonrpc_message_adapter.validate_python(request, by_name=False))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return item
