"""The server of the MCP SDK that publishes our tools, resources and prompts, and stdio.

It is the SDK's low-level server: schemas are ours, arguments arrive as they were sent, and nothing here
touches what the SDK keeps private.
"""

import base64
import io
import json
import logging
import os
import sys
import time
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectSendStream
from mcp import MCPError, UriTemplate, types
from mcp.server.apps import EXTENSION_ID, client_supports_apps
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.message import SessionMessage
from mcp.shared.subscriptions import ResourceUpdated
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mdplan.diagnostics import Exit
from mdplan.mcp.approval import Context, Tasks, ToolCall, ask_for_review
from mdplan.mcp.tool import Catalog, CurrentCall, ResourceDefinition, ShownFiles, ToolDefinition, current_call
from mdplan.web.signals import stop_signals

if TYPE_CHECKING:
    from mdplan.mcp.review_app import ChatReview

_LOG: Final = logging.getLogger(__name__)

# The thread that waits for the next line of standard input.
_READER: Final = 1
# Of the 40 threads: the others read and send messages, and show pages, while calls wait for a person.
_MOST_CALLS: Final = 30
_POLL_SECONDS: Final = 0.02

# Progress of a call is reported when it takes longer than this, and again after as long.
PROGRESS_SECONDS: Final = 1.0

# What each session has been shown, most recently used last.
Sessions: TypeAlias = OrderedDict[str, ShownFiles]
_MOST_SESSIONS: Final = 500

# A page with one line changed.
_ICON: Final = "data:image/svg+xml," + quote(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#fff" stroke="#345" '
    'd="M2.5.5h8l3 3v12h-11z"/><path stroke="#345" d="M5 5.5h6m-6 6h6"/>'
    '<path stroke="#2a2" stroke-width="2" d="M5 8.5h6"/></svg>'
)

# The maximum in the protocol.
_MOST_VALUES: Final = 100

_UI: Final = "ui"


@asynccontextmanager
async def _sessions(_: Server[Sessions]) -> AsyncIterator[Sessions]:
    yield OrderedDict()


class McpServer(Server[Sessions]):
    """A server that says who it is at once, and has what `load` gives it once somebody asks for that."""

    def __init__(self, *, version: str, instructions: str) -> None:
        """Take no catalog yet: set `catalog`, or `load`, which makes it."""
        self.catalog: Catalog | None = None
        self.load: Callable[[], Catalog] | None = None
        self._loading = anyio.Lock()
        self._running = anyio.Semaphore(_MOST_CALLS)
        self._bus = InMemorySubscriptionBus()
        super().__init__(
            "mdplan",
            title="mdplan",
            version=version,
            instructions=instructions,
            icons=[types.Icon(src=_ICON, mime_type="image/svg+xml", sizes=["any"])],
            lifespan=_sessions,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        security = RequestStateSecurity.ephemeral()
        self.middleware.append(RequestStateBoundary(security, default_audience=self.name))
        tasks = Tasks(self._call_tool)
        tasks.add_to(self)
        self.extensions = {EXTENSION_ID: {}, tasks.identifier: {}}

    async def _loaded(self) -> Catalog:
        async with self._loading:
            if self.catalog is None:
                assert self.load is not None, "a server has a catalog, or what loads one"
                self.catalog = await anyio.to_thread.run_sync(self.load)
        return self.catalog

    # --- Tools

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        tools = self.catalog.tools if self.catalog is not None else ()
        return next((tool.input_schema for tool in tools if tool.name == name), None)

    async def _tools_for(self, ctx: Context) -> list[ToolDefinition]:
        """Clients without MCP Apps do not see the tools of an App."""
        tools, has_apps = (await self._loaded()).tools, client_supports_apps(ctx)
        return [tool for tool in tools if has_apps or not tool.is_only_for_app]

    async def _list_tools(
        self, ctx: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        has_apps = client_supports_apps(ctx)
        return types.ListToolsResult(
            tools=[_published(tool, has_apps=has_apps) for tool in await self._tools_for(ctx)]
        )

    async def _call_tool(self, call: ToolCall) -> types.CallToolResult | types.InputRequiredResult:
        name, tools = call.params.name, {tool.name: tool for tool in await self._tools_for(call.ctx)}
        if name not in tools:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name}; this server has {', '.join(tools)}")
        decisions = (await self._loaded()).decisions
        # In a thread, so that other calls continue.
        shown = _shown_in_session(call.ctx)
        run = partial(_call, tools[name], decisions, call, shown, self._bus)
        try:
            async with self._running:
                return await anyio.to_thread.run_sync(run)
        except MCPError:
            raise
        except Exception:  # noqa: BLE001 (a bug must not end the server)
            _LOG.exception("Tool %r raised an unexpected exception", name)
            text = f"Error executing tool {name}"
            return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)

    # --- Resources and prompts

    async def _resources_for(self, ctx: Context) -> list[ResourceDefinition]:
        resources, has_apps = (await self._loaded()).resources, client_supports_apps(ctx)
        return [each for each in resources if has_apps or not each.is_app]

    async def _list_resources(
        self, ctx: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        resources = [each for each in await self._resources_for(ctx) if not UriTemplate.is_template(each.uri)]
        return types.ListResourcesResult(
            resources=[types.Resource(uri=each.uri, **_facts(each)) for each in resources]
        )

    async def _list_templates(
        self, ctx: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        resources = [each for each in await self._resources_for(ctx) if UriTemplate.is_template(each.uri)]
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(uri_template=each.uri, **_facts(each)) for each in resources
            ]
        )

    async def _read_resource(
        self, ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        for resource in await self._resources_for(ctx):
            values = UriTemplate.parse(resource.uri).match(params.uri)
            if values is None:
                continue
            try:
                content = await anyio.to_thread.run_sync(partial(resource.read, **values))
            except Exception as error:
                _LOG.exception("Resource %r raised an unexpected exception", params.uri)
                message = f"Error reading resource {params.uri}"
                raise MCPError(types.INTERNAL_ERROR, message, {"uri": params.uri}) from error
            facts: dict[str, Any] = {
                "uri": params.uri,
                "mime_type": resource.mime_type,
                "meta": resource.meta,
            }
            if isinstance(content, bytes):
                blob = base64.b64encode(content).decode()
                return types.ReadResourceResult(contents=[types.BlobResourceContents(blob=blob, **facts)])
            if content is not None:
                return types.ReadResourceResult(contents=[types.TextResourceContents(text=content, **facts)])
        only_apps = params.uri.startswith("ui://") and not client_supports_apps(ctx)
        message = "this server shows Apps only to clients that declare MCP Apps"
        raise MCPError(
            types.INVALID_PARAMS, message if only_apps else "there is no such resource", {"uri": params.uri}
        )

    async def _list_prompts(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        prompts = (await self._loaded()).prompts
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(name=each.name, title=each.title, description=each.description, arguments=[])
                for each in prompts
            ]
        )

    async def _get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        for prompt in (await self._loaded()).prompts:
            if prompt.name == params.name:
                content = types.TextContent(type="text", text=prompt.text)
                message = types.PromptMessage(role="user", content=content)
                return types.GetPromptResult(description=prompt.description, messages=[message])
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")

    async def _complete(self, _: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        uri = params.ref.uri if isinstance(params.ref, types.ResourceTemplateReference) else None
        known = (params.context.arguments if params.context is not None else None) or {}
        for resource in (await self._loaded()).resources:
            if resource.uri == uri and resource.complete is not None:
                find = partial(resource.complete, params.argument.name, known)
                values = await anyio.to_thread.run_sync(_matching, find, params.argument.value.casefold())
                has_more = len(values) > _MOST_VALUES
                completion = types.Completion(
                    values=values[:_MOST_VALUES], total=len(values), has_more=has_more
                )
                return types.CompleteResult(completion=completion)
        return types.CompleteResult(completion=types.Completion(values=[]))


def run_on_stdio(server: McpServer, load: Callable[[], Catalog]) -> None:
    """Serve on standard input and output until the input ends.

    The tools are loaded after the answer to `initialize`, so that the client need not wait for them.
    """
    server.load = load
    anyio.run(_serve_stdio, server)


def _matching(find: Callable[[], Iterable[str]], typed: str) -> list[str]:
    """Return the values that contain the `typed` text, those that begin with it first."""
    found = [value for value in dict.fromkeys(find()) if typed in value.casefold()]
    return sorted(found, key=lambda value: not value.casefold().startswith(typed))


def _facts(resource: ResourceDefinition) -> dict[str, Any]:
    """Return the published fields that a resource and a template share."""
    return {
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mime_type": resource.mime_type,
        "meta": dict(resource.meta) if resource.meta is not None else None,
    }


def _published(definition: ToolDefinition, *, has_apps: bool) -> types.Tool:
    """Return the tool as its client sees it: without a link to an App, if the client has no MCP Apps."""
    meta = definition.published_meta
    return types.Tool(
        name=definition.name,
        title=definition.title,
        description=definition.description,
        input_schema=dict(definition.input_schema),
        output_schema=dict(definition.output_schema),
        meta=meta if has_apps else {name: value for name, value in meta.items() if name != _UI},
        annotations=types.ToolAnnotations(
            title=definition.title,
            read_only_hint=not definition.writes,
            destructive_hint=definition.writes,
            idempotent_hint=definition.may_be_repeated,
            open_world_hint=False,
        ),
    )


def _call(
    definition: ToolDefinition,
    decisions: "ChatReview | None",
    call: ToolCall,
    shown: ShownFiles | None,
    bus: InMemorySubscriptionBus,
) -> types.CallToolResult | types.InputRequiredResult:
    ctx, arguments = call.ctx, call.params.arguments or {}
    known = ctx.session.client_params.client_info if ctx.session.client_params is not None else None
    name, version = (known.name, known.version) if known is not None else (None, "")
    new_call = partial(CurrentCall, name, version, shown, _Progress(ctx))
    with current_call(new_call()) as current:
        answer = definition.call(arguments)
    plan_id = current.pending[-1].plan_id if current.pending else answer.structured.get("planId")
    if current.pending and call.may_ask:
        shows_app = definition.shows_app and client_supports_apps(ctx)
        asked = ask_for_review(current.pending[-1], call, None if shows_app else decisions)
        if isinstance(asked, types.InputRequiredResult):
            return asked
        if asked:
            with current_call(new_call()) as current:
                answer = definition.call(arguments)
    if current.pending:
        call.pending = current.pending[-1]
    for uri in current.changed:
        anyio.from_thread.run(bus.publish, ResourceUpdated(uri=uri))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=answer.text)],
        structured_content=dict(answer.structured),
        is_error=answer.is_refusal,
        meta=dict(answer.meta) or _meta_for_app(definition, decisions, plan_id, ctx),
    )


def _meta_for_app(
    definition: ToolDefinition, decisions: "ChatReview | None", plan_id: str | None, ctx: Context
) -> dict[str, Any] | None:
    """Return the data of a plan for the App of a tool: hosts give `_meta` to the App, not to the model."""
    if decisions is None or plan_id is None or definition.is_only_for_app or not definition.shows_app:
        return None
    return dict(decisions.meta_of(plan_id)) or None if client_supports_apps(ctx) else None


def _shown_in_session(ctx: Context) -> ShownFiles | None:
    """Return what the session of the client has been shown; None if requests have no session.

    Standard input and output are one session, for which the SDK makes one lifespan. Over HTTP a lifespan is
    that of the server; a session there has an ID, and the newest protocol has no sessions.
    """
    session = ""
    if ctx.request is not None:
        session = ctx.request.headers.get("mcp-session-id", "")
        if not session or ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return None
    sessions: Sessions = ctx.lifespan_context
    shown = sessions.setdefault(session, ShownFiles())
    sessions.move_to_end(session)
    if len(sessions) > _MOST_SESSIONS:
        sessions.popitem(last=False)
    return shown


class _Progress:
    """Reports the progress of long calls to the client; called in the thread of the call.

    Only clients that request progress receive it. If the call is cancelled, the SDK raises here, which ends
    the work: all progress is reported before anything is written.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._reported = 0
        self._next = time.monotonic() + PROGRESS_SECONDS

    def __call__(self, done: int, total: int | None) -> None:
        # The protocol wants numbers that grow; a plan that is made a second time starts again.
        if done <= self._reported or time.monotonic() < self._next:
            return
        self._reported = done
        # A client that went away is no reason to stop.
        with suppress(Exception):
            anyio.from_thread.run(self._ctx.session.report_progress, done, total)
        self._next = time.monotonic() + PROGRESS_SECONDS


async def _serve_stdio(server: McpServer) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_leave_on_signal, tasks)
        async with stdio_server(stdout=_standard_output()) as (read_stream, write_stream):
            sender, receiver = anyio.create_memory_object_stream[SessionMessage | Exception]()
            tasks.start_soon(_pass_on, read_stream, sender)
            await server.run(receiver, write_stream, server.create_initialization_options())
        tasks.cancel_scope.cancel()


def _standard_output() -> "anyio.AsyncFile[str] | None":
    """Return standard output for lines that end in LF on Windows too; None for what the SDK opens itself."""
    if sys.platform == "win32":
        return anyio.wrap_file(io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n"))
    return None


async def _leave_on_signal(tasks: TaskGroup) -> None:
    """End the process on the first signal as soon as no call is running, on the second at once.

    The thread that reads standard input cannot be woken, so there is no way out but to leave it behind.
    """
    with stop_signals() as signals:
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


async def _pass_on(
    messages: AsyncIterable[SessionMessage | Exception],
    sender: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    """Pass `messages` on, including calls with lone surrogates in their arguments.

    The SDK's JSON reader rejects such a line without a reply, so the caller would wait forever. Passed
    through, it reaches mdplan's own refusal, which names the problem.
    """
    async with sender:
        async for message in messages:
            await sender.send(_read_again(message))


def _read_again(item: SessionMessage | Exception) -> SessionMessage | Exception:
    """Return `item`, or its tool call that Python's JSON reader can read and the SDK's cannot.

    Only the arguments may contain invalid Unicode: tools never return it, but the SDK repeats other parts of
    a request, and a reply that cannot be encoded ends the server.
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
        return SessionMessage(types.jsonrpc_message_adapter.validate_python(request, by_name=False))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return item
