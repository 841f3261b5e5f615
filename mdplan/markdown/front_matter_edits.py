"""Edit front matter, and verify that only the requested keys change.

The new block is parsed again: it must start at the same place, with the old values plus the changes.
Otherwise the edit is refused.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from mdplan.data.content import DataContent, data_edits, placed, read_data, verify_edits, verify_values
from mdplan.data.tree import (
    REMOVED,
    Change,
    DataError,
    KeyChange,
    Language,
    Splice,
    as_read,
    plain_text,
    spelled,
    value_at,
    values_equal,
)
from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.format_detection import FrontMatter, find_front_matter
from mdplan.markdown.front_matter import Unreadable, empty_content, read_content
from mdplan.markdown.outline import Outline
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lines import LineIndex, Position, line_end_around, with_line_ends
from mdplan.text.source import DocumentFormat, visible
from mdplan.words import either, say

_FENCES: Final = {DocumentFormat.YAML: "---", DocumentFormat.TOML: "+++"}


def new_block(format: DocumentFormat, lines: LineIndex, changes: Sequence[Change]) -> Splice:  # noqa: A002
    """Return the insertion of a block with the values of `changes` before the text with these `lines`."""
    edits = EditList.of(splice.edit for splice in data_edits(empty_content(format), changes))
    assert isinstance(edits, EditList), "insertions at one place do not overlap"
    fence = _FENCES[format]
    block = f"{fence}\n{edits.apply('')}{fence}\n"
    if lines.count and lines.content(1).strip(" \t"):
        block += "\n"
    block = with_line_ends(block, line_end_around(lines, 0))
    return Splice(TextEdit.insert(0, block), tuple(range(len(changes))))


def verify_round_trip(
    text: str,
    front_matter: FrontMatter | None,
    content: DataContent,
    edits: EditList,
    changes: Sequence[Change],
    most_characters: int,
) -> None:
    """Raise `DataError` unless `edits` of `text` make exactly `changes`.

    `front_matter` is the old block with its `content`, or None if `edits` create one.
    """
    block = edits.apply(text[: front_matter.span.end] if front_matter else "")
    result = find_front_matter(block)
    is_other = result is None or result.format.value != content.language.value
    if result is None or is_other or block[result.span.end :].strip("\r\n"):
        raise DataError("the block would end somewhere else, or not be found again")
    try:
        result_content = read_content(
            result.format, block[result.content.start : result.content.end], most_characters
        )
    except DataError as error:
        raise DataError(f"after the change {error.reason}") from error
    verify_values(content, result_content, changes)
    if front_matter is not None and result.format is DocumentFormat.YAML:
        verify_elsewhere(text[: front_matter.span.end], block, changes)


def verify_elsewhere(old: str, new: str, changes: Sequence[Change]) -> None:
    """Raise `DataError` unless python-frontmatter reads all other keys as before.

    Site tools use similar rules. Blocks that it could not read before are skipped, and so are keys that it
    does not read as text, such as `yes`.
    """
    before, after = _read_elsewhere(old), _read_elsewhere(new)
    if before is None:
        return
    if after is None:
        raise DataError("other readers of front matter would no longer read the block")
    touched = {element for change in changes for element in (*change.key[:1], getattr(change, "name", None))}
    kept = [
        {key: value for key, value in read.items() if isinstance(key, str) and key not in touched}
        for read in (before, after)
    ]
    if not values_equal(*kept):
        raise DataError("other readers of front matter would see another value change")


def _read_elsewhere(block: str) -> dict[Any, Any] | None:
    import frontmatter
    import yaml

    try:
        values, _ = frontmatter.parse(block)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return values


def _with_first_line(content: DataContent, splices: list[Splice]) -> list[Splice]:
    """Add the deletion of leading blank lines: a block does not start with one."""
    deletions = {
        splice.edit.span.start: splice
        for splice in splices
        if len(splice.edit.span) and not splice.edit.new_text
    }
    inserted = {splice.edit.span.start for splice in splices if splice.edit.new_text}
    lines, at, last = content.lines, 0, None
    blank: list[Splice] = []
    while at not in inserted and at < len(content.text):
        if at in deletions:
            last = deletions[at]
            at = last.edit.span.end
            continue
        line = lines.line_at(at)
        if last is None or at != lines.start(line) or lines.content(line).strip(" \t"):
            break
        blank.append(Splice(TextEdit.delete(lines.span(line, line)), last.changes))
        at = lines.end(line)
    return [*splices, *blank]


# --- Problems with front matter and data files

OTHER_VALUE: Final = either(
    say("to change it, send that as {expectedValue}"),
    say("in many files, send as {files} the names that {step find} finds"),
    joint="; ",
)

_UNRECOGNISED: Final = (
    "no two lines of `---` or `+++` alone enclose it from line 1 on, and it is no JSON object"
)
_EDIT_AS_TEXT: Final = say("edit the lines themselves with {replace_lines} or {replace_match}")


def no_block(*, may_create: bool) -> Diagnostic:
    """Return FRONT_MATTER_NOT_FOUND, with a hint if the operation may create a block."""
    create = [say("{createIfMissing=true} would make it")] if may_create else []
    return Code.FRONT_MATTER_NOT_FOUND.problem(
        "the file has no front matter",
        either("front matter starts with `---` or `+++` on the very first line", *create, joint="; "),
    )


def unreadable(outline: Outline, why: Unreadable) -> Diagnostic:
    """Return FRONT_MATTER_INVALID or DATA_INVALID for content that cannot be read safely."""
    place = position_of(outline, why.offset)
    at = f" at line {place.line}" if place else ""
    return _invalid(outline, f"cannot be edited by keys{at}: {why.reason}", place)


def cannot_change(outline: Outline, error: DataError) -> Diagnostic:
    """Return the problem for a change that is impossible or may have side effects."""
    return _invalid(outline, f"cannot be edited this way: {error.reason}", position_of(outline, error.offset))


def _invalid(outline: Outline, problem: str, place: Position | None) -> Diagnostic:
    is_markdown = outline.format is DocumentFormat.MARKDOWN
    return (Code.FRONT_MATTER_INVALID if is_markdown else Code.DATA_INVALID).problem(
        f"the {'front matter' if is_markdown else 'file'} {problem}", _EDIT_AS_TEXT, place=place
    )


def kind_of(value: object) -> str:
    """Return the name of the type of `value`."""
    if value is REMOVED:
        return "missing"
    if value is None:
        return "empty"
    names = {
        dict: "a map",
        list: "a list",
        str: "text",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), "a date or time")


def position_of(outline: Outline, offset: int | None) -> Position | None:
    """Return the position of `offset` in the content of the front matter or data file."""
    if offset is None:
        return None
    start = outline.front_matter.content.start if outline.front_matter else 0
    return outline.source.lines.position(start + offset)


_TYPES: Final[Mapping[type, str]] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "list",
    dict: "map",
}


def type_changes(values: object, changes: Iterable[Change]) -> Iterator[Diagnostic]:
    """Yield FRONT_MATTER_TYPE for each value in `values` whose type changes."""
    for change in changes:
        if not isinstance(change, KeyChange):
            continue
        old = _TYPES.get(type(value_at(values, change.key)))
        new = _TYPES.get(type(as_read(change.value)))
        if old is None or new in (None, "list", "map", old):
            continue
        if old in {"list", "map"}:
            hint = f"to keep the {old}, send all of it with its brackets"
        elif old == "string":
            hint = f'to keep text, put the value in quotes: `"{plain_text(change.value)}"`'
        elif isinstance(change.value, str) and spelled(change.value) != change.value:
            hint = say("name the key in {dates} to write the number without quotes")
        else:
            hint = "send the value as the type that it should have: false and 3 without quotes"
        name = visible(".".join(map(str, change.key)))
        yield Code.FRONT_MATTER_TYPE.warning(f"`{name}` was a {old} and is a {new} now", hint)


# --- Key changes as text edits of a data file or front matter


def data_splices(
    outline: Outline, changes: Sequence[Change], creates: DocumentFormat | None
) -> tuple[Splice, ...]:
    """Return the text edits that make `changes`; `creates` is the format of a new block.

    The caller has checked that no key contains another and that removed keys and parents exist. Raise
    `DataError` if the edit is impossible.
    """
    lines = outline.source.lines
    if not changes:
        return ()
    if outline.format is not DocumentFormat.MARKDOWN:
        return placed(data_edits(_content(outline), changes), 0, lines)
    if outline.front_matter is None:
        assert creates is not None, "an edit of a file without front matter creates it"
        return (new_block(creates, lines, changes),)
    content = _content(outline)
    splices = _with_first_line(content, data_edits(content, changes))
    return placed(splices, outline.front_matter.content.start, lines)


def verify_splices(
    outline: Outline, edits: EditList, changes: Sequence[Change], creates: DocumentFormat | None
) -> None:
    """Raise `DataError` unless `edits` of `outline` make exactly `changes`."""
    if outline.format is not DocumentFormat.MARKDOWN:
        verify_edits(_content(outline), edits, changes)
        return
    content = outline.front_matter_content
    if outline.front_matter is None:
        assert creates is not None, "an edit of a file without front matter creates it"
        content = empty_content(creates)
    assert isinstance(content, DataContent), "edits of what cannot be read were refused"
    limit = outline.limits.front_matter_characters
    verify_round_trip(outline.source.text, outline.front_matter, content, edits, changes, limit)


def _content(outline: Outline) -> DataContent:
    content = data_content(outline)
    assert isinstance(content, DataContent), "edits of what cannot be read were refused"
    return content


# --- Values of a data file or front matter


def data_content(outline: Outline) -> DataContent | Unreadable | None:
    """Return the values of the data file or front matter of `outline`, parsed once.

    Return None for plain text and for Markdown without front matter.
    """
    if outline.format is DocumentFormat.MARKDOWN:
        content = outline.front_matter_content
        if content is None and outline.unrecognised_front_matter is not None:
            return Unreadable(_UNRECOGNISED, outline.unrecognised_front_matter)
        return content
    if outline.format is DocumentFormat.TEXT:
        return None
    return outline.derived(_read, Language(outline.format))


def _read(outline: Outline, language: Language) -> DataContent | Unreadable:
    try:
        return read_data(language, outline.source.text)
    except DataError as error:
        return Unreadable(error.reason, error.offset)
