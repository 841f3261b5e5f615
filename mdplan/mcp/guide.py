"""The guide for agents: the way of working, a paragraph for each toolset, and every operation of `md`.

The first two are a prompt as well; all of it is a resource.
"""

import inspect
import json
from collections.abc import Iterator, Mapping

from mdplan.diagnostics import Diagnostic
from mdplan.engine.engine import Engine
from mdplan.mcp.answers import diff_uri
from mdplan.mcp.tool import ResourceDefinition, guide_text
from mdplan.operations import OPERATIONS
from mdplan.operations.base import Operation
from mdplan.reading.stat_text import stat_text
from mdplan.requests.json_schemas import batch_schema


def server_instructions(paragraphs: Mapping[str, str]) -> str:
    """Return instructions for these tools, in Markdown; `paragraphs` belong to the toolsets, by name."""
    return "\n".join(
        [guide_text("way.md"), *(f"## Tools of `{name}`\n\n{text}\n" for name, text in paragraphs.items())]
    )


def usage_guide(paragraphs: Mapping[str, str]) -> str:
    """Return the instructions, and all operations if the toolset `md` is among `paragraphs`."""
    parts = [server_instructions(paragraphs)]
    if "md" in paragraphs:
        parts += [
            guide_text("plans.md"),
            "## Operations\n",
            *(_chapter(name, model) for name, model in OPERATIONS.items()),
        ]
    return "\n".join(parts)


def _chapter(name: str, model: type[Operation]) -> str:
    example = json.dumps(model.example, ensure_ascii=False)
    return f"### {name}\n\n{inspect.getdoc(model)}\n\n```json\n{example}\n```\n"


# --- Resources
#
# Many clients show no resources; the tools and the command line give all of this as well.


def resources(engine: Engine, paragraphs: Mapping[str, str]) -> tuple[ResourceDefinition, ...]:
    """Return all resources for `engine`; `paragraphs` belong to the active toolsets, by name."""
    return (
        ResourceDefinition(
            uri=diff_uri("{plan_id}"),
            name="plan-diff",
            title="Diff of a plan",
            description="The whole unified diff of a plan, also after it was applied.",
            mime_type="text/x-diff",
            read=lambda plan_id: _diff(engine, plan_id),
            # Those of plans that were not applied yet, newest first.
            complete=lambda _, __: (stored.plan_id for stored, _ in engine.library.pending()),
        ),
        ResourceDefinition(
            uri="mdplan://outline/{+path}",
            name="outline",
            title="Outline of a file",
            description="The sections of a file with their lines and IDs, as md_stat shows them.",
            mime_type="text/plain",
            read=lambda path: _outline(engine, path),
            complete=lambda _, __: _paths(engine),
        ),
        ResourceDefinition(
            uri="mdplan://section/{heading}/{+path}",
            name="section",
            title="Section of a file",
            description="The text of one section, with its subsections, as md_read shows it.",
            mime_type="text/markdown",
            read=lambda path, heading: _section(engine, path, heading),
            complete=lambda name, known: (
                _paths(engine) if name == "path" else _headings(engine, known.get("path"))
            ),
        ),
        ResourceDefinition(
            uri="mdplan://guide",
            name="guide",
            title="Guide for agents",
            description="The way of working with these tools, and every operation with an example.",
            mime_type="text/markdown",
            read=lambda: usage_guide(paragraphs),
        ),
        ResourceDefinition(
            uri="mdplan://schema/batch",
            name="batch-schema",
            title="Exact schema of a batch",
            description="JSON Schema of what md_apply takes, with one alternative for each operation.",
            mime_type="application/schema+json",
            read=lambda: json.dumps(batch_schema(), indent=2, ensure_ascii=False),
        ),
    )


def _outline(engine: Engine, path: str) -> str | None:
    report = engine.stat({"file": path})
    return stat_text(report) if report.ok else None


def _section(engine: Engine, path: str, heading: str) -> str | None:
    report = engine.read({"file": path, "heading": heading})
    return "".join(result.content or "" for result in report.results) if report.ok else None


def _paths(engine: Engine) -> Iterator[str]:
    """Files of all roots that may be read, and that git does not ignore."""
    for root in engine.workspace.roots:
        found = engine.workspace.iter_files(
            "." if len(engine.workspace.roots) == 1 else f"{root.name}:.", respect_gitignore=True
        )
        if not isinstance(found, Diagnostic):
            yield from map(str, found)


def _headings(engine: Engine, path: str | None) -> Iterator[str]:
    report = engine.stat({"file": path}) if path is not None else None
    if report is not None and report.ok:
        yield from (section.heading_path[-1] for section in report.sections if section.heading_path)


def _diff(engine: Engine, plan_id: str) -> str | bytes | None:
    """Return the diff as text, or as bytes if it is not Unicode; None if there is none."""
    diff = engine.diff_bytes(plan_id)
    if not isinstance(diff, bytes):
        return None
    try:
        return diff.decode("utf-8")
    except UnicodeDecodeError:
        return diff
