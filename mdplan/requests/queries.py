"""The base class of the requests of stat, read and search.

The requests are plain dataclasses, so that a command that only reads starts without pydantic. Command line
options, published schemas and the strict reader of JSON are made from their fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, get_args

from mdplan.field_names import camel_case
from mdplan.text.pattern import MatchType

FORMATS: Final = ("markdown", "ini", "yaml", "json", "toml", "text")
FORMAT_PATTERN: Final = f"^({'|'.join(FORMATS)})$"
# Agents see the choices of a list of words once, at the first tool that has it; later tools describe it.
WORDS: Final[Mapping[str, Any]] = {"type": "array", "items": {"type": "string"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A request, or a part of one. Field names are camelCase in JSON."""

    # Pydantic reads this if it is loaded.
    __pydantic_config__: ClassVar[dict[str, Any]] = {
        "alias_generator": camel_case,
        "populate_by_name": True,
        "extra": "forbid",
    }


def described(
    description: str,
    brief: str | Mapping[str, Any] | None = None,
    option: Mapping[str, Any] | None = MappingProxyType({}),
    **rules: Any,  # noqa: ANN401 (numbers and flags)
) -> dict[str, Any]:
    """Return metadata of a dataclass field: its description, and the `rules` of `pydantic.Field`.

    `brief` is the text that agents see: a description or a whole schema; an empty one hides the field.
    `option` overrides the command's option: `flags`, `metavar`, `help`, the `value` that a flag sets, and
    `form` for text in a special form; None makes no option.
    """
    return {"description": description, "brief": brief, "option": option, **rules}


def asked(
    description: str,
    brief: str | Mapping[str, Any] | None = None,
    option: Mapping[str, Any] | None = MappingProxyType({}),
    *,
    default: object = None,
    **rules: Any,  # noqa: ANN401 (numbers and flags)
) -> Any:  # noqa: ANN401 (as `field` has it)
    """Return a dataclass field with this `default`, and the metadata of `described`."""
    return field(default=default, metadata=described(description, brief, option, **rules))


# Fields of several requests.
CURSOR: Final = described("nextCursor of the answer before.")
ENCODING: Final = described("Encoding of a file that is not UTF-8 and has no BOM.")
FORMAT: Final = described("Format of the file; found by its name when absent.", pattern=FORMAT_PATTERN)


def literal_or_regex(argument: str) -> dict[str, Any]:
    """Return the metadata of the field that says what `argument` of a command is."""
    option = {
        "flags": ("--regex", "-E"),
        "value": MatchType.REGEX,
        "help": f"{argument} is a regular expression.",
    }
    return described("literal or regex.", option=option)


# --- The request of `stat`.

Detail = Literal["auto", "brief", "full"]
Inventory = Literal["codeBlocks", "tables", "lists", "tasks", "anchors", "regions", "links"]
INVENTORIES: Final[tuple[str, ...]] = get_args(Inventory)

# Documents have many lists, and few edits need the index of one.
USUAL_INVENTORIES: Final = tuple(name for name in INVENTORIES if name != "lists")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatRequest(Query):
    """The structure of a file, or a row for each file of a folder or glob.

    `detail` is ``auto`` (full up to 40 sections), ``brief`` or ``full``. `under` limits the list to a section
    and its descendants: an ID or heading as a string, or a heading path. `depth` (from 1) is the number of
    levels below that section or the document. `limit` (from 1; by default 200 in full detail and for folders,
    1,000 in brief) is the maximum length of a list; `cursor` is the `next_cursor` of the previous page.
    `include` names the inventories; None means all except lists in full detail, and no inventories in brief.
    `links` also lists broken links.
    """

    file: str = field(
        metadata=described("Path of a file, folder or glob.", "File, folder or glob.", None, min_length=1)
    )
    detail: Detail = asked("Level of detail; auto is full up to 40 sections.", default="auto")
    under: str | tuple[str, ...] | None = asked(
        "Only this section and those below it: its ID, its heading, or a heading path.",
        "sectionId or heading.",
        {
            "form": "section",
            "help": "Only this section: its ID or heading; repeated, the headings of a path from outer "
            "to inner.",
        },
    )
    depth: int | None = asked("Levels to list below the document or section.", strict=True, ge=1)
    limit: int | None = asked("Maximum length of a list.", strict=True, ge=1)
    cursor: str | None = field(default=None, metadata={**CURSOR, "min_length": 1})
    include: tuple[Inventory, ...] | None = asked(
        "List these too; in full detail all but lists are listed unless some are named.",
        {**WORDS, "description": "|".join(INVENTORIES)},
    )
    links: bool = asked(
        "List broken links, also those to other files.", "List links to nothing.", strict=True, default=False
    )
    encoding: str | None = field(default=None, metadata={**ENCODING, "min_length": 1})
    format: str | None = field(default=None, metadata=FORMAT)
