"""Tools, resources and prompts as values: what is published of them, and what they give. No SDK here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol


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


# --- Introductions of toolsets, available before any is loaded: the names of their tools, and their
# use.

# What `serve --mode claude-code` offers, which has file tools of its own.
EDITOR_PATCH: Final = "patch_text_file_contents"


@dataclass(frozen=True, slots=True)
class Introduction:
    """A family of tools; `instructions` is the paragraph that a model reads about their way of working."""

    names: tuple[str, ...]
    instructions: str


_MD_INTRODUCTION: Final = """\
Edits Markdown and text files by small declared edits: bytes that no edit names never change. Look first: \
md_stat gives sections with IDs and the baseSha256 of a file, without its content; md_search finds text, \
md_read gives it. Edit by sectionId or headingPath, not by line numbers; all edits of one call address the \
file as you saw it. A write is checked against what you saw: look at the file first, or send its baseSha256 \
or the planId of a preview (md_validate, or md_apply with dryRun). Name headings, items and cells by their \
text, without marks such as # and -. In a glob, *.md also matches in folders. In doubt preview, read the \
diff, then send the planId. A refusal writes nothing, and its hint says how to go on. md_history undoes what \
was written."""

_EDITOR: Final = """\
The text editor tools edit by line numbers (1-based, inclusive) and check the text there. Read first, \
only the ranges that you need, and give old_string, context_line or expected_content as read. Prefer \
patch_text_file_contents, and send all files and patches of one change in one call: they are made together \
or not at all, and do not shift each other. Line numbers are of the file as read: read again after an edit."""

_TEXT: Final = """\
TextInspect shows the structure of a file, TextRead a part of it. To edit: TextReplace for text within \
lines, TextPatch with appendToSection or beforeHeading for new content, with heading or codeBlock for \
those, with lines last of all. Give the fileHash of each answer to the next edit as expectedHash. Find \
your way by the context lines of an answer; use no line number from before an edit."""

_FILES: Final = """\
Find, then read: grep_content gives files and line numbers, and a hint where each section ends; read_files \
reads from such a line, with read_to_next_pattern to the line before the next section. Read several places \
in one call; after an edit search again, for its line numbers are others then."""

INTRODUCTIONS: Final[Mapping[str, Introduction]] = {
    "md": Introduction(
        ("md_stat", "md_read", "md_search", "md_validate", "md_apply", "md_history"), _MD_INTRODUCTION
    ),
    "editor": Introduction(
        (
            "get_text_file_contents",
            EDITOR_PATCH,
            "create_text_file",
            "append_text_file_contents",
            "insert_text_file_contents",
            "delete_text_file_contents",
        ),
        _EDITOR,
    ),
    "text": Introduction(("TextInspect", "TextRead", "TextPatch", "TextReplace"), _TEXT),
    "files": Introduction(("read_files", "grep_content"), _FILES),
}

DEFAULT_TOOLSETS: Final = ("md",)


def tool_names(toolsets: Sequence[str]) -> list[str]:
    """Names of all tools of `toolsets`."""
    return [name for toolset in toolsets for name in INTRODUCTIONS[toolset].names]
