"""The formats of files."""

from enum import StrEnum


class DocumentFormat(StrEnum):
    """How the structure of a file is found. Plain text has no sections that an edit could name.

    JSON is also JSON with comments, and JSON5.
    """

    MARKDOWN = "markdown"
    INI = "ini"
    YAML = "yaml"
    JSON = "json"
    TOML = "toml"
    TEXT = "text"
