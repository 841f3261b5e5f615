"""Plans and commits, said once: hashes that pin the next edit, and of each edit what one would not expect."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.mcp import answers
from mdplan.mcp.tool import shown_files
from mdplan.plan import EditResult
from mdplan.reading.plain_text import key_lines
from mdplan.reading.stat_text import inventory_lines, row_line, section_line, unique_length
from mdplan.reports.base import Report, to_wire
from mdplan.reports.history import HistoryReport, TransactionEntry
from mdplan.reports.plan import ApplyReport, FileReport, PlanReport
from mdplan.reports.read import ReadReport, ReadResult, SearchedFile, SearchReport
from mdplan.reports.stat import LinkCounts, SectionEntry, StatReport
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import common_edges
from mdplan.text.source import visible
from mdplan.values import Struct, replace

# A diff that is shorter is shown as it is.
_MOST_OF_A_PREVIEW: Final = 1_200
_MOST_OF_A_COMMIT: Final = 300

# From this number files become lines of text, and warnings with one cause name at most this many.
_MOST_FILES: Final = 10
_AT_LINE: Final = lazy_pattern(r" at line \d+")

# Of more files a client with a session gets lines without hashes: the server remembers them.
_MOST_HASHES: Final = 3


def plan_wire(report: PlanReport, most: int, *, was_shown: bool = False) -> dict[str, Any]:
    """Return a plan or commit as decoded JSON; without its diff if the previous plan `was_shown` with it."""
    if not report.ok:
        wire = compact_wire(report)
        if any(problem.code is Code.COMMIT_IN_DOUBT for problem in report.diagnostics):
            del wire["applied"]
        return wire
    shortened = answers.with_short_diff(_without_redundancy(report, was_shown=was_shown), most)
    is_remembered = shown_files() is not None and report.applied
    is_listed = len(report.files) > (_MOST_HASHES if is_remembered else _MOST_FILES)
    return _wire(report, shortened, is_listed=is_listed)


def _without_redundancy(report: PlanReport, *, was_shown: bool) -> PlanReport:
    """Return the report without facts that other fields imply."""
    diff, is_exact = report.diff, report.diff_exact
    if report.applied and was_shown and not (isinstance(report, ApplyReport) and report.rebased):
        diff = is_exact = None
    elif diff and len(diff) > (_MOST_OF_A_COMMIT if report.applied else _MOST_OF_A_PREVIEW):
        shown = shown_diff(diff, whole_runs=not report.applied)
        diff, is_exact = (shown, False) if len(shown) < len(diff) else (diff, is_exact)
    is_alone = len(report.edit_results) == 1
    has_counts = any(result.matches_found is not None for result in report.edit_results)
    return replace(
        report,
        matches_found=report.matches_found if has_counts else None,
        matches_replaced=report.matches_replaced if has_counts else None,
        plan_id=short(report.plan_id or ""),
        title=None,
        description=None,
        diff=diff,
        diff_exact=is_exact,
        edit_results=tuple(_remarkable(report.edit_results, is_alone=is_alone)),
        warnings=_warnings(report),
    )


def _warnings(report: PlanReport) -> tuple[Diagnostic, ...]:
    found = dict.fromkeys(report.warnings)
    for result in report.edit_results:
        found.update(dict.fromkeys(result.warnings))
    groups: dict[tuple[object, ...], list[Diagnostic]] = {}
    for each in found:
        groups.setdefault((each.code, *_cause(each)), []).append(each)
    return tuple(map(_in_one, groups.values()))


def _cause(warning: Diagnostic) -> tuple[str, ...]:
    """Return what `warning` may share with other warnings of its code."""
    if warning.code is Code.BROKEN_LINK:
        # Its target is written in another way in each folder.
        return (warning.message.rpartition(": ")[2],)
    return _AT_LINE.sub("", warning.message), warning.hint


def _in_one(warnings: Sequence[Diagnostic]) -> Diagnostic:
    """Return the first of `warnings`, which differ only in place, with the places of the others."""
    first, *others = warnings
    if not others:
        return first
    lines: dict[str, dict[str, None]] = {}
    for each in others:
        lines.setdefault(each.file or "", {}).update({str(each.place.line): None} if each.place else {})
    shown = dict(islice(lines.items(), _MOST_FILES))
    listed = "; ".join(_in_folder(folder, shown, those) for folder, those in groupby(shown, key=_folder))
    more = f" and {len(lines) - _MOST_FILES} more files" if len(lines) > _MOST_FILES else ""
    return replace(first, message=f"{first.message}; also {listed}{more}")


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def _in_folder(folder: str, lines: Mapping[str, Collection[str]], files: Iterable[str]) -> str:
    """Return the `files` of a folder with their `lines`, naming the folder once."""
    names = [f"{file}{':' if lines[file] else ''}{','.join(lines[file])}" for file in files]
    if len(names) == 1 or not folder:
        return ", ".join(names)
    return f"in {folder}/: " + ", ".join(name.removeprefix(f"{folder}/") for name in names)


def _remarkable(results: Sequence[EditResult], *, is_alone: bool) -> Iterator[EditResult]:
    """Yield the results that say more than that the edit was made; a single one is summarised elsewhere."""
    for result in results:
        counts_say_more = not is_alone and (result.matches_found or 0) > 1
        kept = replace(
            result,
            ranges=(),
            result_lines=(),
            section_id=None,
            new_section_sha256=None,
            to_file=None,
            matches_found=result.matches_found if counts_say_more else None,
            matches_replaced=result.matches_replaced if counts_say_more else None,
            matches=result.matches if result.no_op else (),
            excluded_matches=None if is_alone else result.excluded_matches or None,
            no_op=result.no_op and not is_alone,
            warnings=(),
        )
        bare = EditResult(edit_index=result.edit_index, op=result.op, file=result.file, no_op=False)
        if kept != bare:
            yield kept


def _wire(report: PlanReport, shortened: PlanReport, *, is_listed: bool) -> dict[str, Any]:
    """Return the report as decoded JSON; of files that are only listed, how many lines they gain and lose."""
    bare = replace(shortened, files=(), edit_results=(), matches=None, warnings=(), file=None)
    if isinstance(bare, ApplyReport):
        bare = replace(bare, receipt=None, written=None)
    wire = compact_wire(bare)
    wire["applied"] = report.applied
    if report.applied:
        wire.pop("baseSha256", None)
    if isinstance(report, ApplyReport) and report.receipt is not None and not report.already_applied:
        wire["transaction"] = report.receipt.transaction
    wire["files"] = [_compact_file(each, is_listed=is_listed) for each in report.files]
    if shortened.edit_results:
        wire["editResults"] = [_edit(each) for each in shortened.edit_results]
    if shortened.warnings:
        wire["warnings"] = [problem_wire(each) for each in shortened.warnings]
    wire = answers.with_diff_resource(wire, shortened.plan_id)
    # The diff is long, and is after what is short.
    return {name: wire[name] for name in sorted(wire, key=lambda name: name == "diff")}


def _compact_file(file: FileReport, *, is_listed: bool) -> dict[str, Any]:
    wire: dict[str, Any] = pruned(to_wire(file))
    pin = "baseSha256" if file.result_sha256 is None else "resultSha256"
    kept = {"linesAdded", "linesRemoved"} if is_listed else {pin}
    return {
        name: each
        for name, each in wire.items()
        if name in {"file", "newFile", "referencesUpdated", "changed"} | kept
    }


def _edit(result: EditResult) -> dict[str, Any]:
    wire: dict[str, Any] = pruned(to_wire(result))
    del wire["file"], wire["op"]
    for match in wire.get("matches", ()):
        del match["range"]
    return wire


# --- Stat, read and search: long lists as one text of lines, short ones as objects

# Only for full detail.
_REPEATED: Final = ("sectionSha256", "tokens", "anchor")
# More sections are lines of text.
MOST_OBJECTS: Final = 40
_USUAL: Final[dict[str, object]] = {"format": "markdown", "encoding": "utf-8", "bom": False}

# Fields of a stat that are lines of `outline` or `inventory`.
_IN_LINES: Final = (
    *("keys", "files", "code_blocks", "tables", "lists", "tasks", "anchors", "regions", "links"),
    "inventory_totals",
)
_DERIVED: Final = frozenset({"finalNewline", "lineEnds", "bytes", "detail"})


_NO_LINKS: Final = LinkCounts(
    inline=0, reference=0, autolink=0, image=0, wiki=0, footnote=0, html=0, broken=()
)


def stat_wire(
    report: StatReport, *, inventories_wanted: bool = True, as_objects: bool | None = None
) -> dict[str, Any]:
    """Return a stat as decoded JSON: many sections are lines of `outline`, a few are `sections`.

    `as_objects` makes all of them `sections`. Unless `inventories_wanted`, it omits empty inventories and
    facts that its rows repeat.
    """
    if not report.ok:
        return compact_wire(report)
    broken = report.links.broken if report.links is not None else ()
    if not inventories_wanted:
        report = replace(
            report,
            detail=None,
            keys=None if report.keys is None else tuple(replace(each, sha256=None) for each in report.keys),
            code_blocks=report.code_blocks or None,
            tables=report.tables or None,
            tasks=report.tasks if report.tasks is not None and report.tasks.total else None,
            anchors=None,
            regions=report.regions or None,
            links=replace(_NO_LINKS, broken=broken) if broken else None,
        )
    nothing: dict[str, Any] = dict.fromkeys(_IN_LINES)
    bare = replace(report, sections=(), **nothing)
    wire = compact_wire(bare)
    wire = {name: each for name, each in wire.items() if name not in _DERIVED and each != _USUAL.get(name)}
    # Line ends that are not all LF, and a last line without one.
    ends = {name: count for name, count in (report.line_ends or {}).items() if count}
    wire |= {"lineEnds": ends} if set(ends) - {"lf"} else {}
    wire |= {"finalNewline": False} if report.final_newline is False else {}
    wire |= _rows(report, as_objects=as_objects, is_bare=not inventories_wanted)
    if wire.get("totalSections") == len(report.sections):
        del wire["totalSections"]
    inventory = _lines(inventory_lines(report))
    return wire | ({"inventory": inventory} if inventory else {})


def _rows(report: StatReport, *, as_objects: bool | None, is_bare: bool) -> dict[str, Any]:
    if report.files is not None:
        return {"outline": _lines(line for row in report.files for line in row_line(row))}
    if report.keys is not None:
        return {"outline": _lines(key_lines(report.keys))}
    if not report.sections or report.ini_sections is not None:
        return {}
    digits = unique_length(report.sections)
    if len(report.sections) > MOST_OBJECTS if as_objects is None else not as_objects:
        rows = [section_line(each, digits, is_short=True) for each in report.sections]
        deeper = (report.total_sections or 0) - len(rows) if report.next_cursor is None else 0
        rows += [f"{deeper} deeper sections: give under or depth"] if deeper else []
        return {"outline": _lines(iter(rows))}
    return {"sections": [_row(section, digits, is_bare=is_bare) for section in report.sections]}


def _row(section: SectionEntry, digits: int, *, is_bare: bool) -> dict[str, Any]:
    wire: dict[str, Any] = to_wire(section)
    unwanted = set(_REPEATED if is_bare else ())
    if section.canonical_heading_path == tuple(map(str.lower, section.heading_path or ())):
        unwanted.add("canonicalHeadingPath")
    kept = {name: each for name, each in wire.items() if each is not False and name not in unwanted}
    return {
        name: each.removeprefix("sha256-")[:digits] if name in _SECTION_IDS else pruned(each)
        for name, each in kept.items()
    }


def read_wire(report: ReadReport) -> dict[str, Any]:
    """Return the places read as decoded JSON. Unreadable places have a `problem`."""
    wire = compact_wire(replace(report, results=()))
    if not report.ok and len(report.results) == 1:
        # The error says all of it.
        return wire
    wire["results"] = [_result(result) for result in report.results]
    return wire


def _result(result: ReadResult) -> dict[str, Any]:
    if result.problem is not None:
        # The error and the diagnostics say the rest.
        return {"file": result.file, "problem": {"code": result.problem.code.value}}
    wire: dict[str, Any] = pruned(to_wire(replace(result, content=None)))
    return wire | {"content": to_wire(result.content)}


def search_wire(report: SearchReport) -> dict[str, Any]:
    """Return hits as decoded JSON, by file and section."""
    total = report.total_matches if report.pattern else None
    wire = compact_wire(replace(report, files=(), pattern=None, truncated=None, total_matches=total))
    if report.files:
        del wire["searchedFiles"]
    if wire.get("totalFiles") == len(report.files):
        del wire["totalFiles"]
    return wire | ({"files": [_found(found) for found in report.files]} if report.ok else {})


def _found(found: SearchedFile) -> dict[str, Any]:
    wire: dict[str, Any] = pruned(to_wire(found))
    if not found.groups:
        del wire["baseSha256"]
    if sum(len(group.hits) for group in found.groups) == found.matches:
        del wire["matches"]
    headings = Counter(group.heading_path[-1:] for group in found.groups)
    for group, each in zip(found.groups, wire.get("groups", ()), strict=True):
        del each["level"], each["startLine"], each["endLine"]
        if group.level and headings[group.heading_path[-1:]] == 1:
            each["headingPath"] = list(group.heading_path[-1:])
        if not group.level and len(found.groups) == 1:
            del each["sectionId"]
    return wire


def _lines(lines: Iterator[str]) -> str:
    return visible("\n".join(lines))


def history_wire(report: HistoryReport) -> dict[str, Any]:
    """Return a history as decoded JSON."""
    if not report.ok:
        return compact_wire(report)
    reviews = tuple(replace(review, decided_at=None) for review in report.reviews)
    wire = compact_wire(replace(report, transactions=(), kept=None, reviews=reviews))
    transactions = [_transaction(entry) for entry in report.transactions]
    return wire if reviews and not transactions else {"ok": True, "transactions": transactions, **wire}


def _transaction(entry: TransactionEntry) -> dict[str, Any]:
    wire: dict[str, Any] = pruned(to_wire(replace(entry, files=(), plan_id=None, durability=None)))
    wire["files"] = [_compact_file(file, is_listed=True) for file in entry.files[:_MOST_FILES]]
    if len(entry.files) > _MOST_FILES:
        wire["totalFiles"] = len(entry.files)
    if entry.client is not None and entry.client.is_mdplan:
        del wire["client"]
    return wire


# --- Short diffs: only changed lines, and of long lines only the part around the change
#
# They are for reading, not for `git apply`; the exact diff is a resource, and in answers with verbosity full.

# Lines of a hunk begin with a sign, so that none of them looks like a header.
_FILE: Final = lazy_pattern(r"^(?=diff --git )", re.MULTILINE)
_PLACES: Final = lazy_pattern(r"^(?=@@ )", re.MULTILINE)
_HUNK: Final = lazy_pattern(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NAME: Final = lazy_pattern(r"(?:---|\+\+\+) (?:\"?[ab]/)?(.*?)\"?\t?$")

# A changed line that is longer is cut to the change with so much around it.
_MOST_OF_A_LINE: Final = 120
_AROUND: Final = 24
_MOST_OF_A_CHANGE: Final = 160

# Of more lines in a row the first and the last are shown.
_MOST_IN_A_ROW: Final = 12
_FIRST, _LAST = 4, 2

# Files of one entry that its first line names.
_NAMED: Final = 3


class _FileDiff(Struct):
    """One file of a diff: what it is called, remarks of its header, and its changes by their first line."""

    name: str
    remarks: tuple[str, ...]
    changes: tuple[tuple[str, tuple[str, ...]], ...]


def shown_diff(diff: str, *, whole_runs: bool) -> str:
    """Return `diff` for reading, with ``@@ LINE @@`` (a line of the result) before each changed place.

    For deleted lines it is ``@@ -LINE @@``, by lines of the base. Files with equal changes share an entry,
    which names the first: ``a.md:12 b.md:7``. Without `whole_runs` the middle of a long run of changed lines
    is omitted and counted.
    """
    groups: dict[tuple[object, ...], list[_FileDiff]] = {}
    for file in _files(diff):
        groups.setdefault((file.remarks, *(lines for _, lines in file.changes)), []).append(file)
    return "".join(f"{line}\n" for files in groups.values() for line in _group(files, whole_runs=whole_runs))


def _group(files: Sequence[_FileDiff], *, whole_runs: bool) -> Iterator[str]:
    first = files[0]
    if len(files) == 1:
        yield f"--- {first.name}"
    else:
        named = " ".join(f"{file.name}:{','.join(at for at, _ in file.changes)}" for file in files[:_NAMED])
        yield f"--- {named}" + (f" and {len(files) - _NAMED} more files" if len(files) > _NAMED else "")
    yield from first.remarks
    for at, lines in first.changes:
        if len(files) == 1:
            yield f"@@ {at} @@"
        elif at != first.changes[0][0]:
            yield "@@"
        yield from _short(lines, whole_runs=whole_runs)


def _short(lines: Sequence[str], *, whole_runs: bool) -> Iterator[str]:
    """Return the lines of a change, with pairs of old and new lines cut."""
    old = [line[1:] for line in lines if line[0] == "-"]
    new = [line[1:] for line in lines if line[0] == "+"]
    paired = min(len(old), len(new)) if len(old) == len(new) or min(len(old), len(new)) == 1 else 0
    cut = [_cut_pair(before, after) for before, after in zip(old[:paired], new[:paired], strict=True)]
    shown_old = [f"-{before}" for before, _ in cut] + [f"-{_cut_line(line)}" for line in old[paired:]]
    shown_new = [f"+{after}" for _, after in cut] + [f"+{_cut_line(line)}" for line in new[paired:]]
    for shown in (shown_old, shown_new):
        if whole_runs or len(shown) <= _MOST_IN_A_ROW:
            yield from shown
        else:
            yield from shown[:_FIRST]
            yield f"{shown[0][0]}… {len(shown) - _FIRST - _LAST} more lines …"
            yield from shown[-_LAST:]
    yield from (line for line in lines if line[0] == "\\")


def _cut_pair(old: str, new: str) -> tuple[str, str]:
    """Return both lines without the text they share beyond a few words, if one of them is long."""
    if max(len(old), len(new)) <= _MOST_OF_A_LINE:
        return old, new
    start, end = common_edges(old, new)
    return _around(old, start, len(old) - end), _around(new, start, len(new) - end)


def _around(line: str, start: int, end: int) -> str:
    first, last = max(start - _AROUND, 0), min(end + _AROUND, len(line))
    change = line[start:end]
    if len(change) > _MOST_OF_A_CHANGE:
        change = f"{change[:100]}… {len(change) - 140} characters …{change[-40:]}"
    return (
        f"{'…' if first else ''}{line[first:start]}{change}{line[end:last]}{'…' if last < len(line) else ''}"
    )


def _cut_line(line: str) -> str:
    if len(line) <= _MOST_OF_A_CHANGE:
        return line
    return f"{line[:_MOST_OF_A_LINE]}… {len(line) - _MOST_OF_A_LINE} more characters"


def _files(diff: str) -> Iterator[_FileDiff]:
    """Yield the files of a diff as mdplan writes it."""
    for part in filter(None, _FILE.split(diff)):
        head, *places = _PLACES.split(part)
        first, *others = head.split("\n")
        named = [(line, _NAME.match(line)) for line in others if line]
        names = [found[1] for line, found in named if found and not line.endswith("/dev/null")]
        remarks = tuple(line for line, found in named if not found)
        changes = tuple(_changes("".join(places).split("\n")))
        yield _FileDiff(names[-1] if names else first.removeprefix("diff --git "), remarks, changes)


def _changes(lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the changed lines of each place in some hunks, with the first line number to show."""
    block: list[str] = []
    first = gone = at = was = 0
    for line in (*lines, " "):
        found = _HUNK.match(line)
        is_changed = found is None and line[:1] in {"-", "+", "\\"}
        if is_changed:
            first, gone = (first, gone) if block else (at, was)
            block.append(line)
        elif block:
            is_gone = not any(each[0] == "+" for each in block)
            yield f"-{gone}" if is_gone else str(first), tuple(block)
            block = []
        at = int(found[3]) if found else at + (line[:1] in {" ", "+"})
        was = int(found[1]) if found else was + (line[:1] in {" ", "-"})


# --- Reports as JSON: short hashes, nothing empty, no defaults

# Fields with section IDs, and how many digits are enough.
_SECTION_IDS: Final = frozenset({"sectionId", "newSectionId", "duplicateOf"})
_ID_DIGITS: Final = 8
_HASH: Final = lazy_pattern(r"(sha256-)?[0-9a-f]{64}")
_HASH_DIGITS: Final = 16

# Values that a reader may take for granted.
_DEFAULTS: Final[Mapping[str, object]] = {
    "stored": True,
    "noOp": False,
    "diffExact": True,
    "diffTruncated": False,
    "contentExact": True,
    "undoable": True,
    "durable": True,
    "durability": "full",
    "changed": True,
    "state": "committed",
}


def short(text: str) -> str:
    """Return `text`, or the first 16 digits of a SHA-256 or plan ID."""
    found = _HASH.fullmatch(text)
    return text[: len(found[1] or "") + _HASH_DIGITS] if found else text


def pruned(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Decoded JSON without what is empty or a default, and with short hashes."""
    if isinstance(value, str):
        return short(value)
    if isinstance(value, Mapping):
        kept = {
            name: item.removeprefix("sha256-")[:_ID_DIGITS] if name in _SECTION_IDS else pruned(item)
            for name, item in value.items()
            if name not in _DEFAULTS or _DEFAULTS[name] != item
        }
        return {name: item for name, item in kept.items() if item not in ([], {}, "")}
    if isinstance(value, Sequence):
        return [pruned(item) for item in value]
    return value


def compact_wire(report: Report) -> dict[str, Any]:
    """Return `report` as decoded JSON: `error` is the first problem, and `diagnostics` are the others."""
    problems = answers.listed_problems(report)[1:] if not report.ok else ()
    wire: dict[str, Any] = pruned(to_wire(replace(report, error=None, diagnostics=())))
    if report.error is not None:
        wire["error"] = problem_wire(report.error)
    if problems:
        wire["diagnostics"] = [problem_wire(problem) for problem in problems]
    return wire


# Warnings have them only in full detail.
_MOST_LOST: Final = 10


def problem_wire(problem: Diagnostic) -> dict[str, Any]:
    """Return a problem; near misses are in the hint."""
    lost = (problem.lost or ())[:_MOST_LOST] if problem.severity is Severity.ERROR else ()
    wire: dict[str, Any] = pruned(to_wire(replace(problem, near=None, lost=lost)))
    wire.pop("severity", None)  # The name of the list says it.
    return wire
