"""Answers to browsers: templates that escape everything, headers that allow only what is needed."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, RedirectResponse, Response

from mdplan.web.labels import counted, date_of, day_and_time, short, shown

_HERE: Final = Path(__file__).parent
# Hints name what an agent would call; here it has the name of a command.
_TOOL: Final = re.compile(r"\bmd_(stat|read|search|validate|apply|history)\b")
_STATIC: Final = {"review.css": "text/css", "review.js": "text/javascript", "icon.svg": "image/svg+xml"}
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


def static(name: str) -> Response | None:
    """A file of the package; None where there is none of that name."""
    kind = _STATIC.get(name)
    return with_headers(Response(_static_bytes(name), media_type=kind)) if kind is not None else None


def static_text(name: str) -> str:
    """The text of a file of the package."""
    return _static_bytes(name).decode("utf-8")


def with_headers(answer: Response) -> Response:
    """`answer` with the headers that every one has."""
    answer.headers.update(_HEADERS)
    return answer


@cache
def _static_bytes(name: str) -> bytes:
    return (_HERE / "static" / name).read_bytes()


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
        "words": lambda name: str(name).replace("_", " "),
        "date": _date,
        # For HTML that `safe_html` made: nothing else may go through here.
        "inert": Markup,
        "code_spans": _code_spans,
    }
    return environment


def _code_spans(text: str) -> Markup:
    """A message, in which what stands between backticks is code."""
    parts = _TOOL.sub(r"`mdplan \1`", shown(text)).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in enumerate(parts)
    )


def _date(seconds: float) -> Markup:
    moment: datetime = date_of(seconds)
    return Markup('<time datetime="{}">{}</time>').format(
        moment.isoformat("T", "seconds"), day_and_time(moment)
    )
