"""Build sequential batches, in which each edit sees the result of those before it.

Also edits results again: what is made after the edits of a batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Problems, Refused, or_problem, or_problems, refuse_if
from mdplan.markdown.headings import section_id_digits
from mdplan.markdown.outline import Outline
from mdplan.markdown.sections import Section
from mdplan.operations.base import (
    Claim,
    LinesField,
    Operation,
    PositionField,
    RangeField,
    Resolution,
    SectionTargeted,
)
from mdplan.planning import build
from mdplan.planning.verify import verify_outline
from mdplan.requests.batch import Batch
from mdplan.text.edit import EditList, Overlap, TextEdit, compose
from mdplan.text.lines import Span
from mdplan.text.source import EncodeProblem, Source
from mdplan.values import Struct, replace
from mdplan.words import say


def build_in_sequence(file: build.SnapshotFile, batch: Batch) -> build.BuiltFile | Problems:
    """Build the result of the edits of `file`, each resolved and checked on the result of those before it.

    An edit that cannot be made is omitted, and the next one is tried, so that all problems are reported.
    Errors: as `resolve_edits`, `build_file` and `verify_outline`.
    """
    done = SequentialState.before_all(file.outline)
    steps: list[build.BuiltFile] = []
    earlier: dict[int, EditList] = {}
    resolved: list[build.ResolvedEdit] = []
    written: dict[int, tuple[Span, ...]] = {}
    problems: list[Diagnostic] = []
    for index, operation in enumerate(file.requested.edits, start=file.first_edit):
        remapped = or_problems(remap_operation, operation, done)
        if not isinstance(remapped, Operation):
            problems += (problem.at(file=file.path, edit_index=index) for problem in remapped)
            continue
        step = replace(
            file,
            requested=file.requested.model_copy(update={"edits": (remapped,)}),
            outline=done.current,
            first_edit=index,
        )
        built = _build_step(step, batch)
        if not isinstance(built, build.BuiltFile):
            problems += built
            if build.has_run_long(problems):
                break
            continue
        resolved.append(_with_overlaps(built, written))
        steps.append(built)
        earlier[index] = done.edits
        written = moved_spans(written, built.edits) | built.written
        done = done.after(built)
    if problems:
        return tuple(problems)
    byte_edits = file.outline.source.byte_edits(done.edits)
    assert not isinstance(byte_edits, EncodeProblem), "every step was encoded"
    return build.BuiltFile(
        file=file,
        resolved=resolved,
        edits=done.edits,
        byte_edits=byte_edits,
        result=done.current,
        written=written,
        earlier=earlier,
        later=_later(steps),
    )


def _build_step(step: build.SnapshotFile, batch: Batch) -> build.BuiltFile | Problems:
    resolved, problems = build.resolve_edits(step)
    if problems:
        return problems
    built = build.build_file(step, resolved)
    if not isinstance(built, build.BuiltFile):
        return built
    return verify_outline(built, batch) or built


def _later(steps: Sequence[build.BuiltFile]) -> dict[int, EditList]:
    """By the index of each edit, the edits from the document that it saw to the result."""
    later: dict[int, EditList] = {}
    behind = EditList()
    for step in reversed(steps):
        behind = compose(step.edits, behind, len(step.base.source.text))
        later[step.resolved[0].index] = behind
    return later


def _with_overlaps(built: build.BuiltFile, written: Mapping[int, tuple[Span, ...]]) -> build.ResolvedEdit:
    """Return the edit of one step, with a warning about earlier edits whose text it touches."""
    (item,) = built.resolved
    touched = [
        index
        for index, spans in written.items()
        if any(edit.span.overlaps(span) for edit in built.edits for span in spans)
    ]
    if not touched:
        return item
    numbers = built.file.numbers
    notice = Code.OVERLAPPING_EDIT.warning(
        f"{numbers.named(item.index)} changes text that {numbers.listed(touched)} wrote",
        "sequential edits do this; combine the edits if you did not intend it",
    )
    return replace(item, resolution=replace(item.resolution, warnings=(*item.resolution.warnings, notice)))


# --- The document that earlier edits made, and where parts of the base are in it


class SequentialState(Struct):
    """Result `current` of `edits` on `base`.

    `starts` maps the old start of each surviving heading of the base to its new start.
    """

    base: Outline
    edits: EditList
    current: Outline
    starts: Mapping[int, int]

    @classmethod
    def before_all(cls, base: Outline) -> "SequentialState":
        """Return the state before the first edit."""
        return cls(
            base,
            EditList(),
            base,
            {section.heading_start: section.heading_start for section in _sections_with_heading(base)},
        )

    def after(self, step: build.BuiltFile) -> "SequentialState":
        """Return the state after the one edit of `step`."""
        followed = build.headings_now(step, _sections_with_heading(step.base))
        return SequentialState(
            self.base,
            compose(self.edits, step.edits, len(self.base.source.text)),
            step.result,
            {old: followed[start].heading_start for old, start in self.starts.items() if start in followed},
        )

    def section_now(self, section: Section) -> Section | None:
        """Return what `section` of the base has become; None if it is gone."""
        if section.is_root:
            return self.current.sections[0]
        return _heading_at(self.current, self.starts.get(section.heading_start))

    def section_before(self, section: Section) -> Section | None:
        """Return the section of the base that `section` was; None if an edit made it."""
        if section.is_root:
            return self.base.sections[0]
        old = next((old for old, start in self.starts.items() if start == section.heading_start), None)
        return _heading_at(self.base, old)

    def span_now(self, span: Span) -> Span | None:
        """Return where the text of `span` is, or what was written in its place; None if an edit cut it."""
        start = self.edits.map_offset(span.start, after=True)
        start = self.edits.map_offset(span.start) if start is None else start
        end = start if not len(span) else self.edits.map_offset(span.end)
        if start is None or end is None or end < start:
            return None
        return Span(start, end)


def _heading_at(outline: Outline, start: int | None) -> Section | None:
    return next((each for each in _sections_with_heading(outline) if each.heading_start == start), None)


def _sections_with_heading(outline: Outline) -> Iterator[Section]:
    return (section for section in outline.every_section() if section.heading)


# --- Addresses of the base in the document that earlier edits made
#
# A sequential batch looks names up in the intermediate document, while lines, ranges and guards mean the
# base, and section IDs of the base stay valid.

# Fields with a section ID, and fields that name a place by numbers.
_IDS: Final = ("section_id", "to_section_id")
_NUMERIC: Final = ("lines", "line", "range")
_ABOUT_PLACES: Final = frozenset({Code.RANGE_OUT_OF_BOUNDS, Code.TEXT_MISMATCH})


def remap_operation(operation: Operation, to: SequentialState) -> Operation:
    """Return `operation`, which was written for the base, as it reads on the current document of `to`.

    Errors: as for its guards and numeric addresses on the base; CONFLICTING_EDITS for lines or a range that
    an earlier edit deleted or cut.
    """
    operation = operation.located(to.base)
    if not to.edits:
        return operation
    changed = _ids_now(operation, to)
    if isinstance(operation, SectionTargeted) and operation.section_sha256 is not None:
        bare = operation.model_copy(update={**changed, "section_sha256": None})
        changed["section_sha256"] = _hash_now(bare, to, operation.section_sha256)
    changed |= operation.rebased_guards(to.base, to.current)
    if any(getattr(operation, name, None) is not None for name in _NUMERIC):
        outcome = operation.resolved(to.base)
        problems = () if isinstance(outcome, Resolution) else outcome
        refuse_if(problem for problem in problems if problem.code in _ABOUT_PLACES)
        place = _place_now(operation, to)
        if place is None:
            raise Refused(_REPLACED)
        changed |= place
    return operation.model_copy(update=changed)


def _ids_now(operation: Operation, to: SequentialState) -> dict[str, Any]:
    """Return section IDs of the base as the IDs that those sections have now. Errors: SECTION_NOT_FOUND."""
    changed: dict[str, Any] = {}
    for name in _IDS:
        section_id = getattr(operation, name, None)
        digits = section_id_digits(section_id) if section_id else None
        named = to.base.with_digits(digits) if digits else []
        if digits is None or len(named) != 1:
            continue
        section = to.section_now(named[0])
        if section is not None:
            changed[name] = section.section_id
        elif any(to.section_before(section_with_id) for section_with_id in to.current.with_digits(digits)):
            # An ID that counts equal headings now belongs to another heading.
            raise Refused(_GONE)
    return changed


def _hash_now(bare: SectionTargeted, to: SequentialState, expected: str) -> str:
    """Return `expected` as the hash of the section that `bare` addresses now, if it is its hash in the base.

    Errors: SECTION_CHANGED.
    """
    section = or_problem(bare.find_section, to.current)
    before = None if isinstance(section, Diagnostic) else to.section_before(section)
    if isinstance(section, Diagnostic) or before is None:
        return expected
    part = to.base.hashed_part(before, expected)
    if part is None:
        now = to.base.section_sha256(before)
        raise Refused(Code.SECTION_CHANGED.of(first=before.first_line, last=before.last_line, now=now))
    of_all = part == before.span
    return to.current.section_sha256(section) if of_all else to.current.body_sha256(section)


def _place_now(operation: Operation, to: SequentialState) -> dict[str, Any] | None:
    """Return the numeric address of `operation`, and the text that it expects, as they are now."""
    range_field = getattr(operation, "range", None)
    place = _lines_now(operation, to) if range_field is None else _range_now(range_field, to)
    if place is None:
        return None
    changed, text = place
    if getattr(operation, "expected_text", None) is not None:
        changed["expected_text"] = to.current.text_of(text)
    return changed


def _range_now(range_field: RangeField, to: SequentialState) -> tuple[dict[str, Any], Span] | None:
    start, end = (
        to.base.source.lines.offset(edge.to_position()) for edge in (range_field.start, range_field.end)
    )
    assert start is not None, "it was resolved on the base"
    assert end is not None, "it was resolved on the base"
    span = to.span_now(Span(start, end))
    if span is None:
        return None
    edges = map(to.current.source.lines.position, (span.start, span.end))
    first, last = (PositionField(line=edge.line, col=edge.col) for edge in edges)
    return {"range": RangeField(start=first, end=last)}, span


def _lines_now(operation: Operation, to: SequentialState) -> tuple[dict[str, Any], Span] | None:
    """Return lines of the base, or the lines that replaced them; None if an edit cut them."""
    line = getattr(operation, "line", None)
    lines_field = getattr(operation, "lines", None) if line is None else LinesField(start=line, end=line)
    assert isinstance(lines_field, LinesField), "lines are the only other numeric address"
    base, current = to.base.source.lines, to.current.source.lines
    span = base.span(lines_field.start, lines_field.end)
    current_span = to.span_now(span) or to.span_now(Span(span.start, base.content_end(lines_field.end)))
    if current_span is None or not len(current_span):
        return None
    first, last = current.line_at(current_span.start), current.line_at(current_span.end - 1)
    if current_span.start != current.start(first) or current_span.end < current.content_end(last):
        return None
    text = Span(current_span.start, current.content_end(last))
    if line is None:
        return {"lines": LinesField(start=first, end=last)}, text
    return {"line": first if getattr(operation, "position", None) == "before" else last}, text


_GONE: Final = Code.SECTION_NOT_FOUND.problem(
    "the section of that ID is gone, by an earlier edit of the batch",
    "an ID of the base means the section that had it in the base",
)

_REPLACED: Final = Code.CONFLICTING_EDITS.problem(
    "an earlier edit of the batch deleted or cut these lines",
    say("lines and ranges mean the file as you saw it: name the text by {replace_match} or by its section"),
)


# --- Edits that are made last, of the result of all others: a table of contents

# A replaced table may contain headings, so that other anchors change, and with them the next result.
_MOST_ROUNDS: Final = 3


def with_second_pass(built: build.BuiltFile) -> build.BuiltFile | Problems:
    """Return `built` with the edits of its result, repeated until nothing changes.

    Errors: as `Resolution.second_pass`, CONFLICTING_EDITS, UNENCODABLE_TEXT.
    """
    late = [(item, each) for item in built.resolved if (each := item.resolution.second_pass) is not None]
    for _ in range(_MOST_ROUNDS if late else 0):
        # Of the edits of a sequential batch that make the same text the last one counts.
        by_claims: dict[tuple[Claim, ...], tuple[Sequence[TextEdit], int]] = {}
        problems: list[Diagnostic] = []
        for item, resolve in late:
            outcome = or_problems(resolve, built.result)
            if isinstance(outcome, Resolution):
                by_claims[outcome.claims] = outcome.edits, item.index
            else:
                problems += (problem.at(file=built.file.path, edit_index=item.index) for problem in outcome)
        if problems:
            return tuple(problems)
        edits = [(edit, index) for made, index in by_claims.values() for edit in made]
        if not edits:
            break
        edits.sort(key=lambda made: made[0].span)
        ordered = EditList.of(edit for edit, _ in edits)
        if isinstance(ordered, Overlap):
            return (
                Code.CONFLICTING_EDITS.problem(
                    "the edit makes text that another one replaces",
                    "name one of two regions that lie in each other",
                    file=built.file.path,
                    edit_index=edits[ordered.second][1],
                ),
            )
        made = with_post_edits(built, ordered, dict(enumerate(index for _, index in edits)))
        if made is None:
            return (
                Code.UNENCODABLE_TEXT.problem(
                    f"an anchor has a character that does not exist in {built.result.source.encoding}",
                    "leave the edit out, or save the file as UTF-8 first",
                    file=built.file.path,
                    edit_index=edits[0][1],
                ),
            )
        built = made
    return built


# --- Edits of the result of a batch

Written = Mapping[int, tuple[Span, ...]]


def with_post_edits(
    built: build.BuiltFile, edits: EditList, writers: Mapping[int, int] | None = None
) -> build.BuiltFile | None:
    """Return `built` with further `edits` of its result; None if its encoding cannot hold them.

    `writers` maps positions in `edits` to the indexes of the batch edits that write them; others are written
    by none.
    """
    if not edits:
        return built
    base = built.base.source
    composed = compose(built.edits, edits, len(base.text))
    byte_edits = base.byte_edits(composed)
    result = (
        None
        if isinstance(byte_edits, EncodeProblem)
        else build.result_source(built.file, composed, byte_edits)
    )
    if isinstance(byte_edits, EncodeProblem) or not isinstance(result, Source):
        return None
    written = moved_spans(built.written, edits)
    spans = edits.result_spans
    for position, index in (writers or {}).items():
        written[index] = (*written.get(index, ()), spans[position])
    lengths = {item.index: len(item.outline.source.text) for item in built.resolved}
    return replace(
        built,
        edits=composed,
        byte_edits=byte_edits,
        result=built.result.edited(edits, result),
        changed=None,
        written=written,
        later={index: compose(later, edits, lengths[index]) for index, later in built.later.items()},
    )


def moved_spans(written: Written, edits: EditList) -> dict[int, tuple[Span, ...]]:
    """Map the spans that edits wrote, by index, through later `edits`; drop lost ones."""

    def moved(spans: Sequence[Span]) -> Iterator[Span]:
        for span in spans:
            start, end = edits.map_offset(span.start, after=True), edits.map_offset(span.end)
            if start is not None and end is not None and end >= start:
                yield Span(start, end)

    return {index: tuple(moved(spans)) for index, spans in written.items()}
