"""What edits of one file do in another one: sections that move there, with the definitions that they use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.markdown.edits.payload import Payload, read_payload
from mdplan.markdown.links.destinations import is_external
from mdplan.markdown.links.link_path import folder_of, followed
from mdplan.markdown.links.links import Definition, definitions, reference_uses
from mdplan.operations.base.operation import Resolution, SectionTargeted
from mdplan.planning.replan.stale import stale_base
from mdplan.planning.resolve import ResolvedEdit
from mdplan.planning.snapshot import SnapshotFile
from mdplan.text.document_format import DocumentFormat


@dataclass(frozen=True, slots=True)
class CrossFileMoves:
    """By the path of a file, the edits of other files that write into it; and what is wrong with some."""

    by_file: Mapping[str, Sequence[ResolvedEdit]] = field(default_factory=dict)
    problems: Problems = ()


def find_cross_file_moves(
    snapshot: Sequence[SnapshotFile], resolved: Mapping[str, Sequence[ResolvedEdit]]
) -> CrossFileMoves:
    """What the edits `resolved`, by the path of their file, do in other files of `snapshot`.

    Errors: INVALID_ARGUMENT for a file that no section can move to, STALE_BASE, PRECONDITION_REQUIRED, those
    of `Operation.resolve_in_target`.
    """
    files = {file.path: file for file in snapshot}
    known = _Known({})
    by_file: dict[str, list[ResolvedEdit]] = {}
    problems: list[Diagnostic] = []
    for file in snapshot:
        for item in resolved.get(file.path, ()):
            there = files.get(file.other_paths.get(item.index, ""))
            if item.resolution.exported is None or there is None:
                continue
            outcome = _arrival(file, item, item.resolution.exported, there, known)
            if isinstance(outcome, ResolvedEdit):
                by_file.setdefault(there.path, []).append(outcome)
            else:
                problems += (problem.at(file=there.path, edit_index=item.index) for problem in outcome)
    return CrossFileMoves(by_file, tuple(problems))


def refuse_in_sequence(file: SnapshotFile) -> Problems:
    """INVALID_ARGUMENT for edits that write into other files, which have no order between them."""
    return tuple(
        Diagnostic.invalid(
            "an edit that moves text to another file does not go with sequential",
            "send it in a batch of its own",
            file=file.path,
            edit_index=index,
        )
        for index in file.other_paths
    )


@dataclass(frozen=True, slots=True)
class _Known:
    """The definitions of files, looked up once for each, by its path."""

    by_file: dict[str, Mapping[str, Definition]]

    def of(self, file: SnapshotFile) -> Mapping[str, Definition]:
        """The definition of each label in `file`."""
        if file.path not in self.by_file:
            self.by_file[file.path] = definitions(file.outline)
        return self.by_file[file.path]

    def used(self, file: SnapshotFile, item: ResolvedEdit) -> dict[str, Definition]:
        """By label, those that the text uses which `item` takes out of `file`, in the order of their use."""
        spans = item.resolution.deletions
        labels = [use.label for span in spans for use in reference_uses(file.outline, span)]
        return {label: self.of(file)[label] for label in labels if label in self.of(file)}


def _arrival(
    file: SnapshotFile, item: ResolvedEdit, exported: Payload, there: SnapshotFile, known: _Known
) -> ResolvedEdit | Problems:
    """What `item` of `file` does in the file `there`."""
    refused = _refusal(file, item, there)
    if refused is not None:
        return (refused,)
    used = known.used(file, item)
    had = known.of(there) if used else {}
    missing = [found for label, found in used.items() if label not in had and not _moves(found, item)]
    text = "\n".join([exported.text, *([""] if missing else []), *(found.text for found in missing)])
    outcome = item.operation.resolve_in_target(there.outline, read_payload(text) if missing else exported)
    if not isinstance(outcome, Resolution):
        return outcome
    has_precondition = there.requested.base_sha256 is not None or item.operation.other_base_sha256 is not None
    if (
        not has_precondition
        and isinstance(item.operation, SectionTargeted)
        and item.operation.needs_precondition(outcome)
    ):
        return (
            Diagnostic(
                code=Code.PRECONDITION_REQUIRED,
                message="toSectionId counts equal headings, so an edit elsewhere could have moved it",
                hint=f'add `"toBaseSha256": "{there.outline.source.sha256}"` if this is the file you saw',
            ),
        )
    has_other_labels = any(
        label in had and _target(file, found) != _target(there, had[label]) for label, found in used.items()
    )
    return ResolvedEdit(
        index=item.index,
        operation=item.operation,
        resolution=replace(outcome, warnings=(_OTHER_LABEL,)) if has_other_labels else outcome,
        outline=there.outline,
        origin=file.relative,
    )


def _refusal(file: SnapshotFile, item: ResolvedEdit, there: SnapshotFile) -> Diagnostic | None:
    """Why no section can move from `file` to `there`; None when one can."""
    expected = item.operation.other_base_sha256
    if expected is not None and not there.outline.source.sha256.startswith(expected.lower()):
        return stale_base(there.path, expected, there.outline)
    reasons = (
        (there.path == file.path, "toFile is the file that the section is in", "leave toFile out"),
        (there.is_deleted, "toFile is deleted by the same batch", "name a file that stays"),
        (not there.exists, "toFile is made by the same batch", "make it first, in a batch of its own"),
        (
            there.outline.format is not DocumentFormat.MARKDOWN,
            "toFile counts as plain text, and a section needs Markdown",
            "name a Markdown file",
        ),
    )
    return next(
        (Diagnostic.invalid(message, hint) for holds, message, hint in reasons if holds),
        None,
    )


def _moves(found: Definition, item: ResolvedEdit) -> bool:
    """Whether the definition `found` stands in the text that moves."""
    return any(span.contains(found.span) for span in item.resolution.deletions)


def _target(file: SnapshotFile, found: Definition) -> str:
    """What a definition of `file` names: an address, or a path from the root with its fragment."""
    if is_external(found.href):
        return found.href
    path, sign, fragment = found.href.partition("#")
    return (
        followed(folder_of(file.relative), path) + sign + fragment
        if path
        else file.relative + sign + fragment
    )


_OTHER_LABEL: Final = Diagnostic.warning(
    Code.BROKEN_LINK,
    "the section uses a label that toFile defines otherwise, so that its links name something else there",
    "give the label another name in the section first",
)
