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
from mdplan.review.plan_review import FoundLine
from mdplan.review.shapes import ChosenEdits, Place, approved_choices, parts_of, place_name
from mdplan.storage.filesystem import StorageRefused
from mdplan.storage.plans import DecisionStore
from mdplan.text.lazy_pattern import lazy_pattern
from mdplan.text.lines import to_lf
from mdplan.values import Struct, replace
from mdplan.web import pages
from mdplan.web.diff import DiffOptions, FileViews, ShownComment, marks_of, side_by_side, warning_groups
from mdplan.web.labels import counted, short, shown
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

    def notes(self, opened: OpenPlan) -> PlanNotes:
        """Return this browser's notes on a plan."""
        return self.session.notes_on(opened.plan.plan_id)

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


class PlanResponses(Struct):
    """Pages and forms of plans, and news of them; `user` returns the reader's name."""

    reviewing: ReviewService
    user: Callable[[], str]

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

    @property
    def page_routes(self) -> Mapping[str, PlanResponse]:
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
    def form_routes(self) -> Mapping[str, PlanResponse]:
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
        context = replace(context, news=self.news(context.session))
        opened = self.reviewing.open(context.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return problems_page(context.base, opened)
        if int(context.path.get("file", 0)) >= max(1, len(opened.review.files)):
            return nothing()
        return response_of(context, opened)

    def _state(self, context: RequestContext, opened: OpenPlan) -> Response:
        return with_headers(JSONResponse({"state": opened.state, **_progress(context, opened)}))

    def _plan(self, context: RequestContext, opened: OpenPlan) -> Response:
        page = pages.plan_page(opened, context.session, context.options, context.number("page"))
        return self._plan_html(context, page, opened)

    def _file(self, context: RequestContext, opened: OpenPlan) -> Response:
        page = pages.file_page(
            opened, context.session, context.options, int(context.path["file"]), context.number("page")
        )
        return self._plan_html(context, page, opened)

    def _files(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Return the files that the reader scrolls to."""
        indexes = [number_in(index) for index in context.query.get("files", "").split(",")]
        reviewed = opened.review.files
        files = [reviewed[index] for index in indexes if index is not None and index < len(reviewed)]
        views = _file_views(context, opened)
        shown_views = [
            views.of(file, 0, pages.LINES_OF_A_FILE) for file in files[: pages.MOST_FILES_OF_AN_ANSWER]
        ]
        return _diff_html("files.html", context, opened, views=shown_views, goes_on=False)

    def _rest(self, context: RequestContext, opened: OpenPlan) -> Response:
        file = opened.review.files[int(context.path["file"])]
        first = number_in(context.query.get("first", "")) or 0
        view = _file_views(context, opened).of(file, first, pages.LINES_OF_A_FILE, goes_on=True)
        return _diff_html("files.html", context, opened, views=[view], goes_on=True)

    def _lines(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Return lines between hunks, by their numbers in the result."""
        file = opened.review.files[int(context.path["file"])]
        first = context.number("first")
        last = min(context.number("last"), first + pages.LINES_OF_A_FILE - 1)
        cells = _file_views(context, opened).context(file, first, last)
        if not isinstance(cells, list):
            return problems_page(context.base, cells)
        names_edits = context.query.get("edits") == "1"
        return _diff_html("lines.html", context, opened, file=file, cells=cells, names_edits=names_edits)

    def _search(self, context: RequestContext, opened: OpenPlan) -> Response:
        text = context.query.get("q", "").strip()[:_MOST_SEARCHED]
        return _diff_html("search.html", context, opened, found=pages.search_page(opened, text))

    def _plan_html(self, context: RequestContext, page: pages.PlanPage, opened: OpenPlan) -> Response:
        return _diff_html(
            "plan.html",
            context,
            opened,
            plan=page,
            earlier=self.reviewing.earlier(opened) if opened.revises is not None else None,
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
            "section": pages.section_page(opened, edit, opened.review.files[file]),
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
        written = pages.notes_of(opened, context.session).texts.get(index, {})
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
        """Record the texts that the reader wrote for places of an edit."""
        index, own = int(context.path["edit"]), dict[Place, str]()
        try:
            places = opened.places_of(index)
        except StorageRefused as refused:
            return problems_page(context.base, refused.problems)
        for place, _, text in places:
            new = pages.own_text(context.form.get(place_name(place), ""), text)
            if place_name(place) in context.form and to_lf(new) != to_lf(text):
                own[place] = new
        notes = context.notes(opened)
        notes.texts.pop(index, None)
        if own:
            notes.texts[index] = own
        notes.version += 1
        return redirect(_back(context, opened, f"edit-{index}"))

    def _merge(self, context: RequestContext, opened: OpenPlan) -> Response:
        plan_id = opened.plan.plan_id
        merge = pages.opened_merge(self.reviewing.engine, context.session, plan_id)
        if merge is None:
            return redirect(context.plan_path(plan_id))
        values = {
            "base": context.base,
            "merge": pages.merge_page(merge, pages.plan_title(opened.review)),
            "url": context.plan_path(plan_id),
            "form_token": context.session.form_token,
            "may_decide": context.session.may_decide,
            "notice": context.session.notices.pop(plan_id, None),
        }
        return html("merge.html", values)

    def _patch(self, context: RequestContext, opened: OpenPlan) -> Response:
        diff = self.reviewing.engine.diff_bytes(opened.plan.plan_id)
        if not isinstance(diff, bytes):
            return problems_page(context.base, diff)
        answer = Response(diff, media_type="application/octet-stream")
        answer.headers["Content-Disposition"] = 'attachment; filename="plan.patch"'
        return with_headers(answer)

    def _mark(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Record the reader's choice for an edit, and a comment."""
        index, said = int(context.path["edit"]), _comment(context.form.get("comment", ""))
        if index not in {edit.index for edit in opened.review.edits}:
            return problems_page(context.base, no_such_edit())
        choice = _choice(context.form.get("mark", ""))
        shown = pages.notes_of(opened, context.session)
        # A card shows what was chosen for its class, too; leaving its comment chooses nothing.
        if choice is not marks_of(opened, shown).get(index, Mark()).choice:
            _choose(context, opened, f"edit {index}", choice)
        context.notes(opened).said = {**shown.said, index: said}
        anchor = number_in(context.form.get("at_file", ""))
        name = f"edit-{index}" + (f"-file-{anchor}" if anchor is not None else "")
        return self._noted(context, opened, name)

    def _classes(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Return the classes, or the one that the reader opens with its places."""
        page = pages.classes_page(
            opened, pages.notes_of(opened, context.session), context.query.get("key", "")
        )
        return _diff_html("classes.html", context, opened, page=page)

    def _choose(self, context: RequestContext, opened: OpenPlan) -> Response:
        part = context.form.get("part", "")
        files = {edit.index: edit.files for edit in opened.review.edits}
        if part not in parts_of(opened.classes, files):
            return problems_page(context.base, no_such_edit())
        _choose(context, opened, part, _choice(context.form.get("mark", "")))
        context.notes(opened).version += 1
        if not context.wants_json:
            return redirect(f"{context.plan_path(opened.plan.plan_id)}/classes")
        return with_headers(JSONResponse(_progress(context, opened)))

    def _viewed(self, context: RequestContext, opened: OpenPlan) -> Response:
        index = int(context.path["file"])
        viewed = context.notes(opened).viewed
        (viewed.add if context.form.get("viewed") == "1" else viewed.discard)(index)
        return self._noted(context, opened, f"file-{index}")

    def _comment(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Record a comment on lines, to be sent with the decision."""
        numbers = [number_in(context.form.get(name, "")) for name in ("file", "start", "end")]
        file, start, end = (number if number is not None else 0 for number in numbers)
        if file >= len(opened.review.files):
            return nothing()
        comment = decisions.LineComment(
            file=opened.review.files[file].path,
            side=decisions.Side.BEFORE if context.form.get("side") == "old" else decisions.Side.AFTER,
            start=min(start, end or start),
            end=max(start, end),
            text=_comment(context.form.get("comment", "")),
        )
        notes = context.notes(opened)
        remarks = decisions.Remarks(line_comments=(*notes.comments.values(), comment))
        try:
            placed = placed_remarks(opened, remarks)
        except StorageRefused as refused:
            return problems_page(context.base, refused.problems)
        number = max(notes.comments, default=0) + 1
        notes.comments[number] = placed.line_comments[-1]
        return self._noted(context, opened, f"comment-{number}", file)

    def _remove_comment(self, context: RequestContext, opened: OpenPlan) -> Response:
        removed = context.notes(opened).comments.pop(int(context.path["comment"]), None)
        path = removed.file if removed is not None else ""
        file = next((file.index for file in opened.review.files if file.path == path), 0)
        return self._noted(context, opened, f"file-{file}")

    def _noted(
        self, context: RequestContext, opened: OpenPlan, anchor: str, commented: int | None = None
    ) -> Response:
        """Respond to a new note: the changes for a script, otherwise a redirect to `anchor`."""
        context.notes(opened).version += 1
        if not context.wants_json:
            return redirect(_back(context, opened, anchor))
        answer = _progress(context, opened)
        if commented is not None:
            number = int(anchor.removeprefix("comment-"))
            comment = ShownComment(context.notes(opened).comments[number], number)
            answer["html"] = rendered("comment.html", {**_diff_values(context, opened), "each": comment})
        return with_headers(JSONResponse(answer))

    def _decide(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Decide on a plan with the session's choices.

        An approval takes what was accepted, or all but what was rejected. Nothing is decided if the choices
        differ from the page, or someone else has decided.
        """
        form, session, plan_id = context.form, context.session, opened.plan.plan_id
        verb, notes, back = form.get("verb", ""), pages.notes_of(opened, session), context.plan_path(plan_id)
        choices = notes.choices or {}
        if verb not in {*_APPROVALS, *_VERDICTS}:
            return refused(400, "A decision is to approve, to apply, to request changes, or to reject.")
        if verb in _APPROVALS:
            progress = pages.progress_of(opened, notes)
            unviewed = set(progress.unviewed).difference(progress.settled)
            if not unviewed.issubset(map(number_in, form.get("unviewed", "").split(","))):
                # Nothing was decided yet, so a reload asks again.
                files = [opened.review.files[index] for index in sorted(unviewed)]
                return _diff_html("unviewed.html", context, opened, form=form, files=files, progress=progress)
            if form.get("verdicts", "") != notes.key:
                session.notices[plan_id] = FlashMessage(
                    "Your decision was not saved: your choices have changed since the page was loaded."
                )
                return redirect(back)
        remarks = decisions.Remarks(
            comment=_comment(form.get("comment", "")),
            edit_comments={index: text for index, text in notes.said.items() if text},
            line_comments=tuple(notes.comments.values()),
        )
        chosen = opened.chosen(approved_choices(choices))
        classes = opened.classes if any(name.startswith("class ") for name in choices) else ()
        decided = self.reviewing.decide(
            plan_id,
            self.user(),
            _VERDICTS.get(verb, decisions.Verdict.APPROVED),
            remarks,
            rejected=chosen.left_out,
            terms=DecisionTerms(
                saw=form.get("version", ""),
                channel=decisions.Channel.PAGE,
                overrides=form.get("override") == "1",
                places=tuple(_decided_places(chosen, notes.texts)),
                classes=tuple(
                    decisions.DecidedClass(key=one.key, members=one.members, accepted=choices[name])
                    for one in classes
                    if (name := f"class {one.key}") in choices
                ),
            ),
        )
        if not isinstance(decided, decisions.Decision):
            session.notices[plan_id] = FlashMessage("Your decision was not saved.", decided)
            return redirect(back)
        notes = context.notes(opened)
        notes.choices, notes.said, notes.comments, notes.texts = None, {}, {}, {}
        notes.version += 1
        if verb == APPROVE_AND_APPLY and decided.approved_plan_id is not None:
            session.notices[plan_id] = self._applied(decided.approved_plan_id)
        else:
            session.notices[plan_id] = FlashMessage(_outcome(decided, len(opened.review.edits)))
        return redirect(back)

    def _apply(self, context: RequestContext, opened: OpenPlan) -> Response:
        decision, plan_id = opened.decision, opened.plan.plan_id
        approved = decision.approved_plan_id if decision is not None else None
        context.session.notices[plan_id] = self._applied(approved or plan_id)
        return redirect(context.plan_path(plan_id))

    def _applied(self, plan_id: str) -> FlashMessage:
        """Commit the plan."""
        report = self.reviewing.engine.apply(PlanRef(plan_id=plan_id))
        if not report.ok:
            return FlashMessage("The plan was not applied; no file was changed.", report.diagnostics)
        if report.already_applied:
            return FlashMessage("The plan was already applied.")
        return FlashMessage(
            f"Applied: {counted(sum(file.changed for file in report.files), 'file')} written."
        )

    def _replan(self, context: RequestContext, opened: OpenPlan) -> Response:
        """Plan the edits again on the current files."""
        plan_id, notices = opened.plan.plan_id, context.session.notices
        report = self.reviewing.engine.replan(plan_id)
        if not report.ok or report.plan_id is None:
            notices[plan_id] = FlashMessage(
                "The edits do not fit the current files. Ask for a new plan.", report.diagnostics
            )
            return redirect(context.plan_path(plan_id))
        notices[report.plan_id] = FlashMessage(
            "Planned again on the current files: the same edits, in a new plan."
        )
        return redirect(context.plan_path(report.plan_id))

    def _merge_chosen(self, context: RequestContext, opened: OpenPlan) -> Response:
        plan_id = opened.plan.plan_id
        merged = pages.merge_chosen(self.reviewing.engine, context.session, plan_id, context.form)
        return redirect(context.plan_path(merged) if merged else context.plan_path(plan_id) + "/merge")


def _choose(context: RequestContext, opened: OpenPlan, part: str, choice: EditChoice) -> None:
    """Note the reader's choice for a part of a plan; nothing is decided yet."""
    notes, shown = context.notes(opened), pages.notes_of(opened, context.session)
    notes.choices, notes.said = dict(shown.choices or {}), shown.said
    notes.choices.pop(part, None)
    if choice in _CHOSEN:
        notes.choices[part] = _CHOSEN[choice]


def _file_views(context: RequestContext, opened: OpenPlan) -> FileViews:
    return FileViews(opened, pages.notes_of(opened, context.session), context.options)


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
        "viewed": context.notes(opened).viewed,
        "is_stale": opened.state is ReviewState.STALE,
    }


def _progress(context: RequestContext, opened: OpenPlan) -> dict[str, object]:
    """Return the progress for the page's script."""
    notes = pages.notes_of(opened, context.session)
    progress = pages.progress_of(opened, notes)
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
        "plan_title": pages.plan_title,
        "plan_summary": pages.plan_summary,
        "date": _date,
        "rendered": _rendered_text,
        # Only for HTML from `safe_html`.
        "inert": Markup,
        "code_spans": _code_spans,
        "height": pages.height_of,
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
        "view": views.of(opened.review.files[index], first, pages.LINES_OF_A_FILE, goes_on=first > 0),
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
