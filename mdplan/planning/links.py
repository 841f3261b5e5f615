"""Update links after a batch: rewrite those whose target moved, and warn about broken ones.

A link of the base keeps its target; a link that an edit wrote stays as its author wrote it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import chain
from typing import Final, Protocol, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.field_names import short_name
from mdplan.markdown.destinations import (
    ANY_LINK,
    Destination,
    DestinationForm,
    FileTree,
    LinkedPath,
    TargetKind,
    destinations,
    find_near,
    find_target,
    has_anchor,
    wiki_pages,
    with_fragment,
    with_path,
)
from mdplan.markdown.links import (
    heading_named,
    labels_of,
    name_of_heading,
    resolvable_targets,
    target_key,
    whole,
)
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import folder_of, followed, link_between
from mdplan.markdown.sections import Section
from mdplan.planning import link_changes
from mdplan.planning.build import BuildResult, BuiltFile, SnapshotFile
from mdplan.planning.navigation import TOCTREE, has_links, is_navigation, is_summary
from mdplan.planning.sequence import with_post_edits
from mdplan.requests.batch import ReferenceScope
from mdplan.text.edit import EditList, Overlap, TextEdit
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import BY_PLACE, Position, Span, overlapping
from mdplan.text.source import DocumentFormat
from mdplan.text.visible import first_few, visible
from mdplan.values import Struct, replace
from mdplan.words import either, say

_LINK_OR_ATTRIBUTE: Final = lazy_pattern(rf"{ANY_LINK.pattern}|=")


class LinkedDocument(Struct, kw_only=True):
    """A document of the result. `path` is its own, `old_path` that of the base; both from the root.

    `written` are the places that its edits wrote, and `moved` those that came from the files of the given
    paths; both sorted, and disjoint. `may_rewrite` says whether its other links may be rewritten.
    """

    outline: Outline
    path: str
    old_path: str
    written: Sequence[Span] = ()
    moved: Mapping[Span, str]
    may_rewrite: bool


class LinkWarning(Struct):
    """What is wrong with the destination at `offset` of the result, which leads to `target`.

    The message is `subject`, its line, and `problem`.
    """

    code: Code
    offset: int
    target: str
    subject: str
    problem: str
    hint: str

    def at(self, place: Position) -> Diagnostic:
        """Return the warning about the destination, which is at `place`."""
        message = f"{self.subject} at line {place.line} {self.problem}"
        return self.code.warning(message, self.hint, place=place)


class LinkUpdates(Struct):
    """`edits` of the result rewrite `rewritten` links.

    `uncertain` are offsets of destinations that may mean files that move or go, though no rule of the site
    says so, with the paths of these.
    """

    edits: tuple[TextEdit, ...] = ()
    rewritten: int = 0
    warnings: tuple[LinkWarning, ...] = ()
    uncertain: tuple[tuple[int, str], ...] = ()

    @property
    def broken(self) -> list[str]:
        """What the broken links lead to, as they are written."""
        return [link.target for link in self.warnings if link.code is Code.BROKEN_LINK]


def update_links(
    document: LinkedDocument, changes: link_changes.LinkChanges, anchors: "Anchors"
) -> LinkUpdates:
    """Return what becomes of the links of `document`.

    Only blocks that may hold a link of interest are parsed for inline nodes.
    """
    checker = _LinkChecker(document, changes, anchors)
    outcomes = [(each, checker.outcome(each)) for each in checker.destinations()]
    return LinkUpdates(
        edits=tuple(edit for _, outcome in outcomes for edit in outcome.edits),
        rewritten=sum(bool(outcome.edits) for _, outcome in outcomes),
        warnings=tuple(outcome.warning for _, outcome in outcomes if outcome.warning is not None),
        uncertain=tuple((each.span.start, outcome.near) for each, outcome in outcomes if outcome.near),
    )


def edit_to_name(
    document: LinkedDocument,
    old: Destination,
    target: LinkedPath,
    now: link_changes.CurrentTarget,
    linked: "LinkSource",
    result: Outline | None,
) -> TextEdit | None:
    """Return the edit of `old` in `document` that makes it name what `target` is `now`, in its own style.

    `linked` are the files of the root; `result` is the document `now` if that has a place. None if the form
    of the link cannot name it.
    """
    results = {now.place.path: result} if now.place is not None and result is not None else {}
    changes = link_changes.LinkChanges(linked, link_changes.ResultTree(linked, {}), {}, results=results)
    return _LinkChecker(document, changes, Anchors((), linked)).edit_of(old, target, now)


class _Outcome(Struct):
    edits: tuple[TextEdit, ...] = ()
    warning: LinkWarning | None = None
    near: str | None = None


_UNCHANGED = _Outcome()


class _LinkChecker:
    """Checks each link of `document`."""

    def __init__(
        self, document: LinkedDocument, changes: link_changes.LinkChanges, anchors: "Anchors"
    ) -> None:
        self.document = document
        self.changes = changes
        self.anchors = anchors
        self._outline = document.outline
        self._moved = sorted(document.moved)
        self._moves_away = folder_of(document.path) != folder_of(document.old_path)

    def destinations(self) -> Sequence[Destination]:
        """Return the destinations that may have to change, or that an edit wrote."""
        outline, changes, document = self._outline, self.changes, self.document
        links = list(link_changes.possible_links(outline.source.text)) if changes.names else []
        if self._moves_away or link_changes.may_name(links, changes.names):
            return destinations(outline, [whole(outline)], in_code=True)
        keys = changes.anchors.get(document.old_path, {})
        places = link_changes.places_of_fragments(links, keys) if keys else ()
        spans = [Span(place, place + 1) for place in places]
        in_front_matter = [span for span in spans if span.start < outline.body_start]
        blocks = _blocks_with_links(outline, [*document.written, *self._moved, *spans])
        return destinations(outline, [*in_front_matter, *blocks], in_code=True)

    def outcome(self, destination: Destination) -> _Outcome:
        """Return what becomes of `destination`."""
        if overlapping(self.document.written, destination.span) is not None:
            return self._written(destination)
        moved = overlapping(self._moved, destination.span)
        origin = self.document.old_path if moved is None else self.document.moved[moved]
        is_moved = self._moves_away or moved is not None
        target = self.changes.target(origin, destination, is_moved=is_moved)
        is_certain = target is not None and target.kind is TargetKind.FILE
        near = self.changes.near(origin, destination) if not is_certain and moved is None else None
        if target is None or near is not None:
            return _Outcome(near=near)
        now = self.changes.now(target, destination)
        edits = self._edits(destination, target, now)
        # What nobody found stays as it is written: only the site knows what it means.
        is_same = edits == () and not now.is_removed
        if is_same or target.kind is TargetKind.NOTHING:
            return _UNCHANGED
        if destination.is_code:
            return _Outcome(near=target.path if target.path in self.changes.affected else None)
        is_retargeted = self._names_a_place(destination)
        if edits is not None and (self.document.may_rewrite or moved is not None):
            could_follow = False
            is_broken = now.is_removed and not is_retargeted and not self._has_place(destination, now)
            is_retargeted = is_retargeted and now.is_removed
        else:
            could_follow, edits = edits is not None and not now.is_removed, ()
            is_broken = not self._resolves(destination, was_there=is_certain)
        warn = self._broken if is_broken else self._retargeted if is_retargeted else None
        return _Outcome(edits, warn(destination, now, could_follow=could_follow) if warn else None)

    def _broken(
        self, destination: Destination, now: link_changes.CurrentTarget | None, *, could_follow: bool = False
    ) -> LinkWarning:
        """Say why `destination` names nothing, and what to do about it; what it named is `now` elsewhere."""
        target = find_target(self.changes.after, self.document.path, destination)
        if target is not None and target.kind is TargetKind.FILE:
            fragment = destination.fragment or ""
            kind = "block with the ID" if fragment.startswith("^") else "heading with the anchor"
            cause = f"`{target.path}` has no {kind} `{short_name(fragment)}`"
        else:
            named = short_name(destination.path) if target is None else visible(target.path)
            cause = f"there is no file `{named}`"
        written = self._outline.text_of(destination.span)
        return LinkWarning(
            Code.BROKEN_LINK,
            destination.span.start,
            written,
            f"the link to `{short_name(written)}`",
            f"leads to nothing: {cause}",
            self._hint(destination, now, could_follow=could_follow),
        )

    def _hint(
        self, destination: Destination, now: link_changes.CurrentTarget | None, *, could_follow: bool
    ) -> str:
        """Return what to do about a link whose target is somewhere else `now`, or nowhere."""
        here = self.document.path
        if now is not None and not now.is_removed and now.path is not None:
            place = now.place
            section = self._heading_at(place) if place is not None and destination.is_wiki else None
            title = name_of_heading(section.title) if section is not None else None
            anchor = title or (destination.fragment if place is None else place.anchor)
            fragment = f"#{anchor}" if anchor else ""
            moved = f"it is now `{link_between(folder_of(here), now.path)}{fragment}`"
            if now.path == here and place is not None:
                moved = f"the anchor of the heading is now `{fragment}`"
            follow = say('{updateReferences="workspace"} updates links to it') if could_follow else ""
            return either(moved, follow, joint="; ")
        near = find_near(self.changes.after, here, destination.path)
        named = self.changes.file_now(here, destination)
        if near is not None and near not in {here, named}:
            return f"did you mean `{link_between(folder_of(here), near)}`?"
        anchors = self.anchors(named) if named is not None else None
        alike = get_close_matches(target_key(destination.fragment or ""), anchors or (), n=3)
        anchor = next((anchor for anchor in alike if not anchor.startswith("#")), None)
        if anchor is not None:
            return f"did you mean `{destination.path}#{anchor}`?"
        return "correct the link, or add what it names"

    def _retargeted(
        self, destination: Destination, now: link_changes.CurrentTarget, *, could_follow: bool = False
    ) -> LinkWarning:
        """Say what `destination` named, and what it names now."""
        here, written = self.document.path, self._outline.text_of(destination.span)
        nodes = self._outline.inline.nodes_in(destination.span)
        text = next((self._outline.text_of(node.text) for node in nodes if node.text is not None), "")
        old = "a place that is deleted"
        if now.path is not None and not now.is_removed:
            file = "" if now.path == here else link_between(folder_of(here), now.path)
            old = f"what is now `{file}{'#' + now.place.anchor if now.place is not None else ''}`"
        section = self._outline.with_anchor(target_key(destination.fragment or ""))
        heading = ""
        if section is not None and not destination.path:
            heading = f', the heading "{short_name(section.title)}" at line {section.heading_line}'
        follow = say('{send updateReferences="file"} and the link follows, or correct it in the same batch')
        return LinkWarning(
            Code.LINK_RETARGETED,
            destination.span.start,
            written,
            f'the link "{short_name(text)}"' if text else "the link",
            f"named {old}, and now names `{written}`{heading}",
            follow if could_follow else "correct the link in the same batch",
        )

    def _written(self, destination: Destination) -> _Outcome:
        """Check a link that an edit wrote: it is not rewritten, and must name something."""
        is_right = destination.is_code or self._resolves(destination, is_new=True)
        if is_right or self._is_in_form_of_a_site(destination):
            return _UNCHANGED
        target = self.changes.target(self.document.old_path, destination, is_moved=False)
        now = None if target is None else self.changes.now(target, destination)
        is_moved = now is not None and (
            now.place is not None or (target is not None and target.path in self.changes.after.paths)
        )
        return _Outcome(warning=self._broken(destination, now if is_moved else None))

    def _is_in_form_of_a_site(self, destination: Destination) -> bool:
        """Return True if `destination` names no file, but omits suffix, index name or first folder of one."""
        if self.changes.file_now(self.document.path, destination) is not None:
            return False
        near = find_near(self.changes.after, self.document.path, destination.path)
        meant = followed(folder_of(self.document.path), destination.path)
        return near not in {None, self.document.path} and near.casefold() != meant.casefold()

    def _resolves(self, destination: Destination, *, is_new: bool = False, was_there: bool = False) -> bool:
        """Return False if `destination`, as it is written, certainly names nothing in the result.

        One by name that `is_new` may name a page that is to be written one day, or that only the site knows;
        a site may make an image, unless it `was_there` as a file.
        """
        # Of what else a site serves from its root nobody knows here.
        if (destination.is_shown and not was_there) or (
            destination.is_from_root and (is_new or not self.changes.before.rules.roots)
        ):
            return True
        target = find_target(self.changes.after, self.document.path, destination)
        if target is None or (is_new and destination.is_page_name and target.kind is TargetKind.NOTHING):
            return True
        if target.kind is not TargetKind.FILE:
            return target.kind is TargetKind.OTHER
        anchors = self.anchors(target.path) if destination.fragment is not None else None
        is_there = anchors is None or has_anchor(destination, anchors)
        return is_there or (not destination.path and self.anchors.has_label(destination.fragment or ""))

    def _names_a_place(self, destination: Destination) -> bool:
        """Return True if `destination`, as it is written, certainly names something in the result."""
        path = self.changes.file_now(self.document.path, destination)
        is_unknown = destination.is_from_root and not self.changes.before.rules.roots
        if path is None or destination.is_shown or is_unknown:
            return False
        anchors = self.anchors(path) if destination.fragment is not None else frozenset()
        return anchors is not None and has_anchor(destination, anchors)

    def _has_place(self, destination: Destination, now: link_changes.CurrentTarget) -> bool:
        """Return True if something else has the anchor of `destination` in the file that it names `now`."""
        anchors = self.anchors(now.path) if now.path is not None else frozenset()
        return now.path is not None and (anchors is None or has_anchor(destination, anchors))

    def edit_of(
        self, old: Destination, target: LinkedPath, now: link_changes.CurrentTarget
    ) -> TextEdit | None:
        """Return the edit of all of `old` that makes it name what `target` is `now`; None if none does."""
        edits = self._edits(old, target, now)
        if not edits:
            return None
        text, start = self._outline.text_of(old.span), old.span.start
        for edit in reversed(edits):
            text = text[: edit.span.start - start] + edit.new_text + text[edit.span.end - start :]
        return TextEdit(old.span, text)

    def _edits(
        self, old: Destination, target: LinkedPath, now: link_changes.CurrentTarget
    ) -> tuple[TextEdit, ...] | None:
        """Return edits that make `old` name what `target` is `now`; None if its form cannot."""
        edits: list[TextEdit | None] = []
        if now.path is not None and self._leads_elsewhere(old, target, now.path):
            path = self._new_path(old, target, now.path)
            edits.append(None if path is None else with_path(self._outline, old, path))
        place = now.place if old.fragment is not None else None
        if place is not None and not self._names(old, place):
            edits.append(self._with_place(old, place))
        if None in edits:
            return None
        return tuple(edit for edit in edits if edit is not None)

    def _names(self, old: Destination, place: link_changes.AnchorPlace) -> bool:
        """Return True if the fragment of `old` names `place` as it is written."""
        if old.is_wiki and place.title is not None:
            return self._is_heading_at(place, (*old.parents, old.fragment or ""))
        return target_key(old.fragment or "") == target_key(place.anchor)

    def _is_heading_at(self, place: link_changes.AnchorPlace, names: Sequence[str]) -> bool:
        section = heading_named(self.changes.results[place.path], names)
        return section is not None and section == self._heading_at(place)

    def _heading_at(self, place: link_changes.AnchorPlace) -> Section | None:
        return self.changes.results[place.path].with_anchor(target_key(place.anchor))

    def _with_place(self, old: Destination, place: link_changes.AnchorPlace) -> TextEdit | None:
        """Return an edit that makes the fragment of `old` name `place`; None if it cannot.

        A wiki link that names headings by their text goes on so, with headings above where one text is not
        enough.
        """
        if not old.is_wiki or place.title is None:
            return with_fragment(self._outline, old, place.anchor)
        section = self._heading_at(place)
        path = [name_of_heading(title) for title in (section.path if section else (place.title,))]
        forms = ([*old.parents, path[-1]], path[-1 - len(old.parents) :], path[-2:], path)
        names = next((names for names in forms if self._is_heading_at(place, names)), None)
        return None if names is None else with_fragment(self._outline, old, "#".join(names))

    def _leads_elsewhere(self, old: Destination, target: LinkedPath, path: str) -> bool:
        """Return True if the path of `old` must change to name `path`, which was that of `target`."""
        here, rules = self.document.path, self.changes.before.rules
        if not old.path and not target.style.is_name:
            return path != here
        if target.style.is_name:
            return self.changes.file_now(here, old) != path
        if target.style.prefix is not None:
            return path != target.path
        new_path = rules.written(path, target.style, old.path)
        leads = followed(self._start(target), old.path)
        return leads.casefold() != (new_path or "").casefold() if rules.ignores_case else leads != new_path

    def _new_path(self, old: Destination, target: LinkedPath, path: str) -> str | None:
        """Return what must be written in place of the path of `old`; None if the site has no path for it."""
        here = self.document.path
        if target.style.is_name or (old.form is DestinationForm.WIKI and not old.path):
            # By as few folders as before, unless other pages have that too.
            forms = wiki_pages(old.path, target.path, path)
            files = ((page, self.changes.file_now(here, replace(old, path=page))) for page in forms)
            return next((page for page, file in files if file == path), None)
        if not old.path:
            return link_between(folder_of(here), path)
        new_path = self.changes.before.rules.written(path, target.style, old.path)
        if new_path is None or target.style.prefix is not None:
            return new_path
        return self._as_before(old, target, new_path)

    def _start(self, target: LinkedPath) -> str:
        """Return the folder from which a relative link to `target` leads."""
        here, rules = self.document.path, self.changes.before.rules
        return rules.page_folder(here) if target.style.is_from_page else folder_of(here)

    def _as_before(self, old: Destination, target: LinkedPath, new_path: str) -> str:
        """Return a path that leads to `new_path`, written as that of `old`: from the root, or with ``./``."""
        here = self.document.path
        if old.is_from_root:
            return f"/{new_path}/" if old.path.endswith("/") else f"/{new_path}"
        if new_path == here and old.fragment is not None:
            return ""
        new = link_between(self._start(target), new_path)
        new = f"./{new}" if old.path.startswith("./") and not new.startswith(".") else new
        return f"{new}/" if old.path.endswith("/") else new


def _blocks_with_links(outline: Outline, spans: Sequence[Span]) -> list[Span]:
    """Return the blocks that hold a code point of `spans`, each once, without those that can hold no link."""
    text = outline.source.text
    in_body = [span for span in spans if span.end > outline.body_start]
    by_start = {block.span.start: block.span for span in in_body for block in outline.tree.leaves_in(span)}
    blocks = (by_start[start] for start in sorted(by_start))
    return [block for block in blocks if _LINK_OR_ATTRIBUTE.search(text, block.start, block.end)]


# --- The planner step after all edits


class LinkSource(FileTree, Protocol):
    """The files of a root next to those of a batch: the second pass of the snapshot."""

    def anchors(self, path: str) -> frozenset[str] | None:
        """Return anchors of the file `path`, as `target_key` writes them; None if they are not known."""

    def linking_to(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        """Markdown files that may link to a file of one of `names` (as `page_key` writes them), sorted.

        Of those that cannot be read a warning.
        """

    def navigation(self, names: frozenset[str]) -> Iterator[SnapshotFile | Diagnostic]:
        """Yield files that list the pages of a site and may name one of `names`, in the same way."""

    def refusal(self, file: SnapshotFile) -> Diagnostic | None:
        """Return why `file` could not be replaced now; None if it could."""

    @property
    def labels(self) -> Mapping[str, frozenset[str]]:
        """The labels of each file that a fragment alone names, wherever they are."""

    @property
    def rules_problem(self) -> Diagnostic | None:
        """A warning about rules of the site that cannot be read."""


# Of files that move or go, the places of links that may mean them: paths of documents, and lines.
_Uncertain: TypeAlias = dict[str, list[tuple[str, int]]]
_MOST_PLACES: Final = 5


def derive_link_edits(
    built_files: Sequence[BuiltFile], scope: ReferenceScope, linked: LinkSource, *, counts_others: bool = True
) -> BuildResult | Problems:
    """Rewrite the links of `built_files` as `scope` says, and those of other files that must change.

    Entries of files that list the pages of a site are links too. Links that came with text from another file
    are corrected whatever `scope` says. What breaks is reported as BROKEN_LINK warnings: of the files of the
    batch, and with the scope ``workspace`` of all others; else one warning `counts_others` by file.
    Errors: those of `LinkSource.refusal`.
    """
    changes = link_changes.LinkChanges.of(built_files, linked)
    derive = partial(_derived, built_files, scope=scope, linked=linked, counts_others=counts_others)
    outcome = derive(built_files, changes)
    results = [built.result for built in outcome.files] if isinstance(outcome, BuildResult) else ()
    headings = (each.tree.headings for each in results if "[[" in each.source.text)
    if isinstance(outcome, BuildResult) and any("[[" in each.content for each in chain(*headings)):
        # A link in a heading is a part of its text, so that links to the heading may have to follow too.
        again = link_changes.LinkChanges.of(outcome.files, linked)
        outcome = outcome if again.anchors == changes.anchors else derive(outcome.files, again)
    if isinstance(outcome, BuildResult) and any(built.asks_for_redirect for built in outcome.files):
        return _with_redirects(outcome, linked)
    return outcome


def _with_redirects(made: BuildResult, linked: LinkSource) -> BuildResult | Problems:
    from mdplan.planning.redirects import leave_redirects

    known = {built.file.relative for built in made.files}
    others = [
        _untouched(file)
        for file in linked.navigation(frozenset())
        if not isinstance(file, Diagnostic) and file.relative not in known
    ]
    files = leave_redirects(made.files, others, linked)
    if isinstance(files, tuple):
        return files
    refused = (linked.refusal(built.file) for built in files if built.file.relative not in known)
    return tuple(filter(None, refused)) or BuildResult(files, made.warnings)


def _derived(
    built_files: Sequence[BuiltFile],
    results: Sequence[BuiltFile],
    changes: link_changes.LinkChanges,
    *,
    scope: ReferenceScope,
    linked: LinkSource,
    counts_others: bool,
) -> BuildResult | Problems:
    """Return `built_files` and others with links that follow `changes`, which lead to `results`."""
    anchors = Anchors(results, linked)
    uncertain: _Uncertain = defaultdict(list)
    follows, known = scope == "workspace", {built.file.relative for built in built_files}
    files = [
        _updated(built, changes, anchors, uncertain, may_rewrite=scope != "none") for built in built_files
    ]
    others: Iterable[SnapshotFile | Diagnostic] = ()
    if changes.names and (follows or counts_others):
        others = chain(linked.linking_to(changes.names), linked.navigation(changes.entry_names))
    problems: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    broken: dict[str, int] = {}
    for file in others:
        if isinstance(file, Diagnostic):
            warnings += [file] if follows else []
            continue
        if file.relative in known:
            continue
        unsure = uncertain if follows else defaultdict(list)
        other = _updated(_untouched(file), changes, anchors, unsure, may_rewrite=follows)
        if not follows:
            broken |= {file.path: len(other.warnings)} if other.warnings else {}
        elif not other.edits:
            warnings += other.warnings
        elif (refused := linked.refusal(file)) is not None:
            problems.append(refused)
        else:
            files.append(other)
    warnings += (*_site_warnings(changes, linked, uncertain), *_broken_elsewhere(changes, broken))
    return tuple(problems) or BuildResult(files, tuple(warnings))


def _untouched(file: SnapshotFile) -> BuiltFile:
    return BuiltFile(file=file, resolved=(), edits=EditList(), byte_edits=(), result=file.outline, written={})


def _broken_elsewhere(changes: link_changes.LinkChanges, broken: Mapping[str, int]) -> Iterator[Diagnostic]:
    """Yield one warning that counts the links which `changes` break: `broken`, by file."""
    if not broken:
        return
    count = sum(broken.values())
    links = "1 link in another file breaks" if count == 1 else f"{count} links in other files break"
    places = (place for anchors in changes.anchors.values() for place in anchors.values())
    follows = any(changes.after.paths.values()) or any(places)
    listed = first_few([f"`{path}` ({number})" for path, number in broken.items()], _MOST_PLACES)
    yield Code.BROKEN_LINK.warning(
        f"{links}: {listed}",
        say('{send updateReferences="workspace"} and links follow') if follows else "correct or delete them",
    )


def _site_warnings(
    changes: link_changes.LinkChanges, linked: LinkSource, uncertain: _Uncertain
) -> Iterator[Diagnostic]:
    """Yield one warning for each affected file that links may mean, though no rule says so."""
    if (changes.after.paths or uncertain) and linked.rules_problem is not None:
        yield linked.rules_problem
    for path, places in sorted(uncertain.items()):
        listed = first_few([f"{file}:{line}" for file, line in dict.fromkeys(places)], _MOST_PLACES)
        many = "a link may" if len(places) == 1 else f"{len(places)} links may"
        now = changes.after.paths.get(path)
        named = f"`{path}`, which is now `{now}`" if now else f"`{path}`, which this plan deletes"
        if path not in changes.after.paths:
            named = f"headings of `{path}` whose anchors this plan changes or deletes"
        yield Code.LINK_UNCERTAIN.warning(
            f"{many} mean {named}: {listed}",
            "describe the routes of the site under [links] in mdplan.toml, or correct these links",
            file=path,
        )


class Anchors:
    """Anchors of the files of a batch in their results, and of the files `others`."""

    def __init__(self, built_files: Sequence[BuiltFile], others: LinkSource) -> None:
        """Look into the results of `built_files`, and into the files `others`."""
        self._results = {built.file.result_path: built.result for built in built_files}
        self._old_paths = {built.file.relative for built in built_files}
        self._others = others
        self._known: dict[str, frozenset[str] | None] = {}

    def __call__(self, path: str) -> frozenset[str] | None:
        """Return those of the file `path`, as `target_key` writes them; None if they are not known."""
        if path not in self._known:
            result = self._results.get(path)
            if result is None:
                self._known[path] = self._others.anchors(path)
            else:
                is_markdown = result.format is DocumentFormat.MARKDOWN
                self._known[path] = resolvable_targets(result) if is_markdown else None
        return self._known[path]

    def has_label(self, fragment: str) -> bool:
        """Return True if `fragment` is a label of MyST in one of the files."""
        kept = (labels for path, labels in self._others.labels.items() if path not in self._old_paths)
        return any(
            target_key(fragment) in labels for labels in chain(map(labels_of, self._results.values()), kept)
        )


def _updated(
    built: BuiltFile,
    changes: link_changes.LinkChanges,
    anchors: Anchors,
    uncertain: _Uncertain,
    *,
    may_rewrite: bool,
) -> BuiltFile:
    """Return `built` with its links rewritten, and with warnings about those that are broken.

    Links that may mean another file are added to `uncertain`.
    """
    if built.file.is_deleted:
        return built
    path, pages = built.file.result_path, changes.after.paths
    if has_links(path):
        from mdplan.planning.navigation_entries import update_values

        def follow(outline: Outline) -> tuple[EditList, list[str]]:
            here, before = path, built.file.relative
            document = LinkedDocument(outline=outline, path=here, old_path=before, moved={}, may_rewrite=True)
            updates = update_links(document, changes, anchors)
            return EditList(updates.edits), [
                link.target for link in updates.warnings if link.code is Code.BROKEN_LINK
            ]

        return update_values(built, follow, changes.before.rules.slugs, may_rewrite=may_rewrite)
    has_tree = pages and f"{{{TOCTREE}}}" in built.result.source.text
    if pages and (has_tree or is_navigation(path) or (may_rewrite and is_summary(path))):
        # Few batches change files, and fewer those that list them.
        from mdplan.planning.navigation_entries import update_entries

        ids, before = changes.own_ids, changes.before
        built = update_entries(built, pages, ids, before, may_rewrite=may_rewrite)
    if built.result.format is not DocumentFormat.MARKDOWN:
        return built
    updates = update_links(_linked_document(built, may_rewrite=may_rewrite), changes, anchors)
    edits = EditList.of(updates.edits)
    assert not isinstance(edits, Overlap), "destinations do not overlap"
    updated = with_post_edits(built, edits)
    if updated is None or (edits and _levels(updated.result) != _levels(built.result)):
        # The document would not stay what it is: then all its links stay as they are.
        updated, edits = built, EditList()
        updates = replace(
            update_links(_linked_document(built, may_rewrite=False), changes, anchors), rewritten=0
        )
    for offset, named in updates.uncertain:
        uncertain[named].append((built.file.result_path, _place(updated, offset, edits).line))
    warnings = (
        *(link.at(_place(updated, link.offset, edits)) for link in updates.warnings),
        *link_changes.label_warnings(updated),
    )
    return replace(
        updated,
        references_updated=built.references_updated + updates.rewritten,
        warnings=(*built.warnings, *(warning.at(file=built.file.path) for warning in warnings)),
    )


def _place(updated: BuiltFile, offset: int, edits: EditList) -> Position:
    """Return where in the result `offset` is, after `edits`."""
    moved = edits.map_offset(offset)
    return updated.result.source.lines.position(offset if moved is None else moved)


def _levels(outline: Outline) -> list[tuple[int, bool]]:
    return [(section.level, section.nested) for section in outline.headings]


def _linked_document(built: BuiltFile, *, may_rewrite: bool) -> LinkedDocument:
    authored = [
        span
        for item in built.resolved
        if item.resolution.destination is None and not item.resolution.order
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
