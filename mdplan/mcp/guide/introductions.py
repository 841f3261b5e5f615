"""Introductions of toolsets, available before any is loaded: the names of their tools, and their use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

# What `serve --mode claude-code` offers, which has file tools of its own.
EDITOR_PATCH: Final = "patch_text_file_contents"


@dataclass(frozen=True, slots=True)
class Introduction:
    """A family of tools; `instructions` is the paragraph that a model reads about their way of working."""

    names: tuple[str, ...]
    instructions: str


_MD: Final = """\
Edits Markdown and text files by small declared edits: bytes that no edit names never change. Look first: \
md_stat gives sections with IDs and the baseSha256 of a file, without its content; md_search finds text, \
md_read gives it. Edit by sectionId or headingPath, not by line numbers; all edits of one call address the \
file as you saw it. A write is checked against what you saw: look at the file first, or send its baseSha256 \
or the planId of a preview (md_validate, or md_apply with dryRun). Name headings, items and cells by their \
text, without marks such as # and -. In a glob, *.md also matches in folders. In doubt preview, read the \
diff, then send the planId. A refusal writes nothing, and its hint says how to go on. md_history undoes what \
was written."""

_EDITOR: Final = """\
The text editor tools edit by line numbers (1-based, inclusive) and check the text there. Read first, \
only the ranges that you need, and give old_string, context_line or expected_content as read. Prefer \
patch_text_file_contents, and send all files and patches of one change in one call: they are made together \
or not at all, and do not shift each other. Line numbers are of the file as read: read again after an edit."""

_TEXT: Final = """\
TextInspect shows the structure of a file, TextRead a part of it. To edit: TextReplace for text within \
lines, TextPatch with appendToSection or beforeHeading for new content, with heading or codeBlock for \
those, with lines last of all. Give the fileHash of each answer to the next edit as expectedHash. Find \
your way by the context lines of an answer; use no line number from before an edit."""

_FILES: Final = """\
Find, then read: grep_content gives files and line numbers, and a hint where each section ends; read_files \
reads from such a line, with read_to_next_pattern to the line before the next section. Read several places \
in one call; after an edit search again, for its line numbers are others then."""

INTRODUCTIONS: Final[Mapping[str, Introduction]] = {
    "md": Introduction(("md_stat", "md_read", "md_search", "md_validate", "md_apply", "md_history"), _MD),
    "editor": Introduction(
        (
            "get_text_file_contents",
            EDITOR_PATCH,
            "create_text_file",
            "append_text_file_contents",
            "insert_text_file_contents",
            "delete_text_file_contents",
        ),
        _EDITOR,
    ),
    "text": Introduction(("TextInspect", "TextRead", "TextPatch", "TextReplace"), _TEXT),
    "files": Introduction(("read_files", "grep_content"), _FILES),
}
DEFAULT_TOOLSETS: Final = ("md",)


def tool_names(toolsets: Sequence[str]) -> list[str]:
    """Names of all tools of `toolsets`."""
    return [name for toolset in toolsets for name in INTRODUCTIONS[toolset].names]
