"""Warnings about a result: large deletions, merged lists, halves of tags, broken rows and front matter."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.enclosure_search import find_enclosures, may_have_tags
from mdplan.markdown.outline import Outline
from mdplan.planning.build import BuiltFile
from mdplan.text.diff import changed_lines
from mdplan.text.lines import LineIndex, Position, Span

if TYPE_CHECKING:
    from mdplan.markdown.tables import TableSource

_MANY: Final = 100


def large_deletions(built: BuiltFile) -> Problems:
    """LARGE_DELETION where more than 100 lines of a file go, or more than half of them.

    Lines that are replaced by others do not count, nor those that the same plan writes elsewhere, also in
    another file, nor a file that is deleted by name.
    """
    lines = built.base.source.lines
    if built.file.is_deleted or not _is_large(_most_that_go(built), lines.count):
        return ()
    gone = _lines_that_go(built) - _lines_that_leave(built)
    if not _is_large(gone, lines.count):
        return ()
    return (
        Diagnostic.warning(
            Code.LARGE_DELETION,
            f"the file loses {gone} of its {lines.count} lines",
            "check in the diff that it removes only what you intended",
        ).at(file=built.file.path),
    )


def _is_large(gone: int, count: int) -> bool:
    return gone > _MANY or 2 * gone > count


def _most_that_go(built: BuiltFile) -> int:
    """More lines than this cannot go: that many line ends are replaced, and the last line may have none."""
    replaced = (built.base.text_of(edit.span) for edit in built.edits if len(edit.span))
    return 1 + sum(text.count("\n") + text.count("\r") for text in replaced)


def _lines_that_go(built: BuiltFile) -> int:
    base, result = built.base.source.lines, built.result.source.lines
    changes = list(changed_lines(base, built.edits, result))
    shrinking = [change for change in changes if change.shrinks_by > 0]
    growing = [change for change in changes if change.shrinks_by < 0]
    gone = sum(change.shrinks_by for change in shrinking)
    taken = Counter(text for change in shrinking for text in _texts(base, change.old_start, change.old_end))
    given = Counter(text for change in growing for text in _texts(result, change.new_start, change.new_end))
    most_moved = -sum(change.shrinks_by for change in growing)
    return gone - min((taken & given).total(), most_moved, gone)


def _lines_that_leave(built: BuiltFile) -> int:
    """Lines that go to another file."""
    lines = built.base.source.lines
    return sum(
        lines.line_at(span.end) - lines.line_at(span.start)
        for item in built.resolved
        if item.resolution.exported is not None
        for span in item.resolution.deletions
    )


def _texts(lines: LineIndex, start: int, end: int) -> Iterator[tuple[str, bool]]:
    """Lines ``[start, end)``. A blank one goes with the text before it, for blank lines all look alike."""
    text = ""
    for line in range(start, end):
        content = lines.content(line)
        is_blank = not content.strip(" \t")
        text = text if is_blank else content
        yield text, is_blank


def merged_lists(built: BuiltFile) -> Problems:
    """LISTS_MERGED for each list of the result that contains several whole lists of the base."""
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
            "put text between them, or the comment `<!-- -->` on a separate line, to keep them apart",
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


def unbalanced_tags(built: BuiltFile) -> Problems:
    """UNBALANCED_TAG for each tag of the result without its other half, where the base has fewer of it."""
    if not built.edits or built.file.is_deleted or not _may_change_tags(built):
        return ()
    before = Counter(tag.name for tag in find_enclosures(built.base).unbalanced)
    warnings: list[Diagnostic] = []
    for tag in find_enclosures(built.result).unbalanced:
        before[tag.name] -= 1
        if before[tag.name] < 0:
            half = "closing" if tag.opens else "opening"
            warnings.append(
                Diagnostic.warning(
                    Code.UNBALANCED_TAG,
                    f"the tag at line {tag.line} of the result has no {half} tag",
                    f"write the {half} tag, or take this one away",
                    place=built.result.source.lines.position(tag.start),
                ).at(file=built.file.path)
            )
    return tuple(warnings)


def _may_change_tags(built: BuiltFile) -> bool:
    """Whether an edit takes or writes a tag."""
    pieces = [built.base.text_of(edit.span) + edit.new_text for edit in built.edits]
    return any(map(may_have_tags, pieces))


def broken_rows(built: BuiltFile) -> Problems:
    """TABLE_TORN for each row that an edit wrote and that has more cells than its table has columns."""
    if built.file.is_deleted or not any("|" in edit.new_text for edit in built.edits):
        return ()
    written = [span for span in built.edits.result_spans if len(span)]
    tables = [table for table in built.result.tables if _overlaps_one(written, table.block.span)]
    lines = built.base.source.lines
    known = frozenset(
        lines.content(line).strip()
        for table in (built.base.tables if tables else ())
        for line in range(table.block.first_line, table.block.last_line + 1)
    )
    return tuple(each.at(file=built.file.path) for each in overlong_rows(built.result, tables, known))


def _overlaps_one(spans: Sequence[Span], area: Span) -> bool:
    """Whether one of `spans`, which are sorted and disjoint, shares a code point with `area`."""
    index = bisect_right(spans, area.start, key=lambda span: span.end)
    return index < len(spans) and spans[index].overlaps(area)


def overlong_rows(
    outline: Outline, tables: "Iterable[TableSource]", known: Container[str]
) -> Iterator[Diagnostic]:
    """TABLE_TORN for rows of `tables` with text in more cells than there are columns.

    `known` are rows that are no news.
    """
    lines = outline.source.lines
    for table in tables:
        for row in table.rows:
            extra = len(row.cells) - len(table.columns)
            is_news = extra > 0 and lines.content(row.line).strip() not in known
            if is_news and outline.text_of(row.cells[-1]).strip():
                yield Diagnostic.warning(
                    Code.TABLE_TORN,
                    f"the row at line {row.line} has {len(row.cells)} cells, and its table "
                    f"{len(table.columns)} columns: readers do not see the rest",
                    "escape a pipe that is text as `\\|`",
                    place=Position(row.line, 1),
                )


def broken_front_matter(built: BuiltFile) -> Problems:
    """FRONT_MATTER_INVALID where edits leave front matter that cannot be read any more."""
    ends = [each.front_matter.span.end for each in (built.base, built.result) if each.front_matter]
    if not ends or built.file.is_deleted or not any(each.span.start <= max(ends) for each in built.edits):
        return ()
    # Most edits touch no front matter, and this loads a YAML parser.
    from mdplan.markdown.front_matter import Unreadable

    if isinstance(built.base.front_matter_content, Unreadable):
        return ()
    problem = unreadable_front_matter(built.base, built.result)
    return (problem.at(file=built.file.path),) if problem is not None else ()


def unreadable_front_matter(old: Outline | None, new: Outline) -> Diagnostic | None:
    """FRONT_MATTER_INVALID for front matter of `new` that cannot be read, or that is text since `old`."""
    from mdplan.markdown.front_matter import Unreadable

    after = new.front_matter_content
    if isinstance(after, Unreadable):
        place = None
        if after.offset is not None and new.front_matter is not None:
            place = new.source.lines.position(new.front_matter.content.start + after.offset)
        return Diagnostic.warning(
            Code.FRONT_MATTER_INVALID,
            f"the front matter cannot be read: {after.reason}",
            "correct its syntax",
            place=place or Position(1, 1),
        )
    has_lost = old is not None and old.front_matter is not None and after is None
    if has_lost and new.source.text.startswith(("---", "+++")):
        return Diagnostic.warning(
            Code.FRONT_MATTER_INVALID,
            "the front matter is no longer closed, so it is read as text",
            f"end it with a separate line: {new.source.text[:3]}",
            place=Position(1, 1),
        )
    return None
