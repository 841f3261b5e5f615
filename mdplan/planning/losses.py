"""Tell what the new text of a plan drops: the ledger of losses.

An edit that replaces text can be in the right place and still drop what it should have kept. The ledger
compares the texts that a plan removes with those that it writes: every sentence, list item, table row, line
of code, heading, link, image, footnote and number of the old text is kept, moved, changed or dropped. What
an edit deletes or moves by name is no loss.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as mutable
from enum import StrEnum
from html import unescape
from typing import Final

from mdplan.diagnostics import Code, Lost
from mdplan.markdown.blocks import INLINE_KINDS, Block, BlockKind
from mdplan.markdown.enclosures import is_hidden
from mdplan.markdown.inline_node import InlineKind
from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile, ResolvedEdit
from mdplan.text.diff import ChangedLines, changed_lines
from mdplan.text.edit import EditList
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat, visible
from mdplan.text.visible import counted
from mdplan.values import Struct, field, replace


class LossKind(StrEnum):
    """What a text is made of, in the order in which losses are told."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    SENTENCE = "sentence"
    ITEM = "list item"
    ROW = "table row"
    CODE = "line of code"
    LINE = "line"
    LINK = "link"
    IMAGE = "image"
    FOOTNOTE = "footnote"
    NUMBER = "number"


class Loss(Struct):
    """One part of the old text that the new one lacks. `became` is what stands there now; empty for nothing.

    `span` is where it was, in the file with the index `area`: itself, or the block that it was in.
    """

    kind: LossKind
    text: str
    area: int
    span: Span
    became: str = ""


class Losses(Struct):
    """What one edit drops or changes, in the order of the old text, and how much of each kind there was.

    `has_placeholder` says that the new text has words such as "rest unchanged" in place of text.
    """

    parts: tuple[Loss, ...] = ()
    totals: Mapping[LossKind, int] = field(default_factory=dict)
    has_placeholder: bool = False

    def line(self, place: str = "", *, names_changes: bool = True) -> str:
        """Say what is dropped, and which links and numbers are others now; empty for nothing.

        For example ``drops 5 of 6 paragraphs, 3 links in "Usage"``.
        """
        dropped = Counter(loss.kind for loss in self.parts if not loss.became)
        changed = Counter(loss.kind for loss in self.parts if loss.became and loss.kind in _NAMED_IF_CHANGED)
        said = ["has a placeholder in place of text"] if self.has_placeholder else []
        said += [f"drops {self._listed(dropped)}"] if dropped else []
        said += [f"changes {self._listed(changed)}"] if changed and names_changes else []
        return f"{'; '.join(said)}{f' in {place}' if place else ''}" if said else ""

    def _listed(self, counts: "Counter[LossKind]") -> str:
        return ", ".join(
            _of_total(kind, counts[kind], self.totals.get(kind, 0)) for kind in LossKind if counts[kind]
        )


_NAMED_IF_CHANGED: Final = frozenset({LossKind.CODE, LossKind.LINK, LossKind.IMAGE, LossKind.NUMBER})
_WITH_TOTAL: Final = frozenset({LossKind.PARAGRAPH, LossKind.ITEM, LossKind.ROW})
_PLURALS: Final = {LossKind.CODE: ("lines of code",)}


def _of_total(kind: LossKind, count: int, total: int) -> str:
    if kind in _WITH_TOTAL and total > count:
        return f"{count} of {counted(total, kind.value)}"
    return counted(count, kind.value, *_PLURALS.get(kind, ()))


# --- Of a plan


def with_losses(files: Sequence[BuiltFile]) -> list[BuiltFile]:
    """Return `files` with a warning on each edit that drops or changes something."""
    found = losses_of(files)
    return [_with_warnings(built, found) for built in files] if found else list(files)


def _with_warnings(built: BuiltFile, found: Mapping[int, Losses]) -> BuiltFile:
    resolved = [
        _with_warning(item, found[item.index], built.base) if item.index in found else item
        for item in built.resolved
    ]
    return replace(built, resolved=resolved) if resolved != built.resolved else built


def _with_warning(item: ResolvedEdit, losses: Losses, base: Outline) -> ResolvedEdit:
    section = item.resolution.section
    at = losses.parts[0].span.start if losses.parts else None
    if section is not None and at is not None and not section.span.start <= at < section.span.end:
        # A diff names the section of its first line, which may only be context.
        section = base.section_at(at)
    title = visible(section.title) if section is not None and not section.is_root else ""
    place = f'"{title if len(title) <= _MOST_OF_A_TITLE else f"{title[: _MOST_OF_A_TITLE - 1]}…"}"'
    line = losses.line(place if title else "", names_changes=not item.operation.quotes_text)
    if not line:
        return item
    warning = replace(Code.CONTENT_DROPPED.warning(line), lost=tuple(map(told, losses.parts[:MOST_LOST])))
    resolution = replace(item.resolution, warnings=(*item.resolution.warnings, warning))
    return replace(item, resolution=resolution)


def told(loss: Loss) -> Lost:
    """Return `loss` as a warning or refusal has it."""
    text, became = (
        text if len(text) <= _MOST_OF_A_LOSS else f"{text[: _MOST_OF_A_LOSS - 1]}…"
        for text in (loss.text, loss.became)
    )
    return Lost(kind=loss.kind.value, text=text, became=became or None)


_MOST_OF_A_TITLE: Final = 60
MOST_LOST: Final = 50
_MOST_OF_A_LOSS: Final = 200


def losses_of(files: Sequence[BuiltFile]) -> dict[int, Losses]:
    """Return what each edit of a plan drops or changes, by its index. What was to be deleted is no loss."""
    if not any(item.operation.replaces_text for built in files for item in built.resolved):
        return {}
    lines = [
        list(changed_lines(built.base.source.lines, built.edits, built.result.source.lines))
        for built in files
    ]
    suspects = {
        area
        for area, built in enumerate(files)
        if not built.file.is_deleted and any(item.operation.replaces_text for item in built.resolved)
    }
    if not _may_lose(files, lines, suspects):
        return {}
    owners = {area: owners_of(files[area]) for area in suspects}
    before, after = _sides(files, lines, owners)
    found: defaultdict[int, list[Loss]] = defaultdict(list)
    for loss in _compare(files, before, after):
        owner = owner_of(owners.get(loss.area, ()), loss.span)
        if owner is not None:
            found[owner].append(loss)
    droppers = {index for index, parts in found.items() if any(not loss.became for loss in parts)}
    holders = {index for area in suspects for index in _placeholders(files[area], lines[area], droppers)}
    totals = _totals(before, owners)
    return {
        index: Losses(
            tuple(sorted(found.get(index, ()), key=lambda loss: (bool(loss.became), loss.span))),
            totals.get(index, {}),
            has_placeholder=index in holders,
        )
        for index in sorted({*found, *holders})
    }


Owners = Sequence[tuple[Span, int]]


def owners_of(built: BuiltFile) -> list[tuple[Span, int]]:
    """Return what the edits of a file replace, where that is in its base."""
    owners: list[tuple[Span, int]] = []
    for item in built.resolved:
        if item.operation.replaces_text:
            earlier = built.edits_before(item.index)
            owners += ((in_base(earlier, claim.span), item.index) for claim in item.resolution.claims)
    return sorted(owners)


def in_base(earlier: EditList, span: Span) -> Span:
    """Return where `span` of the document that an edit saw was in the base."""
    if not earlier:
        return span
    start, end = earlier.unmap_offset(span.start), earlier.unmap_offset(span.end)
    if start is None or end is None:
        touched = [
            edit.span for edit, now in zip(earlier, earlier.result_spans, strict=True) if now.overlaps(span)
        ]
        start = min(each.start for each in touched) if start is None else start
        end = max(each.end for each in touched) if end is None else end
    return Span(start, max(start, end))


def owner_of(owners: Owners, block: Span) -> int | None:
    """Return the edit that replaces text in `block`."""
    return next((index for span, index in owners if span.overlaps(block)), None)


def _may_lose(
    files: Sequence[BuiltFile], changes: Sequence[Sequence[ChangedLines]], suspects: Container[int]
) -> bool:
    """Return False if all words that go are in the new text, and nothing puts them into code or a comment."""
    gone: list[str] = []
    come: list[str] = []
    for area, (built, those) in enumerate(zip(files, changes, strict=True)):
        base, result = built.base.source.lines, built.result.source.lines
        for change in those:
            if area in suspects:
                gone += (base.content(line) for line in range(change.old_start, change.old_end))
            come += (result.content(line) for line in range(change.new_start, change.new_end))
    words = Counter(" ".join(gone).split())
    words.subtract(" ".join(come).split())
    return bool(+words) or any(_HIDES.match(line) or _is_placeholder(line) for line in set(come) - set(gone))


_HIDES: Final = lazy_pattern(r"[ \t>]*(?:```|~~~|<)|.*<!--|    |\t")


# --- The parts of a text

# The index of a file, and the start of a block in it.
_Group = tuple[int, int]


@dataclass(slots=True)
class _Part:
    """A sentence, row, heading or line; those of one `group` count as one.

    `key` is its text as it is compared. `became` is what it is in the new text; of a part of the new text
    `is_taken` says that an old one is it.
    """

    kind: LossKind
    key: str
    text: str
    span: Span
    group: _Group
    words: "Counter[str]" = mutable(default_factory=Counter)
    became: "_Part | None" = None
    is_taken: bool = False

    @property
    def first(self) -> set[str]:
        """The words of the first cell of a row, or of what an item is about: ``Tea`` in ``Tea - A drink``."""
        cells = self.key.split("|") if self.kind is LossKind.ROW else self.key.split(" - ")
        return set(_words(next(filter(None, map(str.strip, cells)), "")))


class _Mark(Struct):
    """A link, image or footnote: where it leads, the text that a reader sees, and the group it stands in."""

    kind: LossKind
    key: str
    text: str
    span: Span
    group: _Group


@dataclass(slots=True)
class _Content:
    """What one side of some files consists of.

    `kept` are blocks that the other side has too, which are only counted; `links` are others that may have
    links.
    """

    parts: list[_Part] = mutable(default_factory=list)
    marks: list[_Mark] = mutable(default_factory=list)
    kept: list[tuple[LossKind, int, _Group, Span]] = mutable(default_factory=list)
    links: list[tuple[Outline, Block, list[_Part]]] = mutable(default_factory=list)


def _sides(
    files: Sequence[BuiltFile], lines: Sequence[Sequence[ChangedLines]], owners: Mapping[int, Owners]
) -> tuple[_Content, _Content]:
    """Read what the changes of `files`, line by line in `lines`, are made of: before, and after them."""
    before, after = _Content(), _Content()
    for area, (built, changes) in enumerate(zip(files, lines, strict=True)):
        base, result = built.base, built.result
        if base.format is DocumentFormat.MARKDOWN:
            whole = (Span(0, len(base.source.text)), Span(0, len(result.source.text)))
            pieces = (whole,) if built.changed is None else built.changed
            old, new = (
                [block for piece in pieces for block in _leaves(outline, piece[side])]
                for side, outline in enumerate((base, result))
            )
            # Of equal blocks those are kept that no edit replaces.
            old.sort(key=lambda block: owner_of(owners.get(area, ()), block.span) is not None)
            shared = Counter(_identity(base, block) for block in old)
            shared &= Counter(_identity(result, block) for block in new)
            for outline, blocks, content in ((base, old, before), (result, new, after)):
                left = shared.copy()
                for block in blocks:
                    identity = _identity(outline, block)
                    if left[identity] > 0:
                        left[identity] -= 1
                        content.kept += _counted(outline, block, area)
                    else:
                        _read_block(outline, block, area, content)
        for change in changes:
            _read_lines(base, range(change.old_start, change.old_end), area, before)
            _read_lines(result, range(change.new_start, change.new_end), area, after)
    return before, after


def _leaves(outline: Outline, piece: Span) -> Iterator[Block]:
    # What only touches the piece need not be parsed.
    span = (
        piece if piece.end == len(outline.source.text) else Span(piece.start, max(piece.end - 1, piece.start))
    )
    return (
        block for block in outline.tree.leaves_in(span) if not is_hidden(block.span.start, outline.hidden)
    )


def _identity(outline: Outline, block: Block) -> tuple[BlockKind, str]:
    return block.kind, outline.text_of(block.span)


def _read_lines(outline: Outline, numbers: range, area: int, content: _Content) -> None:
    """Read lines of a text without blocks, or of front matter."""
    lines, matter = outline.source.lines, outline.front_matter
    for number in numbers:
        start = lines.start(number)
        if outline.format is not DocumentFormat.MARKDOWN or (matter is not None and start < matter.span.end):
            span = Span(start, lines.content_end(number))
            content.parts += _parts_of_lines(lines.content(number), LossKind.LINE, span, (area, start))


def _counted(outline: Outline, block: Block, area: int) -> Iterator[tuple[LossKind, int, _Group, Span]]:
    """Yield what a block counts as among those of which some are lost, and how often."""
    if block.kind is BlockKind.TABLE:
        yield LossKind.ROW, block.last_line - block.first_line, (area, block.span.start), block.span
    elif block.kind is BlockKind.PARAGRAPH:
        item = item_of(outline, block)
        kind, around = (LossKind.PARAGRAPH, block) if item is None else (LossKind.ITEM, item)
        yield kind, 1, (area, around.span.start), block.span


def item_of(outline: Outline, block: Block) -> Block | None:
    """Return the list item right around `block`."""
    around = outline.tree.container_at(block.span.start) if block.depth else None
    return around if around is not None and around.kind is BlockKind.LIST_ITEM else None


def _read_block(outline: Outline, block: Block, area: int, content: _Content) -> None:
    parts = list(_parts_of(outline, block, area))
    content.parts += parts
    if parts and block.kind in INLINE_KINDS and _MAY_LINK.search(outline.text_of(block.span)):
        content.links.append((outline, block, parts))


def _lack_links(before: _Content, after: _Content) -> bool:
    """Return False if the new text surely has all links, images and footnotes; to find them takes time."""
    old, new = (
        Counter(
            token
            for outline, block, _ in side.links
            for token in _LINK_TOKEN.findall(_NO_LINK.sub("", outline.text_of(block.span)))
        )
        for side in (before, after)
    )
    return bool(old - new)


def _read_links(content: _Content) -> None:
    for outline, block, parts in content.links:
        for node in outline.inline.nodes_in(block.span):
            kind = _MARKS.get(node.kind)
            label = node.label if node.href or node.destination is None else None
            key = node.href or ("" if label is None else outline.text_of(label).casefold())
            # A link without a destination leads nowhere.
            if kind is not None and key:
                text = "" if node.text is None else plain_text(outline.text_of(node.text)).casefold()
                row = bisect_right(parts, node.span.start, key=lambda part: part.group[1]) - 1
                content.marks.append(_Mark(kind, key, text or key, node.span, parts[max(row, 0)].group))


# Code, comments and escaped characters; and what each link, image and footnote has one of.
_NO_LINK: Final = lazy_pattern(r"(`+)(?!`)[^`]*?(?<!`)\1(?!`)|<!--.*?-->|\\.", re.DOTALL)
_LINK_TOKEN: Final = lazy_pattern(
    r"\]\([^\s()]*|\[[^\[\]]*\](?!\()|(?:https?://|www\.)[^\s<>)\]]*|[^\s<>()\[\]@]+@[^\s<>()\[\]@]+"
)
_MAY_LINK: Final = lazy_pattern(r"[\[@]|://|www\.")
_MARKS: Final = {
    InlineKind.LINK: LossKind.LINK,
    InlineKind.AUTOLINK: LossKind.LINK,
    InlineKind.WIKI_LINK: LossKind.LINK,
    InlineKind.IMAGE: LossKind.IMAGE,
    InlineKind.FOOTNOTE_REFERENCE: LossKind.FOOTNOTE,
}


def _parts_of(outline: Outline, block: Block, area: int) -> Iterator[_Part]:
    start = block.span.start
    match block.kind:
        case BlockKind.HEADING:
            yield _part(LossKind.HEADING, block.content, block.span, (area, start))
        case BlockKind.PARAGRAPH:
            item = item_of(outline, block)
            group = (area, start if item is None else item.span.start)
            kind = LossKind.SENTENCE if item is None else LossKind.ITEM
            # Marks of containers may be between the lines of the content.
            at = outline.text_of(block.span).find(block.content)
            for sentence in split_sentences(block.content):
                end = at + len(sentence)
                span = block.span if at < 0 else Span(start + at, start + end)
                yield _part(kind, sentence, span, group)
                at = at if at < 0 else end
        case BlockKind.TABLE:
            lines = outline.source.lines
            for line in range(block.first_line, block.last_line + 1):
                if line != block.first_line + 1:
                    row = Span(lines.start(line), lines.content_end(line))
                    yield _part(LossKind.ROW, outline.text_of(row), row, (area, row.start))
        case BlockKind.FENCE | BlockKind.INDENTED_CODE:
            code = block.code or outline.text_of(block.span)
            yield from _parts_of_lines(code, LossKind.CODE, block.span, (area, start))
        case BlockKind.HTML:
            text = outline.text_of(block.span)
            parts = _parts_of_lines(text, LossKind.LINE, block.span, (area, start))
            yield from parts if _UNSEEN.match(text) else map(_as_seen, parts)
        case _:
            return


def _parts_of_lines(text: str, kind: LossKind, span: Span, group: _Group) -> Iterator[_Part]:
    for line in text.splitlines():
        if any(map(str.isalnum, _PLAIN_TAG.sub("", line))):
            key = " ".join(line.split())
            yield _Part(kind, f"{_AS_IT_IS}{key}", key, span, group)


def _as_seen(part: _Part) -> _Part:
    """Return a line of HTML as the text that people see of it, if there is some."""
    seen = _part(part.kind, part.text, part.span, part.group)
    return seen if any(map(str.isalnum, seen.key)) else part


_UNSEEN: Final = lazy_pattern(r"(?i)\s*(?:<!--|<\?|<!|<(?:script|style|template|textarea)\b)")


def _words(text: str) -> "Counter[str]":
    """Return the words of `text` by how they begin, so that "inferred" is near to "infers"."""
    return Counter(word[:_STEM] for word in _WORD.findall(text))


_AS_IT_IS: Final = "\0"
_STEM: Final = 5
_WORD: Final = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_SENTENCE_END: Final = lazy_pattern(
    r"(?<=[.!?\u2026:;])[\"')\]*_\u201d\u2019]*\s+(?=[^\sa-z\u00df-\u00f6\u00f8-\u00ff])"
    r"|(?<=[\u3002\uff01\uff1f])|<br */?>|\\\n|  \n"
)
_LINK: Final = lazy_pattern(
    r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\](?:\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+[\"'(][^\n]*?[\"')])?\)|\[[^\[\]]*\])"
)
_WIKI: Final = lazy_pattern(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")
_FOOTNOTE: Final = lazy_pattern(r"\[\^[^\[\]\s]+\]")
_TAG: Final = lazy_pattern(r"</?[A-Za-z][^<>]*>|<!--.*?-->")
# A tag that neither leads anywhere nor shows anything.
_PLAIN_TAG: Final = lazy_pattern(r"</?[A-Za-z](?:(?!(?:href|src)=)[^<>])*>")
# Emphasis goes; quotes and dashes are those of ASCII.
_SIGNS: Final = str.maketrans(
    dict.fromkeys("*_`~\\", "")
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2019\u2018", "'")
    | dict.fromkeys("\u2013\u2014", "-")
    | {"\u00a0": " "}
)
_ENDS: Final = " \t.,;:!?-|\"'()"


def plain_text(text: str) -> str:
    """Return Markdown `text` as it is read: without emphasis, destinations, tags and signs of typography."""
    text = _FOOTNOTE.sub("", unescape(text))
    text = _WIKI.sub(r"\1", text)
    for _ in range(_DEEPEST_LINK):
        text = _LINK.sub(r"\1", text)
    return " ".join(_TAG.sub(" ", text).translate(_SIGNS).split())


_DEEPEST_LINK: Final = 2


def split_sentences(content: str) -> Iterator[str]:
    """Yield the sentences of a paragraph; where one surely ends, another one begins."""
    start = 0
    for end in _SENTENCE_END.finditer(content):
        yield content[start : end.end()]
        start = end.end()
    yield content[start:]


def _part(kind: LossKind, text: str, span: Span, group: _Group) -> _Part:
    plain = plain_text(text)
    return _Part(kind, plain.casefold().strip(_ENDS), plain, span, group)


# --- Which parts are where in the new text


def _compare(files: Sequence[BuiltFile], before: _Content, after: _Content) -> Iterator[Loss]:
    """Yield what of `before` is not in `after`, or is otherwise there; each as often as it is missing."""
    # Parts stay in their file if they can, and those that no edit replaces come first.
    _keep_equal(before.parts, after.parts, lambda part: (part.group[0], part.key))
    _keep_equal(before.parts, after.parts, lambda part: part.key)
    left = [part for part in before.parts if part.became is None]
    if left:
        for part in left:
            # A letter or two is nothing that anyone misses.
            if part.kind is LossKind.SENTENCE and sum(map(str.isalnum, part.key)) < _LEAST_TEXT:
                part.became = part
        free = [part for part in after.parts if not part.is_taken]
        for part in (*left, *free):
            part.words = _words(part.key.casefold())
        _keep_edited(files, left, free)
        _pair_similar([part for part in left if part.became is None], free)
        _pair_headings(left, free)
    yield from _lost_parts(before.parts)
    if _lack_links(before, after):
        _read_links(before)
        _read_links(after)
        yield from _lost_marks(before, after)
    yield from _lost_numbers(before, after)


def _keep_equal(old: Iterable[_Part], new: Iterable[_Part], key_of: Callable[[_Part], Hashable]) -> None:
    by_key: defaultdict[Hashable, list[_Part]] = defaultdict(list)
    for part in new:
        if not part.is_taken:
            by_key[key_of(part)].append(part)
    for part in old:
        same = by_key.get(key_of(part)) if part.became is None else None
        if same:
            part.became = same.pop(0)
            part.became.is_taken = True
        elif part.became is None and not any(map(str.isalnum, part.key)):
            part.became = part


def _keep_edited(files: Sequence[BuiltFile], old: Iterable[_Part], new: Sequence[_Part]) -> None:
    """Find sentences and lines of which edits replaced only a part: they are where the rest of them is."""
    starts: defaultdict[int, list[_Part]] = defaultdict(list)
    used = set[int]()
    for part in sorted(new, key=lambda part: (part.span, part.group)):
        starts[part.group[0]].append(part)
    for part in old:
        built, here = files[part.group[0]], starts[part.group[0]]
        text = built.base.source.text
        letters = [at for at in range(part.span.start, part.span.end) if text[at].isalnum()]
        kept = [now for at in letters if (now := built.edits.map_offset(at, after=True)) is not None]
        if part.became is None and here and len(kept) >= len(letters) * _SURVIVES:
            host = here[bisect_right(here, kept[0], key=lambda part: part.span.start) - 1]
            if host.span.start <= kept[0] < host.span.end and host.kind is part.kind:
                part.became = host
                host.words.subtract(part.words)
        elif part.became is None and here and _weight(part.words) < _SHORT:
            # Of a few words one more or less is half of them: what is in their place is what they became.
            now = built.edits.map_offset(part.span.start, after=False)
            start = -1 if now is None else bisect_left(here, now, key=lambda part: part.span.start)
            host = here[start] if 0 <= start < len(here) else part
            is_free = id(host) not in used and host.kind is part.kind and _weight(host.words) < _SHORT
            if now == host.span.start and is_free:
                part.became = host
                used.add(id(host))


_LEAST_TEXT: Final = 2
_SURVIVES: Final = 0.2


def _pair_headings(old: Sequence[_Part], new: Iterable[_Part]) -> None:
    """Take as many headings as before, where there were others, for new titles of these."""
    titles = {id(part.became) for part in old}
    before = [part for part in old if part.kind is LossKind.HEADING and part.became is None]
    after = [part for part in new if part.kind is LossKind.HEADING and id(part) not in titles]
    if len(before) == len(after):
        for part, title in zip(before, after, strict=True):
            part.became = title


def _pair_similar(old: Sequence[_Part], new: Sequence[_Part]) -> None:
    """Pair each part with the new one that contains it, else with the one that has most of its words.

    No word of a new one counts twice.
    """
    by_word: defaultdict[str, list[int]] = defaultdict(list)
    for index, part in enumerate(new):
        for word in part.words:
            by_word[word].append(index)
    most = _MOST_CANDIDATES if len(old) < _MANY_PARTS else _FEW_CANDIDATES
    candidates: list[list[int]] = []
    for part in old:
        rare = sorted(part.words, key=lambda word: (len(by_word.get(word, ())), -len(word)))
        shared: Counter[int] = Counter()
        for word in rare[:_WORDS_LOOKED_UP]:
            shared.update(by_word.get(word, ())[:most])
        candidates.append([index for index, _ in shared.most_common(most)])
    for part, those in zip(old, candidates, strict=True):
        hosts = (new[index] for index in sorted(those)) if len(part.key) >= _LEAST_CONTAINED else ()
        part.became = next((host for host in hosts if part.key in host.key), None)
        if part.became is not None:
            part.became.words.subtract(part.words)
    scored = [
        (-score, index, candidate)
        for index, part in enumerate(old)
        if part.became is None
        for candidate in candidates[index]
        if (score := _likeness(part, new[candidate])) >= _SIMILAR
    ]
    for _, index, candidate in sorted(scored):
        part, target = old[index], new[candidate]
        if part.became is None and _likeness(part, target) >= _SIMILAR:
            part.became = target
            target.words.subtract(part.words & +target.words)


_LEAST_CONTAINED: Final = 12
_MANY_PARTS: Final = 500
_FEW_CANDIDATES: Final = 4
_SIMILAR: Final = 0.5
_WORDS_LOOKED_UP: Final = 12
_MOST_CANDIDATES: Final = 40
_MOST_WEIGHT: Final = 8


def _weight(words: "Counter[str]") -> int:
    return sum(
        min(max(len(word) - 1, 3 if ord(word[0]) > _FIRST_WIDE else 1), _MOST_WEIGHT) * count
        for word, count in words.items()
    )


_FIRST_WIDE: Final = 0x3040


def _likeness(part: _Part, target: _Part) -> float:
    """Return how much of `part` is in what is left of `target`, from 0 to 1; a shortened text counts as well.

    Rows name something in their first cell: without it, nearly all of a row must be there.
    """
    if (part.kind in _OF_LINES) is not (target.kind in _OF_LINES):
        return 0.0
    left = +target.words
    own, shared = _weight(part.words), _weight(part.words & left)
    if part.kind is LossKind.ITEM and target.key and part.key.startswith(f"{target.key} "):
        return _ALIKE
    is_named = part.kind is LossKind.ROW or (" - " in part.key and " - " in target.key)
    if is_named and part.kind is target.kind and part.first == target.first:
        return max(shared / (own or 1), _SIMILAR)
    if own < _SHORT and shared < own * _NEARLY_ALL:
        return _ALIKE if _is_respelled(part.key, target.key) else 0.0
    if part.kind is LossKind.ROW and not (part.first & target.first):
        return shared / own if shared >= own * _NEARLY_ALL else 0.0
    rest = max(_weight(left), _LEAST_WEIGHT)
    shorter = shared / rest if shared >= rest * _SHORTENED and shared >= own * _LEAST_SHARE else 0.0
    return max(shared / (own or 1), shorter)


def _is_respelled(old: str, new: str) -> bool:
    """Return True if nearly all characters are the same, as where a typo was corrected."""
    # Few plans change texts this short.
    from rapidfuzz import fuzz

    return fuzz.ratio(old, new) >= _RESPELLED


_ALIKE: Final = 0.6
_RESPELLED: Final = 80
_OF_LINES: Final = frozenset({LossKind.CODE, LossKind.LINE})
_NEARLY_ALL: Final = 0.8
_SHORT: Final = 14
_SHORTENED: Final = 0.7
_LEAST_SHARE: Final = 0.3
_LEAST_WEIGHT: Final = 12


# --- What is lost


def _whole(kind: LossKind) -> LossKind:
    """Return what a group of parts of this kind counts as."""
    return LossKind.PARAGRAPH if kind is LossKind.SENTENCE else kind


def _lost_parts(parts: Sequence[_Part]) -> Iterator[Loss]:
    groups: defaultdict[_Group, list[_Part]] = defaultdict(list)
    for part in parts:
        groups[part.group].append(part)
    for (area, _), group in groups.items():
        dropped = [part for part in group if part.became is None]
        kind = group[0].kind
        if dropped == group and kind in {LossKind.SENTENCE, LossKind.ITEM}:
            yield Loss(_whole(kind), " ".join(part.text for part in group), area, group[0].span)
        else:
            for part in dropped:
                kind = LossKind.SENTENCE if part.kind is LossKind.ITEM else part.kind
                yield Loss(kind, part.text, area, part.span)
        for part in group:
            if part.became is not None and part.became.key != part.key:
                kind = LossKind.SENTENCE if part.kind is LossKind.ITEM and len(group) > 1 else part.kind
                yield Loss(kind, part.text, area, part.span, part.became.text)


def _lost_marks(before: _Content, after: _Content) -> Iterator[Loss]:
    """Yield links, images and footnotes that are in `before` more often than in `after`."""
    left = Counter((mark.kind, mark.key) for mark in after.marks)
    lost = [mark for mark in before.marks if not _take(left, (mark.kind, mark.key))]
    free = [mark for mark in after.marks if _take(left, (mark.kind, mark.key))]
    hosts: defaultdict[_Group, set[_Group]] = defaultdict(set)
    for part in before.parts:
        if part.became is not None:
            hosts[part.group].add(part.became.group)
    by_text: defaultdict[tuple[LossKind, str], list[_Mark]] = defaultdict(list)
    by_group: defaultdict[tuple[LossKind, _Group], list[_Mark]] = defaultdict(list)
    for mark in free:
        by_text[mark.kind, mark.text].append(mark)
        by_group[mark.kind, mark.group].append(mark)
    # Footnotes get other labels when one is added or goes.
    renamed = Counter(mark.group[0] for mark in free if mark.kind is LossKind.FOOTNOTE)
    used: set[int] = set()
    for mark in lost:
        area = mark.group[0]
        if mark.kind is LossKind.FOOTNOTE:
            if renamed[area] > 0:
                renamed[area] -= 1
            else:
                yield Loss(mark.kind, mark.key, area, mark.span)
            continue
        here = (other for group in sorted(hosts[mark.group]) for other in by_group[mark.kind, group])
        alike = (*by_text[mark.kind, mark.text], *here)
        other = next((other for other in alike if id(other) not in used), None)
        if other is not None:
            used.add(id(other))
        yield Loss(mark.kind, mark.key, area, mark.span, "" if other is None else other.key)


def _take(left: "Counter[tuple[LossKind, str]]", key: tuple[LossKind, str]) -> bool:
    is_left = left[key] > 0
    left[key] -= is_left
    return is_left


# A shorter one is in other text by chance.
_LONG_NUMBER: Final = 3
NUMBER: Final = lazy_pattern(r"(?<![\w.])[vV]?\d+(?:[.,:/\-]\d+)*")


def _lost_numbers(before: _Content, after: _Content) -> Iterator[Loss]:
    """Yield the numbers of changed sentences, items, rows and headings that are not in what these became.

    A sentence that was split has its numbers in the same paragraph.
    """
    there: defaultdict[_Group, Counter[str]] = defaultdict(Counter)
    anywhere: Counter[str] = Counter()
    for part in after.parts:
        numbers = NUMBER.findall(part.text)
        there[part.group].update(numbers)
        if not part.is_taken:
            anywhere.update(number for number in numbers if len(number) >= _LONG_NUMBER)
    for part in before.parts:
        if part.became is not None and part.became.key == part.key:
            there[part.became.group].subtract(NUMBER.findall(part.text))
    for part in before.parts:
        if part.became is None or part.became.key == part.key or part.kind in _OF_LINES:
            continue
        old, new = NUMBER.findall(part.text), NUMBER.findall(part.became.text)
        come = [number for number in new if number not in old]
        for number in old:
            if there[part.became.group][number] > 0:
                there[part.became.group][number] -= 1
            elif anywhere[number] > 0 and number not in new:
                anywhere[number] -= 1
            else:
                become = come.pop(0) if come else ""
                yield Loss(LossKind.NUMBER, number, part.group[0], part.span, become)


def _totals(before: _Content, owners: Mapping[int, Owners]) -> dict[int, Counter[LossKind]]:
    """Return by edit how many paragraphs, items and rows it replaces, and leaves as they are."""
    groups = {(part.group, _whole(part.kind)): (1, part.span) for part in before.parts}
    groups |= {(group, kind): (count, span) for kind, count, group, span in before.kept}
    totals: defaultdict[int, Counter[LossKind]] = defaultdict(Counter)
    for ((area, _), kind), (count, span) in groups.items():
        owner = owner_of(owners.get(area, ()), span)
        if owner is not None:
            totals[owner][kind] += count
    return totals


# --- Words in place of text


def _placeholders(
    built: BuiltFile, changes: Iterable[ChangedLines], droppers: Container[int]
) -> Iterator[int]:
    """Yield the edits that write a line such as "rest unchanged", or drop text and write a lone ellipsis."""
    lines = built.result.source.lines
    for change in changes:
        for number in range(change.new_start, change.new_end):
            line = lines.content(number)
            if not _is_placeholder(line):
                continue
            place = lines.span(number, number)
            for item in built.resolved:
                is_sure = item.index in droppers or not _ELLIPSIS.fullmatch(line)
                written = built.written.get(item.index, ())
                if item.operation.replaces_text and is_sure and any(place.overlaps(span) for span in written):
                    yield item.index


def _is_placeholder(line: str) -> bool:
    if len(line) > _MOST_OF_A_PLACEHOLDER:
        return False
    is_said = _STANDS_FOR_TEXT.search(line) is not None and _APART.match(line) is not None
    return is_said or _ELLIPSIS.fullmatch(line) is not None


_MOST_OF_A_PLACEHOLDER: Final = 100
_ELLIPSIS: Final = lazy_pattern(r"[\s>*#/+-]*[\[(]?(?:\u2026|\.\.\.)[\])]?\s*")
# In brackets or a comment, next to an ellipsis, or a line of a few words.
_APART: Final = lazy_pattern(
    r"[\s>*_+-]*(?:[\[({\u2026#]|\.\.\.|<!--|//|/\*|;|--)|.*(?:\u2026|\.\.\.)[\s\])}*_]*$"
    r"|\W*(?:\w+\W+){0,3}\w+\W*$"
)
_UNCHANGED: Final = (
    r"(?:unchanged|unmodified|untouched|as before|as is|as it was|omitted|snip|truncated"
    r"|unver\u00e4ndert|inchang\u00e9e?s?|sin cambios)"
)
_STANDS_FOR_TEXT: Final = lazy_pattern(
    r"\b(?:rest|remainder|remaining|others?|existing|previous|section|text|content|code|lines?)"
    rf"\b[^.!?]{{0,40}}\b(?:{_UNCHANGED}|stays?|continues|here)\b"
    r"|\brest of (?:the |this )?(?:\w+ ){0,2}"
    r"(?:section|text|file|document|content|code|list|table|page|article|chapter)\b"
    rf"|[\[(\u2026*_]\.{{0,2}}\s*(?:{_UNCHANGED}|no changes?|same as (?:before|above))\s*[\])\u2026*_]"
    rf"|^\W*(?:rest )?{_UNCHANGED}\W*$",
    re.IGNORECASE,
)
