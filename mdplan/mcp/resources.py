"""Resources: the diff of a plan, the guide, and the exact schema of a batch.

Many clients show no resources; all that they hold can be had through the tools or the command line as well.
"""

import json
from collections.abc import Mapping

from mdplan.engine.engine import Engine
from mdplan.mcp.instructions import usage_guide
from mdplan.mcp.report_text import diff_uri
from mdplan.mcp.tool import ResourceDefinition
from mdplan.reference.schema import batch_schema


def resources(engine: Engine, paragraphs: Mapping[str, str]) -> tuple[ResourceDefinition, ...]:
    """All resources, over `engine`; `paragraphs` are those of the active toolsets, by their names."""
    return (
        ResourceDefinition(
            uri=diff_uri("{plan_id}"),
            name="plan-diff",
            title="Diff of a plan",
            description="The whole unified diff of a plan, also after it was applied.",
            mime_type="text/x-diff",
            read=lambda plan_id: _diff(engine, plan_id),
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
            read=_batch_schema,
        ),
    )


def _diff(engine: Engine, plan_id: str) -> str | bytes | None:
    """The diff as text; as bytes where they are no Unicode; None where there is none to show."""
    diff = engine.diff_bytes(plan_id)
    if not isinstance(diff, bytes):
        return None
    try:
        return diff.decode("utf-8")
    except UnicodeDecodeError:
        return diff


def _batch_schema() -> str:
    return json.dumps(batch_schema(), indent=2, ensure_ascii=False)
