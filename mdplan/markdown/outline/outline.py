"""The outline of a document: every section in order, and what else can be named in it."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar
from unicodedata import normalize

from mdplan.markdown.blocks.blocks import Block, BlockKind, BlockTree, edited_blocks, parse_blocks
from mdplan.markdown.blocks.document_parts import ReferenceParts
from mdplan.markdown.blocks.heading_attributes import attribute_lines, id_of_attributes
from mdplan.markdown.blocks.parse_time import new_document, with_deadline
from mdplan.markdown.front_matter.block import FrontMatter, find_front_matter
from mdplan.markdown.outline.heading_tree import HeadingTree
from mdplan.markdown.outline.section import Section
from mdplan.markdown.outline.sections import Sections, SectionTable
from mdplan.markdown.section_id import ID_PREFIX
from mdplan.text.document_format import DocumentFormat
from mdplan.text.document_limits import DEFAULT_DOCUMENT_LIMITS, DocumentLimits
from mdplan.text.lines import LineIndex
from mdplan.text.source import Source, sha256_hex
from mdplan.text.span import Span

# What is derived on demand is loaded on demand: a stat of a short file needs little of it.
if TYPE_CHECKING:
    from mdplan.markdown.blocks.rescan import Rescan
    from mdplan.markdown.elements.lists import Lists
    from mdplan.markdown.elements.tables import TableSource
    from mdplan.markdown.front_matter.values import FrontMatterContent, Unreadable
    from mdplan.markdown.inline.inline_nodes import InlineMap
    from mdplan.markdown.outline.region import Regions
    from mdplan.text.edit import EditList
    from mdplan.text.line_end_view import LineEndView
    from mdplan.text.search.folded_text import FoldedText
    from mdplan.text.search.similar_names import NameIndex

_DEFINITIONS: Final = frozenset({BlockKind.DEFINITION, BlockKind.FOOTNOTE})
_SHORT_HASH: Final = 16
_Derived = TypeVar("_Derived")


class Outline:
    """Sections, blocks and inline nodes of one `Source`. Never changes; derived parts are made on demand.

    `sections` starts with the preamble and holds every top-level heading in order. `nested` holds headings
    inside of quotes and lists; `headings` has both in document order, and `in_order` the preamble before
    them. Each section is made when it is looked at. `content_end` is where the last section ends: the end of
    the text, or the start of a trailing run of link-reference and footnote definitions, which belongs to no
    section.

    INI and plain text have neither front matter nor blocks nor inline nodes: all of it is the preamble.
    """

    @with_deadline
    def __init__(
        self,
        source: Source,
        format: DocumentFormat = DocumentFormat.MARKDOWN,  # noqa: A002
        limits: DocumentLimits = DEFAULT_DOCUMENT_LIMITS,
        *,
        before: "tuple[Outline, EditList] | None" = None,
    ) -> None:
        """Parse `source` once, as what `format` says; `limits` hold for all that is done with it.

        With an outline `before` it and the edits between them, only what is around these is parsed.
        """
        self.source = source
        self.limits = limits
        self.format = format
        is_markdown = format is DocumentFormat.MARKDOWN
        self.front_matter: FrontMatter | None = find_front_matter(source.text) if is_markdown else None
        self.body_start = self.front_matter.span.end if self.front_matter else 0
        self.rescan: Rescan | None = None
        self.tree = self._parse(before) if is_markdown else BlockTree(ReferenceParts(()))
        self.content_end = self._content_end()
        # What heading paths name: `heading_path` notes it, so that many edits by one path look once.
        self.named_sections: dict[tuple[str, ...], tuple[Section, ...]] = {}
        # Its regions, which `find_regions` notes for the same reason.
        self.regions: Regions | None = None
        # Anchors that HTML names and where, which `targets` notes.
        self.explicit_anchors: tuple[tuple[str, Span], ...] | None = None
        body = Span(self.body_start, max(self.content_end, self.body_start))
        rows, known = self.tree.heading_rows, before[0].heading_tree if before else None
        tails = attribute_lines(rows.texts.depths, rows.ends, source.text)
        ids = {
            number: own_id
            for number, end in tails.items()
            if (own_id := id_of_attributes(source.text[rows.ends[number] : end]))
        }
        is_known = known is not None and known.texts.is_like(rows.texts) and known.ids == ids
        self.heading_tree: HeadingTree = known if known and is_known else HeadingTree(rows.texts, ids)
        tree = self.heading_tree
        self._table = SectionTable(rows, tree, source, body, tails)
        self.sections = Sections(self._table, tree.tops, has_preamble=True)
        self.nested = Sections(self._table, tree.nested, has_preamble=False)
        self.headings = Sections(self._table, range(len(rows)), has_preamble=False)
        self.in_order = Sections(self._table, range(len(rows)), has_preamble=True)
        self._derived: dict[Callable[[Source], Any], Any] = {}
        self._latest: tuple[Hashable, Any] | None = None

    def edited(self, edits: "EditList", source: Source) -> "Outline":
        """Outline of `source`, which `edits` made of this one's."""
        return Outline(source, self.format, self.limits, before=(self, edits))

    @property
    def changed(self) -> tuple[tuple[Span, Span], ...] | None:
        """Pieces of the outline before and of this one, in order; outside of them both have the same blocks.

        None where all of it was parsed.
        """
        if self.rescan is None:
            return None
        length = len(self.source.text)
        return tuple((old, Span(new.start, min(new.end, length))) for old, new in self.rescan.scanned)

    def _parse(self, before: "tuple[Outline, EditList] | None") -> BlockTree:
        text, lines = self.source.text, self.source.lines
        if before is None:
            new_document()
            return parse_blocks(text, lines, self.body_start)
        tree, self.rescan = edited_blocks(before[0].tree, before[1], text, lines, self.body_start)
        return tree

    def derived(self, make: Callable[[Source], _Derived]) -> _Derived:
        """What `make` gives for the source, made once: a structure of another format, such as INI."""
        if make not in self._derived:
            self._derived[make] = make(self.source)
        found: _Derived = self._derived[make]
        return found

    def latest(self, key: Hashable, make: Callable[[], _Derived]) -> _Derived:
        """What `make` gives for `key`, which tells all that it depends on besides; kept for the next call."""
        known = self._latest
        if known is None or known[0] != key:
            # One assignment, so that threads find a key with what belongs to it.
            self._latest = known = (key, make())
        found: _Derived = known[1]
        return found

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks in document order."""
        return self.tree.blocks

    @cached_property
    def inline(self) -> "InlineMap":
        """Inline nodes with their spans."""
        from mdplan.markdown.inline.inline_nodes import InlineMap

        if self.format is not DocumentFormat.MARKDOWN:
            return InlineMap("", LineIndex(""))
        return InlineMap(self.source.text, self.source.lines, self.body_start, self.tree)

    @cached_property
    def tables(self) -> "tuple[TableSource, ...]":
        """Tables of every depth, in document order."""
        from mdplan.markdown.elements.tables import read_tables

        return read_tables(self.tree, self.source.text, self.source.lines)

    def tables_in(self, span: Span) -> "tuple[TableSource, ...]":
        """Tables that start in `span`, in document order."""
        first, end = (bisect_left(self._table_starts, offset) for offset in (span.start, span.end))
        return self.tables[first:end]

    @cached_property
    def _table_starts(self) -> list[int]:
        return [table.block.span.start for table in self.tables]

    @cached_property
    def lists(self) -> "Lists":
        """Lists of every depth."""
        from mdplan.markdown.elements.lists import Lists

        return Lists(self.tree, self.source.text, self.source.lines)

    @cached_property
    def front_matter_content(self) -> "FrontMatterContent | Unreadable | None":
        """What the front matter says; None where there is none."""
        if self.front_matter is None:
            return None
        from mdplan.markdown.front_matter.values import content_of

        return content_of(self.source.text, self.front_matter, self.limits.front_matter_characters)

    @cached_property
    def view(self) -> "LineEndView":
        """The text as patterns see it, with LF line ends."""
        from mdplan.text.line_end_view import LineEndView

        return LineEndView(self.source.text, self.source.lines)

    @cached_property
    def folded(self) -> "FoldedText":
        """The same view, in which texts that were not found are looked for once more."""
        from mdplan.text.search.folded_text import FoldedText

        return FoldedText(self.view.text)

    def with_digits(self, prefix: str) -> list[Section]:
        """Sections whose IDs begin with the lower-case hex digits `prefix`, in document order."""
        preamble = self._table.preamble
        found = [preamble] if preamble.section_id.startswith(prefix, len(ID_PREFIX)) else []
        return found + [self._table.section(number) for number in self.heading_tree.with_digits(prefix)]

    def named(self, leaf: str, parent: str | None = None) -> tuple[Section, ...]:
        """Sections of the canonical heading `leaf`, below one of the canonical heading `parent` if given.

        The preamble has the empty one. Nested sections stand behind others.
        """
        found = tuple(map(self._table.section, self.heading_tree.by_heading.get((parent, leaf), ())))
        return (self._table.preamble, *found) if not leaf and parent is None else found

    def with_anchor(self, anchor: str) -> Section | None:
        """Section whose heading has `anchor`, or whose anchor lines name it."""
        tree = self.heading_tree
        number = tree.by_anchor.get(anchor)
        if number is None and not anchor.isascii():
            number = tree.by_composed_anchor.get(normalize("NFC", anchor))
        if number is None:
            number = self._table.by_lead.get(anchor)
        return None if number is None else self._table.section(number)

    @property
    def lead_spans(self) -> list[Span]:
        """The anchor lines above headings, in order."""
        return self._table.lead_spans

    def formerly_with_digits(self, prefix: str) -> list[Section]:
        """Sections whose IDs began so while attributes such as `{#id}` were text of their headings."""
        return [self._table.section(number) for number in self.heading_tree.with_former_digits(prefix)]

    @property
    def anchors(self) -> Sequence[str]:
        """Anchors that the `headings` generate; some may be empty."""
        return self.heading_tree.anchors

    @property
    def repeated(self) -> list[Section]:
        """Sections of equal paths, all of them, in document order."""
        return [self._table.section(number) for number in self.heading_tree.repeated()]

    @cached_property
    def heading_names(self) -> "NameIndex":
        """Canonical headings, among which the nearest is found."""
        from mdplan.text.search.similar_names import NameIndex

        return NameIndex(leaf for parent, leaf in self.heading_tree.by_heading if parent is None and leaf)

    @cached_property
    def anchor_names(self) -> "NameIndex":
        """Anchors of headings, among which the nearest is found."""
        from mdplan.text.search.similar_names import NameIndex

        return NameIndex(self.heading_tree.by_anchor)

    def parent(self, section: Section) -> Section | None:
        """Section around `section`; None for the preamble."""
        return None if section.parent is None else self.sections[section.parent]

    def every_section(self) -> Iterator[Section]:
        """Top-level sections first, then nested headings."""
        yield from self.sections
        yield from self.nested

    @property
    def heading_starts(self) -> Sequence[int]:
        """Where each of `headings` starts."""
        return self._table.rows.starts

    def heading_at(self, offset: int | None) -> Section | None:
        """The one of `headings` that starts at `offset`."""
        number = None if offset is None else self._table.number_at(offset)
        return None if number is None else self._table.section(number)

    def headings_in(self, span: Span) -> tuple[Section, ...]:
        """Those of `headings` that start in `span`."""
        start, end = (bisect_left(self.heading_starts, offset) for offset in (span.start, span.end))
        return self.headings[start:end]

    def children(self, section: Section) -> Iterator[Section]:
        """Direct subsections of `section`, in order."""
        if section.nested:
            return
        for index in range(section.index + 1, len(self.sections)):
            other = self.sections[index]
            if not section.is_root and other.span.start >= section.span.end:
                return
            if other.parent == section.index:
                yield other

    def members(self, section: Section) -> range:
        """Indexes of `section` and of all sections inside of it."""
        if section.is_root:
            return range(len(self.sections))
        return range(section.index, bisect_left(self._starts, section.span.end, section.index))

    def section_at(self, offset: int) -> Section:
        """Innermost top-level section that holds `offset`."""
        return self.sections[max(bisect_right(self._starts, offset) - 1, 0)]

    def text_of(self, span: Span) -> str:
        """Text of `span`."""
        return self.source.text[span.start : span.end]

    def heading_span(self, section: Section) -> Span:
        """The lines of the heading of `section` without the line end of the last."""
        text, start, end = self.source.text, section.heading_start, section.heading_end
        end -= text.endswith("\n", start, end)
        end -= text.endswith("\r", start, end)
        return Span(start, end)

    def section_sha256(self, section: Section) -> str:
        """First 16 hex digits of SHA-256 over the bytes of the whole section."""
        return self._sha256(section.span)[:_SHORT_HASH]

    def body_sha256(self, section: Section) -> str:
        """The same of its own body."""
        return self._sha256(section.body)[:_SHORT_HASH]

    def hashed_part(self, section: Section, expected: str) -> Span | None:
        """What of `section` has the hash `expected` (16 hex digits or more): all of it, else its own body."""
        for span in (section.span, section.body):
            if self._sha256(span).startswith(expected.lower()):
                return span
        return None

    def own_hashes(self) -> dict[str, str]:
        """Hash of each top-level section's own text, heading and body, by section ID."""
        # Who only looks does not ask for all of them.
        from hashlib import sha256

        table, tops = self._table, self.heading_tree.tops
        # Each ends where the next one starts.
        end = table.body_end(tops[-1]) if tops else table.preamble.span.end
        places = self.source.byte_offsets([*self._starts, end])
        data = memoryview(self.source.data)
        ids = (table.preamble.section_id, *map(self.heading_tree.section_id, tops))
        return {
            section_id: sha256(data[start:stop]).hexdigest()[:_SHORT_HASH]
            for section_id, (start, stop) in zip(ids, pairwise(places), strict=True)
        }

    def _sha256(self, span: Span) -> str:
        return sha256_hex(self.source.bytes_of(span))

    @cached_property
    def _starts(self) -> list[int]:
        return self._table.starts

    def _content_end(self) -> int:
        """Start of the trailing run of definitions, or the end of the text."""
        end = len(self.source.text)
        for block in self.tree.roots_backwards():
            if block.kind not in _DEFINITIONS:
                break
            end = block.span.start
        return end
