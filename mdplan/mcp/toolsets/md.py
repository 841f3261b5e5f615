"""The toolset `md`: look at a file's structure, preview edits, apply them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from mdplan.engine.engine import Engine
from mdplan.mcp.arguments import catch_errors
from mdplan.mcp.review_app.app_links import SHOWS_APP
from mdplan.mcp.tool import ToolDefinition, ToolResult
from mdplan.mcp.toolsets.md_tools import md_schemas
from mdplan.mcp.toolsets.md_tools.md_calls import (
    call_apply,
    call_read,
    call_search,
    call_stat,
    call_validate,
)
from mdplan.mcp.toolsets.md_tools.md_history import history_tool
from mdplan.mcp.toolsets.md_tools.verbosity import output_schema, with_verbosity
from mdplan.reports.base import Report
from mdplan.reports.plan import ApplyReport, PlanReport
from mdplan.reports.read import ReadReport, SearchReport
from mdplan.reports.stat import StatReport

_STAT: Final = """\
Structure of a file, not its content: baseSha256 and sections (sectionId, headingPath, lines; above 40, or \
with detail brief, one line each: first line, heading, ID if the heading repeats). Of a folder (recursive) \
or glob: a line for each file."""

_READ: Final = """\
Text of a file or of a place in it, or of several (targets). A code block, table or \
list may go with a section. Long text is cut; nextCursor goes on."""

_SEARCH: Final = """\
Find text: matches by section, as line:column, with their number. Literal and case-sensitive \
by default. where, has and min choose files by front matter, also without a pattern; filesOnly names files."""

_APPLY: Final = """\
Edit one file (file, edits), several (files), or apply a preview (planId): all edits or none.

- Edits address the file as you saw it, not each other's results, unless sequential. None may overlap.
- A write needs to know what you saw: look first (md_stat, md_read, md_search), or give baseSha256, planId, \
or in each edit expectedText, expectedValue, line hashes, sectionSha256 or a literal, case-sensitive \
replace_match with an exact count, by default 1.
- replace_match wants one match unless matchSelection or expectedMatchCount differ, and skips code, \
link targets, images, front matter and HTML unless include names them.
- dryRun: true gives a diff and planId, unguarded; {"planId": "..."} applies it.

Example: {"file": "README.md", "edits": [{"op": "replace_match", "heading": "Install", "pattern": "1.0", \
"replacement": "2.0"}]}"""

_VALIDATE: Final = """\
Preview of md_apply, with the same arguments: all problems, or a diff and a planId. Writes nothing."""

# Claude Code loads the first three with a session, and finds the others by these words.
_ALWAYS: Final = {"anthropic/alwaysLoad": True}
_META: Final[Mapping[str, Mapping[str, Any]]] = {
    "md_stat": _ALWAYS,
    "md_read": _ALWAYS,
    "md_apply": _ALWAYS,
    "md_search": {"anthropic/searchHint": "find text or front matter in Markdown files"},
    "md_validate": {"anthropic/searchHint": "preview Markdown edits as a diff"},
}
# Claude Code then asks its user before each call, in every permission mode.
_ASKS_USER: Final = {"anthropic/requiresUserInteraction": True}

# What compact answers have next to the fields of a report.
_ONLY_COMPACT: Final = {
    "md_stat": ("outline", "inventory"),
    "md_search": ("listing",),
    "md_validate": ("listing",),
    "md_apply": ("transaction", "listing"),
}


def md_tools(engine: Engine, read_only: bool) -> tuple[ToolDefinition, ...]:  # noqa: FBT001 (as all sets have it)
    """The tools of this set, over `engine`."""

    def tool(
        name: str, title: str, description: str, shape: type[Report], call: Callable[..., ToolResult]
    ) -> ToolDefinition:
        return ToolDefinition(
            name=name,
            title=title,
            description=description,
            input_schema=md_schemas.input_schema(name),
            output_schema=output_schema((shape,), _ONLY_COMPACT.get(name, ())),
            writes=name == "md_apply",
            meta={
                **_META[name],
                **(_ASKS_USER if name == "md_apply" and engine.settings.require_approval else {}),
                # Where a person approves, they may do so when the agent applies.
                **(
                    SHOWS_APP
                    if name == "md_validate" or (name == "md_apply" and engine.gate.is_required)
                    else {}
                ),
            },
            call=catch_errors(shape, with_verbosity(shape, partial(call, engine))),
        )

    return (
        tool("md_stat", "Structure of a file", _STAT, StatReport, call_stat),
        tool("md_read", "Text of a place", _READ, ReadReport, call_read),
        tool("md_search", "Find text", _SEARCH, SearchReport, call_search),
        tool("md_validate", "Preview edits", _VALIDATE, PlanReport, call_validate),
        tool("md_apply", "Apply edits", _APPLY, ApplyReport, call_apply),
        history_tool(engine, read_only=read_only),
    )
