"""Reports as answers: the same shape for success and refusal, and within the size that clients take."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, model_validator

from mdplan.diagnostics import Candidate, Code, Diagnostic, Problems
from mdplan.engine.engine import Engine
from mdplan.field_names import camel_case, unknown_fields
from mdplan.mcp.flat_schema import object_schema, request_properties
from mdplan.mcp.tool import ToolResult
from mdplan.plan import EditResult, MatchResult
from mdplan.reports.base import Report, refusal, to_wire
from mdplan.reports.history import HistoryReport
from mdplan.reports.plan import (
    ApplyReport,
    Approved,
    FileReport,
    PlanReport,
    ReviewComment,
    ReviewReport,
    UndoneTransaction,
)
from mdplan.reports.read import ReadReport, SearchedFile, SearchReport
from mdplan.requests.batch import validated, wire_names, with_decoded_fields
from mdplan.requests.read import ReadRequest
from mdplan.requests.schemas import Schema
from mdplan.text.lines import Lines
from mdplan.text.source import visible
from mdplan.text.visible import counted

# Clients put a longer result into a file, and the model sees a path instead of it.
MOST_CHARACTERS: Final = 50_000

# What a diff may take however long the rest of its report is.
_LEAST_FOR_DIFF: Final = 10_000
AnyReport = TypeVar("AnyReport", bound=Report)
WithDiff = TypeVar("WithDiff", PlanReport, HistoryReport)


def answer(report: AnyReport, text_of: Callable[[AnyReport], str], most: int = MOST_CHARACTERS) -> ToolResult:
    """Return `report` as data and as text; `text_of` gives the text of a success.

    Lists that grow with a batch are cut to fit into `most` characters.
    """
    wire = cut_lists(to_wire(report), most)
    if not report.ok:
        return refused(report, wire)
    return ToolResult(text=text_of(report), structured=wire, is_refusal=False)


def refused(report: Report, wire: Mapping[str, Any]) -> ToolResult:
    """Return the refusal `report`, whose data are `wire`."""
    return ToolResult(text=refusal_text(report), structured=wire, is_refusal=True)


def plan_answer(report: PlanReport, most: int = MOST_CHARACTERS) -> ToolResult:
    """Return the answer of a plan or an apply, its diff cut between hunks if it is too long."""
    if wire_size(report) > most:
        report = with_short_diff(report, most)
    return answer(report, partial(plan_text, most=most), most)


def with_short_diff(report: WithDiff, most: int = MOST_CHARACTERS) -> WithDiff:
    """`report` with its diff cut between hunks where it is too long."""
    if isinstance(report, PlanReport):
        report = replace(report, review=report.review and short_review(report.review, most // 4))
    if report.diff is None:
        return report
    # As JSON a diff is longer than it is: its line ends take two characters.
    as_json = size_of(report.diff) / max(len(report.diff), 1)
    rest = size_of(to_wire(replace(report, diff="", diff_truncated=True)))
    room = max(int((most - rest) / as_json), int(min(_LEAST_FOR_DIFF, most // 5) / as_json))
    if len(report.diff) <= room:
        return report
    return replace(report, diff=cut_diff(report.diff, room), diff_truncated=True)


def with_short_comparisons(report: HistoryReport, most: int) -> HistoryReport:
    """`report` with the diffs between plans cut between hunks where they are too long."""
    room = most // 2
    return replace(report, reviews=tuple(short_review(review, room) for review in report.reviews))


def short_review(review: ReviewReport, room: int) -> ReviewReport:
    """`review` with its diff cut to `room` characters."""
    compared = review.comparison
    if compared is None or len(compared.diff) <= room:
        return review
    short = replace(compared, diff=cut_diff(compared.diff, room), diff_truncated=True)
    return replace(review, comparison=short)


def cut_diff(diff: str, room: int) -> str:
    """The whole hunks of `diff` that fit into `room` characters; a file's header only before a hunk of it."""
    kept = offset = 0
    in_header = False
    for line in diff.split("\n"):
        if offset > room:
            break
        # In a hunk every line begins with a space, a sign or a backslash, so these two begin outside one.
        starts_file, starts_hunk = line.startswith("diff --git "), line.startswith("@@ ")
        if starts_file or (starts_hunk and not in_header):
            kept = offset
        in_header = starts_file or (in_header and not starts_hunk)
        offset += len(line) + 1
    return diff[:kept]


# --- Reports as text: short if the call went well, complete if it was refused
#
# Some clients show a model only the structured data of a success, others only the text; of a refusal, most
# show only the text. So each of the two has to do without the other.

# Some clients cut the text of an error near 11,000 characters.
_MOST_OF_A_REFUSAL: Final = 10_000
_MOST_ROWS: Final = 50

# What the note takes that says how much was cut.
_CUT_NOTE_CHARACTERS: Final = 60
_HASH_DIGITS: Final = 16

# What `{+path}` of a template leaves as it is.
_RESERVED: Final = "/:?#[]@!$&'()*+,;=-._~"


def plan_text(report: PlanReport, most: int, listing: Sequence[str] = ()) -> str:
    """Text of a plan or an apply that went well: outcome, files, edits, warnings and diff.

    `listing` takes the place of the rows of its files. What is before the diff is cut where the text would
    be longer than `most` characters.
    """
    warnings = dict.fromkeys(report.warnings)
    for result in report.edit_results:
        warnings.update(dict.fromkeys(result.warnings))
    lines = [
        _outcome(report),
        *(listing or _rows((_file_row(file, is_written=report.applied) for file in report.files), "files")),
        *_rows(map(_edit_row, report.edit_results), "edits"),
        *_rows((f"warning {_diagnostic(problem)}" for problem in warnings), "warnings"),
    ]
    lines += review_lines(report.review) if report.review is not None else ()
    if report.diff_truncated:
        lines.append(f"The diff is cut. All of it: resource {diff_uri(report.plan_id or '')}")
    diff = visible("\n\n" + report.diff.removesuffix("\n")) if report.diff else ""
    return _cut(visible("\n".join(lines)), most - len(diff), "lines") + diff


def refusal_text(report: Report) -> str:
    """Text of a refusal: all problems with their codes, places, hints and candidates."""
    lines = [_diagnostic(problem) for problem in listed_problems(report)]
    outcome = _what_was_written(report)
    if outcome:
        lines.insert(1, outcome)
    return _cut(visible("\n".join(lines)), _MOST_OF_A_REFUSAL, "lines about further problems")


def listed_problems(report: Report) -> tuple[Diagnostic, ...]:
    """The problems of a refusal, its error in front, each once."""
    assert report.error is not None, "a refusal names its error"
    return tuple(dict.fromkeys((report.error, *report.diagnostics)))


def outline_uri(file: str) -> str:
    """Address of the resource that is the outline of `file`."""
    return f"mdplan://outline/{quote(file, safe=_RESERVED)}"


def diff_uri(plan_id: str) -> str:
    """Address of the resource that contains the whole diff of a plan."""
    return f"mdplan://plans/{plan_id}/diff"


def _outcome(report: PlanReport) -> str:
    sums = _sums(report)
    if isinstance(report, ApplyReport) and report.applied:
        if report.already_applied or report.receipt is None:
            return f"Already applied; nothing was written now. Plan {report.plan_id}: {sums}."
        how = " to the files as they are now, by a new plan" if report.rebased else ""
        undone = f" Undid the transaction {_undone(report.undone)}." if report.undone is not None else ""
        return f"Applied{how}. Plan {report.plan_id}: {sums}.{undone}{_approval(report.approved)}"
    if report.no_op:
        return f"Nothing to do: the files already are as the edits ask. Plan {report.plan_id}."
    if report.stored is False:
        how = "The plan could not be stored, so nothing can be applied: ask a person to run `mdplan doctor`."
    else:
        how = f'To apply exactly this: md_apply {{"planId": "{report.plan_id}"}}'
    return f"Planned, nothing was written: {sums}. {how}"


def _undone(undone: UndoneTransaction) -> str:
    return f"{undone.transaction} by {undone.actor}" if undone.actor else undone.transaction


def _approval(approved: Approved | None) -> str:
    """Who approved it, and what they said."""
    if approved is None:
        return ""
    return f" Approved by {approved.decided_by}{f': {approved.comment}' if approved.comment else '.'}"


def _sums(report: PlanReport) -> str:
    changed = [file for file in report.files if file.changed]
    added = sum(file.lines_added for file in changed)
    removed = sum(file.lines_removed for file in changed)
    count = len(report.edit_results) if report.edits_applied is None else report.edits_applied
    edits = counted(count, "edit")
    if report.rejected:
        edits += (
            f" (without {', '.join(map(str, report.rejected[:_MOST_ROWS]))} of those that were asked for)"
        )
    return f"{edits}, {counted(len(changed), 'file')} changed, +{added} -{removed} lines"


def _file_row(file: FileReport, *, is_written: bool) -> str:
    """A file and its hash: that of its base, or where it `is_written` that of its result."""
    if not file.changed:
        return f"{file.file}: unchanged, baseSha256 {(file.base_sha256 or '')[:_HASH_DIGITS]}"
    name = file.file if file.new_file is None else f"{file.file} renamed to {file.new_file}"
    parts = [f"+{file.lines_added} -{file.lines_removed}"]
    parts += ["created"] if file.base_sha256 is None else []
    parts += ["deleted"] if file.result_sha256 is None else []
    if file.base_sha256 is not None and not is_written:
        parts.append(f"baseSha256 {file.base_sha256[:_HASH_DIGITS]}")
    if file.result_sha256 is not None:
        parts.append(f"resultSha256 {file.result_sha256[:_HASH_DIGITS]}")
    links = f", {counted(file.references_updated, 'link')} rewritten" if file.references_updated else ""
    return f"{name}: {', '.join(parts)}{links}"


def _edit_row(result: EditResult) -> str:
    parts = ["no change"] if result.no_op else []
    if result.matches_found is not None:
        parts.append(
            f"{result.matches_replaced} of {counted(result.matches_found, 'match', 'matches')} replaced"
        )
    if result.excluded_matches:
        parts.append(f"skipped: {_kinds(result.excluded_matches)}")
    if result.result_lines:
        places = list(dict.fromkeys(map(_lines, result.result_lines)))
        parts.append(
            f"writes lines {', '.join(places[:_MOST_ROWS])}{', …' if len(places) > _MOST_ROWS else ''}"
        )
    if result.new_section_id is not None:
        parts.append(f"newSectionId {result.new_section_id}")
    if result.hunk_offsets is not None:
        parts.append(f"hunks moved by {', '.join(f'{lines:+d}' for lines in result.hunk_offsets)} lines")
    if result.line_ends_normalized:
        parts.append("line ends differ from the file's and were converted")
    row = f"editIndex {result.edit_index} {result.op} in {result.file}: {'; '.join(parts) or 'done'}"
    # What was changed is in the diff; what was only found is here.
    matches = map(_match_row, result.matches) if result.no_op else ()
    return "\n".join([row, *_rows(matches, "matches")])


def _match_row(match: MatchResult) -> str:
    return f"  {match.line}:{match.col} {json.dumps(match.text, ensure_ascii=False)}"


def _what_was_written(report: Report) -> str | None:
    if not isinstance(report, PlanReport):
        return None
    if report.applied:
        return "The files were written all the same."
    if any(problem.code is Code.COMMIT_IN_DOUBT for problem in report.diagnostics):
        return "It is not known whether the files were written: look at them before going on."
    return "Nothing was written."


def _diagnostic(problem: Diagnostic) -> str:
    where = [] if problem.file is None else [problem.file]
    where += [] if problem.edit_index is None else [f"editIndex {problem.edit_index}"]
    where += [] if problem.place is None else [f"line {problem.place.line} column {problem.place.col}"]
    place = f" ({', '.join(where)})" if where else ""
    text = f"{problem.code}{place}: {problem.message}"
    text += f"\n  hint: {problem.hint}" if problem.hint else ""
    return "\n".join([text, *(f"  {candidate_row(candidate)}" for candidate in problem.candidates)])


def candidate_row(candidate: Candidate) -> str:
    """A place that an address could mean, in one line."""
    path = " > ".join(candidate.heading_path) or "(preamble)"
    section_id = f"sectionId {candidate.section_id} " if candidate.section_id else ""
    return f"lines {candidate.start_line}-{candidate.end_line} {section_id}{path}"


def _rows(rows: Iterable[str], what: str) -> Iterator[str]:
    """The first of `rows`, and how many more there are."""
    listed: Sequence[str] = list(rows)
    yield from listed[:_MOST_ROWS]
    if len(listed) > _MOST_ROWS:
        yield f"… and {len(listed) - _MOST_ROWS} more {what}"


def _cut(text: str, most: int, what: str) -> str:
    """`text` in about `most` characters, cut between lines where there are lines."""
    if len(text) <= most:
        return text
    kept = text[: max(most - _CUT_NOTE_CHARACTERS, 0)]
    kept = kept[: kept.rfind("\n")] if "\n" in kept else kept
    omitted = text.count("\n", len(kept))
    return f"{kept}\n… and {omitted} more {what}"


def _lines(lines: Lines) -> str:
    return str(lines.start) if lines.start == lines.end else f"{lines.start}-{lines.end}"


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} in {kind}" for kind, count in sorted(counts.items()))


# --- Long lists of a report lose their end, and the report says so

# The lists that grow with a batch, by their names on the wire.
_LISTS: Final = frozenset(
    {
        "transactions",
        "diagnostics",
        "warnings",
        "files",
        "editResults",
        "matches",
        "written",
        "accepted",
        "rejected",
        "candidates",
        "rolledBack",
        "finished",
    }
)

# How much of them an entry of a list may hold: candidates of one problem, files of one past transaction.
_MOST_INSIDE: Final = {"candidates": 20, "files": 50}

# Names and numbers of what is omitted.
_OMISSION_NOTE_CHARACTERS: Final = 400


def cut_lists(wire: dict[str, Any], most: int) -> dict[str, Any]:
    """Cut the lists of the report `wire` until it has at most `most` characters of JSON, if that helps.

    `leftOut` then says how many entries the ends of lists have lost, by the names of the lists.
    """
    if size_of(wire) <= most:
        return wire
    left_out: dict[str, int] = {}
    short = {
        name: _with_short_entries(each, name, left_out) if isinstance(each, list) or name == "error" else each
        for name, each in wire.items()
    }
    lists = _lists_of(short, "")
    room = most - size_of(short) + sum(map(size_of, lists.values())) - _OMISSION_NOTE_CHARACTERS
    # The short lists are kept whole, and what they leave is for the long ones.
    for number, (name, entries) in enumerate(sorted(lists.items(), key=lambda named: size_of(named[1]))):
        share = max(room, 0) // (len(lists) - number)
        kept = _prefix(entries, share)
        room -= size_of(kept)
        if len(kept) < len(entries):
            left_out[name] = len(entries) - len(kept)
            short = _with_list(short, name.split("."), kept)
    return {**short, "leftOut": left_out} if left_out else short


def first_lines(lines: Iterable[str], room: int, what: str) -> list[str]:
    """The first of `lines` that fit into `room` characters of JSON, and how many more `what` there are."""
    rows = list(lines)
    kept = _prefix(rows, room)
    omitted = len(rows) - len(kept)
    return [*kept, f"… and {omitted} more {what}"] if omitted else kept


def size_of(value: object) -> int:
    """How many characters `value` takes as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def _with_short_entries(value: Any, name: str, left_out: dict[str, int]) -> Any:  # noqa: ANN401 (any JSON)
    """`value`, called `name`, with little in each of its entries; `left_out` counts what is gone."""
    if isinstance(value, list):
        return [_with_short_entries(each, name, left_out) for each in value]
    if not isinstance(value, dict):
        return value
    short = dict(value)
    for inside, most in _MOST_INSIDE.items():
        entries = value.get(inside, ())
        if len(entries) > most:
            short[inside] = entries[:most]
            path = f"{name}.{inside}"
            left_out[path] = left_out.get(path, 0) + len(entries) - most
    return short


def _lists_of(value: dict[str, Any], above: str) -> dict[str, list[Any]]:
    """The lists of a report and of the objects in it, by their dotted names."""
    lists: dict[str, list[Any]] = {}
    for name, field in value.items():
        if isinstance(field, list) and name in _LISTS:
            lists[above + name] = field
        elif isinstance(field, dict):
            lists |= _lists_of(field, f"{above}{name}.")
    return lists


def _prefix(entries: list[Any], room: int) -> list[Any]:
    """The first of `entries` that fit into `room` characters."""
    used = len("[]")
    for number, entry in enumerate(entries):
        used += size_of(entry) + len(", ")
        if used > room:
            return entries[:number]
    return entries


def _with_list(value: dict[str, Any], path: list[str], entries: list[Any]) -> dict[str, Any]:
    name, *below = path
    return {**value, name: _with_list(value[name], below, entries) if below else entries}


# --- Comments of a reviewer, as text for the author of the plan

_SHORT: Final = len("sha256-") + 16
_QUOTED: Final = 200


def review_lines(review: ReviewReport) -> Iterator[str]:
    """`review` in lines; the diff of a revised plan is after them."""
    plan = review.plan_id[:_SHORT]
    comment = f": {_one_line(review.comment)}" if review.comment else ""
    if review.verdict is None:
        yield f"Nobody decided about the plan {plan}."
    else:
        what = "requested changes to" if review.verdict == "changes requested" else review.verdict
        yield f"{review.decided_by} {what} the plan {plan} ({review.channel}){comment}"
    yield from map(_comment, review.comments)
    compared = review.comparison
    if compared is None:
        return
    files = ", ".join(f"{each.file} +{each.lines_added} -{each.lines_removed}" for each in compared.files)
    yield f"From that plan to {compared.plan_id[:_SHORT]}: {files or 'no difference'}"
    if compared.diff_truncated:
        yield "The diff between the plans is cut."
    if compared.diff:
        yield compared.diff.removesuffix("\n")


def _comment(comment: ReviewComment) -> str:
    parts = [comment.edit] if comment.edit else []
    if comment.file is not None:
        end = f"-{comment.end_line}" if comment.end_line != comment.start_line else ""
        side = " before the plan" if comment.side == "before" else ""
        parts.append(f"{comment.file}:{comment.start_line}{end}{side}")
    quote = f" `{_one_line(comment.quote)[:_QUOTED]}`" if comment.quote else ""
    changed = " (these lines differ now)" if comment.outdated else ""
    return f"- {', '.join(parts)}{quote}{changed}: {_one_line(comment.text)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


# --- Reads and searches: as much as fits, and a cursor to go on

Content = TypeVar("Content")


def fit_to_size(
    make: Callable[[int], Content], amount: int, most: int, size: Callable[[Content], int] = size_of
) -> Content:
    """Return what `make` makes of `amount`, or of less if that is larger than `most`; of 1 at the least."""
    content = make(amount)
    while (characters := size(content)) > most and amount > 1:
        amount = smaller_limit(amount, characters, most)
        content = make(amount)
    return content


def smaller_limit(amount: int, size: int, most: int) -> int:
    """Return less than `amount`, which has `size`: nine tenths of what fits if all parts have one size."""
    return max(1, min(amount - 1, amount * most * 9 // (size * 10)))


def wire_size(report: Report) -> int:
    """How many characters `report` takes as JSON."""
    return size_of(to_wire(report))


def larger_form_size(text_of: Callable[[AnyReport], str]) -> Callable[[AnyReport], int]:
    """Return a function that counts the characters of a report as JSON or as text, whichever is longer."""
    return lambda report: max(wire_size(report), len(text_of(report)))


def with_fewer_hits(report: SearchReport, most: int, size: Callable[[SearchReport], int]) -> SearchReport:
    """`report` with as many hits as fit by `size`, without the lines around them where not even one fits."""
    listed = hit_count(report)
    cut = fit_to_size(lambda count: first_hits(report, count), listed, most, size)
    if size(cut) <= most:
        return cut
    return replace(cut, files=tuple(map(_without_context, cut.files)))


def hit_count(report: SearchReport) -> int:
    """How many hits `report` lists."""
    return sum(len(group.hits) for found in report.files for group in found.groups)


def first_hits(report: SearchReport, count: int) -> SearchReport:
    """`report` with the first `count` of its hits; its cursor goes on after them."""
    listed = hit_count(report)
    if count >= listed:
        return report
    end = int(report.next_cursor) if report.next_cursor else report.total_matches or 0
    files: list[SearchedFile] = []
    left = count
    for found in report.files:
        groups = []
        for group in found.groups:
            hits = group.hits[:left]
            left -= len(hits)
            if hits:
                groups.append(replace(group, hits=hits))
        if groups:
            files.append(replace(found, groups=tuple(groups)))
    return replace(report, files=tuple(files), truncated=True, next_cursor=str(end - listed + count))


def _without_context(found: SearchedFile) -> SearchedFile:
    groups = tuple(
        replace(group, hits=tuple(replace(hit, before=None, behind=None) for hit in group.hits))
        for group in found.groups
    )
    return replace(found, groups=groups)


def read_within(
    engine: Engine, request: ReadRequest, most: int, size: Callable[[ReadReport], int]
) -> ReadReport:
    """What `request` asks for, cut where it is longer than `most` by `size`; its cursors go on.

    What was omitted is not listed where the list alone would be too long.
    """
    longest = min(request.max_characters, most)
    report = fit_to_size(
        lambda characters: engine.read(replace(request, max_characters=characters)), longest, most, size
    )
    if size(report) <= most:
        return report
    return replace(report, results=tuple(replace(result, left_out=None) for result in report.results))


def refused_if_too_long(
    answer: ToolResult, shape: type[AnyReport], most: int, refuse: Callable[[AnyReport], ToolResult]
) -> ToolResult:
    """`answer`, or a refusal where it is longer than `most`: nothing was written, so nothing is lost."""
    if max(size_of(dict(answer.structured)), len(answer.text)) <= most:
        return answer
    problem = Code.BATCH_TOO_LARGE.problem(
        f"the answer would be longer than {most} characters", "ask for fewer places, or for one file"
    )
    return refuse(refusal(shape, (problem,)))


# --- Arguments of a tool call


def with_valid_arguments(
    shape: type[Report], call: Callable[[dict[str, Any]], ToolResult]
) -> Callable[[Mapping[str, Any]], ToolResult]:
    """Drop null arguments before `call`, and refuse text that is no Unicode in the given `shape`.

    A value that an edit gives, or expects, may be null.
    """

    def call_guarded(arguments: Mapping[str, Any]) -> ToolResult:
        present = {
            name: value
            for name, value in arguments.items()
            if value is not None or camel_case(name) in {"value", "expectedValue"}
        }
        problem = not_unicode(present)
        return call(present) if problem is None else answer(refusal(shape, (problem,)), str)

    return call_guarded


def not_unicode(arguments: Mapping[str, Any]) -> Diagnostic | None:
    """INVALID_ARGUMENT where `arguments`, which are decoded JSON, hold what cannot be written as JSON."""
    try:
        json.dumps(arguments, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return _NOT_UNICODE
    except (ValueError, RecursionError):
        return _BEYOND_JSON
    return None


_BEYOND_JSON = Diagnostic.invalid(
    "an argument is nested too deep, or a number in it is too long",
    "send flat objects, and numbers of at most 4,300 digits",
)

_NOT_UNICODE = Diagnostic.invalid(
    "an argument contains a lone surrogate, which is not Unicode text",
    "send valid Unicode; a character beyond U+FFFF is one character, not half of a pair",
)


# --- Requests of the toolsets `editor`, `text` and `files`

# Longer than any path that a file system takes.
MOST_PATH: Final = 4096

# Names of the field that names a file, as models mix them up; without underscores, in lower case.
_PATHS: Final = frozenset({"file", "path", "filepath", "searchpath"})


class Request(BaseModel):
    """Strict, frozen model of a request, or of a part of one.

    At every depth null counts as absent, JSON text is decoded where an object or array belongs, and a name
    may be written in another case (`filePath`, `file_path`) or be another name for the path of a file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _read_fields(cls, data: object) -> object:
        return _folded(cls, data) if isinstance(data, Mapping) else data


AnyRequest = TypeVar("AnyRequest", bound=BaseModel)


def read_arguments(model: type[AnyRequest], arguments: Mapping[str, Any]) -> AnyRequest | Problems:
    """`arguments` of a call as a `model`. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD."""
    problem = not_unicode(arguments)
    if problem is not None:
        return (problem,)
    fields = _folded(model, arguments)
    problems = tuple(unknown_fields(fields, wire_names(model), "the call"))
    if problems:
        return problems
    request: AnyRequest | Problems = validated(model, fields, "", "see the description of the tool")
    return request


def request_schema(model: type[Request]) -> Schema:
    """Published schema of a request."""
    required = [field.alias or name for name, field in model.model_fields.items() if field.is_required()]
    return object_schema(request_properties(model), required)


def _folded(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    known = {_plain(name): name for name in wire_names(model)}
    path = next((name for plain, name in known.items() if plain in _PATHS), None)
    fields: dict[str, Any] = {}
    for name, value in data.items():
        meant = known.get(_plain(name), path if _plain(name) in _PATHS else None)
        is_free = meant is not None and meant not in data and meant not in fields
        if value is not None:
            fields[meant if meant is not None and is_free else name] = value
    return with_decoded_fields(model, fields)


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
