"""The pages and forms of one plan."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from starlette.responses import JSONResponse, Response

from mdplan.engine.reviews import OpenPlan, ReviewState
from mdplan.storage.decisions import LineComment, Side
from mdplan.web.actions import (
    APPROVE,
    APPROVE_AND_APPLY,
    REJECT,
    REQUEST_CHANGES,
    DecisionForm,
    ReviewActions,
    no_such_edit,
)
from mdplan.web.diff.file_view import ShownComment
from mdplan.web.merge_page import merge_chosen, merge_page, opened_merge
from mdplan.web.pages import (
    PlanPage,
    context_cells_of,
    file_page,
    file_views,
    more_of_file,
    plan_page,
    plan_title,
    search_page,
    section_page,
)
from mdplan.web.request_context import RequestContext, number_in
from mdplan.web.responses import html, nothing, problems_page, redirect, refused, rendered, with_headers
from mdplan.web.review_progress import can_approve, notes_of, progress_of
from mdplan.web.sessions import EditChoice, FlashMessage, Mark, verdicts_key

_MOST_WANTED: Final = 200

PlanAnswer = Callable[[RequestContext, OpenPlan], Response]


@dataclass(frozen=True, slots=True)
class PlanAnswers:
    """HTTP responses about plans, through `actions`."""

    actions: ReviewActions

    @property
    def pages(self) -> Mapping[str, PlanAnswer]:
        """The pages by their path below that of a plan."""
        return {
            "": self._plan,
            "/state": self._state,
            "/patch": self._patch,
            "/merge": self._merge,
            "/files": self._files,
            "/file/{file:int}": self._file,
            "/file/{file:int}/rest": self._rest,
            "/file/{file:int}/lines": self._lines,
            "/search": self._search,
            "/edit/{edit:int}/section/{file:int}": self._section,
        }

    @property
    def forms(self) -> Mapping[str, PlanAnswer]:
        """The forms by their path below that of a plan."""
        return {
            "/edit/{edit:int}": self._mark,
            "/file/{file:int}/viewed": self._viewed,
            "/comment": self._comment,
            "/comment/{comment:int}/delete": self._remove_comment,
            "/decide": self._decide,
            "/apply": self._apply,
            "/replan": self._replan,
            "/merge": self._merge_chosen,
        }

    def answer(
        self, context: RequestContext, answer: PlanAnswer, news: Callable[[RequestContext], str]
    ) -> Response:
        """What `answer` says about the plan, and the file of it, that was asked for."""
        # What happens while the page is made is news to it.
        context = replace(context, news=news(context))
        opened = self.actions.reviewing.open(context.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return problems_page(context.base, opened)
        if int(context.path.get("file", 0)) >= max(1, len(opened.review.files)):
            return nothing()
        return answer(context, opened)

    # Pages.

    def _state(self, context: RequestContext, opened: OpenPlan) -> Response:
        return with_headers(JSONResponse({"state": opened.state, **_progress(context, opened)}))

    def _plan(self, context: RequestContext, opened: OpenPlan) -> Response:
        page = plan_page(opened, context.session, context.options, context.number("page"))
        return self._shown(context, page, opened)

    def _file(self, context: RequestContext, opened: OpenPlan) -> Response:
        page = file_page(
            opened, context.session, context.options, int(context.path["file"]), context.number("page")
        )
        return self._shown(context, page, opened)

    def _files(self, context: RequestContext, opened: OpenPlan) -> Response:
        """The files that the reader gets to, one after the other."""
        numbers = [number_in(each) for each in context.query.get("files", "").split(",")]
        indexes = [each for each in numbers if each is not None]
        views = file_views(opened, context.session, context.options, indexes)
        return html("files.html", {**self._of_diffs(context, opened), "views": views, "goes_on": False})

    def _rest(self, context: RequestContext, opened: OpenPlan) -> Response:
        first = number_in(context.query.get("first", "")) or 0
        view = more_of_file(opened, context.session, context.options, int(context.path["file"]), first)
        return html("files.html", {**self._of_diffs(context, opened), "views": [view], "goes_on": True})

    def _lines(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Lines between hunks, by their numbers in the result."""
        first, last = context.number("first"), context.number("last")
        file = opened.review.files[int(context.path["file"])]
        cells = context_cells_of(opened, context.session, context.options, file, (first, last))
        if not isinstance(cells, list):
            return problems_page(context.base, cells)
        names_edits = context.query.get("edits") == "1"
        values = {**self._of_diffs(context, opened), "file": file, "cells": cells, "names_edits": names_edits}
        return html("lines.html", values)

    def _search(self, context: RequestContext, opened: OpenPlan) -> Response:
        wanted = context.query.get("q", "").strip()[:_MOST_WANTED]
        found = search_page(opened, wanted)
        return html("search.html", {**self._of_diffs(context, opened), "found": found})

    def _shown(self, context: RequestContext, page: PlanPage, opened: OpenPlan) -> Response:
        values = {
            **self._of_diffs(context, opened),
            "plan": page,
            "earlier": self.actions.reviewing.earlier(opened) if opened.revises is not None else None,
            "notice": context.session.notices.pop(opened.plan.plan_id, None),
            # A view link shows one plan, and no news of others.
            "news": context.news if context.session.may_decide else "",
        }
        return html("plan.html", values)

    def _of_diffs(self, context: RequestContext, opened: OpenPlan) -> dict[str, object]:
        """What every template with diffs gets."""
        return {
            "base": context.base,
            "url": context.plan_path(opened.plan.plan_id),
            "query": context.query_of_options,
            "options": context.options,
            "form_token": context.session.form_token,
            "may_decide": context.session.may_decide,
            "may_mark": context.session.may_decide and can_approve(opened) and opened.review.undoes is None,
            "viewed": context.session.notes_on(opened.plan.plan_id).viewed,
            "is_stale": opened.state is ReviewState.STALE,
        }

    def _section(self, context: RequestContext, opened: OpenPlan) -> Response:
        index, file = int(context.path["edit"]), int(context.path["file"])
        edit = next((each for each in opened.review.edits if each.index == index), None)
        if edit is None or file not in edit.files:
            return problems_page(context.base, no_such_edit())
        values = {
            "base": context.base,
            "section": section_page(opened, edit, opened.review.files[file]),
            "url": context.plan_path(opened.plan.plan_id),
        }
        return html("section.html", values)

    def _merge(self, context: RequestContext, opened: OpenPlan) -> Response:
        plan_id = opened.plan.plan_id
        merge = opened_merge(self.actions.reviewing.engine, plan_id)
        if isinstance(merge, FlashMessage):
            context.session.notices[plan_id] = merge
            return redirect(context.plan_path(plan_id))
        values = {
            "base": context.base,
            "merge": merge_page(merge, plan_title(opened.review)),
            "url": context.plan_path(plan_id),
            "form_token": context.session.form_token,
            "may_decide": context.session.may_decide,
            "notice": context.session.notices.pop(plan_id, None),
        }
        return html("merge.html", values)

    def _patch(self, context: RequestContext, opened: OpenPlan) -> Response:
        diff = self.actions.reviewing.engine.diff_bytes(opened.plan.plan_id)
        if not isinstance(diff, bytes):
            return problems_page(context.base, diff)
        answer = Response(diff, media_type="application/octet-stream")
        answer.headers["Content-Disposition"] = 'attachment; filename="plan.patch"'
        return with_headers(answer)

    # Forms.

    def _mark(self, context: RequestContext, opened: OpenPlan) -> Response:
        index = int(context.path["edit"])
        if index not in {edit.index for edit in opened.review.edits}:
            return problems_page(context.base, no_such_edit())
        given = context.form.get("mark", "")
        choice = EditChoice(given) if given in list(EditChoice) else EditChoice.NONE
        self.actions.mark(context.session, opened, index, Mark(choice, context.form.get("comment", "")))
        anchor = number_in(context.form.get("at_file", ""))
        name = f"edit-{index}" + (f"-file-{anchor}" if anchor is not None else "")
        return self._noted(context, opened, name)

    def _viewed(self, context: RequestContext, opened: OpenPlan) -> Response:
        index = int(context.path["file"])
        self.actions.view(context.session, opened, index, is_viewed=context.form.get("viewed") == "1")
        return self._noted(context, opened, f"file-{index}")

    def _comment(self, context: RequestContext, opened: OpenPlan) -> Response:
        numbers = [number_in(context.form.get(name, "")) for name in ("file", "start", "end")]
        file, start, end = (number if number is not None else 0 for number in numbers)
        if file >= len(opened.review.files):
            return nothing()
        comment = LineComment(
            file=opened.review.files[file].path,
            side=Side.BEFORE if context.form.get("side") == "old" else Side.AFTER,
            start=min(start, end or start),
            end=max(start, end),
            text=context.form.get("comment", ""),
        )
        number = self.actions.comment(context.session, opened, comment)
        if not isinstance(number, int):
            return problems_page(context.base, number)
        return self._noted(context, opened, f"comment-{number}", file)

    def _remove_comment(self, context: RequestContext, opened: OpenPlan) -> Response:
        number = int(context.path["comment"])
        comments = context.session.notes_on(opened.plan.plan_id).comments
        path = comments[number].file if number in comments else ""
        file = next((file.index for file in opened.review.files if file.path == path), 0)
        self.actions.remove_comment(context.session, opened, number)
        return self._noted(context, opened, f"file-{file}")

    def _noted(
        self, context: RequestContext, opened: OpenPlan, anchor: str, commented: int | None = None
    ) -> Response:
        """After a note of the reader: what changed for a script, the page at `anchor` for all others."""
        if not context.wants_json:
            return redirect(_back(context, opened, anchor))
        answer = _progress(context, opened)
        if commented is not None:
            number = int(anchor.removeprefix("comment-"))
            comment = ShownComment(context.session.notes_on(opened.plan.plan_id).comments[number], number)
            answer["html"] = rendered("comment.html", {**self._of_diffs(context, opened), "each": comment})
        return with_headers(JSONResponse(answer))

    def _decide(self, context: RequestContext, opened: OpenPlan) -> Response:
        verb = context.form.get("verb", "")
        if verb not in {APPROVE, APPROVE_AND_APPLY, REQUEST_CHANGES, REJECT}:
            return refused(400, "A decision is to approve, to apply, to request changes, or to reject.")
        asked_about = (number_in(each) for each in context.form.get("unviewed", "").split(","))
        form = DecisionForm(
            verb=verb,
            comment=context.form.get("comment", ""),
            verdicts=context.form.get("verdicts", ""),
            version=context.form.get("version", ""),
            overrides=context.form.get("override") == "1",
            unviewed=frozenset(each for each in asked_about if each is not None),
        )
        unviewed = self.actions.unviewed(context.session, opened, form)
        if unviewed:
            # Nothing was decided yet, so sending it again by a reload asks again.
            progress = progress_of(opened, notes_of(opened, context.session))
            values = {
                **self._of_diffs(context, opened),
                "form": form,
                "files": unviewed,
                "progress": progress,
            }
            return html("unviewed.html", values)
        return redirect(context.plan_path(self.actions.decide(context.session, opened, form)))

    def _apply(self, context: RequestContext, opened: OpenPlan) -> Response:
        decision = opened.decision
        approved = decision.approved_plan_id if decision is not None else None
        self.actions.apply(context.session, opened.plan.plan_id, approved or opened.plan.plan_id)
        return redirect(context.plan_path(opened.plan.plan_id))

    def _replan(self, context: RequestContext, opened: OpenPlan) -> Response:
        return redirect(context.plan_path(self.actions.replan(context.session, opened.plan.plan_id)))

    def _merge_chosen(self, context: RequestContext, opened: OpenPlan) -> Response:
        plan_id = opened.plan.plan_id
        merged = merge_chosen(self.actions.reviewing.engine, context.session, plan_id, context.form)
        return redirect(context.plan_path(merged) if merged else context.plan_path(plan_id) + "/merge")


def _progress(context: RequestContext, opened: OpenPlan) -> dict[str, object]:
    """How far the review is, for the script of the page."""
    notes = notes_of(opened, context.session)
    progress = progress_of(opened, notes)
    return {
        "viewed": sorted(notes.viewed),
        "marks": {index: mark.choice for index, mark in (notes.marks or {}).items()},
        "verdicts": verdicts_key(notes.marks or {}),
        "canApprove": progress.rejected < progress.edits,
        "words": {
            "viewed": progress.viewed_words,
            "edits": progress.edits_words,
            "comments": progress.comments_words,
            "undecided": progress.undecided_words,
        },
    }


def _back(context: RequestContext, opened: OpenPlan, anchor: str) -> str:
    """The page on which something was noted, at that place."""
    path = context.plan_path(opened.plan.plan_id)
    file = number_in(context.form.get("on_file", ""))
    if file is not None and file < len(opened.review.files):
        path += f"/file/{file}"
    page = number_in(context.form.get("page", "")) or 1
    return f"{path}?{context.query_of_options}&page={page}#{anchor}"
