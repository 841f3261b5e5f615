"""Warnings of a plan by their cause, each with the place that it is about."""

from collections.abc import Iterator
from dataclasses import dataclass

from mdplan.diagnostics import Code, Diagnostic
from mdplan.review.plan_review import PlanReview


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedWarning:
    """A warning. `file` is the position of its file in the plan, `line` where it is in the result, if known.

    `edit` is the edit that it belongs to.
    """

    warning: Diagnostic
    file: int | None
    line: int | None
    edit: int | None

    @property
    def anchor(self) -> str:
        """The element of the page that it leads to; empty where there is none."""
        if self.file is None:
            return ""
        return f"file-{self.file}" if self.line is None else f"f{self.file}R{self.line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningGroup:
    """The warnings of one cause. `n_files` counts the files that they are in."""

    code: Code
    warnings: tuple[PlacedWarning, ...]
    n_files: int


def warning_groups(review: PlanReview) -> tuple[WarningGroup, ...]:
    """The warnings of a plan by cause, the most frequent first."""
    by_code: dict[Code, list[PlacedWarning]] = {}
    for placed in _placed(review):
        by_code.setdefault(placed.warning.code, []).append(placed)
    groups = [
        WarningGroup(code=code, warnings=tuple(found), n_files=len({each.file for each in found}))
        for code, found in by_code.items()
    ]
    return tuple(sorted(groups, key=lambda group: -len(group.warnings)))


def _placed(review: PlanReview) -> Iterator[PlacedWarning]:
    paths = {path: file.index for file in review.files for path in (file.new_path, file.path) if path}
    edits = {edit.index: edit for edit in review.edits}
    for warning in dict.fromkeys(review.warnings):
        edit = edits.get(warning.edit_index) if warning.edit_index is not None else None
        path = warning.file or (edit.result.file if edit is not None else None)
        line = warning.place.line if warning.place is not None else None
        if line is None and edit is not None and path in (None, edit.result.to_file or edit.result.file):
            line = next((lines.start for lines in edit.result.result_lines), None)
        yield PlacedWarning(
            warning=warning,
            file=paths.get(path or ""),
            line=line,
            edit=edit.index if edit is not None else None,
        )
