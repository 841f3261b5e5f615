"""Entries of navigation files, after pages were renamed and deleted: they name what they named."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mdplan.data.address import shown
from mdplan.data.content import DataContent
from mdplan.data.tree import REMOVED, DataError, KeyChange, Path, Unnamed, value_at
from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.destinations import FileTree, destinations
from mdplan.markdown.front_matter_edits import data_content, data_splices, verify_splices
from mdplan.markdown.lists import ListItem, MarkdownList
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import folder_of, followed
from mdplan.markdown.targets import whole
from mdplan.planning.build import BuiltFile
from mdplan.planning.navigation.kinds import REDIRECT, Navigation, beside_its_pages, navigation_of
from mdplan.planning.sequence.post_edits import with_post_edits
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.source import DocumentFormat

_LINK_ALONE: Final = re.compile(r"\[[^\[\]]*\]\([^()\s]*\)")


@dataclass(frozen=True, slots=True)
class AffectedPage:
    """The value at `path`: it names a `page` that is `now` elsewhere, or gone; `change` makes it right."""

    path: Path
    page: str
    now: str | None
    change: KeyChange | None


def update_entries(
    built: BuiltFile, pages: Mapping[str, str | None], before: FileTree, *, may_rewrite: bool
) -> BuiltFile:
    """`built` with its entries of `pages`, old paths with new ones or None, as these are now.

    `before` are the files as they were. An entry of a page that is gone is deleted with what names it alone.
    Where `may_rewrite` is false, or an entry cannot be changed, BROKEN_LINK warnings say so.
    """
    outline = built.result
    if outline.format is DocumentFormat.MARKDOWN:
        gone = [path for path, now in pages.items() if now is None]
        return _without_items(built, gone) if gone and may_rewrite else built
    content = data_content(outline)
    if not isinstance(content, DataContent):
        return built
    navigation = navigation_of(built.file.result_path, content.values)
    if navigation is None:
        return built
    navigation = beside_its_pages(navigation, strings_of(content.values), before)
    found = list(_affected(navigation, content.values, pages))
    return follow_pages(built, found, may_rewrite=may_rewrite) if found else built


def follow_pages(built: BuiltFile, found: Sequence[AffectedPage], *, may_rewrite: bool) -> BuiltFile:
    """`built` with the changes of all that was `found` affected; BROKEN_LINK for what stays as it is."""
    updated = _changed(built, found) if may_rewrite else None
    left = [each for each in found if updated is None or each.change is None]
    result = updated or built
    warnings = tuple(_warning(result.result, each).at(file=built.file.path) for each in left)
    count = result.references_updated + len(found) - len(left)
    return replace(result, references_updated=count, warnings=(*result.warnings, *warnings))


def _without_items(built: BuiltFile, gone: Collection[str]) -> BuiltFile:
    """`built` without the items of a summary that are links to pages which are `gone`, and no more."""
    path, outline = built.file.result_path, built.result
    lines, edits = outline.source.lines, list[TextEdit]()
    for link in destinations(outline, [whole(outline)]):
        if not link.path or followed(folder_of(path), link.path) not in gone:
            continue
        item = next(items_at(outline, link.span.start), None)
        if item is not None and not item.lists and _LINK_ALONE.fullmatch(item.text):
            edits.append(TextEdit.delete(lines.span(item.first_line, item.last_line)))
    found = EditList.of(edits)
    updated = with_post_edits(built, found) if isinstance(found, EditList) else None
    return built if updated is None else replace(updated, references_updated=len(edits))


def items_at(outline: Outline, offset: int) -> Iterator[ListItem]:
    """Items of lists that `offset` of `outline` is in, the innermost first."""
    for listing in outline.lists.outermost_in(whole(outline)):
        yield from _items_at(listing, offset)


def _items_at(listing: MarkdownList, offset: int) -> Iterator[ListItem]:
    for item in listing.items:
        if item.block.span.start <= offset < item.block.span.end:
            for inner in item.lists:
                yield from _items_at(inner, offset)
            yield item


def _affected(
    navigation: Navigation, values: object, pages: Mapping[str, str | None]
) -> Iterator[AffectedPage]:
    for path, value in strings_of(values):
        page = next((each for each in navigation.page(path, value) if each in pages), None)
        if page is None:
            continue
        now = pages[page]
        if now is None:
            gone = _own_entry(values, path) if path[-1] != REDIRECT else None
            yield AffectedPage(path, page, None, KeyChange(gone, REMOVED) if gone else None)
            continue
        written = navigation.written(now, value)
        yield AffectedPage(path, page, now, KeyChange(path, written) if written else None)


def strings_of(values: object, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Paths of all strings in `values`, which has maps and lists, in their order."""
    if isinstance(values, str):
        yield path, values
    elif isinstance(values, dict):
        for name, value in values.items():
            if not isinstance(name, Unnamed):
                yield from strings_of(value, (*path, name))
    elif isinstance(values, list):
        for index, value in enumerate(values):
            yield from strings_of(value, (*path, index))


def _own_entry(values: Any, path: Path) -> Path | None:  # noqa: ANN401 (any value)
    """The item of a list that goes with the page at `path`; None where more than the page would go."""
    if isinstance(path[-1], str):
        owner = value_at(values, path[:-1])
        has_more = any(isinstance(each, list | dict) for each in owner.values())
        path = path[:-1]
        if has_more or not path or not isinstance(path[-1], int):
            return None
    # A map with this list alone, `Guide: [page]`, would have nothing left.
    above = value_at(values, path[:-1])
    owner = value_at(values, path[:-2]) if len(path) > 1 else None
    is_only = len(above) == 1 and isinstance(owner, dict) and len(owner) == 1
    return path[:-2] if is_only and len(path) > 2 and isinstance(path[-3], int) else path


def _changed(built: BuiltFile, found: Sequence[AffectedPage]) -> BuiltFile | None:
    """`built` with these changes alone; None where there are none, or they cannot be made."""
    by_key = {each.change.key: each.change for each in found if each.change is not None}
    gone = [key for key, change in by_key.items() if change.value is REMOVED]
    changes = [
        change for key, change in by_key.items() if not any(key != each == key[: len(each)] for each in gone)
    ]
    try:
        edits = EditList.of(splice.edit for splice in data_splices(built.result, changes, None))
        if not changes or not isinstance(edits, EditList):
            return None
        verify_splices(built.result, edits, changes, None)
    except DataError:
        return None
    return with_post_edits(built, edits)


def _warning(outline: Outline, affected: AffectedPage) -> Diagnostic:
    """BROKEN_LINK for what names an `affected` page in `outline`."""
    content = data_content(outline)
    span = content.places.get(affected.path) if isinstance(content, DataContent) else None
    start = outline.front_matter.content.start if outline.front_matter else 0
    place = outline.source.lines.position(span.start + start) if span else None
    where = f" at line {place.line}" if place else ""
    becomes = f"is now `{affected.now}`" if affected.now else "this plan deletes"
    key = shown(affected.path)
    return Diagnostic.warning(
        Code.BROKEN_LINK,
        f"the entry `{key}`{where} names `{affected.page}`, which {becomes}",
        f'change it with set_value or delete_value and `"key": "{key}"`'
        + ('; `"updateReferences": "workspace"` updates entries' if affected.change else ""),
        place=place,
    )
