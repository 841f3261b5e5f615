"""Changes of front matter as text edits, and the proof that they change nothing else.

The new block is read again: it must be where the old one was, and say what the old one said with the
changes that were asked for. Where that cannot be had the changes are refused.
"""

from collections.abc import Sequence
from typing import Any, Final

from mdplan.data.content import data_edits, placed, verify_values
from mdplan.data.tree import Change, DataError, Splice, values_equal
from mdplan.markdown.front_matter.location import FrontMatter, FrontMatterFormat, find_front_matter
from mdplan.markdown.front_matter.values import FrontMatterContent, empty_content, read_content
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.line_end_view import line_end_around, with_line_ends
from mdplan.text.lines import LineIndex

_FENCES: Final = {FrontMatterFormat.YAML: "---", FrontMatterFormat.TOML: "+++"}


def block_edits(
    front_matter: FrontMatter, content: FrontMatterContent, lines: LineIndex, changes: Sequence[Change]
) -> tuple[Splice, ...]:
    """Edits of a document that make `changes` in its block; no key of them lies inside another's.

    `lines` are those of the document. Keys that go, and the parents of keys that are no maps, were looked for
    before. Raises `DataError` where the block cannot be cut so.
    """
    splices = _with_first_line(content, data_edits(content.data, changes))
    return placed(splices, front_matter.content.start, lines)


def new_block(format: FrontMatterFormat, lines: LineIndex, changes: Sequence[Change]) -> Splice:  # noqa: A002
    """The edit that puts a block with the values of `changes` before the text whose lines are `lines`."""
    empty = empty_content(format)
    edits = EditList.of(splice.edit for splice in data_edits(empty.data, changes))
    assert isinstance(edits, EditList), "insertions at one place do not overlap"
    fence = _FENCES[format]
    block = f"{fence}\n{edits.apply('')}{fence}\n"
    if lines.count and lines.content(1).strip(" \t"):
        block += "\n"
    block = with_line_ends(block, line_end_around(lines, 0))
    return Splice(TextEdit.insert(0, block), tuple(range(len(changes))))


def verify_round_trip(
    text: str,
    front_matter: FrontMatter | None,
    content: FrontMatterContent,
    edits: EditList,
    changes: Sequence[Change],
) -> None:
    """Raise `DataError` unless `edits` of the document `text` make the changes `asked`, and no other.

    `front_matter` is its block with its `content`; None where `edits` create one.
    """
    block = edits.apply(text[: front_matter.span.end] if front_matter else "")
    found = find_front_matter(block)
    if found is None or found.format is not content.format or block[found.span.end :].strip("\r\n"):
        raise DataError("the block would end somewhere else, or not be found again")
    try:
        result = read_content(
            found.format, block[found.content.start : found.content.end], content.most_characters
        )
    except DataError as error:
        raise DataError(f"after the change {error.reason}") from error
    verify_values(content.data, result.data, changes)
    if front_matter is not None and found.format is FrontMatterFormat.YAML:
        verify_elsewhere(text[: front_matter.span.end], block, changes)


def verify_elsewhere(old: str, new: str, changes: Sequence[Change]) -> None:
    """Raise `DataError` unless python-frontmatter, a reader of its own, finds other keys as they were.

    Site tools find blocks by rules like its own. A block that it cannot read before the change is skipped,
    and so are keys that are not text to it, such as `yes`.
    """
    before, after = _read_elsewhere(old), _read_elsewhere(new)
    if before is None:
        return
    if after is None:
        raise DataError("other readers of front matter would no longer read the block")
    touched = {element for change in changes for element in (*change.key[:1], getattr(change, "name", None))}
    kept = [
        {key: value for key, value in read.items() if isinstance(key, str) and key not in touched}
        for read in (before, after)
    ]
    if not values_equal(*kept):
        raise DataError("other readers of front matter would see another value change")


def _read_elsewhere(block: str) -> dict[Any, Any] | None:
    import frontmatter
    import yaml

    try:
        values, _ = frontmatter.parse(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return values


def _with_first_line(content: FrontMatterContent, splices: list[Splice]) -> list[Splice]:
    """`splices`, and the deletion of blank lines that would be first: after such there is no block."""
    deletions = {
        splice.edit.span.start: splice
        for splice in splices
        if len(splice.edit.span) and not splice.edit.new_text
    }
    inserted = {splice.edit.span.start for splice in splices if splice.edit.new_text}
    lines, at, last = content.lines, 0, None
    blank: list[Splice] = []
    while at not in inserted and at < len(content.text):
        if at in deletions:
            last = deletions[at]
            at = last.edit.span.end
            continue
        line = lines.line_at(at)
        if last is None or at != lines.start(line) or lines.content(line).strip(" \t"):
            break
        blank.append(Splice(TextEdit.delete(lines.span(line, line)), last.changes))
        at = lines.end(line)
    return [*splices, *blank]
