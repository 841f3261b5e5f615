"""Adapt hints to the caller: a tool for agents, a command in the shell, or a method of a document.

A hint of the engine names the next step: a tool with its arguments, as in ``md_stat {"file": "a.md"}``, a
command for people, or an option that raises a limit. Quoted parts come from files and stay.
"""

import json
import re
import shlex
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, Final

from mdplan.diagnostics import Diagnostic
from mdplan.field_names import snake_case
from mdplan.reports.base import AnyReport
from mdplan.text.lazy_pattern import lazy_pattern


class Caller(Enum):
    """Who gets a hint."""

    AGENT = "agent"
    SHELL = "shell"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class _Step:
    """The name of a step: for an agent, in the shell with ``{}`` for its values, and for a document."""

    agent: str
    shell: str
    document: str


_STEPS: Final = {
    "md_stat": _Step("md_stat", "`mdplan outline{}`", "`document.stat()`"),
    "md_read": _Step("md_read", "`mdplan read{}`", "`document.read()`"),
    "md_search": _Step("md_search", "`mdplan search{}`", "`document.search()`"),
    "md_validate": _Step("md_validate", "`mdplan plan BATCH`", "`document.plan()`"),
    "md_apply": _Step("md_apply", "`mdplan apply{}`", "`document.apply()`"),
    "md_history": _Step("md_history", "`mdplan history`", ""),
    "undo": _Step("md_history", "`mdplan undo{}`", ""),
    "see iniSections in md_stat": _Step(
        "see iniSections in md_stat",
        "`mdplan outline FILE` lists its sections",
        "see `ini_sections` of `document.stat()`",
    ),
    "see `anchor` in md_stat": _Step(
        "see `anchor` in md_stat",
        "`mdplan outline FILE --json` lists the anchors",
        "see `anchor` in `document.stat()`",
    ),
    "search with where": _Step("md_search with `where`", "`mdplan search`", "`Engine.search` with `where`"),
    "from md_stat": _Step("from md_stat", "from `mdplan outline --long`", "from `document.stat()`"),
    "the list of operations": _Step(
        "the description of `op` in md_apply", "`mdplan help`", "the list in `mdplan.edits`"
    ),
    "`mdplan schema batch`": _Step(
        "the input schema of the tool", "`mdplan help batch`", "the signatures in `mdplan.edits`"
    ),
    '`"onStale": "rebase"`': _Step('`"onStale": "rebase"`', "`--on-stale rebase`", ""),
    "look at the file, and send": _Step(
        "look at the file (md_read, md_search or md_stat), or send",
        "look at the file, and send",
        "look at the file, and send",
    ),
    'with its `"encoding"`': _Step(
        'with its `"encoding"`', "with `--encoding`", "with encoding to `Document.from_bytes`"
    ),
    '`"encoding"`': _Step('`"encoding"`', '`"encoding"`', "encoding to `Document.from_bytes`"),
}
_TEXT: Final = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-f]{4}))*"'
# A quoted tool is text of a file.
_STEP: Final = lazy_pattern(
    r'(?<![`"\w])(?P<tool>md_[a-z]+)'
    rf'(?: (?P<arguments>\{{{_TEXT}: {_TEXT}(?:, {_TEXT}: {_TEXT})*\}}))?(?![\w`"])|'
    + "|".join(re.escape(name) for name in _STEPS if not name.startswith(("md_", "undo")))
)
# People get 12 digits of a plan ID, which every command takes.
_PLAN_ID: Final = lazy_pattern(r"^sha256-([0-9a-f]{12})[0-9a-f]*$")
_OPTIONS: Final = lazy_pattern(r",? or raise `--[a-z-]+`| \((?:`--[a-z-]+`(?:, )?)+\)")
_FIELD: Final = lazy_pattern(
    r'(?<!\{)`?"(?P<name>[a-z][a-zA-Z]*)": (?P<value>true|false|\d+|"[^"\\]*"|\["[^"\\]*"\])`?'
)
_NEAREST: Final = lazy_pattern(r"^nearest: (?:\[[^\]]*\] \(line \d+\)(?:; (?=\[))?)+")
_OUTLINE: Final = lazy_pattern(r"`mdplan outline(?: FILE)?(?P<options>(?: --[a-z]+)*)`")
_COMMAND: Final = lazy_pattern(r"(?<!to )run (?=`mdplan )")


def in_words_of(caller: Caller, text: str) -> str:
    """Replace the steps in `text` by those that `caller` can take."""
    text = _STEP.sub(lambda match: _step(caller, match), text)
    if caller is Caller.SHELL:
        return text
    # Only a person who starts the program can give it options.
    text = _OPTIONS.sub("", text)
    if caller is Caller.AGENT:
        return _COMMAND.sub("ask the user to run ", text)
    return _FIELD.sub(lambda match: f"`{snake_case(match['name'])}={json.loads(match['value'])!r}`", text)


def with_hints_for(caller: Caller, report: AnyReport) -> AnyReport:
    """Return `report` with hints for `caller`."""
    names = {field.name for field in fields(report)} & _WITH_HINTS
    return replace(report, **{name: _adapted(caller, getattr(report, name)) for name in names})


# Fields of reports that are problems, or have some.
_WITH_HINTS: Final = frozenset({"error", "diagnostics", "warnings", "skipped", "results"})


def _adapted(caller: Caller, value: Any) -> Any:  # noqa: ANN401 (a field of a report)
    if isinstance(value, tuple):
        return tuple(_adapted(caller, each) for each in value)
    if isinstance(value, Diagnostic):
        return hint_for(caller, value)
    problem = getattr(value, "problem", None)
    return replace(value, problem=hint_for(caller, problem)) if isinstance(problem, Diagnostic) else value


def hint_for(caller: Caller, problem: Diagnostic) -> Diagnostic:
    """Return `problem` with its hint for `caller`."""
    hint = in_words_of(caller, problem.hint)
    if caller is Caller.SHELL:
        hint = on_file(hint, problem.file)
    if caller is Caller.AGENT and problem.candidates:
        # The candidates say it as well, and an agent pays for both.
        hint = _NEAREST.sub("one of these may be meant", hint)
    return problem if hint == problem.hint else replace(problem, hint=hint)


def on_file(hint: str, file: str | None) -> str:
    """Return `hint` with `file` in each look at the outline that names none."""
    if file is None:
        return hint
    return _OUTLINE.sub(lambda match: f"`mdplan outline {shlex.quote(file)}{match['options']}`", hint)


def _step(caller: Caller, match: re.Match[str]) -> str:
    arguments: dict[str, str] = json.loads(match["arguments"] or "{}")
    is_undo = arguments.pop("action", None) == "undo"
    step = _STEPS["undo" if is_undo else match["tool"] or match[0]]
    if caller is Caller.AGENT:
        return match[0] if match["tool"] else step.agent
    if caller is Caller.DOCUMENT:
        return step.document
    values = (shlex.quote(_PLAN_ID.sub(r"\1", value)) for value in arguments.values())
    return step.shell.format("".join(f" {value}" for value in values))
