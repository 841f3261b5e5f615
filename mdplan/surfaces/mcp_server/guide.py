"""The guide that agents can read as a resource: the way of working, and every operation with an example."""

import inspect
import json
from typing import Final

from mdplan.operation import Operation
from mdplan.operations import OPERATIONS

_WAY: Final = """\
# Editing with mdplan

1. `md_stat` shows the sections of a file, with `sectionId`, `headingPath` and lines, and its `baseSha256`.
2. `md_validate`, or `md_apply` with `"dryRun": true`, turns edits into a diff and a `planId`, and writes
   nothing.
3. `md_apply` with `{"planId": "…"}` writes exactly that plan, all files or none, and only while every file
   still has the bytes that were planned on. Otherwise it answers `STALE_BASE`: look again and plan again.

A preview can be skipped: `md_apply` with `baseSha256` of each file plans and writes in one call.

## Rules

- Lines and columns are 1-based; columns count Unicode code points. `lines` are inclusive, the end of a
  `range` is exclusive.
- All edits of a batch address the file as you saw it. Overlapping edits are `CONFLICTING_EDITS`.
- A section is named by one of `sectionId`, `headingPath` (the last elements suffice), `heading`, `anchor`.
  A name that fits several sections is `AMBIGUOUS_HEADING` with all candidates; `occurrence` picks one.
- Text that you send may have LF line ends; it gets those of the file.
- A refusal writes nothing. Each problem has a code, a place and a hint.
"""


def guide() -> str:
    """The guide, in Markdown."""
    parts = [_WAY, "## Operations\n", *(_chapter(name, model) for name, model in OPERATIONS.items())]
    return "\n".join(parts)


def _chapter(name: str, model: type[Operation]) -> str:
    example = json.dumps(model.example, ensure_ascii=False)
    return f"### {name}\n\n{inspect.getdoc(model)}\n\n```json\n{example}\n```\n"
