"""IDs and classes that a heading gives itself: `{#id .class}` after its text, `{: #id}` on the line below.

Docusaurus, Hugo, mdBook, MkDocs, Pandoc, VitePress and Kramdown read the first form, Kramdown the second.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_VALUE: Final = r"""(?:"[^"\r\n{}]*+"|'[^'\r\n{}]*+'|[^\s"'{}]++)"""
_PART: Final = rf"(?:[#.][^\s{{}}#\"'<>`]++|[\w:-]++={_VALUE}|-)"
_LIST: Final = rf":?[ \t]*+{_PART}(?:[ \t]++{_PART})*+[ \t]*+"
# Compiled when a document has attributes, as few have. The last form is that of Docusaurus in MDX.
_BEHIND: Final = rf"[ \t]+(?P<attributes>\{{{_LIST}\}}|\{{/\*[ \t]*+#[^\s{{}}*]++[ \t]*+\*/\}})\Z"
_BELOW: Final = rf" {{0,3}}\{{:[ \t]*+(?:{_PART}(?:[ \t]++{_PART})*+)?[ \t]*+\}}[ \t]*+(?:\r\n?|\n|\Z)"
_ID: Final = r"(?:(?<=[\s{:*])|^)#([^\s{}#\"'<>`*]+)"


class HeadingContent(NamedTuple):
    """Raw inline text of a heading, and its attributes as they are written; without any, these are empty."""

    text: str
    attributes: str
    id: str


def read_content(content: str) -> HeadingContent:
    """The parts of the raw inline text `content` of a heading; attributes count where they name an ID."""
    if not content.endswith("}"):
        return HeadingContent(content, "", "")
    found = re.search(_BEHIND, content)
    named = re.search(_ID, found["attributes"]) if found else None
    if found is None or named is None or not content[: found.start()].strip():
        return HeadingContent(content, "", "")
    return HeadingContent(content[: found.start()], found["attributes"], named[1])


def without_attributes(content: str) -> str:
    """The raw inline text `content` of a heading without the attributes that name its ID."""
    return read_content(content).text


def attribute_lines(depths: Sequence[int], ends: Sequence[int], text: str) -> dict[int, int]:
    """By the number of a heading at top level, where the line of attributes right below it ends.

    `depths` and `ends` are those of all headings; ends are after line ends.
    """
    if "{:" not in text:
        return {}
    below = re.compile(_BELOW)
    found = ((number, below.match(text, end)) for number, end in enumerate(ends) if not depths[number])
    return {number: line.end() for number, line in found if line}


def id_of_attributes(attributes: str) -> str:
    """The ID that `attributes` name; empty where they name none."""
    found = re.search(_ID, attributes)
    return found[1] if found else ""
