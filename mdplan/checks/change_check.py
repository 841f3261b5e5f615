"""`check`: what a change did to documents, whoever made it."""

from collections.abc import Iterable, Iterator, Sequence

from mdplan.checks.document_change import document_problems
from mdplan.checks.git_changes import CommittedVersion
from mdplan.checks.label_change import retargeted_labels
from mdplan.checks.link_change import ChangedDocument, LinkCheck, broken_link, retargeted
from mdplan.checks.navigation_change import lost_pages
from mdplan.diagnostics import Diagnostic
from mdplan.documents.files import OutlinedFiles
from mdplan.markdown.links import local_links
from mdplan.markdown.outline import Outline
from mdplan.reports.history import CheckReport
from mdplan.settings import Settings
from mdplan.text.source import DocumentFormat


def check_since(
    files: OutlinedFiles, settings: Settings, reference: str, paths: Sequence[str]
) -> CheckReport:
    """What changed documents of the root of `files` lost since the commit `reference`.

    `paths` are files or folders, from the root; all documents without. Raises `StorageRefused` as
    `CommittedVersion` does.
    """
    version = CommittedVersion(files.workspace, reference)
    with version.open() as committed:
        return check_changes(OutlinedFiles.of(committed, settings), files, version.changes(paths))


def check_changes(
    before: OutlinedFiles, after: OutlinedFiles, changes: Iterable[tuple[str | None, str | None]]
) -> CheckReport:
    """Find what documents lost between two versions of a root; `changes` are their old and new paths."""
    changed: list[ChangedDocument] = []
    skipped: list[Diagnostic] = []
    for old, new in changes:
        found = _document(before, after, old, new)
        if isinstance(found, Diagnostic):
            skipped.append(found.at(file=new))
        else:
            changed.append(found)
    links = LinkCheck.of((before, before.workspace.roots[0]), (after, after.workspace.roots[0]))
    warnings: list[Diagnostic] = []
    for document in changed:
        if document.new is not None:
            problems = (*document_problems(document.old, document.new), *links.problems_in(document))
            warnings += (each.at(file=document.path) for each in problems)
    warnings += (each.at(file=path) for path, each in links.problems_elsewhere(changed))
    warnings += (each.at(file=path) for path, each in links.retargeted_elsewhere(changed))
    warnings += (each.at(file=path) for path, each in lost_pages(links.new, changed))
    return CheckReport(ok=True, checked=len(changed), warnings=tuple(warnings), skipped=tuple(skipped))


def check_documents(path: str, old: Outline, new: Outline) -> CheckReport:
    """What the later version `new` of the document `path` lost; links are checked inside it alone."""
    problems = (
        *document_problems(old, new),
        *retargeted(old, new),
        *retargeted_labels(old, new),
        *_broken_inside(old, new),
    )
    return CheckReport(ok=True, checked=1, warnings=tuple(each.at(file=path) for each in problems))


def _document(
    before: OutlinedFiles, after: OutlinedFiles, old_path: str | None, new_path: str | None
) -> ChangedDocument | Diagnostic:
    """The document before and after; why it cannot be read now, for one that is not text or out of bounds."""
    new = _outline(after, new_path) if new_path is not None else None
    if isinstance(new, Diagnostic):
        return new
    old = _outline(before, old_path) if old_path is not None else None
    if isinstance(old, Diagnostic):
        old = None
    return ChangedDocument(new_path or old_path or "", old_path if old is not None else None, old, new)


def _outline(files: OutlinedFiles, path: str) -> Outline | Diagnostic:
    name = files.workspace.locate(path)
    if isinstance(name, Diagnostic):
        return name
    return files.with_timeout(str(name), lambda: files.open(name, None, None))


def _broken_inside(old: Outline, new: Outline) -> Iterator[Diagnostic]:
    if new.format is not DocumentFormat.MARKDOWN:
        return
    known = {link.target for link in local_links(old) if not link.resolves}
    for link in local_links(new):
        if not link.resolves and link.target not in known:
            yield broken_link(link.target, link.line)
