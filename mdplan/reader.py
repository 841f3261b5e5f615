"""The verbs that look at files and change nothing."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from mdplan.diagnostics import Code, Diagnostic, Severity
from mdplan.documents import Documents
from mdplan.linked_files import LinkedFiles
from mdplan.markdown.outline import Outline
from mdplan.read_report import ReadReport, ReadResult, SearchedFile, SearchReport
from mdplan.reading.broken_links import broken_in_tree
from mdplan.reading.folder import folder_report
from mdplan.reading.read import read_target
from mdplan.reading.read_request import ReadRequest, ReadTarget
from mdplan.reading.search import Window, search_document
from mdplan.reading.search_request import SearchRequest
from mdplan.reading.stat import stat_report
from mdplan.reading.stat_request import StatRequest
from mdplan.report import refusal
from mdplan.stat_report import BrokenLink, StatReport
from mdplan.storage.file_name import FileName
from mdplan.text.line_end_view import LineEndView
from mdplan.text.source import Source
from mdplan.text.span import Span
from mdplan.tick import Tick, unheard

_Outlines: TypeAlias = dict[tuple[FileName, str | None, str | None], Outline | Diagnostic]
_PATTERN_CODES: Final = frozenset({Code.INVALID_REGEX, Code.REGEX_TIMEOUT, Code.BATCH_TOO_LARGE})
_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


class Reader:
    """Reports on `documents`."""

    def __init__(self, documents: Documents) -> None:
        """Read files through `documents`, with its limits."""
        self.documents = documents
        self.workspace = documents.workspace

    def stat(self, request: StatRequest) -> StatReport:
        """Structure of one file, or one row for each file of a folder or glob; never content."""
        if self.workspace.is_several(request.file):
            return self._stat_folder(request)
        name = self.workspace.locate(request.file)
        if isinstance(name, Diagnostic):
            return refusal(StatReport, (name,))
        outline = self.documents.open(name, request.encoding, request.format)
        if isinstance(outline, Diagnostic):
            return refusal(StatReport, (outline,))
        if not request.links:
            return stat_report(str(name), outline, request)
        linked = LinkedFiles(self.documents, self.workspace.root_of(name))
        return stat_report(str(name), outline, request, broken_in_tree(linked, linked.anchors, name.path))

    def read(self, request: ReadRequest) -> ReadReport:
        """Content of one or several places, each with what pins an edit of it. `ok` when all were read."""
        outlines: _Outlines = {}
        results: list[ReadResult] = []
        left = request.max_characters
        for target in request.targets:
            file, outline = self._opened(target, outlines)
            result = (
                outline
                if isinstance(outline, Diagnostic)
                else read_target(file, outline, target, left, request.cursor)
            )
            if isinstance(result, Diagnostic):
                result = ReadResult(file=file, problem=result.at(file=file))
            left -= len(result.content or "")
            results.append(result)
        problems = tuple(result.problem for result in results if result.problem is not None)
        return ReadReport(
            ok=not problems,
            error=problems[0] if problems else None,
            diagnostics=problems,
            results=tuple(results),
        )

    def source(self, file: str, encoding: str | None) -> Source | Diagnostic:
        """A file, decoded. Errors: those of `Workspace.locate` and of reading."""
        name = self.workspace.locate(file)
        return name if isinstance(name, Diagnostic) else self.documents.read(name, encoding)

    def search(self, request: SearchRequest, tick: Tick = unheard) -> SearchReport:
        """Matches of a pattern in one file, or in those of a folder or glob; the totals are exact.

        `tick` hears of each file that was searched.
        A file that cannot be read is a warning, unless it was asked for by its name. Errors: INVALID_REGEX,
        REGEX_TIMEOUT, BATCH_TOO_LARGE; INVALID_ARGUMENT for a cursor that is none; those of listing.
        """
        names = self._searched(request)
        cursor = request.cursor or "0"
        skipped = int(cursor) if cursor.isascii() and cursor.isdecimal() else None
        if isinstance(names, Diagnostic) or skipped is None:
            problem = names if isinstance(names, Diagnostic) else _NO_CURSOR
            return refusal(SearchReport, (problem,))
        search = _Search(request, skipped)
        for name in names:
            found = self._search_file(name, search)
            if isinstance(found, Diagnostic) and (
                found.code in _PATTERN_CODES or not self.workspace.is_several(request.file)
            ):
                return refusal(SearchReport, (found,))
            search.add(found)
            tick(search.searched, None)
        return search.report()

    def _searched(self, request: SearchRequest) -> Iterable[FileName] | Diagnostic:
        if self.workspace.is_several(request.file):
            return self.workspace.iter_files(request.file, respect_gitignore=request.respect_gitignore)
        name = self.workspace.locate(request.file)
        return name if isinstance(name, Diagnostic) else (name,)

    def _search_file(self, name: FileName, search: "_Search") -> SearchedFile | Diagnostic | None:
        """Matches in one file; None where there are none. Only a file that has some is parsed."""
        found = self.workspace.read(name, self.documents.max_file_bytes)
        if isinstance(found, Diagnostic):
            return found
        if not search.may_match(found.data):
            return None
        source = self.documents.decode(name, found.data, search.request.encoding)
        if isinstance(source, Diagnostic):
            return source
        view = LineEndView(source.text, source.lines)
        matches = search.pattern.find(
            view.text, Span(0, len(view.text)), self.documents.limits.pattern_seconds
        )
        if matches == ():
            return None
        outline = self.documents.outline(name, source, search.request.format)
        return search_document(str(name), outline, search.pattern, search.request, search.window)

    def _opened(self, target: ReadTarget, known: _Outlines) -> tuple[str, Outline | Diagnostic]:
        """Name of the file of `target`, and its outline, which is parsed once for all targets."""
        name = self.workspace.locate(target.file)
        if isinstance(name, Diagnostic):
            return target.file, name
        key = (name, target.encoding, target.format)
        if key not in known:
            known[key] = self.documents.open(*key)
        return str(name), known[key]

    def _stat_folder(self, request: StatRequest) -> StatReport:
        names = self.workspace.iter_files(request.file)
        if isinstance(names, Diagnostic):
            return refusal(StatReport, (names,))
        by_path = {str(name): name for name in names}

        def read(path: str) -> Outline | Diagnostic:
            return self.documents.open(by_path[path], request.encoding, request.format)

        def broken(path: str, outline: Outline) -> list[BrokenLink]:
            """The links of the file `path` that lead to nothing; each linked file is parsed once."""
            find = broken_in_tree(linked, linked.anchors, by_path[path].path)
            return find(outline, Span(0, len(outline.source.text)))

        root = next((self.workspace.root_of(name) for name in by_path.values()), self.workspace.roots[0])
        linked = LinkedFiles(self.documents, root)
        shown = replace(request, file=self.workspace.shown(request.file))
        return folder_report(shown, by_path, read, broken if request.links else None)


class _Search:
    """One search over many files: what was found so far, and how much more may be listed."""

    def __init__(self, request: SearchRequest, skipped: int) -> None:
        """Search as `request` says; the first `skipped` matches were listed before."""
        self.request = request
        self.pattern = request.to_pattern()
        self._skipped = skipped
        self._needed = request.needed_bytes if request.encoding is None else None
        self._files: list[SearchedFile] = []
        self._warnings: list[Diagnostic] = []
        self.searched = self._matches = self._listed = 0

    @property
    def window(self) -> Window:
        """Which matches of the next file are listed."""
        return Window(max(self._skipped - self._matches, 0), self.request.limit - self._listed)

    def may_match(self, data: bytes) -> bool:
        """Whether a file of these bytes can have a match: looked at before anything is decoded."""
        return self._needed is None or self._needed in data or data.startswith(_BOMS)

    def add(self, found: SearchedFile | Diagnostic | None) -> None:
        """Take what one file gave."""
        self.searched += 1
        if isinstance(found, Diagnostic):
            self._warnings.append(replace(found, severity=Severity.WARNING))
        elif found is not None and found.matches:
            self._matches += found.matches
            self._listed += sum(len(group.hits) for group in found.groups)
            self._files.append(found)

    def report(self) -> SearchReport:
        """What was found; of files only those of which matches are listed."""
        end = min(self._skipped, self._matches) + self._listed
        is_cut = end < self._matches
        return SearchReport(
            ok=True,
            pattern=self.request.pattern,
            total_matches=self._matches,
            total_files=len(self._files),
            searched_files=self.searched,
            files=tuple(found for found in self._files if found.groups),
            truncated=True if is_cut else None,
            next_cursor=str(end) if is_cut else None,
            warnings=tuple(self._warnings[:_MOST_WARNINGS]),
        )


_MOST_WARNINGS: Final = 50
_NO_CURSOR: Final = Diagnostic(
    code=Code.INVALID_ARGUMENT, message="the cursor is none of search", hint="send nextCursor as it was given"
)
