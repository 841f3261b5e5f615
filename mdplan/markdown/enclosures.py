"""Enclosures: text between opening and closing tags that sites know and Markdown does not.

Sites drop comments and typeset formulas, so a ``#`` line in them is not a heading. Regions are the text
between two marker comments.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Final, TypeVar

from mdplan.markdown.block_tree import BlockTree
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span
from mdplan.values import Struct

_Edge = TypeVar("_Edge")


class Tag(Struct):
    """A line that opens or closes the enclosure `name`.

    `needs_other`: without its other half it is an error.
    """

    name: str
    start: int
    line: int
    opens: bool
    needs_other: bool


class Enclosures(Struct, dict=True):
    """Pairs of tags in the order of their ends, and unpaired `lone` tags.

    `attribute_lines` apply to the block above: attributes, block IDs, breaks.
    """

    pairs: tuple[tuple[Tag, Tag], ...] = ()
    lone: tuple[Tag, ...] = ()
    attribute_lines: frozenset[int] = frozenset()

    @property
    def unbalanced(self) -> list[Tag]:
        """The `lone` tags that need another half."""
        return [tag for tag in self.lone if tag.needs_other]

    def first_crossing(self, span: Span) -> int | None:
        """Return the offset of the first tag in `span` whose other half is outside, or None."""
        crossing = [
            tag.start
            for pair in self.pairs
            for tag, other in (pair, pair[::-1])
            if span.start <= tag.start < span.end and not span.start <= other.start < span.end
        ]
        return min(crossing, default=None)

    def last_line_within(
        self, first: int, last: int, is_outside: Callable[[int], bool], *, may_have_attributes: bool = True
    ) -> int:
        """Return the last line of the block `first` to `last` without trailing tags of outer enclosures.

        Markdown reads a line directly below an item or row as its continuation, even a closing tag or the
        attributes of the list or table. `is_outside` decides about lines that could also belong to the block.
        """
        at = bisect_right(self._ends, first, key=_line)
        while at < len(self._ends) and self._ends[at][0] <= last:
            line, other = self._ends[at]
            at += 1
            if is_outside(line) if other is None else not first <= other <= last:
                last = line - 1
        while may_have_attributes and last > first and last in self.attribute_lines and is_outside(last):
            last -= 1
        return last

    def has_mark_at(self, line: int) -> bool:
        """Return True if `line` has attributes or a paired tag."""
        return line in self.attribute_lines or any(tag.line == line for pair in self.pairs for tag in pair)

    @cached_property
    def _ends(self) -> list[tuple[int, int | None]]:
        """Sorted lines at which a block may end, each with the line of its other half."""
        halves = [(tag.line, other.line) for pair in self.pairs for tag, other in (pair, pair[::-1])]
        lone = [(tag.line, None) for tag in self.lone if not tag.opens]
        return sorted((*halves, *lone), key=_line)


def _line(end: tuple[int, int | None]) -> int:
    return end[0]


NO_ENCLOSURES: Final = Enclosures()


# --- Multi-line comments and formulas: Obsidian, MDX, Hugo, Liquid, TeX; and code in MDX components.


class HiddenText(Struct):
    """Whole lines of a comment, formula or code block that starts with `sign`."""

    sign: str
    span: Span


_CODE: Final = frozenset({BlockKind.FENCE, BlockKind.INDENTED_CODE})
_HIDING_SIGNS: Final = ("%%", "*/", "$$", "\\]", "\\end{", "endcomment", "/comment")
_FORMULAS: Final = (
    r"\\begin\{(?:align|alignat|displaymath|eqnarray|equation|flalign|gather|math|multline)\*?\}"
)
_HIDING: Final = lazy_pattern(
    r"^[ \t>]*+(?P<sign>%%(?!%)|\{/\*|\{\{-?[ ]*/\*|\{\{[<%][ ]*comment\b|\{%-?[ ]*comment\b"
    rf"|\$\$|\\\[[ \t]*\r?$|{_FORMULAS}|<[A-Z][^\n]*>[ \t]*\r?\n[ \t]*(?:`{{3}}|~{{3}}))",
    re.MULTILINE,
)

# What follows, the end or another delimiter, so no pair. A formula never contains a heading.
_NO_HEADING: Final = r"^ {0,3}#{1,6}[ \t]"
_HIDDEN_ENDS: Final = {
    "<": lazy_pattern(r"^[ \t]*(?P<end>`{3,}|~{3,})[ \t]*\r?$", re.MULTILINE),
    "%%": lazy_pattern(r"%%(?P<end>[ \t]*\r?$)?", re.MULTILINE),
    "{/*": lazy_pattern(r"\{/\*|\*/[ \t]*(?P<end>\})?"),
    "{{<": lazy_pattern(r"\{\{<[ ]*(?:comment|(?P<end>/comment))\b"),
    "{{%": lazy_pattern(r"\{\{%[ ]*(?:comment|(?P<end>/comment))\b"),
    "{{": lazy_pattern(r"\{\{-?[ ]*/\*|\*/[ \t]*-?(?P<end>\}\})?"),
    "{%": lazy_pattern(r"\{%-?[ ]*(?:comment|(?P<end>endcomment))\b"),
    "$$": lazy_pattern(
        rf"{_NO_HEADING}|\$\$(?P<end>[ \t]*(?:\([^\n()]*\)|\{{[^\n{{}}]*\}})?[ \t]*\r?$)?", re.MULTILINE
    ),
    "\\[": lazy_pattern(rf"{_NO_HEADING}|(?<!\\)\\(?:\[|(?P<end>\]))", re.MULTILINE),
    "\\b": lazy_pattern(
        rf"{_NO_HEADING}|{_FORMULAS}|(?P<end>{_FORMULAS.replace('begin', 'end')})", re.MULTILINE
    ),
}


def hidden_texts(tree: BlockTree, start: int = 0) -> tuple[HiddenText, ...]:
    """Return multi-line comments and formulas outside code from offset `start`, in order."""
    has_code = "```" in tree.text and "</" in tree.text
    if not has_code and not any(sign in tree.text for sign in _HIDING_SIGNS):
        return ()
    return tuple(_hidden_texts(tree, start))


def is_hidden(offset: int, hidden: Sequence[HiddenText]) -> bool:
    """Return True if `offset` is in one of the sorted `hidden` texts."""
    at = bisect_right(hidden, offset, key=lambda text: text.span.start) - 1
    return at >= 0 and offset < hidden[at].span.end


def without_hidden(headings: Sequence[Block], hidden: Sequence[HiddenText]) -> Sequence[Block]:
    """Return the `headings` outside `hidden` texts."""
    if not hidden:
        return headings
    return [heading for heading in headings if not is_hidden(heading.span.start, hidden)]


def _hidden_texts(tree: BlockTree, at: int) -> Iterator[HiddenText]:
    text = tree.text
    endless: set[str] = set()
    while (opening := _HIDING.search(text, at)) is not None:
        at, sign = opening.end(), next(sign for sign in _HIDDEN_ENDS if opening["sign"].startswith(sign))
        closing = None if sign in endless else _HIDDEN_ENDS[sign].search(text, at)
        if closing is None:
            endless.add(sign)
            continue
        if closing.lastgroup is None or "\n" not in text[at : closing.end()]:
            continue
        leaf = tree.leaf_at(at - 1)
        kind = leaf.kind if leaf is not None else None
        # MDX allows code directly below a tag; Markdown ends it at the first blank line.
        if kind is not BlockKind.HTML if sign == "<" else kind in _CODE:
            continue
        end = text.find("\n", closing.end())
        at = end + 1 if end >= 0 else len(text)
        # Exclude the tag above the code.
        start = text.rfind("\n", 0, opening.end()) + 1 if sign == "<" else opening.start()
        yield HiddenText(sign, Span(start, at))


# --- Tags: `:::` and `///` blocks, `<details>` and other HTML around Markdown, JSX-like components, Liquid
# blocks, Hugo shortcodes. They count outside code at the start of a line, after container prefixes; closing
# tags also at the end of a line.

_ENCLOSURE_SIGNS: Final = (":::", "///", "</", "{%", "{{<", "{{%", "{{#", "{{/")

# Elements whose missing half is an error, then the others.
_ELEMENT: Final = (
    r"(?:[A-Z][\w.]*+|(?:details|div|section|article|aside|center|figure)\b(?!-)|[a-z]+-[\w-]++)"
)
_OTHER_ELEMENT: Final = (
    r"(?!(?:area|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)[a-z][a-z0-9]*+(?=[\s/>])"
)
_ANY_ELEMENT: Final = rf"(?:(?P<strict>{_ELEMENT})|{_OTHER_ELEMENT}|(?=>))"

_START: Final = r"^(?:[ \t>]|(?:[-+*]|\d{1,9}[.)])[ \t]+)*+"
_PROPERTIES: Final = (
    r"""(?:[^<>"'{\n\r]|\r?\n(?![ \t]*\r?\n)|"[^"]*+"|'[^']*+'|\{(?:[^{}]|\{[^{}]*+\})*+\})*+"""
)
_LINE: Final = lazy_pattern(
    rf"""{_START}(?:
    (?P<colons>:{{3,}}|/{{3,}}(?=[ \t]+[\w-]|[ \t]*\r?$))[ \t]*+(?P<directive>[\w-]*)[^\n\r]*
    |<(?P<close>/)?(?P<element>{_ANY_ELEMENT})(?P<rest>{_PROPERTIES})(?P<end>>)?
    |\{{%-?[ \t]*+(?P<liquid>\w+)\b[^\n\r]*
    |\{{\{{(?:[<%]-?|\#|(?=/\w))[ \t]*+(?P<endcode>/|(?<=\#)end)?[ \t]*+(?P<shortcode>[\w/.-]+)[^\n\r]*
    )""",
    re.MULTILINE | re.VERBOSE,
)

_OPENING: Final = lazy_pattern(rf"{_START}<(?:{_ELEMENT}|>)", re.MULTILINE)
_CLOSED_AT_END: Final = lazy_pattern(rf"</(?P<element>{_ANY_ELEMENT})[ \t]*>[ \t]*$", re.MULTILINE)

# Markup for the block above: Kramdown and Python-Markdown attributes, Obsidian block IDs, MyST breaks, Pandoc
# captions.
_ATTRIBUTES: Final = lazy_pattern(
    r"^[ \t>]*+(?:\{:[^{}\n]*\}|\{[ ]*[.#][^{}\n]*\}|\^[\w-]+|\+\+\+(?:[ ].*)?|:[ ][^\n|]+)[ \t]*\r?$",
    re.MULTILINE,
)
_ATTRIBUTE_SIGNS: Final = ("{:", "{.", "{ .", "{#", "{ #", "\n^", ">^", " ^", "+++", "\n: ", " : ")

# These end one branch of a condition and begin the next.
_BRANCHES: Final = frozenset({"else", "elsif", "elif", "when"})


def may_have_tags(text: str) -> bool:
    """Return True if `text` may contain an enclosure tag."""
    return "<" in text or any(sign in text for sign in _ENCLOSURE_SIGNS)


def find_enclosures(
    tree: BlockTree, lines: LineIndex, start: int, hidden: Sequence[HiddenText]
) -> Enclosures:
    """Return the enclosures from offset `start`, ignoring tags in `hidden` texts."""
    text = tree.text
    tags: Iterable[Tag] = ()
    # An unpaired closing tag has none of these prefixes.
    if any(sign in text for sign in _ENCLOSURE_SIGNS) or ("<" in text and _OPENING.search(text)):
        tags = _tags(tree, lines, start, hidden)
    pairs, lone = pair_up((tag.name, tag.opens, tag) for tag in tags)
    pairs += (_hidden_pair(lines, each) for each in hidden)
    attributes = frozenset[int]()
    if any(sign in text for sign in _ATTRIBUTE_SIGNS):
        attributes = frozenset(lines.line_at(match.start()) for match in _ATTRIBUTES.finditer(text, start))
    lone.sort(key=lambda tag: tag.start)
    return Enclosures(tuple(pairs), tuple(_opened_nowhere(tree.text, lone)), attributes)


def _opened_nowhere(text: str, lone: Iterable[Tag]) -> Iterator[Tag]:
    """Yield the `lone` tags, except closing elements whose opening tag follows other text on its line."""
    opened: dict[str, int] = {}
    for tag in lone:
        if tag.opens or not tag.name.startswith("<"):
            yield tag
            continue
        if tag.name not in opened:
            behind_text = rf"[^\s`][^\S\n]*{re.escape(tag.name)}\b(?![^\n]*</{re.escape(tag.name[1:])}\b)"
            opened[tag.name] = len(re.findall(behind_text, text))
        opened[tag.name] -= 1
        if opened[tag.name] < 0:
            yield tag


def _hidden_pair(lines: LineIndex, hidden: HiddenText) -> tuple[Tag, Tag]:
    """Return the first and last line of `hidden` as tags."""
    first, last = lines.line_at(hidden.span.start), lines.line_at(hidden.span.end - 1)
    return (
        Tag(hidden.sign, lines.start(first), first, opens=True, needs_other=False),
        Tag(hidden.sign, lines.start(last), last, opens=False, needs_other=False),
    )


def pair_up(edges: Iterable[tuple[str, bool, _Edge]]) -> tuple[list[tuple[_Edge, _Edge]], list[_Edge]]:
    """Match opening and closing `edges` by name; return pairs in the order of their ends, and the rest.

    If two pairs cross, the one that ends first is kept.
    """
    pairs: list[tuple[_Edge, _Edge]] = []
    lone: list[_Edge] = []
    opened: list[tuple[str, _Edge]] = []
    open_names: Counter[str] = Counter()
    for name, opens, edge in edges:
        if opens:
            opened.append((name, edge))
            open_names[name] += 1
        elif not open_names[name]:
            lone.append(edge)
        else:
            while (last := opened.pop())[0] != name:
                open_names[last[0]] -= 1
                lone.append(last[1])
            open_names[name] -= 1
            pairs.append((last[1], edge))
    return pairs, [*lone, *(edge for _, edge in opened)]


def _tags(tree: BlockTree, lines: LineIndex, start: int, hidden: Sequence[HiddenText]) -> Iterator[Tag]:
    text = tree.text
    matches = chain(_LINE.finditer(text, start), _CLOSED_AT_END.finditer(text, start))
    seen: set[tuple[int, str]] = set()
    for match in sorted(matches, key=re.Match.start):
        if is_hidden(match.start(), hidden):
            continue
        tag, line = _read_tag(match), lines.line_at(match.start())
        leaf = tree.leaf_at(match.end() - 1)
        if tag is None or (leaf is not None and leaf.kind in _CODE) or (line, tag[0]) in seen:
            continue
        name, opens, _ = tag
        seen.add((line, name))
        # A tag closed on the same line does not enclose lines.
        if not (opens and name.startswith("<") and f"</{name[1:]}" in lines.content(line)):
            yield Tag(name, lines.start(line), line, *tag[1:])


def _read_tag(match: re.Match[str]) -> tuple[str, bool, bool] | None:
    """Return the name of a tag, whether it opens, and whether it needs its other half."""
    if match.re.pattern == _CLOSED_AT_END.pattern:
        return f"<{match['element']}", False, bool(match["strict"])
    if match["colons"]:
        return _read_directive(match)
    if match["element"] is not None:
        is_alone = not match["end"] or match["rest"].rstrip().endswith("/")
        return None if is_alone else (f"<{match['element']}", not match["close"], bool(match["strict"]))
    if match["liquid"]:
        closes = match["liquid"].startswith("end")
        name = "{%" + match["liquid"].removeprefix("end")
        return name, not closes and match["liquid"] not in _BRANCHES, closes
    closes = match["endcode"] is not None
    is_alone = match[0].rstrip().endswith(("/>}}", "/%}}"))
    return None if is_alone else ("{{" + match["shortcode"], not closes, closes)


def _read_directive(match: re.Match[str]) -> tuple[str, bool, bool]:
    """Read a line of colons or slashes: named it opens, bare it closes.

    Microsoft closes with `:::name-end:::`. Slashes can also start a comment in code.
    """
    name, colons = match["directive"], match["colons"]
    if name.endswith("-end"):
        return f"{colons}{name.removesuffix('-end')}", False, True
    opens = match[0].strip(" \t>") != colons
    if (match[0].rstrip().endswith(":::") and opens) or name in {"zone", "moniker"}:
        return f"{colons}{name}", True, False
    return colons, opens, colons[0] == ":"


# --- Regions: text between a pair of marker comments.


class RegionMarker(Struct, kw_only=True):
    """A marker comment on the 1-based `line`; `is_start` distinguishes the two edges."""

    name: str
    is_start: bool
    span: Span
    line: int


class Region(Struct, kw_only=True):
    """A matching pair of region markers."""

    name: str
    start: RegionMarker
    end: RegionMarker

    @property
    def inside(self) -> Span:
        """The text between the two comments, including the newline after the first."""
        return Span(self.start.span.end, self.end.span.start)


class Regions(Struct, dict=True):
    """Region pairs in the order of their start, and unpaired markers, in order."""

    pairs: tuple[Region, ...] = ()
    unpaired: tuple[RegionMarker, ...] = ()

    @cached_property
    def by_name(self) -> dict[str, tuple[Region, ...]]:
        """Regions by name, in order of first occurrence."""
        named: dict[str, list[Region]] = {}
        for region in self.pairs:
            named.setdefault(region.name, []).append(region)
        return {name: tuple(regions) for name, regions in named.items()}
