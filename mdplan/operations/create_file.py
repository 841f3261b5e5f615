"""create_file: make a new file."""

from typing import ClassVar, Literal

from mdplan.operations.base.new_file import NewFileOperation


class CreateFile(NewFileOperation):
    """Make a new file with exactly the text of `markdown`; missing folders are made too.

    A file of that name must not exist; nothing else needs to guard the edit. The text may be empty, and of
    any kind, not only Markdown. `encoding` next to the file says how it is written; UTF-8 without it. No
    other edit of the same file goes with it.
    """

    example: ClassVar[dict[str, object]] = {
        "op": "create_file",
        "markdown": "# Changelog\n\nNothing yet.\n",
    }
    op: Literal["create_file"]
