"""Tools, resources and prompts as values: what is published of them, and what they give. No SDK here."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call: `text` for the model, the same as data, and whether it is a refusal.

    `meta` is `_meta` of the result, which hosts give to an App and not to the model.
    """

    text: str
    structured: Mapping[str, Any]
    is_refusal: bool
    meta: Mapping[str, Any] = field(default_factory=dict)


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
    def shows_app(self) -> bool:
        """Whether hosts show an App next to its result."""
        return "ui" in self.meta

    @property
    def is_only_for_app(self) -> bool:
        """Whether only an App may call it."""
        return bool(self.meta.get("ui", {}).get("visibility") == ["app"])

    @property
    def published_meta(self) -> dict[str, Any]:
        """`_meta`; where there is none, the words by which Claude Code finds a tool that is not loaded."""
        return dict(self.meta) or {"anthropic/searchHint": self.title.lower()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDefinition:
    """One resource. `read` takes the parameters of the URI's template by name, if it has some.

    It gives text, or bytes that are no Unicode text, or None where there is no such resource. `complete`
    gives the values that a parameter may have, of its name and of the values of others that are known.
    `meta` is `_meta` of the published resource.
    """

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[..., str | bytes | None]
    complete: Callable[[str, Mapping[str, str]], Iterable[str]] | None = None
    meta: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDefinition:
    """One prompt: `text` is what the client puts before its model when a person asks for it."""

    name: str
    title: str
    description: str
    text: str


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """The question of a form about a plan: `text` shows it; `is_whole` says that it shows all changes."""

    text: str
    is_whole: bool


class ChatDecisions(Protocol):
    """Decisions of the user of a client on plans, in its chat; where `may_approve`, also approvals."""

    @property
    def may_approve(self) -> bool:
        """Whether a person may approve in the chat."""

    def meta_of(self, plan_id: str) -> Mapping[str, Any]:
        """`_meta` of a result about a plan, for an App."""

    def question(self, plan_id: str) -> "PlanQuestion | None":
        """What a form asks about a plan; None where it cannot be shown."""

    def decide_in_form(self, plan_id: str, version: str, verb: str, comment: str) -> bool:
        """Whether the answer to a form was stored as a decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All that one server has. `decisions` are those that its clients pass on; None where it takes none."""

    tools: tuple[ToolDefinition, ...]
    resources: tuple[ResourceDefinition, ...]
    prompts: tuple[PromptDefinition, ...]
    decisions: ChatDecisions | None = None
