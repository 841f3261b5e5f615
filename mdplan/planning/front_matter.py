"""The changes of front matter of all edits, made in one go and proven to be the only ones."""

from bisect import bisect_left
from collections.abc import Sequence

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.front_matter.block import FrontMatterError, FrontMatterFormat
from mdplan.markdown.front_matter.change import KeyChange, Splice
from mdplan.markdown.outline.outline import Outline
from mdplan.planning.parts import Part
from mdplan.planning.resolve import ResolvedEdit
from mdplan.text.edit import EditList
from mdplan.text.span import Span


def front_matter_parts(outline: Outline, resolved: Sequence[ResolvedEdit]) -> list[Part] | Problems:
    """Text edits of all `resolved` that change keys of the front matter of `outline`.

    Several keys in one map, or in a block that is yet to be created, are one matter: braces and fences are
    written once, and a map that loses all its keys is seen to be empty.
    Errors: FRONT_MATTER_INVALID.
    """
    asked = [item for item in resolved if _changes_of(item)]
    if not asked:
        return []
    try:
        return _parts(outline, asked)
    except FrontMatterError as error:
        from mdplan.markdown.edits.front_matter_problems import cannot_change

        # Which edit it was is looked for only now, so that a sound batch is read again once.
        sound = bisect_left(range(1, len(asked)), 1, key=lambda count: _fails(outline, asked[:count]))
        return (cannot_change(outline, error).at(edit_index=asked[sound].index),)


def created_twice(resolved: Sequence[ResolvedEdit]) -> Problems:
    """CONFLICTING_EDITS for an edit that would create front matter in another format than the one before."""
    first: tuple[int, FrontMatterFormat] | None = None
    for item in resolved:
        creates = item.resolution.front_matter.creates if item.resolution.front_matter else None
        if creates is None:
            continue
        if first is not None and creates is not first[1]:
            return (
                Diagnostic(
                    code=Code.CONFLICTING_EDITS,
                    message=f"edits {first[0]} and {item.index} create front matter in two formats",
                    hint="give both the same frontMatterFormat",
                    edit_index=item.index,
                ),
            )
        first = first or (item.index, creates)
    return ()


def _changes_of(item: ResolvedEdit) -> tuple[KeyChange, ...]:
    return item.resolution.front_matter.changes if item.resolution.front_matter else ()


def _fails(outline: Outline, asked: Sequence[ResolvedEdit]) -> int:
    """1 where the changes of `asked` cannot be made together, else 0."""
    try:
        _parts(outline, asked)
    except FrontMatterError:
        return 1
    return 0


def _parts(outline: Outline, asked: Sequence[ResolvedEdit]) -> list[Part]:
    """Raises `FrontMatterError` where the changes cannot be made, or not be proven."""
    # They load YAML, and few batches change front matter.
    from mdplan.markdown.front_matter.edits import block_edits, new_block, verify_round_trip
    from mdplan.markdown.front_matter.values import FrontMatterContent

    changes = [change for item in asked for change in _changes_of(item)]
    owners = [item.index for item in asked for _ in _changes_of(item)]
    content = outline.front_matter_content
    splices: tuple[Splice, ...]
    if outline.front_matter is None:
        creates = next(
            item.resolution.front_matter.creates for item in asked if item.resolution.front_matter is not None
        )
        assert creates is not None, "an edit of a file without front matter creates it"
        content = FrontMatterContent(creates, "", most_characters=outline.limits.front_matter_characters)
        splices = (new_block(creates, outline.source.lines, changes),)
    else:
        assert isinstance(content, FrontMatterContent), "edits of what cannot be read were refused"
        splices = block_edits(outline.front_matter, content, outline.source.lines, changes)
    edits = EditList.of(splice.edit for splice in splices)
    if not isinstance(edits, EditList):
        raise FrontMatterError("two of the changes want the same text")
    verify_round_trip(outline.source.text, outline.front_matter, content, edits, changes)
    return [_part(splice, owners) for splice in splices]


def _part(splice: Splice, owners: Sequence[int]) -> Part:
    indexes = sorted({owners[change] for change in splice.changes})
    return Part(splice.edit, tuple((index, Span(0, len(splice.edit.new_text))) for index in indexes))
