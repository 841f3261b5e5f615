"""The entry of a new page in the navigation of its site."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mdplan.data.content import DataContent
from mdplan.data.tree import Path
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.destinations import FileTree, destinations
from mdplan.markdown.front_matter_edits import data_content
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import folder_of, followed, link_between
from mdplan.markdown.targets import whole
from mdplan.operations.base import Resolution
from mdplan.operations.files import CreatePage
from mdplan.operations.keys import AddToList
from mdplan.operations.lists import AddListItem
from mdplan.planning.navigation.entries import items_at, strings_of
from mdplan.planning.navigation.kinds import Navigation, beside_its_pages, navigation_of
from mdplan.text.source import DocumentFormat
from mdplan.text.visible import nearest_names

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
