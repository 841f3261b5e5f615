"""Routes of pages in the front matter of VitePress and Starlight, after pages were renamed and deleted.

`link` of the actions and features of a home page, and of the page before or after, is a path or a route as
in a link of the text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from mdplan.data.change import KeyChange
from mdplan.data.content import DataContent
from mdplan.data.node import DataError, Path
from mdplan.diagnostics import Diagnostic
from mdplan.markdown.edits.data_splices import data_splices, verify_splices
from mdplan.markdown.links.link_path import folder_of, link_between
from mdplan.markdown.links.site_rules import LinkStyle, SiteRules
from mdplan.markdown.outline.data_content import data_content
from mdplan.planning.build import BuiltFile
from mdplan.planning.navigation.entries import strings_of, warning_of
from mdplan.planning.sequence.post_edits import with_post_edits
from mdplan.text.edit import EditList

_OWNERS: Final = frozenset({"hero", "features", "prev", "next"})
_KEY: Final = "link"
_TAIL: Final = re.compile(r"[#?].*", re.DOTALL)
_EXTERNAL: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")


@dataclass(frozen=True, slots=True)
class _Route:
    """The value at `path`, which names a page that is `now` somewhere else, or gone; `written` is right."""

    path: Path
    page: str
    now: str | None
    written: str | None


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
    changes = [KeyChange(each.path, each.written) for each in found if each.written is not None]
    updated = _changed(built, changes) if may_rewrite and changes else None
    left = [each for each in found if updated is None or each.written is None]
    result = updated or built
    warnings = tuple(_warning(result, each).at(file=built.file.path) for each in left)
    count = result.references_updated + len(found) - len(left)
    return replace(result, references_updated=count, warnings=(*result.warnings, *warnings))


def _routes(
    built: BuiltFile, content: DataContent, pages: Mapping[str, str | None], rules: SiteRules
) -> Iterator[_Route]:
    for path, value in strings_of(content.values):
        if path[-1] != _KEY or path[0] not in _OWNERS or _EXTERNAL.match(value):
            continue
        body = _TAIL.sub("", value)
        found = next(_named(built.file.relative, body, pages, rules), None) if body else None
        if found is not None:
            page, style = found
            now = pages[page]
            written = _written(built.file.result_path, now, style, body, rules) if now is not None else None
            whole = None if written is None else written + value[len(body) :]
            yield _Route(path, page, now, whole)


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


def _changed(built: BuiltFile, changes: list[KeyChange]) -> BuiltFile | None:
    outline = built.result
    try:
        edits = EditList.of(splice.edit for splice in data_splices(outline, changes, None))
        if not isinstance(edits, EditList):
            return None
        verify_splices(outline, edits, changes, None)
    except DataError:
        return None
    return with_post_edits(built, edits)


def _warning(result: BuiltFile, each: _Route) -> Diagnostic:
    return warning_of(result.result, each.path, each.page, each.now, can_update=each.written is not None)
