"""Kinds of nodes that a search, or an edit of matches, can leave alone."""

from enum import StrEnum


class NodeKind(StrEnum):
    """Kinds of nodes that a match operation can leave alone; the values are the keys on the wire."""

    CODE_BLOCKS = "codeBlocks"
    INLINE_CODE = "inlineCode"
    LINK_DESTINATIONS = "linkDestinations"
    IMAGES = "images"
    FRONT_MATTER = "frontMatter"
    HTML = "html"
    TABLES = "tables"
    HEADINGS = "headings"
    TEMPLATES = "templates"
    MATH = "math"
    MDX = "mdx"

    @classmethod
    def _missing_(cls, value: object) -> "NodeKind | None":
        """The kind that is meant by the spelling of other surfaces: ``CODE_BLOCKS``, ``code_blocks``."""
        return cls.__members__.get(value.upper().replace("-", "_")) if isinstance(value, str) else None
