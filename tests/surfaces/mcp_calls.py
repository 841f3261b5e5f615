"""The SDK's own client, without `await`, and with a time limit on every call."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.types import BlobResourceContents, CallToolResult, TextContent, TextResourceContents

from tests.support.answer_channels import assert_same_values

REPOSITORY = Path(__file__).parents[2]
GENERATIONS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
_SECONDS = 30
Progress = tuple[float, float | None]


@dataclass(frozen=True)
class Result:
    """The result of a call: text, structured data, and whether it is an error."""

    text: str
    data: dict[str, Any] | None
    is_error: bool


@dataclass(frozen=True)
class Calls:
    """One connected client.

    Every structured result is held against the tool's published output schema, and against the text.
    """

    portal: BlockingPortal
    client: Client

    @cached_property
    def _validators(self) -> dict[str, Draft202012Validator]:
        """Of the published output schemas, by the names of the tools."""
        return {each["name"]: Draft202012Validator(each["outputSchema"]) for each in self.tools()}

    def call(self, tool: str, arguments: dict[str, Any]) -> Result:
        result = self.portal.call(self.client.call_tool, tool, arguments)
        if result.structured_content is not None:
            self._validators[tool].validate(result.structured_content)
            assert_same_values(_text_of(result), result.structured_content)
        return Result(text=_text_of(result), data=result.structured_content, is_error=bool(result.is_error))

    def call_with_progress(self, tool: str, arguments: dict[str, Any]) -> tuple[Result, list[Progress]]:
        """The same, and the progress that the server reported."""
        told: list[Progress] = []

        async def listen(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total))

        call = partial(self.client.call_tool, tool, arguments, progress_callback=listen)
        result = self.portal.call(call)
        text = _text_of(result)
        return Result(text, result.structured_content, bool(result.is_error)), told

    def prompts(self) -> list[str]:
        return [prompt.name for prompt in self.portal.call(self.client.list_prompts).prompts]

    def prompt(self, name: str) -> str:
        """The one message of a prompt."""
        (message,) = self.portal.call(self.client.get_prompt, name).messages
        assert isinstance(message.content, TextContent)
        return message.content.text

    def tools(self) -> list[dict[str, Any]]:
        listed = self.portal.call(self.client.list_tools)
        return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]

    def read(self, uri: str) -> TextResourceContents | BlobResourceContents:
        """The one content of a resource."""
        (content,) = self.portal.call(self.client.read_resource, uri).contents
        return content

    def is_alive(self) -> bool:
        return bool(self.tools())


def _text_of(result: CallToolResult) -> str:
    blocks = [block for block in result.content if isinstance(block, TextContent)]
    assert len(blocks) == len(result.content)
    return "".join(block.text for block in blocks)


@contextmanager
def calls_to(server: Any, mode: str, **options: Any) -> Iterator[Calls]:
    """Client of `server` (an object in memory, or parameters of a process) in one protocol generation."""
    client = Client(server, mode=mode, read_timeout_seconds=_SECONDS, **options)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client) as connected:
        assert connected.protocol_version == GENERATIONS[mode]
        yield Calls(portal, connected)


def process(*arguments: str, program: str = "mdplan") -> StdioServerParameters:
    """Start `mdplan serve ARGUMENTS` as a process, or the server of another module `program`."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", program, "serve", *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def compact(value: object) -> str:
    """`value` as the shortest JSON text, which is what a model is charged for."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
