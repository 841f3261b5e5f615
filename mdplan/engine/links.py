"""All links of a tree that lead to nothing, what repairs them, and what nothing leads to."""

from collections.abc import Iterator, Sequence
from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.documents.documents import LinkIndex
from mdplan.documents.files import OutlinedFiles
from mdplan.git.link_history import GitLinkHistory
from mdplan.markdown.destinations import destinations, find_target
from mdplan.markdown.links import all_definitions, label_uses
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, folder_of, without_suffix
from mdplan.markdown.targets import whole
from mdplan.planning.link_repairs import LinkRepairer, Repair
from mdplan.reading.broken_tree_links import broken_link, broken_targets
from mdplan.reports.history import LinksReport, UnusedDefinition
from mdplan.settings import ProgressCallback, no_progress
from mdplan.text.lines import Position
from mdplan.values import Struct

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


class LinkExamination(Struct):
    """The `report` of the links of a tree, and their `repairs`, in order."""

    report: LinksReport
    repairs: tuple[LinkRepair, ...]


def examine_links(
    files: OutlinedFiles,
    paths: Sequence[str] = (),
    tick: ProgressCallback = no_progress,
    *,
    finds_unused: bool = False,
) -> LinkExamination:
    """Find the links of the Markdown files of a root that lead to nothing, and what repairs them.

    `paths` are files or folders, from the root; without them all documents count. What nothing uses is found
    if it is asked for. `tick` is called for each document.
    """
    index = LinkIndex(files, files.workspace.roots[0])
    examiner = _Examiner(index, LinkRepairer(index, GitLinkHistory(files)), finds_unused=finds_unused)
    skipped: list[Diagnostic] = []
    checked = 0
    for file in index.documents():
        if isinstance(file, Diagnostic):
            skipped.append(file)
            continue
        is_meant = not paths or any(_is_below(file.relative, path) for path in paths)
        if is_meant or finds_unused:
            tick(checked, None)
            checked += is_meant
            examiner.examine(file.relative, file.outline, is_meant=is_meant)
    report = LinksReport(
        ok=True,
        checked=checked,
        warnings=tuple(examiner.warnings),
        skipped=tuple(skipped),
        repairable=len(examiner.repairs),
        unused_definitions=tuple(examiner.definitions) if finds_unused else None,
        orphans=tuple(examiner.orphans()) if finds_unused else None,
    )
    return LinkExamination(report, tuple(examiner.repairs))


class _Examiner:
    """What is found in the documents of one root."""

    def __init__(self, index: LinkIndex, repairer: LinkRepairer, *, finds_unused: bool) -> None:
        self._index = index
        self._repairer = repairer
        self._finds_unused = finds_unused
        self._pages: list[str] = []
        self._named: set[str] = set()
        self.warnings: list[Diagnostic] = []
        self.repairs: list[LinkRepair] = []
        self.definitions: list[UnusedDefinition] = []

    def examine(self, path: str, outline: Outline, *, is_meant: bool) -> None:
        """Examine the document `path`, whose own links count if it `is_meant`."""
        if is_meant:
            self._examine_links(path, outline)
        if self._finds_unused:
            links = destinations(outline, [whole(outline)])
            targets = (find_target(self._index, path, link) for link in links if link.path)
            self._named |= {target.path for target in targets if target is not None} - {path}
            if is_meant:
                self._pages.append(path)
                self.definitions += _unused_definitions(path, outline)

    def orphans(self) -> Iterator[str]:
        """Yield the pages to which no page and no entry of a site leads."""
        for path in self._pages:
            name = without_suffix(path.rpartition("/")[2], MARKDOWN_SUFFIXES).lower()
            if path not in self._named and name not in _ENTRIES and folder_of(path) not in self._named:
                yield path

    def _examine_links(self, path: str, outline: Outline) -> None:
        lines = outline.source.lines
        for link in broken_targets(self._index, path, outline, whole(outline)):
            where, outcome = link.destination, None
            if where is not None:
                outcome = self._repairer.find(path, outline, where)
            # What only the site knows is broken if the past of its file says so.
            if not (link.is_certain or isinstance(outcome, Repair)):
                continue
            start = Position(link.line, 1) if where is None else lines.position(where.span.start)
            hint = outcome.hint if outcome is not None else ""
            self.warnings.append(broken_link(link.target, link.line, hint, start.col).at(file=path))
            if where is not None and isinstance(outcome, Repair):
                end = lines.position(where.span.end)
                self.repairs.append(LinkRepair(path, start, end, outline.text_of(where.span), outcome))


def _unused_definitions(path: str, outline: Outline) -> Iterator[UnusedDefinition]:
    """Yield the definitions of links and footnotes that nothing in the document uses."""
    definitions = all_definitions(outline)
    used = {use.label for use in label_uses(outline)} if definitions else set[str]()
    for label, spans in definitions.items():
        if label not in used and label not in _COMMENTS:
            line = outline.source.lines.line_at(spans[0].start)
            yield UnusedDefinition(file=path, line=line, label=label)


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")
