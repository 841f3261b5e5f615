"""Print what a client with the Python SDK 1.x gets from a server, as one JSON object.

It runs in an environment with that SDK and without ours. Its argument is that of `typescript_client.mjs`.
"""

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack
from typing import Any

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

EDIT = {"op": "replace_match", "pattern": "old", "replacement": "new"}


async def main(target: dict[str, Any]) -> None:
    async with AsyncExitStack() as stack:
        if "url" in target:
            headers = {"Authorization": f"Bearer {target['token']}"}
            web = await stack.enter_async_context(httpx.AsyncClient(headers=headers, timeout=60))
            client = streamable_http_client(target["url"], http_client=web)
        else:
            given = {name: target[name] for name in ("command", "args", "cwd")}
            client = stdio_client(StdioServerParameters(**given, env=dict(os.environ)))
        read, write, *_ = await stack.enter_async_context(client)
        session = await stack.enter_async_context(ClientSession(read, write))
        hello = await session.initialize()
        outcome = {"server": hello.serverInfo.model_dump(), **await seen(session, target["many"])}
        sys.stdout.write(json.dumps(outcome))


async def seen(session: ClientSession, many: int) -> dict[str, Any]:
    progress: list[list[float | None]] = []

    async def hear(done: float, total: float | None, message: str | None) -> None:
        del message
        progress.append([done, total])

    stat = await session.call_tool("md_stat", {"file": "guide.md"})
    base = stat.structuredContent["baseSha256"]
    pinned = {"file": "guide.md", "baseSha256": base, "edits": [EDIT]}
    preview = await session.call_tool("md_validate", pinned)
    applied = await session.call_tool("md_apply", {"planId": preview.structuredContent["planId"]})
    stale = await session.call_tool("md_apply", pinned)
    files = [{"file": f"{number}.md", "edits": [EDIT]} for number in range(many)]
    long = await session.call_tool("md_validate", {"files": files}, progress_callback=hear)
    (guide,) = (await session.read_resource("mdplan://guide")).contents
    (prompt,) = (await session.get_prompt("way-of-working")).messages
    return {
        "tools": [tool.name for tool in (await session.list_tools()).tools],
        "resources": [str(each.uri) for each in (await session.list_resources()).resources],
        "guide": guide.text,
        "prompts": [each.name for each in (await session.list_prompts()).prompts],
        "prompt": prompt.content.text,
        "stat": stat.structuredContent,
        "preview": preview.structuredContent,
        "applied": applied.structuredContent,
        "stale": {"isError": stale.isError, "text": stale.content[0].text},
        "long": long.structuredContent["ok"],
        "progress": progress,
    }


asyncio.run(main(json.loads(sys.argv[1])))
