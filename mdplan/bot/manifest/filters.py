"""Filters of placeholders: ``{{row.name | default: none | cell}}`` passes a value from left to right."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.headings import heading_slug
from mdplan.markdown.table_edits import cell_source, has_line_end
from mdplan.text.line_end_view import lines_of, to_lf
from mdplan.text.visible import nearest_names

DEFAULT: Final = "default"
_ISO_DATE: Final = "%Y-%m-%d"
_BACKTICKS: Final = re.compile("`+")
_LINE_END: Final = "\r\n"


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of a placeholder: its `name`, and what follows the colon, empty without one."""

    name: str
    argument: str

    def __call__(self, value: Any) -> Any | Diagnostic:  # noqa: ANN401 (any JSON)
        """What it makes of `value`. Errors: INVALID_ARGUMENT."""
        return FILTERS[self.name](value, self.argument)


def read_filter(text: str) -> Filter | Diagnostic:
    """The filter that ``name`` or ``name: argument`` gives. Errors: INVALID_ARGUMENT for an unknown name."""
    name, _, argument = text.partition(":")
    name, argument = name.strip(), argument.strip()
    if name not in FILTERS:
        near = nearest_names(name, FILTERS)
        known = ", ".join(f"`{each}`" for each in near or FILTERS)
        return Diagnostic.invalid(
            f"there is no filter `{name[:60]}`", f"did you mean {known}?" if near else f"filters are {known}"
        )
    if len(argument) > 1 and argument[0] == argument[-1] and argument[0] in "\"'":
        argument = argument[1:-1]
    return Filter(name, argument)


def _default(value: Any, argument: str) -> Any:  # noqa: ANN401 (any JSON)
    """`argument` in place of null and of a name that has no value."""
    return argument if value is None else value


def _cell(value: Any, argument: str) -> str | Diagnostic:  # noqa: ANN401 (any JSON)
    """A value as the cell of a table row: pipes are escaped, line ends are ``<br>``."""
    del argument
    text = _text(value, "cell")
    if isinstance(text, Diagnostic):
        return text
    return cell_source("<br>".join(lines_of(to_lf(text))) if has_line_end(text) else text)


def _slug(value: Any, argument: str) -> str | Diagnostic:  # noqa: ANN401 (any JSON)
    """The anchor that GitHub gives a heading with this title."""
    del argument
    text = _text(value, "slug")
    return text if isinstance(text, Diagnostic) else heading_slug(text)


def _code(value: Any, argument: str) -> str | Diagnostic:  # noqa: ANN401 (any JSON)
    """A text as a code block in the language `argument`, with a fence that the text does not close."""
    text = _text(value, "code")
    if isinstance(text, Diagnostic):
        return text
    fence = "`" * max([3, *(len(run) + 1 for run in _BACKTICKS.findall(text))])
    return f"{fence}{argument}\n{text.rstrip(_LINE_END)}\n{fence}"


def _date(value: Any, argument: str) -> str | Diagnostic:  # noqa: ANN401 (any JSON)
    """A date or time of ISO 8601 in the form that `argument` gives as `strftime` takes it."""
    try:
        return dt.datetime.fromisoformat(str(value)).strftime(argument or _ISO_DATE)
    except ValueError:
        return Diagnostic.invalid(
            f"`{str(value)[:60]}` is not a date", "the filter `date` takes dates such as 2026-11-23"
        )


def _text(value: Any, name: str) -> str | Diagnostic:  # noqa: ANN401 (any JSON)
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case _:
            return Diagnostic.invalid(
                f"the filter `{name}` takes a text, and this is a list or a map", "name a part of it"
            )


_Apply: TypeAlias = "Callable[[Any, str], Any | Diagnostic]"
FILTERS: Final[Mapping[str, _Apply]] = {
    DEFAULT: _default,
    "cell": _cell,
    "code": _code,
    "date": _date,
    "slug": _slug,
}
