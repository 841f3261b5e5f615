"""Update the entries of navigation files: of pages that are renamed, deleted or created."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from mdplan.data.address import shown
from mdplan.data.content import DataContent
from mdplan.data.tree import REMOVED, DataError, KeyChange, Path, strings_of, value_at
from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.destinations import FileTree, destinations
from mdplan.markdown.front_matter_edits import data_content, data_splices, verify_splices
from mdplan.markdown.headings import SlugStyle, heading_title
from mdplan.markdown.links import whole
from mdplan.markdown.lists import ListItem, MarkdownList
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import folder_of, followed, link_between
from mdplan.operations.base import Resolution
from mdplan.operations.files import CreatePage
from mdplan.operations.keys import AddToList
from mdplan.operations.lists import AddListItem
from mdplan.planning.build import BuiltFile
from mdplan.planning.navigation import (
    REDIRECT_LINE,
    Navigation,
    beside_its_pages,
    is_redirect,
    is_summary,
    navigation_of,
    pages_in_text,
)
from mdplan.planning.sequence import with_post_edits
from mdplan.text.edit import EditList, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Position, Span
from mdplan.text.source import DocumentFormat, Source
from mdplan.text.visible import first_few, nearest_names
from mdplan.values import Struct, replace
from mdplan.words import Argument, either, say

_LINK_ALONE: Final = lazy_pattern(r"\[[^\[\]]*\]\([^()\s]*\)")


class AffectedPage(Struct):
    """The value at `path`: it names a `page` that is `now` elsewhere, or gone; `changes` make it right."""

    path: Path
    page: str
    now: str | None
    changes: tuple[KeyChange, ...]


def update_entries(
    built: BuiltFile,
    pages: Mapping[str, str | None],
    own_ids: Mapping[str, str],
    before: FileTree,
    *,
    may_rewrite: bool,
) -> BuiltFile:
    """Return `built` with its entries of `pages`, which maps old paths to new ones, updated.

    `own_ids` are the names that pages give themselves, by their old paths, and `before` the files as they
    were. An entry is deleted if the new path of its page is None. If
    `may_rewrite` is false, or an entry cannot be changed, `built` gets BROKEN_LINK warnings.
    """
    outline = built.result
    built = replace(built, warnings=(*built.warnings, *_named_in_text(built, pages)))
    if outline.format is DocumentFormat.MARKDOWN:
        gone = [path for path, now in pages.items() if now is None]
        is_list = may_rewrite and is_summary(built.file.result_path)
        return _without_items(built, gone) if gone and is_list else built
    parsed = read_navigation(built.file.result_path, outline, before)
    if parsed is None:
        return built
    navigation, content = parsed
    affected = list(_affected_pages(navigation, content.values, pages, own_ids))
    return follow_pages(built, affected, may_rewrite=may_rewrite) if affected else built


def read_navigation(path: str, outline: Outline, tree: FileTree) -> tuple[Navigation, DataContent] | None:
    """Return the navigation in the file `path` of `tree`, and its content; None if it lists no pages."""
    content = data_content(outline)
    navigation = navigation_of(path, content.values) if isinstance(content, DataContent) else None
    if navigation is None or not isinstance(content, DataContent):
        return None
    return beside_its_pages(navigation, strings_of(content.values), tree), content


def follow_pages(built: BuiltFile, affected: Sequence[AffectedPage], *, may_rewrite: bool) -> BuiltFile:
    """Return `built` with the changes of `affected`, and BROKEN_LINK for entries that stay as they are."""
    updated = _with_changes(built, affected) if may_rewrite else None
    left = [page for page in affected if updated is None or not page.changes]
    result = updated or built
    warnings = tuple(
        _warning(result.result, page, may_rewrite=may_rewrite).at(file=built.file.path) for page in left
    )
    count = result.references_updated + len(affected) - len(left)
    return replace(result, references_updated=count, warnings=(*result.warnings, *warnings))


def _without_items(built: BuiltFile, gone: Collection[str]) -> BuiltFile:
    """Return `built` without the items of a summary that only link to a page which is `gone`."""
    path, outline = built.file.result_path, built.result
    lines, edits = outline.source.lines, list[TextEdit]()
    lists = outline.lists.outermost_in(whole(outline))
    for link in destinations(outline, [whole(outline)]):
        if not link.path or followed(folder_of(path), link.path) not in gone:
            continue
        item = next(_items_at(lists, link.span.start), None)
        line = lines.line_at(link.span.start)
        if item is not None and not item.lists and _LINK_ALONE.fullmatch(item.text):
            edits.append(TextEdit.delete(lines.span(item.first_line, item.last_line)))
        elif item is None and _LINK_ALONE.fullmatch(lines.content(line).strip()):
            # A chapter before or after the list. Of the blank lines around it one stays.
            is_alone = (
                1 < line < lines.count and not (lines.content(line - 1) + lines.content(line + 1)).strip()
            )
            edits.append(TextEdit.delete(lines.span(line, line + is_alone)))
    deletions = EditList.of(edits)
    updated = with_post_edits(built, deletions) if isinstance(deletions, EditList) else None
    return built if updated is None else replace(updated, references_updated=len(edits))


def _items_at(lists: Iterable[MarkdownList], offset: int) -> Iterator[ListItem]:
    """Yield the items of `lists` that contain `offset`, the innermost first."""
    for listing in lists:
        for item in listing.items:
            if item.block.span.start <= offset < item.block.span.end:
                yield from _items_at(item.lists, offset)
                yield item


def _affected_pages(
    navigation: Navigation, values: object, pages: Mapping[str, str | None], own_ids: Mapping[str, str]
) -> Iterator[AffectedPage]:
    for path, value in strings_of(values):
        named = (page for page in pages if navigation.names(path, value, page, own_ids.get(page, "")))
        page = next(named, None)
        if page is None:
            continue
        now = pages[page]
        if now is None:
            gone = None if is_redirect(path) else _own_entry(values, path)
            yield AffectedPage(path, page, None, (KeyChange(gone, REMOVED),) if gone else ())
            continue
        written = navigation.written(now, value, own_ids.get(page, ""))
        if written != value:
            yield AffectedPage(path, page, now, (KeyChange(path, written),) if written else ())


# Of a text of Markdown, what its links become, and the targets of those that break.
_Follow: TypeAlias = Callable[[Outline], tuple[EditList, Sequence[str]]]


def update_values(built: BuiltFile, follow: _Follow, slugs: SlugStyle, *, may_rewrite: bool) -> BuiltFile:
    """Return `built` with links as `follow` says: redirects, and what nodes of a canvas name."""
    content = data_content(built.result)
    if not isinstance(content, DataContent):
        return _with_lines(built, follow, may_rewrite=may_rewrite)
    nodes = value_at(content.values, ("nodes",))
    affected = [
        page
        for number, node in enumerate(nodes if isinstance(nodes, list) else ())
        if isinstance(node, dict)
        for page in _named_in_node(("nodes", number), node, follow, slugs)
    ]
    for path, value in strings_of(content.values):
        if is_redirect(path) and (new := _followed_route(value, follow)) != value:
            affected.append(AffectedPage(path, value, new, (KeyChange(path, new),) if new else ()))
    return follow_pages(built, affected, may_rewrite=may_rewrite) if affected else built


def _followed_route(route: str, follow: _Follow) -> str | None:
    """Return what `route` becomes; None if it breaks."""
    written = f"[x](<{route}>)"
    edits, broken = follow(Outline(Source.from_text(written)))
    return None if broken else edits.apply(written)[5:-2]


def _with_lines(built: BuiltFile, follow: _Follow, *, may_rewrite: bool) -> BuiltFile:
    """Return the list of redirects `built` with targets as `follow` says."""
    edits, warnings = list[TextEdit](), list[Diagnostic]()
    for match in REDIRECT_LINE.finditer(built.result.source.text):
        new = _followed_route(match["target"], follow)
        if new and may_rewrite and new != match["target"]:
            edits.append(TextEdit(Span(*match.span("target")), new))
        elif new != match["target"]:
            place = built.result.source.lines.position(match.start("target"))
            becomes = f"is now `{new}`" if new else "this plan deletes"
            warnings.append(
                Code.BROKEN_LINK.warning(
                    f"the redirect at line {place.line} leads to `{match['target']}`, which {becomes}",
                    "correct the redirect",
                    place=place,
                ).at(file=built.file.path)
            )
    updated = with_post_edits(built, EditList(tuple(edits))) or built
    count = built.references_updated + len(edits)
    return replace(updated, references_updated=count, warnings=(*built.warnings, *warnings))


def _named_in_node(
    path: Path, node: Mapping[str, Any], follow: _Follow, slugs: SlugStyle
) -> Iterator[AffectedPage]:
    """Yield what `node` at `path` names that moved or went."""
    file, written = node.get("file"), node.get("text")
    if isinstance(file, str):
        # A file is named by its path from the vault, as a wiki link can do.
        written = f"[[/{file}{node.get('subpath', '')}]]"
    if not isinstance(written, str):
        return
    outline = Outline(Source.from_text(written), slugs=slugs)
    edits, broken = follow(outline)
    key = (*path, "file" if isinstance(file, str) else "text")
    yield from (AffectedPage(key, target.lstrip("/"), None, ()) for target in broken)
    new = edits.apply(written)
    if isinstance(file, str) and edits:
        new_file, sign, fragment = new.strip("[/]").partition("#")
        values = {"file": new_file, "subpath": sign + fragment}
        changed = (name for name, value in values.items() if node.get(name, "") != value)
        yield AffectedPage(
            key, file, new_file, tuple(KeyChange((*path, name), values[name]) for name in changed)
        )
    elif edits:
        first = edits.edits[0]
        yield AffectedPage(key, outline.text_of(first.span), first.new_text, (KeyChange(key, new),))


def _named_in_text(built: BuiltFile, pages: Mapping[str, str | None]) -> Iterator[Diagnostic]:
    """Yield LINK_UNCERTAIN for text of `built` that may name any of `pages` and stays as it is."""
    lines = built.result.source.lines
    named = pages_in_text(built.file.result_path, built.result.source.text, pages)
    for page, line in dict.fromkeys((page, lines.line_at(offset)) for page, offset in named):
        place = Position(line, 1)
        becomes = f"is now `{pages[page]}`" if pages[page] else "this plan deletes"
        yield Code.LINK_UNCERTAIN.warning(
            f"line {place.line} may name `{page}`, which {becomes}",
            say("if it does, change it with {replace_match} in the same batch"),
            place=place,
        ).at(file=built.file.path)


def _own_entry(values: Any, path: Path) -> Path | None:  # noqa: ANN401 (any value)
    """Return the list item to delete with the page at `path`; None if more than the page would go."""
    if isinstance(path[-1], str):
        owner = value_at(values, path[:-1])
        has_more = any(isinstance(value, list | dict) for value in owner.values())
        path = path[:-1]
        if has_more or not path or not isinstance(path[-1], int):
            return None
    # Do not leave an empty list in a map that holds nothing else, as in `Guide: [page]`.
    above = value_at(values, path[:-1])
    owner = value_at(values, path[:-2]) if len(path) > 1 else None
    is_only = len(above) == 1 and isinstance(owner, dict) and len(owner) == 1
    return path[:-2] if is_only and len(path) > 2 and isinstance(path[-3], int) else path


def _with_changes(built: BuiltFile, affected: Sequence[AffectedPage]) -> BuiltFile | None:
    """Return `built` with only the changes of `affected`; None without any, or if they cannot be made."""
    by_key = {change.key: change for page in affected for change in page.changes}
    gone = [key for key, change in by_key.items() if change.value is REMOVED]
    changes = [
        change
        for key, change in by_key.items()
        if not any(key != prefix == key[: len(prefix)] for prefix in gone)
    ]
    try:
        edits = EditList.of(splice.edit for splice in data_splices(built.result, changes, None))
        if not changes or not isinstance(edits, EditList):
            return None
        verify_splices(built.result, edits, changes, None)
    except DataError:
        return None
    return with_post_edits(built, edits)


def _warning(outline: Outline, affected: AffectedPage, *, may_rewrite: bool) -> Diagnostic:
    """Return BROKEN_LINK for the value of `outline` that names an `affected` page."""
    content = data_content(outline)
    span = content.places.get(affected.path) if isinstance(content, DataContent) else None
    start = outline.front_matter.content.start if outline.front_matter else 0
    place = outline.source.lines.position(span.start + start) if span else None
    where = f" at line {place.line}" if place else ""
    becomes = f"is now `{affected.now}`" if affected.now else "this plan deletes"
    key = shown(affected.path)
    return Code.BROKEN_LINK.warning(
        f"the entry `{key}`{where} names `{affected.page}`, which {becomes}",
        either(
            say("change it with {set_value} or {delete_value} and {}", Argument("key", key)),
            say('{updateReferences="workspace"} updates entries')
            if affected.changes and not may_rewrite
            else "",
            joint="; ",
        ),
        place=place,
    )


# --- The entry of a new page in the navigation of its site

_MOST_NAMED: Final = 10
_AS_WRITTEN: Final = "give the title as the file has it, or leave the place out"
_ITS_PAGE: Final = "name the entry by its page"
_TITLES: Final = ("name", "group", "label", "title", "caption", "tab", "text", "part", "dropdown", "anchor")


def new_entry(operation: CreatePage, page: str, path: str, outline: Outline, tree: FileTree) -> Resolution:
    """Return the edit of the navigation `outline`, in the file `path`, that adds the entry of `page`.

    Both paths are relative to the root of `tree`. Errors: INVALID_ARGUMENT for a file that lists no pages or
    cannot name this one; KEY_NOT_FOUND for a missing list or neighbour; as for adding an item.
    """
    if outline.format is DocumentFormat.MARKDOWN:
        return _evident(_link_item(operation, page, path, outline))
    parsed = read_navigation(path, outline, tree)
    make = parsed[0].kind.entry if parsed is not None else None
    if parsed is None or make is None:
        raise Code.INVALID_ARGUMENT.refused(
            f"`{path}` is no file that lists pages, or cannot be read",
            say(
                "name mkdocs.yml, docs.json, toc.yml, SUMMARY.md or the like; {add_to_list} writes "
                "other lists"
            ),
        )
    navigation, content = parsed
    written = navigation.written(page, own_id=str(operation.front_matter().get("id") or ""))
    if written is None:
        raise Code.INVALID_ARGUMENT.refused(
            f"{navigation.kind.tool} takes pages of `{navigation.folder}` alone, and this is `{page}`",
            "make the page in that folder",
        )
    lists = list(_page_lists(navigation, content.values, (), ()))
    neighbour = operation.after if operation.before is None else operation.before
    target = _list_for(operation, [navigation.kind.top], lists, page)
    entry = make(operation.title_of(page), written)
    fields: dict[str, Any] = {}
    if neighbour is not None:
        fields["after" if operation.after else "before"] = target.entries[neighbour]
    added = AddToList.model_validate(
        {"op": "add_to_list", "key": list(target.path) or "", "value": [entry], **fields}
    )
    return _evident(added.resolve(outline))


def _evident(added: Resolution) -> Resolution:
    """Mark `added` as evidence: it only adds an entry, to a list that was found in the file as it is."""
    return replace(added, is_evidence=True)


class _PageList(Struct):
    """A list of pages at `path`, with the `names` that a reader sees for it, and the folders of its pages.

    `entries` maps titles, and pages as written and as paths, to entry indexes.
    """

    path: Path
    names: tuple[str, ...]
    folders: frozenset[str]
    entries: Mapping[str, int]


def _near(lists: Sequence[_PageList], page: str) -> list[_PageList]:
    """Return the only list in `lists` with pages in the folder or language of `page`, else all of them."""
    folder = folder_of(page)
    below = f"{folder.partition('/')[0]}/"
    same = [pages for pages in lists if folder in pages.folders]
    beside = [pages for pages in lists if any(f"{name}/".startswith(below) for name in pages.folders)]
    return same if len(same) == 1 else beside if len(beside) == 1 and folder else list(lists)


def _page_lists(
    navigation: Navigation,
    values: Any,  # noqa: ANN401 (any value)
    path: Path,
    names: tuple[str, ...],
) -> Iterator[_PageList]:
    """Yield the lists in `values` that have pages, also nested ones, the outermost first."""
    kind = navigation.kind
    if isinstance(values, list):
        is_inside = kind.pages_keys is not None or path[: len(kind.top)] == kind.top
        if is_inside and (kind.pages_keys is None or (path[-1:] and path[-1] in kind.pages_keys)):
            entries = _entry_indexes(navigation, values, path)
            yield _PageList(path, names, _folders(navigation, values, path), entries)
        for index, value in enumerate(values):
            yield from _page_lists(navigation, value, (*path, index), ())
    elif isinstance(values, dict):
        titles = tuple(value for name in _TITLES if isinstance(value := values.get(name), str))
        for name, value in values.items():
            if isinstance(name, str):
                yield from _page_lists(navigation, value, (*path, name), titles or (name,))


def _folders(navigation: Navigation, values: list[Any], path: Path) -> frozenset[str]:
    """Return the folders of the pages that are entries of the list itself."""
    folders: set[str] = set()
    for index, value in enumerate(values):
        for inner, text in strings_of(value, (*path, index)):
            is_own = len(inner) <= len(path) + 2
            folders.update(folder_of(page) for page in navigation.page(inner, text)[:1] if is_own)
    return frozenset(folders)


def _entry_indexes(navigation: Navigation, values: list[Any], path: Path) -> Mapping[str, int]:
    """Return the indexes of the entries of a list at `path` by their titles and pages, in each form."""
    by_title: dict[str, int] = {}
    by_page: dict[str, int] = {}
    for index, item in enumerate(values):
        pairs = item.items() if isinstance(item, dict) else [(index, item)]
        for key, value in pairs:
            inner = (*path, index, key) if isinstance(item, dict) else (*path, index)
            for text in (key, value):
                if isinstance(text, str):
                    by_title.setdefault(text, index)
            for page in navigation.page(inner, value):
                by_page.setdefault(page, index)
    return {**by_page, **by_title}


def _list_for(
    operation: CreatePage, outermost: Sequence[Path], lists: Sequence[_PageList], page: str
) -> _PageList:
    """Return the list for the entry: the named one, that with the neighbour, or the one with such pages.

    Errors: KEY_NOT_FOUND, INVALID_ARGUMENT.
    """
    neighbour = operation.after if operation.before is None else operation.before
    under, folder = operation.under, folder_of(page)
    named = [pages for pages in lists if under is None or under in pages.names]
    there = [pages for pages in lists if folder in pages.folders]
    # A list of several folders may contain the first page of this one.
    own = [pages for pages in there if pages.folders == {folder}]
    top = [pages for pages in lists if pages.path in outermost]
    fitting = next((several for several in (there, own) if len(several) == 1), top or named)
    if neighbour is not None:
        with_it = [pages for pages in named if neighbour in pages.entries]
        fitting = [pages for pages in fitting if len(fitting) == 1 and pages in with_it] or with_it
    elif under is not None:
        fitting = named
    fitting = _near(fitting, page)
    if len(fitting) == 1:
        return fitting[0]
    titles = dict.fromkeys(f"`{name}`" for pages in fitting or lists for name in pages.names[:1])
    listed = f"lists of pages: {first_few(list(titles), _MOST_NAMED)}"
    if fitting:
        hint = say("give {under}; {}", listed) if titles else _ITS_PAGE
        raise Code.INVALID_ARGUMENT.refused("the entry could go to several lists", hint)
    if not named and under is not None:
        raise Code.KEY_NOT_FOUND.refused(f"no list of pages has the title `{under}`", listed)
    if neighbour is None:
        hint = say("add a list of pages to the file first, by {set_value}")
        raise Code.INVALID_ARGUMENT.refused("the file has no list of pages", hint)
    near = nearest_names(neighbour, dict.fromkeys(name for pages in named for name in pages.entries))
    raise Code.KEY_NOT_FOUND.refused(
        f"no entry{f' of the list `{under}`' if under else ''} has the title or page `{neighbour}`",
        f"nearest: {', '.join(f'`{name}`' for name in near)}" if near else _AS_WRITTEN,
    )


def _link_item(operation: CreatePage, page: str, path: str, outline: Outline) -> Resolution:
    """Return the edit that adds a link to `page` to a list of links in the Markdown file `path`.

    Errors: KEY_NOT_FOUND, INVALID_ARGUMENT; as for adding an item.
    """
    title = operation.title_of(page).replace("[", "\\[").replace("]", "\\]")
    link = link_between(folder_of(path), page)
    link = f"<{link}>" if any(sign in link for sign in " ()") else link
    fields: dict[str, Any] = {"op": "add_list_item", "item": f"[{title}]({link})"}
    outermost = outline.lists.outermost_in(whole(outline))
    by_path = dict(_link_lists(path, outline, outermost, (), ()))
    lists = [pages for pages, _ in by_path.values()]
    neighbour = operation.after if operation.before is None else operation.before
    under = operation.under or ""
    owners = [items[pages.entries[under]] for pages, items in by_path.values() if under in pages.entries]
    if under and len(owners) == 1 and neighbour is None and not owners[0].lists:
        fields |= _named_item("under", owners[0], outline)
        return AddListItem.model_validate(fields).resolve(outline)
    outermost_paths = [(number,) for number in range(len(outermost))]
    target = _list_for(operation, outermost_paths, lists, page) if lists else None
    if target is not None:
        items = by_path[target.path][1]
        where = "before" if operation.before else "after"
        fields |= _named_item(where, items[-1 if neighbour is None else target.entries[neighbour]], outline)
    return AddListItem.model_validate(fields).resolve(outline)


def _named_item(where: str, item: ListItem, outline: Outline) -> dict[str, Any]:
    """Return the edit fields that place an item `where` (before, after, under) relative to `item`."""
    same = [each.item.block.span.start for each in outline.lists.items_named(item.text)]
    count = {"item_occurrence": same.index(item.block.span.start) + 1} if len(same) > 1 else {}
    return {where: item.text, **count}


def _link_lists(
    path: str, outline: Outline, lists: Iterable[MarkdownList], place: Path, names: tuple[str, ...]
) -> Iterator[tuple[Path, tuple[_PageList, Sequence[ListItem]]]]:
    """Yield the `lists` of the file `path` that have links, and the lists in their items, by position.

    A list is named after the item around it, else after the heading above it.
    """
    for number, listing in enumerate(lists):
        entries: dict[str, int] = {}
        folders: set[str] = set()
        for index, item in enumerate(listing.items):
            for link in destinations(outline, [block.span for block in item.children[:1]]):
                named = followed(folder_of(path), link.path)
                folders |= {folder_of(named)} if link.path else set()
                for name in (heading_title(item.text), item.text, link.path, named):
                    entries.setdefault(name, index)
            own_names = (heading_title(item.text), item.text)
            yield from _link_lists(path, outline, item.lists, (*place, number, index), own_names)
        if entries:
            title = outline.section_at(listing.block.span.start).title
            pages = _PageList(
                (*place, number), names or tuple(filter(None, [title])), frozenset(folders), entries
            )
            yield pages.path, (pages, listing.items)
