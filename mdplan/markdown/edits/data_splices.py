"""Changes of keys as text edits of a document: of the whole file, or of its front matter."""

from collections.abc import Sequence

from mdplan.data.content import DataContent, data_edits, placed, verify_edits
from mdplan.data.tree import Change, Splice
from mdplan.markdown.front_matter.block_edits import block_edits, new_block, verify_round_trip
from mdplan.markdown.front_matter.location import FrontMatterFormat
from mdplan.markdown.front_matter.values import FrontMatterContent, empty_content
from mdplan.markdown.outline.data_content import data_content
from mdplan.markdown.outline.outline import Outline
from mdplan.text.edit import EditList
from mdplan.text.source import DocumentFormat


def data_splices(
    outline: Outline, changes: Sequence[Change], creates: FrontMatterFormat | None
) -> tuple[Splice, ...]:
    """Text edits of `outline` that make `changes`; in front matter that is made where it `creates` some.

    Raises `DataError` where they cannot be made by cutting.
    """
    lines = outline.source.lines
    if not changes:
        return ()
    if outline.format is not DocumentFormat.MARKDOWN:
        return placed(data_edits(_content(outline), changes), 0, lines)
    if outline.front_matter is None:
        assert creates is not None, "an edit of a file without front matter creates it"
        return (new_block(creates, lines, changes),)
    content = outline.front_matter_content
    assert isinstance(content, FrontMatterContent), "edits of what cannot be read were refused"
    return block_edits(outline.front_matter, content, lines, changes)


def verify_splices(
    outline: Outline, edits: EditList, changes: Sequence[Change], creates: FrontMatterFormat | None
) -> None:
    """Raise `DataError` unless `edits` of `outline` make `changes`, and no other."""
    if outline.format is not DocumentFormat.MARKDOWN:
        verify_edits(_content(outline), edits, changes)
        return
    content = outline.front_matter_content
    if outline.front_matter is None:
        assert creates is not None, "an edit of a file without front matter creates it"
        content = empty_content(creates, outline.limits.front_matter_characters)
    assert isinstance(content, FrontMatterContent), "edits of what cannot be read were refused"
    verify_round_trip(outline.source.text, outline.front_matter, content, edits, changes)


def _content(outline: Outline) -> DataContent:
    content = data_content(outline)
    assert isinstance(content, DataContent), "edits of what cannot be read were refused"
    return content
