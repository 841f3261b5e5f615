"""Inline Markdown as plain text, as a reader sees it."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final
from unicodedata import normalize

from mdplan.markdown.blocks.pulldown import Event, ParserFailure, event_batches

_MARKUP: Final = re.compile(r"[\\`*_~\[<&\r\n]")
_HARD_BREAK: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
_LINE_END: Final = re.compile(r"[ \t]*(?:\r\n?|\n)")
# Bytes that are not valid UTF-8 are lone surrogates, which the parser does not take: characters for private
# use are in for them.
_FOR_PARSER: Final = {code: code + 0x102000 for code in range(0xD800, 0xE000)}
_FROM_PARSER: Final = {stand_in: code for code, stand_in in _FOR_PARSER.items()}
_FOOTNOTE: Final = re.compile(r"\[\^([^\]\s]+)\]")


def render_text(content: str) -> str:
    """Rendered text of the inline `content` of a heading, one line.

    The markup of code, emphasis, strikethrough, links and images is removed and their text kept, that of
    images being the alternative text; tags are removed, entities decoded, footnote references dropped, and
    line breaks are spaces. ``[text][label]`` and ``[label]`` are links whatever is defined: the name of a
    section must not change when a definition elsewhere comes or goes.
    """
    return _render(content) if _MARKUP.search(content) else content


def heading_title(content: str) -> str:
    """Rendered text of the inline `content` of a heading, as `one_line` makes it."""
    return one_line(render_text(content))


def text_for_anchor(content: str) -> str:
    """Rendered text of `content` without image alternative text, which GitHub omits from anchors."""
    return _render(content, with_images=False) if "![" in content else render_text(content)


def composed(text: str) -> str:
    """`text` in Unicode normal form C, in which names are compared: the other form looks the same."""
    return text if text.isascii() else normalize("NFC", text)


def one_line(text: str) -> str:
    """Rendered `text` with its white space collapsed, as a browser shows it."""
    return " ".join(text.split())


@lru_cache(maxsize=4096)
def _render(content: str, *, with_images: bool = True) -> str:
    line = _LINE_END.sub(" ", _HARD_BREAK.sub(r"\1\n", content))
    has_invalid_bytes = not content.isascii() and any("\ud800" <= each <= "\udfff" for each in content)
    if has_invalid_bytes:
        line = line.translate(_FOR_PARSER)
    # In a heading nothing but inline content is recognized; closing marks keep those in the content.
    footnotes = "".join(f"\n\n[^{label}]: x" for label in _FOOTNOTE.findall(line))
    text = f"# {line} #{footnotes}"
    try:
        events = (event for batch in event_batches(text, _is_link) for event, _ in batch)
        rendered = "".join(_texts(events if with_images else _without_images(events)))
    except ParserFailure:
        return content
    return rendered.translate(_FROM_PARSER) if has_invalid_bytes else rendered


def _is_link(label: str) -> bool:
    return bool(label.strip()) and not label.startswith("^")


def _without_images(events: Iterator[Event]) -> Iterator[Event]:
    depth = 0
    for event in events:
        if not isinstance(event, str) and "Start" in event and "Image" in event["Start"]:
            depth += 1
        elif not isinstance(event, str) and "End" in event and event["End"] == "Image":
            depth -= 1
        elif not depth:
            yield event


def _texts(events: Iterator[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, str):
            yield " "
        elif "Text" in event:
            yield event["Text"]
        elif "Code" in event:
            yield event["Code"]
        elif "End" in event and event["End"] == {"Heading": "H1"}:
            return
