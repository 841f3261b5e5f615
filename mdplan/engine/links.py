"""All links of a tree that lead to nothing, what repairs them, and what nothing leads to."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from mdplan.data.content import DataContent
from mdplan.data.tree import strings_of
from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.documents import LinkIndex
from mdplan.documents.files import OutlinedFiles
from mdplan.git.link_history import GitLinkHistory
from mdplan.git.repository import RepositoryLocation
from mdplan.markdown.destinations import TargetKind, destinations, find_target
from mdplan.markdown.links import all_definitions, label_uses, whole
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, folder_of, without_suffix
from mdplan.planning.build import SnapshotFile
from mdplan.planning.link_repairs import LinkRepairer, Repair
from mdplan.planning.navigation import Navigation
from mdplan.planning.navigation_entries import read_navigation
from mdplan.reading.broken_tree_links import broken_link, broken_targets
from mdplan.reports.history import LinksReport, UnusedDefinition
from mdplan.settings import ProgressCallback, no_progress
from mdplan.storage.filesystem import StorageRefused
from mdplan.text.edit import TextEdit
from mdplan.text.lines import Position, Span
from mdplan.values import Struct
from mdplan.words import say

# Pages that readers find without a link, and labels that only make a comment.
_ENTRIES: Final = frozenset({"index", "readme", "_index", "summary", "changelog", "license", "contributing"})
_COMMENTS: Final = frozenset({"//", "#", "COMMENT", "_"})


class LinkRepair(Struct):
    """The `repair` of a link of the document `path`, which was `written` at the places `start` to `end`."""

    path: str
    start: Position
    end: Position
    written: str
    repair: Repair

    @property
    def edit(self) -> dict[str, object]:
        """The edit, as a batch has it."""
        start, end = ({"line": place.line, "col": place.col} for place in (self.start, self.end))
        return {
            "op": "replace_range",
            "range": {"start": start, "end": end},
            "expectedText": self.written,
            "replacement": self.repair.edit.new_text,
        }


def batch_of(repairs: Sequence[LinkRepair], named: Callable[[str], str] = str) -> dict[str, object]:
    """Return the batch that makes `repairs`; `named` writes paths as the caller does."""
    files = groupby(repairs, lambda each: each.path)
    return {"files": [{"file": named(path), "edits": [each.edit for each in own]} for path, own in files]}


# A warning about a link that leads to nothing, with its repair where that is known.
_Broken: TypeAlias = tuple[Diagnostic, LinkRepair | None]


def examine_links(
    files: OutlinedFiles,
    paths: Sequence[str] = (),
    tick: ProgressCallback = no_progress,
    *,
    finds_unused: bool = False,
    commit: tuple[RepositoryLocation, str] | None = None,
) -> tuple[LinksReport, list[LinkRepair]]:
    """Return the broken links in the Markdown files of a root, and repairs of them, in order.

    `paths` limits the search to files or folders, relative to the root. `finds_unused` also reports orphan
    pages and unused definitions. `tick` is called for each document. `files` are on disk, or those of a
    `commit` of a repository. Raise `StorageRefused` (INVALID_ARGUMENT) for several roots.
    """
    if len(files.workspace.roots) > 1:
        raise StorageRefused.of(
            Code.INVALID_ARGUMENT, "links are examined in one root", say("give one {--root}")
        )
    index = LinkIndex(files, files.workspace.roots[0])
    repairer = LinkRepairer(index, GitLinkHistory(files, commit))
    pages, named, definitions = list[str](), set[str](), list[UnusedDefinition]()
    skipped, found = list[Diagnostic](), list[_Broken]()

    def is_meant(path: str) -> bool:
        return not paths or any(path == each or path.startswith(f"{each}/") for each in paths)

    for file in index.documents():
        if isinstance(file, Diagnostic):
            skipped.append(file)
            continue
        path, outline = file.relative, file.outline
        if finds_unused:
            links = destinations(outline, [whole(outline)])
            targets = (find_target(index, path, link) for link in links if link.path)
            named |= {target.path for target in targets if target is not None} - {path}
        if not is_meant(path):
            continue
        tick(len(pages), None)
        pages.append(path)
        definitions += _unused_definitions(path, outline) if finds_unused else ()
        found += _broken_links(index, repairer, path, outline)
    for file in index.navigation(frozenset()):
        parsed = None if isinstance(file, Diagnostic) else read_navigation(file.relative, file.outline, index)
        if isinstance(file, Diagnostic) or parsed is None:
            continue
        navigation, content = parsed
        strings = list(strings_of(content.values))
        named |= {page for key, value in strings for page in navigation.page(key, value)}
        found += _broken_entries(repairer, file, navigation, content) if is_meant(file.relative) else ()
    repairs = [repair for _, repair in found if repair is not None]
    orphans = [path for path in pages if not (named & {path, folder_of(path)}) and not _is_entry(path)]
    report = LinksReport(
        ok=True,
        checked=len(pages),
        warnings=tuple(warning for warning, _ in found),
        skipped=tuple(skipped),
        repairable=len(repairs),
        unused_definitions=tuple(definitions) if finds_unused else None,
        orphans=tuple(orphans) if finds_unused else None,
    )
    return report, repairs


def _broken_links(index: LinkIndex, repairer: LinkRepairer, path: str, outline: Outline) -> Iterator[_Broken]:
    """Yield the broken links of the document `path`."""
    lines = outline.source.lines
    for link in broken_targets(index, path, outline, whole(outline)):
        where = link.destination
        outcome = repairer.find(path, outline, where) if where is not None else None
        start = Position(link.line, 1) if where is None else lines.position(where.span.start)
        hint = outcome.hint if outcome is not None else ""
        warning = broken_link(link.target, link.line, hint, start.col).at(file=path)
        if where is not None and isinstance(outcome, Repair):
            end = lines.position(where.span.end)
            yield warning, LinkRepair(path, start, end, outline.text_of(where.span), outcome)
        elif link.is_certain:
            # A link that only the site can resolve counts as broken if the history of its file says so.
            yield warning, None


def _broken_entries(
    repairer: LinkRepairer, file: SnapshotFile, navigation: Navigation, content: DataContent
) -> Iterator[_Broken]:
    """Yield the entries of `navigation`, the `content` of `file`, whose page does not exist."""
    outline = file.outline
    for key, value in strings_of(content.values):
        pages, span = navigation.page(key, value), content.places.get(key)
        is_page = len(pages) == 1 and pages[0].lower().endswith(MARKDOWN_SUFFIXES)
        if not is_page or span is None or repairer.files.at(pages[0]) is not TargetKind.NOTHING:
            continue
        at = outline.source.text.find(value, span.start, span.end)
        start, end = map(
            outline.source.lines.position, (max(at, span.start), max(at, span.start) + len(value))
        )
        now = repairer.page_now(pages[0])
        written = navigation.written(now[0], value) if now is not None and at >= 0 else None
        repair = None
        if now is not None and written is not None:
            repair = Repair(TextEdit(Span(at, at + len(value)), written), written, now[1])
        warning = broken_link(value, start.line, repair.hint if repair else "", start.col)
        edit = LinkRepair(file.relative, start, end, value, repair) if repair else None
        yield warning.at(file=file.relative), edit


def _is_entry(path: str) -> bool:
    return without_suffix(path.rpartition("/")[2], MARKDOWN_SUFFIXES).lower() in _ENTRIES


def _unused_definitions(path: str, outline: Outline) -> Iterator[UnusedDefinition]:
    """Yield the definitions of links and footnotes that nothing in the document uses."""
    definitions = all_definitions(outline)
    used = {use.label for use in label_uses(outline)} if definitions else set[str]()
    for label, spans in definitions.items():
        if label not in used and label not in _COMMENTS:
            line = outline.source.lines.line_at(spans[0].start)
            yield UnusedDefinition(file=path, line=line, label=label)
