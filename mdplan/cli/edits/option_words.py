"""Options of a command for the fields of a batch: how they are called, and what their help says."""

import re
from collections.abc import Collection
from typing import Final

from mdplan.field_names import snake_case

_FIELD: Final = re.compile(r"`?\b([a-z]+(?:[A-Z][a-z]*)+)\b`?|`([a-z]+)`")
_JSON: Final = re.compile(r"[\[{]|or \"\d|\b(?:JSON|array|[Nn]ode)\b")
# What is typed for a field whose value a batch writes as an object or an array.
_TYPED: Final = {
    "codeBlock": "Number of a fenced block, from 0 in the section or file, or its language.",
    "exclude": "Further kinds of text to leave alone, such as tables,headings.",
    "expectedValue": "Value that the key has now, in YAML; a date as it is written.",
    "headingPath": "Headings from outer to inner, or the last of them, such as 'Guide / Install'.",
    "include": "Kinds of text to match in after all, such as html,inlineCode.",
    "key": "Key, dotted inside maps: author.name. [ms.topic] is a name with a dot.",
    "line": "Line (from 1) next to which the new lines go.",
    "lines": "A line or a range, such as 12-25.",
    "list": "Number of the list, from 0 in the section or file; nested lists do not count.",
    "matchSelection": "Which matches: all, 3, or 2-4 (from 1, inclusive).",
    "parentPath": "Section to make it in, such as 'Guide / Install'; '' is the top.",
    "range": "From place to place, such as 12:1-12:9; the end is exclusive.",
    "table": "Number of the table, from 0 in the section or file, or the header of one of its columns.",
    "toHeadingPath": "Section to move to, such as 'Guide / Install'; '' is before the first heading.",
    "value": "Value in YAML, such as 3, true or [a, b].",
}


def option_name(field: str) -> str:
    """The option of the `field` of an edit: ``--new-title`` for ``newTitle``."""
    return f"--{snake_case(field).replace('_', '-')}"


def option_help(field: str, description: str, fields: Collection[str]) -> str:
    """The help of the option of `field`: its `description` with options in place of `fields`.

    A description of JSON is replaced by one of what is typed.
    """

    def named(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return f"`{option_name(name)}`" if name in fields else found[0]

    text = _TYPED[field] if _JSON.search(description) else description
    return _FIELD.sub(named, text)
