"""Find sections by heading path, section ID or anchor; and tables, lists and code blocks by index."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from mdplan.diagnostics import Candidate, Code, Diagnostic, Refused, or_problem
from mdplan.markdown.blocks import Block
from mdplan.markdown.headings import canonical_heading, canonical_names, heading_title, section_id_digits
from mdplan.markdown.outline import Outline, fence_language, has_language
from mdplan.markdown.parser import without_attributes
from mdplan.markdown.sections import Section
from mdplan.markdown.tables import TableSource, tables_with_header
from mdplan.text.source import visible
from mdplan.text.visible import first_few, nearest_names, shortened
from mdplan.values import Struct
from mdplan.words import Argument, Heading, Nearest, Text, join, say

# Few commands need lists.
if TYPE_CHECKING:
    from mdplan.markdown.lists import MarkdownList

MAX_LEVEL: Final = 6
_QUALIFIED: Final = r"(?s:(#{1,6})[ \t]+(.*))"
_NEAREST: Final = 3
_MOST_LIKELY: Final = 50
_SEPARATORS: Final = (" > ", ">", " / ", "/", " » ", " → ", "::")
_MOST_CANDIDATES: Final = 10


def find_by_path(outline: Outline, path: Sequence[str], occurrence: int | None = None) -> Section:
    """Return the section whose full path ends in `path`.

    Tiers, the first with a match wins: exact full path, exact suffix, canonical full path, canonical suffix.
    If exact suffix and canonical full path match different sections, all are candidates. An element may
    include its level (``## Install``). The empty path is the preamble. `occurrence` (1-based) selects one of
    several matches. Headings in containers count only if no top-level heading matches.

    Raise INVALID_HEADING_PATH, SECTION_NOT_FOUND or AMBIGUOUS_HEADING.
    """
    _check(path)
    if not path:
        return outline.sections[0]
    named = outline.derived(_named, tuple(path))
    if not named:
        raise Refused(_not_found(outline, path))
    return _pick(named, path, occurrence)


def find_by_id(outline: Outline, reference: str) -> Section:
    """Return the section whose ID starts with `reference`: 8 or more hex digits, ``sha256-`` optional.

    Raise INVALID_ARGUMENT, SECTION_NOT_FOUND or AMBIGUOUS_HEADING.
    """
    digits = section_id_digits(reference)
    if digits is None:
        raise Code.INVALID_ARGUMENT.refused(
            say("{sectionId} is not `sha256-` and at least 8 hex digits"),
            say("copy a {sectionId} from {step ids}"),
        )
    sections = outline.with_digits(digits)
    if len(sections) == 1:
        return sections[0]
    if sections:
        raise Refused(
            _ambiguous(sections, f"section ID prefix `{digits}`", say("give more digits of the {sectionId}"))
        )
    raise Code.SECTION_NOT_FOUND.refused(
        f"no section has the ID `{digits}`",
        say("an ID changes when its heading or one above it is renamed: take a current one from {step ids}"),
    )


def find_by_anchor(outline: Outline, anchor: str) -> Section:
    """Return the section whose heading has `anchor`, explicit or generated as on GitHub.

    A leading ``#`` is ignored; Unicode is compared in NFC.

    Raise ANCHOR_NOT_FOUND.
    """
    name = anchor.removeprefix("#")
    section = outline.with_anchor(name)
    if section is not None:
        return section
    nearest = nearest_names(name, outline.anchors)
    raise Code.ANCHOR_NOT_FOUND.refused(
        "no heading has that anchor",
        f"nearest: {', '.join(f'`{anchor}`' for anchor in nearest)}"
        if nearest
        else say("see the anchors in {step anchors}"),
    )


def candidate(section: Section) -> Candidate:
    """Return `section` as a candidate for an ambiguous address."""
    return Candidate(
        section_id=section.section_id,
        heading_path=section.path,
        start_line=section.first_line,
        end_line=section.last_line,
    )


class _Reading(Struct):
    """An interpretation of a heading path element: rendered text and optional level.

    `only_exactly` excludes canonical matches.
    """

    level: int | None
    exact: str
    canonical: str
    only_exactly: bool

    def accepts(self, section: Section, *, exactly: bool) -> bool:
        if self.level is not None and self.level != section.level:
            return False
        if exactly:
            return self.exact == section.title
        return not self.only_exactly and self.canonical in canonical_names(section.title)


def _readings(element: str) -> tuple[_Reading, ...]:
    """Interpret `element` as plain text and as Markdown, each with and without its level."""
    readings: list[_Reading] = []
    qualified = re.match(_QUALIFIED, element.strip())
    forms: list[tuple[int | None, str]] = [(None, " ".join(element.split()))]
    if qualified:
        forms.append((len(qualified[1]), " ".join(qualified[2].split())))
    for level, text in forms:
        exact_texts = dict.fromkeys((text, heading_title(text), heading_title(without_attributes(text))))
        # The level is part of the path, so do not drop it as punctuation.
        only_exactly = qualified is not None and level is None
        readings += (_Reading(level, exact, canonical_heading(exact), only_exactly) for exact in exact_texts)
    return tuple(readings)


def _named(outline: Outline, path: tuple[str, ...]) -> tuple[Section, ...]:
    """Return the sections that `path` names, in document order."""
    readings = [_readings(element) for element in path]
    leaves = {reading.canonical: None for reading in readings[-1]}
    above = {reading.canonical: None for reading in readings[-2]} if len(path) > 1 else (None,)
    pool = [section for leaf in leaves for parent in above for section in outline.named(leaf, parent)]
    for nested in (False, True):
        sections = _first_tier(outline, [section for section in pool if section.nested is nested], readings)
        if sections:
            return tuple(sorted(sections, key=lambda section: section.span))
    return ()


def _first_tier(
    outline: Outline, pool: Sequence[Section], path: Sequence[tuple[_Reading, ...]]
) -> list[Section]:
    def matching(*, exactly: bool, full: bool) -> list[Section]:
        return [section for section in pool if _matches(outline, section, path, exactly=exactly, full=full)]

    exact_full = matching(exactly=True, full=True)
    if exact_full:
        return exact_full
    exact_suffix = matching(exactly=True, full=False)
    canonical_full = matching(exactly=False, full=True)
    if exact_suffix or canonical_full:
        taken = {section.span for section in exact_suffix}
        return exact_suffix + [section for section in canonical_full if section.span not in taken]
    return matching(exactly=False, full=False)


def _matches(
    outline: Outline, section: Section, path: Sequence[tuple[_Reading, ...]], *, exactly: bool, full: bool
) -> bool:
    here: Section | None = section
    for readings in reversed(path):
        if here is None or here.is_root or not any(r.accepts(here, exactly=exactly) for r in readings):
            return False
        here = outline.parent(here)
    return not full or here is None or here.is_root


def _pick(sections: Sequence[Section], path: Sequence[str], occurrence: int | None) -> Section:
    if occurrence is None and len(sections) == 1:
        return sections[0]
    if occurrence is not None and 1 <= occurrence <= len(sections):
        return sections[occurrence - 1]
    hint = (
        say("give the {sectionId} of one of them, a longer {headingPath}, or {occurrence} (1-based)")
        if occurrence is None
        else say("{occurrence} goes from 1 to {}, not {}", len(sections), occurrence)
    )
    raise Refused(_ambiguous(sections, _path_text(path), hint))


def _ambiguous(sections: Sequence[Section], address: str, hint: str) -> Diagnostic:
    several = f"{len(sections)} sections" if len(sections) != 1 else "1 section"
    lines = first_few([section.first_line for section in sections], _MOST_CANDIDATES)
    return Code.AMBIGUOUS_HEADING.problem(
        say("{} names {}, at lines {}", address, several, lines),
        hint,
        candidates=tuple(candidate(section) for section in sections[:_MOST_CANDIDATES]),
    )


def _check(path: Sequence[str]) -> None:
    """Raise INVALID_HEADING_PATH if `path` is malformed."""
    # A heading in a container may add one level.
    if len(path) > MAX_LEVEL + 1:
        problem = f"it has {len(path)} elements, and headings go {MAX_LEVEL} levels deep"
    elif any("\n" in element or "\r" in element for element in path):
        problem = "an element has a line break"
    else:
        return
    raise Code.INVALID_HEADING_PATH.refused(
        say("{headingPath} cannot name a section: {}", problem),
        'give the headings from outer to inner, as in ["Guide", "Install"]',
    )


def _not_found(outline: Outline, path: Sequence[str]) -> Diagnostic:
    near: list[Section] = []
    apart = _as_several(outline, path)
    if apart is not None:
        near = [apart]
        hint = say("give each heading by itself: {}", Argument("headingPath", list(apart.path)))
    else:
        heading = canonical_heading(heading_title(path[-1].lstrip("# \t")))
        names = [heading] if outline.named(heading) else nearest_names(heading, outline.heading_names)
        near = [section for name in names for section in _likely(outline, name, path)][:_NEAREST]
        places = join(
            (say("{} ({})", Heading(section.path), _place(section, path)) for section in near), "; "
        )
        if near:
            is_elsewhere = names == [heading]
            hint = say("headings of that name: {}", places) if is_elsewhere else Text(Nearest(places))
        elif len(outline.sections) > 1 or outline.nested:
            hint = say("see {step stat} for the headings of this file")
        else:
            hint = say("this file has no headings; {headingPath=[]} is the text before one")
    return Code.SECTION_NOT_FOUND.problem(
        say("no section matches {}", _path_text(path)),
        hint,
        candidates=tuple(candidate(section) for section in near),
    )


def _as_several(outline: Outline, path: Sequence[str]) -> Section | None:
    """Return the section for a single element that joins several headings, as in ``Guide > Install``."""
    if len(path) != 1:
        return None
    for separator in _SEPARATORS:
        elements = [element.strip() for element in path[0].split(separator)]
        if 1 < len(elements) <= MAX_LEVEL and all(elements):
            section = or_problem(find_by_path, outline, elements)
            if isinstance(section, Section):
                return section
    return None


def _place(section: Section, path: Sequence[str]) -> str:
    """Return the line of `section`, and its level if `path` uses levels."""
    line = f"line {section.first_line}"
    asks = any(re.match(_QUALIFIED, element.strip()) for element in path)
    return f"{line}, level {section.level}" if asks else line


def _likely(outline: Outline, name: str, path: Sequence[str]) -> list[Section]:
    """Return the sections with the canonical heading `name`, sorted by similarity to `path`."""
    from rapidfuzz import fuzz

    def above(titles: Sequence[str]) -> str:
        return " ".join(map(canonical_heading, titles[:-1]))

    sections = [section for section in outline.named(name) if not section.is_root][:_MOST_LIKELY]
    return sorted(sections, key=lambda each: -fuzz.ratio(above(path), above(each.path)) * (len(path) > 1))


def _path_text(path: Sequence[str]) -> str:
    return Text(Heading(path, "heading path "))


# --- Tables, lists and fenced code blocks, by their 0-based index in a section or the file

_Element = TypeVar("_Element", Block, TableSource, "MarkdownList")
_MOST_COLUMNS: Final = 8
_LONGEST_NAME: Final = 40


def find_table(
    outline: Outline,
    section: Section | None,
    index: int | None = None,
    header: str | None = None,
    column: str | None = None,
) -> TableSource:
    """Return the table of that index or `header`, or the only one, or the only one with the `column`.

    Raise TABLE_NOT_FOUND.
    """
    tables = outline.tables if section is None else outline.tables_in(section.span)
    found: Sequence[TableSource] = tables
    if index is not None:
        found = tables[index : index + 1]
    elif header:
        found = tables_with_header(tables, header)
    elif len(tables) > 1 and column:
        found = tables_with_header(tables, column) or tables
    like = f" of index {index}" if index is not None else " with that header" if header else ""
    make = say("{append_to_section} with the lines of a table makes one")
    return _only(
        Code.TABLE_NOT_FOUND, "table", f"table{{}}{like}", (outline.tables, tables, found), section, make
    )


def find_list(outline: Outline, section: Section | None, index: int | None = None) -> "MarkdownList":
    """Return the list of that index, or the only one outside of other lists. Raise LIST_NOT_FOUND."""
    every = outline.lists.outermost
    lists = every if section is None else outline.lists.outermost_in(section.span)
    found, like = (lists, "") if index is None else (lists[index : index + 1], f" of index {index}")
    make = say("{append_to_section} with an item such as `- text` starts one")
    return _only(Code.LIST_NOT_FOUND, "list", f"list{{}}{like}", (every, lists, found), section, make)


def find_fence(outline: Outline, section: Section | None, index: int | None, language: str | None) -> Block:
    """Return the fenced code block of that index, of that `language`, or of both.

    Raise CODE_BLOCK_NOT_FOUND.
    """
    every = outline.tree.fences
    found = fences = every if section is None else outline.tree.fences_in(section.span)
    like = ""
    if language is not None:
        like = " of that language"
        found = tuple(each for each in fences if fence_language(each) == language) or tuple(
            each for each in fences if has_language(fence_language(each), language)
        )
    if len(found) > 1 and index is None:
        fences = found
    if index is not None:
        found = found[index : index + 1]
        like = f"{like} and index" if like else f" of index {index}"
    return _only(
        Code.CODE_BLOCK_NOT_FOUND,
        "codeBlock",
        f"fenced code block{{}}{like}",
        (every, fences, found),
        section,
    )


def _only(
    code: Code,
    field: str,
    noun: str,
    known: tuple[Sequence[_Element], Sequence[_Element], Sequence[_Element]],
    section: Section | None,
    make: str = "",
) -> _Element:
    """Return the only element that is asked for, of those `known`: in the file, in the place, and alike.

    `field` names it in an edit.
    """
    every, here, found = known
    if len(found) == 1:
        return found[0]
    place = "the file" if section is None else "the section"
    if found:
        message = f"{place} has {len(found)} {noun.format('s')}, and it is not said which"
    else:
        message = f"{place} has no {noun.format('')}"
    hint = f"it has no {noun.partition('{')[0]}s"
    if here:
        hint = say(f"{{{field}}} takes the index of one: {{}}", _described(here))
    elif every:
        hint = f"those of the file: {_described(every)}"
    raise code.refused(message, hint if every else make or hint)


def _described(elements: "Sequence[Block | TableSource | MarkdownList]") -> str:
    """Return elements in words: ``0 (lines 5-9: `Tool`, `Version`)``."""
    from mdplan.markdown.lists import MarkdownList

    listed: list[str] = []
    for index, each in enumerate(elements):
        block = each if isinstance(each, Block) else each.block
        before, last, behind = "", block.last_line, ""
        if isinstance(each, MarkdownList):
            last, behind = each.last_line, f", marker `{each.sign}`, items: {len(each.items)}"
        elif isinstance(each, TableSource):
            names = [f"`{shortened(visible(name), _LONGEST_NAME)}`" for name in each.columns]
            behind = f": {first_few(names, _MOST_COLUMNS)}"
        elif language := fence_language(each):
            before = f"{shortened(visible(language), _LONGEST_NAME)}, "
        listed.append(f"{index} ({before}lines {block.first_line}-{last}{behind})")
    return first_few(listed)
