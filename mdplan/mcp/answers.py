"""Reports as answers: the same shape for success and refusal, and within the size that clients take."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, model_validator

from mdplan.diagnostics import Code, Diagnostic, Problems, Refused
from mdplan.engine.engine import Engine
from mdplan.field_names import unknown_fields
from mdplan.mcp.tool import ToolDefinition, ToolResult, report_progress
from mdplan.reports.base import Report, refusal, to_wire
from mdplan.reports.history import HistoryReport
from mdplan.reports.plan import PlanReport, ReviewReport
from mdplan.reports.read import ReadReport, SearchReport
from mdplan.requests.batch import validated, wire_names, with_decoded_fields
from mdplan.requests.read import ReadRequest
from mdplan.requests.search import SearchRequest
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.values import replace

# Clients put a longer result into a file, and the model sees a path instead of it.
MOST_CHARACTERS: Final = 50_000

# Characters reserved for a diff, however long the rest of its report is.
_LEAST_FOR_DIFF: Final = 10_000
AnyReport = TypeVar("AnyReport", bound=Report)
WithDiff = TypeVar("WithDiff", PlanReport, HistoryReport)


def answered(wire: Mapping[str, Any]) -> ToolResult:
    """Return the report `wire` as the answer of a tool: as data, and the same as text."""
    return ToolResult(text=text_of(wire), structured=wire, is_refusal=not wire["ok"])


def answer_within(wire: dict[str, Any], most: int) -> ToolResult:
    """Return the report `wire` as an answer, its lists cut where it is longer than `most` characters."""
    return answered(cut_lists(wire, most if wire["ok"] else min(most, _MOST_OF_A_REFUSAL)))


def with_short_diff(report: WithDiff, most: int = MOST_CHARACTERS) -> WithDiff:
    """Return `report` with its diff cut between hunks if it is too long."""
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
    """Return `report` with the diffs between plans cut between hunks if they are too long."""
    room = most // 2
    return replace(report, reviews=tuple(short_review(review, room) for review in report.reviews))


def short_review(review: ReviewReport, room: int) -> ReviewReport:
    """Return `review` with its diff cut to `room` characters."""
    compared = review.comparison
    if compared is None or len(compared.diff) <= room:
        return review
    short = replace(compared, diff=cut_diff(compared.diff, room), diff_truncated=True)
    return replace(review, comparison=short)


def cut_diff(diff: str, room: int) -> str:
    """Return the whole hunks of `diff` that fit into `room` characters, with the headers of their files."""
    kept, is_first = 0, False
    # Every line of a hunk begins with a space, a sign or a backslash, so these two begin outside one.
    for part in _PART.finditer(diff, 0, room + len("diff --git ")):
        if part.start() <= room and not (is_first and part[0] == "@@ "):
            kept = part.start()
        is_first = part[0] != "@@ "
    return diff[:kept] if len(diff) > room else diff


_PART: Final = lazy_pattern(r"^(?:diff --git |@@ )", re.MULTILINE)


# --- The text of a report
#
# Some clients show a model only the data of an answer, others only the text. So the text is made of the data,
# and says all of it.

# Some clients cut the text of an error near 11,000 characters.
_MOST_OF_A_REFUSAL: Final = 10_000

# Texts of several lines, which stand below the other facts, as they are.
_TEXTS: Final = frozenset({"outline", "inventory", "listing", "hits", "content", "diff"})

# The problems are around the facts, and HTML is for an App.
_APART: Final = frozenset({"ok", "error", "diagnostics", "html"})

_OF_A_PROBLEM: Final = frozenset({"code", "message", "hint", "file", "editIndex", "place", "candidates"})

# Lists whose entries need no name above them.
_OBVIOUS: Final = frozenset(
    {"editResults", "files", "groups", "hits", "matches", "problem", "results", "transactions"}
)

# Sentences for false and true; other facts appear with their names.
SENTENCES: Final[Mapping[str, tuple[str, str]]] = {
    "applied": ("Nothing was written.", "Applied."),
    "alreadyApplied": ("", "That was done before: nothing was written now."),
    "noOp": ("", "Nothing to do: the files already are as the edits ask."),
    "stored": ("The plan could not be stored, so nothing can be applied.", ""),
    "rebased": ("", "The files had changed: a new plan was made for them as they are."),
    "contentExact": ("Some bytes are not text and shown as \\xNN.", ""),
    "diffTruncated": ("", "The diff is cut."),
    "more": ("There are no older ones.", "There are older ones: raise limit, or ask for one file."),
}

# Characters that `{+path}` of a template keeps.
_RESERVED: Final = "/:?#[]@!$&'()*+,;=-._~"


def text_of(wire: Mapping[str, Any]) -> str:
    """Return all that the report `wire` says, as text: its problems, its facts, then what is long."""
    error = [wire["error"]] if "error" in wire else []
    others = [each for each in wire.get("diagnostics", ()) if each not in error]
    facts = {name: value for name, value in wire.items() if name not in _APART}
    return "\n".join([*map(_problem, error), *_lines(facts), *map(_problem, others)])


def _lines(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield the facts of `entry` as a line, then its lists and texts."""
    said = [name for name, value in entry.items() if not _is_long(name, value)]
    yield from (f"  {line}" for line in entry.get("before", ()))
    sentences = [sentence[entry[name]] for name, sentence in SENTENCES.items() if name in said]
    facts = [_fact(name, entry) for name in said if name not in SENTENCES]
    line = " ".join(filter(None, [*sentences, ", ".join(filter(None, facts))]))
    if line:
        yield line
    for name, value in entry.items():
        if _is_long(name, value):
            yield from _long(name, value)


def _is_long(name: str, value: object) -> bool:
    if name in {"before", "behind"}:
        return True
    if isinstance(value, Mapping):
        return name == "problem" or any(_is_long(inner, each) for inner, each in value.items())
    is_text = isinstance(value, str) and (name in _TEXTS or "\n" in value)
    return is_text or (isinstance(value, list) and any(isinstance(each, Mapping) for each in value))


def _long(name: str, value: Any) -> Iterator[str]:  # noqa: ANN401 (any JSON)
    if isinstance(value, str):
        if value:
            yield value.removesuffix("\n")
    elif name in {"before", "behind"}:
        yield from (f"  {line}" for line in value if name == "behind")
    else:
        if name not in _OBVIOUS:
            yield f"{name}:"
        for each in [value] if isinstance(value, Mapping) else value:
            yield from [_problem(each)] if "code" in each else _lines(each)


# Facts that are said with another one.
_SAID_WITH: Final[Mapping[str, str]] = {
    **dict.fromkeys(("endLine", "totalLines"), "startLine"),
    **dict.fromkeys(("text", "address"), "col"),
    "level": "headingPath",
    "col": "line",
}


def _lines_of(entry: Mapping[str, Any]) -> str:
    if "endLine" not in entry:
        return f"startLine {entry['startLine']}"
    total = f" of {entry['totalLines']}" if "totalLines" in entry else ""
    return f"{entry['startLine']}-{entry['endLine']}{total}"


# Facts that need no name.
_NAMELESS: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "file": lambda entry: str(entry["file"]),
    "startLine": _lines_of,
    "line": lambda entry: (
        f"{entry.get('address') or entry['line']}:{entry['col']} {entry.get('text', '')}"
        if "col" in entry
        else f"line {entry['line']}"
    ),
    "headingPath": lambda entry: (
        f"{'#' * entry.get('level', 0)} {' > '.join(entry['headingPath']) or '(preamble)'}".lstrip()
    ),
    "linesAdded": lambda entry: f"+{entry['linesAdded']}",
    "linesRemoved": lambda entry: f"-{entry['linesRemoved']}",
    "committedAt": lambda entry: datetime.fromtimestamp(entry["committedAt"], UTC).strftime(
        "%Y-%m-%d %H:%M:%SZ"
    ),
}


def _fact(name: str, entry: Mapping[str, Any]) -> str:
    """Return the fact `name` of `entry`; line numbers, and the parts of a heading, are one fact each."""
    value = entry[name]
    if _SAID_WITH.get(name) in entry:
        return ""
    if name in _NAMELESS:
        return _NAMELESS[name](entry)
    match value:
        case bool():
            fact = name if value else f"{name} false"
        case list() if all(isinstance(each, str | int) for each in value):
            fact = f"{name} {', '.join(map(str, value))}" if value else ""
        case str() | int() | float():
            fact = f"{name} {value}"
        case _:
            fact = f"{name} {json.dumps(value, ensure_ascii=False)}" if value else ""
    return fact


def _problem(problem: Mapping[str, Any]) -> str:
    where = [problem["file"]] if "file" in problem else []
    where += [f"editIndex {problem['editIndex']}"] if "editIndex" in problem else []
    if "place" in problem:
        where.append(f"line {problem['place']['line']} column {problem['place']['col']}")
    text = problem["code"] + (f" ({', '.join(where)})" if where else "")
    text += f": {problem['message']}" if "message" in problem else ""
    text += f"\n  hint: {problem['hint']}" if problem.get("hint") else ""
    candidates = (next(_lines(each)) for each in problem.get("candidates", ()))
    others = {name: value for name, value in problem.items() if name not in _OF_A_PROBLEM}
    return "\n  ".join([text, *candidates, *_lines(others)])


def listed_problems(report: Report) -> tuple[Diagnostic, ...]:
    """Return the problems of a refusal, its error first, each once."""
    assert report.error is not None, "a refusal names its error"
    return tuple(dict.fromkeys((report.error, *report.diagnostics)))


def outline_uri(file: str) -> str:
    """Address of the resource that is the outline of `file`."""
    return f"mdplan://outline/{quote(file, safe=_RESERVED)}"


def with_diff_resource(wire: dict[str, Any], plan_id: str | None) -> dict[str, Any]:
    """Return `wire` with the address of the whole diff, if that was cut."""
    return {**wire, "diffResource": diff_uri(plan_id or "")} if wire.get("diffTruncated") else wire


def diff_uri(plan_id: str) -> str:
    """Address of the resource that contains the whole diff of a plan."""
    return f"mdplan://plans/{plan_id}/diff"


# --- Long lists of a report lose their end, and the report says so

# How much an entry of a list may hold: candidates of one problem, files of one past transaction.
_MOST_INSIDE: Final = {"candidates": 20, "files": 50}

# Names and numbers of omitted entries.
_OMISSION_NOTE_CHARACTERS: Final = 400


def cut_lists(wire: dict[str, Any], most: int) -> dict[str, Any]:
    """Cut the lists of the report `wire` until it has at most `most` characters of JSON, if that helps.

    `leftOut` then says how many entries the ends of lists have lost, by the names of the lists.
    """
    text = json.dumps(wire, ensure_ascii=False)
    if len(text) <= most:
        return wire
    short: dict[str, Any] = json.loads(text)
    left_out = Counter[str]()
    lists: dict[str, list[Any]] = {}
    for path, entries, is_inside in [*_lists(short)]:
        if not is_inside:
            lists[path] = entries
        elif len(entries) > (kept := _MOST_INSIDE.get(path.rpartition(".")[2], len(entries))):
            left_out[path] += len(entries) - kept
            del entries[kept:]
    room = most - size_of(short) + sum(map(size_of, lists.values())) - _OMISSION_NOTE_CHARACTERS
    # The short lists are kept whole, and what they leave is for the long ones.
    for number, (path, entries) in enumerate(sorted(lists.items(), key=lambda named: size_of(named[1]))):
        kept = len(_prefix(entries, max(room, 0) // (len(lists) - number)))
        left_out[path] += len(entries) - kept
        del entries[kept:]
        room -= size_of(entries)
    if left_out["transactions"]:
        short["more"] = True
    # Without lists that lost nothing.
    return {**short, "leftOut": dict(+left_out)} if +left_out else short


def _lists(value: Any, path: str = "", *, is_inside: bool = False) -> Iterator[tuple[str, list[Any], bool]]:  # noqa: ANN401 (any JSON)
    """Yield the lists in `value` with their dotted names, and True for each inside an entry of another."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _lists(inner, f"{path}.{name}" if path else name, is_inside=is_inside)
    elif isinstance(value, list):
        yield path, value, is_inside
        for entry in value:
            yield from _lists(entry, path, is_inside=True)


def size_of(value: object) -> int:
    """Return the length of `value` as JSON."""
    return len(json.dumps(value, ensure_ascii=False))


def _prefix(entries: list[Any], room: int) -> list[Any]:
    """Return the first `entries` that fit into `room` characters."""
    used = len("[]")
    for number, entry in enumerate(entries):
        used += size_of(entry) + len(", ")
        if used > room:
            return entries[:number]
    return entries


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


def search_within(
    engine: Engine, request: SearchRequest, most: int, size: Callable[[SearchReport], int]
) -> SearchReport:
    """Return the results of `request`, with as many hits as fit by `size`; its cursor continues after them.

    If none fits, the lines around it are omitted.
    """
    report = engine.search(request, report_progress)
    hits = sum(len(group.hits) for found in report.files for group in found.groups)
    if size(report) <= most or not hits:
        return report
    fewer = smaller_limit(hits, size(report), most)
    report = fit_to_size(lambda limit: engine.search(replace(request, limit=limit)), fewer, most, size)
    return report if size(report) <= most else engine.search(replace(request, limit=1, context=0))


def read_within(
    engine: Engine, request: ReadRequest, most: int, size: Callable[[ReadReport], int]
) -> ReadReport:
    """Return the places of `request`, cut if longer than `most` by `size`; the cursors continue.

    Omitted sections are not listed if their list is too long.
    """
    longest = min(request.max_characters, most)
    report = fit_to_size(
        lambda characters: engine.read(replace(request, max_characters=characters)), longest, most, size
    )
    if size(report) <= most:
        return report
    return replace(report, results=tuple(replace(result, left_out=None) for result in report.results))


def too_long(shape: type[AnyReport], most: int) -> AnyReport:
    """Return the refusal of an answer that cannot be cut: nothing was written, so nothing is lost."""
    problem = Code.BATCH_TOO_LARGE.problem(
        f"the answer would be longer than {most} characters", "ask for fewer places, or for one file"
    )
    return refusal(shape, (problem,))


# --- Arguments of a tool call


def check_unicode(arguments: Mapping[str, Any]) -> None:
    """Raise `Refused` where `arguments`, which are decoded JSON, hold what cannot be written as JSON."""
    try:
        json.dumps(arguments, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise Refused(_NOT_UNICODE) from None
    except (ValueError, RecursionError):
        raise Refused(_BEYOND_JSON) from None


_BEYOND_JSON = Diagnostic.invalid(
    "an argument is nested too deep, or a number in it is too long",
    "send flat objects, and numbers of at most 4,300 digits",
)

_NOT_UNICODE = Diagnostic.invalid(
    "an argument contains a lone surrogate, which is not Unicode text",
    "send valid Unicode; a character beyond U+FFFF is one character, not half of a pair",
)


# --- Requests of the toolsets `editor`, `text` and `files`

# Mark of a field that callers may give as null because the document that names it does so.
NULLABLE: Final = "x-nullable"

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


class RefusedCall(Exception):  # noqa: N818 (it is no error of the program)
    """The exception for a call whose `answer` is a refusal."""

    def __init__(self, answer: ToolResult) -> None:
        super().__init__(answer.text)
        self.answer = answer


AnyRequest = TypeVar("AnyRequest", bound=BaseModel)


def read_arguments(model: type[AnyRequest], arguments: Mapping[str, Any]) -> AnyRequest | Problems:
    """Return the `arguments` of a call as a `model`. Errors: INVALID_ARGUMENT, UNKNOWN_FIELD."""
    try:
        check_unicode(arguments)
    except Refused as refused:
        return refused.diagnostics
    fields = _folded(model, arguments)
    problems = tuple(unknown_fields(fields, wire_names(model), "the call"))
    if problems:
        return problems
    request: AnyRequest | Problems = validated(model, fields, "", "see the description of the tool")
    return request


def request_tool(
    model: type[AnyRequest],
    run: Callable[[AnyRequest], ToolResult],
    refuse: Callable[[Problems], ToolResult],
    **described: Any,  # noqa: ANN401 (the other fields of a tool)
) -> ToolDefinition:
    """Return the tool that takes a `model`, and does what `run` does of it, or refuses its arguments."""

    def call(arguments: Mapping[str, Any]) -> ToolResult:
        try:
            request = read_arguments(model, arguments)
            return refuse(request) if isinstance(request, tuple) else run(request)
        except RefusedCall as refused:
            return refused.answer

    return ToolDefinition(call=call, **described)


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
