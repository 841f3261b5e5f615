"""Tools, resources and prompts as values, and the call that is running. This module does not know the SDK."""

import dataclasses
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from mdplan.settings import ProgressCallback, no_progress
from mdplan.values import Struct, field

if TYPE_CHECKING:
    from mdplan.engine.history import CallerIdentity
    from mdplan.plan import Plan
    from mdplan.storage.root import Root


class ToolResult(Struct, kw_only=True):
    """The result of a call: `text` for the model, the same as data, and whether it is a refusal.

    `meta` is `_meta` of the result, which hosts give to an App and not to the model.
    """

    text: str
    structured: Mapping[str, Any]
    is_refusal: bool
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many characters it takes, as text or as data, whichever is longer."""
        return max(len(self.text), len(json.dumps(self.structured, ensure_ascii=False)))


class ToolDefinition(Struct, kw_only=True):
    """A tool. `call` takes the arguments as decoded JSON, may run in any thread, and never raises problems.

    `writes`: it can change files; a read-only server omits such tools. `may_be_repeated`: a second equal call
    changes nothing more, so a client may retry. `meta` is `_meta` of the published tool, for some clients.
    `schemas` is the file of its schemas, if that has another name.
    """

    name: str
    title: str
    description: str
    writes: bool
    schemas: str = ""
    may_be_repeated: bool = True
    meta: Mapping[str, Any] = field(default_factory=dict)
    call: Callable[[Mapping[str, Any]], ToolResult]

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """What it takes."""
        return published_schema(self.schemas or self.name, "inputSchema")

    @property
    def output_schema(self) -> Mapping[str, Any]:
        """The schema of its answers as data."""
        return published_schema(self.schemas or self.name, "outputSchema")

    @property
    def shows_app(self) -> bool:
        """True if hosts show an App next to its result."""
        return "resourceUri" in self.meta.get("ui", {})

    @property
    def is_only_for_app(self) -> bool:
        """True if only an App may call it."""
        return bool(self.meta.get("ui", {}).get("visibility") == ["app"])

    @property
    def published_meta(self) -> dict[str, Any]:
        """`_meta`, by default the words by which Claude Code finds a tool that is not loaded."""
        return dict(self.meta) or {"anthropic/searchHint": self.title.lower()}


def published_schema(name: str, kind: str) -> Mapping[str, Any]:
    """Return the schema of that `kind` in the file `name`, which `make schemas` writes."""
    path = Path(__file__).with_name("schemas") / f"{name}.json"
    schema: Mapping[str, Any] = json.loads(path.read_bytes())[kind]
    return schema


class ResourceDefinition(Struct, kw_only=True):
    """A resource. `read` takes the parameters of the URI's template by name, if there are any.

    It returns text, bytes that are not Unicode, or None if the resource does not exist. `complete` returns
    possible values of a parameter, given its name and the known values of others. `meta` is `_meta` of the
    published resource.
    """

    uri: str
    name: str
    title: str
    description: str
    mime_type: str
    read: Callable[..., str | bytes | None]
    complete: Callable[[str, Mapping[str, str]], Iterable[str]] | None = None
    meta: Mapping[str, Any] | None = None

    @property
    def is_app(self) -> bool:
        """True if it is an App, which hosts show."""
        return self.uri.startswith("ui://")


class PromptDefinition(Struct, kw_only=True):
    """One prompt: `text` is what the client puts before its model when a person asks for it."""

    name: str
    title: str
    description: str
    text: str


class Catalog(Struct, kw_only=True):
    """Everything a server offers. `decisions`, a `ChatReview`, stores decisions from its clients; or None."""

    tools: tuple[ToolDefinition, ...]
    resources: tuple[ResourceDefinition, ...]
    prompts: tuple[PromptDefinition, ...]
    decisions: Any = None


# --- Introductions of toolsets, which are known before any toolset is loaded

# The tools of `serve --mode claude-code`, a client with its own file tools.
EDITOR_PATCH: Final = "patch_text_file_contents"


def guide_text(name: str) -> str:
    """Return the text for agents in the file `name`."""
    return Path(__file__).with_name("guides").joinpath(name).read_text(encoding="utf-8")


class Introduction(Struct):
    """A family of tools: its name, and those of its tools."""

    family: str
    names: tuple[str, ...]

    @property
    def instructions(self) -> str:
        """The paragraph that a model reads about their way of working."""
        return guide_text(f"{self.family}.txt").rstrip("\n")


_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "md": ("md_stat", "md_read", "md_search", "md_validate", "md_apply", "md_history"),
    "editor": (
        "get_text_file_contents",
        EDITOR_PATCH,
        "create_text_file",
        "append_text_file_contents",
        "insert_text_file_contents",
        "delete_text_file_contents",
    ),
    "text": ("TextInspect", "TextRead", "TextPatch", "TextReplace"),
    "files": ("read_files", "grep_content"),
}
INTRODUCTIONS: Final = {family: Introduction(family, names) for family, names in _TOOLS.items()}

DEFAULT_TOOLSETS: Final = ("md",)


def tool_names(toolsets: Sequence[str]) -> list[str]:
    """Return the names of all tools of `toolsets`."""
    return [name for toolset in toolsets for name in INTRODUCTIONS[toolset].names]


# --- The current call
#
# The server loads this before it says who it is, so the rest is loaded when a call needs it.

_UNKNOWN_CLIENT: Final = "unknown"


class PendingPlan(Struct):
    """A plan that a person must approve. `version` is that of its decisions at the time of the call.

    `address` is a page that shows the plan and cannot decide; None if no page is served.
    """

    plan_id: str
    root_path: str
    version: str
    address: str | None

    @property
    def is_decided(self) -> bool:
        """True if somebody has decided by now."""
        from mdplan.storage.plans import DecisionStore

        return DecisionStore(self.root_path).history(self.plan_id).version != self.version


@dataclasses.dataclass(slots=True)
class CurrentCall:
    """A call: the plans in `pending` that it waits for, and the URIs that it `changed`.

    `client` and `version` are the client's own name and version; both may be missing. `shown` is what its
    session has been shown; None without a session. `on_progress` receives the progress of the call.
    """

    client: str | None
    version: str = ""
    shown: "ShownFiles | None" = None
    on_progress: ProgressCallback = no_progress
    pending: list[PendingPlan] = dataclasses.field(default_factory=list)
    changed: list[str] = dataclasses.field(default_factory=list)


_CALL: Final[ContextVar[CurrentCall | None]] = ContextVar("call", default=None)


def mcp_caller() -> "CallerIdentity":
    """Return the current MCP call in the form that an engine expects."""
    from mdplan.engine.history import CallerIdentity, client_actor, mcp_client

    return CallerIdentity(
        actor=lambda: client_actor(_client_name()[0]),
        client=lambda: mcp_client(*_client_name()),
        on_pending=_record_pending,
    )


def _client_name() -> tuple[str, str]:
    """Return the name and version of the client of the current call, as far as they are known."""
    call = _CALL.get()
    return (call.client or _UNKNOWN_CLIENT, call.version) if call is not None else (_UNKNOWN_CLIENT, "")


def _record_pending(plan: "Plan", root: "Root") -> None:
    from mdplan.storage.plans import DecisionStore
    from mdplan.web.sessions import address_of

    call = _CALL.get()
    if call is not None:
        version = DecisionStore(root.path).history(plan.plan_id).version
        address = address_of(root.path, plan.plan_id)
        call.pending.append(PendingPlan(plan.plan_id, root.path, version, address))


def shown_files() -> "ShownFiles | None":
    """Return what the client of the current call has been shown; None without a session."""
    call = _CALL.get()
    return call.shown if call is not None else None


def record_changed(uris: Iterable[str]) -> None:
    """Record that the current call has changed what is at `uris`: the server notifies who listens to them."""
    call = _CALL.get()
    if call is not None:
        call.changed += uris


@contextmanager
def current_call(call: CurrentCall) -> Iterator[CurrentCall]:
    """Within the block, this thread runs `call`."""
    token = _CALL.set(call)
    try:
        yield call
    finally:
        _CALL.reset(token)


def report_progress(done: int, total: int | None) -> None:
    """Report that `done` of `total` parts of the current call are done; None if the total is not known."""
    call = _CALL.get()
    if call is not None:
        call.on_progress(done, total)


# --- File versions that a client was shown last
_MOST_FILES: Final = 10_000


class ShownVersion(Struct):
    """A version of a file: its SHA-256, and the hashes of its sections by their IDs, where they are known."""

    sha256: str
    sections: Mapping[str, str] = field(default_factory=dict)


class ShownFiles:
    """The memory of one session. Calls of one client may run at once."""

    def __init__(self) -> None:
        """Start with nothing shown."""
        self._versions: OrderedDict[str, ShownVersion] = OrderedDict()
        self._lock = Lock()

    def version(self, file: str) -> ShownVersion | None:
        """Return the version of `file`, a path as in reports, that was shown last."""
        with self._lock:
            return self._versions.get(file)

    def record(self, file: str, version: ShownVersion) -> None:
        """Record that this `version` of `file` was shown; of very many files the oldest is forgotten."""
        with self._lock:
            self._versions[file] = version
            self._versions.move_to_end(file)
            if len(self._versions) > _MOST_FILES:
                self._versions.popitem(last=False)

    def follow(self, file: str, old_sha256: str | None, version: ShownVersion | None, new_file: str) -> None:
        """Record the result of this client's commit of `file`, if it was based on the version shown.

        A file that it created (`old_sha256` is None) counts as shown. `version` is None for a deleted file.
        """
        with self._lock:
            known = self._versions.get(file)
            if old_sha256 is not None and (known is None or known.sha256 != old_sha256):
                return
            self._versions.pop(file, None)
            if version is not None:
                self._versions[new_file] = version
