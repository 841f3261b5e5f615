"""Arguments of a tool call, before any tool looks at them."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from mdplan.diagnostics import Diagnostic
from mdplan.mcp.answers.result import answer
from mdplan.mcp.tool import ToolResult
from mdplan.reports.base import Report, refusal


def catch_errors(
    shape: type[Report], call: Callable[[dict[str, Any]], ToolResult]
) -> Callable[[Mapping[str, Any]], ToolResult]:
    """`call`, shielded from null arguments, which count as absent, and from text that is no Unicode.

    The refusal has the given `shape`.
    """

    def call_guarded(arguments: Mapping[str, Any]) -> ToolResult:
        given = {name: value for name, value in arguments.items() if value is not None}
        problem = not_unicode(given)
        return call(given) if problem is None else answer(refusal(shape, (problem,)), str)

    return call_guarded


def not_unicode(arguments: Mapping[str, Any]) -> Diagnostic | None:
    """INVALID_ARGUMENT where `arguments`, which are decoded JSON, hold what cannot be written as JSON."""
    try:
        json.dumps(arguments, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return _NOT_UNICODE
    except (ValueError, RecursionError):
        return _BEYOND_JSON
    return None


_BEYOND_JSON = Diagnostic.invalid(
    "an argument is nested too deep, or a number in it is too long",
    "send flat objects, and numbers of at most 4,300 digits",
)
_NOT_UNICODE = Diagnostic.invalid(
    "an argument contains a lone surrogate, which is not Unicode text",
    "send valid Unicode; a character beyond U+FFFF is one character, not half of a pair",
)
