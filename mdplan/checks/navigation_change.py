"""Entries of navigation files, such as `mkdocs.yml`, whose pages a change took away."""

from collections.abc import Iterable, Iterator

from mdplan.checks.link_change import ChangedDocument
from mdplan.data.address import shown
from mdplan.data.content import DataContent
from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.link_index import LinkIndex
from mdplan.field_names import short_name
from mdplan.markdown.destinations import TargetKind
from mdplan.markdown.front_matter_edits import data_content
from mdplan.markdown.paths import page_key
from mdplan.planning.navigation import beside_its_pages, navigation_of
from mdplan.planning.navigation_entries import strings_of


def lost_pages(new: LinkIndex, changed: Iterable[ChangedDocument]) -> Iterator[tuple[str, Diagnostic]]:
    """BROKEN_LINK for entries of the files `new` that name a page which `changed` lost, with their files."""
    gone = {
        each.old_path
        for each in changed
        if each.old_path is not None and new.at(each.old_path) is TargetKind.NOTHING
    }
    for found in new.navigation(frozenset(map(page_key, gone))) if gone else ():
        content = None if isinstance(found, Diagnostic) else data_content(found.outline)
        if isinstance(found, Diagnostic) or not isinstance(content, DataContent):
            continue
        navigation = navigation_of(found.relative, content.values)
        if navigation is None:
            continue
        navigation = beside_its_pages(navigation, strings_of(content.values), new)
        for path, value in strings_of(content.values):
            if not gone.isdisjoint(navigation.page(path, value)):
                span = content.places.get(path)
                place = found.outline.source.lines.position(span.start) if span else None
                yield (
                    found.relative,
                    Diagnostic.warning(
                        Code.BROKEN_LINK,
                        f"the entry `{shown(path)}` names `{short_name(value)}`, which is gone",
                        "correct the entry, or delete it",
                        place=place,
                    ),
                )
