"""Requests of the toolset `editor`, with the names of requirement 04."""

from typing import Final, Literal

from pydantic import Field

from mdplan.mcp.strict_requests import MOST_PATH, Request
from mdplan.mcp.toolsets.editor_tools.line_editor import EditedRange
from mdplan.operations.base import Ordinal

_ENCODING: Final = Field(default=None, description="Encoding of the file; UTF-8 when absent.")
_EXACT: Final = Field(default=False, description="Blanks at line ends must match too.")
_PATH: Final = Field(min_length=1, max_length=MOST_PATH, description="Path of the file, inside a root.")
_WHOLE_FILE: Final = (EditedRange(),)


class FileRanges(Request):
    """A file, or some lines of it."""

    file_path: str = _PATH
    ranges: tuple[EditedRange, ...] = Field(
        default=_WHOLE_FILE, min_length=1, description="Lines to read; absent: the whole file."
    )
    encoding: str | None = _ENCODING


class GetRequest(Request):
    """Arguments of `get_text_file_contents`."""

    files: tuple[FileRanges, ...] = Field(min_length=1, description="What to read.")


class RangePatch(Request):
    """A text in place of another, at one or several places."""

    old_string: str = Field(description="The text of the lines now.")
    new_string: str = Field(description="Their new text; empty to remove them.")
    ranges: tuple[EditedRange, ...] = Field(
        default=_WHOLE_FILE, min_length=1, description="Lines with old_string; absent: the whole file."
    )


class FilePatches(Request):
    """Patches of one file."""

    file_path: str = _PATH
    patches: tuple[RangePatch, ...] = Field(min_length=1, description="Patches whose ranges do not overlap.")
    encoding: str | None = _ENCODING
    require_exact_match: bool = _EXACT


class PatchRequest(Request):
    """Arguments of `patch_text_file_contents`."""

    files: tuple[FilePatches, ...] = Field(min_length=1, description="Files to edit, each once.")


class CreateRequest(Request):
    """Arguments of `create_text_file`."""

    file_path: str = _PATH
    contents: str = Field(description="The whole text of the new file.")
    encoding: str | None = _ENCODING


class AppendRequest(Request):
    """Arguments of `append_text_file_contents`."""

    file_path: str = _PATH
    content_to_append: str = Field(min_length=1, description="Text to add to the end.")
    expected_file_ending: str = Field(description="The text of the last line now.")
    encoding: str | None = _ENCODING
    require_exact_match: bool = _EXACT


class Insertion(Request):
    """Lines to insert next to a line."""

    content_to_insert: str = Field(min_length=1, description="Lines to insert.")
    position: Literal["after", "before"] = Field(description="Where, relative to the line.")
    context_line: str = Field(description="The text of the line now.")
    line_number: Ordinal = Field(description="Number of the line, 1-based.")


class InsertRequest(Request):
    """Arguments of `insert_text_file_contents`."""

    file_path: str = _PATH
    insertions: tuple[Insertion, ...] = Field(min_length=1, description="What to insert.")
    encoding: str | None = _ENCODING
    require_exact_match: bool = _EXACT


class Deletion(Request):
    """Lines to delete."""

    expected_content: str = Field(description="The text of the lines now.")
    ranges: tuple[EditedRange, ...] = Field(
        default=_WHOLE_FILE, min_length=1, description="Lines with that text; absent: the whole file."
    )


class DeleteRequest(Request):
    """Arguments of `delete_text_file_contents`."""

    file_path: str = _PATH
    deletions: tuple[Deletion, ...] = Field(min_length=1, description="What to delete.")
    encoding: str | None = _ENCODING
    require_exact_match: bool = _EXACT
