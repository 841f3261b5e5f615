"""Search with callers' patterns: literal text, or regular expressions with a time limit.

Regular expressions use the `regex` package with V0 semantics, like Python's `re`, which cannot be interrupted
and so never runs a caller's pattern.
"""

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.values import Struct

if TYPE_CHECKING:
    import regex


MOST_MATCHES: Final = 100_000


class MatchType(StrEnum):
    """The syntax of a pattern."""

    LITERAL = "literal"
    REGEX = "regex"


class PatternFailure(StrEnum):
    """Why a pattern returned no matches."""

    INVALID = "invalid"
    TIMEOUT = "timeout"
    TOO_MANY = "too many"


class PatternProblem(Struct):
    """An unusable pattern and the `reason`."""

    failure: PatternFailure
    reason: str


class PatternMatch(Struct):
    """One match; `match` is None for a literal pattern."""

    span: Span
    match: "regex.Match[str] | None" = None


class Pattern(Struct, kw_only=True):
    """A pattern. `multiline`: ``^`` and ``$`` match at lines; `dot_all`: a dot matches LF."""

    text: str
    match_type: MatchType = MatchType.LITERAL
    case_sensitive: bool = True
    multiline: bool = True
    dot_all: bool = False

    def find(self, text: str, within: Span, seconds: float) -> tuple[PatternMatch, ...] | PatternProblem:
        """Return the non-overlapping matches of `text` in `within`, from left to right.

        A regular expression has `seconds` to find them all.
        """
        matches: tuple[PatternMatch, ...] | PatternProblem
        if self.match_type is MatchType.LITERAL and self.case_sensitive:
            matches = tuple(_find_literal(self.text, text, within))
        else:
            matches = self._search(text, within, seconds)
        if not isinstance(matches, PatternProblem) and len(matches) > MOST_MATCHES:
            return PatternProblem(PatternFailure.TOO_MANY, f"it matches more than {MOST_MATCHES} times")
        return matches

    def expander(self, replacement: str) -> Callable[[PatternMatch], str]:
        r"""Return a function that expands ``\1`` and ``\g<name>`` in `replacement` for a regex match.

        Unmatched groups expand to nothing. The function raises `KeyError` for unknown groups; see
        `unknown_group`.
        """
        if self.match_type is MatchType.LITERAL:
            return lambda _: replacement
        # Texts, each followed by the number or the name of a group.
        parts = _reference().split(replacement)
        references = [_group(*each) for each in zip(parts[1::3], parts[2::3], strict=True)]

        def expand(pattern_match: PatternMatch) -> str:
            match = pattern_match.match
            if match is None:
                return replacement
            # Look up each group only once.
            texts = {group: match[group] or "" for group in set(references)}
            pairs = zip(parts[::3], [*map(texts.__getitem__, references), ""], strict=True)
            return "".join(text for pair in pairs for text in pair)

        return expand

    def unknown_group(self, replacement: str) -> str | None:
        """Return the first group in `replacement` that the pattern does not define, if any."""
        if self.match_type is MatchType.LITERAL:
            return None
        compiled = self._compiled()
        if isinstance(compiled, PatternProblem):
            return None
        for reference in _reference().finditer(replacement):
            group = _group(*reference.groups())
            known = group <= compiled.groups if isinstance(group, int) else group in compiled.groupindex
            if not known:
                return str(group)
        return None

    def _search(self, text: str, within: Span, seconds: float) -> tuple[PatternMatch, ...] | PatternProblem:
        compiled = self._compiled()
        if isinstance(compiled, PatternProblem):
            return compiled
        matches: list[regex.Match[str]] = []
        try:
            for match in compiled.finditer(text, within.start, within.end, timeout=seconds):
                matches.append(match)
                if len(matches) > MOST_MATCHES:
                    break
        except TimeoutError:
            return PatternProblem(PatternFailure.TIMEOUT, f"it ran for more than {seconds:g} s")
        except MemoryError:
            return PatternProblem(PatternFailure.TIMEOUT, "it needs too much memory")
        # A pattern may search backwards.
        matches.sort(key=lambda match: match.span())
        end = within.end
        if matches and matches[-1].start() == end and end < len(text) and text[end - 1 : end] == "\n":
            # `^` and `$` also match here, but on the line after `within`.
            matches.pop()
        edges = [within.start, *(edge for match in matches for edge in match.span()), within.end]
        if any(left > right for left, right in pairwise(edges)):
            return PatternProblem(PatternFailure.INVALID, r"\K makes its matches overlap or leave the scope")
        return tuple(PatternMatch(Span(*match.span()), match) for match in matches)

    def _compiled(self) -> "regex.Pattern[str] | PatternProblem":
        import regex

        flags = regex.VERSION0
        flags |= 0 if self.case_sensitive else regex.IGNORECASE
        flags |= regex.MULTILINE if self.multiline else 0
        flags |= regex.DOTALL if self.dot_all else 0
        pattern = self.text if self.match_type is MatchType.REGEX else regex.escape(self.text)
        if has_too_many_parts(pattern):
            return PatternProblem(PatternFailure.INVALID, f"it comes to more than {MOST_PARTS} parts")
        try:
            return regex.compile(pattern, flags)
        except RecursionError:
            return PatternProblem(PatternFailure.INVALID, "it is nested too deep")
        except (regex.error, ValueError, OverflowError) as error:
            return PatternProblem(PatternFailure.INVALID, str(error))


def _find_literal(pattern: str, text: str, within: Span) -> Iterator[PatternMatch]:
    at = within.start
    for _ in range(MOST_MATCHES + 1):
        start = text.find(pattern, at, within.end)
        if start < 0:
            return
        at = start + len(pattern)
        yield PatternMatch(Span(start, at))


def _reference() -> "regex.Pattern[str]":
    import regex

    return regex.compile(r"\\(?:([0-9]{1,2})|g<([^<>\\]+)>)")


def _group(number: str | None, name: str | None) -> int | str:
    reference = number or name or ""
    return int(reference) if reference.isdecimal() else reference


# --- Literal texts that matches contain

# Whole sets, groups and escapes, and quantifiers.
_LITERAL_TOKEN: Final = lazy_pattern(
    r"""
    (?P<escaped>\\[^A-Za-z0-9\s])
    | (?P<class>\\[dDwWsSbBAZntr])
    | (?P<set>\[\^?\]?(?:\\[^\s]|[^\[\]\\])*\])
    | (?P<open>\((?:\?(?::|=|!|<=|<!|P?<\w+>))?(?!\?))
    | (?P<close>\))
    | (?P<or>\|)
    | (?P<repeat>[*?+])
    | (?P<count>\{[^{}]*\})
    | (?P<other>[.^$\r\n])
    | (?P<odd>[\\\[\](){}])
    | (?P<literal>.)
    """,
    re.VERBOSE | re.DOTALL,
)


# Classes without whitespace.
_OF_WORDS: Final = frozenset("bBdw")


@lru_cache(maxsize=256)
def required_texts(pattern: str) -> tuple[str, ...] | None:
    """Return texts of which every match of the regex `pattern` contains at least one.

    Return None if that is uncertain: a branch without a literal, uncommon syntax, an invalid pattern.
    """
    if isinstance(
        Pattern(text=pattern, match_type=MatchType.REGEX).find("", Span(0, 0), 1.0), PatternProblem
    ):
        return None
    required: list[str] = []
    runs, run, depth = [""], "", 0
    # The end of the pattern also ends an alternative.
    for token in [*_LITERAL_TOKEN.finditer(pattern), None]:
        kind = token.lastgroup if token is not None else "or"
        text = token[0] if token is not None else ""
        if kind == "odd":
            return None
        if depth:
            depth += (kind == "open") - (kind == "close")
            continue
        if kind in {"literal", "escaped"}:
            run += text[-1]
            continue
        # A character that is optional or repeated is not part of the run.
        runs.append(run[:-1] if kind == "count" or (kind == "repeat" and text != "+") else run)
        run = ""
        if kind == "close":
            return None
        depth += kind == "open"
        if kind == "or":
            required.append(max(runs, key=len))
            runs = [""]
    return tuple(required) if depth == 0 and all(required) else None


def has_words(pattern: str, *, is_regex: bool) -> bool:
    """Return True if `pattern` contains spaced words and means the same if the text is rewrapped.

    That excludes regular expressions with wildcards, whitespace classes or line anchors.
    """
    if " " not in pattern.strip() or "\n" in pattern or "\r" in pattern:
        return False
    # `re.escape` escapes spaces.
    tokens = _LITERAL_TOKEN.finditer(pattern.replace("\\ ", " ")) if is_regex else ()
    return not any(
        token.lastgroup in {"other", "odd"}
        or (token.lastgroup == "set" and token[0].startswith("[^"))
        or (token.lastgroup == "class" and token[0][1] not in _OF_WORDS)
        for token in tokens
    )


def needed_text(pattern: str, *, joins_lines: bool) -> str:
    """Return a text that every match of the literal `pattern` contains, whatever the newlines.

    It is the longest line, or the longest word if lines are joined.
    """
    parts = pattern.split() if joins_lines else pattern.replace("\r", "\n").split("\n")
    return max(parts, key=len, default="")


# --- The size of a regular expression with its repetitions expanded
#
# The `regex` package expands repetitions and cannot be interrupted while it does: ``a{1000000000}`` takes all
# memory. So the size is estimated, never too low, before compiling.

# Compiling takes up to 50 microseconds per part, so at most a second.
MOST_PARTS: Final = 20_000
_COUNT: Final = r"\{\s*(?P<least>[0-9][0-9\s]*)(?:,[0-9\s]*)?\}"

_COST_TOKEN: Final = lazy_pattern(
    rf"\\.|(?P<open>\()|(?P<close>\))|(?P<set>\[\^?\]?(?:\\.|[^\[\]\\])*\])|(?P<odd>[\[#])"
    rf"|{_COUNT}|(?P<suffix>[\s?*+])|.",
    re.DOTALL,
)


def has_too_many_parts(pattern: str) -> bool:
    """Return True if the regex `pattern` may have more than `MOST_PARTS` parts."""
    bound = len(pattern)
    for count in re.finditer(_COUNT, pattern):
        bound *= _least(count)
        if bound > MOST_PARTS:
            break
    return bound > MOST_PARTS and (len(pattern) > MOST_PARTS or _parts(pattern) > MOST_PARTS)


def _parts(pattern: str) -> int:
    """Count the characters, sets and groups of `pattern`, multiplied by their minimum repetitions.

    Return more than the maximum if brackets may be in a comment or nested set.
    """
    sums = [0]
    last = 0
    for token in _COST_TOKEN.finditer(pattern):
        if token["odd"]:
            return MOST_PARTS + 1
        if token["open"]:
            sums.append(1)
        elif token["close"]:
            last = sums.pop() if len(sums) > 1 else sums[0]
            sums[-1] += last
        elif token["least"]:
            sums[-1] += last * (_least(token) - 1)
            last *= _least(token)
        elif token["suffix"]:
            # A later quantifier, also after ignored whitespace, repeats the same part.
            sums[-1] += 1
            last = max(last, 1)
        else:
            last = len(token[0])
            sums[-1] += last
    return sum(sums)


def _least(count: re.Match[str]) -> int:
    digits = "".join(count["least"].split())
    return max(1, int(digits)) if len(digits) < 10 else MOST_PARTS + 1
