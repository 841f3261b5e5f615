"""Responses of the review page: pages and forms of a plan, and its HTML in a chat."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response

from mdplan import decisions
from mdplan.diagnostics import Code, Diagnostic, Problems
from mdplan.engine.plans import PlanRef
from mdplan.engine.reviews import DecisionTerms, OpenPlan, ReviewService, ReviewState, placed_remarks
from mdplan.markdown.html import safe_html
from mdplan.reports.plan import ReviewReport
from mdplan.review.choices import ChosenEdits, approved_choices, parts_of, place_name
from mdplan.review.plan_review import FoundLine, ReviewedFile
from mdplan.review.shapes import Place
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.plans import DecisionStore
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import to_lf
from mdplan.values import Struct, replace
from mdplan.web.diff import DiffOptions, FileViews, ShownComment, marks_of, side_by_side, warning_groups
from mdplan.web.labels import counted, short, shown
from mdplan.web.pages import (
    LINES_OF_A_FILE,
    MOST_FILES_OF_AN_ANSWER,
    PlanPage,
    classes_page,
    file_page,
    height_of,
    merge_chosen,
    merge_page,
    notes_of,
    opened_merge,
    own_text,
    plan_page,
    plan_summary,
    plan_title,
    progress_of,
    search_page,
    section_page,
)
from mdplan.web.sessions import EditChoice, FlashMessage, Mark, OwnTexts, PlanNotes, ReviewSession
from mdplan.words import ShellWords

_MOST_SEARCHED: Final = 200
_MOST_TEXTS: Final = 50


class RequestContext(Struct):
    """A request of a session to a page below `base`; `form` is empty except for forms.

    `news` identifies the plans and decisions at the time of the request.
    """

    base: str
    session: ReviewSession
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    wants_json: bool
    news: str = ""

    @property
    def options(self) -> DiffOptions:
        """The display options for diffs."""
        return DiffOptions(
            is_split=self.query.get("view") == "split", shows_blanks=self.query.get("blanks") == "1"
        )

    def plan_path(self, plan_id: str) -> str:
        """Return the path of the page of a plan."""
        return plan_path(self.base, plan_id)

    def number(self, name: str) -> int:
        """Return a number of the query, or 1."""
        return number_in(self.query.get(name, "")) or 1

    @property
    def query_of_options(self) -> str:
        """The display options as a query, for links."""
        return f"view={'split' if self.options.is_split else 'unified'}&blanks={self.options.shows_blanks:d}"


def plan_path(base: str, plan_id: str) -> str:
    """Return the path of the page of a plan, below `base`."""
    return f"{base}plan/{quote(plan_id, safe='')}"


def number_in(text: str) -> int | None:
    """Return the page number `text`, or None if it is not one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


PlanResponse = Callable[[RequestContext, OpenPlan], Response]


class DecisionForm(Struct, kw_only=True):
    """A form that decides on a plan; `verdicts` and `version` are from its page.

    `overrides`: the reader confirmed overriding a rejection. `unviewed`: files that the reader confirmed
    approving unviewed.
    """

    verb: str
    comment: str
    verdicts: str
    version: str
    overrides: bool
    unviewed: frozenset[int] = frozenset()


class ReviewActions(Struct):
    """Actions of a reader through `reviewing`; `user` returns the reader's name."""

    reviewing: ReviewService
    user: Callable[[], str]

    def choose(self, session: ReviewSession, opened: OpenPlan, part: str, choice: EditChoice) -> None:
        """Record the reader's choice for a part of a plan; nothing is decided yet."""
        notes, shown = session.notes_on(opened.plan.plan_id), notes_of(opened, session)
        notes.choices, notes.said = dict(shown.choices or {}), shown.said
        notes.choices.pop(part, None)
        if choice in _CHOSEN:
            notes.choices[part] = _CHOSEN[choice]
        notes.version += 1

    def mark(self, session: ReviewSession, opened: OpenPlan, index: int, mark: Mark) -> None:
        """Record the reader's choice for the edit `index`, and a comment."""
        # A card shows what was chosen for its class, too; leaving its comment chooses nothing.
        if mark.choice is not marks_of(opened, notes_of(opened, session)).get(index, Mark()).choice:
            self.choose(session, opened, f"edit {index}", mark.choice)
        notes = session.notes_on(opened.plan.plan_id)
        notes.said = {**notes_of(opened, session).said, index: _comment(mark.comment)}
        notes.version += 1

    def rewrite(
        self, session: ReviewSession, opened: OpenPlan, index: int, written: Mapping[str, str]
    ) -> None:
        """Record the texts `written` for places of the edit `index`. Raise `StorageRefused`, as `split`."""
        own = dict[Place, str]()
        for place, _, text in opened.places_of(index):
            new = own_text(written.get(place_name(place), ""), text)
            if place_name(place) in written and to_lf(new) != to_lf(text):
                own[place] = new
        notes = session.notes_on(opened.plan.plan_id)
        notes.texts = {**{edit: texts for edit, texts in notes.texts.items() if edit != index}}
        if own:
            notes.texts[index] = own
        notes.version += 1

    def view(self, session: ReviewSession, opened: OpenPlan, file: int, *, is_viewed: bool) -> None:
        """Record that the reader viewed a file, or must view it again."""
        notes = session.notes_on(opened.plan.plan_id)
        (notes.viewed.add if is_viewed else notes.viewed.discard)(file)
        notes.version += 1

    def comment(
        self, session: ReviewSession, opened: OpenPlan, comment: decisions.LineComment
    ) -> int | Problems:
        """Record a comment, to be sent with the decision; return its number.

        Errors: INVALID_ARGUMENT.
        """
        notes = session.notes_on(opened.plan.plan_id)
        comment = replace(comment, text=_comment(comment.text))
        remarks = decisions.Remarks(line_comments=(*notes.comments.values(), comment))
        try:
            placed = placed_remarks(opened, remarks)
        except StorageRefused as refused:
            return refused.problems
        notes.version += 1
        return notes.add_comment(placed.line_comments[-1])

    def remove_comment(self, session: ReviewSession, opened: OpenPlan, number: int) -> None:
        """Delete an unsent comment."""
        notes = session.notes_on(opened.plan.plan_id)
        notes.comments.pop(number, None)
        notes.version += 1

    def unviewed(self, session: ReviewSession, opened: OpenPlan, form: DecisionForm) -> list[ReviewedFile]:
        """Return unviewed files that `form` approves without confirmation."""
        if form.verb not in _APPROVALS:
            return []
        progress = progress_of(opened, notes_of(opened, session))
        unviewed = [index for index in progress.unviewed if index not in frozenset(progress.settled)]
        asked = form.unviewed.issuperset(unviewed)
        return [] if asked else [opened.review.files[index] for index in unviewed]

    def decide(self, session: ReviewSession, opened: OpenPlan, form: DecisionForm) -> str:
        """Decide on a plan with the session's choices; return the ID of the plan to show next.

        An approval takes what was accepted, or all but what was rejected. Nothing is decided if the choices
        differ from the page, or someone else has decided.
        """
        plan_id, notes = opened.plan.plan_id, notes_of(opened, session)
        choices = notes.choices or {}
        if form.verb in _APPROVALS and form.verdicts != notes.key:
            session.notices[plan_id] = FlashMessage(
                "Your decision was not saved: your choices have changed since the page was loaded."
            )
            return plan_id
        remarks = decisions.Remarks(
            comment=_comment(form.comment),
            edit_comments={index: text for index, text in notes.said.items() if text},
            line_comments=tuple(notes.comments.values()),
        )
        chosen = opened.chosen(approved_choices(choices))
        members = {f"class {one.key}": one for one in opened.classes} if any(map(_is_class, choices)) else {}
        decided = self.reviewing.decide(
            plan_id,
            self.user(),
            _VERDICTS.get(form.verb, decisions.Verdict.APPROVED),
            remarks,
            rejected=chosen.left_out,
            terms=DecisionTerms(
                saw=form.version,
                channel=decisions.Channel.PAGE,
                overrides=form.overrides,
                places=tuple(_decided_places(chosen, notes.texts)),
                classes=tuple(
                    decisions.DecidedClass(key=one.key, members=one.members, accepted=choices[name])
                    for name, one in members.items()
                    if name in choices
                ),
            ),
        )
        if not isinstance(decided, decisions.Decision):
            session.notices[plan_id] = FlashMessage("Your decision was not saved.", decided)
            return plan_id
        notes = session.notes_on(plan_id)
        notes.choices, notes.said, notes.comments, notes.texts = None, {}, {}, {}
        notes.version += 1
        if form.verb == APPROVE_AND_APPLY and decided.approved_plan_id is not None:
            self.apply(session, plan_id, decided.approved_plan_id)
        else:
            session.notices[plan_id] = FlashMessage(_outcome(decided, len(opened.review.edits)))
        return plan_id

    def apply(self, session: ReviewSession, plan_id: str, approved_plan_id: str) -> None:
        """Commit the approved part of the plan `plan_id`."""
        report = self.reviewing.engine.apply(PlanRef(plan_id=approved_plan_id))
        if not report.ok:
            session.notices[plan_id] = FlashMessage(
                "The plan was not applied; no file was changed.", report.diagnostics
            )
        elif report.already_applied:
            session.notices[plan_id] = FlashMessage("The plan was already applied.")
        else:
            n_files = sum(file.changed for file in report.files)
            session.notices[plan_id] = FlashMessage(f"Applied: {counted(n_files, 'file')} written.")

    def replan(self, session: ReviewSession, plan_id: str) -> str:
        """Plan the edits again on the current files; return the ID of the plan to show next."""
        report = self.reviewing.engine.replan(plan_id)
        if not report.ok or report.plan_id is None:
            session.notices[plan_id] = FlashMessage(
                "The edits do not fit the current files. Ask for a new plan.", report.diagnostics
            )
            return plan_id
        session.notices[report.plan_id] = FlashMessage(
            "Planned again on the current files: the same edits, in a new plan."
        )
        return report.plan_id

    def news(self, session: ReviewSession) -> str:
        """Return a text that changes with plans, decisions, and notes in other windows.

        It is cheap enough for polling.
        """
        engine = self.reviewing.engine
        stored = [f"{plan.plan_id} {plan.saved_at}" for plan, _ in engine.library.pending()]
        decided = [DecisionStore(root.path).changed_at() for root in engine.workspace.roots]
        last = engine.past.last()
        committed = last.id if last is not None and not isinstance(last, Diagnostic) else ""
        notes = sorted((plan_id, notes.version) for plan_id, notes in session.notes.items())
        text = "\n".join((*stored, *decided, committed, str(notes)))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class PlanResponses(Struct):
    """Responses about one plan; changes go through `actions`."""

    actions: ReviewActions

    @property
    def pages(self) -> Mapping[str, PlanResponse]:
        """Pages by path below the plan's."""
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
            "/classes": self._classes,
            "/edit/{edit:int}/section/{file:int}": self._section,
            "/edit/{edit:int}/text": self._text,
        }

    @property
    def forms(self) -> Mapping[str, PlanResponse]:
        """Forms by path below the plan's."""
        return {
            "/edit/{edit:int}": self._mark,
            "/edit/{edit:int}/text": self._rewrite,
            "/choose": self._choose,
            "/file/{file:int}/viewed": self._viewed,
            "/comment": self._comment,
            "/comment/{comment:int}/delete": self._remove_comment,
            "/decide": self._decide,
            "/apply": self._apply,
            "/replan": self._replan,
            "/merge": self._merge_chosen,
        }

    def respond(self, context: RequestContext, response_of: PlanResponse) -> Response:
        """Open the plan in `context` and return `response_of` it; 404 for a missing file."""
        # Events while the page is rendered are news to it.
        context = replace(context, news=self.actions.news(context.session))
        opened = self.actions.reviewing.open(context.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return problems_page(context.base, opened)
        if int(context.path.get("file", 0)) >= max(1, len(opened.review.files)):
            return nothing()
        return response_of(context, opened)

    def _state(self, context: RequestContext, opened: OpenPlan) -> Response:
        return with_headers(JSONResponse({"state": opened.state, **_progress(context, opened)}))

    def _plan(self, context: RequestContext, opened: OpenPlan) -> Response:
        page = plan_page(opened, context.session, context.options, context.number("page"))
        return self._plan_html(context, page, opened)

    def _file(self, context: RequestContext, opened: OpenPlan) -> Response:
        page = file_page(
            opened, context.session, context.options, int(context.path["file"]), context.number("page")
        )
        return self._plan_html(context, page, opened)

    def _files(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Return the files that the reader scrolls to."""
        indexes = [number_in(index) for index in context.query.get("files", "").split(",")]
        reviewed = opened.review.files
        files = [reviewed[index] for index in indexes if index is not None and index < len(reviewed)]
        views = _file_views(context, opened)
        shown_views = [views.of(file, 0, LINES_OF_A_FILE) for file in files[:MOST_FILES_OF_AN_ANSWER]]
        return _diff_html("files.html", context, opened, views=shown_views, goes_on=False)

    def _rest(self, context: RequestContext, opened: OpenPlan) -> Response:
        file = opened.review.files[int(context.path["file"])]
        first = number_in(context.query.get("first", "")) or 0
        view = _file_views(context, opened).of(file, first, LINES_OF_A_FILE, goes_on=True)
        return _diff_html("files.html", context, opened, views=[view], goes_on=True)

    def _lines(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Return lines between hunks, by their numbers in the result."""
        file = opened.review.files[int(context.path["file"])]
        first = context.number("first")
        last = min(context.number("last"), first + LINES_OF_A_FILE - 1)
        cells = _file_views(context, opened).context(file, first, last)
        if not isinstance(cells, list):
            return problems_page(context.base, cells)
        names_edits = context.query.get("edits") == "1"
        return _diff_html("lines.html", context, opened, file=file, cells=cells, names_edits=names_edits)

    def _search(self, context: RequestContext, opened: OpenPlan) -> Response:
        text = context.query.get("q", "").strip()[:_MOST_SEARCHED]
        return _diff_html("search.html", context, opened, found=search_page(opened, text))

    def _plan_html(self, context: RequestContext, page: PlanPage, opened: OpenPlan) -> Response:
        return _diff_html(
            "plan.html",
            context,
            opened,
            plan=page,
            earlier=self.actions.reviewing.earlier(opened) if opened.revises is not None else None,
            notice=context.session.notices.pop(opened.plan.plan_id, None),
            # A view link shows one plan, and no news of others.
            news=context.news if context.session.may_decide else "",
        )

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

    def _text(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Return the form for another text of an edit."""
        index = int(context.path["edit"])
        try:
            places = opened.places_of(index)
        except StorageRefused as refused:
            return problems_page(context.base, refused.problems)
        if not places:
            return problems_page(context.base, no_such_edit())
        written = notes_of(opened, context.session).texts.get(index, {})
        values = {
            **_diff_values(context, opened),
            "index": index,
            "number": opened.review.numbers.number(index),
            "places": [
                (place_name(place), opened.review.files[place.file].path, old, to_lf(written.get(place, new)))
                for place, old, new in places[:_MOST_TEXTS]
            ],
            "more": len(places[_MOST_TEXTS:]),
        }
        return html("text.html", values)

    def _rewrite(self, context: RequestContext, opened: OpenPlan) -> Response:
        index = int(context.path["edit"])
        try:
            self.actions.rewrite(context.session, opened, index, context.form)
        except StorageRefused as refused:
            return problems_page(context.base, refused.problems)
        return redirect(_back(context, opened, f"edit-{index}"))

    def _merge(self, context: RequestContext, opened: OpenPlan) -> Response:
        plan_id = opened.plan.plan_id
        merge = opened_merge(self.actions.reviewing.engine, context.session, plan_id)
        if merge is None:
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

    def _mark(self, context: RequestContext, opened: OpenPlan) -> Response:
        index = int(context.path["edit"])
        if index not in {edit.index for edit in opened.review.edits}:
            return problems_page(context.base, no_such_edit())
        mark = context.form.get("mark", "")
        choice = _choice(mark)
        self.actions.mark(context.session, opened, index, Mark(choice, context.form.get("comment", "")))
        anchor = number_in(context.form.get("at_file", ""))
        name = f"edit-{index}" + (f"-file-{anchor}" if anchor is not None else "")
        return self._noted(context, opened, name)

    def _classes(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Return the classes, or the one that the reader opens with its places."""
        page = classes_page(opened, notes_of(opened, context.session), context.query.get("key", ""))
        return _diff_html("classes.html", context, opened, page=page)

    def _choose(self, context: RequestContext, opened: OpenPlan) -> Response:
        part = context.form.get("part", "")
        files = {edit.index: edit.files for edit in opened.review.edits}
        if part not in parts_of(opened.classes, files):
            return problems_page(context.base, no_such_edit())
        self.actions.choose(context.session, opened, part, _choice(context.form.get("mark", "")))
        if not context.wants_json:
            return redirect(f"{context.plan_path(opened.plan.plan_id)}/classes")
        return with_headers(JSONResponse(_progress(context, opened)))

    def _viewed(self, context: RequestContext, opened: OpenPlan) -> Response:
        index = int(context.path["file"])
        self.actions.view(context.session, opened, index, is_viewed=context.form.get("viewed") == "1")
        return self._noted(context, opened, f"file-{index}")

    def _comment(self, context: RequestContext, opened: OpenPlan) -> Response:
        numbers = [number_in(context.form.get(name, "")) for name in ("file", "start", "end")]
        file, start, end = (number if number is not None else 0 for number in numbers)
        if file >= len(opened.review.files):
            return nothing()
        comment = decisions.LineComment(
            file=opened.review.files[file].path,
            side=decisions.Side.BEFORE if context.form.get("side") == "old" else decisions.Side.AFTER,
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
        """Respond to a note: the changes for a script, otherwise a redirect to `anchor`."""
        if not context.wants_json:
            return redirect(_back(context, opened, anchor))
        answer = _progress(context, opened)
        if commented is not None:
            number = int(anchor.removeprefix("comment-"))
            comment = ShownComment(context.session.notes_on(opened.plan.plan_id).comments[number], number)
            answer["html"] = rendered("comment.html", {**_diff_values(context, opened), "each": comment})
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
            # Nothing was decided yet, so a reload asks again.
            progress = progress_of(opened, notes_of(opened, context.session))
            return _diff_html("unviewed.html", context, opened, form=form, files=unviewed, progress=progress)
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


def _file_views(context: RequestContext, opened: OpenPlan) -> FileViews:
    return FileViews(opened, notes_of(opened, context.session), context.options)


def _diff_html(template: str, context: RequestContext, opened: OpenPlan, **values: object) -> Response:
    return html(template, {**_diff_values(context, opened), **values})


def _diff_values(context: RequestContext, opened: OpenPlan) -> dict[str, object]:
    """Return the values of all templates with diffs."""
    session = context.session
    return {
        "base": context.base,
        "url": context.plan_path(opened.plan.plan_id),
        "query": context.query_of_options,
        "options": context.options,
        "form_token": session.form_token,
        "may_decide": session.may_decide,
        "may_mark": session.may_decide and opened.can_approve and not opened.review.is_whole,
        "viewed": session.notes_on(opened.plan.plan_id).viewed,
        "is_stale": opened.state is ReviewState.STALE,
    }


def _progress(context: RequestContext, opened: OpenPlan) -> dict[str, object]:
    """Return the progress for the page's script."""
    notes = notes_of(opened, context.session)
    progress = progress_of(opened, notes)
    return {
        "viewed": sorted(notes.viewed),
        "settled": progress.settled,
        "marks": {index: mark.choice for index, mark in marks_of(opened, notes).items()},
        "verdicts": notes.key,
        "canApprove": progress.can_approve,
        "words": {
            "viewed": progress.viewed_words,
            "edits": progress.edits_words,
            "comments": progress.comments_words,
            "undecided": progress.undecided_words,
        },
    }


def _back(context: RequestContext, opened: OpenPlan, anchor: str) -> str:
    """Return the page and anchor where something was noted."""
    path = context.plan_path(opened.plan.plan_id)
    file = number_in(context.form.get("on_file", ""))
    if file is not None and file < len(opened.review.files):
        path += f"/file/{file}"
    page = number_in(context.form.get("page", "")) or 1
    return f"{path}?{context.query_of_options}&page={page}#{anchor}"


# --- HTML and headers: templates escape everything, and headers allow only what is needed

# Characters on each side of a search match.
_AROUND: Final = 80
_HERE: Final = Path(__file__).parent

_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # With `no-referrer` browsers send forms with the origin `null`, which the guard refuses.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def html(template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    """Return a page from `template` and `values`."""
    return with_headers(HTMLResponse(rendered(template, values), status))


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """Return HTML from `template` and `values`."""
    return _environment().get_template(template).render(values)


def redirect(path: str) -> Response:
    """Redirect to `path` of this server after a form."""
    return with_headers(RedirectResponse(path, 303))


def problems_page(base: str, problems: Problems) -> Response:
    """Return a page of `problems`; `base` is the path of the list of plans."""
    status = 404 if any(each.code is Code.PLAN_NOT_FOUND for each in problems) else 409
    return html("problems.html", {"base": base, "problems": problems}, status)


def nothing() -> Response:
    """Return the 404 response."""
    return refused(404, "Page not found.")


def refused(status: int, message: str) -> Response:
    """Return a plain text refusal."""
    return with_headers(PlainTextResponse(message + "\n", status))


def static(name: str) -> Response | None:
    """Return a file of the package, or None."""
    data = _static_files().get(name)
    kind = _KINDS[Path(name).suffix] if data is not None else None
    return with_headers(Response(data, media_type=kind)) if kind is not None else None


def static_text(name: str) -> str:
    """Return the text of a file of the package."""
    return _static_files()[name].decode("utf-8")


def with_headers(answer: Response) -> Response:
    """Add the common headers to `answer`."""
    answer.headers.update(_HEADERS)
    return answer


@cache
def _static_files() -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in (_HERE / "static").iterdir() if path.suffix in _KINDS}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": shown,
        "counted": counted,
        "short": short,
        "plan_title": plan_title,
        "plan_summary": plan_summary,
        "date": _date,
        "rendered": _rendered_text,
        # Only for HTML from `safe_html`.
        "inert": Markup,
        "code_spans": _code_spans,
        "height": height_of,
        "beside": lambda cells: list(side_by_side(cells)),
        "found": _marked_line,
    }
    return environment


def _rendered_text(text: str) -> Markup:
    """Return Markdown of an author as HTML; as it is if it is nested too deep."""
    html_text = safe_html(text)
    return escape(shown(text)) if html_text is None else Markup(html_text)  # noqa: S704 (safe)


def _code_spans(text: str) -> Markup:
    """Return a message with backticked text as code."""
    parts = shown(ShellWords().text(text)).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in enumerate(parts)
    )


def _marked_line(line: FoundLine) -> Markup:
    """Return a line with the match marked, truncated to fit a row."""
    start, end = line.at, line.at + line.length
    before = shown(line.text[max(0, start - _AROUND) : start])
    after = shown(line.text[end : end + _AROUND])
    ends = ("…" if start > _AROUND else "", "…" if end + _AROUND < len(line.text) else "")
    return Markup("{}{}<mark>{}</mark>{}{}").format(
        ends[0], before, shown(line.text[start:end]), after, ends[1]
    )


def _date(seconds: float) -> Markup:
    """Return ``21 Nov 2026, 09:15`` in local time."""
    moment = datetime.fromtimestamp(seconds).astimezone()
    return Markup('<time datetime="{}">{}</time>').format(
        moment.isoformat("T", "seconds"), f"{moment.day} {moment:%b %Y, %H:%M}"
    )


# --- Decisions

# The verbs of the decision form.
APPROVE: Final = "approve"
APPROVE_AND_APPLY: Final = "apply"
REQUEST_CHANGES: Final = "changes"
REJECT: Final = "reject"
_APPROVALS: Final = frozenset({APPROVE, APPROVE_AND_APPLY})
_VERDICTS: Final = {REQUEST_CHANGES: decisions.Verdict.CHANGES_REQUESTED, REJECT: decisions.Verdict.REJECTED}
_ONE_LINE_END: Final = str.maketrans({"\r": ""})


def no_such_edit() -> Problems:
    """Return the problem of a missing edit."""
    return (Diagnostic.invalid("the plan has no edit of that number", "go back to the plan and choose one"),)


_CHOSEN: Final = {EditChoice.ACCEPT: True, EditChoice.REJECT: False}


def _choice(mark: str) -> EditChoice:
    return EditChoice(mark) if mark in list(EditChoice) else EditChoice.NONE


def _decided_places(chosen: ChosenEdits, texts: OwnTexts) -> Iterator[decisions.DecidedPlace]:
    """Yield the places that are left out of accepted edits, and those with another text."""
    for place in chosen.rejected_places:
        yield decisions.DecidedPlace(file=place.file, number=place.number)
    for index, own in texts.items():
        kept = chosen.in_part.get(index, dict.fromkeys(own, index in chosen.accepted))
        for place, text in own.items():
            if kept[place]:
                yield decisions.DecidedPlace(file=place.file, number=place.number, text=text)


def _is_class(part: str) -> bool:
    return part.startswith("class ")


def _outcome(decision: decisions.Decision, n_edits: int) -> str:
    if decision.verdict is decisions.Verdict.REJECTED:
        return "Plan rejected. Its author will see your comments."
    if decision.requests_changes:
        return "Changes requested. The author will see your comments, and can plan again."
    if decision.is_partial:
        part = short(decision.approved_plan_id or "")
        accepted = n_edits - len(decision.rejected)
        return f"Approved {accepted} of {counted(n_edits, 'edit')} (plan {part})."
    return "Approved. It can be applied now."


def _comment(text: str) -> str:
    # Browsers send CRLF. The store refuses too long comments: one extra character is enough for that.
    return text.translate(_ONE_LINE_END).strip()[: decisions.MOST_COMMENT_CHARACTERS + 1]


# --- A plan in a chat: the same lines as on the page, without forms and links

_COLOURS: Final = lazy_pattern(r":root \{\n  color-scheme: light dark;\n(?P<light>[^}]*)\}")
_DARK: Final = lazy_pattern(r"@media \(prefers-color-scheme: dark\) \{\n  :root \{(?P<dark>[^}]*)\}")


def chat_plan_html(opened: OpenPlan, earlier: ReviewReport | None) -> str:
    """Return a summary of a plan and its files, without lines.

    `earlier` is the review of the plan that this one revises.
    """
    values = {"opened": opened, "warnings": warning_groups(opened.review), "earlier": earlier}
    return rendered("chat_plan.html", values)


def chat_file_html(opened: OpenPlan, index: int, first: int) -> str:
    """Return the lines of the file at `index` from line `first`, a count through all hunks, with edits."""
    options = DiffOptions()
    views = FileViews(opened, PlanNotes(), options)
    values = {
        "view": views.of(opened.review.files[index], first, LINES_OF_A_FILE, goes_on=first > 0),
        "options": options,
        # An undo can only be approved whole.
        "takes_choices": not opened.review.is_whole and not opened.state.is_result,
    }
    return rendered("chat_file.html", values)


@cache
def chat_app_html() -> str:
    """Return the chat app: an HTML file with inline CSS and script."""
    sheet = static_text("review.css")
    css = f"{sheet}\n{_of_hosts(sheet)}\n{static_text('chat.css')}"
    return rendered("chat_app.html", {"css": css, "script": static_text("chat.js")})


def _of_hosts(sheet: str) -> str:
    """Return CSS that applies the colours of `sheet` by the host's theme, not the browser's."""
    light, dark = _COLOURS.search(sheet), _DARK.search(sheet)
    assert light is not None, "the sheet names its colours"
    assert dark is not None, "the sheet names its dark colours"
    return f':root[data-theme="light"] {{{light["light"]}}}\n:root[data-theme="dark"] {{{dark["dark"]}}}'
