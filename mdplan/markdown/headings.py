"""Headings: anchors on GitHub and on sites, rendered text, source edits, levels and section IDs."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import lru_cache, partial
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

# goldmark and Markdig drop marks.
_LETTERS_AND_DIGITS: Final = r"[^\p{L}\p{Nd}_\- ]"

# Code, escapes, and outside them hyphens (and for Pandoc, dots).
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
    """The explicit IDs that generated slugs must avoid."""

    NONE = auto()
    ABOVE = auto()
    ALL = auto()


class SlugStyle(Struct):
    """How a site makes heading anchors: `slug` of the rendered title, plus a suffix if it is taken.

    - `prepared`: changes the raw inline text before rendering.
    - `has_images`: alternative text is part of the title.
    - `fallback`: replaces an empty slug.
    - `is_counted_up`: suffixes are ``_1``, ``_2``, and an existing one is incremented.
    - `has_html`: headings in HTML have anchors too.
    - `is_vault`: links name notes as wiki links do, by the end of a path, and headings by their text.
    """

    slug: Callable[[str], str]
    has_images: bool = False
    prepared: Callable[[str], str] = str
    own_ids: OwnIds = OwnIds.NONE
    fallback: str = ""
    is_counted_up: bool = False
    has_html: bool = False
    is_vault: bool = False

    def anchors(self, titles: Iterable[str], ids: Iterable[str]) -> Iterator[str]:
        """Yield the anchor of each heading: its explicit ID from `ids` if not empty, else a slug.

        `titles` are all rendered titles of a document, in order.
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
    """Return GitHub's slug of a rendered heading, without a repetition suffix."""
    return _kept(title.lower(), _GITHUB)


def other_slug(title: str) -> str | None:
    """Return GitHub's slug of a `title` with attributes, which GitHub reads as text; else None."""
    return heading_slug(title) if "{" in title and "{" in marks_behind(title) else None


def _goldmark_text(content: str) -> str:
    """Return the last line, which goldmark uses, without hyphens that Hugo turns into dashes."""
    return _without_smart(_DASHES, content.rsplit("\n", maxsplit=1)[-1])


def _without_smart(pattern: re.Pattern[str], content: str) -> str:
    """Return `content` without signs that the site turns into dashes and ellipses."""
    return pattern.sub(lambda match: "" if match["smart"] else match[0], content)


def _pandoc(title: str) -> str:
    kept = (letter for letter in _lowered(title) if letter.isalnum() or letter.isspace() or letter in "_-.")
    return "".join(dropwhile(lambda letter: not letter.isalpha(), "-".join("".join(kept).split())))


def _goldmark(title: str) -> str:
    return _lowered(_kept(title.strip(), _LETTERS_AND_DIGITS))


def _markdig(title: str) -> str:
    # Markdig looks at UTF-16 code units; surrogates are not letters.
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
    # It also strips code that looks like a tag.
    text = _TAG.sub("", unicodedata.normalize("NFC", " ".join(title.split()))).strip()
    return _NO_WORD.sub("", text.lower()).replace(" ", "-")


def _kept(title: str, dropped: str) -> str:
    """Return `title` without matches of `dropped`, and with hyphens for spaces."""
    if title.isascii():
        return _DROPPED_ASCII.sub("", title).replace(" ", "-")
    # `re` has no classes for this: `\w` lacks marks and includes `²`.
    import regex

    return regex.sub(dropped, "", title).replace(" ", "-")


def _lowered(title: str) -> str:
    """Lower-case `title` character by character, keeping its length."""
    return title.lower() if title.isascii() else "".join(character.lower()[0] for character in title)


GITHUB: Final = SlugStyle(heading_slug, has_html=True)

STYLES: Final[Mapping[str, SlugStyle]] = {
    "docfx": SlugStyle(_markdig, has_images=True, fallback="section"),
    "docusaurus": SlugStyle(heading_slug, has_images=True),
    "github": GITHUB,
    "hugo": SlugStyle(
        _goldmark, has_images=True, prepared=_goldmark_text, own_ids=OwnIds.ABOVE, fallback="heading"
    ),
    "obsidian": SlugStyle(heading_slug, is_vault=True),
    "pandoc": SlugStyle(
        _pandoc,
        has_images=True,
        prepared=partial(_without_smart, _SMART),
        own_ids=OwnIds.ABOVE,
        fallback="section",
    ),
    "pymdownx": SlugStyle(_pymdownx, own_ids=OwnIds.ALL, is_counted_up=True),
    "python-markdown": SlugStyle(_python_markdown, own_ids=OwnIds.ALL, is_counted_up=True),
    "python-markdown-unicode": SlugStyle(_python_markdown_unicode, own_ids=OwnIds.ALL, is_counted_up=True),
    "vitepress": SlugStyle(_vue, own_ids=OwnIds.ABOVE),
}


# --- Anchors

# GitHub prefixes all anchors with this and ignores it in links.
GITHUB_PREFIX: Final = "user-content-"


class Anchor(Struct):
    """The target of ``#id`` on the 1-based `line`; `explicit` if HTML names it."""

    id: str
    line: int
    explicit: bool


# --- Lines that hold only anchors: above a heading, they name it and belong to its section

# The last characters of such lines, and their usual maximum distance from a heading.
_ENDS: Final = (">", "=", "}")
_NEAR: Final = 6
_VALUE: Final = r"""(?:"[^"\r\n]*+"|'[^'\r\n]*+'|[^\s"'=<>`]++)"""
_ATTRIBUTE: Final = lazy_pattern(rf"[ \t]++(?P<name>[A-Za-z_:][\w:.-]*+)(?:[ \t]*+=[ \t]*+{_VALUE})?+")
_ATTRIBUTES: Final = rf"(?:[ \t]++[A-Za-z_:][\w:.-]*+(?:[ \t]*+=[ \t]*+{_VALUE})?+)*+"

# An empty element, or just the opening tag of a link, as in older documents; MDX sites use a component.
_HTML: Final = lazy_pattern(
    rf"<(?P<tag>a|anchor|span|div|p)(?P<attributes>{_ATTRIBUTES})[ \t]*+"
    r"(?:/>|>(?:[ \t]|&nbsp;)*+</(?P=tag)[ \t]*+>|(?P<open>>))",
    re.IGNORECASE,
)

# mkdocs-autorefs and Pandoc (Pandoc manual, "Bracketed Spans").
_EMPTY_LINK: Final = lazy_pattern(r"\[\](?:\(\))?\{:? ?#[\w:.-]++[ \t]*+\}")

# A MyST label on a separate line (MyST reference, "Labels").
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
    """Return True if `line`, without its newline, holds only anchors."""
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
    """Return the anchors in `lines`, in order."""
    names = _NAMES.finditer(re.sub(_COMMENT, "", lines))
    return [name[name.lastindex or 0].strip("\"'") for name in names]


def anchor_line_starts(text: str, starts: Sequence[int], body_start: int) -> dict[int, int]:
    """Return the start of the anchor lines above headings, by index in `starts`.

    `starts` are the sorted offsets of top-level headings, `body_start` the end of the front matter. Blank
    lines and comments may be in between. No blocks are parsed: only a paragraph or HTML can end with such a
    line directly above a heading, since fences and front matter have closing lines.
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
    """Return the start of the anchor lines above `heading`, at or after `floor`."""
    # Limit the search, so that endless blank lines cost nothing.
    first = max(floor, heading - _FARTHEST)
    start = end = heading
    below = text[heading : heading + 1]
    # Comments on separate lines count as blank.
    above = _LINES_OF_COMMENTS.sub(lambda comment: _NO_LINE_END.sub(" ", comment[0]), text[first:heading])
    for line in reversed(_LINES.findall(above)):
        end -= len(line)
        if line.strip(_BLANK):
            # Skip the previous heading's line and a partial line.
            if not _stays_above(line.rstrip("\r\n"), below) or (end == first > floor):
                break
            start = end
        below = line
    return start


def _stays_above(line: str, below: str) -> bool:
    """Return True if `line` holds only anchors and `below` starts another block.

    After a blank line a single tag starts an HTML block that runs to the next blank line (CommonMark 0.31.2,
    section 4.6); adjacent text then belongs to it.
    """
    return is_anchor_line(line) and not (
        line.count("<") == 1 and line.lstrip()[0] == "<" and below.strip(_BLANK)
    )


# --- Inline Markdown as rendered text

_MARKUP: Final = lazy_pattern(r"[\\`*_~\[<&\r\n]")
_HARD_BREAK: Final = lazy_pattern(r"(?<!\\)((?:\\\\)*)\\\n")
_LINE_END: Final = lazy_pattern(r"[ \t]*(?:\r\n?|\n)")

# Code and escapes, which can hide a wiki link; readers see its alias.
_WIKI_LINK: Final = lazy_pattern(
    r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)|\\.|(?<!!)\[\[(?:[^\[\]|]+\|)?(?P<shown>[^\[\]|]+)\]\](?![(\[])"
)

# Invalid UTF-8 bytes are lone surrogates, which the parser rejects; replace them with private use characters.
_FOR_PARSER: Final = {code: code + 0x102000 for code in range(0xD800, 0xE000)}
_FROM_PARSER: Final = {stand_in: code for code, stand_in in _FOR_PARSER.items()}
_FOOTNOTE: Final = lazy_pattern(r"\[\^([^\]\s]+)\]")


def render_text(content: str) -> str:
    """Return the rendered text of the heading `content`, on one line.

    Code, emphasis, strikethrough, links, wiki links and images are reduced to their text (images to
    alternative text); tags and footnote references are removed, entities decoded, line breaks become spaces.
    ``[text][label]`` and ``[label]`` count as links even if undefined: a section must not change its name
    when a definition elsewhere does.
    """
    return _render(content) if _MARKUP.search(content) else content


def heading_title(content: str) -> str:
    """Return the rendered text of the heading `content`, whitespace collapsed."""
    return " ".join(render_text(content).split())


def reader_names(content: str, name: Callable[[str], str] = heading_title) -> tuple[str, ...]:
    """Return the rendered text of `content`, with and without trailing attributes and comments."""
    marks = marks_behind(content)
    names = name(content), name(content.removesuffix(marks))
    return names if marks else names[:1]


def with_marks_of(content: str, old: str) -> str:
    """Return `content` with the attributes and comments of the heading text `old`, unless it has some."""
    marks, own = marks_behind(old), marks_behind(content)
    content = content if comments_before(content) else comments_before(old) + content
    return content if "{" in own or (own and "{" not in marks) else content + marks.rstrip()


def canonical_names(title: str) -> tuple[str, ...]:
    """Return the canonical forms of the rendered `title`, with and without trailing attributes."""
    return reader_names(title, canonical_heading)


def text_for_anchor(content: str) -> str:
    """Return the text from which GitHub makes the anchor: no alternative text, wiki links unresolved."""
    return _render(content, for_anchor=True) if "![" in content or "[[" in content else render_text(content)


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
    # A heading has only inline content; appended closing marks protect those in the content.
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


# --- The source of a heading

# Container prefixes before a heading: indentation, quote and list markers.
_CONTAINERS: Final = r"(?P<before>(?:[ \t>+*-]|[0-9]{1,9}[.)])*?)"
_CLOSING: Final = r"(?P<closing>[ \t]+\#+)?[ \t]*"


def title_span(source: Source, heading: Block) -> Span | None:
    """Return the span of the raw text of `heading` without its marks; None if it cannot be verified.

    An empty ATX heading has an empty span after the marks.
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
    """Return the edit that sets the text of `heading` to `title`, one line of Markdown; None if impossible.

    A setext heading becomes ATX if it cannot hold the title. Closing marks are added to protect trailing
    ``#``.
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
    """Return an ATX heading with the raw text `title`; None if Markdown cannot express it.

    Closing marks are added to protect trailing ``#``.
    """
    texts = (f"{'#' * level} {title}", f"{'#' * level} {title} #")
    return next((text for text in texts if _reads_as(text, level, title)), None)


def _setext_span(source: Source, heading: Block) -> Span | None:
    first, last = heading.first_line, heading.last_line - 1
    line = source.lines.content(first)
    start = source.lines.start(first) + len(line) - len(line.lstrip(" \t>"))
    end = source.lines.start(last) + len(source.lines.content(last).rstrip(" \t"))
    if heading.depth:
        # In a container only a line that `content` verifies.
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
    """Return True if `markdown` is a single heading with this level and raw text."""
    roots = parse_blocks(markdown, LineIndex(markdown)).roots
    return (
        len(roots) == 1
        and roots[0].kind is BlockKind.HEADING
        and roots[0].level == level
        and roots[0].content == title
    )


# --- Edits that change heading levels

_SETEXT_MARKS: Final = "=-"


def with_level(source: Source, heading: Block, level: int) -> tuple[TextEdit, ...] | None:
    """Return the edits that set the level of `heading`; None if its text cannot be found.

    A setext heading deeper than level 2 becomes ATX.
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
    """Return edits that add `shift` to all levels, or the first heading that cannot be shifted."""
    edits: list[TextEdit] = []
    for heading in headings:
        heading_edits = with_level(source, heading, heading.level + shift)
        if heading_edits is None:
            return heading
        edits += heading_edits
    return tuple(edits)


def _underline(source: Source, heading: Block) -> Span:
    """Return the span of the underline of a setext heading."""
    start, end = source.lines.start(heading.last_line), source.lines.content_end(heading.last_line)
    line = source.text[start:end]
    marks = line.strip(" \t")
    at = start + line.index(marks)
    return Span(at, at + len(marks))


def _as_atx(source: Source, heading: Block, level: int) -> tuple[TextEdit, ...] | None:
    """Return edits that turn the setext `heading` into ATX; None if it spans several lines."""
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


# --- Section IDs, which survive edits elsewhere, and canonical headings

SectionId = NewType("SectionId", str)
ID_PREFIX: Final = "sha256-"
_DIGITS: Final = 16
_REFERENCE: Final = r"(?i:(?:sha256-)?([0-9a-f]{8,64}))"
_JOINERS: Final = frozenset("\u200d\ufe0e\ufe0f\u20e3")


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """Return `text` as section IDs compare it: case-folded, whitespace collapsed, punctuation kept."""
    return " ".join(text.casefold().split())


def id_of_name(name: bytes, ordinal: int) -> SectionId:
    """Return the section ID for `name`: the folded titles of its path, joined by U+001F, in UTF-8.

    `ordinal` (1-based) distinguishes equal paths. The first keeps the plain ID, so a later duplicate changes
    no existing ID.
    """
    if ordinal > 1:
        name += f"\x1e{ordinal}".encode()
    return SectionId(ID_PREFIX + sha256_hex(name)[:_DIGITS])


# Distinct from the ID of an empty heading.
PREAMBLE_ID: Final = id_of_name(b"\x1e", 1)


def section_id_digits(reference: str) -> str | None:
    """Return the hex digits of a section ID or of a prefix with at least 8 digits; else None."""
    match = re.fullmatch(_REFERENCE, reference.strip())
    return match[1].lower()[:_DIGITS] if match else None


@lru_cache(maxsize=4096)
def canonical_heading(text: str) -> str:
    """Return the rendered heading `text` normalized for comparison.

    Compose to NFC, lower-case, drop emoji, punctuation and symbols except hyphens, and collapse whitespace.
    If nothing is left, return `text`.
    """
    kept = "".join(
        character
        for character in unicodedata.normalize("NFC", text.lower())
        if character == "-" or (character not in _JOINERS and unicodedata.category(character)[0] not in "PS")
    )
    return " ".join(kept.split()) or text
