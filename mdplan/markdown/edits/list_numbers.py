"""Numbers of the items after one that comes or goes."""

from typing import Final

from mdplan.diagnostics import Diagnostic
from mdplan.markdown.elements.lists import MarkdownList
from mdplan.markdown.outline.outline import Outline
from mdplan.text.edit import TextEdit

# CommonMark 0.31.2, section 5.2.
_MOST_DIGITS: Final = 9


def shifted_numbers(
    outline: Outline, listing: MarkdownList, position: int, shift: int
) -> tuple[TextEdit, ...] | Diagnostic:
    """Edits that add `shift` to the numbers of the items from the 0-based `position` on.

    None in a list of bullets, and in one whose items all have one number. Errors: INVALID_ARGUMENT for an
    item of several lines whose number would get another width, and for a number without a place.
    """
    if not listing.is_ordered:
        return ()
    markers = [outline.lists.marker(listing, at) for at in range(len(listing.items))]
    first_two = {marker.number for marker in markers[:2] if marker}
    if len(markers) > 1 and len(first_two) == 1:
        return ()
    edits: list[TextEdit] = []
    for item, marker in zip(listing.items[position:], markers[position:], strict=True):
        width = len(marker.text) - 1 if marker and marker.text.startswith("0") else 0
        digits = str(max(marker.number + shift, 0)).zfill(width) if marker else ""
        text = digits + listing.block.markup
        is_wider = marker is None or len(text) != len(marker.text)
        if marker is None or len(digits) > _MOST_DIGITS or (is_wider and item.first_line != item.last_line):
            return Diagnostic.invalid(
                f"the item at line {item.first_line} cannot get the number `{digits}`: its other lines are "
                "indented by the width of the old one",
                "leave renumber out, or give the items their numbers with replace_lines",
            )
        edits.append(TextEdit(marker.span, text))
    return tuple(edits)
