"""The base class of the requests of stat, read and search.

The requests are plain dataclasses, so that a command that only reads starts without pydantic. Command line
options, published schemas and the strict reader of JSON are made from their fields.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from mdplan.field_names import camel_case

FORMATS: Final = ("markdown", "ini", "yaml", "json", "toml", "text")
FORMAT_PATTERN: Final = f"^({'|'.join(FORMATS)})$"
ENCODING_HELP: Final = "Encoding of a file that is not UTF-8 and has no BOM."
FORMAT_HELP: Final = "Format of the file; found by its name when absent."
CURSOR_HELP: Final = "nextCursor of the answer before."


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A request, or a part of one. Field names are camelCase in JSON."""

    # Read by pydantic, where it is loaded.
    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "alias_generator": camel_case,
        "populate_by_name": True,
        "extra": "forbid",
    }


def described(description: str, **rules: Any) -> dict[str, Any]:  # noqa: ANN401 (numbers and flags)
    """Metadata of a dataclass field: its description, and the `rules` of `pydantic.Field` for its values."""
    return {"description": description, **rules}
