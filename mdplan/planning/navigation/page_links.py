"""Routes of pages in the front matter of VitePress and Starlight, after pages were renamed and deleted.

`link` of the actions and features of a home page, and of the page before or after, is a path or a route as
in a link of the text.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from mdplan.data.content import DataContent
from mdplan.data.tree import KeyChange
from mdplan.markdown.front_matter_edits import data_content
from mdplan.markdown.paths import LinkStyle, SiteRules, folder_of, link_between
from mdplan.planning.build import BuiltFile
from mdplan.planning.navigation.entries import AffectedPage, follow_pages, strings_of
from mdplan.planning.navigation.kinds import EXTERNAL, TAIL

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
