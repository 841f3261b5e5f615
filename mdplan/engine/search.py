"""`search`: find a pattern in files."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.documents.files import OutlinedFiles
from mdplan.markdown.matches import pattern_problem
from mdplan.markdown.outline import Outline
from mdplan.reading.search import search_document
from mdplan.reports.base import refusal
from mdplan.reports.read import SearchedFile, SearchReport
from mdplan.requests.search import SearchRequest
from mdplan.settings import ProgressCallback, no_progress
from mdplan.storage.files import FileName
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import LineEndView, Span
from mdplan.text.pattern import MatchType, PatternProblem
from mdplan.text.source import Source, visible
from mdplan.text.visible import counted
from mdplan.values import replace
from mdplan.words import say

_PATTERN_CODES: Final = frozenset({Code.INVALID_REGEX, Code.REGEX_TIMEOUT, Code.BATCH_TOO_LARGE})
_MOST_VALUES: Final = 10
_LINE_END: Final = lazy_pattern(r"[ \t]*\n[ \t>]*")
_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


def search_files(
    files: OutlinedFiles,
    request: SearchRequest | Mapping[str, Any],
    tick: ProgressCallback = no_progress,
    others: Sequence[str] = (),
) -> SearchReport:
    """Search one file, or the files of a folder or glob, for a pattern; the totals are exact.

    `tick` is called for each searched file. An unreadable file is a warning, unless the request names it.
    Errors: INVALID_REGEX, REGEX_TIMEOUT, BATCH_TOO_LARGE; INVALID_ARGUMENT for an invalid cursor; as for
    listing, and for reading a request in decoded JSON.
    """
    if not isinstance(request, SearchRequest):
        from mdplan.requests.query_reader import read_search_request

        parsed = read_search_request(request)
        if not isinstance(parsed, SearchRequest):
            return refusal(SearchReport, parsed)
        request = parsed
    names = _names_of(files, (request.file, *others), request)
    cursor = request.cursor or "0"
    skipped = int(cursor) if cursor.isascii() and cursor.isdecimal() else None
    if isinstance(names, Diagnostic) or skipped is None:
        problem = names if isinstance(names, Diagnostic) else _NO_CURSOR
        return refusal(SearchReport, (problem,))
    search = _Search(request, skipped)
    for name in names:
        result = files.with_timeout(str(name), partial(_search_file, files, name, search))
        if (
            isinstance(result, Diagnostic)
            and result.severity is Severity.ERROR
            and (result.code in _PATTERN_CODES or not (others or files.workspace.is_several(request.file)))
        ):
            return refusal(SearchReport, (result,))
        search.add(result)
        tick(search.searched, None)
    return search.report()


def _names_of(
    files: OutlinedFiles, named: Sequence[str], request: SearchRequest
) -> Iterable[FileName] | Diagnostic:
    names: dict[FileName, None] = {}
    for file in named:
        if not files.workspace.is_several(file):
            name = files.workspace.locate(file)
            found: Iterable[FileName] | Diagnostic = name if isinstance(name, Diagnostic) else (name,)
        else:
            found = files.workspace.iter_files(file, respect_gitignore=request.respect_gitignore)
        if isinstance(found, Diagnostic) or len(named) == 1:
            return found
        names |= dict.fromkeys(found)
    return names


def _search_file(files: OutlinedFiles, name: FileName, search: "_Search") -> SearchedFile | Diagnostic | None:
    """Search one file; return None if it has no match. Only a file that has some is parsed."""
    content = files.workspace.read(name, files.max_file_bytes)
    if isinstance(content, Diagnostic):
        return content
    if not search.may_match(content.data) and _is_text(content.data, is_exact=search.is_ascii):
        return None
    source = files.decode(name, content.data, search.request.encoding)
    if isinstance(source, Diagnostic):
        return source
    if search.request.asks_front_matter:
        return _search_chosen(str(name), files.outline(name, source, search.request.format), search)
    found = _search_source(files, name, source, search)
    if search.is_ascii or not source.invalid_bytes or isinstance(found, Diagnostic):
        return found
    problem = _not_searched(str(name), source.invalid_bytes)
    search.warnings += [problem] if found else []
    return found or problem


def _is_text(data: bytes, *, is_exact: bool) -> bool:
    """Return True if `data` is text, in UTF-8 unless bytes beyond ASCII do not matter."""
    try:
        return b"\0" not in data and (is_exact or data.isascii() or bool(data.decode()))
    except UnicodeDecodeError:
        return False


def _not_searched(file: str, invalid_bytes: int) -> Diagnostic:
    """Return the warning about a file with bytes that are not UTF-8, in which matches may be overlooked."""
    return Code.ENCODING_UNKNOWN.warning(
        f"`{visible(file)}` is not UTF-8 ({counted(invalid_bytes, 'invalid byte')}): not all was searched",
        say('search this file with its {encoding}, such as "latin-1" or "cp1252"'),
        file=file,
    )


def _search_source(
    files: OutlinedFiles, name: FileName, source: Source, search: "_Search"
) -> SearchedFile | Diagnostic | None:
    text = LineEndView(source.text, source.lines).text
    # Joining all lines may find too many matches, but never too few.
    for form in (text, _LINE_END.sub(" ", text)) if search.request.joins_lines else (text,):
        matches = search.pattern.find(form, Span(0, len(form)), files.limits.pattern_seconds)
        if isinstance(matches, PatternProblem):
            return pattern_problem(matches).at(file=str(name))
        if matches:
            break
    else:
        return None
    outline = files.outline(name, source, search.request.format)
    return search_document(str(name), outline, search.pattern, search.request, search.window)


def _search_chosen(file: str, outline: Outline, search: "_Search") -> SearchedFile | Diagnostic | None:
    """Search a file whose front matter meets the request; without a pattern return the file itself."""
    # Most searches have no conditions on front matter.
    from mdplan.reading.data_keys import matching_values, other_values, uncounted_keys

    values = matching_values(outline, search.request)
    if values is None:
        for key in uncounted_keys(outline, search.request):
            search.uncounted.setdefault(key, []).append(file)
        search.note_others(other_values(outline, search.request))
        return None
    if not search.request.pattern:
        sha256 = outline.source.sha256
        return SearchedFile(file=file, base_sha256=sha256, matches=0, groups=(), front_matter=values)
    searched = search_document(file, outline, search.pattern, search.request, search.window)
    return replace(searched, front_matter=values) if isinstance(searched, SearchedFile) else searched


class _Search:
    """One search over many files: what was found so far, and how much more may be listed."""

    def __init__(self, request: SearchRequest, skipped: int) -> None:
        """Search as `request` says; the first `skipped` matches were listed before."""
        self.request = request
        self.pattern = request.to_pattern()
        self._skipped = skipped
        # A word in ASCII has the same bytes in most encodings.
        self.is_ascii = request.match_type is MatchType.LITERAL and request.pattern.isascii()
        self._needed = request.needed_bytes if request.encoding is None else None
        self._files: list[SearchedFile] = []
        self.warnings: list[Diagnostic] = []
        self.uncounted: dict[str, list[str]] = {}
        self._others: dict[str, dict[str, None]] = {}
        self._where_is_met = False
        self.searched = self._matches = self._listed = 0

    @property
    def window(self) -> range:
        """Which matches of the next file are listed."""
        start = max(self._skipped - self._matches, 0)
        return range(start, start + self.request.limit - self._listed)

    def may_match(self, data: bytes) -> bool:
        """Return True if a file of these bytes can have a match; called before anything is decoded."""
        return self._needed is None or self._needed in data or data.startswith(_BOMS)

    def add(self, result: SearchedFile | Diagnostic | None) -> None:
        """Add the result of one file."""
        if isinstance(result, Diagnostic):
            self.warnings.append(replace(result, severity=Severity.WARNING))
            return
        self.searched += 1
        if result is not None and (result.matches or not self.request.pattern):
            self._matches += result.matches
            self._listed += sum(len(group.hits) for group in result.groups)
            self._files.append(replace(result, groups=()) if self.request.files_only else result)

    def note_others(self, values: Mapping[str, Any] | None) -> None:
        """Note the `values` that a file has instead of those in `where`; None if it lacks a key."""
        self._where_is_met |= values == {}
        for key, value in (values or {}).items():
            self._others.setdefault(key, {})[json.dumps(value, ensure_ascii=False)] = None

    def _other_warnings(self) -> Iterator[Diagnostic]:
        """Yield the existing values of the keys in `where` if no file has the wanted ones."""
        for key, values in self._others.items() if not (self._files or self._where_is_met) else ():
            more = ", …" if len(values) > _MOST_VALUES else ""
            yield Code.INVALID_ARGUMENT.warning(
                f"no file has this value of `{visible(key)}`: "
                f"{visible(json.dumps(self.request.where[key], ensure_ascii=False))}",
                f"there are {visible(', '.join(islice(values, _MOST_VALUES)))}{more}; case matters",
            )

    def _uncounted_warnings(self) -> Iterator[Diagnostic]:
        for key, files in self.uncounted.items():
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            where = f"`{visible(files[0])}`{more}"
            yield Code.INVALID_ARGUMENT.warning(
                f"`min` counts items of lists, and `{visible(key)}` is not a list in {where}",
                say("compare a single value with {where}"),
            )

    def report(self) -> SearchReport:
        """Report the matches; lists the files with listed matches only."""
        end = min(self._skipped, self._matches) + self._listed
        names_files = self.request.files_only or not self.request.pattern
        is_cut = not names_files and end < self._matches
        return SearchReport(
            ok=True,
            pattern=self.request.pattern,
            total_matches=self._matches,
            total_files=len(self._files),
            searched_files=self.searched,
            files=tuple(file for file in self._files if file.groups or names_files),
            truncated=True if is_cut else None,
            next_cursor=str(end) if is_cut else None,
            warnings=(*self._other_warnings(), *self._uncounted_warnings(), *self.warnings[:_MOST_WARNINGS]),
        )


_MOST_WARNINGS: Final = 50
_NO_CURSOR: Final = Diagnostic.invalid(
    "the cursor is none of search", say("send {nextCursor} as it was given")
)
