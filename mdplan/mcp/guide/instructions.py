"""The guide for agents: the way of working, a paragraph for each toolset, and every operation of `md`.

The first two are a prompt as well; all of it is a resource.
"""

import inspect
import json
from collections.abc import Mapping
from typing import Final

from mdplan.operations import OPERATIONS
from mdplan.operations.base import Operation

_WAY: Final = """\
# Editing with mdplan

1. Look before you edit: see the structure of a file, then read only the places that you will change.
2. Name a place by its section, heading or text rather than by line numbers, and use no line number from
   before an edit.
3. Guard each edit by what you read: a hash, a plan, or the text itself. A refusal writes
   nothing, and its hint says how to go on.
4. Send edits that belong together in one call: all of them are made, or none.
5. In doubt preview, and read the diff.
"""
_MD: Final = """\
## How edits are planned

1. `md_stat` shows the sections of a file, with `sectionId`, `headingPath` and lines, and its `baseSha256`.
2. `md_validate`, or `md_apply` with `"dryRun": true`, turns edits into a diff and a `planId`, and writes
   nothing.
3. `md_apply` with `{"planId": "…"}` writes exactly that plan, all files or none, and only while every file
   still has the bytes that were planned on. Otherwise it answers `STALE_BASE`: look again and plan again.

A preview can be skipped: `md_apply` with `baseSha256` of each file plans and writes in one call.

- Lines and columns are 1-based; columns count Unicode code points. `lines` are inclusive, the end of a
  `range` is exclusive.
- All edits of a batch address the file as you saw it. Overlapping edits are `CONFLICTING_EDITS`.
- A section is named by one of `sectionId`, `headingPath` (the last elements suffice), `heading`, `anchor`.
  Prefer the ID: it names one section, until the heading of that or of one above it is renamed.
  A name that fits several sections is `AMBIGUOUS_HEADING` with all candidates; `occurrence` picks one.
- Text that you send may have LF line ends; it gets those of the file.
- A refusal writes nothing. Each problem has a code, a place and a hint.
"""


def server_instructions(paragraphs: Mapping[str, str]) -> str:
    """How to work with these tools, in Markdown; `paragraphs` are those of the toolsets, by their names."""
    return "\n".join([_WAY, *(f"## Tools of `{name}`\n\n{text}\n" for name, text in paragraphs.items())])


def usage_guide(paragraphs: Mapping[str, str]) -> str:
    """The instructions, and all operations if the toolset `md` is among `paragraphs`."""
    parts = [server_instructions(paragraphs)]
    if "md" in paragraphs:
        parts += [_MD, "## Operations\n", *(_chapter(name, model) for name, model in OPERATIONS.items())]
    return "\n".join(parts)


def _chapter(name: str, model: type[Operation]) -> str:
    example = json.dumps(model.example, ensure_ascii=False)
    return f"### {name}\n\n{inspect.getdoc(model)}\n\n```json\n{example}\n```\n"
