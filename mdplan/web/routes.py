"""Routes of the page. Each is after the guard of the server, and all but the links after a session too.

A form is obeyed only with the token of the session in it. Every answer to a form is a redirect, so that going
back or loading again repeats nothing.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, quote

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from mdplan.diagnostics import Code, Problems
from mdplan.engine.open_plan import OpenPlan
from mdplan.web.actions import APPROVE, APPROVE_AND_APPLY, REJECT, DecisionForm, ReviewActions, no_such_edit
from mdplan.web.diff_rows import DiffOptions
from mdplan.web.merge_page import merge_chosen, merge_page, opened_merge
from mdplan.web.pages import file_page, listed_plans, marks_of, plan_page, plan_title, section_page
from mdplan.web.responses import html, redirect, static, with_headers
from mdplan.web.sessions import FlashMessage, Mark, ReviewSession, ReviewSessions, SessionStore, verdicts_key

# What follows the path of the pages in a link.
OPEN: Final = "open"
VIEW: Final = "view"
# A choice for each conflict of a merge.
_MOST_FIELDS: Final = 500


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request of a session, to a page below `base`. `form` is empty but for a form."""

    base: str
    session: ReviewSession
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    wants_json: bool

    @property
    def options(self) -> DiffOptions:
        """How diffs are to be shown."""
        return DiffOptions(
            is_split=self.query.get("view") == "split", shows_blanks=self.query.get("blanks") == "1"
        )

    def plan_path(self, plan_id: str) -> str:
        """The path of the page of a plan."""
        return _plan_path(self.base, plan_id)

    def number(self, name: str) -> int:
        """A number of the query; 1 where there is none."""
        return _number(self.query.get(name, "")) or 1


Answer = Callable[[RequestContext], Response]


class ReviewRoutes:
    """The routes over one `desk`, for the visits of `visits`."""

    def __init__(self, desk: ReviewActions, visits: ReviewSessions) -> None:
        self._desk = desk
        self._visits = visits

    def all(self) -> tuple[BaseRoute, ...]:
        """Every route, the more special ones first."""
        deciding, viewing = self._visits.deciding, self._visits.viewing
        links = (_only_get(deciding.base + OPEN, self._open), _only_get(viewing.base + VIEW, self._view))
        return (*links, *self._pages(deciding), *self._pages(viewing))

    def _pages(self, sessions: SessionStore) -> tuple[BaseRoute, ...]:
        plan = "plan/{plan_id}"
        edit = plan + "/edit/{edit:int}"
        pages: dict[str, Answer] = {
            "": self._list,
            "news": self._news,
            "static/{name}": lambda asked: static(asked.path["name"]) or _nothing(),
            plan: self._plan,
            plan + "/state": self._state,
            plan + "/patch": self._patch,
            plan + "/merge": self._merge,
            plan + "/file/{file:int}": self._file,
            edit + "/section/{file:int}": self._section,
        }
        forms: dict[str, Answer] = {
            edit: self._mark,
            plan + "/decide": self._decide,
            plan + "/apply": self._apply,
            plan + "/replan": self._replan,
            plan + "/merge": self._merge_chosen,
        }
        return (
            _page(sessions, sessions.base.rstrip("/"), lambda asked: redirect(asked.base)),
            *(_page(sessions, sessions.base + path, answer) for path, answer in pages.items()),
            *(_form(sessions, sessions.base + path, answer) for path, answer in forms.items()),
        )

    async def _open(self, request: Request) -> Response:
        """Start a session, on a page that goes on by itself.

        A redirect would come without the new cookie, when the link was followed from a page of another site.
        """
        sessions = self._visits.deciding
        plan_id = request.query_params.get("plan", "")
        target = _plan_path(sessions.base, plan_id) if plan_id else sessions.base
        if sessions.of(request.cookies) is not None:
            return redirect(target)
        value = self._visits.start(request.query_params.get("token", ""))
        return _opened(sessions, value, target) if value is not None else _no_visit()

    async def _view(self, request: Request) -> Response:
        """Start a session that shows one plan, by a link that a client of a server of agents received."""
        sessions = self._visits.viewing
        plan_id = request.query_params.get("plan", "")
        value = self._visits.start_view(plan_id, request.query_params.get("token", ""))
        if value is None:
            return _no_visit()
        return _opened(sessions, value, _plan_path(sessions.base, plan_id))

    # The verbs.

    def _list(self, asked: RequestContext) -> Response:
        news = _digest(self._desk.review_changes())
        page = listed_plans(self._desk.reviewing, asked.number("page"))
        return html("list.html", {"base": asked.base, "page": page, "news": news})

    def _news(self, _asked: RequestContext) -> Response:
        return with_headers(JSONResponse({"news": _digest(self._desk.review_changes())}))

    def _state(self, asked: RequestContext) -> Response:
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        return with_headers(JSONResponse({"state": opened.state}))

    def _plan(self, asked: RequestContext) -> Response:
        news = _digest(self._desk.review_changes())
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        page = plan_page(opened, asked.session, asked.options, asked.number("page"))
        return self._shown(asked, page, opened, news)

    def _file(self, asked: RequestContext) -> Response:
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        index = int(asked.path["file"])
        if index >= len(opened.review.files):
            return _nothing()
        page = file_page(opened, asked.session, asked.options, index, asked.number("page"))
        return self._shown(asked, page, opened, "")

    def _shown(self, asked: RequestContext, page: object, opened: OpenPlan, news: str) -> Response:
        values = {
            "base": asked.base,
            "plan": page,
            "url": asked.plan_path(opened.plan.plan_id),
            "form_token": asked.session.form_token,
            "may_decide": asked.session.may_decide,
            "notice": asked.session.notices.pop(opened.plan.plan_id, None),
            # A view link shows one plan, and no news of others.
            "news": news if asked.session.may_decide else "",
        }
        return html("plan.html", values)

    def _merge(self, asked: RequestContext) -> Response:
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        plan_id = opened.plan.plan_id
        merge = opened_merge(self._desk.reviewing.engine, plan_id)
        if isinstance(merge, FlashMessage):
            asked.session.notices[plan_id] = merge
            return redirect(asked.plan_path(plan_id))
        values = {
            "base": asked.base,
            "merge": merge_page(merge, plan_title(opened.review)),
            "url": asked.plan_path(plan_id),
            "form_token": asked.session.form_token,
            "may_decide": asked.session.may_decide,
            "notice": asked.session.notices.pop(plan_id, None),
        }
        return html("merge.html", values)

    def _merge_chosen(self, asked: RequestContext) -> Response:
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        plan_id = opened.plan.plan_id
        merged = merge_chosen(self._desk.reviewing.engine, asked.session, plan_id, asked.form)
        return redirect(asked.plan_path(merged) if merged else asked.plan_path(plan_id) + "/merge")

    def _section(self, asked: RequestContext) -> Response:
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        index, file = int(asked.path["edit"]), int(asked.path["file"])
        edit = next((each for each in opened.review.edits if each.index == index), None)
        if edit is None or file not in edit.files:
            return _problems(asked, no_such_edit())
        values = {
            "base": asked.base,
            "section": section_page(opened, edit, opened.review.files[file]),
            "url": asked.plan_path(opened.plan.plan_id),
        }
        return html("section.html", values)

    def _patch(self, asked: RequestContext) -> Response:
        diff = self._desk.reviewing.engine.diff_bytes(asked.path["plan_id"])
        if not isinstance(diff, bytes):
            return _problems(asked, diff)
        answer = Response(diff, media_type="application/octet-stream")
        answer.headers["Content-Disposition"] = 'attachment; filename="plan.patch"'
        return with_headers(answer)

    def _mark(self, asked: RequestContext) -> Response:
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        index = int(asked.path["edit"])
        indexes = {edit.index for edit in opened.review.edits}
        if index not in indexes:
            return _problems(asked, no_such_edit())
        mark = Mark(asked.form.get("mark") == REJECT, asked.form.get("comment", ""))
        self._desk.mark(asked.session, opened, index, mark)
        if asked.wants_json:
            marks = marks_of(opened, asked.session)
            n_rejected = sum(mark.is_rejected for mark in marks.values())
            return with_headers(
                JSONResponse({"edits": len(indexes), "rejected": n_rejected, "verdicts": verdicts_key(marks)})
            )
        return redirect(_back(asked, opened))

    def _decide(self, asked: RequestContext) -> Response:
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        verb = asked.form.get("verb", "")
        if verb not in {APPROVE, APPROVE_AND_APPLY, REJECT}:
            return _refused(400, "A decision is to approve, to approve and apply, or to reject.")
        form = DecisionForm(
            verb=verb,
            comment=asked.form.get("comment", ""),
            verdicts=asked.form.get("verdicts", ""),
            version=asked.form.get("version", ""),
            overrides=asked.form.get("override") == "1",
        )
        return redirect(asked.plan_path(self._desk.decide(asked.session, opened, form)))

    def _apply(self, asked: RequestContext) -> Response:
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        decision = opened.decision
        approved = decision.approved_plan_id if decision is not None else None
        self._desk.apply(asked.session, opened.plan.plan_id, approved or opened.plan.plan_id)
        return redirect(asked.plan_path(opened.plan.plan_id))

    def _replan(self, asked: RequestContext) -> Response:
        opened = self._desk.reviewing.open(asked.path["plan_id"])
        if not isinstance(opened, OpenPlan):
            return _problems(asked, opened)
        return redirect(asked.plan_path(self._desk.replan(asked.session, opened.plan.plan_id)))


# From requests to verbs.


def _page(sessions: SessionStore, path: str, answer: Answer) -> Route:
    async def endpoint(request: Request) -> Response:
        session = sessions.of(request.cookies)
        if session is None:
            return _no_visit()
        asked = _asked(request, sessions, session, {})
        return await _in_thread(answer, asked) if _is_shown(asked) else _refused(403, _VIEW_ONLY)

    return Route(path, endpoint, methods=["GET"])


def _form(sessions: SessionStore, path: str, answer: Answer) -> Route:
    async def endpoint(request: Request) -> Response:
        session = sessions.of(request.cookies)
        if session is None:
            return _no_visit()
        if not session.may_decide:
            return _refused(403, _VIEW_ONLY)
        form = _form_of(await request.body())
        if form is None or not session.owns(form.get("form_token", "")):
            return _refused(403, "This form belongs to a page that is no longer open. Reload the page.")
        return await _in_thread(answer, _asked(request, sessions, session, form))

    return Route(path, endpoint, methods=["POST"])


def _opened(sessions: SessionStore, value: str, target: str) -> Response:
    """Set the cookie of a session that starts, and go on to its first page."""
    answer = html("opened.html", {"base": sessions.base, "target": target})
    path = sessions.base.rstrip("/")
    answer.set_cookie(sessions.cookie, value, path=path, httponly=True, samesite="strict", secure=False)
    return answer


def _only_get(path: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
    """A route without HEAD: a program that looks where a link leads must not use it up."""
    route = Route(path, endpoint, methods=["GET"])
    route.methods = {"GET"}
    return route


def _is_shown(asked: RequestContext) -> bool:
    """Whether a session may see the page that it asks for: a view link shows one plan and style sheets."""
    plan_id, static_name = asked.path.get("plan_id"), asked.path.get("name")
    return asked.session.may_decide or static_name is not None or asked.session.may_see(plan_id or "")


def _plan_path(base: str, plan_id: str) -> str:
    return f"{base}plan/{quote(plan_id, safe='')}"


def _asked(
    request: Request, sessions: SessionStore, session: ReviewSession, form: Mapping[str, str]
) -> RequestContext:
    return RequestContext(
        base=sessions.base,
        session=session,
        path={name: str(value) for name, value in request.path_params.items()},
        query=request.query_params,
        form=form,
        wants_json=request.headers.get("accept", "") == "application/json",
    )


async def _in_thread(answer: Answer, asked: RequestContext) -> Response:
    # Plans are read, and files are: the loop goes on serving concurrently.
    return await anyio.to_thread.run_sync(answer, asked)


def _form_of(body: bytes) -> Mapping[str, str] | None:
    """The fields of a form as browsers send it; None for anything else."""
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except ValueError:
        return None
    return dict(pairs)


def _back(asked: RequestContext, opened: OpenPlan) -> str:
    """The page on which an edit was marked, at that edit."""
    path = asked.plan_path(opened.plan.plan_id)
    file = _number(asked.form.get("file", ""))
    if file is not None and file < len(opened.review.files):
        path += f"/file/{file}"
    options = asked.options
    page = _number(asked.form.get("page", "")) or 1
    anchor = _number(asked.form.get("at_file", ""))
    name = f"edit-{asked.path['edit']}" + (f"-file-{anchor}" if anchor is not None else "")
    view = "split" if options.is_split else "unified"
    return f"{path}?view={view}&blanks={options.shows_blanks:d}&page={page}#{name}"


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _problems(asked: RequestContext, problems: Problems) -> Response:
    status = 404 if any(each.code is Code.PLAN_NOT_FOUND for each in problems) else 409
    return html("problems.html", {"base": asked.base, "problems": problems}, status)


def _nothing() -> Response:
    return _refused(404, "Page not found.")


_VIEW_ONLY: Final = (
    "This link shows one plan and cannot decide. To decide, run `mdplan review` in your own terminal."
)


def _no_visit() -> Response:
    return _refused(401, "Open the link that the server printed when it started; it works once.")


def _refused(status: int, message: str) -> Response:
    return with_headers(PlainTextResponse(message + "\n", status))
