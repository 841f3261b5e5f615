"""What those raise who tell plain Markdown without a parser, and leave all other Markdown to it."""


class Undecided(Exception):  # noqa: N818 - It is no error.
    """Only the parser of record can tell."""
