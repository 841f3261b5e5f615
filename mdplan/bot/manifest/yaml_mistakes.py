"""Common YAML mistakes, each with its correction."""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from yaml import Mark, MarkedYAMLError

SEVERAL: Final = "a second document begins here"
_QUOTE: Final = "put the text in quotes: '…'"


class _Known(NamedTuple):
    """A mistake by what PyYAML says of it; it is where PyYAML stopped, or `at_start` of what was read."""

    pattern: re.Pattern[str]
    reason: str
    hint: str
    at_start: bool = False


_KNOWN: Final = (
    _Known(
        re.compile(r"'\\t' that cannot"), "a tab indents this line", "indent with spaces: YAML takes no tabs"
    ),
    _Known(
        re.compile(r"quoted scalar: found unexpected end"),
        "the text that begins here has no closing quote",
        "close it with the same quote",
        at_start=True,
    ),
    _Known(
        re.compile(r"parsing a flow "),
        "the bracket that begins here is not closed",
        "close it, or put a comma between two entries",
        at_start=True,
    ),
    _Known(
        re.compile(r"found '(?:<block (?:mapping|sequence) start>|-)'"),
        "this line is indented differently from the ones before it",
        "indent the fields of one entry alike, with spaces",
    ),
    _Known(re.compile(r"another document"), SEVERAL, "remove this `---` and what follows it"),
    _Known(
        re.compile(r"sequence entries are not allowed"),
        "a list begins in the middle of a line",
        "begin the list on the next line, indented",
    ),
    _Known(
        re.compile(r"mapping values are not allowed"),
        "this `:` cannot be here",
        f"put a space after the `:` of each key; where the `:` belongs to a text, {_QUOTE}",
    ),
    _Known(
        re.compile(r"could not find expected ':'"),
        "this line has no `:` after its key",
        "write `key: value`; indent the further lines of a text more than its key",
        at_start=True,
    ),
    _Known(re.compile(r"that cannot start any token"), "no text can begin with this character", _QUOTE),
    _Known(re.compile(r"\balias\b"), "`*` begins an alias here, and nothing has that name", _QUOTE),
    _Known(
        re.compile(r"unknown escape character"),
        "this backslash begins no escape",
        r"write \\ for a backslash, or put the text in single quotes",
    ),
    _Known(
        re.compile(r"found '<scalar>'"),
        "the text goes on after its closing quote",
        r"inside '…' write '' for a quote, and inside "
        r'"…" write \"',
    ),
)


class YamlMistake(NamedTuple):
    """A mistake, the `hint` that corrects it, and its position."""

    reason: str
    hint: str
    mark: "Mark | None"


def yaml_mistake(error: "MarkedYAMLError") -> YamlMistake:
    """The mistake that PyYAML found with `error`; its own words, and no hint, where that is a rare one."""
    mark = error.problem_mark or error.context_mark
    message = f"{error.context or ''}: {error.problem or ''}"
    found = next((known for known in _KNOWN if known.pattern.search(message)), None)
    if found is None:
        return YamlMistake(error.problem or error.context or "it cannot be read", "", mark)
    return YamlMistake(found.reason, found.hint, (found.at_start and error.context_mark) or mark)
