"""Everything that depends on the less stable parts of the MCP SDK: tools with schemas of our own, and stdio.

`Tool`, `FuncMetadata` and the low-level server can be imported but are not promised to stay as they are, so
they are named here and nowhere else, and a test builds every tool.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from threading import Lock
from types import TracebackType
from typing import Any, Final, Self, TypeAlias
from urllib.parse import quote
from weakref import WeakKeyDictionary

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.abc import TaskGroup
from mcp import MCPError
from mcp.server.apps import Apps, client_supports_apps
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.prompts.base import Prompt
from mcp.server.mcpserver.tools import Tool, ToolManager
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_PARAMS,
    CallToolResult,
    Completion,
    CompletionArgument,
    CompletionContext,
    Icon,
    InputRequiredResult,
    ResourceTemplateReference,
    TextContent,
    ToolAnnotations,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from mdplan.diagnostics import Exit
from mdplan.mcp.approval import Tasks, ask_for_review, hide_apps, may_ask, record_waiting
from mdplan.mcp.tool import (
    Catalog,
    ChatDecisions,
    CurrentCall,
    PromptDefinition,
    ResourceDefinition,
    ShownFiles,
    ToolDefinition,
    current_call,
)
from mdplan.text.lazy_pattern import lazy_pattern

# Messages that a server without tools can answer.
_ABOUT_CONNECTIONS: Final = frozenset({"initialize", "server/discover", "ping"})

# The thread that waits for the next line of standard input.
_READER: Final = 1
_POLL_SECONDS: Final = 0.02
_PARAMETER: Final = lazy_pattern(r"\{\+?(\w+)\}")

# Progress of a call is reported when it takes longer than this, and again after as long.
PROGRESS_SECONDS: Final = 1.0

# By the channel to a client, and forgotten with it.
_SHOWN: Final[WeakKeyDictionary[object, ShownFiles]] = WeakKeyDictionary()
_SHOWN_LOCK: Final = Lock()

# Values of the parameters of templates, by the URI of the template.
Completer: TypeAlias = Callable[[str, Mapping[str, str]], Iterable[str]]
_COMPLETERS: Final[WeakKeyDictionary[MCPServer[Any], Mapping[str, Completer]]] = WeakKeyDictionary()

# A page with one line changed.
_ICON: Final = "data:image/svg+xml," + quote(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#fff" stroke="#345" '
    'd="M2.5.5h8l3 3v12h-11z"/><path stroke="#345" d="M5 5.5h6m-6 6h6"/>'
    '<path stroke="#2a2" stroke-width="2" d="M5 8.5h6"/></svg>'
)

# The protocol allows no more.
_MOST_VALUES: Final = 100


def new_server(*, version: str, instructions: str) -> MCPServer[Any]:
    """Server that says who it is, and has nothing yet."""
    server: MCPServer[Any] = MCPServer(
        "mdplan",
        title="mdplan",
        version=version,
        instructions=instructions,
        icons=[Icon(src=_ICON, mime_type="image/svg+xml", sizes=["any"])],
        log_level="WARNING",
        extensions=[Apps(), Tasks()],
    )
    hide_apps(server)

    # The first reply says whether there is completion, so it is added before the server is filled.
    async def complete(
        ref: object, argument: CompletionArgument, context: CompletionContext | None
    ) -> Completion | None:
        uri = ref.uri if isinstance(ref, ResourceTemplateReference) else None
        find = _COMPLETERS.get(server, {}).get(uri or "")
        known = context.arguments or {} if context is not None else {}
        if find is None:
            return None
        return await anyio.to_thread.run_sync(_completion, find, argument, known)

    server.completion()(complete)  # type: ignore[no-untyped-call]
    return server


def _completion(find: Completer, argument: CompletionArgument, known: Mapping[str, str]) -> Completion:
    """The values that contain what was typed, those that begin with it in front."""
    typed = argument.value.casefold()
    found = [each for each in dict.fromkeys(find(argument.name, known)) if typed in each.casefold()]
    found.sort(key=lambda each: not each.casefold().startswith(typed))
    return Completion(values=found[:_MOST_VALUES], total=len(found), has_more=len(found) > _MOST_VALUES)


def fill(server: MCPServer[Any], offer: Catalog) -> None:
    """Publish all of `offer`, as it is, on a server that has nothing yet."""
    # The SDK's own way to add a tool makes its schema from the signature of a function.
    tools = [_tool(definition, offer.decisions) for definition in offer.tools]
    server._tool_manager = _Tools(tools=tools)  # noqa: SLF001
    for resource in offer.resources:
        _add_resource(server, resource)
    _COMPLETERS[server] = {each.uri: each.complete for each in offer.resources if each.complete is not None}
    for prompt in offer.prompts:
        server.add_prompt(_prompt(prompt))


def run_on_stdio(server: MCPServer[Any], load: Callable[[], Catalog]) -> None:
    """Serve on standard input and output until the input ends.

    What the server offers is loaded once the client was told who serves it, which so need not wait for it.
    """
    anyio.run(_serve_stdio, server, load)


class _Filling:
    """Fills a server before the first message that is not about the connection itself."""

    def __init__(self, server: MCPServer[Any], load: Callable[[], Catalog]) -> None:
        self._server = server
        self._load = load
        self._lock = anyio.Lock()
        self._is_filled = False

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        if ctx.method not in _ABOUT_CONNECTIONS:
            async with self._lock:
                if not self._is_filled:
                    fill(self._server, await anyio.to_thread.run_sync(self._load))
                    self._is_filled = True
        return await call_next(ctx)


class _AnyArguments(FuncMetadata):
    """Arguments of any shape: the SDK would drop unknown ones in silence, and we refuse them by name."""

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        """All arguments, as the one parameter of the function after the tool."""
        return {"arguments": arguments_to_validate}


class _Tools(ToolManager):
    """Tools of a server; the SDK would answer a call of an unknown one as a tool that failed."""

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: FBT001, FBT002 (the SDK's signature)
    ) -> Any:  # noqa: ANN401 (the SDK's signature)
        """Call the tool `name`. Raises `MCPError` (invalid params) for one that is not there."""
        has_apps = client_supports_apps(context)
        known_tools = {tool.name for tool in self.list_tools() if has_apps or not _is_only_for_app(tool)}
        if name not in known_tools:
            known = ", ".join(tool.name for tool in self.list_tools() if tool.name in known_tools)
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {name}; this server has {known}")
        return await super().call_tool(name, arguments, context, convert_result)


def _is_only_for_app(tool: Tool) -> bool:
    return bool((tool.meta or {}).get("ui", {}).get("visibility") == ["app"])


def _tool(definition: ToolDefinition, decisions: ChatDecisions | None) -> Tool:
    # A plain function, not a coroutine: the SDK runs it in a thread, and other calls go on concurrently.
    return Tool(
        fn=partial(_call, definition, decisions),
        name=definition.name,
        title=definition.title,
        description=definition.description,
        parameters=dict(definition.input_schema),
        fn_metadata=_AnyArguments(arg_model=ArgModelBase, output_schema=dict(definition.output_schema)),
        is_async=False,
        context_kwarg="context",
        meta=definition.published_meta,
        annotations=ToolAnnotations(
            title=definition.title,
            read_only_hint=not definition.writes,
            destructive_hint=definition.writes,
            idempotent_hint=definition.may_be_repeated,
            open_world_hint=False,
        ),
    )


def _call(
    definition: ToolDefinition,
    decisions: ChatDecisions | None,
    arguments: Mapping[str, Any],
    context: Context[Any, Any],
) -> CallToolResult | InputRequiredResult:
    new_call = partial(CurrentCall, *_client_name(context), _shown_in_session(context), _Progress(context))
    with current_call(new_call()) as call:
        answer = definition.call(arguments)
    plan_id = call.pending[-1].plan_id if call.pending else answer.structured.get("planId")
    if call.pending and may_ask():
        shows_app = definition.shows_app and client_supports_apps(context)
        asked = ask_for_review(call.pending[-1], context, None if shows_app else decisions)
        if isinstance(asked, InputRequiredResult):
            return asked
        if asked:
            with current_call(new_call()) as call:
                answer = definition.call(arguments)
    if call.pending:
        record_waiting(call.pending[-1])
    for uri in call.changed:
        anyio.from_thread.run(context.notify_resource_updated, uri)
    return CallToolResult(
        content=[TextContent(type="text", text=answer.text)],
        structured_content=dict(answer.structured),
        is_error=answer.is_refusal,
        meta=dict(answer.meta) or _meta_for_app(definition, decisions, plan_id, context),
    )


def _meta_for_app(
    definition: ToolDefinition,
    decisions: ChatDecisions | None,
    plan_id: str | None,
    context: Context[Any, Any],
) -> dict[str, Any] | None:
    """What the App of a tool receives with a plan: hosts give `_meta` to the App, and not to the model."""
    if decisions is None or plan_id is None or definition.is_only_for_app or not definition.shows_app:
        return None
    return dict(decisions.meta_of(plan_id)) or None if client_supports_apps(context) else None


def _shown_in_session(context: Context[Any, Any]) -> ShownFiles | None:
    """What the client was shown on its connection; None where each request has a connection of its own."""
    # The SDK makes a new session for each request; what lasts is the channel to the client.
    connection = context.session._connection  # noqa: SLF001
    if not connection.has_standalone_channel:
        return None
    with _SHOWN_LOCK:
        return _SHOWN.setdefault(connection.outbound, ShownFiles())


def _client_name(context: Context[Any, Any]) -> tuple[str | None, str]:
    """The name that the client gives itself, None where it gives none; and its version."""
    params = context.session.client_params
    return (params.client_info.name, params.client_info.version) if params is not None else (None, "")


class _Progress:
    """Tells the client how far a call is, once it takes long; called in the thread of the call.

    A client that did not ask hears nothing. When the call is cancelled, the SDK raises here, which ends the
    work: all of it that says how far it is comes before anything is written.
    """

    def __init__(self, context: Context[Any, Any]) -> None:
        self._context = context
        self._reported = 0
        self._next = time.monotonic() + PROGRESS_SECONDS

    def __call__(self, done: int, total: int | None) -> None:
        # The protocol wants numbers that grow; a plan that is made a second time starts again.
        if done <= self._reported or time.monotonic() < self._next:
            return
        self._reported = done
        # A client that went away is no reason to stop.
        with suppress(Exception):
            anyio.from_thread.run(self._context.report_progress, done, total)
        self._next = time.monotonic() + PROGRESS_SECONDS


def _prompt(definition: PromptDefinition) -> Prompt:
    def text() -> str:
        return definition.text

    return Prompt.from_function(
        text, name=definition.name, title=definition.title, description=definition.description
    )


def _add_resource(server: MCPServer[Any], definition: ResourceDefinition) -> None:
    def found(content: str | bytes | None) -> str | bytes:
        if content is None:
            raise ResourceNotFoundError("there is no such resource")
        return content

    # The SDK takes the parameters of a template from the signature of the function.
    def read() -> str | bytes:
        return found(definition.read())

    def read_of_plan(plan_id: str) -> str | bytes:
        return found(definition.read(plan_id))

    def read_of_file(path: str) -> str | bytes:
        return found(definition.read(path))

    def read_of_section(path: str, heading: str) -> str | bytes:
        return found(definition.read(path, heading))

    by_parameters: dict[tuple[str, ...], Callable[..., str | bytes]] = {
        (): read,
        ("plan_id",): read_of_plan,
        ("path",): read_of_file,
        ("heading", "path"): read_of_section,
    }

    server.resource(
        definition.uri,
        name=definition.name,
        title=definition.title,
        description=definition.description,
        mime_type=definition.mime_type,
        meta=dict(definition.meta) if definition.meta is not None else None,
    )(by_parameters[tuple(_PARAMETER.findall(definition.uri))])


async def _serve_stdio(server: MCPServer[Any], load: Callable[[], Catalog]) -> None:
    server.middleware.append(_Filling(server, load))
    lowlevel = server._lowlevel_server  # noqa: SLF001 (the only way to put something before its reader)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_leave_on_signal, tasks)
        async with stdio_server() as (read_stream, write_stream):
            await lowlevel.run(
                LenientStream(read_stream), write_stream, lowlevel.create_initialization_options()
            )
        tasks.cancel_scope.cancel()


async def _leave_on_signal(tasks: TaskGroup) -> None:
    """End the process on the first signal as soon as no call is running, on the second at once.

    The thread that reads standard input cannot be woken, so there is no way out but to leave it behind.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        is_leaving = False
        async for _ in signals:
            if is_leaving:
                os._exit(Exit.INTERRUPTED)
            is_leaving = True
            tasks.start_soon(_leave_when_idle)


async def _leave_when_idle() -> None:
    limiter = anyio.to_thread.current_default_thread_limiter()
    while limiter.borrowed_tokens > _READER:  # noqa: ASYNC110 (the limiter tells nobody of a change)
        await anyio.sleep(_POLL_SECONDS)
    os._exit(Exit.INTERRUPTED)


# --- Incoming messages that the SDK cannot read and our own refusals can answer


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
