"""A text edit of a front matter block, with the changes that it was made for."""

from mdplan.text.edit import TextEdit
from mdplan.text.value import value


@value(frozen=True, slots=True)
class Splice:
    """`edit` is in the offsets of the block's content, or of the document; `changes` are their indexes."""

    edit: TextEdit
    changes: tuple[int, ...]
