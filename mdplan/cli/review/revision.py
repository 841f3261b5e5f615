"""The comments on the plan that another plan revises, and the diff between the two."""

from collections.abc import Iterator

from mdplan.cli.pending_plan import short_id
from mdplan.cli.terminal.console import Style, shown
from mdplan.cli.views.diff_view import diff_for_people
from mdplan.cli.views.report_view import counted
from mdplan.reports.plan import ReviewComment, ReviewReport


def revision_note(earlier: ReviewReport | None) -> str:
    """A line that says which plan is revised; nothing where none is."""
    if earlier is None:
        return ""
    plan = short_id(earlier.plan_id)
    if earlier.verdict is None:
        return f"This plan revises plan {plan}; r shows what differs.\n"
    what = _decided(earlier)
    return f"This plan revises plan {plan} ({what}); r shows that review and what differs.\n"


def revision_text(earlier: ReviewReport | None, style: Style) -> str:
    """The comments on the revised plan, and the diff between the plans."""
    if earlier is None:
        return "This plan revises no other plan.\n"
    return "".join(f"{line}\n" for line in _lines(earlier, style)) + _difference(earlier, style)


def _lines(earlier: ReviewReport, style: Style) -> Iterator[str]:
    yield style.bold(f"Plan {short_id(earlier.plan_id)}: {_decided(earlier) or 'nobody decided'}")
    if earlier.comment:
        yield f"  {_one_line(earlier.comment)}"
    for comment in earlier.comments:
        yield f"- {_place(comment)}: {_one_line(comment.text)}"
        if comment.quote:
            differs = ", these lines differ now" if comment.outdated else ""
            yield style.paint(f"  on: {_one_line(comment.quote)}{differs}", "bright_black")


def _difference(earlier: ReviewReport, style: Style) -> str:
    compared = earlier.comparison
    if compared is None:
        return ""
    if not compared.files:
        return "The plans leave all files the same.\n"
    cut = "The diff between the plans is cut; `mdplan show --against` shows it.\n"
    diff = diff_for_people(compared.diff.encode("utf-8", "surrogateescape"), style)
    return f"\nWhat differs:\n{diff}{cut if compared.diff_truncated else ''}"


def _decided(earlier: ReviewReport) -> str:
    if earlier.verdict is None:
        return ""
    comments = len(earlier.comments) + bool(earlier.comment)
    comment_count = f", {counted(comments, 'comment')}" if comments else ""
    return f"{earlier.verdict} by {shown(earlier.decided_by or '')}{comment_count}"


def _place(comment: ReviewComment) -> str:
    parts = [shown(comment.edit)] if comment.edit else []
    if comment.file is not None:
        end = f" to {comment.end_line}" if comment.end_line != comment.start_line else ""
        side = " before the plan" if comment.side == "before" else ""
        parts.append(f"{shown(comment.file)}, line {comment.start_line}{end}{side}")
    return ", ".join(parts)


def _one_line(text: str) -> str:
    return shown(" ".join(text.split()))
