"""An edit in a few words: where it is, as its author named the place."""

from collections.abc import Mapping
from typing import Any, Final

from mdplan.text.source import visible

_MOST_CHARACTERS: Final = 120
# What names a place, in the order in which people say it; of several of one row the first that is there.
_ROWS: Final = (
    ("headingPath", "heading", "anchor", "sectionId"),
    ("lines",),
    ("line",),
    ("range",),
    ("table",),
    ("list",),
    ("codeBlock",),
    ("region",),
    ("pattern", "expectedText"),
    ("key",),
    ("item",),
    ("level", "newTitle", "toFile", "newFile"),
    ("toHeadingPath", "toSectionId"),
)
_WORDS: Final = {
    "line": "line {}",
    "table": "table {}",
    "list": "list {}",
    "codeBlock": "code block {}",
    "region": "region {}",
    "pattern": '"{}"',
    "expectedText": '"{}"',
    "level": "to level {}",
    "newTitle": 'to "{}"',
    "toFile": "to {}",
    "newFile": "to {}",
    "toHeadingPath": "to {}",
    "toSectionId": "to {}",
}


def place_in_words(requested: Mapping[str, Any]) -> str:
    """The target of an edit and what it looks for, on one line: ``Guide / Install, "nightly"``.

    `requested` is the edit as a plan keeps it. The words may hold text of the file, and are cut.
    """
    parts = []
    for row in _ROWS:
        name = next((name for name in row if requested.get(name) not in (None, "", [])), None)
        if name is not None:
            parts.append(_WORDS.get(name, "{}").format(_value(requested[name])))
    text = visible(", ".join(parts))
    return text if len(text) <= _MOST_CHARACTERS else text[: _MOST_CHARACTERS - 1] + "…"


def _value(value: Any) -> str:  # noqa: ANN401 (any JSON)
    match value:
        case list() | tuple():
            return " / ".join(map(str, value))
        case {"start": {"line": line, "col": col}, "end": {"line": end_line, "col": end_col}}:
            return f"{line}:{col}-{end_line}:{end_col}"
        case {"start": start, "end": end}:
            return f"line {start}" if start == end else f"lines {start}-{end}"
        case {"index": index}:
            return str(index)
        case {"language": language}:
            return str(language)
        case _:
            return str(value)
