"""Changes of link targets: paths and anchors that a batch renames, moves or deletes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from mdplan.markdown.destinations import (
    Destination,
    DestinationForm,
    FileTree,
    LinkedPath,
    TargetKind,
    find_near,
    find_target,
)
from mdplan.markdown.headings import heading_slug
from mdplan.markdown.paths import NEAR, PLAIN, SiteRules, folder_of, page_key
from mdplan.markdown.targets import target_key
from mdplan.planning.build import BuiltFile
from mdplan.planning.links.anchor_changes import AnchorChanges, AnchorPlace, changed_anchors
from mdplan.planning.links.result_tree import ResultTree


@dataclass(frozen=True, slots=True)
class CurrentTarget:
    """Where what a destination named is in the result.

    `path` is None for a file that is gone. `place` is the new place of an anchor that changed;
    `is_removed` says that it has none.
    """

    path: str | None
    place: AnchorPlace | None = None
    is_removed: bool = False


@dataclass(frozen=True)
class LinkChanges:
    """Files and anchors that a batch changes; paths are from the root, those of files as they were."""

    before: FileTree
    after: ResultTree
    anchors: Mapping[str, AnchorChanges]

    @classmethod
    def of(cls, built_files: Sequence[BuiltFile], tree: FileTree) -> "LinkChanges":
        """What `built_files` do to the files of `tree`."""
        arrived = {item.index: built for built in built_files for item in built.arriving_edits}
        anchors = {built.file.relative: changed_anchors(built, arrived) for built in built_files}
        return cls(
            tree,
            ResultTree.of(tree, built_files),
            {path: changes for path, changes in anchors.items() if changes},
        )

    @cached_property
    def affected(self) -> frozenset[str]:
        """Files whose path or anchors change, so that links to them may have to change."""
        return frozenset(self.after.paths) | frozenset(self.anchors)

    @cached_property
    def names(self) -> frozenset[str]:
        """The `page_key` of each affected file."""
        return frozenset(self.places)

    @cached_property
    def places(self) -> Mapping[str, frozenset[str] | None]:
        """Keys of changed anchors by the `page_key` of their file; None where the path changed."""
        indexes = {name.lower() for name in (*self.before.rules.index_names, *NEAR.index_names)}
        found: dict[str, frozenset[str] | None] = {}
        for path in self.affected:
            keys = None if path in self.after.paths else frozenset(self.anchors[path])
            name, folder = page_key(path), folder_of(path)
            for each in (name, page_key(folder)) if name in indexes and folder else (name,):
                known = found.get(each, frozenset())
                found[each] = None if keys is None or known is None else keys | known
        return found

    def target(self, document: str, destination: Destination) -> LinkedPath | None:
        """What `destination` named in the file `document` of the base; None where no one knows.

        Only where it may be one of the affected files does it matter what else there is.
        """
        if not destination.path:
            return LinkedPath(document, TargetKind.FILE)
        if destination.form is DestinationForm.WIKI:
            is_affected = page_key(destination.path) in self.names
            return find_target(self.before, document, destination) if is_affected else None
        if destination.is_page_name or self.before.rules.has_page_folders:
            return find_target(self.before, document, destination)
        first: LinkedPath | None = None
        for path, style in self.before.rules.starts(document, destination.path):
            if path in self.affected:
                return LinkedPath(path, TargetKind.FILE, style)
            if self._may_name_affected(path, self.before.rules):
                return find_target(self.before, document, destination)
            first = first or LinkedPath(path, TargetKind.OTHER, style)
        return first or LinkedPath("", TargetKind.OTHER)

    def near(self, document: str, destination: Destination) -> str | None:
        """The file that `destination` may mean, though no rule says so; None where it stays as it is.

        The file moves or goes, or the anchor that `destination` names in it changes. A destination that names
        something as it is written means that.
        """
        if not destination.path or destination.form is DestinationForm.WIKI or not self.affected:
            return None
        near = find_near(self.before, document, destination.path)
        if near is None or not self._is_changed(near, destination):
            return None
        found = find_target(self.before, document, destination)
        return near if found is not None and found.kind is not TargetKind.FILE else None

    def _is_changed(self, path: str, destination: Destination) -> bool:
        """Whether the file `path` moves or goes, or what the fragment of `destination` names in it."""
        return path in self.after.paths or self.key(destination, self.anchors.get(path, {})) is not None

    def _may_name_affected(self, path: str, rules: SiteRules) -> bool:
        forms = [path, *(form for form, _ in rules.forms(path, PLAIN))]
        if not self.affected.isdisjoint(forms):
            return True
        return rules.ignores_case and not self._affected_folded.isdisjoint(map(str.casefold, forms))

    @cached_property
    def _affected_folded(self) -> frozenset[str]:
        return frozenset(map(str.casefold, self.affected))

    def now(self, target: LinkedPath, destination: Destination) -> CurrentTarget:
        """Where `target`, with the fragment of `destination`, is in the result."""
        path = self.after.paths.get(target.path, target.path)
        changes = self.anchors.get(target.path, {})
        key = self.key(destination, changes)
        if key is None:
            return CurrentTarget(path, is_removed=path is None)
        place = changes[key]
        return CurrentTarget(path, is_removed=True) if place is None else CurrentTarget(place.path, place)

    def file_now(self, document: str, destination: Destination) -> str | None:
        """The file of the result that `destination` names in the file `document` of it; None for no file."""
        target = find_target(self.after, document, destination)
        return target.path if target is not None and target.kind is TargetKind.FILE else None

    def key(self, destination: Destination, changes: AnchorChanges) -> str | None:
        """Key in `changes` of the fragment of `destination`; None where it has none, or it did not change."""
        if not destination.fragment:
            return None
        key = target_key(destination.fragment)
        if key in changes:
            return key
        slug = heading_slug(destination.fragment) if destination.form is DestinationForm.WIKI else None
        return slug if slug in changes else None
