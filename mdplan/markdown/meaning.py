"""What a document says, as a tree of blocks and words with places, without how it is written.

Two blocks have the same form if they mean the same: bullets, the delimiters of numbers, marks of emphasis and
headings, fences, escapes, entities, wrapping, padding of tables, typographic quotes and the form of links are
no part of it.
"""

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec

from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.blocks import CONTAINERS, Block, BlockKind, check_deadline
from mdplan.markdown.format_detection import find_front_matter
from mdplan.markdown.inline import InlineMap, find_definition
from mdplan.markdown.inline_node import normalized_label, unescape
from mdplan.markdown.parser import PLAIN_QUOTES, PreparedText, event_batches, html_of
from mdplan.markdown.tables import MARKER, Containers, TableSource, behind_indentation, behind_white, width_of
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span

# A URL, which may be a link without any mark, a word, white space, or any other character.
_WORD: Final = lazy_pattern(r"(?:https?|ftp)://(?:[^\s<>]*[\w/#&=+-])|[^\W_]+|[ \t\n]+|.", re.DOTALL)
_URL: Final = lazy_pattern(r"(?:https?|ftp)://|mailto:")
_MARKS: Final = {"Emphasis": 1, "Strong": 2, "Strikethrough": 0}
_BLANKS: Final = " \t"
_QUOTE_MARK: Final = lazy_pattern(r"[ \t]*> ?")
_FOOTNOTE_MARK: Final = lazy_pattern(r"\[\^[^\]]+\]:")
_MOST_SPACES: Final = 4
# Blocks that mean the same wherever they are.
FLOATING: Final = frozenset({BlockKind.DEFINITION, BlockKind.FOOTNOTE})
EMPTY_CELL: Final = ("cell", None)
BLANK: Final = " "
BREAK: Final = "\n"


class Token(NamedTuple):
    """A piece of inline content: its meaning, and its place in the source of its part.

    An opening mark has a `key` that begins with ``<``, the closing one has it with ``>``; no word has either.
    """

    key: str
    start: int
    end: int


class Frame(NamedTuple):
    """A container around lines: `content` is where its text begins in its first line, `width` its columns."""

    is_quote: bool
    first_line: int
    content: int
    width: int


class Part:
    """A text without blocks that reach out of it, and its lines."""

    def __init__(self, text: str) -> None:
        """Take `text`, which begins with a line and has LF line ends."""
        self.text = text
        self.lines = LineIndex(text)

    def content_start(self, line: int, frames: Sequence[Frame]) -> int:
        """Return where the content of `line` (1-based) begins in the containers `frames`."""
        text, at, end = self.text, self.lines.start(line), self.lines.content_end(line)
        for frame in frames:
            if frame.is_quote:
                mark = _QUOTE_MARK.match(text, at, end)
                if mark is None:
                    # A lazy line.
                    return behind_white(text, at, end)
                at = mark.end()
            elif line == frame.first_line:
                at = frame.content
            else:
                at = behind_indentation(text, at, end, frame.width)
        return at


class MeaningNode(msgspec.Struct, eq=False):
    """One block, a row or a cell of a table; `form` is the same for what means the same.

    `start` and `end` are in the text of its `part`, without the marks of the containers around, `frames`.
    `prefix` is what new lines in it begin with, `indent` the blanks before it. `tokens` are its words,
    `lines` those of code or HTML. `own` is what it means besides its children; `label` names a definition.
    """

    kind: str
    part: Part
    start: int
    end: int
    first_line: int
    last_line: int
    frames: tuple[Frame, ...]
    prefix: str
    indent: str = ""
    own: Hashable = None
    label: str = ""
    markup: str = ""
    children: "list[MeaningNode]" = msgspec.field(default_factory=list)
    tokens: list[Token] = msgspec.field(default_factory=list)
    lines: list[str] = msgspec.field(default_factory=list)
    table: TableSource | None = None
    form: int = -1

    @property
    def key(self) -> Hashable:
        """What names a definition in its document."""
        return self.kind, self.label

    @property
    def source(self) -> str:
        """Its text as it is written, with the marks of containers in its further lines."""
        return self.part.text[self.start : self.end]

    @property
    def words(self) -> str:
        """What a reader sees of it, for comparisons."""
        if self.children:
            return " ".join(child.words for child in self.children)
        return "\n".join(self.lines) if self.lines else "".join(token.key for token in self.tokens)

    def source_for(self, prefix: str) -> str:
        """Return its source with further lines that begin with `prefix` in place of its own containers."""
        first, *more = range(self.first_line, self.last_line + 1)
        written = [self.part.text[self.start : min(self.end, self.part.lines.content_end(first))]]
        for line in more:
            start = self.part.content_start(line, self.frames)
            text = self.part.text[start : self.part.lines.content_end(line)]
            written.append(prefix + text if text else prefix.rstrip(_BLANKS))
        return "\n".join(written)


def floating_in(nodes: Sequence[MeaningNode]) -> Iterator[MeaningNode]:
    """Yield the definitions among `nodes` and in them."""
    for node in nodes:
        if node.kind in FLOATING:
            yield node
        yield from floating_in(node.children)


class MeaningDocument:
    """A text with LF line ends: its `front_matter`, with the fences, and its parts, read when needed.

    No block reaches out of its part, and all but the first part begin with a heading.
    """

    def __init__(self, meanings: "Meanings", text: str) -> None:
        """Find the parts of `text`. Raises `ParserFailure` and `ParseTimeout`."""
        self._meanings = meanings
        found = find_front_matter(text)
        start = found.span.end if found else 0
        self.text, self.front_matter = text, text[:start]
        self._tree = parse_blocks(text, LineIndex(text), start)
        self._inline = InlineMap(self._tree)
        self.starts = self._tree.part_starts
        self.parts = [text[at : self._tree.part_end(number)] for number, at in enumerate(self.starts)]
        self._references: Mapping[str, Any] = self._inline.definitions["references"]  # type: ignore[assignment]
        # What the labels mean: equal parts mean the same in two documents where these are equal.
        self._labels = meanings.number(
            tuple((label, *entry.values()) for label, entry in self._references.items())
        )

    def nodes(self, number: int) -> tuple[MeaningNode, ...]:
        """Return the blocks of the part with this number."""
        part, footnotes = self.parts[number], self._inline.footnotes_for(self.parts[number])
        key = (part, footnotes, self._labels)
        if key not in self._meanings.nodes:
            before = self._tree.lines_before_part(number)
            blocks = [block.moved(-self.starts[number], -before) for block in self._tree.blocks_of(number)]
            reader = _PartReader(self._meanings, part, footnotes, self._references)
            self._meanings.nodes[key] = tuple(reader.read(blocks))
        return self._meanings.nodes[key]

    @cached_property
    def floating(self) -> dict[Hashable, MeaningNode]:
        """Definitions of links and footnotes by their labels; of several the first one counts."""
        found: dict[Hashable, MeaningNode] = {}
        for number in range(len(self.parts)):
            for node in self._floating_of(number):
                found.setdefault(node.key, node)
        return found

    def _floating_of(self, number: int) -> Iterator[MeaningNode]:
        if "]:" in self.parts[number]:
            yield from floating_in(self.nodes(number))

    def html(self, start: int, stop: int) -> str:
        """Return what the parts from `start` up to `stop` say, as HTML; the reader for it is another one."""
        text = "".join(self.parts[start:stop])
        return html_of(self._inline.footnotes_for(text) + text, self._destination)

    def _destination(self, label: str) -> tuple[str, str] | None:
        entry = self._references.get(normalized_label(label))
        return (entry["href"], entry["title"]) if entry else None

    @cached_property
    def says(self) -> list[str]:
        """What each part says: the same for parts that mean the same."""
        numbers = range(len(self.parts))
        defined = [tuple(node.form for node in self._floating_of(number)) for number in numbers]
        return [
            str(self._meanings.number((self.html(number, number + 1), defined[number]))) for number in numbers
        ]

    def line_of(self, node: MeaningNode) -> int:
        """Return the line in which `node` begins, one of this document."""
        number = next((at for at, part in enumerate(self.parts) if part == node.part.text), 0)
        return self._tree.lines_before_part(number) + node.first_line


class Meanings:
    """Forms that are shared by several documents, and the `nodes` of parts that several have."""

    def __init__(self) -> None:
        """Start without a document."""
        self._numbers: dict[Hashable, int] = {}
        self.nodes: dict[Hashable, tuple[MeaningNode, ...]] = {}

    def number(self, value: Hashable) -> int:
        """Return a number that stands for `value`."""
        return self._numbers.setdefault(value, len(self._numbers))

    def form(self, kind: str, own: Hashable, children: Sequence[int] = (), tokens: Sequence[str] = ()) -> int:
        """Return the form of a block with these forms of `children`, and keys of `tokens` or lines."""
        return self.number((kind, own, tuple(children), tuple(tokens)))


class Stretch:
    """Some parts of a document, which follow each other, and their `nodes`.

    `lead` is the text before the first block, `tail` what is after the last one.
    """

    def __init__(self, document: MeaningDocument, start: int, stop: int) -> None:
        """Take the parts of `document` from `start` up to `stop`."""
        self.document, self.start, self.stop = document, start, stop
        self.nodes: list[MeaningNode] = []
        self.lead = self.tail = ""
        for number in range(start, stop):
            nodes, text = document.nodes(number), document.parts[number]
            if not nodes:
                self.lead += text
                continue
            if not self.nodes:
                self.lead += text[: nodes[0].start]
            self.nodes += nodes
            self.tail = text[nodes[-1].end :]

    @property
    def root(self) -> MeaningNode:
        """A node with all its blocks."""
        return MeaningNode(
            kind="root", part=Part(""), start=0, end=0, first_line=1, last_line=1, frames=(), prefix="",
            children=self.nodes,
        )  # fmt: skip

    @property
    def forms(self) -> list[int]:
        """The forms of its blocks, but for definitions."""
        return [node.form for node in self.nodes if node.kind not in FLOATING]

    @property
    def html(self) -> str:
        """What it says, as HTML."""
        return self.document.html(self.start, self.stop)


class _PartReader:
    """Makes nodes of the blocks of one part, and tokens of the events in it."""

    def __init__(self, meanings: Meanings, text: str, footnotes: str, references: Mapping[str, Any]) -> None:
        self._meanings = meanings
        self._part = Part(text)
        self._text = text
        self._references = references
        self._events = list(self._read_events(footnotes))
        self._starts = [event[2] for event in self._events]

    def _read_events(self, footnotes: str) -> Iterator[tuple[str, Any, int, int]]:
        """Yield the inline events: what, its data, and its place."""
        prepared = PreparedText(footnotes + self._text)
        before = len(footnotes)
        for batch in event_batches(prepared.text, lambda label: normalized_label(label) in self._references):
            for event, place in batch:
                found: tuple[str, Any] = (event, "") if isinstance(event, str) else next(iter(event.items()))
                kind, data = found
                name = data if isinstance(data, str) else next(iter(data), "") if kind == "Start" else ""
                is_inline = kind not in {"Start", "End", "Html", "Rule"} or name in {*_MARKS, "Link", "Image"}
                if is_inline:
                    start, end = prepared.bounds(place)
                    if start >= before:
                        yield kind, data, start - before, end - before

    def read(self, blocks: Sequence[Block]) -> list[MeaningNode]:
        """Return the blocks at the root."""
        roots: list[MeaningNode] = []
        around: list[tuple[MeaningNode, Containers]] = []
        for block in blocks:
            check_deadline()
            while len(around) > block.depth:
                self._close(around.pop()[0])
            parent = around[-1][0] if around else None
            containers = around[-1][1] if around else Containers()
            node = self._node(block, parent, containers)
            (parent.children if parent else roots).append(node)
            if block.kind in CONTAINERS:
                inner = containers if block.kind is BlockKind.LIST else Containers(block, containers)
                around.append((node, inner))
        while around:
            self._close(around.pop()[0])
        return roots

    def _close(self, node: MeaningNode) -> None:
        if node.children:
            node.end = node.children[-1].end
            node.last_line = node.children[-1].last_line
        if node.kind == BlockKind.LIST and node.children:
            node.own = node.children[0].markup[:-1] if node.markup in {".", ")"} else ""
        children = [child.form for child in node.children if child.kind not in FLOATING]
        node.form = self._meanings.form(node.kind, node.own, children)

    def _node(self, block: Block, parent: MeaningNode | None, containers: Containers) -> MeaningNode:
        frames = self._inner_frames(parent) if parent else ()
        part, lines = self._part, self._part.lines
        base = part.content_start(block.first_line, frames)
        line_end = lines.content_end(block.first_line)
        start = base if block.kind is BlockKind.INDENTED_CODE else behind_white(self._text, base, line_end)
        node = MeaningNode(
            kind=_KINDS.get(block.kind, block.kind),
            part=part,
            start=start,
            end=lines.content_end(block.last_line),
            first_line=block.first_line,
            last_line=block.last_line,
            frames=frames,
            prefix=self._prefix(parent),
            indent=self._text[base:start],
            markup=block.markup,
        )
        match block.kind:
            case BlockKind.LIST_ITEM:
                marker = MARKER.match(self._text, start, line_end)
                node.markup = marker[0] if marker else ""
            case BlockKind.HEADING | BlockKind.PARAGRAPH:
                node.own = block.level
                node.tokens = self._tokens(block.span)
            case BlockKind.FENCE | BlockKind.INDENTED_CODE | BlockKind.HTML:
                self._read_lines(node, block)
            case BlockKind.DEFINITION | BlockKind.FOOTNOTE:
                node.label, node.own = self._definition(block)
            case BlockKind.TABLE:
                self._read_rows(node, block, containers)
            case _:
                pass
        if block.kind not in CONTAINERS:
            keys = node.lines or [token.key for token in node.tokens]
            children = [child.form for child in node.children]
            node.form = self._meanings.form(node.kind, node.own, children, keys)
        return node

    def _inner_frames(self, parent: MeaningNode) -> tuple[Frame, ...]:
        """Return the containers around what is in `parent`."""
        text, line = self._text, parent.first_line
        end = self._part.lines.content_end(line)
        base = parent.start - len(parent.indent)
        if parent.kind == BlockKind.QUOTE:
            return (*parent.frames, Frame(is_quote=True, first_line=line, content=0, width=0))
        if parent.kind not in {BlockKind.LIST_ITEM, BlockKind.FOOTNOTE}:
            return parent.frames
        is_item = parent.kind == BlockKind.LIST_ITEM
        mark = (MARKER if is_item else _FOOTNOTE_MARK).match(text, parent.start, end)
        after = mark.end() if mark else parent.start
        content = behind_white(text, after, end)
        if content >= end or width_of(text[after:content]) > _MOST_SPACES:
            content = min(after + 1, end)
        width = max(width_of(text[base:content]), after + 1 - base) if is_item else _MOST_SPACES
        return (*parent.frames, Frame(is_quote=False, first_line=line, content=content, width=width))

    def _prefix(self, parent: MeaningNode | None) -> str:
        if parent is None:
            return ""
        frames = self._inner_frames(parent)
        if len(frames) == len(parent.frames):
            return parent.prefix
        return parent.prefix + ("> " if frames[-1].is_quote else " " * frames[-1].width)

    def _definition(self, block: Block) -> tuple[str, Hashable]:
        """Return the label of a definition, and what it means."""
        found = find_definition(self._text, block.span)
        if found is None or found.label is None:
            mark = _FOOTNOTE_MARK.search(self._text, block.span.start, block.span.end)
            label = mark[0].lower() if mark else self._text[block.span.start : block.span.end]
            return label, label
        title = self._text[found.title.start + 1 : found.title.end - 1] if found.title else ""
        label_text = self._text[found.label.start : found.label.end]
        return normalized_label(label_text), (found.href, " ".join(unescape(title).split()))

    def _read_lines(self, node: MeaningNode, block: Block) -> None:
        """Read the lines of code or HTML, without the marks of containers."""
        if block.kind is BlockKind.FENCE:
            node.own = " ".join(unescape(block.content).split())
            node.lines = block.code.split("\n")[:-1]
            return
        more = range(block.first_line, block.last_line + 1)
        starts = [self._part.content_start(line, node.frames) for line in more]
        lines = [
            self._text[start : self._part.lines.content_end(line)]
            for start, line in zip(starts, more, strict=True)
        ]
        if block.kind is BlockKind.INDENTED_CODE:
            node.own = ""
            lines = [line.expandtabs(4)[4:] for line in lines]
        node.lines = lines

    def _read_rows(self, node: MeaningNode, block: Block, containers: Containers) -> None:
        node.table = table = TableSource(self._part.lines, block, 0, containers)
        node.own = table.alignments
        for row in (table.header, *table.rows):
            cells = [self._piece("cell", node, area, row.line) for area in row.cells[: len(table.columns)]]
            for cell in cells:
                cell.tokens = self._tokens(Span(cell.start, cell.end))
                keys = [token.key for token in cell.tokens]
                cell.form = self._meanings.form("cell", None, tokens=keys)
            written = self._piece("row", node, row.span, row.line)
            written.children = cells
            empty = [self._meanings.form(*EMPTY_CELL)] * (len(table.columns) - len(cells))
            written.form = self._meanings.form("row", None, [*(cell.form for cell in cells), *empty])
            node.children.append(written)

    @staticmethod
    def _piece(kind: str, table: MeaningNode, span: Span, line: int) -> MeaningNode:
        return msgspec.structs.replace(
            table, kind=kind, start=span.start, end=span.end, first_line=line, last_line=line, own=None,
            children=[],
        )  # fmt: skip

    # Tokens

    def _tokens(self, span: Span) -> list[Token]:
        """Return the inline content in `span`, piece by piece and without a gap between two."""
        first, stop = (bisect_left(self._starts, at) for at in (span.start, span.end))
        reader = _TokenReader(self._text, self._references)
        for event in self._events[first:stop]:
            reader.take(*event)
        return reader.tokens(span)


class _TokenReader:
    def __init__(self, text: str, references: Mapping[str, Any]) -> None:
        self._text = text
        self._references = references
        self._tokens: list[Token] = []
        # The characters of a run of text, each with its place.
        self._run: list[tuple[str, int, int]] = []
        self._open: list[tuple[int, Mapping[str, str], str]] = []

    def take(self, kind: str, data: Any, start: int, end: int) -> None:  # noqa: ANN401 (of the parser)
        """Take the next event."""
        if kind == "Text":
            if self._text[start:end] == data:
                self._run += zip(data, range(start, end), range(start + 1, end + 1), strict=True)
            else:
                self._run += ((character, start, end) for character in data)
            return
        if kind == "SoftBreak":
            self._run.append((BREAK, start, end))
            return
        self._end_run()
        match kind:
            case "HardBreak":
                self._tokens.append(Token(BREAK, start, end))
            case "Start":
                self._start(data, start)
            case "End":
                self._end(data, end)
            case _:
                text = " ".join(data.split()) if kind == "Code" else data
                self._tokens.append(Token(f"{kind}:{text}", start, end))

    def _start(self, data: Any, start: int) -> None:  # noqa: ANN401
        if isinstance(data, str):
            width = _MARKS[data] or 1 + self._text.startswith("~~", start)
            self._tokens.append(Token(f"<{data}", start, start + width))
            return
        ((name, link),) = data.items()
        self._open.append((len(self._tokens), link, name))
        self._tokens.append(Token(f"<{name}", start, start + (1 if name == "Link" else 2)))

    def _end(self, name: str, end: int) -> None:
        if name in _MARKS:
            width = _MARKS[name] or 1 + self._text.endswith("~~", 0, end)
            self._tokens.append(Token(f">{name}", end - width, end))
            return
        first, link, name = self._open.pop()
        inner = self._tokens[first + 1 :]
        form, href, title = link["link_type"], link["dest_url"], link["title"]
        if form.endswith("Unknown"):
            entry = self._references.get(normalized_label(link["id"]), {})
            href, title = entry.get("href", ""), entry.get("title", "")
        if form.startswith("Collapsed") and self._text.startswith("[]", end):
            end += 2
        last = inner[-1].end if inner else self._tokens[first].end
        if form == "Email":
            # What GitHub takes for an address without marks, too.
            ends = self._tokens[first].start, *(token.end for token in inner[:-1]), end
            self._tokens[first:] = [
                Token(token.key, *place) for token, place in zip(inner, pairwise(ends), strict=True)
            ]
            return
        is_plain = not title and len(inner) == 1 and inner[0].key == href and _URL.match(href)
        if is_plain and name == "Link":
            start = self._tokens[first].start
            self._tokens[first:] = [Token(href, start, end)]
            return
        closing = end - 1 if form == "Autolink" else self._text.find("]", last, end)
        key = f">{name}:{href}" + (f" {' '.join(title.split())!r}" if title else "")
        self._tokens.append(Token(key, closing if closing >= 0 else last, end))

    def _end_run(self) -> None:
        if not self._run:
            return
        text = "".join(character for character, _, _ in self._run)
        for match in _WORD.finditer(text):
            key = BLANK if match[0][0] in " \t\n" else match[0].translate(PLAIN_QUOTES)
            self._tokens.append(Token(key, self._run[match.start()][1], self._run[match.end() - 1][2]))
        self._run.clear()

    def tokens(self, span: Span) -> list[Token]:
        """Return all tokens, each of which reaches to the next one."""
        self._end_run()
        tokens = self._tokens
        while tokens and tokens[-1].key == BLANK:
            tokens.pop()
        starts: list[int] = []
        at = span.start
        for token in tokens:
            start = token.start
            # An escaped character begins after its backslash.
            start -= start > at and self._text[start - 1] == "\\"
            starts.append(max(start, at))
            at = max(token.end, at)
        ends = [*starts[1:], at][: len(tokens)]
        return [Token(token.key, *place) for token, *place in zip(tokens, starts, ends, strict=True)]


# Both kinds of code mean the same.
_KINDS: Final = {BlockKind.INDENTED_CODE: "code", BlockKind.FENCE: "code"}
