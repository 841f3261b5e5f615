"""Repair links that lead to nothing: find where their targets are now, and what proves it.

A repair is right or absent. What proves one is the past of the files, as git tells it, or that nothing else
can be meant. A target that was deleted on purpose, or that may be at several places, stays as it is.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from posixpath import basename, splitext
from typing import Final, Protocol

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.destinations import (
    MARKDOWN_FORMS,
    Destination,
    FileTree,
    LinkedPath,
    TargetKind,
    find_target,
    has_anchor,
)
from mdplan.markdown.links import heading_named, is_resolved, resolvable_targets, target_key
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, NEAR, SiteRules, folder_of, followed, leads_out
from mdplan.markdown.sections import Section
from mdplan.planning.build import SnapshotFile
from mdplan.planning.link_changes import AnchorPlace, CurrentTarget, ResultTree
from mdplan.planning.links import LinkedDocument, LinkSource, edit_to_name
from mdplan.text.edit import TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import Struct, replace

_INDEXES: Final = frozenset(map(str.lower, NEAR.index_names))
# Suffixes that a file gets in place of another one, while its content stays the same.
_KINDS: Final = (
    frozenset({*MARKDOWN_SUFFIXES, ".rst", ".adoc", ".asciidoc", ".txt", ".html", ".htm", ".ipynb"}),
    frozenset({".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif"}),
)
_MOST_CANDIDATES: Final = 5
# A body with fewer characters may be written twice by chance.
_SHORT: Final = 40
_NEAR: Final = 0.6
_NEAR_ELSEWHERE: Final = 0.8
_MOST_STEPS: Final = 20
_WORD: Final = lazy_pattern(r"[^\W\d_]+")
_DESTINATION: Final = lazy_pattern(r"\]\([^()\s]*\)|\]:[ \t]*\S+")


class Departure(Struct, kw_only=True):
    """A file that left the path `old`, for `new` or for good, in the commit with this `number`; 0 is now.

    `is_sure` says that both are one file, beyond doubt; `commit` is a few digits of its ID.
    """

    old: str
    new: str | None
    number: int
    commit: str
    is_sure: bool = True

    @property
    def shown(self) -> str:
        """The commit, for people."""
        return self.commit or "the work tree"


class PathHistory(Struct, dict=True):
    """All `departures` of files, the newest first; `is_complete` says that no older ones are missing."""

    departures: tuple[Departure, ...] = ()
    is_complete: bool = False

    @cached_property
    def _known(self) -> "Mapping[object, Sequence[Departure]]":
        """The departures by their old path, the new path, the number, and the old name in any case."""
        known: defaultdict[object, list[Departure]] = defaultdict(list)
        for each in self.departures:
            name = basename(each.old).casefold()
            for key in (each.old, ("to", each.new), each.number, ("name", name)):
                known[key].append(each)
        return known

    def of(self, path: str) -> Sequence[Departure]:
        """Return the departures from `path`, the newest first."""
        return self._known.get(path, ())

    def lost(self, name: str, path: str, tree: FileTree) -> bool:
        """Return True if a file with this `name`, in any case, left its path and is not that at `path`."""
        left = self._known.get(("name", name.casefold()), ())
        return any(self.follow(each.old, each.number + 1, tree).path != path for each in left)

    def names_of(self, path: str) -> Iterator[Departure]:
        """Yield how the file at `path` came there, and to its paths before, the newest first."""
        number = -1
        for _ in range(_MOST_STEPS):
            arrivals = self._known.get(("to", path), ())
            arrival = next((each for each in arrivals if each.number > number and each.is_sure), None)
            if arrival is None:
                return
            yield arrival
            path, number = arrival.old, arrival.number

    def follow(self, path: str, number: int, tree: FileTree) -> "Trail":
        """Return where the file is now that was at `path` before the commit of this `number`."""
        steps: list[Departure] = []
        while len(steps) < _MOST_STEPS:
            step = next((each for each in reversed(self.of(path)) if each.number < number), None)
            if step is None:
                return Trail(path if tree.at(path) is TargetKind.FILE else None, tuple(steps))
            if step.new is None or not step.is_sure:
                moved = self._with_folder(step, tree)
                if moved is None:
                    return Trail(None, (*steps, step))
                step = replace(step, new=moved)
            steps.append(step)
            path, number = step.new or "", step.number
        return Trail(None, tuple(steps))

    def _with_folder(self, gone: Departure, tree: FileTree) -> str | None:
        """Return the file that `gone` is now, if others of its folder moved together to one where that is."""
        places = set[str]()
        for other in self._known[gone.number]:
            if other.new is not None and other.is_sure and basename(other.new) == basename(other.old):
                old, new = folder_of(other.old), folder_of(other.new)
                if gone.old.startswith(f"{old}/"):
                    places.add(f"{new}/{gone.old[len(old) + 1 :]}".lstrip("/"))
        return _only_file(tree, places)


class Trail(Struct):
    """Where a file is now, None for nowhere, and the `steps` that led there.

    With an `arrival` it was named before the document of the link moved.
    """

    path: str | None
    steps: tuple[Departure, ...]
    arrival: Departure | None = None

    @property
    def evidence(self) -> str:
        """Say what led there."""
        moved = f"this page moved in {self.arrival.shown}" if self.arrival is not None else ""
        renamed = "renamed in " + ", then in ".join(step.shown for step in self.steps) if self.steps else ""
        return "; ".join(filter(None, (moved, renamed)))


class Version(Struct, dict=True):
    """A document with this `text`, as a commit has it; `newer` is the commit that changed it next, if any."""

    text: str
    newer: str
    read: Callable[[], Outline]

    @cached_property
    def outline(self) -> Outline:
        """The document, parsed."""
        return self.read()

    @cached_property
    def folded(self) -> str:
        """The text in lower case."""
        return self.text.lower()


class LinkHistory(Protocol):
    """The past of the files of a root."""

    @property
    def paths(self) -> PathHistory:
        """The paths that files had."""

    def versions(self, path: str) -> Sequence[Version]:
        """Return the versions of the document `path` before the work tree, the newest first."""

    def text_at(self, revision: str, path: str) -> str:
        """Return the text of the file `path` in the commit that `revision` names; empty where it has none."""


class LinkedFiles(LinkSource, Protocol):
    """The files of a root that links may name."""

    def outline(self, path: str) -> Outline | None:
        """Return the document `path`, parsed; None if it is no Markdown file, or cannot be read."""

    def named(self, name: str) -> Sequence[str]:
        """Return the files with this `name`, in any case, sorted."""

    def documents(self, mark: str = "") -> Iterator[SnapshotFile | Diagnostic]:
        """Yield the Markdown files with the text `mark`; a warning for one that cannot be read."""


class Repair(Struct):
    """The `edit` of a destination that leads to `target` again, and its `evidence`."""

    edit: TextEdit
    target: str
    evidence: str

    @property
    def hint(self) -> str:
        """What to do about the link."""
        return f"it is now `{self.target}`: {self.evidence}"


class Candidates(Struct):
    """Files that a link may mean, none of them beyond doubt, and the `reason` why it stays."""

    targets: tuple[str, ...] = ()
    reason: str = ""

    @property
    def hint(self) -> str:
        """What to do about the link."""
        listed = f"it may mean {' or '.join(f'`{each}`' for each in self.targets)}" if self.targets else ""
        return "; ".join(filter(None, (self.reason, listed)))


class _Found(Struct):
    """What a link named, and what that is `now`."""

    old: LinkedPath
    now: CurrentTarget
    evidence: str


_CASE: Final = "the case of the path"
_BECAME_FOLDER: Final = "a page became a folder, or a folder a page"


class _Origin(Struct):
    """The `section` that an anchor named in the `version` of a document before it was gone."""

    section: Section
    version: Version
    newer: Outline


class _AnyCase(ResultTree):
    """A tree of which a path in any case names a file."""

    @property
    def rules(self) -> SiteRules:
        """How links of the site name its files, without case."""
        return replace(self.base.rules, ignores_case=True)


class LinkRepairer(Struct, dict=True):
    """Repairs links of documents among `files` by their `history`.

    Reads the past and other files only where these can tell.
    """

    files: LinkedFiles
    history: LinkHistory

    def find(self, path: str, outline: Outline, destination: Destination) -> Repair | Candidates | None:
        """Return the repair of the broken `destination` of the document `path`, or what it may mean.

        None where nothing is known of it.
        """
        target = find_target(self.files, path, destination)
        # Where a site begins, only its rules say.
        if target is None or (destination.is_from_root and not self.files.rules.roots):
            return None
        found: _Found | Candidates | None
        if target.kind is TargetKind.FILE:
            found = self._moved_anchor(target, target.path, destination)
        else:
            found = self._moved_file(path, outline, destination)
        if not isinstance(found, _Found):
            return found
        shown, place, result = found.now.path or "", found.now.place, None
        if place is not None:
            shown = f"{'' if shown == path else shown}#{place.anchor}"
            result = self.files.outline(place.path)
        document = LinkedDocument(outline=outline, path=path, old_path=path, moved={}, may_rewrite=True)
        edit = edit_to_name(document, destination, found.old, found.now, self.files, result)
        return Candidates((shown,), found.evidence) if edit is None else Repair(edit, shown, found.evidence)

    # --- Files that have another path now

    def page_now(self, path: str) -> tuple[str, str] | None:
        """Return where the file is now that was at `path`, and what proves it; None where nothing does."""
        if (spelled := self.files.spelled(path)) is not None:
            return spelled, _CASE
        paths = self.history.paths
        left = paths.of(path)
        trails = [paths.follow(path, departure.number + 1, self.files) for departure in left]
        now = {trail.path for trail in trails}
        return (trails[0].path, trails[0].evidence) if len(now) == 1 and trails[0].path is not None else None

    @cached_property
    def _past(self) -> ResultTree:
        """The files, and those that once were there."""
        return ResultTree(self.files, {}, frozenset(each.old for each in self.history.paths.departures))

    def _moved_file(
        self, path: str, outline: Outline, destination: Destination
    ) -> _Found | Candidates | None:
        """Return the file that `destination`, which names none, means now."""
        spelled = find_target(_AnyCase(self.files, {}), path, destination)
        if spelled is not None and self._names_file(spelled, destination):
            old = replace(spelled, path="")
            return self._with_fragment(old, spelled.path, destination, _CASE)
        trails = list(self._trails(path, outline, destination))
        places = {trail.path for _, trail in trails}
        if len(places) == 1 and None not in places:
            linked, trail = trails[0]
            return self._with_fragment(linked, trail.path or "", destination, trail.evidence)
        written = followed(folder_of(path), destination.path)
        is_value = destination.is_shown and destination.form not in MARKDOWN_FORMS
        if destination.is_page_name or destination.is_from_root or is_value or leads_out(written):
            return None
        named = {*filter(None, places), *self.files.named(basename(written))} - {path}
        candidates = tuple(sorted(named))[:_MOST_CANDIDATES]
        now, evidence = self._only_one_like(written, candidates, destination)
        # What once was there, or had this name, may have been deleted on purpose.
        paths = self.history.paths
        is_new = paths.is_complete and not trails
        if now is not None and (
            evidence is _BECAME_FOLDER or (is_new and not paths.lost(basename(written), now, self.files))
        ):
            return self._with_fragment(LinkedPath(written, TargetKind.FILE), now, destination, evidence)
        gone = next((trail.steps[-1] for _, trail in trails if trail.path is None and trail.steps), None)
        reason = f"deleted in {gone.shown}" if gone is not None else ""
        return Candidates(candidates, reason) if candidates or reason else None

    def _only_one_like(
        self, path: str, named: Sequence[str], destination: Destination
    ) -> tuple[str | None, str]:
        """Return the only file that `path` can mean, and why; `named` are those with its name."""
        stem, suffix = splitext(path)
        is_index = basename(stem).lower() in _INDEXES
        forms = [f"{stem}/{name}{each}" for name in NEAR.index_names for each in MARKDOWN_SUFFIXES]
        if is_index and folder_of(path):
            forms = [folder_of(path) + each for each in MARKDOWN_SUFFIXES]
        if suffix.lower() in _KINDS[0] and (page := _only_file(self.files, forms)) is not None:
            return page, _BECAME_FOLDER
        others = {each for kind in _KINDS if suffix.lower() in kind for each in kind} - {suffix.lower()}
        if (other := _only_file(self.files, [stem + each for each in others])) is not None:
            return other, "the only file with this name and another suffix"
        is_only = len(named) == 1 and not is_index and self._has_fragment(named[0], destination)
        return named[0] if is_only else None, "the only file with this name"

    def _trails(
        self, path: str, outline: Outline, destination: Destination
    ) -> Iterator[tuple[LinkedPath, Trail]]:
        """Yield what `destination` named in the past, and where that is now.

        Of the time before its document moved only if it was there already.
        """
        paths = self.history.paths
        linked = find_target(self._past, path, destination)
        if linked is not None and self._names_file(linked, destination):
            for departure in paths.of(linked.path):
                yield linked, paths.follow(linked.path, departure.number + 1, self.files)
        if destination.is_page_name or destination.is_from_root:
            return
        for arrival in paths.names_of(path):
            linked = find_target(self._past, arrival.old, destination)
            is_same = folder_of(arrival.old) == folder_of(arrival.new or "")
            if linked is None or is_same or not self._names_file(linked, destination):
                continue
            before = self.history.text_at(_before(arrival.commit), arrival.old)
            if outline.text_of(destination.span) in before:
                trail = paths.follow(linked.path, arrival.number + 1, self.files)
                yield linked, replace(trail, arrival=arrival)

    def _names_file(self, linked: LinkedPath, destination: Destination) -> bool:
        """Return True if `destination` names the file `linked`, and not only a route of a site without rules.

        A route may lead from the folder that the page of its document is.
        """
        is_route = linked.style.is_page and "." not in basename(destination.path)
        return linked.kind is TargetKind.FILE and (not is_route or bool(self.files.rules.roots))

    def _with_fragment(
        self, old: LinkedPath, path: str, destination: Destination, evidence: str
    ) -> _Found | Candidates:
        """Return the place in the file `path` that `destination` names, which was in `old`."""
        if destination.is_shown or self._has_fragment(path, destination):
            return _Found(old, CurrentTarget(path), evidence)
        found = self._moved_anchor(old, path, destination)
        if isinstance(found, _Found):
            return replace(found, evidence=f"{evidence}; {found.evidence}")
        if found is None:
            # It never was an anchor that mdplan knows: the site makes it, or it was wrong before.
            return _Found(old, CurrentTarget(path), evidence)
        return Candidates((path, *found.targets), f"{evidence}, but {found.reason}")

    def _has_fragment(self, path: str, destination: Destination) -> bool:
        anchors = self.files.anchors(path) if destination.fragment is not None else None
        return anchors is None or has_anchor(destination, anchors)

    # --- Headings that have another anchor now, or are in another document

    def _moved_anchor(
        self, old: LinkedPath, path: str, destination: Destination
    ) -> _Found | Candidates | None:
        """Return where the heading is now that `destination` named in the document `path`.

        None if no version of it had such an anchor.
        """
        current = self.files.outline(path)
        if current is None or not destination.fragment:
            return None
        names = (*destination.parents, destination.fragment)
        is_wiki = destination.is_wiki
        commits: list[str] = []
        for _ in range(_MOST_STEPS):
            origin = _last_with(self.history.versions(path), current, names, is_wiki=is_wiki)
            if not isinstance(origin, _Origin):
                return Candidates((), "its anchor is gone") if origin or commits else None
            commits.append(origin.version.newer or "the work tree")
            renamed = _at_same_place(origin)
            now = _same_section(origin, current)
            if now is None and renamed is not None:
                now = current.with_anchor(target_key(renamed.anchor or ""))
            if now is not None and now.anchor:
                title = now.title if destination.is_wiki else None
                place: AnchorPlace | None = AnchorPlace(path, now.anchor, title)
                evidence = "the heading was renamed in " + ", then in ".join(commits)
                return _Found(old, CurrentTarget(path, place), evidence)
            if renamed is None or not renamed.anchor:
                place = self._in_other_documents(path, origin)
                if place is not None:
                    return _Found(
                        old, CurrentTarget(place.path, place), f"the section moved in {commits[-1]}"
                    )
                break
            names, is_wiki = (renamed.anchor,), False
        return Candidates((), f"its section is gone since {commits[-1]}")

    def _in_other_documents(self, path: str, origin: _Origin) -> AnchorPlace | None:
        """Return where in another document the section is: the only one with its body, new there then."""
        outline, body = origin.version.outline, _body(origin.version.outline, origin.section)
        # What a move leaves as it is, in one line.
        parts = _DESTINATION.sub("\n", outline.text_of(origin.section.body)).splitlines()
        mark = max(map(str.strip, parts), key=len, default="")
        if len(body) < _SHORT or not mark or len(_with_body(outline, body)) != 1:
            return None
        places = [
            (file.relative, each)
            for file in self.files.documents(mark)
            if isinstance(file, SnapshotFile) and file.relative != path
            for each in _with_body(file.outline, body)
        ]
        if len(places) != 1:
            return None
        [(place, section)], commit = places, origin.version.newer
        names = [place, *(arrival.old for arrival in self.history.paths.names_of(place))]

        def had_it(revision: str) -> bool:
            return any(mark in self.history.text_at(revision, name) for name in names)

        # A document that had it before has a copy.
        is_moved = not had_it(_before(commit)) and (not commit or had_it(commit))
        return AnchorPlace(place, section.anchor, section.title) if is_moved and section.anchor else None


def _only_file(tree: FileTree, paths: Iterable[str]) -> str | None:
    there = [path for path in paths if tree.at(path) is TargetKind.FILE]
    return there[0] if len(there) == 1 else None


def _last_with(
    versions: Sequence[Version], current: Outline, names: Sequence[str], *, is_wiki: bool
) -> _Origin | bool:
    """Return the section that `names` meant in the last of `versions` which had it.

    Else whether one had such an anchor without a heading.
    """
    newer: Version | None = None
    key = target_key(names[-1])
    words = _WORD.findall(key)
    for version in versions:
        before, newer = newer, version
        # Parsing takes long, and few versions have the words of the heading.
        if not all(word in version.folded for word in words):
            continue
        outline = version.outline
        section = heading_named(outline, names) if is_wiki else None
        section = section or outline.with_anchor(key)
        if section is not None and section.anchor:
            return _Origin(section, version, current if before is None else before.outline)
        if is_resolved(names[-1], resolvable_targets(outline), is_wiki=is_wiki):
            return True
    return False


def _same_section(origin: _Origin, current: Outline) -> Section | None:
    """Return the only section of `current` with the body of the section, which no other one had."""
    body = _body(origin.version.outline, origin.section)
    if len(body) < _SHORT or _with_body(origin.version.outline, body) != [origin.section]:
        return None
    same = _with_body(current, body)
    return same[0] if len(same) == 1 and same[0].anchor else None


def _before(commit: str) -> str:
    return f"{commit}^" if commit else "HEAD"


def _at_same_place(origin: _Origin) -> Section | None:
    """Return the section of the newer version that is between the same headings, or has nearly the same body.

    Its own heading must be new there, and no other may be as good.
    """
    outline, section, newer = origin.version.outline, origin.section, origin.newer
    known = {each.title for each in outline.headings}
    fresh = [each for each in newer.headings if each.title not in known and each.level == section.level]
    body, around = _body(outline, section), _neighbours(outline, section)
    likeness = {each.heading_start: _likeness(body, _body(newer, each), section, each) for each in fresh}
    beside = [
        each for each in fresh if _neighbours(newer, each) == around and likeness[each.heading_start] >= _NEAR
    ]
    if len(beside) == 1:
        return beside[0]
    best = sorted(fresh, key=lambda each: -likeness[each.heading_start])[:2]
    is_only = len(best) == 1 or (len(best) > 1 and likeness[best[1].heading_start] < _NEAR)
    is_near = bool(best) and len(body) >= _SHORT and likeness[best[0].heading_start] >= _NEAR_ELSEWHERE
    return best[0] if is_only and is_near else None


def _likeness(body: str, other: str, section: Section, now: Section) -> float:
    """Return how like the texts of two sections are; of short ones, their titles."""
    if min(len(body), len(other)) < _SHORT:
        return SequenceMatcher(None, section.title.lower(), now.title.lower(), autojunk=False).ratio()
    return SequenceMatcher(None, body.split(), other.split(), autojunk=False).ratio()


def _neighbours(outline: Outline, section: Section) -> tuple[str, str]:
    """Return the titles of the headings before and after `section`."""
    headings = outline.headings
    at = bisect_left(headings, section.heading_start, key=lambda each: each.heading_start)
    before = headings[at - 1].title if at else ""
    return before, headings[at + 1].title if at + 1 < len(headings) else ""


def _with_body(outline: Outline, body: str) -> list[Section]:
    return [section for section in outline.headings if _body(outline, section) == body]


def _body(outline: Outline, section: Section) -> str:
    """Return the text of `section` without its heading and without destinations, which follow a move.

    Where it has none of its own, it is that of its subsections.
    """
    start = section.body.start
    for end in (section.body.end, section.span.end):
        text = " ".join(_DESTINATION.sub("]()", outline.source.text[start:end]).split())
        if text:
            return text
    return ""
