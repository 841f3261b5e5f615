"""create_page: make a new page, with its entry in the navigation of the site."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, without_suffix
from mdplan.operations.base.fields import SectionHash
from mdplan.operations.base.new_file import NewFileOperation
from mdplan.text.source import Source


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
        "op": "create_page",
        "markdown": "# Descaling\n\nUse vinegar.\n",
        "navigation": "mkdocs.yml",
        "after": "Home",
    }
    example_file: ClassVar[str | None] = "docs/descaling.md"

    is_listed_page: ClassVar[bool] = True

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

    @model_validator(mode="after")
    def _check_place(self) -> "CreatePage":
        if self.before is not None and self.after is not None:
            raise ValueError("give one of before and after")
        return self

    @property
    def other_file(self) -> str | None:
        """The file that gets the entry."""
        return self.navigation

    @property
    def other_base_sha256(self) -> str | None:
        """The hash of that file."""
        return self.to_base_sha256

    def title_of(self, page: str) -> str:
        """Title of the entry for the file `page`."""
        if self.title is not None:
            return self.title
        outline = Outline(Source.from_text(self.markdown))
        found = outline.front_matter_content
        given = getattr(found, "values", {}).get("title")
        headings = [section.title for section in outline.headings if not section.nested]
        name = without_suffix(page.rpartition("/")[2], MARKDOWN_SUFFIXES)
        return given if isinstance(given, str) and given else next(iter(headings), name)
