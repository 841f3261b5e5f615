"""Enclosures: text between an opening and a closing line that sites know and Markdown does not.

`:::` blocks, `<details>` and other HTML around Markdown, JSX-like components, Liquid blocks and shortcodes of
Hugo. Tags count at the start of a line, and closing ones also at its end; not in code.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from mdplan.markdown.blocks.block_structure import BlockKind
from mdplan.markdown.outline.enclosure import Enclosures, Tag
from mdplan.markdown.outline.outline import Outline
from mdplan.text.source import DocumentFormat

_SIGNS: Final = (":::", "</", "{%", "{{<", "{{%")
_ELEMENT: Final = (
    r"(?:[A-Z][\w.]*+|(?:details|div|section|article|aside|center|figure)\b(?!-)|[a-z]+-[\w-]++)"
)
_LINE: Final = re.compile(
    rf"""^[ \t]*+(?:
    (?P<colons>:{{3,}})[ \t]*+(?P<directive>[\w-]*)[^\n\r]*
    |<(?P<close>/)?(?P<element>{_ELEMENT})(?P<rest>(?:[^<>"'{{\n\r]|"[^"\n\r]*"|'[^'\n\r]*'|\{{[^{{}}\n\r]*+\}})*+)(?P<end>>)?
    |\{{%-?[ \t]*+(?P<liquid>\w+)\b[^\n\r]*
    |\{{\{{[<%]-?[ \t]*+(?P<endcode>/)?[ \t]*+(?P<shortcode>[\w/.-]+)[^\n\r]*
    )""",
    re.MULTILINE | re.VERBOSE,
)
_OPENING: Final = re.compile(rf"^[ \t]*+<{_ELEMENT}", re.MULTILINE)
_CLOSED_AT_END: Final = re.compile(rf"</(?P<element>{_ELEMENT})[ \t]*>[ \t]*$", re.MULTILINE)
_CODE: Final = frozenset({BlockKind.FENCE, BlockKind.INDENTED_CODE})


def may_have_tags(text: str) -> bool:
    """Whether `text` may hold a tag of an enclosure."""
    return "<" in text or any(sign in text for sign in _SIGNS)


def find_enclosures(outline: Outline) -> Enclosures:
    """Those of `outline`, found once."""
    text = outline.source.text
    if outline.format is not DocumentFormat.MARKDOWN or not _has_tags(text):
        return Enclosures()
    return outline.derived(_enclosures)


def _enclosures(outline: Outline) -> Enclosures:
    return _paired(_tags(outline))


def _has_tags(text: str) -> bool:
    # A tag that lost the only closing tag has none of the signs.
    return any(sign in text for sign in _SIGNS) or ("<" in text and _OPENING.search(text) is not None)


def _paired(tags: Iterable[Tag]) -> Enclosures:
    pairs: list[tuple[Tag, Tag]] = []
    lone: list[Tag] = []
    open_tags: list[Tag] = []
    counts: dict[str, int] = {}
    for tag in tags:
        if tag.opens:
            open_tags.append(tag)
            counts[tag.name] = counts.get(tag.name, 0) + 1
        elif not counts.get(tag.name):
            lone.append(tag)
        else:
            while (opening := open_tags.pop()).name != tag.name:
                counts[opening.name] -= 1
                lone.append(opening)
            counts[tag.name] -= 1
            pairs.append((opening, tag))
    return Enclosures(tuple(pairs), tuple(sorted((*lone, *open_tags), key=lambda tag: tag.start)))


def _tags(outline: Outline) -> Iterator[Tag]:
    text, lines, tree = outline.source.text, outline.source.lines, outline.tree
    found = [*_LINE.finditer(text, outline.body_start)]
    found += (each for each in _CLOSED_AT_END.finditer(text, outline.body_start))
    seen: set[tuple[int, str]] = set()
    for match in sorted(found, key=re.Match.start):
        tag = _read(match, lines.line_at(match.start()))
        leaf = tree.leaf_at(match.end() - 1)
        if tag is None or (leaf is not None and leaf.kind in _CODE) or (tag.line, tag.name) in seen:
            continue
        # What opens and closes in one line is no enclosure of lines.
        if tag.opens and tag.name.startswith("<") and f"</{tag.name[1:]}" in lines.content(tag.line):
            seen.add((tag.line, tag.name))
            continue
        seen.add((tag.line, tag.name))
        yield Tag(tag.name, lines.start(tag.line), tag.line, tag.opens, tag.needs_other)


def _read(match: re.Match[str], line: int) -> Tag | None:
    start = match.start()
    if match.re is _CLOSED_AT_END:
        return Tag(f"<{match['element']}", start, line, opens=False, needs_other=True)
    if match["colons"]:
        return _directive(match, line)
    if match["element"]:
        if not match["end"] or match["rest"].rstrip().endswith("/"):
            return None
        return Tag(f"<{match['element']}", start, line, opens=not match["close"], needs_other=True)
    return _code(match, line)


def _code(match: re.Match[str], line: int) -> Tag | None:
    start = match.start()
    if match["liquid"]:
        closes = match["liquid"].startswith("end")
        return Tag("{%" + match["liquid"].removeprefix("end"), start, line, not closes, needs_other=closes)
    closes = match["endcode"] is not None
    if match[0].rstrip().endswith(("/>}}", "/%}}")):
        return None
    return Tag("{{" + match["shortcode"], start, line, not closes, needs_other=closes)


def _directive(match: re.Match[str], line: int) -> Tag:
    """A line of colons: with a name it opens, alone it closes; Microsoft's are `:::name-end:::`."""
    name, colons = match["directive"], match["colons"]
    if name.endswith("-end"):
        return Tag(f"{colons}{name.removesuffix('-end')}", match.start(), line, opens=False, needs_other=True)
    is_microsoft = match[0].rstrip().endswith(":::") and len(match[0].strip()) > len(colons)
    if is_microsoft or name in {"zone", "moniker"}:
        return Tag(f"{colons}{name}", match.start(), line, opens=True, needs_other=False)
    return Tag(colons, match.start(), line, opens=len(match[0].strip()) > len(colons), needs_other=True)
