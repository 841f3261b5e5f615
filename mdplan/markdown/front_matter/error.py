"""Why front matter cannot be read or changed.

It is raised, because the parsers raise too; what the package gives to others is a value made of it.
"""


class FrontMatterError(ValueError):
    """The block cannot be read, or a change cannot be made: at `offset` of its text, for a `reason`."""

    def __init__(self, reason: str, offset: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset
