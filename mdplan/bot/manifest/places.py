"""Sections that a manifest names by what they are, and not by a heading that is another on each page."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mdplan.diagnostics import Code, Diagnostic
from mdplan.markdown.outline import Outline


class PagePlace(StrEnum):
    """The values of `at` in an edit of a manifest."""

    FIRST_H1 = "first H1"
    TOP_OF_BODY = "top of body"


def address_of(place: PagePlace, outline: Outline) -> Mapping[str, Any] | Diagnostic:
    """The address of `place` as fields of an edit. Errors: SECTION_NOT_FOUND for a page without H1."""
    if place is PagePlace.TOP_OF_BODY:
        return {"headingPath": []}
    found = next((section for section in outline.sections if section.level == 1), None)
    if found is not None:
        return {"sectionId": str(found.section_id)}
    return Diagnostic(
        code=Code.SECTION_NOT_FOUND,
        message="the page has no heading of level 1",
        hint="skip such pages: `when: {matches: '^# '}`, or use `at: top of body`",
    )
