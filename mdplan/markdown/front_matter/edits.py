"""Changes of front matter as text edits, and the proof that they change nothing else.

The new block is read again: it must stand where the old one stood, and say what the old one said with the
changes that were asked for. Where that cannot be had the changes are refused.
"""

from collections.abc import Sequence
from typing import Final

from mdplan.markdown.front_matter.block import (
    FrontMatter,
    FrontMatterError,
    FrontMatterFormat,
    find_front_matter,
)
from mdplan.markdown.front_matter.change import (
    KeyChange,
    Splice,
    branches_of,
    changed,
    values_equal,
    without_emptied,
)
from mdplan.markdown.front_matter.values import FrontMatterContent, read_content
from mdplan.markdown.front_matter.yaml_edits import yaml_edits
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.line_end_view import line_end_around, with_line_ends
from mdplan.text.lines import LineIndex
from mdplan.text.span import Span

_FENCES: Final = {FrontMatterFormat.YAML: "---", FrontMatterFormat.TOML: "+++"}


def block_edits(
    front_matter: FrontMatter, content: FrontMatterContent, lines: LineIndex, changes: Sequence[KeyChange]
) -> tuple[Splice, ...]:
    """Edits of a document that make `changes` in its block; no key of them lies inside of another's.

    `lines` are those of the document. Keys that go, and the parents of keys that are no maps, were looked for
    before. Raises `FrontMatterError` where the block cannot be cut so.
    """
    splices = _with_first_line(content, _edits(content, changes))
    start = front_matter.content.start
    return tuple(
        Splice(_placed(splice.edit, start, lines), splice.changes)
        for splice in splices
        if len(splice.edit.span) or splice.edit.new_text
    )


def new_block(format: FrontMatterFormat, lines: LineIndex, changes: Sequence[KeyChange]) -> Splice:  # noqa: A002
    """The edit that puts a block with the values of `changes` before the text whose lines are `lines`."""
    empty = FrontMatterContent(format, "")
    edits = EditList.of(splice.edit for splice in _edits(empty, changes))
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
    asked: Sequence[KeyChange],
) -> None:
    """Raise `FrontMatterError` unless `edits` of the document `text` make the changes `asked`, and no other.

    `front_matter` is its block with its `content`; None where `edits` create one.
    """
    block = edits.apply(text[: front_matter.span.end] if front_matter else "")
    found = find_front_matter(block)
    if found is None or found.format is not content.format or block[found.span.end :].strip("\r\n"):
        raise FrontMatterError("the block would end somewhere else, or not be found again")
    try:
        result = read_content(
            found.format, block[found.content.start : found.content.end], content.most_characters
        )
    except FrontMatterError as error:
        raise FrontMatterError(f"after the change {error.reason}") from error
    wanted = changed(content.values, asked)
    if content.format is FrontMatterFormat.TOML and not values_equal(result.values, wanted):
        wanted = without_emptied(wanted, asked, result.values)
    if not values_equal(result.values, wanted):
        raise FrontMatterError("the change cannot be made without changing another value")


def _edits(content: FrontMatterContent, changes: Sequence[KeyChange]) -> list[Splice]:
    branches = branches_of(changes)
    if content.format is FrontMatterFormat.YAML:
        return yaml_edits(content, branches)
    # tomlkit is needed for TOML alone, and that is rare.
    from mdplan.markdown.front_matter.toml_edits import toml_edits

    return toml_edits(content, branches)


def _placed(edit: TextEdit, start: int, lines: LineIndex) -> TextEdit:
    """`edit` of the content as one of the document, in which the content begins at `start`."""
    span = Span(edit.span.start + start, edit.span.end + start)
    return TextEdit(span, with_line_ends(edit.new_text, line_end_around(lines, span.start)))


def _with_first_line(content: FrontMatterContent, splices: list[Splice]) -> list[Splice]:
    """`splices`, and the deletion of blank lines that would stand first: behind such there is no block."""
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
