"""Hints of the engine for somebody who has a document in memory: its methods in place of tools."""

import re
from dataclasses import replace
from typing import Final

from mdplan.diagnostics import Problems

_TOOL: Final = re.compile(r"\b(?:run |call )?`?\bmd_(stat|read|search)\b`?")
_PHRASES: Final = (
    ("`mdplan schema batch`", "the signatures in `mdplan.edits`"),
    ('if it is text, give its `"encoding"`', "if it is text, give its encoding to `Document.from_bytes`"),
)


def for_python(problems: Problems) -> Problems:
    """`problems` with hints that name methods of `Document`."""
    return tuple(replace(each, hint=_in_python(each.hint)) for each in problems)


def _in_python(hint: str) -> str:
    for of_agents, of_python in _PHRASES:
        hint = hint.replace(of_agents, of_python)
    return _TOOL.sub(lambda found: f"{'see ' if ' ' in found[0] else ''}`document.{found[1]}()`", hint)
