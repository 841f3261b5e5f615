"""The outline of a document: its sections in order, and everything else that has a name in it."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

from mdplan.limits import DEFAULT_DOCUMENT_LIMITS, DocumentLimits
from mdplan.markdown.block_tree import BlockTree, lines_before, parse_blocks, reparse_blocks
from mdplan.markdown.blocks import BOX, Block, BlockKind, new_document, task_mark, with_deadline
from mdplan.markdown.enclosures import (
    NO_ENCLOSURES,
    Enclosures,
    HiddenText,
    find_enclosures,
    hidden_texts,
    without_hidden,
)
from mdplan.markdown.format_detection import FrontMatter, find_front_matter, unrecognised_front_matter
from mdplan.markdown.headings import (
    GITHUB,
    GITHUB_PREFIX,
    ID_PREFIX,
    PREAMBLE_ID,
    SlugStyle,
    anchors_in,
    canonical_names,
    other_slug,
)
from mdplan.markdown.sections import HtmlHeading, Section, SectionNames, html_headings, read_sections
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineEndView, LineHashes, Span
from mdplan.text.source import DocumentFormat, Source, sha256_hex
from mdplan.text.visible import composed

# Loaded on demand: a stat of a short file needs little of it.
if TYPE_CHECKING:
    from mdplan.data.content import DataContent
    from mdplan.markdown.front_matter import Unreadable
    from mdplan.markdown.inline import InlineMap
    from mdplan.markdown.lists import Lists
    from mdplan.markdown.tables import TableSource
    from mdplan.text.edit import EditList
    from mdplan.text.near_misses import FoldedText


_SHORT_HASH: Final = 16
# Pairs of spans (old, new) outside which the blocks are equal; None if everything was parsed.
_ChangedSpans = tuple[tuple[Span, Span], ...] | None
_Derived = TypeVar("_Derived")
_About = TypeVarTuple("_About")


class Outline:
    """The immutable sections, blocks and inline nodes of a `Source`; derived parts are computed on demand.

    - `sections`: the preamble and all top-level headings, in order.
    - `nested`: the headings in quotes and lists.
    - `headings`: both in document order; `in_order` adds the preamble.
    - `hidden`: comments and formulas, which contain no headings.
    - `content_end`: the end of the last section: the end of the text or the start of trailing link and
      footnote definitions, which belong to no section.
    - `html_headings`, `html_anchors`: headings in HTML and their anchors, if the site generates any.
    - `changed`: after edits, what was parsed again.

    In INI and plain text everything is the preamble.
    """

    tree: BlockTree
    changed: "_ChangedSpans"
    content_end: int
    hidden: tuple[HiddenText, ...]
    html_headings: tuple[HtmlHeading, ...]
    section_names: SectionNames
    in_order: tuple[Section, ...]
    html_anchors: Sequence[str]
    headings: tuple[Section, ...]
    nested: tuple[Section, ...]
    sections: tuple[Section, ...]

    def __init__(
        self,
        source: Source,
        format: DocumentFormat = DocumentFormat.MARKDOWN,  # noqa: A002
        limits: DocumentLimits = DEFAULT_DOCUMENT_LIMITS,
        *,
        is_mdx: bool = False,
        slugs: SlugStyle = GITHUB,
        before: "tuple[Outline, EditList] | None" = None,
    ) -> None:
        """Take `source` as `format`; its body is parsed when a part of it is first read.

        `is_mdx`: the file name says MDX; otherwise the text may. `slugs` is the style of anchors. Given an
        outline `before` and the edits since, only the changed parts are parsed.
        """
        self.source = source
        self.limits = limits
        self.format = format
        self.is_mdx = is_mdx
        self.slugs = slugs
        is_markdown = format is DocumentFormat.MARKDOWN
        self.front_matter: FrontMatter | None = find_front_matter(source.text) if is_markdown else None
        self.body_start = self.front_matter.span.end if self.front_matter else 0
        # True if edits changed only the front matter.
        self.keeps_body = before is not None and is_markdown and self._has_body_of(*before)
        self._before = before
        self._derived: dict[tuple[Any, ...], Any] = {}
        if before is not None and self.keeps_body:
            self.changed = ((Span(0, before[0].body_start), Span(0, self.body_start)),)
            if not before[0].is_parsed:
                # It is no help, and a long line of old outlines would stay in memory.
                self._before = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (the parts of the body)
        """Parse the body when the first of its parts is read. Edits of front matter read none."""
        if name not in Outline.__annotations__:
            raise AttributeError(name)
        self.parse()
        return getattr(self, name)

    @with_deadline
    def parse(self) -> None:
        """Parse the body."""
        before, is_markdown = self._before, self.format is DocumentFormat.MARKDOWN
        self.tree, changed = self._parse(before) if is_markdown else (BlockTree(""), None)
        if not self.keeps_body:
            self.changed = changed
        # Start of the trailing definitions, or the end of the text.
        if before is not None and self.ends_as_before:
            self.content_end = before[0].content_end + len(self.source.text) - len(before[0].source.text)
        else:
            self.content_end = self.tree.content_end if is_markdown else len(self.source.text)
        body = Span(self.body_start, max(self.content_end, self.body_start))
        # Multi-line comments and formulas; a ``#`` line in them is not a heading.
        self.hidden = hidden_texts(self.tree, self.body_start) if is_markdown else ()
        headings = without_hidden(self.tree.headings, self.hidden)
        if before is not None and not self.keeps_body and not _same_hidden(*before, self.hidden):
            self.changed = None
        self.html_headings = html_headings(self.tree, self.source.text) if self.slugs.has_html else ()
        self.section_names = (
            before[0].section_names.of(headings, self.html_headings)
            if before
            else SectionNames(headings, self.slugs, self.html_headings)
        )
        self.in_order, self.html_anchors = read_sections(headings, self.section_names, self.source, body)
        self.headings = self.in_order[1:]
        self.nested = tuple(section for section in self.headings if section.nested)
        self.sections = tuple(section for section in self.in_order if not section.nested)
        self._before = None

    @property
    def is_parsed(self) -> bool:
        """True if the body has been read."""
        return "sections" in vars(self)

    def edited(self, edits: "EditList", source: Source) -> "Outline":
        """Return the outline of `source`, the result of `edits` on this one."""
        return Outline(
            source, self.format, self.limits, is_mdx=self.is_mdx, slugs=self.slugs, before=(self, edits)
        )

    def _has_body_of(self, old: "Outline", edits: "EditList") -> bool:
        is_before = bool(edits.edits) and edits.edits[-1].span.end <= old.body_start
        return is_before and self.source.text[self.body_start :] == old.source.text[old.body_start :]

    def _parse(self, before: "tuple[Outline, EditList] | None") -> "tuple[BlockTree, _ChangedSpans]":
        text, lines = self.source.text, self.source.lines
        if before is None:
            new_document()
            return parse_blocks(text, lines, self.body_start), None
        old, edits = before
        if self.keeps_body and not old.tree.is_reference:
            return old.tree.moved(text, self.body_start, lines_before(text, lines, self.body_start)), None
        return reparse_blocks(old.tree, edits, text, lines, self.body_start)

    def derived(self, make: Callable[["Outline", *_About], _Derived], *about: *_About) -> _Derived:
        """Return `make(outline, *about)`, computed once per outline."""
        key = make, *about
        if key not in self._derived:
            self._derived[key] = make(self, *about)
        value: _Derived = self._derived[key]
        return value

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks in document order."""
        return self.tree.blocks

    @cached_property
    def inline(self) -> "InlineMap":
        """Inline nodes with their spans."""
        from mdplan.markdown.inline import InlineMap

        return InlineMap(self.tree)

    @cached_property
    def tables(self) -> "tuple[TableSource, ...]":
        """Tables of any depth, in document order."""
        from mdplan.markdown.tables import read_tables

        return read_tables(self.tree, self.source.lines, self.enclosures)

    def tables_in(self, span: Span) -> "tuple[TableSource, ...]":
        """Return the tables that start in `span`, in document order."""
        return tuple(table for table in self.tables if span.start <= table.block.span.start < span.end)

    @cached_property
    def lists(self) -> "Lists":
        """Lists of any depth."""
        from mdplan.markdown.lists import Lists

        return Lists(self.tree, self.source.lines, self.enclosures)

    @cached_property
    def enclosures(self) -> Enclosures:
        """Text between site tags that Markdown does not know."""
        if self.format is not DocumentFormat.MARKDOWN:
            return NO_ENCLOSURES
        return find_enclosures(self.tree, self.source.lines, self.body_start, self.hidden)

    @cached_property
    def unrecognised_front_matter(self) -> int | None:
        """The offset of text that only looks like front matter, or None."""
        is_candidate = self.format is DocumentFormat.MARKDOWN and self.front_matter is None
        return unrecognised_front_matter(self.source.text) if is_candidate else None

    @cached_property
    def front_matter_content(self) -> "DataContent | Unreadable | None":
        """The parsed front matter, or None."""
        if self.front_matter is None:
            return None
        from mdplan.markdown.front_matter import content_of

        return content_of(self.source.text, self.front_matter, self.limits.front_matter_characters)

    @cached_property
    def line_hashes(self) -> "LineHashes":
        """Short line hashes, which verify addresses such as ``12:a3f``."""
        return LineHashes(self.source.lines)

    @cached_property
    def view(self) -> "LineEndView":
        """The text with LF newlines, as patterns see it."""
        return LineEndView(self.source.text, self.source.lines)

    @cached_property
    def folded(self) -> "FoldedText":
        """The view prepared for near-miss search."""
        from mdplan.text.near_misses import FoldedText

        return FoldedText(self.view.text)

    def with_digits(self, prefix: str) -> list[Section]:
        """Return the sections whose IDs start with the lower-case hex digits `prefix`, nested ones last."""
        name = ID_PREFIX + prefix
        if name in self._by_id:
            return [self._by_id[name]]
        first, end = (bisect_left(self._sorted_ids, bound) for bound in (name, name + "g"))
        sections = map(self._by_id.__getitem__, self._sorted_ids[first:end])
        return sorted(sections, key=lambda section: (section.nested, section.span))

    @cached_property
    def _by_id(self) -> dict[str, Section]:
        return {section.section_id: section for section in self.in_order}

    @cached_property
    def _sorted_ids(self) -> list[str]:
        return sorted(self._by_id)

    def named(self, leaf: str, parent: str | None = None) -> tuple[Section, ...]:
        """Return the sections with the canonical heading `leaf`, optionally below a heading `parent`.

        The preamble's heading is empty. Nested sections come last.
        """
        sections = tuple(self._by_heading.get((parent, leaf), ()))
        return (self.sections[0], *sections) if not leaf and parent is None else sections

    @cached_property
    def _by_heading(self) -> dict[tuple[str | None, str], list[Section]]:
        """Sections by (None, heading) and by (parent's heading, heading), in canonical form."""
        index: defaultdict[tuple[str | None, str], list[Section]] = defaultdict(list)
        for section in (*self.sections[1:], *self.nested):
            above = canonical_names(section.path[-2]) if section.parent else ()
            for leaf in canonical_names(section.title):
                for parent in (None, *above):
                    index[parent, leaf].append(section)
        return index

    def with_anchor(self, anchor: str) -> Section | None:
        """Return the section whose heading or anchor line has `anchor`.

        If there is none, return the heading that has it on GitHub.
        """
        return self._by_anchor.get(anchor) or self._by_anchor.get(composed(anchor))

    @cached_property
    def _by_anchor(self) -> dict[str, Section]:
        """Sections by anchor: of the first heading, of anchor lines above headings, on GitHub."""
        # The first heading with an explicit anchor wins.
        by_anchor: dict[str, Section] = {}
        for section in reversed(self.headings):
            by_anchor |= {slug: section} if (slug := other_slug(section.title)) else {}
        for section in reversed(self.sections):
            above = self.text_of(Span(section.span.start, section.heading_start))
            by_anchor |= dict.fromkeys(anchors_in(above), section) if above else {}
        for name in (composed, str):
            by_anchor |= {
                name(section.anchor): section for section in reversed(self.headings) if section.anchor
            }
        return by_anchor

    @cached_property
    def with_prefix(self) -> list[Section]:
        """Sections whose anchor starts with GitHub's prefix."""
        return [section for section in self.headings if (section.anchor or "").startswith(GITHUB_PREFIX)]

    @property
    def repeated(self) -> list[Section]:
        """All sections with duplicate paths, in document order."""
        return [section for section in self.headings if section.repeats > 1]

    @property
    def heading_names(self) -> list[str]:
        """Canonical headings, deduplicated."""
        return [leaf for parent, leaf in self._by_heading if parent is None and leaf]

    @property
    def anchors(self) -> Collection[str]:
        """Anchors of headings, deduplicated."""
        return dict.fromkeys(section.anchor for section in self.headings if section.anchor)

    def sections_in_html(self) -> Iterator[Section]:
        """Yield the headings in HTML as nested sections."""
        for heading, anchor in zip(self.html_headings, self.html_anchors, strict=True):
            span, line = Span(heading.start, heading.start), self.source.lines.line_at(heading.start)
            title = " ".join(heading.text.split())
            names = (heading.level, title, (title,), PREAMBLE_ID, 1, 1, anchor)
            yield Section(None, 0, *names, span, span, line, line, 0, nested=True)

    def parent(self, section: Section) -> Section | None:
        """Return the parent section; None for the preamble."""
        return None if section.parent is None else self.sections[section.parent]

    def every_section(self) -> Iterator[Section]:
        """Yield top-level sections, then nested headings."""
        yield from self.sections
        yield from self.nested

    @cached_property
    def heading_starts(self) -> list[int]:
        """The start of each of `headings`."""
        return [section.heading_start for section in self.headings]

    def heading_at(self, offset: int | None) -> Section | None:
        """Return the heading that starts at `offset`."""
        headings = () if offset is None else self.headings_in(Span(offset, offset + 1))
        return next(iter(headings), None)

    def headings_in(self, span: Span) -> tuple[Section, ...]:
        """Return the `headings` that start in `span`."""
        if span.end <= self.body_start:
            return ()
        start, end = (bisect_left(self.heading_starts, offset) for offset in (span.start, span.end))
        return self.headings[start:end]

    def children(self, section: Section) -> Iterator[Section]:
        """Yield the direct subsections of `section`, in order."""
        if section.nested:
            return
        for index in range(section.index + 1, len(self.sections)):
            other = self.sections[index]
            if not section.is_root and other.span.start >= section.span.end:
                return
            if other.parent == section.index:
                yield other

    def members(self, section: Section) -> range:
        """Return the indexes of `section` and all its descendants."""
        if section.is_root:
            return range(len(self.sections))
        return range(section.index, bisect_left(self._starts, section.span.end, section.index))

    def section_at(self, offset: int) -> Section:
        """Return the innermost top-level section that contains `offset`."""
        return self.sections[max(bisect_right(self._starts, offset) - 1, 0)]

    def section_id_at(self, offset: int) -> str:
        """Return the ID of the innermost top-level section that contains `offset`."""
        return PREAMBLE_ID if offset < self.body_start else self.section_at(offset).section_id

    def text_of(self, span: Span) -> str:
        """Return the text of `span`."""
        return self.source.text[span.start : span.end]

    def heading_span(self, section: Section) -> Span:
        """Return the span of the heading of `section` without its last newline."""
        text, start, end = self.source.text, section.heading_start, section.heading_end
        end -= text.endswith("\n", start, end)
        end -= text.endswith("\r", start, end)
        return Span(start, end)

    def section_sha256(self, section: Section) -> str:
        """Return the first 16 hex digits of the SHA-256 of the whole section's bytes."""
        return self._sha256(section.span)[:_SHORT_HASH]

    def body_sha256(self, section: Section) -> str:
        """Return the first 16 hex digits of the SHA-256 of the section's own body."""
        return self._sha256(section.body)[:_SHORT_HASH]

    def hashed_part(self, section: Section, expected: str) -> Span | None:
        """Return the span of `section` or its body, whichever has the hash `expected`; else None.

        `expected` has at least 16 hex digits.
        """
        spans = (section.span, section.body)
        return next((span for span in spans if self._sha256(span).startswith(expected.lower())), None)

    def own_hashes(self) -> dict[str, str]:
        """Return the hash of each top-level section's heading and body, by section ID."""
        # Each section ends where the next one starts.
        offsets = self.source.byte_offsets([*self._starts, self.sections[-1].body.end])
        data = memoryview(self.source.data)
        return {
            section.section_id: sha256_hex(data[start:stop])[:_SHORT_HASH]
            for section, (start, stop) in zip(self.sections, pairwise(offsets), strict=True)
        }

    def _sha256(self, span: Span) -> str:
        return sha256_hex(self.source.bytes_of(span))

    @cached_property
    def _starts(self) -> list[int]:
        return [section.span.start for section in self.sections]

    @property
    def ends_as_before(self) -> bool:
        """True if edits elsewhere left the last part, which starts with a heading, unchanged."""
        if self.keeps_body or not self.changed or not self.tree.part_headings:
            return self.keeps_body
        return self.changed[-1][1].end <= self.tree.part_headings[-1].span.start


def of_source(outline: Outline, read: Callable[[Source], _Derived]) -> _Derived:
    """Return `read(source)` for another format, such as INI."""
    return read(outline.source)


# --- Code blocks, tables and tasks of a document

_LANGUAGE: Final = lazy_pattern(r"\{?[.=]?([^\s{},:\[]+)")
_SPACES: Final = lazy_pattern(r"[ \t]+")
_BOX: Final = lazy_pattern(BOX)


def _same_hidden(old: Outline, edits: "EditList", hidden: tuple[HiddenText, ...]) -> bool:
    """Return True if `edits` only shift the hidden texts of `old`, so the same headings are hidden."""
    moved = (
        (text.sign, edits.map_offset(text.span.start, after=True), edits.map_offset(text.span.end))
        for text in old.hidden
    )
    return list(moved) == [(text.sign, text.span.start, text.span.end) for text in hidden]


def find_code_blocks(outline: Outline) -> Iterator[tuple[Block, int | None]]:
    """Yield all code blocks in document order, the fenced ones with their 0-based indexes."""
    index = count()
    for block in outline.tree.of_kinds(BlockKind.FENCE, BlockKind.INDENTED_CODE):
        yield block, next(index) if block.kind is BlockKind.FENCE else None


def find_tables(outline: Outline) -> list[Block]:
    """Return all tables in document order, as they end on sites."""
    from mdplan.markdown.tables import without_marks

    lines, enclosures = outline.source.lines, outline.enclosures
    return [without_marks(table, lines, enclosures) for table in outline.tree.of_kinds(BlockKind.TABLE)]


def find_tasks(outline: Outline) -> Iterator[tuple[Block, str]]:
    """Yield all items whose first paragraph starts with a box (GFM, section 5.3), and what is in it."""
    for item, first in pairwise(outline.tree.containing(_BOX)):
        if item.kind is BlockKind.LIST_ITEM and first.depth == item.depth + 1:
            mark = task_mark(first, outline.source.text)
            if mark is not None:
                yield item, mark


def fence_language(fence: Block) -> str | None:
    """Return the first word of the info string of `fence` (CommonMark 0.31.2, section 4.5)."""
    info = fence.content.strip(" \t")
    if "\\" in info or "&" in info:
        from markdown_it.common.utils import unescapeAll

        info = unescapeAll(info)
    return _SPACES.split(info, maxsplit=1)[0] or None


def has_language(language: str | None, name: str) -> bool:
    """Return True if `language` equals `name`, verbatim or ignoring case and attributes.

    Attributes are those of Docusaurus and VuePress (`js{1,2}`), R Markdown and Quarto (`{r}`, `{r, echo=F}`),
    and Pandoc (`{.r}`).
    """
    if language is None or language == name:
        return language == name
    return _plain_language(language) == _plain_language(name)


def _plain_language(language: str) -> str:
    match = _LANGUAGE.match(language)
    return match[1].casefold() if match else language.casefold()
