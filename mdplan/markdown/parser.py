"""The interface to pulldown-cmark, through its binding pyromark. No other module imports pyromark.

The parser emits a flat sequence of events with ranges in UTF-8 bytes. This module prepares the text, enforces
the time limit, and converts ranges to character offsets.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, cycle, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec
import pyromark

from mdplan.markdown.blocks import CONTAINERS, Block, BlockKind, check_deadline_often, with_deadline
from mdplan.markdown.reference_parser import parse_reference_blocks
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span

# Only for types: importing it takes longer than importing the parser.
if TYPE_CHECKING:
    import pyromark.event


# A tag: its name, or its name with data.
Tag: TypeAlias = str | Mapping[str, object]
Event: TypeAlias = "pyromark.event.Event"
Range: TypeAlias = "pyromark.event.Range"
EventBatch: TypeAlias = "tuple[tuple[Event, Range], ...]"

# Decides if a label without definition counts as a link.
IsLabel: TypeAlias = Callable[[str], bool]

# GitHub's extensions. Task boxes and wiki links are read elsewhere; `ENABLE_GFM` only adds alerts in quotes.
_OPTIONS: Final = (
    pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_FOOTNOTES | pyromark.Options.ENABLE_STRIKETHROUGH
)

# The maximum number of container markers on a line. Each costs parser time on each lazy line below it, and
# markdown-it-py, the fallback, counts an item and its list towards its nesting limit.
MAX_MARKERS: Final = 200
_BATCH: Final = 64
_MARKERS: Final = rf"(?:[ \t]*+(?:>|(?:[-+*]|[0-9]{{1,9}}[.)])[ \t])){{{MAX_MARKERS + 1}}}"
_TOO_DEEP: Final = lazy_pattern(rf"\n{_MARKERS}")

# The parser does not accept tabs as whitespace after closing fences and in delimiter rows.
_LAST_TABS: Final = lazy_pattern(r"(?m)\t[|: \t-]*(?=\r?$)")
_CONTAINERS: Final = r"(?:[ \t]*(?:>|(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t])))*+[ \t]*"
_CLOSING_FENCE: Final = lazy_pattern(rf"{_CONTAINERS}(?:`{{3,}}|~{{3,}})(?P<marks>[ \t]*)")
_DELIMITER_ROW: Final = lazy_pattern(rf"{_CONTAINERS}(?P<marks>[|:-][|: \t-]*)")
_LONE_CR: Final = lazy_pattern(r"\r(?!\n)")
_SURROGATE: Final = lazy_pattern("[\ud800-\udfff]")
_CONTINUATION_BYTES: Final = bytes(range(0x80, 0xC0))
_STEP: Final = 1024


class ParserFailure(Exception):  # noqa: N818 - Callers treat it as a result: they ask the other parser.
    """The parser failed on a text because of a bug."""


class PreparedText:
    """A text as the parser needs it, with the same number of characters.

    In `source`, NUL is U+FFFD and a lone CR is LF, as in CommonMark. In `text`, the parser's input, lone
    surrogates are U+FFFD too, and a few characters that the parser misreads are replaced by equivalents.
    """

    def __init__(self, text: str) -> None:
        self.source = _LONE_CR.sub("\n", text).replace("\0", "\ufffd")
        self.text = _prepared(self.source)
        self._is_ascii = self.text.isascii()
        self._data = b"" if self._is_ascii else self.text.encode()
        # The number of characters before every `_STEP`th byte.
        steps = (self._data[start : start + _STEP] for start in range(0, len(self._data), _STEP))
        self._counts = [] if self._is_ascii else list(accumulate(map(_code_points, steps), initial=0))

    def bounds(self, place: Range) -> tuple[int, int]:
        """Return the character range of an event."""
        if self._is_ascii:
            return place["start"], place["end"]
        return self.offset(place["start"]), self.offset(place["end"])

    def offset(self, byte: int) -> int:
        """Convert a byte offset to a character offset."""
        if self._is_ascii:
            return byte
        step = byte // _STEP
        return self._counts[step] + _code_points(self._data[step * _STEP : byte])


def event_batches(text: str, is_label: IsLabel | None = None) -> Iterator[EventBatch]:
    """Yield batches of events for `text` (from a `PreparedText`), in document order.

    `is_label` decides about undefined labels. May raise `ParserFailure`, and `ParseTimeout` between batches.
    """

    def resolve(link: "pyromark.event.BrokenLink") -> tuple[str, str] | None:
        return ("", "") if is_label is not None and is_label(link["reference"]) else None

    with _panics_caught():
        events = pyromark.events_with_range(
            text, options=_OPTIONS, broken_link_callback=resolve if is_label else None
        )
        while batch := tuple(islice(events, _BATCH)):
            check_deadline_often()
            yield batch


# What in HTML says how a list or a link is written, and no more.
_LOOSE_ITEM: Final = lazy_pattern(r"\s*(</?(?:li|ul|ol)\b[^>]*>)(?:\s*<p>)?\s*|</p>")
_PLAIN_LINK: Final = lazy_pattern(r'<a href="(?:mailto:)?((?:https?|ftp)://[^"]*|[^":]+@[^"]*)">\1</a>')
_SHOWN_AS_IT_IS: Final = lazy_pattern(r"(<pre>.*?</pre>)", re.DOTALL)
_FOOTNOTE: Final = lazy_pattern(r'<div class="footnote-definition".*?</div>', re.DOTALL)

# Quotation marks that some editors and models put in place of the plain ones.
PLAIN_QUOTES: Final = str.maketrans("\u2018\u2019\u201a\u201c\u201d\u201e", "'''\"\"\"")


def html_of(text: str, destination: Callable[[str], tuple[str, str] | None]) -> str:
    """Return `text` as HTML without definitions of footnotes and what only says how it is written.

    That is white space, tight and loose lists, and typographic quotation marks.

    `destination` gives those of labels that `text` does not define, with their titles.
    """
    with _panics_caught():
        html = pyromark.html(
            PreparedText(text).text,
            options=_OPTIONS,
            broken_link_callback=lambda link: destination(link["reference"]),
        )
    html = _FOOTNOTE.sub("", html).translate(PLAIN_QUOTES)
    html = html.replace("&quot;", '"')
    pieces = _SHOWN_AS_IT_IS.split(html)
    pieces[::2] = [
        " ".join(_PLAIN_LINK.sub(r"\1", _LOOSE_ITEM.sub(r"\1", piece)).split()) for piece in pieces[::2]
    ]
    return "".join(pieces)


@contextmanager
def _panics_caught() -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        # A Rust panic is not an `Exception`, and its class cannot be imported.
        if type(error).__name__ == "PanicException":
            raise ParserFailure from error
        raise


def is_nested_too_deep(text: str) -> bool:
    """Return True if a line of `text` has more than `MAX_MARKERS` container markers."""
    return _TOO_DEEP.search("\n" + text) is not None


def _prepared(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _SURROGATE.sub("\ufffd", text)
    # A blank line contains neither.
    text = text.replace("\v", "\x7f").replace("\f", "\x7f")
    return _LAST_TABS.sub(_with_spaces, text)


def _with_spaces(tabs: re.Match[str]) -> str:
    line = tabs.string[tabs.string.rfind("\n", 0, tabs.start()) + 1 : tabs.end()]
    marked_line = _CLOSING_FENCE.fullmatch(line) or _DELIMITER_ROW.fullmatch(line)
    if marked_line is None:
        return tabs[0]
    # Tabs before the marks are indentation.
    indentation = max(len(tabs[0]) - len(marked_line["marks"]), 0)
    return tabs[0][:indentation] + tabs[0][indentation:].replace("\t", " ")


def _code_points(data: bytes) -> int:
    return len(data) if data.isascii() else len(data.translate(None, _CONTINUATION_BYTES))


# --- The block tree from the events of one part; lines are relative to the part

# The parser requires a pipe before the header of a table that follows text, GitHub does not; and it ends a
# quote when such a header is a lazy continuation. A row without a dash, such as the `:::` of a directive, is
# not a delimiter row for either.
DELIMITER_ROW: Final = lazy_pattern(
    r"(?:\n(?=[ \t-]*[|:])|\A(?=[^\n|]*\|))(?=[|: \t]*-)[|:-][|: \t-]*(?=\n|\Z)"
)

# Not a delimiter row: a dash and a space start a list item; cells are contiguous dashes between optional
# colons.
_BROKEN_DELIMITER: Final = lazy_pattern(r"^[ \t>]*-[ \t]|[:-][ \t]+[:-]|-:-|::|(?:^|\|)[ \t]*:[ \t]*(?:\||$)")

_KINDS: Final = {
    "Paragraph": BlockKind.PARAGRAPH,
    "Heading": BlockKind.HEADING,
    "BlockQuote": BlockKind.QUOTE,
    "CodeBlock": BlockKind.FENCE,
    "HtmlBlock": BlockKind.HTML,
    "List": BlockKind.LIST,
    "Item": BlockKind.LIST_ITEM,
    "FootnoteDefinition": BlockKind.FOOTNOTE,
    "Table": BlockKind.TABLE,
}

# HTML that may contain blank lines, but ends at one if it is unclosed (section 4.6).
_HTML_WITH_BLANK_LINES: Final = lazy_pattern(
    r"<(?:[!?]|(?:script|pre|style|textarea)(?=[\s>]|$))", re.IGNORECASE
)

# A range that starts inside a tab starts at the mark before it.
_MARKER: Final = lazy_pattern(r"[ \t>]*([-+*]|[0-9]{1,9}[.)])")
_FENCE: Final = lazy_pattern(r"`{3,}|~{3,}")
_WHITE: Final = lazy_pattern(r"[ \t\r\n]*")
_QUOTE_MARK: Final = lazy_pattern(r"[ \t]*>")

# Closing marks follow a space (CommonMark 0.31.2, section 4.2).
_CLOSING_MARKS: Final = lazy_pattern(r"[ \t]#+\Z")


class BlockNode(msgspec.Struct, eq=False):
    """A block that is read; lines are 0-based and inclusive. Other fields are as in `Block`.

    `last_line` of a container is at first the parser's, perhaps a blank line after the last block.
    """

    kind: BlockKind
    first_line: int
    last_line: int
    depth: int
    level: int = 0
    markup: str = ""
    content: str = ""
    cells: tuple[str, ...] = ()
    code: str = ""


class _BlockReader:
    """Build `nodes`, parents first, from events.

    A paragraph in a tight list has no event of its own; its inline events mark its place.
    """

    def __init__(self, prepared: PreparedText, lines: LineIndex) -> None:
        self.prepared = prepared
        self.nodes: list[BlockNode] = []
        self._text = prepared.source
        self._lines = lines
        self._containers: list[BlockNode] = []
        # The open leaf block, its event, start and end.
        self._leaf: BlockNode | None = None
        self._leaf_event = ""
        self._start = self._end = 0
        self._cells: list[str] = []
        self._code: list[str] = []
        self._is_header = False

    def take(self, event: Event, place: Range) -> None:
        if isinstance(event, str):
            if event == "Rule":
                self._close_leaf()
                self._open_leaf(BlockKind.RULE, event, place)
                self._close_leaf()
            else:
                self._take_inline(place)
        elif "Start" in event:
            tag = event["Start"]
            name = tag if isinstance(tag, str) else next(iter(tag))
            self._take_start(name, place, is_indented=tag == {"CodeBlock": "Indented"})
        elif "End" in event:
            end = event["End"]
            self._take_end(end if isinstance(end, str) else next(iter(end)))
        elif self._leaf_event == "CodeBlock" and "Text" in event:
            self._code.append(self._code_of(event["Text"], place))
        else:
            self._take_inline(place)

    def _take_start(self, name: str, place: Range, *, is_indented: bool) -> None:
        kind = _KINDS.get(name)
        if self._leaf_event:
            self._is_header = self._is_header or name == "TableHead"
            if name == "TableCell" and self._is_header:
                self._cells.append(self._text_of(place))
        elif kind is None:
            self._take_inline(place)
        else:
            self._close_leaf()
            if kind in CONTAINERS:
                self._open_container(kind, place)
            else:
                self._open_leaf(BlockKind.INDENTED_CODE if is_indented else kind, name, place)

    def _take_end(self, name: str) -> None:
        if name == "TableHead":
            self._is_header = False
        elif self._leaf_event:
            if name == self._leaf_event:
                self._close_leaf()
        elif _KINDS.get(name) in CONTAINERS:
            self._close_leaf()
            self._containers.pop()

    def _take_inline(self, place: Range) -> None:
        """Extend the open leaf block, or open a paragraph in a tight item."""
        if self._leaf_event:
            return
        if self._leaf is None:
            self._open_leaf(BlockKind.PARAGRAPH, "", place)
            # The range of an escaped character starts after the backslash.
            self._start -= self._text.startswith("\\", self._start - 1) if self._start else 0
        # A paragraph ends at a line end, which the ranges of some references do not reach.
        _, end = self.prepared.bounds(place)
        end = self._text.find("\n", max(end - 1, self._start))
        self._end = max(self._end, end if end >= 0 else len(self._text))

    def _open_container(self, kind: BlockKind, place: Range) -> None:
        start, end = self._bounds(place)
        markup = ">" if kind is BlockKind.QUOTE else ""
        if kind in {BlockKind.LIST, BlockKind.LIST_ITEM} and (marker := _MARKER.match(self._text, start)):
            markup = marker[1][-1]
        depth, last_line = len(self._containers), self._line(max(start, end - 1))
        node = BlockNode(kind, self._line(start), last_line, depth, markup=markup)
        self.nodes.append(node)
        self._containers.append(node)

    def _open_leaf(self, kind: BlockKind, event: str, place: Range) -> None:
        self._start, self._end = self._bounds(place)
        self._leaf_event = event
        self._leaf = BlockNode(kind, 0, 0, len(self._containers))
        self._cells, self._code = [], []

    def _close_leaf(self) -> None:
        """Close the open leaf block, if any."""
        node = self._leaf
        if node is None:
            return
        self._leaf, self._leaf_event = None, ""
        source = self._text[self._start : self._end]
        if node.kind is not BlockKind.FENCE and not _HTML_WITH_BLANK_LINES.match(source):
            source = source.rstrip(" \t\r\n")
        quotes = sum(container.kind is BlockKind.QUOTE for container in self._containers)
        if node.kind is BlockKind.HTML and quotes:
            source = _without_blank_end(source, quotes)
        node.first_line = self._line(self._start)
        node.last_line = self._line(self._start + max(len(source) - 1, 0))
        if node.kind in {BlockKind.HEADING, BlockKind.PARAGRAPH}:
            node.content = without_prefixes(source, quotes)
        if node.kind is BlockKind.HEADING:
            node.level, node.markup, node.content = read_heading(node.content)
        if node.kind is BlockKind.TABLE:
            node.cells = tuple(self._cells)
        elif node.kind is BlockKind.RULE:
            node.markup = source[:1]
        elif node.kind is BlockKind.FENCE and (fence := _FENCE.match(source)):
            node.markup = fence[0]
            node.content = source[fence.end() :].partition("\n")[0].removesuffix("\r")
            node.code = "".join(self._code)
            node.code += "\n" if node.code and not node.code.endswith("\n") else ""
        self.nodes.append(node)

    def _bounds(self, place: Range) -> tuple[int, int]:
        """Return the character range of an event without whitespace of the line before."""
        start, end = self.prepared.bounds(place)
        white = _WHITE.match(self._text, start, end)
        return (white.end() if white else start), end

    def _line(self, offset: int) -> int:
        return self._lines.line_at(offset) - 1

    def _text_of(self, place: Range) -> str:
        start, end = self.prepared.bounds(place)
        return self._text[start:end].replace("\\|", "|").strip(" \t\v\f")

    def _code_of(self, text: str, place: Range) -> str:
        """Return a piece of code as in the source if the lengths match: a tab may have become spaces."""
        start, end = self.prepared.bounds(place)
        source = self._text[start:end]
        return source if len(source) == len(text) else text


def is_doubtful_table(rows: Sequence[str]) -> bool:
    """Return True if GitHub may not see a table in `rows`, or fewer rows, because of indentation."""
    least = max(_indentation(rows[0]) + 1, 4)
    return _BROKEN_DELIMITER.search(rows[1]) is not None or any(
        _indentation(row) >= least for row in rows[2:]
    )


def _indentation(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip(" "))


def without_prefixes(source: str, quotes: int) -> str:
    """Return `source` with LF; continuation lines lose indentation and up to `quotes` quote markers."""
    first, *others = source.rstrip(" \t\r\n").split("\n")
    if not others:
        return first
    return "\n".join([first.removesuffix("\r"), *(_without_prefix(line, quotes) for line in others)])


def _without_prefix(line: str, quotes: int) -> str:
    for _ in range(quotes):
        mark = _QUOTE_MARK.match(line)
        if mark is None:
            break
        line = line[mark.end() :]
    return line.removesuffix("\r").lstrip(" \t")


def _without_blank_end(html: str, quotes: int) -> str:
    """Return `html` without a last line of quote markers: ranges may include the blank line after it."""
    before, _, last = html.rpartition("\n")
    if not before or _without_prefix(last, quotes) or _HTML_WITH_BLANK_LINES.match(html):
        return html
    return before


def read_heading(source: str) -> tuple[int, str, str]:
    """Return level, markup and raw inline text of the heading `source` (CommonMark 0.31.2, 4.2 and 4.3)."""
    if "\n" in source:
        content, _, underline = source.rpartition("\n")
        mark = underline.strip(" \t")[0]
        return 1 if mark == "=" else 2, mark, content.strip(" \t\n")
    line = source.strip(" \t")
    title = line.lstrip("#")
    level = len(line) - len(title)
    if title.endswith("#"):
        title = _CLOSING_MARKS.sub("", title)
    return level, line[:level], title.strip(" \t\n")


# --- Headings only

# HTML that any of these closing tags ends (CommonMark 0.31.2, section 4.6). The parser waits for the matching
# tag.
_RAW_HTML: Final = lazy_pattern(r"[ \t]*<(?:script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
_RAW_HTML_END: Final = lazy_pattern(r"</(?:script|pre|style|textarea)>[^\n]*", re.IGNORECASE)
_UNDERLINE: Final = lazy_pattern(r"\n[ \t>]*(?:=+|-+)[ \t]*(?=\n|\Z)")

# A quote marker that a tab moves to column four or later is text. Both parsers read it as a marker, except
# that markdown-it-py handles an underline in a list.
_MARK_AFTER_TAB: Final = lazy_pattern(r"\n[ \t>]*\t[ \t]*>")

# A dash and a space start a list item, possibly with a heading; the parser may see a delimiter row.
_ITEM_AS_DELIMITER: Final = lazy_pattern(r"[^\n]*\n[ \t>]*-[ \t]")

# Containers whose end events are plain names.
_NAMED_ENDS: Final = frozenset({"Item", "FootnoteDefinition"})


class DoubtfulText(Exception):  # noqa: N818 - Callers treat it as a result: they ask the other parser.
    """The parser may take too long, or find other headings than GitHub."""


@with_deadline
def parse_headings(text: str, start: int, lines_before: int) -> list[Block]:
    """Return the headings of `text`, which starts at offset `start` after `lines_before` lines.

    May raise `ParserFailure` and `DoubtfulText`.
    """
    reader = _HeadingReader(PreparedText(text), start, lines_before)
    if is_nested_too_deep(reader.prepared.text):
        raise DoubtfulText
    batches: Iterator[tuple[tuple[Any, Range], ...]] = event_batches(reader.prepared.text)
    for batch in batches:
        # Other events are plain names, which contain neither word.
        for event, place in batch:
            if "Start" in event:
                reader.take_start(event["Start"], place)
            elif "End" in event:
                reader.take_end(event["End"])
    return reader.headings


class _HeadingReader:
    def __init__(self, prepared: PreparedText, start: int, lines_before: int) -> None:
        self.prepared = prepared
        self.headings: list[Block] = []
        self._source = prepared.source
        self._start = start
        # The offset up to which newlines are counted, and its line.
        self._at, self._line = 0, lines_before + 1
        # For each open container, True if it is a quote. Ranges may overlap: only end events count.
        self._quotes: list[bool] = []

    def take_start(self, tag: Tag, place: Range) -> None:
        """Handle the start of a block or inline node."""
        if isinstance(tag, str):
            if tag == "Item":
                self._quotes.append(False)
            elif tag == "HtmlBlock":
                self._take_html(place)
        elif "Heading" in tag:
            self._take_heading(place)
        elif "Table" in tag:
            self._take_table(place)
        elif "FootnoteDefinition" in tag:
            self._take_footnote(place)
        elif "List" in tag or "BlockQuote" in tag:
            self._quotes.append("BlockQuote" in tag)

    def take_end(self, tag: Tag) -> None:
        """Handle the end of a block or inline node."""
        if tag in _NAMED_ENDS if isinstance(tag, str) else "Heading" not in tag:
            self._quotes.pop()

    def _take_footnote(self, place: Range) -> None:
        """Raise `DoubtfulText` for two footnote definitions on one line: GitHub nests them."""
        start, _ = self.prepared.bounds(place)
        if "]:" in self._source[self._source.rfind("\n", 0, start) + 1 : start]:
            raise DoubtfulText
        self._quotes.append(False)

    def _take_table(self, place: Range) -> None:
        """Raise `DoubtfulText` if GitHub may end the table earlier: later rows could be headings."""
        start, end = self.prepared.bounds(place)
        line_end = self._source.find("\n", end)
        text = self._source[start : line_end if line_end >= 0 else len(self._source)]
        has_item = _ITEM_AS_DELIMITER.match(text)
        if has_item or _UNDERLINE.search(text):
            start = self._source.rfind("\n", 0, start) + 1
            if has_item or is_doubtful_table(self._source[start:end].replace("\r", "").split("\n")):
                raise DoubtfulText

    def _take_heading(self, place: Range) -> None:
        start, end = self.prepared.bounds(place)
        text = self._source[start:end].strip(" \t\r\n")
        if "\n" in text:
            if _MARK_AFTER_TAB.search(text):
                raise DoubtfulText
            text = without_prefixes(text, sum(self._quotes))
            if DELIMITER_ROW.search(text):
                raise DoubtfulText
        line_start = self._source.rfind("\n", 0, start) + 1
        line_end = self._source.find("\n", start + len(self._source[start:end].rstrip(" \t\r\n")))
        line_end = line_end + 1 if line_end >= 0 else len(self._source)
        self._line += self._source.count("\n", self._at, line_start)
        self._at = line_start
        level, markup, content = read_heading(text)
        self.headings.append(
            Block(
                kind=BlockKind.HEADING,
                first_line=self._line,
                last_line=self._line + text.count("\n"),
                span=Span(self._start + line_start, self._start + line_end),
                depth=len(self._quotes),
                level=level,
                markup=markup,
                content=content,
            )
        )

    def _take_html(self, place: Range) -> None:
        start, end = self.prepared.bounds(place)
        if not _RAW_HTML.match(self._source, start, end):
            return
        closing = _RAW_HTML_END.search(self._source, start, end)
        if closing and self._source[closing.end() : end].strip():
            raise DoubtfulText


# --- All blocks of one part of a document


@with_deadline
def parse_part(text: str, start: int, lines_before: int) -> tuple[Block, ...]:
    """Return the blocks of `text`, which starts at offset `start` after `lines_before` lines.

    They are in document order, parents first. markdown-it-py decides if the tables may differ from GitHub's.
    """
    prepared = PreparedText(text)
    lines = LineIndex(prepared.text)
    reader = _BlockReader(prepared, lines)
    try:
        for batch in event_batches(prepared.text):
            for event, place in batch:
                reader.take(event, place)
        add_definitions(reader.nodes, lines, prepared.text)
    except ParserFailure:
        return parse_reference_blocks(text, start, lines_before)[0]
    _end_containers(reader.nodes, lines)
    blocks = tuple(
        Block(
            kind=node.kind,
            first_line=lines_before + node.first_line + 1,
            last_line=lines_before + node.last_line + 1,
            span=Span(start + lines.start(node.first_line + 1), start + lines.end(node.last_line + 1)),
            depth=node.depth,
            level=node.level,
            markup=node.markup,
            content=node.content,
            cells=node.cells,
            code=node.code,
        )
        for node in reader.nodes
    )
    if any(_is_doubtful(node, lines) for node in reader.nodes):
        others = parse_reference_blocks(text, start, lines_before)[0]
        # The headings of the document are already fixed.
        if _headings(others) == _headings(blocks):
            return others
    return blocks


def _is_doubtful(node: BlockNode, lines: LineIndex) -> bool:
    """Return True if GitHub and the parser may disagree about a table here."""
    if node.kind is BlockKind.TABLE:
        rows = range(node.first_line + 1, node.last_line + 2)
        return is_doubtful_table([lines.content(row) for row in rows])
    return node.kind is BlockKind.PARAGRAPH and DELIMITER_ROW.search(node.content) is not None


def _headings(blocks: Iterable[Block]) -> list[Block]:
    return [block for block in blocks if block.kind is BlockKind.HEADING]


def _end_containers(nodes: Sequence[BlockNode], lines: LineIndex) -> None:
    """End containers with their last block; a quote also with lines that hold only its markers."""
    ends: dict[int, int] = {}  # By depth, the end of the last block that is no part of a later container.
    for node in reversed(nodes):
        if node.kind in CONTAINERS:
            last = max(node.first_line, ends.pop(node.depth + 1, 0))
            if node.kind is BlockKind.QUOTE:
                while node.last_line > last and not lines.has_text(node.last_line + 1):
                    node.last_line -= 1
                last = max(last, node.last_line)
            node.last_line = last
        ends.setdefault(node.depth, node.last_line)


# --- Heading attributes: `{#id .class}` after the text, `{: #id}` on the line below
#
# Docusaurus, Hugo, mdBook, MkDocs, Pandoc, VitePress and Kramdown read the first form, Kramdown the second.

_VALUE: Final = r"""(?:"[^"\r\n{}]*+"|'[^'\r\n{}]*+'|[^\s"'{}]++)"""
ATTRIBUTE: Final = rf"(?:[#.][^\s{{}}#\"'<>`]++|[\w:-]++={_VALUE}|-)"
_LIST: Final = rf":?[ \t]*+{ATTRIBUTE}(?:[ \t]++(?:{ATTRIBUTE}|[\w:-]++))*+[ \t]*+"

# Compiled on first use: few documents have attributes. The last form is Docusaurus in MDX.
BRACES: Final = rf"\{{(?:{_LIST}|/\*[ \t]*+[#][^\s{{}}*]++[ \t]*+\*/)\}}"
# Braces directly after text are usually part of it.
_BEHIND_TEXT: Final = rf"(?:[ \t]++|(?<=[\])*_`])|(?<=[^\s${{}}\\])(?=\{{[:#. ])){BRACES}"
_MARK: Final = (_BEHIND_TEXT, r"[ \t]++\^[A-Za-z0-9-]++", r"[ \t]*+<!--(?:(?!-->).)*+-->")
_MARKS: Final = rf"(?:{'|'.join(_MARK)})++[ \t]*+\Z"
_COMMENTS: Final = r"(?:(?:<!--(?:(?!-->).)*+-->|\{/\*(?:(?!\*/).)*+\*/\})[ \t]*+)++"
_BELOW: Final = (
    rf" {{0,3}}\{{:[ \t]*+(?:{ATTRIBUTE}(?:[ \t]++{ATTRIBUTE})*+)?[ \t]*+\}}[ \t]*+(?:\r\n?|\n|\Z)"
)
_LISTS: Final = rf"(?:{_BEHIND_TEXT})(?:{_BEHIND_TEXT}|{_MARK[-1]})*+[ \t]*+\Z"
_ID: Final = r"""(?:(?<=[\s{:*])|^)(?:#|id=["']?)([^\s{}#"'<>`*]+)"""


class HeadingContent(NamedTuple):
    """Raw inline text of a heading, and the explicit `id` from its attributes, or empty."""

    text: str
    id: str


def read_content(content: str) -> HeadingContent:
    """Split the raw inline `content` of a heading; attributes count only if they contain an ID."""
    text = without_attributes(content)
    own_id = id_of_attributes(content[len(text) :]) if len(text) < len(content) else ""
    return HeadingContent(text if own_id else content, own_id)


def without_attributes(content: str) -> str:
    """Return the raw inline `content` of a heading without attributes."""
    lists = re.search(_LISTS, content) if content.endswith(("}", ">")) and "{" in content else None
    return content[: lists.start()] if lists and content[: lists.start()].strip() else content


def marks_behind(content: str) -> str:
    """Return the invisible end of `content` with the spaces before it: attributes, block IDs, comments."""
    if not content.endswith(("}", ">")) and "^" not in content:
        return ""
    marks = re.search(_MARKS, content)
    return marks[0] if marks and content[: marks.start()].strip() else ""


def comments_before(content: str) -> str:
    """Return the comments at the start of `content` with the spaces after them."""
    comments = re.match(_COMMENTS, content) if content.startswith(("<!--", "{/*")) else None
    return comments[0] if comments else ""


def attribute_lines(depths: Sequence[int], ends: Sequence[int], text: str) -> dict[int, int]:
    """Return the end of attribute lines directly below top-level headings, by heading index.

    `depths` and `ends` (after newlines) are given for all headings.
    """
    if "{:" not in text:
        return {}
    below = re.compile(_BELOW)
    lines = ((number, below.match(text, end)) for number, end in enumerate(ends) if not depths[number])
    return {number: line.end() for number, line in lines if line}


def id_of_attributes(attributes: str) -> str:
    """Return the ID in `attributes`, or an empty string."""
    match = re.search(_ID, attributes)
    return match[1] if match else ""


# --- Link reference definitions (CommonMark 0.31.2, section 4.7)
#
# The parser has no events for them; it only reports the first definition of each label. So each label is made
# unique with a private use character.

_LABEL_END: Final = "]:"
_LABEL_START: Final = lazy_pattern(r"((?<!<!)\[\\?)[^\s\[\]\\^]")
_PRIVATE_USE: Final = range(0xF0000, 0x10FFFE)


def add_definitions(nodes: list[BlockNode], lines: LineIndex, text: str) -> None:
    """Insert the link definitions of `text` into `nodes`. May raise `ParserFailure`."""
    if _LABEL_END not in text:
        return
    characters = cycle(_PRIVATE_USE)
    prepared = PreparedText(_LABEL_START.sub(lambda start: start[1] + chr(next(characters)), text))
    with _panics_caught():
        definitions = pyromark.reference_definitions(prepared.text, options=_OPTIONS)
    for definition in definitions.values():
        start, end = prepared.bounds(definition["span"])
        end = start + len(text[start:end].rstrip())
        first, last = (lines.line_at(offset) - 1 for offset in (start, end - 1))
        at = bisect_right(nodes, first, key=_first_line)
        depth = _depth_behind(nodes[:at], first)
        while at < len(nodes) and nodes[at].depth > depth:
            at += 1
        nodes.insert(at, BlockNode(BlockKind.DEFINITION, first, last, depth))


def _depth_behind(nodes: Sequence[BlockNode], line: int) -> int:
    """Return the depth of a block on `line` that follows `nodes`: one more than that of its container."""
    depth, inner = 0, len(nodes)
    for node in reversed(nodes):
        if node.depth < inner:
            inner = node.depth
            if node.kind not in CONTAINERS or node.last_line < line:
                depth = 0
            elif node.kind is not BlockKind.LIST:
                # A list may span lines outside all its items.
                depth = depth or node.depth + 1
        if not inner:
            break
    return depth


def _first_line(node: BlockNode) -> int:
    return node.first_line
