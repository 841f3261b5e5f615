"""Entries of navigation files, after pages were renamed and deleted: they name what they named."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mdplan.data.address import shown
from mdplan.data.content import DataContent
from mdplan.data.tree import REMOVED, DataError, KeyChange, Path, Unnamed, value_at
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.destinations import FileTree, destinations
from mdplan.markdown.front_matter_edits import data_content, data_splices, verify_splices
from mdplan.markdown.lists import ListItem, MarkdownList
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import LinkStyle, SiteRules, folder_of, followed, link_between
from mdplan.markdown.targets import whole
from mdplan.operations.base import Resolution
from mdplan.operations.files import CreatePage
from mdplan.operations.keys import AddToList
from mdplan.operations.lists import AddListItem
from mdplan.planning.build import BuiltFile
from mdplan.planning.navigation import EXTERNAL, REDIRECT, TAIL, Navigation, beside_its_pages, navigation_of
from mdplan.planning.sequence import with_post_edits
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.source import DocumentFormat
from mdplan.text.visible import nearest_names

_LINK_ALONE: Final = lazy_pattern(r"\[[^\[\]]*\]\([^()\s]*\)")


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


# --- The entry of a new page in the navigation of its site.

_MOST_NAMED: Final = 10

_AS_WRITTEN: Final = "give the title as the file has it, or leave the place out"

_ITS_PAGE: Final = "name the entry by its page"

_TITLES: Final = ("name", "group", "label", "title", "caption", "tab", "text", "part", "dropdown", "anchor")


def new_entry(
    operation: CreatePage, page: str, path: str, outline: Outline, tree: FileTree
) -> Resolution | Problems:
    """The edit of the navigation `outline`, which is in the file `path`, that adds the entry of `page`.

    Both paths are from the root of `tree`. Errors: INVALID_ARGUMENT for a file that lists no pages, or cannot
    name this one; KEY_NOT_FOUND for a list or a neighbour that is not there; those of adding an item.
    """
    if outline.format is DocumentFormat.MARKDOWN:
        return _evident(_link(operation, page, path, outline).resolve(outline))
    content = data_content(outline)
    navigation = navigation_of(path, content.values) if isinstance(content, DataContent) else None
    make = navigation.kind.entry if navigation is not None else None
    if not isinstance(content, DataContent) or navigation is None or make is None:
        return (
            Diagnostic.invalid(
                f"`{path}` is no file that lists pages, or cannot be read",
                "name mkdocs.yml, docs.json, toc.yml, SUMMARY.md or the like; add_to_list writes other lists",
            ),
        )
    navigation = beside_its_pages(navigation, strings_of(content.values), tree)
    written = navigation.written(page)
    if written is None:
        return (
            Diagnostic.invalid(
                f"{navigation.kind.tool} takes pages of `{navigation.folder}` alone, and this is `{page}`",
                "make the page in that folder",
            ),
        )
    lists = list(_lists(navigation, content.values, (), ()))
    wanted = operation.after if operation.before is None else operation.before
    place = _place(operation, navigation, lists, page)
    if wanted is not None:
        place = _beside(operation, place, lists, wanted)
    if isinstance(place, Diagnostic):
        return (place,)
    entry = make(operation.title_of(page), written)
    fields: dict[str, Any] = {}
    if wanted is not None:
        fields["after" if operation.after else "before"] = place.entries[wanted]
    added = AddToList.model_validate(
        {"op": "add_to_list", "key": list(place.path) or "", "value": [entry], **fields}
    )
    return _evident(added.resolve(outline))


def _evident(outcome: Resolution | Problems) -> Resolution | Problems:
    """The addition of an entry takes nothing away, and its list was found in the file as it is."""
    return replace(outcome, is_evidence=True) if isinstance(outcome, Resolution) else outcome


@dataclass(frozen=True, slots=True)
class _Listed:
    """A list of pages at `path`, with the `names` that a reader sees for it, and the folders of its pages.

    `entries` are the indexes of its entries by what may name one: a title, a page as written, or its path.
    """

    path: Path
    names: tuple[str, ...]
    folders: frozenset[str]
    entries: Mapping[str, int]


def _place(
    operation: CreatePage, navigation: Navigation, lists: Sequence[_Listed], page: str
) -> _Listed | Diagnostic:
    """The list that takes the entry. Errors: KEY_NOT_FOUND, INVALID_ARGUMENT."""
    if operation.under is not None:
        found = [each for each in lists if operation.under in each.names]
    else:
        found = [each for each in lists if folder_of(page) in each.folders]
        top = [each for each in lists if each.path == navigation.kind.top]
        found = found if len(found) == 1 else top or list(lists)
    if len(found) == 1:
        return found[0]
    titles = dict.fromkeys(name for each in lists for name in each.names)
    names = ", ".join(f"`{title}`" for title in list(titles)[:_MOST_NAMED])
    hint = f"lists of pages: {names}" if names else "add a list of pages to the file first, by set_value"
    if operation.under is not None and not found:
        return Diagnostic(
            code=Code.KEY_NOT_FOUND, message=f"no list of pages has the title `{operation.under}`", hint=hint
        )
    what = "several lists of pages have that title" if found else "the file has no list of pages"
    if operation.under is None and found:
        what = "the entry could go to several lists"
    return Diagnostic.invalid(what, f"give `under`; {hint}" if names else hint)


def _lists(navigation: Navigation, values: Any, path: Path, names: tuple[str, ...]) -> Iterator[_Listed]:  # noqa: ANN401
    """Lists in `values` that have pages, the outermost first; those in a list of pages are lists too."""
    kind = navigation.kind
    if isinstance(values, list):
        is_inside = kind.pages_keys is not None or path[: len(kind.top)] == kind.top
        if is_inside and (kind.pages_keys is None or (path[-1:] and path[-1] in kind.pages_keys)):
            entries = _entries(navigation, values, path)
            yield _Listed(path, names, _folders(navigation, values, path), entries)
        for index, value in enumerate(values):
            yield from _lists(navigation, value, (*path, index), ())
    elif isinstance(values, dict):
        titles = tuple(value for name in _TITLES if isinstance(value := values.get(name), str))
        for name, value in values.items():
            if isinstance(name, str):
                yield from _lists(navigation, value, (*path, name), titles or (name,))


def _folders(navigation: Navigation, values: list[Any], path: Path) -> frozenset[str]:
    """Folders of the pages that are entries of the list itself."""
    found: set[str] = set()
    for index, value in enumerate(values):
        for inner, text in strings_of(value, (*path, index)):
            is_own = len(inner) <= len(path) + 2
            found.update(folder_of(each) for each in navigation.page(inner, text)[:1] if is_own)
    return frozenset(found)


def _entries(navigation: Navigation, values: list[Any], path: Path) -> Mapping[str, int]:
    """Indexes of the entries of a list at `path` by their titles, and by their pages in each form."""
    found: dict[str, int] = {}
    paths: dict[str, int] = {}
    for index, item in enumerate(values):
        named = item.items() if isinstance(item, dict) else [(index, item)]
        for key, value in named:
            inner = (*path, index, key) if isinstance(item, dict) else (*path, index)
            for text in (key, value):
                if isinstance(text, str):
                    found.setdefault(text, index)
            for each in navigation.page(inner, value):
                paths.setdefault(each, index)
    return {**paths, **found}


def _beside(
    operation: CreatePage, place: _Listed | Diagnostic, lists: Sequence[_Listed], wanted: str
) -> _Listed | Diagnostic:
    """The list with the entry `wanted`: the one at `place`, or where no list was named, the only other one.

    Errors: those of `place` where a list was named; KEY_NOT_FOUND, INVALID_ARGUMENT.
    """
    if isinstance(place, _Listed) and wanted in place.entries:
        return place
    if isinstance(place, Diagnostic) and operation.under is not None:
        return place
    found = [each for each in lists if wanted in each.entries]
    if len(found) == 1 and operation.under is None:
        return found[0]
    names = [each.names[0] for each in found if each.names]
    listed = ", ".join(f"`{name}`" for name in names[:_MOST_NAMED])
    send = f'send "under": {json.dumps(names[0], ensure_ascii=False)}' if names else ""
    if found and operation.under is None:
        message = f"`{wanted}` is in several lists" + (f": {listed}" if listed else "")
        return Diagnostic.invalid(message, f"{send}, or the page of the entry" if send else _ITS_PAGE)
    near = nearest_names(wanted, dict.fromkeys(name for each in lists for name in each.entries))
    hint = f"nearest: {', '.join(f'`{name}`' for name in near)}" if near else _AS_WRITTEN
    is_named = operation.under is not None
    nothing = f"the list `{operation.under}` has no entry with" if is_named else "no entry has"
    return Diagnostic(
        code=Code.KEY_NOT_FOUND,
        message=f"{nothing} the title or page `{wanted}`",
        hint=f"`{wanted}` is in the list {listed}: {send}" if names else hint,
    )


def _link(operation: CreatePage, page: str, path: str, outline: Outline) -> AddListItem:
    """The item of a list of links."""
    title = operation.title_of(page).replace("[", "\\[").replace("]", "\\]")
    link = link_between(folder_of(path), page)
    link = f"<{link}>" if any(sign in link for sign in " ()") else link
    given = {"before": operation.before, "after": operation.after}
    place = {name: text for name, text in given.items() if text is not None}
    if not place:
        sibling = _sibling(page, path, outline)
        place = {"under": operation.under} if operation.under else {"after": sibling} if sibling else {}
    return AddListItem.model_validate({"op": "add_list_item", "item": f"[{title}]({link})", **place})


def _sibling(page: str, path: str, outline: Outline) -> str | None:
    """The text of the last item that links to a page of the same folder."""
    offsets = [
        each.span.start
        for each in destinations(outline, [whole(outline)])
        if each.path and folder_of(followed(folder_of(path), each.path)) == folder_of(page)
    ]
    found = next(items_at(outline, offsets[-1]), None) if offsets else None
    return found.text if found is not None else None


# --- Routes of pages in the front matter of VitePress and Starlight, after pages were renamed and
# deleted.
#
# `link` of the actions and features of a home page, and of the page before or after, is a path or a route
# as
# in a link of the text.

_OWNERS: Final = frozenset({"hero", "features", "prev", "next"})

_KEY: Final = "link"


def update_page_links(
    built: BuiltFile, pages: Mapping[str, str | None], rules: SiteRules, *, may_rewrite: bool
) -> BuiltFile:
    """`built` with the routes in its front matter as `pages`, old paths with new ones or None, are now.

    Where `may_rewrite` is false, or a route cannot be changed, BROKEN_LINK warnings say so.
    """
    content = data_content(built.result)
    if not isinstance(content, DataContent) or not isinstance(content.values, dict):
        return built
    if _OWNERS.isdisjoint(content.values):
        return built
    found = list(_routes(built, content, pages, rules))
    return follow_pages(built, found, may_rewrite=may_rewrite)


def _routes(
    built: BuiltFile, content: DataContent, pages: Mapping[str, str | None], rules: SiteRules
) -> Iterator[AffectedPage]:
    for path, value in strings_of(content.values):
        if path[-1] != _KEY or path[0] not in _OWNERS or EXTERNAL.match(value):
            continue
        body = TAIL.sub("", value)
        found = next(_named(built.file.relative, body, pages, rules), None) if body else None
        if found is not None:
            page, style = found
            now = pages[page]
            written = _written(built.file.result_path, now, style, body, rules) if now is not None else None
            change = None if written is None else KeyChange(path, written + value[len(body) :])
            yield AffectedPage(path, page, now, change)


def _named(
    document: str, body: str, pages: Mapping[str, str | None], rules: SiteRules
) -> Iterator[tuple[str, LinkStyle]]:
    """The pages that the path `body` in the file `document` names, each with how it does that."""
    for start, style in rules.starts(document, body):
        for form, found in ((start, style), *rules.forms(start, style)):
            if form in pages:
                yield form, found


def _written(document: str, page: str, style: LinkStyle, body: str, rules: SiteRules) -> str | None:
    """The path of `page` in the `document`, in the form of `body`."""
    wanted = rules.written(page, style, body)
    if wanted is None or style.prefix is not None:
        return wanted
    if body.startswith("/"):
        return f"/{wanted}"
    start = rules.page_folder(document) if style.is_from_page else folder_of(document)
    link = link_between(start, wanted)
    return f"./{link}" if body.startswith("./") and not link.startswith(".") else link
