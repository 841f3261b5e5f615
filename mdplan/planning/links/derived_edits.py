"""The planner step after all edits: links go on naming what they named (DESIGN section 6, References)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, Protocol, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.field_names import short_name
from mdplan.markdown.destinations import FileTree
from mdplan.markdown.outline import Outline
from mdplan.markdown.targets import resolvable_targets
from mdplan.planning.build import BuildResult, BuiltFile
from mdplan.planning.links.link_changes import LinkChanges
from mdplan.planning.links.link_updates import LinkedDocument, RetargetedLink, UnresolvedLink, update_links
from mdplan.planning.links.references import broken_labels, retargeted_labels
from mdplan.planning.navigation.kinds import is_navigation, is_summary
from mdplan.planning.sequence.post_edits import with_post_edits
from mdplan.planning.snapshot import SnapshotFile
from mdplan.requests.batch import ReferenceScope
from mdplan.text.edit import EditList, Overlap
from mdplan.text.lines import BY_PLACE, Position
from mdplan.text.source import DocumentFormat


class LinkSource(FileTree, Protocol):
    """The files of a root next to those of a batch: the second pass of the snapshot."""

    def linking_to(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        """Markdown files that may link to a file of one of `names` (as `page_key` writes them), sorted.

        Of those that cannot be read a warning.
        """

    def navigation(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        """Files that list the pages of a site and may name one of `names`, in the same way."""

    def refusal(self, file: SnapshotFile) -> Diagnostic | None:
        """Why `file` could not be replaced now; None when it could."""

    @property
    def rules_problem(self) -> Diagnostic | None:
        """A warning about rules of the site that cannot be read."""


# Of files that move or go, the places of links that may mean them: paths of documents, and lines.
_Uncertain: TypeAlias = dict[str, list[tuple[str, int]]]
_MOST_PLACES: Final = 5


def derive_link_edits(
    built_files: Sequence[BuiltFile], scope: ReferenceScope, linked: LinkSource
) -> BuildResult | Problems:
    """`built_files` with their links rewritten as `scope` says, and further files whose links were rewritten.

    Entries of files that list the pages of a site are links too. Links that came with text from another file
    are corrected whatever `scope` says. What breaks is reported as BROKEN_LINK warnings: of the files of the
    batch, and with the scope ``workspace`` of all others.
    Errors: those of `LinkSource.refusal`.
    """
    changes = LinkChanges.of(built_files, linked)
    anchors = _Anchors(built_files)
    uncertain: _Uncertain = defaultdict(list)
    files = [
        _updated(built, changes, anchors, uncertain, may_rewrite=scope != "none") for built in built_files
    ]
    if scope != "workspace" or not changes.names:
        return BuildResult(files, tuple(_site_warnings(changes, linked, uncertain)))
    known = {built.file.relative for built in built_files}
    problems: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    for found in chain(linked.linking_to(changes.names), linked.navigation(changes.names)):
        if isinstance(found, Diagnostic):
            warnings.append(found)
        elif found.relative not in known:
            other = _updated(_untouched(found), changes, anchors, uncertain, may_rewrite=True)
            if not other.edits:
                warnings += other.warnings
            elif (refused := linked.refusal(found)) is not None:
                problems.append(refused)
            else:
                files.append(other)
    warnings += _site_warnings(changes, linked, uncertain)
    return tuple(problems) or BuildResult(files, tuple(warnings))


def _site_warnings(changes: LinkChanges, linked: LinkSource, uncertain: _Uncertain) -> Iterator[Diagnostic]:
    """What the rules of the site leave open: one warning for each file that links may mean."""
    if (changes.after.paths or uncertain) and linked.rules_problem is not None:
        yield linked.rules_problem
    for path, places in sorted(uncertain.items()):
        lines = [f"{file}:{line}" for file, line in dict.fromkeys(places)]
        listed = ", ".join(lines[:_MOST_PLACES])
        more = f" and {len(lines) - _MOST_PLACES} more" if len(lines) > _MOST_PLACES else ""
        many = "a link may" if len(places) == 1 else f"{len(places)} links may"
        yield Diagnostic.warning(
            Code.LINK_UNCERTAIN,
            f"{many} mean {_what_changes(changes, path)}: {listed}{more}",
            "describe the routes of the site under [links] in mdplan.toml, or correct these links",
            file=path,
        )


def _what_changes(changes: LinkChanges, path: str) -> str:
    """What the plan does to the file `path`, or to anchors in it, in words."""
    if path not in changes.after.paths:
        return f"headings of `{path}` whose anchors this plan changes or deletes"
    now = changes.after.paths[path]
    return f"`{path}`, which is now `{now}`" if now else f"`{path}`, which this plan deletes"


class _Anchors:
    """Anchors of the files of a batch in their results; of other files nothing is known."""

    def __init__(self, built_files: Iterable[BuiltFile]) -> None:
        self._results = {built.file.result_path: built.result for built in built_files}
        self._known: dict[str, frozenset[str] | None] = {}

    def __call__(self, path: str) -> frozenset[str] | None:
        if path not in self._known:
            result = self._results.get(path)
            is_markdown = result is not None and result.format is DocumentFormat.MARKDOWN
            self._known[path] = resolvable_targets(result) if result is not None and is_markdown else None
        return self._known[path]


def _untouched(file: SnapshotFile) -> BuiltFile:
    return BuiltFile(file=file, resolved=(), edits=EditList(), byte_edits=(), result=file.outline, written={})


def _updated(
    built: BuiltFile, changes: LinkChanges, anchors: _Anchors, uncertain: _Uncertain, *, may_rewrite: bool
) -> BuiltFile:
    """`built` with its links rewritten, and with warnings about those that are broken.

    Links that may mean another file are added to `uncertain`.
    """
    if built.file.is_deleted:
        return built
    path, pages = built.file.result_path, changes.after.paths
    if pages and (is_navigation(path) or (may_rewrite and is_summary(path))):
        # Few batches change files, and fewer those that list them.
        from mdplan.planning.navigation.entries import update_entries

        built = update_entries(built, pages, changes.before, may_rewrite=may_rewrite)
    if built.result.format is not DocumentFormat.MARKDOWN:
        return built
    if pages and built.result.front_matter is not None:
        from mdplan.planning.navigation.page_links import update_page_links

        built = update_page_links(built, pages, changes.before.rules, may_rewrite=may_rewrite)
    updates = update_links(_document(built, may_rewrite=may_rewrite), changes, anchors)
    edits = EditList.of(updates.edits)
    assert not isinstance(edits, Overlap), "destinations do not overlap"
    updated = with_post_edits(built, edits)
    if updated is None or (edits and _headings(updated.result) != _headings(built.result)):
        # The document would not stay what it is: then all its links stay as they are.
        updated, edits = built, EditList()
        updates = replace(update_links(_document(built, may_rewrite=False), changes, anchors), rewritten=0)
    for link in updates.uncertain:
        uncertain[link.path].append((built.file.result_path, _place(updated, link.offset, edits).line))
    warnings = (
        *(_broken_warning(updated, link, edits) for link in updates.broken),
        *(_retargeted_warning(updated, link, edits) for link in updates.retargeted),
        *broken_labels(updated),
        *retargeted_labels(updated),
    )
    return replace(
        updated,
        references_updated=built.references_updated + updates.rewritten,
        warnings=(*built.warnings, *(found.at(file=built.file.path) for found in warnings)),
    )


def _broken_warning(updated: BuiltFile, link: UnresolvedLink, edits: EditList) -> Diagnostic:
    """BROKEN_LINK for `link`, which `edits` moved to its place in the result."""
    place = _place(updated, link.offset, edits)
    return Diagnostic.warning(
        Code.BROKEN_LINK,
        f"the link to `{short_name(link.target)}` at line {place.line} leads to nothing: {link.cause}",
        link.hint,
        place=place,
    )


def _retargeted_warning(updated: BuiltFile, link: RetargetedLink, edits: EditList) -> Diagnostic:
    place = _place(updated, link.offset, edits)
    text = f'the link "{short_name(link.text)}"' if link.text else "the link"
    return Diagnostic.warning(
        Code.LINK_RETARGETED,
        f"{text} at line {place.line} named {link.old}, and now names {link.new}",
        link.hint,
        place=place,
    )


def _place(updated: BuiltFile, offset: int, edits: EditList) -> Position:
    """Where in the result `offset` is, after `edits`."""
    moved = edits.map_offset(offset)
    return updated.result.source.lines.position(offset if moved is None else moved)


def _headings(outline: Outline) -> list[tuple[int, bool, str | None]]:
    return [(section.level, section.nested, section.anchor) for section in outline.headings]


def _document(built: BuiltFile, *, may_rewrite: bool) -> LinkedDocument:
    authored = [
        span
        for item in built.resolved
        if item.resolution.destination is None
        for span in built.written.get(item.index, ())
        if len(span)
    ]
    return LinkedDocument(
        outline=built.result,
        path=built.file.result_path,
        old_path=built.file.relative,
        written=sorted(authored, key=BY_PLACE),
        moved={
            span: item.origin
            for item in built.arriving_edits
            for span in built.written.get(item.index, ())
            if len(span) and item.origin is not None
        },
        may_rewrite=may_rewrite,
    )
