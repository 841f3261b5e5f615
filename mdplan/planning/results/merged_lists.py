"""The warning about lists that become one because nothing is between them any more."""

from collections.abc import Iterator

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.blocks.blocks import Block, BlockKind
from mdplan.planning.build import BuiltFile
from mdplan.text.span import Span


def merged_lists(built: BuiltFile) -> Problems:
    """LISTS_MERGED for each list of the result that holds several whole lists of the base."""
    if not built.edits or built.file.is_deleted:
        return ()
    starts = sorted(
        start
        for block in _lists(built)
        if (start := built.edits.map_offset(block.span.start, after=True)) is not None
    )
    lines = built.result.source.lines
    found: dict[int, list[int]] = {}
    for start in starts:
        root = built.result.tree.root_at(start)
        if root is not None and root.kind is BlockKind.LIST:
            found.setdefault(root.span.start, []).append(lines.line_at(start))
    return tuple(
        Diagnostic.warning(
            Code.LISTS_MERGED,
            f"the lists at lines {', '.join(map(str, several))} of the result are one list",
            "put text between them, or the comment `<!-- -->` on a line of its own, to keep them apart",
            place=lines.position(start),
        ).at(file=built.file.path)
        for start, several in found.items()
        if len(several) > 1
    )


def _lists(built: BuiltFile) -> Iterator[Block]:
    """Lists of the base at top level that the edits may have changed."""
    tree, whole = built.base.tree, Span(0, len(built.base.source.text))
    seen: set[int] = set()
    for old in (whole,) if built.changed is None else (old for old, _ in built.changed):
        for block in tree.inside(old):
            if block.kind is BlockKind.LIST and not block.depth and block.span.start not in seen:
                seen.add(block.span.start)
                yield block
