"""Hints as a model can follow them: tools and arguments in place of commands and options of the shell."""

import re
from dataclasses import fields, replace
from typing import Any, Final, TypeVar

from mdplan.diagnostics import Diagnostic
from mdplan.reports.base import Report

AnyReport = TypeVar("AnyReport", bound=Report)
_LISTS: Final = ("diagnostics", "warnings")
_SPELLINGS: Final = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r",? or raise (?:the limit )?\(?`--[a-z-]+`\)?", ""),
        (r" \(`--[a-z-]+(?: [a-z]+)?`\)", ""),
        (r"`--allow` and `--deny` limit", "this server limits"),
        (r"\ba stat of\b", "md_stat of"),
        (r"see `mdplan schema batch` for what is allowed", "see the input schema of the tool"),
        (r"`mdplan plan BATCH`, or md_validate", "md_validate"),
        (r"md_apply and `mdplan help` list them all", "the description of `op` in md_apply lists them all"),
        (r"see `mdplan history`", "see md_history"),
        (r"`mdplan undo ([^`]+)`", r'md_history {"action": "undo", "transaction": "\1"}'),
        (r"^run `mdplan recover", "ask the user to run `mdplan recover"),
        (r"then run `mdplan recover", "then ask the user to run `mdplan recover"),
        (r"^look at the file, and send", "look at the file (md_read, md_search or md_stat), or send"),
    )
)
# What the candidates of a problem say as well.
_NEAREST: Final = re.compile(r"^nearest: (?:\[[^\]]*\] \(line \d+\)(?:; (?=\[))?)+")


def with_tool_hints(report: AnyReport) -> AnyReport:
    """`report` with hints that name tools."""
    names = {field.name for field in fields(report)}
    changed: dict[str, Any] = {
        name: tuple(map(_spelled, getattr(report, name))) for name in _LISTS if name in names
    }
    if report.error is not None:
        changed["error"] = _spelled(report.error)
    return replace(report, **changed)


def _spelled(problem: Diagnostic) -> Diagnostic:
    hint = problem.hint
    if problem.candidates:
        hint = _NEAREST.sub("one of these may be meant", hint)
    for pattern, replacement in _SPELLINGS:
        hint = pattern.sub(replacement, hint)
    return problem if hint == problem.hint else replace(problem, hint=hint)
