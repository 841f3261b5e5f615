"""Where in a document a code block, table or list is that a target of `read` names, also within a section."""

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.blocks import Block
from mdplan.markdown.outline import CodeBlock, Outline, find_code_blocks, has_language
from mdplan.markdown.tables import tables_with_header
from mdplan.reading.document_place import ReadLocation
from mdplan.requests.read import CodeBlockName, Indexed
from mdplan.text.lines import Span

_MOST_LISTED = 10


def code_block(outline: Outline, wanted: CodeBlockName, scope: Span) -> ReadLocation | Diagnostic:
    """Lines between the fences of a code block that starts in `scope`, where indexes count from 0."""
    fenced = [
        block
        for block in find_code_blocks(outline)
        if block.index is not None and scope.start <= block.block.span.start < scope.end
    ]
    found = [block for block in fenced if wanted.language in {None, block.language}]
    if not found and wanted.language is not None:
        found = [block for block in fenced if has_language(block.language, wanted.language)]
    if wanted.index is not None:
        found = found[wanted.index : wanted.index + 1]
    if len(found) != 1:
        listed = ", ".join(_named(fenced.index(block), block) for block in (found or fenced)[:_MOST_LISTED])
        what = "several" if found else "no"
        return Diagnostic(
            code=Code.CODE_BLOCK_NOT_FOUND,
            message=f"there are {what} fenced code blocks like that",
            hint=f"give the index of one: {listed}" if fenced else "there are none here",
        )
    block = found[0].block
    closing = outline.source.lines.content(block.last_line).lstrip(" \t>").rstrip(" \t")
    is_closed = (
        block.last_line > block.first_line
        and closing.startswith(block.markup)
        and not closing.strip(block.markup[:1])
    )
    return ReadLocation(
        first=block.first_line + 1, last=block.last_line - is_closed, language=found[0].language
    )


def _named(index: int, block: CodeBlock) -> str:
    return f"{index} (line {block.block.first_line})"


def table(outline: Outline, wanted: Indexed, scope: Span) -> ReadLocation | Diagnostic:
    """Lines of a table that starts in `scope`, by its index from 0, or the only one with a header cell."""
    tables = outline.tables_in(scope)
    if wanted.header is not None:
        found = [each.block for each in tables_with_header(tables, wanted.header)]
    else:
        index = wanted.index or 0
        found = [each.block for each in tables[index : index + 1]]
    return _only(found, [each.block for each in tables], Code.TABLE_NOT_FOUND, "table")


def listing(outline: Outline, wanted: Indexed, scope: Span) -> ReadLocation | Diagnostic:
    """Lines of a list that starts in `scope` and is in no other list, by its index from 0."""
    lists = outline.lists.outermost_in(scope)
    index = wanted.index or 0
    place = _only(
        [each.block for each in lists[index : index + 1]],
        [each.block for each in lists],
        Code.LIST_NOT_FOUND,
        "list",
    )
    # The block of a list has the blank lines after it.
    return (
        place
        if isinstance(place, Diagnostic)
        else ReadLocation(first=place.first, last=lists[index].last_line)
    )


def _only(found: list[Block], every: list[Block], code: Code, what: str) -> ReadLocation | Diagnostic:
    if len(found) == 1:
        return ReadLocation(first=found[0].first_line, last=found[0].last_line)
    listed = ", ".join(
        f"{index} (line {block.first_line})" for index, block in enumerate(every[:_MOST_LISTED])
    )
    return Diagnostic(
        code=code,
        message=f"there is {'more than one' if found else 'no'} {what} like that",
        hint=f"give the index of one: {listed}" if every else f"there is no {what} here",
    )
