"""`stat`: the structure of files."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from mdplan.diagnostics import Diagnostic
from mdplan.documents.files import OutlinedFiles
from mdplan.engine.interrupted import with_interrupted
from mdplan.markdown.outline import Outline
from mdplan.reading.stat import folder_report, stat_report
from mdplan.reports.base import refusal
from mdplan.reports.stat import BrokenLink, StatReport
from mdplan.requests.queries import StatRequest
from mdplan.storage.root import Root
from mdplan.text.lines import Span
from mdplan.values import replace

if TYPE_CHECKING:
    from mdplan.reading.inventories import FindBroken


def stat_files(files: OutlinedFiles, request: StatRequest | Mapping[str, Any]) -> StatReport:
    """Return the structure of one file, or one row for each file of a folder or glob; never content.

    A commit that was interrupted is a warning. Decoded JSON is read first, with the errors of that.
    """
    if not isinstance(request, StatRequest):
        from mdplan.requests.query_reader import read_stat_request

        parsed = read_stat_request(request)
        if not isinstance(parsed, StatRequest):
            return refusal(StatReport, parsed)
        request = parsed
    if files.workspace.is_several(request.file):
        report = _stat_folder(files, request)
    else:
        result = files.with_timeout(request.file, partial(_stat_file, files, request))
        report = refusal(StatReport, (result,)) if isinstance(result, Diagnostic) else result
    return with_interrupted(report, files.workspace)


def _stat_file(files: OutlinedFiles, request: StatRequest) -> StatReport:
    name = files.workspace.locate(request.file)
    if isinstance(name, Diagnostic):
        return refusal(StatReport, (name,))
    outline = files.open(name, request.encoding, request.format)
    if isinstance(outline, Diagnostic):
        return refusal(StatReport, (outline,))
    if not request.links:
        return stat_report(str(name), outline, request)
    find = _link_finder(files, files.workspace.root_of(name))
    return stat_report(str(name), outline, request, find(name.path))


def _stat_folder(files: OutlinedFiles, request: StatRequest) -> StatReport:
    names = files.workspace.iter_files(request.file)
    if isinstance(names, Diagnostic):
        return refusal(StatReport, (names,))
    by_path = {str(name): name for name in names}

    def read(path: str) -> Outline | Diagnostic:
        return files.open_parsed(by_path[path], request.encoding, request.format)

    def broken(path: str, outline: Outline) -> list[BrokenLink]:
        """Return the broken links of the file `path`."""
        return find(by_path[path].path)(outline, Span(0, len(outline.source.text)))

    root = next((files.workspace.root_of(name) for name in by_path.values()), files.workspace.roots[0])
    find = _link_finder(files, root)
    shown = replace(request, file=files.workspace.shown(request.file))
    return folder_report(shown, by_path, read, broken if request.links else None)


def _link_finder(files: OutlinedFiles, root: Root) -> "Callable[[str], FindBroken]":
    """Return a finder of broken links in the files of `root`; it parses each linked file once."""
    # Only a request for links needs this much more of the engine.
    from mdplan.documents.documents import LinkIndex
    from mdplan.reading.broken_tree_links import broken_in_tree

    linked = LinkIndex(files, root)
    return lambda path: broken_in_tree(linked, path)
