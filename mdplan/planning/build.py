"""Resolve the edits of one file, and build its result from them."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final

from mdplan.diagnostics import AND_MORE, MOST_PROBLEMS, Code, Diagnostic, Problems
from mdplan.markdown.outline import Outline
from mdplan.markdown.payload import delete_blocks, end_of_text_before, place_blocks
from mdplan.markdown.sections import Section
from mdplan.operations.base import BlockInsertion, Operation, Resolution, SectionTargeted
from mdplan.plan import EditNumbers
from mdplan.requests.batch import FileEdits
from mdplan.text.diff import Hunk, file_diff, find_hunks
from mdplan.text.edit import EditList, Overlap, TextEdit
from mdplan.text.lines import BY_PLACE, LineIndex, Span
from mdplan.text.source import (
    SHOWN_BYTE,
    ByteEdit,
    DecodeFailure,
    DecodeProblem,
    DocumentFormat,
    EncodeProblem,
    Source,
    splice,
)
from mdplan.values import Struct, field, replace
from mdplan.words import Option, Send, either, say

# Few batches change keys: what reads and writes data is loaded for these.
if TYPE_CHECKING:
    from mdplan.data.tree import Change


class ResolvedEdit(Struct, kw_only=True):
    """One edit with its text edits, against `outline`. `index` counts through the whole batch, from 0.

    `origin` is the path, from the root, of the other file whose text an edit moves here.
    """

    index: int
    operation: Operation
    resolution: Resolution
    outline: Outline
    origin: str | None = None


class SnapshotFile(Struct, kw_only=True):
    """One file: the request for it, and its base.

    `path` is as callers write it, `relative` without the name of the root. `first_edit` is the index of its
    first edit in the whole batch. A file to create has `exists` false and an empty `outline`; `new_path` and
    `new_relative` are its names after a rename. `other_paths` maps the index of an edit that also writes into
    another file to the path of that file. `numbers` name the edits of the whole batch.
    """

    path: str
    relative: str
    requested: FileEdits
    outline: Outline
    first_edit: int
    exists: bool = True
    new_path: str | None = None
    new_relative: str | None = None
    other_paths: Mapping[int, str] = field(default_factory=dict)
    numbers: EditNumbers = field(default_factory=EditNumbers)

    @property
    def result_path(self) -> str:
        """The path of the result, without the name of the root."""
        return self.new_relative or self.relative

    @property
    def is_deleted(self) -> bool:
        """True if the batch deletes the file."""
        return self.requested.file_effect == "delete"


class BuiltFile(Struct, kw_only=True, dict=True):
    """One file before and after. `written` maps the index of an edit to its new text in the result.

    In a sequential batch, `earlier` and `later` map the index of an edit to the edits from the base to the
    document that it saw, and from there to the result; in a snapshot batch every edit saw the base. `changed`
    are pieces of base and result, in order, outside which both have the same blocks; None if unknown.
    `arriving_edits` are edits of other files that move text here. `references_updated` counts rewritten
    links, and `warnings` report broken ones.
    """

    file: SnapshotFile
    resolved: Sequence[ResolvedEdit]
    edits: EditList
    byte_edits: tuple[ByteEdit, ...]
    result: Outline
    written: dict[int, tuple[Span, ...]]
    earlier: Mapping[int, EditList] = field(default_factory=dict)
    later: Mapping[int, EditList] = field(default_factory=dict)
    changed: Sequence[tuple[Span, Span]] | None = None
    arriving_edits: Sequence[ResolvedEdit] = ()
    references_updated: int = 0
    warnings: Problems = ()

    def edits_before(self, index: int) -> EditList:
        """Return the edits from the base to the document that the edit `index` saw."""
        return self.earlier.get(index, EditList())

    def edits_after(self, index: int) -> EditList:
        """Return the edits from the document that the edit `index` saw to the result."""
        return self.later.get(index, self.edits)

    def moved_headings(
        self, outline: Outline, spans: Iterable[Span], index: int
    ) -> Iterator[tuple[Section, Section]]:
        """Yield the headings in `spans` of `outline`, each with its new form in the result.

        `index` is the edit that wrote it.
        """
        old = [heading for span in spans for heading in outline.headings_in(span)]
        written = self.written.get(index, ())
        new = [heading for span in written for heading in self.result.headings_in(span)]
        if len(old) == len(new):
            yield from zip(old, new, strict=True)

    @cached_property
    def base(self) -> Outline:
        """Outline of the base."""
        return self.file.outline

    @property
    def asks_for_redirect(self) -> bool:
        """Whether the file gets another name and shall leave a redirect at the old one."""
        return any(getattr(edit, "redirect", False) for edit in self.file.requested.edits)

    @property
    def changed_areas(self) -> Sequence[Span]:
        """Pieces of the base outside which no block changed; all of it if that is not known."""
        if self.changed is None:
            return (Span(0, len(self.base.source.text)),)
        return [] if self.result.keeps_body else [old for old, _ in self.changed]

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """Hunks of the diff from base to result."""
        base = self.base.source.data
        # A file that goes takes along what is not text of it: its byte order mark.
        return find_hunks(base, [ByteEdit(0, len(base), b"")] if self.file.is_deleted else self.byte_edits)

    @cached_property
    def diff(self) -> bytes:
        """Exact diff from base to result."""
        file = self.file
        new = None if file.is_deleted else file.new_relative or file.relative
        return file_diff(file.relative if file.exists else None, new, self.hunks)


def headings_now(built: BuiltFile, sections: Iterable[Section]) -> dict[int, Section]:
    """Return what became of the headings of `sections` of the base, by where they started.

    A heading is the same while something of its line stays or its title alone is rewritten, and when an edit
    moves it; those that are gone are left out.
    """
    sections, edits, now = list(sections), built.edits, dict[int, Section]()
    for item in built.resolved:
        section, spans = item.resolution.section, item.resolution.order
        if item.resolution.destination is not None and section is not None:
            spans = (section.span,)
        if spans and item.outline is built.base:
            pairs = built.moved_headings(built.base, spans, item.index)
            now |= {before.heading_start: after for before, after in pairs}
    for is_rewritten in (False, True):
        taken = {heading.heading_start for heading in now.values()}
        for section in sections:
            start = section.heading_start
            if start in now or (is_rewritten and edits.map_offset(section.body.start) is None):
                continue
            heading = built.result.heading_at(edits.map_offset(start, after=not is_rewritten))
            if heading is not None and not (is_rewritten and heading.heading_start in taken):
                now[start] = heading
    return now


class BuildResult(Struct):
    """The files of a batch, then other files that change with them; and warnings about unchanged files."""

    files: Sequence[BuiltFile]
    warnings: Problems = ()


def build_file(
    file: SnapshotFile, resolved: Sequence[ResolvedEdit], arrivals: Sequence[ResolvedEdit] = ()
) -> BuiltFile | Problems:
    """Build the result of `resolved` on `file`, and of `arrivals` from other files; parse it once.

    Errors: CONFLICTING_EDITS, FILE_TOO_LARGE, DATA_INVALID, FRONT_MATTER_INVALID, UNENCODABLE_TEXT,
    ENCODING_UNKNOWN, NOT_A_TEXT_FILE.
    """
    keyed = data_parts(file.outline, [*resolved, *arrivals])
    if not isinstance(keyed, list):
        return tuple(problem.at(file=file.path) for problem in keyed)
    parts = keyed + parts_of(file.outline, [*resolved, *arrivals])
    edits = EditList.of(part.edit for part in parts)
    if isinstance(edits, Overlap):
        both = parts[edits.first], parts[edits.second]
        indexes = sorted({index for part in both for index, _ in part.pieces})
        return (
            Code.CONFLICTING_EDITS.problem(
                f"{file.numbers.listed(indexes)} change the same text",
                TOGETHER,
                file=file.path,
                edit_index=indexes[-1],
                place=file.outline.source.lines.position(both[1].edit.span.start),
            ),
        )
    source = file.outline.source
    parts = without_joins(source.text, source.lines, parts)
    edits = EditList(tuple(part.edit for part in parts))
    outcome = _make(file, edits, parts)
    if isinstance(outcome, Diagnostic):
        return (outcome,)
    byte_edits, result = outcome
    outline = file.outline if result is source else file.outline.edited(edits, result)
    return BuiltFile(
        file=file,
        resolved=resolved,
        arriving_edits=arrivals,
        edits=edits,
        byte_edits=byte_edits,
        result=outline,
        changed=() if result is source else outline.changed,
        written=_written(edits, parts),
    )


class AttributedEdit(Struct):
    """A text edit, and where the new text of which batch edits is in it."""

    edit: TextEdit
    pieces: tuple[tuple[int, Span], ...]


def _make(
    file: SnapshotFile, edits: EditList, parts: Sequence[AttributedEdit]
) -> tuple[tuple[ByteEdit, ...], Source] | Diagnostic:
    """Return `edits` in bytes, and the result, if it keeps within the limits of the document."""
    source, limits = file.outline.source, file.outline.limits

    def refused(code: Code, message: str, hint: str, edit: int | None = None) -> Diagnostic:
        """Return the problem of the edit `edit` of `edits`."""
        owners = (part.pieces[0][0] for part in parts if edit is not None and part.edit is edits.edits[edit])
        return code.problem(message, hint, file=file.path, edit_index=next(owners, None))

    # Looked at before anything is made of it: a few characters of a batch can represent any amount of text.
    length = len(source.text) + edits.growth
    if length > max(limits.result_characters, len(source.text)):
        return too_long(file.path, f"{length} characters or more", f"{limits.result_characters} bytes")
    shown_byte = source.shown_byte_edit(edits)
    if shown_byte is not None:
        stands_for_byte = f"`{shown_byte[1]}` in the new text stands for a byte of the file that is not UTF-8"
        hint = say("{}, and the character itself", _GIVE_ENCODING)
        message = f"{stands_for_byte}, and would be written as four characters"
        return refused(Code.ENCODING_UNKNOWN, message, hint, shown_byte[0])
    byte_edits = source.byte_edits(edits)
    if isinstance(byte_edits, EncodeProblem):
        code, hint = Code.ENCODING_UNKNOWN, _GIVE_ENCODING
        message = "the file is not valid UTF-8, so text beyond ASCII cannot be written into it"
        if byte_edits.character is not None:
            code, hint = Code.UNENCODABLE_TEXT, "use characters of the file's encoding"
            message = f"U+{ord(byte_edits.character):04X} does not exist in {source.encoding}"
        return refused(code, message, hint, byte_edits.edit)
    result = source if not edits else result_source(file, edits, byte_edits)
    if isinstance(result, DecodeProblem):
        message = f"the result would not be a text file: {result.reason}"
        hint = "leave NUL characters and byte order marks out of new text"
        return refused(Code.NOT_A_TEXT_FILE, message, hint)
    # Nothing is parsed that no one could read again.
    if result.lines.count > max(limits.result_lines, source.lines.count):
        return too_long(file.path, f"{result.lines.count} lines", str(limits.result_lines), "--max-lines")
    return byte_edits, result


def result_source(
    file: SnapshotFile, edits: EditList, byte_edits: Sequence[ByteEdit]
) -> Source | DecodeProblem:
    """Decode the bytes of the result in the encoding of the base; an explicit encoding allows NUL.

    Checks that they decode to the text after `edits`: a byte order mark at the start, or adjacent bytes that
    form a character, would change it.
    """
    source = file.outline.source
    by_default = source.bom or (source.encoding == "utf-8" and file.requested.encoding is None)
    data = splice(source.data, byte_edits)
    result = Source.decode(data, None if by_default else source.encoding)
    if not isinstance(result, Source):
        return result
    if result.text != edits.apply(source.text):
        return DecodeProblem(DecodeFailure.NOT_TEXT, "its bytes would be read as another text")
    return result


def _written(edits: EditList, parts: Sequence[AttributedEdit]) -> dict[int, tuple[Span, ...]]:
    starts = {id(edit): span.start for edit, span in zip(edits, edits.result_spans, strict=True)}
    written: defaultdict[int, list[Span]] = defaultdict(list)
    for part in parts:
        start = starts[id(part.edit)]
        for index, span in part.pieces:
            written[index].append(Span(start + span.start, start + span.end))
    return {index: tuple(sorted(spans)) for index, spans in written.items()}


TOGETHER: Final = say("combine them into one edit, or {send sequential=true}")
_GIVE_ENCODING: Final = say('give the file\'s {encoding}, such as "latin-1" or "cp1252"')


def resolve_edits(file: SnapshotFile) -> tuple[tuple[ResolvedEdit, ...], Problems]:
    """Resolve all edits of `file` against its base, even after a problem.

    Stops after a problem that used up the time or memory of an edit, because a batch gets the same. Errors:
    as for the operations; FILE_TOO_LARGE; INVALID_ARGUMENT for an operation on a file of another format;
    PRECONDITION_REQUIRED for an unguarded ID that counts equal headings.
    """
    resolved: list[ResolvedEdit] = []
    problems: list[Diagnostic] = []
    written = 0
    for index, operation in enumerate(file.requested.edits, start=file.first_edit):
        outcome = _resolve(operation, file)
        if isinstance(outcome, Resolution):
            resolved.append(
                ResolvedEdit(index=index, operation=operation, resolution=outcome, outline=file.outline)
            )
            written += sum(len(edit.new_text) for edit in outcome.edits)
        else:
            problems += (
                _with_order(_with_encoding(problem, operation, file), operation, resolved, file.numbers).at(
                    file=file.path, edit_index=index
                )
                for problem in outcome
            )
        if len(problems) > MOST_PROBLEMS:
            problems[MOST_PROBLEMS:] = [AND_MORE]
        if has_run_long(problems) or problems[-1:] == [AND_MORE]:
            break
        if written > file.outline.limits.result_characters + len(file.outline.source.text):
            most = f"{file.outline.limits.result_characters} bytes"
            problem = too_long(file.path, f"{written} characters or more", most)
            problems.append(problem.at(edit_index=index))
            break
    return tuple(resolved), tuple(problems)


def _with_encoding(problem: Diagnostic, operation: Operation, file: SnapshotFile) -> Diagnostic:
    """Return `problem`, with a hint to `encoding` if the edit looks for bytes as answers show them."""
    shown = SHOWN_BYTE.search(str(operation.wire_form)) if file.outline.source.invalid_bytes else None
    if shown is None:
        return problem
    hint = say(
        "`{}` stands for a byte of the file that is not UTF-8: {}, and the character itself",
        shown[0],
        _GIVE_ENCODING,
    )
    return replace(problem, hint=hint)


def _with_order(
    problem: Diagnostic, operation: Operation, before: Iterable[ResolvedEdit], numbers: EditNumbers
) -> Diagnostic:
    """Return `problem`, with a hint to `sequential` if an edit `before` writes the heading or text."""
    title = ""
    if problem.code is Code.SECTION_NOT_FOUND and isinstance(operation, SectionTargeted):
        title = (operation.heading_path or (operation.heading or "",))[-1].lstrip("# \t")
    elif problem.code is Code.MATCH_COUNT_MISMATCH:
        title = str(getattr(operation, "pattern", None) or getattr(operation, "item", None) or "")
    for earlier in before:
        resolution = earlier.resolution
        written = (
            *(edit.new_text for edit in resolution.edits),
            *(block.payload.text for block in resolution.insertions),
        )
        if title and any(title in text for text in written):
            hint = say("{} writes it; with {sequential=true} it is seen", numbers.named(earlier.index))
            return replace(problem, hint=hint)
    return problem


_COSTLY: Final = frozenset({Code.REGEX_TIMEOUT, Code.BATCH_TOO_LARGE, Code.FILE_TOO_LARGE})


def has_run_long(problems: Iterable[Diagnostic]) -> bool:
    """Return True if a problem used up the time or memory of an edit."""
    return any(problem.code in _COSTLY for problem in problems)


def too_long(path: str, size: str, limit: str, option: str = "--max-file-bytes") -> Diagnostic:
    """Return FILE_TOO_LARGE for a file whose result would have that size; `option` raises the limit."""
    return Code.FILE_TOO_LARGE.problem(
        f"the result of `{path}` would have {size}, and the limit is {limit}",
        either("write less", say("raise {}", Option(option))),
        file=path,
    )


def _resolve(operation: Operation, file: SnapshotFile) -> Resolution | Problems:
    other_format = _other_format(operation, file.outline.format)
    if other_format is not None:
        return (other_format,)
    outcome = operation.resolved(file.outline)
    needs_guard = (
        isinstance(outcome, Resolution)
        and isinstance(operation, SectionTargeted)
        and operation.needs_precondition(outcome)
    )
    if needs_guard and file.requested.base_sha256 is None:
        return (
            Code.PRECONDITION_REQUIRED.problem(
                say("this {sectionId} counts equal headings, so an edit elsewhere could have moved it"),
                say("{see look} the {baseSha256} or {sectionSha256} that you get with it"),
            ),
        )
    return outcome


def _other_format(operation: Operation, actual: DocumentFormat) -> Diagnostic | None:
    if operation.needs_ini and actual is not DocumentFormat.INI:
        is_data = actual in {DocumentFormat.YAML, DocumentFormat.JSON, DocumentFormat.TOML}
        needed = DocumentFormat.INI
        instead = (
            say("leave out {section, occurrence and sectionSha256}") if is_data else "edit INI files with it"
        )
    elif operation.needs_markdown and actual is not DocumentFormat.MARKDOWN:
        needed, instead = DocumentFormat.MARKDOWN, say("use {replace_match} or {replace_range}")
    else:
        return None
    return Diagnostic.invalid(
        f"{operation.op} needs {_NAMES[needed]}, and this file counts as {_NAMES[actual]}",
        either(instead, say("{} next to {file}", Send("format", needed.value))),
    )


_NAMES: Final = {
    DocumentFormat.MARKDOWN: "Markdown",
    DocumentFormat.INI: "INI",
    DocumentFormat.YAML: "YAML",
    DocumentFormat.JSON: "JSON",
    DocumentFormat.TOML: "TOML",
    DocumentFormat.TEXT: "plain text",
}


class _Deletion(Struct):
    """Whole lines that go, and the indexes of the edits that delete them."""

    span: Span
    indexes: list[int]


_Insertion = tuple[BlockInsertion, int]


def parts_of(outline: Outline, resolved: Sequence[ResolvedEdit]) -> list[AttributedEdit]:
    """Return the text edits of all `resolved`, apart from changes of keys.

    Insertions and deletions at one place become one text edit, so that the blank lines between neighbours
    are made once.
    """
    resolved = [item for item in resolved if not _changes_of(item)]
    parts = _edits_of(item for item in resolved if not item.resolution.comes_last)
    insertions = sorted(
        ((insertion, item.index) for item in resolved for insertion in item.resolution.insertions),
        key=lambda insertion_index: (insertion_index[0].offset, insertion_index[0].order, insertion_index[1]),
    )
    offsets = [insertion.offset for insertion, _ in insertions]
    at = 0
    for gap in _joined_deletions(outline, resolved):
        first = bisect_left(offsets, _first_insertion_offset(outline, gap.span))
        behind = bisect_left(offsets, gap.span.end + 1)
        parts += _insert_blocks(outline, insertions[at:first])
        parts.append(_replace_lines(outline, gap, insertions[first:behind]))
        at = behind
    parts += _insert_blocks(outline, insertions[at:])
    return parts + _edits_of(item for item in resolved if item.resolution.comes_last)


def _edits_of(resolved: Iterable[ResolvedEdit]) -> list[AttributedEdit]:
    return [
        AttributedEdit(edit, ((item.index, Span(0, len(edit.new_text))),))
        for item in resolved
        for edit in item.resolution.edits
    ]


def _joined_deletions(outline: Outline, resolved: Sequence[ResolvedEdit]) -> list[_Deletion]:
    """Return the deletions in order; deletions with only blank lines between them are merged."""
    gaps: list[_Deletion] = []
    for span, index in sorted((span, item.index) for item in resolved for span in item.resolution.deletions):
        last = gaps[-1] if gaps else None
        if last is not None and not outline.source.text[last.span.end : span.start].strip(" \t\r\n"):
            gaps[-1] = _Deletion(Span(last.span.start, max(last.span.end, span.end)), last.indexes)
            last.indexes.append(index)
        else:
            gaps.append(_Deletion(span, [index]))
    return gaps


def _first_insertion_offset(outline: Outline, gap: Span) -> int:
    """Return the first offset of insertions into `gap`; at the end of the file it follows the last text."""
    ends_file = gap.end == len(outline.source.text)
    return end_of_text_before(outline, gap.start) if ends_file else gap.start


def _replace_lines(outline: Outline, gap: _Deletion, insertions: Sequence[_Insertion]) -> AttributedEdit:
    """Return the edit that deletes the lines of `gap`, and inserts `insertions` in their place."""
    gone = tuple((index, Span(0, 0)) for index in gap.indexes)
    if not insertions:
        return AttributedEdit(delete_blocks(outline, gap.span), gone)
    start = min(gap.span.start, insertions[0][0].offset)
    payloads = [block.payload for block, _ in insertions]
    edit, spans = place_blocks(outline, Span(start, gap.span.end), payloads)
    return AttributedEdit(edit, (*_attributions(insertions, spans), *gone))


def _insert_blocks(outline: Outline, insertions: Sequence[_Insertion]) -> Iterator[AttributedEdit]:
    """Yield one text edit for all blocks that go to one place; `insertions` are in order."""
    for offset, group in groupby(insertions, key=lambda insertion: insertion[0].offset):
        here = list(group)
        edit, spans = place_blocks(outline, Span(offset, offset), [block.payload for block, _ in here])
        yield AttributedEdit(edit, _attributions(here, spans))


def _attributions(insertions: Sequence[_Insertion], spans: Sequence[Span]) -> tuple[tuple[int, Span], ...]:
    return tuple((index, span) for (_, index), span in zip(insertions, spans, strict=True))


def without_joins(text: str, lines: LineIndex, parts: Sequence[AttributedEdit]) -> list[AttributedEdit]:
    """Return `parts` in order; an edit that would leave a CR right before an LF gets an LF too.

    `lines` is the index of `text`. So the line end before becomes CRLF, and the line after keeps its own.
    """
    ordered = sorted(parts, key=lambda part: BY_PLACE(part.edit.span))
    if not lines.has_cr and not any("\r" in part.edit.new_text for part in ordered):
        return ordered
    last = AttributedEdit(TextEdit.insert(len(text) + 1, ""), ())
    kept: list[AttributedEdit] = []
    before = ""
    end = 0
    for part, following in pairwise([*ordered, last]):
        span, new_text = part.edit.span, part.edit.new_text
        if span.start > end:
            before = text[span.start - 1]
        before = new_text[-1:] or before
        end = span.end
        is_joined = before == "\r" and text[end : end + 1] == "\n" and following.edit.span.start > end
        # An edit that ends between the CR and the LF of one line end joins nothing new.
        if is_joined and text[end - 1 : end + 1] != "\r\n":
            kept.append(replace(part, edit=TextEdit(span, new_text + "\n")))
            before = "\n"
        else:
            kept.append(part)
    return kept


# --- Changes of keys: all edits at once, proven to be the only changes


def data_parts(outline: Outline, resolved: Sequence[ResolvedEdit]) -> list[AttributedEdit] | Problems:
    """Return the text edits of all `resolved` that change keys of `outline`, or of its front matter.

    All changes are made together, so that braces and fences are written once, and a map that loses all its
    keys becomes empty.
    Errors: DATA_INVALID, FRONT_MATTER_INVALID.
    """
    data_edits = [item for item in resolved if _changes_of(item)]
    if not data_edits:
        return []
    from mdplan.data.tree import DataError

    try:
        return _change_data(outline, data_edits)
    except DataError as error:
        from mdplan.markdown.front_matter_edits import cannot_change

        def fails(count: int) -> bool:
            """Return True if the changes of the first `count` edits cannot be made together."""
            try:
                _change_data(outline, data_edits[:count])
            except DataError:
                return True
            return False

        # Only now find out which edit it was, so that a sound batch is read again once.
        sound = bisect_left(range(1, len(data_edits)), True, key=fails)  # noqa: FBT003 (what is looked for)
        return (cannot_change(outline, error).at(edit_index=data_edits[sound].index),)


def created_twice(resolved: Sequence[ResolvedEdit], numbers: EditNumbers) -> Problems:
    """Return CONFLICTING_EDITS for an edit that creates front matter in another format than one before."""
    first: tuple[int, DocumentFormat] | None = None
    for item in resolved:
        creates = item.resolution.data.creates if item.resolution.data else None
        if creates is None:
            continue
        if first is not None and creates is not first[1]:
            return (
                Code.CONFLICTING_EDITS.problem(
                    f"{numbers.listed((first[0], item.index))} create front matter in two formats",
                    say("give both the same {frontMatterFormat}"),
                    edit_index=item.index,
                ),
            )
        first = first or (item.index, creates)
    return ()


def _changes_of(item: ResolvedEdit) -> "tuple[Change, ...]":
    return item.resolution.data.changes if item.resolution.data else ()


def _change_data(outline: Outline, data_edits: Sequence[ResolvedEdit]) -> list[AttributedEdit]:
    """Make all changes together. Raises `DataError` if they cannot be made, or not be proven."""
    from mdplan.data.tree import DataError
    from mdplan.markdown.front_matter_edits import data_splices, verify_splices

    changes = [change for item in data_edits for change in _changes_of(item)]
    owners = [item.index for item in data_edits for _ in _changes_of(item)]
    formats = (item.resolution.data.creates for item in data_edits if item.resolution.data is not None)
    creates = next((created for created in formats if created is not None), None)
    if len(data_edits) == 1:
        # Reuse its text edits: there is nothing to combine.
        parts = _edits_of(data_edits)
    else:
        parts = [
            AttributedEdit(
                splice.edit,
                tuple(
                    (index, Span(0, len(splice.edit.new_text)))
                    for index in sorted({owners[change] for change in splice.changes})
                ),
            )
            for splice in data_splices(outline, changes, creates)
        ]
    edits = EditList.of(part.edit for part in parts)
    if not isinstance(edits, EditList):
        raise DataError("two of the changes want the same text")
    verify_splices(outline, edits, changes, creates)
    return parts
