"""Tools, resources and prompts as values: what is published of them, and what they give. No SDK here."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What one call gives: `text` for the model, the same as data, and whether it is a refusal."""

    text: str
    structured: Mapping[str, Any]
    is_refusal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """One tool. `call` takes the arguments as decoded JSON, may run in any thread, and returns what is wrong.

    `writes` says whether it can change files; a server that is read-only leaves such tools out.
    `may_be_repeated` says that the same call a second time changes nothing more, so that a client may retry.
    `meta` is `_meta` of the published tool: what only some clients understand.
    """

    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    writes: bool
    may_be_repeated: bool = True
    meta: Mapping[str, Any] = field(default_factory=dict)
    call: Callable[[Mapping[str, Any]], ToolResult]

    @property
    def published_meta(self) -> dict[str, Any]:
        """`_meta`; where there is none, the words by which Claude Code finds a tool that is not loaded."""
        return dict(self.meta) or {"anthropic/searchHint": self.title.lower()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDefinition:
    """One resource. `read` takes the parameters of the URI's template by name, if it has some.

    It gives text, or bytes that are no Unicode text, or None where there is no such resource. `complete`
    gives the values that a parameter may have, of its name and of the values of others that are known.
    """

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[..., str | bytes | None]
    complete: Callable[[str, Mapping[str, str]], Iterable[str]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDefinition:
    """One prompt: `text` is what the client puts before its model when a person asks for it."""

    name: str
    title: str
    description: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All that one server has."""

    tools: tuple[ToolDefinition, ...]
    resources: tuple[ResourceDefinition, ...]
    prompts: tuple[PromptDefinition, ...]
