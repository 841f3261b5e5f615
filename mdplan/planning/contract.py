"""Refuse a plan that loses what it promised to keep.

The ledger takes a text as people read it. A contract, `keep`, takes it as it is written: what was reworded,
struck out, put into code, a comment, an image or hidden HTML, or into a note that nothing refers to, is lost.
Only a text that is written again, anywhere in the plan, is kept.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.blocks import INLINE_KINDS, Block, BlockKind
from mdplan.markdown.enclosures import is_hidden
from mdplan.markdown.inline_node import InlineKind, InlineNode
from mdplan.markdown.outline import Outline
from mdplan.operations.base import ReplacingOperation
from mdplan.planning.build import BuiltFile
from mdplan.planning.losses import (
    MOST_LOST,
    NUMBER,
    Loss,
    Losses,
    LossKind,
    in_base,
    item_of,
    owner_of,
    owners_of,
    split_sentences,
    told,
)
from mdplan.requests.batch import Batch
from mdplan.text.diff import changed_lines
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Span
from mdplan.text.source import DocumentFormat
from mdplan.values import Struct, replace
from mdplan.words import Argument, say

_NAMES: Final = {
    LossKind.HEADING: "headings",
    LossKind.PARAGRAPH: "sentences",
    LossKind.SENTENCE: "sentences",
    LossKind.ITEM: "items",
    LossKind.ROW: "rows",
    LossKind.CODE: "code",
    LossKind.LINE: "lines",
    LossKind.LINK: "links",
    LossKind.IMAGE: "images",
    LossKind.FOOTNOTE: "footnotes",
    LossKind.NUMBER: "numbers",
}


class _Piece(Struct):
    """A part of a text. `key` is what it is and where people see it; equal keys are the same to a reader.

    One with a `rival` is lost only if the new text has something with that key instead.
    """

    kind: LossKind
    key: tuple[str, ...]
    text: str
    span: Span
    is_note: bool = False
    rival: tuple[str, ...] = ()


def broken_promises(files: Sequence[BuiltFile], batch: Batch) -> Problems:
    """Return CONTENT_LOST for each edit that loses what it, or `batch`, promises to keep."""
    kept: Counter[tuple[LossKind, tuple[str, ...]]] = Counter()
    rivals: set[tuple[str, ...]] = {()}
    old: list[tuple[int, _Piece]] = []
    for area, built in enumerate(files):
        before, after = _sides(built)
        old += ((area, piece) for piece in before)
        kept.update((piece.kind, piece.key) for piece in after)
        rivals.update(piece.rival for piece in after)
    lost: defaultdict[tuple[int, int | None], list[Loss]] = defaultdict(list)
    # Of equal pieces those that no edit replaces are kept.
    owners = [owners_of(built) for built in files]
    for area, piece in sorted(old, key=lambda entry: owner_of(owners[entry[0]], entry[1].span) is not None):
        if kept[piece.kind, piece.key] > 0:
            kept[piece.kind, piece.key] -= 1
            continue
        owner = owner_of(owners[area], piece.span)
        edit = next((item.operation for item in files[area].resolved if item.index == owner), None)
        own = edit if isinstance(edit, ReplacingOperation) else None
        names = {*batch.keep, *(own.keep if own else ())}
        drop = (*batch.drop, *(own.drop if own else ()))
        is_asked = own is None and any(span.overlaps(piece.span) for span in _asked(files[area]))
        if (
            piece.rival in rivals
            and not is_asked
            and _is_promised(piece, names)
            and not _is_allowed(piece, drop)
        ):
            lost[area, owner].append(Loss(piece.kind, piece.text, area, piece.span))
    return tuple(_broken(files[area], index, losses) for (area, index), losses in lost.items())


def _is_promised(piece: _Piece, names: AbstractSet[str]) -> bool:
    own = {"all", _NAMES[piece.kind], *(("footnotes",) if piece.is_note else ())}
    return bool(own & names)


def _is_allowed(piece: _Piece, drop: Iterable[str]) -> bool:
    """Return True if `drop` names the kind of the piece, or has its text."""
    text = " ".join(piece.text.split())
    if piece.kind is LossKind.NUMBER:
        return any(text in NUMBER.findall(given) or given == "numbers" for given in drop)
    return any(given == _NAMES[piece.kind] or text in " ".join(given.split()) for given in drop)


def _broken(built: BuiltFile, index: int | None, losses: list[Loss]) -> Diagnostic:
    lines = {loss.span for loss in losses if loss.kind is LossKind.CODE and "\n" not in loss.text}
    losses = [loss for loss in losses if loss.span not in lines or not _is_block(loss)]
    line = Losses(tuple(losses)).line()
    names = sorted({_NAMES[loss.kind] for loss in losses})
    problem = Code.CONTENT_LOST.problem(
        say("the plan {}, and {keep} says that it must not", line),
        say("write that again; or, if it is to go, send {} or the texts", Argument("drop", names)),
        file=built.file.path,
        edit_index=index,
    )
    return replace(problem, lost=tuple(map(told, losses[:MOST_LOST])))


def _is_block(loss: Loss) -> bool:
    """Return True for all code of a block, of which the lines that are lost say more."""
    return loss.kind is LossKind.CODE and loss.text.endswith("\n")


def _asked(built: BuiltFile) -> Iterator[Span]:
    """Yield what edits of the file take away by name: of data, too."""
    for item in built.resolved:
        if not item.operation.replaces_text:
            removed = (edit.span for edit in item.resolution.edits if len(edit.span))
            for span in (*removed, *item.resolution.deletions):
                yield in_base(built.edits_before(item.index), span)


# --- The pieces of a file, before and after


def _sides(built: BuiltFile) -> tuple[list[_Piece], list[_Piece]]:
    """Return the pieces of the base that may be lost, and those of the result that may be them."""
    base, result = built.base, built.result
    if built.file.is_deleted:
        return [], []
    old, new = list[_Piece](), list[_Piece]()
    if base.format is DocumentFormat.MARKDOWN:
        blocks = [list(_blocks(outline)) for outline in (base, result)]
        shared = Counter(identity for _, identity in blocks[0])
        shared &= Counter(identity for _, identity in blocks[1])
        if _definitions(base) != _definitions(result):
            # Labels may mean something else now.
            shared.clear()
        old += _others(base, blocks[0], shared.copy())
        new += _others(result, blocks[1], shared)
    for change in changed_lines(base.source.lines, built.edits, result.source.lines):
        old += _plain_lines(base, range(change.old_start, change.old_end))
        new += _plain_lines(result, range(change.new_start, change.new_end))
    return old, new


def _others(
    outline: Outline, blocks: "Iterable[tuple[Block, _Identity]]", shared: "Counter[_Identity]"
) -> Iterator[_Piece]:
    """Yield the pieces of `blocks`, apart from as many of each as are `shared`."""
    for block, identity in blocks:
        if shared[identity] > 0:
            shared[identity] -= 1
        else:
            yield from _pieces(outline, block, identity[1])


def _plain_lines(outline: Outline, numbers: range) -> Iterator[_Piece]:
    """Yield lines of a text without blocks, or of front matter."""
    lines, matter = outline.source.lines, outline.front_matter
    for number in numbers:
        text = lines.content(number).strip()
        is_plain = outline.format is not DocumentFormat.MARKDOWN
        if text and (is_plain or (matter is not None and lines.start(number) < matter.span.end)):
            span = Span(lines.start(number), lines.content_end(number))
            yield _Piece(LossKind.LINE, ("", lines.content(number)), text, span)


def _definitions(outline: Outline) -> set[tuple[str, str]]:
    nodes = (node for block in outline.tree.definitions for node in outline.inline.nodes_in(block.span))
    definitions = (node for node in nodes if node.kind is InlineKind.DEFINITION and node.label is not None)
    return {(outline.text_of(node.label), node.href) for node in definitions if node.label is not None}


_Identity = tuple[BlockKind, str, str]


def _blocks(outline: Outline) -> Iterator[tuple[Block, _Identity]]:
    """Yield the blocks with text, each with its kind, what hides it, and its text."""
    tags: list[tuple[str, str]] = []
    notes: list[Block] = []
    for block in outline.blocks:
        if block.kind is BlockKind.FOOTNOTE:
            notes.append(block)
        text = outline.text_of(block.span)
        note = any(each.span.contains(block.span) for each in notes[-1:])
        hidden = is_hidden(block.span.start, outline.hidden)
        context = "".join((*(tag for _, tag in tags), "\0" * note, "%%" * hidden))
        if block.kind not in _CONTAINERS:
            yield block, (block.kind, context, text)
        if block.kind is BlockKind.HTML:
            _follow_tags(text, tags)


_CONTAINERS: Final = frozenset(
    {BlockKind.LIST, BlockKind.LIST_ITEM, BlockKind.QUOTE, BlockKind.FOOTNOTE, BlockKind.RULE}
)
_COMMENT: Final = lazy_pattern(r"(?s)<!--.*?(?:-->|\Z)")
_TAG: Final = lazy_pattern(r"<(/?)([A-Za-z][\w:.-]*)((?:\"[^\"]*\"|'[^']*'|[^<>\"'])*?)(/?)>")
_EMPTY: Final = frozenset(
    {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)

# Elements and attributes that hide nothing and strike nothing out.
_HARMLESS: Final = lazy_pattern(
    r"(?i)(?:a|abbr|b|br|cite|code|div|em|h[1-6]|hr|i|img|kbd|li|mark|ol|p|pre|q|samp|small|span|strong|sub|sup|table"
    r"|tbody|td|tfoot|th|thead|tr|u|ul|var|wbr)"
    r"(?:\s+(?:align|alt|height|href|id|lang|name|rel|src|target|title|valign|width)(?:=(?:\"[^\"]*\"|'[^']*'|\S+))?)*\s*"
)


def _follow_tags(text: str, tags: list[tuple[str, str]]) -> None:
    """Add to `tags` the elements that the HTML `text` opens, and drop those that it closes."""
    for closes, name, attributes, is_empty in _TAG.findall(_COMMENT.sub("", text)):
        known = name.lower()
        if closes:
            at = max((number for number, (each, _) in enumerate(tags) if each == known), default=None)
            del tags[len(tags) if at is None else at :]
        elif not is_empty and known not in _EMPTY:
            is_harmless = _HARMLESS.fullmatch(f"{name}{attributes}") is not None
            tags.append((known, "" if is_harmless else f"<{name}{attributes}>"))


def _pieces(outline: Outline, block: Block, context: str) -> Iterator[_Piece]:
    text = outline.text_of(block.span)
    match block.kind:
        case BlockKind.FENCE | BlockKind.INDENTED_CODE:
            code = block.code or text
            for line in filter(str.strip, code.split("\n")):
                yield _Piece(LossKind.CODE, (context, line.rstrip()), line.strip(), block.span)
            # Lines in another order, or with others between them, are other code.
            language = block.content.split(maxsplit=1)[:1]
            yield _Piece(
                LossKind.CODE, (context, *language, "\0", code.rstrip()), f"{code.rstrip()}\n", block.span
            )
        case BlockKind.HTML:
            for line in filter(str.strip, text.splitlines()):
                yield _Piece(LossKind.LINE, (context, " ".join(line.split())), line.strip(), block.span)
        case BlockKind.DEFINITION:
            yield _Piece(LossKind.LINK, (context, " ".join(text.split())), text.strip(), block.span)
        case _ if block.kind in INLINE_KINDS:
            nodes = outline.inline.nodes_in(block.span)
            hidden = _hiding(outline, block, nodes)
            context += hidden
            masked = _masked(outline, block, nodes)
            is_note = "\0" in context
            kind = _KINDS.get(block.kind) or (LossKind.ITEM if item_of(outline, block) else LossKind.SENTENCE)
            for part in _parts(block, masked):
                shown = " ".join(part.replace(_HELD, " ").split())
                if any(map(str.isalnum, part)):
                    yield _Piece(kind, (context, " ".join(part.split())), shown, block.span, is_note)
                for number in NUMBER.findall(shown):
                    yield _Piece(LossKind.NUMBER, (context, number), number, block.span, is_note)
            yield from _marks(outline, nodes, context)
        case _:
            return


_KINDS: Final = {BlockKind.HEADING: LossKind.HEADING, BlockKind.TABLE: LossKind.ROW}


def _parts(block: Block, masked: str) -> Iterator[str]:
    if block.kind is BlockKind.TABLE:
        lines = masked.splitlines()
        yield from (line for number, line in enumerate(lines) if number != 1)
    elif block.kind is BlockKind.HEADING:
        yield masked.strip().strip("#").strip("=-\n ")
    else:
        yield from split_sentences(_MARKERS.sub("", masked))


# What the lines of containers begin with.
_MARKERS: Final = lazy_pattern(r"(?m)^[ \t>]*(?:(?:[-+*]|\d{1,9}[.)]|\[\^[^\]\s]+\]:)(?=[ \t])[ \t]*)*")
# Stands for a blank where no sentence may end.
_HELD: Final = "\ufdd0"
_STRUCK: Final = lazy_pattern(r"(?s)(~{1,2})(?=\S).*?\1")
_STEERING: Final = lazy_pattern("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def _masked(outline: Outline, block: Block, nodes: Iterable[InlineNode]) -> str:
    """Return the text of `block` as people see it: without destinations, images and comments."""
    source = outline.source.text
    cuts: list[tuple[int, int, str]] = []
    for node in nodes:
        start, end = node.span.start, node.span.end
        shown = node.text if node.kind in {InlineKind.LINK, InlineKind.WIKI_LINK} else None
        if node.kind is InlineKind.CODE:
            cuts.append((start, end, _HELD.join(source[start:end].split())))
        elif shown is not None:
            cuts += ((start, shown.start, "["), (shown.end, end, "]"))
        elif node.kind in {InlineKind.IMAGE, InlineKind.HTML, InlineKind.FOOTNOTE_REFERENCE}:
            cuts.append((start, end, "![]" if node.kind is InlineKind.IMAGE else ""))
    text: list[str] = []
    at = block.span.start
    for start, end, instead in sorted(cuts):
        if start >= at:
            text += (source[at:start], instead)
            at = end
    text.append(source[at : block.span.end])
    return _STRUCK.sub(lambda struck: _HELD.join(struck[0].split()), "".join(text))


def _hiding(outline: Outline, block: Block, nodes: Iterable[InlineNode]) -> str:
    """Return what in `block` may hide a part of it: tags, or characters that steer; all of it if in doubt."""
    text = outline.text_of(block.span)
    if outline.inline.undecided_in(block.span) or _STEERING.search(text):
        return text
    tags = [outline.text_of(node.span) for node in nodes if node.kind is InlineKind.HTML]
    open_tags = (_TAG.fullmatch(tag) for tag in tags)
    return "".join(
        tag[0] for tag in open_tags if tag and not _HARMLESS.fullmatch(tag[2] + tag[3]) and not tag[1]
    )


def _marks(outline: Outline, nodes: Iterable[InlineNode], context: str) -> Iterator[_Piece]:
    for node in nodes:
        label = "" if node.label is None else outline.text_of(node.label)
        text = "" if node.text is None else outline.text_of(node.text)
        key = (context, node.href or label.casefold())
        match node.kind:
            case InlineKind.LINK | InlineKind.AUTOLINK | InlineKind.WIKI_LINK:
                is_seen = bool(text.strip()) or node.kind is not InlineKind.LINK
                yield _Piece(LossKind.LINK, (*key, str(is_seen)), node.href or label, node.span)
                # The same words lead elsewhere.
                pair = ("", text, node.href or label)
                yield _Piece(LossKind.LINK, pair, node.href or label, node.span, rival=("", text))
            case InlineKind.IMAGE:
                yield _Piece(LossKind.IMAGE, (*key, text), node.href, node.span)
            case InlineKind.FOOTNOTE_REFERENCE:
                yield _Piece(LossKind.FOOTNOTE, key, label, node.span)
            case _:
                continue
