"""Guards from the file versions that the client was shown."""

from collections.abc import Iterable
from dataclasses import replace

from mdplan.diagnostics import Code, Diagnostic
from mdplan.documents.documents import Seen
from mdplan.engine.engine import Engine
from mdplan.markdown.outline import Outline
from mdplan.mcp.answers.report_text import outline_uri
from mdplan.mcp.calls.current_call import note_changed, shown_files
from mdplan.mcp.calls.shown_files import ShownVersion
from mdplan.planning.replay import stale_base
from mdplan.reports.plan import ApplyReport
from mdplan.storage.names import FileName


def note_shown(engine: Engine, files: Iterable[tuple[str | None, str | None]]) -> None:
    """Note that these versions (path, SHA-256) were shown to the client of the current call."""
    shown = shown_files()
    if shown is None:
        return
    for file, sha256 in files:
        known = shown.version(file) if file is not None else None
        if file is None or sha256 is None:
            continue
        is_new = known is None or known.sha256 != sha256
        shown.note(file, _version(engine, file, sha256) if known is None or is_new else known)


def note_written(engine: Engine, report: ApplyReport) -> None:
    """Note the files that a commit of this client changed, and the versions that it made of them."""
    if not report.applied or report.already_applied:
        return
    changed = (name for file in report.files if file.changed for name in (file.file, file.new_file))
    note_changed(outline_uri(name) for name in changed if name is not None)
    shown = shown_files()
    if shown is None:
        return
    for file in report.files:
        name = file.new_file or file.file
        version = _version(engine, name, file.result_sha256) if file.result_sha256 is not None else None
        shown.follow(file.file, file.base_sha256, version, name)


def seen_bases() -> Seen | None:
    """Gives the hash of the version of a file that the client was shown last; None without a session."""
    shown = shown_files()
    if shown is None:
        return None

    def seen(file: str) -> str | None:
        version = shown.version(file)
        return version.sha256 if version is not None else None

    return seen


def with_changes(engine: Engine, report: ApplyReport) -> ApplyReport:
    """The refusal `report`, in which STALE_BASE names the sections that changed since the client saw them."""
    if report.ok or shown_files() is None:
        return report
    problems = tuple(_with_changes(engine, problem) for problem in report.diagnostics)
    return replace(report, error=problems[0] if problems else report.error, diagnostics=problems)


def _with_changes(engine: Engine, problem: Diagnostic) -> Diagnostic:
    shown = shown_files()
    version = shown.version(problem.file) if shown is not None and problem.file is not None else None
    if problem.code is not Code.STALE_BASE or version is None or problem.file is None or problem.candidates:
        return problem
    current = _outline(engine, problem.file)
    if current is None or not version.sections or version.sha256 == current.source.sha256:
        return problem
    return stale_base(problem.file, version.sha256, current, version.sections)


def _version(engine: Engine, file: str, sha256: str) -> ShownVersion:
    outline = _outline(engine, file)
    is_it = outline is not None and outline.source.sha256 == sha256
    return ShownVersion(sha256, outline.own_hashes() if outline is not None and is_it else {})


def _outline(engine: Engine, file: str) -> Outline | None:
    """The file as it is now; that of a look a moment ago is still at hand."""
    name = engine.workspace.locate(file)
    if not isinstance(name, FileName):
        return None
    found = engine.documents.with_timeout(file, lambda: engine.documents.open(name, None, None))
    return found if isinstance(found, Outline) else None
