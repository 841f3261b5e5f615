"""Damage that a change did to one document, apart from its links."""

import datetime as dt
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any, Final

from mdplan.checks.torn_syntax import torn_cells, torn_fence, torn_fences, torn_headings, torn_tasks
from mdplan.diagnostics import Code, Diagnostic
from mdplan.field_names import short_name
from mdplan.markdown.block_tree import is_left_open
from mdplan.markdown.blocks import Block, BlockKind
from mdplan.markdown.enclosure_search import find_enclosures, find_regions
from mdplan.markdown.front_matter import FrontMatterContent, Unreadable
from mdplan.markdown.outline import Outline
from mdplan.planning.results import overlong_rows, unreadable_front_matter
from mdplan.text.lines import Position
from mdplan.text.source import DocumentFormat

_END_NAMES: Final = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}
# Names of types as people write front matter; the first one that fits counts.
_TYPES: Final[tuple[tuple[type, str], ...]] = (
    (bool, "true or false"),
    (int, "a number"),
    (float, "a number"),
    (str, "text"),
    (dt.date, "a date"),
    (dt.time, "a time"),
    (dict, "a map"),
    (list, "a list"),
)


def document_problems(old: Outline | None, new: Outline) -> Iterator[Diagnostic]:
    """Warnings about `new`, the later version of `old`; None for a file that is new.

    What is wrong in both is no news. Line numbers are those of `new`.
    """
    if old is not None:
        yield from _byte_problems(old, new)
    if new.format is not DocumentFormat.MARKDOWN:
        return
    yield from _front_matter_problems(old, new)
    open_blocks = _newly_open_blocks(old, new)
    fences = torn_fences(old, new) if old is not None else []
    yield from map(torn_fence, fences)
    # After a fence that lost its opening line, the end of each one opens the next.
    yield from (
        _unclosed(block)
        for block in open_blocks
        if block.kind is not BlockKind.FENCE or not any(each.line < block.first_line for each in fences)
    )
    yield from _unpaired_regions(old, new)
    yield from _unpaired_tags(old, new)
    # What an unclosed block contains has one cause, which was said.
    swallowed = frozenset(
        line for block in open_blocks for line in range(block.first_line, block.last_line + 1)
    )
    yield from _torn_rows(old, new, swallowed)
    if old is not None:
        yield from torn_cells(old, new)
        yield from _swallowed_headings(old, new, swallowed)
        yield from torn_headings(old, new, swallowed)
        yield from torn_tasks(old, new, swallowed)


def _byte_problems(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    """Line ends, byte order mark and encoding: what no diff of a person shows."""
    before, after = old.source, new.source
    had, has = before.lines.line_ends, after.lines.line_ends
    fresh = [end for end in _END_NAMES if has.get(end) and not had.get(end)]
    if fresh and any(had.values()):
        names = ", ".join(f"{has[end]} {_END_NAMES[end]}" for end in fresh)
        yield Diagnostic.warning(
            Code.LINE_ENDS_CHANGED,
            f"line ends that the file did not have: {names}, of {sum(has.values())}",
            f"keep the {' and '.join(_END_NAMES[end] for end in _END_NAMES if had.get(end))} line ends",
        )
    if bool(before.bom) != bool(after.bom):
        yield Diagnostic.warning(
            Code.ENCODING_CHANGED,
            "the byte order mark is gone" if before.bom else "the file begins with a byte order mark now",
            "save the file in the encoding that it had",
        )
    elif before.encoding != after.encoding or (after.invalid_bytes and not before.invalid_bytes):
        now = "has bytes that are not UTF-8" if after.invalid_bytes else f"is {after.encoding}"
        yield Diagnostic.warning(
            Code.ENCODING_CHANGED,
            f"the file was {before.encoding} and now {now}",
            "save the file in the encoding that it had",
        )


def _front_matter_problems(old: Outline | None, new: Outline) -> Iterator[Diagnostic]:
    before = old.front_matter_content if old is not None else None
    after = new.front_matter_content
    if isinstance(before, Unreadable):
        return
    if (problem := unreadable_front_matter(old, new)) is not None:
        yield problem
    elif isinstance(before, FrontMatterContent) and isinstance(after, FrontMatterContent):
        yield from _changed_types(before, after)


def _changed_types(before: FrontMatterContent, after: FrontMatterContent) -> Iterator[Diagnostic]:
    for key, old in before.values.items():
        new = after.values.get(key)
        was, now = _type_name(old), _type_name(new)
        # A key without value says nothing of its type.
        if old is not None and new is not None and was != now:
            yield Diagnostic.warning(
                Code.FRONT_MATTER_TYPE,
                f"`{short_name(key)}` of the front matter was {was} and is {now} now",
                "quote the value if it is text" if was == "text" else f"write {was}",
                place=Position(1, 1),
            )


def _type_name(value: Any) -> str:  # noqa: ANN401 (any value of front matter)
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "a value")


def _newly_open_blocks(old: Outline | None, new: Outline) -> list[Block]:
    known = (
        Counter(_opening(old, block) for block in _open_blocks(old)) if old is not None else Counter[str]()
    )
    found = []
    for block in _open_blocks(new):
        opening = _opening(new, block)
        if known[opening]:
            known[opening] -= 1
        else:
            found.append(block)
    return found


def _unclosed(block: Block) -> Diagnostic:
    return Diagnostic.warning(
        Code.BLOCK_UNCLOSED,
        f"the {block.kind} that starts at line {block.first_line} is not closed: it contains all text "
        f"to line {block.last_line}",
        "close it, or delete its opening line",
        place=Position(block.first_line, 1),
    )


def _open_blocks(outline: Outline) -> Iterator[Block]:
    return (block for block in outline.blocks if is_left_open(block, outline.source.text))


def _opening(outline: Outline, block: Block) -> str:
    return outline.source.lines.content(block.first_line).strip()


def _unpaired_regions(old: Outline | None, new: Outline) -> Iterator[Diagnostic]:
    known = Counter(
        (each.name, each.is_start) for each in (find_regions(old).unpaired if old is not None else ())
    )
    for marker in find_regions(new).unpaired:
        if known[marker.name, marker.is_start]:
            known[marker.name, marker.is_start] -= 1
            continue
        here, other = ("start", "end") if marker.is_start else ("end", "start")
        place = new.source.lines.position(marker.span.start)
        yield Diagnostic.warning(
            Code.REGION_UNBALANCED,
            f"`<!-- {short_name(marker.name)}:{here} -->` at line {place.line} has no `:{other}` marker",
            f"put back `<!-- {short_name(marker.name)}:{other} -->`, or delete this marker",
            place=place,
        )


def _unpaired_tags(old: Outline | None, new: Outline) -> Iterator[Diagnostic]:
    known = Counter(tag.name for tag in (find_enclosures(old).unbalanced if old is not None else ()))
    for tag in find_enclosures(new).unbalanced:
        if known[tag.name]:
            known[tag.name] -= 1
            continue
        half = "closing" if tag.opens else "opening"
        yield Diagnostic.warning(
            Code.UNBALANCED_TAG,
            f"the tag at line {tag.line} has no {half} tag",
            f"write the {half} tag, or delete this one",
            place=new.source.lines.position(tag.start),
        )


def _torn_rows(old: Outline | None, new: Outline, swallowed: Container[int]) -> Iterator[Diagnostic]:
    """Rows of a table that are text now, and rows with more cells than the table has columns."""
    had = _row_lines(old) if old is not None else {}
    torn = _lines_lost(old, new, had, _row_lines(new)) if old is not None and had else []
    for first, last in _ranges(number for number in torn if number not in swallowed):
        lines = f"line {first} was a row" if first == last else f"lines {first}-{last} were rows"
        yield Diagnostic.warning(
            Code.TABLE_TORN,
            f"{lines} of a table, and {'is' if first == last else 'are'} text now",
            "delete the blank or broken line between the rows, and keep the header and its dashes",
            place=Position(first, 1),
        )
    yield from overlong_rows(new, new.tables, frozenset(had.values()))


def _ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of `numbers`, which are sorted; the line of dashes is in no list of rows."""
    first = last = 0
    for number in numbers:
        if first and number > last + 2:
            yield first, last
            first = 0
        first, last = first or number, number
    if first:
        yield first, last


def _lines_lost(old: Outline, new: Outline, were: Mapping[int, str], are: Mapping[int, str]) -> Iterator[int]:
    """Lines of `new` that have the text of one of the lines `were` of `old`, but are none of `are`.

    Those are texts of lines by their numbers. Lines that had such a text before, and were none of `were`,
    are no news.
    """
    lost = Counter(were.values()) - Counter(are.values())
    known = _texts_outside(old, were) if lost else Counter[str]()
    for number in range(1, new.source.lines.count + 1) if lost else ():
        text = _line(new, number)
        if number in are or not text or not lost[text]:
            continue
        if known[text]:
            known[text] -= 1
            continue
        lost[text] -= 1
        yield number


def _texts_outside(outline: Outline, rows: Mapping[int, str]) -> Counter[str]:
    """How often another line has the text of one of `rows`, which are texts of lines by their numbers."""
    wanted = frozenset(rows.values())
    others = (number for number in range(1, outline.source.lines.count + 1) if number not in rows)
    return Counter(text for number in others if wanted and (text := _line(outline, number)) in wanted)


def _row_lines(outline: Outline) -> dict[int, str]:
    """The rows of all tables by their lines, headers too; without the white space around them."""
    lines = {row.line: "" for table in outline.tables for row in (table.header, *table.rows)}
    return {number: _line(outline, number) for number in lines}


def _line(outline: Outline, number: int) -> str:
    return outline.source.lines.content(number).strip()


def _swallowed_headings(old: Outline, new: Outline, swallowed: Container[int]) -> Iterator[Diagnostic]:
    """Headings whose line is still there, but is no longer a heading."""
    for number in _lines_lost(old, new, _heading_lines(old), _heading_lines(new)):
        if number in swallowed:
            continue
        block = new.tree.leaf_at(new.source.lines.start(number))
        inside = f": it is in the {block.kind} that starts at line {block.first_line}" if block else ""
        yield Diagnostic.warning(
            Code.HEADING_LOST,
            f"`{short_name(_line(new, number))}` at line {number} is no longer a heading{inside}",
            "close what comes before it, or put a blank line there",
            place=Position(number, 1),
        )


def _heading_lines(outline: Outline) -> dict[int, str]:
    """The lines of headings that begin with ``#``; the text of other headings can be any text."""
    lines = {section.heading_line: _line(outline, section.heading_line) for section in outline.headings}
    return {number: text for number, text in lines.items() if text.startswith("#")}
