"""A document as it was, with what changed in a version that an editor or a model has written anew."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, islice
from typing import Final, NamedTuple

from rapidfuzz import fuzz

from mdplan.data.tree import DataError, Language
from mdplan.markdown.blocks import BlockKind, check_deadline, with_deadline
from mdplan.markdown.format_detection import find_front_matter
from mdplan.markdown.meaning import (
    BLANK,
    BREAK,
    EMPTY_CELL,
    FLOATING,
    MeaningDocument,
    MeaningNode,
    Meanings,
    Stretch,
    Token,
    floating_in,
)
from mdplan.markdown.parser import ParserFailure
from mdplan.markdown.table_edits import cell_source, changed_cells, new_row
from mdplan.markdown.tables import MARKER, with_prefix
from mdplan.merge.data import with_values_of
from mdplan.merge.lines import kept_lines
from mdplan.merge.siblings import Pairs, alike, same_siblings
from mdplan.text.diff import LineComparison
from mdplan.text.edit import EditList
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct

_ROUNDS: Final = 4
# Parts that are looked at for style, which is told in one line.
_MOST_LOOKED_AT: Final = 30
# Percent of the characters in the same order that make two blocks versions of one.
_ALIKE: Final = 45
_MOST_CHARACTERS: Final = 4_000_000
_BLANKS: Final = " \t"
_WORDS: Final = lazy_pattern(r"\w+")


class Unproven(Exception):  # noqa: N818 (a result, which the operation refuses)
    """The edited text has a change at its `line`, counted from 1, that cannot be carried over."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line, self.reason = line, reason


class Reconciled(Struct):
    """The `text` with the changes, and the kinds of blocks with another `style`.

    `losses` are what editors drop and the text has no longer, where nothing says that it was meant.
    """

    text: str
    style: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()


class _NotInside(Exception):  # noqa: N818 (a branch: the whole block is replaced)
    """A change cannot be made inside a block."""


class _Written(NamedTuple):
    """The text of a block, without a mark of a container before its first line, and its form."""

    text: str
    form: int


class _Three(NamedTuple):
    """One block in the original, as it was serialized, and as it was edited; None where it is not."""

    original: MeaningNode | None
    serialized: MeaningNode | None
    edited: MeaningNode | None

    @property
    def any(self) -> MeaningNode:
        """The block in one of them."""
        return next(node for node in self if node is not None)


# Forms of blocks in the result, with the edited block that each comes from.
_Owners = Sequence[tuple[int, MeaningNode | None]]


@with_deadline
def reconcile(
    original: str, edited: str, serialized: str | None = None, *, keeps_style: bool = False
) -> Reconciled:
    """Return `original` with what changed in `edited`, which an editor or a model has written anew.

    All have LF line ends. `serialized` is the original as that editor writes it: with it the changes are
    those between the two, without it those between `original` and `edited`. Where `keeps_style`, other ways
    to write the same are changes too. Raises `Unproven`.
    """
    if edited in {original, serialized}:
        return Reconciled(original)
    meanings = Meanings()
    try:
        first, last = MeaningDocument(meanings, original), MeaningDocument(meanings, edited)
        middle = first if serialized is None else MeaningDocument(meanings, serialized)
        front_matter = _front_matter(first.front_matter, middle.front_matter, last.front_matter)
        writer = _Writer(meanings, first, middle, last, keeps_style=keeps_style)
        text = writer.result(front_matter)
    except ParserFailure:
        raise Unproven(1, "the parser fails on the text") from None
    style = () if keeps_style else tuple(writer.style())
    return Reconciled(text, style, tuple(writer.losses()) if serialized is None else ())


def _front_matter(original: str, serialized: str, edited: str) -> str:
    """Return the front matter, with its fences, of the result."""
    if edited == serialized:
        return original
    texts = original, serialized, edited
    blocks = [block for text in texts if (block := find_front_matter(text)) is not None]
    if len(blocks) == len(texts):
        old, middle, new = (
            text[block.content.start : block.content.end] for text, block in zip(texts, blocks, strict=True)
        )
        try:
            written = with_values_of(Language(blocks[0].format), old, middle, new)
        except DataError:
            written = None
        if written is not None:
            return original[: blocks[0].content.start] + written + original[blocks[0].content.end :]
    if original == serialized:
        return edited
    raise Unproven(1, "front matter that the editor writes otherwise cannot be compared by key")


# --- The parts that differ


def _stretches(
    first: MeaningDocument, middle: MeaningDocument, last: MeaningDocument, *, keeps_style: bool
) -> list[tuple[Stretch, Stretch, Stretch]]:
    """Return what may differ: parts of the three documents, between which all have the same parts."""
    middle_says, last_says = (each.parts if keeps_style else each.says for each in (middle, last))
    to_last = dict(kept_lines(middle_says, last_says))
    triples = [(old, at, to_last[at]) for old, at in kept_lines(first.says, middle.says) if at in to_last]
    gone = {*first.says}.difference(first.says[old] for old, _, _ in triples)
    if not gone.isdisjoint({*last.says}.difference(last.says[at] for _, _, at in triples)):
        # What moved is found by looking at all of it.
        triples = []
    found: list[tuple[tuple[int, int, int], tuple[int, int, int]]] = []
    at = (0, 0, 0)
    for triple in (*triples, (len(first.parts), len(middle.parts), len(last.parts))):
        if at != triple:
            # The part above says what is between two parts.
            above = (at[0] - 1, at[1] - 1, at[2] - 1) if all(at) else (0, 0, 0)
            if found and found[-1][1] > above:
                above = found.pop()[0]
            found.append((above, triple))
        at = (triple[0] + 1, triple[1] + 1, triple[2] + 1)
    return [
        (
            Stretch(first, start[0], stop[0]),
            Stretch(middle, start[1], stop[1]),
            Stretch(last, start[2], stop[2]),
        )
        for start, stop in found
    ]


class _Writer:
    """Writes the blocks of the result, each in the style of the original."""

    def __init__(
        self,
        meanings: Meanings,
        first: MeaningDocument,
        middle: MeaningDocument,
        last: MeaningDocument,
        *,
        keeps_style: bool,
    ) -> None:
        self._meanings = meanings
        self._first, self._middle, self._last = first, middle, last
        self._keeps_style = keeps_style
        # Blocks of the edited text that are taken as they are there.
        self._plain: set[int] = set()
        # The kinds of blocks that the edited text writes otherwise.
        self._style: Counter[str] = Counter()
        # The forms that definitions should have.
        self._definitions: dict[Hashable, int] = {}
        self._stretches = _stretches(first, middle, last, keeps_style=keeps_style)

    def result(self, front_matter: str) -> str:
        """Return the text of the result, proven to mean what it should."""
        parts, text = self._first.parts, ""
        wrong: list[MeaningNode | None] = []
        for _ in range(_ROUNDS):
            self._definitions = {label: node.form for label, node in self._first.floating.items()}
            # The front matter, then kept parts and others by turns.
            pieces = [front_matter]
            wanted: list[_Owners] = []
            at = 0
            for three in self._stretches:
                old = three[0]
                written, owners = self._children(*(stretch.root for stretch in three))
                tail = old.tail or "\n" * (old.stop == len(parts) and not old.nodes)
                pieces += [
                    "".join(parts[at : old.start]),
                    old.lead + written.text + tail * bool(written.text),
                ]
                wanted.append([(form, node) for form, node in owners if form >= 0])
                at = old.stop
            text = "".join([*pieces, *parts[at:]])
            wrong = self._wrong(text, pieces, wanted)
            new = {id(node) for node in wrong if node is not None} - self._plain
            if not wrong or not new:
                break
            self._plain |= new
        if wrong:
            line = min((self._last.line_of(node) for node in wrong if node is not None), default=1)
            raise Unproven(line, "in the style of the file, the result would not surely mean the same")
        return text

    def _wrong(self, text: str, pieces: Sequence[str], wanted: Sequence[_Owners]) -> list[MeaningNode | None]:
        """Return the edited blocks around which the result `text` is not as wanted; None for what is in none.

        Its blocks must have the forms wanted; and where nothing was lost in serializing, another reader must
        make the same HTML of it as of the edited text.
        """
        result = MeaningDocument(self._meanings, text)
        numbers = {start: number for number, start in reversed([*enumerate(result.starts)])}
        numbers[len(text)] = len(result.parts)
        ends = [*accumulate(map(len, pieces))]
        bounds = [numbers.get(end, -1) for end in ends[1:]]
        if -1 in bounds:
            return [node for owners in wanted for _, node in owners] or [None]
        found = [Stretch(result, *bounds[at : at + 2]) for at in range(0, len(bounds), 2)]
        wrong: list[MeaningNode | None] = []
        for stretch, owners in zip(found, wanted, strict=True):
            forms = [[str(form) for form, _ in owners], [str(form) for form in stretch.forms]]
            for block in LineComparison().differing(*forms):
                around = owners[max(block.old_start - 1, 0) : block.old_end + 1]
                wrong += [node for _, node in around] or [None]
        definitions = {label: node.form for label, node in result.floating.items()}
        if not wrong and definitions != self._definitions:
            differing = definitions.items() ^ self._definitions.items()
            wrong = [self._last.floating.get(label) for label, _ in differing]
        if not wrong:
            for stretch, (old, middle, new) in zip(found, self._stretches, strict=True):
                if old.forms == middle.forms and stretch.html != new.html:
                    wrong += new.nodes or [None]
        return wrong

    # Siblings

    def _children(
        self, original: MeaningNode, serialized: MeaningNode, edited: MeaningNode
    ) -> tuple[_Written, _Owners]:
        """Return the children of a block; the forms of definitions, which may be anywhere, are negative."""
        prefix = original.children[0].prefix if original.children else original.prefix
        places = {id(node): index for index, node in enumerate(original.children)}
        numbering = _Numbering(original, serialized, edited)
        pieces: list[str] = []
        owners: list[tuple[int, MeaningNode | None]] = []
        last: _Three | None = None
        for three in self._units(original, serialized, edited):
            check_deadline()
            written = self._block(three, original, prefix)
            is_floating = three.any.kind in FLOATING
            if is_floating:
                self._note_definition(three, written)
            if written is None:
                continue
            if last is not None:
                pieces.append(_gap(original, places, last, three, prefix))
            pieces.append(numbering.numbered(written.text, three))
            owners.append((-1 if is_floating else written.form, three.edited))
            last = three
        own = original.own if serialized.own == edited.own else edited.own
        form = self._meanings.form(original.kind, own, [form for form, _ in owners if form >= 0])
        return _Written("".join(pieces), form), owners

    def _units(self, original: MeaningNode, serialized: MeaningNode, edited: MeaningNode) -> Iterator[_Three]:
        """Yield the blocks of the result; definitions are where they were, and new ones behind the others."""
        old, middle, new = (
            [node for node in parent.children if node.kind not in FLOATING]
            for parent in (original, serialized, edited)
        )
        units = list(_units(old, old if original is serialized else middle, new))
        present = {id(unit.original) for unit in units}
        behind: dict[int, list[_Three]] = {}
        above = 0
        for node in original.children:
            if node.kind in FLOATING:
                behind.setdefault(above, []).append(self._definition(node))
            elif id(node) in present:
                above = id(node)
        yield from behind.get(0, ())
        for unit in units:
            yield unit
            yield from behind.get(id(unit.original), ()) if unit.original else ()
        for node in floating_in(edited.children) if original.kind == "root" else ():
            is_new = node.key not in self._first.floating and self._last.floating[node.key] is node
            if is_new:
                yield _Three(None, self._middle.floating.get(node.key), node)

    def _definition(self, node: MeaningNode) -> _Three:
        """Return the definition `node` of the original with what became of it."""
        three = _Three(node, self._middle.floating.get(node.key), self._last.floating.get(node.key))
        is_repeated = self._first.floating[node.key] is not node
        # Some editors drop definitions that nothing needs, so that this is no wish.
        is_dropped = self._first is self._middle and three.edited is None
        is_kept = is_repeated or (is_dropped and node.kind == BlockKind.DEFINITION)
        return _Three(node, None, None) if is_kept else three

    def _note_definition(self, three: _Three, written: _Written | None) -> None:
        key = three.any.key
        if self._first.floating.get(key, three.original) is not three.original:
            return
        self._definitions.pop(key, None)
        if written is not None:
            self._definitions[key] = written.form

    def _block(self, three: _Three, parent: MeaningNode, prefix: str) -> _Written | None:
        """Return the text of one block; None where it is not in the result."""
        original, serialized, edited = three
        if edited is None:
            # Nobody deleted what only the serializer lost.
            return _Written(original.source, original.form) if original and serialized is None else None
        if original is None:
            if serialized is not None and serialized.form == edited.form:
                return None
            if serialized is not None:
                raise Unproven(self._last.line_of(edited), "it is in what only the editor had added")
            return _Written(self._new(edited, parent, prefix), edited.form)
        old = serialized or original
        is_same = edited.form in {old.form, original.form}
        if is_same and not (self._keeps_style and old.source != edited.source):
            self._style[original.kind] += old.source != edited.source
            return _Written(original.source, original.form)
        try:
            if not is_same and id(edited) not in self._plain:
                return self._inside(original, old, edited)
        except _NotInside:
            pass
        if original.form != old.form:
            raise Unproven(self._last.line_of(edited), "it is in a block that the editor writes otherwise")
        return _Written(self._new(edited, parent, prefix), edited.form)

    def _new(self, edited: MeaningNode, parent: MeaningNode, prefix: str) -> str:
        if edited.kind == "row":
            return _row_like(parent, edited)
        if edited.kind == "list item" and parent.children and id(edited) not in self._plain:
            return _item_like(parent.children[-1], edited, prefix)
        return edited.source_for(prefix)

    # Changes inside a block

    def _inside(self, original: MeaningNode, serialized: MeaningNode, edited: MeaningNode) -> _Written:
        """Return a block with the changes of what is in it. Raises `_NotInside`."""
        kind = original.kind
        if not kind == serialized.kind == edited.kind:
            raise _NotInside
        if kind in {"heading", "paragraph"}:
            return self._leaf(original, serialized, edited)
        if original.form == serialized.form and kind in {"code", "html"}:
            return _Written(_with_lines(original, edited), edited.form)
        if kind == "row":
            return self._row(original, serialized, edited)
        has_children = original.children and edited.children
        is_same = kind == "list" or original.own == serialized.own == edited.own
        is_table = original.table is not None and original.table.is_proven and len(original.children) > 1
        if not has_children or not is_same or (kind == "table" and not is_table):
            raise _NotInside
        written, _ = self._children(original, serialized, edited)
        return _Written(
            original.part.text[original.start : original.children[0].start] + written.text, written.form
        )

    def _leaf(self, original: MeaningNode, serialized: MeaningNode, edited: MeaningNode) -> _Written:
        """Return a paragraph or heading with other words."""
        text, keys = _spliced(original, serialized, edited)
        source = original.part.text
        before = source[original.start : original.tokens[0].start]
        behind = source[original.tokens[-1].end : original.end]
        level = edited.own if serialized.own != edited.own else original.own
        if original.own != level:
            before, behind = _with_level(original, level, before, behind)
        return _Written(before + text + behind, self._meanings.form(original.kind, level, tokens=keys))

    def _row(self, original: MeaningNode, serialized: MeaningNode, edited: MeaningNode) -> _Written:
        """Return a row with other cells, in the padding of the table."""
        table = original.table
        assert table is not None, "rows are in tables"
        row = next(each for each in (table.header, *table.rows) if each.line == original.first_line)
        values: dict[int, str] = {}
        forms: list[int] = []
        empty = self._meanings.form(*EMPTY_CELL)
        for column in range(len(table.columns)):
            cell, middle, new = (
                node.children[column] if column < len(node.children) else None
                for node in (original, serialized, edited)
            )
            old_form, middle_form, new_form = (each.form if each else empty for each in (cell, middle, new))
            if middle_form == new_form:
                forms.append(old_form)
            elif cell and middle and new and cell.tokens and new.tokens:
                values[column], keys = _spliced(cell, middle, new)
                forms.append(self._meanings.form("cell", None, tokens=keys))
            elif old_form == middle_form:
                values[column] = new.source.strip() if new else ""
                forms.append(new_form)
            else:
                raise _NotInside
        edits = EditList.of(changed_cells(table, row, values))
        assert isinstance(edits, EditList), "cells do not overlap"
        text = edits.apply(original.part.text)
        end = original.end + len(text) - len(original.part.text)
        return _Written(text[original.start : end], self._meanings.form("row", None, forms))

    # What is told of the result

    def style(self) -> Iterator[str]:
        """Yield the kinds of blocks that the edited text writes otherwise and does not change."""
        old, new = self._middle, self._last
        same = (at for at, new_at in kept_lines(old.says, new.says) if old.parts[at] != new.parts[new_at])
        for at in islice(same, _MOST_LOOKED_AT):
            self._style.update(node.kind for node in old.nodes(at))
        yield from (kind for kind, count in self._style.most_common() if count)

    def losses(self) -> Iterator[str]:
        """Yield what editors and models drop without being asked, and the edited text has less of."""
        if self._first.front_matter and not self._last.front_matter:
            yield "front matter"
        counts = [
            Counter(kind for three in self._stretches for kind in _losable(three[side].nodes))
            for side in (0, 2)
        ]
        yield from (kind for kind in counts[0] if counts[1][kind] < counts[0][kind])
        code = [
            {
                node.form: _WORDS.findall("\n".join(node.lines))
                for three in self._stretches
                for node in _code_in(three[side].nodes)
            }
            for side in (0, 2)
        ]
        gone, new = (
            [words for form, words in code[side].items() if form not in code[not side]] for side in (0, 1)
        )
        if any(words in new for words in gone):
            yield "the layout of code"


# --- The words and lines of a block

_SYMMETRIC: Final = frozenset({"Emphasis", "Strong", "Strikethrough"})


def _spliced(original: MeaningNode, serialized: MeaningNode, edited: MeaningNode) -> tuple[str, list[str]]:
    """Return the inline content of `original` with the words that changed, and the keys of its tokens."""
    if not (original.tokens and edited.tokens):
        raise _NotInside
    old, middle, new = ([token.key for token in node.tokens] for node in (original, serialized, edited))
    kept = dict(kept_lines(middle, old))
    chosen: list[tuple[MeaningNode, Token]] = []
    at = 0
    for start, stop, new_start, new_stop in LineComparison().differing(middle, new):
        first = kept.get(start - 1, -2) + 1 if start else 0
        last = kept.get(stop, -1) if stop < len(middle) else len(old)
        if first < 0 or last - first != stop - start:
            # It is in what was lost in serializing.
            raise _NotInside
        chosen += ((original, token) for token in original.tokens[at:first])
        chosen += _words(original, original.tokens[first:last], edited, edited.tokens[new_start:new_stop])
        at = last
    chosen += ((original, token) for token in original.tokens[at:])
    pieces: list[str] = []
    marks: list[str] = []
    for node, token in chosen:
        text = node.part.text[token.start : token.end]
        if node is edited and token.key == BLANK:
            text = " "
        elif node is edited and token.key == BREAK:
            text = text.partition("\n")[0] + "\n" + original.prefix
        elif token.key[1:] in _SYMMETRIC and token.key[0] == "<":
            marks.append(text)
        elif token.key[1:] in _SYMMETRIC and marks:
            text = marks.pop()
        pieces.append(text)
    return "".join(pieces), [token.key for _, token in chosen]


def _words(
    original: MeaningNode, old: Sequence[Token], edited: MeaningNode, new: Sequence[Token]
) -> Iterator[tuple[MeaningNode, Token]]:
    """Yield the `new` tokens; where there are as many blanks as before, lines break where they did."""
    blanks = [token for token in old if token.key == BLANK]
    waiting = iter(blanks if len(blanks) == sum(token.key == BLANK for token in new) else ())
    for token in new:
        blank = next(waiting, None) if token.key == BLANK else None
        yield (original, blank) if blank is not None else (edited, token)


def _with_level(original: MeaningNode, level: Hashable, before: str, behind: str) -> tuple[str, str]:
    """Return what is around the text of a heading that gets another level."""
    if original.kind != "heading" or not isinstance(level, int):
        raise _NotInside
    if not original.markup.startswith("#"):
        is_underlined = level <= len("=-")
        return (
            (before, behind.replace(original.markup, "=-"[level - 1]))
            if is_underlined
            else ("#" * level + " ", "")
        )
    closing = "#" * level if behind.strip(" #") != behind.strip() else ""
    return "#" * level + before.lstrip("#"), behind.rstrip(" #") + " " * bool(closing) + closing


def _with_lines(original: MeaningNode, edited: MeaningNode) -> str:
    """Return code or HTML with other lines. Raises `_NotInside`."""
    part, table = original.part, original.part.lines
    first, *more = range(original.first_line, original.last_line + 1)
    raw = [part.text[original.start : table.content_end(first)]]
    raw += [part.text[table.start(line) : table.content_end(line)] for line in more]
    is_fenced = original.kind == "code" and original.markup != ""
    closing = len(raw) - is_fenced - len(original.lines)
    if closing not in {0, is_fenced} or not (is_fenced or original.own == edited.own):
        raise _NotInside
    indent = original.indent if is_fenced else "    " if original.kind == "code" else ""
    opener = raw[0] if original.own == edited.own else f"{original.markup}{edited.own}"
    written, at = [opener] if is_fenced else [], int(is_fenced)
    for start, stop, new_start, new_stop in LineComparison().differing(original.lines, edited.lines):
        written += raw[at : start + is_fenced]
        for line in edited.lines[new_start:new_stop]:
            written.append(with_prefix(original.prefix if written else "", indent + line if line else ""))
        at = stop + is_fenced
    return "\n".join([*written, *raw[at:]])


# --- Siblings: which are the same, and what is between them


def _units(
    original: Sequence[MeaningNode], serialized: Sequence[MeaningNode], edited: Sequence[MeaningNode]
) -> Iterator[_Three]:
    """Yield the blocks of the result in order, each with what it was."""
    of_edited = {new: old for old, new in _pairs(serialized, edited).items()}
    to_serialized = _pairs(original, serialized) if original is not serialized else {}
    of_serialized = {new: old for old, new in to_serialized.items()}
    if original is serialized:
        of_serialized = {at: at for at in range(len(original))}
    placed = {of_serialized[at] for at in of_edited.values() if at in of_serialized}
    # What was lost in serializing, by what was above it.
    lost: dict[int, list[_Three]] = {}
    for at in {*range(len(original))}.difference(of_serialized.values()):
        above = max((other for other in placed if other < at), default=-1)
        lost.setdefault(above, []).append(_Three(original[at], None, None))
    yield from lost.get(-1, ())
    for index, node in enumerate(edited):
        middle = of_edited.get(index)
        first = None if middle is None else of_serialized.get(middle)
        yield _Three(
            None if first is None else original[first], None if middle is None else serialized[middle], node
        )
        yield from lost.get(first, ()) if first is not None else ()


def _pairs(old: Sequence[MeaningNode], new: Sequence[MeaningNode]) -> dict[int, int]:
    """Return which blocks are the same, or versions of one."""
    words = cache(lambda node: node.words)

    def likeness(at: int, new_at: int) -> float:
        check_deadline()
        texts = words(old[at]), words(new[new_at])
        is_candidate = old[at].kind == new[new_at].kind and len(texts[0]) * len(texts[1]) < _MOST_CHARACTERS
        return fuzz.ratio(*texts, score_cutoff=_ALIKE) if is_candidate else 0.0

    def alike_in(where: range, new_where: range) -> Pairs:
        # What was rewritten without a word left has the same kind.
        return alike(where, new_where, likeness, lambda at, new_at: old[at].kind == new[new_at].kind)

    return same_siblings([node.form for node in old], [node.form for node in new], alike_in)


def _gap(parent: MeaningNode, places: Mapping[int, int], above: _Three, below: _Three, prefix: str) -> str:
    """Return what is between two blocks that follow each other in the result."""
    siblings = parent.children
    first, last = (places.get(id(three.original)) if three.original else None for three in (above, below))
    indent = siblings[0].indent if parent.kind in {"list", "table"} and siblings else ""
    if parent.kind == "table":
        # The delimiter row is behind the header.
        return _between(siblings, 0) if first == 0 else f"\n{prefix}{indent}"
    if first is not None and last == first + 1:
        return _between(siblings, first)
    if last and (first is None or first < last):
        return _between(siblings, last - 1)
    kinds = [above.any.kind, below.any.kind]
    for index in sorted(range(len(siblings) - 1), key=lambda index: abs(index - (first or 0))):
        if [siblings[index].kind, siblings[index + 1].kind] == kinds:
            return _between(siblings, index)
    old, new = above.edited, below.edited
    is_tight = (
        old is not None and new is not None and old.part is new.part and new.first_line == old.last_line + 1
    )
    return ("\n" if is_tight else f"\n{prefix.rstrip(_BLANKS)}\n") + prefix + indent


def _between(siblings: Sequence[MeaningNode], index: int) -> str:
    above, below = siblings[index], siblings[index + 1]
    if above.part is below.part:
        return above.part.text[above.end : below.start]
    return above.part.text[above.end :] + below.part.text[: below.start]


# --- Items and rows that are new


class _Numbering:
    """The numbers of a list that count up, or are all the same; others stay."""

    def __init__(self, original: MeaningNode, serialized: MeaningNode, edited: MeaningNode) -> None:
        numbers = [int(item.markup[:-1]) for item in original.children if item.markup[:-1].isdigit()]
        self._next: int | None = None
        self._step = 0
        for step in (0, 1) if len(numbers) > 1 else (1,):
            if numbers and numbers == [numbers[0] + step * index for index in range(len(numbers))]:
                has_other_start = edited.own != serialized.own and str(edited.own).isdigit()
                self._next = int(str(edited.own)) if has_other_start else numbers[0]
                self._step = step

    def numbered(self, text: str, three: _Three) -> str:
        """Return the item `text` with the number that is next; its further lines follow in width."""
        marker = MARKER.match(text) if three.any.kind == "list item" else None
        if self._next is None or marker is None:
            return text
        new = f"{self._next}{marker[0][-1]}"
        self._next += self._step
        growth = len(new) - len(marker[0])
        first, *more = text.split("\n")
        if growth:
            more = [
                " " * growth + line if line and growth > 0 else line.removeprefix(" " * -growth)
                for line in more
            ]
        return "\n".join([new + first[marker.end() :], *more])


def _item_like(like: MeaningNode, edited: MeaningNode, prefix: str) -> str:
    """Return a new item with the marker of another one."""
    lead = like.part.text[like.start : like.children[0].start] if like.children else ""
    if lead.strip(_BLANKS) != like.markup or not edited.children:
        lead = f"{like.markup} "
    inner = prefix + like.indent + " " * len(lead)
    pieces = [lead]
    for above, child in zip((None, *edited.children), edited.children, strict=False):
        if above is not None:
            is_tight = child.first_line == above.last_line + 1
            pieces.append(("\n" if is_tight else f"\n{inner.rstrip(_BLANKS)}\n") + inner)
        pieces.append(child.source_for(inner))
    return "".join(pieces).rstrip(_BLANKS)


def _row_like(parent: MeaningNode, edited: MeaningNode) -> str:
    """Return a new row with the padding of the table."""
    table = parent.table
    assert table is not None, "rows are in tables"
    cells = [cell_source(cell.source) for cell in edited.children]
    return new_row(table, [*cells, *[""] * (len(table.columns) - len(cells))])


# --- What was dropped

_LOSABLE: Final = {
    "html": "HTML",
    "InlineHtml": "HTML",
    "FootnoteReference": "footnotes",
    "footnote definition": "footnotes",
    ">Image": "images",
    "table": "tables",
}


def _code_in(nodes: Sequence[MeaningNode]) -> Iterator[MeaningNode]:
    for node in nodes:
        yield from [node] * (node.kind == "code")
        yield from _code_in(node.children)


def _losable(nodes: Sequence[MeaningNode]) -> Iterator[str]:
    for node in nodes:
        keys = [node.kind, *(token.key.partition(":")[0] for token in node.tokens)]
        yield from (_LOSABLE[key] for key in keys if key in _LOSABLE)
        # Other parsers see cells beyond the columns, and rows in what is no table here: editors change them.
        misfits = node.source.count("\n|") if node.kind == "paragraph" else 0
        if node.kind == "table" and node.table is not None:
            misfits = sum(len(row.cells) > len(node.table.columns) for row in node.table.rows)
        yield from ["rows that do not fit a table"] * misfits
        yield from _losable(node.children)
