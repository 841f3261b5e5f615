"""Diagnostics for unusable patterns."""

from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.text.pattern import PatternFailure, PatternProblem
from mdplan.words import say

_PROBLEMS: Final = {
    PatternFailure.INVALID: (
        Code.INVALID_REGEX,
        "put a backslash before a character that means itself, or search for literal text",
    ),
    PatternFailure.TIMEOUT: (
        Code.REGEX_TIMEOUT,
        say("avoid nested repetition or look in less text, or raise {--max-regex-seconds}"),
    ),
    PatternFailure.TOO_MANY: (Code.BATCH_TOO_LARGE, "use a longer pattern, or look in less text"),
}


def pattern_problem(problem: PatternProblem) -> Diagnostic:
    """Return INVALID_REGEX, REGEX_TIMEOUT or BATCH_TOO_LARGE for `problem`."""
    code, hint = _PROBLEMS[problem.failure]
    return code.problem(f"the pattern cannot be used: {problem.reason}", hint)
