"""Descriptions and hints with the options of a command in place of the fields of a batch."""

import json
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Final

from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import snake_case

_STRINGS: Final = re.compile(r'\["[^"\]]*"(?:, "[^"\]]*")*\]')
_ASSIGNED: Final = re.compile(r'`?"(?P<name>[a-zA-Z]+)": (?P<value>true|false|\d+|"[^"]*")`?')
_NAMED: Final = re.compile(r"`(?P<code>[a-z][a-zA-Z]*)`|\b(?P<bare>[a-z]+[A-Z][a-zA-Z]*)\b")
_OBJECTS: Final = (
    (
        "1-based {start: {line, col}, end: {line, col}}; end is exclusive",
        "From place to place, such as 12:1-12:9",
    ),
    (
        '1-based {start, end}, inclusive; or "12:a3f-14:b07" from `mdplan read`',
        "A line or a range, such as 12-25",
    ),
    (": {start, end}", ", such as 12-25"),
    ("{index}, {language} or both", "Index or language"),
    ("{index} of the", "Index of the"),
    ("or {header} of a column", "or the header of a column"),
    ("[] is the top; else headingPath[:-1]", "as 'Guide / Install'"),
    (": JSON, a date as it is written", " in YAML"),
    ("any JSON. An array or object as it is, not as a string", "in YAML, such as 3, true or [a, b]"),
    ("Item, or an array of items: strings, numbers or other JSON", "Item, or several in YAML: [a, b]"),
    ('; or an array: ["author", "name"]', ""),
    ("Node kinds", "Kinds of text"),
    ("node kinds", "kinds of text"),
)


def option_name(field: str) -> str:
    """The option of the `field` of an edit: ``--new-title`` for ``newTitle``."""
    return f"--{snake_case(field).replace('_', '-')}"


def in_options(text: str, fields: Collection[str]) -> str:
    """`text` with an option in place of each of the `fields` that it names, and paths without JSON."""

    def assigned(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        if name not in fields:
            return found[0]
        if value in ("true", "false"):
            return f"`{option_name(name) if value == 'true' else option_name(f'no-{name}')}`"
        return f"`{option_name(name)} {value.strip(chr(34))}`"

    def named(found: re.Match[str]) -> str:
        name = found["code"] or found["bare"]
        return f"`{option_name(name)}`" if name in fields else found[0]

    for of_batches, of_options in _OBJECTS:
        text = text.replace(of_batches, of_options)
    text = _STRINGS.sub(lambda found: f"'{' / '.join(json.loads(found[0]))}'", text)
    return _NAMED.sub(named, _ASSIGNED.sub(assigned, text))


def for_edit_command(problem: Diagnostic, fields: Collection[str]) -> Diagnostic:
    """`problem` of an edit whose `fields` are options of the command."""
    message, hint = (in_options(text, fields) for text in (problem.message, problem.hint))
    if problem.code is Code.AMBIGUOUS_HEADING and problem.candidates:
        hint = _unambiguous(problem)
    return replace(problem, message=message, hint=hint)


def _unambiguous(problem: Diagnostic) -> str:
    paths = [candidate.heading_path for candidate in problem.candidates]
    one = next((path for path in paths if paths.count(path) == 1), None)
    if one is None:
        return f"name one by its ID: `{problem.candidates[0].section_id}`"
    return f"name one by its path, such as '{' / '.join(one)}'"
