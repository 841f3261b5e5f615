"""Operations on whole files: create, append, rename, delete, and create_page with its navigation entry."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.diagnostics import Code
from mdplan.markdown.block_tree import is_left_open, parse_blocks
from mdplan.markdown.blocks import Block
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, without_suffix
from mdplan.operations.base import (
    ONCE_BY_TEXT,
    Claim,
    FileEffect,
    FileState,
    Operation,
    OtherFile,
    Resolution,
    SectionHash,
    one_neighbour,
)
from mdplan.operations.lines import as_lines, without_last_line_end
from mdplan.text.edit import TextEdit
from mdplan.text.lines import LineIndex, Span, line_end_around
from mdplan.text.source import Source
from mdplan.words import say

# --- Shared parts of operations that create a file.


class NewFileOperation(Operation):
    """An operation that makes a new file with the text of `markdown`."""

    needs_markdown: ClassVar = False
    file_effect: ClassVar[FileEffect] = "create"
    example_file: ClassVar = "changelog.md"

    markdown: str = Field(description="The whole text of the file.")

    @classmethod
    def file_already_satisfied(cls, edit: Mapping[str, Any], file: FileState) -> bool:
        """Return True if the file has these bytes."""
        text = edit.get("markdown")
        if file.data is None or not isinstance(text, str):
            return False
        try:
            return file.data == text.encode(file.encoding or "utf-8")
        except (LookupError, UnicodeEncodeError):
            return False

    def resolve(self, outline: Outline) -> Resolution:
        """Return one insertion into the empty text."""
        edits = (TextEdit.insert(0, self.markdown),) if self.markdown else ()
        claim = Claim(span=Span(0, 0), owner=outline.sections[0].index)
        return Resolution(claims=(claim,), edits=edits, is_evidence=True)


class CreateFile(NewFileOperation):
    """Create a file with exactly the text of `markdown`, and missing folders.

    The file must not exist, so the edit needs no other guard. The text may be empty, and of any format.
    `encoding` next to the file sets its encoding; UTF-8 by default. No other edit of the same file is
    allowed.
    """

    example: ClassVar[dict[str, object]] = {"markdown": "# Changelog\n\nNothing yet.\n"}
    op: Literal["create_file"]


class CreatePage(NewFileOperation):
    """Make a new page with the text of `markdown`, and add its entry to the file `navigation`.

    `navigation` is `mkdocs.yml`, `zensical.toml`, `docs.json`, `toc.yml`, `_toc.yml`, `myst.yml`,
    `_quarto.yml`, `sidebars.json`, or a Markdown file with a list of links, such as `SUMMARY.md`. The entry
    is written as that kind of file needs it, with the title of the page: `title`, else its front matter or
    its first heading. It goes to the end of the list that `under` names by its title; without `under` to the
    list that has pages of the same folder, else to the outermost one. `before` and `after` name the entry
    next to it by its title or page; without `under` it may be in any list. All other bytes of the file stay.
    """

    example: ClassVar[dict[str, object]] = {
        "markdown": "# Descaling\n\nUse vinegar.\n",
        "navigation": "mkdocs.yml",
        "after": "Home",
    }
    example_file: ClassVar = "docs/descaling.md"

    op: Literal["create_page"]
    navigation: str = Field(min_length=1, description="File that lists the pages of the site.")
    title: str | None = Field(default=None, min_length=1, description="Title of the entry.")
    under: str | None = Field(default=None, min_length=1, description="Title of the list for the entry.")
    before: str | None = Field(
        default=None, min_length=1, description="Title or page of the entry that it goes before."
    )
    after: str | None = Field(default=None, min_length=1, description="The same, to go after it.")
    to_base_sha256: SectionHash | None = Field(
        default=None, description="SHA-256 of navigation as you saw it; at least 16 hex digits."
    )

    _check_neighbour = model_validator(mode="after")(one_neighbour)

    @property
    def other_file(self) -> OtherFile:
        """The file that gets the entry."""
        return OtherFile(self.navigation, self.to_base_sha256)

    def front_matter(self) -> Mapping[str, Any]:
        """Return values of the front matter of the page."""
        values: Mapping[str, Any] = getattr(
            Outline(Source.from_text(self.markdown)).front_matter_content, "values", {}
        )
        return values

    def title_of(self, page: str) -> str:
        """Return title of the entry for the file `page`."""
        if self.title is not None:
            return self.title
        outline = Outline(Source.from_text(self.markdown))
        given = self.front_matter().get("title")
        headings = [section.title for section in outline.headings if not section.nested]
        name = without_suffix(page.rpartition("/")[2], MARKDOWN_SUFFIXES)
        return given if isinstance(given, str) and given else next(iter(headings), name)


class AppendToFile(Operation):
    """Append whole lines to a file verbatim: no blank lines are added.

    They start on a new line. The final newline of the file stays as it was. If the file ends in an unclosed
    code block or comment, they must close it. For text that belongs to a section use append_to_section, which
    finds its end.
    """

    example: ClassVar[dict[str, object]] = {"markdown": "- 2026-05-02: descaled"}
    needs_markdown: ClassVar = False
    once_condition: ClassVar = ONCE_BY_TEXT
    may_begin_file: ClassVar = True

    op: Literal["append_to_file"]
    markdown: str = Field(description="Lines to add.")

    def resolve(self, outline: Outline) -> Resolution:
        """Return one insertion at the end of the text. Errors: EMPTY_CONTENT, OUTLINE_CHANGED."""
        if not self.markdown:
            raise Code.EMPTY_CONTENT.refused(say("{markdown} is empty"), "give the lines to add")
        last, source = outline.tree.last_root, outline.source
        if last is not None and is_left_open(last, source.text) and not self._closes(outline, last):
            raise Code.OUTLINE_CHANGED.refused(
                f"the {last.kind} that starts at line {last.first_line} is not closed, "
                "so the new lines would be inside it",
                "begin the lines with what closes it",
            )
        end = len(source.text)
        text = as_lines(outline, end, self.markdown)
        if end and not source.lines.ending(source.lines.count):
            text = line_end_around(source.lines, end) + without_last_line_end(text)
        section = outline.section_at(end - 1) if end else outline.sections[0]
        return Resolution(
            claims=(Claim(span=Span(end, end), owner=section.index),),
            edits=(TextEdit.insert(end, text),),
            section=section,
            comes_last=True,
        )

    def _closes(self, outline: Outline, last: Block) -> bool:
        """Return True if the lines close the block `last`, and leave none open themselves."""
        text = outline.source.text[last.span.start :].rstrip("\r\n") + f"\n{self.markdown}"
        end = parse_blocks(text, LineIndex(text)).last_root
        return end is None or not is_left_open(end, text)


class RenameFile(Operation):
    """Rename or move the file; missing folders are created.

    Other edits of the file may accompany it, under the old path. Links to the file, and relative links in it,
    follow with `updateReferences`. Nothing is overwritten: the new path must be free, unless the same batch
    renames that file too, so that two files can swap their names. An image or another binary file keeps its
    bytes. Mode, owner and attributes of the file stay.

    With `redirect` the old address of the page leads to the new one, if the site keeps redirects in
    `mkdocs.yml` (mkdocs-redirects), `docs.json` (Mintlify), `.openpublishing.redirection.json`, `_redirects`
    (Netlify), or front matter: `aliases` of Hugo, `redirect_from` of Jekyll.
    """

    example: ClassVar[dict[str, object]] = {"newFile": "docs/kettle.md"}
    needs_markdown: ClassVar = False
    file_effect: ClassVar[FileEffect] = "rename"

    op: Literal["rename_file"]
    new_file: str = Field(min_length=1, description="New path, inside the same root.")
    redirect: bool = Field(default=False, description="Leave a redirect at the old address of the page.")

    @property
    def new_path(self) -> str:
        """The path that the file gets."""
        return self.new_file

    @classmethod
    def file_already_satisfied(cls, edit: Mapping[str, Any], file: FileState) -> bool:
        """Return True if the file has its new name."""
        new = edit.get("newFile")
        return file.data is None and isinstance(new, str) and file.exists(new)

    def resolve(self, outline: Outline) -> Resolution:
        """Return no text edit: the planner takes the new path from here."""
        del outline  # Whatever the file contains, it stays.
        return Resolution(claims=())


class DeleteFile(Operation):
    """Delete the file.

    Its content stays in the history, so `undo` can restore it. `baseSha256` of the file, or a plan ID, proves
    that it is the file you saw. No other edit of the same file is allowed.
    """

    example: ClassVar[dict[str, object]] = {}
    needs_markdown: ClassVar = False
    file_effect: ClassVar[FileEffect] = "delete"

    op: Literal["delete_file"]

    @classmethod
    def file_already_satisfied(cls, edit: Mapping[str, Any], file: FileState) -> bool:
        """Return True if there is no such file."""
        del edit
        return file.data is None

    def resolve(self, outline: Outline) -> Resolution:
        """Return the deletion of all text."""
        whole = Span(0, len(outline.source.text))
        edits = (TextEdit(whole, ""),) if len(whole) else ()
        return Resolution(claims=(Claim(span=whole, owner=outline.sections[0].index),), edits=edits)
