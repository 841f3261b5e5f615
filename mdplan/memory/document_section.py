"""A section of a document in memory."""

from dataclasses import dataclass, field
from typing import Self

from mdplan import edits
from mdplan.edits import Edit
from mdplan.markdown.addresses import find_by_path
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section


@dataclass(frozen=True)
class DocumentSection:
    r"""One section: where it is and what it says; its methods collect edits of the document.

    Every edit means the section as it is in the document: renaming it first makes no difference to what
    comes after. Lines are 1-based and inclusive.

    >>> section = Document.from_text("# Guide\n\n## Install\n\nRun it.\n").section("Install")
    >>> section.path, section.level, section.start_line, section.end_line
    (('Guide', 'Install'), 2, 3, 5)
    >>> section.text
    '## Install\n\nRun it.\n'
    """

    outline: Outline = field(repr=False)
    found: Section = field(repr=False)
    collected: list[Edit] = field(repr=False, compare=False)

    @property
    def title(self) -> str:
        """Its heading as a reader sees it."""
        return self.found.title

    @property
    def path(self) -> tuple[str, ...]:
        """The headings that lead to it, outermost first, and its own."""
        return self.found.path

    @property
    def level(self) -> int:
        """The level of its heading, 1 to 6."""
        return self.found.level

    @property
    def id(self) -> str:
        """Its section ID."""
        return self.found.section_id

    @property
    def anchor(self) -> str | None:
        """The anchor that GitHub gives its heading, without ``#``."""
        return self.found.anchor

    @property
    def start_line(self) -> int:
        """The line of its heading."""
        return self.found.first_line

    @property
    def end_line(self) -> int:
        """Its last line, with its subsections."""
        return self.found.last_line

    @property
    def text(self) -> str:
        """All of it: heading, body and subsections."""
        return self.outline.text_of(self.found.span)

    @property
    def body(self) -> str:
        """What is between its heading and its first subsection."""
        return self.outline.text_of(self.found.body)

    @property
    def sha256(self) -> str:
        """The hash that guards an edit of it: `sectionSha256`."""
        return self.outline.section_sha256(self.found)

    @property
    def children(self) -> tuple["DocumentSection", ...]:
        """Its subsections, one level down."""
        found = self.outline.children(self.found)
        return tuple(DocumentSection(self.outline, each, self.collected) for each in found)

    def append(self, markdown: str) -> Self:
        """Add Markdown to its end, as `append_to_section` does."""
        return self._with(edits.AppendToSection(section=self.address, markdown=markdown))

    def prepend(self, markdown: str) -> Self:
        """Add Markdown below its heading, as `prepend_to_section` does."""
        return self._with(edits.PrependToSection(section=self.address, markdown=markdown))

    def replace(self, markdown: str) -> Self:
        """Replace it, as `replace_section` does."""
        return self._with(edits.ReplaceSection(section=self.address, markdown=markdown))

    def rename(self, title: str) -> Self:
        """Give its heading another text, as `rename_heading` does."""
        return self._with(edits.RenameHeading(section=self.address, new_title=title))

    def insert_before(self, markdown: str) -> Self:
        """Insert a section before it, as `insert_section` does."""
        return self._with(edits.InsertSection(section=self.address, position="before", markdown=markdown))

    def insert_after(self, markdown: str) -> Self:
        """Insert a section after it and its subsections, as `insert_section` does."""
        return self._with(edits.InsertSection(section=self.address, position="after", markdown=markdown))

    def delete(self) -> Self:
        """Delete it with its subsections, as `delete_section` does."""
        return self._with(edits.DeleteSection(section=self.address))

    @property
    def address(self) -> edits.Section:
        """What names it in an edit: its headings, or its ID where others have the same headings."""
        by_path = find_by_path(self.outline, self.path)
        return edits.Section(*self.path) if by_path is self.found else edits.Section(id=self.id)

    def __repr__(self) -> str:
        return f"<DocumentSection: {' > '.join(self.path)}, lines {self.start_line}-{self.end_line}>"

    def _with(self, edit: Edit) -> Self:
        self.collected.append(edit)
        return self
