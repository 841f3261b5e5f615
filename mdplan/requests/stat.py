"""The request of `stat`."""

from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from mdplan.requests.query import CURSOR_HELP, ENCODING_HELP, FORMAT_HELP, FORMAT_PATTERN, Query, described

Detail = Literal["auto", "brief", "full"]
Inventory = Literal["codeBlocks", "tables", "lists", "tasks", "anchors", "regions", "links"]
INVENTORIES: Final[tuple[str, ...]] = get_args(Inventory)
# Documents have many lists, and few edits need the index of one.
USUAL_INVENTORIES: Final = tuple(name for name in INVENTORIES if name != "lists")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatRequest(Query):
    """The structure of one file, or one row for each file of a folder or glob.

    `detail` is ``auto`` (full up to 40 sections), ``brief`` or ``full``. `under` is a section with what is
    below it: an ID or one heading as a string, else a heading path. `depth` (from 1) says how many levels
    below that section, or below the document, are listed. `limit` (from 1; 200 in full detail and for
    folders, 1,000 in brief) is the most entries of a list, and `cursor` the `next_cursor` of the page before.
    `include` names the inventories to give; None is all but lists in full detail and none in brief. With
    `links` the links that lead to nothing are listed, those to other files too, for one file as for many.
    """

    file: str = field(metadata=described("Path of a file, folder or glob.", min_length=1))
    detail: Detail = field(
        default="auto", metadata=described("Level of detail; auto is full up to 40 sections.")
    )
    under: str | tuple[str, ...] | None = field(
        default=None,
        metadata=described("Only this section and those below it: its ID, its heading, or a heading path."),
    )
    depth: int | None = field(
        default=None, metadata=described("Levels to list below the document or section.", strict=True, ge=1)
    )
    limit: int | None = field(
        default=None, metadata=described("Maximum length of a list.", strict=True, ge=1)
    )
    cursor: str | None = field(default=None, metadata=described(CURSOR_HELP, min_length=1))
    include: tuple[Inventory, ...] | None = field(
        default=None,
        metadata=described("List these too; in full detail all but lists are listed unless some are named."),
    )
    links: bool = field(
        default=False, metadata=described("List broken links, also those to other files.", strict=True)
    )
    encoding: str | None = field(default=None, metadata=described(ENCODING_HELP, min_length=1))
    format: str | None = field(default=None, metadata=described(FORMAT_HELP, pattern=FORMAT_PATTERN))
