"""Answers to browsers: templates that escape everything, headers that allow only what is needed."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from mdplan.diagnostics import Code, Problems
from mdplan.review.plan_review import FoundLine
from mdplan.web.diff.diff_rows import side_by_side
from mdplan.web.labels import counted, date_of, day_and_time, short, shown
from mdplan.web.paging import height_of

# Characters of a found line on each side of what was found.
_AROUND: Final = 80
_HERE: Final = Path(__file__).parent
# Hints name what an agent would call; here it has the name of a command.
_TOOL: Final = re.compile(r"\bmd_(stat|read|search|validate|apply|history)\b")
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
    """The page that `template` makes of `values`."""
    return with_headers(HTMLResponse(rendered(template, values), status))


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """The HTML that `template` makes of `values`."""
    return _environment().get_template(template).render(values)


def redirect(path: str) -> Response:
    """Send the browser on to `path` of this server, after a form."""
    return with_headers(RedirectResponse(path, 303))


def problems_page(base: str, problems: Problems) -> Response:
    """Why something cannot be shown or done; `base` is the path of the list of plans."""
    status = 404 if any(each.code is Code.PLAN_NOT_FOUND for each in problems) else 409
    return html("problems.html", {"base": base, "problems": problems}, status)


def nothing() -> Response:
    """For a path that leads nowhere."""
    return refused(404, "Page not found.")


def refused(status: int, message: str) -> Response:
    """A refusal in plain words."""
    return with_headers(PlainTextResponse(message + "\n", status))


def static(name: str) -> Response | None:
    """A file of the package; None where there is none of that name."""
    data = _static_files().get(name)
    kind = _KINDS[Path(name).suffix] if data is not None else None
    return with_headers(Response(data, media_type=kind)) if kind is not None else None


def static_text(name: str) -> str:
    """The text of a file of the package."""
    return _static_files()[name].decode("utf-8")


def with_headers(answer: Response) -> Response:
    """`answer` with the headers that every one has."""
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
        "date": _date,
        # For HTML that `safe_html` made: nothing else may go through here.
        "inert": Markup,
        "code_spans": _code_spans,
        "height": height_of,
        "beside": lambda cells: list(side_by_side(cells)),
        "found": _found,
    }
    return environment


def _code_spans(text: str) -> Markup:
    """A message, in which what is between backticks is code."""
    parts = _TOOL.sub(r"`mdplan \1`", shown(text)).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in enumerate(parts)
    )


def _found(line: FoundLine) -> Markup:
    """A line with the text marked that was found, and so much around it as fits a row."""
    start, end = line.at, line.at + line.length
    before = shown(line.text[max(0, start - _AROUND) : start])
    after = shown(line.text[end : end + _AROUND])
    ends = ("…" if start > _AROUND else "", "…" if end + _AROUND < len(line.text) else "")
    return Markup("{}{}<mark>{}</mark>{}{}").format(
        ends[0], before, shown(line.text[start:end]), after, ends[1]
    )


def _date(seconds: float) -> Markup:
    moment: datetime = date_of(seconds)
    return Markup('<time datetime="{}">{}</time>').format(
        moment.isoformat("T", "seconds"), day_and_time(moment)
    )
