"""A plan as the App in a chat shows it: the same lines as on the page, without its forms and links."""

import re
from functools import cache
from typing import Final

from mdplan.engine.reviews import OpenPlan, ReviewState
from mdplan.reports.plan import ReviewReport
from mdplan.web.diff.diff_rows import DiffOptions
from mdplan.web.diff.file_view import FileViews
from mdplan.web.diff.warning_groups import warning_groups
from mdplan.web.pages import plan_summary, plan_title
from mdplan.web.paging import LINES_OF_A_FILE
from mdplan.web.responses import rendered, static_text
from mdplan.web.sessions import PlanNotes

_COLOURS: Final = re.compile(r":root \{\n  color-scheme: light dark;\n(?P<light>[^}]*)\}")
_DARK: Final = re.compile(r"@media \(prefers-color-scheme: dark\) \{\n  :root \{(?P<dark>[^}]*)\}")


def chat_plan_html(opened: OpenPlan, earlier: ReviewReport | None) -> str:
    """What a plan is, and its files without their lines.

    `earlier` is the review of the plan that this one revises.
    """
    values = {
        "opened": opened,
        "title": plan_title(opened.review),
        "summary": plan_summary(opened.review),
        "warnings": warning_groups(opened.review),
        "earlier": earlier,
    }
    return rendered("chat_plan.html", values)


def chat_file_html(opened: OpenPlan, index: int, first: int) -> str:
    """The lines of the file at `index` from the one at `first`, a count through all hunks, and its edits."""
    options = DiffOptions()
    views = FileViews(opened, PlanNotes(), options)
    values = {
        "view": views.of(opened.review.files[index], first, LINES_OF_A_FILE, goes_on=first > 0),
        "options": options,
        # An undo is accepted or rejected whole.
        "takes_choices": opened.review.undoes is None and opened.state is not ReviewState.APPLIED,
    }
    return rendered("chat_file.html", values)


@cache
def chat_app_html() -> str:
    """The App: one HTML file with its style sheet and its script."""
    sheet = static_text("review.css")
    css = f"{sheet}\n{_of_hosts(sheet)}\n{static_text('chat.css')}"
    return rendered("chat_app.html", {"css": css, "script": static_text("chat.js")})


def _of_hosts(sheet: str) -> str:
    """The colours of `sheet` by the theme that a host asks for, which need not be that of the browser."""
    light, dark = _COLOURS.search(sheet), _DARK.search(sheet)
    assert light is not None, "the sheet names its colours"
    assert dark is not None, "the sheet names its dark colours"
    return f':root[data-theme="light"] {{{light["light"]}}}\n:root[data-theme="dark"] {{{dark["dark"]}}}'
