"""A text edit of a front matter block, with the changes that it was made for."""

from dataclasses import dataclass

from mdplan.text.edit import TextEdit


@dataclass(frozen=True, slots=True)
class Splice:
    """`edit` is in the offsets of the block's content, or of the document; `changes` are their indexes."""

    edit: TextEdit
    changes: tuple[int, ...]
