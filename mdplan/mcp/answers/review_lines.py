"""Review comments on a plan as text for its author: by edit, with lines, and what has changed since."""

from collections.abc import Iterator
from typing import Final

from mdplan.reports.plan import ReviewComment, ReviewReport

_SHORT: Final = len("sha256-") + 16
_QUOTED: Final = 200


def review_lines(review: ReviewReport) -> Iterator[str]:
    """`review` in lines; the diff of a revised plan is after them."""
    plan = review.plan_id[:_SHORT]
    comment = f": {_one_line(review.comment)}" if review.comment else ""
    if review.verdict is None:
        yield f"Nobody decided about the plan {plan}."
    else:
        what = "requested changes to" if review.verdict == "changes requested" else review.verdict
        yield f"{review.decided_by} {what} the plan {plan} ({review.channel}){comment}"
    yield from map(_comment, review.comments)
    compared = review.comparison
    if compared is None:
        return
    files = ", ".join(f"{each.file} +{each.lines_added} -{each.lines_removed}" for each in compared.files)
    yield f"From that plan to {compared.plan_id[:_SHORT]}: {files or 'no difference'}"
    if compared.diff_truncated:
        yield "The diff between the plans is cut."
    if compared.diff:
        yield compared.diff.removesuffix("\n")


def _comment(comment: ReviewComment) -> str:
    parts = [comment.edit] if comment.edit else []
    if comment.file is not None:
        end = f"-{comment.end_line}" if comment.end_line != comment.start_line else ""
        side = " before the plan" if comment.side == "before" else ""
        parts.append(f"{comment.file}:{comment.start_line}{end}{side}")
    quote = f" `{_one_line(comment.quote)[:_QUOTED]}`" if comment.quote else ""
    changed = " (these lines differ now)" if comment.outdated else ""
    return f"- {', '.join(parts)}{quote}{changed}: {_one_line(comment.text)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
