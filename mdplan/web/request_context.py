"""One request of a browser, as the answers of the page get it."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from mdplan.web.diff.diff_rows import DiffOptions
from mdplan.web.sessions import ReviewSession


@dataclass(frozen=True, slots=True)
class RequestContext:
    """One request of a session, to a page below `base`. `form` is empty but for a form.

    `news` stands for what plans and decisions there were when it came.
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
        """How diffs are to be shown."""
        return DiffOptions(
            is_split=self.query.get("view") == "split", shows_blanks=self.query.get("blanks") == "1"
        )

    def plan_path(self, plan_id: str) -> str:
        """The path of the page of a plan."""
        return plan_path(self.base, plan_id)

    def number(self, name: str) -> int:
        """A number of the query; 1 where there is none."""
        return number_in(self.query.get(name, "")) or 1

    @property
    def query_of_options(self) -> str:
        """The options as the query of a link, for pages that show diffs in the same way."""
        return f"view={'split' if self.options.is_split else 'unified'}&blanks={self.options.shows_blanks:d}"


def plan_path(base: str, plan_id: str) -> str:
    """The path of the page of a plan, below `base`."""
    return f"{base}plan/{quote(plan_id, safe='')}"


def number_in(text: str) -> int | None:
    """The number that `text` is; None where it is none, or none of a page."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None
