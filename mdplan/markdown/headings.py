"""Headings: their anchors on GitHub and on sites, plain text, source lines, levels and section IDs."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import lru_cache
from itertools import dropwhile, pairwise
from typing import Final, NewType

from mdplan.markdown.block_tree import parse_blocks
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.parser import Event, ParserFailure, comments_before, event_batches, marks_behind
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineIndex, Span
from mdplan.text.source import Source, sha256_hex
from mdplan.values import Struct

# GitHub keeps letters, marks, decimal digits, connector punctuation, hyphens and spaces.
_DROPPED_ASCII: Final = lazy_pattern(r"[^A-Za-z0-9_\- ]")
_GITHUB: Final = r"[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\- ]"

# What goldmark and Markdig keep: marks are no letters to them.
_LETTERS_AND_DIGITS: Final = r"[^\p{L}\p{Nd}_\- ]"

# Code, escapes, and elsewhere hyphens, and with dots also an ellipsis.
_DASHES: Final = lazy_pattern(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|\\.|(?P<smart>---?)")
_SMART: Final = lazy_pattern(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|\\.|(?P<smart>---?|\.\.\.)")

# @mdit-vue/shared, `slugify`.
_VUE_ACCENTS: Final = lazy_pattern(r"[\u0300-\u036f\x00-\x1f]")
_VUE_SPECIAL: Final = lazy_pattern(r"(?:[^\S\x85]|[\ufeff~`!@#$%^&*()\-_+=\[\]{}|\\;:\"'“”‘’<>,.?/])+")  # noqa: RUF001 (quotes)

# Python-Markdown and its extensions.
_NO_WORD: Final = lazy_pattern(r"[^\w\s-]")
_TAG: Final = lazy_pattern(r"</?[^>]*>")
_BLANKS: Final = lazy_pattern(r"[-\s]+")
_COUNTED: Final = lazy_pattern(r"(.*)_([0-9]+)", re.DOTALL)
_LAST_BMP: Final = "\uffff"


class OwnIds(Enum):
    """Which IDs that headings give themselves are taken for the slugs of others."""

    NONE = auto()
    ABOVE = auto()
    ALL = auto()


class SlugStyle(Struct):
    """How anchors of headings are made: `slug` of the rendered title, then a suffix where that is taken.

    `prepared` changes the raw inline text of a heading before that is rendered. With `has_images` the
    alternative text of images is a part of the title. `fallback` takes the place of an empty slug.
    `is_counted_up` says that a suffix is ``_1``, and that one more is added to one that is there; `has_html`
    that headings in HTML get anchors too.
    """

    slug: Callable[[str], str]
    has_images: bool = False
    prepared: Callable[[str], str] = str
    own_ids: OwnIds = OwnIds.NONE
    fallback: str = ""
    is_counted_up: bool = False
    has_html: bool = False

    def anchors(self, titles: Iterable[str], ids: Iterable[str]) -> Iterator[str]:
        """Yield the anchor of each heading: its own one of `ids` unless that is empty, else a slug.

        `titles` are all rendered titles of a document in order.
        """
        own = list(ids)
        taken: set[str] = set(own) if self.own_ids is OwnIds.ALL else set()
        repeats: dict[str, int] = {}
        for title, own_id in zip(titles, own, strict=True):
            if own_id:
                taken |= {own_id} if self.own_ids is OwnIds.ABOVE else set()
                yield own_id
                continue
            slug = self.slug(title) or self.fallback
            anchor = slug
            while anchor in taken or (self.is_counted_up and not anchor):
                repeats[slug] = repeats.get(slug, 0) + 1
                anchor = self._repeated(slug, repeats[slug])
            taken.add(anchor)
            yield anchor

    def _repeated(self, slug: str, count: int) -> str:
        """Return the anchor of the `count`-th repetition of `slug`."""
        if not self.is_counted_up:
            return f"{slug}-{count}"
        counted = _COUNTED.fullmatch(slug)
        base, start = (counted[1], int(counted[2])) if counted else (slug, 0)
        return f"{base}_{start + count}"


@lru_cache(maxsize=4096)
def heading_slug(title: str) -> str:
    """Return GitHub's slug of one rendered heading, without the suffix of a repeated one."""
    return _kept(title.lower(), _GITHUB)


def other_slug(title: str) -> str | None:
    """Return the slug on GitHub of the heading `title` if it has attributes, which GitHub takes for text."""
    return heading_slug(title) if "{" in title and "{" in marks_behind(title) else None


def _goldmark_text(content: str) -> str:
    """Goldmark takes the last line of a heading; hyphens that Hugo makes dashes of go."""
    line = content.rsplit("\n", maxsplit=1)[-1]
    return _DASHES.sub(lambda match: "" if match["smart"] else match[0], line)


def _pandoc_text(content: str) -> str:
    """Pandoc makes dashes and an ellipsis of hyphens and dots."""
    return _SMART.sub(lambda match: "" if match["smart"] else match[0], content)


def _pandoc(title: str) -> str:
    kept = (letter for letter in _lowered(title) if letter.isalnum() or letter.isspace() or letter in "_-.")
    return "".join(dropwhile(lambda letter: not letter.isalpha(), "-".join("".join(kept).split())))


def _goldmark(title: str) -> str:
    return _lowered(_kept(title.strip(), _LETTERS_AND_DIGITS))


def _markdig(title: str) -> str:
    # It looks at UTF-16 code units, of which those of a pair are no letters.
    return _lowered(
        _kept("".join(character for character in title if character <= _LAST_BMP), _LETTERS_AND_DIGITS)
    )


def _vue(title: str) -> str:
    plain = _VUE_ACCENTS.sub("", unicodedata.normalize("NFKD", title))
    slug = _VUE_SPECIAL.sub("-", plain).strip("-")
    return (f"_{slug}" if "0" <= slug[:1] <= "9" else slug).lower()


def _python_markdown(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii")
    return _python_markdown_unicode(plain)


def _python_markdown_unicode(title: str) -> str:
    return _BLANKS.sub("-", _NO_WORD.sub("", " ".join(title.split())).strip().lower())


def _pymdownx(title: str) -> str:
    # What looks like a tag in code goes too.
    text = _TAG.sub("", unicodedata.normalize("NFC", " ".join(title.split()))).strip()
    return _NO_WORD.sub("", text.lower()).replace(" ", "-")


def _kept(title: str, dropped: str) -> str:
    """Return `title` without what the pattern `dropped` matches, and with hyphens for spaces."""
    if title.isascii():
        return _DROPPED_ASCII.sub("", title).replace(" ", "-")
    # Python's own patterns cannot name these classes of characters: `\w` has no marks, and has `²`.
    import regex

    return regex.sub(dropped, "", title).replace(" ", "-")


def _lowered(title: str) -> str:
    """Return `title` in lower case, character by character."""
    return title.lower() if title.isascii() else "".join(character.lower()[0] for character in title)


GITHUB: Final = SlugStyle(heading_slug, has_html=True)

STYLES: Final[Mapping[str, SlugStyle]] = {
    "docfx": SlugStyle(_markdig, has_images=True, fallback="section"),
    "docusaurus": SlugStyle(heading_slug, has_images=True),
    "github": GITHUB,
    "hugo": SlugStyle(
        _goldmark, has_images=True, prepared=_goldmark_text, own_ids=OwnIds.ABOVE, fallback="heading"
    ),
    "pandoc": SlugStyle(
        _pandoc, has_images=True, prepared=_pandoc_text, own_ids=OwnIds.ABOVE, fallback="section"
    ),
    "pymdownx": SlugStyle(_pymdownx, own_ids=OwnIds.ALL, is_counted_up=True),
    "python-markdown": SlugStyle(_python_markdown, own_ids=OwnIds.ALL, is_counted_up=True),
    "python-markdown-unicode": SlugStyle(_python_markdown_unicode, own_ids=OwnIds.ALL, is_counted_up=True),
    "vitepress": SlugStyle(_vue, own_ids=OwnIds.ABOVE),
}


# --- Anchors

# What GitHub puts before all anchors, and takes off what links to them.
GITHUB_PREFIX: Final = "user-content-"


class Anchor(Struct):
    """A place that ``#id`` links to. `line` is 1-based; `explicit` when HTML names it."""

    id: str
    line: int
    explicit: bool


# --- Lines that hold only anchors: above a heading they name it, and belong to its section

# The last code points of such lines, and how far before a heading they mostly are.
_ENDS: Final = (">", "=", "}")
_NEAR: Final = 6
_VALUE: Final = r"""(?:"[^"\r\n]*+"|'[^'\r\n]*+'|[^\s"'=<>`]++)"""
_ATTRIBUTE: Final = lazy_pattern(rf"[ \t]++(?P<name>[A-Za-z_:][\w:.-]*+)(?:[ \t]*+=[ \t]*+{_VALUE})?+")
_ATTRIBUTES: Final = rf"(?:[ \t]++[A-Za-z_:][\w:.-]*+(?:[ \t]*+=[ \t]*+{_VALUE})?+)*+"

# An element without content, or the opening tag of a link alone, as older documents have it; sites in MDX
# have a component for it.
_HTML: Final = lazy_pattern(
    rf"<(?P<tag>a|anchor|span|div|p)(?P<attributes>{_ATTRIBUTES})[ \t]*+"
    r"(?:/>|>(?:[ \t]|&nbsp;)*+</(?P=tag)[ \t]*+>|(?P<open>>))",
    re.IGNORECASE,
)

# mkdocs-autorefs and Pandoc (Pandoc manual, "Bracketed Spans").
_EMPTY_LINK: Final = lazy_pattern(r"\[\](?:\(\))?\{:? ?#[\w:.-]++[ \t]*+\}")

# MyST has one on a line of its own (MyST reference, "Labels").
_MYST: Final = lazy_pattern(r"\([^()\s]++\)=[ \t]*+\Z")

_NAMES: Final = lazy_pattern(
    rf"(?i:[ \t](?:id|name)[ \t]*+=[ \t]*+({_VALUE}))|(?m:^[ ]{{0,3}}\(([^()\s]++)\)=)|\{{:? ?#([\w:.-]++)"
)

_LINES: Final = lazy_pattern(r"[^\r\n]*+(?:\r\n?|\n)")
_COMMENT: Final = r"<!--(?s:(?!-->).)*+-->"
_LINES_OF_COMMENTS: Final = lazy_pattern(rf"(?m:^) {{0,3}}(?:{_COMMENT}[ \t]*+)++(?=[\r\n])")
_NO_LINE_END: Final = lazy_pattern(r"[^\r\n]")
_BLANK: Final = " \t\r\n"
_MOST_INDENT: Final = 3
_FARTHEST: Final = 2000


def is_anchor_line(line: str) -> bool:
    """Return True if `line`, without its line end, holds anchors and nothing else."""
    text = line.lstrip(" ")
    if len(line) - len(text) > _MOST_INDENT:
        return False
    if _MYST.match(text):
        return True
    at = 0
    while (end := _end_of_anchor(text, at)) is not None:
        at = end
        while text.startswith((" ", "\t"), at):
            at += 1
    return 0 < at == len(text)


def _end_of_anchor(text: str, at: int) -> int | None:
    link = _EMPTY_LINK.match(text, at)
    if link is not None:
        return link.end()
    tag = _HTML.match(text, at)
    if tag is None or (tag["open"] and tag["tag"].lower() != "a"):
        return None
    names = {attribute["name"].lower() for attribute in _ATTRIBUTE.finditer(tag["attributes"])}
    return tag.end() if names & {"id", "name"} else None


def anchors_in(lines: str) -> list[str]:
    """Return the anchors of anchor `lines`, in order."""
    names = _NAMES.finditer(re.sub(_COMMENT, "", lines))
    return [name[name.lastindex or 0].strip("\"'") for name in names]


def anchor_line_starts(text: str, starts: Sequence[int], body_start: int) -> dict[int, int]:
    """Return where the anchor lines above headings start, by the index of a heading in `starts`.

    `starts` are those of the headings at top level, sorted, and `body_start` is where the front matter ends.
    Blank lines and comments may lie between. Blocks need not be read: what ends right above a heading with
    such a line is a paragraph or HTML, for fences and front matter end with lines of their own.
    """
    by_heading: dict[int, int] = {}
    for index, (above, heading) in enumerate(pairwise((body_start, *starts))):
        near = text[max(heading - _NEAR, 0) : heading].rstrip(_BLANK)
        if not near or near.endswith(_ENDS):
            start = _anchor_line_start(text, heading, max(above, body_start))
            if start < heading:
                by_heading[index] = start
    return by_heading


def _anchor_line_start(text: str, heading: int, floor: int) -> int:
    """Return where the anchor lines above `heading` start, at `floor` or after it."""
    # So far and no farther: blank lines without end cost nothing.
    first = max(floor, heading - _FARTHEST)
    start = end = heading
    below = text[heading : heading + 1]
    # Comments on lines of their own count as blank.
    above = _LINES_OF_COMMENTS.sub(lambda comment: _NO_LINE_END.sub(" ", comment[0]), text[first:heading])
    for line in reversed(_LINES.findall(above)):
        end -= len(line)
        if line.strip(_BLANK):
            # The line of the heading before is none of these, and neither is a part of a line.
            if not _stays_above(line.rstrip("\r\n"), below) or (end == first > floor):
                break
            start = end
        below = line
    return start


def _stays_above(line: str, below: str) -> bool:
    """Return True if `line` holds only anchors, and would keep the line `below` out of its own block.

    After a blank line a tag without another one starts a block of HTML that a blank line ends (CommonMark
    0.31.2, section 4.6): where text above it prevents that, it stays with this text.
    """
    return is_anchor_line(line) and not (
        line.count("<") == 1 and line.lstrip()[0] == "<" and below.strip(_BLANK)
    )


# --- Inline Markdown as plain text, as a reader sees it

_MARKUP: Final = lazy_pattern(r"[\\`*_~\[<&\r\n]")
_HARD_BREAK: Final = lazy_pattern(r"(?<!\\)((?:\\\\)*)\\\n")
_LINE_END: Final = lazy_pattern(r"[ \t]*(?:\r\n?|\n)")

# Code and escapes, which hide a wiki link; its alias is what readers see.
_WIKI_LINK: Final = lazy_pattern(
    r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|\\.|(?<!!)\[\[(?:[^\[\]|]+\|)?(?P<shown>[^\[\]|]+)\]\](?![(\[])"
)

# Bytes that are not valid UTF-8 are lone surrogates, which the parser does not take: characters for private
# use are in for them.
_FOR_PARSER: Final = {code: code + 0x102000 for code in range(0xD800, 0xE000)}
_FROM_PARSER: Final = {stand_in: code for code, stand_in in _FOR_PARSER.items()}
_FOOTNOTE: Final = lazy_pattern(r"\[\^([^\]\s]+)\]")


def render_text(content: str) -> str:
    """Return the rendered text of the inline `content` of a heading, one line.

    The markup of code, emphasis, strikethrough, links, wiki links and images is removed and their text kept,
    that of images being the alternative text; tags are removed, entities decoded, footnote references
    dropped, and line breaks are spaces. ``[text][label]`` and ``[label]`` are links whatever is defined: the
    name of a section must not change when a definition elsewhere comes or goes.
    """
    return _render(content) if _MARKUP.search(content) else content


def heading_title(content: str) -> str:
    """Return the rendered text of the inline `content` of a heading, white space collapsed."""
    return " ".join(render_text(content).split())


def reader_names(content: str) -> tuple[str, ...]:
    """Return the rendered text of `content`, and that without what readers do not see at its end."""
    marks = marks_behind(content)
    names = heading_title(content), heading_title(content.removesuffix(marks))
    return names if marks else names[:1]


def with_marks_of(content: str, old: str) -> str:
    """Return the inline text `content` with the marks behind the heading text `old`, unless it has some.

    So it is with comments before that.
    """
    marks, own = marks_behind(old), marks_behind(content)
    content = content if comments_before(content) else comments_before(old) + content
    return content if "{" in own or (own and "{" not in marks) else content + marks.rstrip()


def canonical_names(title: str) -> tuple[str, ...]:
    """Return the canonical forms of the rendered heading `title`, with and without such marks."""
    marks = marks_behind(title)
    names = canonical_heading(title), canonical_heading(title.removesuffix(marks))
    return names if marks else names[:1]


def text_for_anchor(content: str) -> str:
    """Return the rendered text of `content` as it is for anchors on GitHub.

    That omits alternative text, and knows no wiki links.
    """
    return _render(content, for_anchor=True) if "![" in content or "[[" in content else render_text(content)


def composed(text: str) -> str:
    """Return `text` in Unicode normal form C, in which names are compared: the other form looks the same."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


@lru_cache(maxsize=4096)
def _render(content: str, *, for_anchor: bool = False) -> str:
    line = _LINE_END.sub(" ", _HARD_BREAK.sub(r"\1\n", content))
    if "[[" in line and not for_anchor:
        line = _WIKI_LINK.sub(lambda match: match["shown"] or match[0], line)
    has_invalid_bytes = not content.isascii() and any(
        "\ud800" <= character <= "\udfff" for character in content
    )
    if has_invalid_bytes:
        line = line.translate(_FOR_PARSER)
    # In a heading nothing but inline content is recognized; closing marks keep those in the content.
    footnotes = "".join(f"\n\n[^{label}]: x" for label in _FOOTNOTE.findall(line))
    text = f"# {line} #{footnotes}"
    try:
        events = (event for batch in event_batches(text, _is_link) for event, _ in batch)
        rendered = "".join(_texts(_without_images(events) if for_anchor else events))
    except ParserFailure:
        return content
    return rendered.translate(_FROM_PARSER) if has_invalid_bytes else rendered


def _is_link(label: str) -> bool:
    return bool(label.strip()) and not label.startswith("^")


def _without_images(events: Iterator[Event]) -> Iterator[Event]:
    depth = 0
    for event in events:
        if not isinstance(event, str) and "Start" in event and "Image" in event["Start"]:
            depth += 1
        elif not isinstance(event, str) and "End" in event and event["End"] == "Image":
            depth -= 1
        elif not depth:
            yield event


def _texts(events: Iterator[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, str):
            yield " "
        elif "Text" in event:
            yield event["Text"]
        elif "Code" in event:
            yield event["Code"]
        elif "End" in event and event["End"] == {"Heading": "H1"}:
            return


# --- The source of one heading: where its text is, and how to write another one

# What may be before the marks of a heading: indentation, and the markers of quotes and lists.
_CONTAINERS: Final = r"(?P<before>(?:[ \t>+*-]|[0-9]{1,9}[.)])*?)"
_CLOSING: Final = r"(?P<closing>[ \t]+\#+)?[ \t]*"


def title_span(source: Source, heading: Block) -> Span | None:
    """Return the span of the raw text of `heading`, without its marks; None if it cannot be proven.

    For an ATX heading without text it is empty and is after the marks.
    """
    if not heading.markup.startswith("#"):
        return _setext_span(source, heading)
    line = source.lines.content(heading.first_line).replace("\0", "\ufffd")
    pattern = (
        rf"{_CONTAINERS}\#{{{heading.level}}}(?P<gap>[ \t]*)(?P<title>{re.escape(heading.content)}){_CLOSING}"
    )
    match = re.fullmatch(pattern, line)
    if match is None or (heading.content and not match["gap"]):
        return None
    start = source.lines.start(heading.first_line)
    at = match.start("gap") if not heading.content else match.start("title")
    return Span(start + at, start + at + len(heading.content))


def with_title(source: Source, heading: Block, title: str) -> TextEdit | None:
    """Return an edit that makes `title` (one line of Markdown) the text of `heading`; None if it cannot.

    A setext heading that cannot carry the title becomes ATX; an ATX heading whose title would be taken for
    closing marks gets closing marks.
    """
    span = title_span(source, heading)
    if span is None:
        return None
    if not heading.markup.startswith("#"):
        return _setext_edit(source, heading, span, title)
    gap = "" if heading.content else " "
    line_end = source.lines.content_end(heading.first_line)
    has_closing_marks = source.text[span.end : line_end].strip(" \t") != ""
    if _reads_as(f"{'#' * heading.level} {title}", heading.level, title) or has_closing_marks:
        return TextEdit(span, gap + title)
    if _reads_as(f"{'#' * heading.level} {title} #", heading.level, title):
        return TextEdit(span, f"{gap}{title} #")
    return None


def atx_heading(level: int, title: str) -> str | None:
    """Return the source of an ATX heading with the raw text `title`; None if no heading says that.

    A title that ends in marks gets closing marks, for its own would be taken for them.
    """
    texts = (f"{'#' * level} {title}", f"{'#' * level} {title} #")
    return next((text for text in texts if _reads_as(text, level, title)), None)


def _setext_span(source: Source, heading: Block) -> Span | None:
    first, last = heading.first_line, heading.last_line - 1
    line = source.lines.content(first)
    start = source.lines.start(first) + len(line) - len(line.lstrip(" \t>"))
    end = source.lines.start(last) + len(source.lines.content(last).rstrip(" \t"))
    if heading.depth:
        # In a container only the one line that the content proves.
        line = line.rstrip(" \t")
        if first != last or not heading.content or not line.endswith(heading.content):
            return None
        start = end - len(heading.content)
    return Span(start, end)


def _setext_edit(source: Source, heading: Block, span: Span, title: str) -> TextEdit | None:
    if _reads_as(f"{title}\n{heading.markup * 3}", heading.level, title):
        return TextEdit(span, title)
    text = atx_heading(heading.level, title)
    if heading.depth or text is None:
        return None
    end = source.lines.content_end(heading.last_line)
    return TextEdit(Span(source.lines.start(heading.first_line), end), text)


def _reads_as(markdown: str, level: int, title: str) -> bool:
    """Return True if `markdown` is one heading of that level and raw text."""
    roots = parse_blocks(markdown, LineIndex(markdown)).roots
    return (
        len(roots) == 1
        and roots[0].kind is BlockKind.HEADING
        and roots[0].level == level
        and roots[0].content == title
    )


# --- Headings at another level, as edits of their marks

_SETEXT_MARKS: Final = "=-"


def with_level(source: Source, heading: Block, level: int) -> tuple[TextEdit, ...] | None:
    """Return edits that bring `heading` to `level` and keep its text; None if its text cannot be found.

    A setext heading below level 2 becomes ATX.
    """
    if level == heading.level:
        return ()
    if heading.markup.startswith("#"):
        start = source.text.index("#" * heading.level, source.lines.start(heading.first_line))
        if level > heading.level:
            return (TextEdit.insert(start, "#" * (level - heading.level)),)
        return (TextEdit.delete(Span(start, start + heading.level - level)),)
    underline = _underline(source, heading)
    if level <= len(_SETEXT_MARKS):
        return (TextEdit(underline, _SETEXT_MARKS[level - 1] * len(underline)),)
    return _as_atx(source, heading, level)


def shift_levels(source: Source, headings: Sequence[Block], shift: int) -> tuple[TextEdit, ...] | Block:
    """Return edits that add `shift` to the level of every heading, or the first heading that cannot move."""
    edits: list[TextEdit] = []
    for heading in headings:
        heading_edits = with_level(source, heading, heading.level + shift)
        if heading_edits is None:
            return heading
        edits += heading_edits
    return tuple(edits)


def _underline(source: Source, heading: Block) -> Span:
    """Return the span of the run of marks below a setext heading."""
    start, end = source.lines.start(heading.last_line), source.lines.content_end(heading.last_line)
    line = source.text[start:end]
    marks = line.strip(" \t")
    at = start + line.index(marks)
    return Span(at, at + len(marks))


def _as_atx(source: Source, heading: Block, level: int) -> tuple[TextEdit, ...] | None:
    """Return edits that make an ATX heading of the setext `heading`; None for one of several lines."""
    title = title_span(source, heading)
    if title is None or heading.first_line != heading.last_line - 1:
        return None
    raw = source.text[title.start : title.end]
    as_atx, marks = atx_heading(level, raw), "#" * level + " "
    if as_atx is None:
        return None
    closing = as_atx.removeprefix(marks + raw)
    line_end = title.end if closing else source.lines.content_end(heading.first_line)
    return (
        TextEdit(Span(source.lines.start(heading.first_line), title.start), marks),
        TextEdit(Span(line_end, source.lines.content_end(heading.last_line)), closing),
    )


# --- Names of sections: IDs that survive edits elsewhere, and canonical headings

SectionId = NewType("SectionId", str)
ID_PREFIX: Final = "sha256-"
_DIGITS: Final = 16
_REFERENCE: Final = r"(?i:(?:sha256-)?([0-9a-f]{8,64}))"
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f\u20e3")


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """Return `text` as section IDs compare it: case folded, white space collapsed, punctuation kept."""
    return " ".join(text.casefold().split())


def id_of_name(name: bytes, ordinal: int) -> SectionId:
    """Return the ID of the section with `name`: the folded titles of its path, joined by U+001F, in UTF-8.

    `ordinal` (1-based) distinguishes sections whose folded paths are equal; the first of them keeps the ID
    that it has alone, so that a repetition further down changes no ID above.
    """
    if ordinal > 1:
        name += f"\x1e{ordinal}".encode()
    return SectionId(ID_PREFIX + sha256_hex(name)[:_DIGITS])


# Of the text before the first heading, which is another section than an empty heading.
PREAMBLE_ID: Final = id_of_name(b"\x1e", 1)


def section_id_digits(reference: str) -> str | None:
    """Return the digits of a section ID or of a prefix of one (8 digits or more); None if it is neither."""
    match = re.fullmatch(_REFERENCE, reference.strip())
    return match[1].lower()[:_DIGITS] if match else None


@lru_cache(maxsize=4096)
def canonical_heading(text: str) -> str:
    """Return the rendered heading `text` as people compare it.

    Characters are composed (Unicode normal form C), emoji dropped, letters lower-cased, punctuation and
    symbols except hyphens stripped, white space collapsed; where nothing is left, the exact text is the
    canonical one.
    """
    kept = "".join(
        character
        for character in unicodedata.normalize("NFC", text.lower())
        if character == "-" or (character not in _JOINERS and unicodedata.category(character)[0] not in "PS")
    )
    return " ".join(kept.split()) or text
