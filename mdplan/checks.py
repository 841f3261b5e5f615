"""`check`: find damage that a change did to documents, whoever made it.

It compares two versions of each document; old problems are not reported.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeVar

from mdplan.data.address import shown
from mdplan.data.content import DataContent
from mdplan.data.tree import strings_of
from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.documents import LinkIndex
from mdplan.documents.files import OutlinedFiles
from mdplan.field_names import short_name
from mdplan.git.link_history import GitLinkHistory
from mdplan.git.repository import RepositoryLocation, find_commit
from mdplan.git.tree import CommitTree
from mdplan.markdown.block_tree import is_left_open
from mdplan.markdown.blocks import BOX, INLINE_KINDS, Block, BlockKind
from mdplan.markdown.destinations import Destination, TargetKind, destinations, find_target
from mdplan.markdown.enclosure_search import find_regions
from mdplan.markdown.enclosures import RegionMarker
from mdplan.markdown.front_matter import Unreadable
from mdplan.markdown.front_matter_edits import kind_of
from mdplan.markdown.inline_node import InlineKind, normalized_label
from mdplan.markdown.links import (
    all_definitions,
    label_uses,
    labels_of,
    local_links,
    places_of_anchors,
    reference_uses,
    resolvable_targets,
    shifted_repeats,
    target_key,
    undefined_uses,
    whole,
)
from mdplan.markdown.outline import Outline
from mdplan.markdown.paths import MARKDOWN_SUFFIXES, folder_of, page_key
from mdplan.markdown.sections import Section
from mdplan.planning.link_repairs import LinkHistory, LinkRepairer
from mdplan.planning.navigation_entries import read_navigation
from mdplan.planning.results import overlong_rows, unreadable_front_matter
from mdplan.reading.broken_tree_links import broken_in_tree, broken_link, broken_targets
from mdplan.reports.history import CheckReport
from mdplan.settings import ProgressCallback, Settings, no_progress
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import Position, Span
from mdplan.text.source import DocumentFormat, Source
from mdplan.text.visible import shortened
from mdplan.values import Struct

_Item = TypeVar("_Item")


def check_since(
    files: OutlinedFiles,
    settings: Settings,
    reference: str,
    paths: Sequence[str],
    tick: ProgressCallback = no_progress,
) -> CheckReport:
    """Report what documents of the root of `files` lost since the commit `reference`.

    `paths` are files or folders from the root; by default all documents are compared. `tick` is called for
    each. What the history knows of the target of a broken link is told. Raise `StorageRefused`:
    INVALID_ARGUMENT for several roots, a folder outside repositories, or an unknown commit.
    """
    place = RepositoryLocation.of(files.workspace)
    commit = find_commit(place, reference)
    scope = files.workspace.roots[0].scope
    changed: list[ChangedDocument] = []
    skipped: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    with CommitTree(place, commit, scope.allow, scope.deny).open() as committed:
        before = OutlinedFiles.of(committed, settings)
        for old, new in _changes(place, commit, paths):
            tick(len(changed), None)
            document = _open_document(before, files, old, new)
            if isinstance(document, Diagnostic):
                skipped.append(document.at(file=new))
            else:
                changed.append(document)
        links = LinkCheck(
            LinkIndex(before, before.workspace.roots[0]),
            LinkIndex(files, files.workspace.roots[0]),
            GitLinkHistory(files),
        )
        for number, document in enumerate(changed):
            tick(number, len(changed))
            if document.new is not None:
                problems = (*_document_problems(document.old, document.new), *links.problems_in(document))
                warnings += (warning.at(file=document.path) for warning in problems)
        elsewhere = (
            *links.problems_elsewhere(changed),
            *links.retargeted_elsewhere(changed),
            *lost_pages(links.new, changed),
        )
        warnings += (warning.at(file=path) for path, warning in elsewhere)
    return CheckReport(ok=True, checked=len(changed), warnings=tuple(warnings), skipped=tuple(skipped))


def check_documents(path: str, old: Outline, new: Outline) -> CheckReport:
    """Report what the version `new` of the document `path` lost; only links inside it are checked."""
    problems = (*_document_problems(old, new), *_lost_definitions(old, new), *_broken_inside(old, new))
    return CheckReport(ok=True, checked=1, warnings=tuple(problem.at(file=path) for problem in problems))


class ChangedDocument(Struct):
    """A document before and after a change: `old` is empty for a new file, `new` None for a deleted one.

    Paths are from the root; `old_path` is None for a new file.
    """

    path: str
    old_path: str | None
    old: Outline
    new: Outline | None


def _open_document(
    before: OutlinedFiles, after: OutlinedFiles, old_path: str | None, new_path: str | None
) -> ChangedDocument | Diagnostic:
    """Return the document before and after, or why the new version cannot be read."""
    new = _open_outline(after, new_path) if new_path is not None else None
    if isinstance(new, Diagnostic):
        return new
    old = _open_outline(before, old_path) if old_path is not None else None
    path = new_path or old_path or ""
    if isinstance(old, Outline):
        return ChangedDocument(path, old_path, old, new)
    return ChangedDocument(path, None, Outline(Source.from_text("")), new)


def _open_outline(files: OutlinedFiles, path: str) -> Outline | Diagnostic:
    name = files.workspace.locate(path)
    return name if isinstance(name, Diagnostic) else files.open_parsed(name)


def _broken_inside(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    if new.format is not DocumentFormat.MARKDOWN:
        return
    known = {link.target for link in local_links(old) if not link.resolves}
    for link in local_links(new):
        if not link.resolves and link.target not in known:
            yield broken_link(link.target, link.line)


# --- Damage in one document, except to links

_END_NAMES: Final = {"\n": "LF", "\r\n": "CRLF", "\r": "CR"}


def _document_problems(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    """Yield warnings about `new`, the later version of `old`, which is empty for a new file.

    Line numbers refer to `new`.
    """
    if old.source.data:
        yield from _byte_problems(old, new)
    if new.format is not DocumentFormat.MARKDOWN:
        return
    yield from _front_matter_problems(old, new)
    open_blocks, fences = _newly_open_blocks(old, new), _torn_fences(old, new)
    for line, opening in fences.items():
        yield Code.BLOCK_UNCLOSED.warning(
            f"line {line} no longer opens a code block, and the end of that block opens one now",
            f"write the fence again: `{short_name(opening)}`",
            place=Position(line, 1),
        )
    # After a fence that lost its opening line, each closing line opens the next one.
    yield from (
        _unclosed(block)
        for block in open_blocks
        if block.kind is not BlockKind.FENCE or not any(line < block.first_line for line in fences)
    )
    yield from _torn_comments(old, new)
    yield from _unpaired_regions(old, new)
    yield from _unpaired_tags(old, new)
    # The warning about an unclosed block covers everything that it swallowed.
    swallowed = frozenset(
        line for block in open_blocks for line in range(block.first_line, block.last_line + 1)
    )
    yield from _torn_rows(old, new, swallowed)
    yield from _torn_cells(old, new)
    yield from _lost_headings(old, new, swallowed)
    yield from _torn_underlines(old, new, swallowed)
    yield from _torn_tasks(old, new, swallowed)
    yield from _doubled_anchors(old, new)
    yield from _retargeted(old, new)
    yield from _retargeted_labels(old, new)


def _byte_problems(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    """Yield changes of newlines, BOM and encoding, which a diff does not show."""
    before, after = old.source, new.source
    had, has = before.lines.line_ends, after.lines.line_ends
    fresh = [end for end in _END_NAMES if has.get(end) and not had.get(end)]
    if fresh and any(had.values()):
        names = ", ".join(f"{has[end]} {_END_NAMES[end]}" for end in fresh)
        yield Code.LINE_ENDS_CHANGED.warning(
            f"line ends that the file did not have: {names}, of {sum(has.values())}",
            f"keep the {' and '.join(_END_NAMES[end] for end in _END_NAMES if had.get(end))} line ends",
        )
    if bool(before.bom) != bool(after.bom):
        yield Code.ENCODING_CHANGED.warning(
            "the byte order mark is gone" if before.bom else "the file begins with a byte order mark now",
            "save the file in the encoding that it had",
        )
    elif before.encoding != after.encoding or (after.invalid_bytes and not before.invalid_bytes):
        now = "has bytes that are not UTF-8" if after.invalid_bytes else f"is {after.encoding}"
        yield Code.ENCODING_CHANGED.warning(
            f"the file was {before.encoding} and now {now}", "save the file in the encoding that it had"
        )


def _front_matter_problems(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    before, after = old.front_matter_content, new.front_matter_content
    if isinstance(before, Unreadable):
        return
    if (problem := unreadable_front_matter(old, new)) is not None:
        yield problem
    elif isinstance(before, DataContent) and isinstance(after, DataContent):
        yield from _changed_types(before, after)


def _changed_types(before: DataContent, after: DataContent) -> Iterator[Diagnostic]:
    for path, old, new in _paired(before.values, after.values):
        was, now = kind_of(old), kind_of(new)
        # A key without value has no type.
        if old is not None and new is not None and was != now:
            yield Code.FRONT_MATTER_TYPE.warning(
                f"`{shown(path)}` of the front matter was {was} and is {now} now",
                "quote the value if it is text" if was == "text" else f"write {was}",
                place=Position(1, 1),
            )


def _paired(old: Any, new: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Any, Any]]:  # noqa: ANN401 (any value of front matter)
    """Yield the values of both versions at each path; of lists only if they have equal length."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in filter(new.__contains__, old):
            yield from _paired(old[key], new[key], (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        for index, items in enumerate(zip(old, new, strict=True) if len(old) == len(new) else ()):
            yield from _paired(*items, (*path, index))
    else:
        yield path, old, new


def _newly_open_blocks(old: Outline, new: Outline) -> list[Block]:
    blocks = list(_fresh(_open_blocks, old, new))
    lost = Counter(_fence_openings(old)) - Counter(_fence_openings(new))
    if lost:
        blocks += (
            block for block in new.blocks if block not in blocks and _has_inner_fence(new, block, lost)
        )
    return sorted(blocks, key=lambda block: block.first_line)


def _fence_openings(outline: Outline) -> Iterator[str]:
    return (_line(outline, block.first_line) for block in outline.blocks if block.kind is BlockKind.FENCE)


def _has_inner_fence(outline: Outline, block: Block, openings: Container[str]) -> bool:
    """Return True if `block` is a fence that contains an opening of `openings`, whose end it took."""
    marks = _FENCE.search(_line(outline, block.first_line))
    if block.kind is not BlockKind.FENCE or marks is None:
        return False
    inner = (_line(outline, line) for line in range(block.first_line + 1, block.last_line))
    fences = (_FENCE.search(text) for text in inner if text in openings)
    return any(fence["marks"].startswith(marks["marks"]) for fence in fences if fence)


def _fresh(
    find: Callable[[Outline], Iterable[tuple[Hashable, _Item]]], old: Outline, new: Outline
) -> Iterator[_Item]:
    """Yield what `find` finds in `new`, each with a key, beyond the number with the same key in `old`."""
    known = Counter(key for key, _ in find(old))
    for key, item in find(new):
        if known[key]:
            known[key] -= 1
        else:
            yield item


def _unclosed(block: Block) -> Diagnostic:
    name = "comment in the text" if block.kind in INLINE_KINDS else block.kind
    return Code.BLOCK_UNCLOSED.warning(
        f"the {name} that starts at line {block.first_line} is not closed: it contains all text "
        f"to line {block.last_line}",
        "close it, or delete its opening line",
        place=Position(block.first_line, 1),
    )


def _open_blocks(outline: Outline) -> Iterator[tuple[str, Block]]:
    """Yield unclosed blocks with their first lines, including those with an unclosed comment."""
    for block in outline.blocks:
        if _has_open_comment(outline, block) or is_left_open(block, outline.source.text):
            yield _line(outline, block.first_line), block


def _has_open_comment(outline: Outline, block: Block) -> bool:
    text, span = outline.source.text, block.span
    if block.kind is BlockKind.HTML:
        return _TORN_COMMENT.search(text, span.start, span.end) is not None
    openings = _COMMENT.finditer(text, span.start, span.end) if block.kind in INLINE_KINDS else ()
    nodes = (outline.inline.nodes_in(Span(*opening.span())) for opening in openings)
    return not all(any(node.kind in _NO_TEXT for node in near) for near in nodes)


def _unpaired_regions(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    def find(outline: Outline) -> Iterator[tuple[Hashable, RegionMarker]]:
        return (((marker.name, marker.is_start), marker) for marker in find_regions(outline).unpaired)

    for marker in _fresh(find, old, new):
        here, other = ("start", "end") if marker.is_start else ("end", "start")
        place = new.source.lines.position(marker.span.start)
        yield Code.REGION_UNBALANCED.warning(
            f"`<!-- {short_name(marker.name)}:{here} -->` at line {place.line} has no `:{other}` marker",
            f"put back `<!-- {short_name(marker.name)}:{other} -->`, or delete this marker",
            place=place,
        )


def _unpaired_tags(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    tags = _fresh(lambda outline: ((tag.name, tag) for tag in outline.enclosures.unbalanced), old, new)
    for tag in tags:
        half = "closing" if tag.opens else "opening"
        yield Code.UNBALANCED_TAG.warning(
            f"the tag at line {tag.line} has no {half} tag",
            f"write the {half} tag, or delete this one",
            place=new.source.lines.position(tag.start),
        )


def _torn_rows(old: Outline, new: Outline, swallowed: Container[int]) -> Iterator[Diagnostic]:
    """Yield table rows that became text, and rows with more cells than columns."""
    had = _row_lines(old)
    torn = _lost_lines(old, new, had, _row_lines(new)) if had else ()
    for first, last in _ranges(number for number, _ in torn if number not in swallowed):
        lines = f"line {first} was a row" if first == last else f"lines {first}-{last} were rows"
        yield Code.TABLE_TORN.warning(
            f"{lines} of a table, and {'is' if first == last else 'are'} text now",
            "delete the blank or broken line between the rows, and keep the header and its dashes",
            place=Position(first, 1),
        )
    yield from overlong_rows(new, new.tables, frozenset(had.values()))


def _ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield first and last of each run in the sorted `numbers`, which omit delimiter rows."""
    first = last = 0
    for number in numbers:
        if first and number > last + 2:
            yield first, last
            first = 0
        first, last = first or number, number
    if first:
        yield first, last


def _lost_lines(
    old: Outline,
    new: Outline,
    was: Mapping[int, str],
    now: Mapping[int, str],
    bare: Callable[[str], str] = str,
) -> Iterator[tuple[int, str]]:
    """Yield lines of `new` that equal one of `was` of `old` but are not in `now`, with the old text.

    `was` and `now` map line numbers to text; texts are equal if they are `bare`. Other equal lines in `old`
    account for as many lines in `new`.
    """
    texts = {bare(text): text for text in was.values()}
    lost = Counter(map(bare, was.values())) - Counter(map(bare, now.values()))
    others = (bare(_line(old, number)) for number in _numbers(old) if lost and number not in was)
    known = Counter(text for text in others if text in texts)
    for number in _numbers(new) if lost else ():
        text = bare(_line(new, number))
        if number in now or not text or not lost[text]:
            continue
        if known[text]:
            known[text] -= 1
            continue
        lost[text] -= 1
        yield number, texts[text]


def _row_lines(outline: Outline) -> dict[int, str]:
    """Return the stripped rows of all tables, including headers, by line number."""
    lines = {row.line: "" for table in outline.tables for row in (table.header, *table.rows)}
    return {number: _line(outline, number) for number in lines}


def _numbers(outline: Outline) -> range:
    return range(1, outline.source.lines.count + 1)


def _line(outline: Outline, number: int) -> str:
    return outline.source.lines.content(number).strip()


def _lost_headings(old: Outline, new: Outline, swallowed: Container[int]) -> Iterator[Diagnostic]:
    """Yield headings that are text, code or in a list now, or that lost the space after ``#``."""
    were_nested = {_line(old, section.heading_line) for section in old.nested}
    in_lists = {section.heading_line for section in new.nested}
    now = {
        number: text
        for number, text in _heading_lines(new).items()
        if number not in in_lists or text in were_nested
    }
    for number, before in _lost_lines(old, new, _heading_lines(old), now, _without_spaces):
        is_torn = _is_torn(new, number, before)
        if number in swallowed or not (is_torn or _line(new, number) == before):
            continue
        if is_torn:
            yield Code.HEADING_LOST.warning(
                f"`{short_name(_line(new, number))}` at line {number} is no longer a heading",
                f"write the blank after its marks again: `{short_name(before)}`",
                place=Position(number, 1),
            )
            continue
        block = new.tree.leaf_at(new.source.lines.start(number))
        inside = f": it is in the {block.kind} that starts at line {block.first_line}" if block else ""
        inside = " of the page: it is in a list" if number in in_lists else inside
        yield Code.HEADING_LOST.warning(
            f"`{short_name(_line(new, number))}` at line {number} is no longer a heading{inside}",
            "close what comes before it, or put a blank line there",
            place=Position(number, 1),
        )


def _heading_lines(outline: Outline) -> dict[int, str]:
    """Return ATX heading lines; the text of other headings can be any text."""
    lines = {section.heading_line: _line(outline, section.heading_line) for section in outline.headings}
    return {number: text for number, text in lines.items() if text.startswith("#")}


# --- Links that a change broke or retargeted

_NAME_OF_RULE: Final = lazy_pattern(r"[\w-]+(?:\.[\w-]+){2,}")


class LinkCheck:
    """The links of a root before and after a change."""

    def __init__(self, old: LinkIndex, new: LinkIndex, history: LinkHistory) -> None:
        """Compare the files `old` with `new`, whose past is `history`."""
        self._old = old
        self.new = new
        self._repairer = LinkRepairer(new, history)

    def problems_in(self, document: ChangedDocument) -> Iterator[Diagnostic]:
        """Yield warnings about links of a changed document that were right or absent before."""
        if document.new is None or document.new.format is not DocumentFormat.MARKDOWN:
            return
        yield from _lost_definitions(document.old, document.new, of_code=not self.new.makes_links)
        yield from self._newly_broken(document)

    def problems_elsewhere(self, changed: Iterable[ChangedDocument]) -> Iterator[tuple[str, Diagnostic]]:
        """Yield warnings about links from unchanged to changed files, with the linking file's path."""
        documents = list(changed)
        names = frozenset(
            page_key(document.old_path)
            for document in documents
            if document.old_path and _may_break_links(document)
        )
        labels = frozenset[str]().union(*(labels_of(document.old) for document in documents))
        labels -= frozenset[str]().union(*(labels_of(each.new) for each in documents if each.new is not None))
        known = {document.path for document in documents}
        for file in self.new.linking_to(names, labels) if names else ():
            if isinstance(file, Diagnostic) or file.relative in known:
                continue
            same = ChangedDocument(file.relative, file.relative, file.outline, file.outline)
            yield from ((file.relative, problem) for problem in self._newly_broken(same))

    def retargeted_elsewhere(self, changed: Iterable[ChangedDocument]) -> Iterator[tuple[str, Diagnostic]]:
        """Yield warnings about links to headings of other files that now lead to another heading.

        Each comes with the linking file's path. New links mean their current target.
        """
        documents = {document.path: document for document in changed}
        shifted = {
            path: anchors
            for path, document in documents.items()
            if document.new is not None and (anchors := _shifted_anchors(document.old, document.new))
        }
        names = frozenset(page_key(name) for path in shifted for name in (path, folder_of(path)) if name)
        for file in self.new.linking_to(names) if names else ():
            if isinstance(file, Diagnostic):
                continue
            source, outline = documents.get(file.relative), file.outline
            written = None if source is None else _targets(source.old)
            for link in destinations(outline, [whole(outline)]):
                target = find_target(self.new, file.relative, link) if link.path and link.fragment else None
                key = target_key(link.fragment or "")
                shift = shifted.get(target.path, {}).get(key) if target else None
                shown = shortened(outline.text_of(link.span))
                if shift is not None and (written is None or shown in written):
                    line = outline.source.lines.line_at(link.span.start)
                    yield file.relative, _retargeted_link(shown, line, shift)

    def _newly_broken(self, document: ChangedDocument) -> Iterator[Diagnostic]:
        assert document.new is not None
        find = broken_in_tree(self._old, document.old_path or document.path)
        known = frozenset(link.target for link in find(document.old, whole(document.old)))
        written = _targets(document.old) - known
        # If anchors were broken before, the site generates some that mdplan does not see.
        makes_anchors = any("#" in target for target in known)
        for link in broken_targets(self.new, document.path, document.new, whole(document.new)):
            if not link.is_certain or (link.destination is not None and link.destination.is_shown):
                continue
            is_new = link.target not in written
            if link.target in known or (is_new and not _names_a_document(link.target)):
                continue
            if is_new and makes_anchors and "#" in link.target:
                continue
            yield broken_link(link.target, link.line, self._hint(document, link.destination))
        yield from self._lost_names(document)

    def _hint(self, document: ChangedDocument, link: Destination | None) -> str:
        """Say what is known of the target of a broken link; nothing where nothing is."""
        assert document.new is not None
        outcome = self._repairer.find(document.path, document.new, link) if link is not None else None
        return outcome.hint if outcome is not None else ""

    def _lost_names(self, document: ChangedDocument) -> Iterator[Diagnostic]:
        """Yield page names that led to a file before, but no longer do."""
        assert document.new is not None
        outline, old_path = document.new, document.old_path or document.path
        for link in destinations(outline, [whole(outline)]):
            if link.is_page_name:
                was = find_target(self._old, old_path, link)
                now = find_target(self.new, document.path, link)
                is_lost = now is not None and now.kind is TargetKind.NOTHING
                if was is not None and was.kind is TargetKind.FILE and is_lost:
                    line = outline.source.lines.line_at(link.span.start)
                    target = shortened(outline.text_of(link.span))
                    yield broken_link(target, line, self._hint(document, link))


def _retargeted(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    """Yield warnings about links within a document that now lead to another heading."""
    before = {link.target for link in local_links(old) if link.target.startswith("#")}
    shifted = _shifted_anchors(old, new) if before else {}
    for link in local_links(new) if shifted else ():
        shift = shifted.get(target_key(link.target[1:])) if link.target in before else None
        if shift is not None:
            yield _retargeted_link(link.target, link.line, shift)


class _Shift(NamedTuple):
    """The old target of an anchor as described now, the new target, and a hint."""

    named: str
    now: str
    hint: str

    @classmethod
    def of(cls, moved: Section | None, now: Section) -> "_Shift":
        """Return the shift from the section `moved` (None if deleted) to `now`."""
        named = "a section that is gone" if moved is None else _shown(moved)
        hint = "correct the link" if moved is None else f"link to `#{moved.anchor}` if that is meant"
        return cls(named, _shown(now), hint)


def _shifted_anchors(old: Outline, new: Outline) -> dict[str, _Shift]:
    """Return anchors that lead to another heading in `new`, by `target_key`.

    If no section of `new` has the old path, the section was renamed with its anchor, which is not a shift.
    Sections with equal paths are distinguished by their own text; an edited section counts as unmoved.
    """
    shifts: dict[str, _Shift] = {}
    for key, moved_to, first in shifted_repeats(old, new):
        named = "a place that is gone" if moved_to is None else f"what is at line {moved_to}"
        shifts[key] = _Shift(named, f"the place at line {first}", "give each of its places another name")
    for heading in old.headings:
        key = target_key(heading.anchor or "")
        was, now = (old.with_anchor(key), new.with_anchor(key)) if key else (None, None)
        if was is None or now is None:
            continue
        if was.path == now.path:
            shift = _shift_of_equals(old, was, new, now) if was.repeats > 1 or now.repeats > 1 else None
        else:
            same = (each for each in new.headings if each.path == was.path and each.anchor != was.anchor)
            shift = next((_Shift.of(moved, now) for moved in same), None)
        if shift is not None:
            shifts[key] = shift
    return shifts


def _shift_of_equals(old: Outline, was: Section, new: Outline, now: Section) -> _Shift | None:
    """Return the shift of an anchor from `was` to `now`, with equal paths; None if they are the same."""
    text, text_now = _own_text(old, was), _own_text(new, now)
    if text == text_now:
        return None
    moved = next(
        (section for section in new.headings if _is_same_section(new, section, was.path, text)), None
    )
    was_elsewhere = any(_is_same_section(old, section, was.path, text_now) for section in old.headings)
    return _Shift.of(moved, now) if moved is not None or was_elsewhere else None


def _is_same_section(outline: Outline, section: Section, path: tuple[str, ...], text: str) -> bool:
    return section.path == path and _own_text(outline, section) == text


def _own_text(outline: Outline, section: Section) -> str:
    return outline.source.text[section.heading_start : section.body.end].strip()


def _retargeted_link(target: str, line: int, shift: _Shift) -> Diagnostic:
    return Code.LINK_RETARGETED.warning(
        f"the link to `{short_name(target)}` at line {line} named {shift.named}, and now names {shift.now}",
        shift.hint,
        place=Position(line, 1),
    )


def _shown(section: Section) -> str:
    return f'"{short_name(" > ".join(section.path))}" (line {section.heading_line})'


def _doubled_anchors(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    """Yield LINK_RETARGETED for anchors that became ambiguous in `new`."""
    known = places_of_anchors(old)
    for key, (first, *others) in places_of_anchors(new).items():
        if others and len(known.get(key, ())) < 2:
            yield Code.LINK_RETARGETED.warning(
                f"the anchor `{short_name(key)}` of line {others[0]} is at line {first} too: "
                "links lead there",
                "give one of the two another name",
                place=Position(others[0], 1),
            )


def _lost_definitions(old: Outline, new: Outline, *, of_code: bool = True) -> Iterator[Diagnostic]:
    """Yield BROKEN_LINK for link labels whose definition is missing in `new`.

    `of_code` includes labels that are code.
    """
    labels = {use.label for use in reference_uses(old) if of_code or not use.label.startswith("`")}
    # Some sites resolve such rule names in brackets without definitions.
    names = {label for label in labels if _NAME_OF_RULE.fullmatch(label)}
    if names:
        others = {normalized_label(name) for name in _NAME_OF_RULE.findall(old.source.text)}
        labels -= names if any(undefined_uses(old, others)) else set()
    for use in undefined_uses(new, labels) if labels else ():
        yield broken_link(new.text_of(use.span), use.line)


def _targets(outline: Outline) -> frozenset[str]:
    """Return the destinations in `outline`, as written and as shown."""
    return frozenset(
        shortened(outline.text_of(link.span)) for link in destinations(outline, [whole(outline)])
    ) | {shortened(link.target) for link in local_links(outline)}


def _names_a_document(target: str) -> bool:
    """Return True if `target` can only mean this document or a Markdown file.

    Other targets, such as routes, depend on the site.
    """
    path = target.partition("#")[0].partition("?")[0].lower()
    return not path or path.endswith(MARKDOWN_SUFFIXES)


def _may_break_links(document: ChangedDocument) -> bool:
    """Return True if links from elsewhere to the old file may be broken now."""
    if document.old_path is None or document.new is None or document.old_path != document.path:
        return document.old_path is not None
    return not resolvable_targets(document.old) <= resolvable_targets(document.new)


# --- Labels and footnotes whose first definition changed


def _retargeted_labels(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    """Yield LINK_RETARGETED for labels of links and footnotes that now have another definition.

    If a definition only changed its text, it was edited, and its uses follow.
    """
    before, after = (
        {
            label: [each.text_of(span).strip() for span in spans]
            for label, spans in all_definitions(each).items()
        }
        for each in (old, new)
    )
    shifted = {
        label
        for label, texts in before.items()
        if (now := after.get(label)) and now[0] != texts[0] and (texts[0] in now or now[0] in texts)
    }
    used = shifted & {use.label for use in label_uses(old)} if shifted else set()
    for use in label_uses(new) if used else ():
        if use.label in used:
            line = new.source.lines.line_at(all_definitions(new)[use.label][0].start)
            yield Code.LINK_RETARGETED.warning(
                f"`{short_name(new.text_of(use.span))}` at line {use.line} uses the definition "
                f"of line {line}, and used another one before",
                "give one of the definitions another label",
                place=new.source.lines.position(use.span.start),
            )


# --- Entries of navigation files, such as `mkdocs.yml`, whose pages are gone


def lost_pages(new: LinkIndex, changed: Iterable[ChangedDocument]) -> Iterator[tuple[str, Diagnostic]]:
    """Yield BROKEN_LINK for navigation entries of pages that `changed` lost, with the file's path."""
    gone = {
        document.old_path
        for document in changed
        if document.old_path is not None and new.at(document.old_path) is TargetKind.NOTHING
    }
    for file in new.navigation(frozenset(map(page_key, gone))) if gone else ():
        parsed = None if isinstance(file, Diagnostic) else read_navigation(file.relative, file.outline, new)
        if isinstance(file, Diagnostic) or parsed is None:
            continue
        navigation, content = parsed
        for path, value in strings_of(content.values):
            if any(navigation.names(path, value, page) for page in gone):
                span = content.places.get(path)
                place = file.outline.source.lines.position(span.start) if span else None
                yield (
                    file.relative,
                    Code.BROKEN_LINK.warning(
                        f"the entry `{shown(path)}` names `{short_name(value)}`, which is gone",
                        "correct the entry, or delete it",
                        place=place,
                    ),
                )


# --- Lines that lost a character of their syntax: a space after ``##``, a backtick, a pipe
#
# Only lines that are otherwise unchanged count: a rewritten line is not damaged.

# Characters that look like a space or nothing, most of which Markdown does not treat as spaces.
_SPACES: Final = lazy_pattern(r"[\s\u200b\u2060\ufeff]+")
_BLANKS: Final = lazy_pattern(r"[ \t]+")
_BLANKS_AND_PIPES: Final = lazy_pattern(r"[\s|]+")
_TASK: Final = lazy_pattern(rf"(?:[-*+]|\d{{1,9}}[.)])[ \t]+{BOX}[ \t]+\S")
_FENCE: Final = lazy_pattern(r"(?P<marks>(?P<mark>`|~)(?P=mark){2,})")
_TORN_COMMENT: Final = lazy_pattern(r"<!--(?:(?!-->).)*?(?:<!--|\Z)", re.DOTALL)
_COMMENT: Final = lazy_pattern(r"(?<!\\)<!--")
_NO_TEXT: Final = frozenset({InlineKind.CODE, InlineKind.HTML})
_LEAST_MARKS: Final = 3


def _torn_tasks(old: Outline, new: Outline, swallowed: Container[int]) -> Iterator[Diagnostic]:
    """Yield TASK_LOST for tasks that lost a space of ``- [ ]``, except lines in `swallowed`."""
    if "[" not in old.source.text:
        return
    for number, before in _lost_lines(old, new, _task_texts(old), _task_texts(new), _without_spaces):
        if number not in swallowed and _is_torn(new, number, before):
            yield Code.TASK_LOST.warning(
                f"`{short_name(_line(new, number))}` at line {number} is no longer a task",
                f"write its blanks again: `{short_name(before)}`",
                place=Position(number, 1),
            )


def _task_texts(outline: Outline) -> dict[int, str]:
    items = (item for listing in outline.lists.all for item in listing.items if item.mark is not None)
    numbers = [item.first_line for item in items]
    # Directly below a tag, MDX reads Markdown and CommonMark HTML.
    for block in outline.tree.of_kinds(BlockKind.HTML) if outline.is_mdx else ():
        lines = range(block.first_line, block.last_line + 1)
        numbers += (number for number in lines if _TASK.match(_line(outline, number)))
    return {number: _line(outline, number) for number in numbers}


def _without_spaces(text: str) -> str:
    return _SPACES.sub("", text)


def _is_torn(new: Outline, number: int, before: str) -> bool:
    """Return True if line `number` is text, and lost or got a space of its old text `before`."""
    block = new.tree.leaf_at(new.source.lines.content_end(number) - 1)
    text = new.source.lines.content(number).strip(" \t")
    is_text = block is not None and block.kind in {BlockKind.PARAGRAPH, BlockKind.HTML}
    return is_text and _BLANKS.sub(" ", text) != _BLANKS.sub(" ", before)


def _torn_underlines(old: Outline, new: Outline, swallowed: Container[int]) -> Iterator[Diagnostic]:
    """Yield HEADING_LOST for headings that lost their underline."""
    was, now = _underlined(old), _underlined(new)
    lost = Counter(was.values()) - Counter(now.values())
    lines = [(number, text) for number in _numbers(new) if (text := _line(new, number))] if lost else []
    for (number, title), (_, below) in pairwise(lines):
        pair = (title, _without_spaces(below))
        if lost[pair] and number not in swallowed and number not in now:
            lost[pair] -= 1
            yield Code.HEADING_LOST.warning(
                f"`{short_name(title)}` at line {number} is no longer a heading",
                "put the line of its marks right below it",
                place=Position(number, 1),
            )


def _underlined(outline: Outline) -> dict[int, tuple[str, str]]:
    """Return the last text line and the underline of setext headings, by the line number of the text."""
    headings = (section.heading for section in outline.headings if section.heading)
    last_lines = (heading.last_line - 1 for heading in headings if not heading.markup.startswith("#"))
    return {
        number: (_line(outline, number), _without_spaces(_line(outline, number + 1))) for number in last_lines
    }


def _torn_fences(old: Outline, new: Outline) -> dict[int, str]:
    """Return opening lines, and their old text, of fences that lost a mark but not their closing line."""
    closings: dict[str, str] = {}
    for block in old.blocks:
        if block.kind is BlockKind.FENCE and not is_left_open(block, old.source.text):
            opening = _line(old, block.first_line)
            found = _FENCE.match(opening)
            if found is not None and len(found["marks"]) == _LEAST_MARKS:
                closings[opening[1:]] = _line(old, block.last_line)
    if not closings:
        return {}
    fences = [block for block in new.blocks if block.kind is BlockKind.FENCE]
    in_code = {number for block in fences for number in range(block.first_line, block.last_line + 1)}
    known = frozenset(_line(old, number) for number in _numbers(old))
    lines = ((number, _line(new, number)) for number in _numbers(new) if number not in in_code)
    return {
        number: closings[text][0] + text
        for number, text in lines
        if text in closings
        and text not in known
        and any(
            block.first_line > number and _line(new, block.first_line) == closings[text] for block in fences
        )
    }


def _torn_comments(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    """Yield BLOCK_UNCLOSED for comment ends without a beginning, so that the comment is now text."""
    if "<!--" not in old.source.text:
        return
    ends = {bare for bare, _, is_lone in _ends_of_comments(old) if not is_lone}

    def lone(outline: Outline) -> Iterator[tuple[str, int]]:
        return (
            (bare, line) for bare, line, is_lone in _ends_of_comments(outline) if is_lone and bare in ends
        )

    for number in _fresh(lone, old, new):
        yield Code.BLOCK_UNCLOSED.warning(
            f"the comment that ends at line {number} has lost its beginning: it is text now",
            "write `<!--` again, or delete `-->`",
            place=Position(number, 1),
        )


def _ends_of_comments(outline: Outline) -> Iterator[tuple[str, int, bool]]:
    """Yield bare text and number of each line with a comment end, and True if no comment ends there."""
    text = outline.source.text
    for match in re.finditer("-->", text):
        number = outline.source.lines.line_at(match.start())
        block = outline.tree.leaf_at(match.start())
        is_lone = False
        if block is not None and block.kind is BlockKind.HTML:
            opening = text.rfind("<!--", block.span.start, match.start())
            is_lone = opening < 0 or text.find("-->", opening, match.start()) >= 0
        elif block is not None and block.kind in INLINE_KINDS:
            nodes = outline.inline.nodes_in(Span(*match.span()))
            is_lone = not any(node.kind in _NO_TEXT for node in nodes)
        yield _without_spaces(_line(outline, number).replace("<!--", "")), number, is_lone


def _torn_cells(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    """Yield TABLE_TORN for rows that lost a pipe or were split, so that cells are missing."""
    full: set[str] = set()
    short: set[str] = set()
    for table in old.tables if new.tables else ():
        for row in table.rows:
            rows = full if len(row.cells) >= len(table.columns) else short
            rows.add(_row_text(old, row.line))
    for table in new.tables if full else ():
        for row in table.rows:
            text = _row_text(new, row.line)
            is_torn = text in full or (text and text + _row_text(new, row.line + 1) in full)
            if len(row.cells) < len(table.columns) and text and is_torn and text not in short:
                yield Code.TABLE_TORN.warning(
                    f"the row at line {row.line} has {len(row.cells)} cells, and its table "
                    f"{len(table.columns)} columns: it had all of them",
                    "write the pipe between its cells again",
                    place=Position(row.line, 1),
                )


def _row_text(outline: Outline, number: int) -> str:
    """Return line `number` without spaces, pipes and quote markers; empty beyond the last line."""
    is_there = number <= outline.source.lines.count
    return _BLANKS_AND_PIPES.sub("", _line(outline, number).lstrip("> ")) if is_there else ""


# --- Documents that differ between a commit and the work tree, including untracked files

_SUFFIXES: Final = (*MARKDOWN_SUFFIXES, ".txt")


def _changes(
    place: RepositoryLocation, commit: str, paths: Sequence[str]
) -> Iterator[tuple[str | None, str | None]]:
    """Yield old and new path, from the root, of each document below `paths` that changed since `commit`.

    A path is None if the document is missing in that version. By default all documents count. Raise
    `StorageRefused` if git fails.
    """
    below = [f":(top,literal){place.within(path)}" for path in paths or [""]]
    words = place.diff("--name-status", "-M", commit, "--", *below)
    pairs: list[tuple[str | None, str | None]] = []
    at = 0
    while at < len(words):
        kind = words[at][:1]
        step = 3 if kind in {"R", "C"} else 2
        old, new = words[at + 1], words[at + step - 1]
        pairs.append((None if kind in {"A", "C"} else old, None if kind == "D" else new))
        at += step
    for pair in (*pairs, *((None, path) for path in place.untracked(*below))):
        before, after = (place.from_root(path) if path is not None else None for path in pair)
        if any(path is not None and path.lower().endswith(_SUFFIXES) for path in (before, after)):
            yield before, after
